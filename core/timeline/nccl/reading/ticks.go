package reading

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/nccl/segment"
)

// ticks turns the clock of records into that of the host: CLOCK_MONOTONIC, shifted once so that it reads as CLOCK_REALTIME did at the first
// anchor. A wall clock that is set later moves nothing.
type ticks struct {
	knots []knot
	at    int // of the interval that was asked for last
	wall  int64
	step  int64 // by how much the wall clock was set, at most
	bound int64
}

type knot struct {
	ticks uint64
	ns    int64
	rate  float64 // ns a tick up to the next knot
}

// apart is how many ns anchors that make knots are apart at least: the reading of an anchor is off by up to a microsecond.
const apart = 500_000_000

// usable reports whether an anchor can be one: its clocks are those of a machine that runs.
func usable(a *segment.Anchor) bool {
	return a.Ticks > 0 && a.MonotonicNS > 0 && a.MonotonicNS < 1<<60 && a.RealtimeNS > 0 && a.RealtimeNS < 1<<62 && a.BracketTicks < 1<<40
}

func newTicks(f *segment.File, opened []segment.Segment) *ticks {
	all := slices.Clone(f.Anchors)
	for i := range opened {
		all = append(all, opened[i].Opened)
	}
	all = slices.DeleteFunc(all, func(a segment.Anchor) bool { return !usable(&a) })
	slices.SortStableFunc(all, func(a, b segment.Anchor) int { return cmp.Compare(a.Ticks, b.Ticks) })
	t := &ticks{}
	for i := range all {
		t.add(&all[i])
	}
	t.finish(f.TicksPerSecond, f.Clock)
	return t
}

func (t *ticks) add(a *segment.Anchor) {
	wall := a.RealtimeNS - a.MonotonicNS
	if len(t.knots) == 0 {
		t.wall = wall
		t.knots = append(t.knots, knot{ticks: a.Ticks, ns: a.MonotonicNS})
		return
	}
	last := &t.knots[len(t.knots)-1]
	if a.Ticks <= last.ticks || a.MonotonicNS <= last.ns {
		return
	}
	t.step = max(t.step, wall-t.wall, t.wall-wall)
	if a.MonotonicNS-last.ns >= apart || len(t.knots) == 1 {
		t.knots = append(t.knots, knot{ticks: a.Ticks, ns: a.MonotonicNS})
	}
}

func (t *ticks) finish(perSecond uint64, c segment.Clock) {
	if t.step < 1000 { // readings of two clocks, one after the other
		t.step = 0
	}
	rate := 1.0
	if perSecond > 0 && c != segment.Monotonic {
		rate = 1e9 / float64(perSecond)
	}
	n := len(t.knots)
	for i := range n {
		if i+1 < n {
			rate = float64(t.knots[i+1].ns-t.knots[i].ns) / float64(t.knots[i+1].ticks-t.knots[i].ticks)
		}
		t.knots[i].rate = rate
		t.knots[i].ns += t.wall
	}
	t.bound = 1000
	if n < 2 {
		t.bound = 1_000_000 // a rate that only the processor states
	}
}

// ns is the instant of a reading; 0 of a reading of 0, and where no anchor is in the file.
func (t *ticks) ns(ticks uint64) int64 {
	if ticks == 0 || len(t.knots) == 0 {
		return 0
	}
	i := t.at
	if t.knots[i].ticks > ticks || i+1 < len(t.knots) && t.knots[i+1].ticks <= ticks {
		i, _ = slices.BinarySearchFunc(t.knots, ticks, func(k knot, x uint64) int { return cmp.Compare(k.ticks, x) })
		if i == len(t.knots) || t.knots[i].ticks > ticks {
			i--
		}
		i = max(i, 0)
		t.at = i
	}
	k := &t.knots[i]
	d := float64(int64(ticks-k.ticks)) * k.rate
	if ns := float64(k.ns) + d; ns < 1 || ns > math.MaxInt64/2 {
		return 0
	}
	return k.ns + int64(d)
}
