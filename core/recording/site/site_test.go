package site

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func at(function, file string, line, column uint32) Frame {
	return Frame{Function: function, File: file, Line: line, Column: column}
}

func TestIDsAreHashesOfLocations(t *testing.T) {
	hash := func(text string) uint32 {
		h := fnv.New32a()
		h.Write([]byte(text))
		return h.Sum32()
	}
	for _, v := range []Variant{SignExtended, zeroExtended} {
		if got, want := hashID("a.cu", "_Z4stepPf", 12, 7, Atomic, 3, v), hash("a.cu:_Z4stepPf:12:7:2"); got != want {
			t.Errorf("variant %d: %#x, want %#x", v, got, want)
		}
		if got, want := hashID("a.cu", "_Z4stepPf", 12, 0, GlobalStore, 3, v), hash("a.cu:_Z4stepPf:12:0:6"); got != want {
			t.Errorf("variant %d, no column: %#x, want %#x", v, got, want)
		}
		if got, want := hashID("a.cu", "_Z4stepPf", 0, 0, Branch, 11, v), hash("_Z4stepPf:0:ord11"); got != want {
			t.Errorf("variant %d, no line: %#x, want %#x", v, got, want)
		}
	}
}

func TestIDVariantsDifferBeyondASCII(t *testing.T) {
	signed := uint32(2166136261)
	for _, c := range []byte("größe.cu:k:1:1:0") {
		extended := uint32(c)
		if c >= 0x80 {
			extended |= 0xffffff00
		}
		signed = (signed ^ extended) * 16777619
	}
	zero := fnv.New32a()
	zero.Write([]byte("größe.cu:k:1:1:0"))
	if got := hashID("größe.cu", "k", 1, 1, Branch, 0, SignExtended); got != signed {
		t.Errorf("sign-extended: %#x, want %#x", got, signed)
	}
	if got := hashID("größe.cu", "k", 1, 1, Branch, 0, zeroExtended); got != zero.Sum32() || got == signed {
		t.Errorf("zero-extended: %#x, want %#x, and not %#x", got, zero.Sum32(), signed)
	}
}

func TestAssignerReusesIDsAndAdvancesOrdinals(t *testing.T) {
	a := NewAssigner(SignExtended)
	steps := []struct {
		at      Frame
		kind    Kind
		ordinal int
		isNew   bool
		like    int // an earlier step with the same id, -1: none
	}{
		{at("k", "a.cu", 3, 1), Branch, 0, true, -1},
		{at("k", "a.cu", 3, 1), Branch, 1, false, 0}, // an unrolled copy: the same id, but the ordinal advances
		{at("k", "a.cu", 3, 1), Atomic, 0, true, -1}, // another kind counts for itself
		{at("k", "a.cu", 9, 1), Branch, 2, true, -1},
		{at("g", "a.cu", 3, 1), Branch, 0, true, -1},
		{at("k", "", 0, 0), Branch, 3, true, -1}, // without a line, the ordinal makes the id
		{at("k", "", 0, 0), Branch, 4, true, -1},
	}
	var ids []uint32
	for i, s := range steps {
		id, ordinal, isNew := a.Assign(s.at, s.kind)
		if ordinal != s.ordinal || isNew != s.isNew {
			t.Errorf("step %d: ordinal %d, new %v; want %d, %v", i, ordinal, isNew, s.ordinal, s.isNew)
		}
		if want := hashID(s.at.File, s.at.Function, s.at.Line, s.at.Column, s.kind, ordinal, SignExtended); id != want {
			t.Errorf("step %d: id %#x, want %#x", i, id, want)
		}
		for k, other := range ids {
			if (id == other) != (k == s.like) {
				t.Errorf("step %d has id %#x, step %d has %#x", i, id, k, other)
			}
		}
		if s.like < 0 {
			ids = append(ids, id)
		}
	}
}

// collision finds two places whose texts hash alike, by trying lines and columns of one file.
func collision(t *testing.T) (x, y Frame) {
	t.Helper()
	seen := make(map[uint32]Frame, 1<<20)
	for line := uint32(1); line < 3000; line++ {
		for column := uint32(1); column < 200; column++ {
			f := at("k", "a.cu", line, column)
			id := hashID(f.File, f.Function, line, column, Branch, 0, SignExtended)
			if first, ok := seen[id]; ok {
				return first, f
			}
			seen[id] = f
		}
	}
	t.Fatal("no collision found")
	return
}

func TestAssignerTellsCollisionsApart(t *testing.T) {
	x, y := collision(t)
	a := NewAssigner(SignExtended)
	first, _, _ := a.Assign(x, Branch)
	second, _, isNew := a.Assign(y, Branch)
	text := "a.cu:k:" + strconv.Itoa(int(y.Line)) + ":" + strconv.Itoa(int(y.Column)) + ":0:c1"
	h := fnv.New32a()
	h.Write([]byte(text))
	if second == first || !isNew || second != h.Sum32() {
		t.Errorf("ids %#x and %#x, want the second to be that of %q, %#x", first, second, text, h.Sum32())
	}
	if again, _, isNew := a.Assign(y, Branch); again != second || isNew {
		t.Errorf("the second place asked again: %#x, want %#x", again, second)
	}
}

func TestKeysNameSitesAcrossBuilds(t *testing.T) {
	base := Site{Kind: Branch, Chain: []Frame{at("helper", "inc/h.cuh", 4, 9), at("k", "k.cu", 30, 3)}, Compare: 40, Text: "icmp slt i32"}
	moved := base
	moved.Chain = []Frame{at("helper", "/other/build/inc/h.cuh", 4, 9), at("k", `C:\src\k.cu`, 30, 3)}
	moved.ID, moved.Ordinal, moved.Compare, moved.Text = 7, 9, 41, "icmp sle i32"
	if KeyOf(&base) != KeyOf(&moved) {
		t.Error("the directory, the id or the compare changes the key")
	}
	for name, change := range map[string]func(s *Site){
		"line":       func(s *Site) { s.Chain[0].Line++ },
		"column":     func(s *Site) { s.Chain[0].Column++ },
		"function":   func(s *Site) { s.Chain[1].Function = "k2" },
		"file":       func(s *Site) { s.Chain[1].File = "k2.cu" },
		"kind":       func(s *Site) { s.Kind = Switch },
		"occurrence": func(s *Site) { s.Occurrence = 1 },
		"inlining":   func(s *Site) { s.Chain = s.Chain[:1] },
	} {
		other := base
		other.Chain = append([]Frame(nil), base.Chain...)
		change(&other)
		if KeyOf(&other) == KeyOf(&base) {
			t.Errorf("another %s has the same key", name)
		}
	}
}

// The key is part of a format: it must never change.
func TestKeysAreFixed(t *testing.T) {
	s := Site{Kind: Atomic, Chain: []Frame{at("helper", "inc/h.cuh", 4, 9), at("k", "k.cu", 30, 3)}, Occurrence: 2}
	h := fnv.New64a()
	h.Write([]byte("h.cuh\x00helper\x004:9\nk.cu\x00k\x0030:3\nkind 2 occurrence 2\n"))
	if got := KeyOf(&s); got != Key(h.Sum64()) || got != 0xee94312389b31e25 {
		t.Errorf("key %#x, want %#x", got, h.Sum64())
	}
}

func TestAssignKeysMakesThemUnique(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sites := make([]Site, 500)
	for i := range sites {
		sites[i] = Site{Kind: Kind(r.IntN(3)), Chain: []Frame{at("k", []string{"a/x.cu", "b/x.cu"}[r.IntN(2)], uint32(r.IntN(20)), 1)}}
	}
	AssignKeys(sites)
	seen := map[Key]bool{}
	for i := range sites {
		if sites[i].Key == 0 || seen[sites[i].Key] || sites[i].Key != KeyOf(&sites[i]) {
			t.Fatalf("site %d: key %#x, seen %v", i, sites[i].Key, seen[sites[i].Key])
		}
		seen[sites[i].Key] = true
	}
}

// coded are sites at one place, with these hashes of code; 0 none.
func coded(codes ...uint32) []Site {
	sites := make([]Site, len(codes))
	for i, code := range codes {
		sites[i] = Site{Kind: Predicate, Chain: []Frame{at("k", "k.py", 7, 3)}, Code: code}
	}
	AssignKeys(sites)
	return sites
}

// A language that has more compares at a line than another gives the others the keys that they have there.
func TestKeysOfSitesWithCodeDoNotDependOnOtherCode(t *testing.T) {
	few, more := coded(0xa0000005, 0xb0000007, 0xa0000005), coded(0xc1, 0xa0000005, 0xc1, 0xb0000007, 0xc2, 0xa0000005, 0xa0000005)
	for i, k := range []int{1, 3, 5} {
		if few[i].Key != more[k].Key {
			t.Errorf("site %d: key %#x with others beside it, want %#x", i, more[k].Key, few[i].Key)
		}
	}
	if plain := coded(0, 0); plain[0].Occurrence != 0 || plain[1].Occurrence != 1 {
		t.Errorf("without hashes: occurrences %d and %d", plain[0].Occurrence, plain[1].Occurrence)
	}
	many := make([]uint32, 600)
	for i := range many {
		many[i] = 0x70000001 + uint32(i/400) // more of one hash than its numbers go round
	}
	seen := map[Key]bool{}
	for _, s := range coded(append(many, 0xf0000001, 0xf0000001)...) { // and others with the same end
		if seen[s.Key] || s.Key != KeyOf(&s) {
			t.Fatalf("key %#x twice, or not that of its frames", s.Key)
		}
		seen[s.Key] = true
	}
}

// Occurrences that hashes begin say nothing of order: builds are aligned in the order of their tables.
func TestSitesWithCodeMatchInTheOrderOfTheTable(t *testing.T) {
	a, b := coded(0x500, 0x20000, 0x3, 0x20000), coded(0x20000, 0x500, 0x20001, 0x3, 0x20000)
	for i, text := range []string{"w", "x", "y", "z"} {
		a[i].Text, b[[]int{1, 2, 3, 4}[i]].Text = text, text
	}
	b[0].Text = "new"
	m := Match(NewTable(a), NewTable(b), MatchOptions{})
	for i, want := range []int{1, 2, 3, 4} {
		if got, ok := m.AtoB(i); !ok || got != want {
			t.Errorf("site %d is %d (%v), want %d", i, got, ok, want)
		}
	}
}

func TestTableFindsSites(t *testing.T) {
	table := NewTable([]Site{{ID: 5, Key: 50}, {ID: 6, Key: 60}, {ID: 5, Key: 70}, {}})
	if i, ok := table.ByID(5); !ok || i != 0 {
		t.Errorf("id 5 is at %d, %v", i, ok)
	}
	if i, ok := table.ByKey(70); !ok || i != 2 {
		t.Errorf("key 70 is at %d, %v", i, ok)
	}
	if _, ok := table.ByID(0); ok {
		t.Error("id 0 is used, which is reserved: it means no site")
	}
	var none *Table
	if _, ok := none.ByKey(50); ok || none.Len() != 0 {
		t.Error("the nil table is not empty")
	}
}

func TestFormatLocation(t *testing.T) {
	if got := FormatLocation(&Site{Chain: []Frame{at("f", "a.cu", 3, 4), at("k", "k.cu", 1, 2)}}); got != "a.cu:f:3:4" {
		t.Errorf("%q", got)
	}
	if got := FormatLocation(nil) + FormatLocation(&Site{}); got != "" {
		t.Errorf("an unknown location is %q", got)
	}
}

func TestPatternsChooseSites(t *testing.T) {
	s := &Site{ID: 0x1234abcd, Key: 0x00ff00ff00ff00ff, Kind: Atomic, Chain: []Frame{
		at("_Z6helperv", "inc/h.cuh", 4, 9), at("softmax_rows", "src/kernels/softmax.cu", 30, 3),
	}}
	for text, want := range map[string]bool{
		"softmax.cu": true, "softmax.cu:30": true, "softmax.cu:31": false, "h.cuh:4": true, "inc/h.cuh": true, "kernels/softmax.cu:30": true,
		"src/kernels/*.cu": true, "*.cu:30": true, "*.py": false, "max.cu": false, "func:softmax*": true, "func:softmax": false,
		"func:_Z?helperv": true, "kind:atomic": true, "kind:branch": false, "kind:*tom*": true, "0x1234abcd": true, "0X1234ABCD": true,
		"0x00ff00ff00ff00ff": true, "0x12": false, " softmax.cu ": true, "[rs]oftmax.cu": true,
	} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := p.Match(s, 0); got != want {
			t.Errorf("%q matches: %v, want %v", text, got, want)
		}
		if p.String() != text {
			t.Errorf("%q prints as %q", text, p)
		}
	}
	for _, text := range []string{"", "  ", "0x", "0xxyz", "0x12345678123456789", "[", "func:", "func:[", "kind:", "kind:atomc"} {
		if _, err := ParsePattern(text); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v, want a usage error", text, err)
		}
	}
}

func TestPatternsOfIDsMatchUnknownSites(t *testing.T) {
	p, err := ParsePattern("0x10")
	if err != nil || !p.Match(nil, 16) || p.Match(nil, 17) {
		t.Errorf("0x10 by id: %v", err)
	}
	if (Pattern{}).Match(&Site{Chain: []Frame{{}}}, 0) {
		t.Error("the zero pattern matches")
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"a.py:42", "func:a*b?[c-d]", "kind:*", "0x12", `\`, "a:b:c:3", "[]", "*:1"} {
		f.Add(s)
	}
	s := &Site{ID: 1, Key: 2, Chain: []Frame{at("f", "dir/a.py", 42, 1)}}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("%q: %v is not a usage error", text, err)
			}
			return
		}
		p.Match(s, 1)
		again, err := ParsePattern(p.String())
		if err != nil || again != p {
			t.Fatalf("%q reads back as %+v, was %+v: %v", text, again, p, err)
		}
	})
}

func TestFindLooksAroundTheRecording(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "1", "2", "3", "4", "5", "6")
	if err := os.MkdirAll(filepath.Join(deep, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	put := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("[]"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, ok := Find(deep); ok {
		t.Fatalf("found %s where there is none", got)
	}
	put(filepath.Join(root, mapName)) // six above
	if got, ok := Find(deep); ok {
		t.Errorf("found %s, too far above", got)
	}
	for _, want := range []string{ // from the last resort to the first
		mapName, // in the current directory
		filepath.Join(root, "1", mapName),
		filepath.Join(root, "1", "2", "3", "4", "5", "build", mapName),
		filepath.Join(deep, "build", mapName),
		filepath.Join(deep, mapName),
	} {
		put(want)
		got, ok := Find(deep)
		wanted, _ := os.Stat(want)
		if found, err := os.Stat(got); !ok || err != nil || !os.SameFile(found, wanted) {
			t.Errorf("found %s, want %s", got, want)
		}
	}
}

// hashID returns the id of a site in format v1: FNV-1a-32 over "file:function:line:column:kind", or over "function:kind:ordN" when neither
// line nor column is known. file is the name as the debug information spells it, without its directory.
func hashID(file, function string, line, column uint32, kind Kind, ordinal int, v Variant) uint32 {
	return hash32(v, idText(file, function, line, column, kind, ordinal))
}
