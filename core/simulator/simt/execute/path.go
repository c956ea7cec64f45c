package execute

import (
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// path is a set of lanes that are at one place: a program counter, and what was called on the way to it. No lane is in two of them.
// A warp's paths stand in a list, those that are furthest behind last. The last one runs until it comes to a block that is not
// before the one at which the next of its function waits, or to the place at which its lanes come together with those from which a
// branch divided them; then they change places, or go on together. Where lanes wait for each other in other ways, choose decides.
type path struct {
	pc    int32
	order int32  // where it waits, in the arrangement of its function, or last waited if it runs
	frame *frame // the call that it is in, nil the kernel itself
	lanes uint32

	ending uint32 // those of lanes that went a way of their own to here, where they only end
	split  *split // the innermost branch that divided them from others and that they have not left behind
	side   uint8  // which of its ways they went
	ended  *split // the branch at whose end it waits, and did so before
	loose  *split // the outermost branch whose ways met here before the place at which a GPU lets them
	state  pathState
	head   int32  // of the loop to which it came last when it had run for long, and 1; 0 none
	polls  bool   // since then it looked at what other lanes may change
	loop   int32  // that polls, to whose head it came last, and 1; 0 none
	digest uint64 // of its registers then
	rounds int    // how often that was, with others
}

// pathState says whether a path can run.
type pathState uint8

const (
	pathReady   pathState = iota
	pathYields            // it went round a loop for long, and others have their turn
	pathMeets             // at an instruction whose other lanes have not come
	pathBarrier           // at a barrier to which only a part of the warp has come
	pathForced            // at an instruction whose other lanes never come: it executes it without them
)

// frame is one call of a function.
type frame struct {
	parent *frame
	back   int32 // where it goes on behind the call
	order  int32 // of that place
	depth  int32

	function int32   // that is called
	outer    []saved // what an outer call of the same function had in its registers; nil there is none
}

// maxDepth bounds how deeply calls are nested.
const maxDepth = 4096

// split is a branch that divided lanes which have not all come to the place where it ends.
type split struct {
	parent *split
	frame  *frame
	lanes  uint32 // that are still on the way there
	join   int32  // that place, in the arrangement of the function
	depth  int32
	side   uint8 // of the parent
}

// limit is where the path that runs must stop, in the arrangement of its function: because others wait there, or its split ends.
func (b *Block) limit(w *Warp) int32 {
	p, limit := &w.paths[w.run], int32(math.MaxInt32)
	if len(w.paths) == 1 && p.split == nil {
		return limit
	}
	if s := p.split; s != nil && s.frame == p.frame && s.join > p.order {
		limit = s.join
	}
	for i := w.run - 1; i >= 0; i-- {
		if order, ok := w.paths[i].orderIn(p.frame); ok && order > p.order {
			return min(limit, order)
		}
	}
	return limit
}

// orderIn is where a path is in the arrangement of the function that a call runs, if it is in that call or in one within it.
func (p *path) orderIn(f *frame) (order int32, ok bool) {
	if p.frame == f {
		return p.order, true
	}
	for g := p.frame; depthOf(g) > depthOf(f); g = g.parent {
		if g.parent == f {
			return g.order, true
		}
	}
	return 0, false
}

// ahead reports whether a path is further than another one. Inside a call is not as far as behind it.
func (p *path) ahead(q *path) bool {
	f, g, order, other, pc, at := p.frame, q.frame, p.order, q.order, p.pc, q.pc
	for f != g {
		deep, deeper := depthOf(f), depthOf(g)
		if deep >= deeper {
			order, pc, f = f.order, f.back, f.parent
		}
		if deeper >= deep {
			other, at, g = g.order, g.back, g.parent
		}
	}
	switch {
	case order != other:
		return order > other
	case pc != at:
		return pc > at
	}
	return depthOf(p.frame) < depthOf(q.frame)
}

func depthOf(f *frame) int32 {
	if f == nil {
		return 0
	}
	return f.depth
}

// place puts a path into the list, together with one that is at the same place of the same call.
func (w *Warp) place(p path) {
	w.comeTogether(&p)
	if w.slow {
		w.joinAnywhere(&p)
	}
	i := len(w.paths)
	for i > 0 && p.ahead(&w.paths[i-1]) {
		i--
	}
	if i > 0 {
		q := &w.paths[i-1]
		if q.pc == p.pc && q.frame == p.frame && q.order == p.order && q.state <= pathYields {
			w.unite(q, &p)
			w.comeTogether(q)
			return
		}
		order, ok := q.orderIn(p.frame)
		w.slow = w.slow || ok && order == p.order // one of them is in the midst of a block
	}
	w.paths = append(w.paths, path{})
	copy(w.paths[i+1:], w.paths[i:])
	w.paths[i] = p
	if i <= w.run {
		w.run++
	}
}

// joinAnywhere takes those into a path that are at the same place of the same call, in whatever pass of the loops around it.
func (w *Warp) joinAnywhere(p *path) {
	for i := len(w.paths) - 1; i >= 0; i-- {
		q := w.paths[i]
		if q.pc != p.pc || q.frame != p.frame || q.state > pathYields {
			continue
		}
		w.unite(&q, p)
		q.order = min(q.order, p.order)
		w.run = i
		w.take()
		*p = q
		w.comeTogether(p)
	}
}

// take removes the path that runs from the list.
func (w *Warp) take() path {
	p := w.paths[w.run]
	w.paths = append(w.paths[:w.run], w.paths[w.run+1:]...)
	w.run = len(w.paths)
	return p
}

// unite adds the lanes of p to those of a path at the same place.
func (w *Warp) unite(q, p *path) {
	if q.split != p.split || q.side != p.side {
		w.meetLoosely(q, p)
	} else {
		q.loose = outer(q.loose, p.loose)
	}
	q.lanes |= p.lanes
	q.ending |= p.ending
	q.state, q.head, q.rounds, q.digest = pathReady, 0, 0, 0
}

// outer is the outermost of two splits that contain each other; nil is none.
func outer(a, b *split) *split {
	if a == nil || b != nil && b.depth < a.depth {
		return b
	}
	return a
}

// meetLoosely unites the histories of two paths that came different ways: they leave the branches that only one of them is in.
// Where they are on different ways of one branch, a GPU would not let them meet here.
func (w *Warp) meetLoosely(q, p *path) {
	a, b, side, other := q.split, p.split, q.side, p.side
	for a != nil && (b == nil || a.depth > b.depth) {
		side, a = a.side, a.parent
	}
	for b != nil && (a == nil || b.depth > a.depth) {
		other, b = b.side, b.parent
	}
	for a != b {
		side, a, other, b = a.side, a.parent, b.side, b.parent
	}
	loose := outer(q.loose, p.loose)
	if loose != nil && a != nil && loose.depth > a.depth || a == nil {
		loose = nil
	}
	if a != nil && side != other && !(q.frame == a.frame && q.order >= a.join) {
		loose = outer(loose, a)
	}
	for s := q.split; s != a; s = s.parent {
		w.leaveSplit(s, q.lanes)
	}
	for s := p.split; s != a; s = s.parent {
		w.leaveSplit(s, p.lanes)
	}
	q.split, q.side, q.loose = a, side, loose
}

// comeTogether takes a path out of the branches whose end it has reached, as far as all others have. Lanes that gave way have another
// turn then; not where lanes come that only end, whether the compiler joined their returns or not.
func (w *Warp) comeTogether(p *path) {
	for s := p.split; s != nil && s.frame == p.frame && p.order >= s.join; s = p.split {
		w.leaveSplit(s, p.lanes)
		if s.lanes != 0 {
			if w.slow && p.ended != s && p.ending == 0 {
				w.wake()
				w.woke = true
			}
			p.ended = s
			return
		}
		if p.split == s {
			p.split, p.side = s.parent, s.side
		}
		if p.loose == s {
			p.loose = nil
		}
	}
}

// leaveSplit takes lanes out of a branch. When they were the last, those that wait at its end go on as one.
func (w *Warp) leaveSplit(s *split, lanes uint32) {
	if s.lanes == 0 {
		return
	}
	if s.lanes &^= lanes; s.lanes != 0 {
		return
	}
	for i := range w.paths {
		p := &w.paths[i]
		if p.loose == s {
			p.loose = nil
		}
		if p.split == s {
			p.split, p.side = s.parent, s.side
			w.comeTogether(p)
		}
	}
}

// parked reports whether a path waits where a branch ends for lanes that have not come there.
func (p *path) parked() bool {
	return p.split != nil && p.split.frame == p.frame && p.order >= p.split.join
}

// wait lets the path that runs wait at a place, where others may wait already.
func (b *Block) wait(w *Warp, pc, order int32) {
	p := w.take()
	p.pc, p.order, p.ending = pc, order, 0
	if b.onlyEnds(pc, depthOf(p.frame)) {
		p.ending = p.lanes
	}
	w.place(p)
}

// settle puts the path that ran to its place in the list.
func (b *Block) settle(w *Warp) {
	if p := w.paths[w.run]; p.state == pathReady {
		w.take()
		p.order = b.code[p.pc].Order
		w.place(p)
	}
}

// diverge sends the lanes of a branch both ways.
func (b *Block) diverge(w *Warp, in *code.Inst, next int32, taken uint32) {
	p := w.take()
	to := p
	if w.divide(&p, in.Join) {
		to = p
		to.side = 1
	}
	to.pc, to.order, to.lanes, to.ending = in.Target, in.Arrive, taken, 0
	p.pc, p.order, p.lanes = next, b.code[next].Order, p.lanes&^taken
	w.place(to)
	w.place(p)
}

// divide makes the lanes of a path part at a branch, and reports whether its ways come together at a place.
func (w *Warp) divide(p *path, join int32) bool {
	if len(w.paths) == 0 {
		w.since = w.steps
	}
	p.ending = 0
	if join < 0 {
		return false
	}
	depth := int32(1)
	if p.split != nil {
		depth = p.split.depth + 1
	}
	s := w.newSplit(len(w.paths) == 0 && p.split == nil && p.loose == nil)
	*s = split{parent: p.split, frame: p.frame, lanes: p.lanes, join: join, depth: depth, side: p.side}
	p.split, p.ended = s, nil
	p.side = 0
	return true
}

// splitsAtOnce is how many splits are made in one piece of memory.
const splitsAtOnce = 64

// newSplit is room for a split. Where a warp is at one place and out of all branches nobody knows any of the splits before, so that their
// room is used again.
func (w *Warp) newSplit(nobodyKnows bool) *split {
	if nobodyKnows {
		w.splitsUsed = 0
	}
	if w.splitsUsed == len(w.splits) {
		w.splits, w.splitsUsed = make([]split, splitsAtOnce), 0
	}
	w.splitsUsed++
	return &w.splits[w.splitsUsed-1]
}

// leave takes lanes out of the function that runs; out of the kernel they end.
func (w *Warp) leave(lanes uint32) {
	p := &w.paths[w.run]
	if p.frame == nil {
		w.end(lanes)
		return
	}
	f := p.frame
	w.restore(f, lanes)
	gone := *p
	gone.lanes, gone.pc, gone.order, gone.frame = lanes, f.back, f.order, f.parent
	for s := p.split; s != nil && s.frame == f; s = s.parent {
		w.leaveSplit(s, lanes)
		gone.split, gone.side = s.parent, s.side
		if gone.loose == s {
			gone.loose = nil
		}
	}
	p.lanes &^= lanes
	w.drop()
	w.freeFrame(f)
	w.place(gone)
}

// end takes lanes of the path that runs out of everything: exit, and the return of the kernel.
func (w *Warp) end(lanes uint32) {
	p := &w.paths[w.run]
	w.live &^= lanes
	for s := p.split; s != nil; s = s.parent {
		w.leaveSplit(s, lanes)
	}
	p.lanes &^= lanes
	w.drop()
}

// drop removes the path that runs when it has no lanes.
func (w *Warp) drop() {
	if w.run < len(w.paths) && w.paths[w.run].lanes == 0 {
		w.take()
	}
}

// first is the lowest lane of a mask that is not empty.
func first(lanes uint32) int { return bits.TrailingZeros32(lanes) }
