package execute

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Threads that wait for others look at memory again and again. A warp that comes to the head of such a loop as it stood there before rests
// until its next turn, and a block rests whose warps all rest or wait. Such a block is stuck when it stands as it did before while
// nobody has changed memory: it will until somebody does, and has no turn before. When all blocks are stuck that run, and no other can start,
// the launch hangs (hang.go). Until then every block has a turn in each round, in ascending order or in that of the seed.

const (
	mostPasses   = 64 // of loops that poll, by a warp in one turn, whatever changes in its registers
	doubtsBefore = 8  // heads of other loops at which a warp is looked at, when its block has used up its turn
)

// ring remembers a few hashes.
type ring struct {
	seen [16]uint64
	next int
}

// add remembers a hash and reports whether it is one of those before.
func (r *ring) add(h uint64) bool {
	for _, old := range r.seen {
		if old == h {
			return true
		}
	}
	r.seen[r.next] = h
	r.next = (r.next + 1) % len(r.seen)
	return false
}

// poll is a look at what others may change.
type poll struct {
	at      int32 // the instruction, and 1; 0 none
	lane    int
	address uint64 // generic
	bytes   int
	round   uint64 // of its block
}

// resting is what is known of a block that may wait for others.
type resting struct {
	changes uint64 // that it made to memory which other blocks see
	rested  bool   // it has made none since it last rested
	stuck   bool   // while launch.changes is saw
	since   uint64 // round of the block in which it stood as it does, of one that is stuck
	saw     uint64
	stood   ring                     // how it stood when it rested, while launch.changes was saw
	rounds  [len(ring{}.seen)]uint64 // when that was
	old     writing
}

// looksAgain looks at a warp that comes to the head of a loop which polls, and reports whether it has gone there and gives way. Where its
// lanes are at several places, the others have their turn first.
func (b *Block) looksAgain(w *Warp, in *code.Inst, alone bool) bool {
	p := &w.paths[w.run]
	p.pc, p.order = in.Target, b.code[in.Target].Order
	if in.Polls {
		p.loop = in.Detail + 1
	} else {
		w.doubts--
	}
	h := w.pathHash(b.kernel, p)
	w.passes++
	if alone {
		if !w.looked.add(h) && w.passes < mostPasses {
			return false
		}
		w.state = warpRests
		return true
	}
	if w.looked.add(mixed(h, w.writes)) {
		p.state, w.slow = pathYields, true
		return true
	}
	if w.passes < mostPasses {
		return false
	}
	w.state = warpRests
	if w.slow {
		b.wait(w, in.Target, in.Arrive)
	}
	return true
}

// restAll lets a warp rest of which every path gave way or waits, when it stands as it did before.
func restAll(b *Block, w *Warp) {
	if w.looked.add(w.hash(b.kernel)) || w.passes >= mostPasses {
		w.state = warpRests
	}
}

// hash is a hash of all that a warp does from here on while memory stays as it is.
func (w *Warp) hash(k *code.Kernel) uint64 {
	h := uint64(w.state)
	for i := range w.paths {
		h = mixed(mixed(h, w.pathHash(k, &w.paths[i])), uint64(w.paths[i].state))
	}
	return h
}

// pathHash is hash of one path. In a loop that polls it depends on the registers that decide what the loop does.
func (w *Warp) pathHash(k *code.Kernel, p *path) uint64 {
	h := mixed(uint64(p.lanes)<<32|uint64(uint32(p.pc)), uint64(uint32(depthOf(p.frame))))
	if p.loop == 0 || p.frame != nil || !k.Loops[p.loop-1].Holds(k, p.pc) {
		return mixed(h, w.digest(k, p.lanes))
	}
	for _, r := range k.Loops[p.loop-1].Registers {
		switch r.Bank {
		case lane.P:
			h = mixed(h, uint64(w.Regs.P[r.Index]&p.lanes))
		case lane.R32:
			for m := p.lanes; m != 0; m &= m - 1 {
				h = mixed(h, uint64(w.Regs.R32[r.Index][first(m)]))
			}
		case lane.R64:
			for m := p.lanes; m != 0; m &= m - 1 {
				h = mixed(h, w.Regs.R64[r.Index][first(m)])
			}
		}
	}
	return h
}

// rests reports whether no warp of the block can do anything but look again.
func (s *resting) rests(b *Block) bool {
	any := false
	for _, w := range b.warps {
		if w.state == warpReady {
			return false
		}
		any = any || w.state == warpRests
	}
	if !any || b.ended {
		return false
	}
	if now := b.Running.changes; s.saw != now {
		s.saw, s.stood = now, ring{}
	}
	h := mixed(1, s.changes)
	for _, w := range b.warps {
		h = mixed(h, w.hash(b.kernel))
	}
	for i := range b.arrived {
		if g := &b.arrived[i]; g.threads > 0 {
			h = mixed(mixed(h, uint64(i)<<32|uint64(g.threads)), uint64(g.full))
		}
	}
	s.rested = true
	h = mixed(h, memory.HashOf(b.mem))
	if s.stuck = s.stood.add(h); s.stuck {
		s.since = s.rounds[slices.Index(s.stood.seen[:], h)]
	} else {
		s.rounds[slices.Index(s.stood.seen[:], h)] = b.rounds
	}
	return true
}

// sleeps reports whether a turn of the block would change nothing.
func (s *resting) sleeps(b *Block) bool {
	return s.stuck && !b.ended && s.saw == b.Running.changes
}

// changed says that the block changed what other blocks may look at, or did something that nothing remembers.
func (b *Block) changed() {
	b.resting.changes++
	if b.kernel.Ordered { // else blocks run at the same time, and none waits for another
		b.Running.changes++
	}
}

// note notes where a warp looks at what others may change.
func (p *poll) note(b *Block, w *Warp, in *code.Inst, at int32, lanes uint32) {
	if b.kernel.Loops == nil {
		return
	}
	l := first(lanes)
	*p = poll{at: at + 1, lane: l, address: generic(w, in.Mem, l), bytes: in.Mem.Elem * in.Mem.Count, round: b.rounds}
}

// generic is the address that a lane accesses.
func generic(w *Warp, t *memory.Transfer, l int) uint64 {
	a := uint64(t.Offset)
	switch {
	case t.Absolute:
	case t.Narrow:
		a = uint64(uint32(a) + w.Regs.R32[t.Address][l])
	default:
		a += w.Regs.R64[t.Address][l]
	}
	if t.Space == ptx.Shared && a < memory.SharedWindow {
		a += memory.SharedWindow
	}
	return a
}

// writing is where lanes write, and what is there before they do.
type writing struct {
	address [lane.Lanes]uint64
	value   [lane.Lanes]uint64
}

// isGlobal reports whether an access may reach memory that other blocks see.
func isGlobal(in *code.Inst) bool { return in.Mem.Space != ptx.Shared && in.Mem.Space != ptx.Local }

// beginWrite is called before an access writes memory. Of a kernel that polls it is looked at what atomics change, and stores of one lane to
// global memory: flags are written so, tiles are not. Of a block that rests it is looked at what every store changes: it may write what is there.
func (s *resting) beginWrite(b *Block, w *Warp, in *code.Inst, lanes uint32) (kept bool) {
	if in.Kind == code.KindStore && (!isGlobal(in) || lanes&(lanes-1) != 0 && !s.rested) {
		return false
	}
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		s.old.address[l] = generic(w, in.Mem, l)
		s.old.value[l] = hashAt(b, s.old.address[l], in.Mem)
	}
	return true
}

// hashAt is a hash of what an access finds at an address.
func hashAt(b *Block, address uint64, t *memory.Transfer) uint64 {
	if isShared(address) {
		v, _ := b.mem.Peek(address, min(t.Elem*t.Count, 8), 0, 0)
		return v
	}
	return b.Running.Global.Hash(address, t.Elem*t.Count)
}

// endWrite is called when the access has written; kept is what beginWrite said.
func (s *resting) endWrite(b *Block, w *Warp, in *code.Inst, at int32, lanes uint32, kept bool) {
	global := isGlobal(in)
	if !kept {
		w.writes++
		if global {
			s.rested = false
			b.changed()
			if b.kernel.Ordered {
				b.Running.writes.wide(w, in, at, lanes)
			}
		}
		return
	}
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		if hashAt(b, s.old.address[l], in.Mem) == s.old.value[l] {
			continue
		}
		w.writes++
		if s.rested = false; !global {
			continue
		}
		b.changed()
		if b.kernel.Ordered {
			b.Running.writes.note(b, w, at, s.old.address[l])
		}
	}
}
