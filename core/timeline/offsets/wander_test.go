package offsets_test

import (
	"math/rand"
	"sort"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// wandering is two to four clocks of which all but the first swing by 1 to 3 ppm over 20 to 60 s.
func wandering(r *rand.Rand, length int64) probing {
	p := probing{clocks: make([]wall, 2+r.Intn(3)), length: length, every: 20e6, delay: busy(r)}
	for i := 1; i < len(p.clocks); i++ {
		p.clocks[i] = wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(100_000) - 50_000}
		for range 1 + r.Intn(2) {
			p.clocks[i].swings = append(p.clocks[i].swings, swing{ppb: 1000 + 2000*r.Float64(), periodNS: 20e9 + 40e9*r.Float64(), phase: 6.3 * r.Float64()})
		}
	}
	return p
}

// until keeps what was probed before an instant.
func until(stamps []clockfile.Stamp, share float64, p probing) []clockfile.Stamp {
	var kept []clockfile.Stamp
	for _, s := range stamps {
		if s.T1-p.clocks[s.Src].at(0) < int64(share*float64(p.length)) {
			kept = append(kept, s)
		}
	}
	return kept
}

func TestBoundsHoldOutsideOfTheReadings(t *testing.T) {
	const seeds, share = 200, 0.4
	var at10 struct{ errs, bounds []int64 }
	worst := 1.0
	for seed := range int64(seeds) {
		r := rand.New(rand.NewSource(seed))
		p := wandering(r, 60e9+r.Int63n(60e9))
		s, err := offsets.SolveStamps(t.Context(), until(p.stamps(), share, p), offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inside, n := 0, 0
		last := int64(share * float64(p.length))
		for i := 1; i < len(p.clocks); i++ {
			no, _ := s.Node(i)
			for dt := int64(0); dt < p.length; dt += p.length / 2000 {
				y, bound, _ := no.Map.At(p.clocks[i].at(dt))
				e := y - p.clocks[0].at(dt)
				if n++; max(e, -e) <= bound {
					inside++
				}
			}
			dt := last + 10e9
			y, bound, _ := no.Map.At(p.clocks[i].at(dt))
			e := y - p.clocks[0].at(dt)
			at10.errs, at10.bounds = append(at10.errs, max(e, -e)), append(at10.bounds, bound)
		}
		share := float64(inside) / float64(n)
		worst = min(worst, share)
		if share < 0.99 {
			t.Errorf("seed %d: %.1f %% of the instants are inside their bound, want 99 %%", seed, 100*share)
		}
	}
	sort.Slice(at10.errs, func(i, j int) bool { return at10.errs[i] < at10.errs[j] })
	sort.Slice(at10.bounds, func(i, j int) bool { return at10.bounds[i] < at10.bounds[j] })
	p99, median := at10.errs[len(at10.errs)*99/100], at10.bounds[len(at10.bounds)/2]
	t.Logf("worst seed %.2f %% inside; 10 s outside: error p50 %d, p99 %d ns, median bound %d ns (%.1fx)", 100*worst, at10.errs[len(at10.errs)/2], p99, median, float64(median)/float64(p99))
	if median > 4*p99 {
		t.Errorf("10 s outside the median bound is %d ns, over four times the error of %d ns", median, p99)
	}
}
