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

// surely is how improbable a rank's part must be, for all ranks and shares together.
const surely = 1e-4

// slower says of each rank whether it takes longer than the others, beyond chance.
func (m *measures) slower() []bool {
	type over struct {
		rank int32
		ns   int64
	}
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
	out := make([]bool, len(m.job.Ranks))
	slices.SortFunc(all, func(a, b over) int { return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.rank, b.rank)) })
	count, n := make([]int, len(m.job.Ranks)), 0
	limit := math.Log(surely / float64(max(len(out), 1)*len(tailsAt)))
	for _, share := range slices.Backward(tailsAt) {
		to := int(share * float64(len(all)))
		for ; n < to; n++ {
			count[all[n].rank]++
		}
		for r := range out {
			mean := float64(to) * float64(each[r]) / float64(max(len(all), 1))
			if to > 0 && float64(count[r]) > mean && logTail(count[r], to, float64(each[r])/float64(len(all))) < limit {
				out[r] = true
			}
		}
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
