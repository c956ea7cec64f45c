package script

import (
	"math/rand/v2"
	"testing"
)

// random makes a sequence of so many different elements.
func random(r *rand.Rand, n, different int) []uint32 {
	keys := make([]uint32, different)
	for i := range keys {
		keys[i] = r.Uint32()
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = keys[r.IntN(different)]
	}
	return out
}

// replaced gives n elements, evenly spread, values that stand nowhere else: 2n edits.
func replaced(a []uint32, n int) []uint32 {
	b := append([]uint32(nil), a...)
	for i := range n {
		b[(2*i+1)*len(b)/(2*n)] = 1<<31 | uint32(i)
	}
	return b
}

func TestManyDifferentElementsAreDistinguished(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	var s Solver
	for range 200 {
		all := random(r, 600, 1+r.IntN(400))
		a, b := all[:1+r.IntN(300)], all[300:301+r.IntN(300)]
		script, cost := s.Shortest(a, b, Budget{})
		if got, want := apply(t, a, b, script), distance(a, b); got != want || got != cost.Edits {
			t.Fatalf("%d and %d elements: cost %d, said %d, possible %d", len(a), len(b), got, cost.Edits, want)
		}
	}
}

func TestNearEndsAtItsLimitHoweverLongTheSequencesAre(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var s Solver
	for _, n := range []int{20_000, 200_000} {
		a := random(r, n, 50)
		for i := range a {
			a[i] &= 1<<31 - 1
		}
		for _, tc := range []struct {
			replaced int
			near     bool
		}{{nearLimit / 2, true}, {nearLimit/2 + 1, false}, {2 * nearLimit, false}} {
			b := replaced(a, tc.replaced)
			script, expected, ok := s.Near(a, b)
			if ok != tc.near {
				t.Errorf("%d elements with %d replaced are near: %v", n, tc.replaced, ok)
			}
			if ok {
				if cost := apply(t, a, b, script); cost != int64(2*tc.replaced) {
					t.Errorf("cost %d, want %d", cost, 2*tc.replaced)
				}
			} else if expected < tc.replaced || expected > 4*tc.replaced { // spread evenly, as the guess supposes
				t.Errorf("%d edits are expected, it takes %d", expected, 2*tc.replaced)
			}
		}
	}
}

// The table may compute no more than it says beforehand: the budget is checked against that.
func TestStepsAreAtLeastWhatIsComputed(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range 2000 {
		rows, cols := 1+r.IntN(5000), 1+r.IntN(5000)
		margin := r.IntN(1000)
		var tb table
		tb.shape(rows, cols, min(0, cols-rows)-margin, max(0, cols-rows)+margin)
		computed := int64(0)
		for k := range tb.blocks() {
			lo, hi := tb.band(k)
			computed += int64(hi-lo+1) * int64(min(rowsPerBlock, rows-k*rowsPerBlock))
		}
		// A band is as high as a block: its diagonals move on by so many columns on the way down.
		if most := tb.steps() + int64(rows)*int64(rowsPerBlock/64+1); computed > most {
			t.Fatalf("%d rows, %d columns, margin %d: %d words are computed, %d were said", rows, cols, margin, computed, tb.steps())
		}
	}
}

func TestBeyondTheBudgetWorkIsLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, tc := range []struct{ a, b int }{{30_000, 30_000}, {20_000, 60_000}, {60_000, 20_000}, {windowRows, 60_000}} {
		all := random(r, tc.a+tc.b, 1000)
		a, b := all[:tc.a], all[tc.a:]
		var s Solver
		asked := 0
		script, cost := s.Shortest(a, b, Budget{Steps: 1 << 10, Stop: func() bool {
			asked++
			return asked > 10_000 // it would go on for ever
		}})
		if apply(t, a, b, script); cost.Minimal || asked > 10_000 {
			t.Errorf("%d and %d elements: minimal %v after %d questions", tc.a, tc.b, cost.Minimal, asked)
		}
		if s.table.rows > windowRows || s.table.cols > windowCols {
			t.Errorf("%d and %d elements: a table of %d by %d, a window is %d by %d", tc.a, tc.b, s.table.rows, s.table.cols, windowRows, windowCols)
		}
	}
}

// What windows skip because it is equal stays equal in the script.
func TestWindowsGoOnAfterEqualEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	a := random(r, 90_000, 1000)
	for i := range a {
		a[i] &= 1<<31 - 1
	}
	b := replaced(a, 600)
	script, cost := Shortest(a, b, Budget{Steps: 1, Expected: 1200})
	if got := apply(t, a, b, script); got != 1200 || cost.Minimal {
		t.Errorf("%d edits (said to be minimal: %v) of 600 replaced elements", got, cost.Minimal)
	}
}

func TestOpenEndsKeepToTheBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	all := random(r, 11_000, 50)
	a, b := all[:6000], all[6000:]
	for _, open := range []Open{{A: true}, {B: true}, {A: true, B: true}} {
		for _, steps := range []int64{1, 100_000} {
			var s Solver
			script, cost := s.Open(a, b, open, Budget{Steps: steps})
			if apply(t, a, b, withRest(script, len(a), len(b))); cost.Minimal {
				t.Errorf("%+v is said to be minimal within %d steps", open, steps)
			}
			if most := steps + 5*int64(len(a)); s.table.steps() > most { // words at the edges of the band, and one band at least
				t.Errorf("%+v: %d words were computed, %d were allowed", open, s.table.steps(), steps)
			}
		}
		if _, cost := Shortest(a[:100], b[:100], Budget{Steps: -1}); !cost.Minimal {
			t.Error("no budget is not the usual one")
		}
	}
}
