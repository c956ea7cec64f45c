package script

import "math"

// Edit is one place where two sequences differ: Del elements of a, from A on, stand where Ins elements of b, from B on, stand.
// What lies between edits is equal.
type Edit struct {
	A, B     int32
	Del, Ins int32
}

// Script is what turns a into b: edits in ascending order, with at least one equal element between two of them.
type Script []Edit

// Cost says what a script costs and what is known about that.
type Cost struct {
	Edits   int64 // elements deleted and inserted
	Minimal bool  // no script costs less; false: the budget did not suffice to know
}

// Budget bounds the work on one pair of sequences. The zero Budget is defaultSteps.
type Budget struct {
	// Steps is the number of machine words of the table of matches that may be computed, at about 1.5 ns each. Beyond it the
	// sequences are aligned window by window, in time proportional to their length.
	Steps int64
	// Expected is how many edits it will take, when somebody knows roughly; 0: unknown. It saves time, and changes no cost.
	Expected int
	// Stop, when it is set, is asked now and then; once it says true, the script is finished in no time, whatever it costs.
	Stop func() bool
}

// defaultSteps is the budget that the zero Budget stands for, a few tenths of a second.
const defaultSteps = int64(1) << 27

// maxLen is the length of the longest sequence that is aligned.
const maxLen = math.MaxInt32 / 4

// Shortest returns a shortest script that turns a into b by deleting and inserting, as far as the budget goes.
func Shortest(a, b []uint32, budget Budget) (Script, Cost) {
	var s Solver
	return s.Shortest(a, b, budget)
}

// Solver finds scripts one after another and keeps its memory. The zero Solver is ready; it is not for several goroutines.
type Solver struct {
	edits    Script
	reversed Script // of one table, from its end
	frontier []int32
	symbols  symbolTable
	table    table
	limit    int // of the search by distance, for tests; 0: by length
}

// Shortest is the function of that name; the Script is valid until the next call.
//
// Equal ends are cut off first. What remains is searched in the order of distance (Myers) while the distance is small, and then
// with a table of matches, 64 cells a machine word, of which only the diagonals are computed that a script of the distance found
// can reach: that proves the script minimal.
func (s *Solver) Shortest(a, b []uint32, budget Budget) (Script, Cost) {
	if len(a) > maxLen || len(b) > maxLen {
		panic("script: a sequence is longer than MaxLen")
	}
	if budget.Steps <= 0 {
		budget.Steps = defaultSteps
	}
	s.edits = s.edits[:0]
	head := CommonPrefix(a, b)
	a, b = a[head:], b[head:]
	tail := CommonSuffix(a, b)
	minimal := s.middle(a[:len(a)-tail], b[:len(b)-tail], int32(head), budget)
	return s.edits, s.cost(minimal)
}

func (s *Solver) cost(minimal bool) Cost {
	cost := Cost{Minimal: minimal}
	for _, e := range s.edits {
		cost.Edits += int64(e.Del) + int64(e.Ins)
	}
	return cost
}

// Near is Shortest for sequences that are near each other. It gives up when they are not, with ok false and a guess of how many
// edits it will take; it is cheap then.
func (s *Solver) Near(a, b []uint32) (script Script, expected int, ok bool) {
	return s.NearRuns(&Runs{
		A: len(a), B: len(b),
		Ahead: func(x, y, n int) int { return CommonPrefix(a[x:x+n], b[y:y+n]) },
		Back:  func(x, y, n int) int { return CommonSuffix(a[x-n:x], b[y-n:y]) },
	})
}

// Runs are two sequences of A and B elements that do not lie in memory as numbers.
type Runs struct {
	A, B  int
	Ahead func(x, y, n int) int // how many of n elements from x of one and y of the other on are equal
	Back  func(x, y, n int) int // how many of n elements in front of them, from the last on
}

// NearRuns is Near for sequences that are given by their runs.
func (s *Solver) NearRuns(r *Runs) (script Script, expected int, ok bool) {
	s.edits = s.edits[:0]
	head := r.Ahead(0, 0, min(r.A, r.B))
	tail := r.Back(r.A, r.B, min(r.A, r.B)-head)
	n, m := r.A-head-tail, r.B-head-tail
	if n == 0 || m == 0 {
		if n+m > 0 {
			s.add(Edit{int32(head), int32(head), int32(n), int32(m)})
		}
		return s.edits, 0, true
	}
	limit := min(nearLimit, greedyLimit(n+m))
	reached, ok := s.greedyOf(sequences{n: n, m: m, runs: r, from: head}, int32(head), limit, Open{})
	if !ok {
		expected = guess(limit, reached, n+m)
	}
	return s.edits, expected, ok
}

// nearLimit is the largest distance that is near.
const nearLimit = 48

// middle appends the edits of two sequences that begin and end unequal, and reports whether they are proven minimal.
func (s *Solver) middle(a, b []uint32, at int32, budget Budget) bool {
	switch {
	case len(a) == 0 && len(b) == 0:
		return true
	case len(a) == 0 || len(b) == 0:
		s.add(Edit{at, at, int32(len(a)), int32(len(b))})
		return true
	}
	limit := greedyLimit(len(a) + len(b))
	expected := budget.Expected
	if expected <= limit/2 {
		reached, done := s.greedy(a, b, at, limit, Open{})
		if done {
			return true
		}
		expected = guess(limit, reached, len(a)+len(b))
	}
	s.symbols.build(b)
	gap := abs(len(b) - len(a))
	margin := max(expected-gap, 32) / 2
	for {
		t := &s.table
		t.stop = budget.Stop
		t.shape(len(a), len(b), min(0, len(b)-len(a))-margin, max(0, len(b)-len(a))+margin)
		if t.steps() > budget.Steps {
			return s.windows(a, b, at)
		}
		budget.Steps -= t.steps()
		t.fill(a, &s.symbols)
		cost := len(a) + len(b) - 2*t.length()
		if stopped := t.stopped(); stopped || cost <= gap+2*(margin+1) { // a script that leaves the band costs as much
			s.reversed = t.trace(a, b, len(b), &s.symbols, s.reversed[:0])
			s.addReversed(at, at)
			return !stopped
		}
		margin = (cost - gap + 1) / 2 // wide enough for every script that is as cheap
	}
}

// guess is how many edits it may take to the end when so many brought a script as far as reached.
func guess(edits, reached, elements int) int {
	n := int(float64(edits) * float64(elements) / float64(max(reached, 1)))
	return n + n/8
}

// add appends an edit, joined with the last one when they touch.
func (s *Solver) add(e Edit) {
	if n := len(s.edits); n > 0 {
		last := &s.edits[n-1]
		if last.A+last.Del == e.A && last.B+last.Ins == e.B {
			last.Del += e.Del
			last.Ins += e.Ins
			return
		}
	}
	s.edits = append(s.edits, e)
}

// addReversed appends the edits that were found from the end to the beginning of parts that begin at a and b.
func (s *Solver) addReversed(a, b int32) {
	for i := len(s.reversed) - 1; i >= 0; i-- {
		e := s.reversed[i]
		e.A += a
		e.B += b
		s.add(e)
	}
}

// block is how many elements are compared at once; an array of them compares as memory.
const block = 16

// CommonPrefix is how many elements at the beginning are equal.
func CommonPrefix(a, b []uint32) int {
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && *(*[block]uint32)(a[i:]) == *(*[block]uint32)(b[i:]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// CommonSuffix is how many elements at the end are equal.
func CommonSuffix(a, b []uint32) int {
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && *(*[block]uint32)(a[len(a)-i-block:]) == *(*[block]uint32)(b[len(b)-i-block:]) {
		i += block
	}
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
