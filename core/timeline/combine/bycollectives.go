package combine

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/offsets"
	"github.com/prlx-go/prlx/core/timeline/precedence"
)

// solveCollectives finds the clocks by the collectives that the traces hold.
func (t *task) solveCollectives(k *known) error {
	if len(t.nodes) < 2 {
		return fault.Usagef("method collectives needs the traces of several nodes").WithHint("name them all in one call")
	}
	t.numberNodes()
	m, err := t.match()
	if err != nil {
		return err
	}
	x := precedence.Collect(m, t.wallClock(), t.clockOfParty)
	if x.Meetings.Len() == 0 {
		return fault.New(fault.Alignment, "no collective relates the clocks: %s", t.nothingJudged(m)).
			WithHint("give probes or declared offsets, or use --method auto")
	}
	g := offsets.NewGraph()
	for _, n := range t.nodes {
		if n.absolute {
			g.Mention(offsets.Clock{Node: n.Number})
		}
	}
	reference := offsets.Clock{Node: t.nodes[t.ref].Number}
	g.Meet(&x.Meetings, reference)
	k.method = MethodCollectives
	k.solution, err = g.Solve(t.job.Context(), reference, offsets.Options{})
	return err
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
	return offsets.Clock{Node: n.Number}, n.absolute
}

// wallClock maps executions to the wall clocks of their own nodes.
func (t *task) wallClock() collective.Clock {
	plans := make([]*align.Plan, len(t.nodes))
	for k, n := range t.nodes {
		if n.text == nil && n.Clocks.Tracer != nil {
			plans[k] = align.PlanLines(n.layout, n.start, align.Clocks{Tracer: n.Clocks.Tracer, StartTracerNS: n.Clocks.StartTracerNS}, align.HostTime)
		}
	}
	parties := t.parties()
	return func(s *event.Span, ns int64) (int64, int64) {
		if p := plans[parties[s.Node].node]; p != nil {
			return p.Lines[s.Plane][s.Line].At(ns)
		}
		return ns, 0
	}
}
