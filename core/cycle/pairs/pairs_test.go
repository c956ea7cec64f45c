package pairs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lcs is the slow obvious twin.
func lcs(a, b []int32) int {
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			best[i+1][j+1] = max(best[i][j+1], best[i+1][j])
			if a[i] == b[j] {
				best[i+1][j+1] = max(best[i+1][j+1], best[i][j]+1)
			}
		}
	}
	return best[len(a)][len(b)]
}

func letters(r *rand.Rand, n, alphabet int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(alphabet))
	}
	return out
}

func TestCyclicScoresAreThoseOfBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 1000 {
		k := 1 + r.IntN(8)
		a, b := letters(r, 1+r.IntN(40), k), letters(r, 1+r.IntN(40), k)
		for at, got := range cyclicScores(a, b) {
			turned := slices.Concat(b[at:], b[:at])
			if want := lcs(a, turned); got != want {
				t.Fatalf("case %d, rotation %d: %d, not %d\n%v\n%v", n, at, got, want, a, b)
			}
		}
		ka, kb := keys{a, a}, keys{b, b}
		rot, pairs := rotation(ka, kb), 0
		for _, p := range aligned(ka, kb, rot) {
			if p.a >= 0 && p.b >= 0 {
				pairs++
			}
		}
		if want := slices.Max(cyclicScores(a, b)); pairs != want {
			t.Fatalf("case %d: %d pairs, not %d", n, pairs, want)
		}
	}
}

func TestTwoThousandByTwoThousand(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := letters(r, 2000, 60), letters(r, 2000, 60)
	rot := rotation(keys{a, a}, keys{b, b})
	n := len(aligned(keys{a, a}, keys{b, b}, rot))
	t.Logf("2,000 x 2,000: %d steps", n)
}

// run is a class of n slots with a little noise; two classes of one seed differ only in the noise.
func run(r *rand.Rand, n, reps int) ClassView {
	c := ClassView{Level: 1, PerStep: 32, WallNS: make([]int64, reps), GapNS: make([]int64, reps)}
	for i := range n {
		name := fmt.Sprintf("kernel_%c", 'a'+i%26)
		c.Slots = append(c.Slots, Slot{Name: name, Strict: fmt.Sprintf("%s<%d>", name, i/26), Loose: fmt.Sprintf("%s%d", name, i/26), NS: times(r, int64(2000+137*i), reps)})
	}
	return c
}

func times(r *rand.Rand, base int64, reps int) []int64 {
	out := make([]int64, reps)
	for i := range out {
		out[i] = base + int64(float64(base)*0.02*r.NormFloat64())
	}
	return out
}

func TestSelfCompareIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a := run(r, 50, 20)
	c := Classes([]ClassView{a}, []ClassView{a}, Options{})
	if len(c.Pairs) != 1 || len(c.Pairs[0].Rows) != 50 || len(c.Regressions)+len(c.Improvements) != 0 || c.Pairs[0].Similarity != 1 {
		t.Fatalf("%+v", c)
	}
	for _, row := range c.Pairs[0].Rows {
		if row.Kind != Exact || row.DeltaNS() != 0 || row.Verdict != Same || row.A[0] != row.B[0] {
			t.Errorf("%+v", row)
		}
	}
}

func TestInjectedEditsAreFoundAndNothingElse(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 12 + r.IntN(30)
		a, b := run(r, n, 30), run(r, n, 30)
		at := r.Perm(n / 3)
		slow, removed, fused, renamed := 3*at[0], 3*at[1], 3*at[2], 3*at[3] // three apart: edits do not touch
		for i := range b.Slots[slow].NS {
			b.Slots[slow].NS[i] = b.Slots[slow].NS[i] * 12 / 10
		}
		b.Slots[renamed].Strict += "tile"
		b.Slots[fused].Strict, b.Slots[fused].Loose = "fused", "fused"
		slots := []Slot{}
		for i, s := range b.Slots {
			if i != removed && i != fused+1 {
				slots = append(slots, s)
			}
		}
		turn := r.IntN(len(slots))
		b.Slots = slices.Concat(slots[turn:], slots[:turn])
		c := Classes([]ClassView{a}, []ClassView{b}, Options{})
		if len(c.Pairs) != 1 {
			t.Fatalf("seed %d: %d pairs", seed, len(c.Pairs))
		}
		for _, row := range c.Pairs[0].Rows {
			want, verdict := Exact, Same
			switch row.A[0] {
			case slow:
				verdict = Slower
			case removed:
				want, verdict = Removed, NotTested
			case fused:
				want, verdict = Fused, Faster
			case renamed:
				want = Similar
			}
			if row.Kind != want || row.Verdict != verdict {
				t.Errorf("seed %d, slot %d: %s %q, want %s %q", seed, row.A[0], row.Kind, row.Verdict, want, verdict)
			}
		}
		if len(c.Regressions) != 1 || len(c.Improvements) != 2 {
			t.Errorf("seed %d: regressions %v, improvements %v", seed, c.Regressions, c.Improvements)
		}
	}
}

func TestFewRepetitionsAreNotJudged(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, reps := range []int{0, 1, MinRepetitions - 1, MinRepetitions} { // with 8, no p survives 40 tests
		a, b := run(r, 40, reps), run(r, 40, reps)
		for i := range b.Slots[3].NS {
			b.Slots[3].NS[i] *= 2
		}
		for _, row := range Classes([]ClassView{a}, []ClassView{b}, Options{}).Pairs[0].Rows {
			if row.Verdict != TooFew {
				t.Errorf("%d repetitions: %q", reps, row.Verdict)
			}
		}
	}
}

// U = 0 of 8 against 8: |z| = (32-0.5)/sqrt(64/12*17), p = 0.00094 (tables of the normal distribution).
func TestMannWhitney(t *testing.T) {
	x, y := []int64{1, 2, 3, 4, 5, 6, 7, 8}, []int64{11, 12, 13, 14, 15, 16, 17, 18}
	if p := mannWhitney(x, y); math.Abs(p-0.00094) > 1e-5 {
		t.Errorf("p = %v", p)
	}
	if p, q := mannWhitney(x, y), mannWhitney(y, x); math.Abs(p-q) > 1e-15 {
		t.Errorf("not symmetric: %v %v", p, q)
	}
	if p := mannWhitney([]int64{5, 5}, []int64{5, 5}); p != 1 {
		t.Errorf("all equal: p = %v", p)
	}
}

func TestClassesMatchByIDThenLikeness(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	small, big := run(r, 12, 9), run(r, 40, 9)
	small.Phase, big.Phase = "decode", "prefill"
	c := Classes([]ClassView{small, big}, []ClassView{big, small}, Options{})
	if len(c.Pairs) != 2 || c.Pairs[0].B != 1 || c.Pairs[1].B != 0 {
		t.Errorf("%+v", c.Pairs)
	}
	other := small
	other.Phase = "prefill"
	if c := Classes([]ClassView{small}, []ClassView{other}, Options{}); len(c.OnlyA) != 1 || len(c.OnlyB) != 1 {
		t.Errorf("decode is not prefill: %+v", c)
	}
	small.ID, other.ID = 7, 7
	if c := Classes([]ClassView{small}, []ClassView{other}, Options{}); len(c.Pairs) != 1 {
		t.Errorf("one id is one class: %+v", c)
	}
	if c := Classes(nil, []ClassView{{}}, Options{}); len(c.OnlyB) != 1 {
		t.Errorf("%+v", c)
	}
}
