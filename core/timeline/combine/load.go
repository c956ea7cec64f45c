package combine

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/xspace"
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
	tag      string // the id as viewers' names carry it
	degraded bool   // something about this node's clock is missing
	absolute bool   // the instants of this node are since 1970
	aligned  bool   // prlx put it on the clock of a reference before
	onHost   bool   // prlx put its tracer lines on the host's clock before
	start    int64  // instant from which normalised times of an XSpace count
	part     *collective.Part
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
	n.aligned, n.onHost = wasAligned(in.Path)
	isJSON, err := sniffJSON(src)
	if err != nil {
		return n, err
	}
	add := j.Progress().Add
	if isJSON {
		if n.Trace, err = chrometrace.Scan(ctx, src, chrometrace.ScanOptions{Progress: add}); err != nil {
			return n, withPath(err, in.Path)
		}
		n.Host, n.absolute = n.Trace.Host, n.Trace.HasBase || n.Trace.Min.NS >= xspace.AbsoluteNS
		if r := n.Trace.Rank(); r >= 0 {
			rank := int64(r)
			n.Rank = &rank
		}
		return n, nil
	}
	if n.Space, err = xspace.Scan(ctx, src, xspace.ScanOptions{Workers: workers, Progress: add}); err != nil {
		return n, withPath(err, in.Path)
	}
	if len(n.Space.Hostnames) > 0 {
		n.Host = n.Space.Hostnames[0]
	}
	n.start = StartOf(in.Path, n.Space)
	n.absolute = n.start != 0
	return n, nil
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

// sniffJSON tells Chrome JSON from XSpace by content. An XSpace begins with a field tag (0x0a for planes), never with a brace; 0x0a
// is also a line feed, so white space before a brace is looked through.
func sniffJSON(src *file.Source) (bool, error) {
	if src.Size() == 0 {
		return false, fault.Formatf(src.Path(), 0, "the file is empty, expected an XSpace (.xplane.pb) or Chrome JSON trace").WithHint("record it again: the profiler wrote nothing")
	}
	head := make([]byte, min(src.Size(), 256))
	if _, err := src.ReadAt(head, 0); err != nil && int64(len(head)) < src.Size() {
		return false, err
	}
	for i, c := range head {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			return true, nil
		case 0xef:
			if i == 0 && len(head) > 3 && head[1] == 0xbb && head[2] == 0xbf { // byte order mark
				return head[3] == '{' || head[3] == '[', nil
			}
		}
		return false, nil
	}
	return false, nil
}

func nameNodes(nodes []*Node, inputs []Input) error {
	fs := make([]facts, len(nodes))
	for k, n := range nodes {
		fs[k] = facts{path: n.Path, given: inputs[k].ID, host: n.Host, rank: n.Rank}
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
