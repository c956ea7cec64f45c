// Package precedence turns matched executions of collectives into edges of the graph of clocks: what one member entered came before what
// another, whom its data reached, left.
//
// It reads no trace and solves nothing. Which members wait for which is what package collective says of the kind; what the facts make
// of the clocks is package offsets' work. docs/concepts/solving.md lists which instants of which operation count, and why.
package precedence

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// Executions are matched executions, reduced to what their order says of clocks. The zero value has none.
type Executions struct {
	orders  []order
	members []member // of all orders, one after another
	Guessed int      // executions whose kind was read from a name
	Silent  int      // executions that say nothing: members of one clock, or nobody knows who gives to whom
}

// order is one statement: no receiver left before every giver had entered.
type order struct {
	group    int32 // index into Matched.Groups
	from, to int32 // members
}

// member is what one clock has to do with a statement: of several devices on one clock the last that entered and the first that left.
type member struct {
	clock       int32 // number of the clock; they ascend within an order
	gives       bool
	takes       bool
	enter, left int64 // ns on the clock, made earlier and later by what is not known of the instants
}

// Collect reduces matched executions. clock maps an instant of an execution to its node's wall clock, with a bound on the error; of gives the
// number of that clock, negative for a node that has none.
func Collect(m *collective.Matched, clock collective.Clock, of func(node int32) int32) *Executions {
	x := &Executions{}
	grain := grains(m.Part.Spans)
	var list []member
	for gi := range m.Groups {
		g := &m.Groups[gi]
		said := false
		add := func(i int32, gives, takes bool) {
			s := &m.Part.Spans[g.Members[i].Span]
			c := of(s.Node)
			if c < 0 {
				return
			}
			enter, before := clock(s, s.StartNS)
			left, after := clock(s, s.EndNS)
			if left < enter {
				return
			}
			rough := grain[s.Node]
			list = append(list, member{clock: c, gives: gives, takes: takes, enter: enter - before - rough, left: left + after + 2*rough})
		}
		m.Orders(g, func(givers, receivers []int32) {
			list = list[:0]
			same := len(givers) == len(receivers) && len(givers) > 0 && &givers[0] == &receivers[0]
			for _, i := range givers {
				add(i, true, same)
			}
			if !same {
				for _, i := range receivers {
					add(i, false, true)
				}
			}
			said = x.keep(int32(gi), list) || said
		})
		switch {
		case !said:
			x.Silent++
		case m.Part.Ops[g.Op].Guess:
			x.Guessed++
		}
	}
	return x
}

// keep adds a statement about several clocks.
func (x *Executions) keep(group int32, list []member) bool {
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.clock, b.clock) })
	from := int32(len(x.members))
	for _, m := range list {
		if n := len(x.members); int32(n) > from && x.members[n-1].clock == m.clock {
			x.members[n-1] = x.members[n-1].with(m)
			continue
		}
		x.members = append(x.members, m)
	}
	gives, takes := -1, -1
	useful := false
	for i, m := range x.members[from:] {
		useful = useful || m.gives && takes >= 0 && takes != i || m.takes && gives >= 0 && gives != i
		if m.gives {
			gives = i
		}
		if m.takes {
			takes = i
		}
	}
	if !useful {
		x.members = x.members[:from]
		return false
	}
	x.orders = append(x.orders, order{group: group, from: from, to: int32(len(x.members))})
	return true
}

// with joins two devices on one clock.
func (m member) with(o member) member {
	switch {
	case o.gives && m.gives:
		m.enter = max(m.enter, o.enter)
	case o.gives:
		m.gives, m.enter = true, o.enter
	}
	switch {
	case o.takes && m.takes:
		m.left = min(m.left, o.left)
	case o.takes:
		m.takes, m.left = true, o.left
	}
	return m
}

// steps are what recorders round instants to, ns: milliseconds, microseconds, and the quarters of a microsecond that a float64 of
// microseconds since 1970 can hold.
var steps = [...]int64{1_000_000, 1000, 250}

// grains finds, by node, what its recorder rounded instants to, less the ns that rounding allows for already: it may have cut as much from
// every begin and from every duration.
func grains(spans []event.Span) map[int32]int64 {
	common := map[int32]int64{}
	for i := range spans {
		s := &spans[i]
		common[s.Node] = gcd(gcd(common[s.Node], s.StartNS), s.EndNS)
	}
	out := make(map[int32]int64, len(common))
	for n, g := range common {
		for _, step := range steps {
			if g%step == 0 {
				out[n] = step
				break
			}
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// Count returns how many statements there are.
func (x *Executions) Count() int { return len(x.orders) }

// AddTo adds the facts to a graph, whose clocks are those of the numbers given to Collect.
func (x *Executions) AddTo(g *offsets.Graph, clocks []offsets.Clock) {
	for _, o := range x.orders {
		list := x.members[o.from:o.to]
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.gives && b.takes {
					g.Between(clocks[a.clock], clocks[b.clock], offsets.Collectives).Before(clocks[a.clock], a.enter, b.left)
				}
				if b.gives && a.takes {
					g.Between(clocks[a.clock], clocks[b.clock], offsets.Collectives).Before(clocks[b.clock], b.enter, a.left)
				}
			}
		}
	}
}
