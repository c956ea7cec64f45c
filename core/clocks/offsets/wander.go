package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// The rate of a clock wanders, and outside of the readings nobody sees where to. What can be seen is how far its rates lay apart within them, and how
// fast it changed: a rate that is at the turn of a swing hardly changes, and one that is amid of it has not been at both ends. So both count,
// and what the rate may do outside is taken to be the sum: all that it did, and that it goes on to change as fast as it did at most for a while.

const (
	// swingSeconds is for how long a rate may go on changing as fast as it did at most. With 20 s, 1 in 1,000 simulated clocks that swing
	// by 1 to 3 ppm in 20 to 60 s, once or twice over, left their bounds when they were read for 20 to 28 s, and none that were read for longer;
	// with 14 s it were 5 in 1,000.
	swingSeconds = 20.0
	// mostSwingPPB is how far a rate may swing so: one that changes by more at once is slewed, and the slew ends as it began.
	mostSwingPPB = 40_000.0
	// unseenPPB is how much the rate of a clock is taken to change where the readings are too short to show whether it does: two swings of
	// 3 ppm each together, from where they are lowest to where they are highest on average.
	unseenPPB = 8_000.0
	// fewestChanges is how many changes of rate between neighbouring knots tell how much they scatter.
	fewestChanges = 12
	// mostTrials is how many knots of a run are looked at.
	mostTrials = 200
)

// rates is how far the rates of a clock lay apart, and how fast one changed: ns per s, and per s.
type rates struct {
	least, most, fastest float64
	seen                 bool // the readings are long enough to show whether the rate changes
}

// wanderOf returns by how much a rate may leave the one that it had at the end of the readings, ns per s, as the knots of the runs show it.
func wanderOf(runs []run, opt *Options) float64 {
	r := rates{least: math.Inf(1), most: math.Inf(-1)}
	for i := range runs {
		r.add(runs[i].knots, opt)
	}
	swing := math.Min(swingSeconds*r.fastest, mostSwingPPB)
	if !r.seen {
		swing = math.Max(swing, unseenPPB)
	}
	return math.Max(0, r.most-r.least) + swing
}

func (r *rates) take(slope, slack float64) {
	if slope+slack < r.least || math.IsInf(r.least, 1) {
		r.least = math.Min(r.least, slope+slack)
	}
	if slope-slack > r.most || math.IsInf(r.most, -1) {
		r.most = math.Max(r.most, slope-slack)
	}
}

// add looks at one run: over stretches of half a window, and near the ends, where a change may just have begun, over shorter ones.
func (r *rates) add(knots []clock.Knot, opt *Options) {
	half := opt.WindowNS / 2
	stride := max(1, len(knots)/mostTrials)
	for i := 0; i < len(knots); i += stride {
		k, slope, found := slopeFrom(knots, i, half)
		if !found {
			break
		}
		r.take(slope, 0)
		if end, next, found := slopeFrom(knots, k, half); found {
			seconds := float64(knots[end].Y-knots[i].Y) / 2e9
			r.fastest, r.seen = math.Max(r.fastest, math.Abs(next-slope)/seconds), true
		}
	}
	n := len(knots)
	if n < 2 {
		return
	}
	if length := knots[n-1].Y - knots[0].Y; length < half { // between steps: as far as it is known
		r.take(slopeBetween(knots[0], knots[n-1]), float64(knots[0].BoundNS+knots[n-1].BoundNS)/float64(length)*1e9)
		return
	}
	slopes, slack, ok := shortSlopes(knots, opt)
	for i := 1; ok && i+1 < len(slopes); i++ { // of a change that began between two knots half is seen, and it goes on
		if knots[i].Y-knots[0].Y < half {
			r.take(2*slopes[i-1]-slopes[i], slack)
		}
		if knots[n-1].Y-knots[i+1].Y < half {
			r.take(2*slopes[i+1]-slopes[i], slack)
		}
	}
}

// shortSlopes are the slopes between neighbouring knots, ns per s, and how much they scatter: twice the change from one to the next that is not passed
// in nine of ten places.
func shortSlopes(knots []clock.Knot, opt *Options) (slopes []float64, slack float64, ok bool) {
	var change []float64
	for i := 0; i+1 < len(knots); i++ {
		if knots[i+1].Y-knots[i].Y > opt.WindowNS/2 || knots[i+1].Y <= knots[i].Y {
			return nil, 0, false
		}
		slopes = append(slopes, slopeBetween(knots[i], knots[i+1]))
		if i > 0 {
			change = append(change, math.Abs(slopes[i]-slopes[i-1]))
		}
	}
	if len(change) < fewestChanges {
		return nil, 0, false
	}
	slices.Sort(change)
	return slopes, 2 * change[len(change)*9/10], true
}

// slopeFrom is the slope of the offset from knot i to the first one that lies a distance away, ns per s; not found where the readings end before.
func slopeFrom(knots []clock.Knot, i int, distance int64) (k int, slope float64, found bool) {
	k = i + 1
	for k < len(knots) && knots[k].Y-knots[i].Y < distance {
		k++
	}
	if k >= len(knots) {
		return 0, 0, false
	}
	return k, slopeBetween(knots[i], knots[k]), true
}

func slopeBetween(a, b clock.Knot) float64 {
	return float64((b.X-b.Y)-(a.X-a.Y)) / float64(b.Y-a.Y) * 1e9
}
