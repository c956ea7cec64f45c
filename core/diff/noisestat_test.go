package diff

import (
	"math"
	"math/big"
	"testing"
)

// The exact tests are held against sums of whole numbers, which have no rounding.
func TestFisherIsExact(t *testing.T) {
	choose := func(n, k int64) *big.Int { return new(big.Int).Binomial(n, k) }
	for n := int64(1); n <= 12; n++ {
		for n0 := int64(1); n0 <= 12; n0++ {
			for k := int64(0); k <= n; k++ {
				for k0 := int64(0); k0 <= n0; k0++ {
					want := 1.0
					if k*n0 > k0*n {
						sum := new(big.Int)
						for x := k; x <= min(n, k+k0); x++ {
							sum.Add(sum, new(big.Int).Mul(choose(n, x), choose(n0, k+k0-x)))
						}
						want, _ = new(big.Rat).SetFrac(sum, choose(n+n0, k+k0)).Float64()
					}
					if got := fisherUpper(k, n, k0, n0); math.Abs(got-want) > 1e-12 {
						t.Fatalf("fisherUpper(%d of %d, %d of %d) = %g, want %g", k, n, k0, n0, got, want)
					}
				}
			}
		}
	}
}

func TestPoissonIsExact(t *testing.T) {
	for k := int64(0); k <= 30; k++ {
		for k0 := int64(0); k0 <= 30; k0++ {
			want := 1.0
			if k > k0 {
				sum := new(big.Int)
				for x := k; x <= k+k0; x++ {
					sum.Add(sum, new(big.Int).Binomial(k+k0, x))
				}
				want, _ = new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(k+k0))).Float64()
			}
			if got := poissonUpper(k, k0); math.Abs(got-want) > 1e-12 {
				t.Fatalf("poissonUpper(%d, %d) = %g, want %g", k, k0, got, want)
			}
		}
	}
}

func TestExactTestsOfLargeCountsEndAndStayProbabilities(t *testing.T) {
	for _, k := range []int64{0, 1, 1000, 500_000, 999_999, 1_000_000} {
		for _, p := range []float64{fisherUpper(k, 1_000_000, 3, 66_000_000), poissonUpper(k, 7)} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("with %d hits: %g is no probability", k, p)
			}
		}
	}
	if p := fisherUpper(5, 0, 1, 10); p != 1 {
		t.Errorf("without a warp there is nothing to compare: got %g", p)
	}
}

func TestNothingUnseenIsExpectedOnceNothingIsRare(t *testing.T) {
	var s noiseSpecies
	for i := range uint64(noiseRich) {
		if s.n++; s.complete() && i+1 < noiseRich {
			t.Fatalf("complete after %d observations", i+1)
		}
		s.saw(i % 4)
	}
	if !s.complete() {
		t.Error("four things, each seen often: not complete")
	}
	for i := 1; i < noiseOften; i++ {
		if s.saw(99); s.complete() {
			t.Errorf("one of the things was seen %d times: more may be to come", i)
		}
	}
}

// A slow obvious twin: all arrangements of deviations over runs are counted one by one.
func TestBinomialIsExact(t *testing.T) {
	for runs := int64(1); runs <= 3; runs++ { // equal ones, beside B
		for n := int64(1); n <= 7; n++ { // deviations
			counts := make([]int64, n+1) // arrangements by how many are B's
			total := int64(1)
			for range n {
				total *= runs + 1
			}
			for code := range total {
				of := int64(0)
				for range n {
					if code%(runs+1) == 0 {
						of++
					}
					code /= runs + 1
				}
				counts[of]++
			}
			for k := int64(0); k <= n; k++ {
				want := 0.0
				for x := k; x <= n; x++ {
					want += float64(counts[x]) / float64(total)
				}
				if k*(runs+1) <= n {
					want = 1
				}
				if got := binomialUpper(k, n, 1/float64(runs+1)); math.Abs(got-want) > 1e-12 {
					t.Fatalf("binomialUpper(%d, %d) beside %d runs = %g, want %g", k, n, runs, got, want)
				}
			}
		}
	}
}

func TestBinomialLowerCountsTheOtherTail(t *testing.T) {
	for n := int64(1); n <= 30; n++ {
		for k := int64(0); k <= n; k++ {
			for _, p := range []float64{0.1, 0.5, 0.8} {
				if low, up := binomialLower(k, n, p), binomialUpper(k+1, n, p); float64(k) < float64(n)*p && float64(k+1) > float64(n)*p && math.Abs(low+up-1) > 1e-9 {
					t.Fatalf("of %d with %g: %d or less %g, more %g", n, p, k, low, up)
				}
			}
		}
	}
}

// All ways to share a total among counts are equally likely, when they are geometric.
func TestGeometricIsExact(t *testing.T) {
	for m := int64(1); m <= 3; m++ {
		for sum := int64(0); sum <= 6; sum++ {
			for x := int64(1); x <= 6; x++ {
				var all, as int64
				var share func(left, parts, first int64)
				share = func(left, parts, first int64) {
					if parts == 0 {
						all++
						if first+left >= x { // the rest is the count in question
							as++
						}
						return
					}
					for k := int64(0); k <= left; k++ {
						share(left-k, parts-1, first)
					}
				}
				share(sum+x, m, 0)
				if got, want := geometricUpper(x, sum, m), float64(as)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Fatalf("geometricUpper(%d, %d, %d) = %g, want %g", x, sum, m, got, want)
				}
			}
		}
	}
}
