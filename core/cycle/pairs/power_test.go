package pairs

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStudentIsThatOfTheTables(t *testing.T) {
	for _, c := range []struct {
		p       float64
		freedom int
		want    float64
	}{{0.01, 1, 63.657}, {0.01, 2, 9.925}, {0.01, 3, 5.841}, {0.05, 4, 2.776}, {0.01, 9, 3.250}, {0.1, 30, 1.697}} {
		if got := student(c.p, c.freedom); math.Abs(got-c.want) > 0.001 {
			t.Errorf("t of %v with %d degrees of freedom: got %.4f, want %.3f", c.p, c.freedom, got, c.want)
		}
	}
}

// noisy is a run: times with so much noise, in stages that lie apart by drift.
func noisy(r *rand.Rand, n int, mean, noise, drift float64) []int64 {
	out := make([]int64, n)
	for i := range out {
		stage := float64(i * maxStages / n)
		out[i] = int64(mean * (1 + noise*r.NormFloat64() + drift*stage))
	}
	return out
}

// TestMostChangesOfTheLimitAreToldAndFewOfHalfOfIt asks runs that the limit was not made of.
func TestMostChangesOfTheLimitAreToldAndFewOfHalfOfIt(t *testing.T) {
	for _, c := range []struct {
		n            int
		noise, drift float64
	}{{8, 0.01, 0}, {40, 0.02, 0}, {40, 0.05, 0}, {200, 0.05, 0}, {200, 0.02, 0.01}} {
		told, half := 0, 0
		const runs = 200
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, 5))
			sample := func(mean float64) []int64 { return noisy(r, c.n, mean, c.noise, c.drift) }
			limit := limitOf(sample(1e6), sample(1e6), DefaultAlpha)
			if limit <= 0 {
				t.Fatalf("%+v: no limit: %v", c, limit)
			}
			is := func(by float64) bool {
				change := tested(sample(1e6), sample(1e6*(1+by)))
				judge([]*Change{&change}, func(int) (int, int) { return c.n, c.n }, DefaultAlpha, 0)
				return change.Told
			}
			if is(limit) {
				told++
			}
			if is(limit / 2) {
				half++
			}
		}
		t.Logf("%+v: %d told of %d, of half the limit %d", c, told, runs, half)
		if told < runs*7/10 || half > runs*6/10 {
			t.Errorf("%+v: changes of the limit: %d of %d told, of half of it %d", c, told, runs, half)
		}
	}
}

func TestFewRepetitionsHaveNoLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	if got := limitOf(noisy(r, 7, 1e6, 0.01, 0), noisy(r, 50, 1e6, 0.01, 0), DefaultAlpha); got != -1 {
		t.Errorf("seven repetitions: got %v", got)
	}
	if got := limitOf(noisy(r, 8, 1e6, 0.01, 0), noisy(r, 8, 1e6, 0.01, 0), DefaultAlpha/1000); got != -1 {
		t.Errorf("eight repetitions of a thousand tests: got %v", got)
	}
}

// TestAChangeWithinTheBaselinesIsNoChange makes runs that differ by more than their repetitions do.
func TestAChangeWithinTheBaselinesIsNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	view := func(scale float64) ClassView {
		v := ClassView{ID: 7, Slots: []Slot{{Name: "k", Strict: "k", Loose: "k"}}}
		v.Slots[0].NS = noisy(r, 60, 1e6*scale, 0.002, 0)
		v.WallNS, v.GapNS = v.Slots[0].NS, make([]int64, 60)
		return v
	}
	a := []ClassView{view(1)}
	baselines := NewBaselines(DefaultAlpha)
	for _, scale := range []float64{1.01, 0.99, 1.005, 0.995} {
		baselines.Add(Classes(a, []ClassView{view(scale)}, Options{}), a)
	}
	for _, c := range []struct {
		scale float64
		want  Verdict
		told  bool
	}{{1.035, withinNoise, false}, {0.965, withinNoise, false}, {1.08, Slower, true}, {0.92, Faster, true}, {1.0, Same, false}} {
		got := Classes(a, []ClassView{view(c.scale)}, Options{Baselines: baselines}).Pairs[0]
		if got.Wall.Verdict != c.want || got.Wall.Told != c.told || got.Rows[0].Verdict != c.want {
			t.Errorf("%v: got %q, told %v, kernel %q; want %q, %v (baselines differ by %+v)", c.scale, got.Wall.Verdict, got.Wall.Told, got.Rows[0].Verdict, c.want, c.told, *got.Wall.Noise)
		}
	}
	c := Classes(a, []ClassView{view(1)}, Options{Baselines: baselines})
	if limit, noise := c.Limit(a, []ClassView{view(1)}, 0, Wall), c.Pairs[0].Wall.Noise.Share; limit != noise {
		t.Errorf("the limit is %v, and the baselines differ by %v", limit, noise)
	}
	if baselines.Has(7) != 4 || baselines.Has(8) != 0 {
		t.Errorf("baselines with the class: %d, without it %d", baselines.Has(7), baselines.Has(8))
	}
}
