package offsets

import (
	"math"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// closestKnots is the smallest distance of two knots that is worth both, ns: closer ones say no more and round worse.
const closestKnots = 10_000

// fromRuns makes the node's map of runs of knots with a step between each two.
// monotone says that the source clock itself never steps (a tracer's clock): then a step needs no room on it.
func (n *NodeOffsets) fromRuns(runs []run, monotone bool, opt *Options) error {
	var gain, length float64
	kept := make([]run, 0, len(runs))
	for _, r := range runs {
		r.knots = thin(r.knots)
		if len(r.knots) == 0 {
			continue
		}
		kept = append(kept, r)
		a, b := r.knots[0], r.knots[len(r.knots)-1]
		gain += float64((b.X - b.Y) - (a.X - a.Y))
		length += float64(b.Y - a.Y)
	}
	if length > 0 {
		n.DriftPPM = math.Max(-steepest, math.Min(steepest, gain/length*1e9)) / 1e3
	}
	knots, steps := joinRuns(kept, monotone)
	t := tail{wanderPPB: opt.WanderPPB}
	first, last := kept[0].knots, kept[len(kept)-1].knots
	wander := math.Max(float64(opt.WanderPPB), wanderOf(kept, opt))
	var g0, g1 float64
	t.before, g0 = tailOf(first, +1, wander, n.DriftPPM*1e3, opt)
	t.after, g1 = tailOf(last, -1, wander, n.DriftPPM*1e3, opt)
	t.growth = ceilNS(math.Max(g0, g1))
	return n.build(knots, steps, t)
}

// thin drops knots that are too close to their neighbours; the first and the last stay.
func thin(knots []clock.Knot) []clock.Knot {
	out := knots[:0:0]
	for i, k := range knots {
		if len(out) > 0 && k.X <= out[len(out)-1].X {
			continue
		}
		if i > 0 && i < len(knots)-1 && (k.Y-out[len(out)-1].Y < closestKnots || knots[len(knots)-1].Y-k.Y < closestKnots) {
			continue
		}
		out = append(out, k)
	}
	return out
}

// tailOf returns the drift to extrapolate with at one end of a run (dir +1: its start) and the growth of the bound there: a
// line through two points that are each off by their bound, plus the wander (ns per s). Points that are so close that they say less of the drift
// than that clocks run, as after a step in the last moment, leave it to all others.
func tailOf(knots []clock.Knot, dir int, wander, drift float64, opt *Options) (clock.Drift, float64) {
	end, i := 0, 0
	if dir < 0 {
		end = len(knots) - 1
		i = end
	}
	for i+dir >= 0 && i+dir < len(knots) && absInt(knots[i].Y-knots[end].Y) < opt.WindowNS {
		i += dir
	}
	dy := knots[i].Y - knots[end].Y
	if dy == 0 {
		return 0, opt.maxSlope()
	}
	gain := float64((knots[i].X - knots[i].Y) - (knots[end].X - knots[end].Y))
	slope := math.Max(-steepest, math.Min(steepest, gain/float64(dy)*1e9))
	growth := float64(knots[i].BoundNS+knots[end].BoundNS) / math.Abs(float64(dy)) * 1e9
	if growth > 2*opt.maxSlope() {
		return driftOf(drift), 2 * opt.maxSlope()
	}
	return driftOf(slope), math.Min(growth+wander, 2*opt.maxSlope())
}

// steepest is the largest slope that a tail may continue with, ns per second: beyond 10 % it is not a clock's drift.
const steepest = 1e8

func absInt(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// joinRuns strings runs together. Between two of them a clock stepped somewhere: on the source clock the ambiguous interval is
// where both continuations can lie, which for a backward step means that the ends of both runs overlap and are cut back.
func joinRuns(runs []run, monotone bool) (knots []clock.Knot, steps []int) {
	for i, r := range runs {
		if i == 0 {
			knots = append(knots, r.knots...)
			continue
		}
		last, first := knots[len(knots)-1], r.knots[0]
		dy := max(0, first.Y-last.Y)
		if monotone {
			dy = 0
		}
		xa := min(last.X, first.X-dy)
		xb := max(first.X, last.X+dy)
		var left clock.Knot
		left, knots = cutAfter(knots, xa)
		for len(steps) > 0 && steps[len(steps)-1] >= len(knots) {
			steps = steps[:len(steps)-1]
		}
		right, rest := cutBefore(r.knots, xb)
		left.BoundNS = max(left.BoundNS, right.BoundNS) // anywhere inside, the clock is on either side
		right.BoundNS = left.BoundNS
		knots = append(knots, left)
		steps = append(steps, len(knots)-1)
		knots = append(knots, right)
		knots = append(knots, rest...)
	}
	return knots, steps
}

// cutAfter returns the run's value at x, which is not after its last knot, and the knots before x.
func cutAfter(knots []clock.Knot, x int64) (clock.Knot, []clock.Knot) {
	n := len(knots)
	for n > 0 && knots[n-1].X >= x {
		n--
	}
	return valueAt(knots, n, x), knots[:n]
}

// cutBefore returns the run's value at x, which is not before its first knot, and the knots after x.
func cutBefore(knots []clock.Knot, x int64) (clock.Knot, []clock.Knot) {
	n := 0
	for n < len(knots) && knots[n].X <= x {
		n++
	}
	return valueAt(knots, n, x), knots[n:]
}

// valueAt returns the knot at x, which lies between knots n-1 and n, at one of them, or outside, where the rate is taken as 1.
func valueAt(knots []clock.Knot, n int, x int64) clock.Knot {
	if n < len(knots) && knots[n].X == x {
		return knots[n]
	}
	if n > 0 && (n == len(knots) || knots[n-1].X == x) {
		k := knots[n-1]
		return clock.Knot{X: x, Y: k.Y + (x - k.X), BoundNS: k.BoundNS}
	}
	if n == 0 {
		k := knots[0]
		return clock.Knot{X: x, Y: k.Y - (k.X - x), BoundNS: k.BoundNS}
	}
	a, b := knots[n-1], knots[n]
	f := float64(x-a.X) / float64(b.X-a.X)
	return clock.Knot{X: x, Y: a.Y + int64(math.Round(f*float64(b.Y-a.Y))), BoundNS: max(a.BoundNS, b.BoundNS)}
}
