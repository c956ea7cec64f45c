package offsets

import (
	"math"
	"sort"
)

// The windows of a part lie half a window apart, and an instant between two of them is at the border of both: the packets of one side say most
// of what is known there. So the band is found again at instants that lie closer, each from the packets around it. A packet near the instant is
// taken for what it says. The farther away it is, the more the rate may have wandered until then, and the less it is taken to say. On a slow link
// that is soon little beside what packets leave open anyhow, so there packets count that are farther away than a window is long.

const (
	// closeupsAWindow is how many instants there are to a window.
	closeupsAWindow = 8
	// closeupReach is how far away packets may be, in windows.
	closeupReach = 2
	// closeupShare is how much a rate may have wandered until then, as a part of what the packets of the window leave open.
	closeupShare = 0.1
)

// closeup holds the lines that touch theta at one instant and that no packet around it contradicts.
type closeup struct {
	center float64 // x
	poly   *polygon
	misfit float64
	beside oneSided
}

// at is the band at an instant near the center.
func (w *closeup) at(x float64, opt *Options) (lo, hi float64) {
	lo, hi = w.poly.band(x)
	extra := w.misfit + float64(opt.WanderPPB)/2*math.Abs(x-w.center)/1e9
	return lo - extra, hi + extra
}

// oneSided is what the packets right before and right after an instant leave open there, whichever of the two is more, where windows around it do not fit: the
// clock may have stepped in them, by too little to contradict any packet. Then the lines of a window are held by packets of both sides, and those
// of one side alone are not: one of the two is without the step.
type oneSided struct {
	lo, hi, slope, loose float64 // at the center, per second away from it, and how much less is known by then
}

func (b *oneSided) at(dx float64) (lo, hi float64) {
	loose := b.loose * math.Abs(dx)
	return b.lo + b.slope*dx - loose, b.hi + b.slope*dx + loose
}

// bucket holds the packets between two instants that can limit a line: corners of the hulls of both directions.
type bucket []obs

// fillBuckets sorts observations, ascending by x, into as many stretches of one length from x0 on.
func fillBuckets(o []obs, x0, length float64, count int) []bucket {
	out := make([]bucket, count)
	at := 0
	for i := range out {
		from := at
		for at < len(o) && (o[at].x < x0+length*float64(i+1) || i == count-1) {
			at++
		}
		out[i] = append(hull(o[from:at], +1), hull(o[from:at], -1)...)
	}
	return out
}

// hull returns the observations of one side, ascending by x, that are corners of their hull towards the other.
func hull(o []obs, side float64) []obs {
	var out []obs
	for _, q := range o {
		if q.side != side {
			continue
		}
		for n := len(out); n > 1; n-- { // the last one is above the line from the one before it to this one
			a, b := out[n-2], out[n-1]
			if side*((b.v-a.v)*(q.x-a.x)-(q.v-a.v)*(b.x-a.x)) < 0 {
				break
			}
			out = out[:n-1]
		}
		out = append(out, q)
	}
	return out
}

// closeups finds the bands of a part at instants that lie close.
func (l *link) closeups(p *part, opt *Options) {
	first, last := l.obs[p.from].x, l.obs[p.to-1].x
	window := float64(opt.WindowNS)
	if last-first < window/closeupsAWindow || len(p.windows) == 0 {
		return
	}
	n := int(math.Ceil((last - first) / window * closeupsAWindow))
	f := closer{part: p, opt: opt, x0: first, length: (last - first) / float64(n)}
	f.buckets = fillBuckets(l.obs[p.from:p.to], first, f.length, n)
	f.least, f.most = math.Inf(1), math.Inf(-1)
	for _, b := range f.buckets {
		for _, o := range b {
			f.least, f.most = math.Min(f.least, o.v), math.Max(f.most, o.v)
		}
	}
	p.closeups = make([]closeup, 0, n+1)
	for k := range n + 1 {
		p.closeups = append(p.closeups, f.around(k))
	}
}

// closer is what closeups works with.
type closer struct {
	part        *part
	opt         *Options
	x0, length  float64 // of the first bucket, of each
	buckets     []bucket
	least, most float64 // v
}

// around returns the lines at the border before bucket k.
func (f *closer) around(k int) closeup {
	center := f.x0 + f.length*float64(k)
	reach := f.length/1e9*float64(len(f.buckets)) + 1
	w := closeup{center: center, poly: newPolygon(center, f.least, f.most, reach, f.opt.maxSlope())}
	half := int(float64(f.opt.WindowNS) / 2 / f.length)
	from := max(0, min(k-half, len(f.buckets)-2*half))
	to := min(len(f.buckets), max(k+half, 2*half))
	for i := 0; i < max(k-from, to-k); i++ { // from the center to both sides: what is nearest says most
		if k-1-i >= from {
			f.clip(&w, k-1-i, 0)
		}
		if k+i < to {
			f.clip(&w, k+i, 0)
		}
	}
	lo, hi := w.poly.band(center)
	left, right := f.extend(&w, from, -1, (hi-lo)/2), f.extend(&w, to, +1, (hi-lo)/2)
	if w.misfit = f.misfitWithin(center-left, center+right); w.misfit > 0 {
		w.beside = f.beside(center, k, w.misfit)
	}
	w.poly.spare = nil
	return w
}

// extend takes what lies beyond the window, from the border before bucket k on, as long as the rate cannot have wandered far and nothing contradicts. It
// returns how far from the center that is.
func (f *closer) extend(w *closeup, k, dir int, open float64) float64 {
	border := f.x0 + f.length*float64(k)
	for {
		end := f.x0 + f.length*float64(k+dir)
		i := k
		if dir < 0 {
			i--
		}
		if i < 0 || i >= len(f.buckets) || math.Abs(end-w.center) > closeupReach*float64(f.opt.WindowNS) || f.wandered(w.center, end, border) > closeupShare*open ||
			f.bent(w.center, end) > closeupShare*open {
			return math.Abs(f.x0 + f.length*float64(k) - w.center)
		}
		if !f.clip(w, i, border) {
			return math.Abs(end - w.center)
		}
		k += dir
	}
}

// wandered is how far theta can have left, at x, a line that touches it at the center, ns: the rate is within WanderPPB over the window, which ends at the
// border where x is beyond it, and changes by as much in every window after that.
func (f *closer) wandered(center, x, border float64) float64 {
	d := math.Abs(x-center) / 2
	if border != 0 {
		beyond := math.Abs(x - border)
		d += beyond + math.Max(0, beyond-float64(f.opt.WindowNS))
	}
	return float64(f.opt.WanderPPB) * d / 1e9
}

// beside finds what the packets of one side leave open at the border before bucket k. The slope is that of the window, which a step in it can have
// changed by as much as four misfits over its length.
func (f *closer) beside(center float64, k int, misfit float64) oneSided {
	from, slope := f.course(center)
	b := oneSided{lo: from, hi: from, slope: slope, loose: 4*misfit/float64(f.opt.WindowNS)*1e9 + float64(f.opt.WanderPPB)}
	for _, dir := range [2]int{-1, +1} {
		lo, hi := math.Inf(-1), math.Inf(1)
		for n := range closeupsAWindow / 2 {
			i := k + n
			if dir < 0 {
				i = k - 1 - n
			}
			if i < 0 || i >= len(f.buckets) || !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
				break
			}
			for _, o := range f.buckets[i] {
				d := (o.x - center) / 1e9
				v, loose := o.v-slope*d, b.loose*math.Abs(d)
				if o.side > 0 {
					hi = math.Min(hi, v+loose)
				} else {
					lo = math.Max(lo, v-loose)
				}
			}
		}
		if lo <= hi && !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
			b.lo, b.hi = math.Min(b.lo, lo), math.Max(b.hi, hi)
		}
	}
	return b
}

// course is the estimate at the center, and its slope over the window around it, ns per second.
func (f *closer) course(center float64) (theta, slope float64) {
	last := f.x0 + f.length*float64(len(f.buckets))
	a := math.Max(f.x0, center-float64(f.opt.WindowNS)/2)
	b := math.Min(last, center+float64(f.opt.WindowNS)/2)
	return f.part.blend(center).theta, (f.part.blend(b).theta - f.part.blend(a).theta) / (b - a) * 1e9
}

// bent is how far the estimate leaves, on its way from the center to x, the straight line that goes on there as it does around the center, ns.
func (f *closer) bent(center, x float64) float64 {
	last := f.x0 + f.length*float64(len(f.buckets))
	a := math.Max(f.x0, center-float64(f.opt.WindowNS)/2)
	b := math.Min(last, center+float64(f.opt.WindowNS)/2)
	from, to := f.part.blend(a).theta, f.part.blend(b).theta
	return math.Abs(f.part.blend(x).theta - (from + (to-from)/(b-a)*(x-a)))
}

// clip narrows the lines by what is in a bucket, and reports whether nothing contradicts them all.
func (f *closer) clip(w *closeup, i int, border float64) bool {
	fits := true
	for _, o := range f.buckets[i] {
		fits = w.poly.clip(o, f.wandered(w.center, o.x, border)) && fits
	}
	return fits
}

// misfitWithin is the largest misfit of windows that have to do with a stretch.
func (f *closer) misfitWithin(from, to float64) float64 {
	w, half := f.part.windows, float64(f.opt.WindowNS)/2
	most := 0.0
	for i := sort.Search(len(w), func(i int) bool { return w[i].center >= from-half }); i < len(w) && w[i].center <= to+half; i++ {
		most = math.Max(most, w[i].misfit)
	}
	return most
}

// narrowed is the value with the band around it as the bands nearby leave it.
func (p *part) narrowed(x float64, v value) value {
	n := len(p.closeups)
	if n == 0 || x < p.closeups[0].center || x > p.closeups[n-1].center {
		return v
	}
	f := (x - p.closeups[0].center) / (p.closeups[n-1].center - p.closeups[0].center) * float64(n-1)
	i := min(n-2, int(f))
	lo, hi := v.lo, v.hi
	for k := i; k <= i+1; k++ {
		a, b := p.closeups[k].at(x, p.opt)
		lo, hi = math.Max(lo, a), math.Min(hi, b)
	}
	if lo > hi { // the rate wandered more than it is taken to
		lo, hi = v.lo, v.hi
	}
	for k := i; k <= i+1; k++ {
		if c := &p.closeups[k]; c.misfit > 0 {
			a, b := c.beside.at((x - c.center) / 1e9)
			lo, hi = math.Min(lo, a), math.Max(hi, b)
		}
	}
	return value{theta: math.Max(lo, math.Min(hi, v.theta)), lo: lo, hi: hi}
}
