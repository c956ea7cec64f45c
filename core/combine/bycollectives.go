package combine

import (
	"slices"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/precedence"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// relation is what the collectives that the traces hold say of their clocks.
type relation struct {
	matched  *matching         // nil: they were not looked for
	shares   sharing           // which nodes share the clock of another
	numbers  []int             // by node: its number in the solution
	solution *offsets.Solution // relative to the reference of the run; nil: they say nothing
	said     remarks
}

// learnRelation finds the clocks by the collectives, where the method asks for them. Where it leaves the choice, traces without any are none the
// worse for it. ev is what was learned before.
func learnRelation(j *job.Job, in *inputs, ev *evidence, what gathering) (relation, error) {
	r := relation{numbers: ev.files.numbers}
	insist := in.req.Method == methodCollectives
	if !insist && (in.req.Method != "auto" || what.judging) {
		return r, nil
	}
	if len(in.nodes) < 2 {
		if insist {
			return r, fault.Usagef("method collectives needs the traces of several nodes").WithHint("name them all in one call")
		}
		return r, nil
	}
	if slices.ContainsFunc(in.nodes, func(n *Node) bool { return n.aligned || n.parts() > 1 }) { // their times are on a reference's clock, or several
		if insist {
			return r, in.refuseTwice()
		}
		return r, nil
	}
	r.numbers = allNumbered(ev.files.numbers)
	m, said, err := match(j, in, in.found, wanting{forClocks: true, programs: what.programs})
	if err != nil {
		return r, err
	}
	r.matched, r.said = m, said
	own := ev.ownClocks(in)
	r.shares, said = shareClocks(in, ev.files.probers, m.Matched, own)
	r.said.add(said)
	x := precedence.Collect(m.Matched, own, func(party int32) (offsets.Clock, bool) {
		k := in.nodeOf(party)
		return r.clockOf(k), in.nodes[k].absolute // false where the trace is not dated
	})
	if x.Meetings.Len() == 0 {
		if insist && !r.shares.allWith(in.ref, len(in.nodes)) {
			return r, fault.New(fault.Alignment, "no collective relates the clocks: %s", nothingJudged(len(m.Groups), m.UnmatchedCount())).
				WithHint("give probes or declared offsets, or use --method auto")
		}
		return r, nil
	}
	g := offsets.NewGraph()
	for k, n := range in.nodes {
		if n.absolute {
			g.Mention(r.clockOf(k))
		}
	}
	reference := r.clockOf(in.ref)
	g.Meet(&x.Meetings, reference)
	if r.solution, err = g.Solve(j.Context(), reference, offsets.Options{}); err != nil {
		if insist {
			return r, err
		}
		r.solution = nil
		r.said.warn("the collectives say nothing of the clocks: %v", err)
		return r, nil
	}
	if insist || ev.files.solution == nil {
		r.said.warnings = append(r.said.warnings, r.solution.Warnings...)
	}
	if x.Guessed > 0 {
		r.said.note("%d of the %d collectives that relate the clocks are known by their names alone", x.Guessed, x.Meetings.Len())
	}
	return r, nil
}

// clockOf is the clock of node k in the solution: its own, or the one that it shares.
func (r *relation) clockOf(k int) offsets.Clock {
	return offsets.Clock{Node: r.numbers[r.shares.with(k)]}
}

// of is what the solution says of the clock of node k.
func (r *relation) of(k int) (*offsets.NodeOffsets, bool) {
	if r.solution == nil {
		return nil, false
	}
	return r.solution.Node(r.clockOf(k).Node)
}
