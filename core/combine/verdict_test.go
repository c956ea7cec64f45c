package combine

import "testing"

func TestVerdictsAreOneSentence(t *testing.T) {
	nodes := make([]NodeResult, 2)
	passed := true
	for want, got := range map[string]string{
		"2 nodes on the clock of node 3: degraded":                                                                     (&Document{Nodes: nodes, Reference: "3", Status: StatusDegraded}).verdict(),
		"1 node on the clock of rank-0: aligned":                                                                       (&Document{Nodes: nodes[:1], Reference: "rank-0", Status: StatusAligned}).verdict(),
		"2 nodes: not aligned: " + becauseNoClockData:                                                                  (&Document{Nodes: nodes, Reference: "3", NotAligned: becauseNoClockData}).verdict(),
		"1 collective: 0 impossible, 1 consistent, 0 undecidable, 2 unmatched":                                         (&ValidateDocument{Groups: 1, Consistent: 1, Unmatched: 2, Passed: &passed}).verdict(),
		"0 collectives: 0 impossible, 0 consistent, 0 undecidable, 2 unmatched; inconclusive: nothing could be judged": (&ValidateDocument{Unmatched: 2}).verdict(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
