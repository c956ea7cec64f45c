package repeat

import "math"

// Between rounds, what stands alone among repetitions is aligned with the classes that were just found. An edited layer is a layer, and so
// the next round sees the same step as ever. What stands there again and again is no edit but a part of what is outside.

// stretches are what stands between repetitions, by what they hold.
type stretches struct {
	at    map[uint64][]int32 // places in the input
	total int                // places where there could be one
	known map[uint64]bool    // which of them recur
}

func (s *stretches) add(hash uint64, at int) {
	if s.at == nil {
		s.at = map[uint64][]int32{}
	}
	s.at[hash] = append(s.at[hash], int32(at))
}

// recur reports whether a stretch stands there again and again: in many places, or in the same distances as before.
func (s *stretches) recur(hash uint64) bool {
	out, ok := s.known[hash]
	if !ok {
		if s.known == nil {
			s.known = map[uint64]bool{}
		}
		out = s.repeated(s.at[hash])
		s.known[hash] = out
	}
	return out
}

func (s *stretches) repeated(at []int32) bool {
	if len(at) < 2 {
		return false
	}
	if structural*len(at) >= s.total {
		return true
	}
	if len(at) < leastTwins {
		return false
	}
	distances := map[int32]int{}
	for i := 1; i < len(at); i++ {
		distances[at[i]-at[i-1]]++
	}
	twins := 0
	for _, n := range distances {
		if n > 1 {
			twins += n
		}
	}
	return 100*twins >= twinPercent*(len(at)-1)
}

// any reports whether there is one that recurs.
func (s *stretches) any() bool {
	for h := range s.at {
		if s.recur(h) {
			return true
		}
	}
	return false
}

// mend replaces stretches of a sequence that are repetitions with edits.
func (f *finder) mend(s *sequence, level []int32) *sequence {
	if f.opt.EditPercent < 0 || len(level) == 0 {
		return s
	}
	own := map[int32]bool{}
	longest := 0
	for _, c := range level {
		own[c] = true
		longest = max(longest, f.classes[c].period)
	}
	m := mender{
		f: f, s: s, own: own, longest: maxTimes * longest,
		l: chainer{f: f, level: level, left: map[int32]int{}, a: aligner{budget: *f.budget}},
	}
	m.look()
	if len(m.found.at) == 0 {
		return s
	}
	m.edges = !m.found.any()
	for _, c := range level {
		covered := 0
		for _, b := range f.classes[c].blocks {
			covered += int(b.count) * f.classes[c].period
		}
		m.l.left[c] = covered * f.opt.EditPercent / 100
	}
	out := m.write()
	*f.budget = max(0, m.l.a.budget)
	return out
}

type mender struct {
	f       *finder
	s       *sequence
	l       chainer
	own     map[int32]bool
	longest int // stretch that may be edits
	found   stretches
	usual   map[[2]int32]usual // what stands between two classes as a rule
	// edges says that the first and last stretch may be edits too: nothing else stands between repetitions of these classes.
	edges bool
}

// class is the class of a token, if it is one of those that were just found.
func (m *mender) class(i int) int32 {
	if i < 0 || i >= len(m.s.t) || m.s.t[i] < m.f.base {
		return -1
	}
	if c := m.f.nodes[m.s.t[i]-m.f.base].class; m.own[c] {
		return c
	}
	return -1
}

// next returns the stretch of other tokens from i on.
func (m *mender) next(i int) (from, to int) {
	for i < len(m.s.t) && m.class(i) >= 0 {
		i++
	}
	from = i
	for i < len(m.s.t) && m.class(i) < 0 {
		i++
	}
	return from, i
}

// hash is of what a stretch holds; it is ok where the stretch is short enough to be edits.
func (m *mender) hash(from, to int) (h uint64, ok bool) {
	if m.s.at(to)-m.s.at(from) > m.longest {
		return 0, false
	}
	for _, t := range m.s.t[from:to] {
		h = mix(h ^ uint64(t))
	}
	return h, true
}

// usual is a stretch that recurs, in tokens.
type usual struct{ from, to, count int }

// look counts stretches.
func (m *mender) look() {
	type place struct {
		hash     uint64
		from, to int
	}
	var places []place
	for i := 0; i < len(m.s.t); {
		from, to := m.next(i)
		m.found.total += from - i + 1
		if h, ok := m.hash(from, to); ok && to > from {
			m.found.add(h, m.s.at(from))
			places = append(places, place{h, from, to})
		}
		i = to
	}
	m.usual = map[[2]int32]usual{}
	for _, p := range places {
		key := [2]int32{m.class(p.from - 1), m.class(p.to)}
		if n := len(m.found.at[p.hash]); m.found.recur(p.hash) && n > m.usual[key].count {
			m.usual[key] = usual{p.from, p.to, n}
		}
	}
}

// explain says which repetitions a stretch consists of, beside what stands there as a rule: tokens [left, right).
func (m *mender) explain(from, to int) (spans []Span, classes []int32, left, right int, ok bool) {
	s, before, after := m.s, m.class(from-1), m.class(to)
	if u, known := m.usual[[2]int32{before, after}]; known && u.to-u.from < to-from {
		n := u.to - u.from
		if equal(s.t[u.from:u.to], s.t[from:from+n]) {
			if spans, classes, ok := m.l.fill(s.at(from+n), s.at(to), after); ok {
				return spans, classes, from + n, to, true
			}
		}
		if equal(s.t[u.from:u.to], s.t[to-n:to]) {
			if spans, classes, ok := m.l.fill(s.at(from), s.at(to-n), before); ok {
				return spans, classes, from, to - n, true
			}
		}
	}
	spans, classes, ok = m.l.fill(s.at(from), s.at(to), before)
	return spans, classes, from, to, ok
}

func (m *mender) write() *sequence {
	s := m.s
	out := collapser{f: m.f, s: s}
	out.grow(len(s.t))
	for i := 0; i < len(s.t); {
		from, to := m.next(i)
		for ; i < from; i++ {
			n := m.f.nodes[s.t[i]-m.f.base]
			out.join(n.class, int(n.count), s.at(i), s.at(i+1), s.edited(i, i+1))
		}
		if to == from {
			continue
		}
		h, ok := m.hash(from, to)
		if inner := from > 0 && to < len(s.t); ok && (inner || m.edges) && !m.found.recur(h) {
			if spans, classes, left, right, filled := m.explain(from, to); filled {
				m.copy(&out, from, left)
				for k, p := range spans {
					m.f.mended += float64(p.Edits) * (8 + math.Log2(float64(m.f.classes[classes[k]].period)))
					out.join(classes[k], 1, int(p.Start), int(p.End), int(p.Edits))
				}
				m.copy(&out, right, to)
				i = to
				continue
			}
		}
		m.copy(&out, i, to)
		i = to
	}
	return &sequence{t: out.out, pos: out.pos, edits: out.edits, n: s.n}
}

// copy writes tokens as they are.
func (m *mender) copy(out *collapser, from, to int) {
	for i := from; i < to; i++ {
		out.write(m.s.t[i], m.s.at(i), m.s.at(i+1), m.s.edited(i, i+1))
	}
}

// fill explains a stretch by edited repetitions of the level from its start to its end, or not at all.
func (l *chainer) fill(start, end int, before int32) (spans []Span, classes []int32, ok bool) {
	l.journal = l.journal[:0]
	for start < end {
		c := l.whole(start, end, before)
		if c < 0 {
			_, c = l.forward(start, end, before)
		}
		if c < 0 || len(l.taken) == 0 || int(l.taken[0].Start) != start {
			for _, c := range l.journal {
				cl := l.f.classes[c]
				cl.edited = cl.edited[:len(cl.edited)-1]
			}
			return nil, nil, false
		}
		for _, s := range l.taken {
			spans, classes = append(spans, s), append(classes, c)
		}
		start, before = int(spans[len(spans)-1].End), c
	}
	return spans, classes, true
}
