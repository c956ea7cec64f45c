package comparing

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

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
	for _, p := range cycledoc.Parts {
		if s.ns[p.Part] != 0 || s.rows[p.Part] > 0 {
			out.Parts = append(out.Parts, cycledoc.AccountPart{Part: p.Part, Text: p.Text, DeltaNS: s.ns[p.Part], Rows: s.rows[p.Part]})
		}
	}
	return out
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

// Accounts say where the time of every pair went, and what costs and saves.
type Accounts struct {
	Order  []int              // pairs in the order of documents: steps first, then by the time in a
	Of     []cycledoc.Account // by pair
	Parts  [][]string         // by pair and row: the part of the account that the row is in; nil where classes are not aligned
	Costs  []Cost             // of pairs that stand in no other one
	Inside []bool             // by pair: it stands in another one
	Judges []Judge            // the rows that judge those of pairs that stand in no other one, each once
	Mean   cycledoc.Account   // of a mean step
}

// Judge is a row of a pair that says whether kernels of a step changed.
type Judge struct {
	Pair, Row int
	PerStep   float64 // how often a step has it
}

// Cost is a row of a pair, or the time between its kernels, that costs or saves time.
type Cost struct {
	Pair, Row   int // places; row -1 is the time between kernels
	Of          int // pair whose account it is a part of
	StepNS      float64
	Relative, P float64
}

// accounting makes the accounts of a comparison.
type accounting struct {
	*Comparison
	rowsOf [][2][]int // by pair and side: the row that a slot is in
	out    *Accounts
}

// Accounts adds up where the time of every pair went, and lists what costs and what saves. A kernel of a step that stands in a layer is judged by
// the layer, which has more repetitions; its time is that of the step, so that the sums hold.
func (c *Comparison) Accounts() *Accounts {
	n := len(c.Result.Pairs)
	a := &accounting{Comparison: c, out: &Accounts{Order: c.order(), Of: make([]cycledoc.Account, n), Parts: make([][]string, n)}}
	inside := make([]bool, n) // in the class of another pair
	owners := make([][2][]place, n)
	for k := range n {
		p := &c.Result.Pairs[k]
		if c.ListA[p.A].Depth <= structure.DepthStep {
			owners[k] = [2][]place{a.owners(k, c.ListA, func(p *pairs.Pair) int { return p.A }), a.owners(k, c.ListB, func(p *pairs.Pair) int { return p.B })}
		}
		for _, o := range owners[k][0] {
			if o.pair >= 0 {
				inside[o.pair] = true
			}
		}
	}
	for _, k := range a.out.Order {
		a.out.Of[k] = a.balance(k, owners[k], !inside[k] && c.ListA[c.Result.Pairs[k].A].Depth <= structure.DepthStep)
	}
	a.out.Mean, a.out.Inside = a.mean(inside), inside
	return a.out
}

// order is that of the pairs in documents: steps first, then by the time in a.
func (c *Comparison) order() []int {
	order := make([]int, len(c.Result.Pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := c.ListA[c.Result.Pairs[x].A], c.ListA[c.Result.Pairs[y].A]
		if s := a.Depth == structure.DepthStep; s != (b.Depth == structure.DepthStep) {
			if s {
				return -1
			}
			return 1
		}
		return cmp.Or(-cmp.Compare(a.Wall.Mean*float64(a.Count), b.Wall.Mean*float64(b.Count)), cmp.Compare(x, y))
	})
	return order
}

// levelName is the level of a pair.
func (c *Comparison) levelName(k int) string { return c.ListA[c.Result.Pairs[k].A].LevelName() }

// item is rows of a pair that one row of a pair inside of it, or the pair itself, judges.
type item struct{ pair, row int }

// balance makes the account of one pair. Of one that stands in no other it lists the costs.
func (c *accounting) balance(k int, owners [2][]place, list bool) cycledoc.Account {
	p := &c.Result.Pairs[k]
	var s sums
	level := c.levelName(k)
	s.add(cycledoc.PartIdle, p.IdleBNS-p.IdleANS, 0)
	busy := (p.BNS - p.IdleBNS) - (p.ANS - p.IdleANS)
	if p.Note != "" {
		s.add(cycledoc.PartUnaligned, busy, 0)
		return s.account(level, p.ANS, p.BNS)
	}
	costs := map[item]float64{}
	var found []item
	times := map[item]int{}
	var judges []item
	c.out.Parts[k] = make([]string, len(p.Rows))
	for i := range p.Rows {
		row := &p.Rows[i]
		judge := c.judge(item{k, i}, owners)
		if times[judge]++; times[judge] == 1 {
			judges = append(judges, judge)
		}
		part := partOf(&c.Result.Pairs[judge.pair].Rows[judge.row])
		c.out.Parts[k][i] = part
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
		for _, x := range judges {
			c.out.Judges = append(c.out.Judges, Judge{x.pair, x.row, float64(times[x]) * c.perStep(p)})
		}
		for _, x := range found {
			q := &c.Result.Pairs[x.pair]
			row := &q.Rows[x.row]
			if row.Verdict == pairs.Slower || row.Verdict == pairs.Faster || row.Kind == pairs.Added || row.Kind == pairs.Removed {
				c.cost(Cost{Pair: x.pair, Row: x.row, Of: k, StepNS: costs[x] * c.perStep(p), Relative: row.Relative(), P: row.P})
			}
		}
		c.idle(k, owners)
	}
	return s.account(level, p.ANS, p.BNS)
}

// perStep is how many repetitions of a class a step has; of steps it is 1.
func (c *accounting) perStep(p *pairs.Pair) float64 { return c.ViewsA[p.A].PerStep }

func (c *accounting) cost(x Cost) {
	if x.StepNS < 0 || x.StepNS > 0 {
		c.out.Costs = append(c.out.Costs, x)
	}
}

// idle lists the time between kernels where it changed by more than chance: of the pair, else of the classes in it.
func (c *accounting) idle(k int, owners [2][]place) {
	p := &c.Result.Pairs[k]
	changed := func(v pairs.Verdict) bool { return v == pairs.Slower || v == pairs.Faster }
	add := func(q int, ns float64) {
		gap := &c.Result.Pairs[q].Gap
		c.cost(Cost{Pair: q, Row: -1, Of: k, StepNS: ns, Relative: gap.Relative(), P: gap.P})
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
func (c *accounting) judge(x item, owners [2][]place) item {
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
func (c *accounting) rowOf(o place, side int) int {
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
func (c *accounting) owners(k int, list []Compared, of func(*pairs.Pair) int) []place {
	x := list[of(&c.Result.Pairs[k])].Class
	out := make([]place, x.Period())
	for i := range out {
		out[i] = place{-1, -1}
	}
	var inner []int
	for q := range c.Result.Pairs {
		if y := list[of(&c.Result.Pairs[q])].Class; q != k && c.Result.Pairs[q].Note == "" && y.Period() < x.Period() && y.Depth <= x.Depth && !y.Uplifter {
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
func (c *accounting) mean(inside []bool) cycledoc.Account {
	order := c.out.Order
	out := cycledoc.Account{Parts: []cycledoc.AccountPart{}}
	if len(order) == 0 {
		return out
	}
	depth := c.ListA[c.Result.Pairs[order[0]].A].Depth
	var a, b float64                    // the times
	whole := make([]int, 0, len(order)) // pairs of that level
	for _, k := range order {
		if c.ListA[c.Result.Pairs[k].A].Depth == depth && !inside[k] {
			whole = append(whole, k)
		}
	}
	whole, onlyA, onlyB := c.onMain(whole, atDepth(c.ListA, c.Result.OnlyA, depth), atDepth(c.ListB, c.Result.OnlyB, depth))
	var countA, countB int64
	for _, k := range whole {
		p := &c.Result.Pairs[k]
		countA, countB = countA+c.ListA[p.A].Count, countB+c.ListB[p.B].Count
	}
	for _, i := range onlyA {
		countA += c.ListA[i].Count
	}
	for _, i := range onlyB {
		countB += c.ListB[i].Count
	}
	within := map[string]float64{}
	rows := map[string]int{}
	for _, k := range whole {
		p := &c.Result.Pairs[k]
		shareA, shareB := float64(c.ListA[p.A].Count)/float64(countA), float64(c.ListB[p.B].Count)/float64(countB)
		a += shareA * float64(p.ANS)
		b += shareB * float64(p.BNS)
		for _, x := range c.out.Of[k].Parts {
			within[x.Part] += shareB * float64(x.DeltaNS)
			rows[x.Part] += x.Rows
		}
	}
	for _, i := range onlyA {
		a += float64(c.ListA[i].Count) / float64(countA) * c.ListA[i].Wall.Mean
	}
	for _, i := range onlyB {
		b += float64(c.ListB[i].Count) / float64(countB) * c.ListB[i].Wall.Mean
	}
	var s sums
	sum, before := a, int64(math.Round(a))
	for _, p := range cycledoc.Parts {
		if sum += within[p.Part]; p.Part == cycledoc.PartMix {
			sum = b
		}
		ns := int64(math.Round(sum))
		s.add(p.Part, ns-before, rows[p.Part])
		before = ns
	}
	return s.account(c.levelName(order[0]), int64(math.Round(a)), before)
}

// atDepth are the classes of a list that stand on a level.
func atDepth(list []Compared, of []int, depth structure.Depth) []int {
	var out []int
	for _, i := range of {
		if list[i].Depth == depth {
			out = append(out, i)
		}
	}
	return out
}

// onMain leaves out what stands in streams beside the main one: it runs at the same time as the steps of its device, and is none of them. Where
// nothing else is there, all of it stays.
func (c *accounting) onMain(whole, onlyA, onlyB []int) (pairsLeft, leftA, leftB []int) {
	asideA := func(i int) bool { return c.A.Aside(c.ListA[i].Class) }
	asideB := func(i int) bool { return c.B.Aside(c.ListB[i].Class) }
	aside := func(k int) bool { p := &c.Result.Pairs[k]; return asideA(p.A) && asideB(p.B) }
	for _, x := range []struct {
		of    []int
		aside func(int) bool
		left  *[]int
	}{{whole, aside, &pairsLeft}, {onlyA, asideA, &leftA}, {onlyB, asideB, &leftB}} {
		for _, i := range x.of {
			if !x.aside(i) {
				*x.left = append(*x.left, i)
			}
		}
	}
	if len(pairsLeft)+len(leftA)+len(leftB) == 0 {
		return whole, onlyA, onlyB
	}
	return pairsLeft, leftA, leftB
}
