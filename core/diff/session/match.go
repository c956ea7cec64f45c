package session

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/recording/script"
)

// How a launch of A was recognised in B, from the surest on.
const (
	ByArguments = "arguments" // kernel, grid, block and arguments agree
	byShape     = "shape"     // kernel, grid and block agree; the arguments of one side are not known
	byPlace     = "place"     // kernel, grid and block agree, the arguments differ: the place in the sequence decides
	ByKernel    = "kernel"    // the same kernel at this place with another grid or block
	ByContent   = "content"   // kernel, grid, block and arguments agree, elsewhere in the sequence
)

// matched is one launch of A and the same of B, by position in each session.
type matched struct {
	A, B int
	By   string
}

// matching says which launches of two sessions are the same.
type matching struct {
	Pairs        []matched // ascending by A
	OnlyA, OnlyB []int     // ascending: missing from B, inserted in B
	Approximate  bool      // the sessions were too different for the best alignment; this is a good one
}

// The score of a pair. Four launches of another grid are worth one that agrees; a launch that has no partner scores nothing.
const (
	scoreArguments = 8
	scoreShape     = 7
	scorePlace     = 6
	scoreKernel    = 2
)

// token is a launch as numbers: equal numbers mean equal launches.
type token struct {
	kernel    uint32
	shape     uint32 // kernel, grid and block
	content   uint32 // kernel, grid, block and arguments
	arguments uint64 // 0 unknown
}

// score is what pairing two launches is worth, 0 when they must not be paired.
func (t token) score(o token) int32 {
	switch {
	case t.kernel != o.kernel:
		return 0
	case t.shape != o.shape:
		return scoreKernel
	case t.arguments == 0 || o.arguments == 0:
		return scoreShape
	case t.arguments == o.arguments:
		return scoreArguments
	}
	return scorePlace
}

// match aligns the launches of two sessions: it finds the pairs, in the order of both, that score most. Insertions and missing
// launches therefore shift nothing. What is left over and tells itself apart is then paired out of order (ByContent).
func match(a, b *Session) matching {
	m := &matcher{cells: maxCells, gapCells: maxGapCells}
	m.tokenize(a, b)
	return m.match()
}

func (m *matcher) match() matching {
	m.align(span{0, len(m.a)}, span{0, len(m.b)}, 0)
	slices.SortFunc(m.pairs, func(x, y matched) int { return cmp.Compare(x.A, y.A) })
	m.leftOver()
	m.moved()
	return matching{Pairs: m.pairs, OnlyA: m.onlyA, OnlyB: m.onlyB, Approximate: m.approximate}
}

// matcher is the state of one Match.
type matcher struct {
	a, b         []token
	pairs        []matched
	onlyA, onlyB []int
	cells        int64 // of the exact method that may still be spent
	gapCells     int64 // of it on one gap
	approximate  bool
	solver       script.Solver
}

func (m *matcher) tokenize(a, b *Session) {
	type shape struct {
		kernel      string
		grid, block [3]uint32
	}
	type content struct {
		shape
		arguments uint64
	}
	kernels, shapes, contents := map[string]uint32{}, map[shape]uint32{}, map[content]uint32{}
	tokens := func(s *Session) []token {
		out := make([]token, len(s.Launches))
		for i := range s.Launches {
			l := &s.Launches[i]
			is := shape{l.Kernel, l.Grid, l.Block}
			out[i] = token{
				kernel: number(kernels, l.Kernel), shape: number(shapes, is), content: number(contents, content{is, l.ArgumentDigest}),
				arguments: l.ArgumentDigest,
			}
		}
		return out
	}
	m.a, m.b = tokens(a), tokens(b)
}

// number gives equal keys equal numbers.
func number[K comparable](known map[K]uint32, key K) uint32 {
	n, ok := known[key]
	if !ok {
		n = uint32(len(known))
		known[key] = n
	}
	return n
}

func (m *matcher) pair(a, b int) {
	by := map[int32]string{scoreArguments: ByArguments, scoreShape: byShape, scorePlace: byPlace, scoreKernel: ByKernel}[m.a[a].score(m.b[b])]
	m.pairs = append(m.pairs, matched{A: a, B: b, By: by})
}

// leftOver lists what has no partner.
func (m *matcher) leftOver() {
	inB := make([]bool, len(m.b))
	next := 0
	for _, p := range m.pairs {
		for ; next < p.A; next++ {
			m.onlyA = append(m.onlyA, next)
		}
		next = p.A + 1
		inB[p.B] = true
	}
	for ; next < len(m.a); next++ {
		m.onlyA = append(m.onlyA, next)
	}
	for i, has := range inB {
		if !has {
			m.onlyB = append(m.onlyB, i)
		}
	}
}

// moved pairs launches that have no partner in order but are surely the same: the arguments are known and agree, or there is just
// one launch of this kernel, grid and block on each side.
func (m *matcher) moved() {
	single := map[uint32]int{}
	for _, t := range m.a {
		single[t.shape]++
	}
	for _, t := range m.b {
		single[t.shape] += 1 << 32
	}
	key := func(t token) (uint64, bool) {
		if single[t.shape] == 1<<32+1 {
			return 1<<32 | uint64(t.shape), true
		}
		return uint64(t.content), t.arguments != 0
	}
	waiting := map[uint64][]int{}
	for _, i := range m.onlyB {
		if k, ok := key(m.b[i]); ok {
			waiting[k] = append(waiting[k], i)
		}
	}
	taken := map[int]bool{}
	m.onlyA = slices.DeleteFunc(m.onlyA, func(i int) bool {
		k, ok := key(m.a[i])
		if !ok || len(waiting[k]) == 0 {
			return false
		}
		m.pairs = append(m.pairs, matched{A: i, B: waiting[k][0], By: ByContent})
		taken[waiting[k][0]] = true
		waiting[k] = waiting[k][1:]
		return true
	})
	m.onlyB = slices.DeleteFunc(m.onlyB, func(i int) bool { return taken[i] })
	slices.SortFunc(m.pairs, func(x, y matched) int { return cmp.Compare(x.A, y.A) })
}
