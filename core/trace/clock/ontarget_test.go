package clock

import (
	"math/rand/v2"
	"testing"
)

// TestOnTargetKnowsWhatTheMapKnew: an instant that was mapped keeps its bound and its flags, and does not move again.
func TestOnTargetKnowsWhatTheMapKnew(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	looked, stepped := 0, 0
	for range 300 {
		var knots []Knot
		for x, y := int64(1_760_000_000_000_000_000), int64(1_760_000_000_000_000_000)+r.Int64N(1e9); len(knots) < 2+r.IntN(30); {
			knots = append(knots, Knot{X: x, Y: y, BoundNS: r.Int64N(50_000)})
			dx := 1e6 + r.Int64N(1e9)
			x, y = x+dx, y+dx+r.Int64N(dx/1000)-dx/2000
		}
		opts := []Option{WithTails(Drift(r.Int64N(2e8)-1e8), Drift(r.Int64N(2e8)-1e8), 1000), WithWander(r.Int64N(2000))}
		if len(knots) > 2 {
			step := 1 + r.IntN(len(knots)-2)
			for i := step + 1; i < len(knots); i++ {
				knots[i].Y += 50_000_000
			}
			opts = append(opts, WithSteps(step))
		}
		m, err := New(knots, opts...)
		if err != nil {
			t.Fatal(err)
		}
		again := m.OnTarget()
		if !again.IsIdentity() {
			t.Fatalf("moves: %+v", again.knots)
		}
		from, to, _ := m.Span()
		for range 200 {
			x := from - 1e9 + r.Int64N(to-from+2e9)
			y, bound, c := m.At(x)
			y2, bound2, c2 := again.At(y)
			if edge := m.interval(x) != m.interval(x-2) || m.interval(x) != m.interval(x+2); edge {
				continue
			}
			if off := 3 + bound/10_000; y2 != y || c2 != c || bound2-bound > off || bound-bound2 > off {
				t.Fatalf("at %d: %d ±%d flags %d, again %d ±%d flags %d", x, y, bound, c, y2, bound2, c2)
			}
			looked++
			if c&InStep != 0 {
				stepped++
			}
		}
		largest := m.LargestBound(from, to)
		for range 100 {
			if _, b, _ := m.At(from + r.Int64N(to-from+1)); b > largest {
				t.Fatalf("bound %d is above the largest, %d", b, largest)
			}
		}
	}
	if looked < 10_000 || stepped < 100 {
		t.Errorf("%d instants, %d of them in steps: too few to say anything", looked, stepped)
	}
	var none *Map
	if m := none.OnTarget(); !m.IsIdentity() || none.LargestBound(1, 2) != 0 {
		t.Error("no map knows something")
	}
}
