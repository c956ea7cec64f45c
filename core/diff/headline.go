package diff

import (
	"fmt"
	"strings"
)

// Headline is the verdict of a comparison in a word or two, its tone, and its line as a gate. Terminals, pages and notebooks lay it out; none
// words it anew.
type Headline struct {
	Word string `json:"word"` // "SAME", "DIVERGED", ...
	Tone tone   `json:"tone"`
	Gate string `json:"gate"` // the line of prlx assert, as original prlx 0.5 prints it
}

// tone is how a headline is shown: in which colour, for one.
type tone string

// The tones.
const (
	ToneGood    tone = "good"
	ToneLimited tone = "limited" // it passes, or could, and is not simply the same
	ToneBad     tone = "bad"
)

// HeadlineOf is the headline of a status that passes or does not, with so many divergences that count of those that are allowed.
func HeadlineOf(status string, passed bool, counting int64, allowed Allowed) *Headline {
	h := &Headline{Gate: gateLine(status, passed, counting, allowed)}
	h.Word, h.Tone = wordOf(status, passed)
	return h
}

func wordOf(status string, passed bool) (string, tone) {
	switch {
	case status == StatusIdentical:
		return "SAME", ToneGood
	case status == StatusSameResults && passed:
		return "SAME RESULTS", ToneGood
	case status == StatusSameResults:
		return "SAME RESULTS", ToneLimited
	case status == StatusInconclusive:
		return "INCONCLUSIVE", ToneLimited
	case passed:
		return "PASSED", ToneLimited
	}
	return "DIVERGED", ToneBad
}

// gateLine says whether a comparison passes as a gate.
func gateLine(status string, passed bool, counting int64, allowed Allowed) string {
	word := "FAIL"
	switch {
	case status == StatusInconclusive:
		return "PRLX ASSERT: INCONCLUSIVE (the recordings do not tell whether anything differs)"
	case passed:
		word = "PASS"
	}
	return fmt.Sprintf("PRLX ASSERT: %s (%s, threshold: %s)", word, counted(counting, "divergence"), allowed.words())
}

// words are the numbers that are allowed, by kind where kinds have numbers of their own.
func (a Allowed) words() string {
	if len(a.ByKind) == 0 {
		return fmt.Sprint(a.Total)
	}
	var parts []string
	for _, kind := range kindNames {
		if n, own := a.ByKind[kind]; own {
			parts = append(parts, fmt.Sprintf("%s %d", kind, n))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("others %d", a.Total)), ", ")
}
