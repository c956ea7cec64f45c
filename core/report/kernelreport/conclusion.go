package kernelreport

import "github.com/prlx-go/prlx/core/verdict"

// maxRests is how many things that a verdict rests on a page lists of a kind.
const maxRests = 40

// concluded is a verdict as a page shows it: its texts come out of a document that anybody can write.
func concluded(v verdict.Verdict) verdict.Verdict {
	out := verdict.Verdict{Outcome: verdict.Outcome(clean(string(v.Outcome), 40)), Why: clean(v.Why, maxText)}
	for _, l := range v.Looked[:min(len(v.Looked), maxRests)] {
		l.What = clean(l.What, maxName)
		out.Looked = append(out.Looked, l)
	}
	for _, m := range v.Missing[:min(len(v.Missing), maxRests)] {
		m.What, m.Why = clean(m.What, maxName), clean(m.Why, maxText)
		out.Missing = append(out.Missing, m)
	}
	return out
}
