package memory_test

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// twin is memory as one would explain it: bytes one by one, and for each byte of shared memory a list of who touched it since
// the last barrier.
type twin struct {
	allocations []memory.Allocation
	base        []uint64 // the simulator's addresses
	legal       func(t *memory.Transfer, allocation int) bool
	global      [][]byte
	shared      []sharedByte
	local       map[[3]uint64]byte // warp, lane, address
	size        uint64             // of local memory
	lanes       [][lane.Lanes]laneCopies
	order       [][]*twinCopy // of a warp, as started
}

type sharedByte struct {
	value            byte
	written, pending bool
	touched          []touch
	unsure           bool // a race was here, or two wrote the same: what else is found at this byte is left open
}

type touch struct {
	warp          int
	write, strong bool
}

type laneCopies struct{ commits int }

type twinCopy struct {
	lane  int
	to    uint64
	data  []byte
	group int // -1: not committed
	over  bool
}

// expected is what an access should report: lanes by check; races are left open where a byte is unsure.
type expected struct {
	lanes map[memory.Check]uint32
	open  bool
}

func (e *expected) add(c memory.Check, l int) { e.lanes[c] |= 1 << l }

// find returns the byte of global memory at an address.
func (w *twin) find(t *memory.Transfer, address uint64) (allocation int, at uint64, ok bool) {
	for i, a := range w.allocations {
		for _, base := range []uint64{w.base[i], a.Host} {
			if address >= base && address-base < uint64(len(a.Bytes)) && w.legal(t, i) {
				return i, address - base, true
			}
		}
	}
	return 0, 0, false
}

// bounds of an access to global memory.
func (w *twin) checkGlobal(e *expected, t *memory.Transfer, l int, address uint64, width, align uint64, store bool) bool {
	first, _, ok := w.find(t, address)
	for i := uint64(1); i < width && ok; i++ {
		var a int
		a, _, ok = w.find(t, address+i)
		ok = ok && a == first
	}
	switch {
	case !ok && (address < 1<<16 || address >= ^uint64(1<<16-1)):
		e.add(memory.NullPointer, l)
	case !ok:
		e.add(memory.OutOfBounds, l)
	case address%align != 0:
		e.add(memory.Misaligned, l)
	case store && w.allocations[first].ReadOnly:
		e.add(memory.ReadOnlyWrite, l)
	default:
		return true
	}
	return false
}

func (w *twin) bytesGlobal(t *memory.Transfer, address uint64, n int) []byte {
	i, at, _ := w.find(t, address)
	return w.global[i][at : at+uint64(n)]
}

// touch says whether a touch of a byte races with an earlier one, and notes it.
// Whether one between a weak access and one that is not is found is left open.
func (b *sharedByte) touch(now touch) (race, open bool) {
	for _, before := range b.touched {
		if before.warp != now.warp && (before.write || now.write) && (!before.strong || !now.strong) {
			race = true
			open = open || before.strong || now.strong
		}
	}
	b.touched = append(b.touched, now)
	return race, open
}

// touchAll touches the bytes of an access and says what should be found.
func (w *twin) touchAll(e *expected, l int, address uint64, n int, now touch, value []byte) {
	bytes := w.shared[address : address+uint64(n)]
	stale := slices.ContainsFunc(bytes, func(b sharedByte) bool { return b.pending })
	if stale {
		e.add(memory.StaleAsyncCopy, l)
	}
	for i := range bytes {
		b := &bytes[i]
		race, open := b.touch(now)
		same := race && now.write && value != nil && value[i] == b.value
		switch {
		case b.unsure || same || open:
			e.open = true
			b.unsure = true
		case race && !stale:
			e.add(memory.SharedRace, l)
			b.unsure = true
		case race:
			b.unsure = true
		}
	}
}

func (w *twin) checkShared(e *expected, l int, address, width uint64) bool {
	switch {
	case address >= uint64(len(w.shared)) || address+width > uint64(len(w.shared)):
		e.add(memory.OutOfBounds, l)
	case address%width != 0:
		e.add(memory.Misaligned, l)
	default:
		return true
	}
	return false
}

func (w *twin) unwritten(e *expected, l int, address uint64, n int) {
	bytes := w.shared[address : address+uint64(n)]
	if slices.ContainsFunc(bytes, func(b sharedByte) bool { return b.pending }) {
		return
	}
	if slices.ContainsFunc(bytes, func(b sharedByte) bool { return !b.written }) {
		e.add(memory.UninitialisedShared, l)
	}
}

// load returns the bytes that one lane loads, nil when it reads 0.
func (w *twin) load(e *expected, t *memory.Transfer, warp, l int, address uint64) []byte {
	n := t.Elem * t.Count
	value := make([]byte, n)
	switch space, at := spaceOf(t, address); space {
	case ptx.Shared:
		if !w.checkShared(e, l, at, uint64(n)) {
			return nil
		}
		w.unwritten(e, l, at, n)
		w.touchAll(e, l, at, n, touch{warp: warp, strong: t.Order != memory.Weak}, nil)
		for i := range value {
			value[i] = w.shared[at+uint64(i)].value
		}
	case ptx.Local:
		if !w.checkLocal(e, l, at, uint64(n)) {
			return nil
		}
		for i := range value {
			v, ok := w.local[[3]uint64{uint64(warp), uint64(l), at + uint64(i)}]
			if !ok {
				e.add(memory.UninitialisedLocal, l)
			}
			value[i] = v
		}
	default:
		if !w.checkGlobal(e, t, l, address, uint64(n), uint64(n), false) {
			return nil
		}
		copy(value, w.bytesGlobal(t, address, n))
	}
	return value
}

func (w *twin) checkLocal(e *expected, l int, address, width uint64) bool {
	switch {
	case address >= w.size || address+width > w.size:
		e.add(memory.OutOfBounds, l)
	case address%width != 0:
		e.add(memory.Misaligned, l)
	default:
		return true
	}
	return false
}

func (w *twin) store(e *expected, t *memory.Transfer, warp, l int, address uint64, value []byte) {
	n := len(value)
	switch space, at := spaceOf(t, address); space {
	case ptx.Shared:
		if !w.checkShared(e, l, at, uint64(n)) {
			return
		}
		w.touchAll(e, l, at, n, touch{warp: warp, write: true, strong: t.Order != memory.Weak}, value)
		for i, v := range value {
			w.shared[at+uint64(i)].value, w.shared[at+uint64(i)].written = v, true
		}
	case ptx.Local:
		if w.checkLocal(e, l, at, uint64(n)) {
			for i, v := range value {
				w.local[[3]uint64{uint64(warp), uint64(l), at + uint64(i)}] = v
			}
		}
	default:
		if w.checkGlobal(e, t, l, address, uint64(n), uint64(n), true) {
			copy(w.bytesGlobal(t, address, n), value)
		}
	}
}

// spaceOf says where an address is, and the address in that space.
func spaceOf(t *memory.Transfer, address uint64) (ptx.Space, uint64) {
	switch {
	case t.Space == ptx.Generic && address>>40 == memory.SharedWindow>>40:
		return ptx.Shared, address - memory.SharedWindow
	case t.Space == ptx.Generic && address>>40 == memory.LocalWindow>>40:
		return ptx.Local, address - memory.LocalWindow
	case t.Space == ptx.Generic:
		return ptx.Global, address
	}
	return t.Space, address
}

func (w *twin) barrier() {
	for i := range w.shared {
		w.shared[i].touched, w.shared[i].unsure = nil, false
	}
}

func (w *twin) commit(warp int, mask uint32) {
	for _, c := range w.order[warp] {
		if mask>>c.lane&1 != 0 && c.group < 0 {
			c.group = w.lanes[warp][c.lane].commits
		}
	}
	for l := range lane.Lanes {
		if mask>>l&1 != 0 {
			w.lanes[warp][l].commits++
		}
	}
}

func (w *twin) wait(warp int, mask uint32, n int) {
	for _, c := range w.order[warp] {
		if c.over || mask>>c.lane&1 == 0 || n >= 0 && (c.group < 0 || c.group >= w.lanes[warp][c.lane].commits-n) {
			continue
		}
		c.over = true
		for i, v := range c.data {
			w.shared[c.to+uint64(i)] = sharedByte{value: v, written: true, touched: []touch{{warp: warp, write: true}}}
		}
	}
}
