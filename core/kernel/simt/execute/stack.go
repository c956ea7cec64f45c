package execute

import (
	"math"
	"math/bits"
)

// path is a set of lanes that are at one place: an entry of a warp's stack. Paths of one call stand together, and no lane is in two
// of them. The last runs until it comes to a block that is not before the one at which the next waits; then they change places, or
// go on together. Below the paths of a call stands the one that called, with all its lanes.
type path struct {
	pc    int32
	order int32 // where it waits, in the arrangement of its function, while it is not the last
	depth int32 // how many calls deep
	lanes uint32

	ending uint32 // those of lanes that went a way of their own to here, where they only end
}

// maxPaths bounds a warp's stack. Programs stay far below it: each call has at most one path for each lane.
const maxPaths = 4096

// limit is where the last path must stop, in the arrangement of its function, because others of its call wait there.
func (w *Warp) limit() int32 {
	if n := len(w.stack); n > 1 && w.stack[n-2].depth == w.stack[n-1].depth {
		return w.stack[n-2].order
	}
	return math.MaxInt32
}

// push adds a path to the call that runs: behind those that wait at a later place, together with one that waits at the same.
func (w *Warp) push(p path) {
	i := len(w.stack)
	for i > 0 && w.stack[i-1].depth == p.depth && w.stack[i-1].order < p.order {
		i--
	}
	if i > 0 && w.stack[i-1].depth == p.depth && w.stack[i-1].order == p.order {
		w.stack[i-1].lanes |= p.lanes
		w.stack[i-1].ending |= p.ending
		return
	}
	w.stack = append(w.stack, path{})
	copy(w.stack[i+1:], w.stack[i:])
	w.stack[i] = p
}

// pop takes the last path away.
func (w *Warp) pop() path {
	last := len(w.stack) - 1
	p := w.stack[last]
	w.stack = w.stack[:last]
	return p
}

// wait lets the last path wait at a place, where others may wait already.
func (b *Block) wait(w *Warp, pc, order int32) {
	p := w.pop()
	p.pc, p.order, p.ending = pc, order, 0
	if b.onlyEnds(pc, p.depth) {
		p.ending = p.lanes
	}
	w.push(p)
}

// leave takes lanes out of the function that runs (depth of the top of the stack); with depth 0 they end.
func (w *Warp) leave(lanes uint32) {
	top := &w.stack[len(w.stack)-1]
	top.lanes &^= lanes
	if top.depth == 0 {
		w.live &^= lanes
	}
	w.drop()
}

// end takes lanes out of everything: exit and trap.
func (w *Warp) end(lanes uint32) {
	for i := range w.stack {
		w.stack[i].lanes &^= lanes
	}
	w.live &^= lanes
	w.drop()
}

// drop removes paths without lanes from the end of the stack.
func (w *Warp) drop() {
	n := len(w.stack)
	for n > 0 && w.stack[n-1].lanes == 0 {
		n--
	}
	w.stack = w.stack[:n]
}

// first is the lowest lane of a mask that is not empty.
func first(lanes uint32) int { return bits.TrailingZeros32(lanes) }
