package straggler

import (
	"fmt"
	"slices"
	"testing"
)

// TestWhatIsSaidOfAnOperationIsTrue: where bounds hold, who is late for certain was late, by as much as is said at least, and nobody was later than is said where
// all are together. Clocks that ranks share make it no less true, and decide more.
func TestWhatIsSaidOfAnOperationIsTrue(t *testing.T) {
	for _, perClock := range []int{0, 4} {
		seen := map[state]int{}
		for seed := range jobs() {
			s := newScene(seed)
			s.steps, s.perClock = 40, perClock
			s.boundNS *= 2 // so that some are undecided
			s.skewNS = s.boundNS
			plots["alternating ranks"](s)
			j := s.job()
			_, before := j.sequence()
			states, of := j.judge(before)
			lasted := j.lasted(before)
			for k, o := range states {
				seen[o.state]++
				for _, g := range j.Ops[k].Gates {
					peers := slices.Concat(g.Givers, g.Receivers)
					if len(g.Givers) > 1 {
						peers = g.Givers
					}
					for _, e := range g.Givers {
						truth := s.lateness(j, peers, e)
						switch {
						case of[e] > 0 && len(j.Ops[k].Gates) == 1 && truth < of[e]:
							t.Fatalf("seed %d, operation %d: rank %d was %d ns late, and for certain %d", seed, k, j.Events[e].Rank, truth, of[e])
						case o.state == behind && e == o.event && len(j.Ops[k].Gates) == 1 && truth <= 0:
							t.Fatalf("seed %d, operation %d: rank %d was not late", seed, k, j.Events[e].Rank)
						case o.state == together && (truth > o.atMost || float64(o.atMost) > togetherShare*float64(lasted[k])):
							t.Fatalf("seed %d, operation %d: rank %d was %d ns late where all were together within %d", seed, k, j.Events[e].Rank, truth, o.atMost)
						}
					}
				}
			}
		}
		t.Logf("%d ranks a clock: %v", perClock, seen)
		if seen[behind] == 0 || seen[together] == 0 || seen[undecided] == 0 {
			t.Errorf("%d ranks a clock: %v", perClock, seen)
		}
	}
}

// lateness is by how much later than the middle one of its peers an event truly entered.
func (s *scene) lateness(j *Job, peers []int32, e int32) int64 {
	at := func(e int32) int64 { return j.Events[e].EnterNS - s.off[j.Events[e].Rank] }
	var others []int64
	for _, o := range peers {
		if o != e {
			others = append(others, at(o))
		}
	}
	slices.Sort(others)
	return at(e) - others[len(others)/2]
}

// TestNothingIsTogetherThatWasNotLookedAt: without bounds, or without who waits for whom, operations are undecided; a single lateness of a part that matters is
// never hidden.
func TestNothingIsTogetherThatWasNotLookedAt(t *testing.T) {
	two := func(apart, bound int64, gates bool) state {
		j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b", Clock: 1}}}
		for op := range int32(2) {
			at := int64(op) * 1e6
			for r := range int32(2) {
				enter := at
				if op == 1 && r == 1 {
					enter += apart
				}
				j.Events = append(j.Events, Event{Rank: r, Op: op, EnterNS: enter, LeaveNS: at + 1e5 + apart, EnterBoundNS: bound})
			}
			all := []int32{2 * op, 2*op + 1}
			o := Op{Class: "x", Step: -1}
			if gates {
				o.Gates = []Gate{{all, all}}
			}
			j.Ops = append(j.Ops, o)
		}
		_, before := j.sequence()
		states, _ := j.judge(before)
		return states[1].state
	}
	for _, c := range []struct {
		apart, bound int64
		gates        bool
		want         state
	}{
		{0, 10e3, true, together},
		{0, 30e3, true, undecided},
		{0, 1 << 61, true, undecided},
		{0, 0, false, undecided},
		{40e3, 10e3, true, behind},
		{40e3, 30e3, true, undecided},
		{5e3, 10e3, true, together},
		{0, 0, true, together},
		{1, 0, true, behind},
	} {
		if got := two(c.apart, c.bound, c.gates); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	for _, d := range []*Document{find(t, &Job{})} {
		if o := d.Operations; o.Late+o.Together+o.ProfilerStart+o.Undecided != o.Count {
			t.Error(fmt.Sprint(o))
		}
	}
}

// TestExtremesAreThoseOfAllMembers: as when each is asked, also where ranks share clocks.
func TestExtremesAreThoseOfAllMembers(t *testing.T) {
	for seed := range uint64(200) {
		s := newScene(seed)
		s.steps, s.perClock = 1, int(1+seed%5)
		j := s.job()
		for e := range j.Events { // those of one clock differ as well
			j.Events[e].EnterBoundNS = s.rng.Int64N(400e3)
		}
		c := comparison{job: j}
		for k := range j.Ops {
			for _, g := range j.Ops[k].Gates {
				c.begin(&g)
				most, certain := int64(0), int64(-1<<62)
				for _, e := range g.Givers {
					l, m := c.exactly(e)
					most, certain = max(most, m), max(certain, l)
				}
				if _, l, m := c.extremes(g.Givers); m != most || l > certain {
					t.Fatalf("seed %d, operation %d: %d to %d, want %d to %d", seed, k, l, m, certain, most)
				}
			}
		}
	}
}
