package memory

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// watch looks for races in global memory: two warps, of one block or of two, of which one writes what the other reads, or writes something
// else, with nothing that makes one happen before the other. Results of such a kernel depend on the order of its warps and blocks.
type watch struct {
	ranges    []watched // by address in the process, disjoint: arrays that overlap share one
	published map[uint64]*published
}

// watched is a range of bytes of the process.
type watched struct {
	start, end uint64 // of words: multiples of 4
	pages      []*[pageWords]watchCell
	split      map[uint64]*[4]watchCell // by word: words that are accessed in parts
	touched    []*[pageWords]touched    // nil nobody asks
}

const pageWords = 1024

// accessed is one access of a word.
type accessed struct {
	block  uint32
	clock  uint32 // of its warp; 0 nobody
	inst   int32
	warp   uint8
	strong bool // an atomic, or another access that is not weak
	near   bool // of those, in the scope of its block
	silent bool // wrote what was there

	loaded int32 // of a writer: 1 + the instruction by which its warp had read the word before; 0 it had not
}

// watchCell is who accessed a word: the last writer, and those who read it since. Of many readers some are kept: the first race with one
// of these is found, and some with others are not.
type watchCell struct {
	writer  accessed
	readers [2]accessed
	more    []accessed
	split   bool
}

// maxReaders bounds who is kept of the readers of one word.
const maxReaders = 8

// Watch makes blocks look for races in global memory from now on. Who runs them has to say with Number which one it runs. One goroutine may
// run all of them; several need a Sight each.
func (g *Global) Watch() {
	g.watch = &watch{published: map[uint64]*published{}}
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
func (b *Block) Number(block uint32) {
	if b.global.watch == nil {
		return
	}
	if b.order == nil {
		b.order = &order{}
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
	var found faults
	var value [64]byte
	n := uint64(t.Elem * t.Count)
	who := b.accessOf(t, warp, t.Order != Weak)
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		in := b.global.within(address, address+n, t.Legal)
		if in == nil || address&(n-1) != 0 || u == stores && in.readOnly {
			continue
		}
		at := in.watchAddress() + address - in.base
		if u&loads != 0 {
			b.order.read(warp, at, t.Order, t.Block)
		}
		old := in.bytes[address-in.base:][:n]
		if u == stores {
			copy(value[:n], old)
			t.put(r, l, value[:n])
			if !who.strong && t.clashes(r, l, a, mask&(1<<l-1), value[:n]) {
				if f := found.add(GlobalRace, l, address, n, u); f != nil {
					f.near(in)
					f.Other = Party{Warp: int32(warp), Inst: t.Inst, Store: true, Block: int64(b.order.block)}
				}
			}
		}
		b.watchBytes(&found, who, l, in, address, old, value[:n], u)
		if u&stores != 0 {
			b.order.write(warp, at, t.Order, t.Block)
		}
	}
	return found.first
}

// accessOf is an access of a warp at this moment.
func (b *Block) accessOf(t *Transfer, warp int, strong bool) *accessed {
	return &accessed{block: b.order.block, clock: b.order.warps[warp].now, inst: t.Inst, warp: uint8(warp), strong: strong, near: t.Block}
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
	who := b.accessOf(&c.From, warp, false)
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
		b.watchBytes(found, who, l, in, address, old, old, loads)
	}
}

// watchBytes looks at the bytes of one lane.
func (b *Block) watchBytes(found *faults, who *accessed, l int, in *region, address uint64, old, value []byte, u use) {
	at := in.watchAddress() + address - in.base
	r := b.order.watch.find(at)
	if r == nil {
		r = b.order.watch.add(in, at)
	}
	check := func(c *watchCell, from, to int) {
		same := u == stores && !who.strong && string(old[from:to]) == string(value[from:to])
		if other, raced := b.watchCell(c, who, u, same); raced {
			if f := found.add(GlobalRace, l, address, uint64(len(old)), u); f != nil {
				f.near(in)
				f.Other = other
			}
		}
	}
	for i := 0; i < len(old); {
		word := (at + uint64(i) - r.start) / 4
		n := min(4-int(at+uint64(i))%4, len(old)-i)
		c := r.word(word)
		if r.touched != nil {
			r.touch(word).by(b.order.block, u)
		}
		if n == 4 && !c.split {
			check(c, i, i+4)
			i += 4
			continue
		}
		for end := i + n; i < end; i++ {
			check(&r.parts(word, c)[int(at+uint64(i))%4], i, i+1)
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

// add makes the range around an address of an array that the launch does not list, between those that are there.
func (w *watch) add(in *region, at uint64) *watched {
	r := watched{start: in.watchAddress() &^ 3, end: (in.watchAddress() + uint64(len(in.bytes)) + 3) &^ 3, split: map[uint64]*[4]watchCell{}}
	i := 0
	for ; i < len(w.ranges) && w.ranges[i].end <= at; i++ {
		r.start = max(r.start, w.ranges[i].end)
	}
	if i < len(w.ranges) {
		r.end = min(r.end, w.ranges[i].start)
	}
	r.pages = make([]*[pageWords]watchCell, (r.end-r.start)/4/pageWords+1)
	w.ranges = slices.Insert(w.ranges, i, r)
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
		one := *c
		list := &[4]watchCell{one, one, one, one}
		for k := range list {
			list[k].more = slices.Clone(one.more)
		}
		r.split[i] = list
		c.split = true
	}
	return r.split[i]
}

// watchCell checks and notes one access, which wrote what was there if same says so.
//
// Compilers let several warps of a block load the same elements where one of them stores what comes of it, and throw away what the others
// loaded. So of warps of one block a load and a store do not race here if the warp that stores had read the word by the same instruction.
func (b *Block) watchCell(c *watchCell, who *accessed, u use, same bool) (other Party, raced bool) {
	copies := u&stores == 0 && c.writer.loaded == who.inst+1 && c.writer.block == who.block
	if c.writer.clock != 0 && !same && !copies && !(c.writer.silent && u == loads) && b.rival(&c.writer, who) {
		other, raced = b.party(&c.writer, true), true
	}
	if u&stores == 0 {
		b.noteReader(c, who)
		return other, raced
	}
	loaded := int32(0)
	c.eachReader(func(a *accessed) {
		if a.block == who.block && a.warp == who.warp {
			loaded = a.inst + 1
		}
	})
	if !same {
		c.eachReader(func(a *accessed) {
			if !raced && !(a.block == who.block && a.inst+1 == loaded) && b.rival(a, who) {
				other, raced = b.party(a, false), true
			}
		})
	}
	if same && c.writer.clock != 0 {
		return other, raced
	}
	c.writer = *who
	c.writer.loaded = loaded
	if c.writer.silent = same; !same {
		c.readers, c.more = [2]accessed{}, c.more[:0]
	}
	return other, raced
}

func (c *watchCell) eachReader(visit func(a *accessed)) {
	for i := range c.readers {
		if c.readers[i].clock != 0 {
			visit(&c.readers[i])
		}
	}
	for i := range c.more {
		visit(&c.more[i])
	}
}

// noteReader keeps a reader, in place of one that happened before it.
func (b *Block) noteReader(c *watchCell, who *accessed) {
	for i := range c.readers {
		a := &c.readers[i]
		if a.clock == 0 || b.order.before(a, int(who.warp)) && (a.strong || !who.strong) {
			*a = *who
			return
		}
	}
	for i := range c.more {
		if a := &c.more[i]; b.order.before(a, int(who.warp)) && (a.strong || !who.strong) {
			*a = *who
			return
		}
	}
	if len(c.more) < maxReaders {
		c.more = append(c.more, *who)
	}
}

// rival reports whether an earlier access and the one at hand race with each other.
func (b *Block) rival(a, who *accessed) bool {
	if b.order.before(a, int(who.warp)) {
		return false
	}
	strong := a.strong && who.strong && (a.block == who.block || !a.near && !who.near)
	return !strong
}

func (b *Block) party(a *accessed, store bool) Party {
	return Party{Warp: int32(a.warp), Inst: a.inst, Store: store, OtherBlock: a.block != b.order.block, Block: int64(a.block)}
}
