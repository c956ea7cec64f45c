package simulated

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/verdict"
)

// TestEqualCountsAreNotEqualResults: what is counted says nothing of what was written.
func TestEqualCountsAreNotEqualResults(t *testing.T) {
	version := func() *Document {
		return &Document{Launches: 1, Kernels: []Kernel{{Kernel: "k", Launches: 1, Instructions: 9}}}
	}
	why := &diff.Explanation{Summary: "another computation at k.py:3"}
	for name, c := range map[string]struct {
		written *Written
		status  string
		outcome verdict.Outcome
		says    string
	}{
		"nobody looked": {nil, "same", verdict.Same, "did the same"},
		"the same":      {&Written{Outcome: verdict.Same, Launches: 1}, "same", verdict.Same, "did the same; both write the same"},
		"not known":     {&Written{Outcome: verdict.Inconclusive, Why: "cut"}, "same", verdict.Inconclusive, "did the same"},
		"explained":     {&Written{Outcome: verdict.Differs, Launches: 1, Kernel: "k", Launch: 4, Explanation: why}, "differs", verdict.Differs, "launch 4 of k writes something else: another computation at k.py:3"},
		"not explained": {&Written{Outcome: verdict.Differs, Launches: 1, Kernel: "k"}, "differs", verdict.Differs, "launch 0 of k writes something else"},
		"no launch":     {&Written{Outcome: verdict.Differs, Launches: 1, Launch: -1}, "differs", verdict.Differs, "they write something else"},
	} {
		doc := Compare(version(), version(), c.written)
		if doc.Status != c.status || doc.Conclusion.Outcome != c.outcome || !strings.HasSuffix(doc.Verdict, c.says) {
			t.Errorf("%s: got %s, %s: %q", name, doc.Status, doc.Conclusion.Outcome, doc.Verdict)
		}
		if c.outcome == verdict.Inconclusive && !strings.Contains(doc.Conclusion.Missing[0].What, "what was written") {
			t.Errorf("%s: missing are %v", name, doc.Conclusion.Missing)
		}
	}
	nothing := Compare(&Document{}, &Document{}, &Written{Outcome: verdict.Same})
	if nothing.Conclusion.Outcome != verdict.Inconclusive {
		t.Errorf("without kernels: got %+v", nothing.Conclusion)
	}
}
