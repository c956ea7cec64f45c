// Package verdict is what every command that judges says in the end: same, differs or inconclusive, or passed, failed or
// inconclusive, with what was looked at, what was not, and why.
//
// It holds one rule, so that no command has to remember it: where evidence is absent, the answer is not the pleasant one.
// Nothing looked at, or something missing that could have changed the answer, is inconclusive. What was found stays found, whatever
// else is missing, unless the finding itself rests on what is missing.
//
// It computes nothing: rooms gather Evidence while they look and call Compare or Check once.
package verdict

import (
	"fmt"
	"strings"
)

// Outcome is a verdict in one word.
type Outcome string

// The outcomes. Comparisons come to Same or Differs, checks to Passed or Failed, both to Inconclusive.
const (
	Same         Outcome = "same"
	Differs      Outcome = "differs"
	Passed       Outcome = "passed"
	Failed       Outcome = "failed"
	Inconclusive Outcome = "inconclusive"
)

// Looked is one kind of thing that was looked at.
type Looked struct {
	What  string `json:"what"`  // plural, as a reader would say it: "warps", "collectives", "steps of A"
	Count int64  `json:"count"` // how many were looked at
	Of    *int64 `json:"of"`    // how many there are; null: the inputs do not say
}

// Missing is one thing that was not looked at and could have changed the answer.
type Missing struct {
	What  string `json:"what"`  // "rank 3", "contents of arrays", "records"
	Count *int64 `json:"count"` // how many; null: not known
	Why   string `json:"why"`   // "no file of it", "the segment is cut at byte 28000"
}

// Verdict is what a command concludes. Its zero value concludes nothing.
type Verdict struct {
	Outcome Outcome   `json:"outcome"` // same | differs | inconclusive of comparisons, passed | failed | inconclusive of checks
	Why     string    `json:"why"`     // in a sentence
	Looked  []Looked  `json:"looked"`  // what was looked at
	Missing []Missing `json:"missing"` // what was not, and could have changed the answer
}

// Evidence is what a command has seen and what it has missed so far. The zero Evidence has seen nothing.
type Evidence struct {
	looked  []Looked
	missing []Missing
}

// Looked adds things that were looked at, of a number that the inputs do not tell.
func (e *Evidence) Looked(what string, count int64) {
	e.look(Looked{What: what, Count: count})
}

// LookedOf adds things that were looked at, and how many there are. Where fewer were looked at than there are, the rest is missing.
func (e *Evidence) LookedOf(what string, count, of int64) {
	e.look(Looked{What: what, Count: count, Of: &of})
	if count < of {
		e.Missed(what, of-count, "not in the inputs")
	}
}

func (e *Evidence) look(l Looked) {
	e.looked = append(e.looked, l)
}

// Missed adds count things that were not looked at, and could have changed the answer.
func (e *Evidence) Missed(what string, count int64, why string) {
	e.missing = append(e.missing, Missing{What: what, Count: &count, Why: why})
}

// Lacks adds a thing that was not looked at and could have changed the answer, where nobody can count it.
func (e *Evidence) Lacks(what, why string) {
	e.missing = append(e.missing, Missing{What: what, Why: why})
}

// whole reports whether something was looked at and nothing is missing: whether Compare can say Same, and Check Passed.
func (e *Evidence) whole() bool {
	return len(e.missing) == 0 && e.count() > 0
}

func (e *Evidence) count() (n int64) {
	for _, l := range e.looked {
		n += l.Count
	}
	return n
}

// Compare concludes a comparison: Differs if a difference was found, else Same, and Inconclusive where nothing was looked at or
// something is missing. The sentence says what was found; that of an inconclusive one is completed by what is missing.
func (e *Evidence) Compare(differs bool, why string) Verdict {
	return e.conclude(differs, Differs, Same, why)
}

// Check concludes a check: Failed if something wrong was found, else Passed, and Inconclusive as of Compare.
func (e *Evidence) Check(failed bool, why string) Verdict {
	return e.conclude(failed, Failed, Passed, why)
}

// Open concludes that the question stays open although something was looked at, and says why: what was seen points both ways, or a
// finding rests on what is missing.
func (e *Evidence) Open(why string) Verdict {
	return e.verdict(Inconclusive, why)
}

func (e *Evidence) conclude(found bool, bad, good Outcome, why string) Verdict {
	switch {
	case found:
		return e.verdict(bad, why)
	case e.whole():
		return e.verdict(good, why)
	}
	return e.verdict(Inconclusive, e.reason(why))
}

func (e *Evidence) verdict(o Outcome, why string) Verdict {
	return Verdict{Outcome: o, Why: why, Looked: append([]Looked{}, e.looked...), Missing: append([]Missing{}, e.missing...)}
}

// reason completes the sentence of a verdict that could have been a pleasant one.
func (e *Evidence) reason(why string) string {
	var parts []string
	if e.count() == 0 {
		parts = append(parts, "nothing was looked at")
	}
	for _, m := range e.missing {
		parts = append(parts, m.String())
	}
	said := strings.Join(parts, "; ")
	if why == "" {
		return said
	}
	return why + "; but " + said
}

// String says what is missing and why.
func (m Missing) String() string {
	if m.Count == nil || *m.Count == 1 {
		return fmt.Sprintf("%s: %s", m.What, m.Why)
	}
	return fmt.Sprintf("%d %s: %s", *m.Count, m.What, m.Why)
}

// Good reports whether the outcome is the pleasant one.
func (v Verdict) Good() bool { return v.Outcome == Same || v.Outcome == Passed }

// Bad reports whether something was found.
func (v Verdict) Bad() bool { return v.Outcome == Differs || v.Outcome == Failed }

// Tone is the colour of a verdict: "good", "bad" or "amber".
func (v Verdict) Tone() string {
	switch {
	case v.Good():
		return "good"
	case v.Bad():
		return "bad"
	}
	return "amber"
}

// Gate concludes for a threshold that somebody set on a document whose own verdict is v: crossed fails; not crossed passes only where v
// itself was reached with all its evidence.
func (v Verdict) Gate(crossed bool, why string) Verdict {
	e := Evidence{looked: v.Looked, missing: v.Missing}
	switch {
	case crossed:
		return e.verdict(Failed, why)
	case v.Outcome == Inconclusive || v.Outcome == "":
		return e.verdict(Inconclusive, v.Why)
	}
	return e.verdict(Passed, why)
}
