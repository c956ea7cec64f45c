package ptx

// finish finds the blocks of a function once all its labels are resolved.
func (f *Function) finish() {
	n := int32(len(f.Insts))
	begins := make([]bool, n+1)
	if n > 0 {
		begins[0] = true
	}
	for i := range f.Insts {
		in := &f.Insts[i]
		eachTarget(in, func(t int32) { begins[t] = true })
		if endsBlock(in) {
			begins[i+1] = true
		}
	}
	blockOf := make([]int32, n+1)
	for i := int32(0); i < n; i++ {
		if begins[i] {
			f.Blocks = append(f.Blocks, Block{First: i})
		}
		blockOf[i] = int32(len(f.Blocks) - 1)
		f.Blocks[len(f.Blocks)-1].End = i + 1
	}
	blockOf[n] = -1 // a label at the end: the exit
	ends := make([]bool, len(f.Blocks))
	for i := range f.Blocks {
		f.connect(int32(i), blockOf, ends)
	}
	succ := make([][]int32, len(f.Blocks))
	for i := range f.Blocks {
		succ[i] = f.Blocks[i].Succ
	}
	for i, pd := range postDominators(succ, ends) {
		f.Blocks[i].PostDominator = pd
	}
}

// eachTarget calls f with the targets of a branch.
func eachTarget(in *Inst, f func(int32)) {
	if in.Op.Name != "bra" && in.Op.Name != "brx" {
		return
	}
	for i := range in.Operands {
		o := &in.Operands[i]
		if o.Kind == Label {
			f(o.Target)
		}
		for k := range o.Elems {
			if o.Elems[k].Kind == Label {
				f(o.Elems[k].Target)
			}
		}
	}
}

// endsBlock reports whether control may go elsewhere than to the next instruction.
func endsBlock(in *Inst) bool {
	switch in.Op.Name {
	case "bra", "brx", "ret", "exit", "trap":
		return true
	}
	return false
}

// connect finds where control goes from a block. ends says of a block that control may leave the function from it.
func (f *Function) connect(i int32, blockOf []int32, ends []bool) {
	b := &f.Blocks[i]
	last := &f.Insts[b.End-1]
	add := func(to int32) {
		if to < 0 {
			ends[i] = true
			return
		}
		for _, known := range b.Succ {
			if known == to {
				return
			}
		}
		b.Succ = append(b.Succ, to)
	}
	branches := last.Op.Name == "bra" || last.Op.Name == "brx"
	eachTarget(last, func(t int32) { add(blockOf[t]) })
	if endsBlock(last) && !branches {
		ends[i] = true
	}
	if !endsBlock(last) || last.Guard >= 0 {
		add(blockOf[b.End])
	}
}

// postDominators returns, of each block, the nearest one that every path from it to an exit passes, -1 when that is the exit. A
// loop that no path leaves counts as if it could end after its last block, so that branches within it have a place to meet.
//
// It is the algorithm of Lengauer and Tarjan with path compression, on the graph with its edges turned around: n log n in the
// worst case, and without recursion, so that a deep graph does no harm.
func postDominators(succ [][]int32, ends []bool) []int32 {
	n := int32(len(succ))
	t := &dominatorTree{
		pred: make([][]int32, n), label: make([]int32, n+1), ancestor: make([]int32, n+1), semi: make([]int32, n+1),
		parent: make([]int32, n+1), order: make([]int32, 0, n+1),
	}
	for i, list := range succ {
		for _, s := range list {
			t.pred[s] = append(t.pred[s], int32(i))
		}
	}
	for v := range t.semi {
		t.semi[v], t.ancestor[v], t.label[v] = -1, -1, int32(v)
	}
	leaves := make([]bool, n)
	copy(leaves, ends)
	t.visit(n, -1)
	for v := int32(0); v < n; v++ {
		if leaves[v] {
			t.search(v, n)
		}
	}
	for v := n - 1; v >= 0; v-- {
		if t.semi[v] < 0 {
			leaves[v] = true
			t.search(v, n)
		}
	}
	idom := t.dominators(succ, leaves, n)
	out := make([]int32, n)
	for v := range out {
		if out[v] = idom[v]; out[v] == n {
			out[v] = -1
		}
	}
	return out
}

// dominatorTree is the state of the algorithm. Nodes are blocks, and behind them the exit.
type dominatorTree struct {
	pred            [][]int32
	parent          []int32 // in the tree of the search
	order           []int32 // nodes in the order of the search
	semi            []int32 // number in that order, later that of the semidominator; -1 not visited
	label, ancestor []int32
	path            []int32
}

func (t *dominatorTree) visit(v, parent int32) {
	t.parent[v] = parent
	t.semi[v] = int32(len(t.order))
	t.order = append(t.order, v)
}

// search visits, depth first, everything from which v can be reached.
func (t *dominatorTree) search(v, from int32) {
	if t.semi[v] >= 0 {
		return
	}
	type step struct{ node, next int32 }
	t.visit(v, from)
	stack := []step{{v, 0}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if int(top.next) == len(t.pred[top.node]) {
			stack = stack[:len(stack)-1]
			continue
		}
		w := t.pred[top.node][top.next]
		top.next++
		if t.semi[w] < 0 {
			t.visit(w, top.node)
			stack = append(stack, step{w, 0})
		}
	}
}

// eval returns the node with the least semidominator on the way from v up to the root of its tree in the forest.
func (t *dominatorTree) eval(v int32) int32 {
	if t.ancestor[v] < 0 {
		return v
	}
	t.path = t.path[:0]
	for u := v; t.ancestor[t.ancestor[u]] >= 0; u = t.ancestor[u] {
		t.path = append(t.path, u)
	}
	for i := len(t.path) - 1; i >= 0; i-- {
		u := t.path[i]
		a := t.ancestor[u]
		if t.semi[t.label[a]] < t.semi[t.label[u]] {
			t.label[u] = t.label[a]
		}
		t.ancestor[u] = t.ancestor[a]
	}
	return t.label[v]
}

func (t *dominatorTree) dominators(succ [][]int32, leaves []bool, exit int32) []int32 {
	idom := make([]int32, len(t.semi))
	bucket := make([]int32, len(t.semi)) // lists of nodes by semidominator
	next := make([]int32, len(t.semi))
	for i := range bucket {
		bucket[i] = -1
	}
	for i := len(t.order) - 1; i > 0; i-- {
		w := t.order[i]
		consider := func(v int32) {
			if u := t.eval(v); t.semi[u] < t.semi[w] {
				t.semi[w] = t.semi[u]
			}
		}
		for _, v := range succ[w] {
			consider(v)
		}
		if leaves[w] {
			consider(exit)
		}
		s := t.order[t.semi[w]]
		next[w], bucket[s] = bucket[s], w
		p := t.parent[w]
		t.ancestor[w] = p
		for v := bucket[p]; v >= 0; v = next[v] {
			if u := t.eval(v); t.semi[u] < t.semi[v] {
				idom[v] = u
			} else {
				idom[v] = p
			}
		}
		bucket[p] = -1
	}
	for _, w := range t.order[1:] {
		if idom[w] != t.order[t.semi[w]] {
			idom[w] = idom[idom[w]]
		}
	}
	return idom
}
