package repeat_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// check tests what holds for every result.
func check(t testing.TB, in []uint32, st repeat.Structure) {
	t.Helper()
	if len(st.Levels) > repeat.MaxLevels || st.Symbols != len(in) || st.Covered > len(in) {
		t.Fatalf("%d levels, %d symbols, %d covered", len(st.Levels), st.Symbols, st.Covered)
	}
	for li, l := range st.Levels {
		var all []repeat.Span
		covered := 0
		for ci, c := range l.Classes {
			edits, edited, sum := 0, 0, 0
			if c.Period != len(c.Symbols) || c.Rotation < 0 || c.Rotation >= c.Period || len(c.Repetitions) == 0 {
				t.Fatalf("class of period %d: %d symbols, rotation %d, %d repetitions", c.Period, len(c.Symbols), c.Rotation, len(c.Repetitions))
			}
			word := append(slices.Clone(c.Symbols[c.Rotation:]), c.Symbols[:c.Rotation]...)
			for _, r := range c.Repetitions {
				if r.Start < 0 || r.End <= r.Start || int(r.End) > len(in) {
					t.Fatalf("repetition %v of %d symbols", r, len(in))
				}
				if r.Edits == 0 && !slices.Equal(word, in[r.Start:r.End]) {
					t.Fatalf("level %d class %d: %v is not an exact repetition", li, ci, r)
				}
				if r.Edits > 0 {
					edited++
				}
				edits += int(r.Edits)
				sum += int(r.End - r.Start)
			}
			if edits != c.Edits || edited != c.Edited || sum != c.Covered {
				t.Fatalf("edits %d, %d edited, %d covered: counted %d %d %d", c.Edits, c.Edited, c.Covered, edits, edited, sum)
			}
			covered += sum
			all = append(all, c.Repetitions...)
			for _, child := range c.Children {
				if child.Level >= li || child.Count < 1 || !slices.Contains(st.Levels[child.Level].Classes[child.Class].Parents, repeat.Ref{Level: li, Class: ci}) {
					t.Fatalf("level %d class %d: child %+v", li, ci, child)
				}
			}
		}
		if covered != l.Covered {
			t.Fatalf("level covers %d, classes %d", l.Covered, covered)
		}
		slices.SortFunc(all, func(a, b repeat.Span) int { return int(a.Start) - int(b.Start) })
		for i := 1; i < len(all); i++ {
			if all[i].Start < all[i-1].End {
				t.Fatalf("level %d: %v and %v overlap", li, all[i-1], all[i])
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("abcdefgabcdefgabcdefgabcdefg"))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("pabcabcabcabcabcsqpabcabcabcabcabcsqpabcabcaxbcabcabcsqpabcabcabcabcabcsq"))
	f.Add([]byte{})
	c := cycletest.Make("dense-moe", 1, cycletest.Options{Kernels: 600, Noise: 0.3})
	var seed []byte
	for _, s := range c.Symbols {
		seed = append(seed, byte(s))
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := make([]uint32, len(data))
		for i, b := range data {
			in[i] = uint32(b)
		}
		st := repeat.Find(in, repeat.Options{})
		check(t, in, st)
		for i := range in { // large numbers are renumbered
			in[i] |= 1 << 31
		}
		high := repeat.Find(in, repeat.Options{})
		check(t, in, high)
	})
}

func TestInvariantsHoldForEveryFamily(t *testing.T) {
	for _, family := range cycletest.Families() {
		for seed := range 5 {
			c := cycletest.Make(family, uint64(seed), cycletest.Options{Kernels: 5000, Noise: 0.2, Jitter: 0.3})
			symbols, _, _ := c.Main()
			st := find(c)
			check(t, symbols, st)
			if again := find(c); !reflect.DeepEqual(st, again) {
				t.Fatalf("%s seed %d: two results", family, seed)
			}
		}
	}
}

// maximalRuns is the slow exact finder: all stretches with a smallest period that occur at least twice and cannot be made longer.
func maximalRuns(in []uint32) map[[3]int]bool {
	out := map[[3]int]bool{}
	taken := map[[2]int]bool{}
	for p := 1; 2*p <= len(in); p++ {
		for i := 0; i+2*p <= len(in); {
			j := i
			for j+p < len(in) && in[j] == in[j+p] {
				j++
			}
			if j-i >= p && !taken[[2]int{i, j + p}] { // a multiple of a period spans the same stretch
				taken[[2]int{i, j + p}] = true
				out[[3]int{i, j + p, p}] = true
			}
			i = j + 1
		}
	}
	return out
}

func TestRepetitionsLieInMaximalRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	classes := 0
	for range 2000 {
		word := make([]uint32, 3+rng.IntN(12))
		for i := range word {
			word[i] = uint32(rng.IntN(6))
		}
		var in []uint32
		for range rng.IntN(10) {
			in = append(in, uint32(rng.IntN(20)))
		}
		for range 2 + rng.IntN(12) {
			in = append(in, word...)
		}
		for range rng.IntN(10) {
			in = append(in, uint32(rng.IntN(20)))
		}
		runs := maximalRuns(in)
		st := repeat.Find(in, repeat.Options{EditPercent: -1})
		if len(st.Levels) == 0 {
			continue
		}
		for _, c := range st.Levels[0].Classes {
			if len(c.Children) > 0 {
				continue
			}
			classes++
			for i := 1; i < len(c.Repetitions); i++ {
				a, b := c.Repetitions[i-1], c.Repetitions[i]
				if a.End != b.Start {
					continue
				}
				within := false
				for r := range runs {
					within = within || r[0] <= int(a.Start) && int(b.End) <= r[1] && c.Period%r[2] == 0
				}
				if !within {
					t.Fatalf("%v: %v %v of period %d lie in no maximal run", in, a, b, c.Period)
				}
			}
		}
	}
	if classes < 1000 {
		t.Errorf("%d classes looked at", classes)
	}
	t.Logf("%d classes agree with the exact finder", classes)
}

// A cycle keeps its id from whatever start, and under another numbering when there is a Key.
func TestIDsDependOnWhatRepeatsAlone(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	hash := func(s string) uint64 { return uint64(s[0]) * 0x9e3779b97f4a7c15 }
	var first uint64
	for rotate := range 7 {
		numbers := rand.New(rand.NewPCG(uint64(rotate), 1)).Perm(7)
		var in []uint32
		for i := range 70 {
			in = append(in, uint32(numbers[(i+rotate)%7]))
		}
		back := make([]string, 7)
		for i, n := range numbers {
			back[n] = names[i]
		}
		st := repeat.Find(in, repeat.Options{Key: func(s uint32) uint64 { return hash(back[s]) }})
		if len(st.Levels) != 1 || len(st.Levels[0].Classes) != 1 {
			t.Fatalf("rotation %d: %+v", rotate, st)
		}
		c := st.Levels[0].Classes[0]
		if c.Period != 7 || len(c.Repetitions) != 10 {
			t.Errorf("rotation %d: %d x %d", rotate, c.Period, len(c.Repetitions))
		}
		if rotate == 0 {
			first = c.ID
		} else if c.ID != first {
			t.Errorf("rotation %d has another id", rotate)
		}
	}
}

// inputs are sequences of n symbols: ordinary ones and the worst ones.
var inputs = []struct {
	name string
	make func(n int) []uint32
}{
	{"decode", func(n int) []uint32 {
		out := make([]uint32, 0, n)
		for len(out) < n {
			out = append(out, 1, 2, 3)
			for range 32 {
				for k := range uint32(16) {
					out = append(out, 10+k)
				}
			}
			out = append(out, 4, 5, 6)
		}
		return out[:n]
	}},
	{"equal", func(n int) []uint32 { return make([]uint32, n) }},
	{"fibonacci", func(n int) []uint32 {
		a, b := []uint32{0}, []uint32{0, 1}
		for len(b) < n {
			a, b = b, append(slices.Clone(b), a...)
		}
		return b[:n]
	}},
	{"random", func(n int) []uint32 {
		rng := rand.New(rand.NewPCG(1, 2))
		out := make([]uint32, n)
		for i := range out {
			out[i] = uint32(rng.IntN(200))
		}
		return out
	}},
	{"random-many", func(n int) []uint32 {
		rng := rand.New(rand.NewPCG(1, 2))
		out := make([]uint32, n)
		for i := range out {
			out[i] = rng.Uint32N(1 << 20)
		}
		return out
	}},
	{"random-binary", func(n int) []uint32 {
		rng := rand.New(rand.NewPCG(1, 2))
		out := make([]uint32, n)
		for i := range out {
			out[i] = uint32(rng.IntN(2))
		}
		return out
	}},
	{"de-bruijn", func(n int) []uint32 { // of order 24 over two symbols, by a shift register
		out := make([]uint32, n)
		state := uint32(1)
		for i := range out {
			out[i] = state & 1
			state = state>>1 | ((state^state>>1^state>>2^state>>7)&1)<<23
		}
		return out
	}},
	{"noisy-decode", func(n int) []uint32 {
		c := cycletest.Make("single-prefill", 3, cycletest.Options{Kernels: n, Noise: 0.05})
		return c.Symbols
	}},
}

func TestWorstInputsAreRight(t *testing.T) {
	for _, in := range inputs {
		s := in.make(30_000)
		st := repeat.Find(s, repeat.Options{})
		check(t, s, st)
		switch in.name {
		case "equal", "decode", "noisy-decode":
			if len(st.Levels) == 0 {
				t.Errorf("%s: no cycle", in.name)
			}
		case "random", "random-many", "random-binary", "de-bruijn":
			if len(st.Levels) > 0 {
				t.Errorf("%s: a cycle%s", in.name, describe(st))
			}
		}
	}
}
