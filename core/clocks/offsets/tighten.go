package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/clock"
)

const (
	// mostTogether is how many clocks are solved as one linear program, whose size grows with the pairs of them.
	mostTogether = 8
	// mostFacts is how many facts it may have.
	mostFacts = 100_000
	// mostCorners is how many corners of a limit are looked for.
	mostCorners = 24
)

// tighten narrows the limits to what all lines of all clocks allow together: the polygons know each clock on its own, and which line of one
// goes with which line of another only the program knows. It is for few clocks.
func (j *joint) tighten(f *frame, meetings []int32, out map[int32]bool) {
	var free []int32
	for i := range f.track {
		if f.track[i].known && f.track[i].poly != nil {
			free = append(free, int32(i))
		}
	}
	if len(free) == 0 || len(free) > mostTogether {
		return
	}
	p := newLinearProgram(2 * len(free))
	for n, c := range free {
		k := &f.track[c]
		p.low[2*n], p.high[2*n] = math.Inf(1), math.Inf(-1)
		p.low[2*n+1], p.high[2*n+1] = math.Inf(1), math.Inf(-1)
		for _, l := range k.poly.v {
			p.low[2*n], p.high[2*n] = math.Min(p.low[2*n], l.a), math.Max(p.high[2*n], l.a)
			p.low[2*n+1], p.high[2*n+1] = math.Min(p.low[2*n+1], l.s), math.Max(p.high[2*n+1], l.s)
		}
	}
	facts := j.facts(f, meetings, out, free, newSieve(f, p, free, sieveStretches))
	if len(facts) == 0 {
		return
	}
	f.farthest(p, facts, free)
	for _, q := range facts {
		if q.open {
			p.rows = append(p.rows, q.constraint)
		}
	}
	if len(p.rows) == 0 {
		return // the polygons know it all
	}
	for n, c := range free {
		p.rows = append(p.rows, f.track[c].poly.sides(int32(n))...)
	}
	for n, c := range free {
		k := &f.track[c]
		hi, okHi := p.limit(n, k.hi, +1)
		lo, okLo := p.limit(n, k.lo, -1)
		if okHi && okLo {
			k.hi, k.lo = hi, lo
		}
	}
}

// sides are the rows that keep the n-th clock's line inside of its polygon.
func (p *polygon) sides(n int32) []constraint {
	var center line
	for _, v := range p.v {
		center.a += v.a / float64(len(p.v))
		center.s += v.s / float64(len(p.v))
	}
	var out []constraint
	for i, v := range p.v {
		w := p.v[(i+1)%len(p.v)]
		a, s := w.s-v.s, v.a-w.a
		size := math.Abs(a) + math.Abs(s)
		if size < 1e-6 {
			continue
		}
		if a*(center.a-v.a)+s*(center.s-v.s) > 0 {
			a, s = -a, -s
		}
		c := constraint{most: (a*v.a + s*v.s) / size}
		c.add(2*n, a/size)
		c.add(2*n+1, s/size)
		out = append(out, c)
	}
	return out
}

// fact is a row, and whether the polygons leave it open.
type fact struct {
	constraint
	open bool
}

// facts lists the facts of the meetings that a sieve lets through (nil: all); nil where they are too many.
func (j *joint) facts(f *frame, meetings []int32, out map[int32]bool, free []int32, s *sieve) []fact {
	var facts []fact
	var list []seen
	each := func(visit func(x, y *seen)) {
		for _, i := range meetings {
			if out[i] {
				continue
			}
			list = f.look(j.m.Of(int(i)), list[:0])
			for a := range list {
				for b := range list {
					if x, y := &list[a], &list[b]; a != b && x.gives && y.takes {
						visit(x, y)
					}
				}
			}
		}
	}
	if s != nil {
		each(s.see)
	}
	each(func(x, y *seen) {
		if len(facts) > mostFacts || s != nil && s.follows(x, y) {
			return
		}
		// error of y at its leaving - error of x at its entering <= what lies between
		q := fact{constraint: constraint{most: y.left - x.enter + f.tol}}
		_, hi := f.limits(y.clock, y.left)
		lo, _ := f.limits(x.clock, x.enter)
		q.open = hi-lo > q.most
		q.line(slices.Index(free, y.clock), y.left/1e9, +1)
		q.line(slices.Index(free, x.clock), x.enter/1e9, -1)
		facts = append(facts, q)
	})
	if len(facts) > mostFacts {
		return nil
	}
	return facts
}

// farthest estimates the clocks by the lines that are farthest from contradicting any fact: those of both directions are taken to have as
// little to spare.
func (f *frame) farthest(p *linearProgram, facts []fact, free []int32) {
	n := len(p.z)
	q := newLinearProgram(n + 1)
	copy(q.low, p.low)
	copy(q.high, p.high)
	q.low[n], q.high[n] = -maxThetaNS, maxThetaNS
	for i := range facts {
		c := facts[i].constraint
		c.add(int32(n), 1)
		q.rows = append(q.rows, c)
	}
	best := make([]float64, n+1)
	best[n] = 1
	if q.maximize(best) != solved {
		return
	}
	for i, c := range free {
		k := &f.track[c]
		k.est, k.estimate = line{q.z[2*i], q.z[2*i+1]}, true
	}
}

// line adds the value of a clock's line; the reference, which is none of them, has none.
func (c *constraint) line(n int, dx, side float64) {
	if n < 0 {
		return
	}
	c.add(int32(2*n), side)
	c.add(int32(2*n+1), side*dx)
}

// limit finds the largest (side +1) or smallest error of a clock over the frame. Values between the corners that are found lie within straight
// lines between them, because no line's largest value over time bends the other way.
func (p *linearProgram) limit(n int, known envelope, side float64) (envelope, bool) {
	c := make([]float64, len(p.z))
	solves := 0
	at := func(x float64) (line, bool) {
		solves++
		c[2*n], c[2*n+1] = side, side*x/1e9
		if p.maximize(c) != solved {
			return line{}, false
		}
		return line{p.z[2*n], p.z[2*n+1]}, true
	}
	left, right := known.at[0], known.at[len(known.at)-1]
	l0, ok0 := at(left)
	l1, ok1 := at(right)
	if !ok0 || !ok1 {
		return known, false
	}
	var e envelope
	ok := true
	var between func(x0, x1 float64, l0, l1 line)
	between = func(x0, x1 float64, l0, l1 line) {
		if !ok || math.Abs(l1.s-l0.s) < 1e-6 || solves > mostCorners {
			return
		}
		x := (l0.a - l1.a) / (l1.s - l0.s) * 1e9
		if x <= x0+closestKnots || x >= x1-closestKnots {
			return
		}
		m, found := at(x)
		if ok = ok && found; !ok {
			return
		}
		if side*m.at(x/1e9) > side*l0.at(x/1e9)+1 {
			between(x0, x, l0, m)
			e.add(x, m.at(x/1e9))
			between(x, x1, m, l1)
			return
		}
		e.add(x, m.at(x/1e9))
	}
	e.add(left, l0.at(left/1e9))
	between(left, right, l0, l1)
	e.add(right, l1.at(right/1e9))
	return e, ok
}

// append puts the knots of a clock in the frames of one segment behind its runs, as a run of their own. Where all begins or ends with the segment,
// so do the readings of the clock with what is sure of it.
func (j *joint) append(runs []run, c int32, frames []*frame, begins, ends bool) []run {
	var at []int64 // on the clock
	for _, f := range frames {
		k := &f.track[c]
		if !k.known {
			continue
		}
		for _, e := range [4]*envelope{&k.hi, &k.lo, &k.wide[0], &k.wide[1]} {
			for _, x := range e.at {
				at = append(at, f.shown(c, x))
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	var knots []clock.Knot
	first := 0
	for _, t := range at {
		if begins && frames[0].unsure(c, t) < 0 || ends && frames[len(frames)-1].unsure(c, t) > 0 {
			continue
		}
		for first < len(frames)-1 && (!frames[first].track[c].known || frames[first].place(c, t) > frames[first].edge()+1) {
			first++
		}
		if k, half, ok := knotAt(frames[first:], c, t); ok {
			if j.wall[c] {
				k.BoundNS += absInt(k.Y - t)
				k.Y = t
			}
			knots = append(knots, k)
			if at, e := float64(k.Y-j.order[0].at), &j.halves[c]; len(e.at) == 0 || at > e.at[len(e.at)-1] {
				e.add(at, half)
			}
		}
	}
	if knots = thin(knots); len(knots) == 0 {
		return runs
	}
	return append(runs, run{epoch: len(runs), knots: knots})
}

// shown is what a clock shows at a place on its base line.
func (f *frame) shown(c int32, x float64) int64 {
	k := &f.track[c]
	d := x + float64(f.mid-f.from)
	return k.x0 + int64(math.Round(d/(1+k.rate)))
}

// knotAt puts together what the frames around an instant of a clock say: the truth is within the limits of all of them that are sure there, of
// all where none is, and of their estimates each counts the more the farther its end is. half is half the width of what is possible.
func knotAt(frames []*frame, c int32, t int64) (k clock.Knot, half float64, ok bool) {
	var base int64
	found, limited := false, false
	lo, hi := math.Inf(-1), math.Inf(1)
	least, most := lo, hi // if clocks stepped unseen
	var sum, weight, tol float64
	for _, f := range frames {
		k := &f.track[c]
		if !k.known {
			continue
		}
		x := f.place(c, t)
		if !f.covers(x) {
			if x < 0 {
				break
			}
			continue
		}
		if !found {
			base, found = f.mid, true
		}
		x0 := float64(f.mid-base) + x // where the base line is, against the first one's middle
		top, low := k.hi.value(x), k.lo.value(x)
		if sure := k.isSure(x); sure || !limited {
			if sure && !limited { // what the frames before said is of their ends
				limited, lo, hi, least, most = true, math.Inf(-1), math.Inf(1), math.Inf(-1), math.Inf(1)
			}
			lo, hi = math.Max(lo, x0-top), math.Min(hi, x0-low)
			least, most = math.Max(least, x0-k.wide[0].value(x)), math.Min(most, x0-k.wide[1].value(x))
		}
		est := (top + low) / 2
		if k.estimate {
			est = math.Max(low, math.Min(top, k.est.at(x/1e9)))
		}
		w := f.edge() - math.Abs(x) + 1
		sum, weight, tol = sum+w*(x0-est), weight+w, math.Max(tol, f.tol)
	}
	if !found {
		return clock.Knot{}, 0, false
	}
	if lo > hi { // the rate changed between the frames, too little to be seen
		lo, hi = hi, lo
	}
	y := math.Max(lo, math.Min(hi, sum/weight))
	return clock.Knot{X: t, Y: base + int64(math.Round(y)), BoundNS: ceilNS(math.Max(math.Max(hi, most)-y, y-math.Min(lo, least))+tol) + 2}, (hi - lo) / 2, true
}
