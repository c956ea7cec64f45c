package offsets

import (
	"math/rand"
	"testing"
)

// TestASecondStepAtTheEndDoesNotMoveTheFirst: of the second one so few packets are left that it is no break. What they say is not what follows the first.
func TestASecondStepAtTheEndDoesNotMoveTheFirst(t *testing.T) {
	opt, _ := Options{}.withDefaults()
	const first, second = 15.07e9, 17.93e9
	theta := func(x float64) float64 {
		v := 8e3 * x / 1e9
		if x >= first {
			v += 630e3
		}
		if x >= second {
			v -= 420e3
		}
		return v
	}
	r := rand.New(rand.NewSource(2))
	l := linkOf(packets(theta, 18, 0.13, func(float64) float64 { return 10e3 + r.ExpFloat64()*5e3 }), opt)
	if len(l.breaks) != 1 || l.breaks[0].kind != breakStep {
		t.Fatalf("breaks %+v", l.breaks)
	}
	if b := l.breaks[0]; b.fromX > first || b.toX < first || b.toX-b.fromX > 0.3e9 {
		t.Errorf("the step at %.3f s is found between %.3f and %.3f s", first/1e9, b.fromX/1e9, b.toX/1e9)
	}
}
