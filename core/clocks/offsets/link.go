package offsets

import (
	"math"
	"sort"
)

// link is what an edge says over time: stretches in which both clocks ran smoothly, and the breaks between them.
type link struct {
	*Edge
	obs      []obs // the edge's bounds, or the places of its readings; ascending by x
	outliers int
	lies     []lie

	parts  []part    // maximal stretches without a break, ascending
	breaks []breakIn // breaks[i] lies between parts[i] and parts[i+1]

	cutBefore, cutAfter bool // there was a step before the first or after the last part, with too few observations beyond it

	half     float64 // typicalHalf, filled when first needed
	misfit   float64 // largest of the windows, ns
	residual int64   // mean distance of the network's solution from this link's own estimate, ns
}

// lie is a bound that was found to be wrong, and marked as dead until the graph is solved.
type lie struct {
	at   int
	side float64
}

// learn finds out what the edge says over time.
func (l *link) learn(opt *Options) {
	l.fit(opt)
	l.mark()
}

// mark notes where the parts begin and end, and how many steps lie before each.
func (l *link) mark() {
	steps := 0
	if l.cutBefore {
		steps++
	}
	for i := range l.parts {
		p := &l.parts[i]
		if i > 0 && l.breaks[i-1].kind == breakStep {
			steps++
		}
		p.firstX, p.lastX, p.steps = l.obs[p.from].x, l.obs[p.to-1].x, steps
	}
}

func (l *link) fit(opt *Options) {
	switch {
	case l.Source.stated():
		l.fromStated(opt)
		return
	case len(l.readings) > 0:
		l.fromReadings(opt)
		return
	}
	l.obs = l.bounds
	sort.SliceStable(l.obs, func(i, j int) bool {
		a, b := l.obs[i], l.obs[j]
		return a.x < b.x || a.x == b.x && (a.side < b.side || a.side == b.side && a.v < b.v)
	})
	l.split(opt)
	l.fitParts(opt)
	l.judgeBreaks(opt)
}

// steady reports whether the stretches in which straight lines fit are most of what collectives or launches say. Where they are not, one of the clocks is
// none, or what was matched does not belong together, and the lines of the rest are chance.
func (l *link) steady() bool {
	if l.Source != Collectives && l.Source != Launches {
		return true
	}
	n := 0
	for _, p := range l.parts {
		n += p.to - p.from
	}
	return 2*n >= len(l.obs)
}

// kill marks a bound as a lie.
func (l *link) kill(i int) {
	l.lies = append(l.lies, lie{i, l.obs[i].side})
	l.obs[i].side = dead
	l.outliers++
}

// revive gives the edge its bounds back as they were given.
func (l *link) revive() {
	for _, x := range l.lies {
		l.obs[x.at].side = x.side
	}
	l.lies = nil
}

// part is a stretch of a link in which the clocks ran smoothly.
type part struct {
	from, to      int     // obs[from:to]
	firstX, lastX float64 // of obs[from] and obs[to-1]
	steps         int     // of the link before this part
	near          int     // where after looks first
	windows       []window
	closeups      []closeup // of packets: at instants that lie at one distance from the first to the last
	opt           *Options  // where there are closeups
}

// window is one fit: the possible lines and the estimate. A large graph has a million of boxes, all of which are looked at in turn, so
// they lie in the windows themselves.
type window struct {
	center float64 // x
	fit    line    // at center where poly is nil, else at the polygon's origin
	bound  line    // how far a possible line can be from fit, in offset and in slope: a box
	misfit float64 // by how much the clock left its straight line without contradicting it, ns; part of the bound
	poly   *polygon
}

type breakKind uint8

const (
	breakStep breakKind = iota // the offset jumped
	breakKink                  // only the rate changed
	breakGap                   // nothing was measured for a while, and both sides agree
)

// breakIn is what happened somewhere in (fromX, toX).
type breakIn struct {
	kind       breakKind
	proved     bool // that one of the clocks stepped here is known from other links
	fromX, toX float64
	slope      float64 // kinks and gaps: by how much the rate differs, ppb
}

// fitParts fits windows of up to windowNS, half overlapping, over each part of the link.
func (l *link) fitParts(opt *Options) {
	for i := range l.parts {
		p := &l.parts[i]
		x0, x1 := l.obs[p.from].x, l.obs[p.to-1].x
		w := float64(opt.WindowNS)
		n := 1
		if x1-x0 > 1.5*w {
			n = int(math.Ceil((x1-x0)/(w/2))) + 1
		}
		lo, hi := p.from, p.from
		for k := range n {
			c := (x0 + x1) / 2
			from, to := x0, x1
			if n > 1 {
				c = x0 + (x1-x0)*float64(k)/float64(n-1)
				from = math.Max(x0, math.Min(c-w/2, x1-w))
				to = from + w
			}
			for lo < p.to && l.obs[lo].x < from {
				lo++
			}
			for hi < p.to && l.obs[hi].x <= to {
				hi++
			}
			if win, ok := l.fitWindow(l.obs[lo:hi], c, opt); ok {
				p.windows = append(p.windows, win)
			}
		}
		if len(p.windows) == 0 {
			if win, ok := l.fitWindow(l.obs[p.from:p.to], (x0+x1)/2, opt); ok {
				p.windows = append(p.windows, win)
			}
		}
		l.misfit = math.Max(l.misfit, shareMisfit(p.windows))
		if p.opt, p.closeups = opt, nil; l.Source == Stamps {
			l.closeups(p, opt)
		}
	}
}

// shareMisfit gives each window the misfit of its neighbours, which look at the same observations, and returns the largest.
func shareMisfit(w []window) float64 {
	most := 0.0
	own := make([]float64, len(w))
	for i := range w {
		own[i] = w[i].misfit
		most = math.Max(most, own[i])
	}
	for i := range w {
		for k := max(0, i-1); k <= min(len(w)-1, i+1); k++ {
			w[i].misfit = math.Max(w[i].misfit, own[k])
		}
	}
	return most
}

// fitWindow finds the lines that the observations allow and estimates the most likely one. Observations that empty the polygon
// are outliers and are left out. ok is false when a side is missing.
func (l *link) fitWindow(o []obs, center float64, opt *Options) (window, bool) {
	if len(o) == 0 {
		return window{}, false
	}
	minV, maxV := math.Inf(1), math.Inf(-1)
	ups, downs := 0, 0
	for _, q := range o {
		switch {
		case q.side > 0:
			ups++
		case q.side < 0:
			downs++
		default:
			continue
		}
		minV, maxV = math.Min(minV, q.v), math.Max(maxV, q.v)
	}
	if ups == 0 || downs == 0 {
		return window{}, false
	}
	x0, x1 := o[0].x, o[len(o)-1].x
	mid := x0 + (x1-x0)/2
	reach := (x1-x0)/1e9 + 1
	tol := opt.tolerance(x1 - x0)
	w := window{center: center, poly: newPolygon(mid, minV, maxV, reach, opt.maxSlope())}
	for _, q := range o {
		if q.side != dead && !w.poly.clip(q, tol) {
			l.outliers++
		}
	}
	fit, misfit := envelopeFit(o, w.poly, x0, x1, min(ups, downs))
	w.fit, w.misfit = w.poly.pull(fit), misfit
	return w, true
}

// envelopeFit estimates the line: in each of several cells the smallest delay of either direction is found relative to the
// current line, their middle is a sample of theta (the fastest packets of both directions are taken to be equally fast), and
// the samples are fitted by least squares. A cell whose fastest packets are slow counts less. misfit is how far the samples
// leave the line beyond what slow packets explain: the sign of a small step or a rate that changed.
func envelopeFit(o []obs, p *polygon, x0, x1 float64, n int) (fit line, misfit float64) {
	fit = p.center(x0, x1)
	cells := max(1, min(max(n/packetsPerCell, min(4, n/6)), maxCells))
	if x1 <= x0 {
		cells = 1
	}
	c := make([]cell, cells)
	for range 4 {
		fillCells(c, o, p, fit, x0, x1)
		best, good := cellWidths(c)
		if math.IsInf(best, 1) {
			return fit, 0
		}
		soft := best/6 + 50
		var sum weightedLine
		misfit = 0
		least, most := math.Inf(1), math.Inf(-1)
		for i := range c {
			width := c[i].up - c[i].down
			if math.IsInf(width, 1) {
				continue
			}
			e := math.Max(0, width-best) + soft
			sum.add((c[i].xUp+c[i].xDown)/2, (c[i].up+c[i].down)/2, 1/(e*e))
			// beyond what slow packets and unequal paths explain: then all of it counts
			off := (c[i].up + c[i].down) / 2
			if explained := math.Max(0, width-good) / 2; math.Abs(off) > explained {
				least, most = math.Min(least, off+explained), math.Max(most, off-explained)
			}
			if math.Abs(off) > math.Max(0, width-good)/2+good/8+50 {
				misfit = math.Max(misfit, math.Abs(off))
			}
		}
		if misfit > 0 { // of a step the samples on either side are off
			misfit = math.Max(misfit, most-least)
		}
		d := sum.solve()
		fit.a += d.a
		fit.s += d.s
		if math.Abs(d.a) < 1e-3 && math.Abs(d.s) < 1e-3 {
			break
		}
	}
	return fit, misfit
}

// cell is the fastest packet of either direction in a stretch of a window: residuals (ns) and instants (s).
type cell struct{ up, down, xUp, xDown float64 }

func fillCells(c []cell, o []obs, p *polygon, fit line, x0, x1 float64) {
	for i := range c {
		c[i] = cell{up: math.Inf(1), down: math.Inf(-1)}
	}
	for _, q := range o {
		i := 0
		if len(c) > 1 {
			i = min(len(c)-1, int((q.x-x0)/(x1-x0)*float64(len(c))))
		}
		r := q.v - fit.at(p.dx(q.x))
		if q.side > 0 && r < c[i].up {
			c[i].up, c[i].xUp = r, p.dx(q.x)
		} else if q.side < 0 && r > c[i].down {
			c[i].down, c[i].xDown = r, p.dx(q.x)
		}
	}
}

// cellWidths returns what the fastest packets of both directions leave between them: in the best cell, and in a good one, which
// is safer to judge by, for a cell in which the clock jumps looks narrower than any path is.
func cellWidths(c []cell) (best, good float64) {
	widths := make([]float64, len(c))
	for i := range c {
		widths[i] = c[i].up - c[i].down
	}
	sort.Float64s(widths)
	return math.Max(widths[0], 0), math.Max(widths[min(len(widths)-1, max(1, len(widths)/6))], 0)
}

const (
	packetsPerCell = 48 // of each direction: fewer, and the smallest delay is not yet near the path's
	maxCells       = 48
)

// weightedLine is a weighted least squares fit of y = a + s*x.
type weightedLine struct{ w, x, y, xx, xy float64 }

func (f *weightedLine) add(x, y, w float64) {
	f.w += w
	f.x += w * x
	f.y += w * y
	f.xx += w * x * x
	f.xy += w * x * y
}

func (f *weightedLine) solve() line {
	if f.w == 0 {
		return line{}
	}
	mx, my := f.x/f.w, f.y/f.w
	sxx := f.xx/f.w - mx*mx
	if sxx < 1e-12 {
		return line{a: my}
	}
	s := (f.xy/f.w - mx*my) / sxx
	return line{a: my - s*mx, s: s}
}
