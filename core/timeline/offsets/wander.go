package offsets

import (
	"math"

	"github.com/prlx-go/prlx/core/timeline/clock"
)

// The rate of a clock wanders, and outside of the readings nobody sees where to. What can be seen is how well the readings before any
// instant would have told those after it, and the other way round: straight on, as a tail goes. The worst of these trials, as growth of
// the error by distance, stands for what the rate may do outside.

const (
	// wanderFactor is by how much the rate may stray farther outside of the readings than it did in them: they may cover less than a
	// whole swing of it.
	wanderFactor = 2.0
	// mostTrials is how many knots of a run are tried, and as many ends for each.
	mostTrials = 200
)

// wanderOf returns the growth of the error of a straight continuation, ns per s, as the knots of the runs show it.
func wanderOf(runs []run, opt *Options) float64 {
	worst := 0.0
	for _, r := range runs {
		worst = math.Max(worst, wanderIn(r.knots, opt))
	}
	return worst
}

func wanderIn(knots []clock.Knot, opt *Options) float64 {
	stride := max(1, len(knots)/mostTrials)
	worst := 0.0
	for i := 0; i < len(knots); i += stride {
		for _, dir := range [2]int{+1, -1} { // +1: from i on, told by the knots before it
			slope, ok := slopeBeside(knots, i, -dir, opt.WindowNS)
			if !ok {
				continue
			}
			for j := i + dir; j >= 0 && j < len(knots); j += dir * stride {
				dy := float64(knots[j].Y - knots[i].Y)
				if math.Abs(dy) < float64(opt.WindowNS)/4 {
					continue
				}
				gain := float64((knots[j].X - knots[j].Y) - (knots[i].X - knots[i].Y))
				worst = math.Max(worst, math.Abs(gain/dy*1e9-slope))
			}
		}
	}
	return worst
}

// slopeBeside is the slope of the offset over a window on one side of knot i, ns per s; not ok where the readings end before.
func slopeBeside(knots []clock.Knot, i, dir int, window int64) (slope float64, ok bool) {
	k := i
	for k+dir >= 0 && k+dir < len(knots) && absInt(knots[k].Y-knots[i].Y) < window {
		k += dir
	}
	dy := knots[k].Y - knots[i].Y
	if absInt(dy) < window {
		return 0, false
	}
	return float64((knots[k].X-knots[k].Y)-(knots[i].X-knots[i].Y)) / float64(dy) * 1e9, true
}
