package compile

import (
	"container/heap"
	"slices"
)

// arrangement is the order in which the blocks of a function run while the lanes of a warp are at several of them: the lanes that
// are furthest behind run until they reach a block at which others wait, and go on with them. Every number is used once.
//
// The order follows every edge of the graph but those that lead back to the head of a loop; a loop's blocks have consecutive
// numbers, and behind them comes one more, at which lanes wait that go round again. So a block runs once for each pass of the loops
// around it, with all lanes that come to it in that pass, whatever others do in the meantime: leave the loop, return, exit, trap.
// Where the graph leaves a choice, what ends in a trap comes first, then it is the order of the text.
type arrangement struct {
	order   []int32 // of each block
	again   []int32 // of a block to which an edge leads back: where the lanes wait that take it; -1 no edge does
	reached []bool  // by control from the first block
	meets   []bool  // control can come from there to where lanes look at each other
	end     int32   // of the end of the function
}

// arrive is the number at which lanes wait that go from one block to another; -1 stands for the end of the function.
func (a *arrangement) arrive(from, to int32) int32 {
	switch {
	case to < 0:
		return a.end
	case a.order[to] > a.order[from]:
		return a.order[to]
	}
	return a.again[to]
}

// arrangeWork bounds the work on one function, in visits of each block and edge: loops that are nested deeper than any program's
// are taken for one.
const arrangeWork = 64

// arranger finds an arrangement: Bourdoncle's weak topological order, with blocks that leave a loop from its midst as part of it.
type arranger struct {
	succ, pred [][]int32
	lives      []bool  // blocks from which control can leave the function other than by a trap
	meets      []bool  // blocks from which control can come to one at which lanes look at each other
	region     []int32 // what is arranged together now
	regions    int32
	part       []int32 // of the region: the loop or single block to which a block belongs, as an index
	next       int32
	work       int
	out        *arrangement
}

// arrange orders blocks. leaves are those from which control can leave the function other than by a trap, meets are those in which
// lanes look at each other or wait for each other.
func arrange(succ [][]int32, leaves, meets []bool) *arrangement {
	a := &arranger{}
	a.prepare(succ)
	a.arrange(leaves, meets)
	return a.out
}

// prepare makes room for a graph.
func (a *arranger) prepare(succ [][]int32) {
	n := len(succ)
	a.succ, a.pred, a.region, a.part = succ, make([][]int32, n), make([]int32, n), make([]int32, n)
	a.out = &arrangement{order: make([]int32, n), again: make([]int32, n), reached: make([]bool, n)}
	a.reach()
	for v, list := range succ {
		a.out.again[v] = -1
		a.work += arrangeWork * (1 + len(list))
		if !a.out.reached[v] {
			continue
		}
		for _, s := range list {
			a.pred[s] = append(a.pred[s], int32(v))
		}
	}
}

// arrange numbers all blocks.
func (a *arranger) arrange(leaves, meets []bool) {
	a.lives, a.meets = a.reaching(leaves), a.reaching(meets)
	a.out.meets = a.meets
	var blocks []int32
	for v, reached := range a.out.reached {
		if reached {
			blocks = append(blocks, int32(v))
		}
	}
	a.place(blocks)
	for v, reached := range a.out.reached {
		if !reached {
			a.out.order[v] = a.take()
			a.out.again[v] = a.take()
		}
	}
	a.out.end = a.take()
}

func (a *arranger) take() int32 {
	a.next++
	return a.next - 1
}

// reach finds the blocks that control can come to.
func (a *arranger) reach() {
	if len(a.succ) == 0 {
		return
	}
	a.out.reached[0] = true
	for stack := []int32{0}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, s := range a.succ[v] {
			if !a.out.reached[s] {
				a.out.reached[s] = true
				stack = append(stack, s)
			}
		}
	}
}

// reaching says from which blocks control can come to one of a set.
func (a *arranger) reaching(set []bool) []bool {
	out := slices.Clone(set)
	var stack []int32
	for v, in := range set {
		if in {
			stack = append(stack, int32(v))
		}
	}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range a.pred[v] {
			if !out[p] {
				out[p] = true
				stack = append(stack, p)
			}
		}
	}
	return out
}

// place numbers the blocks of a region, which come in the order of the text.
func (a *arranger) place(blocks []int32) {
	if len(blocks) == 0 {
		return
	}
	a.regions++
	for _, v := range blocks {
		a.region[v] = a.regions
		a.work -= 1 + len(a.succ[v])
	}
	if a.work < 0 {
		a.flat(blocks)
		return
	}
	parts := a.loops(blocks)
	for _, i := range a.sorted(parts) {
		p := parts[i]
		if !a.isLoop(p) {
			a.out.order[p[0]] = a.take()
			continue
		}
		head := a.head(p)
		a.out.order[head] = a.take()
		a.place(slices.DeleteFunc(p, func(v int32) bool { return v == head }))
		a.out.again[head] = a.take()
	}
}

// flat numbers a region in the order of the text, without regard to the loops in it.
func (a *arranger) flat(blocks []int32) {
	for _, v := range blocks {
		a.out.order[v] = a.take()
	}
	for _, v := range blocks {
		for _, p := range a.pred[v] {
			if a.region[p] == a.region[v] && a.out.order[p] >= a.out.order[v] && a.out.again[v] < 0 {
				a.out.again[v] = a.take()
			}
		}
	}
}

// isLoop reports whether control can go round in a part.
func (a *arranger) isLoop(part []int32) bool {
	return len(part) > 1 || slices.Contains(a.succ[part[0]], part[0])
}

// head is the block through which control enters a loop: the first in the text, if there are several.
func (a *arranger) head(loop []int32) int32 {
	at := a.part[loop[0]]
	for _, v := range loop {
		if v == 0 {
			return v
		}
		for _, p := range a.pred[v] {
			if a.region[p] != a.region[v] || a.part[p] != at {
				return v
			}
		}
	}
	return loop[0]
}

// loops cuts a region into loops and single blocks. Each part is in the order of the text.
func (a *arranger) loops(blocks []int32) [][]int32 {
	cycles := a.cycles(blocks)
	for i, c := range cycles {
		for _, v := range c {
			a.part[v] = int32(i)
		}
	}
	for i := len(cycles) - 1; i >= 0; i-- { // those that control reaches first
		if c := cycles[i]; a.part[c[0]] == int32(i) && a.isLoop(c) {
			a.grow(c, int32(i))
		}
	}
	size := make([]int32, len(cycles))
	for _, v := range blocks {
		size[a.part[v]]++
	}
	parts, place := [][]int32{}, make([]int32, len(cycles))
	for i, n := range size {
		if n > 0 {
			place[i] = int32(len(parts))
			parts = append(parts, make([]int32, 0, n))
		}
	}
	for _, v := range blocks {
		a.part[v] = place[a.part[v]]
		parts[a.part[v]] = append(parts[a.part[v]], v)
	}
	return parts
}

// grow takes blocks into a loop that lanes pass on their way out of it, so that they run in the pass in which they leave. Control
// enters them from the loop alone, and one of these holds:
//   - They end in a trap.
//   - They stand in the text between the blocks of the loop, while the loop also ends elsewhere.
//   - They lead out of the function without looking at other lanes, while those that end the loop elsewhere do so: an early return.
func (a *arranger) grow(loop []int32, at int32) {
	first, last := loop[0], loop[len(loop)-1]
	within := func(v int32) bool { return v >= first && v <= last }
	ends, endsToMeet := false, false
	for _, v := range loop {
		for _, s := range a.succ[v] {
			elsewhere := a.lives[s] && !within(s)
			ends = ends || elsewhere
			endsToMeet = endsToMeet || elsewhere && a.meets[s]
		}
	}
	region := a.region[first]
	inLoop := func(v int32) bool { return a.region[v] == region && a.part[v] == at }
	may := func(v int32) bool {
		return a.region[v] == region && a.part[v] != at && (!a.lives[v] || ends && within(v) || endsToMeet && !a.meets[v])
	}
	elsewhere := func(v int32) bool { return !inLoop(v) && !may(v) }
	taken := map[int32]bool{}
	all := slices.Clone(loop)
	for i := 0; i < len(all); i++ {
		for _, s := range a.succ[all[i]] {
			if a.work -= 1 + len(a.pred[s]); a.work < 0 {
				return
			}
			if may(s) && !taken[s] && !slices.ContainsFunc(a.pred[s], elsewhere) {
				taken[s] = true
				all = append(all, s)
			}
		}
	}
	for dropped := true; dropped; { // what control can enter through one that was not taken
		dropped = false
		for _, v := range all[len(loop):] {
			a.work -= len(a.pred[v])
			if taken[v] && (a.work < 0 || slices.ContainsFunc(a.pred[v], func(p int32) bool { return !inLoop(p) && !taken[p] })) {
				taken[v], dropped = false, true
			}
		}
	}
	for v, is := range taken {
		if is {
			a.part[v] = at
		}
	}
}

// cycles finds the strongly connected parts of a region with Tarjan's algorithm, each in the order of the text. A part comes before
// those from which control comes to it.
func (a *arranger) cycles(blocks []int32) (parts [][]int32) {
	const unseen, closed = -1, int32(1) << 30
	region := a.region[blocks[0]]
	for _, v := range blocks {
		a.part[v] = unseen // while a block is open: the lowest number that is reached from it
	}
	type step struct{ block, next, number int32 }
	var stack []step
	var open []int32
	count := int32(0)
	enter := func(v int32) {
		stack = append(stack, step{v, 0, count})
		open = append(open, v)
		a.part[v] = count
		count++
	}
	for _, root := range blocks {
		if a.part[root] != unseen {
			continue
		}
		for enter(root); len(stack) > 0; {
			top := &stack[len(stack)-1]
			if int(top.next) < len(a.succ[top.block]) {
				s := a.succ[top.block][top.next]
				top.next++
				if a.region[s] != region {
					continue
				}
				if a.part[s] == unseen {
					enter(s)
				} else {
					a.part[top.block] = min(a.part[top.block], a.part[s])
				}
				continue
			}
			done := *top
			stack = stack[:len(stack)-1]
			low := a.part[done.block]
			if len(stack) > 0 {
				below := stack[len(stack)-1].block
				a.part[below] = min(a.part[below], low)
			}
			if low != done.number {
				continue
			}
			at := len(open) - 1
			for open[at] != done.block {
				at--
			}
			part := slices.Clone(open[at:])
			open = open[:at]
			for _, v := range part {
				a.part[v] = closed
			}
			slices.Sort(part)
			parts = append(parts, part)
		}
	}
	return parts
}

// queue holds parts that may come next: first those that end in a trap, so that lanes that fail do not wait for others, then by
// their place in the text.
type queue struct {
	parts [][]int32
	lives []bool
	ready []int32
}

func (q *queue) Len() int { return len(q.ready) }
func (q *queue) Less(i, j int) bool {
	v, w := q.parts[q.ready[i]][0], q.parts[q.ready[j]][0]
	if q.lives[v] != q.lives[w] {
		return q.lives[w]
	}
	return v < w
}
func (q *queue) Swap(i, j int) { q.ready[i], q.ready[j] = q.ready[j], q.ready[i] }
func (q *queue) Push(x any)    { q.ready = append(q.ready, x.(int32)) }
func (q *queue) Pop() any {
	last := q.ready[len(q.ready)-1]
	q.ready = q.ready[:len(q.ready)-1]
	return last
}

// sorted lists the parts of a region so that every edge between two leads to the later one.
func (a *arranger) sorted(parts [][]int32) []int32 {
	before := make([]int32, len(parts)) // edges into a part from those that are not listed yet
	region := int32(0)
	each := func(i int32, do func(to int32)) {
		for _, v := range parts[i] {
			for _, s := range a.succ[v] {
				if a.region[s] == region && a.part[s] != i {
					do(a.part[s])
				}
			}
		}
	}
	for i, p := range parts {
		region = a.region[p[0]]
		each(int32(i), func(to int32) { before[to]++ })
	}
	q := &queue{parts: parts, lives: a.lives}
	for i, n := range before {
		if n == 0 {
			heap.Push(q, int32(i))
		}
	}
	list := make([]int32, 0, len(parts))
	for q.Len() > 0 {
		i := heap.Pop(q).(int32)
		list = append(list, i)
		each(i, func(to int32) {
			if before[to]--; before[to] == 0 {
				heap.Push(q, to)
			}
		})
	}
	return list
}
