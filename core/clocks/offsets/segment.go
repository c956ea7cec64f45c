package offsets

import (
	"math"
	"slices"
	"sort"
)

// split cuts the link into parts within which straight lines explain every observation of any window, and judges what happened
// between them. Since a packet never arrives before it was sent, a clean clock is never cut: there are no false alarms by
// construction, only by stamps that lie.
func (l *link) split(opt *Options) {
	var cuts []cut
	start := 0
	for start < len(l.obs) {
		c, ok := l.nextCut(start, opt)
		if !ok {
			break
		}
		cuts = append(cuts, c)
		start = c.right
	}
	l.makeParts(cuts)
}

// cut is one break: obs before and including left belong to the part before, obs from right on to the part after.
type cut struct {
	left, right int
	gap         bool
}

// dead is the side of an observation that was found to lie: it constrains nothing.
const dead = 0

// nextCut walks forward from start and returns the first break.
func (l *link) nextCut(start int, opt *Options) (cut, bool) {
	f := newTrail(l, opt, start, +1)
	for i := start; i < len(l.obs); i++ {
		if i > start && l.obs[i].x-l.obs[i-1].x > float64(opt.GapNS) {
			return cut{left: i - 1, right: i, gap: true}, true
		}
		if f.take(i) {
			continue
		}
		if !l.sustained(f.oldest(), i, +1, opt) {
			l.kill(i)
			continue
		}
		return cut{left: l.walkBack(start, i, opt), right: i}, true
	}
	return cut{}, false
}

// walkBack fits what follows the break found at right, and walks back to the last observation that contradicts it: the break is after that
// one.
func (l *link) walkBack(start, right int, opt *Options) int {
	f := newTrail(l, opt, right, +1)
	end := right
	strange := map[int]bool{} // too few to be a break of their own: of another step at the end, or lies
	for ; end < len(l.obs) && l.obs[end].x-l.obs[right].x <= float64(opt.WindowNS)/2; end++ {
		if end > right && l.obs[end].x-l.obs[end-1].x > float64(opt.GapNS) {
			break
		}
		if f.take(end) {
			continue
		}
		if l.sustained(f.oldest(), end, +1, opt) {
			break
		}
		strange[end] = true
	}
	back := newTrail(l, opt, end-1, -1)
	single, first := -1, right-1
	for i := end - 1; i >= start && l.obs[right].x-l.obs[i].x <= float64(opt.WindowNS); i-- {
		first = min(first, i)
		if strange[i] || back.take(i) || i >= right { // an outlier of the part after
			continue
		}
		if l.sustained(back.oldest(), i, -1, opt) {
			return i
		}
		single = max(single, i)
	}
	if single >= 0 { // on a slow link a step contradicts few packets
		return single
	}
	return first // anywhere in what the break was told from
}

// sustained tells a break from lying stamps: at least three of the observations that follow contradict the polygon as well.
func (l *link) sustained(p *polygon, i, dir int, opt *Options) bool {
	against := 0
	tol := opt.tolerance(float64(opt.WindowNS))
	for k, seen := i, 0; k >= 0 && k < len(l.obs) && seen < 400; k, seen = k+dir, seen+1 {
		if math.Abs(l.obs[k].x-l.obs[i].x) > float64(opt.WindowNS)/2 {
			break
		}
		if l.obs[k].side != dead && !p.allows(l.obs[k], tol) {
			if against++; against >= 3 {
				return true
			}
		}
	}
	return false
}

// trail holds the lines that explain the last half to whole window of observations, walking in one direction.
type trail struct {
	l          *link
	opt        *Options
	old, young *polygon
	youngX     float64
	tol        float64
}

func newTrail(l *link, opt *Options, at, dir int) *trail {
	t := &trail{l: l, opt: opt, tol: opt.tolerance(float64(opt.WindowNS))}
	x := l.obs[at].x
	t.old, t.young, t.youngX = t.fresh(x), t.fresh(x), x
	return t
}

// fresh allows every line: the range is what two nodes' clocks can differ by, so it needs no look at the data.
func (t *trail) fresh(x float64) *polygon {
	return newPolygon(x, -maxThetaNS, maxThetaNS, 0, t.opt.maxSlope())
}

const maxThetaNS = 1e15

// oldest is the polygon with the longest memory.
func (t *trail) oldest() *polygon { return t.old }

// take adds observation i; false when it contradicts all lines that explain the trail.
func (t *trail) take(i int) bool {
	o := t.l.obs[i]
	if o.side == dead {
		return true
	}
	if math.Abs(o.x-t.youngX) > float64(t.opt.WindowNS)/2 {
		t.old, t.young, t.youngX = t.young, t.fresh(o.x), o.x
	}
	if !t.old.clip(o, t.tol) {
		return false
	}
	t.young.clip(o, t.tol)
	return true
}

// minPartObs is how many observations a stretch between two breaks needs to count as a part of its own.
const minPartObs = 8

// makeParts turns cuts into parts and breaks. Stretches with too few observations, or of one direction, are swallowed by the
// break around them; when nothing else is left, the longest stretch stands alone.
func (l *link) makeParts(cuts []cut) {
	kept := make([]int, 0, len(cuts)+1) // stretch i lies between cuts i-1 and i
	longest := 0
	for i := range len(cuts) + 1 {
		from, to := l.stretch(cuts, i)
		if to-from >= minPartObs && l.twoSided(from, to) {
			kept = append(kept, i)
		}
		if a, b := l.stretch(cuts, longest); to-from > b-a {
			longest = i
		}
	}
	if len(kept) == 0 {
		kept = append(kept, longest)
	}
	stepped := func(c cut) bool { return !c.gap }
	l.cutBefore = slices.ContainsFunc(cuts[:kept[0]], stepped)
	l.cutAfter = slices.ContainsFunc(cuts[kept[len(kept)-1]:], stepped)
	for n, i := range kept {
		from, to := l.stretch(cuts, i)
		l.parts = append(l.parts, part{from: from, to: to})
		if n == 0 {
			continue
		}
		between := cuts[kept[n-1]:i]
		b := breakIn{kind: breakGap, fromX: l.obs[between[0].left].x, toX: l.obs[between[len(between)-1].right].x}
		for _, c := range between {
			if !c.gap {
				b.kind = breakStep
			}
		}
		l.breaks = append(l.breaks, b)
	}
}

// stretch returns the observations between cuts i-1 and i as a half-open range.
func (l *link) stretch(cuts []cut, i int) (from, to int) {
	to = len(l.obs)
	if i > 0 {
		from = cuts[i-1].right
	}
	if i < len(cuts) {
		to = cuts[i].left + 1
	}
	return from, max(from, to)
}

func (l *link) twoSided(from, to int) bool {
	var up, down bool
	for _, o := range l.obs[from:to] {
		up = up || o.side > 0
		down = down || o.side < 0
	}
	return up && down
}

// kinkShare is how close the lines of both sides must come, as a part of their errors, for a change of rate. What may have been a step is taken
// for one: all links of its clocks are told of it, while the others go on straight through a change of rate.
const kinkShare = 0.25

// judgeBreaks decides, with the fits of both sides at hand, whether the offset jumped at a break or only the rate changed, and
// drops parts that could not be fitted.
func (l *link) judgeBreaks(opt *Options) {
	l.dropUnfitted()
	for i := range l.breaks {
		b := &l.breaks[i]
		left := &l.parts[i].windows[len(l.parts[i].windows)-1]
		right := &l.parts[i+1].windows[0]
		d0, h0 := apart(left, right, b.fromX)
		d1, h1 := apart(left, right, b.toX)
		b.slope = math.Abs(right.fit.s - left.fit.s)
		if b.proved {
			b.kind = breakStep
			continue
		}
		slack := float64(opt.WanderPPB) * (b.toX - b.fromX) / 1e9
		if math.Abs(d0) <= h0*kinkShare+slack || math.Abs(d1) <= h1*kinkShare+slack || (d0 > 0) != (d1 > 0) {
			if b.kind == breakStep {
				b.kind = breakKink
			}
			continue
		}
		b.kind = breakStep
	}
}

func (l *link) dropUnfitted() {
	for i := 0; i < len(l.parts); {
		if len(l.parts[i].windows) > 0 {
			i++
			continue
		}
		l.parts = append(l.parts[:i], l.parts[i+1:]...)
		switch {
		case len(l.breaks) == 0:
		case i == 0:
			l.cutBefore = l.cutBefore || l.breaks[0].kind == breakStep
			l.breaks = l.breaks[1:]
		case i > len(l.breaks)-1:
			l.cutAfter = l.cutAfter || l.breaks[i-1].kind == breakStep
			l.breaks = l.breaks[:i-1]
		default:
			l.breaks[i-1].toX = l.breaks[i].toX
			if l.breaks[i].kind != breakGap {
				l.breaks[i-1].kind = l.breaks[i].kind
			}
			l.breaks = append(l.breaks[:i], l.breaks[i+1:]...)
		}
	}
}

// apart returns by how much the right fit is above the left one at x, and the sum of their errors there.
func apart(left, right *window, x float64) (d, h float64) {
	tl, tr := left.at(x), right.at(x)
	return tr.theta - tl.theta, tl.half() + tr.half()
}

// value is theta at some x with the band that contains the truth, ns above the link's base.
type value struct{ theta, lo, hi float64 }

func (v value) half() float64 { return math.Max(v.hi-v.theta, v.theta-v.lo) }

func (w *window) at(x float64) value {
	if w.poly == nil {
		return w.inBox(x)
	}
	lo, hi := w.poly.band(x)
	return value{w.fit.at(w.poly.dx(x)), lo - w.misfit, hi + w.misfit}
}

// inBox is at for a box, whose band is between the lines of two corners: which two depends on the side of the center.
func (w *window) inBox(x float64) value {
	dx := (x - w.center) / 1e9
	low, high := w.fit.s-w.bound.s, w.fit.s+w.bound.s
	if dx < 0 {
		low, high = high, low
	}
	lo, hi := line{w.fit.a - w.bound.a, low}, line{w.fit.a + w.bound.a, high}
	return value{w.fit.at(dx), lo.at(dx) - w.misfit, hi.at(dx) + w.misfit}
}

// place says where an x lies on a link.
type place uint8

const (
	onPart  place = iota // between observations of one part, or in a kink or gap between two
	outside              // before the first or after the last observation
	inStep               // inside the interval of a step
)

// at returns the link's theta at x and where x lies.
func (l *link) at(x float64) (value, place) {
	v, at, _ := l.locate(x)
	return v, at
}

// locate is at that also counts the steps before x.
func (l *link) locate(x float64) (v value, at place, steps int) {
	i := 0
	if len(l.parts) > 1 {
		i = max(0, sort.Search(len(l.parts), func(i int) bool { return l.parts[i].firstX > x })-1)
	}
	p := &l.parts[i]
	switch {
	case x <= p.lastX && x >= p.firstX:
		return p.at(x), onPart, p.steps
	case x < p.firstX, i == len(l.parts)-1:
		return p.at(x), outside, p.steps
	case l.breaks[i].kind == breakStep:
		return p.at(x), inStep, p.steps
	}
	return l.across(i, x), onPart, p.steps
}

// across interpolates a kink or a gap: a straight line between its ends, and a band that allows for the change of rate.
func (l *link) across(i int, x float64) value {
	b := l.breaks[i]
	v0, v1 := l.parts[i].at(b.fromX), l.parts[i+1].at(b.toX)
	f := (x - b.fromX) / (b.toX - b.fromX)
	extra := b.slope * math.Min(x-b.fromX, b.toX-x) / 1e9
	mix := func(p, q float64) float64 { return p + f*(q-p) }
	v := value{mix(v0.theta, v1.theta), mix(v0.lo, v1.lo) - extra, mix(v0.hi, v1.hi) + extra}
	if b.kind == breakKink { // or a step too small to tell: then the clock is on the lines of one side
		left, right := l.parts[i].at(x), l.parts[i+1].at(x)
		v.lo, v.hi = math.Min(v.lo, math.Min(left.lo, right.lo)), math.Max(v.hi, math.Max(left.hi, right.hi))
	}
	return v
}

// at is theta in a part.
func (p *part) at(x float64) value {
	v := p.blend(x)
	if len(p.closeups) > 0 {
		v = p.narrowed(x, v)
	}
	return v
}

// blend is what the two windows around x say; the truth lies in the bands of both.
func (p *part) blend(x float64) value {
	n := len(p.windows)
	i := p.after(x)
	if i == 0 {
		return p.windows[0].at(x)
	}
	if i == n {
		return p.windows[n-1].at(x)
	}
	a, b := p.windows[i-1].at(x), p.windows[i].at(x)
	f := (x - p.windows[i-1].center) / (p.windows[i].center - p.windows[i-1].center)
	v := value{theta: a.theta + f*(b.theta-a.theta), lo: math.Max(a.lo, b.lo), hi: math.Min(a.hi, b.hi)}
	if v.lo > v.hi { // the rate changed between the windows, too little to be a break: both stand
		v.lo, v.hi = math.Min(a.lo, b.lo), math.Max(a.hi, b.hi)
	}
	v.theta = math.Max(v.lo, math.Min(v.hi, v.theta))
	return v
}

// after is the first window whose center is beyond x. Who asks goes on from where it was, so it is mostly the same or the next.
func (p *part) after(x float64) int {
	n := len(p.windows)
	for i := p.near; i <= min(n, p.near+1); i++ {
		if (i == 0 || p.windows[i-1].center <= x) && (i == n || p.windows[i].center > x) {
			p.near = i
			return i
		}
	}
	p.near = sort.Search(n, func(i int) bool { return p.windows[i].center > x })
	return p.near
}
