package site

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// build is one build of a kernel: its sites in the order of their source, each with the name of what it is.
type build struct {
	sites []Site
	names []string
}

func (b *build) add(name string, s Site) {
	s.Ordinal, s.Compare = -1, NoCompare
	b.sites, b.names = append(b.sites, s), append(b.names, name)
}

func (b *build) table() *Table {
	sites := slices.Clone(b.sites)
	AssignKeys(sites)
	return NewTable(sites)
}

// check compares a mapping with the names: every name of both builds is matched in one of the ways, others are not matched at all.
func check(t *testing.T, what string, a, b *build, m *Mapping, ways ...how) {
	t.Helper()
	for i, name := range a.names {
		j, ok := m.AtoB(i)
		want := slices.Index(b.names, name)
		if ok != (want >= 0) || ok && j != want {
			t.Errorf("%s: %s became site %d (%v), want %d", what, name, j, ok, want)
		}
		how, _ := m.How(i)
		if ok && !slices.Contains(ways, how) || !ok && how != unmatched {
			t.Errorf("%s: %s was matched by %s, want one of %s", what, name, how, ways)
		}
		if ok {
			if back, _ := m.BtoA(j); back != i {
				t.Errorf("%s: %s comes back as site %d", what, name, back)
			}
		}
	}
	for j, name := range b.names {
		if _, ok := m.BtoA(j); ok != slices.Contains(a.names, name) {
			t.Errorf("%s: new site %s is matched: %v", what, name, ok)
		}
	}
}

// kernelOf makes a kernel of n sites on lines of their own, some inlined from a helper.
func kernelOf(n int, r *rand.Rand) *build {
	b := &build{}
	line := uint32(10)
	for i := range n {
		line += uint32(1 + r.IntN(5))
		f := at("k", "dir/k.cu", line, uint32(3+2*r.IntN(3)))
		s := Site{Kind: Kind(r.IntN(3)), Chain: []Frame{f}, Text: fmt.Sprintf("icmp %d", r.IntN(3))}
		if i%5 == 4 {
			s.Chain = []Frame{at("helper", "dir/h.cuh", 7, 3), f}
		}
		b.add(fmt.Sprint("s", i), s)
	}
	return b
}

// changed copies a build and edits the frames of its sites.
func (b *build) changed(edit func(i int, f *Frame)) *build {
	out := &build{}
	for i, s := range b.sites {
		s.Chain = slices.Clone(s.Chain)
		for k := range s.Chain {
			edit(i, &s.Chain[k])
		}
		out.add(b.names[i], s)
	}
	return out
}

func inKernel(f *Frame) bool { return f.Function == "k" }

func TestUnchangedSitesMatchByKey(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a := kernelOf(60, r)
	same := a.changed(func(_ int, f *Frame) { f.File = "/elsewhere/" + fileBase(f.File) })
	m := Match(a.table(), same.table(), MatchOptions{})
	check(t, "another directory", a, same, m, byKey)
	if n := m.Counts(); n[byKey] != 60 || len(m.UnmatchedA())+len(m.UnmatchedB())+len(m.Ambiguous()) != 0 {
		t.Errorf("counts %v, unmatched %v and %v, ambiguous %v", n, m.UnmatchedA(), m.UnmatchedB(), m.Ambiguous())
	}
}

func TestMovedColumnsMatchByLines(t *testing.T) {
	a := kernelOf(60, rand.New(rand.NewPCG(2, 1)))
	b := a.changed(func(_ int, f *Frame) { f.Column += 4 })
	check(t, "columns", a, b, Match(a.table(), b.table(), MatchOptions{}), byLines)
}

func TestMovedLinesMatchInOrder(t *testing.T) {
	for seed := range uint64(20) {
		a := kernelOf(60, rand.New(rand.NewPCG(3, seed)))
		b := a.changed(func(_ int, f *Frame) {
			if inKernel(f) {
				f.Line += 1000
			}
		})
		m := Match(a.table(), b.table(), MatchOptions{})
		check(t, fmt.Sprint("lines, seed ", seed), a, b, m, byOrder)
		if x := m.Ambiguous(); len(x) > 0 {
			t.Errorf("seed %d: sites %v are ambiguous, all moved together", seed, x)
		}
		renamed := b.changed(func(_ int, f *Frame) { f.File = "c" + fmt.Sprint(seed) + ".py" })
		check(t, fmt.Sprint("another file, seed ", seed), a, renamed, Match(a.table(), renamed.table(), MatchOptions{}), byFunctions)
	}
}

// Sites are told apart by their instruction and the distance to their neighbours where some are new and others gone.
func TestNewAndMissingSitesAreNotMatched(t *testing.T) {
	a := &build{}
	line := uint32(20)
	for i, gap := range []uint32{3, 9, 2, 6, 4, 8, 1, 5} {
		line += gap
		a.add(fmt.Sprint("s", i), Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", line, 5)}, Text: fmt.Sprint("icmp ", i%4)})
	}
	b := &build{}
	for i, s := range a.sites {
		if i == 2 { // gone
			continue
		}
		shift := uint32(100)
		if i > 4 {
			b.names = slices.Clone(b.names)
			shift = 103
		}
		s.Chain = []Frame{at("k", "k.cu", s.Chain[0].Line+shift, 5)}
		b.add(a.names[i], s)
		if i == 4 {
			b.add("new", Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", s.Chain[0].Line+2, 9)}, Text: "icmp 9"})
		}
	}
	check(t, "one gone, one new", a, b, Match(a.table(), b.table(), MatchOptions{}), byOrder)
}

func TestAmbiguousMatchesAreMarked(t *testing.T) {
	a, b := &build{}, &build{}
	for i := range 2 {
		a.add(fmt.Sprint("a", i), Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", uint32(10+10*i), 5)}})
	}
	for i := range 3 {
		b.add(fmt.Sprint("b", i), Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", uint32(101+10*i), 5)}})
	}
	m := Match(a.table(), b.table(), MatchOptions{})
	if n := m.Counts(); n[byOrder] != 2 || len(m.Ambiguous()) == 0 {
		t.Errorf("two equal sites among three: counts %v, ambiguous %v", n, m.Ambiguous())
	}
	if len(m.UnmatchedB()) != 1 {
		t.Errorf("unmatched in B: %v, want one", m.UnmatchedB())
	}
}

func TestDifferentKindsAndFunctionsNeverMatch(t *testing.T) {
	a, b := &build{}, &build{}
	a.add("a", Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", 10, 5)}})
	b.add("kind", Site{Kind: Atomic, Chain: []Frame{at("k", "k.cu", 10, 5)}})
	b.add("function", Site{Kind: Branch, Chain: []Frame{at("g", "k.cu", 10, 5)}})
	b.add("inlined", Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", 10, 5), at("g", "k.cu", 9, 5)}})
	check(t, "kinds and functions", a, b, Match(a.table(), b.table(), MatchOptions{}))
}

func TestOrdinalsMatchWhatHasNoLine(t *testing.T) {
	ordinal := func(function string, line uint32, n int32) Site {
		s := Site{Kind: Branch, Chain: []Frame{at(function, "k.cu", line, line)}, Compare: NoCompare, Ordinal: n}
		s.Key = 0
		return s
	}
	a := NewTable([]Site{ordinal("k", 0, 0), ordinal("k", 0, 1), ordinal("g", 0, 0), ordinal("k", 7, 2)})
	b := NewTable([]Site{ordinal("k", 0, 1), ordinal("g", 0, 0), ordinal("g", 9, 2)})
	m := Match(a, b, MatchOptions{})
	for i, want := range []int{-1, 0, 1, -1} {
		if j, ok := m.AtoB(i); ok != (want >= 0) || ok && j != want {
			t.Errorf("site %d became %d (%v), want %d", i, j, ok, want)
		}
	}
	// As original prlx 0.5 does: by ordinal alone, whatever the lines say.
	c := NewTable([]Site{ordinal("k", 99, 0), ordinal("k", 98, 2)})
	m = Match(a, c, MatchOptions{Ordinals: true})
	for i, want := range []int{0, -1, -1, 1} {
		if j, ok := m.AtoB(i); ok != (want >= 0) || ok && j != want {
			t.Errorf("by ordinals alone, site %d became %d (%v), want %d", i, j, ok, want)
		}
	}
	if how, _ := m.How(0); how != byOrdinal {
		t.Errorf("matched by %s", how)
	}
}

func TestLargeGroupsStayWithinTheirBudget(t *testing.T) {
	a := &build{}
	for i := range 6000 {
		a.add(fmt.Sprint("s", i), Site{Kind: Branch, Chain: []Frame{at("k", "k.cu", uint32(10+i), 5)}})
	}
	b := a.changed(func(_ int, f *Frame) { f.Line += 100_000 })
	m := Match(a.table(), b.table(), MatchOptions{})
	check(t, "six thousand sites", a, b, m, byOrder)
}

func TestMatchOfNothing(t *testing.T) {
	var none *Table
	m := Match(none, none, MatchOptions{})
	if _, ok := m.AtoB(0); ok || len(m.UnmatchedA())+len(m.UnmatchedB()) != 0 {
		t.Error("nothing matches something")
	}
}

// A comment above the kernel shifts every line: however many sites look alike, each is itself.
func TestShiftedSitesThatLookAlikeStayThemselves(t *testing.T) {
	for _, text := range []string{"", "ld.global.b32"} {
		for _, n := range []int{2, 12, 40, 1200} {
			for shift := uint32(1); shift <= 10; shift += 3 {
				a := &build{}
				for i := range n {
					a.add(fmt.Sprint("s", i), Site{Kind: Load, Chain: []Frame{at("k", "k.py", uint32(10+i), 9)}, Text: text})
				}
				b := a.changed(func(_ int, f *Frame) { f.Line += shift })
				m := Match(a.table(), b.table(), MatchOptions{})
				check(t, fmt.Sprintf("%d sites %q, shifted by %d", n, text, shift), a, b, m, byOrder)
			}
		}
	}
}

// shapedBuild makes a build in the order of the code from letters: one site for each, the same letter computes the same.
func shapedBuild(code string) *build {
	b := &build{}
	seen := map[rune]int{}
	for n, c := range code {
		s := Site{Kind: Load, Chain: []Frame{at("k", "k.py", uint32(10+n), 5)}, Text: "ld.global.b32", Shape: uint32(c)}
		b.add(fmt.Sprint(string(c), seen[c]), s)
		seen[c]++
	}
	return b
}

func TestEqualCodeIsTheSameInAnyFile(t *testing.T) {
	a := shapedBuild("abcabcaab")
	b := a.changed(func(i int, f *Frame) {
		f.Line, f.File = f.Line/2+uint32(i%3), "other.py"
	})
	for i := range b.sites[2:5] {
		b.sites[2+i].Chain = append([]Frame{at("helper", "h.py", 7, 3)}, b.sites[2+i].Chain...)
	}
	m := Match(a.table(), b.table(), MatchOptions{})
	check(t, "another file, a helper", a, b, m, byCode, byKey, byLines)
	if len(m.Ambiguous()) > 0 {
		t.Errorf("ambiguous: %v", m.Ambiguous())
	}
}

func TestCodeThatMovedIsPairedAndMarked(t *testing.T) {
	for _, c := range []struct{ a, b, moved string }{
		{"abcdefgh", "abcdgefh", "g"},
		{"abcdefgh", "defghabc", "abc"},
		{"abcdefgh", "xabcdefgh", ""},
		{"xaxbxcx", "xcxaxbx", "cx"}, // one of those that are alike goes along
	} {
		a, b := shapedBuild(c.a), shapedBuild(c.b)
		m := Match(a.table(), b.table(), MatchOptions{})
		moved := ""
		for i, name := range a.names {
			j, ok := m.AtoB(i)
			if !ok || b.names[j][0] != name[0] {
				t.Errorf("%s to %s: %s became %d, %v", c.a, c.b, name, j, ok)
			}
			if m.Moved(i) {
				moved += name[:1]
			}
		}
		if moved != c.moved {
			t.Errorf("%s to %s: moved %q, want %q", c.a, c.b, moved, c.moved)
		}
	}
}

// What computes something else is paired by where it stands: with the same instruction, in the same function, in order.
func TestChangedCodeIsPairedInOrder(t *testing.T) {
	a, b := shapedBuild("abcXefYh"), shapedBuild("QabcZefWh")
	m := Match(a.table(), b.table(), MatchOptions{})
	for i := range a.names {
		if j, ok := m.AtoB(i); !ok || j != i+1 {
			t.Errorf("%s became %d, %v, want %d", a.names[i], j, ok, i+1)
		}
	}
	if u := m.UnmatchedB(); len(u) != 1 || u[0] != 0 {
		t.Errorf("unmatched in B: %v", u)
	}
	other := b.changed(func(_ int, f *Frame) { f.Function = "g" })
	if j, ok := Match(a.table(), other.table(), MatchOptions{}).AtoB(3); ok {
		t.Errorf("a changed site of another function became %d", j)
	}
}

// What became part of a helper and computes something else besides is still paired: the kernel around it is the same.
func TestChangedCodeInANewHelperIsPairedInOrder(t *testing.T) {
	a, b := shapedBuild("abcXef"), shapedBuild("abcZef")
	b.sites[3].Chain = append([]Frame{at("helper", "h.py", 7, 3)}, b.sites[3].Chain...)
	if j, ok := Match(a.table(), b.table(), MatchOptions{}).AtoB(3); !ok || j != 3 {
		t.Errorf("the changed site became %d, %v", j, ok)
	}
	b.sites[3].Text = "ld.shared.b64"
	if j, ok := Match(a.table(), b.table(), MatchOptions{}).AtoB(3); ok {
		t.Errorf("another instruction of a helper became %d", j)
	}
}

var howNames = [...]string{
	unmatched: "unmatched", byKey: "key", byCode: "code", byLines: "lines", byOrder: "order", byFunctions: "functions", byOrdinal: "ordinal",
}

// String returns the spelling in documents.
func (h how) String() string {
	if int(h) < len(howNames) {
		return howNames[h]
	}
	return "how-" + itoa(uint64(h))
}

// How says by what a site of A was matched, and whether something else would have been as good.
func (m *Mapping) How(local int) (how how, ambiguous bool) {
	if local < 0 || local >= len(m.how) {
		return unmatched, false
	}
	return m.how[local], m.ambiguous[local]
}

// Counts says how many sites of A were matched in each way; index it with a How.
func (m *Mapping) Counts() [byOrdinal + 1]int {
	var n [byOrdinal + 1]int
	for _, h := range m.how {
		n[h]++
	}
	return n
}
