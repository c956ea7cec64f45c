package diff

import (
	"maps"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// TestRowsAreTalliedWithTheirMarks: what is noise, accepted, ignored or in another order does not count, and what was not kept does.
func TestRowsAreTalliedWithTheirMarks(t *testing.T) {
	rows := []Row{
		{Kind: RowBranch},
		{Kind: RowBranch, Noise: true},
		{Kind: RowBranch, Accepted: true},
		{Kind: RowBranch, Undecided: true},
		{Kind: RowActiveMask},
		{Kind: RowValue},
		{Kind: RowPath, Reordered: true},
	}
	stats := &Stats{Unlocated: 2}
	stats.ByKind = [rowKinds]int64{RowBranch: 14, RowActiveMask: 1, RowValue: 1} // ten branches were counted only
	every := func(RowKind) bool { return true }
	for name, c := range map[string]struct {
		opt           Options
		counted       map[string]int64
		noisy, undone int64
	}{
		"by default":     {Options{}, map[string]int64{KindBranch: 12, KindActiveMask: 1, KindValue: 1, kindUnlocated: 2}, 1, 1},
		"masks ignored":  {Options{IgnoreActiveMask: true}, map[string]int64{KindBranch: 12, KindValue: 1, kindUnlocated: 2}, 1, 1},
		"in their order": {Options{StrictOrder: true}, map[string]int64{KindBranch: 12, KindActiveMask: 1, KindValue: 1, KindPath: 1, kindUnlocated: 2}, 1, 1},
	} {
		stats := *stats
		if c.opt.StrictOrder {
			stats.ByKind[RowPath] = 1
		}
		tally := tallyRows(rows, &stats, &c.opt)
		if got := tally.counted(every, c.opt.IgnoreActiveMask); !maps.Equal(got, c.counted) {
			t.Errorf("%s: %v count, want %v", name, got, c.counted)
		}
		if tally.noisy() != c.noisy || tally.sum(&tally.undecided, every) != c.undone {
			t.Errorf("%s: %d are noise, %d undecided", name, tally.noisy(), tally.sum(&tally.undecided, every))
		}
	}
	tally := tallyRows(rows, stats, &Options{})
	if tally.total() != 18 {
		t.Errorf("%d differ, want 18", tally.total())
	}
	values := func(k RowKind) bool { return k == RowValue }
	if got := tally.agree(values, false); got != Differs {
		t.Errorf("values agree: %s", got)
	}
	tally.noise[RowValue] = 1
	if got := tally.agree(values, false); got != AgreesInNoise {
		t.Errorf("values that are noise agree: %s", got)
	}
	if got := tally.agree(func(k RowKind) bool { return k == RowExtraEvents }, false); got != Agrees {
		t.Errorf("no event is missing, and they agree: %s", got)
	}
}

// TestRowsMatterWhereTheirAspectDoes: those of the way also where outputs alone must agree and none were recorded.
func TestRowsMatterWhereTheirAspectDoes(t *testing.T) {
	outputs := Options{Require: 1 << AspectOutputs}
	for name, c := range map[string]struct {
		opt     Options
		kind    RowKind
		outputs Agreement
		want    bool
	}{
		"the way, by default":           {Options{}, RowBranch, Agrees, true},
		"values, by default":            {Options{}, RowValue, Agrees, false},
		"values that are compared":      {Options{Values: true}, RowValue, Agrees, true},
		"the way, beside outputs":       {outputs, RowBranch, Agrees, false},
		"the way, where none were kept": {outputs, RowBranch, AgreementUnknown, true},
	} {
		if got := c.opt.rowMatters(c.kind, c.outputs); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTheWayIsComparedAsItWasRecorded: by events, by hashes, or not at all.
func TestTheWayIsComparedAsItWasRecorded(t *testing.T) {
	rows := &rowTally{}
	rows.all[RowBranch] = 1
	for name, c := range map[string]struct {
		held   [2]heldBy
		shape  bool
		by     string
		agrees Agreement
	}{
		"events":                {[2]heldBy{{events: 5, kept: 5}, {events: 6, kept: 6}}, false, byEvents, Differs},
		"one lane":              {[2]heldBy{{events: 5, kept: 5, leader: true}, {events: 5, kept: 5}}, false, byLeader, Differs},
		"hashes":                {[2]heldBy{{events: 5, hashed: 1, digest: true}, {events: 5, hashed: 1, digest: true}}, false, byDigest, Differs},
		"counts alone":          {[2]heldBy{{events: 5}, {events: 5}}, false, byNothing, AgreementUnknown},
		"hashes beside events":  {[2]heldBy{{events: 5, hashed: 1, digest: true}, {events: 5, kept: 5}}, false, byNothing, AgreementUnknown},
		"warps do not answer":   {[2]heldBy{{events: 5, kept: 5}, {events: 5, kept: 5}}, true, byShape, AgreementUnknown},
		"nothing that happened": {[2]heldBy{}, false, byEvents, Differs},
	} {
		got := (&recorded{held: c.held}).flow(c.shape, rows)
		if got.By != c.by || got.Agrees != c.agrees || got.EventsA != c.held[0].events || got.EventsB != c.held[1].events {
			t.Errorf("%s: %+v, want %s, %s", name, got, c.by, c.agrees)
		}
	}
}

// TestLossesAreMissingUnlessOutputsTell: but for the end of a recording, which outputs are written at.
func TestLossesAreMissingUnlessOutputsTell(t *testing.T) {
	losses := [2]*warptrace.Losses{{Dropped: 3}, {Truncated: true}}
	if got := missingLosses(losses, false); len(got) != 2 || got[0].What != "events of A" || got[1].What != "the end of B" {
		t.Errorf("%+v", got)
	}
	if got := missingLosses(losses, true); len(got) != 1 || got[0].What != "the end of B" {
		t.Errorf("where outputs agree: %+v", got)
	}
}
