package site

// maxAlign bounds the table of an alignment. In larger groups equal keys are believed first, and then the beginning is paired as it
// comes.
const maxAlign = 1 << 20

// Weights of an alignment. Another instruction at a line that may have moved is weak evidence; it is still more than none.
const (
	weightSame      = 64 // the same instruction
	weightUnknown   = 48 // no text to compare
	weightDifferent = 12 // another instruction
	weightKey       = 8  // the same key
	weightColumn    = 2  // the same column
	weightGap       = 4  // as many lines after the pair before it
)

// aligned pairs sites of equal texts in their order.
func (m *matcher) aligned(how How, wantA, wantB func(*Site) bool, text func(*Site) string) {
	theirs := groups(m.b, m.bToA, wantB, text)
	for key, ours := range groups(m.a, m.aToB, wantA, text) {
		if g := theirs[key]; len(g) > 0 {
			m.align(how, ours, g)
		}
	}
}

// align pairs the sites of one function, each side in the order of its source.
func (m *matcher) align(how How, as, bs []int) {
	if m.sameKeys(as, bs) {
		for k := range as {
			m.pair(as[k], bs[k], ByKey, false)
		}
		return
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
			m.pair(i, j, ByKey, false)
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
func (m *matcher) sure(i, j int, how How) How {
	x, y := m.a.At(i), m.b.At(j)
	switch {
	case x.Key != 0 && x.Key == y.Key:
		return ByKey
	case chainText(x, withFiles|withLines) == chainText(y, withFiles|withLines):
		return ByLines
	}
	return how
}

// alignment pairs two lists so that the sum of weights is largest: a pair counts its score, and a gap when the pair before it is its
// neighbour on both sides and equally far away.
type alignment struct {
	*matcher
	as, bs []int
	suffix []int32 // best of as[i:] against bs[j:]
	paired []int32 // the same when as[i] and bs[j] are a pair
	prefix []int32 // best of as[:i] against bs[:j]
	ending []int32 // best of as[:i+1] against bs[:j+1] when as[i] and bs[j] are a pair
}

const impossible = int32(-1 << 30)

func (l *alignment) at(i, j int) int { return i*(len(l.bs)+1) + j }

func (l *alignment) table() []int32 { return make([]int32, (len(l.as)+1)*(len(l.bs)+1)) }

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

// take walks the best alignment.
func (l *alignment) take(how How) {
	pairing := false // the next two are a pair, because the gap before them counts
	for i, j := 0, 0; i < len(l.as) && j < len(l.bs); {
		switch p := l.paired[l.at(i, j)]; {
		case pairing || p > 0 && p == l.suffix[l.at(i, j)]:
			l.pair(l.as[i], l.bs[j], l.sure(l.as[i], l.bs[j], how), l.alternative(i, j))
			s := l.score(l.as[i], l.bs[j])
			i, j = i+1, j+1
			pairing = i < len(l.as) && j < len(l.bs) && p == s+l.paired[l.at(i, j)]+l.gap(i, j)
		case l.suffix[l.at(i, j)] == l.suffix[l.at(i+1, j)]:
			i++
		default:
			j++
		}
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

// score says how much speaks for a pair of sites, 0: it is impossible.
func (m *matcher) score(i, j int) int32 {
	x, y := m.a.At(i), m.b.At(j)
	s := int32(weightDifferent)
	switch {
	case x.Kind != y.Kind:
		return 0
	case x.Text == "" || y.Text == "":
		s = weightUnknown
	case x.Text == y.Text && x.Compare == y.Compare:
		s = weightSame
	}
	if x.Key == y.Key && x.Key != 0 {
		s += weightKey
	}
	if x.Where().Column == y.Where().Column {
		s += weightColumn
	}
	return s
}

// gap is what it counts that two sites are as many lines after those before them.
func (l *alignment) gap(i, j int) int32 {
	lines := func(t *Table, group []int, i int) int64 {
		return int64(t.At(group[i]).Where().Line) - int64(t.At(group[i-1]).Where().Line)
	}
	if lines(l.a, l.as, i) == lines(l.b, l.bs, j) {
		return weightGap
	}
	return 0
}
