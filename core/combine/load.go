package combine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Input is one trace as the user named it.
type Input struct {
	ID   string `json:"id,omitempty"` // given as ID=PATH, else ""
	Path string `json:"path"`
}

// Node is one node of the job: its trace, scanned, and what it says of itself. What is found out about its clocks stands in values of their own,
// by its place among the inputs.
type Node struct {
	identity
	Path  string
	Host  string
	Rank  *int64
	Src   *file.Source
	Trace source.Trace

	format *source.Format
	facts  *source.Facts
	layout []*source.Process
	text   source.Text // set where the trace is re-timed as text; else its lines are planned one by one

	tag      string           // the id as viewers' names carry it
	absolute bool             // the instants of this node are since 1970
	aligned  bool             // prlx put it on the clock of a reference before
	onHost   bool             // prlx put its tracer lines on the host's clock before
	start    int64            // instant from which times count that are not absolute themselves
	found    finding          // of its collectives while it was scanned; settle takes it over
	rest     *collective.Rest // where executions of collectives are that there is no room for; nil: nowhere

	rankNote string              // what its rank rests on, where that is not what the trace says alone; "" nothing
	groups   *source.Distributed // process groups that other traces name, where this one names none

	place    int              // among the inputs as they were given
	salvaged *source.Salvaged // what was lost of a file that was cut; nil: nothing

	beside    *Node // the trace of the process that this one was recorded in by a library; nil: it is no such recording, or there is none
	byProcess bool  // the number of the process says so

	merged *source.Merged // the ranks that another tool merged into the trace; nil: it holds one node, or prlx merged it
	marking
}

// adopt takes a trace that was scanned, here or elsewhere.
func (n *Node) adopt(t source.Trace, f *source.Format) {
	n.Trace, n.format, n.facts, n.layout = t, f, t.Facts(), t.Layout()
	n.text, _ = t.(source.Text)
	n.merged = source.MergedRanks(n.layout)
}

// close closes the node's file.
func (n *Node) close() {
	if n.Src != nil {
		n.Src.Close()
	}
	n.rest.Close()
}

// closeAll closes the files of all nodes.
func closeAll(nodes []*Node) {
	for _, n := range nodes {
		if n != nil {
			n.close()
		}
	}
}

// LoadOptions say what becomes of traces that cannot be read.
type LoadOptions struct {
	SkipUnreadable bool // they are left out
	Salvage        bool // of those that were cut, what is complete is read
}

// Unreadable is a trace that was left out because it cannot be read.
type Unreadable struct {
	ID    string `json:"id"` // as given, "" where none was
	Path  string `json:"path"`
	Error string `json:"error"`
	Hint  string `json:"hint"`
}

// load opens and scans every input, names the nodes, and returns them in order of their numbers (nodes without one last, in the
// order given). out are those that cannot be read, where that is accepted; that none can is an error.
func load(j *job.Job, inputs []Input, opt LoadOptions) (nodes []*Node, out []Unreadable, err error) {
	if len(inputs) == 0 {
		return nil, nil, fault.Usagef("no traces to read").WithHint("name files, directories or globs of .xplane.pb or Chrome JSON traces")
	}
	nodes = make([]*Node, len(inputs))
	failed := make([]error, len(inputs))
	j.Progress().SetStage("scan")
	j.Progress().SetTotal(OnDisk(inputs))
	group, ctx := safe.NewGroup(j.Context())
	group.SetLimit(j.Workers())
	per := max(1, j.Workers()/len(inputs))
	rest := &collective.Rest{}
	for k, in := range inputs {
		group.Go(func() error {
			n, err := loadOne(ctx, j, in, per, opt.Salvage)
			n.place, n.rest = k, rest
			if err == nil && opt.SkipUnreadable && len(inputs) > 1 { // what cannot be read of collectives shows only there
				n.found, err = extract(ctx, n, len(inputs))
			}
			if nodes[k] = n; opt.SkipUnreadable && IsUnreadable(err) {
				n.rest = nil // the others put more there
				n.close()
				nodes[k], failed[k] = nil, err
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		closeAll(nodes)
		return nil, nil, err
	}
	for k, in := range inputs {
		if failed[k] != nil {
			out = append(out, UnreadableOf(in, failed[k]))
		}
	}
	if len(out) == len(inputs) {
		return nil, nil, noneReadable(failed)
	}
	kept := nodes[:0]
	var keptInputs []Input
	for k, n := range nodes {
		if n != nil {
			kept, keptInputs = append(kept, n), append(keptInputs, inputs[k])
		}
	}
	if err := nameNodes(kept, keptInputs); err != nil {
		closeAll(kept)
		return nil, nil, err
	}
	return sortNodes(kept), out, nil
}

// OnDisk is how many bytes the inputs have; what cannot be looked at counts 0.
func OnDisk(inputs []Input) (bytes int64) {
	for _, in := range inputs {
		if st, err := os.Stat(in.Path); err == nil && st.Mode().IsRegular() {
			bytes += st.Size()
		}
	}
	return bytes
}

// IsUnreadable reports whether an error is about one file: it is not a trace, or damaged, or the system does not let it be read.
func IsUnreadable(err error) bool {
	return fault.Is(err, fault.Format) || fault.Is(err, fault.IO) || fault.Is(err, fault.Limit)
}

// UnreadableOf says which trace is left out, and why.
func UnreadableOf(in Input, err error) Unreadable {
	e := *fault.Of(err)
	e.Path = "" // said beside it
	return Unreadable{ID: in.ID, Path: filepath.Base(in.Path), Error: e.Error(), Hint: e.Hint}
}

// noneReadable is the error of traces of which none can be read: that of the first.
func noneReadable(failed []error) error {
	e := *fault.Of(failed[0])
	if len(failed) > 1 {
		e.Msg = fmt.Sprintf("none of the %d traces can be read; of the first: %s", len(failed), e.Msg)
	}
	return &e
}

// sayLeftOut names the traces that were left out, and puts them into the ledger.
func sayLeftOut(files *Ledger, out []Unreadable) (said remarks) {
	for _, p := range files.lost() {
		said.warn("%s was passed over: %s", p.Path, p.Why)
	}
	files.leaveOut(out)
	for _, u := range out {
		said.warn("%s was left out: %s", u.name(), u.Error)
	}
	return said
}

func (u *Unreadable) name() string {
	if u.ID != "" {
		return u.ID + " (" + u.Path + ")"
	}
	return u.Path
}

// loadOne opens and scans one input. The node is returned with an error too, so that its file is closed.
func loadOne(ctx context.Context, j *job.Job, in Input, workers int, salvage bool) (*Node, error) {
	n := &Node{Path: in.Path}
	src, said, err := formats.Open(ctx, in.Path, salvage)
	if err != nil {
		return n, err
	}
	n.Src, n.salvaged = src, said
	share := j.Progress().Share(src.DiskSize(), src.Size())
	trace, format, err := formats.Scan(ctx, src, source.ScanOptions{Workers: workers, Progress: share.Add})
	if err != nil {
		return n, withPath(err, in.Path)
	}
	share.Done()
	n.adopt(trace, format)
	if n.Rank = n.facts.Rank; n.merged != nil {
		n.Rank = nil // that of the one whose document was kept
	}
	if len(n.facts.Hosts) > 0 {
		n.Host = n.facts.Hosts[0]
	}
	n.start, n.absolute = n.facts.StartNS, n.facts.Dated
	if d := alignmentOf(in.Path); d != nil && n.facts.MarkDates {
		n.start, n.absolute = d.ZeroNS, d.ZeroNS != 0
	}
	return n, withPath(n.readMark(ctx), in.Path)
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

func nameNodes(nodes []*Node, inputs []Input) error {
	findAccompanied(nodes)
	var fs []facts
	var named []int // nodes that are not named after the one beside
	for k, n := range nodes {
		if inputs[k].ID == "" && n.namedByProcess(nodes) {
			continue
		}
		f := facts{place: n.place, path: n.Path, given: inputs[k].ID, host: n.Host, rank: n.Rank}
		if _, ok := n.Trace.(source.Accompanying); ok && n.Rank != nil {
			f.byHost = true
		}
		if f.members = n.members(); f.members == nil && n.mark != nil {
			f.marked = n.mark.Nodes[0].ID
		}
		fs, named = append(fs, f), append(named, k)
	}
	found, err := identify(fs)
	if err != nil {
		return err
	}
	ids, taken := make([]identity, len(nodes)), map[string]bool{}
	for i, k := range named {
		ids[k] = found[i]
		taken[ids[k].ID] = true
	}
	for k, n := range nodes {
		if !slices.Contains(named, k) {
			ids[k] = besideName(n.processName(nodes, ids), taken)
			taken[ids[k].ID] = true
		}
	}
	ts := tags(ids)
	settleRanks(nodes, inputs)
	shareGroups(nodes)
	for k, n := range nodes {
		n.identity, n.tag = ids[k], ts[k]
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

// findReference returns the index of the node named by its id, number or host; with "" the first.
func findReference(nodes []*Node, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	for pass := range 4 {
		for k, n := range nodes {
			switch {
			case pass == 3 && slices.Contains(n.members(), name):
				return k, nil
			case pass == 0 && n.ID == name, pass == 1 && n.Number >= 0 && fmt.Sprint(n.Number) == name, pass == 2 && n.Host == name && name != "":
				return k, nil
			}
		}
	}
	var have []string
	for _, n := range nodes {
		have = append(have, n.ID)
	}
	return 0, fault.Usagef("there is no node %q to be the reference", name).WithHint("the nodes are %s", strings.Join(have, ", "))
}
