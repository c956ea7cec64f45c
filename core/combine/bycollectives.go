package combine

import (
	"slices"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/precedence"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/event"
)

// solveCollectives finds the clocks by the collectives that the traces hold, where the method asks for them. Where it leaves the choice, traces
// without any are none the worse for it.
func (t *task) solveCollectives(k *known) error {
	insist := t.req.Method == methodCollectives
	if !insist && (t.req.Method != "auto" || t.judging) {
		return nil
	}
	if len(t.nodes) < 2 {
		if insist {
			return fault.Usagef("method collectives needs the traces of several nodes").WithHint("name them all in one call")
		}
		return nil
	}
	if slices.ContainsFunc(t.nodes, func(n *Node) bool { return n.aligned || n.parts() > 1 }) { // their times are on a reference's clock, or several
		if insist {
			return t.refuseTwice()
		}
		return nil
	}
	t.numberNodes()
	t.clocksToo = true
	m, err := t.match()
	if err != nil {
		return err
	}
	t.shareClocks(m)
	x := precedence.Collect(m, t.wallClock(), t.clockOfParty)
	if x.Meetings.Len() == 0 {
		if insist && !t.allShare() {
			return fault.New(fault.Alignment, "no collective relates the clocks: %s", nothingJudged(len(m.Groups), m.UnmatchedCount())).
				WithHint("give probes or declared offsets, or use --method auto")
		}
		return nil
	}
	g := offsets.NewGraph()
	for _, n := range t.nodes {
		if n.absolute {
			g.Mention(offsets.Clock{Node: t.sharedWith(n).Number})
		}
	}
	reference := offsets.Clock{Node: t.sharedWith(t.nodes[t.ref]).Number}
	g.Meet(&x.Meetings, reference)
	if k.collectives, err = g.Solve(t.job.Context(), reference, offsets.Options{}); err != nil {
		if insist {
			return err
		}
		t.warn("the collectives say nothing of the clocks: %v", err)
		return nil
	}
	if insist || k.solution == nil {
		t.doc.Warnings = append(t.doc.Warnings, k.collectives.Warnings...)
	}
	if x.Guessed > 0 {
		t.note("%d of the %d collectives that relate the clocks are known by their names alone", x.Guessed, x.Meetings.Len())
	}
	return nil
}

// allShare reports whether all nodes share the reference's clock.
func (t *task) allShare() bool {
	return !slices.ContainsFunc(t.nodes, func(n *Node) bool { return t.sharedWith(n) != t.nodes[t.ref] })
}

// shared gives a node the clock of its host, where that is the reference's and no other source says anything of it.
func (t *task) shared(n *Node) bool {
	if n == t.nodes[t.ref] || t.sharedWith(n) != t.nodes[t.ref] {
		return false
	}
	n.Result.Method = methodHost
	n.Result.RestsOn = []Rest{{Source: methodHost, Of: t.nodes[t.ref].ID, BoundNS: new(int64)}}
	return true
}

// numberNodes gives nodes that no clock file can speak of a number of their own.
func (t *task) numberNodes() {
	for i, n := range t.nodes {
		if n.Number < 0 {
			n.Number = clockfile.MaxNode + 3 + i
		}
	}
}

// clockOfParty is the clock that executions of a party are on: that of its trace; false where the trace is not dated.
func (t *task) clockOfParty(party int32) (offsets.Clock, bool) {
	n := t.nodes[t.parties()[party].node]
	return offsets.Clock{Node: t.sharedWith(n).Number}, n.absolute
}

// wallClock maps executions to the wall clocks of their own nodes.
func (t *task) wallClock() collective.Clock {
	plans := make([]*align.Plan, len(t.nodes))
	for k, n := range t.nodes {
		if n.text == nil && n.Clocks.Tracer != nil {
			plans[k] = align.PlanLines(n.layout, n.start, align.Clocks{Tracer: n.Clocks.Tracer, TracerName: n.Clocks.TracerName, StartTracerNS: n.Clocks.StartTracerNS}, align.HostTime)
		}
	}
	parties := t.parties()
	return func(s *event.Span, ns int64) (int64, int64) {
		if p := plans[parties[s.Node].node]; p != nil {
			return p.Lines[s.Plane][s.Line].At(ns)
		}
		return t.nodes[parties[s.Node].node].onHostClock(s.Plane, ns)
	}
}
