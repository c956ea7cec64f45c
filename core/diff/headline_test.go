package diff

import "testing"

func TestHeadlinesSayWhatPassesAndHowFar(t *testing.T) {
	for _, c := range []struct {
		status string
		passed bool
		counts int64
		want   Headline
	}{
		{StatusIdentical, true, 0, Headline{"SAME", ToneGood, "PASS (0 divergences, threshold: 3)"}},
		{StatusSameResults, true, 0, Headline{"SAME RESULTS", ToneGood, "PASS (0 divergences, threshold: 3)"}},
		{StatusSameResults, false, 12345, Headline{"SAME RESULTS", ToneLimited, "FAIL (12345 divergences, threshold: 3)"}},
		{StatusInconclusive, false, 0, Headline{"INCONCLUSIVE", ToneLimited, "INCONCLUSIVE (the recordings do not tell whether anything differs)"}},
		{StatusDiverged, true, 1, Headline{"PASSED", ToneLimited, "PASS (1 divergence, threshold: 3)"}}, // no more than is allowed
		{StatusDiverged, false, 4, Headline{"DIVERGED", ToneBad, "FAIL (4 divergences, threshold: 3)"}},
	} {
		c.want.Gate = "PRLX ASSERT: " + c.want.Gate
		if got := *HeadlineOf(c.status, c.passed, c.counts, Allowed{Total: 3}); got != c.want {
			t.Errorf("%s, passed %t: got %+v, want %+v", c.status, c.passed, got, c.want)
		}
	}
}

func TestTheGateNamesWhatIsAllowedOfEachKindInTheOrderOfKinds(t *testing.T) {
	allowed := Allowed{Total: 2, ByKind: map[string]int64{KindFinding: 7, KindValue: 3, KindBranch: 0}}
	if got, want := gateLine(StatusDiverged, false, 9, allowed), "PRLX ASSERT: FAIL (9 divergences, threshold: Branch 0, Value 3, Finding 7, others 2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
