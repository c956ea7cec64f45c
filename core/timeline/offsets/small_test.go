package offsets_test

import (
	"math/rand"
	"testing"
)

func TestSmallSteps(t *testing.T) {
	for _, by := range []int64{5e3, 10e3, 20e3, 30e3, 40e3, 60e3, 100e3} {
		for seed := range int64(3) {
			r := rand.New(rand.NewSource(by + seed))
			p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}}, length: 20e9, every: 5e6, delay: busy(r)}
			p.clocks[1].steps = []jump{{9_876_543_210, by}}
			s := solve(t, p)
			n, _ := s.Node(1)
			errs, in, v, tot := p.compare(s)
			t.Logf("by %d: steps %+v links %+v max %d p50 %d viol %d/%d instep %d bound %+v", by, n.Steps, s.Links, errs[len(errs)-1], errs[len(errs)/2], v, tot, in, n.Bound)
		}
	}
}
