package clock

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogramQuantilesAreCloseFromAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var h Histogram
		var vs []int64
		for range 1 + r.IntN(2000) {
			v := int64(math.Exp(r.Float64() * 43))
			vs = append(vs, v)
			h.Add(v)
		}
		slices.Sort(vs)
		for _, q := range []float64{0.5, 0.99, 1} {
			want := vs[int(math.Ceil(q*float64(len(vs))))-1]
			got := h.Quantile(q)
			if got < want || float64(got) > float64(want)*1.0626+1 {
				t.Fatalf("quantile %g of %d values = %d, want %d to +6.3 %%", q, len(vs), got, want)
			}
		}
		if h.Max() != vs[len(vs)-1] {
			t.Fatalf("max = %d, want %d", h.Max(), vs[len(vs)-1])
		}
	}
	var edge Histogram
	edge.Add(math.MaxInt64)
	edge.Add(-1)
	if got := edge.Quantile(1); got != math.MaxInt64 {
		t.Errorf("quantile of MaxInt64 = %d", got)
	}
}

func TestMergedHistogramsAreLikeOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var a, b Histogram
	var all []int64
	for i := range 20000 {
		v := int64(rng.Uint64() >> (1 + rng.IntN(63)))
		all = append(all, v)
		if i%2 == 0 {
			a.Add(v)
		} else {
			b.Add(v)
		}
	}
	a.Merge(&b)
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
		rank := max(int(q*float64(len(all))+0.999999)-1, 0)
		got, want := a.Quantile(q), all[rank]
		if got < want || float64(got) > float64(want)*1.0626+1 {
			t.Errorf("quantile %v is %d, exactly it is %d", q, got, want)
		}
	}
	if a.Max() != all[len(all)-1] || a.Total() != int64(len(all)) {
		t.Errorf("max %d of %d, want %d of %d", a.Max(), a.Total(), all[len(all)-1], len(all))
	}
}

func TestARunOfABucketIsLikeItsValues(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var runs, single Histogram
	for range 2000 {
		v := int64(r.Uint64()) >> r.IntN(64)
		from, to := Bucket(v)
		if v < from || v > to || from > math.MinInt64 && bucket(from) != bucket(max(v, 0)) || bucket(to) != bucket(max(v, 0)) {
			t.Fatalf("%d is said to share a bucket with %d to %d", v, from, to)
		}
		if to < math.MaxInt64 && bucket(to+1) == bucket(to) {
			t.Fatalf("the bucket of %d goes on beyond %d", v, to)
		}
		n := 1 + r.Int64N(9)
		for k := range n {
			single.Add(max(from, to-k))
		}
		runs.AddRun(to, n)
	}
	if runs.Max() != single.Max() || runs.Total() != single.Total() || !slices.Equal(runs.counts, single.counts) {
		t.Errorf("runs: %d values up to %d, one by one %d up to %d, or other buckets", runs.Total(), runs.Max(), single.Total(), single.Max())
	}
}
