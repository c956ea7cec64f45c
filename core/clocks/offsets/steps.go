package offsets

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// A clock that steps steps on all of its links at once, but only links that are faster than the step is large contradict it. The others would
// go on with one line through both sides. So what some links of a clock prove, all of them are told: they are cut there too.

// stepSeen is a step that a link proves, on the clocks of both its ends.
type stepSeen struct {
	link  *link
	at    breakIn
	when  [2]interval // on A's and on B's clock
	jump  float64     // of B against A
	error float64     // of the jump
	size  float64
	dealt bool
}

// shareSteps finds which clocks stepped and cuts all their links of packets there.
func shareSteps(links []*link, opt *Options) {
	var seen []*stepSeen
	of := map[Clock][]*link{}
	for _, l := range links {
		if l.Source != Stamps || len(l.parts) == 0 {
			continue
		}
		of[l.A], of[l.B] = append(of[l.A], l), append(of[l.B], l)
		for i, b := range l.breaks {
			if b.kind == breakStep {
				seen = append(seen, l.stepAt(i))
			}
		}
	}
	changed := map[*link]bool{}
	for {
		clocks, group := blame(seen)
		if len(group) == 0 {
			break
		}
		for _, s := range group {
			s.dealt = true
		}
		if len(clocks) == 2 { // whose other links would have seen it and did not, it was the other one
			for i, c := range clocks {
				if slices.ContainsFunc(of[c], func(l *link) bool { return l.ranStraight(c, group[0]) }) {
					clocks = []Clock{clocks[1-i]}
					break
				}
			}
		}
		for _, c := range clocks {
			when, size := whenStepped(c, group)
			for _, l := range of[c] {
				if l.knows(group) || l.cutFor(c, when, size) {
					changed[l] = true
				}
			}
		}
	}
	for _, l := range links {
		if changed[l] {
			l.refit(opt)
		}
	}
}

// stepAt says when the break i was, on both clocks.
func (l *link) stepAt(i int) *stepSeen {
	b := l.breaks[i]
	before, after := l.parts[i].at(b.fromX).theta, l.parts[i+1].at(b.toX).theta
	left, right := l.parts[i].at((b.fromX+b.toX)/2), l.parts[i+1].at((b.fromX+b.toX)/2)
	s := &stepSeen{link: l, at: b, jump: right.theta - left.theta, error: left.half() + right.half(), size: math.Abs(after-before) + 1e3}
	s.when[0] = interval{l.baseX + int64(b.fromX), l.baseX + int64(b.toX)}
	from, to := s.when[0].from+l.baseTheta+int64(before), s.when[0].to+l.baseTheta+int64(after)
	s.when[1] = interval{min(from, to), max(from, to)}
	return s
}

// ranStraight reports whether the link shows that a clock did not step then: it is much faster than the step was large, and one line explains
// it from before to after.
func (l *link) ranStraight(c Clock, s *stepSeen) bool {
	if rtt := l.minRTT(); l == s.link || rtt <= 0 || 2*float64(rtt) > s.size {
		return false
	}
	when := s.on(c)
	from, to := float64(when.from-l.baseX), float64(when.to-l.baseX)
	if l.B == c {
		from, to = from-float64(l.baseTheta), to-float64(l.baseTheta)
	}
	return slices.ContainsFunc(l.parts, func(p part) bool { return p.firstX < from-1e9 && p.lastX > to+1e9 })
}

// jumped is by how much the clock c jumped, at least and at most, if it was c.
func (s *stepSeen) jumped(c Clock) (least, most float64) {
	if s.link.A == c {
		return -s.jump - s.error, -s.jump + s.error
	}
	return s.jump - s.error, s.jump + s.error
}

// alike returns those of the steps that can be one of the clock c, with the first: each link sees the steps of both its ends. Those that
// know best by how much it jumped are heard first.
func alike(c Clock, steps []*stepSeen) []*stepSeen {
	rest := slices.Clone(steps[1:])
	slices.SortStableFunc(rest, func(a, b *stepSeen) int { return cmp.Compare(a.error, b.error) })
	out := steps[:1:1]
	least, most := steps[0].jumped(c)
	for _, s := range rest {
		l, m := s.jumped(c)
		if l, m = math.Max(l, least), math.Min(m, most); l <= m {
			out, least, most = append(out, s), l, m
		}
	}
	return out
}

// on is when the step was on a clock of the link.
func (s *stepSeen) on(c Clock) interval {
	if s.link.A == c {
		return s.when[0]
	}
	return s.when[1]
}

// blame returns the clock on which most of the steps that are left were at one time, and these steps. Where one link alone saw a step, it may
// have been of either end.
func blame(seen []*stepSeen) (clocks []Clock, group []*stepSeen) {
	by := map[Clock][]*stepSeen{}
	for _, s := range seen {
		if !s.dealt {
			by[s.link.A], by[s.link.B] = append(by[s.link.A], s), append(by[s.link.B], s)
		}
	}
	order := make([]Clock, 0, len(by))
	for c := range by {
		order = append(order, c)
	}
	slices.SortFunc(order, Clock.compare)
	var best Clock
	for _, c := range order {
		steps := by[c]
		slices.SortFunc(steps, func(a, b *stepSeen) int { return cmp.Compare(a.on(c).from, b.on(c).from) })
		for i := range steps { // those that were going on when this one began
			at := []*stepSeen{steps[i]}
			for _, s := range steps[:i] {
				if s.on(c).to >= steps[i].on(c).from {
					at = append(at, s)
				}
			}
			at = alike(c, at)
			if len(at) > len(group) {
				best, group = c, at
			}
		}
	}
	if len(group) == 1 {
		return []Clock{group[0].link.A, group[0].link.B}, group
	}
	return []Clock{best}, group
}

// whenStepped is when all of the steps can have been, on a clock that they have in common.
func whenStepped(c Clock, group []*stepSeen) (interval, float64) {
	var starts, ends []int64
	size := 0.0
	for _, s := range group {
		starts, ends = append(starts, s.on(c).from), append(ends, s.on(c).to)
		size = math.Max(size, s.size)
	}
	when := interval{slices.Max(starts), slices.Min(ends)}
	if when.from > when.to {
		when = interval{slices.Min(starts), slices.Max(ends)}
	}
	return when, size
}

// knows reports whether the link saw the step itself. Then it is where it saw it.
func (l *link) knows(group []*stepSeen) bool {
	for _, s := range group {
		if s.link != l {
			continue
		}
		if i := slices.IndexFunc(l.breaks, func(b breakIn) bool { return b.fromX == s.at.fromX && b.toX == s.at.toX }); i >= 0 {
			l.breaks[i].proved = true
			return true
		}
	}
	return false
}

// cutFor cuts the link where one of its clocks stepped and reports whether that changes anything.
func (l *link) cutFor(c Clock, when interval, size float64) bool {
	slack := int64(size)
	from, to := float64(when.from-slack-l.baseX), float64(when.to+slack-l.baseX)
	if l.B == c {
		a, _ := l.backward(instantOf{x: when.from - slack})
		b, _ := l.backward(instantOf{x: when.to + slack})
		from, to = math.Min(float64(a.x-l.baseX), float64(b.x-l.baseX)), math.Max(float64(a.x-l.baseX), float64(b.x-l.baseX))
	}
	return l.leaveOut(from, to)
}

// leaveOut makes a step of a stretch of x: what is in it belongs to neither side. A part of which too little is left is left out as well. It
// reports whether that changes anything.
func (l *link) leaveOut(from, to float64) bool {
	var parts []part
	var breaks []breakIn
	var largest part
	touched, cut := false, false
	for i, p := range l.parts {
		if i > 0 {
			touched = touched || l.breaks[i-1].kind != breakStep && l.breaks[i-1].fromX <= to && l.breaks[i-1].toX >= from
		}
		for _, side := range l.beside(p, from, to) {
			if side.to-side.from > largest.to-largest.from {
				largest = side
			}
			whole := side.from == p.from && side.to == p.to
			cut = cut || !whole
			if !whole && (side.to-side.from < minPartObs || !l.twoSided(side.from, side.to)) {
				touched = true
				continue
			}
			if n := len(parts); n > 0 {
				b := breakIn{kind: breakStep, proved: true, fromX: l.obs[parts[n-1].to-1].x, toX: l.obs[side.from].x}
				if i > 0 && !touched && parts[n-1].to == l.parts[i-1].to && side.from == p.from {
					b = l.breaks[i-1]
				}
				breaks = append(breaks, b)
			}
			parts, touched = append(parts, side), false
		}
	}
	if len(parts) == 0 { // too little on either side to tell anything: the larger one stands
		parts = []part{largest}
	}
	if !cut && len(breaks) == len(l.breaks) && slices.Equal(breaks, l.breaks) {
		return false
	}
	first, last := l.parts[0].from, l.parts[len(l.parts)-1].to
	l.parts, l.breaks = parts, breaks
	l.cutBefore = l.cutBefore || parts[0].from > first
	l.cutAfter = l.cutAfter || parts[len(parts)-1].to < last
	for i := range l.parts {
		q := &l.parts[i]
		q.firstX, q.lastX = l.obs[q.from].x, l.obs[q.to-1].x
	}
	return true
}

// beside returns what a part has before and after a stretch of x: the part, where the stretch is not in it.
func (l *link) beside(p part, from, to float64) []part {
	if p.lastX < from || p.firstX > to {
		return []part{p}
	}
	left, right := p, p
	for left.to > left.from && l.obs[left.to-1].x >= from {
		left.to--
	}
	for right.from < right.to && l.obs[right.from].x <= to {
		right.from++
	}
	return []part{left, right}
}

// refit fits the windows of a link anew, when its parts have changed.
func (l *link) refit(opt *Options) {
	for i := range l.parts {
		l.parts[i].windows, l.parts[i].near = nil, 0
	}
	l.outliers, l.misfit, l.half = len(l.lies), 0, 0
	l.fitParts(opt)
	l.judgeBreaks(opt)
	l.mark()
}

// ends says what became of the observations before the first and after the last part, which were too few on their side of a step: by how
// much the clocks may have moved there. 0: nothing there contradicts.
func (l *link) ends() (before, after float64) {
	if len(l.parts) == 0 {
		return 0, 0
	}
	if first := &l.parts[0]; l.cutBefore {
		before = l.moved(l.obs[:first.from], first)
	}
	if last := &l.parts[len(l.parts)-1]; l.cutAfter {
		after = l.moved(l.obs[last.to:], last)
	}
	return before, after
}

// unknownMove is by how much a clock may have moved when only one direction was seen.
const unknownMove = 1e9

// moved returns by how much at most the clocks have left the lines of a part, judged by observations beside it.
func (l *link) moved(o []obs, p *part) float64 {
	up, down := math.Inf(-1), math.Inf(-1)
	for _, q := range o {
		if q.side == dead {
			continue
		}
		off := q.v - p.at(q.x).theta
		if q.side > 0 {
			up = math.Max(up, off)
		} else {
			down = math.Max(down, -off)
		}
	}
	if math.IsInf(up, -1) || math.IsInf(down, -1) {
		return unknownMove
	}
	return math.Max(0, math.Max(up, down))
}

// unsure says by how much a clock may have moved near the ends of its map, ns: up to an instant of it, and from another one on. Some links saw it
// there and were cut; slower ones, through which the map goes on, may have noticed nothing.
type unsure struct {
	before, after float64
	until, from   int64
}

// widenEnds lets the bound near the ends hold what was seen there and could not be used. Outside of the knots it grows from one more of them, a
// moment away.
func (n *NodeOffsets) widenEnds(u unsure) error {
	knots := n.Map.Knots()
	if len(knots) == 0 || u.before == 0 && u.after == 0 {
		return nil
	}
	inStep := map[int64]bool{} // by where the step begins
	for _, s := range n.Map.Steps() {
		inStep[knots[s].X] = true
	}
	var out []clock.Knot
	first, last := knots[0], knots[len(knots)-1]
	if u.before > 0 {
		out = append(out, clock.Knot{X: first.X - closestKnots, Y: first.Y - closestKnots, BoundNS: first.BoundNS})
	}
	for i, k := range knots {
		out = append(out, k)
		if i+1 == len(knots) || inStep[k.X] {
			continue
		}
		for _, x := range []int64{min(u.until, u.from), max(u.until, u.from)} { // where it begins, and ends, the bound makes a jump
			for _, x := range []int64{x - closestKnots, x + closestKnots} {
				mid := valueAt(knots, i+1, x)
				if x-out[len(out)-1].X >= closestKnots && knots[i+1].X-x >= closestKnots && mid.Y > out[len(out)-1].Y && mid.Y < knots[i+1].Y {
					out = append(out, mid)
				}
			}
		}
	}
	if u.after > 0 {
		out = append(out, clock.Knot{X: last.X + closestKnots, Y: last.Y + closestKnots, BoundNS: last.BoundNS})
	}
	var steps []int
	for i := range out {
		if u.before > 0 && out[i].X <= u.until {
			out[i].BoundNS += ceilNS(u.before)
		}
		if u.after > 0 && out[i].X >= u.from {
			out[i].BoundNS += ceilNS(u.after)
		}
		if inStep[out[i].X] {
			steps = append(steps, i)
		}
	}
	fresh := NodeOffsets{Node: n.Node, DriftPPM: n.DriftPPM}
	if err := fresh.build(out, steps, n.tail); err != nil {
		return err
	}
	n.Map = fresh.Map
	return nil
}
