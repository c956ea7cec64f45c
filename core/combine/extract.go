package combine

import (
	"context"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
)

// finding is what was found of the collectives of one trace, a part for each node that it holds; without parts nobody has looked.
type finding struct {
	parts    []*collective.Part
	programs []*collective.Programs // by part, of a trace with compiled programs
}

// findings are those of all traces.
type findings []finding

// extract finds the collectives of a trace. nodes is how many traces there are.
func extract(ctx context.Context, n *Node, nodes int) (f finding, err error) {
	switch trace := n.Trace.(type) {
	case source.Compiled:
		f, err = extractCompiled(ctx, n, nodes)
	case source.Recorded:
		f.parts, err = extractRecorded(ctx, n, trace, nodes)
	default: // its format says nothing of collectives
		for part := range n.parts() {
			f.parts = append(f.parts, collective.Empty(n.options(part, nodes)))
		}
	}
	return f, withPath(err, n.Path)
}

// mostSpans is how many executions of collectives are kept of all nodes together; tests keep fewer.
var mostSpans = collective.MaxSpans

// byLotAlone leaves out what else is kept; tests compare.
var byLotAlone = false

// options are what extraction needs to know of one part of the trace.
func (n *Node) options(part, nodes int) collective.Options {
	opt := collective.Options{Node: int32(part), Limit: collective.PerNode(mostSpans, nodes*n.parts()), Rank: n.Rank, StartNS: n.start, Rest: n.rest}
	if n.parts() > 1 {
		opt.Rank = n.member(part).Rank
	}
	return opt
}

func extractCompiled(ctx context.Context, n *Node, nodes int) (f finding, err error) {
	for part, view := range n.views() {
		one, err := collective.FromCompiled(ctx, n.Src, view, n.options(part, nodes))
		if err != nil {
			return finding{}, err
		}
		f.parts, f.programs = append(f.parts, one), append(f.programs, one.Programs)
	}
	return f, nil
}

// views returns a trace with compiled programs as its parts, under the names that processes had in the recording; nil for others.
func (n *Node) views() []source.Compiled {
	trace, ok := n.Trace.(source.Compiled)
	switch {
	case !ok:
		return nil
	case n.places == nil:
		return []source.Compiled{trace}
	}
	var out []source.Compiled
	for _, processes := range n.places.ByNode(n.parts()) {
		out = append(out, trace.Part(processes, n.places.Names))
	}
	return out
}

// recorded lists the processes under the names that they had in the recording.
func (n *Node) recorded() []*source.Process {
	trace, ok := n.Trace.(source.Compiled)
	if !ok || n.places == nil {
		return n.layout
	}
	all := make([]int, len(n.layout))
	for i := range all {
		all[i] = i
	}
	return trace.Part(all, n.places.Names).Layout()
}

func extractRecorded(ctx context.Context, n *Node, trace source.Recorded, nodes int) ([]*collective.Part, error) {
	opts := make([]collective.Options, n.parts())
	var said map[string]*source.Distributed
	if len(opts) > 1 {
		var err error
		if said, err = trace.Groups(ctx, n.Src); err != nil {
			return nil, err
		}
	}
	compiled := make([]*collective.Compiled, len(opts))
	if n.mark != nil {
		var err error
		if compiled, err = collective.ReadCompiled(n.mark); err != nil {
			return nil, err
		}
	}
	for part := range opts {
		opts[part] = n.options(part, nodes)
		opts[part].Distributed = n.groups
		opts[part].Compiled = compiled[part]
		if len(opts) > 1 {
			opts[part].Distributed = said[n.member(part).ID]
		}
		if n.isMerged() {
			opts[part].Distributed = n.groupsOfAll()
		}
	}
	return collective.FromRecordedNodes(ctx, n.Src, trace, n.nodesOfProcesses(), opts)
}

// matching is what was matched of the collectives of all nodes.
type matching struct {
	*collective.Matched
	programs  [][]*collective.Programs // by node and part, where they are needed to write
	shortest  int                      // launches that were kept regardless of sampling
	forClocks bool                     // they were looked for to relate the clocks
}

// wanting says what collectives are looked for besides being judged.
type wanting struct {
	forClocks bool // to relate the clocks
	programs  bool // the compiled programs are kept
}

// match finds the collectives of all nodes and matches them. found is what is known of them before; it is taken over, for executions that are
// held twice are too many for long recordings.
func match(j *job.Job, in *inputs, found findings, want wanting) (*matching, remarks, error) {
	var said remarks
	m := &matching{forClocks: want.forClocks}
	found, err := extractAll(j, in, found)
	if err != nil {
		return nil, said, err
	}
	var parts []*collective.Part
	for _, p := range in.parties {
		parts = append(parts, found[p.node].parts[p.part])
	}
	if want.forClocks {
		if m.shortest, said, err = recallShortest(in.nodes, parts); err != nil {
			return nil, said, err
		}
	}
	for i, p := range parts {
		p.Renumber(int32(i))
	}
	joined := collective.Join(parts...)
	if want.programs {
		for _, f := range found {
			m.programs = append(m.programs, f.programs)
		}
	}
	clear(found)
	clear(parts)
	m.Matched, err = collective.Match(j.Context(), joined)
	return m, said, err
}

// extractAll finds the collectives of the nodes whose are not found before.
func extractAll(j *job.Job, in *inputs, found findings) (findings, error) {
	if found == nil {
		found = make(findings, len(in.nodes))
	}
	in.stage(j, "collectives")
	return found, in.eachNode(j, func(ctx context.Context, k, _ int) (err error) {
		if found[k].parts == nil {
			found[k], err = extract(ctx, in.nodes[k], len(in.nodes))
		}
		j.Progress().Add(in.nodes[k].bytes())
		return err
	})
}

// recallShortest takes back, of executions that there was no room for, those that were short somewhere: they bound the clocks best, and a lot
// finds few of them. Where traces are read elsewhere the lot has to do.
func recallShortest(nodes []*Node, parts []*collective.Part) (launches int, said remarks, err error) {
	devices, full := map[collective.Slot]bool{}, false
	for i, p := range parts {
		full = full || p.Halvings > 0
		for k := range p.Spans {
			devices[collective.Slot{Node: int32(i), Device: p.Spans[k].Device}] = true
		}
	}
	if !full || byLotAlone {
		return 0, said, nil
	}
	for _, n := range nodes {
		if n.Src == nil {
			said.note("the traces hold more executions of collectives than there is room for, and are read elsewhere: the clocks rest on those that a lot drew")
			return 0, said, nil
		}
	}
	wanted := collective.Wanted(parts, mostSpans*3/4/max(1, len(devices)))
	return len(wanted), said, collective.Recall(parts, wanted)
}

// takeFindings takes over what was found of collectives when traces were scanned.
func takeFindings(nodes []*Node) findings {
	found := make(findings, len(nodes))
	for k, n := range nodes {
		found[k], n.found = n.found, finding{}
	}
	return found
}
