package memory

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/kernel/simt/lane"
)

// watch looks for races in global memory: two blocks of which one writes what the other reads, or writes something else, and the
// same between two warps of one block that no barrier orders. Results of such a kernel depend on the order of its blocks.
//
// Atomics and accesses that acquire or release can order blocks in ways that are not followed here. With the first one of a
// launch the watch ends, so that what it reports is a race.
type watch struct {
	ranges []watched // by address in the process, disjoint: arrays that overlap share one
	over   bool
}

// watched is a range of bytes of the process.
type watched struct {
	start, end uint64 // of words: multiples of 4
	pages      []*[pageWords]watchCell
	split      map[uint64]*[4]watchCell // by word: words that are accessed in parts
}

const pageWords = 1024

// watchCell is who accessed a word: marks are those of shadow, and good in their block only.
type watchCell struct {
	cell
	writer, reader uint32 // block and 1; 0 nobody
	split          bool
}

const severalBlocks = ^uint32(0)

// Watch makes blocks look for races in global memory from now on. One goroutine may run blocks then, and it has to say with
// Number which one it runs.
func (g *Global) Watch() {
	g.watch = &watch{}
	var list []watched
	for i := range g.regions {
		if in := &g.regions[i]; len(in.bytes) > 0 {
			start := in.watchAddress() &^ 3
			list = append(list, watched{start: start, end: (in.watchAddress() + uint64(len(in.bytes)) + 3) &^ 3})
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
	for i := range g.watch.ranges {
		r := &g.watch.ranges[i]
		r.pages = make([]*[pageWords]watchCell, (r.end-r.start)/4/pageWords+1)
		r.split = map[uint64]*[4]watchCell{}
	}
}

// watchAddress tells bytes apart: their address in the process, or that of the simulator when they have none.
func (in *region) watchAddress() uint64 {
	if in.host == 0 {
		return in.base
	}
	return in.host
}

// Number says which block the memory is that of; blocks count from 0.
func (b *Block) Number(block uint32) { b.number = block + 1 }

// watching reports whether accesses to global memory are watched.
func (b *Block) watching(t *Transfer) bool {
	w := b.global.watch
	if w == nil || w.over {
		return false
	}
	if t.Order != Weak {
		w.over = true
		return false
	}
	return true
}

// watchLanes looks at an access to global memory before it is done. The faults of its bounds are found by others.
func (b *Block) watchLanes(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, off uint64, warp int, mask uint32, u use) *Fault {
	var found faults
	var value [64]byte
	n := uint64(t.Elem * t.Count)
	if b.shadow != nil {
		b.shadow.begin(warp, t.Inst, Weak)
	}
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		in := b.global.within(address, address+n, t.Legal)
		if in == nil || address&(n-1) != 0 || u == stores && in.readOnly {
			continue
		}
		old := in.bytes[address-in.base:][:n]
		if u == stores {
			copy(value[:n], old)
			t.put(r, l, value[:n])
			if t.clashes(r, l, a, mask&(1<<l-1), value[:n]) {
				if f := found.add(GlobalRace, l, address, n, u); f != nil {
					f.near(in)
					f.Other = Party{Warp: int32(warp), Inst: t.Inst, Store: true, Block: int64(b.number) - 1}
				}
			}
		}
		b.watchBytes(&found, t, l, in, address, old, value[:n], warp, u)
	}
	return found.first
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
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		n := uint32(c.Bytes)
		if c.Size >= 0 {
			n = min(n, r.R32[c.Size][l])
		}
		address := from[l] + uint64(c.From.Offset)
		in := b.global.within(address, address+uint64(n), c.From.Legal)
		if in == nil || n == 0 || address%uint64(c.Bytes) != 0 {
			continue
		}
		old := in.bytes[address-in.base:][:n]
		b.watchBytes(found, &c.From, l, in, address, old, old, warp, loads)
	}
}

// watchBytes looks at the bytes of one lane.
func (b *Block) watchBytes(found *faults, t *Transfer, l int, in *region, address uint64, old, value []byte, warp int, u use) {
	at := in.watchAddress() + address - in.base
	r := b.global.watch.find(at)
	for i := 0; i < len(old); {
		word := (at + uint64(i) - r.start) / 4
		first := int(at+uint64(i)) % 4
		n := min(4-first, len(old)-i)
		c := r.word(word)
		if n == 4 && !c.split {
			b.watchCell(found, c, l, in, address, old[i:i+4], value[i:], len(old), t.Inst, warp, u)
			i += 4
			continue
		}
		for end := i + n; i < end; i++ {
			b.watchCell(found, &r.parts(word, c)[int(at+uint64(i))%4], l, in, address, old[i:i+1], value[i:], len(old), t.Inst, warp, u)
		}
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

func (r *watched) word(i uint64) *watchCell {
	page := &r.pages[i/pageWords]
	if *page == nil {
		*page = new([pageWords]watchCell)
	}
	return &(*page)[i%pageWords]
}

// parts gives the bytes of a word cells of their own.
func (r *watched) parts(i uint64, c *watchCell) *[4]watchCell {
	if !c.split {
		r.split[i] = &[4]watchCell{*c, *c, *c, *c}
		c.split = true
	}
	return r.split[i]
}

// watchCell checks and notes one access.
func (b *Block) watchCell(found *faults, c *watchCell, l int, in *region, address uint64, old, value []byte, n int, inst int32, warp int, u use) {
	same := u == stores && string(old) == string(value[:len(old)])
	var other Party
	raced := false
	if silent := c.write&strongBit != 0; c.writer != 0 && !same && !(silent && u == loads) {
		other, raced = b.rival(c.writer, c.write, true)
	}
	if u == stores && !raced && c.reader != 0 && !same {
		other, raced = b.rival(c.reader, c.read, false)
	}
	if raced {
		if f := found.add(GlobalRace, l, address, uint64(n), u); f != nil {
			f.near(in)
			f.Other = other
		}
	}
	stamp := min(uint64(uint32(inst)), instMask)<<instShift | 1<<warp
	if b.shadow != nil {
		stamp = b.shadow.stamp
	}
	switch {
	case same && c.writer != 0:
	case same:
		c.writer, c.write = b.number, stamp|strongBit // it changed nothing: who reads it does not race
	case u == stores:
		c.writer, c.write = b.number, stamp
		if c.reader == b.number {
			c.reader, c.read = 0, 0
		}
	case c.reader == 0 || c.reader == b.number && c.read>>tickShift != stamp>>tickShift:
		c.reader, c.read = b.number, stamp
	case c.reader == b.number:
		c.read |= 1 << warp
	default:
		c.reader = severalBlocks
	}
}

// rival returns who is behind a mark when the access at hand is not ordered with it.
func (b *Block) rival(block uint32, mark uint64, store bool) (Party, bool) {
	if block != b.number {
		p := party(mark, uint32(mark), store)
		p.OtherBlock, p.Block = true, int64(block)-1
		if block == severalBlocks {
			p.Block = -1
		}
		return p, true
	}
	if b.shadow == nil {
		return Party{}, false
	}
	warps := b.shadow.raced(mark)
	if warps == 0 {
		return Party{}, false
	}
	p := party(mark, warps, store)
	p.Block = int64(block) - 1
	return p, true
}
