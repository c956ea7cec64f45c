package comparing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/tape"
)

// replicas are the ranks of one run, whose parameters, gradients and optimizer states should agree.
type replicas struct {
	sides   []Side
	pairs   []*comparison // of the first rank and each other one
	history []history     // of each rank
	places  map[*tape.Place]*tape.Place
	result  *Result
}

// history is what a rank did in this step and in the one before.
type history struct {
	made, madeBefore map[made]bool      // what operators made
	called, before   map[tape.At]string // arguments of the optimizer's operators
}

// made is a result of an operator: its digest, and of the optimizer's also the parameter: counts of steps are the same for many.
type made struct {
	module string
	digest uint64
}

// collectives are the operators whose results are the same on all ranks of their group.
var collectives = []string{
	"c10d.allreduce_.", "c10d.allreduce_coalesced_.", "c10d.broadcast_.", "c10d._allgather_base_.", "c10d.allgather_.",
	"c10d.allgather_into_tensor_coalesced_.",
}

// divided is in the name of a tensor of which each rank has a part.
const divided = " @ "

// flat is in the names of parameters of which each rank has a part that nothing tells from the whole.
const flat = "_flat_param"

// Replicas compares the tapes of the ranks of one run with that of the first: what optimizers got, made and were called with, and the results of
// collectives. Each rank may have batches and random numbers of its own, and parts of what is divided among ranks.
func (r *Result) Replicas(ctx context.Context, sides []Side) error {
	r.Among = true
	first := sides[0].About()
	r.A, r.B = *first, *first
	p := &replicas{sides: sides, places: map[*tape.Place]*tape.Place{}, result: r, history: make([]history, len(sides))}
	for _, side := range sides[1:] {
		about := side.About()
		if about.Level != first.Level || about.Ranks != first.Ranks {
			return fault.New(fault.Incompatible, "is of another run: it has %s of %d ranks, and %s has %s of %d", about.Level, about.Ranks,
				sides[0].Path(), first.Level, first.Ranks).WithPath(side.Path())
		}
		c := &comparison{
			rank:  &Rank{Rank: about.Rank, A: sides[0].Path(), B: side.Path(), Facts: slices.DeleteFunc(factsOf(first, about), func(f FactDiffer) bool { return f.Name == "seed" })},
			exact: sides[0].Exact() && side.Exact(), keys: map[tape.Key]uint32{}, result: r,
			base: first.Rank, names: [2]string{fmt.Sprintf("rank %d", first.Rank), fmt.Sprintf("rank %d", about.Rank)},
		}
		p.pairs = append(p.pairs, c)
	}
	if err := p.steps(ctx); err != nil {
		return err
	}
	for i, c := range p.pairs {
		c.limits(sides[0], sides[i+1])
		r.Ranks = append(r.Ranks, *c.rank)
	}
	if n := first.Ranks - int64(len(sides)); n > 0 {
		r.lacking = append(r.lacking, tape.Limit{What: "ranks", Count: n, Why: fmt.Sprintf("the run had %d, and there are %d tapes", first.Ranks, len(sides))})
	}
	return nil
}

// steps goes through the tapes side by side.
func (p *replicas) steps(ctx context.Context) (err error) {
	now := make([]*tape.Step, len(p.sides))
	for i := range now {
		if now[i], err = p.sides[i].Next(ctx); err != nil {
			return err
		}
	}
	for {
		number, left := lowest(now)
		if !left {
			return nil
		}
		if err := p.step(now, number); err != nil {
			return err
		}
		for i, s := range now {
			if s != nil && s.Number == number {
				if now[i], err = p.sides[i].Next(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// lowest is the number of the step that comes first.
func lowest(now []*tape.Step) (number int64, found bool) {
	for _, s := range now {
		if s != nil && (!found || s.Number < number) {
			number, found = s.Number, true
		}
	}
	return number, found
}

// step compares one step of all ranks that have it.
func (p *replicas) step(now []*tape.Step, number int64) error {
	has := func(i int) bool { return now[i] != nil && now[i].Number == number }
	known := p.result.first != nil
	same := make([]*tape.Step, len(now))
	for i := range now {
		if !has(i) {
			continue
		}
		var err error
		if same[i], err = p.shared(i, now[i]); err != nil {
			return err
		}
		if !known {
			p.history[i].take(now[i])
		}
	}
	for i, c := range p.pairs {
		switch {
		case has(0) && has(i+1):
			c.step(same[0], same[i+1])
		case has(0):
			c.rank.StepsA++
		case has(i + 1):
			c.rank.StepsB++
		}
	}
	if first := p.result.first; first != nil && !known {
		first.Ranks = p.whose(first)
		first.Text += p.blame(first.Ranks)
		if list := p.result.Differences; len(list) > 0 {
			for i := range list {
				if samePlace(at(&list[i]), at(first)) && list[i].B != nil && first.B != nil && list[i].B.Rank == first.B.Rank {
					list[i].Ranks, list[i].Text = first.Ranks, first.Text
				}
			}
		}
	}
	return nil
}

// shared is what of a rank's step should be the same on all ranks.
func (p *replicas) shared(side int, s *tape.Step) (*tape.Step, error) {
	all := "process_group=" + strings.ReplaceAll(fmt.Sprint(upTo(p.result.A.Ranks)), " ", ", ")
	kept := &tape.Step{Number: s.Number, Open: s.Open}
	for _, o := range s.Operators {
		collective := slices.ContainsFunc(collectives, func(name string) bool { return strings.HasPrefix(o.Place.Operator, name) })
		switch {
		case strings.Contains(o.Place.Module, flat):
			return nil, fault.New(fault.Incompatible, "is of a run whose parameters are flat parts of the model's: nothing tells them from replicas").
				WithPath(p.sides[side].Path()).WithHint("ranks of FSDP2 (fully_shard) and of DistributedDataParallel are compared")
		case collective && strings.Contains(o.Scalars, all):
			kept.Operators = append(kept.Operators, p.without(o, func(s *tape.Slot) bool { return s.Role == tape.Input }))
		case o.Place.Phase.String() == "optimizer" && !collective:
			kept.Operators = append(kept.Operators, p.without(o, func(s *tape.Slot) bool { return strings.Contains(s.Name, divided) }))
		}
	}
	return kept, nil
}

func upTo(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// without is an operator without some of its tensors, and without random numbers.
func (p *replicas) without(o *tape.Operator, drop func(*tape.Slot) bool) *tape.Operator {
	place := p.places[o.Place]
	if place == nil {
		less := *o.Place
		less.Slots = slices.DeleteFunc(slices.Clone(less.Slots), func(s tape.Slot) bool { return drop(&s) })
		place = &less
		p.places[o.Place] = place
	}
	kept := &tape.Operator{Place: place, Scalars: o.Scalars}
	for i := range o.Values {
		if !drop(&o.Place.Slots[i]) {
			kept.Values = append(kept.Values, o.Values[i])
		}
	}
	return kept
}

// take adds a step to what is known of a rank.
func (h *history) take(s *tape.Step) {
	h.madeBefore, h.made = h.made, map[made]bool{}
	h.before, h.called = h.called, map[tape.At]string{}
	places := tape.PlacesOf(&tape.Step{}, 0)
	for _, o := range s.Operators {
		at := places.Next(o)
		module := ""
		if at.Phase == "optimizer" {
			h.called[at] = o.Scalars
			module = at.Module
		}
		for i := range o.Values {
			if o.Place.Slots[i].Role != tape.Input && o.Values[i].State == tape.Taken {
				h.made[made{module, o.Values[i].Digest}] = true
			}
		}
	}
}

// whose are the ranks that deviate at the first difference; none where nothing tells them.
func (p *replicas) whose(first *Difference) []int64 {
	others := []int64{}
	alike := true
	for _, c := range p.pairs {
		if d := c.rank.First; d != nil && samePlace(at(d), at(first)) && d.Kind == first.Kind {
			others = append(others, c.rank.Rank)
			alike = alike && d.ValueB == first.ValueB
		}
	}
	switch {
	case len(p.sides) == 2:
		return p.ofTwo(first)
	case len(others) < len(p.pairs):
		return others
	case alike:
		return []int64{p.result.A.Rank}
	}
	return []int64{}
}

// samePlace reports whether two operators of different ranks stand for each other.
func samePlace(a, b *tape.At) bool {
	x, y := *a, *b
	x.Rank, y.Rank = 0, 0
	return x == y
}

// ofTwo tells by what two ranks did before which one deviates.
func (p *replicas) ofTwo(d *Difference) []int64 {
	a, b := &p.history[0], &p.history[1]
	var oddA, oddB bool
	switch d.Kind {
	case kindMissing:
		oddB = true
	case kindInserted:
		oddA = true
	case kindInput:
		oddA, oddB = !a.hasMade(d.A.Module, d.digests[0]), !b.hasMade(d.A.Module, d.digests[1])
	case kindArguments:
		oddA, oddB = a.hasChanged(d.A, d.ValueA), b.hasChanged(d.B, d.ValueB)
	}
	switch {
	case oddA && !oddB:
		return []int64{p.result.A.Rank}
	case oddB && !oddA:
		return []int64{p.pairs[0].rank.Rank}
	}
	return []int64{}
}

// hasMade reports whether an operator of the rank made this, outside of the optimizer or in it for this parameter.
func (h *history) hasMade(module string, digest uint64) bool {
	for _, of := range []string{"", module} {
		if key := (made{of, digest}); h.made[key] || h.madeBefore[key] {
			return true
		}
	}
	return false
}

// hasChanged reports whether the same operator was called with something else in the step before.
func (h *history) hasChanged(at *tape.At, scalars string) bool {
	key := *at
	key.Step, key.Rank = 0, 0
	before, known := h.before[key]
	return known && before != scalars
}

// blame says who deviates.
func (p *replicas) blame(ranks []int64) string {
	switch len(ranks) {
	case 0:
		return "; what is the same on all ranks differs here, and nothing tells whose is right"
	case 1:
		return fmt.Sprintf("; it is rank %d that deviates", ranks[0])
	}
	return fmt.Sprintf("; it is ranks %s that deviate", strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]"))
}
