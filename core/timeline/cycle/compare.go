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
	if err := c.gather(ctx, j); err != nil {
		return nil, err
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

// gather makes the views of all classes of both runs.
func (c *comparing) gather(ctx context.Context, j *job.Job) error {
	if err := c.sameKeys(j); err != nil {
		return err
	}
	o := &origin{ctx: ctx, job: j, left: maxOriginWork, symbols: map[*track][]uint32{}}
	var err error
	if c.listA, c.listB, err = o.pair(c.a, c.b); err != nil {
		return err
	}
	for _, side := range []struct {
		r     *Result
		list  []compared
		views *[]compare.ClassView
	}{{c.a, c.listA, &c.viewsA}, {c.b, c.listB, &c.viewsB}} {
		starts := startsOf(side.list)
		for i := range side.list {
			if err := ctx.Err(); err != nil {
				return fault.New(fault.Cancelled, "the comparison of cycles was cancelled").Wrap(err)
			}
			v := side.r.view(&side.list[i], c.opt.Repetitions, starts[side.list[i].depth])
			if len(c.a.levels) == len(c.b.levels) { // a level may be called a layer in one run and a step in the other
				v.Level = side.r.levelOf(side.list[i].class)
			}
			*side.views = append(*side.views, v)
		}
	}
	return nil
}

// sameKeys searches a run again where the other one was searched by loose keys, or with its streams merged, and neither was asked for: what a
// recording holds of a run decides which of the two explains more of it.
func (c *comparing) sameKeys(j *job.Job) error {
	for _, side := range []struct{ r, other **Result }{{&c.a, &c.b}, {&c.b, &c.a}} {
		r, other := *side.r, *side.other
		opt, again := r.opt, false
		if r.keys != other.keys && r.opt.Keys == KeysAuto && other.keys == KeysLoose {
			opt.Keys, again = KeysLoose, true
		}
		if r.merged != other.merged && r.opt.Streams == StreamsAuto && other.merged {
			opt.Streams, again = StreamsMerged, true
		}
		if !again || r.opt.Compat != nil || len(r.classes) == 0 || len(other.classes) == 0 {
			continue
		}
		found, err := Find(j, r.trace, opt)
		if err != nil {
			return err
		}
		*side.r = found
	}
	return nil
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
	listA, listB   []compared
	viewsA, viewsB []compare.ClassView
	result         *compare.Comparison
	rowsOf         [][2][]int // by pair and side: the row that a slot is in
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
		a, b := c.listA[c.result.Pairs[x].A], c.listA[c.result.Pairs[y].A]
		if s := a.depth == depthStep; s != (b.depth == depthStep) {
			if s {
				return -1
			}
			return 1
		}
		return cmp.Or(-cmp.Compare(a.wall.Mean*float64(a.count), b.wall.Mean*float64(b.count)), cmp.Compare(x, y))
	})
	for _, k := range order {
		d.Pairs = append(d.Pairs, c.pair(&c.result.Pairs[k]))
	}
	for _, i := range c.result.OnlyA {
		d.OnlyA = append(d.OnlyA, c.a.brief(c.listA[i].shown))
	}
	for _, i := range c.result.OnlyB {
		d.OnlyB = append(d.OnlyB, c.b.brief(c.listB[i].shown))
	}
	c.account(d, order)
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
	a, b := c.listA[p.A].class, c.listB[p.B].class
	out := ClassPair{
		A: c.a.brief(c.listA[p.A].shown), B: c.b.brief(c.listB[p.B].shown), Level: a.levelName(), Similarity: p.Similarity, Rotation: p.Rotation, PerStepA: c.viewsA[p.A].PerStep,
		PerStepB: c.viewsB[p.B].PerStep, Wall: delta(p.Wall), Gap: delta(p.Gap), Rows: make([]PairRow, 0, len(p.Rows)), Note: p.Note,
		Busy: Delta{ANS: a.busy.Mean, BNS: b.busy.Mean, DeltaNS: b.busy.Mean - a.busy.Mean, P: 1},
	}
	if a.busy.Mean > 0 {
		out.Busy.Relative = out.Busy.DeltaNS / a.busy.Mean
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		out.Kinds.count(row.Kind)
		out.Rows = append(out.Rows, PairRow{
			Kind: string(row.Kind), A: rowSlots(a, row.A), B: rowSlots(b, row.B), Change: delta(row.Change), StepNS: row.StepNS,
			ANS: row.ANS, BNS: row.BNS, DeltaNS: row.BNS - row.ANS,
		})
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
	text += "." + p.Account.sentence()
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
