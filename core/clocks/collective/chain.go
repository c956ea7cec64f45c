package collective

import (
	"cmp"
	"slices"
)

// dropChains takes back what was matched by order in a communicator whose order is lost. A communicator executes all of its
// operations in one order on every device; when one of them is missing somewhere, or the devices disagree about the order, the
// k-th execution of any of them may belong to another's k+1-th. lost names the chains known to be so.
func (m *Matched) dropChains(lost map[string]bool, unmatched func(key string, spans []int32)) {
	chains := map[string][]int{}
	for i := range m.Groups {
		if c := m.Part.Ops[m.Groups[i].Op].Chain; c != "" && m.Groups[i].How == byOrder {
			chains[c] = append(chains[c], i)
		}
	}
	for c, groups := range chains {
		if !lost[c] && !m.sameOrder(groups) {
			lost[c] = true
		}
	}
	m.Groups = slices.DeleteFunc(m.Groups, func(g Group) bool {
		op := &m.Part.Ops[g.Op]
		if g.How != byOrder || op.Chain == "" || !lost[op.Chain] {
			return false
		}
		spans := make([]int32, len(g.Members))
		for i, member := range g.Members {
			spans[i] = member.Span
		}
		unmatched(op.Key, spans)
		return true
	})
}

// sameOrder reports whether all devices executed the groups in the same order.
func (m *Matched) sameOrder(groups []int) bool {
	type at struct {
		group int
		start int64
	}
	byDevice := map[Slot][]at{}
	var first Slot
	for _, g := range groups {
		for _, member := range m.Groups[g].Members {
			s := &m.Part.Spans[member.Span]
			d := Slot{s.Node, s.Device}
			byDevice[d] = append(byDevice[d], at{g, s.StartNS})
			if n, most := len(byDevice[d]), len(byDevice[first]); n > most || n == most && compareSlots(d, first) < 0 {
				first = d
			}
		}
	}
	position := map[int]int{}
	for d, list := range byDevice {
		slices.SortStableFunc(list, func(a, b at) int { return cmp.Compare(a.start, b.start) })
		if d == first {
			for i, a := range list {
				position[a.group] = i
			}
		}
	}
	for _, list := range byDevice {
		last := -1
		for _, a := range list {
			if p, ok := position[a.group]; ok {
				if p < last {
					return false
				}
				last = p
			}
		}
	}
	return true
}

func compareSlots(a, b Slot) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device, b.Device))
}
