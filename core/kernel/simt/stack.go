package simt

import "math/bits"

// path is a set of lanes that are at one place: an entry of a warp's stack. The top of the stack runs; those below wait until it
// reaches its join or its lanes are gone.
type path struct {
	pc    int32
	join  int32 // where it ends, because the lanes below wait there; -1: it ends with its lanes
	depth int32 // how many calls deep
	lanes uint32
}

// maxPaths bounds a warp's stack. Programs stay far below it: what is nested in the text, not what runs, decides.
const maxPaths = 4096

// split lets the top of the stack go two ways: taken lanes to target, the others to next, until both meet at join. The lanes
// that fall through run first, in the order of the text. It reports whether there was room.
func (w *warp) split(taken uint32, target, next, join int32) bool {
	top := w.stack[len(w.stack)-1]
	others := top.lanes &^ taken
	if join < 0 {
		join = top.join
	}
	if len(w.stack)+2 > maxPaths {
		return false
	}
	if join == top.join {
		w.stack = w.stack[:len(w.stack)-1] // who waits there waits below already
	} else {
		w.stack[len(w.stack)-1].pc = join
	}
	if target != join || join < 0 {
		w.stack = append(w.stack, path{target, join, top.depth, taken})
	}
	if next != join || join < 0 {
		w.stack = append(w.stack, path{next, join, top.depth, others})
	}
	return true
}

// leave takes lanes out of the function that runs (depth of the top of the stack); with depth 0 they end.
func (w *warp) leave(lanes uint32) {
	depth := w.stack[len(w.stack)-1].depth
	for i := len(w.stack) - 1; i >= 0 && w.stack[i].depth == depth; i-- {
		w.stack[i].lanes &^= lanes
	}
	if depth == 0 {
		w.live &^= lanes
	}
	w.drop()
}

// end takes lanes out of everything: exit and trap.
func (w *warp) end(lanes uint32) {
	for i := range w.stack {
		w.stack[i].lanes &^= lanes
	}
	w.live &^= lanes
	w.drop()
}

// drop removes paths without lanes and those that have reached their join from the top of the stack.
func (w *warp) drop() {
	for n := len(w.stack); n > 0; n-- {
		top := &w.stack[n-1]
		if top.lanes != 0 && (top.pc != top.join || top.join < 0) {
			break
		}
		w.stack = w.stack[:n-1]
	}
}

// first is the lowest lane of a mask that is not empty.
func first(lanes uint32) int { return bits.TrailingZeros32(lanes) }
