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
	giver, receiver *Node
	group           int
	from, to        collective.Slot
	by              int64
}

// repair moves clocks, each by a constant that its bounds allow, until no estimate is in an impossible order.
func (t *task) repair() error {
	switch {
	case !t.req.Repair:
		return nil
	case len(t.nodes) < 2:
		t.warn("nothing was repaired: there is one node")
		return nil
	case !t.req.applies():
		t.warn("nothing was repaired: no clock is corrected")
		return nil
	}
	m, err := t.match()
	if err != nil {
		return err
	}
	all := t.tightOrders(m)
	r := &Repair{Moved: []Moved{}, Left: []Inverted{}}
	t.doc.Repaired = r
	for _, o := range all {
		if o.by > 0 {
			r.Before++
		}
	}
	may, moved := map[*Node]int64{}, map[*Node]int64{}
	for i, n := range t.nodes {
		if c := t.sharedWith(n); i != t.ref && c != t.nodes[t.ref] {
			if own := smallestBound(n.Clocks.Wall); may[c] == 0 || own < may[c] {
				may[c] = own
			}
		}
	}
	if r.Before > 0 {
		t.settle(all, may, moved)
	}
	var left []inversion
	for _, o := range all {
		if o.by += moved[o.giver] - moved[o.receiver]; o.by > 0 {
			left = append(left, o)
		}
	}
	r.After = len(left)
	slices.SortStableFunc(left, func(a, b inversion) int { return cmp.Compare(b.by, a.by) })
	for _, o := range left[:min(len(left), mostLeft)] {
		g := &m.Groups[o.group]
		r.Left = append(r.Left, Inverted{Key: m.Part.Ops[g.Op].Key, Occurrence: g.Occurrence, Left: t.slot(o.to), Entered: t.slot(o.from), ByNS: o.by})
	}
	for _, n := range t.nodes {
		if by := moved[t.sharedWith(n)]; by != 0 {
			n.Clocks.Wall = clock.Compose(n.Clocks.Wall, clock.Shift(by, max(by, -by)))
			n.Result.OffsetNS -= by
			r.Moved = append(r.Moved, Moved{Node: n.ID, ByNS: by, MayNS: may[t.sharedWith(n)]})
		}
	}
	if len(r.Moved) == 0 {
		return nil
	}
	return t.place()
}

// tightOrders lists, for each statement of a collective and each clock, the order that leaves it the least room on either side.
func (t *task) tightOrders(m *collective.Matched) []inversion {
	read, parties := t.clockOf(), t.parties()
	var out []inversion
	type seen struct {
		clock *Node
		slot  collective.Slot
		at    int64
	}
	for gi := range m.Groups {
		g := &m.Groups[gi]
		look := func(list []int32, end bool) (ends []seen) {
			for _, i := range list {
				s := &m.Part.Spans[g.Members[i].Span]
				n := t.nodes[parties[s.Node].node]
				if !n.absolute {
					continue
				}
				at := s.StartNS
				if end {
					at = s.EndNS
				}
				y, _ := read(s, at)
				ends = append(ends, seen{t.sharedWith(n), collective.Slot{Node: s.Node, Device: s.Device}, y})
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

// settle finds how far to move each clock: an inverted order is shared by both of its clocks as far as each may still move.
func (t *task) settle(all []inversion, may, moved map[*Node]int64) {
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
