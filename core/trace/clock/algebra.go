package clock

import (
	"math"
	"sort"
)

// Inverse returns the map from the target clock back to the source clock. Where the map is flat (several source instants, one
// target) the inverse takes the earliest and marks a step.
func (m *Map) Inverse() *Map {
	if m == nil || len(m.knots) == 0 {
		return &Map{}
	}
	inv := &Map{before: inverseDrift(m.before), after: inverseDrift(m.after), growthPPB: m.growthPPB, wanderPPB: m.wanderPPB}
	inv.flags = append(inv.flags, m.flags[0])
	flat := false
	for i, k := range m.knots {
		if i > 0 {
			if near(k) == near(m.knots[i-1]) {
				flat = true
				continue
			}
			f := m.flags[i]
			if flat {
				f |= InStep
			}
			inv.flags = append(inv.flags, f)
			flat = false
		}
		inv.knots = append(inv.knots, Knot{X: near(k), Y: k.X, BoundNS: k.BoundNS})
	}
	last := m.flags[len(m.knots)]
	if flat {
		last |= InStep
	}
	inv.flags = append(inv.flags, last)
	return inv
}

// near returns the target instant of a knot in whole ns: what the source of another map can be.
func near(k Knot) int64 {
	if k.YPS >= psPerNS/2 {
		return k.Y + 1
	}
	return k.Y
}

// inverseDrift solves (1+d)(1+e) = 1 for e.
func inverseDrift(d Drift) Drift {
	return Drift(mulDiv(-int64(d), 1e12, 1e12+int64(d)))
}

// Compose returns the map that applies first and then then. Bounds add up; an instant outside first's knots is flagged
// Extrapolated, one that lands outside then's knots ExtrapolatedThen.
func Compose(first, then *Map) *Map {
	if first == nil || len(first.knots) == 0 {
		if then == nil || len(then.knots) == 0 {
			return &Map{}
		}
		return then.asThen()
	}
	if then == nil || len(then.knots) == 0 {
		return first
	}
	back := first.Inverse()
	xs := make([]int64, 0, len(first.knots)+len(then.knots))
	for _, k := range first.knots {
		xs = append(xs, k.X)
	}
	for _, k := range then.knots {
		x, _, _ := back.At(k.X)
		xs = append(xs, x)
	}
	sort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })
	m := &Map{growthPPB: first.growthPPB + then.growthPPB, wanderPPB: first.wanderPPB + then.wanderPPB}
	m.before, m.after = chain(first.before, then.before), chain(first.after, then.after)
	m.flags = append(m.flags, joinFlags(first.flags[0], then.flags[0]))
	for i, x := range xs {
		if i > 0 && x == xs[i-1] {
			continue
		}
		_, b1, _ := first.At(x)
		mid, midPS := first.exact(first.interval(x), x, 0)
		y, ps := then.exact(then.interval(mid), mid, midPS)
		_, b2, _ := then.At(mid)
		if n := len(m.knots); n > 0 {
			if p := m.knots[n-1]; y < p.Y || y == p.Y && ps < p.YPS { // rounding at a kink
				y, ps = p.Y, p.YPS
			}
			m.flags = append(m.flags, flagsBetween(first, then, m.knots[n-1].X, x))
		}
		m.knots = append(m.knots, Knot{X: x, Y: y, YPS: ps, BoundNS: addSat(b1, b2)})
	}
	m.flags = append(m.flags, joinFlags(first.flags[len(first.knots)], then.flags[len(then.knots)]))
	return m
}

// flagsBetween returns the flags of the open interval between two neighbouring knots of a composed map.
func flagsBetween(first, then *Map, a, b int64) Coverage {
	mid := a + (b-a)/2
	y, _, f := first.At(mid)
	_, _, g := then.At(y)
	return joinFlags(f, g)
}

func joinFlags(first, then Coverage) Coverage {
	if then&Extrapolated != 0 {
		then = then&^Extrapolated | ExtrapolatedThen
	}
	return first | then
}

func (m *Map) asThen() *Map {
	c := *m
	c.flags = make([]Coverage, len(m.flags))
	for i, f := range m.flags {
		c.flags[i] = joinFlags(0, f)
	}
	return &c
}

// chain multiplies two rates: (1+a)(1+b) = 1 + a + b + ab.
func chain(a, b Drift) Drift { return a + b + Drift(mulDiv(int64(a), int64(b), 1e12)) }

// HoldTails returns the map with both tails held: the offset of the nearest knot, no drift, and a bound that grows by growthPPB
// nanoseconds a second. Knots and flags stay.
func (m *Map) HoldTails(growthPPB int64) *Map {
	if m == nil || len(m.knots) == 0 {
		return m
	}
	h := *m
	h.before, h.after, h.growthPPB = 0, 0, max(growthPPB, m.growthPPB)
	return &h
}

// OnTarget returns the map of an instant of the target clock to itself, with the bound and the flags that m has where it lands
// there: what is known of an instant that was mapped before.
func (m *Map) OnTarget() *Map {
	if m == nil || len(m.knots) == 0 {
		return &Map{}
	}
	out := &Map{growthPPB: m.growthPPB, wanderPPB: m.wanderPPB, flags: []Coverage{m.flags[0]}}
	add := func(y, bound int64, before Coverage) {
		if n := len(out.knots); n > 0 {
			if last := &out.knots[n-1]; y <= last.X { // several source instants, one target
				last.BoundNS = max(last.BoundNS, bound)
				return
			}
			out.flags = append(out.flags, before)
		}
		out.knots = append(out.knots, Knot{X: y, Y: y, BoundNS: bound})
	}
	for i, k := range m.knots {
		if i == 0 {
			add(near(k), k.BoundNS, 0)
			continue
		}
		from, to, f := near(m.knots[i-1]), near(k), m.flags[i]
		if f&InStep != 0 && to-from > 2 { // on one clock there is no step to see: its size goes into the bounds within
			size := clampFloat(math.Ceil(m.stepSize(i)))
			add(from+1, addSat(m.knots[i-1].BoundNS, size), f)
			add(to-1, addSat(k.BoundNS, size), f)
		}
		add(to, k.BoundNS, f)
	}
	out.flags = append(out.flags, m.flags[len(m.knots)])
	return out
}

// LargestBound returns the largest bound of the instants from x to y of the source clock; 0 for a map without knots.
func (m *Map) LargestBound(from, to int64) int64 {
	if m == nil || len(m.knots) == 0 {
		return 0
	}
	largest := int64(0)
	at := func(x int64) {
		if x >= from && x <= to {
			_, b, _ := m.At(x)
			largest = max(largest, b)
		}
	}
	at(from)
	at(to)
	for i, k := range m.knots {
		at(k.X)
		if i > 0 { // wander and steps are largest inside
			p := m.knots[i-1].X
			at(p + 1)
			at(p + (k.X-p)/2)
			at(k.X - 1)
		}
	}
	return largest
}
