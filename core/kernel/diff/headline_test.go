package diff

import "testing"

func TestHeadlinesSayWhatPassesAndHowFar(t *testing.T) {
	for _, c := range []struct {
		status string
		passed bool
		want   Headline
	}{
		{StatusIdentical, true, Headline{"SAME", ToneGood}},
		{StatusSameResults, true, Headline{"SAME RESULTS", ToneGood}},
		{StatusSameResults, false, Headline{"SAME RESULTS", ToneLimited}},
		{StatusInconclusive, false, Headline{"INCONCLUSIVE", ToneBad}},
		{StatusDiverged, true, Headline{"PASSED", ToneLimited}}, // no more than is allowed
		{StatusDiverged, false, Headline{"DIVERGED", ToneBad}},
	} {
		if got := *HeadlineOf(c.status, c.passed); got != c.want {
			t.Errorf("%s, passed %t: got %+v, want %+v", c.status, c.passed, got, c.want)
		}
	}
}
