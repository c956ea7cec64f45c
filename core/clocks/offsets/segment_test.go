package offsets

import (
	"math/rand"
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
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

// TestAStepThatNoPacketContradictsIsInTheBound: on a slow link one line goes through both sides of a small step. Close to it the truth is where the packets
// of one side leave it, which may be farther off than the misfit of the line.
func TestAStepThatNoPacketContradictsIsInTheBound(t *testing.T) {
	opt, _ := Options{}.withDefaults()
	const at = 20e9
	beyond, n := 0, 0
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		by := 110e3 + 40e3*r.Float64()
		theta := func(x float64) float64 {
			if x >= at {
				return 9e3*x/1e9 - by
			}
			return 9e3 * x / 1e9
		}
		l := linkOf(packets(theta, 40, 0.3, func(float64) float64 { return 70e3 + r.ExpFloat64()*30e3 }), opt)
		if len(l.breaks) > 0 {
			continue // some packet did
		}
		p := &l.parts[0]
		for k := range 400 {
			x := p.firstX + (p.lastX-p.firstX)*float64(k)/399
			if v := p.at(x); theta(x) < v.lo || theta(x) > v.hi {
				beyond++
			}
		}
		n++
	}
	t.Logf("%d links, %d instants outside", n, beyond)
	if n < 10 || beyond > 0 {
		t.Errorf("on %d links with a small step the truth is outside of the band at %d instants", n, beyond)
	}
}

// TestAMomentBehindAStepSaysNothingOfTheDrift: two knots that are 20 us apart and known to 10 us do not lead anywhere.
func TestAMomentBehindAStepSaysNothingOfTheDrift(t *testing.T) {
	opt, _ := Options{}.withDefaults()
	knot := func(y, ahead int64) clock.Knot { return clock.Knot{X: y + ahead, Y: y, BoundNS: 10_000} }
	const start, s = int64(1_760_000_000_000_000_000), int64(1e9)
	long := run{0, nil}
	for k := range int64(30) {
		long.knots = append(long.knots, knot(start+k*s, 50_000*k)) // 50 ppm
	}
	end := start + 30*s
	n := NodeOffsets{Node: 1}
	if err := n.fromRuns([]run{long, {1, []clock.Knot{knot(end, 3e6), knot(end+20_000, 3e6+1500)}}}, false, opt); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{s / 5, 2 * s} {
		truth := end + after
		y, bound, _ := n.Map.At(truth + 3e6 + 50*after/1e6)
		if off := max(y-truth, truth-y); off > bound || off > 50_000 {
			t.Errorf("%d ms after the last knot: %d ns off, bound %d", after/1e6, off, bound)
		}
	}
}
