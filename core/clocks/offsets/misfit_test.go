package offsets_test

import (
	"math/rand"
	"testing"
)

// TestStepsTooSmallToContradictAPacketAreInsideTheBound: below about a round trip a step hides between the packets; the windows'
// misfit must then widen the bound.
func TestStepsTooSmallToContradictAPacketAreInsideTheBound(t *testing.T) {
	for _, by := range []int64{5e3, -5e3, 10e3, 20e3, -20e3, 30e3, -30e3, 40e3, 60e3} {
		for seed := range int64(5) {
			r := rand.New(rand.NewSource(by + seed))
			p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}}, length: 20e9, every: 5e6, delay: busy(r)}
			p.clocks[1].steps = []jump{{5_000_000_000 + r.Int63n(10e9), by}}
			s := solve(t, p)
			errs, _, violations, n := p.compare(s)
			if violations*200 > n {
				t.Errorf("step of %d ns at %d: errors up to %d ns, %d of %d beyond their bound; %+v", by, p.clocks[1].steps[0].at, errs[len(errs)-1], violations, n, s.Links)
			}
		}
	}
}
