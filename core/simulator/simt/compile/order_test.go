package compile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomGraph has n blocks with up to three edges each.
func randomGraph(r *rand.Rand, n int) (succ [][]int32, leaves, meets []bool) {
	succ, leaves, meets = make([][]int32, n), make([]bool, n), make([]bool, n)
	for v := range succ {
		for range r.IntN(4) {
			if s := int32(r.IntN(n)); !slices.Contains(succ[v], s) {
				succ[v] = append(succ[v], s)
			}
		}
		leaves[v] = len(succ[v]) == 0 && r.IntN(4) > 0 || r.IntN(10) == 0
		meets[v] = r.IntN(5) == 0
	}
	return succ, leaves, meets
}

// reaches says which blocks control can come to from one without passing another (-1 none).
func reaches(succ [][]int32, from, without int32) []bool {
	seen := make([]bool, len(succ))
	for stack := []int32{from}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, s := range succ[v] {
			if s != without && !seen[s] {
				seen[s] = true
				stack = append(stack, s)
			}
		}
	}
	return seen
}

// Lanes that go on never arrive where others wait that they could still be met by: every edge leads to a later number, numbers are
// used once, and an edge back waits behind every block from which control can come to the head of the loop without leaving it.
func TestArrangementsFollowTheGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 3000 {
		n := 1 + r.IntN(14)
		succ, leaves, meets := randomGraph(r, n)
		a := arrange(succ, leaves, meets)
		used := map[int32]bool{a.end: true}
		for v := range n {
			for _, number := range []int32{a.order[v], a.again[v]} {
				if number >= 0 && used[number] || number >= a.end {
					t.Fatalf("round %d: %v: number %d is used twice: %+v", round, succ, number, a)
				}
				used[number] = true
			}
		}
		reached := reaches(succ, 0, -1)
		reached[0] = true
		if !slices.Equal(reached, a.reached) {
			t.Fatalf("round %d: %v: reached %v, want %v", round, succ, a.reached, reached)
		}
		for v := range int32(n) {
			if !reached[v] {
				continue
			}
			for _, s := range succ[v] {
				at := a.arrive(v, s)
				if at <= a.order[v] {
					t.Fatalf("round %d: %v: edge %d to %d arrives at %d: %+v", round, succ, v, s, at, a)
				}
				if at == a.order[s] {
					continue
				}
				for u := range int32(n) { // the edge leads back: s is the head of a loop, in which every block is numbered before again
					inLoop := u == s || reaches(succ, s, -1)[u] && reaches(succ, u, -1)[s]
					if inLoop && a.order[u] > a.order[s] && a.order[u] > at && headless(succ, a, s, u) {
						t.Fatalf("round %d: %v: block %d of the loop at %d is behind its end: %+v", round, succ, u, s, a)
					}
				}
			}
		}
	}
}

// headless reports whether control can go from a block to the head of a loop and back without passing a block that is numbered
// before the head: whether the block is in that loop, not in one around it only.
func headless(succ [][]int32, a *arrangement, head, block int32) bool {
	inner := make([][]int32, len(succ))
	for v := range succ {
		for _, s := range succ[v] {
			if a.order[v] >= a.order[head] && a.order[s] >= a.order[head] {
				inner[v] = append(inner[v], s)
			}
		}
	}
	return reaches(inner, head, -1)[block] && reaches(inner, block, -1)[head]
}

func TestArrangementKeepsTheOrderOfTheText(t *testing.T) {
	for name, c := range map[string]struct {
		succ         [][]int32
		leave, meet  []int32
		order, again []int32
	}{
		"if and else":                 {[][]int32{{2, 1}, {3}, {3}, {}}, []int32{3}, nil, []int32{0, 1, 2, 3}, []int32{-1, -1, -1, -1}},
		"a loop, then the rest":       {[][]int32{{2, 1}, {0}, {}}, []int32{2}, nil, []int32{0, 1, 3}, []int32{2, -1, -1}},
		"the rest in front":           {[][]int32{{2, 1}, {}, {0}}, []int32{1}, nil, []int32{0, 3, 1}, []int32{2, -1, -1}},
		"a loop that begins below":    {[][]int32{{2}, {2}, {1, 3}, {}}, []int32{3}, nil, []int32{0, 2, 1, 4}, []int32{-1, -1, 3, -1}},
		"a trap does not wait":        {[][]int32{{3, 1}, {2}, {}, {}}, []int32{2}, nil, []int32{0, 2, 3, 1}, []int32{-1, -1, -1, -1}},
		"work before a break":         {[][]int32{{4, 1}, {2, 3}, {4}, {0}, {}}, []int32{4}, nil, []int32{0, 1, 2, 3, 5}, []int32{4, -1, -1, -1, -1}},
		"work behind the only break":  {[][]int32{{1, 2}, {3}, {0}, {}}, []int32{3}, nil, []int32{0, 3, 1, 4}, []int32{2, -1, -1, -1}},
		"a trap in a loop":            {[][]int32{{2, 1}, {3, 0}, {}, {}}, []int32{2}, nil, []int32{0, 1, 4, 2}, []int32{3, -1, -1, -1}},
		"a return before a shuffle":   {[][]int32{{2, 1}, {3, 0}, {4}, {4}, {}}, []int32{4}, []int32{2}, []int32{0, 1, 4, 2, 5}, []int32{3, -1, -1, -1, -1}},
		"a return without any":        {[][]int32{{2, 1}, {3, 0}, {4}, {4}, {}}, []int32{4}, nil, []int32{0, 1, 3, 4, 5}, []int32{2, -1, -1, -1, -1}},
		"loops in loops":              {[][]int32{{1}, {1, 2}, {0, 3}, {}}, []int32{3}, nil, []int32{0, 1, 3, 5}, []int32{4, 2, -1, -1}},
		"a place that is not reached": {[][]int32{{2}, {2}, {}}, []int32{2}, nil, []int32{0, 2, 1}, []int32{-1, 3, -1}},
	} {
		set := func(list []int32) []bool {
			out := make([]bool, len(c.succ))
			for _, v := range list {
				out[v] = true
			}
			return out
		}
		a := arrange(c.succ, set(c.leave), set(c.meet))
		if !slices.Equal(a.order, c.order) || !slices.Equal(a.again, c.again) {
			t.Errorf("%s: order %v, again %v, want %v, %v", name, a.order, a.again, c.order, c.again)
		}
	}
}

// The work on a graph is bounded: loops nested as deep as there are blocks, loops that share what ends in a trap.
func TestArrangementOfHostileGraphs(t *testing.T) {
	const n = 1 << 14
	deep, shared := make([][]int32, n), make([][]int32, n)
	for v := range int32(n) {
		deep[v] = []int32{min(v+1, n-1), n - 1 - v}
		shared[v] = []int32{min(v+1, n-1), v, (v/2 + n/2) % n}
	}
	for name, succ := range map[string][][]int32{"nested": deep, "shared": shared} {
		a := &arranger{}
		leaves := make([]bool, n)
		leaves[n/3] = true
		a.prepare(succ)
		before := a.work
		a.arrange(leaves, leaves)
		if spent := before - a.work; spent > before+64*n {
			t.Errorf("%s: %d visits, %d were allowed", name, spent, before)
		}
		for v := range succ {
			for _, s := range succ[v] {
				if a.out.reached[v] && a.out.arrive(int32(v), s) <= a.out.order[v] {
					t.Fatalf("%s: edge %d to %d", name, v, s)
				}
			}
		}
	}
}
