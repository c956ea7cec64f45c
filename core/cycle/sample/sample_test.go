package sample

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPercentilesByNearestRank(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		v := make([]int64, 1+r.IntN(400))
		for i := range v {
			v[i] = r.Int64N(int64(1 + r.IntN(1000)))
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		for _, k := range []int{0, len(v) / 3, len(v) - 1} {
			if got := nth(slices.Clone(v), k); got != sorted[k] {
				t.Fatalf("place %d of %v is %d, not %d", k, sorted, got, sorted[k])
			}
		}
	}
}
