package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is a module with one package, its tests, and one mutant of each kind at least.
var sample = map[string]string{
	"go.mod": "module sample\n\ngo 1.26\n",
	"a/a.go": `package a

const limit = 10

// Count counts those below the limit, at most n.
func Count(all []int, n int) int {
	sum := make([]int, 0, 16)
	for _, v := range all {
		if v < 0 {
			continue
		}
		if v < limit && len(sum) < n {
			sum = append(sum, v)
		}
	}
	return min(len(sum), n+1)
}

type box struct{ v int }

func (b *box) add(n int) {
	b.v += n
}

func idle() int { return 3 }
`,
	"a/a_test.go": `package a

import "testing"

func TestCount(t *testing.T) {
	for want, all := range [][]int{{}, {-1, 3}, {1, 2}} {
		if got := Count(all, 2); got != want {
			t.Errorf("%v: %d, want %d", all, got, want)
		}
	}
}

func TestAdd(t *testing.T) {
	b := box{1}
	b.add(2)
	if b.v != 3 {
		t.Error(b.v)
	}
}

func TestNothing(t *testing.T) {}
`,
}

func sampleModule(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range sample {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func loaded(t *testing.T, root string) *source {
	t.Helper()
	s, err := load(root, "a")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMutantsOfEveryOperator(t *testing.T) {
	s := loaded(t, sampleModule(t))
	var got []string
	for _, m := range s.mutants {
		got = append(got, m.Function+" "+m.Operator+": "+m.Change)
	}
	for _, want := range []string{
		" constant: 10 → 11", " constant: 10 → 9", "Count negate: not v < 0", "Count boundary: < → <=", "Count logical: && → ||", "Count negate: not v < limit",
		"Count loop: continue → break", "Count remove: removed sum = append(sum, v)", "Count minmax: min → max", "Count arithmetic: + → -",
		"Count return: return 0", "(*box).add arithmetic: += → -=", "(*box).add remove: removed b.v += n", "(*box).add return: return at the start", "idle return: return 0",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no mutant %q of %q", want, got)
		}
	}
	if i := slices.IndexFunc(got, func(m string) bool { return strings.Contains(m, "16 → ") }); i >= 0 {
		t.Errorf("%q changes a capacity, which no test can see", got[i])
	}
	keys := map[string]bool{}
	for i := range s.mutants {
		m := &s.mutants[i]
		if keys[m.key()] {
			t.Errorf("two mutants %q", m.key())
		}
		keys[m.key()] = true
		text := m.apply(s.texts[m.File])
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, text, 0); err != nil {
			t.Errorf("%q is no Go: %v", m.key(), err)
		}
		if got, want := strings.Count(string(text), "\n"), strings.Count(sample["a/a.go"], "\n"); got != want && m.Change != "return at the start" {
			t.Errorf("%q has %d lines, the original %d", m.key(), got, want)
		}
	}
}

func TestTheSameMutantsAreDrawnAgainAndCompile(t *testing.T) {
	root := sampleModule(t)
	keys := func(seed string) (all []string) {
		s := loaded(t, root)
		lines := map[int]bool{}
		for _, m := range s.draw(seed, 6) {
			all = append(all, m.key())
			if lines[m.Line] || !s.compiles(&m) {
				t.Errorf("%q shares its line or does not compile", m.key())
			}
			lines[m.Line] = true
		}
		slices.Sort(all)
		return all
	}
	first := keys("a")
	if again := keys("a"); !slices.Equal(first, again) || len(first) != 6 {
		t.Errorf("drawn %q and then %q", first, again)
	}
	if other := keys("b"); slices.Equal(first, other) {
		t.Error("another seed draws the same")
	}
	// A function before the others moves their lines and changes nothing else.
	text := strings.Replace(sample["a/a.go"], "const limit", "func more() {\n}\n\nconst limit", 1)
	if err := os.WriteFile(filepath.Join(root, "a/a.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if moved := keys("a"); !slices.Equal(first, moved) {
		t.Errorf("drawn %q, and %q below a new function", first, moved)
	}
}

func TestOnlyTestsThatReachAMutantAreRunAndSayWhatBecameOfIt(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	root := sampleModule(t)
	b := &bench{root: root, dir: filepath.Join(root, "build"), scratch: filepath.Join(root, "build", "scratch")}
	if err := os.MkdirAll(b.scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	tests, err := b.survey("a", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	s := loaded(t, root)
	for change, want := range map[string]verdict{
		"+= → -=":          {Verdict: killed, By: []string{"a.TestAdd"}, Reached: 1},
		"continue → break": {Verdict: killed, By: []string{"a.TestCount"}, Reached: 1},
		"removed b.v += n": {Verdict: killed, By: []string{"a.TestAdd"}, Reached: 1},
		"min → max":        {Verdict: killed, By: []string{"a.TestCount"}, Reached: 1},
		"10 → 9":           {Verdict: survived, Reached: 2},
		"3 → 4":            {Verdict: unreached},
		"not v < 0":        {Verdict: killed, By: []string{"a.TestCount"}, Reached: 1},
	} {
		i := slices.IndexFunc(s.mutants, func(m mutant) bool { return m.Change == change })
		if i < 0 {
			t.Fatalf("no mutant %s", change)
		}
		got, err := b.try(s, &s.mutants[i], []*suite{tests})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want.Verdict || !slices.Equal(got.By, want.By) || got.Reached != want.Reached {
			t.Errorf("%s: %+v, want %+v", change, got, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "a/a.go")); err != nil || string(text) != sample["a/a.go"] {
		t.Errorf("the tree was changed (%v)", err)
	}
}

func TestAnEndlessMutantIsKilledByALimit(t *testing.T) {
	root := sampleModule(t)
	b := &bench{root: root, dir: root, scratch: filepath.Join(root, "scratch")}
	if o := b.execute("a", []string{"sh", "-c", "while :; do :; done"}, limits{cpu: 0, wall: 300}); !o.failed || !o.limited {
		t.Errorf("%+v, want that the limit ended it", o)
	}
	if o := b.execute("a", []string{"sh", "-c", "exit 3"}, limits{cpu: 5, wall: 300}); !o.failed || o.limited {
		t.Errorf("%+v, want a failure before the limit", o)
	}
}

func TestScoresSayWhatIsWrong(t *testing.T) {
	tried := func(change, v string) record {
		return record{mutant: mutant{Room: "r", Function: "f", Operator: "negate", Text: "x", Change: change}, verdict: verdict{Verdict: v}}
	}
	var all []record
	for i := range 60 {
		v := killed
		if i >= 52 {
			v = survived
		}
		all = append(all, tried(strings.Repeat("x", i+1), v))
	}
	listed := map[string]equivalent{all[59].key(): {Reason: "why"}}
	if s := count("g", all, listed); len(s.holds()) != 0 || s.killed != 52 || s.equivalent != 1 || len(s.left) != 7 {
		t.Errorf("%+v: %q", s, s.holds())
	}
	listed[all[0].key()] = equivalent{Reason: "wrong"}
	if s := count("g", all, listed); len(s.holds()) != 1 || !strings.Contains(s.holds()[0], "called equivalent") {
		t.Errorf("a killed one that is listed: %q", s.holds())
	}
	if s := count("g", all[10:], nil); len(s.holds()) != 2 { // too few, and 42 of 50
		t.Errorf("50 mutants: %q", s.holds())
	}
	s := count("g", all[8:58], nil) // 44 of 50
	if s.want = 50; len(s.holds()) != 0 {
		t.Errorf("50 mutants of a group that has no more: %q", s.holds())
	}
	for i := 52; i < 60; i++ {
		listed[all[i].key()] = equivalent{Reason: "why"}
	}
	delete(listed, all[0].key())
	if s := count("g", all, listed); len(s.holds()) != 1 || !strings.Contains(s.holds()[0], "at most 10 %") {
		t.Errorf("8 of 60 equivalent: %q", s.holds())
	}
}

func TestTheLedgerGoesOnWhereItWas(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.jsonl")
	l, err := openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []record{{ID: "a", verdict: verdict{Verdict: survived}}, {ID: "b", verdict: verdict{Verdict: killed, By: []string{"a.TestX"}}}, {ID: "a", verdict: verdict{Verdict: killed}}} {
		if err := l.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.file.WriteString(`{"id":"c","verd`); err != nil { // it was killed here
		t.Fatal(err)
	}
	l.file.Close()
	again, err := openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.file.Close()
	if err := again.add(record{ID: "d", verdict: verdict{Verdict: killed}}); err != nil {
		t.Fatal(err)
	}
	if once, err := openLedger(name); err != nil || once.known["d"].Verdict != killed {
		t.Errorf("what follows a line that was cut is lost: %+v, %v", once, err)
	} else {
		once.file.Close()
	}
	delete(again.known, "d")
	if len(again.known) != 2 || again.known["a"].Verdict != killed || !slices.Equal(again.known["b"].By, []string{"a.TestX"}) {
		t.Errorf("%+v", again.known)
	}
}

func TestAKillStandsWhileItsFunctionAndItsTestAreTheSame(t *testing.T) {
	m := &mutant{code: "func f() {}"}
	by, none := verdict{Verdict: killed, By: []string{"a.TestX"}}, verdict{Verdict: survived}
	code, tests := &suite{room: "a", files: "1"}, &suite{room: "a", files: "1", texts: map[string]string{"TestX": "x", "TestY": "y"}}
	before, left := state(m, by, code, []*suite{tests}), state(m, none, code, []*suite{tests})
	tests.texts["TestY"], tests.files = "changed", "2"
	if state(m, by, code, []*suite{tests}) != before {
		t.Error("another test touched a kill")
	}
	if state(m, none, code, []*suite{tests}) == left {
		t.Error("a survivor stands although the tests changed")
	}
	tests.texts["TestX"] = "changed"
	if state(m, by, code, []*suite{tests}) == before {
		t.Error("a kill stands although its test changed")
	}
}

func TestTheListOfEquivalentsIsRead(t *testing.T) {
	if _, err := readEquivalents("equivalent.toml"); err != nil {
		t.Error(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.toml")
	for _, text := range []string{"[[equivalent]]\npackage = \"a\"\n", "[[equivalent]]\nwhy = \"a\"\n"} {
		if err := os.WriteFile(bad, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readEquivalents(bad); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// TestWhatWasNotRunIsKept: a run of one group leaves the rows and the lists of the others as they are, and takes the place of its own.
func TestWhatWasNotRunIsKept(t *testing.T) {
	ran := func(name, room, when, verdicts string) score {
		var all []record
		listed := map[string]equivalent{}
		for i, v := range verdicts {
			r := record{mutant: mutant{Room: room, File: "a.go", Function: "f", Text: "a || b", Change: fmt.Sprint(i)}, verdict: verdict{Verdict: killed}}
			switch v {
			case 's':
				r.Verdict = survived
			case 'u':
				r.Verdict = unreached
			case 'l':
				r.Verdict = limited
			case 'e':
				r.Verdict = survived
				listed[r.key()] = equivalent{Reason: "why"}
			}
			all = append(all, r)
		}
		s := count(name, all, listed)
		s.when = when
		s.describe(listed)
		return s
	}
	old := []score{ran("clock", "core/trace/clock", "day, a", "kkse"), ran("simt", "core/simulator/simt/code", "day, b", "kkklsue")}
	text := page(merged("", old), "seed", "go")
	if again := page(merged(text, nil), "seed", "go"); again != text {
		t.Errorf("kept as\n%s\nwant\n%s", again, text)
	}
	if !strings.Contains(text, "| simt | 7 | 4 | 1 | 2 | 1 | 1 | 66.7 % | day, b |") || !strings.Contains(text, "| together | 11 | 6 | 1 | 3 | 1 | 2 | 66.7 % |") {
		t.Error(text)
	}
	fresh := ran("clock", "core/trace/clock", "next, c", "kkkk")
	want := page([]score{fresh, old[1]}, "seed", "go")
	if got := page(merged(text, []score{fresh}), "seed", "go"); got != want {
		t.Errorf("kept as\n%s\nwant\n%s", got, want)
	}
	kept, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(kept), "\n") { // what stands in the file outlives the next run
		if strings.HasPrefix(line, "- `") && groupOf(line) == "" {
			t.Errorf("of no group: %s", line)
		}
	}
}
