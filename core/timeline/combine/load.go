package combine

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/aligned"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// Input is one trace as the user named it.
type Input struct {
	ID   string `json:"id,omitempty"` // given as ID=PATH, else ""
	Path string `json:"path"`
}

// Node is one node of the job: its trace, scanned, and what is known about its clocks.
type Node struct {
	Identity
	Path  string
	Host  string
	Rank  *int64
	Src   *file.Source
	Space *xspace.Space      // set for XSpace inputs
	Trace *chrometrace.Trace // set for Chrome JSON inputs

	Clocks   align.Clocks
	Result   NodeResult
	tag      string                 // the id as viewers' names carry it
	degraded bool                   // something about this node's clock is missing
	absolute bool                   // the instants of this node are since 1970
	aligned  bool                   // prlx put it on the clock of a reference before
	onHost   bool                   // prlx put its tracer lines on the host's clock before
	start    int64                  // instant from which normalised times of an XSpace count
	kept     int64                  // events with a time that are in the output
	found    []*collective.Part     // by part
	programs []*collective.Programs // by part, of an XSpace whose collectives were looked for

	mark   *aligned.Mark  // what the file says about what prlx did to it; nil: nothing
	planes *xspace.Marked // the same, for an XSpace
}

// Close closes the node's file.
func (n *Node) Close() {
	if n.Src != nil {
		n.Src.Close()
	}
}

// CloseAll closes the files of all nodes.
func CloseAll(nodes []*Node) {
	for _, n := range nodes {
		if n != nil {
			n.Close()
		}
	}
}

// Load opens and scans every input, names the nodes, and returns them in order of their numbers (nodes without one last, in the
// order given).
func Load(j *job.Job, inputs []Input) ([]*Node, error) {
	if len(inputs) == 0 {
		return nil, fault.Usagef("no traces to read").WithHint("name files, directories or globs of .xplane.pb or Chrome JSON traces")
	}
	nodes := make([]*Node, len(inputs))
	j.Progress().SetStage("scan")
	group, ctx := safe.NewGroup(j.Context())
	group.SetLimit(j.Workers())
	per := max(1, j.Workers()/len(inputs))
	for k, in := range inputs {
		group.Go(func() error {
			n, err := loadOne(ctx, j, in, per)
			nodes[k] = n
			return err
		})
	}
	if err := group.Wait(); err != nil {
		CloseAll(nodes)
		return nil, err
	}
	if err := nameNodes(nodes, inputs); err != nil {
		CloseAll(nodes)
		return nil, err
	}
	return sortNodes(nodes), nil
}

// loadOne opens and scans one input. The node is returned with an error too, so that its file is closed.
func loadOne(ctx context.Context, j *job.Job, in Input, workers int) (*Node, error) {
	n := &Node{Path: in.Path}
	src, err := file.Open(ctx, in.Path)
	if err != nil {
		return n, err
	}
	n.Src = src
	kind, err := recognise(src)
	if err != nil {
		return n, err
	}
	add := j.Progress().Add
	if kind == format.Chrome {
		if n.Trace, err = chrometrace.Scan(ctx, src, chrometrace.ScanOptions{Progress: add}); err != nil {
			return n, withPath(err, in.Path)
		}
		n.Host, n.absolute = n.Trace.Host, n.Trace.HasBase || n.Trace.Min.NS >= xspace.AbsoluteNS
		if r := n.Trace.Rank(); r >= 0 {
			rank := int64(r)
			n.Rank = &rank
		}
		return n, withPath(n.readMark(ctx), in.Path)
	}
	if n.Space, err = xspace.ScanTrace(ctx, src, xspace.ScanOptions{Workers: workers, Progress: add}); err != nil {
		return n, withPath(err, in.Path)
	}
	if len(n.Space.Hostnames) > 0 {
		n.Host = n.Space.Hostnames[0]
	}
	n.start = startOf(in.Path, n.Space)
	n.absolute = n.start != 0
	return n, withPath(n.readMark(ctx), in.Path)
}

// readChromeMark reads the mark of a Chrome trace.
func readChromeMark(ctx context.Context, n *Node) (*aligned.Mark, error) {
	return chrometrace.ReadMark(ctx, n.Src, n.Trace)
}

// withPath names the file in an error that the user caused.
func withPath(err error, path string) error {
	if err == nil {
		return nil
	}
	if e := fault.Of(err); e.Kind != fault.Internal {
		return e.WithPath(path)
	}
	return err
}

// recognise tells whether a trace is Chrome JSON or XSpace. Other formats are refused by their names; what is none of the known
// ones is left to the reader of what it looks most like, whose error says where it stops to make sense.
func recognise(src *file.Source) (format.Kind, error) {
	head := make([]byte, min(src.Size(), format.HeadBytes))
	if n, err := src.ReadAt(head, 0); err != nil && n < len(head) {
		return "", err
	}
	switch kind := format.Of(head); {
	case kind == format.Chrome, kind == format.JSON:
		return format.Chrome, nil
	case kind == format.XSpace, kind == format.Binary:
		return format.XSpace, nil
	default:
		return "", kind.Refuse(src.Path(), "an XSpace (.xplane.pb) or Chrome / Kineto JSON trace")
	}
}

func nameNodes(nodes []*Node, inputs []Input) error {
	fs := make([]facts, len(nodes))
	for k, n := range nodes {
		fs[k] = facts{path: n.Path, given: inputs[k].ID, host: n.Host, rank: n.Rank}
		if n.parts() == 1 && n.mark != nil {
			fs[k].marked = n.mark.Nodes[0].ID
		}
	}
	ids, err := identify(fs)
	if err != nil {
		return err
	}
	ts := tags(ids)
	for k, n := range nodes {
		n.Identity, n.tag = ids[k], ts[k]
		n.Result = NodeResult{ID: n.ID, Identity: n.Source, Host: n.Host, Rank: n.Rank, Method: MethodNone, Steps: []Step{}, Warnings: []string{}}
	}
	return nil
}

// sortNodes orders by number; stable, so nodes without a number keep their order behind the others.
func sortNodes(nodes []*Node) []*Node {
	out := make([]*Node, 0, len(nodes))
	for _, n := range nodes {
		i := len(out)
		for n.Number >= 0 && i > 0 && (out[i-1].Number < 0 || out[i-1].Number > n.Number) {
			i--
		}
		out = append(out, nil)
		copy(out[i+1:], out[i:])
		out[i] = n
	}
	return out
}

// warn adds a sentence to the node's report.
func (n *Node) warn(format string, args ...any) {
	n.Result.Warnings = append(n.Result.Warnings, fmt.Sprintf(format, args...))
}

// startNS returns the instant from which the node's normalised times count.
func (n *Node) startNS() int64 {
	if n.Space != nil {
		return n.start
	}
	return n.Trace.BaseNS
}

// FindReference returns the index of the node named by its id, number or host; with "" the first.
func FindReference(nodes []*Node, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	for pass := range 3 {
		for k, n := range nodes {
			switch {
			case pass == 0 && n.ID == name, pass == 1 && n.Number >= 0 && fmt.Sprint(n.Number) == name, pass == 2 && n.Host == name && name != "":
				return k, nil
			}
		}
	}
	var have []string
	for _, n := range nodes {
		have = append(have, n.ID)
	}
	return 0, fault.Usagef("there is no node %q to be the reference", name).WithHint("the nodes are %v", have)
}
