package straggler

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/verdict"
)

// wellKnown is a scene of ranks on one clock, of so many steps.
func wellKnown(seed uint64, ranks, steps int) *scene {
	s := newScene(seed)
	s.ranks, s.steps, s.boundNS, s.skewNS, s.perClock, s.noRing = ranks, steps, 0, 0, ranks, true
	return s
}

// once holds a rank up by so many ns at one all-reduce.
func (s *scene) once(who, step int, ns int64) {
	had := s.slow
	s.slow = func(rank, at, segment int) int64 {
		if rank == who && at == step && segment == 2 {
			return ns
		}
		if had != nil {
			return had(rank, at, segment)
		}
		return 0
	}
}

// TestWhatIsRareIsBlamedForWhatItCost: three pauses are too few for chance to exclude them, and a tenth of the run.
func TestWhatIsRareIsBlamedForWhatItCost(t *testing.T) {
	for seed := range uint64(4) {
		s := wellKnown(seed, 4, 20)
		for _, step := range []int{4, 9, 15} {
			s.once(2, step, 80e6)
		}
		d := find(t, s.job())
		r := &d.Ranks[0]
		if d.Status != StatusBlamed || r.ID != "rank2" || !r.Window.Rare() || r.Window.Operations != 3 || r.Window.First != 4*perStep+2 || r.Window.Last != 15*perStep+2 {
			t.Errorf("job %d: %s; %+v", seed, d.Verdict, r.Window)
		}
		if d.Conclusion.Outcome != verdict.Failed {
			t.Errorf("job %d: %+v", seed, d.Conclusion)
		}
	}
}

// TestLossesOfManyKeepTheVerdictOpen: each of several ranks is held up once, so nobody stands out, and together they cost more than LostShare. Less is passed.
func TestLossesOfManyKeepTheVerdictOpen(t *testing.T) {
	for seed := range uint64(4) {
		s := wellKnown(seed, 8, 40)
		for who, step := range []int{4, 9, 15, 21, 30, 36} {
			s.once(who, step, 40e6)
		}
		d := find(t, s.job())
		if d.Status != StatusInconclusive || d.Conclusion.Outcome != verdict.Inconclusive || d.Unblamed.Window.Operations != 6 || math.Abs(d.Unblamed.Share-240e6/float64(d.LengthNS)) > 0.005 {
			t.Errorf("job %d: %s: %s; %+v", seed, d.Status, d.Verdict, d.Unblamed)
		}
		s = wellKnown(seed, 8, 40)
		for who, step := range []int{4, 9, 15, 21, 30, 36} {
			s.once(who, step, 8e6)
		}
		if d = find(t, s.job()); d.Status != StatusNobody || d.Conclusion.Outcome != verdict.Passed || d.Unblamed.Share >= LostShare {
			t.Errorf("job %d: %s: %s; %+v", seed, d.Status, d.Verdict, d.Unblamed)
		}
	}
}

// TestAnOperationThatTakesLongForAllKeepsTheVerdictOpen: nobody was late, and which of the ranks was slow is not recorded.
func TestAnOperationThatTakesLongForAllKeepsTheVerdictOpen(t *testing.T) {
	j := wellKnown(3, 4, 30).job()
	long := map[int32]bool{}
	for _, k := range []int32{21, 50, 90} {
		long[k] = true
	}
	shift := map[int32]int64{}
	for e := range j.Events { // what follows is as much later
		x := &j.Events[e]
		x.EnterNS += shift[x.Rank]
		if long[x.Op] {
			shift[x.Rank] += 60e6
		}
		x.LeaveNS += shift[x.Rank]
	}
	d := find(t, j)
	if d.Status != StatusInconclusive || d.Unblamed.Window.Operations != 3 || d.Unblamed.Window.First != 21 || d.Unblamed.Window.Last != 90 {
		t.Errorf("%s: %s; %+v", d.Status, d.Verdict, d.Unblamed)
	}
	for k := range long { // a link that is known to have been slow explains them
		j.Ops[k].Slow = &Slow{From: 1, To: 2, NS: 59e6}
	}
	j.Links = []Slow{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 0}}
	d = find(t, j)
	if d.Status != StatusBlamed || !d.Links[0].Blamed || !d.Links[0].Directed || !slices.Equal(d.Links[0].Ranks, []string{"rank1", "rank2"}) || d.Links[0].Window.Operations != 3 {
		t.Errorf("%s: %s; %+v", d.Status, d.Verdict, d.Links)
	}
}

// TestABeginningIsNobodysFault: all take long at first, one of them longest.
func TestABeginningIsNobodysFault(t *testing.T) {
	for seed := range uint64(8) {
		s := wellKnown(seed, 8, 40)
		s.slow = func(rank, step, _ int) int64 {
			if step == 0 {
				return stepNS * int64(1+(rank*5+int(seed))%8)
			}
			return 0
		}
		if d := find(t, s.job()); d.Status != StatusNobody {
			t.Errorf("job %d: %s: %s", seed, d.Status, d.Verdict)
		}
	}
}

// TestEndsRelateClocks: the clocks of 16 hosts are off by up to 20 ms, and known to within 50. Operations end on all at once, within 20 us.
func TestEndsRelateClocks(t *testing.T) {
	for seed := range uint64(4) {
		s := newScene(seed)
		s.ranks, s.steps, s.boundNS, s.skewNS, s.noRing, s.startsApart = 16, 60, 50e6, 20e6, true, 0
		slow := plots["slow kernel"](s)
		j := s.job()
		if d := find(t, j); d.Status != StatusInconclusive {
			t.Errorf("job %d, before: %s: %s", seed, d.Status, d.Verdict)
		}
		if bound := j.RelateByEnds(); bound <= 0 || bound > 20e3 {
			t.Errorf("job %d: bound of %d ns", seed, bound)
		}
		first := int64(0)
		for e := range j.Events { // what is left of the error, against rank 0
			x := &j.Events[e]
			if x.Rank == 0 {
				first = x.LeaveNS
			} else if off := x.LeaveNS - first; off > 20e3 || off < -20e3 {
				t.Fatalf("job %d: rank %d leaves operation %d %d ns after rank 0", seed, x.Rank, x.Op, off)
			}
		}
		if d := find(t, j); !slow(d) {
			t.Errorf("job %d, after: %s: %s", seed, d.Status, d.Verdict)
		}
	}
}

// TestEndsDoNotNarrowWhatIsNotTheClocks: instants that are off by themselves stay so.
func TestEndsDoNotNarrowWhatIsNotTheClocks(t *testing.T) {
	s := newScene(1)
	s.ranks, s.steps, s.boundNS, s.noRing = 8, 30, 50e6, true
	j := s.job()
	for e := range j.Events {
		j.Events[e].OwnBoundNS = 3e6
	}
	j.RelateByEnds()
	for e := range j.Events {
		if b := j.Events[e].EnterBoundNS; b < 3e6 {
			t.Fatalf("event %d is known to %d ns, and is off by itself by 3 ms", e, b)
		}
	}
}

// TestMissingRanksKeepTheVerdictOpen: what a document rests on says how many there are.
func TestMissingRanksKeepTheVerdictOpen(t *testing.T) {
	j := wellKnown(1, 4, 30).job()
	for k := range j.Ops {
		j.Ops[k].Members = 4
	}
	if d := find(t, j); d.Conclusion.Outcome != verdict.Passed {
		t.Fatalf("%+v", d.Conclusion)
	}
	for k := range j.Ops {
		j.Ops[k].Members = 6
	}
	d := find(t, j)
	if c := d.Conclusion; c.Outcome != verdict.Inconclusive || d.Status != StatusInconclusive || d.Verdict != c.Why || len(c.Missing) != 1 || *c.Missing[0].Count != 2 {
		t.Errorf("%s: %+v", d.Status, d.Conclusion)
	}
	few := wellKnown(1, 4, 1).job()
	if d := find(t, few); d.Conclusion.Outcome != verdict.Inconclusive {
		t.Errorf("%d operations: %+v", len(few.Ops), d.Conclusion)
	}
}

func TestWindowsAreSaid(t *testing.T) {
	for want, w := range map[string]*Window{
		"": nil,
		", nearly all in one operation, 2.000 s after the first began":                {FromNS: 3e9, ToNS: 4e9, Operations: 1, Of: 9},
		", nearly all in 3 of 9 operations, 2.000 s to 3.000 s after the first began": {FromNS: 3e9, ToNS: 4e9, Operations: 3, Of: 9},
	} {
		if got := w.said(1e9); got != want {
			t.Errorf("%s is said as %q, not %q", fmt.Sprintf("%+v", w), got, want)
		}
	}
	if got := (&Window{Operations: 4, Of: 9}).said(0); got != "" {
		t.Errorf("what is not rare is said as %q", got)
	}
}
