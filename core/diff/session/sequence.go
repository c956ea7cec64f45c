package session

import (
	"slices"

	"github.com/prlx-go/prlx/core/recording/script"
)

// Aligning two sequences of launches. The exact method is dynamic programming over scores and quadratic; sessions have up to a
// hundred thousand launches. So what surely belongs together is taken off first: equal ends, then launches that occur once on each
// side, then common subsequences of equal launches. The exact method fills the gaps between.

// Bounds on the exact method: of one gap and of a whole Match, in cells of its table, about 2 ns each.
const (
	maxGapCells = 4 << 20
	maxCells    = 128 << 20
)

// maxDepth is how often a gap is divided by anchors. Each of the methods gets its turn once; a gap that is too large after that has
// nothing in common that they see.
const maxDepth = 8

// span is a range of positions [from, to).
type span struct{ from, to int }

func (s span) len() int { return s.to - s.from }

// anchor is a pair of positions that are taken to belong together.
type anchor struct{ a, b int }

// align pairs the launches of two ranges.
func (m *matcher) align(a, b span, depth int) {
	a, b = m.trim(a, b)
	if a.len() == 0 || b.len() == 0 {
		return
	}
	if m.affordable(a, b) {
		m.exact(a, b)
		return
	}
	if depth == maxDepth {
		return
	}
	content := func(t token) uint32 { return t.content }
	for _, find := range []func() []anchor{
		func() []anchor { return m.unique(a, b) },
		func() []anchor { return m.common(a, b, content) },
		func() []anchor { return m.common(a, b, func(t token) uint32 { return t.shape }) },
		func() []anchor { return m.common(a, b, func(t token) uint32 { return t.kernel }) },
	} {
		if anchors := find(); len(anchors) > 0 {
			m.between(a, b, anchors, depth+1)
			return
		}
	}
}

// affordable reports whether the exact method may be used, and pays for it.
func (m *matcher) affordable(a, b span) bool {
	cells := int64(a.len()+1) * int64(b.len()+1)
	if cells > m.gapCells || cells > m.cells {
		m.approximate = true
		return false
	}
	m.cells -= cells
	return true
}

// between pairs anchors and aligns what lies between them.
func (m *matcher) between(a, b span, anchors []anchor, depth int) {
	for _, at := range anchors {
		m.align(span{a.from, at.a}, span{b.from, at.b}, depth)
		m.pair(at.a, at.b)
		a.from, b.from = at.a+1, at.b+1
	}
	m.align(a, b, depth)
}

// trim pairs equal launches at both ends. No alignment scores more without them: a pair that agrees as much as its launches can
// agree with anything could only be replaced by one that is worth no more.
func (m *matcher) trim(a, b span) (span, span) {
	certain := func(x, y token) bool { return x.content == y.content } // known arguments, or unknown on both sides
	for a.len() > 0 && b.len() > 0 && certain(m.a[a.from], m.b[b.from]) {
		m.pair(a.from, b.from)
		a.from, b.from = a.from+1, b.from+1
	}
	for a.len() > 0 && b.len() > 0 && certain(m.a[a.to-1], m.b[b.to-1]) {
		a.to, b.to = a.to-1, b.to-1
		m.pair(a.to, b.to)
	}
	return a, b
}

// exact finds the pairs of two ranges that score most together. Of equally good ones it takes the pair of the first launches.
func (m *matcher) exact(a, b span) {
	width := b.len() + 1
	const skipA, skipB, both = 1, 2, 3
	steps := make([]uint8, a.len()*width)
	below, row := make([]int32, width), make([]int32, width)
	for i := a.len() - 1; i >= 0; i-- {
		x := m.a[a.from+i]
		row[width-1] = 0
		for k := width - 2; k >= 0; k-- {
			best, step := below[k], uint8(skipA)
			if row[k+1] > best {
				best, step = row[k+1], skipB
			}
			if score := x.score(m.b[b.from+k]); score > 0 && below[k+1]+score >= best {
				best, step = below[k+1]+score, both
			}
			row[k], steps[i*width+k] = best, step
		}
		below, row = row, below
	}
	for i, k := 0, 0; i < a.len() && k < b.len(); {
		switch steps[i*width+k] {
		case both:
			m.pair(a.from+i, b.from+k)
			i, k = i+1, k+1
		case skipB:
			k++
		default:
			i++
		}
	}
}

// unique returns the longest sequence of launches, in the order of both ranges, that occur once in each.
func (m *matcher) unique(a, b span) []anchor {
	type seen struct{ inA, inB, atA int }
	count := map[uint32]*seen{}
	for i := a.from; i < a.to; i++ {
		k := m.a[i].content
		if count[k] == nil {
			count[k] = &seen{}
		}
		count[k].inA++
		count[k].atA = i
	}
	for i := b.from; i < b.to; i++ {
		if s := count[m.b[i].content]; s != nil {
			s.inB++
		}
	}
	var candidates []anchor // ascending by b
	for i := b.from; i < b.to; i++ {
		if s := count[m.b[i].content]; s != nil && s.inA == 1 && s.inB == 1 {
			candidates = append(candidates, anchor{s.atA, i})
		}
	}
	return increasing(candidates)
}

// increasing returns the longest subsequence whose positions in A ascend as those in B do.
func increasing(from []anchor) []anchor {
	var tails []int // the last candidate of the best sequence of each length
	before := make([]int, len(from))
	for i, c := range from {
		at, _ := slices.BinarySearchFunc(tails, c.a, func(t, target int) int { return from[t].a - target })
		before[i] = -1
		if at > 0 {
			before[i] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, i)
		} else {
			tails[at] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]anchor, len(tails))
	for at, i := len(tails)-1, tails[len(tails)-1]; i >= 0; at, i = at-1, before[i] {
		out[at] = from[i]
	}
	return out
}

// common returns a common subsequence of two ranges, the longest one where that can be found in bounded time.
func (m *matcher) common(a, b span, key func(token) uint32) []anchor {
	keys := func(from []token) []uint32 {
		out := make([]uint32, len(from))
		for i, t := range from {
			out[i] = key(t)
		}
		return out
	}
	edits, _ := m.solver.Shortest(keys(m.a[a.from:a.to]), keys(m.b[b.from:b.to]), script.Budget{})
	var out []anchor
	atA, atB := 0, 0
	equal := func(toA int) {
		for ; atA < toA; atA, atB = atA+1, atB+1 {
			out = append(out, anchor{a.from + atA, b.from + atB})
		}
	}
	for _, e := range edits {
		equal(int(e.A))
		atA, atB = int(e.A+e.Del), int(e.B+e.Ins)
	}
	equal(a.len())
	return out
}
