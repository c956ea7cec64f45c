package collective

import (
	"slices"

	"github.com/prlx-go/prlx/core/trace/hlo"
)

// seat is what decides about a member to whom it gives and from whom it receives.
type seat struct {
	slot  Slot
	who   int64 // participant, -1 unknown
	sends bool  // the sending side of a send-recv
}

// Orders visits what the kind of a group's operation says of its members' order: no receiver can leave before every giver has entered.
// The numbers are those of the members in g. Nothing is visited where it is not known who gives to whom.
func (m *Matched) Orders(g *Group, visit func(givers, receivers []int32)) {
	seats := make([]seat, len(g.Members))
	for i, member := range g.Members {
		s := &m.Part.Spans[member.Span]
		seats[i] = seat{slot: Slot{s.Node, s.Device}, who: member.Participant, sends: m.Part.Ops[s.Op].Sends}
	}
	m.Part.Ops[g.Op].orders(seats, visit)
}

func (o *Op) orders(seats []seat, visit func(givers, receivers []int32)) {
	switch {
	case o.Kind.Symmetric():
		all := make([]int32, len(seats))
		for i := range all {
			all[i] = int32(i)
		}
		visit(all, all)
	case o.Kind.Paired():
		transfers(o.Pairs, seats, func(giver, receiver int32) { visit([]int32{giver}, []int32{receiver}) })
	case o.Kind.RootGives(), o.Kind.RootTakes():
		root := int32(rootOf(o, seats))
		if root < 0 {
			return
		}
		others := make([]int32, 0, len(seats))
		for i := range seats {
			if int32(i) != root {
				others = append(others, int32(i))
			}
		}
		if o.Kind.RootGives() {
			visit([]int32{root}, others)
		} else {
			visit(others, []int32{root})
		}
	}
}

// transfers visits each source with its target.
func transfers(pairs []hlo.Pair, seats []seat, visit func(giver, receiver int32)) {
	givers, receivers := map[int64]int32{}, map[int64]int32{}
	sided := slices.ContainsFunc(seats, func(s seat) bool { return s.sends })
	for i, s := range seats {
		if s.who < 0 {
			return
		}
		if !sided || s.sends {
			givers[s.who] = int32(i)
		}
		if !sided || !s.sends {
			receivers[s.who] = int32(i)
		}
	}
	for _, p := range pairs {
		giver, gives := givers[p.Source]
		receiver, receives := receivers[p.Target]
		if gives && receives && seats[giver].slot != seats[receiver].slot {
			visit(giver, receiver)
		}
	}
}

// rootOf returns the index of the root among the members, -1 when it is not known or not there.
func rootOf(op *Op, seats []seat) int {
	if !op.Rooted {
		return -1
	}
	if slices.ContainsFunc(seats, func(s seat) bool { return s.who < 0 }) {
		return -1
	}
	if op.Ranked {
		return slices.IndexFunc(seats, func(s seat) bool { return s.who == op.Root })
	}
	for _, g := range op.Groups {
		if len(g) > 0 && slices.Contains(g, seats[0].who) {
			return slices.IndexFunc(seats, func(s seat) bool { return s.who == g[0] })
		}
	}
	return -1
}
