package rendering

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/comparing"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/verdict"
)

// changes makes the document of a comparison.
type changes struct{ *comparing.Comparison }

// Comparison makes prlx.cycles-compare/1 of a comparison.
func Comparison(made *comparing.Comparison) *cycledoc.CompareDocument {
	c := changes{made}
	d := &cycledoc.CompareDocument{
		Schema: cycledoc.CompareSchema, A: side(c.FoundA), B: side(c.FoundB), Pairs: []cycledoc.ClassPair{}, OnlyA: []cycledoc.ClassBrief{}, OnlyB: []cycledoc.ClassBrief{},
		Regressions: []cycledoc.Cost{}, Improvements: []cycledoc.Cost{}, Warnings: []string{},
		Options: cycledoc.CompareSettings{Alpha: c.Opt.Alpha, MinChange: c.Opt.MinChange, Similarity: c.Opt.Similarity, Baselines: c.Baselines, Repetitions: c.Opt.Repetitions},
	}
	accounts := c.Accounts()
	at := make([]int, len(accounts.Order)) // place in the document of a pair of the result
	for n, k := range accounts.Order {
		at[k] = n
		d.Pairs = append(d.Pairs, c.pair(k, accounts))
	}
	for _, i := range c.Result.OnlyA {
		d.OnlyA = append(d.OnlyA, brief(c.ListA[i].Shown))
	}
	for _, i := range c.Result.OnlyB {
		d.OnlyB = append(d.OnlyB, brief(c.ListB[i].Shown))
	}
	for _, x := range accounts.Costs {
		c.cost(d, &x, at)
	}
	d.Account = accounts.Mean
	slices.SortStableFunc(d.Regressions, func(x, y cycledoc.Cost) int { return cmp.Compare(y.StepNS, x.StepNS) })
	slices.SortStableFunc(d.Improvements, func(x, y cycledoc.Cost) int { return cmp.Compare(x.StepNS, y.StepNS) })
	c.warn(d)
	d.Conclusion = c.conclude(d, accounts)
	lacks := c.looked(d)
	c.outside(&lacks, d)
	d.Gate = c.gates(d, accounts, lacks.Open("").Missing)
	d.Status = c.status(d)
	d.Verdict = c.verdict(d)
	return d
}

func side(r *structure.Run) cycledoc.Side {
	d := Document(r)
	s := cycledoc.Side{Input: d.Input, Status: d.Status, Verdict: d.Verdict, Confidence: d.Confidence, TimeCoverage: d.TimeCoverage, Steps: int64(len(r.Steps))}
	for i := range r.Steps {
		s.StepNS += float64(r.Steps[i].WallNS) / float64(len(r.Steps))
	}
	return s
}

func brief(c *structure.Class) cycledoc.ClassBrief {
	return cycledoc.ClassBrief{ID: cycledoc.ID(c.ID), Name: c.Name, Level: c.LevelName(), Phase: c.Phase.Name, Period: c.Period(), Count: c.Count, WallNS: c.Wall.Mean}
}

func delta(c pairs.Change) cycledoc.Delta {
	return cycledoc.Delta{ANS: c.MeanA, BNS: c.MeanB, DeltaNS: c.DeltaNS(), Relative: c.Relative(), P: c.P, Verdict: string(c.Verdict), By: c.By, ALate: c.LateA, BLate: c.LateB}
}

func (c changes) pair(k int, accounts *comparing.Accounts) cycledoc.ClassPair {
	p := &c.Result.Pairs[k]
	a, b := c.ListA[p.A].Class, c.ListB[p.B].Class
	out := cycledoc.ClassPair{
		A: brief(c.ListA[p.A].Shown), B: brief(c.ListB[p.B].Shown), Level: a.LevelName(), Similarity: p.Similarity, Rotation: p.Rotation, PerStepA: c.ViewsA[p.A].PerStep,
		PerStepB: c.ViewsB[p.B].PerStep, Wall: delta(p.Wall), Gap: delta(p.Gap), Rows: make([]cycledoc.PairRow, 0, len(p.Rows)), Note: p.Note, Account: accounts.Of[k],
		Busy: cycledoc.Delta{ANS: a.Busy.Mean, BNS: b.Busy.Mean, DeltaNS: b.Busy.Mean - a.Busy.Mean, P: 1},
	}
	if limit := c.Limit(k, pairs.Wall); limit >= 0 {
		out.Limit = &limit
	}
	if a.Busy.Mean > 0 {
		out.Busy.Relative = out.Busy.DeltaNS / a.Busy.Mean
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		count(&out.Kinds, row.Kind)
		part := ""
		if accounts.Parts[k] != nil {
			part = accounts.Parts[k][i]
		}
		out.Rows = append(out.Rows, cycledoc.PairRow{
			Kind: string(row.Kind), A: rowSlots(a, row.A), B: rowSlots(b, row.B), Change: delta(row.Change), StepNS: row.StepNS,
			ANS: row.ANS, BNS: row.BNS, DeltaNS: row.BNS - row.ANS, Part: part,
		})
	}
	out.Identical = p.Note == "" && out.Kinds.Exact == len(p.Rows)
	return out
}

func count(k *cycledoc.RowKinds, kind pairs.Kind) {
	switch kind {
	case pairs.Exact:
		k.Exact++
	case pairs.Similar:
		k.Similar++
	case pairs.Fused:
		k.Fused++
	case pairs.Split:
		k.Split++
	case pairs.Replaced:
		k.Replaced++
	case pairs.Removed:
		k.Removed++
	case pairs.Added:
		k.Added++
	}
}

func rowSlots(c *structure.Class, places []int) []cycledoc.RowSlot {
	out := make([]cycledoc.RowSlot, 0, len(places))
	for _, i := range places {
		s := &c.Slots[i]
		out = append(out, cycledoc.RowSlot{Slot: i, Name: s.Name, MeanNS: s.MeanNS, MinNS: s.MinNS, MaxNS: s.MaxNS, StdDevNS: s.StdDevNS, Module: s.Module, Operator: s.Operator})
	}
	return out
}

// cost lists what costs or saves time.
func (c changes) cost(d *cycledoc.CompareDocument, x *comparing.Cost, at []int) {
	p := &c.Result.Pairs[x.Pair]
	out := cycledoc.Cost{
		Pair: at[x.Pair], Row: x.Row, Of: at[x.Of], Level: d.Pairs[at[x.Pair]].Level, Class: d.Pairs[at[x.Pair]].A.Name,
		What: "time between kernels", StepNS: x.StepNS, Relative: x.Relative, P: x.P,
	}
	if x.Row >= 0 {
		row, a, b := &p.Rows[x.Row], c.ListA[p.A].Class, c.ListB[p.B].Class
		out.What = what(row, a, b)
		switch {
		case len(row.A) > 0:
			out.Module = a.Slots[row.A[0]].Module
		case len(row.B) > 0:
			out.Module = b.Slots[row.B[0]].Module
		}
	}
	if x.StepNS > 0 {
		d.Regressions = append(d.Regressions, out)
	} else {
		d.Improvements = append(d.Improvements, out)
	}
}

// what says in words what a row is.
func what(row *pairs.Row, a, b *structure.Class) string {
	names := func(c *structure.Class, places []int) string {
		var out []string
		for _, i := range places[:min(len(places), 4)] {
			out = append(out, c.Slots[i].Signature)
		}
		if n := len(places) - len(out); n > 0 {
			out = append(out, fmt.Sprintf("%d more", n))
		}
		return strings.Join(out, " + ")
	}
	switch row.Kind {
	case pairs.Removed:
		return "removed: " + names(a, row.A)
	case pairs.Added:
		return "added: " + names(b, row.B)
	case pairs.Fused:
		return "fused: " + names(a, row.A) + " into " + names(b, row.B)
	case pairs.Split:
		return "split: " + names(a, row.A) + " into " + names(b, row.B)
	case pairs.Replaced:
		return "replaced: " + names(a, row.A) + " by " + names(b, row.B)
	case pairs.Similar:
		return names(a, row.A) + ", now " + names(b, row.B)
	}
	return names(a, row.A)
}

func (c changes) warn(d *cycledoc.CompareDocument) {
	for _, s := range []struct {
		name string
		r    *structure.Run
	}{{"a", c.A}, {"b", c.B}} {
		if len(s.r.Classes) == 0 {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s has no cycle", s.name))
		}
	}
	if c.A.Keys != c.B.Keys {
		d.Warnings = append(d.Warnings, fmt.Sprintf("kernels of a count as equal by %s signatures, those of b by %s ones: search both with the same keys", c.A.Keys, c.B.Keys))
	}
	if c.Similarity < c.Opt.Similarity && len(d.Pairs) > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("no class of A shares %.0f %% of its kernels with one of B: classes that share at least %.0f %% are paired", 100*c.Opt.Similarity, 100*c.Similarity))
	}
	few := 0
	for i := range d.Pairs {
		if d.Pairs[i].Wall.Verdict == string(pairs.TooFew) {
			few++
		}
	}
	if few > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("too few repetitions to tell a change from chance in %d of %s", few, counted(len(d.Pairs), "pair", "pairs")))
	}
}

// differs reports whether a pair of classes changed; alone, whether one run has cycles that the other has not.
func differs(d *cycledoc.CompareDocument) (pair, alone bool) {
	for i := range d.Pairs {
		if p := &d.Pairs[i]; p.Kinds.Exact < len(p.Rows) || changed(p.Wall.Verdict) {
			pair = true
		}
	}
	return pair || len(d.Regressions)+len(d.Improvements) > 0, len(d.OnlyA)+len(d.OnlyB) > 0
}

func changed(verdict string) bool {
	return verdict == string(pairs.Slower) || verdict == string(pairs.Faster)
}

func (c changes) status(d *cycledoc.CompareDocument) string {
	switch {
	case d.Conclusion.Outcome == verdict.Inconclusive:
		return cycledoc.CompareOpen
	case d.Conclusion.Good():
		return cycledoc.CompareSame
	case len(d.Pairs) == 0:
		return cycledoc.CompareUnmatched
	}
	return cycledoc.CompareChanged
}

func (c changes) verdict(d *cycledoc.CompareDocument) string {
	open := ""
	if d.Status == cycledoc.CompareOpen {
		open = " The evidence does not say whether the runs are the same: " + missingText(&d.Conclusion) + "."
	}
	switch {
	case len(d.Pairs) == 0 && d.Status == cycledoc.CompareOpen:
		return strings.TrimSpace(open)
	case len(d.Pairs) == 0:
		return "No cycle of one run is like one of the other."
	}
	p := &d.Pairs[headline(d.Pairs)]
	text := headlineText(p) + "." + sentence(&p.Account)
	list := func(word string, costs []cycledoc.Cost) {
		if len(costs) > 0 {
			text += fmt.Sprintf(" %s: %s, %s a step", word, shorten(costs[0].What, 120), durationText(math.Abs(costs[0].StepNS)))
			if n := len(costs) - 1; n > 0 {
				text += fmt.Sprintf(", and %d more", n)
			}
			text += "."
		}
	}
	list("Costs most", d.Regressions)
	list("Saves most", d.Improvements)
	if d.Status == cycledoc.CompareSame {
		text += " Nothing changed by more than chance."
		if p.Limit != nil {
			text += fmt.Sprintf(" A change of it below %.1f %% could not have been seen.", 100*max(*p.Limit, c.Opt.MinChange))
		}
	}
	return text + open
}

// headlineText says in one line how a pair changed, and by what that is told where it is not by most of the repetitions.
func headlineText(p *cycledoc.ClassPair) string {
	text := fmt.Sprintf("%s: mean %s, now %s", capital(p.A.Name), durationText(p.Wall.ANS), durationText(p.Wall.BNS))
	if p.Wall.ANS > 0 {
		text += fmt.Sprintf(" (%+.1f %%, %s", 100*p.Wall.Relative, p.Wall.Verdict)
		if p.Wall.By == pairs.ByTails {
			text += fmt.Sprintf(": %s far longer than usual, now %d", counted(p.Wall.ALate, "repetition takes", "repetitions take"), p.Wall.BLate)
		}
		text += ")"
	}
	return text
}

// headline picks the pair that the verdict speaks of: of the level of the first, the one that changed by more than chance and takes
// most time; the first where none did.
func headline(all []cycledoc.ClassPair) int {
	for i := range all {
		if all[i].Level == all[0].Level && changed(all[i].Wall.Verdict) {
			return i
		}
	}
	return 0
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
