package offsets_test

import (
	"math/rand"
	"os"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// wandering is two to four clocks of which all but the first swing by 1 to 3 ppm over 20 to 60 s.
func wandering(r *rand.Rand, length int64) probing {
	p := probing{clocks: make([]wall, 2+r.Intn(3)), length: length, every: 20e6, delay: busyOrQuiet(r)}
	for i := 1; i < len(p.clocks); i++ {
		p.clocks[i] = wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(100_000) - 50_000}
		for range 1 + r.Intn(2) {
			p.clocks[i].swings = append(p.clocks[i].swings, swing{ppb: 1000 + 2000*r.Float64(), periodNS: 20e9 + 40e9*r.Float64(), phase: 6.3 * r.Float64()})
		}
	}
	return p
}

// slewing is two to four clocks of which all but the first are slewed by 20 to 500 ppm, from an instant at which they are probed until one at
// which they are no more.
func slewing(r *rand.Rand, length int64) probing {
	p := probing{clocks: make([]wall, 2+r.Intn(3)), length: length, every: 20e6, delay: busyOrQuiet(r)}
	for i := 1; i < len(p.clocks); i++ {
		last := int64(probedShare * float64(length))
		by := (20_000 + r.Int63n(480_000)) * (2*r.Int63n(2) - 1)
		p.clocks[i] = wall{
			offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(100_000) - 50_000,
			slews: []slew{{from: r.Int63n(last), to: last + r.Int63n(length-last), ppb: by}},
		}
	}
	return p
}

// probedShare is the part of the time in which clocks are probed.
const probedShare = 0.4

// busyOrQuiet is the delay of packets on a host that has other work, or on one that has none.
func busyOrQuiet(r *rand.Rand) func(int, int) int64 {
	if r.Intn(2) == 0 {
		return busy(r)
	}
	return func(int, int) int64 { return 2_000 + int64(r.ExpFloat64()*1_000) }
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

// outside is how clocks that were probed at first alone compare with their bounds.
type outside struct {
	clocks, beyond int
	worst          float64 // the largest error, in bounds
	errs, bounds   []int64 // 10 s after the probes
}

func (o *outside) add(t *testing.T, seed int64, p probing) {
	t.Helper()
	s, err := offsets.SolveStamps(t.Context(), until(p.stamps(), probedShare, p), offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(p.clocks); i++ {
		no, _ := s.Node(i)
		at := func(dt int64) (e, bound int64) {
			y, bound, _ := no.Map.At(p.clocks[i].at(dt))
			e = y - p.clocks[0].at(dt)
			return max(e, -e), bound
		}
		worst := 0.0
		for dt := int64(0); dt < p.length; dt += p.length / 2000 {
			e, bound := at(dt)
			worst = max(worst, float64(e)/float64(bound))
		}
		o.clocks++
		if o.worst = max(o.worst, worst); worst > 1 {
			o.beyond++
			t.Logf("seed %d, clock %d, probed for %.0f s: an error of %.2f bounds; slews %v", seed, i, probedShare*float64(p.length)/1e9, worst, p.clocks[i].slews)
		}
		e, bound := at(int64(probedShare*float64(p.length)) + 10e9)
		o.errs, o.bounds = append(o.errs, e), append(o.bounds, bound)
	}
	slices.Sort(o.errs)
	slices.Sort(o.bounds)
}

// TestBoundsHoldOutsideOfTheReadings: clocks that swing, and such that are slewed on when nobody reads them any more. make corpus tries more of them.
func TestBoundsHoldOutsideOfTheReadings(t *testing.T) {
	clocks := 16
	if os.Getenv("PRLX_CLOCKS_ALL") != "" {
		clocks = 400
	}
	for name, c := range map[string]struct {
		of   func(*rand.Rand, int64) probing
		seed int64
		part int // of the clocks
		most int // of so many one may leave its bound: of slews, those that began in the last second, or before the first reading
	}{"swings": {wandering, 27_000, 1, 100}, "slews": {slewing, 29_000, 2, 30}} {
		t.Run(name, func(t *testing.T) {
			var o outside
			for seed := c.seed; o.clocks < clocks/c.part; seed++ {
				r := rand.New(rand.NewSource(seed))
				o.add(t, seed, c.of(r, 50e9+r.Int63n(70e9)))
			}
			p99, median := o.errs[len(o.errs)*99/100], o.bounds[len(o.bounds)/2]
			t.Logf("%d clocks, %d beyond their bounds somewhere, at worst by %.2f; 10 s after the probes: error p50 %d, p99 %d ns, bound p50 %d ns (%.1f times)",
				o.clocks, o.beyond, o.worst, o.errs[len(o.errs)/2], p99, median, float64(median)/float64(p99))
			if o.beyond*c.most > o.clocks {
				t.Errorf("%d of %d clocks are beyond their bounds somewhere", o.beyond, o.clocks)
			}
		})
	}
}
