package straggler

import (
	"cmp"
	"math"
	"slices"
)

// Does one rank take longer than the others, more often than chance explains? What it took before each operation is compared with what all
// ranks took for the same: were they alike, each would have its part of the longest hundredth, tenth and half. This sees what is rare and what is
// small but always there, and an outlier counts once, however long it is.

// tailsAt are the shares of the longest that are looked at.
var tailsAt = []float64{0.5, 0.1, 0.03, 0.01, 0.003, 0.001}

// How improbable a rank's part must be, for all ranks and shares together.
const (
	surelyBelow = 1e-4 // where nothing else points to the rank
	atAllBelow  = 1e-2 // where its cost does: no clock has a part in this, and who is last for certain too often may have a clock that is ahead, within its bound
)

// over is by how much longer than usual a rank took before an event.
type over struct {
	rank int32
	ns   int64
}

// slower says of each rank whether it takes longer than the others, beyond chance, and whether it does with less certainty.
func (m *measures) slower() (surely, atAll []bool) {
	var all []over
	each := make([]int, len(m.job.Ranks))
	for e := range m.job.Events {
		if m.before[e] < 0 {
			continue
		}
		ns, _ := m.excess(int32(e))
		r := m.job.Events[e].Rank
		all = append(all, over{r, ns})
		each[r]++
	}
	surely, atAll = make([]bool, len(each)), m.long(all, each)
	for r, log := range m.byChance(all, each) {
		surely[r], atAll[r] = log < math.Log(surelyBelow), atAll[r] || log < math.Log(atAllBelow)
	}
	return surely, atAll
}

// byChance says of each rank how probable it is that chance puts anybody among the longest as often: the logarithm, for all ranks and shares together. It sorts
// all.
func (m *measures) byChance(all []over, each []int) []float64 {
	out := make([]float64, len(m.job.Ranks))
	slices.SortFunc(all, func(a, b over) int { return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.rank, b.rank)) })
	count, n := make([]int, len(m.job.Ranks)), 0
	times := math.Log(float64(max(len(out), 1) * len(tailsAt)))
	for _, share := range slices.Backward(tailsAt) {
		to := int(share * float64(len(all)))
		for ; n < to; n++ {
			count[all[n].rank]++
		}
		for r := range out {
			mean := float64(to) * float64(each[r]) / float64(max(len(all), 1))
			if to > 0 && float64(count[r]) > mean {
				out[r] = min(out[r], times+logTail(count[r], to, float64(each[r])/float64(len(all))))
			}
		}
	}
	return out
}

// deviations is by how many standard deviations the sum of a rank's times must be above that of the others.
const deviations = 4

// long says of each rank whether it took longer in all than the scatter of the others explains: its outliers count by how long they are.
func (m *measures) long(all []over, each []int) []bool {
	ranks := len(m.job.Ranks)
	sums, squares := make([]float64, ranks), make([]float64, ranks)
	sum, square := 0.0, 0.0
	for _, o := range all {
		ns := float64(o.ns)
		sums[o.rank], squares[o.rank] = sums[o.rank]+ns, squares[o.rank]+ns*ns
		sum, square = sum+ns, square+ns*ns
	}
	out := make([]bool, ranks)
	for r := range out {
		n, others := float64(each[r]), float64(len(all)-each[r])
		if n == 0 || others == 0 {
			continue
		}
		mean := (sum - sums[r]) / others
		variance := max((square-squares[r])/others-mean*mean, 0)
		out[r] = sums[r]-n*mean > deviations*math.Sqrt(n*variance)
	}
	return out
}

// logTail is the logarithm of the probability that at least k of n fall to somebody whose part is p, for k above the mean.
func logTail(k, n int, p float64) float64 {
	if p >= 1 {
		return 0
	}
	choose := func(k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	first := choose(k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
	sum, term := 0.0, 1.0
	for i := k; i <= n && term > 1e-9*sum; i++ { // each term is the one before times a ratio
		sum += term
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return first + math.Log(sum)
}
