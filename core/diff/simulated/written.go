package simulated

import (
	"fmt"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/verdict"
)

// Written is how what the launches of two versions wrote compares. Counts of work do not tell that.
type Written struct {
	Outcome     verdict.Outcome   `json:"outcome"`     // "same"; "differs"; "inconclusive": not all was compared
	Why         string            `json:"why"`         // a sentence
	Launches    int64             `json:"launches"`    // that were compared
	Kernel      string            `json:"kernel"`      // the first that wrote something else, "" none
	Launch      int64             `json:"launch"`      // its number in A, -1 none
	Explanation *diff.Explanation `json:"explanation"` // why it did, with every changed statement and what came of undoing it; null: nobody knows
}

// differs reports whether the versions wrote something else.
func (w *Written) differs() bool { return w != nil && w.Outcome == verdict.Differs }

// sentence says it behind what is said of counts, "" where nothing is known.
func (w *Written) sentence() string {
	switch {
	case w == nil || w.Outcome == verdict.Inconclusive:
		return ""
	case w.Outcome == verdict.Same:
		return "; both write the same"
	}
	text := fmt.Sprintf("; launch %d of %s writes something else", w.Launch, w.Kernel)
	if w.Kernel == "" {
		return "; they write something else"
	}
	if w.Explanation != nil {
		text += ": " + w.Explanation.Summary
	}
	return text
}

// note adds what was compared of results to what a comparison rests on.
func (w *Written) note(e *verdict.Evidence) {
	switch {
	case w == nil:
	case w.Outcome == verdict.Inconclusive:
		e.Lacks("what was written", w.Why)
	default:
		e.Looked("launches whose results were compared", w.Launches)
	}
}
