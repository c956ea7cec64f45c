package comparing

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/verdict"
)

// Schema names the document.
const Schema = "prlx.steps-diff/1"

// Document is prlx.steps-diff/1: where two trainings first computed something else.
type Document struct {
	Schema      string          `json:"schema"`
	Status      string          `json:"status"`     // "identical", "diverged" or "inconclusive"
	Passed      bool            `json:"passed"`     // nothing differs, and nothing that could is missing
	Conclusion  verdict.Verdict `json:"conclusion"` // the verdict
	Verdict     string          `json:"verdict"`    // in a sentence
	Level       string          `json:"level"`      // "operators" or "modules"
	Every       [2]int64        `json:"every"`      // one step in so many was taken, of A and of B
	Among       string          `json:"among"`      // "runs": A and B are two; "ranks": of one run, each with the first
	Facts       []FactDiffer    `json:"facts"`      // of the runs that differ: versions, settings, seeds, numbers of threads
	First       *Difference     `json:"first"`      // null: nothing differs
	Ranks       []Rank          `json:"ranks"`
	Total       int64           `json:"total"`       // operators that differ, and those that one side lacks
	Followers   int64           `json:"followers"`   // of these, those that an earlier difference can have caused
	Differences []Difference    `json:"differences"` // the first of them
	Baseline    int             `json:"baseline"`    // how many runs that should be equal to A were compared with it
	Noise       int64           `json:"noise"`       // operators that differ as they do between equal runs, or can follow from that; no other count has them
	Missing     []string        `json:"missing_ranks"`
	Warnings    []string        `json:"warnings"`
}

// Unpaired notes that one side has no tape of a rank.
func (r *Result) Unpaired(side string, rank int64) {
	r.Ranks = append(r.Ranks, Rank{Rank: rank, Facts: []FactDiffer{}, missing: []tape.Limit{{What: fmt.Sprintf("rank %d", rank), Count: 1, Why: side + " has no tape of it"}}})
}

// Absent notes how many ranks of the run neither side has a tape of.
func (r *Result) Absent(ranks int64) {
	if ranks > 0 {
		r.lacking = append(r.lacking, tape.Limit{What: "ranks", Count: ranks, Why: "neither side has a tape of them"})
	}
}

// Document concludes.
func (r *Result) Document() *Document {
	d := &Document{
		Schema: Schema, Among: "runs", Level: r.A.Level, Every: [2]int64{r.A.Every, r.B.Every}, Facts: []FactDiffer{}, First: r.first, Ranks: r.Ranks, Total: r.Total,
		Followers: r.Followers, Differences: append([]Difference{}, r.Differences...), Missing: []string{}, Warnings: []string{},
	}
	if r.Among {
		d.Among = "ranks"
	}
	if r.Noise != nil {
		d.Baseline, d.Noise = r.Noise.Runs, r.noise
	}
	var e verdict.Evidence
	var operators, tensors, steps int64
	for i := range r.Ranks {
		rank := &r.Ranks[i]
		operators, tensors, steps = operators+rank.Operators, tensors+rank.Tensors, steps+rank.Steps
		for _, f := range rank.Facts {
			if !contains(d.Facts, f) {
				d.Facts = append(d.Facts, f)
			}
		}
		rank.lacks(&e, d, len(r.Ranks) > 1)
	}
	for _, l := range append(r.hides(), r.lacking...) {
		e.Missed(l.What, l.Count, l.Why)
	}
	e.Looked("operators", operators)
	e.Looked("tensors", tensors)
	if operators > 0 && tensors == 0 {
		e.Lacks("contents of tensors", "the tapes have none")
	}
	d.conclude(&e, operators, steps)
	return d
}

// lacks says what is missing from one pair.
func (r *Rank) lacks(e *verdict.Evidence, d *Document, named bool) {
	of := ""
	if named {
		of = fmt.Sprintf(" (rank %d)", r.Rank)
	}
	for _, m := range r.missing {
		if m.Count < 0 {
			e.Lacks(m.What+of, m.Why)
		} else {
			e.Missed(m.What+of, m.Count, m.Why)
		}
		if r.A == "" {
			d.Missing = append(d.Missing, m.What)
		}
	}
	if r.StepsA > 0 {
		e.Missed("steps of A"+of, r.StepsA, "B's tape does not have them")
	}
	if r.StepsB > 0 {
		e.Missed("steps of B"+of, r.StepsB, "A's tape does not have them")
	}
	if r.Unread > 0 {
		e.Missed("tensors"+of, r.Unread, "their contents could not be looked at")
	}
}

func (d *Document) conclude(e *verdict.Evidence, operators, steps int64) {
	what := "operators"
	if d.Level == "modules" {
		what = "records of modules"
	}
	why := fmt.Sprintf("%d %s of %d steps got and made the same", operators, what, steps)
	if d.Among == "ranks" {
		why = fmt.Sprintf("%d %s that should agree among %d ranks do", operators, what, len(d.Ranks)+1)
	}
	if d.First != nil {
		why = d.First.Text
	}
	d.Conclusion = e.Compare(d.First != nil, why)
	d.Status = map[verdict.Outcome]string{verdict.Same: "identical", verdict.Differs: "diverged"}[d.Conclusion.Outcome]
	if d.Status == "" {
		d.Status = "inconclusive"
	}
	d.Passed = d.Conclusion.Good()
	d.Verdict = d.Conclusion.Why
	if d.First == nil && len(d.Facts) > 0 {
		d.Verdict += ", although the runs differ: " + strings.Join(factTexts(d.Facts), ", ")
	}
}

func factTexts(facts []FactDiffer) (list []string) {
	for _, f := range facts {
		list = append(list, fmt.Sprintf("%s %s / %s", f.Name, orNothing(f.A), orNothing(f.B)))
	}
	return list
}

func orNothing(s string) string {
	if s == "" {
		return "(not said)"
	}
	return s
}

func contains(list []FactDiffer, f FactDiffer) bool {
	for _, have := range list {
		if have == f {
			return true
		}
	}
	return false
}
