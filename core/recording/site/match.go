package site

import (
	"cmp"
	"slices"
	"strconv"
)

// how says by what two sites of different builds were taken for the same.
type how uint8

// The ways, from the surest to the weakest.
const (
	unmatched   how = iota
	byKey           // the same key: same functions, locations, kind and occurrence, and what stands around agrees
	byCode          // the same computation; functions, files and lines may be others
	byLines         // the same chain of functions, files and lines; the columns moved
	byOrder         // the same chain of functions and files; the lines moved, the order stayed
	byFunctions     // the same chain of functions; the file has another name, the order stayed
	byOrdinal       // the same function, kind and ordinal (format v1)
)

// MatchOptions shape a Mapping. The zero value is what most want.
type MatchOptions struct {
	Ordinals bool // by function, kind and ordinal alone, as original prlx 0.5 maps (--remap-a, --remap-b)
}

// Mapping relates the sites of two builds of a kernel, A and B. Every site has one partner at most.
type Mapping struct {
	aToB, bToA []int32
	how        []how  // by site of A
	ambiguous  []bool // by site of A
	moved      []bool // by site of A
}

// Match finds which site of b is which site of a. Lines are weak evidence: where some moved, another site may stand there now. What
// counts is the function, the structure and the order.
//
// Tables whose sites have shapes are in the order of the code, and are matched as a whole, see byCode. Of other tables, a function whose
// sites all have the same keys in both is taken as it is, and the sites of any other function are aligned in the order of the source,
// as a text diff aligns lines; those without lines are matched by key, then by ordinal. Sites without evidence stay unmatched; a
// match that had an equally good alternative is marked ambiguous.
func Match(a, b *Table, opt MatchOptions) *Mapping {
	m := &matcher{a: a, b: b, names: interner{}, Mapping: &Mapping{
		aToB: filled(a.Len()), bToA: filled(b.Len()), how: make([]how, a.Len()), ambiguous: make([]bool, a.Len()), moved: make([]bool, a.Len()),
	}}
	if opt.Ordinals {
		m.byOrdinal(func(*Site) bool { return true })
		return m.Mapping
	}
	m.ta, m.tb = m.names.traits(a), m.names.traits(b)
	if m.ta.shaped && m.tb.shaped {
		m.byCode()
		return m.Mapping
	}
	m.aligned(byOrder, func(*Site) bool { return true }, func(*Site) bool { return true }, func(s *Site) string { return chainText(s, withFiles) })
	// Another file is believed only where the other build has none of this name.
	m.aligned(byFunctions, notIn(m.b), notIn(m.a), func(s *Site) string { return chainText(s, 0) })
	m.byKey()
	m.byOrdinal(withoutLine)
	return m.Mapping
}

// AtoB returns the partner of a site of A.
func (m *Mapping) AtoB(local int) (int, bool) { return partner(m.aToB, local) }

// BtoA returns the partner of a site of B.
func (m *Mapping) BtoA(local int) (int, bool) { return partner(m.bToA, local) }

func partner(of []int32, local int) (int, bool) {
	if local < 0 || local >= len(of) || of[local] < 0 {
		return 0, false
	}
	return int(of[local]), true
}

// Moved reports whether a site of A stands in another order among the sites of B. That is known of sites with shapes only.
func (m *Mapping) Moved(local int) bool { return local >= 0 && local < len(m.moved) && m.moved[local] }

// Ambiguous lists the sites of A whose match had an equally good alternative, ascending.
func (m *Mapping) Ambiguous() []int {
	var out []int
	for i, is := range m.ambiguous {
		if is {
			out = append(out, i)
		}
	}
	return out
}

// UnmatchedA lists the sites of A without a partner, ascending.
func (m *Mapping) UnmatchedA() []int { return without(m.aToB) }

// UnmatchedB lists the sites of B without a partner, ascending.
func (m *Mapping) UnmatchedB() []int { return without(m.bToA) }

func without(of []int32) []int {
	var out []int
	for i, p := range of {
		if p < 0 {
			out = append(out, i)
		}
	}
	return out
}

// matcher is a Mapping being made.
type matcher struct {
	a, b   *Table
	names  interner
	ta, tb traits
	*Mapping
}

func filled(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

func (m *matcher) pair(i, j int, how how, ambiguous bool) {
	m.aToB[i], m.bToA[j] = int32(j), int32(i)
	m.how[i], m.ambiguous[i] = how, ambiguous
}

// byKey pairs sites without lines.
func (m *matcher) byKey() {
	for i := range m.a.Len() {
		s := m.a.At(i)
		if j, ok := m.b.ByKey(s.Key); ok && s.Key != 0 && m.aToB[i] < 0 && m.bToA[j] < 0 && withoutLine(s) && withoutLine(m.b.At(j)) {
			m.pair(i, j, byKey, false)
		}
	}
}

func withoutLine(s *Site) bool { return s.Where().Line == 0 }

// chainParts says what of a chain counts.
type chainParts uint8

const (
	withFiles chainParts = 1 << iota
	withLines
)

func chainText(s *Site, parts chainParts) string {
	var b []byte
	for i := range s.Chain {
		f := &s.Chain[i]
		b = append(append(b, f.Function...), 0)
		if parts&withFiles != 0 {
			b = append(b, fileBase(f.File)...)
		}
		b = append(b, 0)
		if parts&withLines != 0 {
			b = strconv.AppendUint(b, uint64(f.Line), 10)
		}
		b = append(b, '\n')
	}
	return string(b)
}

// notIn wants the sites whose chain of functions and files has no site in t.
func notIn(t *Table) func(*Site) bool {
	there := map[string]bool{}
	for i := range t.Len() {
		there[chainText(t.At(i), withFiles)] = true
	}
	return func(s *Site) bool { return !there[chainText(s, withFiles)] }
}

// groups collects unmatched sites with lines by a text; the sites of a group are in the order of their source.
func groups(t *Table, matched []int32, want func(*Site) bool, text func(*Site) string) map[string][]int {
	out := map[string][]int{}
	for i := range t.Len() {
		if matched[i] < 0 && t.At(i).Where().Line != 0 && want(t.At(i)) {
			key := text(t.At(i))
			out[key] = append(out[key], i)
		}
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(i, j int) int { return inSourceOrder(t.At(i), t.At(j)) })
	}
	return out
}

func inSourceOrder(x, y *Site) int {
	for k := len(x.Chain) - 1; k >= 0; k-- { // the outermost call decides first; chains of one group are equally long
		f, g := &x.Chain[k], &y.Chain[min(k, len(y.Chain)-1)]
		if c := cmp.Or(cmp.Compare(f.Line, g.Line), cmp.Compare(f.Column, g.Column)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(counted(x), counted(y)))
}

// counted is the occurrence of a site where that says which comes first. One that a hash of code begins does not: there the table does.
func counted(s *Site) uint32 {
	if s.Code != 0 {
		return 0
	}
	return s.Occurrence
}

// byOrdinal pairs sites of one function, kind and ordinal.
func (m *matcher) byOrdinal(want func(*Site) bool) {
	type name struct {
		function string
		kind     Kind
		ordinal  int32
	}
	of := func(s *Site) name { return name{s.Where().Function, s.Kind, s.Ordinal} }
	theirs := map[name]int{}
	for j := range m.b.Len() {
		s := m.b.At(j)
		if _, taken := theirs[of(s)]; !taken && m.bToA[j] < 0 && s.Ordinal >= 0 && want(s) {
			theirs[of(s)] = j
		}
	}
	for i := range m.a.Len() {
		s := m.a.At(i)
		if m.aToB[i] >= 0 || s.Ordinal < 0 || !want(s) {
			continue
		}
		if j, ok := theirs[of(s)]; ok && m.bToA[j] < 0 {
			m.pair(i, j, byOrdinal, false)
		}
	}
}
