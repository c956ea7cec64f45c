package combine

import (
	"testing"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// TestAHeldOffsetIsTrustedLessEverySecond: with policy hold the offset of the last reading stays, and its bound grows by 100 us a second,
// whatever the fit said.
func TestAHeldOffsetIsTrustedLessEverySecond(t *testing.T) {
	const second = int64(1e9)
	fitted, err := clock.New([]clock.Knot{{X: 0, Y: 5000, BoundNS: 300}, {X: second, Y: second + 5000, BoundNS: 300}},
		clock.WithTails(clock.DriftPPM(20), clock.DriftPPM(20), 1_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		policy           policy
		offsetNS, growth int64 // 3 s behind the last reading; ns a second
	}{
		{degrade, 5000 + 3*20_000, 1_000},
		{hold, 5000, 100_000},
	} {
		held := solvedClock(&offsets.NodeOffsets{Map: fitted}, nil, MethodProbes, tc.policy, false)
		at := 4 * second
		if y, bound, _ := held.wall.At(at); y-at != tc.offsetNS || bound != 300+3*tc.growth {
			t.Errorf("%s: the offset is %d ±%d ns, want %d ±%d", tc.policy, y-at, bound, tc.offsetNS, 300+3*tc.growth)
		}
	}
}
