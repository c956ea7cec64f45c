package combine

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Repair is by how much clocks were moved, within their bounds, so that nobody leaves a collective before those whose data it needs have entered.
type Repair struct {
	Before int        `json:"inverted_before"` // statements of collectives that the estimates had in an impossible order, whatever their bounds
	After  int        `json:"inverted_after"`  // of these, what no clock within its bound repairs: a wrong match, or a wrong bound
	Moved  []Moved    `json:"moved"`
	Left   []Inverted `json:"left"` // the worst that are left
}

// Moved is a node whose clock was moved.
type Moved struct {
	Node  string `json:"node"`
	ByNS  int64  `json:"by_ns"`  // later is positive
	MayNS int64  `json:"may_ns"` // its smallest bound: as far as it may be moved
}

// Inverted is a collective in an impossible order.
type Inverted struct {
	Key        string `json:"key"`
	Occurrence int    `json:"occurrence"`
	Left       string `json:"left"`
	Entered    string `json:"entered"`
	ByNS       int64  `json:"by_ns"` // how long before the other had entered it left
}

const (
	// mostRepairs is how often the inverted collectives are gone through.
	mostRepairs = 200
	// mostLeft is how many that are left are listed.
	mostLeft = 20
)

// inversion is an order of two clocks; where by is above zero it is impossible: the giver must move earlier, or the receiver later, by that much.
type inversion struct {
	giver, receiver int // nodes
	group           int
	from, to        collective.Slot
	by              int64
}

// repaired is what repairing came to.
type repaired struct {
	done  *Repair
	moved []int64 // by node: later is positive
}

// repair finds by how much to move clocks, each by a constant that its bounds allow, until no estimate is in an impossible order. clocks reads
// instants of executions on the clocks as they are.
func repair(in *inputs, r *related, shares sharing, m *collective.Matched, clocks collective.Clock) repaired {
	all := tightOrders(in, shares, m, clocks)
	out := repaired{done: &Repair{Moved: []Moved{}, Left: []Inverted{}}, moved: make([]int64, len(in.nodes))}
	for _, o := range all {
		if o.by > 0 {
			out.done.Before++
		}
	}
	may, moved := make([]int64, len(in.nodes)), make([]int64, len(in.nodes)) // by the node whose clock it is
	for k := range in.nodes {
		if c := shares.with(k); k != in.ref && c != in.ref {
			if own := smallestBound(r.nodes[k].maps.Wall); may[c] == 0 || own < may[c] {
				may[c] = own
			}
		}
	}
	if out.done.Before > 0 {
		settleOrders(all, may, moved)
	}
	var left []inversion
	for _, o := range all {
		if o.by += moved[o.giver] - moved[o.receiver]; o.by > 0 {
			left = append(left, o)
		}
	}
	out.done.After = len(left)
	slices.SortStableFunc(left, func(a, b inversion) int { return cmp.Compare(b.by, a.by) })
	for _, o := range left[:min(len(left), mostLeft)] {
		g := &m.Groups[o.group]
		out.done.Left = append(out.done.Left, Inverted{Key: m.Part.Ops[g.Op].Key, Occurrence: g.Occurrence, Left: in.slot(o.to), Entered: in.slot(o.from), ByNS: o.by})
	}
	for k, n := range in.nodes {
		if by := moved[shares.with(k)]; by != 0 {
			out.moved[k] = by
			out.done.Moved = append(out.done.Moved, Moved{Node: n.ID, ByNS: by, MayNS: may[shares.with(k)]})
		}
	}
	return out
}

// moved are the clocks, each later by so much; its bound grows by that.
func (r *related) moved(by []int64) *related {
	out := *r
	out.nodes = slices.Clone(r.nodes)
	for k, ns := range by {
		if c := &out.nodes[k]; ns != 0 {
			c.maps.Wall = clock.Compose(c.maps.Wall, clock.Shift(ns, max(ns, -ns)))
			c.offsetNS -= ns
		}
	}
	return &out
}

// tightOrders lists, for each statement of a collective and each clock, the order that leaves it the least room on either side.
func tightOrders(in *inputs, shares sharing, m *collective.Matched, clocks collective.Clock) []inversion {
	var out []inversion
	type seen struct {
		clock int
		slot  collective.Slot
		at    int64
	}
	for gi := range m.Groups {
		g := &m.Groups[gi]
		look := func(list []int32, end bool) (ends []seen) {
			for _, i := range list {
				s := &m.Part.Spans[g.Members[i].Span]
				k := in.nodeOf(s.Node)
				if !in.nodes[k].absolute {
					continue
				}
				at := s.StartNS
				if end {
					at = s.EndNS
				}
				y, _ := clocks(s, at)
				ends = append(ends, seen{shares.with(k), collective.Slot{Node: s.Node, Device: s.Device}, y})
			}
			slices.SortStableFunc(ends, func(a, b seen) int { return cmp.Compare(a.at, b.at) })
			return ends
		}
		m.Orders(g, func(givers, receivers []int32) {
			entered, left := look(givers, false), look(receivers, true)
			slices.Reverse(entered)
			for _, pass := range [2]bool{true, false} { // each receiver with the last that entered; each giver with the first that left
				many, few := left, entered
				if !pass {
					many, few = entered, left
				}
				for _, a := range many {
					i := slices.IndexFunc(few, func(b seen) bool { return b.clock != a.clock })
					if i < 0 {
						continue
					}
					giver, receiver := few[i], a
					if !pass {
						giver, receiver = a, few[i]
					}
					out = append(out, inversion{giver.clock, receiver.clock, gi, giver.slot, receiver.slot, giver.at - receiver.at})
				}
			}
		})
	}
	return out
}

// settleOrders finds how far to move each clock: an inverted order is shared by both of its clocks as far as each may still move.
func settleOrders(all []inversion, may, moved []int64) {
	for range mostRepairs {
		calm := true
		for _, o := range all {
			by := o.by + moved[o.giver] - moved[o.receiver]
			if by <= 0 {
				continue
			}
			earlier, later := may[o.giver]+moved[o.giver], may[o.receiver]-moved[o.receiver]
			if earlier+later <= 0 {
				continue
			}
			by = min(by, earlier+later)
			give := int64(float64(by) * float64(earlier) / float64(earlier+later))
			give = min(max(give, by-later), earlier)
			moved[o.giver] -= give
			moved[o.receiver] += by - give
			calm = false
		}
		if calm {
			return
		}
	}
}

// smallestBound is as far as a map may be moved without leaving its bound anywhere.
func smallestBound(m *clock.Map) int64 {
	knots := m.Knots()
	if len(knots) == 0 {
		return 0
	}
	least := knots[0].BoundNS
	for _, k := range knots {
		least = min(least, k.BoundNS)
	}
	return least
}
