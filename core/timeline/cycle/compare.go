package cycle

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/cycle/compare"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// Compare says what changed from the cycles of a to those of b.
func Compare(j *job.Job, a, b *Result, opt CompareOptions) (*CompareDocument, error) {
	opt, err := opt.filled()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if j != nil {
		ctx = j.Context()
	}
	j.Progress().SetStage("comparing")
	c := &comparing{opt: opt, a: a, b: b}
	for _, side := range []struct {
		r     *Result
		views *[]compare.ClassView
	}{{a, &c.viewsA}, {b, &c.viewsB}} {
		for _, k := range side.r.classes {
			if err := ctx.Err(); err != nil {
				return nil, fault.New(fault.Cancelled, "the comparison of cycles was cancelled").Wrap(err)
			}
			v := side.r.view(k, opt.Repetitions)
			if len(a.levels) == len(b.levels) { // a level may be called a layer in one run and a step in the other
				v.Level = side.r.levelOf(k)
			}
			*side.views = append(*side.views, v)
		}
	}
	c.run(opt.Similarity)
	if len(c.result.Pairs) == 0 && opt.Similarity > leastSimilarity {
		c.run(leastSimilarity)
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.Cancelled, "the comparison of cycles was cancelled").Wrap(err)
	}
	return c.document(), nil
}

// leastSimilarity is the least share of common kernels of classes that are paired where nothing more alike is there: runs on different
// hardware have other matrix products and the same kernels between them.
const leastSimilarity = 0.2

func (c *comparing) run(similarity float64) {
	c.similarity = similarity
	c.result = compare.Classes(c.viewsA, c.viewsB, compare.Options{Alpha: c.opt.Alpha, MinChange: c.opt.MinChange, Similarity: similarity})
}

type comparing struct {
	similarity     float64 // the least that was asked of pairs
	opt            CompareOptions
	a, b           *Result
	viewsA, viewsB []compare.ClassView
	result         *compare.Comparison
}

// viewValues bounds the times that are held of one class.
const viewValues = 4 << 20

// view is what is compared of a class: times of repetitions spread evenly over the run, without edited ones where there are others.
func (r *Result) view(c *class, most int) compare.ClassView {
	v := compare.ClassView{ID: c.id, Level: int(c.depth), Phase: string(c.phase.Phase), PerStep: r.perStep(c), Slots: make([]compare.Slot, c.period())}
	if c.described {
		v.Phase = "" // patterns may be of any
	}
	most = max(compare.MinRepetitions, min(most, viewValues/max(1, c.period())))
	type place struct{ part, k int }
	var all []place
	exact := c.count - c.edited
	take := exact
	if exact == 0 {
		take = c.count
	}
	every := max(1, (take+int64(most)-1)/int64(most))
	n := int64(0)
	for pi := range c.parts {
		for k, rep := range c.parts[pi].reps {
			if rep.Edits > 0 && exact > 0 {
				continue
			}
			if n%every == 0 {
				all = append(all, place{pi, k})
			}
			n++
		}
	}
	values := make([]int64, c.period()*len(all))
	for i, s := range c.slots {
		v.Slots[i] = compare.Slot{Name: s.Name, Strict: s.Signature, Loose: s.Loose, NS: values[i*len(all) : (i+1)*len(all)]}
	}
	starts := r.startsAt(c.depth)
	for n, at := range all {
		p := &c.parts[at.part]
		t := r.tracks[p.track]
		s := r.seq(t)
		rep := p.reps[at.k]
		wall := r.wall(p, at.k, starts[p.track])
		v.WallNS = append(v.WallNS, wall)
		v.GapNS = append(v.GapNS, wall-r.busy(t, rep, wall))
		if rep.Edits == 0 {
			for i := range c.period() {
				v.Slots[(i+p.shift)%c.period()].NS[n] = s.DurNS(t.at(int(rep.Start) + i))
			}
			continue
		}
		for i := range c.slots { // what a repetition lacks is as usual
			v.Slots[i].NS[n] = c.slots[i].P50NS
		}
		for _, seg := range p.loose[int32(at.k)] {
			for i := range seg.n {
				v.Slots[seg.slot+i].NS[n] = s.DurNS(t.at(int(rep.Start + seg.off + i)))
			}
		}
	}
	return v
}

// levelOf is the place of the level that a class stands on.
func (r *Result) levelOf(c *class) int {
	return slices.IndexFunc(r.levels, func(l level) bool { return l.depth == c.depth })
}

func (r *Result) startsAt(d depth) map[int][]int32 {
	for i := range r.levels {
		if r.levels[i].depth == d {
			return r.levels[i].starts
		}
	}
	return nil
}

// perStep is how many repetitions of a class a step has. A trace without steps is one.
func (r *Result) perStep(c *class) float64 {
	switch {
	case c.depth == depthStep:
		return 1
	case c.depth > depthStep:
		steps := 0
		for _, ch := range c.children {
			steps += ch.count
		}
		return 1 / float64(max(1, steps))
	}
	best := 0.0
	for _, p := range c.parents {
		outer := r.classes[p]
		if outer.depth > depthStep {
			continue
		}
		for _, ch := range outer.children {
			if ch.class == c {
				best = max(best, float64(ch.count)*r.perStep(outer))
			}
		}
	}
	switch {
	case best > 0:
		return best
	case len(r.steps) > 0:
		return float64(c.count) / float64(len(r.steps))
	}
	return float64(c.count) / float64(len(c.parts))
}

func (c *comparing) document() *CompareDocument {
	d := &CompareDocument{
		Schema: CompareSchema, A: c.a.side(), B: c.b.side(), Pairs: []ClassPair{}, OnlyA: []ClassBrief{}, OnlyB: []ClassBrief{},
		Regressions: []Cost{}, Improvements: []Cost{}, Warnings: []string{},
		Options: CompareSettings{Alpha: c.opt.Alpha, MinChange: c.opt.MinChange, Similarity: c.opt.Similarity, Repetitions: c.opt.Repetitions},
	}
	order := make([]int, len(c.result.Pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := c.a.classes[c.result.Pairs[x].A], c.a.classes[c.result.Pairs[y].A]
		if s := a.depth == depthStep; s != (b.depth == depthStep) {
			if s {
				return -1
			}
			return 1
		}
		return cmp.Or(-cmp.Compare(a.wall.Mean*float64(a.count), b.wall.Mean*float64(b.count)), cmp.Compare(x, y))
	})
	for place, k := range order {
		p := &c.result.Pairs[k]
		d.Pairs = append(d.Pairs, c.pair(p))
		c.costs(d, place, p)
	}
	for _, i := range c.result.OnlyA {
		d.OnlyA = append(d.OnlyA, c.a.brief(c.a.classes[i]))
	}
	for _, i := range c.result.OnlyB {
		d.OnlyB = append(d.OnlyB, c.b.brief(c.b.classes[i]))
	}
	slices.SortStableFunc(d.Regressions, func(x, y Cost) int { return cmp.Compare(y.StepNS, x.StepNS) })
	slices.SortStableFunc(d.Improvements, func(x, y Cost) int { return cmp.Compare(x.StepNS, y.StepNS) })
	c.warn(d)
	d.Status = c.status(d)
	d.Verdict = c.verdict(d)
	return d
}

func (r *Result) side() Side {
	d := r.Document()
	s := Side{Input: d.Input, Status: d.Status, Verdict: d.Verdict, Confidence: d.Confidence, Steps: int64(len(r.steps))}
	for i := range r.steps {
		s.StepNS += float64(r.steps[i].wallNS) / float64(len(r.steps))
	}
	return s
}

func (r *Result) brief(c *class) ClassBrief {
	return ClassBrief{ID: idText(c.id), Name: c.name, Level: c.levelName(), Phase: string(c.phase.Phase), Period: c.period(), Count: c.count, WallNS: c.wall.Mean}
}

func (c *class) levelName() string {
	if c.described {
		return LevelCycle
	}
	return c.depth.name()
}

func delta(c compare.Change) Delta {
	return Delta{ANS: c.MeanA, BNS: c.MeanB, DeltaNS: c.DeltaNS(), Relative: c.Relative(), P: c.P, Verdict: string(c.Verdict)}
}

func (c *comparing) pair(p *compare.Pair) ClassPair {
	a, b := c.a.classes[p.A], c.b.classes[p.B]
	out := ClassPair{
		A: c.a.brief(a), B: c.b.brief(b), Level: a.levelName(), Similarity: p.Similarity, Rotation: p.Rotation, PerStepA: c.viewsA[p.A].PerStep,
		PerStepB: c.viewsB[p.B].PerStep, Wall: delta(p.Wall), Gap: delta(p.Gap), Rows: make([]PairRow, 0, len(p.Rows)), Note: p.Note,
		Busy: Delta{ANS: a.busy.Mean, BNS: b.busy.Mean, DeltaNS: b.busy.Mean - a.busy.Mean, P: 1},
	}
	if a.busy.Mean > 0 {
		out.Busy.Relative = out.Busy.DeltaNS / a.busy.Mean
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		out.Kinds.count(row.Kind)
		out.Rows = append(out.Rows, PairRow{Kind: string(row.Kind), A: rowSlots(a, row.A), B: rowSlots(b, row.B), Change: delta(row.Change), StepNS: row.StepNS})
	}
	out.Identical = p.Note == "" && out.Kinds.Exact == len(p.Rows)
	return out
}

func (k *RowKinds) count(kind compare.Kind) {
	switch kind {
	case compare.Exact:
		k.Exact++
	case compare.Similar:
		k.Similar++
	case compare.Fused:
		k.Fused++
	case compare.Split:
		k.Split++
	case compare.Replaced:
		k.Replaced++
	case compare.Removed:
		k.Removed++
	case compare.Added:
		k.Added++
	}
}

func rowSlots(c *class, places []int) []RowSlot {
	out := make([]RowSlot, 0, len(places))
	for _, i := range places {
		s := &c.slots[i]
		out = append(out, RowSlot{Slot: i, Name: s.Name, MeanNS: s.MeanNS, MinNS: s.MinNS, MaxNS: s.MaxNS, StdDevNS: s.StdDevNS})
	}
	return out
}

// costs adds the rows of a pair that cost or save time, and its gap. What a class inside of it that is compared too has found is not said again.
func (c *comparing) costs(d *CompareDocument, place int, p *compare.Pair) {
	a, b := c.a.classes[p.A], c.b.classes[p.B]
	name := a.name
	add := func(x Cost) {
		if x.StepNS > 0 {
			d.Regressions = append(d.Regressions, x)
		} else if x.StepNS < 0 {
			d.Improvements = append(d.Improvements, x)
		}
	}
	innerA, innerB := c.comparedInside(p)
	for i := range p.Rows {
		row := &p.Rows[i]
		changed := row.Verdict == compare.Slower || row.Verdict == compare.Faster || row.Kind == compare.Added || row.Kind == compare.Removed
		if !changed || all(row.A, innerA) && all(row.B, innerB) {
			continue
		}
		add(Cost{Pair: place, Row: i, Level: a.levelName(), Class: name, What: what(row, a, b), StepNS: row.StepNS, Relative: row.Relative(), P: row.P})
	}
	if p.Gap.Verdict == compare.Slower || p.Gap.Verdict == compare.Faster {
		rest := p.Gap.DeltaNS()
		for k := range c.result.Pairs {
			q := &c.result.Pairs[k]
			if n := timesInside(a, c.a.classes[q.A]); n > 0 && (q.Gap.Verdict == compare.Slower || q.Gap.Verdict == compare.Faster) {
				rest -= float64(n) * q.Gap.DeltaNS()
			}
		}
		if math.Abs(rest) >= 0.5*math.Abs(p.Gap.DeltaNS()) && rest*p.Gap.DeltaNS() > 0 {
			add(Cost{
				Pair: place, Row: -1, Level: a.levelName(), Class: name, What: "time between kernels", StepNS: rest * c.viewsA[p.A].PerStep,
				Relative: p.Gap.Relative(), P: p.Gap.P,
			})
		}
	}
}

func timesInside(outer, in *class) int {
	for _, ch := range outer.children {
		if ch.class == in {
			return ch.count
		}
	}
	return 0
}

func all(places []int, in []bool) bool {
	for _, i := range places {
		if !in[i] {
			return false
		}
	}
	return true
}

// comparedInside says which slots of both classes of a pair lie in classes that are compared themselves.
func (c *comparing) comparedInside(p *compare.Pair) (a, b []bool) {
	pairA, pairB := map[*class]bool{}, map[*class]bool{}
	for k := range c.result.Pairs {
		if q := &c.result.Pairs[k]; q.Note == "" {
			pairA[c.a.classes[q.A]], pairB[c.b.classes[q.B]] = true, true
		}
	}
	return insideSlots(c.a.classes[p.A], pairA), insideSlots(c.b.classes[p.B], pairB)
}

// insideSlots says which slots of a class lie in repetitions of some of its children, by its first repetition without edits.
func insideSlots(c *class, compared map[*class]bool) []bool {
	out := make([]bool, c.period())
	for pi := range c.parts {
		p := &c.parts[pi]
		k := slices.IndexFunc(p.reps, func(s repeat.Span) bool { return s.Edits == 0 })
		if k < 0 {
			continue
		}
		rep := p.reps[k]
		for _, ch := range c.children {
			if !compared[ch.class] {
				continue
			}
			for qi := range ch.class.parts {
				q := &ch.class.parts[qi]
				if q.track != p.track {
					continue
				}
				i, _ := slices.BinarySearchFunc(q.reps, rep.Start, func(s repeat.Span, at int32) int { return cmp.Compare(s.Start, at) })
				for ; i < len(q.reps) && q.reps[i].End <= rep.End; i++ {
					for at := q.reps[i].Start; at < q.reps[i].End; at++ {
						out[(int(at-rep.Start)+p.shift)%c.period()] = true
					}
				}
			}
		}
		return out
	}
	return out
}

// what says in words what a row is.
func what(row *compare.Row, a, b *class) string {
	names := func(c *class, places []int) string {
		var out []string
		for _, i := range places[:min(len(places), 4)] {
			out = append(out, c.slots[i].Signature)
		}
		if n := len(places) - len(out); n > 0 {
			out = append(out, fmt.Sprintf("%d more", n))
		}
		return strings.Join(out, " + ")
	}
	switch row.Kind {
	case compare.Removed:
		return "removed: " + names(a, row.A)
	case compare.Added:
		return "added: " + names(b, row.B)
	case compare.Fused:
		return "fused: " + names(a, row.A) + " into " + names(b, row.B)
	case compare.Split:
		return "split: " + names(a, row.A) + " into " + names(b, row.B)
	case compare.Replaced:
		return "replaced: " + names(a, row.A) + " by " + names(b, row.B)
	case compare.Similar:
		return names(a, row.A) + ", now " + names(b, row.B)
	}
	return names(a, row.A)
}

func (c *comparing) warn(d *CompareDocument) {
	for _, s := range []struct {
		name string
		r    *Result
	}{{"a", c.a}, {"b", c.b}} {
		if len(s.r.classes) == 0 {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s has no cycle", s.name))
		}
	}
	if c.a.keys != c.b.keys {
		d.Warnings = append(d.Warnings, fmt.Sprintf("kernels of a count as equal by %s signatures, those of b by %s ones: search both with the same keys", c.a.keys, c.b.keys))
	}
	if c.similarity < c.opt.Similarity && len(d.Pairs) > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("no classes share %.0f %% of their kernels: those that share at least %.0f %% are paired", 100*c.opt.Similarity, 100*c.similarity))
	}
	few := 0
	for i := range d.Pairs {
		if d.Pairs[i].Wall.Verdict == string(compare.TooFew) {
			few++
		}
	}
	if few > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d of %d pairs have not enough repetitions to tell a change from chance", few, len(d.Pairs)))
	}
}

func (c *comparing) status(d *CompareDocument) string {
	if len(d.Pairs) == 0 {
		if len(d.OnlyA)+len(d.OnlyB) == 0 {
			return CompareSame
		}
		return CompareUnmatched
	}
	if len(d.Regressions)+len(d.Improvements)+len(d.OnlyA)+len(d.OnlyB) > 0 {
		return CompareChanged
	}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		if p.Kinds.Exact < len(p.Rows) || p.Wall.Verdict == string(compare.Slower) || p.Wall.Verdict == string(compare.Faster) {
			return CompareChanged
		}
	}
	return CompareSame
}

func (c *comparing) verdict(d *CompareDocument) string {
	switch {
	case len(d.Pairs) == 0 && d.Status == CompareSame:
		return "Neither run has a cycle: there is nothing to compare."
	case len(d.Pairs) == 0:
		return "No cycle of one run is like one of the other."
	}
	p := &d.Pairs[0]
	text := fmt.Sprintf("%s: %s, now %s", capital(p.A.Name), durationText(p.Wall.ANS), durationText(p.Wall.BNS))
	if p.Wall.ANS > 0 {
		text += fmt.Sprintf(" (%+.1f %%, %s)", 100*p.Wall.Relative, p.Wall.Verdict)
	}
	text += "."
	list := func(word string, costs []Cost) {
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
	if d.Status == CompareSame {
		text += " Nothing changed by more than chance."
	}
	return text
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
