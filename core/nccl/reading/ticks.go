package reading

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/segment"
)

// ticks turns the clock of records into that of the host: CLOCK_MONOTONIC, shifted once so that it reads as CLOCK_REALTIME did at the first
// anchor. A wall clock that is set later moves nothing.
type ticks struct {
	knots    []knot
	at       int // of the interval that was asked for last
	wall     int64
	wallHalf float64 // by how much wall is off at most
	step     int64   // by how much the wall clock was set, at most
	off      float64 // by how many ns a tick the last rate is off at most
	first    uint64  // the first anchor
	end      uint64  // the latest reading that was asked for, or is in the header
}

type knot struct {
	ticks uint64
	ns    int64
	half  float64 // by how much ns is off at most: half of what its reading took
	rate  float64 // ns a tick up to the next knot
}

// apart is how many ns anchors that make knots are apart at least. Of the anchors of the first half of that time the one that was read
// fastest makes the knot: a thread that lost its processor between two clocks reads an anchor that is off by as long.
const apart = 500_000_000

// leastBound is what no clock is claimed to be better than, in ns.
const leastBound = 1000

// slewed is by how much CLOCK_MONOTONIC runs faster or slower than what drives it at most, while it is disciplined (adjtimex: 500 ppm).
const slewed = 500e-6

// usable reports whether an anchor can be one: its clocks are those of a machine that runs.
func usable(a *segment.Anchor) bool {
	return a.Ticks > 0 && a.MonotonicNS > 0 && a.MonotonicNS < 1<<60 && a.RealtimeNS > 0 && a.RealtimeNS < 1<<62 && a.BracketTicks < 1<<40
}

// anchorsOf are those of the file and of its segments, in order; both clocks go on from each to the next.
func anchorsOf(f *segment.File, opened []segment.Segment) []segment.Anchor {
	all := slices.Clone(f.Anchors)
	for i := range opened {
		all = append(all, opened[i].Opened)
	}
	all = slices.DeleteFunc(all, func(a segment.Anchor) bool { return !usable(&a) })
	slices.SortStableFunc(all, func(a, b segment.Anchor) int { return cmp.Compare(a.Ticks, b.Ticks) })
	kept := all[:0]
	for _, a := range all {
		if n := len(kept); n == 0 || a.Ticks > kept[n-1].Ticks && a.MonotonicNS > kept[n-1].MonotonicNS {
			kept = append(kept, a)
		}
	}
	return kept
}

func newTicks(f *segment.File, opened []segment.Segment) *ticks {
	all, t := anchorsOf(f, opened), &ticks{}
	if len(all) == 0 {
		return t
	}
	rate, off := statedRate(all, f)
	half := func(a *segment.Anchor) float64 { return 1 + float64(a.BracketTicks)/2*rate } // 1: what the clocks count in
	t.first, t.end = all[0].Ticks, max(all[len(all)-1].Ticks, f.HeartbeatTicks, f.EndedTicks)
	t.walls(all, half)
	if f.Clock == segment.Monotonic { // records have that clock: there is nothing to learn
		t.knots = []knot{{ticks: all[0].Ticks, ns: all[0].MonotonicNS + t.wall, rate: 1}}
		return t
	}
	t.tie(all, half)
	t.rates(all, half, rate, off)
	return t
}

// statedRate is about how many ns a tick takes, and by how much that is off at most: as the processor says it, else between the first and
// the last anchor, and that is off by anything.
func statedRate(all []segment.Anchor, f *segment.File) (ns, off float64) {
	first, last := &all[0], &all[len(all)-1]
	switch {
	case f.Clock == segment.Monotonic:
		return 1, 0
	case f.TicksPerSecond > 0:
		ns = 1e9 / float64(f.TicksPerSecond)
		return ns, slewed * ns
	case last.Ticks > first.Ticks:
		return float64(last.MonotonicNS-first.MonotonicNS) / float64(last.Ticks-first.Ticks), math.Inf(1)
	}
	return 1, math.Inf(1)
}

// walls finds how far the wall clock was from CLOCK_MONOTONIC at the first anchor, by the anchor that was read fastest of those that do not
// contradict it, and by how much it was set later.
func (t *ticks) walls(all []segment.Anchor, half func(*segment.Anchor) float64) {
	wall := func(a *segment.Anchor) int64 { return a.RealtimeNS - a.MonotonicNS }
	differ := func(a, b *segment.Anchor) int64 {
		d := wall(a) - wall(b)
		if d = max(d, -d); float64(d) > 2*(half(a)+half(b)) {
			return d
		}
		return 0
	}
	best := &all[0]
	for i := range all {
		if a := &all[i]; a.BracketTicks < best.BracketTicks && differ(a, &all[0]) == 0 {
			best = a
		}
	}
	t.wall, t.wallHalf = wall(best), half(best)
	for i := range all {
		t.step = max(t.step, differ(&all[i], best))
	}
	if t.step < leastBound { // readings of two clocks, one after the other
		t.step = 0
	}
}

// tie makes the knots.
func (t *ticks) tie(all []segment.Anchor, half func(*segment.Anchor) float64) {
	from := all[0].MonotonicNS
	for i := range all {
		a := &all[i]
		k := knot{ticks: a.Ticks, ns: a.MonotonicNS + t.wall, half: half(a)}
		switch n := len(t.knots); {
		case n == 0 || a.MonotonicNS-from >= apart:
			t.knots = append(t.knots, k)
			from = a.MonotonicNS
		case a.MonotonicNS-from < apart/2 && k.half < t.knots[n-1].half:
			t.knots[n-1] = k
		}
	}
}

// rates gives each knot the rate up to the next, and the last one that to the anchor which tells it best, or the stated one where no anchor
// tells it better.
func (t *ticks) rates(all []segment.Anchor, half func(*segment.Anchor) float64, stated, off float64) {
	n := len(t.knots)
	for i := range n - 1 {
		t.knots[i].rate = float64(t.knots[i+1].ns-t.knots[i].ns) / float64(t.knots[i+1].ticks-t.knots[i].ticks)
	}
	last := &t.knots[n-1]
	t.off, last.rate = off, stated
	for i := range all {
		a := &all[i]
		ticks, ns := float64(int64(a.Ticks-last.ticks)), float64(a.MonotonicNS+t.wall-last.ns)
		if o := (half(a) + last.half) / math.Abs(ticks); ticks != 0 && o < t.off {
			t.off, last.rate = o, ns/ticks
		}
	}
}

// bound is by how many ns the instants that were asked for are off at most, from the clock of the host.
func (t *ticks) bound() int64 {
	if len(t.knots) == 0 {
		return leastBound
	}
	n := len(t.knots)
	first, last := &t.knots[0], &t.knots[n-1]
	beyond := max(float64(int64(t.end-last.ticks)), 0)
	if n == 1 {
		beyond = max(beyond, float64(last.ticks-t.first))
	}
	worst := last.half
	if beyond > 0 && t.off > 0 {
		worst += beyond * t.off
	}
	if n > 1 { // what came before the first knot, which is nearer to it than half of the way to the second
		worst = max(worst, first.half+(first.half+t.knots[1].half)/2)
	}
	for i := range t.knots {
		worst = max(worst, t.knots[i].half)
	}
	return max(leastBound, int64(min(math.Ceil(worst+2*t.wallHalf), 1<<60)))
}

// ns is the instant of a reading; 0 of a reading of 0, and where no anchor is in the file.
func (t *ticks) ns(ticks uint64) int64 {
	if ticks == 0 || len(t.knots) == 0 {
		return 0
	}
	t.end = max(t.end, ticks)
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
