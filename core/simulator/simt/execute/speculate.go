package execute

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// A division by zero does nothing on a GPU but leave a number that means nothing, and compilers execute divisions whose result is not
// wanted: for lanes that a mask switches off, or before a selection that takes something else. So what a lane divided by zero is followed, and
// is a finding when it is stored, decides something, or goes where lanes look at each other. From the first such division on a block
// runs code of which everything is watched; other blocks cost what they did.

// follower follows the results of divisions by zero through the registers of a block.
type follower struct {
	inner  BlockObserver // who observed the block, nil nobody
	normal []code.Inst   // the code that it ran
	values map[held]doubt
}

// held is a register of a warp.
type held struct {
	warp int
	r    code.Register
}

// doubt is which lanes of a register come from a division by zero, and from which: of several the last.
type doubt struct {
	lanes uint32
	at    int32
}

// doubtful notes that lanes divided by zero in an instruction that has been executed.
func (b *Block) doubtful(w *Warp, in *code.Inst, at int32, lanes uint32) {
	f, ok := b.watcher.(*follower)
	if !ok {
		f = &follower{inner: b.watcher, normal: b.code, values: map[held]doubt{}}
		b.watcher, b.code = f, b.Running.watched()
	}
	for _, r := range in.Outs {
		d := f.values[held{w.Index, r}]
		f.values[held{w.Index, r}] = doubt{d.lanes | lanes, at}
	}
}

// stopFollowing gives the block back to who observed it.
func (b *Block) stopFollowing() {
	if f, ok := b.watcher.(*follower); ok {
		b.watcher, b.code = f.inner, f.normal
	}
}

// watched is the code of the launch with everything watched.
func (r *Running) watched() []code.Inst {
	r.watchAll.Do(func() {
		r.allWatched = slices.Clone(r.Code)
		for i := range r.allWatched {
			r.allWatched[i].Watch = true
		}
	})
	return r.allWatched
}

// After is part of BlockObserver.
func (f *follower) After(b *Block, w *Warp, at int32, active, taken uint32) {
	if f.inner != nil && f.normal[at].Watch {
		f.inner.After(b, w, at, active, taken)
	}
}

// Before is part of BlockObserver.
func (f *follower) Before(b *Block, w *Warp, at int32, active, taken uint32) {
	if f.inner != nil && f.normal[at].Watch {
		f.inner.Before(b, w, at, active, taken)
	}
	in := &f.normal[at]
	if in.Guard >= 0 {
		f.used(b, w, code.P(in.Guard), active)
	}
	switch in.Kind {
	case code.KindLane, code.KindLaneNaN, code.KindDivide:
		f.carry(b, w, in, at, taken)
		return
	}
	for _, r := range in.Ins {
		f.used(b, w, r, taken&b.asks(w, in, r))
	}
	for _, r := range in.Outs {
		f.set(w, r, taken, doubt{})
	}
}

// asks are the lanes in which an instruction makes use of a register: a copy that reads no byte goes to no address for them.
func (b *Block) asks(w *Warp, in *code.Inst, r code.Register) (lanes uint32) {
	const all = 1<<lane.Lanes - 1
	if in.Kind != code.KindCopyAsync {
		return all
	}
	c := &b.kernel.Copies[in.Detail]
	bank := lane.R64
	if c.From.Narrow {
		bank = lane.R32
	}
	if c.Size < 0 || c.From.Absolute || r.Bank != bank || r.Index != c.From.Address || !c.To.Absolute && c.To.Narrow == c.From.Narrow && c.To.Address == r.Index {
		return all
	}
	for l, bytes := range w.Regs.R32[c.Size] {
		if bytes != 0 {
			lanes |= 1 << l
		}
	}
	return lanes
}

// used reports what lanes of a register hold if it comes from a division by zero.
func (f *follower) used(b *Block, w *Warp, r code.Register, lanes uint32) {
	d, ok := f.values[held{w.Index, r}]
	if lanes &= d.lanes; !ok || lanes == 0 {
		return
	}
	for key, other := range f.values { // once for each division
		if key.warp == w.Index && other.at == d.at {
			if other.lanes &^= lanes; other.lanes == 0 {
				delete(f.values, key)
			} else {
				f.values[key] = other
			}
		}
	}
	b.note(checkDivision, w, d.at, lanes, nil, func() string {
		return fmt.Sprintf("integer division by zero in lane %d, whose result is used. Where the source selects something else for such lanes, as by tl.where, "+
			"the compiler may have left the selection out: it takes no divisor for 0", first(lanes))
	})
}

// set says what lanes of a register come from.
func (f *follower) set(w *Warp, r code.Register, lanes uint32, d doubt) {
	key := held{w.Index, r}
	old, ok := f.values[key]
	if !ok && d.lanes == 0 {
		return
	}
	switch keep := old.lanes &^ lanes; {
	case keep|d.lanes == 0:
		delete(f.values, key)
	case d.lanes == 0:
		f.values[key] = doubt{keep, old.at}
	default:
		f.values[key] = doubt{keep | d.lanes, d.at}
	}
}

// carry says that what an instruction computes comes from what it reads, as far as that counts.
func (f *follower) carry(b *Block, w *Warp, in *code.Inst, at int32, taken uint32) {
	var out doubt
	for i, r := range in.Ins {
		if d, ok := f.values[held{w.Index, r}]; ok {
			if lanes := d.lanes & taken & f.counts(b, w, in, at, i); lanes != 0 {
				out = doubt{out.lanes | lanes, d.at}
			}
		}
	}
	for _, r := range in.Outs {
		f.set(w, r, taken, out)
	}
}

// counts are the lanes in which an operand has a part in the result: of a selection the one that is taken, of a logical operation on
// predicates the one that the other does not decide alone.
func (f *follower) counts(b *Block, w *Warp, in *code.Inst, at int32, operand int) uint32 {
	const all = 1<<lane.Lanes - 1
	var op ptx.Opcode
	if text := b.kernel.Origin(at).PTX(); text != nil && !in.Hidden {
		op = text.Op
	}
	if op.Name == "selp" && len(in.Ins) == 3 && operand < 2 {
		p := w.Regs.P[in.Ins[2].Index]
		if operand == 1 {
			return ^p
		}
		return p
	}
	last := len(in.Ins) - 1
	other := -1
	switch {
	case (op.Full == "and.pred" || op.Full == "or.pred") && len(in.Ins) == 2:
		other = 1 - operand
	case op.Name == "setp" && last >= 2 && in.Ins[last].Bank == lane.P && operand < last:
		other = last
	default:
		return all
	}
	p := w.Regs.P[in.Ins[other].Index]
	doubtful := f.values[held{w.Index, in.Ins[other]}].lanes
	switch {
	case op.Full == "and.pred" || op.Name == "setp" && slices.Contains(op.Mods, "and"):
		return p | doubtful
	case op.Full == "or.pred" || op.Name == "setp" && slices.Contains(op.Mods, "or"):
		return ^p | doubtful
	}
	return all
}
