package cycle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// What makes a repetition odd: it is far from the median by the robust z of Iglewicz and Hoaglin (1993, How to Detect and Handle
// Outliers), and by a share that matters.
const (
	outlierScore  = 5.0
	outlierChange = 0.05
	outlierLeast  = 8  // repetitions on a device: fewer have no usual time
	maxOutliers   = 20 // that a class lists
)

// What makes a drift: Pettitt's test (Appl. Statist. 28, 1979) finds one change point, and both sides differ by a share that matters.
const (
	driftP      = 0.01
	driftChange = 0.03
	driftLeast  = 20 // repetitions on a device
	driftSide   = 5  // of them on either side
)

// odd finds outliers and drift. Walls are those of all parts, one after the other; scratch has room for as many.
func (f *finder) odd(c *class, walls, scratch []int64, starts map[int][]int32) {
	at := 0
	for pi := range c.parts {
		p := &c.parts[pi]
		mine := walls[at : at+len(p.reps)]
		d := f.drift(c, pi, mine, scratch)
		split := 0
		if d != nil {
			split = int(d.Repetition)
			if c.drift == nil || d.P < c.drift.P {
				c.drift = d
			}
		}
		for _, side := range [][2]int{{0, split}, {split, len(mine)}} { // what is usual changes where a run drifts
			if side[1]-side[0] >= outlierLeast {
				f.outliers(c, pi, at, side[0], mine[side[0]:side[1]], scratch, starts[p.track])
			}
		}
		at += len(p.reps)
	}
	slices.SortStableFunc(c.outliers, func(a, b Outlier) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
	c.outliers = c.outliers[:min(len(c.outliers), maxOutliers)]
	for i := range c.outliers {
		f.blame(c, &c.outliers[i])
	}
}

// outliers looks at repetitions from..from+len(walls) of a part, before which the class has so many in other parts.
func (f *finder) outliers(c *class, pi, before, from int, walls, scratch []int64, starts []int32) {
	mid := median(append(scratch[:0], walls...))
	scratch = scratch[:0]
	for _, w := range walls {
		scratch = append(scratch, max(w-mid, mid-w))
	}
	// A clock has steps: a deviation that is all zeros is one of half a nanosecond.
	spread := 1.4826 * max(0.5, float64(median(scratch)))
	p := &c.parts[pi]
	t := f.r.tracks[p.track]
	s := f.r.seq(t)
	for k, w := range walls {
		score := float64(w-mid) / spread
		if math.Abs(score) < outlierScore || math.Abs(float64(w-mid)) < outlierChange*float64(mid) {
			continue
		}
		if w < mid && !follows(p, from+k, starts) { // its wall time ends with its last kernel, without the pause behind it
			continue
		}
		c.outliersTotal++
		c.outliers = append(c.outliers, Outlier{
			Repetition: int64(before + from + k), Rank: max(0, s.Rank), Device: s.Device, StartNS: s.StartNS[t.at(int(p.reps[from+k].Start))] - f.r.zero,
			WallNS: w, MedianNS: mid, Score: score, Slot: -1,
		})
		if len(c.outliers) >= 2*maxOutliers*len(c.parts) { // the oddest stay
			slices.SortStableFunc(c.outliers, func(a, b Outlier) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
			c.outliers = c.outliers[:maxOutliers]
		}
	}
}

// blame names the kernel that explains most of an outlier, or the time between kernels.
func (f *finder) blame(c *class, o *Outlier) {
	r := f.r
	pi, k := c.find(o.Repetition)
	p := &c.parts[pi]
	t := r.tracks[p.track]
	s := r.seq(t)
	rep := p.reps[k]
	sign := int64(1)
	if o.WallNS < o.MedianNS {
		sign = -1
	}
	o.SlotNS = o.WallNS - r.busy(t, rep, o.WallNS) - c.gap.P50
	o.SlotName = "time between kernels"
	each := func(slot, at int) {
		if d := s.DurNS(t.at(at)) - c.slots[slot].P50NS; sign*d > sign*o.SlotNS {
			o.Slot, o.SlotNS, o.SlotName = slot, d, c.slots[slot].Name
		}
	}
	if rep.Edits > 0 {
		for _, seg := range p.loose[int32(k)] {
			for i := range seg.n {
				each(int(seg.slot+i), int(rep.Start+seg.off+i))
			}
		}
		return
	}
	for i := range c.period() {
		each((i+p.shift)%c.period(), int(rep.Start)+i)
	}
}

// find is the part and the place in it of a repetition of the class.
func (c *class) find(repetition int64) (part, k int) {
	for i := range c.parts {
		if n := int64(len(c.parts[i].reps)); repetition >= n {
			repetition -= n
			continue
		}
		return i, int(repetition)
	}
	return 0, 0
}

// drift finds the change point of one device; nil where there is none.
func (f *finder) drift(c *class, pi int, walls, scratch []int64) *Drift {
	n := len(walls)
	if n < driftLeast {
		return nil
	}
	at, p := changePoint(walls, scratch)
	if p > driftP || at < driftSide || n-at < driftSide {
		return nil
	}
	before := median(append(scratch[:0], walls[:at]...))
	after := median(append(scratch[:0], walls[at:]...))
	if before <= 0 || math.Abs(float64(after-before)) < driftChange*float64(before) {
		return nil
	}
	t := f.r.tracks[c.parts[pi].track]
	s := f.r.seq(t)
	d := &Drift{
		Rank: max(0, s.Rank), Device: s.Device, Repetition: int64(at), AtNS: s.StartNS[t.at(int(c.parts[pi].reps[at].Start))] - f.r.zero,
		BeforeNS: before, AfterNS: after, Change: float64(after)/float64(before) - 1, P: p,
	}
	word := "longer"
	if after < before {
		word = "shorter"
	}
	d.Description = fmt.Sprintf("from repetition %d of %d on, repetitions take %.1f %% %s than before", at, n, 100*math.Abs(d.Change), word)
	return d
}

// driftPoints is how many values Pettitt's test is made on at most: a longer series is told by the medians of equal stretches, and its change
// point to one of those.
const driftPoints = 4096

func changePoint(walls, scratch []int64) (at int, p float64) {
	n := len(walls)
	if n <= driftPoints {
		return pettitt(walls)
	}
	size := (n + driftPoints - 1) / driftPoints
	medians := make([]int64, 0, driftPoints)
	for from := 0; from+size <= n; from += size {
		medians = append(medians, median(append(scratch[:0], walls[from:from+size]...)))
	}
	at, p = pettitt(medians)
	return at * size, p
}

// pettitt finds the most likely change point of a series and the chance of one as clear in a series without:
//
//	U(t) = 2 * sum of the ranks of the first t values - t * (n + 1),  K = max |U|,  p = 2 exp(-6 K^2 / (n^3 + n^2))
//
// The second side begins at the place returned.
func pettitt(values []int64) (at int, p float64) {
	n := len(values)
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	sort.SliceStable(order, func(a, b int) bool { return values[order[a]] < values[order[b]] })
	ranks := make([]float64, n)
	for i := 0; i < n; {
		j := i
		for j < n && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	sum, best := 0.0, 0.0
	for t := 1; t < n; t++ {
		sum += ranks[t-1]
		if u := math.Abs(2*sum - float64(t)*float64(n+1)); u > best {
			best, at = u, t
		}
	}
	nf := float64(n)
	return at, min(1, 2*math.Exp(-6*best*best/(nf*nf*nf+nf*nf)))
}
