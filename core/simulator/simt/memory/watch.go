package memory

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// watch looks for races in global memory: two warps, of one block or of two, of which one writes what the other reads, or writes something
// else, with nothing that makes one happen before the other. Results of such a kernel depend on the order of its warps and blocks.
type watch struct {
	past
	ranges    []watched // by address in the process, disjoint: arrays that overlap share one
	published map[uint64]*published
	blind     bool  // accesses order nothing
	spent     int   // what is known was put together so often
	size      int32 // of the largest table of it
}

// watched is a range of bytes of the process.
type watched struct {
	start, end uint64 // of words: multiples of 4
	chapters   map[uint64]*chapter
	number     uint64 // of the chapter that was asked for last
	last       *chapter
}

// chapter is pages that follow each other.
type chapter [128]page

// page is the one that holds a byte of the range. Few may be touched, of arrays that claim to be of any size.
func (r *watched) page(at uint64) *page {
	at /= pageBytes
	number := at / uint64(len(chapter{}))
	if r.last == nil || number != r.number {
		c := r.chapters[number]
		if c == nil {
			c = new(chapter)
			r.chapters[number] = c
		}
		r.number, r.last = number, c
	}
	return &r.last[at%uint64(len(chapter{}))]
}

func newWatched(start, end uint64) watched {
	return watched{start: start, end: end, chapters: map[uint64]*chapter{}}
}

// page has a number for each of its units: of the state in past that says who accessed it. Units are as large as accesses to the page
// allow: of what follows each other and has the same past.
type page struct {
	numbers []uint32
	unit    uint8 // how often to double a byte
}

const (
	pageBytes = 4096
	largest   = 9 // unit: what a warp accesses at once
)

// Watch makes blocks look for races in global memory from now on. Who runs them has to say with Number which one it runs. One goroutine may
// run all of them; several need a Sight each.
func (g *Global) Watch() {
	g.watch = newWatch()
	var list []watched
	for i := range g.regions {
		if in := &g.regions[i]; len(in.bytes) > 0 {
			start := in.watchAddress() &^ 3
			list = append(list, newWatched(start, (in.watchAddress()+uint64(len(in.bytes))+3)&^3))
		}
	}
	slices.SortFunc(list, func(a, b watched) int {
		if a.start < b.start {
			return -1
		}
		return 1
	})
	for _, r := range list {
		if last := len(g.watch.ranges) - 1; last >= 0 && r.start < g.watch.ranges[last].end {
			g.watch.ranges[last].end = max(g.watch.ranges[last].end, r.end)
			continue
		}
		g.watch.ranges = append(g.watch.ranges, r)
	}
}

// WatchBlindly makes barriers alone order warps. So what is found may be no race, and what is not found is none.
func (g *Global) WatchBlindly() { g.watch.blind = true }

func newWatch() *watch { return &watch{past: newPast(), published: map[uint64]*published{}} }

// watchAddress tells bytes apart: their address in the process, or that of the simulator when they have none.
func (in *region) watchAddress() uint64 {
	if in.host == 0 {
		return in.base
	}
	return in.host
}

// Number says which block the memory is that of; blocks count from 0.
func (b *Block) Number(block uint32) {
	if b.global.watch == nil {
		return
	}
	if b.order == nil {
		b.order, b.look = &order{}, new(look)
	}
	w := b.global.watch
	if b.sight != nil {
		w = &b.sight.watch
	}
	b.order.begin(w, block, b.warps)
	if b.shadow != nil {
		b.shadow.order = b.order
	}
}

// watching reports whether accesses to global memory are watched.
func (b *Block) watching() bool { return b.order != nil }

// watchLanes looks at an access to global memory before it is done. The faults of its bounds are found by others.
func (b *Block) watchLanes(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, off uint64, warp int, mask uint32, u use) *Fault {
	if mask == 0 {
		return nil
	}
	var found faults
	k := b.beginLook(t, warp, u, t.Order != Weak || t.Part != 0) // the compare-and-swap that follows looks again
	n := uint64(t.Elem * t.Count)
	orders := t.Order != Weak && !b.order.blind
	meet := u == stores && !k.who.strong && !ascend(a, mask)
	for m := mask; m != 0; {
		l := bits.TrailingZeros32(m)
		count := 1
		if !orders && !meet {
			count = neighbours(a, m, n)
		}
		address := a[l] + off
		in := b.global.within(address, address+uint64(count)*n, t.Legal)
		if in == nil && count > 1 { // the first may be, without the others
			count = 1
			in = b.global.within(address, address+n, t.Legal)
		}
		m &^= (uint32(1)<<count - 1) << l
		if in == nil || address&(n-1) != 0 || u == stores && in.readOnly {
			continue
		}
		at := in.watchAddress() + address - in.base
		if orders {
			k.again() // what the warp knows changes from lane to lane
			if u&loads != 0 {
				b.order.read(warp, at, t.Order, t.Block)
			}
		}
		old := in.bytes[address-in.base:][:uint64(count)*n]
		var value []byte
		if u == stores {
			value = k.room[:len(old)]
			t.putLanes(r, l, count, old, value)
			if meet && t.clashes(r, l, a, mask&(1<<l-1), value) {
				k.raced(&found, in, l, address, n, Party{Warp: int32(warp), Inst: t.Inst, Store: true, Block: int64(b.order.block)})
			}
			if k.who.strong {
				value = nil
			}
		}
		k.run(&found, in, l, address, n, old, value)
		if orders && u&stores != 0 {
			b.order.write(warp, at, t.Order, t.Block)
		}
	}
	return found.first
}

// ascend reports whether each lane has a greater address than those before it, so that no two have the same.
func ascend(a *[lane.Lanes]uint64, mask uint32) bool {
	last := a[bits.TrailingZeros32(mask)]
	for m := mask & (mask - 1); m != 0; m &= m - 1 {
		at := a[bits.TrailingZeros32(m)]
		if at <= last {
			return false
		}
		last = at
	}
	return true
}

// neighbours counts lanes from the first of mask on whose n bytes follow each other.
func neighbours(a *[lane.Lanes]uint64, mask uint32, n uint64) int {
	l := bits.TrailingZeros32(mask)
	count := 1
	for next := a[l] + n; l+count < lane.Lanes && mask>>(l+count)&1 != 0 && a[l+count] == next; next += n {
		count++
	}
	return count
}

// putLanes puts what neighbouring lanes store into a copy of what is there.
func (t *Transfer) putLanes(r *lane.Regs, l, count int, old, value []byte) {
	if count == lane.Lanes && (t.plain() || t.halves()) {
		t.storeDense(r, value)
		return
	}
	copy(value, old) // elements without a register
	n := t.Elem * t.Count
	for i := range count {
		t.put(r, l+i, value[i*n:(i+1)*n])
	}
}

// clashes reports whether a lane before stores something else at the same address: which one wins is open.
func (t *Transfer) clashes(r *lane.Regs, l int, a *[lane.Lanes]uint64, before uint32, value []byte) bool {
	for m := before; m != 0; m &= m - 1 {
		if j := bits.TrailingZeros32(m); a[j] == a[l] {
			var other [64]byte
			copy(other[:], value) // elements without a register
			if t.put(r, j, other[:len(value)]); string(other[:len(value)]) != string(value) {
				return true
			}
		}
	}
	return false
}

// watchCopy looks at what a cp.async reads.
func (b *Block) watchCopy(found *faults, r *lane.Regs, c *Copy, from *[lane.Lanes]uint64, warp int, mask uint32) {
	k := b.beginLook(&c.From, warp, loads, false)
	whole := uint64(c.Bytes)
	bytesOf := func(l int) uint64 {
		if c.Size < 0 {
			return whole
		}
		return min(whole, uint64(r.R32[c.Size][l]))
	}
	for m := mask; m != 0; {
		l := bits.TrailingZeros32(m)
		n, count := bytesOf(l), 1
		if n == whole {
			for most := neighbours(from, m, whole); count < most && bytesOf(l+count) == whole; {
				count++
			}
		}
		address := from[l] + uint64(c.From.Offset)
		in := b.global.within(address, address+uint64(count)*n, c.From.Legal)
		if in == nil && count > 1 {
			count = 1
			in = b.global.within(address, address+n, c.From.Legal)
		}
		m &^= (uint32(1)<<count - 1) << l
		if in == nil || n == 0 || address%whole != 0 {
			continue
		}
		k.run(found, in, l, address, n, in.bytes[address-in.base:][:uint64(count)*n], nil)
	}
}

func (w *watch) find(at uint64) *watched {
	i, ok := slices.BinarySearchFunc(w.ranges, at, func(r watched, at uint64) int {
		switch {
		case r.end <= at:
			return -1
		case r.start > at:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &w.ranges[i]
}

// add makes the range around an address of an array that the launch does not list, between those that are there.
func (w *watch) add(in *region, at uint64) *watched {
	r := newWatched(in.watchAddress()&^3, (in.watchAddress()+uint64(len(in.bytes))+3)&^3)
	i := 0
	for ; i < len(w.ranges) && w.ranges[i].end <= at; i++ {
		r.start = max(r.start, w.ranges[i].end)
	}
	if i < len(w.ranges) {
		r.end = min(r.end, w.ranges[i].start)
	}
	w.ranges = slices.Insert(w.ranges, i, r)
	return &w.ranges[i]
}
