package cycle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/compare"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// parts are the parts of an account in their order, with what people call them.
var parts = []struct{ part, text string }{
	{PartChanged, "changed kernels"},
	{PartAdded, "added kernels"},
	{PartRemoved, "removed kernels"},
	{PartIdle, "idle"},
	{PartOverlap, "overlap of kernels"},
	{PartInsignificant, "not significant"},
	{PartUntested, "too few repetitions to tell"},
	{PartUnaligned, "kernels that are not aligned"},
	{PartMix, "other kinds of steps"},
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

func (s *sums) account(of string, a, b int64) Account {
	out := Account{Of: of, ANS: a, BNS: b, DeltaNS: b - a, Parts: []AccountPart{}}
	for _, p := range parts {
		if s.ns[p.part] != 0 || s.rows[p.part] > 0 {
			out.Parts = append(out.Parts, AccountPart{Part: p.part, Text: p.text, DeltaNS: s.ns[p.part], Rows: s.rows[p.part]})
		}
	}
	return out
}

// sentence says an account in words, in one unit.
func (a *Account) sentence() string {
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
func partOf(row *compare.Row) string {
	switch {
	case row.Kind == compare.Added:
		return PartAdded
	case row.Kind == compare.Removed:
		return PartRemoved
	case row.Verdict == compare.Slower, row.Verdict == compare.Faster, row.Kind != compare.Exact && row.Kind != compare.Similar:
		return PartChanged
	case row.Verdict == compare.TooFew:
		return PartUntested
	}
	return PartInsignificant
}

// place is a slot of a pair of classes; pair -1 is none.
type place struct{ pair, slot int }

// account adds up where the time of every pair went, and lists what costs and what saves. A kernel of a step that stands in a layer is judged by
// the layer, which has more repetitions; its time is that of the step, so that the sums hold.
func (c *comparing) account(d *CompareDocument, order []int) {
	at := make([]int, len(order)) // place in the document of a pair of the result
	for n, k := range order {
		at[k] = n
	}
	inside := make([]bool, len(order)) // in the class of another pair
	owners := make([][2][]place, len(order))
	for k := range order {
		p := &c.result.Pairs[k]
		if c.listA[p.A].depth <= depthStep {
			owners[k] = [2][]place{c.owners(k, c.listA, func(p *compare.Pair) int { return p.A }), c.owners(k, c.listB, func(p *compare.Pair) int { return p.B })}
		}
		for _, o := range owners[k][0] {
			if o.pair >= 0 {
				inside[o.pair] = true
			}
		}
	}
	for n, k := range order {
		d.Pairs[n].Account = c.balance(d, n, k, at, owners[k], !inside[k] && c.listA[c.result.Pairs[k].A].depth <= depthStep)
	}
	d.Account = c.mean(d, order, inside)
}

// item is rows of a pair that one row of a pair inside of it, or the pair itself, judges.
type item struct{ pair, row int }

// balance makes the account of one pair. Of one that stands in no other it lists the costs.
func (c *comparing) balance(d *CompareDocument, n, k int, at []int, owners [2][]place, list bool) Account {
	p := &c.result.Pairs[k]
	var s sums
	level := d.Pairs[n].Level
	s.add(PartIdle, p.IdleBNS-p.IdleANS, 0)
	busy := (p.BNS - p.IdleBNS) - (p.ANS - p.IdleANS)
	if p.Note != "" {
		s.add(PartUnaligned, busy, 0)
		return s.account(level, p.ANS, p.BNS)
	}
	costs := map[item]float64{}
	var found []item
	for i := range p.Rows {
		row := &p.Rows[i]
		judge := c.judge(item{k, i}, owners)
		part := partOf(&c.result.Pairs[judge.pair].Rows[judge.row])
		d.Pairs[n].Rows[i].Part = part
		s.add(part, row.BNS-row.ANS, 1)
		busy -= row.BNS - row.ANS
		if part != PartInsignificant && part != PartUntested {
			if _, seen := costs[judge]; !seen {
				found = append(found, judge)
			}
			costs[judge] += float64(row.BNS - row.ANS)
		}
	}
	s.add(PartOverlap, busy, 0)
	if list {
		for _, x := range found {
			q := &c.result.Pairs[x.pair]
			row := &q.Rows[x.row]
			if row.Verdict == compare.Slower || row.Verdict == compare.Faster || row.Kind == compare.Added || row.Kind == compare.Removed {
				d.cost(Cost{Pair: at[x.pair], Row: x.row, Of: n, What: what(row, c.listA[q.A].class, c.listB[q.B].class), StepNS: costs[x] * c.perStep(p), Relative: row.Relative(), P: row.P})
			}
		}
		c.idle(d, n, k, at, owners)
	}
	return s.account(level, p.ANS, p.BNS)
}

// perStep is how many repetitions of a class a step has; of steps it is 1.
func (c *comparing) perStep(p *compare.Pair) float64 { return c.viewsA[p.A].PerStep }

func (d *CompareDocument) cost(x Cost) {
	x.Level, x.Class = d.Pairs[x.Pair].Level, d.Pairs[x.Pair].A.Name
	if x.StepNS > 0 {
		d.Regressions = append(d.Regressions, x)
	} else if x.StepNS < 0 {
		d.Improvements = append(d.Improvements, x)
	}
}

// idle lists the time between kernels where it changed by more than chance: of the pair, else of the classes in it.
func (c *comparing) idle(d *CompareDocument, n, k int, at []int, owners [2][]place) {
	p := &c.result.Pairs[k]
	changed := func(v compare.Verdict) bool { return v == compare.Slower || v == compare.Faster }
	add := func(k int, ns float64) {
		q := &c.result.Pairs[k]
		d.cost(Cost{Pair: at[k], Row: -1, Of: n, What: "time between kernels", StepNS: ns, Relative: q.Gap.Relative(), P: q.Gap.P})
	}
	if changed(p.Gap.Verdict) {
		add(k, float64(p.IdleBNS-p.IdleANS)*c.perStep(p))
		return
	}
	if p.Gap.Verdict == compare.Same {
		return
	}
	slots := map[int]int{}
	for _, o := range owners[0] {
		if o.pair >= 0 {
			slots[o.pair]++
		}
	}
	for q := range c.result.Pairs {
		x := &c.result.Pairs[q]
		if times := slots[q] / c.listA[x.A].period(); times > 0 && changed(x.Gap.Verdict) {
			add(q, float64(times)*float64(x.IdleBNS-x.IdleANS)*c.perStep(p))
		}
	}
}

// judge is the row that says whether a row changed: that of the innermost pair that all its kernels stand in, at one row of it.
func (c *comparing) judge(x item, owners [2][]place) item {
	row := &c.result.Pairs[x.pair].Rows[x.row]
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
	if out.pair < 0 || c.result.Pairs[out.pair].Rows[out.row].Kind != row.Kind {
		return x
	}
	return out
}

// rowOf is the row of a pair that a slot of one side is in.
func (c *comparing) rowOf(o place, side int) int {
	if c.rowsOf == nil {
		c.rowsOf = make([][2][]int, len(c.result.Pairs))
	}
	rows := &c.rowsOf[o.pair]
	if rows[0] == nil {
		p := &c.result.Pairs[o.pair]
		rows[0], rows[1] = make([]int, len(c.viewsA[p.A].Slots)), make([]int, len(c.viewsB[p.B].Slots))
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
func (c *comparing) owners(k int, list []compared, of func(*compare.Pair) int) []place {
	x := list[of(&c.result.Pairs[k])].class
	out := make([]place, x.period())
	for i := range out {
		out[i] = place{-1, -1}
	}
	var inner []int
	for q := range c.result.Pairs {
		if y := list[of(&c.result.Pairs[q])].class; q != k && c.result.Pairs[q].Note == "" && y.period() < x.period() && y.depth <= x.depth && !y.described {
			inner = append(inner, q)
		}
	}
	slices.SortStableFunc(inner, func(a, b int) int { // the innermost comes last and stays
		return cmp.Compare(list[of(&c.result.Pairs[b])].period(), list[of(&c.result.Pairs[a])].period())
	})
	for pi := range x.parts {
		p := &x.parts[pi]
		first := slices.IndexFunc(p.reps, func(s repeat.Span) bool { return s.Edits == 0 })
		if first < 0 {
			continue
		}
		for _, q := range inner {
			noteOwner(out, x.period(), p, p.reps[first], q, list[of(&c.result.Pairs[q])].class)
		}
		break
	}
	return out
}

// noteOwner notes which slots of a repetition stand in repetitions of a class.
func noteOwner(out []place, period int, p *part, rep repeat.Span, pair int, in *class) {
	for qi := range in.parts {
		q := &in.parts[qi]
		if q.track != p.track {
			continue
		}
		i, _ := slices.BinarySearchFunc(q.reps, rep.Start, func(s repeat.Span, at int32) int { return cmp.Compare(s.Start, at) })
		for ; i < len(q.reps) && q.reps[i].End <= rep.End; i++ {
			if q.reps[i].Edits > 0 {
				continue
			}
			for at := q.reps[i].Start; at < q.reps[i].End; at++ {
				out[(int(at-rep.Start)+p.shift)%period] = place{pair, (int(at-q.reps[i].Start) + q.shift) % in.period()}
			}
		}
	}
}

// mean adds up where the time of a mean step went, over all kinds of steps; of layers, where no steps are paired.
func (c *comparing) mean(d *CompareDocument, order []int, inside []bool) Account {
	out := Account{Parts: []AccountPart{}}
	if len(order) == 0 {
		return out
	}
	depth := c.listA[c.result.Pairs[order[0]].A].depth
	var a, b float64 // the times
	var countA, countB int64
	var whole []int // pairs of that level
	for _, k := range order {
		p := &c.result.Pairs[k]
		if c.listA[p.A].depth == depth && !inside[k] {
			whole = append(whole, k)
			countA, countB = countA+c.listA[p.A].count, countB+c.listB[p.B].count
		}
	}
	for _, side := range []struct {
		only  []int
		list  []compared
		count *int64
	}{{c.result.OnlyA, c.listA, &countA}, {c.result.OnlyB, c.listB, &countB}} {
		for _, i := range side.only {
			if side.list[i].depth == depth {
				*side.count += side.list[i].count
			}
		}
	}
	within := map[string]float64{}
	rows := map[string]int{}
	for _, k := range whole {
		p := &c.result.Pairs[k]
		shareA, shareB := float64(c.listA[p.A].count)/float64(countA), float64(c.listB[p.B].count)/float64(countB)
		a += shareA * float64(p.ANS)
		b += shareB * float64(p.BNS)
		for _, x := range d.Pairs[slices.Index(order, k)].Account.Parts {
			within[x.Part] += shareB * float64(x.DeltaNS)
			rows[x.Part] += x.Rows
		}
	}
	for _, i := range c.result.OnlyA {
		if x := c.listA[i]; x.depth == depth {
			a += float64(x.count) / float64(countA) * x.wall.Mean
		}
	}
	for _, i := range c.result.OnlyB {
		if x := c.listB[i]; x.depth == depth {
			b += float64(x.count) / float64(countB) * x.wall.Mean
		}
	}
	var s sums
	sum, before := a, int64(math.Round(a))
	for _, p := range parts {
		if sum += within[p.part]; p.part == PartMix {
			sum = b
		}
		ns := int64(math.Round(sum))
		s.add(p.part, ns-before, rows[p.part])
		before = ns
	}
	return s.account(d.Pairs[0].Level, int64(math.Round(a)), before)
}
