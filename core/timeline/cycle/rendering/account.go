package rendering

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/comparing"
	"github.com/prlx-go/prlx/core/timeline/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/timeline/cycle/pairs"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
	"github.com/prlx-go/prlx/core/timeline/cycle/structure"
)

// parts are the parts of an account in their order, with what people call them.
var parts = []struct{ part, text string }{
	{cycledoc.PartChanged, "changed kernels"},
	{cycledoc.PartAdded, "added kernels"},
	{cycledoc.PartRemoved, "removed kernels"},
	{cycledoc.PartIdle, "idle"},
	{cycledoc.PartOverlap, "overlap of kernels"},
	{cycledoc.PartInsignificant, "not significant"},
	{cycledoc.PartUntested, "too few repetitions to tell"},
	{cycledoc.PartUnaligned, "kernels that are not aligned"},
	{cycledoc.PartMix, "other kinds of steps"},
}

// sums gathers an account.
type sums struct {
	ns   map[string]int64
	rows map[string]int
}

func (s *sums) add(part string, ns int64, rows int) {
	if s.ns == nil {
		s.ns, s.rows = map[string]int64{}, map[string]int{}
	}
	s.ns[part] += ns
	s.rows[part] += rows
}

func (s *sums) account(of string, a, b int64) cycledoc.Account {
	out := cycledoc.Account{Of: of, ANS: a, BNS: b, DeltaNS: b - a, Parts: []cycledoc.AccountPart{}}
	for _, p := range parts {
		if s.ns[p.part] != 0 || s.rows[p.part] > 0 {
			out.Parts = append(out.Parts, cycledoc.AccountPart{Part: p.part, Text: p.text, DeltaNS: s.ns[p.part], Rows: s.rows[p.part]})
		}
	}
	return out
}

// sentence says an account in words, in one unit.
func sentence(a *cycledoc.Account) string {
	most := max(a.ANS, a.BNS)
	unit, size := "µs", 1e3
	if most >= 10_000_000 {
		unit, size = "ms", 1e6
	}
	write := func(ns int64) string { return fmt.Sprintf("%+.2f %s", float64(ns)/size, unit) }
	var list []string
	for _, p := range a.Parts {
		if math.Abs(float64(p.DeltaNS)) >= size/200 { // the least that two decimals show
			list = append(list, fmt.Sprintf("%s %s", p.Text, write(p.DeltaNS)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" Of %s a %s: %s.", write(a.DeltaNS), a.Of, strings.Join(list, ", "))
}

// partOf is the part of an account that a row belongs to.
func partOf(row *pairs.Row) string {
	switch {
	case row.Kind == pairs.Added:
		return cycledoc.PartAdded
	case row.Kind == pairs.Removed:
		return cycledoc.PartRemoved
	case row.Verdict == pairs.Slower, row.Verdict == pairs.Faster, row.Kind != pairs.Exact && row.Kind != pairs.Similar:
		return cycledoc.PartChanged
	case row.Verdict == pairs.TooFew:
		return cycledoc.PartUntested
	}
	return cycledoc.PartInsignificant
}

// place is a slot of a pair of classes; pair -1 is none.
type place struct{ pair, slot int }

// account adds up where the time of every pair went, and lists what costs and what saves. A kernel of a step that stands in a layer is judged by
// the layer, which has more repetitions; its time is that of the step, so that the sums hold.
func (c *changes) account(d *cycledoc.CompareDocument, order []int) {
	at := make([]int, len(order)) // place in the document of a pair of the result
	for n, k := range order {
		at[k] = n
	}
	inside := make([]bool, len(order)) // in the class of another pair
	owners := make([][2][]place, len(order))
	for k := range order {
		p := &c.Result.Pairs[k]
		if c.ListA[p.A].Depth <= structure.DepthStep {
			owners[k] = [2][]place{c.owners(k, c.ListA, func(p *pairs.Pair) int { return p.A }), c.owners(k, c.ListB, func(p *pairs.Pair) int { return p.B })}
		}
		for _, o := range owners[k][0] {
			if o.pair >= 0 {
				inside[o.pair] = true
			}
		}
	}
	for n, k := range order {
		d.Pairs[n].Account = c.balance(d, n, k, at, owners[k], !inside[k] && c.ListA[c.Result.Pairs[k].A].Depth <= structure.DepthStep)
	}
	d.Account = c.mean(d, order, inside)
}

// item is rows of a pair that one row of a pair inside of it, or the pair itself, judges.
type item struct{ pair, row int }

// balance makes the account of one pair. Of one that stands in no other it lists the costs.
func (c *changes) balance(d *cycledoc.CompareDocument, n, k int, at []int, owners [2][]place, list bool) cycledoc.Account {
	p := &c.Result.Pairs[k]
	var s sums
	level := d.Pairs[n].Level
	s.add(cycledoc.PartIdle, p.IdleBNS-p.IdleANS, 0)
	busy := (p.BNS - p.IdleBNS) - (p.ANS - p.IdleANS)
	if p.Note != "" {
		s.add(cycledoc.PartUnaligned, busy, 0)
		return s.account(level, p.ANS, p.BNS)
	}
	costs := map[item]float64{}
	var found []item
	for i := range p.Rows {
		row := &p.Rows[i]
		judge := c.judge(item{k, i}, owners)
		part := partOf(&c.Result.Pairs[judge.pair].Rows[judge.row])
		d.Pairs[n].Rows[i].Part = part
		s.add(part, row.BNS-row.ANS, 1)
		busy -= row.BNS - row.ANS
		if part != cycledoc.PartInsignificant && part != cycledoc.PartUntested {
			if _, seen := costs[judge]; !seen {
				found = append(found, judge)
			}
			costs[judge] += float64(row.BNS - row.ANS)
		}
	}
	s.add(cycledoc.PartOverlap, busy, 0)
	if list {
		for _, x := range found {
			q := &c.Result.Pairs[x.pair]
			row := &q.Rows[x.row]
			if row.Verdict == pairs.Slower || row.Verdict == pairs.Faster || row.Kind == pairs.Added || row.Kind == pairs.Removed {
				cost(d, cycledoc.Cost{Pair: at[x.pair], Row: x.row, Of: n, What: what(row, c.ListA[q.A].Class, c.ListB[q.B].Class), StepNS: costs[x] * c.perStep(p), Relative: row.Relative(), P: row.P})
			}
		}
		c.idle(d, n, k, at, owners)
	}
	return s.account(level, p.ANS, p.BNS)
}

// perStep is how many repetitions of a class a step has; of steps it is 1.
func (c *changes) perStep(p *pairs.Pair) float64 { return c.ViewsA[p.A].PerStep }

func cost(d *cycledoc.CompareDocument, x cycledoc.Cost) {
	x.Level, x.Class = d.Pairs[x.Pair].Level, d.Pairs[x.Pair].A.Name
	if x.StepNS > 0 {
		d.Regressions = append(d.Regressions, x)
	} else if x.StepNS < 0 {
		d.Improvements = append(d.Improvements, x)
	}
}

// idle lists the time between kernels where it changed by more than chance: of the pair, else of the classes in it.
func (c *changes) idle(d *cycledoc.CompareDocument, n, k int, at []int, owners [2][]place) {
	p := &c.Result.Pairs[k]
	changed := func(v pairs.Verdict) bool { return v == pairs.Slower || v == pairs.Faster }
	add := func(k int, ns float64) {
		q := &c.Result.Pairs[k]
		cost(d, cycledoc.Cost{Pair: at[k], Row: -1, Of: n, What: "time between kernels", StepNS: ns, Relative: q.Gap.Relative(), P: q.Gap.P})
	}
	if changed(p.Gap.Verdict) {
		add(k, float64(p.IdleBNS-p.IdleANS)*c.perStep(p))
		return
	}
	if p.Gap.Verdict == pairs.Same {
		return
	}
	slots := map[int]int{}
	for _, o := range owners[0] {
		if o.pair >= 0 {
			slots[o.pair]++
		}
	}
	for q := range c.Result.Pairs {
		x := &c.Result.Pairs[q]
		if times := slots[q] / c.ListA[x.A].Period(); times > 0 && changed(x.Gap.Verdict) {
			add(q, float64(times)*float64(x.IdleBNS-x.IdleANS)*c.perStep(p))
		}
	}
}

// judge is the row that says whether a row changed: that of the innermost pair that all its kernels stand in, at one row of it.
func (c *changes) judge(x item, owners [2][]place) item {
	row := &c.Result.Pairs[x.pair].Rows[x.row]
	out := item{-1, -1}
	for side, slots := range [2][]int{row.A, row.B} {
		for _, s := range slots {
			o := place{-1, -1}
			if owners[side] != nil {
				o = owners[side][s]
			}
			if o.pair < 0 {
				return x
			}
			r := c.rowOf(o, side)
			if out.pair >= 0 && out != (item{o.pair, r}) {
				return x
			}
			out = item{o.pair, r}
		}
	}
	if out.pair < 0 || c.Result.Pairs[out.pair].Rows[out.row].Kind != row.Kind {
		return x
	}
	return out
}

// rowOf is the row of a pair that a slot of one side is in.
func (c *changes) rowOf(o place, side int) int {
	if c.rowsOf == nil {
		c.rowsOf = make([][2][]int, len(c.Result.Pairs))
	}
	rows := &c.rowsOf[o.pair]
	if rows[0] == nil {
		p := &c.Result.Pairs[o.pair]
		rows[0], rows[1] = make([]int, len(c.ViewsA[p.A].Slots)), make([]int, len(c.ViewsB[p.B].Slots))
		for r := range p.Rows {
			for _, s := range p.Rows[r].A {
				rows[0][s] = r
			}
			for _, s := range p.Rows[r].B {
				rows[1][s] = r
			}
		}
	}
	return rows[side][o.slot]
}

// owners are the innermost compared classes that the slots of a class stand in, by its first repetition without edits.
func (c *changes) owners(k int, list []comparing.Compared, of func(*pairs.Pair) int) []place {
	x := list[of(&c.Result.Pairs[k])].Class
	out := make([]place, x.Period())
	for i := range out {
		out[i] = place{-1, -1}
	}
	var inner []int
	for q := range c.Result.Pairs {
		if y := list[of(&c.Result.Pairs[q])].Class; q != k && c.Result.Pairs[q].Note == "" && y.Period() < x.Period() && y.Depth <= x.Depth && !y.Described {
			inner = append(inner, q)
		}
	}
	slices.SortStableFunc(inner, func(a, b int) int { // the innermost comes last and stays
		return cmp.Compare(list[of(&c.Result.Pairs[b])].Period(), list[of(&c.Result.Pairs[a])].Period())
	})
	for pi := range x.Parts {
		p := &x.Parts[pi]
		first := slices.IndexFunc(p.Reps, func(s repeat.Span) bool { return s.Edits == 0 })
		if first < 0 {
			continue
		}
		for _, q := range inner {
			noteOwner(out, x.Period(), p, p.Reps[first], q, list[of(&c.Result.Pairs[q])].Class)
		}
		break
	}
	return out
}

// noteOwner notes which slots of a repetition stand in repetitions of a class.
func noteOwner(out []place, period int, p *structure.Part, rep repeat.Span, pair int, in *structure.Class) {
	for qi := range in.Parts {
		q := &in.Parts[qi]
		if q.Track != p.Track {
			continue
		}
		i, _ := slices.BinarySearchFunc(q.Reps, rep.Start, func(s repeat.Span, at int32) int { return cmp.Compare(s.Start, at) })
		for ; i < len(q.Reps) && q.Reps[i].End <= rep.End; i++ {
			if q.Reps[i].Edits > 0 {
				continue
			}
			for at := q.Reps[i].Start; at < q.Reps[i].End; at++ {
				out[(int(at-rep.Start)+p.Shift)%period] = place{pair, (int(at-q.Reps[i].Start) + q.Shift) % in.Period()}
			}
		}
	}
}

// mean adds up where the time of a mean step went, over all kinds of steps; of layers, where no steps are paired.
func (c *changes) mean(d *cycledoc.CompareDocument, order []int, inside []bool) cycledoc.Account {
	out := cycledoc.Account{Parts: []cycledoc.AccountPart{}}
	if len(order) == 0 {
		return out
	}
	depth := c.ListA[c.Result.Pairs[order[0]].A].Depth
	var a, b float64 // the times
	var countA, countB int64
	var whole []int // pairs of that level
	for _, k := range order {
		p := &c.Result.Pairs[k]
		if c.ListA[p.A].Depth == depth && !inside[k] {
			whole = append(whole, k)
			countA, countB = countA+c.ListA[p.A].Count, countB+c.ListB[p.B].Count
		}
	}
	for _, side := range []struct {
		only  []int
		list  []comparing.Compared
		count *int64
	}{{c.Result.OnlyA, c.ListA, &countA}, {c.Result.OnlyB, c.ListB, &countB}} {
		for _, i := range side.only {
			if side.list[i].Depth == depth {
				*side.count += side.list[i].Count
			}
		}
	}
	within := map[string]float64{}
	rows := map[string]int{}
	for _, k := range whole {
		p := &c.Result.Pairs[k]
		shareA, shareB := float64(c.ListA[p.A].Count)/float64(countA), float64(c.ListB[p.B].Count)/float64(countB)
		a += shareA * float64(p.ANS)
		b += shareB * float64(p.BNS)
		for _, x := range d.Pairs[slices.Index(order, k)].Account.Parts {
			within[x.Part] += shareB * float64(x.DeltaNS)
			rows[x.Part] += x.Rows
		}
	}
	for _, i := range c.Result.OnlyA {
		if x := c.ListA[i]; x.Depth == depth {
			a += float64(x.Count) / float64(countA) * x.Wall.Mean
		}
	}
	for _, i := range c.Result.OnlyB {
		if x := c.ListB[i]; x.Depth == depth {
			b += float64(x.Count) / float64(countB) * x.Wall.Mean
		}
	}
	var s sums
	sum, before := a, int64(math.Round(a))
	for _, p := range parts {
		if sum += within[p.part]; p.part == cycledoc.PartMix {
			sum = b
		}
		ns := int64(math.Round(sum))
		s.add(p.part, ns-before, rows[p.part])
		before = ns
	}
	return s.account(d.Pairs[0].Level, int64(math.Round(a)), before)
}
