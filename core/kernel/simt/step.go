package simt

import (
	"fmt"
	"math/bits"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
)

// execute runs an instruction that is neither a plain lanewise one nor control flow, for at least one lane.
func (b *block) execute(w *warp, in *inst, at int32, lanes uint32) {
	switch in.kind {
	case kindWarp:
		if err := in.warp(&w.regs, &in.ops, lanes); err != nil {
			b.misuse(w, at, lanes, err)
		}
	case kindLoad:
		b.load(w, in, at, lanes)
	case kindStore:
		b.store(w, in, at, lanes)
	case kindAtomic:
		b.atomic(w, in, at, lanes)
	case kindMatrix:
		b.countMatrix(w, in, at, lanes)
		if f := b.mem.LoadMatrix(&w.regs, in.mem, w.index, lanes); f != nil {
			b.fault(w, at, f)
		}
	case kindCopyAsync:
		b.copyAsync(w, in, at, lanes)
	case kindCommit:
		b.mem.Commit(w.index, lanes)
	case kindWait:
		b.mem.Wait(w.index, lanes, int(in.detail))
	case kindFence:
		b.mem.Fence()
	case kindDivide:
		b.divide(w, in, at, lanes)
	case kindClock:
		b.clock(w, in, lanes)
	case kindLaneNaN, kindWarpNaN:
		b.executeNaN(w, in, at, lanes)
	}
}

// direct reports whether an access of a space need not ask the block's memory.
func (b *block) direct(space ptx.Space) bool {
	return (space == ptx.Global || space == ptx.Const) && !b.launch.options.GlobalRaces
}

func (b *block) load(w *warp, in *inst, at int32, lanes uint32) {
	t := in.mem
	var f *memory.Fault
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.launch.global.Load(&w.regs, t, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Load(&w.regs, t, w.index, lanes)
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *block) store(w *warp, in *inst, at int32, lanes uint32) {
	t := in.mem
	var f *memory.Fault
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.launch.global.Store(&w.regs, t, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Store(&w.regs, t, w.index, lanes)
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *block) atomic(w *warp, in *inst, at int32, lanes uint32) {
	t := in.mem
	var f *memory.Fault
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.launch.global.Atomic(&w.regs, t, &in.atomic, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Atomic(&w.regs, t, &in.atomic, w.index, lanes)
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *block) copyAsync(w *warp, in *inst, at int32, lanes uint32) {
	c := &b.launch.copies[in.detail]
	if !b.launch.options.NoCounts {
		n := &b.counts[at]
		n.global++
		n.shared++
		n.bytes += uint64(c.Bytes * bits.OnesCount32(lanes))
		n.sectors += uint64(memory.Sectors(&w.regs, &c.From, lanes))
		n.conflicts += conflicts(&w.regs, &c.To, c.Bytes, lanes)
	}
	if f := b.mem.CopyAsync(&w.regs, c, w.index, lanes); f != nil {
		b.fault(w, at, f)
	}
}

// countGlobal counts an access of global memory before it happens.
func (b *block) countGlobal(w *warp, in *inst, at int32, lanes uint32) {
	if b.launch.options.NoCounts {
		return
	}
	t, c := in.mem, &b.counts[at]
	c.global++
	c.bytes += uint64(t.Elem * t.Count * bits.OnesCount32(lanes))
	c.sectors += uint64(memory.Sectors(&w.regs, t, lanes))
}

// countShared counts an access of shared memory before it happens.
func (b *block) countShared(w *warp, in *inst, at int32, lanes uint32) {
	if b.launch.options.NoCounts {
		return
	}
	c := &b.counts[at]
	c.shared++
	c.conflicts += conflicts(&w.regs, in.mem, in.mem.Elem*in.mem.Count, lanes)
}

// countMatrix counts a load of matrices: eight lanes at a time name the rows, 16 bytes each, of one.
func (b *block) countMatrix(w *warp, in *inst, at int32, lanes uint32) {
	if b.launch.options.NoCounts {
		return
	}
	c := &b.counts[at]
	c.shared++
	rows := uint32(1)<<(8*in.mem.Count%lane.Lanes) - 1
	if in.mem.Count == 4 {
		rows = 1<<lane.Lanes - 1
	}
	c.conflicts += conflicts(&w.regs, in.mem, 16, lanes&rows)
}

// countBlock counts an access that the block's memory serves. Generic addresses count by the first lane's.
func (b *block) countBlock(w *warp, in *inst, at int32, lanes uint32) {
	switch t := in.mem; t.Space {
	case ptx.Shared:
		b.countShared(w, in, at, lanes)
	case ptx.Global, ptx.Const:
		b.countGlobal(w, in, at, lanes)
	case ptx.Generic:
		address := uint64(t.Offset)
		if !t.Absolute {
			address += w.regs.R64[t.Address][first(lanes)]
		}
		if address-memory.SharedWindow >= 2*(memory.LocalWindow-memory.SharedWindow) {
			b.countGlobal(w, in, at, lanes)
		} else if address < memory.LocalWindow {
			b.countShared(w, in, at, lanes)
		}
	}
}

// misuse reports what package lane says that the program did wrong. Lanes that have ended, or that only wait for others to end
// with, may be named: nobody is left out.
func (b *block) misuse(w *warp, at int32, lanes uint32, err error) {
	if lanes == w.live&^w.ending() {
		return
	}
	b.note(CheckBadShuffle, w, at, lanes, nil, func() string {
		return fmt.Sprintf("%v; active are lanes %08x", err, lanes)
	})
}

// ending are lanes that went a way of their own to where they only wait for others to end with: compilers join all returns of a
// kernel. Lanes that come there because they skip what others do are left out of that.
func (w *warp) ending() (lanes uint32) {
	for i := range w.stack {
		lanes |= w.stack[i].ending
	}
	return lanes & w.live
}

// maxJumps bounds how many jumps are followed to the end of a kernel.
const maxJumps = 8

// onlyEnds reports whether the next thing that a path does is to end.
func (b *block) onlyEnds(pc, depth int32) bool {
	for range maxJumps {
		switch in := &b.code[pc]; {
		case in.kind == kindJump:
			pc = in.target
		case in.kind == kindExit || in.kind == kindReturn && depth == 0:
			return in.guard < 0
		default:
			return false
		}
	}
	return false
}

// divide reports lanes that divide an integer by zero, then divides.
func (b *block) divide(w *warp, in *inst, at int32, lanes uint32) {
	var zero uint32
	divisor := in.ins[1]
	for l := range lane.Lanes {
		if divisor.bank == lane.R64 && w.regs.R64[divisor.index][l] == 0 || divisor.bank == lane.R32 && w.regs.R32[divisor.index][l] == 0 {
			zero |= 1 << l
		}
	}
	if zero &= lanes; zero != 0 {
		b.note(CheckDivision, w, at, zero, nil, func() string {
			return fmt.Sprintf("integer division by zero in lane %d", first(zero))
		})
	}
	w.masked(in, lanes)
}

// clock reads the clock of a warp: the instructions that it has executed.
func (b *block) clock(w *warp, in *inst, lanes uint32) {
	now := w.steps >> in.detail
	d := in.outs[0]
	for l := range lane.Lanes {
		if lanes>>l&1 == 0 {
			continue
		}
		if d.bank == lane.R64 {
			w.regs.R64[d.index][l] = now
		} else {
			w.regs.R32[d.index][l] = uint32(now)
		}
	}
}
