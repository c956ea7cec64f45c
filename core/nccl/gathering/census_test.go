package gathering

import (
	"testing"

	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/verdict"
)

// TestTheCensusCountsRanksFromZeroOn, by the number of their communicator, or by its hash in old versions; what NCCL did not say is not counted.
func TestTheCensusCountsRanksFromZeroOn(t *testing.T) {
	c := census{}
	for _, m := range []segment.Comm{
		{ID: 5, Rank: 0, Ranks: 3}, {ID: 5, Rank: 2, Ranks: 3}, {Hash: 9, Rank: 0}, {Rank: 1, Ranks: 2}, {ID: 5, Rank: -1, Ranks: 7}, {ID: 6, Rank: 0, Ranks: mostRanks + 1},
	} {
		c.add(&segment.File{Comms: []segment.Comm{m}})
	}
	if len(c) != 3 || len(c[5].seen) != 2 || !c[5].seen[0] || c[5].ranks != 3 || !c[9].seen[0] || c[6].ranks != 0 {
		t.Fatalf("got %+v", c)
	}
	var e verdict.Evidence
	delete(c, 9)
	delete(c, 6)
	c.evidence(&e)
	if v := e.Check(false, "whole"); v.Outcome != verdict.Inconclusive || len(v.Missing) != 1 || v.Missing[0].What != "recording of rank 1 of 0x5" {
		t.Errorf("of ranks 0 and 2 of 3: %+v", v)
	}
}

// TestARecordingThatGoesOnIsOfThisMoment, and only one that was brought.
func TestARecordingThatGoesOnIsOfThisMoment(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want int
	}{{Row{State: "recording", Outcome: copied}, 1}, {Row{State: "recording", Outcome: differs}, 0}, {Row{State: "ended", Outcome: copied}, 0}, {Row{State: "ended", Outcome: copied, Harm: []string{"x"}}, 1}} {
		d := &Document{}
		if d.add(c.row); len(d.Warnings) != c.want || d.Complete != (c.row.Outcome == copied) {
			t.Errorf("%+v: %v, complete: %v", c.row, d.Warnings, d.Complete)
		}
	}
}
