package execute

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// execute runs an instruction that is neither a plain lanewise one nor control flow, for at least one lane.
func (b *Block) execute(w *Warp, in *code.Inst, at int32, lanes uint32) {
	switch in.Kind {
	case code.KindWarp:
		if err := in.Warp(&w.Regs, &in.Ops, lanes); err != nil {
			b.misuse(w, at, lanes, err)
		}
	case code.KindLoad:
		b.load(w, in, at, lanes)
	case code.KindStore:
		b.store(w, in, at, lanes)
	case code.KindAtomic:
		b.atomic(w, in, at, lanes)
	case code.KindMatrix:
		b.loadMatrix(w, in, at, lanes)
	case code.KindMbarrier:
		w.paths[w.run].polls = true
		w.poll.note(b, w, in, at, lanes)
		b.countShared(w, in, at, lanes)
		if f := b.mem.Mbarrier(&w.Regs, in.Mem, memory.MbarrierOf(in.Detail), w.Index, lanes); f != nil {
			b.fault(w, at, f)
		}
	case code.KindCopyAsync:
		b.copyAsync(w, in, at, lanes)
	case code.KindCommit:
		b.mem.Commit(w.Index, lanes)
	case code.KindWait:
		b.mem.Wait(w.Index, lanes, int(in.Detail))
	case code.KindFence:
		b.mem.Fence(w.Index, in.Detail != 0)
	case code.KindAllocate:
		b.allocate(w, in, at, lanes)
	case code.KindRestore:
		b.restoreStack(w, in, at, lanes)
	case code.KindMalloc:
		b.malloc(w, in, at, lanes)
	case code.KindFree:
		b.free(w, in, at, lanes)
	case code.KindTexture:
		b.texture(w, in, at, lanes)
	case code.KindDivide:
		b.divide(w, in, at, lanes)
	case code.KindClock:
		b.clock(w, in, lanes)
	case code.KindLaneNaN, code.KindWarpNaN:
		b.executeNaN(w, in, at, lanes)
	}
}

// direct reports whether an access of a space need not ask the block's memory.
func (b *Block) direct(space ptx.Space) bool {
	return (space == ptx.Global || space == ptx.Const) && !b.Running.options.GlobalRaces
}

func (b *Block) load(w *Warp, in *code.Inst, at int32, lanes uint32) {
	t := in.Mem
	var f *memory.Fault
	if t.Order != memory.Weak {
		w.paths[w.run].polls = true
		w.poll.note(b, w, in, at, lanes)
	}
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.Running.Global.Load(&w.Regs, t, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Load(&w.Regs, t, w.Index, lanes)
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *Block) store(w *Warp, in *code.Inst, at int32, lanes uint32) {
	t := in.Mem
	var f *memory.Fault
	kept := b.kernel.Loops != nil && b.resting.beginWrite(b, w, in, lanes)
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.Running.Global.Store(&w.Regs, t, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Store(&w.Regs, t, w.Index, lanes)
	}
	if b.kernel.Loops != nil {
		b.resting.endWrite(b, w, in, at, lanes, kept)
	} else if isGlobal(in) {
		b.changed()
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *Block) atomic(w *Warp, in *code.Inst, at int32, lanes uint32) {
	t := in.Mem
	var f *memory.Fault
	w.paths[w.run].polls = true
	w.poll.note(b, w, in, at, lanes)
	kept := b.kernel.Loops != nil && b.resting.beginWrite(b, w, in, lanes)
	if b.direct(t.Space) {
		b.countGlobal(w, in, at, lanes)
		f = b.Running.Global.Atomic(&w.Regs, t, &in.Atomic, lanes)
	} else {
		b.countBlock(w, in, at, lanes)
		f = b.mem.Atomic(&w.Regs, t, &in.Atomic, w.Index, lanes)
	}
	if b.kernel.Loops != nil {
		b.resting.endWrite(b, w, in, at, lanes, kept)
	} else if isGlobal(in) {
		b.changed()
	}
	if f != nil {
		b.fault(w, at, f)
	}
}

func (b *Block) copyAsync(w *Warp, in *code.Inst, at int32, lanes uint32) {
	c := &b.Running.copies[in.Detail]
	var from *memory.Sources
	var to *memory.Places
	if lanes == math.MaxUint32 && c.Patterned() {
		k := b.pattern(at)
		from, to = k.Sources(&w.Regs, &c.From), k.Places(&w.Regs, &c.To)
	}
	if !b.Running.options.NoCounts {
		n := &b.counts[at]
		n.global++
		n.shared++
		n.bytes += uint64(c.Bytes * bits.OnesCount32(lanes))
		if from != nil {
			n.sectors += uint64(from.Sectors)
			n.conflicts += conflictsAt(&w.Regs, &c.To, to)
		} else {
			n.sectors += uint64(memory.Sectors(&w.Regs, &c.From, lanes))
			n.conflicts += conflicts(&w.Regs, &c.To, c.Bytes, lanes)
		}
	}
	if f := b.mem.CopyAsync(&w.Regs, c, w.Index, lanes, from, to); f != nil {
		b.fault(w, at, f)
	}
}

// loadMatrix loads matrices: eight lanes at a time name the rows, 16 bytes each, of one.
func (b *Block) loadMatrix(w *Warp, in *code.Inst, at int32, lanes uint32) {
	t := in.Mem
	var k *memory.Places
	if t.Narrow && !t.Absolute && lanes == math.MaxUint32 {
		k = b.pattern(at).Places(&w.Regs, t)
	}
	if !b.Running.options.NoCounts {
		c := &b.counts[at]
		c.shared++
		if k != nil && t.Count == 4 {
			c.conflicts += conflictsAt(&w.Regs, t, k)
		} else {
			rows := uint32(1<<(8*t.Count) - 1)
			c.conflicts += conflicts(&w.Regs, t, 16, lanes&rows)
		}
	}
	if f := b.mem.LoadMatrix(&w.Regs, t, w.Index, lanes, k); f != nil {
		b.fault(w, at, f)
	}
}

// countGlobal counts an access of global memory before it happens.
func (b *Block) countGlobal(w *Warp, in *code.Inst, at int32, lanes uint32) {
	if b.Running.options.NoCounts {
		return
	}
	t, c := in.Mem, &b.counts[at]
	c.global++
	c.bytes += uint64(t.Elem * t.Count * bits.OnesCount32(lanes))
	c.sectors += uint64(memory.Sectors(&w.Regs, t, lanes))
}

// countShared counts an access of shared memory before it happens.
func (b *Block) countShared(w *Warp, in *code.Inst, at int32, lanes uint32) {
	if b.Running.options.NoCounts {
		return
	}
	c := &b.counts[at]
	c.shared++
	c.conflicts += conflicts(&w.Regs, in.Mem, in.Mem.Elem*in.Mem.Count, lanes)
}

// countBlock counts an access that the block's memory serves. Generic addresses count by the first lane's.
func (b *Block) countBlock(w *Warp, in *code.Inst, at int32, lanes uint32) {
	switch t := in.Mem; t.Space {
	case ptx.Shared:
		b.countShared(w, in, at, lanes)
	case ptx.Global, ptx.Const:
		b.countGlobal(w, in, at, lanes)
	case ptx.Generic:
		address := uint64(t.Offset)
		if !t.Absolute {
			address += w.Regs.R64[t.Address][first(lanes)]
		}
		if address-memory.SharedWindow >= 2*(memory.LocalWindow-memory.SharedWindow) {
			b.countGlobal(w, in, at, lanes)
		} else if address < memory.LocalWindow {
			b.countShared(w, in, at, lanes)
		}
	}
}

// misuse reports what package lane says that the program did wrong. Lanes that have ended may be named, and those that come to no
// other such instruction before they end: compilers join all returns of a kernel, and what is stored before them.
func (b *Block) misuse(w *Warp, at int32, lanes uint32, err error) {
	may := w.live &^ b.leaving(w)
	if absent := (*lane.AbsentError)(nil); errors.As(err, &absent) && absent.Lanes&may == 0 {
		return
	}
	if bad := (*lane.MetadataError)(nil); errors.As(err, &bad) {
		b.report(checkMetadata, w, at, bad.Lanes, bad.Error())
		return
	}
	if lanes == may || b.code[at].Meet == code.MeetWarp { // of the latter checkWhole says so
		return
	}
	b.note(checkBadShuffle, w, at, lanes, nil, func() string {
		return fmt.Sprintf("%v; active are lanes %08x", err, lanes)
	})
}

// ending are lanes that went a way of their own to where they only wait for others to end with: compilers join all returns of a
// kernel. Lanes that come there because they skip what others do are left out of that.
func (w *Warp) ending() (lanes uint32) {
	for i := range w.paths {
		lanes |= w.paths[i].ending
	}
	return lanes & w.live
}

// maxJumps bounds how many jumps are followed to the end of a kernel.
const maxJumps = 8

// onlyEnds reports whether the next thing that a path does is to end.
func (b *Block) onlyEnds(pc, depth int32) bool {
	for range maxJumps {
		switch in := &b.code[pc]; {
		case in.Kind == code.KindJump:
			pc = in.Target
		case in.Kind == code.KindExit || in.Kind == code.KindReturn && depth == 0:
			return in.Guard < 0
		default:
			return false
		}
	}
	return false
}

// divide divides integers, and notices lanes that do so by zero.
func (b *Block) divide(w *Warp, in *code.Inst, at int32, lanes uint32) {
	var zero uint32
	divisor := in.Ins[1]
	for l := range lane.Lanes {
		if divisor.Bank == lane.R64 && w.Regs.R64[divisor.Index][l] == 0 || divisor.Bank == lane.R32 && w.Regs.R32[divisor.Index][l] == 0 {
			zero |= 1 << l
		}
	}
	w.masked(in, lanes)
	if zero &= lanes; zero != 0 {
		b.doubtful(w, in, at, zero)
	}
}

// clock reads the clock of a warp: the instructions that it has executed.
func (b *Block) clock(w *Warp, in *code.Inst, lanes uint32) {
	now := w.steps >> in.Detail
	d := in.Outs[0]
	for l := range lane.Lanes {
		if lanes>>l&1 == 0 {
			continue
		}
		if d.Bank == lane.R64 {
			w.Regs.R64[d.Index][l] = now
		} else {
			w.Regs.R32[d.Index][l] = uint32(now)
		}
	}
}
