package combine

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/event"
)

// steps gives operations their steps: those that are found in the kernels of the rank with most operations, else what repeats among the operations.
func (b *jobBuilder) steps(stepsOf func(path string) ([]RankStep, error)) error {
	rank := b.busiest()
	if stepsOf != nil && rank >= 0 {
		p := b.in.parties[b.seats[rank].slot.Node]
		n := b.in.nodes[p.node]
		found, err := []RankStep(nil), error(nil)
		if n.Src != nil && b.kernels(rank) {
			found, err = stepsOf(n.Path)
		}
		switch {
		case fault.Is(err, fault.Cancelled):
			return err
		case err != nil:
			b.said.note("the steps of %s are not those that its kernels make: %v", n.ID, err)
		case b.job.UseSteps(rank, b.onReference(rank, found)):
			return nil
		}
	}
	b.job.FindSteps()
	return nil
}

// busiest is the rank with most operations, -1: there is none.
func (b *jobBuilder) busiest() int32 {
	counts := make([]int, len(b.job.Ranks))
	for e := range b.job.Events {
		counts[b.job.Events[e].Rank]++
	}
	best := int32(-1)
	for r := range counts {
		if best < 0 || counts[r] > counts[best] {
			best = int32(r)
		}
	}
	return best
}

// kernels reports whether a device of a rank is known to have executed anything but collectives.
func (b *jobBuilder) kernels(rank int32) bool {
	return b.job.Doing != nil && slices.ContainsFunc(b.job.Doing[rank], func(w straggler.Work) bool { return b.job.Names[w.Name].Kind == straggler.DidKernel })
}

// onReference puts the steps of a rank on the clock of the reference.
func (b *jobBuilder) onReference(rank int32, found []RankStep) (out []straggler.FoundStep) {
	p := b.in.parties[b.seats[rank].slot.Node]
	n := b.in.nodes[p.node]
	at := event.Span{Node: b.seats[rank].slot.Node, Plane: b.seats[rank].processes[0]}
	for e, i := range b.spanOf {
		if b.job.Events[e].Rank == rank {
			at.Plane, at.Line = b.m.Part.Spans[i].Plane, b.m.Part.Spans[i].Line
			break
		}
	}
	for _, s := range found {
		if n.parts() > 1 && (n.member(p.part).Rank == nil || int64(s.Rank) != int64(*n.member(p.part).Rank)) {
			continue
		}
		from, _ := b.at(&at, s.FromNS)
		out = append(out, straggler.FoundStep{Name: s.Name, FromNS: from})
	}
	slices.SortStableFunc(out, func(x, y straggler.FoundStep) int { return cmp.Compare(x.FromNS, y.FromNS) })
	return out
}
