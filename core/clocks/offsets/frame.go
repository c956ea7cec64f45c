package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// frame is a window of the reference's time in which every clock is a straight line: its base line, less an error whose lines make a polygon.
type frame struct {
	interval
	mid   int64
	tol   float64
	track []track // by clock

	between [2]float64     // places between which meetings count; all where they are one
	out     map[int32]bool // those of them that contradict others
}

// track is one clock in a frame.
type track struct {
	known    bool
	x0       int64   // what the clock showed at the begin of the frame
	rate     float64 // by how much the reference's clock gains on it, a part of one
	poly     *polygon
	hi, lo   envelope // of the error, over ns since the middle of the frame
	est      line     // of the error, over seconds; where the ends of meetings show it
	estimate bool
	byEnds   bool // the estimate is that of the ends of meetings
	narrowed int

	wide    [2]envelope // hi and lo if clocks stepped unseen
	sure    [2]float64  // places between which wide holds a step anywhere in the frame; none where the second is not after the first
	endStep float64     // the largest step that the ends would not show, where the estimate is theirs
}

// envelope is a limit over time: straight between its points, which ascend.
type envelope struct{ at, v []float64 }

func (e *envelope) value(x float64) float64 {
	n := len(e.at)
	if x <= e.at[0] {
		return e.v[0]
	}
	if x >= e.at[n-1] {
		return e.v[n-1]
	}
	i, _ := slices.BinarySearch(e.at, x)
	if e.at[i] == x {
		return e.v[i]
	}
	f := (x - e.at[i-1]) / (e.at[i] - e.at[i-1])
	return e.v[i-1] + f*(e.v[i]-e.v[i-1])
}

// place returns the instant of the base line at which the clock showed t, ns since the middle of the frame.
func (f *frame) place(c int32, t int64) float64 {
	k := &f.track[c]
	d := float64(t - k.x0)
	return d + d*k.rate - float64(f.mid-f.from)
}

// edge is how far from the middle the frame ends, ns.
func (f *frame) edge() float64 { return float64(f.to-f.from) / 2 }

// covers reports whether a place lies in the frame.
func (f *frame) covers(x float64) bool {
	if f.between[0] < f.between[1] {
		return x >= f.between[0] && x <= f.between[1]
	}
	e := f.edge() + 1
	return x >= -e && x <= e
}

// baseline draws the base lines, and starts every polygon from what the edges found.
func (j *joint) baseline(w interval) *frame {
	f := &frame{interval: w, mid: w.from + (w.to-w.from)/2, tol: j.opt.tolerance(float64(w.to - w.from)), track: make([]track, len(j.coarse))}
	for i := range f.track {
		k := &f.track[i]
		if j.coarse[i] == nil || w.to-w.from < 2*closestKnots {
			continue
		}
		a, _, _ := j.back[i].At(w.from)
		b, _, _ := j.back[i].At(w.to)
		if b-a <= (w.to-w.from)/2 {
			continue
		}
		k.known, k.x0 = true, a
		k.rate = float64((w.to-w.from)-(b-a)) / float64(b-a)
		if int32(i) == j.ref {
			continue
		}
		k.poly = j.start(f, int32(i))
	}
	return f
}

// startPoints is at how many instants of a frame the bounds that the edges found limit a polygon at first.
const startPoints = 9

// start is the polygon of everything that the edges allow.
func (j *joint) start(f *frame, c int32) *polygon {
	var limits []obs
	most := 1e6
	for n := range startPoints {
		t := f.track[c].x0 + int64(float64(f.to-f.from)*float64(n)/(startPoints-1))
		y, bound, flags := j.coarse[c].At(t)
		if flags&clock.InStep != 0 || bound > maxThetaNS/8 {
			continue
		}
		x := f.place(c, t)
		off := x + float64(f.mid-y)
		limits = append(limits, obs{x, off + float64(bound), +1}, obs{x, off - float64(bound), -1})
		most = math.Max(most, math.Abs(off)+float64(bound))
	}
	p := newPolygon(0, -most, most, f.edge()/1e9+1, j.opt.maxSlope())
	for _, l := range limits {
		p.clip(l, f.tol)
	}
	return p
}

// limits returns the smallest and the largest error of a clock at a place.
func (f *frame) limits(c int32, x float64) (lo, hi float64) {
	if p := f.track[c].poly; p != nil {
		return p.band(x)
	}
	return 0, 0
}

// seen is a member of a meeting in a frame, on base lines.
type seen struct {
	clock          int32
	enter, left    float64
	gives, takes   bool
	entered, leave float64 // the earliest that it can have entered, the latest that it can have left
}

// look returns the members of a meeting that are in the frame.
func (f *frame) look(list []Presence, out []seen) []seen {
	for i := range list {
		p := &list[i]
		if !f.track[p.Clock].known || !p.usable() {
			continue
		}
		s := seen{clock: p.Clock, enter: f.place(p.Clock, p.EnterNS), left: f.place(p.Clock, p.LeftNS)}
		s.gives, s.takes = p.Gives && f.covers(s.enter), p.Takes && f.covers(s.left)
		if s.gives || s.takes {
			out = append(out, s)
		}
	}
	return out
}

// mostSweeps is how often the meetings of a frame are gone through; polygons settle within a few.
const mostSweeps = 12

// settledNS is by how much a sweep must narrow a clock for another one to follow.
const settledNS = 2.0

// solve finds what every clock can be in a window. Meetings that contradict others are left out and the rest is gone through again; where
// that does not help, the edges have the last word.
func (j *joint) solve(w interval) *frame {
	meetings := j.within(w)
	out := map[int32]bool{} // meetings that contradict
	f, calm := j.settle(w, meetings, out)
	if calm {
		if wrong := j.agree(f, meetings, out); mostWrong*len(wrong) <= len(meetings) {
			for _, i := range wrong {
				j.early[i] = true
			}
		}
	}
	j.unseen(f, meetings)
	j.dropped += len(out)
	for i := range f.track {
		if f.track[i].poly != nil {
			j.used[i] += f.track[i].narrowed
		}
		f.track[i].poly = nil // the limits say it all
	}
	return f
}

// settle narrows all clocks until the meetings that are not out agree, and reports whether they do. It adds those that contradict others to out.
func (j *joint) settle(w interval, meetings []int32, out map[int32]bool) (f *frame, calm bool) {
	f = j.baseline(w)
	left := make([]bool, len(f.track))
	for range 2 + len(f.track)/4 {
		blame := j.sweep(f, meetings, out)
		if calm = len(blame.meetings) == 0; calm {
			break
		}
		for i := range f.track {
			left[i] = !f.track[i].known
		}
		if worst := blame.worst(j.ref, j.attendance(f, meetings, out)); worst >= 0 {
			j.against[worst] += len(blame.of[worst])
			left[worst] = true
		} else {
			for m := range blame.meetings {
				out[m] = true
			}
		}
		f = j.baseline(w)
		f.leave(left)
	}
	if !calm {
		f = j.baseline(w)
	}
	for i := range f.track {
		if k := &f.track[i]; k.known && k.poly != nil {
			k.hi, k.lo = k.poly.envelopes(f.edge())
		}
	}
	if calm {
		j.tighten(f, meetings, out)
	}
	return f, calm
}

// leave makes clocks unknown.
func (f *frame) leave(left []bool) {
	for i := range left {
		f.track[i].known = f.track[i].known && !left[i]
	}
}

// within lists the meetings that may have members in a window.
func (j *joint) within(w interval) []int32 {
	from, _ := slices.BinarySearchFunc(j.order, w.from-2*j.long, func(m meetingTime, t int64) int { return int(min(1, max(-1, m.at-t))) })
	var out []int32
	for _, m := range j.order[from:] {
		if m.at > w.to+2*j.long {
			break
		}
		out = append(out, m.i)
	}
	return out
}

// blamed is which meetings each clock was in that no lines explain.
type blamed struct {
	of       map[int32]map[int32]bool
	meetings map[int32]bool
}

func (b *blamed) add(meeting int32, clocks ...int32) {
	b.meetings[meeting] = true
	for _, c := range clocks {
		if c < 0 {
			continue
		}
		if b.of[c] == nil {
			b.of[c] = map[int32]bool{}
		}
		b.of[c][meeting] = true
	}
}

// worst is the clock that is in most of the contradictions, and contradicts in more than a few of its own meetings; -1 where it is rather the
// meetings that are wrong. A meeting in which one member is wrong contradicts all who were in it.
func (b *blamed) worst(reference int32, attended []int) int32 {
	worst, most := int32(-1), 0
	for c, m := range b.of {
		if c != reference && (len(m) > most || len(m) == most && c < worst) {
			worst, most = c, len(m)
		}
	}
	if most >= minContradictions && 2*most > len(b.meetings) && doubtfulShare*most > attended[worst] {
		return worst
	}
	return -1
}

const (
	// minContradictions is how many meetings it takes to doubt a clock rather than them.
	minContradictions = 3
	// doubtfulShare: at least 1/N of its own meetings, too.
	doubtfulShare = 10
)

// attendance counts, by clock, the meetings that were gone through in a frame.
func (j *joint) attendance(f *frame, meetings []int32, out map[int32]bool) []int {
	n := make([]int, len(f.track))
	var list []seen
	for _, i := range meetings {
		if out[i] {
			continue
		}
		list = f.look(j.m.Of(int(i)), list[:0])
		for k := range list {
			n[list[k].clock]++
		}
	}
	return n
}

// sweep narrows the polygons by the meetings until they settle.
func (j *joint) sweep(f *frame, meetings []int32, out map[int32]bool) *blamed {
	b := &blamed{of: map[int32]map[int32]bool{}, meetings: map[int32]bool{}}
	var list []seen
	for range mostSweeps {
		changed := false
		for _, i := range meetings {
			if out[i] || b.meetings[i] {
				continue
			}
			list = f.look(j.m.Of(int(i)), list[:0])
			if f.narrow(list, func(a, c int32) { b.add(i, a, c) }) {
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	return b
}

// first two of something, of different clocks.
type extremes struct {
	first, second float64
	who, next     int32
}

func (e *extremes) take(v float64, who int32) {
	switch {
	case v > e.first:
		e.second, e.next = e.first, e.who
		e.first, e.who = v, who
	case v > e.second:
		e.second, e.next = v, who
	}
}

// besides returns the most extreme one that is not who's.
func (e *extremes) besides(who int32) (float64, int32) {
	if e.who != who {
		return e.first, e.who
	}
	return e.second, e.next
}

// narrow applies one meeting: when the last had entered at the earliest, and when the first left at the latest, limits everybody else. It is
// linear in the members.
func (f *frame) narrow(list []seen, contradiction func(a, b int32)) (changed bool) {
	last := extremes{math.Inf(-1), math.Inf(-1), -1, -1}
	soon := last // of the negative: the first that left
	for i := range list {
		s := &list[i]
		if s.gives {
			_, hi := f.limits(s.clock, s.enter)
			s.entered = s.enter - hi
			last.take(s.entered, s.clock)
		}
		if s.takes {
			lo, _ := f.limits(s.clock, s.left)
			s.leave = s.left - lo
			soon.take(-s.leave, s.clock)
		}
	}
	for i := range list {
		s := &list[i]
		k := &f.track[s.clock]
		if s.takes {
			if limit, who := last.besides(s.clock); who >= 0 {
				changed = k.clip(obs{s.left, s.left - limit, +1}, f.tol, func() { contradiction(s.clock, who) }) || changed
			}
		}
		if s.gives {
			if limit, who := soon.besides(s.clock); who >= 0 {
				changed = k.clip(obs{s.enter, s.enter + limit, -1}, f.tol, func() { contradiction(s.clock, who) }) || changed
			}
		}
	}
	return changed
}

// clip narrows a clock by one bound on its error and reports whether it did so by more than nothing.
func (k *track) clip(o obs, tol float64, contradiction func()) bool {
	if k.poly == nil {
		if o.side*(0-o.v) > tol {
			contradiction()
		}
		return false
	}
	lo, hi := k.poly.band(o.x)
	over := hi - o.v - tol
	if o.side < 0 {
		over = o.v - lo - tol
	}
	if over <= 0 {
		return false
	}
	if !k.poly.clip(o, tol) {
		contradiction()
		return false
	}
	k.narrowed++
	return over > settledNS
}

// envelopes returns the largest and the smallest value of the polygon's lines over -edge to edge.
func (p *polygon) envelopes(edge float64) (hi, lo envelope) {
	return p.envelope(edge, +1), p.envelope(edge, -1)
}

func (p *polygon) envelope(edge float64, side float64) envelope {
	best := func(x float64) line {
		dx := p.dx(x)
		out, most := line{}, math.Inf(-1)
		for _, l := range p.v {
			if v := side * l.at(dx); v > most || v == most && side*l.s > side*out.s {
				out, most = l, v
			}
		}
		return out
	}
	var e envelope
	var between func(x0, x1 float64, l0, l1 line, depth int)
	between = func(x0, x1 float64, l0, l1 line, depth int) {
		if l0 == l1 || math.Abs(l1.s-l0.s) < 1e-9 || depth > 40 {
			return
		}
		x := p.x0 + (l0.a-l1.a)/(l1.s-l0.s)*1e9
		if x <= x0+1 || x >= x1-1 {
			return
		}
		m := best(x)
		if side*m.at(p.dx(x)) > side*l0.at(p.dx(x))+1e-6 {
			between(x0, x, l0, m, depth+1)
			e.add(x, m.at(p.dx(x)))
			between(x, x1, m, l1, depth+1)
			return
		}
		e.add(x, l0.at(p.dx(x)))
	}
	l0, l1 := best(-edge), best(edge)
	e.add(-edge, l0.at(p.dx(-edge)))
	between(-edge, edge, l0, l1, 0)
	e.add(edge, l1.at(p.dx(edge)))
	return e
}

func (e *envelope) add(x, v float64) {
	e.at, e.v = append(e.at, x), append(e.v, v)
}
