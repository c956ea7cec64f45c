// Package pairs says what changed between the cycles of two runs: which class of one is which of the other, which kernel is which, what
// was fused or split, and which times changed by more than chance.
package pairs

import (
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
)

// Slot is one kernel of a cycle.
type Slot struct {
	Name          string
	Strict, Loose string   // keys, as signature makes them
	Also          []string // strict keys of other repetitions
	NS            []int64  // one time a repetition
}

// ClassView is what is compared of one class of cycles.
type ClassView struct {
	ID      uint64
	Level   int
	Phase   string // "" or cycledoc.PhaseUnknown: matches any
	Slots   []Slot
	WallNS  []int64 // one a repetition: up to the start of what follows at once
	GapNS   []int64
	PerStep float64 // repetitions a step; 0 counts as 1

	// Open are the repetitions that nothing follows at once: nobody knows the pause behind them, and WallNS ends with their last kernel. nil: none.
	Open            []bool
	EndNS, EndGapNS []int64 // the same as WallNS and GapNS, up to the end of the last kernel; nil where Open is
}

// Options of a comparison. The zero value means the defaults.
type Options struct {
	Alpha      float64 // chance of a false change in one class; 0 means DefaultAlpha
	MinChange  float64 // smallest change worth a word, as a share; 0 means DefaultMinChange
	Similarity float64 // least share of common kernels of two matched classes; 0 means DefaultSimilarity
	Baselines  *Baselines
}

func (o Options) filled() Options {
	if o.Alpha <= 0 {
		o.Alpha = DefaultAlpha
	}
	if o.MinChange <= 0 {
		o.MinChange = DefaultMinChange
	}
	if o.Similarity <= 0 {
		o.Similarity = DefaultSimilarity
	}
	return o
}

// Kind says how slots of two runs belong together.
type Kind string

// The kinds of rows.
const (
	Exact    Kind = "exact"    // the same strict key
	Similar  Kind = "similar"  // the same loose key
	Fused    Kind = "fused"    // several of a, one of b in their place
	Split    Kind = "split"    // one of a, several of b in its place
	Replaced Kind = "replaced" // as many, or several for several, in one place
	Removed  Kind = "removed"
	Added    Kind = "added"
)

// Row is slots of a and of b that belong together.
type Row struct {
	Kind   Kind
	A, B   []int   // slots
	Change         // of the sum of the slots
	StepNS float64 // what the change costs a step; Removed and Added count whole

	ANS, BNS int64 // the means in whole ns, rounded so that the rows of a pair add up
}

// Pair is two classes that belong together; A and B are positions in the inputs.
type Pair struct {
	A, B       int
	Similarity float64 // 2*common / (slots of a + slots of b), by loose keys
	Rotation   int     // b starts at this slot when a starts at 0
	Rows       []Row
	Wall, Gap  Change
	Note       string // why there are no rows

	// The mean of the wall times and of the idle time in them, in whole ns. The rest of a wall time is that of its kernels, less what ran beside others.
	ANS, BNS         int64
	IdleANS, IdleBNS int64
}

// ref names one row.
type ref struct{ Pair, Row int }

// Comparison is the result. Regressions are the rows that cost a step time, most expensive first; Improvements those that save it.
type Comparison struct {
	Pairs                     []Pair
	OnlyA, OnlyB              []int
	Regressions, Improvements []ref

	alpha float64
}

// keys are the keys of one class as numbers that both classes share.
type keys struct{ strict, loose []int32 }

func number(a, b []Slot) (keys, keys) {
	ids := [2]map[string]int32{{}, {}}
	id := func(which int, key string) int32 {
		n, ok := ids[which][key]
		if !ok {
			n = int32(len(ids[which]))
			ids[which][key] = n
		}
		return n
	}
	of := func(slots []Slot) (k keys) {
		for _, s := range slots {
			k.strict = append(k.strict, id(0, s.Strict))
			k.loose = append(k.loose, id(1, s.Loose))
		}
		return k
	}
	return of(a), of(b)
}

// Classes compares the classes of two runs.
func Classes(a, b []ClassView, opt Options) *Comparison {
	opt = opt.filled()
	c := &Comparison{alpha: opt.Alpha}
	matched := match(a, b, opt)
	for i := range a {
		j, ok := matched[i]
		if !ok {
			c.OnlyA = append(c.OnlyA, i)
			continue
		}
		c.Pairs = append(c.Pairs, comparePair(a, b, i, j, opt))
	}
	taken := map[int]bool{}
	for _, j := range matched {
		taken[j] = true
	}
	for j := range b {
		if !taken[j] {
			c.OnlyB = append(c.OnlyB, j)
		}
	}
	c.rank()
	return c
}

func (c *Comparison) rank() {
	for p, pair := range c.Pairs {
		for r, row := range pair.Rows {
			switch {
			case row.Verdict == Slower || row.Kind == Added:
				c.Regressions = append(c.Regressions, ref{p, r})
			case row.Verdict == Faster || row.Kind == Removed:
				c.Improvements = append(c.Improvements, ref{p, r})
			}
		}
	}
	cost := func(x ref) float64 { return c.Pairs[x.Pair].Rows[x.Row].StepNS }
	by := func(sign float64) func(x, y ref) int {
		return func(x, y ref) int {
			switch d := sign * (cost(x) - cost(y)); {
			case d < 0:
				return -1
			case d > 0:
				return 1
			}
			return 0
		}
	}
	slices.SortStableFunc(c.Regressions, by(-1))
	slices.SortStableFunc(c.Improvements, by(1))
}

// match pairs classes: equal ids first, then the most alike of one level, phases that agree before others; each class once. Levels that differ, for
// what is a layer in one run may be called a block in the other, and phases that contradict each other are paired under one id only.
func match(a, b []ClassView, opt Options) map[int]int {
	type candidate struct {
		i, j  int
		id    bool
		alike float64
	}
	var all []candidate
	for i := range a {
		for j := range b {
			id := a[i].ID == b[j].ID && a[i].ID != 0
			if a[i].Level != b[j].Level && !id || len(a[i].Slots) == 0 || len(b[j].Slots) == 0 {
				continue
			}
			c := candidate{i, j, id, alike(a[i].Slots, b[j].Slots)}
			if c.alike >= opt.Similarity && (c.id || agree(a[i].Phase, b[j].Phase)) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y candidate) int {
		switch {
		case x.id != y.id && x.id, x.id == y.id && x.alike > y.alike:
			return -1
		case x.id != y.id, x.alike < y.alike:
			return 1
		}
		return 0
	})
	out, taken := map[int]int{}, map[int]bool{}
	for _, c := range all {
		if _, done := out[c.i]; !done && !taken[c.j] {
			out[c.i], taken[c.j] = c.j, true
		}
	}
	return out
}

func agree(a, b string) bool {
	return a == b || a == "" || b == "" || a == cycledoc.PhaseUnknown || b == cycledoc.PhaseUnknown
}

// alike is the share of kernels that two classes have in common by loose keys, in any order.
func alike(a, b []Slot) float64 {
	count := map[string]int{}
	for _, s := range a {
		count[s.Loose]++
	}
	common := 0
	for _, s := range b {
		if count[s.Loose] > 0 {
			count[s.Loose]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

func comparePair(as, bs []ClassView, i, j int, opt Options) Pair {
	a, b := &as[i], &bs[j]
	x, y := bothKnown(a, b)
	wallA, gapA, wallB, gapB := compared(a, b)
	p := Pair{
		A: i, B: j, Similarity: alike(a.Slots, b.Slots), Wall: tested(wallA, wallB), Gap: tested(gapA, gapB),
		ANS: whole(sum(wallA), len(wallA)), BNS: whole(sum(wallB), len(wallB)),
	}
	p.IdleANS = p.ANS - whole(sum(wallA)-sum(gapA), len(wallA))
	p.IdleBNS = p.BNS - whole(sum(wallB)-sum(gapB), len(wallB))
	opt.noise(&p, a)
	judge([]*Change{&p.Wall}, func(int) (int, int) { return len(wallA), len(wallB) }, opt.Alpha, opt.MinChange)
	judge([]*Change{&p.Gap}, func(int) (int, int) { return len(gapA), len(gapB) }, opt.Alpha, opt.MinChange)
	if len(a.Slots) > maxPeriod || len(b.Slots) > maxPeriod {
		p.Note = "too long to align"
		return p
	}
	ka, kb := number(a.Slots, b.Slots)
	p.Rotation = rotation(ka, kb)
	p.Rows = rows(aligned(ka, kb, p.Rotation), a.Slots, b.Slots)
	var changes []*Change
	var reps [][2]int
	var sumA, sumB int64
	for r := range p.Rows {
		row := &p.Rows[r]
		all, beside := total(a.Slots, row.A), total(b.Slots, row.B)
		if row.Kind == Removed || row.Kind == Added {
			row.Change = Change{P: 1}
		} else {
			row.Change = tested(all, beside)
			row.Noise = opt.noiseOf(a, row.A)
			changes = append(changes, &row.Change)
			reps = append(reps, [2]int{len(all), len(beside)})
		}
		all, beside = among(all, x), among(beside, y) // those that the wall times are of
		row.MeanA, row.MeanB = mean(all), mean(beside)
		beforeA, beforeB := whole(sumA, len(wallA)), whole(sumB, len(wallB))
		sumA, sumB = sumA+sum(all), sumB+sum(beside)
		row.ANS, row.BNS = whole(sumA, len(wallA))-beforeA, whole(sumB, len(wallB))-beforeB
		row.StepNS = b.perStep()*row.MeanB - a.perStep()*row.MeanA
	}
	judge(changes, func(i int) (int, int) { return reps[i][0], reps[i][1] }, opt.Alpha, opt.MinChange)
	return p
}

// compared are the wall and idle times of two classes that are compared.
func compared(a, b *ClassView) (wallA, gapA, wallB, gapB []int64) {
	x, y := bothKnown(a, b)
	wallA, gapA = a.times(x)
	wallB, gapB = b.times(y)
	return wallA, gapA, wallB, gapB
}

// bothKnown are the known repetitions of two classes; nil for both where one has none.
func bothKnown(a, b *ClassView) (x, y []int) {
	if x, y = a.known(), b.known(); x == nil || y == nil {
		return nil, nil
	}
	return x, y
}

// known are the repetitions that something follows at once, whose time up to the border behind them is known; nil where there is none.
func (c *ClassView) known() []int {
	var out []int
	for i := range c.WallNS {
		if c.Open == nil || !c.Open[i] {
			out = append(out, i)
		}
	}
	return out
}

// times are the wall times and gaps of some repetitions up to the border behind them; of all up to the end of their kernels where which is nil.
func (c *ClassView) times(which []int) (wall, gap []int64) {
	if which == nil && c.Open != nil {
		return c.EndNS, c.EndGapNS
	}
	return among(c.WallNS, which), among(c.GapNS, which)
}

// among are the values at some places, or all where which is nil.
func among(values []int64, which []int) []int64 {
	if which == nil {
		return values
	}
	out := make([]int64, 0, len(which))
	for _, i := range which {
		if i < len(values) {
			out = append(out, values[i])
		}
	}
	return out
}

func (c *ClassView) perStep() float64 {
	if c.PerStep <= 0 {
		return 1
	}
	return c.PerStep
}

// total is the time of several slots, per repetition; repetitions that not all slots have are left out.
func total(slots []Slot, which []int) []int64 {
	var out []int64
	for i, s := range which {
		ns := slots[s].NS
		if i == 0 {
			out = slices.Clone(ns)
			continue
		}
		out = out[:min(len(out), len(ns))]
		for k := range out {
			out[k] += ns[k]
		}
	}
	return out
}

// rows makes rows of an alignment. What stands between two pairs belongs together; the end of a cycle is beside its start.
func rows(steps []pair, a, b []Slot) []Row {
	isPair := func(p pair) bool { return p.a >= 0 && p.b >= 0 }
	if at := slices.IndexFunc(steps, isPair); at > 0 {
		steps = slices.Concat(steps[at:], steps[:at])
	}
	var out []Row
	var open Row
	flush := func() {
		if len(open.A)+len(open.B) > 0 {
			open.Kind = kindOf(len(open.A), len(open.B))
			out = append(out, open)
			open = Row{}
		}
	}
	for _, s := range steps {
		if !isPair(s) {
			if s.a >= 0 {
				open.A = append(open.A, s.a)
			} else {
				open.B = append(open.B, s.b)
			}
			continue
		}
		flush()
		kind := Similar
		if a[s.a].sameKey(&b[s.b]) {
			kind = Exact
		}
		out = append(out, Row{Kind: kind, A: []int{s.a}, B: []int{s.b}})
	}
	flush()
	return out
}

// sameKey reports whether two slots have a strict key in common.
func (s *Slot) sameKey(o *Slot) bool {
	if s.Strict == o.Strict || slices.Contains(s.Also, o.Strict) || slices.Contains(o.Also, s.Strict) {
		return true
	}
	return slices.ContainsFunc(s.Also, func(k string) bool { return slices.Contains(o.Also, k) })
}

func kindOf(a, b int) Kind {
	switch {
	case b == 0:
		return Removed
	case a == 0:
		return Added
	case a > 1 && b == 1:
		return Fused
	case a == 1 && b > 1:
		return Split
	}
	return Replaced
}
