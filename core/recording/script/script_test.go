package script

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// apply turns a into b by a script, and fails when the script is not well formed.
func apply(t testing.TB, a, b []uint32, s Script) (cost int64) {
	t.Helper()
	var out []uint32
	at := 0
	for i, e := range s {
		if e.Del < 0 || e.Ins < 0 || e.Del+e.Ins == 0 || int(e.A) < at || i > 0 && int(e.A) == at {
			t.Fatalf("edit %d %+v is empty, overlaps or touches the one before (at %d)", i, e, at)
		}
		out = append(out, a[at:e.A]...)
		if int(e.B) != len(out) {
			t.Fatalf("edit %d %+v stands at %d of b", i, e, len(out))
		}
		out = append(out, b[e.B:e.B+e.Ins]...)
		at = int(e.A + e.Del)
		cost += int64(e.Del) + int64(e.Ins)
	}
	out = append(out, a[at:]...)
	if !slices.Equal(out, b) {
		t.Fatalf("the script does not turn a into b: %v", s)
	}
	return cost
}

// distance is the cost of a shortest script, by the definition.
func distance(a, b []uint32) int64 {
	row := make([]int32, len(b)+1)
	for _, x := range a {
		diagonal := row[0]
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return int64(len(a)+len(b)) - 2*int64(row[len(b)])
}

// program makes a sequence that looks like a kernel's: loops, nested, over few sites.
func program(r *rand.Rand, n int) []uint32 {
	var out []uint32
	for len(out) < n {
		body := make([]uint32, 1+r.IntN(6))
		for i := range body {
			body[i] = uint32(r.IntN(24)) * 0x9e3779b9
		}
		for range 1 + r.IntN(40) {
			out = append(out, body...)
			if r.IntN(8) == 0 {
				out = append(out, uint32(r.IntN(24))*0x9e3779b9)
			}
		}
	}
	return out[:n]
}

// edited inserts, deletes and replaces runs.
func edited(r *rand.Rand, a []uint32, edits, longest int) []uint32 {
	b := slices.Clone(a)
	for range edits {
		at := r.IntN(len(b) + 1)
		n := 1 + r.IntN(longest)
		del := min(n, len(b)-at)
		switch r.IntN(3) {
		case 0:
			b = slices.Insert(b, at, program(r, n)...)
		case 1:
			b = slices.Delete(b, at, at+del)
		default:
			copy(b[at:at+del], program(r, n))
		}
	}
	return b
}

func TestScriptsAreMinimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Solver
	pairs, minimal := 0, 0
	for pairs < 4000 {
		n := 1 + r.IntN(300)
		a := program(r, n)
		b := edited(r, a, r.IntN(12), 1+r.IntN(60))
		if r.IntN(10) == 0 {
			b = program(r, 1+r.IntN(300)) // nothing in common
		}
		pairs++
		script, cost := s.Shortest(a, b, Budget{})
		got, want := apply(t, a, b, script), distance(a, b)
		if got != cost.Edits {
			t.Fatalf("the script costs %d, said was %d", got, cost.Edits)
		}
		if cost.Minimal && got != want {
			t.Fatalf("pair %d: the script costs %d and is said to be minimal; %d is possible", pairs, got, want)
		}
		if got == want {
			minimal++
		}
	}
	t.Logf("%d of %d scripts are minimal", minimal, pairs)
	if minimal != pairs {
		t.Errorf("%d of %d scripts are minimal", minimal, pairs)
	}
}

func TestLongRunsAreMinimal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s Solver
	for i := range 12 {
		a := program(r, 2000+r.IntN(4000))
		b := edited(r, a, 1+r.IntN(200), 1+r.IntN(40))
		if i%3 == 0 {
			b = edited(r, b, 2, 5000)
		}
		script, cost := s.Shortest(a, b, Budget{})
		if got, want := apply(t, a, b, script), distance(a, b); got != want || !cost.Minimal {
			t.Errorf("%d and %d elements: cost %d (said to be minimal: %v), possible is %d", len(a), len(b), got, cost.Minimal, want)
		}
	}
}

// The table must give the same with every band that is wide enough, kept whole or recomputed.
func TestTheTableAgreesWithItself(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		a := program(r, 1+r.IntN(400))
		b := edited(r, a, 1+r.IntN(10), 1+r.IntN(100))
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		var symbols symbolTable
		symbols.build(b)
		want := distance(a, b)
		var tb table
		margin := int(want)
		if r.IntN(2) == 0 {
			margin = r.IntN(1 + margin)
		}
		tb.shape(len(a), len(b), min(0, len(b)-len(a))-margin, max(0, len(b)-len(a))+margin)
		tb.fill(a, &symbols)
		cost := len(a) + len(b) - 2*tb.length()
		if cost <= abs(len(b)-len(a))+2*(margin+1) && int64(cost) != want {
			t.Fatalf("margin %d: cost %d, want %d", margin, cost, want)
		}
		if r.IntN(2) == 0 {
			tb.keptAt = tb.keptAt[:0] // as if it had been too large
		}
		script := tb.trace(a, b, len(b), &symbols, nil)
		slices.Reverse(script)
		if got := apply(t, a, b, script); got != int64(cost) {
			t.Fatalf("margin %d: the way back costs %d, the table says %d", margin, got, cost)
		}
	}
}

func TestBeyondTheBudgetScriptsAreWholeAndSaySo(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	a := program(r, 60_000)
	b := edited(r, a, 30, 5000)
	script, cost := Shortest(a, b, Budget{Steps: 1 << 16})
	_, best := Shortest(a, b, Budget{Steps: 1 << 40})
	if apply(t, a, b, script); cost.Minimal || !best.Minimal {
		t.Errorf("minimal %v with a small budget, %v with a large one; want false and true", cost.Minimal, best.Minimal)
	}
	t.Logf("%d and %d elements: %d edits in windows, %d at best", len(a), len(b), cost.Edits, best.Edits)
	if cost.Edits > best.Edits*2 {
		t.Errorf("%d edits in windows, %d at best", cost.Edits, best.Edits)
	}
	unlike := make([]uint32, 100_000)
	for i := range unlike {
		unlike[i] = r.Uint32()
	}
	script, _ = Shortest(a, unlike, Budget{Steps: 1 << 16})
	apply(t, a, unlike, script)
}

// openDistance is the cost of a shortest script when the end of one sequence, or of whichever ends later, costs nothing.
func openDistance(a, b []uint32, open Open) int64 {
	best := distance(a, b)
	if open.A {
		for i := range a {
			best = min(best, distance(a[:i], b))
		}
	}
	if open.B {
		for j := range b {
			best = min(best, distance(a, b[:j]))
		}
	}
	return best
}

// withRest adds what is left over at an open end as an edit.
func withRest(s Script, a, b int) Script {
	var x, y int
	if n := len(s); n > 0 {
		x, y = int(s[n-1].A+s[n-1].Del), int(s[n-1].B+s[n-1].Ins)
	}
	equal := min(a-x, b-y)
	solver := Solver{edits: slices.Clone(s)}
	if rest := (Edit{int32(x + equal), int32(y + equal), int32(a - x - equal), int32(b - y - equal)}); rest.Del+rest.Ins > 0 {
		solver.add(rest)
	}
	return solver.edits
}

func TestOpenEndsCostNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var s Solver
	for n := range 600 {
		a := program(r, 1+r.IntN(120))
		b := edited(r, a, r.IntN(8), 1+r.IntN(20))
		if n%7 == 0 {
			b = program(r, 1+r.IntN(120))
		}
		if r.IntN(2) == 0 {
			b = b[:r.IntN(len(b)+1)]
		} else {
			a = a[:r.IntN(len(a)+1)]
		}
		open := Open{A: r.IntN(2) == 0, B: r.IntN(2) == 0}
		if n%2 == 0 {
			s.limit = 1 // straight to the table
		}
		script, cost := s.Open(a, b, open, Budget{})
		s.limit = 0
		whole := apply(t, a, b, withRest(script, len(a), len(b)))
		if want := openDistance(a, b, open); !cost.Minimal || cost.Edits != want || whole < want {
			t.Fatalf("pair %d, %+v: cost %+v of %d in all, want %d", n, open, cost, whole, want)
		}
	}
}

func TestNearGivesTheShortestScriptOrNone(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	var s Solver
	given := 0
	for range 1000 {
		a := program(r, 1+r.IntN(300))
		b := edited(r, a, r.IntN(8), 1+r.IntN(9))
		script, expected, ok := s.Near(a, b)
		if !ok {
			script, cost := s.Shortest(a, b, Budget{Expected: expected})
			if got, want := apply(t, a, b, script), distance(a, b); got != want || !cost.Minimal {
				t.Fatalf("expecting %d: cost %d, want %d", expected, got, want)
			}
			continue
		}
		given++
		if got, want := apply(t, a, b, script), distance(a, b); got != want {
			t.Fatalf("cost %d, want %d", got, want)
		}
	}
	if given < 500 {
		t.Errorf("%d of 1000 pairs were near", given)
	}
}

func TestAStoppedScriptIsWholeAndSoon(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	a, b := make([]uint32, 200_000), make([]uint32, 210_000)
	for i := range a {
		a[i] = r.Uint32N(50)
	}
	for i := range b {
		b[i] = r.Uint32N(50)
	}
	for _, steps := range []int64{1 << 50, 1 << 20} {
		for after := range 3 {
			asked := 0
			script, cost := Shortest(a, b, Budget{Steps: steps, Stop: func() bool { asked++; return asked > after }})
			if asked > after+2 {
				t.Errorf("went on for %d questions after it was stopped", asked-after-1)
			}
			if apply(t, a, b, script); cost.Minimal {
				t.Error("is said to be minimal")
			}
		}
	}
}

func TestEndsAreComparedExactly(t *testing.T) {
	for n := range 70 {
		for at := range n {
			a := make([]uint32, n)
			b := make([]uint32, n)
			b[at] = 1
			if got := CommonPrefix(a, b); got != at {
				t.Fatalf("prefix of %d elements that differ at %d: %d", n, at, got)
			}
			if got := CommonSuffix(a, b); got != n-1-at {
				t.Fatalf("suffix of %d elements that differ at %d: %d", n, at, got)
			}
		}
	}
}

func FuzzShortest(f *testing.F) {
	f.Add([]byte("abcabcabcabc"), []byte("abcabcabc"), uint16(0))
	f.Add([]byte("abcdefgh"), []byte("hgfedcba"), uint16(9))
	f.Add([]byte(""), []byte("x"), uint16(1))
	f.Fuzz(func(t *testing.T, x, y []byte, steps uint16) {
		if len(x) > 4096 || len(y) > 4096 {
			return
		}
		a, b := make([]uint32, len(x)), make([]uint32, len(y))
		for i := range x {
			a[i] = uint32(x[i])
		}
		for i := range y {
			b[i] = uint32(y[i])
		}
		script, cost := Shortest(a, b, Budget{Steps: int64(steps)})
		if got := apply(t, a, b, script); got != cost.Edits || cost.Minimal && got != distance(a, b) {
			t.Fatalf("cost %d, said %+v, possible %d", got, cost, distance(a, b))
		}
	})
}

func BenchmarkShortest(bm *testing.B) {
	for _, c := range []struct {
		n, edits, longest int
	}{{4096, 4, 1}, {4096, 20, 1}, {4096, 60, 1}, {4096, 205, 1}, {4096, 205, 8}, {10_000, 1, 5000}, {10_000, 20, 5000}, {50_000, 200, 1000}} {
		bm.Run(fmt.Sprintf("events=%d/edits=%d/run=%d", c.n, c.edits, c.longest), func(bm *testing.B) {
			r := rand.New(rand.NewPCG(9, 10))
			a := program(r, c.n)
			b := edited(r, a, c.edits, c.longest)
			var s Solver
			s.Shortest(a, b, Budget{})
			for bm.Loop() {
				s.Shortest(a, b, Budget{})
			}
			_, cost := s.Shortest(a, b, Budget{})
			bm.ReportMetric(float64(cost.Edits), "cost")
		})
	}
}
