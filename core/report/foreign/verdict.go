package foreign

import "github.com/prlx-go/prlx/core/verdict"

// What a page shows of a verdict.
const (
	maxRests = 40  // things of a kind that it rests on
	maxWhat  = 200 // characters that name one of them
	maxWhy   = 600 // characters of a reason
)

// Verdict makes a verdict of a document fit for people, for anybody can have written the document. One without an outcome that prlx knows concludes nothing.
func Verdict(v verdict.Verdict) verdict.Verdict {
	out := verdict.Verdict{Outcome: v.Outcome, Why: Clean(v.Why, maxWhy)}
	if !v.Good() && !v.Bad() {
		out.Outcome = verdict.Inconclusive
	}
	for _, l := range v.Looked[:min(len(v.Looked), maxRests)] {
		l.What = Clean(l.What, maxWhat)
		out.Looked = append(out.Looked, l)
	}
	for _, m := range v.Missing[:min(len(v.Missing), maxRests)] {
		m.What, m.Why = Clean(m.What, maxWhat), Clean(m.Why, maxWhy)
		out.Missing = append(out.Missing, m)
	}
	return out
}
