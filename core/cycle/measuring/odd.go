package measuring

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/sample"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// odd finds outliers and drift. Walls are those of all parts, one after the other; scratch has room for as many.
func (f *measurer) odd(c *structure.Class, walls, scratch []int64, starts map[int][]int32) {
	at := 0
	for pi := range c.Parts {
		p := &c.Parts[pi]
		mine := walls[at : at+len(p.Reps)]
		d := f.drift(c, pi, mine, scratch)
		split := 0
		if d != nil {
			split = int(d.Repetition)
			if c.Drift == nil || d.P < c.Drift.P {
				c.Drift = d
			}
		}
		for _, side := range [][2]int{{0, split}, {split, len(mine)}} { // what is usual changes where a run drifts
			if side[1]-side[0] >= outlierLeast {
				f.outliers(c, pi, at, side[0], mine[side[0]:side[1]], scratch, starts[p.Track])
			}
		}
		at += len(p.Reps)
	}
	slices.SortStableFunc(c.Outliers, func(a, b cycledoc.Outlier) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
	c.Outliers = c.Outliers[:min(len(c.Outliers), maxOutliers)]
	for i := range c.Outliers {
		f.blame(c, &c.Outliers[i])
	}
}

// outliers looks at repetitions from..from+len(walls) of a part, before which the class has so many in other parts.
func (f *measurer) outliers(c *structure.Class, pi, before, from int, walls, scratch []int64, starts []int32) {
	mid := sample.Median(append(scratch[:0], walls...))
	scratch = scratch[:0]
	for _, w := range walls {
		scratch = append(scratch, max(w-mid, mid-w))
	}
	spread := madToSigma * max(leastMAD, float64(sample.Median(scratch)))
	p := &c.Parts[pi]
	t := f.r.Tracks[p.Track]
	s := f.r.Seq(t)
	for k, w := range walls {
		score := float64(w-mid) / spread
		if math.Abs(score) < outlierScore || math.Abs(float64(w-mid)) < outlierChange*float64(mid) {
			continue
		}
		if w < mid && !Follows(p, from+k, starts) { // its wall time ends with its last kernel, without the pause behind it
			continue
		}
		c.OutliersTotal++
		c.Outliers = append(c.Outliers, cycledoc.Outlier{
			Repetition: int64(before + from + k), Rank: max(0, s.Rank), Device: s.Device, StartNS: s.StartNS[t.At(int(p.Reps[from+k].Start))] - f.r.Zero,
			WallNS: w, MedianNS: mid, Score: score, Slot: -1,
		})
		if len(c.Outliers) >= 2*maxOutliers*len(c.Parts) { // the oddest stay
			slices.SortStableFunc(c.Outliers, func(a, b cycledoc.Outlier) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
			c.Outliers = c.Outliers[:maxOutliers]
		}
	}
}

// blame names the kernel that explains most of an outlier, or the time between kernels.
func (f *measurer) blame(c *structure.Class, o *cycledoc.Outlier) {
	r := f.r
	pi, k := repetitionOf(c, o.Repetition)
	p := &c.Parts[pi]
	t := r.Tracks[p.Track]
	s := r.Seq(t)
	rep := p.Reps[k]
	sign := int64(1)
	if o.WallNS < o.MedianNS {
		sign = -1
	}
	o.SlotNS = o.WallNS - Busy(r, t, rep, o.WallNS) - c.Gap.P50
	o.SlotName = "time between kernels"
	each := func(slot, at int) {
		if d := s.DurNS(t.At(at)) - c.Slots[slot].P50NS; sign*d > sign*o.SlotNS {
			o.Slot, o.SlotNS, o.SlotName = slot, d, c.Slots[slot].Name
		}
	}
	if rep.Edits > 0 {
		for _, seg := range p.Loose[int32(k)] {
			for i := range seg.N {
				each(int(seg.Slot+i), int(rep.Start+seg.Off+i))
			}
		}
		return
	}
	for i := range c.Period() {
		each((i+p.Shift)%c.Period(), int(rep.Start)+i)
	}
}

// repetitionOf is the part and the place in it of a repetition of the class.
func repetitionOf(c *structure.Class, repetition int64) (part, k int) {
	for i := range c.Parts {
		if n := int64(len(c.Parts[i].Reps)); repetition >= n {
			repetition -= n
			continue
		}
		return i, int(repetition)
	}
	return 0, 0
}

// drift finds the change point of one device; nil where there is none.
func (f *measurer) drift(c *structure.Class, pi int, walls, scratch []int64) *cycledoc.Drift {
	n := len(walls)
	if n < driftLeast {
		return nil
	}
	at, p := changePoint(walls, scratch)
	if p > driftP || at < driftSide || n-at < driftSide {
		return nil
	}
	before := sample.Median(append(scratch[:0], walls[:at]...))
	after := sample.Median(append(scratch[:0], walls[at:]...))
	if before <= 0 || math.Abs(float64(after-before)) < driftChange*float64(before) {
		return nil
	}
	t := f.r.Tracks[c.Parts[pi].Track]
	s := f.r.Seq(t)
	d := &cycledoc.Drift{
		Rank: max(0, s.Rank), Device: s.Device, Repetition: int64(at), AtNS: s.StartNS[t.At(int(c.Parts[pi].Reps[at].Start))] - f.r.Zero,
		BeforeNS: before, AfterNS: after, Change: float64(after)/float64(before) - 1, P: p,
	}
	word := "longer"
	if after < before {
		word = "shorter"
	}
	d.Description = fmt.Sprintf("from repetition %d of %d on, repetitions take %.1f %% %s than before", at, n, 100*math.Abs(d.Change), word)
	return d
}

func changePoint(walls, scratch []int64) (at int, p float64) {
	n := len(walls)
	if n <= driftPoints {
		return pettitt(walls)
	}
	size := (n + driftPoints - 1) / driftPoints
	medians := make([]int64, 0, driftPoints)
	for from := 0; from+size <= n; from += size {
		medians = append(medians, sample.Median(append(scratch[:0], walls[from:from+size]...)))
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
