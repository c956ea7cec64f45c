package offsets_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// slowLinks is a network in which nodes 0 and 2 are near each other and node 1 is far from both: its packets do not contradict a step of a
// millisecond of node 2.
func slowLinks(r *rand.Rand) func(from, to int) int64 {
	return func(from, to int) int64 {
		d := map[int]int64{1: 3e6, 2: 20_000, 3: 1e6}[from+to]
		return d + int64(r.ExpFloat64()*float64(d)/10)
	}
}

func TestAStepThatOneLinkProvesIsToldToSlowerLinks(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		by := []int64{1.2e6, -1.2e6, 600_000, -600_000}[seed%4]
		p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}, {offset: -7e6, driftPPB: -90_000}}, length: 40e9, every: 120e6, delay: slowLinks(r)}
		p.clocks[2].steps = []jump{{10e9 + seed*1e9, by}}
		s := solve(t, p)
		errs, _, violations, n := p.compare(s)
		if violations > 0 {
			t.Errorf("seed %d, step of %d: %d of %d errors are beyond their bound; largest outside of steps %d", seed, by, violations, n, errs[len(errs)-1])
		}
		if len(s.Nodes[2].Steps) != 1 {
			t.Errorf("seed %d, step of %d: found %+v", seed, by, s.Nodes[2].Steps)
		}
		for _, st := range s.Nodes[1].Steps { // it did not step; for a moment nothing ties it to the reference
			if max(st.JumpNS, -st.JumpNS) > st.BoundNS {
				t.Errorf("seed %d: node 1 did not step, found %+v", seed, st)
			}
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

// TestAClockIsFoundOverOtherLinksWhenANodeBetweenDies: the tree leads to node 2 over node 1, which is nearer than node 0, and dies.
func TestAClockIsFoundOverOtherLinksWhenANodeBetweenDies(t *testing.T) {
	for seed := range int64(5) {
		r := rand.New(rand.NewSource(seed))
		p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}, {offset: -7e6, driftPPB: -90_000}}, length: 60e9, every: 20e6, delay: func(from, to int) int64 {
			d := map[int]int64{1: 10_000, 2: 200_000, 3: 10_000}[from+to]
			return d + int64(r.ExpFloat64()*10_000)
		}}
		var stamps []clockfile.Stamp
		for _, s := range p.stamps() {
			if s.Src != 1 && s.Dst != 1 || s.T1 < p.clocks[s.Src].at(20e9) {
				stamps = append(stamps, s)
			}
		}
		s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, _ := s.Node(2)
		if len(n.Steps) > 0 {
			t.Errorf("seed %d: nobody stepped: %+v", seed, n.Steps)
		}
		for at := int64(1e9); at < 59e9; at += 1e9 {
			y, bound, c := n.Map.At(p.clocks[2].at(at))
			e := y - p.clocks[0].at(at)
			if e = max(e, -e); e > bound || c != 0 {
				t.Errorf("seed %d, %d s: %d ns off, bound %d, flags %d", seed, at/1e9, e, bound, c)
			}
		}
	}
}
