package memory

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// loadShared loads from shared memory at a + off.
func loadShared[T word](b *Block, r *lane.Regs, t *Transfer, a *[lane.Lanes]T, off T, warp int, mask uint32) *Fault {
	width := uint32(t.Elem * t.Count)
	s := b.shadow
	if s != nil {
		s.beginRead(warp, t.Inst, t.Order)
	}
	first, last := uint64(0), uint64(len(b.shared))
	if v := t.Within; v != nil {
		first, last = v.First, min(v.Last, last)
	}
	if mask == fullMask && dense(a, T(width)) {
		low := uint64(a[0] + off)
		high := low + lane.Lanes*uint64(width)
		if high <= last && high > low && low >= first && low%granule == 0 && low&uint64(width-1) == 0 && t.Order == Weak && width >= 4 &&
			(s == nil || s.readSpan(uint32(low/granule), uint32(high/granule))) {
			t.loadDense(r, b.shared[low:high])
			return nil
		}
	} else {
		low, high, set := extent(a, off, mask)
		if end := uint64(high) + uint64(width); end <= last && end > uint64(low) && uint64(low) >= first && uint32(set)&(width-1) == 0 &&
			t.Order == Weak && (s == nil || readLanes(s, a, off, width, mask)) {
			loadLanes(t, r, b.shared, 0, a, off, mask)
			return nil
		}
	}
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := uint64(a[l] + off)
		if !b.checkVariable(&found, t, l, address, uint64(width), loads) {
			t.clear(r, l)
			continue
		}
		b.readShared(&found, t, l, uint32(address), width)
		t.get(r, l, b.shared[address:])
	}
	return found.first
}

// storeShared stores to shared memory at a + off.
func storeShared[T word](b *Block, r *lane.Regs, t *Transfer, a *[lane.Lanes]T, off T, warp int, mask uint32) *Fault {
	width := uint32(t.Elem * t.Count)
	s := b.shadow
	if s != nil {
		s.begin(warp, t.Inst, t.Order)
	}
	first, last := uint64(0), uint64(len(b.shared))
	if v := t.Within; v != nil {
		first, last = v.First, min(v.Last, last)
	}
	if mask == fullMask && dense(a, T(width)) {
		low := uint64(a[0] + off)
		high := low + lane.Lanes*uint64(width)
		if high <= last && high > low && low >= first && low%granule == 0 && low&uint64(width-1) == 0 && t.Order == Weak && width >= 4 &&
			(s == nil || s.writeSpan(uint32(low/granule), uint32(high/granule))) {
			t.storeDense(r, b.shared[low:high])
			return nil
		}
	} else {
		low, high, set := extent(a, off, mask)
		if end := uint64(high) + uint64(width); end <= last && end > uint64(low) && uint64(low) >= first && uint32(set)&(width-1) == 0 &&
			t.Order == Weak && (s == nil || writeLanes(s, a, off, width, mask)) {
			storeLanes(t, r, b.shared, 0, a, off, mask)
			return nil
		}
	}
	var found faults
	var value [64]byte
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := uint64(a[l] + off)
		if !b.checkVariable(&found, t, l, address, uint64(width), stores) {
			continue
		}
		if isOverwritten(a, l, m) {
			b.checkCopies(&found, l, uint32(address), width)
			continue
		}
		copy(value[:width], b.shared[address:])
		t.put(r, l, value[:width])
		b.writeShared(&found, t, l, uint32(address), value[:width])
		copy(b.shared[address:], value[:width])
	}
	return found.first
}

// isOverwritten reports whether one of some lanes above l stores to its address: of a store of a warp that is what remains, and what other
// warps can see.
func isOverwritten[T word](a *[lane.Lanes]T, l int, lanes uint32) bool {
	for m := lanes &^ (1<<(l+1) - 1); m != 0; m &= m - 1 {
		if a[bits.TrailingZeros32(m)] == a[l] {
			return true
		}
	}
	return false
}

func (b *Block) atomicShared(r *lane.Regs, t *Transfer, op *AtomicOp, a *[lane.Lanes]uint64, off uint64, warp int, mask uint32) *Fault {
	width := uint64(t.Elem * t.Count)
	order := max(t.Order, Relaxed)
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		if !b.checkVariable(&found, t, l, address, width, loads|stores) {
			t.clear(r, l)
			continue
		}
		if s := b.shadow; s != nil {
			s.begin(warp, t.Inst, order)
			b.updateShared(&found, t, l, uint32(address), uint32(width), order)
		}
		op.lane(r, t, l, b.shared[address:], keeps)
	}
	return found.first
}

// checkVariable is checkShared of an access that must stay in its variable.
func (b *Block) checkVariable(found *faults, t *Transfer, l int, address, width uint64, u use) bool {
	if !b.checkShared(found, l, address, width, u) {
		return false
	}
	v := t.Within
	if v == nil || address >= v.First && address+width <= v.Last {
		return true
	}
	if f := found.add(OutOfBounds, l, address, width, u); f != nil {
		f.Nearest, f.Size = v.Name, v.Last-v.First
		f.Distance = distance(address-v.First, width, f.Size)
	}
	return false
}

// checkShared checks the bounds and the alignment of one lane's access.
func (b *Block) checkShared(found *faults, l int, address, width uint64, u use) bool {
	size := uint64(len(b.shared))
	kind := OutOfBounds
	if address < size && width <= size-address {
		if address&(width-1) == 0 {
			return true
		}
		kind = Misaligned
	}
	if f := found.add(kind, l, address, width, u); f != nil {
		f.nearShared(size)
	}
	return false
}

func (f *Fault) nearShared(size uint64) {
	f.Nearest, f.Size = "shared memory", size
	at := f.Address
	if at < 1<<32 {
		at = uint64(int64(int32(uint32(at)))) // an address of 32 bits below 0
	}
	f.Distance = distance(at, uint64(f.Bytes), size)
}

// shareFault notes a fault of shared memory that is not about bounds.
func (b *Block) shareFault(found *faults, kind Check, l int, address, width uint32, u use, other Party) {
	if f := found.add(kind, l, uint64(address), uint64(width), u); f != nil {
		f.nearShared(uint64(len(b.shared)))
		f.Other = other
	}
}

// readShared is the check of what one lane reads, without hurry.
func (b *Block) readShared(found *faults, t *Transfer, l int, address, width uint32) {
	s := b.shadow
	if s == nil {
		return
	}
	if s.acquires(t.Order) {
		s.acquire(address)
	}
	written, pending := s.look(address, width)
	switch {
	case pending:
		b.shareFault(found, StaleAsyncCopy, l, address, width, loads, b.copier(address, width))
	case !written:
		b.shareFault(found, UninitialisedShared, l, address, width, loads, Party{Warp: -1, Inst: -1})
	}
	for _, p := range s.parts(address, width, b.list[:0]) {
		if other, ok := s.read(p.c); !ok && !pending {
			b.shareFault(found, SharedRace, l, address, width, loads, other)
		}
	}
}

// checkCopies reports a store to what a cp.async is to write.
func (b *Block) checkCopies(found *faults, l int, address, width uint32) (pending bool) {
	if b.shadow == nil {
		return false
	}
	if _, pending = b.shadow.look(address, width); pending {
		b.shareFault(found, StaleAsyncCopy, l, address, width, stores, b.copier(address, width))
	}
	return pending
}

// writeShared is the check of what one lane writes, without hurry. Memory still has what was there before.
func (b *Block) writeShared(found *faults, t *Transfer, l int, address uint32, value []byte) {
	s := b.shadow
	if s == nil {
		return
	}
	width := uint32(len(value))
	pending := b.checkCopies(found, l, address, width)
	for _, p := range s.parts(address, width, b.list[:0]) {
		same := string(value[p.at:p.at+p.n]) == string(b.shared[address+p.at:address+p.at+p.n])
		if other, ok := s.write(p.c, same); !ok && !pending {
			b.shareFault(found, SharedRace, l, address, width, stores, other)
		}
	}
	s.wrote(address, width)
	if s.releases(t.Order) {
		s.release(address, t.Inst, t.Order)
	}
}

// updateShared is the check of an atomic.
func (b *Block) updateShared(found *faults, t *Transfer, l int, address, width uint32, order Order) {
	s := b.shadow
	if s.acquires(order) {
		s.acquire(address)
	}
	written, pending := s.look(address, width)
	switch {
	case pending:
		b.shareFault(found, StaleAsyncCopy, l, address, width, loads|stores, b.copier(address, width))
	case !written:
		b.shareFault(found, UninitialisedShared, l, address, width, loads|stores, Party{Warp: -1, Inst: -1})
	}
	for _, p := range s.parts(address, width, b.list[:0]) {
		if other, ok := s.write(p.c, false); !ok && !pending {
			b.shareFault(found, SharedRace, l, address, width, loads|stores, other)
		}
	}
	s.wrote(address, width)
	if s.releases(order) {
		s.release(address, t.Inst, order)
	}
}

// look reports whether all n bytes were written, and whether a cp.async is to write any.
func (s *shadow) look(address, n uint32) (written, pending bool) {
	written = true
	for at := address; at < address+n; at++ {
		st := s.state[at/granule]
		written = written && st>>(at%granule)&1 != 0
		pending = pending || st&(pendingBit<<(at%granule/4)) != 0
	}
	return written, pending
}

// wrote notes that n bytes were written.
func (s *shadow) wrote(address, n uint32) {
	for at := address; at < address+n; at++ {
		s.state[at/granule] |= 1 << (at % granule)
	}
}
