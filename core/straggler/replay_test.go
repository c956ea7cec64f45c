package straggler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWhatWouldBeGainedIsWhatTheJobTakesLess: the same job is made again without what made one rank slow, or two, of which either alone gains little: the other
// is still late.
func TestWhatWouldBeGainedIsWhatTheJobTakesLess(t *testing.T) {
	for seed := range uint64(8) {
		lasts := func(slow int) (*Document, int64) {
			s := newScene(seed)
			s.steps, s.boundNS, s.skewNS = 60, 20e3, 20e3
			s.slow = func(rank, step, segment int) int64 {
				if rank < slow && segment == 1 {
					return lateNS
				}
				return 0
			}
			j := s.job()
			d := find(t, j)
			return d, d.ToNS - d.FromNS
		}
		_, clean := lasts(0)
		d, length := lasts(1)
		if want := length - clean; d.Ranks[0].ReplayNS == nil || d.GainNS != *d.Ranks[0].ReplayNS || d.GainNS < want*90/100 || d.GainNS > want*115/100 {
			t.Errorf("seed %d, one slow rank: %+v, want %d", seed, d.Ranks[0], want)
		}
		d, length = lasts(2)
		if want := length - clean; d.GainNS < want*90/100 || d.GainNS > want*115/100 || *d.Ranks[0].ReplayNS*3 > d.GainNS || *d.Ranks[1].ReplayNS*3 > d.GainNS {
			t.Errorf("seed %d, two slow ranks: both %d, want %d; %+v, %+v", seed, d.GainNS, want, d.Ranks[0], d.Ranks[1])
		}
	}
}

// TestAJobThatIsReplayedAsItWasGainsNothing, whatever its clocks say.
func TestAJobThatIsReplayedAsItWasGainsNothing(t *testing.T) {
	for seed := range uint64(6) {
		s := newScene(seed)
		s.steps, s.skewNS = 20, 3e6 // what cannot be is recorded
		for name, j := range map[string]*Job{"scene": s.job(), "pipeline": pipeline(4, 50, 1, 1e5)} {
			_, before := j.sequence()
			r := j.replay(before)
			if got := r.gain(r.members(), func(int32) int64 { return 0 }); got != 0 {
				t.Errorf("%s %d: gains %d ns", name, seed, got)
			}
			if got := r.gain(r.members(), func(e int32) int64 { return -int64(rand.Uint32N(2)) }); got > 0 {
				t.Errorf("%s %d: gains %d ns by taking longer", name, seed, got)
			}
		}
	}
	j := pipeline(4, 200, 2, 300e3)
	j.FindSteps()
	d := find(t, j)
	for _, r := range d.Ranks { // a stage that takes 300 us longer for 200 batches
		if slow := r.ID == fmt.Sprintf("stage%d", 2); slow && (r.ReplayNS == nil || *r.ReplayNS < 195*300e3 || *r.ReplayNS > 201*300e3) || !slow && r.ReplayNS != nil && *r.ReplayNS > 300e3 {
			t.Errorf("%+v", r)
		}
	}
}

// TestRanksThatAreLateTogetherAreBothBlamed, although the bounds leave open which of them was last.
func TestRanksThatAreLateTogetherAreBothBlamed(t *testing.T) {
	for seed := range uint64(4) {
		s := newScene(seed)
		s.boundNS, s.skewNS = 250e3, 250e3
		s.slow = func(rank, _, segment int) int64 {
			if rank >= 2 && rank < 4 && segment == 1 {
				return lateNS
			}
			return 0
		}
		d := find(t, s.job())
		for _, r := range d.Ranks {
			if want := r.ID == "rank2" || r.ID == "rank3"; r.Blamed != want {
				t.Errorf("seed %d: %s: blamed %t; %s", seed, r.ID, r.Blamed, d.Verdict)
			}
		}
	}
}
