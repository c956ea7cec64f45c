package memory

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// queue is what cp.async of one warp has not yet written.
type queue struct {
	items  []*pending
	free   []*pending // room of copies that have landed
	groups []uint32   // lanes for which a committed group is not over, the oldest group first
}

// pending is one cp.async, with the bytes that it has read.
type pending struct {
	lanes uint32 // that have not landed
	group int    // index into groups, -1 not committed
	inst  int32
	bytes uint32
	to    [lane.Lanes]uint32
	data  [lane.Lanes][16]byte // by lane; where whole, in the order of addresses
	whole bool                 // the copies of all lanes are of pieces that follow one another
	first uint32               // address of the first of these
}

// of is what a lane copies.
func (p *pending) of(l int) *[16]byte {
	if p.whole {
		return &p.data[(p.to[l]-p.first)/granule]
	}
	return &p.data[l]
}

// A warp with more pending than this has its oldest copies land, which they may do at any time.
const (
	maxPending = 1024
	maxGroups  = 4096
)

func (q *queue) drop() {
	q.free = append(q.free, q.items...)
	q.items, q.groups = q.items[:0], q.groups[:0]
}

// room is that of a copy.
func (q *queue) room() (p *pending) {
	if last := len(q.free) - 1; last >= 0 {
		p, q.free = q.free[last], q.free[:last]
		return p
	}
	return new(pending)
}

// CopyAsync starts a cp.async: it reads global memory now, and shared memory has the bytes after Wait. Lanes that fault copy
// nothing. source and place are what is known of its addresses, nil nothing.
func (b *Block) CopyAsync(r *lane.Regs, c *Copy, warp int, mask uint32, source *Sources, place *Places) *Fault {
	q := &b.queues[warp]
	if len(q.items) >= maxPending {
		b.landOldest(warp)
	}
	p := q.room()
	q.items = append(q.items, p)
	p.lanes, p.group, p.inst, p.bytes, p.whole = 0, -1, c.To.Inst, uint32(c.Bytes), false
	if b.shadow != nil {
		b.shadow.begin(warp, c.To.Inst, Weak)
	}
	if source != nil && mask == fullMask && b.copyWhole(r, c, p, source, place) {
		return nil
	}
	var room [lane.Lanes]uint64
	to, from := addresses(r, &c.To, &b.room), addresses(r, &c.From, &room)
	toOffset, fromOffset := uint64(c.To.Offset), uint64(c.From.Offset)
	var found faults
	if b.watching() {
		b.watchCopy(&found, r, c, from, warp, mask)
	}
	var in *region // of the lane before
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		size := uint32(c.Bytes)
		if c.Size >= 0 {
			size = min(size, r.R32[c.Size][l])
		}
		source := from[l] + fromOffset
		if in == nil || source-in.base >= uint64(len(in.bytes)) {
			in = b.global.within(source, source+1, c.From.Legal)
		}
		if in != nil && size == granule && source%granule == 0 && uint64(len(in.bytes))-(source-in.base) >= granule {
			p.data[l] = [granule]byte(in.bytes[source-in.base:])
		} else if !b.readSource(&found, c, l, source, size, &p.data[l]) {
			continue
		}
		address := to[l] + toOffset
		if !b.checkShared(&found, l, address, uint64(c.Bytes), stores) {
			continue
		}
		p.to[l] = uint32(address)
		p.lanes |= 1 << l
		if b.shadow != nil && (c.Bytes != granule || !b.shadow.startGranule(uint32(address/granule))) {
			b.startCopy(&found, c, l, uint32(address))
		}
	}
	return found.first
}

// copyWhole is CopyAsync where every lane copies 16 bytes, or each of them zeros, and nothing is in doubt; it reports whether that is so; nothing is noted when it
// is not.
func (b *Block) copyWhole(r *lane.Regs, c *Copy, p *pending, from *Sources, to *Places) bool {
	if b.watching() {
		return false
	}
	read := c.Size < 0 || lane.AtLeast(&r.R32[c.Size], granule)
	if !read && !lane.Zero(&r.R32[c.Size]) { // else zeros are all that is copied
		return false
	}
	var in *region
	if read {
		low, high, ok := from.extent()
		in = b.global.within(low, high+granule, c.From.Legal)
		if in == nil || in.written != nil || !from.aligned || !ok {
			return false
		}
	}
	least, most, ok := to.extent()
	if size := uint32(len(b.shared)); !ok || !to.apart || size < granule || most > size-granule {
		return false
	}
	at, off := &r.R32[c.To.Address], uint32(c.To.Offset)
	if s := b.shadow; s != nil {
		if to.whole && !s.startSpan(least/granule) || !to.whole && !s.startApart(at, off) {
			return false
		}
	}
	p.lanes, p.whole, p.first = fullMask, to.whole, least
	for l, v := range at {
		p.to[l] = v + off
	}
	if !read {
		p.data = [lane.Lanes][granule]byte{}
		return true
	}
	source, by := &r.R64[c.From.Address], uint64(c.From.Offset)-in.base
	if p.whole {
		lane.Pieces(&p.data, at, off-least, in.bytes, source, by)
		return true
	}
	for l, v := range source {
		p.data[l] = [granule]byte(in.bytes[v+by:])
	}
	return true
}

// Patterned reports whether a Pattern helps a copy.
func (c *Copy) Patterned() bool {
	return c.Bytes == granule && c.To.Narrow && !c.To.Absolute && !c.From.Narrow && !c.From.Absolute
}

// startSpan is startGranule of the granules of a warp that follow one another, all or none.
func (s *shadow) startSpan(first uint32) bool {
	state, cells := (*[lane.Lanes]uint32)(s.state[first:]), (*[lane.Lanes]cell)(s.cells[first:])
	known, me := s.all<<tickShift|(1<<tickShift-1), s.me
	if !quiet(cells, state, known) {
		for i := range cells {
			c := &cells[i]
			if state[i]&extraordinary != 0 || c.write > known && uint32(c.write)&^me != 0 || c.read > known && uint32(c.read)&^me != 0 {
				return false
			}
		}
	}
	fill(cells, state, s.stamp, allWritten|allPending)
	return true
}

// startApart is startSpan of granules that lie anywhere, no two of them the same.
func (s *shadow) startApart(to *[lane.Lanes]uint32, off uint32) bool {
	state, cells := s.state, s.cells
	known, me, stamp := s.all<<tickShift|(1<<tickShift-1), s.me, s.stamp
	for _, v := range to {
		g := (v + off) / granule
		c := &cells[g]
		if state[g]&extraordinary != 0 || c.write > known && uint32(c.write)&^me != 0 || c.read > known && uint32(c.read)&^me != 0 {
			return false
		}
	}
	for _, v := range to {
		g := (v + off) / granule
		cells[g] = cell{write: stamp}
		state[g] = allWritten | allPending
	}
	return true
}

// startGranule is startCopy for a whole granule, beyond doubt.
func (s *shadow) startGranule(g uint32) bool {
	c := &s.cells[g]
	if s.state[g]&extraordinary != 0 || c.write>>tickShift > s.all && uint32(c.write)&^s.me != 0 ||
		c.read>>tickShift > s.all && uint32(c.read)&^s.me != 0 {
		return false
	}
	c.write, c.read = s.stamp, 0
	s.state[g] = allWritten | allPending
	return true
}

// readSource reads what one lane copies; bytes beyond size are zeros.
func (b *Block) readSource(found *faults, c *Copy, l int, address uint64, size uint32, into *[16]byte) bool {
	*into = [16]byte{}
	if size == 0 {
		return true
	}
	in := b.global.within(address, address+uint64(size), c.From.Legal)
	if in == nil || address%uint64(c.Bytes) != 0 {
		width := uint64(c.Bytes)
		if in == nil {
			width = uint64(size)
		}
		if in = b.global.checkSized(found, &c.From, l, address, uint64(size), width); in == nil {
			return false
		}
	}
	in.checkWritten(found, l, address, uint64(size), loads)
	copy(into[:size], in.bytes[address-in.base:])
	return true
}

// checkSized is check for an access of n bytes that must be aligned to a width.
func (g *Global) checkSized(found *faults, t *Transfer, l int, address, n, align uint64) *region {
	if in := g.within(address, address+n, t.Legal); in != nil {
		if address&(align-1) == 0 {
			return in
		}
		if f := found.add(Misaligned, l, address, align, loads); f != nil {
			g.place(f, t.Legal)
		}
		return nil
	}
	kind := OutOfBounds
	if g.isNull(t.Legal, address) {
		kind = NullPointer
	}
	if f := found.add(kind, l, address, n, loads); f != nil && kind != NullPointer {
		g.place(f, t.Legal)
	}
	return nil
}

// startCopy checks where one lane copies to: others must be done with it.
func (b *Block) startCopy(found *faults, c *Copy, l int, address uint32) {
	s := b.shadow
	n := uint32(c.Bytes)
	_, stale := s.look(address, n)
	if stale {
		b.shareFault(found, StaleAsyncCopy, l, address, n, stores, b.copier(address, n))
	}
	for _, p := range s.parts(address, n, b.list[:0]) {
		if other, ok := s.write(p.c, false); !ok && !stale {
			b.shareFault(found, SharedRace, l, address, n, stores, other)
		}
	}
	for w := range n / 4 {
		s.state[(address+4*w)/granule] |= pendingBit << ((address + 4*w) % granule / 4)
	}
}

// copier finds the cp.async that is to write some of n bytes.
func (b *Block) copier(address, n uint32) Party {
	for w := range b.queues {
		items := b.queues[w].items
		for i := range items {
			p := items[i]
			for m := p.lanes; m != 0; m &= m - 1 {
				if to := p.to[bits.TrailingZeros32(m)]; to < address+n && address < to+p.bytes {
					return Party{Warp: int32(w), Inst: p.inst, Store: true}
				}
			}
		}
	}
	return Party{Warp: -1, Inst: -1, Store: true}
}

// Commit makes the copies that the lanes of mask have started a group.
func (b *Block) Commit(warp int, mask uint32) {
	q := &b.queues[warp]
	if len(q.groups) >= maxGroups {
		b.landOldest(warp)
	}
	group := len(q.groups)
	q.groups = append(q.groups, mask)
	for i := 0; i < len(q.items); i++ {
		p := q.items[i]
		if p.group >= 0 || p.lanes&mask == 0 {
			continue
		}
		if rest := p.lanes &^ mask; rest != 0 { // lanes that are elsewhere commit later
			other := q.room()
			*other = *p
			other.lanes = rest
			p.lanes &= mask
			p.group = group
			q.items = slices.Insert(q.items, i+1, other)
			i++
			continue
		}
		p.group = group
	}
}

// Wait lets the copies of the lanes of mask land, except those of the n groups that each lane committed last; all of them and
// those that are not committed when n is negative.
func (b *Block) Wait(warp int, mask uint32, n int) {
	q := &b.queues[warp]
	if len(q.items) == 0 && len(q.groups) == 0 {
		return
	}
	if n < 0 {
		b.land(warp, func(p *pending) uint32 { return p.lanes & mask })
		for i := range q.groups {
			q.groups[i] &^= mask
		}
		q.tidy()
		return
	}
	if n >= len(q.groups) {
		return
	}
	var few [8]uint32
	over := few[:] // by group: lanes for which it is over
	if len(q.groups) > len(few) {
		over = make([]uint32, len(q.groups))
	}
	q.over(over, mask, n)
	b.land(warp, func(p *pending) uint32 {
		if p.group < 0 {
			return 0
		}
		return p.lanes & over[p.group]
	})
	for g := range q.groups {
		q.groups[g] &^= over[g]
	}
	q.tidy()
}

// over finds out for each group in which lanes of mask n others came behind it.
func (q *queue) over(over []uint32, mask uint32, n int) {
	whole := true
	for _, lanes := range q.groups {
		whole = whole && lanes&mask == mask
	}
	if whole {
		for g := range q.groups[:len(q.groups)-n] {
			over[g] = mask
		}
		return
	}
	var newer [lane.Lanes]int
	for g := len(q.groups) - 1; g >= 0; g-- {
		for m := q.groups[g] & mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			if newer[l]++; newer[l] > n {
				over[g] |= 1 << l
			}
		}
	}
}

// land writes the copies of the lanes that which returns, in the order in which they were started.
func (b *Block) land(warp int, which func(p *pending) uint32) {
	q := &b.queues[warp]
	s := b.shadow
	for i := range q.items {
		p := q.items[i]
		lanes := which(p)
		if lanes == 0 {
			continue
		}
		p.lanes &^= lanes
		if s != nil {
			s.begin(warp, p.inst, Weak)
		}
		if p.whole && lanes == fullMask {
			b.landSpan(p)
			continue
		}
		for m := lanes; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			to := p.to[l]
			if p.bytes != granule {
				copy(b.shared[to:][:p.bytes], p.data[l][:])
				if s != nil {
					s.landed(to, p.bytes, b.list[:0])
				}
				continue
			}
			*(*[granule]byte)(b.shared[to:]) = *p.of(l)
			if s != nil {
				s.cells[to/granule] = cell{write: s.stamp}
				s.state[to/granule] = allWritten
			}
		}
	}
}

// landSpan writes a copy that is whole.
func (b *Block) landSpan(p *pending) {
	to := b.shared[p.first:][:lane.Lanes*granule]
	for i := range p.data {
		*(*[granule]byte)(to[granule*i:]) = p.data[i]
	}
	s := b.shadow
	if s == nil {
		return
	}
	first := p.first / granule
	fill((*[lane.Lanes]cell)(s.cells[first:]), (*[lane.Lanes]uint32)(s.state[first:]), s.stamp, allWritten)
}

// landed notes that a copy of less than a granule is there: the warp that waited wrote it now.
func (s *shadow) landed(address, n uint32, list []part) {
	for w := range n / 4 {
		s.state[(address+4*w)/granule] &^= pendingBit << ((address + 4*w) % granule / 4)
	}
	for _, p := range s.parts(address, n, list) {
		p.c.write, p.c.read = s.stamp, 0
	}
	s.wrote(address, n)
}

// landOldest makes room in a queue: the older half of it lands.
func (b *Block) landOldest(warp int) {
	q := &b.queues[warp]
	half := len(q.groups) / 2
	b.land(warp, func(p *pending) uint32 {
		if p.group >= 0 && p.group < half {
			return p.lanes
		}
		return 0
	})
	clear(q.groups[:half])
	if n := len(q.items) / 2; len(q.items) >= maxPending {
		i := 0
		b.land(warp, func(p *pending) uint32 {
			if i++; i <= n {
				return p.lanes
			}
			return 0
		})
	}
	q.tidy()
}

// tidy removes what has landed.
func (q *queue) tidy() {
	over := 0
	for over < len(q.groups) && q.groups[over] == 0 {
		over++
	}
	q.groups = slices.Delete(q.groups, 0, over)
	kept := 0
	for i := range q.items {
		p := q.items[i]
		if p.lanes == 0 {
			q.free = append(q.free, p)
			continue
		}
		q.items[kept] = p
		if p.group >= 0 {
			p.group -= over
		}
		kept++
	}
	q.items = q.items[:kept]
}
