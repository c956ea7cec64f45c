package offsets

import (
	"cmp"
	"math"
	"slices"
)

// stepIn is what clocks can be if they stepped between two places of a frame: the one with this number and the next.
type stepIn struct {
	at            int
	before, after *frame

	program *linearProgram // of all lines on both sides together; nil where the polygons say as much
	number  []int          // by clock: its place in the program
}

// Of a clock the program knows where its line is before the step, where after it, and the rate of both.
const (
	lineBefore = iota
	lineAfter
	rateOfBoth
	perClock
)

// relate makes the programs: which line of one clock goes with which line of another, before the step and after it, the polygons do not know. It
// is for few clocks.
func (j *joint) relate(f *frame, meetings []int32, all []*stepIn) {
	var free []int32
	for c := range f.track {
		if j.isFree(f, int32(c)) {
			free = append(free, int32(c))
		}
	}
	if len(free) < 2 || len(free) > mostTogether {
		return
	}
	for _, in := range all {
		in.relate(j, meetings, free)
	}
}

func (in *stepIn) relate(j *joint, meetings []int32, free []int32) {
	p := newLinearProgram(perClock * len(free))
	number := make([]int, len(in.before.track))
	for n, c := range free {
		number[c] = n
		a, b := in.before.track[c].poly, in.after.track[c].poly
		for side, poly := range [2]*polygon{a, b} {
			p.low[perClock*n+side], p.high[perClock*n+side] = poly.band(poly.x0)
		}
		least, most := a.slopes()
		lo, hi := b.slopes()
		if least, most = math.Max(least, lo), math.Min(most, hi); least > most { // the rate changed as well
			return
		}
		p.low[perClock*n+rateOfBoth], p.high[perClock*n+rateOfBoth] = least, most
	}
	open := false
	for side, g := range [2]*frame{in.before, in.after} {
		straight := newLinearProgram(2 * len(free)) // the slopes that a sieve asks for
		for n := range free {
			straight.low[2*n+1], straight.high[2*n+1] = p.low[perClock*n+rateOfBoth], p.high[perClock*n+rateOfBoth]
		}
		for _, q := range j.facts(g, meetings, g.out, free, newSieve(g, straight, free, sieveStretches)) {
			if q.open {
				open = true
				p.rows = append(p.rows, q.onSide(side))
			}
		}
		for n, c := range free {
			for _, q := range g.track[c].poly.sides(int32(n)) {
				p.rows = append(p.rows, q.onSide(side))
			}
		}
	}
	if open {
		in.program, in.number = p, number
	}
}

// onSide is a row about lines as one about the lines on one side of a step.
func (c constraint) onSide(side int) constraint {
	for i := range c.n {
		n, rate := c.at[i]/2, c.at[i]%2 == 1
		c.at[i] = perClock*n + int32(side)
		if rate {
			c.at[i] = perClock*n + rateOfBoth
		}
	}
	return c
}

// reachIn is where a clock can be, on one side of one step.
type reachIn struct {
	in   *stepIn
	side int
	v    float64
}

// farthestOf is where a clock can be farthest to one side at the i-th place, x, wherever it stepped, and at least where it is without a step. On either
// side of the stretch of the step it is on the line of that side, in it on any of both.
func farthestOf(all []*stepIn, c, i int, x, straight, side float64) float64 {
	var reach []reachIn
	for _, in := range all {
		for n, g := range [2]*frame{in.before, in.after} {
			if n == lineBefore && i > in.at+1 || n == lineAfter && i < in.at || !g.limited(c, x) { // not there, or in none of the meetings of that side
				continue
			}
			lo, hi := g.track[c].poly.band(x)
			v := hi
			if side < 0 {
				v = lo
			}
			if side*v > side*straight {
				reach = append(reach, reachIn{in, n, v})
			}
		}
	}
	slices.SortStableFunc(reach, func(a, b reachIn) int { return cmp.Compare(side*b.v, side*a.v) })
	best := straight
	for _, r := range reach {
		if side*r.v <= side*best {
			break
		}
		if v := r.value(c, x, side); side*v > side*best {
			best = v
		}
	}
	return best
}

// value is v, or what the program says, where that is less.
func (r *reachIn) value(c int, x, side float64) float64 {
	p := r.in.program
	if p == nil {
		return r.v
	}
	n := perClock * r.in.number[c]
	to := make([]float64, len(p.z))
	to[n+r.side], to[n+rateOfBoth] = side, side*x/1e9
	if p.maximize(to) != solved {
		return r.v
	}
	v := p.z[n+r.side] + p.z[n+rateOfBoth]*x/1e9
	if side*v > side*r.v {
		return r.v
	}
	return v
}
