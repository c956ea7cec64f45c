package reading

import (
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/segment"
)

// host is a made machine: a counter of 3 ticks a ns and a bit, and a wall clock that is far from CLOCK_MONOTONIC.
type host struct{ ticksPerNS float64 }

const (
	bootNS = 5_000_000_000_000
	wallNS = 1_700_000_000_000_000_000
)

func (h host) ticks(ns int64) uint64 { return uint64(float64(bootNS+ns) * h.ticksPerNS) }

// anchor is one that was read at ns after the start: the reading took so long, and the thread was away for `away` ns between two clocks. The
// middle of the reading then is off by half of that.
func (h host) anchor(ns, took, away int64) segment.Anchor {
	from := h.ticks(ns - took/2)
	bracket := h.ticks(ns+took/2+away) - from
	return segment.Anchor{Ticks: from + bracket/2, MonotonicNS: bootNS + ns, RealtimeNS: bootNS + ns + wallNS + away, BracketTicks: bracket}
}

// worst is by how much instants up to ns are off, of a reader who asks for one every so often.
func (h host) worst(t *ticks, upTo int64) int64 {
	var off int64
	for ns := int64(0); ns <= upTo; ns += upTo/1000 + 1 {
		d := t.ns(h.ticks(ns)) - (bootNS + wallNS + ns)
		off = max(off, d, -d)
	}
	return off
}

func TestInstantsAreAsExactAsTheBoundSays(t *testing.T) {
	h := host{ticksPerNS: 2.995123}
	const ms = 1_000_000
	for _, c := range []struct {
		name    string
		anchors []segment.Anchor
		upTo    int64
		atMost  int64 // of the bound
	}{
		{"first reading interrupted", []segment.Anchor{h.anchor(0, 200, 40_000), h.anchor(2*ms, 200, 0), h.anchor(9*ms, 200, 0)}, 9 * ms, 1000},
		{"second reading interrupted", []segment.Anchor{h.anchor(0, 200, 0), h.anchor(100_000, 200, 40_000), h.anchor(9*ms, 200, 0)}, 9 * ms, 1000},
		{"all but two interrupted", []segment.Anchor{
			h.anchor(0, 200, 0), h.anchor(600*ms, 200, 90_000), h.anchor(700*ms, 200, 0), h.anchor(1300*ms, 200, 90_000), h.anchor(1400*ms, 300, 0),
		}, 1400 * ms, 1000},
		{"one that stands alone is interrupted", []segment.Anchor{h.anchor(0, 200, 0), h.anchor(1000*ms, 200, 60_000), h.anchor(2000*ms, 200, 0)}, 2000 * ms, 35_000},
		{"two close together, and much after them", []segment.Anchor{h.anchor(0, 200, 0), h.anchor(100_000, 200, 600)}, 300 * ms, 3 * ms},
		{"one a second", []segment.Anchor{h.anchor(0, 400, 0), h.anchor(1000*ms, 400, 0), h.anchor(2000*ms, 400, 0)}, 2900 * ms, 1000},
		{"one", []segment.Anchor{h.anchor(0, 400, 0)}, ms, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newTicks(&segment.File{Anchors: c.anchors, Clock: segment.TSC}, nil)
			off := h.worst(clock, c.upTo)
			if bound := clock.bound(); off > bound || bound > c.atMost {
				t.Errorf("off by %d ns where at most %d are claimed, and %d are due", off, bound, c.atMost)
			}
			if clock.step != 0 {
				t.Errorf("the wall clock was set by %d ns, which it was not", clock.step)
			}
		})
	}
}

// TestAStatedRateIsBelievedUntilAnchorsTellItBetter is about processors that say the rate of their counter.
func TestAStatedRateIsBelievedUntilAnchorsTellItBetter(t *testing.T) {
	h := host{ticksPerNS: 0.1 * (1 + 100e-6)} // the clock is slewed by 100 ppm
	f := &segment.File{Clock: segment.CNTVCT, TicksPerSecond: 100_000_000}
	const ms = 1_000_000
	f.Anchors = []segment.Anchor{h.anchor(0, 200, 0)}
	clock := newTicks(f, nil)
	if off := h.worst(clock, 10*ms); off < 900 || off > clock.bound() || clock.bound() > 10_000 {
		t.Errorf("one anchor: off by %d ns, %d claimed", off, clock.bound())
	}
	f.Anchors = append(f.Anchors, h.anchor(10*ms, 200, 0))
	clock = newTicks(f, nil)
	if off := h.worst(clock, 10*ms); off > 300 || clock.bound() != leastBound {
		t.Errorf("two anchors: off by %d ns, %d claimed", off, clock.bound())
	}
}

// TestAWallClockThatIsSetIsSeen beside anchors whose reading was interrupted for longer.
func TestAWallClockThatIsSetIsSeen(t *testing.T) {
	h := host{ticksPerNS: 3}
	const ms = 1_000_000
	set := h.anchor(2000*ms, 200, 0)
	set.RealtimeNS += 40_000
	clock := newTicks(&segment.File{Anchors: []segment.Anchor{h.anchor(0, 300, 0), h.anchor(1000*ms, 200, 90_000), set}, Clock: segment.TSC}, nil)
	if clock.step != 40_000 {
		t.Errorf("set by 40000 ns, found %d", clock.step)
	}
	if off := h.worst(clock, 900*ms); off > clock.bound() {
		t.Errorf("off by %d ns, %d claimed", off, clock.bound())
	}
}
