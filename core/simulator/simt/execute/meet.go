package execute

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// meets reports whether the lanes that came to a convergent instruction execute it now. Where others that it names may still come,
// they wait; where these have come to an instruction of the same kind elsewhere, all execute theirs together.
func (b *Block) meets(w *Warp, in *code.Inst, at int32, taken uint32) bool {
	p := &w.paths[w.run]
	if p.state == pathForced {
		p.state = pathReady
		b.checkWhole(w, in, at, taken)
		return true
	}
	if in.Meet == code.MeetWarp {
		if w.slow && b.joinsWaiting(w, at, taken) {
			return false
		}
		if w.live&^w.ending()&^taken == 0 || taken != p.lanes || !w.yields() {
			b.checkWhole(w, in, at, taken)
			return true
		}
		b.stay(w, in, at)
		return false
	}
	want := w.members(in, taken) & w.live &^ b.leaving(w)
	same := w.alike(in, taken)
	if want&^taken == 0 {
		if same == taken && (w.live&^b.leaving(w)|taken)&^w.members(in, taken) == 0 {
			p.loose = nil // the whole warp waits here for itself, which brings its lanes together
		}
		return true
	}
	if w.slow && same == taken && b.joinsWaiting(w, at, taken) {
		return false
	}
	if want&p.lanes&^taken != 0 || taken != p.lanes {
		return true
	}
	b.stay(w, in, at)
	if same != taken {
		b.part(w, in)
		return false
	}
	b.executeTogether(w, in, at, w.members(in, taken))
	return false
}

// alike are those of some lanes that name the same lanes as the lowest.
func (w *Warp) alike(in *code.Inst, lanes uint32) (same uint32) {
	masks := &w.Regs.R32[in.Members]
	for m, want := lanes, masks[first(lanes)]; m != 0; m &= m - 1 {
		if masks[first(m)] == want {
			same |= m & -m
		}
	}
	return same
}

// part divides the path that waits by the masks of its lanes: each group waits for the lanes that it names, and goes on when these have
// come.
func (b *Block) part(w *Warp, in *code.Inst) {
	all := w.take()
	var masks []uint32
	for left := all.lanes; left != 0; {
		q := all
		q.lanes = w.alike(in, left)
		left &^= q.lanes
		masks = append(masks, w.members(in, q.lanes))
		if i := b.waiting(w, &q); i >= 0 {
			w.unite(&w.paths[i], &q)
			w.paths[i].state = pathMeets
		} else {
			w.place(q)
		}
	}
	for _, mask := range masks {
		b.executeTogether(w, in, all.pc, mask)
	}
}

// leaving are lanes that end without an instruction at which they look at others: those that name them do not wait for them.
func (b *Block) leaving(w *Warp) (lanes uint32) {
	for i := range w.paths {
		if p := &w.paths[i]; p.frame == nil && b.code[p.pc].Alone {
			lanes |= p.lanes
		}
	}
	return lanes
}

// members are the lanes that some lanes name in their masks.
func (w *Warp) members(in *code.Inst, lanes uint32) (named uint32) {
	for m := lanes; m != 0; m &= m - 1 {
		named |= w.Regs.R32[in.Members][first(m)]
	}
	return named
}

// yields reports whether a path gave way that may still come.
func (w *Warp) yields() bool {
	for i := range w.paths {
		if w.paths[i].state == pathYields {
			return true
		}
	}
	return false
}

// stay lets the path that runs wait at an instruction for others.
func (b *Block) stay(w *Warp, in *code.Inst, at int32) {
	p := &w.paths[w.run]
	p.pc, p.order, p.state = at, in.Order, pathMeets
	w.slow = true
	w.wake()
}

// joinsWaiting adds the path that runs to one that waits at the same instruction of the same call, and names the same lanes if it
// names any, and reports whether there is one.
func (b *Block) joinsWaiting(w *Warp, at int32, taken uint32) bool {
	p := w.paths[w.run]
	p.pc, p.lanes = at, taken
	i := b.waiting(w, &p)
	if i < 0 {
		return false
	}
	p.lanes = w.paths[w.run].lanes
	w.unite(&w.paths[i], &p)
	w.paths[w.run].lanes = 0
	w.drop()
	return true
}

// waiting finds a path that waits where another one is, for the same lanes; -1 none.
func (b *Block) waiting(w *Warp, p *path) int {
	in := &b.code[p.pc]
	for i := range w.paths {
		q := &w.paths[i]
		if q.pc == p.pc && q.state == pathMeets && q.frame == p.frame && q.lanes&p.lanes == 0 &&
			(in.Meet != code.MeetMask || w.members(in, q.lanes) == w.members(in, p.lanes)) {
			return i
		}
	}
	return -1
}

// checkWhole reports an instruction that all lanes of a warp must execute at once and that not all come to, or that they come to by
// ways which a GPU lets meet only behind it. Barriers count lanes as they come, in whatever groups; of lanes that are missing arrive
// says so.
func (b *Block) checkWhole(w *Warp, in *code.Inst, at int32, taken uint32) {
	if in.Meet != code.MeetWarp || in.Kind == code.KindBarrier || b.Running.options.NoConvergence {
		return
	}
	if s := w.paths[w.run].loose; s != nil && w.live&^w.ending()&^taken == 0 {
		b.note(checkConvergence, w, at, taken, nil, func() string {
			return fmt.Sprintf("lanes %08x came here by different ways of a branch that meet only further on (%s): a GPU may execute this once for each",
				taken, b.joinText(s))
		})
		return
	}
	if missing := w.live &^ taken; missing != 0 {
		b.report(checkConvergence, w, at, taken, fmt.Sprintf("all lanes of the warp must execute this at once: lanes %08x are here, lanes %08x are elsewhere",
			taken, missing))
	} else if ended := w.born &^ w.live; ended != 0 {
		b.report(checkConvergence, w, at, taken, fmt.Sprintf("all lanes of the warp must execute this at once: lanes %08x have ended", ended))
	}
}

// joinText says where the ways of a branch meet.
func (b *Block) joinText(s *split) string {
	for at := range b.code {
		if in := &b.code[at]; in.Order == s.join && !in.Hidden {
			if where := b.kernel.Where(int32(at)); len(where) > 0 && where[0].Line > 0 {
				return fmt.Sprintf("at %s:%d", where[0].File, where[0].Line)
			}
			return "at: " + b.kernel.Text(int32(at))
		}
	}
	return "at the end"
}

// share is one of several paths that execute instructions of one kind together, with what the registers of its instruction held.
type share struct {
	run   int
	in    *code.Inst
	at    int32
	lanes uint32
	ins   []saved
}

// saved is what a register held.
type saved struct {
	r   code.Register
	r32 [lane.Lanes]uint32
	r64 [lane.Lanes]uint64
	p   uint32
}

// executeTogether executes the instructions at which paths of a warp wait that name the same lanes in instructions of one kind, when
// all of these have come, and reports whether they have.
func (b *Block) executeTogether(w *Warp, in *code.Inst, at int32, mask uint32) bool {
	kind, want := b.kernel.Origin(at).PTX().Op.Full, mask&w.live&^b.leaving(w)
	b.shares = b.shares[:0]
	union := uint32(0)
	for i := range w.paths {
		p := &w.paths[i]
		if p.state != pathMeets {
			continue
		}
		other := &b.code[p.pc]
		if other.Meet != code.MeetMask || w.members(other, p.lanes) != mask || other.Kind != in.Kind || b.kernel.Origin(p.pc).PTX().Op.Full != kind {
			continue
		}
		union |= p.lanes
		b.shares = append(b.shares, share{run: i, in: other, at: p.pc, lanes: p.lanes})
	}
	if want&^union != 0 {
		return false
	}
	for i := range b.shares {
		s := &b.shares[i]
		c := &b.counts[s.at]
		c.issued++
		c.lanes += uint64(bits.OnesCount32(s.lanes))
		w.steps++
		if s.in.Watch {
			b.watcher.Before(b, w, s.at, s.lanes, s.lanes)
		}
		s.ins = w.save(s.in.Ins)
	}
	for i := range b.shares {
		if s := &b.shares[i]; s.in.Warp != nil {
			b.executeShare(w, s, union)
		}
	}
	for i := range b.shares {
		s := &b.shares[i]
		p := &w.paths[s.run]
		p.state, p.pc = pathReady, s.at+1
		p.order = b.code[p.pc].Order
		if s.in.Watch {
			b.watcher.After(b, w, s.at, s.lanes, s.lanes)
		}
	}
	w.sort()
	return true
}

// sort puts all paths of the list to their places again.
func (w *Warp) sort() {
	all := slices.Clone(w.paths)
	w.paths, w.woke = w.paths[:0], false
	for _, p := range all {
		w.place(p)
	}
	if w.woke { // all of them, not those alone that had a place
		w.wake()
	}
}

// executeShare executes the instruction of one share, in which lanes see the inputs of the other shares.
func (b *Block) executeShare(w *Warp, s *share, union uint32) {
	before, outs := w.save(s.in.Ins), w.save(s.in.Outs)
	for k := range s.ins {
		for j := range b.shares {
			if other := &b.shares[j]; other != s {
				w.blend(s.ins[k].r, &other.ins[k], other.lanes)
			}
		}
	}
	if op := b.kernel.Origin(s.at).PTX().Op; op.Name == "shfl" { // what others read is found with their own instruction
		w.readThemselves(s.ins[1].r.Index, union&^s.lanes, slices.Contains(op.Mods, "idx"))
	}
	if err := s.in.Warp(&w.Regs, &s.in.Ops, union); err != nil {
		b.misuse(w, s.at, union, err)
	}
	results := w.save(s.in.Outs)
	for k := range s.ins {
		w.blend(before[k].r, &before[k], ^uint32(0))
	}
	for k := range outs {
		w.blend(outs[k].r, &outs[k], ^uint32(0))
		w.blend(outs[k].r, &results[k], s.lanes)
	}
}

// readThemselves gives a shuffle a distance, or with idx a number, by which lanes read their own value.
func (w *Warp) readThemselves(distance int32, lanes uint32, index bool) {
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		w.Regs.R32[distance][l] = 0
		if index {
			w.Regs.R32[distance][l] = uint32(l)
		}
	}
}

// save copies registers.
func (w *Warp) save(list []code.Register) []saved {
	out := make([]saved, len(list))
	for i, r := range list {
		out[i].r = r
		switch r.Bank {
		case lane.R32:
			out[i].r32 = w.Regs.R32[r.Index]
		case lane.R64:
			out[i].r64 = w.Regs.R64[r.Index]
		case lane.P:
			out[i].p = w.Regs.P[r.Index]
		}
	}
	return out
}

// blend puts what was saved into some lanes of a register.
func (w *Warp) blend(r code.Register, from *saved, lanes uint32) {
	switch r.Bank {
	case lane.R32:
		for m := lanes; m != 0; m &= m - 1 {
			w.Regs.R32[r.Index][first(m)] = from.r32[first(m)]
		}
	case lane.R64:
		for m := lanes; m != 0; m &= m - 1 {
			w.Regs.R64[r.Index][first(m)] = from.r64[first(m)]
		}
	case lane.P:
		w.Regs.P[r.Index] = w.Regs.P[r.Index]&^lanes | from.p&lanes
	}
}
