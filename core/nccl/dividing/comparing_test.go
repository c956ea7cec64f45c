package dividing_test

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/verdict"
)

// two are the plans of two runs that differ by chance and by what the second one is given.
func two(seed uint64, change func(p *nccltest.Plan)) [2]nccltest.Plan {
	a := nccltest.Plan{Seed: seed, Ranks: 8, PerHost: 1, Channels: 2, Steps: 8, Ops: 96, Level: 1, ComputeNS: 2e5, Jitter: 0.1, Uneven: 0.02, WarmUp: 2, Again: 1}
	b := a
	b.Again = 2
	change(&b)
	return [2]nccltest.Plan{a, b}
}

func compared(t *testing.T, runs [2]nccltest.Plan) *dividing.Comparison {
	t.Helper()
	return dividing.Compare(tied(t, runs[0]), tied(t, runs[1]), dividing.CompareOptions{})
}

func part(c *dividing.Comparison, name string) *dividing.PartChange {
	for i := range c.Parts {
		if c.Parts[i].Part == name {
			return &c.Parts[i]
		}
	}
	return nil
}

func TestTwoRunsThatAreAlikeAreTheSame(t *testing.T) {
	for seed := range uint64(4) {
		c := compared(t, two(seed, func(*nccltest.Plan) {}))
		if c.Status == dividing.StatusSlower || c.Status == dividing.StatusFaster {
			t.Errorf("seed %d: %s: %s", seed, c.Status, c.Verdict)
		}
		if c.A.Unusual == 0 && c.B.Unusual == 0 {
			t.Errorf("seed %d: no operation of the warm-up was left out", seed)
		}
	}
}

func TestTheRankThatTheSecondRunWaitsForIsNamed(t *testing.T) {
	runs := two(7, func(p *nccltest.Plan) { p.Fault, p.Rank, p.Factor = nccltest.Straggler, 5, 3 })
	runs[0].Level, runs[1].Level = 3, 3
	c := compared(t, runs)
	w := part(c, "waiting")
	if c.Status != dividing.StatusSlower || c.Parts[0].Part != "waiting" || !w.Certain || w.Rank != "5" || w.RankHost != "node5" {
		t.Fatalf("%s: %s\nwaiting %+v", c.Status, c.Verdict, w)
	}
	if want := "waiting for a rank grew most"; !strings.Contains(c.Verdict, want) || !strings.Contains(c.Verdict, "for rank 5 (node5): it began last in") {
		t.Errorf("the verdict is %s", c.Verdict)
	}
	alone := runs
	alone[0].Level, alone[1].Level = 1, 1
	if c := compared(t, alone); c.Status != dividing.StatusSlower || !strings.Contains(c.Verdict, "as clocks show it, waiting for a rank grew most") {
		t.Errorf("level 1, where clocks prove less: %s: %s", c.Status, c.Verdict)
	}
	if w.ChangeNS < 2e5 || w.ChangeNS > 5e5 {
		t.Errorf("waiting grew by %d ns; seven of eight ranks wait for about 2 * 200 us more", w.ChangeNS)
	}
	back := compared(t, [2]nccltest.Plan{runs[1], runs[0]})
	if back.Status != dividing.StatusFaster || !strings.Contains(back.Verdict, "waiting for a rank shrank most") {
		t.Errorf("the other way round: %s: %s", back.Status, back.Verdict)
	}
}

func TestTheLinkThatBecameSlowIsNamed(t *testing.T) {
	runs := two(3, func(p *nccltest.Plan) { p.Fault, p.Rank, p.Channel, p.Factor = nccltest.SlowLink, 2, 1, 4 })
	runs[0].Level, runs[1].Level = 3, 3
	c := compared(t, runs)
	if c.Status != dividing.StatusSlower || c.Parts[0].Part != "network" || len(c.Links) != 16 {
		t.Fatalf("%s, %d links: %s", c.Status, len(c.Links), c.Verdict)
	}
	if l := c.Links[0]; l.From != "2" || l.To != "1" || l.Channel != 1 || l.Times < 3 || l.Times > 5 {
		t.Errorf("the link that became slowest is %+v", l)
	}
	if !strings.Contains(c.Verdict, "the link from rank 2 to rank 1 on channel 1, NIC 1 became") {
		t.Errorf("the verdict is %s", c.Verdict)
	}
}

func TestThePartsOfAChangeAddUp(t *testing.T) {
	c := compared(t, two(11, func(p *nccltest.Plan) { p.Steps, p.ComputeNS = 16, 3e5 }))
	a, b := int64(0), int64(0)
	for _, p := range c.Parts {
		if p.Part != "launch" && p.Part != "scheduling" {
			a, b = a+p.ANS, b+p.BNS
		}
	}
	const rounding = 8
	if a < c.Held.ANS-rounding || a > c.Held.ANS+rounding || b < c.Held.BNS-rounding || b > c.Held.BNS+rounding {
		t.Errorf("parts add up to %d and %d, held are %d and %d", a, b, c.Held.ANS, c.Held.BNS)
	}
	for _, k := range c.Classes {
		sum := int64(0)
		for _, p := range k.Parts[2:] {
			sum += p.ChangeNS
		}
		if sum < k.Held.ChangeNS-rounding || sum > k.Held.ChangeNS+rounding {
			t.Errorf("%s of %d: parts change by %d, held by %d", k.Operation, k.Bytes, sum, k.Held.ChangeNS)
		}
	}
	for _, r := range c.Ranks {
		if r.OperationsA == 0 || r.OperationsA != r.OperationsB {
			t.Errorf("rank %s has %d operations in A and %d in B", r.ID, r.OperationsA, r.OperationsB)
		}
	}
}

func TestWhatCannotBeComparedIsNotTheSame(t *testing.T) {
	a := two(1, func(*nccltest.Plan) {})[0]
	fewer := a
	fewer.Ranks = 6
	short := two(1, func(*nccltest.Plan) {})
	short[0].Ops, short[1].Ops = 4, 4
	for name, runs := range map[string][2]nccltest.Plan{
		"level 0": two(1, func(p *nccltest.Plan) { p.Level = 0 }), "other ranks": {a, fewer}, "few operations": short,
	} {
		if c := compared(t, runs); c.Status != dividing.StatusInconclusive {
			t.Errorf("%s: %s: %s", name, c.Status, c.Verdict)
		}
	}
	c := compared(t, [2]nccltest.Plan{a, fewer})
	if len(c.OnlyA) == 0 || len(c.OnlyB) == 0 {
		t.Errorf("only A %v, only B %v", c.OnlyA, c.OnlyB)
	}
}

// TestAComparisonSaysWhatItRestsOn: two runs that are alike pass; where a rank of one was not recorded, that is missing.
func TestAComparisonSaysWhatItRestsOn(t *testing.T) {
	runs := two(1, func(*nccltest.Plan) {})
	c := compared(t, runs)
	if c.Status != dividing.StatusSame || c.Conclusion.Outcome != verdict.Passed {
		t.Fatalf("%s: %+v", c.Status, c.Conclusion)
	}
	b := tied(t, runs[1])
	b.Comms[0].Seats[3].Recording = -1
	c = dividing.Compare(tied(t, runs[0]), b, dividing.CompareOptions{})
	if c.Status != dividing.StatusInconclusive || c.Conclusion.Outcome != verdict.Inconclusive || c.Verdict != c.Conclusion.Why || !strings.Contains(c.Verdict, "ranks of world in B: of 8, no recording of them") {
		t.Errorf("a rank is missing: %s: %s", c.Status, c.Verdict)
	}
	b = tied(t, runs[1])
	b.Recordings[2].Loss.Harm = []string{"segment 4 is zeroed"}
	if c = dividing.Compare(tied(t, runs[0]), b, dividing.CompareOptions{}); c.Conclusion.Outcome != verdict.Inconclusive || !strings.Contains(c.Verdict, "records of rank 2 in B: the file is damaged: segment 4 is zeroed") {
		t.Errorf("a recording is damaged: %s", c.Verdict)
	}
	slower := two(7, func(p *nccltest.Plan) { p.Fault, p.Rank, p.Factor = nccltest.Straggler, 5, 3 })
	if c = compared(t, slower); c.Conclusion.Outcome != verdict.Failed {
		t.Errorf("slower: %+v", c.Conclusion)
	}
}

// TestRecordsThatFoundNoRoomMakeNoRunSlower: where a rank's end is lost the others seem to be held by it. What is gone is said, and nobody is slower.
func TestRecordsThatFoundNoRoomMakeNoRunSlower(t *testing.T) {
	alike := 0
	for seed := range uint64(20) {
		runs := two(seed, func(p *nccltest.Plan) { p.Lost = 0.05 })
		for i := range runs {
			runs[i].Ranks, runs[i].Channels, runs[i].Ops, runs[i].Level, runs[i].ComputeNS, runs[i].Jitter, runs[i].WarmUp = 4, 1, 60, 3, 3e6, 0.03, 0
		}
		c := compared(t, runs)
		if c.Status != dividing.StatusInconclusive || c.Conclusion.Outcome != verdict.Inconclusive {
			t.Errorf("seed %d: %s, %s", seed, c.Status, c.Conclusion.Why)
		}
		if strings.Contains(c.Verdict, "B is slower") {
			alike++
		}
	}
	if alike == 0 {
		t.Error("no seed seems to be slower: this tests nothing")
	}
}

// TestAFewLostRecordsLeaveASlowRunSlow: a loss below what counts hides nothing.
func TestAFewLostRecordsLeaveASlowRunSlow(t *testing.T) {
	c := compared(t, two(7, func(p *nccltest.Plan) { p.Fault, p.Rank, p.Factor, p.Lost = nccltest.Straggler, 5, 3, 0.002 }))
	if c.Status != dividing.StatusSlower {
		t.Errorf("%s: %s", c.Status, c.Conclusion.Why)
	}
}
