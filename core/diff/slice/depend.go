package slice

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// findControl finds for every instruction the branches that decide whether it runs: those of which one way leads past it.
func (c *Code) findControl() {
	blocks := c.f.Blocks
	of := make([][]int32, len(blocks))
	after := c.postdominators()
	for b := range blocks {
		if len(blocks[b].Succ) < 2 && !(blocks[b].Leaves && len(blocks[b].Succ) == 1) {
			continue
		}
		branch := blocks[b].End - 1
		for _, to := range blocks[b].Succ {
			for at, steps := to, 0; at >= 0 && int(at) < len(blocks) && at != after[b] && steps < len(blocks) && c.left > 0; at, steps = after[at], steps+1 {
				if c.left--; len(of[at]) == 0 || of[at][len(of[at])-1] != branch { // blocks come one after another
					of[at] = append(of[at], branch)
				}
			}
		}
	}
	for i := range c.insts {
		c.insts[i].control = of[c.block[i]]
	}
}

// postdominators is for every block the next one that all ways from it come through; len(blocks) is the exit, -1 none.
func (c *Code) postdominators() []int32 {
	blocks := c.f.Blocks
	n := int32(len(blocks))
	next := make([]int32, n+1)
	for i := range next {
		next[i] = -1
	}
	next[n] = n
	order, number := c.backwards()
	meet := func(x, y int32) int32 {
		for x != y && c.left > 0 {
			c.left--
			for number[x] < number[y] {
				x = next[x]
			}
			for number[y] < number[x] {
				y = next[y]
			}
		}
		return x
	}
	for changed := true; changed && c.left > 0; {
		changed = false
		for _, b := range order {
			c.left--
			found := int32(-1)
			if blocks[b].Leaves {
				found = n
			}
			for _, to := range blocks[b].Succ {
				switch {
				case next[to] < 0:
				case found < 0:
					found = to
				default:
					found = meet(found, to)
				}
			}
			if found >= 0 && next[b] != found {
				next[b], changed = found, true
			}
		}
	}
	return next[:n]
}

// backwards lists the blocks from the exit back, each behind those that it leads to as far as there are no loops, with numbers that
// fall along the list; the exit has the highest.
func (c *Code) backwards() (order, number []int32) {
	n := int32(len(c.f.Blocks))
	number = make([]int32, n+1)
	seen := make([]bool, n)
	type frame struct{ block, next int32 }
	var done []int32
	visit := func(from int32) {
		stack := []frame{{from, 0}}
		seen[from] = true
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if int(top.next) == len(c.before[top.block]) {
				done = append(done, top.block)
				stack = stack[:len(stack)-1]
				continue
			}
			to := c.before[top.block][top.next]
			top.next++
			if !seen[to] {
				seen[to] = true
				stack = append(stack, frame{to, 0})
			}
		}
	}
	for b := range c.f.Blocks {
		if c.f.Blocks[b].Leaves && !seen[b] {
			visit(int32(b))
		}
	}
	for i, b := range done {
		number[b] = int32(i) + 1
	}
	number[n] = n + 2
	slices.Reverse(done)
	return done, number
}

// findOrigins finds which parameters an address comes from, and what depends on data that was loaded. What is carried around a loop may be
// written behind its use, so it takes two rounds.
func (c *Code) findOrigins() {
	for range 2 {
		for i := range c.insts {
			one := &c.insts[i]
			switch {
			case one.op.memory == loads && one.op.space == ptx.Param:
				one.bases = c.baseOf(one.in)
				continue
			case one.op.memory == loads && one.op.space != ptx.Const, one.op.memory == updates:
				one.fromData = true
			}
			for k := range one.uses {
				u := &one.uses[k]
				for _, d := range u.from {
					from := &c.insts[d.inst]
					one.fromData = one.fromData || from.fromData
					if u.role == asAddress || u.role == asInput && one.op.memory == noMemory {
						if from.op.memory == noMemory || from.op.space == ptx.Param {
							one.bases |= from.bases
						}
					}
				}
			}
		}
	}
}

// findChoices finds what chooses elements and lanes: what addresses of global memory, guards, branches and the predicates of selects are
// made of. It ends at what is loaded and at floats: those are values.
func (c *Code) findChoices() {
	var queue []int32
	add := func(u *use) {
		for _, d := range u.from {
			one := &c.insts[d.inst]
			if !one.chooses && one.op.memory == noMemory && !one.op.toWhole && (!one.op.float || one.in.Op.Name == "setp") {
				one.chooses = true
				queue = append(queue, d.inst)
			}
		}
	}
	for i := range c.insts {
		one := &c.insts[i]
		for k := range one.uses {
			u := &one.uses[k]
			switch {
			case u.role == asAddress && one.op.space != ptx.Shared && one.op.space != ptx.Param:
				add(u)
			case u.role == asGuard && (one.op.branch || one.op.memory != noMemory && one.op.space != ptx.Shared):
				add(u)
			case one.in.Op.Name == "selp" && k == len(one.uses)-1:
				add(u)
			}
		}
	}
	c.findBranches()
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		one := &c.insts[at]
		if one.in.Op.Name == "setp" && one.op.float {
			continue
		}
		for k := range one.uses {
			add(&one.uses[k])
		}
	}
}

// findBranches finds the predicates that decide branches.
func (c *Code) findBranches() {
	var queue []*instruction
	for i := range c.insts {
		if c.insts[i].op.branch {
			queue = append(queue, &c.insts[i])
		}
	}
	for len(queue) > 0 {
		one := queue[0]
		queue = queue[1:]
		if one.in.Op.Name == "setp" {
			continue
		}
		for k := range one.uses {
			for _, d := range one.uses[k].from {
				if from := &c.insts[d.inst]; !from.branches && from.op.memory == noMemory {
					from.branches = true
					queue = append(queue, from)
				}
			}
		}
	}
}

// otherBases is the bit of all parameters that have none of their own.
const otherBases = 63

// baseOf is the bit of a parameter that is an address.
func (c *Code) baseOf(in *ptx.Inst) uint64 {
	for i := range in.Operands {
		if at := c.parameter(in.Operands[i].Symbol); at >= 0 && in.Operands[i].Kind == ptx.Address {
			if v := &c.f.Params[at]; v.Pointer || v.Bytes == 8 && !slices.ContainsFunc(c.f.Params, func(v ptx.Variable) bool { return v.Pointer }) {
				return 1 << min(at, otherBases)
			}
		}
	}
	return 0
}

// set is instructions of a Code.
type set []bool

// slice is what instructions depend on, with themselves: what computed their operands, what decides whether they run, and what can have
// stored what is loaded on the way.
func (c *Code) slice(from []int32) set {
	in := make(set, len(c.insts))
	var queue []int32
	add := func(i int32) {
		if !in[i] {
			in[i] = true
			queue = append(queue, i)
		}
	}
	for _, i := range from {
		add(i)
	}
	looked := map[place]int32{} // stores up to here are in
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		one := &c.insts[at]
		for k := range one.uses {
			for _, d := range one.uses[k].from {
				add(d.inst)
			}
		}
		for _, b := range one.control {
			add(b)
		}
		if one.op.memory != loads && one.op.memory != updates || one.op.space == ptx.Param || one.op.space == ptx.Const {
			continue
		}
		where, limit := c.where(one), c.reach(at)
		for i := looked[where]; i < limit; i++ {
			s := &c.insts[i]
			if s.op.memory == stores && c.sameMemory(s, one) || s.op.memory == updates && c.sameMemory(s, one) || s.op.memory == copying && one.op.space == ptx.Shared {
				add(i)
			}
		}
		looked[where] = max(looked[where], limit)
	}
	return in
}

// place is the memory that an instruction accesses.
type place struct {
	space ptx.Space
	bases uint64 // of shared memory it does not matter
}

func (c *Code) where(one *instruction) place {
	if one.op.space == ptx.Shared {
		return place{space: ptx.Shared}
	}
	return place{one.op.space, one.bases}
}

func (c *Code) sameMemory(x, y *instruction) bool {
	xShared, yShared := x.op.space == ptx.Shared, y.op.space == ptx.Shared
	switch {
	case xShared || yShared:
		return xShared == yShared
	case x.bases == 0 || y.bases == 0:
		return true
	}
	return x.bases&y.bases != 0
}

// reach is the instruction in front of which everything can have run before the one at a place: its own, or the end of the outermost
// loop around it.
func (c *Code) reach(at int32) int32 {
	limit := at
	for _, l := range c.loops {
		if l.first <= c.block[at] && c.block[at] <= l.last {
			limit = max(limit, c.f.Blocks[l.last].End)
		}
	}
	return limit
}
