// Package precedence turns matched executions of collectives into edges of the graph of clocks: what one member entered came before what
// another, whom its data reached, left.
//
// It reads no trace and solves nothing. Which members wait for which is what package collective says of the kind; what the facts make
// of the clocks is package offsets' work. docs/concepts/solving.md lists which instants of which operation count, and why.
package precedence

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/event"
)

// Executions are matched executions, reduced to what their order says of clocks.
type Executions struct {
	Meetings offsets.Meetings
	Groups   []int32 // by meeting: index into Matched.Groups
	Guessed  int     // executions whose kind was read from a name
	Silent   int     // executions that say nothing: members of one clock, or nobody knows who gives to whom
}

// Collect reduces matched executions. read maps an instant of an execution to its node's wall clock, with a bound on the error; of gives that
// clock, false for a node that has none.
func Collect(m *collective.Matched, read collective.Clock, of func(node int32) (offsets.Clock, bool)) *Executions {
	x := &Executions{}
	grain := grains(m.Part.Spans)
	var list []offsets.Presence
	for gi := range m.Groups {
		g := &m.Groups[gi]
		said := false
		add := func(i int32, gives, takes bool) {
			s := &m.Part.Spans[g.Members[i].Span]
			c, ok := of(s.Node)
			if !ok {
				return
			}
			enter, before := read(s, s.StartNS)
			left, after := read(s, s.EndNS)
			if left < enter {
				return
			}
			rough := grain[s.Node]
			list = append(list, offsets.Presence{Clock: x.Meetings.Clock(c), Gives: gives, Takes: takes, EnterNS: enter - before - rough, LeftNS: left + after + 2*rough})
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

// keep adds a meeting of several clocks.
func (x *Executions) keep(group int32, list []offsets.Presence) bool {
	slices.SortFunc(list, func(a, b offsets.Presence) int { return cmp.Compare(a.Clock, b.Clock) })
	n := 0
	for i, p := range list {
		if i > 0 && list[n-1].Clock == p.Clock {
			list[n-1] = join(list[n-1], p)
			continue
		}
		list[n] = p
		n++
	}
	list = list[:n]
	gives, takes, both := 0, 0, 0
	for _, p := range list {
		switch {
		case p.Gives && p.Takes:
			both++
		case p.Gives:
			gives++
		case p.Takes:
			takes++
		}
	}
	if n < 2 || gives+both == 0 || takes+both == 0 {
		return false
	}
	x.Meetings.Add(list)
	x.Groups = append(x.Groups, group)
	return true
}

// join makes one presence of two devices on one clock.
func join(p, o offsets.Presence) offsets.Presence {
	switch {
	case o.Gives && p.Gives:
		p.EnterNS = max(p.EnterNS, o.EnterNS)
	case o.Gives:
		p.Gives, p.EnterNS = true, o.EnterNS
	}
	switch {
	case o.Takes && p.Takes:
		p.LeftNS = min(p.LeftNS, o.LeftNS)
	case o.Takes:
		p.Takes, p.LeftNS = true, o.LeftNS
	}
	return p
}

// steps are what recorders round instants to, ns: milliseconds, microseconds, and the quarters of a microsecond that a float64 of
// microseconds since 1970 can hold.
var steps = [...]int64{1_000_000, 1000, 250}

// grains finds, by node, what its recorder rounded instants to, less the ns that rounding allows for already: it may have cut as much from
// every begin and from every duration.
func grains(spans []event.Span) map[int32]int64 {
	common := map[int32]Grain{}
	for i := range spans {
		s := &spans[i]
		g := common[s.Node]
		g.Add(s.StartNS)
		g.Add(s.EndNS)
		common[s.Node] = g
	}
	out := make(map[int32]int64, len(common))
	for n, g := range common {
		if step := g.Step(); step > 0 {
			out[n] = step
		}
	}
	return out
}

// Grain finds out what a recorder rounded instants to. The zero Grain has seen none.
type Grain struct{ common int64 }

// Add adds an instant.
func (g *Grain) Add(ns int64) { g.common = gcd(g.common, ns) }

// Step is what all instants were rounded to, 0 where that is the ns or less.
func (g *Grain) Step() int64 {
	for _, step := range steps {
		if g.common%step == 0 {
			return step
		}
	}
	return 0
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}
