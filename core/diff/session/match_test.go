package session

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// launches makes a session of words: a kernel, "*n" for a grid of n blocks, "#n" for arguments with that digest.
func launches(words string) *Session {
	s := &Session{}
	for i, word := range strings.Fields(words) {
		word, digest, _ := strings.Cut(word, "#")
		kernel, grid, _ := strings.Cut(word, "*")
		arguments, _ := strconv.ParseUint(digest, 10, 64)
		blocks, _ := strconv.ParseUint(grid, 10, 32)
		s.Launches = append(s.Launches, Launch{
			Number: uint64(i), Kernel: kernel, Grid: [3]uint32{uint32(max(blocks, 1)), 1, 1}, ArgumentDigest: arguments,
		})
	}
	return s
}

func describe(m matching) string {
	var out []string
	for _, p := range m.Pairs {
		out = append(out, fmt.Sprintf("%d=%d:%s", p.A, p.B, p.By))
	}
	for _, i := range m.OnlyA {
		out = append(out, fmt.Sprintf("-%d", i))
	}
	for _, i := range m.OnlyB {
		out = append(out, fmt.Sprintf("+%d", i))
	}
	return strings.Join(out, " ")
}

func TestMatchingOfLaunches(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"nothing":                           {"", "", ""},
		"equal sessions":                    {"f g#1 f", "f g#1 f", "0=0:shape 1=1:arguments 2=2:shape"},
		"inserted at the front":             {"f g h", "x f g h", "0=1:shape 1=2:shape 2=3:shape +0"},
		"inserted of the same kernel":       {"f#1 f#2 f#3", "f#9 f#1 f#2 f#3", "0=1:arguments 1=2:arguments 2=3:arguments +0"},
		"missing in the middle":             {"f g h", "f h", "0=0:shape 2=1:shape -1"},
		"arguments that differ everywhere":  {"f#1 g#2 h#3", "f#4 g#5 h#6", "0=0:place 1=1:place 2=2:place"},
		"the place outweighs the arguments": {"f#1 f#2 g", "f#3 f#1 g", "0=0:place 1=1:place 2=2:shape"},
		"arguments known on one side":       {"f#1 g", "f g#2", "0=0:shape 1=1:shape"},
		"another grid":                      {"f*2 g", "f*3 g", "0=0:kernel 1=1:shape"},
		"another grid is worth less":        {"f*2", "f*3 f*2", "0=1:shape +0"},
		"two of another grid for one equal": {"f*2 f*4", "f*4 f*3", "1=0:shape -0 +1"},
		"another kernel":                    {"f", "g", "-0 +0"},
		"reordered, each once":              {"f g", "g f", "0=1:shape 1=0:content"},
		"reordered, told by arguments":      {"f#1 f#2 g g g", "g g g f#1 f#2", "0=3:content 1=4:content 2=0:shape 3=1:shape 4=2:shape"},
		"reordered, not told apart":         {"f f g g g", "g g g f f", "2=0:shape 3=1:shape 4=2:shape -0 -1 +3 +4"},
		"everything is new":                 {"", "f g", "+0 +1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := describe(match(launches(c.a), launches(c.b)))
			if name == "reordered, each once" { // either order is as good; one of them is taken, always
				if got != c.want && got != "0=1:content 1=0:shape" {
					t.Errorf("got %s, want %s", got, c.want)
				}
				return
			}
			if got != c.want {
				t.Errorf("%q against %q:\ngot  %s\nwant %s", c.a, c.b, got, c.want)
			}
		})
	}
}

// best is the highest score of any alignment, found by trying everything.
func best(a, b []token) int32 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	score := max(best(a[1:], b), best(a, b[1:]))
	if s := a[0].score(b[0]); s > 0 {
		score = max(score, s+best(a[1:], b[1:]))
	}
	return score
}

func randomLaunches(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = string(rune('f' + r.IntN(3)))
		if r.IntN(3) == 0 {
			words[i] += "*2"
		}
		if r.IntN(2) == 0 {
			words[i] += "#" + strconv.Itoa(1+r.IntN(3))
		}
	}
	return strings.Join(words, " ")
}

func TestMatchingScoresAsMuchAsAnyAlignment(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 1500 {
		m := &matcher{cells: maxCells, gapCells: maxGapCells}
		a, b := randomLaunches(r, r.IntN(8)), randomLaunches(r, r.IntN(8))
		m.tokenize(launches(a), launches(b))
		want := best(m.a, m.b)
		m.align(span{0, len(m.a)}, span{0, len(m.b)}, 0)
		var got int32
		for _, p := range m.pairs {
			got += m.a[p.A].score(m.b[p.B])
		}
		if got != want {
			t.Fatalf("%q against %q: the pairs score %d, want %d", a, b, got, want)
		}
	}
}

// check fails unless every launch is in one place, and pairs are of one kernel.
func check(t *testing.T, a, b *Session, m matching) {
	t.Helper()
	inA, inB := make([]int, len(a.Launches)), make([]int, len(b.Launches))
	lastB := -1
	for i, p := range m.Pairs {
		if i > 0 && m.Pairs[i-1].A >= p.A {
			t.Fatalf("pairs are not ascending at %v", p)
		}
		if p.By != ByContent {
			if p.B <= lastB {
				t.Fatalf("%v crosses another pair", p)
			}
			lastB = p.B
		}
		if a.Launches[p.A].Kernel != b.Launches[p.B].Kernel {
			t.Fatalf("%v pairs two kernels", p)
		}
		inA[p.A]++
		inB[p.B]++
	}
	for _, i := range m.OnlyA {
		inA[i]++
	}
	for _, i := range m.OnlyB {
		inB[i]++
	}
	for _, counts := range [][]int{inA, inB} {
		for i, n := range counts {
			if n != 1 {
				t.Fatalf("launch %d is in %d places", i, n)
			}
		}
	}
}

func TestMatchingWithoutBudgetIsStillAMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 500 {
		a, b := launches(randomLaunches(r, r.IntN(60))), launches(randomLaunches(r, r.IntN(60)))
		m := &matcher{cells: 40, gapCells: 20}
		m.tokenize(a, b)
		check(t, a, b, m.match())
	}
}

func TestMatchingIsTheSameEveryTime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	a, b := launches(randomLaunches(r, 200)), launches(randomLaunches(r, 220))
	first := match(a, b)
	for range 5 {
		if again := match(a, b); !reflect.DeepEqual(first, again) {
			t.Fatal("two matchings of the same sessions differ")
		}
	}
}

// long is a session of steps of kernels, with and without digests.
func long(n int, digests bool) *Session {
	s := &Session{Launches: make([]Launch, n)}
	for i := range s.Launches {
		s.Launches[i] = Launch{Number: uint64(i), Kernel: "kernel_" + strconv.Itoa(i%137), Grid: [3]uint32{uint32(1 + i%3), 1, 1}}
		if digests {
			s.Launches[i].ArgumentDigest = uint64(i + 1)
		}
	}
	return s
}

func TestHundredThousandLaunchesMatchInBoundedTime(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(8, 8))
	for name, digests := range map[string]bool{"with digests": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			a := long(n, digests)
			b := &Session{}
			inserted, missing := 0, 0
			for i := range a.Launches {
				if r.IntN(500) == 0 {
					b.Launches = append(b.Launches, Launch{Kernel: "new_" + strconv.Itoa(inserted)})
					inserted++
				}
				if r.IntN(500) == 0 {
					missing++
					continue
				}
				b.Launches = append(b.Launches, a.Launches[i])
			}
			m := match(a, b)
			check(t, a, b, m)
			if len(m.OnlyA) != missing || len(m.OnlyB) != inserted {
				t.Errorf("%d missing and %d inserted, want %d and %d", len(m.OnlyA), len(m.OnlyB), missing, inserted)
			}
			wrong := 0
			for _, p := range m.Pairs {
				if a.Launches[p.A].Number != b.Launches[p.B].Number {
					wrong++
				}
			}
			if wrong > 0 {
				t.Errorf("%d launches are paired with another one", wrong)
			}
		})
	}
	t.Run("nothing in common", func(t *testing.T) {
		a, b := long(n, false), long(n, false)
		for i := range b.Launches {
			b.Launches[i].Kernel = "other" + strconv.Itoa(r.IntN(1000))
		}
		m := match(a, b)
		check(t, a, b, m)
	})
	t.Run("shuffled", func(t *testing.T) {
		a, b := long(n, false), long(n, false)
		r.Shuffle(n, func(i, k int) { b.Launches[i], b.Launches[k] = b.Launches[k], b.Launches[i] })
		m := match(a, b)
		check(t, a, b, m)
	})
}

func BenchmarkMatch(b *testing.B) {
	x, y := long(10_000, false), long(10_000, false)
	y.Launches = append([]Launch{{Kernel: "first"}}, y.Launches...)
	y.Launches[5000].Kernel = "another"
	for b.Loop() {
		match(x, y)
	}
}
