package execute

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// patience is how many instructions lanes of a warp may execute while others wait before they give way at the head of a loop, if
// they only look at what others may change. With a seed it is between patienceLeast and that.
const (
	patience      = 4096
	patienceLeast = 64
	longRounds    = 4096 // of patience, after which lanes count as waiting whose registers still change
)

// choose finds the path of a warp that runs next, and reports whether there is one.
//
// The path that is furthest behind runs, unless it gave way, or waits for other lanes, or stands where a branch ends that others are
// still in. If none is left, those go on that wait for lanes which have ended. Then those that gave way have their turn again; when
// it was in vain, a path goes on that stands at the end of a branch, without those it waited for: so whoever holds a lock can open it. If
// nothing else can run, an instruction is executed without the lanes that never come to it.
func (b *Block) choose(w *Warp) bool {
	w.run = len(w.paths) - 1
	if !w.slow {
		if w.paths[w.run].parked() {
			w.release(w.run)
		}
		return true
	}
	best, yields, parked, meets, idle := -1, -1, -1, -1, false
	for i := range w.paths { // the last of each kind is furthest behind
		p := &w.paths[i]
		idle = idle || p.state != pathReady
		switch {
		case p.state == pathYields:
			yields = i
		case p.state == pathMeets:
			if meets < 0 || w.paths[meets].pc != p.pc || w.paths[meets].frame != p.frame || first(p.lanes) < first(w.paths[meets].lanes) {
				meets = i
			}
		case p.state == pathReady && p.parked():
			parked = i
		case p.state != pathBarrier:
			best = i
		}
	}
	switch {
	case !idle && !w.crowded():
		w.slow = false
		return b.choose(w)
	case best >= 0:
		w.run = best
	case meets >= 0 && b.meetsNow(w):
		return b.choose(w)
	case yields >= 0 && parked >= 0 && w.inVain():
		w.release(parked)
	case yields >= 0:
		if b.kernel.Loops != nil || w.doubts > 0 {
			restAll(b, w)
		}
		w.wake()
		w.run = yields
	case meets >= 0:
		w.run = meets
		w.paths[meets].state = pathForced
	case parked >= 0:
		w.release(parked)
	default:
		return false
	}
	return true
}

// meetsNow executes the instructions at which lanes wait for others that have ended by now, those of the lowest lane first, and reports
// whether there were any.
func (b *Block) meetsNow(w *Warp) (any bool) {
	for m := w.live; m != 0; m &= m - 1 {
		for i := range w.paths {
			p := &w.paths[i]
			if in := &b.code[p.pc]; p.lanes>>first(m)&1 != 0 && p.state == pathMeets && in.Meet == code.MeetMask {
				any = b.executeTogether(w, in, p.pc, w.members(in, p.lanes)) || any
				break
			}
		}
	}
	return any
}

// crowded reports whether two paths stand in one block of one call, which happens only where they went on without each other.
func (w *Warp) crowded() bool {
	for i := range w.paths {
		for j := range w.paths {
			p, q := &w.paths[i], &w.paths[j]
			if order, ok := q.orderIn(p.frame); i != j && ok && order == p.order && (q.frame == p.frame || q.ahead(p)) {
				return true
			}
		}
	}
	return false
}

// inVain reports whether the warp stands as it did when those that gave way had their last turn: it will until another lane does something.
func (w *Warp) inVain() bool {
	h := uint64(1)
	for i := range w.paths {
		p := &w.paths[i]
		h = mixed(h, uint64(p.lanes)<<32|uint64(uint32(p.pc)))
		if h = mixed(h, uint64(p.state)); p.state == pathYields && p.rounds <= longRounds {
			h = mixed(h, p.digest)
		}
	}
	same := h == w.stood
	w.stood = h
	return same
}

// mixed adds a value to a hash.
func mixed(h, v uint64) uint64 { return bits.RotateLeft64((h^v)*0x9e3779b97f4a7c15, 29) }

// wake gives those another turn that gave way.
func (w *Warp) wake() {
	for i := range w.paths {
		if p := &w.paths[i]; p.state == pathYields {
			p.state = pathReady
		}
	}
	w.since = w.steps
}

// release lets a path go on from where a branch ends without the lanes that are still in it.
func (w *Warp) release(i int) {
	p := &w.paths[i]
	w.run = i
	for p.parked() {
		s := p.split
		w.leaveSplit(s, p.lanes)
		if p.split == s {
			p.split, p.side = s.parent, s.side
		}
		if p.loose == s {
			p.loose = nil
		}
	}
}

// givesWay reports whether the path that runs, and has come to the head of a loop, lets others run: since it came there for long it has
// executed many instructions, and looked at memory that they may change or done the same again and again.
func (b *Block) givesWay(w *Warp, in *code.Inst) bool {
	p := &w.paths[w.run]
	if head := in.Target + 1; p.head != head {
		if p.head == 0 || w.steps-w.since > 2*b.patience { // the loop in which it came there last was left
			p.head, p.polls, p.digest, p.rounds = head, false, w.digest(b.kernel, p.lanes), 0
			w.since = w.steps
		}
		return false
	}
	w.since = w.steps
	digest := w.digest(b.kernel, p.lanes)
	same, polls := digest == p.digest, p.polls
	p.digest, p.polls = digest, false
	p.rounds++
	if !same && !polls {
		return false
	}
	p.state, p.pc, p.order = pathYields, in.Target, b.code[in.Target].Order
	w.slow = true
	return true
}

// digest is a hash of what some lanes hold in their registers.
func (w *Warp) digest(k *code.Kernel, lanes uint32) uint64 {
	h := uint64(lanes)
	mix := func(v uint64) { h = mixed(h, v) }
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		for i := range w.Regs.R32[:k.Written[0]] {
			mix(uint64(w.Regs.R32[i][l]))
		}
		for i := range w.Regs.R64[:k.Written[1]] {
			mix(w.Regs.R64[i][l])
		}
	}
	for _, p := range w.Regs.P[:k.Written[2]] {
		mix(uint64(p & lanes))
	}
	return h
}
