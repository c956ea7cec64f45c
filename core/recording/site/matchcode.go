package site

import (
	"slices"
	"sort"
	"strconv"
)

// traits are what of the sites of a table is compared, as numbers that both tables share.
type traits struct {
	exact  []int32 // kind, instruction, compare and shape
	chain  []int32 // functions of the chain
	inner  []int32 // innermost function
	outer  []int32 // outermost function
	shaped bool    // every site has a shape, so the table is in the order of the code
}

// interner gives equal texts equal numbers.
type interner map[string]int32

func (n interner) number(text []byte) int32 {
	if id, ok := n[string(text)]; ok {
		return id
	}
	id := int32(len(n))
	n[string(text)] = id
	return id
}

func (n interner) traits(t *Table) traits {
	x := traits{shaped: t.Len() > 0}
	var b []byte
	for i := range t.Len() {
		s := t.At(i)
		x.shaped = x.shaped && s.Shape != 0
		b = append(append(b[:0], 'e', byte(s.Kind), byte(s.Compare)), s.Text...)
		x.exact = append(x.exact, n.number(strconv.AppendUint(append(b, 0), uint64(s.Shape), 10)))
		b = append(append(b[:0], 'c'), chainText(s, 0)...)
		x.chain = append(x.chain, n.number(b))
		inner, outer := "", ""
		if len(s.Chain) > 0 {
			inner, outer = s.Chain[0].Function, s.Chain[len(s.Chain)-1].Function
		}
		x.inner = append(x.inner, n.number(append(append(b[:0], 'f'), inner...)))
		x.outer = append(x.outer, n.number(append(append(b[:0], 'f'), outer...)))
	}
	return x
}

// byCode pairs the sites of two tables that are in the order of the code and say what each instruction computes. Equal code is paired
// one by one. In other code, computations that either side has once are fixed first, and what lies between them is aligned. What is
// left then and computes the same has moved.
func (m *matcher) byCode() {
	if slices.Equal(m.ta.exact, m.tb.exact) {
		for i := range m.aToB {
			m.pair(i, i, m.sure(i, i, byCode), false)
		}
		return
	}
	as, bs := upTo(m.a.Len()), upTo(m.b.Len())
	m.fix(m.once(as, bs, m.exactA, m.exactB))
	m.pieces(as, bs, m.inOrder())
	m.leftovers(m.exactA, m.exactB, true)
	m.leftovers(m.similarA, m.similarB, false)
	m.markMoved()
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (m *matcher) exactA(i int) int32 { return m.ta.exact[i] }
func (m *matcher) exactB(j int) int32 { return m.tb.exact[j] }

func (m *matcher) similarA(i int) int32 { return m.similar(m.a.At(i), m.ta.chain[i]) }
func (m *matcher) similarB(j int) int32 { return m.similar(m.b.At(j), m.tb.chain[j]) }

// similar is a number for an instruction and its chain of functions, whatever it computes.
func (m *matcher) similar(s *Site, chain int32) int32 {
	b := append([]byte{'s', byte(s.Kind), byte(s.Compare)}, s.Text...)
	return m.names.number(strconv.AppendInt(append(b, 0), int64(chain), 10))
}

// several stands for sites of one number of which there is more than one.
const several = -1

// once finds the unmatched sites whose number stands once in as and once in bs.
func (m *matcher) once(as, bs []int, ofA, ofB func(int) int32) (pairs [][2]int) {
	inA, inB := map[int32]int{}, map[int32]int{}
	note := func(in map[int32]int, key int32, at int) {
		if _, taken := in[key]; taken {
			at = several
		}
		in[key] = at
	}
	for _, i := range as {
		if m.aToB[i] < 0 {
			note(inA, ofA(i), i)
		}
	}
	for _, j := range bs {
		if m.bToA[j] < 0 {
			note(inB, ofB(j), j)
		}
	}
	for _, i := range as {
		if j, ok := inB[ofA(i)]; ok && j != several && m.aToB[i] < 0 && inA[ofA(i)] == i {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	return pairs
}

func (m *matcher) fix(pairs [][2]int) {
	for _, p := range pairs {
		m.pair(p[0], p[1], m.sure(p[0], p[1], byCode), false)
	}
}

// inOrder is the longest list of pairs that ascends on both sides.
func (m *matcher) inOrder() (pairs [][2]int) {
	var ends []int // by length less one: the site of A that ends the best list so far
	before := make([]int, len(m.aToB))
	for i, j := range m.aToB {
		if j < 0 {
			continue
		}
		n := sort.Search(len(ends), func(k int) bool { return m.aToB[ends[k]] > j })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	if len(ends) == 0 {
		return nil
	}
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		pairs = append(pairs, [2]int{i, int(m.aToB[i])})
	}
	slices.Reverse(pairs)
	return pairs
}

// pieces aligns what lies between pairs that are in order. A piece has the pairs around it, because the distances to them count.
func (m *matcher) pieces(as, bs []int, fixed [][2]int) {
	for k := 0; k <= len(fixed); k++ {
		fromA, fromB, toA, toB := as[0], bs[0], as[len(as)-1], bs[len(bs)-1]
		if k > 0 {
			fromA, fromB = fixed[k-1][0], fixed[k-1][1]
		}
		if k < len(fixed) {
			toA, toB = fixed[k][0], fixed[k][1]
		}
		pieceA, freeA := m.piece(fromA, toA, m.aToB, k > 0, k < len(fixed))
		pieceB, freeB := m.piece(fromB, toB, m.bToA, k > 0, k < len(fixed))
		if freeA > 0 && freeB > 0 {
			m.align(byOrder, pieceA, pieceB)
		}
	}
}

// piece lists the sites from one place to another that have no partner yet, and the ends where those are fixed.
func (m *matcher) piece(from, to int, partners []int32, first, last bool) (list []int, free int) {
	for at := from; at <= to; at++ {
		switch {
		case partners[at] < 0:
			list, free = append(list, at), free+1
		case first && at == from, last && at == to:
			list = append(list, at)
		}
	}
	return list, free
}

// leftovers pairs what is still free and has the same number, in its order. Unless it may be repeated,
// only what stands once on either side is paired.
func (m *matcher) leftovers(ofA, ofB func(int) int32, repeated bool) {
	as, bs := upTo(m.a.Len()), upTo(m.b.Len())
	m.fix(m.once(as, bs, ofA, ofB))
	if !repeated {
		return
	}
	free := map[int32][]int{}
	for _, j := range bs {
		if m.bToA[j] < 0 {
			free[ofB(j)] = append(free[ofB(j)], j)
		}
	}
	for _, i := range as {
		if queue := free[ofA(i)]; m.aToB[i] < 0 && len(queue) > 0 {
			m.pair(i, queue[0], m.sure(i, queue[0], byCode), len(queue) > 1)
			free[ofA(i)] = queue[1:]
		}
	}
}

// markMoved marks the pairs that stand in another order than most.
func (m *matcher) markMoved() {
	for i, j := range m.aToB {
		m.moved[i] = j >= 0
	}
	for _, p := range m.inOrder() {
		m.moved[p[0]] = false
	}
}
