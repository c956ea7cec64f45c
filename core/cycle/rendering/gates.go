package rendering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/comparing"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/gate"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/verdict"
)

// maxCrossings bounds what one gate lists; its sentence counts the rest.
const maxCrossings = 100

// gates holds a comparison against its gates. Missing is what both runs lack, whatever is asked of them.
func (c changes) gates(d *cycledoc.CompareDocument, accounts *comparing.Accounts, missing []verdict.Missing) *cycledoc.Gate {
	if len(c.Opt.Gates) == 0 {
		return nil
	}
	out := &cycledoc.Gate{Gates: []cycledoc.GateResult{}}
	var e verdict.Evidence
	e.Looked("gates", int64(len(c.Opt.Gates)))
	var failed, passed []string
	for i := range c.Opt.Gates {
		g := &gating{changes: c, Gate: &c.Opt.Gates[i], d: d, accounts: accounts}
		g.look()
		result := g.result(missing)
		switch result.Outcome {
		case verdict.Failed:
			failed = append(failed, result.Gate+": "+result.Why)
		case verdict.Inconclusive:
			e.Lacks(result.Gate, result.Why)
		default:
			passed = append(passed, result.Gate)
		}
		out.Gates = append(out.Gates, result)
	}
	why := strings.Join(failed, "; ")
	if len(failed) == 0 && len(passed) > 0 {
		why = "not crossed: " + strings.Join(passed, ", ")
	}
	out.Verdict = e.Check(len(failed) > 0, why)
	return out
}

// gating is one gate that is held against a comparison.
type gating struct {
	changes
	*gate.Gate
	d        *cycledoc.CompareDocument
	accounts *comparing.Accounts

	looked  int
	crossed []cycledoc.Crossing
	open    []string // why it is not known whether it is crossed
	limit   float64  // the greatest of all
	worst   string   // what changed most without crossing
	most    float64
}

func (g *gating) look() {
	switch {
	case g.Counts():
		g.counting()
	case g.Subject == gate.Kernel:
		g.kernels()
	case g.Subject == gate.Idle:
		g.idle()
	default:
		g.classes()
	}
}

// result says how the gate stands. What is crossed stays crossed, whatever is missing.
func (g *gating) result(missing []verdict.Missing) cycledoc.GateResult {
	out := cycledoc.GateResult{Gate: g.Text, Looked: g.looked, Crossed: append([]cycledoc.Crossing{}, g.crossed[:min(len(g.crossed), maxCrossings)]...)}
	if g.looked > 0 && !g.Counts() && g.limit >= 0 {
		out.Limit = &g.limit
	}
	open := slices.Clone(g.open)
	for _, m := range missing {
		open = append(open, m.String())
	}
	if len(g.d.Pairs) == 0 && len(open) == 0 {
		open = append(open, "nothing was compared")
	}
	switch {
	case len(g.crossed) > 0:
		out.Outcome, out.Why = verdict.Failed, g.crossing()
	case len(open) > 0:
		out.Outcome, out.Why = verdict.Inconclusive, open[0]
		if n := len(open) - 1; n > 0 {
			out.Why += fmt.Sprintf(", and %d more", n)
		}
	default:
		out.Outcome, out.Why = verdict.Passed, g.passing()
	}
	return out
}

// crossing says what crosses the gate first.
func (g *gating) crossing() string {
	first := slices.MaxFunc(g.crossed, func(a, b cycledoc.Crossing) int {
		return cmp.Compare(a.StepNS, b.StepNS)
	})
	text := shorten(first.What, 120)
	switch {
	case first.Relative != 0:
		text += fmt.Sprintf(" %+.1f %%", 100*first.Relative)
	case first.StepNS != 0:
		text += " " + signedText(first.StepNS) + " a step"
	}
	if n := len(g.crossed) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

func (g *gating) passing() string {
	switch {
	case g.Counts():
		return "none"
	case g.looked == 1:
		return fmt.Sprintf("%s %+.1f %%; a change below %.1f %% could not have been seen", g.worst, 100*g.most, 100*g.limit)
	}
	return fmt.Sprintf("%d compared, at most %+.1f %% (%s); a change below %.1f %% could not have been seen in all of them", g.looked, 100*g.most, g.worst, 100*g.limit)
}

// classes looks at the pairs of a level.
func (g *gating) classes() {
	for n, k := range g.accounts.Order {
		p := &g.d.Pairs[n]
		if p.Level == g.Subject && g.Takes(p.A.Name, p.B.Name) {
			g.time(k, pairs.Wall, quoted(p), g.ViewsA[g.Result.Pairs[k].A].PerStep)
		}
	}
	g.alone(func(x *cycledoc.ClassBrief, _ *structure.Class) bool { return x.Level == g.Subject && g.Takes(x.Name) })
	if g.looked == 0 && len(g.open) == 0 {
		g.open = append(g.open, fmt.Sprintf("no %s of A is compared with one of B%s", g.Subject, g.named()))
	}
}

func (g *gating) named() string {
	if g.Pattern == "" {
		return ""
	}
	return " whose name fits " + g.Pattern
}

// idle looks at the time between the kernels of steps.
func (g *gating) idle() {
	for n, k := range g.accounts.Order {
		if !g.accounts.Inside[k] && g.d.Pairs[n].Level != cycledoc.LevelLoop {
			p := &g.d.Pairs[n]
			g.time(k, pairs.Gap, "time between kernels of "+quoted(p), g.ViewsA[g.Result.Pairs[k].A].PerStep)
		}
	}
	g.alone(func(x *cycledoc.ClassBrief, _ *structure.Class) bool { return x.Level == cycledoc.LevelStep })
	if g.looked == 0 && len(g.open) == 0 {
		g.open = append(g.open, "no time between kernels is compared")
	}
}

// kernels looks at the rows of steps that have a kernel of such a name.
func (g *gating) kernels() {
	for _, x := range g.accounts.Judges {
		row := &g.Result.Pairs[x.Pair].Rows[x.Row]
		if !g.takesRow(x) {
			continue
		}
		switch row.Kind {
		case pairs.Removed:
			g.looked++
		case pairs.Added:
			g.looked++
			g.cross(x.Pair, g.rowText(x), &row.Change, x.PerStep*row.MeanB)
		default:
			g.time(x.Pair, x.Row, g.rowText(x), x.PerStep)
		}
	}
	for k := range g.Result.Pairs {
		if p := &g.Result.Pairs[k]; p.Note != "" && !g.accounts.Inside[k] && (g.takesSlots(g.ListA[p.A].Class) || g.takesSlots(g.ListB[p.B].Class)) {
			g.open = append(g.open, g.ListA[p.A].Shown.Name+" is too long to be compared by kernels")
		}
	}
	g.alone(func(_ *cycledoc.ClassBrief, c *structure.Class) bool { return !g.within(c) && g.takesSlots(c) })
	if g.looked == 0 && len(g.open) == 0 {
		g.open = append(g.open, "no kernel that is compared has such a name")
	}
}

// within reports whether a class stands on a level below one that is compared: its kernels are then compared as those of that.
func (g *gating) within(c *structure.Class) bool {
	for k := range g.Result.Pairs {
		if p := &g.Result.Pairs[k]; p.Note == "" && g.ListA[p.A].Depth > c.Depth && g.ListA[p.A].Depth <= structure.DepthStep {
			return true
		}
	}
	return false
}

func (g *gating) takesSlots(c *structure.Class) bool {
	return slices.ContainsFunc(c.Slots, func(s cycledoc.Slot) bool { return g.Takes(s.Name, s.Signature) })
}

// alone notes classes of one run that would have to be looked at: they are compared with nothing.
func (g *gating) alone(takes func(*cycledoc.ClassBrief, *structure.Class) bool) {
	for _, s := range []struct {
		name string
		list []int
		of   []comparing.Compared
		side *cycledoc.Side
	}{{"A", g.Result.OnlyA, g.ListA, &g.d.A}, {"B", g.Result.OnlyB, g.ListB, &g.d.B}} {
		for _, i := range s.list {
			x := brief(s.of[i].Shown)
			if timeShare(&x, s.side) >= g.Opt.MinChange && takes(&x, s.of[i].Class) {
				g.open = append(g.open, fmt.Sprintf("only %s has %s, which is compared with nothing", s.name, x.Name))
			}
		}
	}
}

// counting looks for kernels that stand in one run alone, or that took the place of others.
func (g *gating) counting() {
	for _, x := range g.accounts.Judges {
		row := &g.Result.Pairs[x.Pair].Rows[x.Row]
		g.looked++
		if string(row.Kind) == g.Subject && g.takesRow(x) {
			cost := row.StepNS
			if row.Kind == pairs.Added || row.Kind == pairs.Removed {
				cost = x.PerStep * (row.MeanB - row.MeanA)
			}
			g.cross(x.Pair, g.rowText(x), &row.Change, cost)
		}
	}
	for k := range g.Result.Pairs {
		if p := &g.Result.Pairs[k]; p.Note != "" && !g.accounts.Inside[k] {
			g.open = append(g.open, g.ListA[p.A].Shown.Name+" is too long to be compared by kernels")
		}
	}
	for _, s := range []struct {
		subject     string
		list        []int
		of          []comparing.Compared
		side        *cycledoc.Side
		other       *structure.Run
		name, elses string
	}{{string(pairs.Added), g.Result.OnlyB, g.ListB, &g.d.B, g.FoundA, "B", "A"}, {string(pairs.Removed), g.Result.OnlyA, g.ListA, &g.d.A, g.FoundB, "A", "B"}} {
		for _, i := range s.list {
			x := brief(s.of[i].Shown)
			if s.subject != g.Subject || g.within(s.of[i].Class) || timeShare(&x, s.side) < g.Opt.MinChange || g.Pattern != "" && !g.takesSlots(s.of[i].Class) {
				continue
			}
			if s.other.Trace.Losses.Truncated || s.other.Limited || len(s.other.Classes) == 0 {
				g.open = append(g.open, fmt.Sprintf("%s has %s, and a part of %s is missing", s.name, x.Name, s.elses))
				continue
			}
			g.crossed = append(g.crossed, cycledoc.Crossing{What: g.Subject + ": all of " + x.Name, Class: x.Name, P: 1})
		}
	}
}

func (g *gating) takesRow(x comparing.Judge) bool {
	p := &g.Result.Pairs[x.Pair]
	row := &p.Rows[x.Row]
	takes := func(c *structure.Class, slots []int) bool {
		return slices.ContainsFunc(slots, func(i int) bool { return g.Takes(c.Slots[i].Name, c.Slots[i].Signature) })
	}
	return takes(g.ListA[p.A].Class, row.A) || takes(g.ListB[p.B].Class, row.B)
}

func (g *gating) rowText(x comparing.Judge) string {
	p := &g.Result.Pairs[x.Pair]
	return what(&p.Rows[x.Row], g.ListA[p.A].Class, g.ListB[p.B].Class)
}

// time holds one time against the gate.
func (g *gating) time(pair, row int, name string, perStep float64) {
	g.looked++
	p := &g.Result.Pairs[pair]
	change := &p.Wall
	switch {
	case row == pairs.Gap:
		change = &p.Gap
	case row >= 0:
		change = &p.Rows[row].Change
	}
	allowed := g.Share
	if g.NS > 0 || g.Share == 0 {
		each := 1.0
		if row >= 0 || row == pairs.Gap {
			each = perStep
		}
		if allowed = 0; change.MeanA > 0 && each > 0 {
			allowed = g.NS / (each * change.MeanA)
		}
	}
	relative := change.Relative()
	over := relative > allowed || change.MeanA == 0 && change.MeanB > 0
	if relative > g.most || g.worst == "" {
		g.most, g.worst = relative, name
	}
	if change.Verdict == pairs.TooFew {
		g.open = append(g.open, fmt.Sprintf("%s: %d repetitions in A and %d in B are compared, and a test needs more", name, change.CountA, change.CountB))
		return
	}
	if over && change.Told {
		g.cross(pair, name, change, perStep*change.DeltaNS())
		return
	}
	limit := g.Limit(pair, row)
	if limit < 0 || g.limit >= 0 && limit > g.limit {
		g.limit = limit
	}
	switch {
	case over && change.Noise != nil:
		g.open = append(g.open, fmt.Sprintf("%s: %+.1f %% in the mean is not told from chance, or from what the baselines differ by", name, 100*relative))
	case over:
		g.open = append(g.open, fmt.Sprintf("%s: %+.1f %% in the mean is not told from chance", name, 100*relative))
	case g.Baselines > g.BaselinesWith(pair):
		g.open = append(g.open, fmt.Sprintf("%s: %d of %d baselines have it", name, g.BaselinesWith(pair), g.Baselines))
	case limit < 0:
		g.open = append(g.open, name+": no change could have been seen in so few repetitions")
	case limit > allowed && !change.Told:
		g.open = append(g.open, fmt.Sprintf("%s: a change below %.1f %% could not have been seen, and %.1f %% is asked for", name, 100*limit, 100*allowed))
	}
}

func (g *gating) cross(pair int, name string, change *pairs.Change, step float64) {
	g.crossed = append(g.crossed, cycledoc.Crossing{
		What: name, Class: g.ListA[g.Result.Pairs[pair].A].Shown.Name, ANS: change.MeanA, BNS: change.MeanB, Relative: change.Relative(), StepNS: step, P: change.P,
	})
}
