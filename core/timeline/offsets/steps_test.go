package offsets_test

import (
	"math/rand"
	"testing"
)

// slowLink is a network in which node 2 is near node 1 and far from node 0: packets of the far link do not contradict a step of a millisecond.
func slowLink(r *rand.Rand) func(from, to int) int64 {
	return func(from, to int) int64 {
		if from+to == 2 {
			return 3e6 + int64(r.ExpFloat64()*300_000)
		}
		return 20_000 + int64(r.ExpFloat64()*10_000)
	}
}

func TestAStepThatOneLinkProvesIsToldToSlowerLinks(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		by := []int64{1e6, -1e6, 300_000, -300_000}[seed%4]
		p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}, {offset: -7e6, driftPPB: -90_000}}, length: 40e9, every: 20e6, delay: slowLink(r)}
		p.clocks[2].steps = []jump{{10e9 + seed*1e9, by}}
		s := solve(t, p)
		errs, _, violations, n := p.compare(s)
		if violations > 0 {
			t.Errorf("seed %d, step of %d: %d of %d errors are beyond their bound; largest outside of steps %d", seed, by, violations, n, errs[len(errs)-1])
		}
		if len(s.Nodes[2].Steps) != 1 {
			t.Errorf("seed %d, step of %d: found %+v", seed, by, s.Nodes[2].Steps)
		}
		if len(s.Nodes[1].Steps) != 0 {
			t.Errorf("seed %d: node 1 did not step, found %+v", seed, s.Nodes[1].Steps)
		}
	}
}

// TestAStepNearTheEndIsInTheBoundOfWhatFollows: too few packets follow the step to say anything else.
func TestAStepNearTheEndIsInTheBoundOfWhatFollows(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}}, length: 20e9, every: 100e6, delay: busy(r)}
		stepped := p.length - 250e6
		p.clocks[1].steps = []jump{{stepped, 2e6}}
		s := solve(t, p)
		n, _ := s.Node(1)
		at := p.length - 10e6
		y, bound, _ := n.Map.At(p.clocks[1].at(at))
		if e := max(y-p.clocks[0].at(at), p.clocks[0].at(at)-y); e > bound {
			t.Errorf("seed %d: %d ns off after a step near the end, bound %d", seed, e, bound)
		}
	}
}
