package clock

import (
	"math/rand/v2"
	"testing"
)

// TestInsideAStepBothContinuationsAreWithinTheBound: a clock that runs fast and steps may gain over the interval of the step what the step takes,
// so that the ends of the interval look as if nothing had happened.
func TestInsideAStepBothContinuationsAreWithinTheBound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		rate := (r.Float64()*2 - 1) * 300e-6
		jump := r.Int64N(400_000) - 200_000
		width := 1_000_000 + r.Int64N(2e9)
		before := func(x int64) int64 { return x + int64(rate*float64(x)) }
		after := func(x int64) int64 { return before(x) + jump }
		a, b := int64(10e9), 10e9+width
		knots := []Knot{{X: 0, Y: before(0), BoundNS: 10}, {X: a, Y: before(a), BoundNS: 10}, {X: b, Y: after(b), BoundNS: 10}, {X: b + 5e9, Y: after(b + 5e9), BoundNS: 10}}
		d := DriftPPM(rate * 1e6)
		whole, err := New(knots, WithTails(d, d, 100), WithSteps(1), WithClamps())
		if err != nil {
			t.Fatal(err)
		}
		bare, err := New(knots[1:3], WithTails(d, d, 100), WithSteps(0), WithClamps()) // its rates are those of the tails
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Map{whole, bare} {
			for range 10 {
				x := a + 1 + r.Int64N(width-1)
				y, bound, c := m.At(x)
				if c&InStep == 0 {
					t.Fatalf("%d is not in the step", x)
				}
				for _, truth := range []int64{before(x), after(x)} {
					if e := max(y-truth, truth-y); e > bound {
						t.Fatalf("rate %g, jump %d, width %d: %d ns off at %d, bound %d", rate, jump, width, e, x-a, bound)
					}
				}
			}
		}
	}
}
