package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/clock"
)

// The rate of a clock wanders, and outside of the readings nobody sees where to. What can be seen is how far its rates lay apart within them, and how
// fast it changed: a rate that is at the turn of a swing hardly changes, and one that is amid of it has not been at both ends. So both count,
// and what the rate may do outside is taken to be the sum: all that it did, and that it goes on to change as fast as it did at most for a while.

const (
	// swingSeconds is for how long a rate may go on changing as fast as it did at most. With 20 s, 9 of 10,000 simulated clocks that swing
	// by 1 to 3 ppm in 20 to 60 s, once or twice over, left their bounds when they were read for 20 to 48 s; with 14 s it were 20.
	swingSeconds = 20.0
	// unseenPPB is how much the rate of a clock is taken to change where the readings are too short to show whether it does: two such swings
	// of 3 ppm each together, from their lowest to where they are on average highest.
	unseenPPB = 8_000.0
	// fewestChanges is how many changes of rate between neighbouring knots tell how much they scatter.
	fewestChanges = 12
	// mostTrials is how many knots of a run are looked at.
	mostTrials = 200
)

// wanderOf returns by how much a rate may leave the one that it had at the end of the readings, ns per s, as the knots of the runs show it.
func wanderOf(runs []run, opt *Options) float64 {
	worst, seen := 0.0, false
	for _, r := range runs {
		w, ok := wanderIn(r.knots, opt)
		worst, seen = math.Max(worst, w), seen || ok
	}
	if !seen {
		return math.Max(worst, unseenPPB)
	}
	return worst
}

// wanderIn is wanderOf for one run; not ok where it is too short to show how a rate changes.
func wanderIn(knots []clock.Knot, opt *Options) (ppb float64, ok bool) {
	half := opt.WindowNS / 2
	least, most, fastest := math.Inf(1), math.Inf(-1), 0.0
	stride := max(1, len(knots)/mostTrials)
	for i := 0; i < len(knots); i += stride {
		k, slope, found := slopeFrom(knots, i, half)
		if !found {
			break
		}
		least, most = math.Min(least, slope), math.Max(most, slope)
		end, next, found := slopeFrom(knots, k, half)
		if !found {
			continue
		}
		seconds := float64(knots[end].Y-knots[i].Y) / 2e9
		fastest, ok = math.Max(fastest, math.Abs(next-slope)/seconds), true
	}
	if least > most {
		return 0, false
	}
	return most - least + swingSeconds*fastest, ok && len(knots) > 0 && knots[len(knots)-1].Y-knots[0].Y >= 3*half
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

// kinkAtEnds is by how much the rate in the first or the last moment of the readings differs from that beside it, ns per s: a change of rate that began
// there is not yet in what longer stretches show. What it is anywhere else, in nine of ten places, is the scatter of such short stretches.
func kinkAtEnds(knots []clock.Knot, opt *Options) float64 {
	var change []float64
	for i := 0; i+2 < len(knots); i++ {
		if knots[i+2].Y-knots[i].Y > opt.WindowNS {
			return 0
		}
		change = append(change, math.Abs(slopeBetween(knots[i+1], knots[i+2])-slopeBetween(knots[i], knots[i+1])))
	}
	if len(change) < fewestChanges {
		return 0
	}
	ends := math.Max(change[0], change[len(change)-1])
	slices.Sort(change)
	return math.Max(0, ends-2*change[len(change)*9/10])
}
