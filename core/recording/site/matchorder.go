package site

// maxAlign bounds the table of an alignment. In larger groups equal ends are paired first, then equal keys, and then the beginning is
// paired as it comes.
const maxAlign = 1 << 20

// Weights of an alignment. Another instruction at a line that may have moved is weak evidence; it is still more than none.
const (
	weightSame      = 64 // the same instruction, and where shapes are known the same computation
	weightAlike     = 40 // the same instruction, another computation
	weightUnknown   = 48 // no text to compare
	weightDifferent = 12 // another instruction
	weightChain     = 16 // the same chain of functions
	weightFunction  = 6  // the same innermost or outermost function: what was inlined from it is elsewhere now
	weightColumn    = 2  // the same column
	weightGap       = 4  // as many lines after the pair before it
)

// Lines and keys only decide among alignments that are otherwise as good: every pair of a group whose lines moved by one can have the
// key of its neighbour. So weights count in units that no number of equal keys makes up for.
const (
	unit      = int64(1) << 21
	weightKey = 1 // the same key
)

// weightFixed holds a pair that was made before: it is more than any other pair can have.
const weightFixed = int64(1) << 12

// aligned pairs sites of equal texts in their order.
func (m *matcher) aligned(how how, wantA, wantB func(*Site) bool, text func(*Site) string) {
	theirs := groups(m.b, m.bToA, wantB, text)
	for key, ours := range groups(m.a, m.aToB, wantA, text) {
		switch g := theirs[key]; {
		case len(g) == 0:
		case m.sameKeys(ours, g):
			for k := range ours {
				m.pair(ours[k], g[k], byKey, false)
			}
		default:
			m.align(how, ours, g)
		}
	}
}

// align pairs the sites of one function, or of a piece of the code, each side in its order.
func (m *matcher) align(how how, as, bs []int) {
	if len(as)*len(bs) > maxAlign {
		as, bs = m.endsFirst(how, as, bs)
	}
	if len(as)*len(bs) > maxAlign {
		as, bs = m.keysFirst(as, bs)
	}
	for len(as)*len(bs) > maxAlign {
		if m.score(as[0], bs[0]) == 0 {
			return
		}
		m.pair(as[0], bs[0], how, true)
		as, bs = as[1:], bs[1:]
	}
	l := &alignment{matcher: m, as: as, bs: bs}
	l.backward()
	l.forward()
	l.take(how)
}

// endsFirst pairs the beginnings and the ends of two lists that have the same instructions, and returns what lies between.
func (m *matcher) endsFirst(how how, as, bs []int) (restA, restB []int) {
	same := func(i, j int) bool {
		return m.ta.exact[i] == m.tb.exact[j] && m.ta.chain[i] == m.tb.chain[j]
	}
	pair := func(i, j int) {
		if m.aToB[i] < 0 && m.bToA[j] < 0 {
			m.pair(i, j, m.sure(i, j, how), len(as) != len(bs))
		}
	}
	first, last := 0, 0
	for first < min(len(as), len(bs)) && same(as[first], bs[first]) {
		pair(as[first], bs[first])
		first++
	}
	for last < min(len(as), len(bs))-first && same(as[len(as)-1-last], bs[len(bs)-1-last]) {
		last++
		pair(as[len(as)-last], bs[len(bs)-last])
	}
	return as[first : len(as)-last], bs[first : len(bs)-last]
}

func (m *matcher) sameKeys(as, bs []int) bool {
	if len(as) != len(bs) {
		return false
	}
	for k := range as {
		if x := m.a.At(as[k]).Key; x == 0 || x != m.b.At(bs[k]).Key {
			return false
		}
	}
	return true
}

// keysFirst pairs equal keys and returns the others.
func (m *matcher) keysFirst(as, bs []int) (restA, restB []int) {
	for _, i := range as {
		if j, ok := m.b.ByKey(m.a.At(i).Key); ok && m.a.At(i).Key != 0 && m.bToA[j] < 0 {
			m.pair(i, j, byKey, false)
		} else {
			restA = append(restA, i)
		}
	}
	for _, j := range bs {
		if m.bToA[j] < 0 {
			restB = append(restB, j)
		}
	}
	return restA, restB
}

// sure is the surest way in which a pair that was found by its order can be said to be matched.
func (m *matcher) sure(i, j int, how how) how {
	x, y := m.a.At(i), m.b.At(j)
	switch {
	case x.Key != 0 && x.Key == y.Key:
		return byKey
	case chainText(x, withFiles|withLines) == chainText(y, withFiles|withLines):
		return byLines
	case x.Shape != 0 && m.ta.exact[i] == m.tb.exact[j]:
		return byCode
	}
	return how
}

// alignment pairs two lists so that the sum of weights is largest: a pair counts its score, and a gap when the pair before it is its
// neighbour on both sides and equally far away.
type alignment struct {
	*matcher
	as, bs []int
	suffix []int64 // best of as[i:] against bs[j:]
	paired []int64 // the same when as[i] and bs[j] are a pair
	prefix []int64 // best of as[:i] against bs[:j]
	ending []int64 // best of as[:i+1] against bs[:j+1] when as[i] and bs[j] are a pair
}

const impossible = int64(-1) << 60

func (l *alignment) at(i, j int) int { return i*(len(l.bs)+1) + j }

func (l *alignment) table() []int64 { return make([]int64, (len(l.as)+1)*(len(l.bs)+1)) }

func (l *alignment) backward() {
	l.suffix, l.paired = l.table(), l.table()
	for i := len(l.as) - 1; i >= 0; i-- {
		for j := len(l.bs) - 1; j >= 0; j-- {
			p := impossible
			if s := l.score(l.as[i], l.bs[j]); s > 0 {
				p = s + l.suffix[l.at(i+1, j+1)]
				if i+1 < len(l.as) && j+1 < len(l.bs) {
					p = max(p, s+l.paired[l.at(i+1, j+1)]+l.gap(i+1, j+1))
				}
			}
			l.paired[l.at(i, j)] = p
			l.suffix[l.at(i, j)] = max(p, l.suffix[l.at(i+1, j)], l.suffix[l.at(i, j+1)])
		}
	}
}

func (l *alignment) forward() {
	l.prefix, l.ending = l.table(), l.table()
	for i := range l.as {
		for j := range l.bs {
			e := impossible
			if s := l.score(l.as[i], l.bs[j]); s > 0 {
				e = s + l.prefix[l.at(i, j)]
				if i > 0 && j > 0 {
					e = max(e, s+l.ending[l.at(i-1, j-1)]+l.gap(i, j))
				}
			}
			l.ending[l.at(i, j)] = e
			l.prefix[l.at(i+1, j+1)] = max(e, l.prefix[l.at(i, j+1)], l.prefix[l.at(i+1, j)])
		}
	}
}

// take walks the best alignment, and then pairs what it says: a pair that is made changes scores.
func (l *alignment) take(how how) {
	type found struct {
		i, j      int
		ambiguous bool
	}
	var pairs []found
	pairing := false // the next two are a pair, because the gap before them counts
	for i, j := 0, 0; i < len(l.as) && j < len(l.bs); {
		switch p := l.paired[l.at(i, j)]; {
		case pairing || p > 0 && p == l.suffix[l.at(i, j)]:
			if l.aToB[l.as[i]] < 0 {
				pairs = append(pairs, found{l.as[i], l.bs[j], l.alternative(i, j)})
			}
			s := l.score(l.as[i], l.bs[j])
			i, j = i+1, j+1
			pairing = i < len(l.as) && j < len(l.bs) && p == s+l.paired[l.at(i, j)]+l.gap(i, j)
		case l.suffix[l.at(i, j)] == l.suffix[l.at(i+1, j)]:
			i++
		default:
			j++
		}
	}
	for _, p := range pairs {
		l.pair(p.i, p.j, l.sure(p.i, p.j, how), p.ambiguous)
	}
}

// alternative reports whether another pairing of either site is part of an alignment that is as good.
func (l *alignment) alternative(i, j int) bool {
	good := func(i, j int) bool {
		e, p := l.ending[l.at(i, j)], l.paired[l.at(i, j)]
		return e > 0 && p > 0 && e+p-l.score(l.as[i], l.bs[j]) == l.suffix[0]
	}
	for k := range l.bs {
		if k != j && good(i, k) {
			return true
		}
	}
	for k := range l.as {
		if k != i && good(k, j) {
			return true
		}
	}
	return false
}

// score is the weight of the evidence for a pair of sites; 0: impossible.
func (m *matcher) score(i, j int) int64 {
	if x, y := m.aToB[i], m.bToA[j]; x >= 0 || y >= 0 {
		if int(x) == j && int(y) == i {
			return weightFixed * unit
		}
		return 0
	}
	x, y := m.a.At(i), m.b.At(j)
	if x.Kind != y.Kind {
		return 0
	}
	same := m.ta.exact[i] == m.tb.exact[j] && x.Text != ""
	s := int64(weightDifferent)
	switch {
	case same:
		s = weightSame
	case x.Text == "" || y.Text == "":
		s = weightUnknown
	case x.Text == y.Text && x.Compare == y.Compare:
		s = weightAlike
		if x.Shape == 0 || y.Shape == 0 {
			s = weightSame
		}
	}
	switch {
	case m.ta.chain[i] == m.tb.chain[j]:
		s += weightChain
	case !same && (m.ta.outer[i] != m.tb.outer[j] || s < weightAlike):
		return 0 // of another function, and another instruction
	case m.ta.inner[i] == m.tb.inner[j] || m.ta.outer[i] == m.tb.outer[j]:
		s += weightFunction
	}
	if x.Where().Column == y.Where().Column {
		s += weightColumn
	}
	s *= unit
	if x.Key == y.Key && x.Key != 0 {
		s += weightKey
	}
	return s
}

// gap is what it counts that two sites are as many lines after those before them.
func (l *alignment) gap(i, j int) int64 {
	a, functionA := distance(l.a.At(l.as[i-1]), l.a.At(l.as[i]))
	b, functionB := distance(l.b.At(l.bs[j-1]), l.b.At(l.bs[j]))
	if a == b && functionA == functionB {
		return weightGap * unit
	}
	return 0
}

// distance is how many lines two sites are apart: in their innermost function where that is the same, else where they were inlined.
func distance(x, y *Site) (lines int64, inFunction bool) {
	if len(x.Chain) == 0 || len(y.Chain) == 0 {
		return 0, false
	}
	f, g := &x.Chain[0], &y.Chain[0]
	inFunction = f.Function == g.Function && f.File == g.File
	if !inFunction {
		f, g = &x.Chain[len(x.Chain)-1], &y.Chain[len(y.Chain)-1]
	}
	return int64(g.Line) - int64(f.Line), inFunction
}
