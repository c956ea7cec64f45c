package pairs

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawn are times of repetitions as recordings have them: steady, noisy, with a few stalls, with noise that lasts for some repetitions.
func drawn(r *rand.Rand, kind string, n int) []int64 {
	out := make([]int64, n)
	lasting := 0.0
	for i := range out {
		x := 1e6
		switch kind {
		case "steady":
			x *= 1 + 0.002*r.NormFloat64()
		case "noisy":
			x *= math.Exp(0.2 * r.NormFloat64())
		case "stalls":
			if x *= 1 + 0.002*r.NormFloat64(); r.Float64() < 0.1 {
				x += 1e6 * r.ExpFloat64()
			}
		case "lasting":
			lasting = 0.5*lasting + r.NormFloat64()
			x *= 1 + 0.05*lasting
		}
		out[i] = int64(x)
	}
	return out
}

func TestNothingChangedIsSeldomCalledAChange(t *testing.T) {
	const runs = 2000
	for _, kind := range []string{"steady", "noisy", "stalls", "lasting"} {
		for _, n := range []int{8, 12, 40, 200} {
			if kind == "lasting" && n < 200 {
				continue // noise that lasts is told from a change by long stages only
			}
			r := rand.New(rand.NewPCG(20261126, uint64(n)))
			found := 0
			for range runs {
				c := tested(drawn(r, kind, n), drawn(r, kind, n))
				judge([]*Change{&c}, func(int) (int, int) { return n, n }, DefaultAlpha, DefaultMinChange)
				if c.Verdict != Same {
					found++
				}
			}
			t.Logf("%s, %d repetitions: %d of %d", kind, n, found, runs)
			if float64(found) > 1.5*DefaultAlpha*runs { // two deviations above what is allowed
				t.Errorf("%s, %d repetitions: a change in %d of %d", kind, n, found, runs)
			}
		}
	}
}

func TestStallsOfAPartOfTheRepetitionsAreAChange(t *testing.T) {
	r := rand.New(rand.NewPCG(20261126, 1))
	for _, tc := range []struct {
		name string
		b    func(i int, usual int64) int64
		by   string
		want Verdict
	}{
		{"nothing", func(_ int, x int64) int64 { return x }, "", Same},
		{"three of ten stall", func(i int, x int64) int64 {
			if i%10 < 3 {
				x += 40e6
			}
			return x
		}, ByTails, Slower},
		{"half of them are a tenth slower", func(i int, x int64) int64 {
			if i%2 == 0 {
				x += x / 10
			}
			return x
		}, byRanks, Slower},
		{"one stalls", func(i int, x int64) int64 {
			if i == 17 {
				x += 400e6
			}
			return x
		}, "", Same},
		{"all are faster", func(_ int, x int64) int64 { return x - x/10 }, byRanks, Faster},
		{"the second half is slower", func(i int, x int64) int64 {
			if i >= 20 {
				x += x / 5
			}
			return x
		}, "", Same}, // it moves by itself as much as it differs
	} {
		a, b := drawn(r, "steady", 40), drawn(r, "steady", 40)
		for i := range b {
			b[i] = tc.b(i, b[i])
		}
		c := tested(a, b)
		judge([]*Change{&c}, func(int) (int, int) { return 40, 40 }, DefaultAlpha, DefaultMinChange)
		if c.Verdict != tc.want || c.By != tc.by {
			t.Errorf("%s: %s by %q, want %s by %q: %+v", tc.name, c.Verdict, c.By, tc.want, tc.by, c.tests)
		}
	}
}

// Tea of the lady, 3 of 4 right (Fisher, The Design of Experiments, 1935): one tail 17/70.
func TestFisher(t *testing.T) {
	if p := fisher(3, 4, 1, 4); math.Abs(p-2*17.0/70) > 1e-9 {
		t.Errorf("p = %v", p)
	}
	if p := fisher(4, 4, 0, 4); math.Abs(p-2.0/70) > 1e-9 {
		t.Errorf("p = %v", p)
	}
	if p, q := fisher(0, 40, 12, 40), fisher(12, 40, 0, 40); p != q || p > 2e-4 || p < 1e-4 {
		t.Errorf("p = %v, %v", p, q)
	}
	for _, k := range []int{0, 5} {
		if p := fisher(k, 5, k, 5); p != 1 {
			t.Errorf("%d of 5 twice: p = %v", k, p)
		}
	}
}

// The means 2 and 3 of {1, 2, 3} and {2, 3, 4}: squares of deviations from 2.5 add up to 5.5, so that the variance is 5.5/5*(1/3+1/3).
func TestPitman(t *testing.T) {
	if p, want := pitman([]int64{1, 2, 3}, []int64{2, 3, 4}), math.Erfc(1/math.Sqrt(2*1.1*2/3)); math.Abs(p-want) > 1e-12 {
		t.Errorf("p = %v, want %v", p, want)
	}
	if p := pitman([]int64{5, 5}, []int64{5, 5}); p != 1 {
		t.Errorf("all equal: p = %v", p)
	}
}
