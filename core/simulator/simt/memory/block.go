package memory

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Shape is how much memory a block has.
type Shape struct {
	Warps  int
	Shared uint64 // bytes of shared memory
	Local  uint64 // bytes of local memory of each lane
	Checks bool   // look for races, for bytes that nobody wrote, and for copies that were not waited for
}

// maxShared is more than any GPU has.
const (
	maxShared = 1 << 20
	maxLocal  = 1 << 20
)

// Block is the memory that one block sees: global memory, its shared memory, and the local memory of its lanes. It belongs to one
// goroutine, and serves one block after another. Every access of every lane goes through its methods, a few for each width and kind of memory;
// one struct holds what they check, so that an access follows no further pointer. So it has many.
type Block struct {
	global *Global
	shared []byte
	shadow *shadow // nil when nothing is checked
	local  private
	queues []queue // of cp.async, by warp
	warps  int
	gone   uint32 // warps that have ended
	order  *order // of its warps, when global memory is watched
	sight  *Sight // of the worker, where several look for races in global memory; else nil
	look   *look  // at an access to global memory, when it is watched
	room   [lane.Lanes]uint64
	list   [maxParts]part
}

// NewBlock makes the memory of blocks of a shape.
func NewBlock(g *Global, s Shape) (*Block, error) {
	switch {
	case s.Warps < 1 || s.Warps > maxWarps:
		return nil, fault.New(fault.Limit, "a block has %d warps, not 1 to %d", s.Warps, maxWarps)
	case s.Shared > maxShared:
		return nil, fault.New(fault.Limit, "%d bytes of shared memory, more than %d", s.Shared, maxShared)
	case s.Local > maxLocal:
		return nil, fault.New(fault.Limit, "%d bytes of local memory a lane, more than %d", s.Local, maxLocal)
	}
	b := &Block{global: g, shared: make([]byte, s.Shared), queues: make([]queue, s.Warps), warps: s.Warps}
	b.local.make(s.Warps, s.Local, s.Checks)
	if s.Checks {
		b.shadow = newShadow(s.Shared)
	}
	return b, nil
}

// Reset makes the memory that of another block: all zeros, and nothing written.
func (b *Block) Reset() {
	clear(b.shared)
	b.local.reset()
	for i := range b.queues {
		b.queues[i].drop()
	}
	b.gone = 0
	if b.shadow != nil {
		b.shadow.forget()
	}
}

// Barrier says that all warps of the block have met.
func (b *Block) Barrier() {
	if b.order != nil {
		b.order.meet(-1, fullMask)
	}
	if b.shadow != nil {
		b.shadow.barrier()
	}
}

// Meet says that these warps have waited for each other at a numbered barrier, and for those that had said Arrive there. It is
// the same as Barrier when they are all that have not ended.
func (b *Block) Meet(barrier int, warps uint32) {
	if b.order != nil {
		b.order.meet(barrier, warps|b.gone)
	}
	if b.shadow == nil {
		return
	}
	if whole := ^uint32(0) >> (maxWarps - b.warps); (warps|b.gone)&whole == whole {
		b.shadow.barrier()
		return
	}
	b.shadow.meet(barrier, warps|b.gone)
}

// Arrive says that a warp came to a numbered barrier and went on (bar.arrive).
func (b *Block) Arrive(barrier, warp int) {
	if b.order != nil {
		b.order.arrive(barrier, warp)
	}
	if b.shadow != nil {
		b.shadow.arrive(barrier, warp)
	}
}

// Fence says that a warp executed a fence, of the scope of its block or of a wider one: relaxed and volatile accesses may order what is
// around them from now on.
func (b *Block) Fence(warp int, block bool) {
	if b.order != nil {
		b.order.fence(warp, block)
	}
	if b.shadow != nil {
		b.shadow.fenced = true
	}
}

// Exit says that all lanes of a warp have ended. Its copies land.
func (b *Block) Exit(warp int) {
	b.Wait(warp, fullMask, -1)
	b.gone |= 1 << warp
}

// Load loads the lanes of mask. Lanes whose access is out of bounds, misaligned or that of a null pointer read 0; those that race
// or read what was not written read what is there.
func (b *Block) Load(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	if mask == 0 {
		return nil
	}
	switch t.Space {
	case ptx.Shared:
		if t.Narrow {
			return loadShared(b, r, t, &r.R32[t.Address], uint32(t.Offset), warp, mask)
		}
		return loadShared(b, r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask)
	case ptx.Local:
		return b.local.load(r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask)
	case ptx.Generic:
		a := addresses(r, t, &b.room)
		shared, local := windows(a, uint64(t.Offset), mask)
		if shared|local != 0 {
			at := *a // the loads may overwrite it
			rest := b.loadGlobal(r, t, warp, mask&^(shared|local))
			if local != 0 {
				rest = chain(b.local.load(r, t, &at, uint64(t.Offset)-LocalWindow, warp, local), rest)
			}
			if shared != 0 {
				rest = chain(loadShared(b, r, t, &at, uint64(t.Offset)-SharedWindow, warp, shared), rest)
			}
			return rest
		}
	}
	return b.loadGlobal(r, t, warp, mask)
}

func (b *Block) loadGlobal(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	if !b.watching() {
		return b.global.Load(r, t, mask)
	}
	raced := b.watchLanes(r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask, loads)
	return chain(b.global.Load(r, t, mask), raced)
}

func (b *Block) storeGlobal(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	if !b.watching() {
		return b.global.Store(r, t, mask)
	}
	raced := b.watchLanes(r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask, stores)
	return chain(b.global.Store(r, t, mask), raced)
}

// Store stores the lanes of mask in ascending order. Lanes whose access is out of bounds, misaligned, that of a null pointer or
// to read-only memory write nothing.
func (b *Block) Store(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	if mask == 0 {
		return nil
	}
	switch t.Space {
	case ptx.Shared:
		if t.Narrow {
			return storeShared(b, r, t, &r.R32[t.Address], uint32(t.Offset), warp, mask)
		}
		return storeShared(b, r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask)
	case ptx.Local:
		return b.local.store(r, t, addresses(r, t, &b.room), uint64(t.Offset), warp, mask)
	case ptx.Generic:
		a := addresses(r, t, &b.room)
		shared, local := windows(a, uint64(t.Offset), mask)
		if shared|local != 0 {
			rest := b.storeGlobal(r, t, warp, mask&^(shared|local))
			if local != 0 {
				rest = chain(b.local.store(r, t, a, uint64(t.Offset)-LocalWindow, warp, local), rest)
			}
			if shared != 0 {
				rest = chain(storeShared(b, r, t, a, uint64(t.Offset)-SharedWindow, warp, shared), rest)
			}
			return rest
		}
	}
	return b.storeGlobal(r, t, warp, mask)
}

// Atomic executes an atomic or a reduction in the lanes of mask, in ascending order: each lane sees what those before it did.
// Atomics have no local memory: a generic address of it is out of bounds.
func (b *Block) Atomic(r *lane.Regs, t *Transfer, op *AtomicOp, warp int, mask uint32) *Fault {
	a := addresses(r, t, &b.room)
	switch t.Space {
	case ptx.Shared:
		return b.atomicShared(r, t, op, a, uint64(t.Offset), warp, mask)
	case ptx.Generic:
		if shared, _ := windows(a, uint64(t.Offset), mask); shared != 0 {
			at := *a
			rest := b.atomicGlobal(r, t, op, &at, warp, mask&^shared)
			return chain(b.atomicShared(r, t, op, &at, uint64(t.Offset)-SharedWindow, warp, shared), rest)
		}
	}
	return b.atomicGlobal(r, t, op, a, warp, mask)
}

func (b *Block) atomicGlobal(r *lane.Regs, t *Transfer, op *AtomicOp, a *[lane.Lanes]uint64, warp int, mask uint32) *Fault {
	if !b.watching() || mask == 0 {
		return b.global.atomic(r, t, op, a, mask)
	}
	raced := b.watchLanes(r, t, a, uint64(t.Offset), warp, mask, loads|stores)
	return chain(b.global.atomic(r, t, op, a, mask), raced)
}

// windows returns the lanes whose generic addresses are those of shared and of local memory.
func windows(a *[lane.Lanes]uint64, off uint64, mask uint32) (shared, local uint32) {
	for l, v := range a {
		v += off
		if v-SharedWindow < windowSize {
			shared |= 1 << l
		} else if v-LocalWindow < windowSize {
			local |= 1 << l
		}
	}
	return shared & mask, local & mask
}

// chain puts the faults of one part of an access before those of another.
func chain(first, then *Fault) *Fault {
	if first == nil {
		return then
	}
	last := first
	for last.Next != nil {
		last = last.Next
	}
	last.Next = then
	return first
}

// Peek reads up to 8 bytes at a generic address as one lane would, for what the simulator itself reads: formats of vprintf and
// their arguments. It does not ask for alignment, nor whether the bytes were written.
func (b *Block) Peek(address uint64, bytes, warp, l int) (uint64, *Fault) {
	n := uint64(bytes)
	var p []byte
	var found faults
	switch {
	case address-SharedWindow < windowSize:
		at := address - SharedWindow
		if size := uint64(len(b.shared)); at < size && n <= size-at {
			p = b.shared[at:]
		} else {
			found.add(OutOfBounds, l, at, n, loads).nearShared(size)
		}
	case address-LocalWindow < windowSize:
		at := address - LocalWindow
		if p = b.local.bytes(warp, l, at, n); p == nil {
			found.add(OutOfBounds, l, at, n, loads).nearLocal(b.local.size)
		}
	default:
		if in := b.global.checkSized(&found, &Transfer{}, l, address, n, 1); in != nil {
			p = in.bytes[address-in.base:]
		}
	}
	if p == nil {
		return 0, found.first
	}
	var v uint64
	for i := range bytes {
		v |= uint64(p[i]) << (8 * i)
	}
	return v, nil
}
