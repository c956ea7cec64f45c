package script

// Open says at the end of which sequences elements may be missing on the other side at no cost: the other one was cut off.
// With both, what is left over of the one that ends later costs nothing.
type Open struct{ A, B bool }

// Open is Shortest for sequences whose ends are open. What is left over at an open end is no edit:
// it is what one sequence still has when, after the last edit, equal elements have led to the end of the other.
func (s *Solver) Open(a, b []uint32, open Open, budget Budget) (Script, Cost) {
	if open == (Open{}) {
		return s.Shortest(a, b, budget)
	}
	if budget.Steps <= 0 {
		budget.Steps = defaultSteps
	}
	s.edits = s.edits[:0]
	head := CommonPrefix(a, b)
	minimal := s.openMiddle(a[head:], b[head:], int32(head), open, budget)
	return s.edits, s.cost(minimal)
}

// openMiddle appends the edits up to where the open end begins.
func (s *Solver) openMiddle(a, b []uint32, at int32, open Open, budget Budget) bool {
	if len(a) == 0 || len(b) == 0 {
		if len(a) > 0 && !open.A || len(b) > 0 && !open.B {
			s.add(Edit{at, at, int32(len(a)), int32(len(b))})
		}
		return true
	}
	limit := greedyLimit(len(a) + len(b))
	if s.limit > 0 {
		limit = s.limit
	}
	reached, done := s.greedy(a, b, at, limit, open)
	if done {
		return true
	}
	margin := guess(limit, reached, 2*min(len(a), len(b)))
	var best Script
	cost, minimal := len(a)+len(b)+1, true
	for _, way := range []struct {
		use     bool
		swapped bool
	}{{open.B, false}, {open.A, true}} {
		if !way.use {
			continue
		}
		edits, c, proven := s.openColumns(a, b, way.swapped, margin, budget)
		if minimal = minimal && proven; c < cost {
			best, cost = edits, c
		}
	}
	s.reversed = best
	s.addReversed(at, at)
	return minimal
}

// openColumns solves the case that b is open with a table whose last column is free, or that a is, with both swapped.
func (s *Solver) openColumns(a, b []uint32, swapped bool, margin int, budget Budget) (reversed Script, cost int, minimal bool) {
	rows, cols := a, b
	if swapped {
		rows, cols = b, a
	}
	s.symbols.build(cols)
	t := &s.table
	t.stop = budget.Stop
	for {
		t.shape(len(rows), len(cols), -margin, margin)
		over := t.steps() > budget.Steps
		if over { // as wide as there is budget for
			margin = min(margin, max(64, int(32*budget.Steps/int64(len(rows)))))
			t.shape(len(rows), len(cols), -margin, margin)
		}
		budget.Steps -= t.steps()
		t.fill(rows, &s.symbols)
		end, cost := t.bestColumn()
		if cost > margin && !over && margin < len(rows)+len(cols) && !t.stopped() { // a script that leaves the band costs more than the margin
			margin = cost
			continue
		}
		reversed = t.trace(rows, cols, end, &s.symbols, nil)
		for i := range reversed {
			if e := &reversed[i]; swapped {
				e.A, e.B, e.Del, e.Ins = e.B, e.A, e.Ins, e.Del
			}
		}
		return reversed, cost, !over && !t.stopped()
	}
}
