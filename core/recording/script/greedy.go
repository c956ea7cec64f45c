package script

import "math"

// greedyLimit is the distance up to which searching in the order of distance is cheaper than the table, for so many elements.
func greedyLimit(elements int) int { return min(1024, 16+int(math.Sqrt(float64(elements)))) }

// greedy appends the edits of the shortest script when its distance is at most limit (Myers 1986): frontier d holds, by diagonal,
// how far scripts of d edits get. Frontiers are kept for the way back, limit^2/2 numbers. Otherwise it reports how many elements
// of both sequences the furthest script has behind it.
func (s *Solver) greedy(a, b []uint32, at int32, limit int, open Open) (reached int, done bool) {
	return s.greedyOf(sequences{a: a, b: b, n: len(a), m: len(b)}, at, limit, open)
}

// sequences are two sequences of n and m elements: numbers, or parts of Runs.
type sequences struct {
	a, b []uint32
	n, m int

	runs *Runs // nil: numbers
	from int   // of runs, on both sides
}

// ahead is how many elements are equal from x and y on, which both sequences have.
func (q *sequences) ahead(x, y int) int {
	switch {
	case q.runs != nil:
		return q.runs.Ahead(q.from+x, q.from+y, min(q.n-x, q.m-y))
	case q.a[x] != q.b[y]:
		return 0
	}
	return CommonPrefix(q.a[x:], q.b[y:])
}

func (s *Solver) greedyOf(q sequences, at int32, limit int, open Open) (reached int, done bool) {
	if size := (limit + 1) * (limit + 2) / 2; cap(s.frontier) < size {
		s.frontier = make([]int32, size)
	}
	store := s.frontier[:cap(s.frontier)]
	goal := q.n - q.m
	if abs(goal) > limit && open == (Open{}) {
		return probe(q.n, q.m, limit), false
	}
	var prev []int32
	for d := 0; d <= limit; d++ {
		now := store[d*(d+1)/2:][: d+1 : d+1]
		for t := range now {
			k := 2*t - d
			x := 0
			switch {
			case d == 0:
			case t == 0 || t != d && prev[t-1] < prev[t]:
				x = int(prev[t]) // one more of b
			default:
				x = int(prev[t-1]) + 1 // one more of a
			}
			y := x - k
			if x < q.n && y < q.m {
				run := q.ahead(x, y)
				x, y = x+run, y+run
			}
			now[t] = int32(x)
			if k == goal && x >= q.n || open.A && y == q.m && x <= q.n || open.B && x == q.n && y <= q.m {
				s.back(x, y, at, d)
				return reached, true
			}
			if x <= q.n && y <= q.m {
				reached = max(reached, x+y)
			}
		}
		if d == limit/4 && reached*8 < q.n+q.m {
			return reached * 4, false // too far for this way: half of the distance allowed would not do
		}
		prev = now
	}
	return reached, false
}

// probe is how far a few edits get, for sequences whose lengths alone are too far apart: a guess is enough then.
func probe(n, m, limit int) int { return max(1, (n+m)*limit/max(1, abs(n-m)+limit)) }

// back appends the edits that led to the end in d edits.
func (s *Solver) back(x, y int, at int32, d int) {
	s.reversed = s.reversed[:0]
	for ; d > 0; d-- {
		k := x - y
		t := (k + d) / 2
		prev := s.frontier[(d-1)*d/2:][:d]
		e := Edit{}
		if t == 0 || t != d && prev[t-1] < prev[t] {
			x = int(prev[t])
			y = x - k - 1
			e = Edit{int32(x), int32(y), 0, 1}
		} else {
			x = int(prev[t-1])
			y = x - k + 1
			e = Edit{int32(x), int32(y), 1, 0}
		}
		s.reversed = prepend(s.reversed, e)
	}
	s.addReversed(at, at)
}

// prepend appends to a reversed script an edit that stands before all others, joined with the last one when they touch.
func prepend(r Script, e Edit) Script {
	if n := len(r); n > 0 {
		next := &r[n-1]
		if e.A+e.Del == next.A && e.B+e.Ins == next.B {
			next.A, next.B = e.A, e.B
			next.Del += e.Del
			next.Ins += e.Ins
			return r
		}
	}
	return append(r, e)
}
