package warptrace

import "bytes"

// Coded is a warp as a paths block holds it: symbols in place of columns. Whoever compares two of them need not decode what they share.
// What it says is valid until it is read into again or released. It is for one goroutine.
type Coded struct {
	WarpInfo
	IDs     []uint32 // symbol of each event
	Symbols []Symbol // of the block
	Block   uint64   // a number of its own for each block that was read: numbers of symbols mean the same where this one is the same

	block *v2Paths
	path  *v2Path
	row   int
	near  [16]siteValues // that were asked for last
	held  *v2Slot
	cache *v2Cache

	ranks   []uint32 // of the events of the path, once it is worth it
	ranked  bool
	counted int // ranks of the path that were asked for until now
}

// hold makes it the warp at a position of a block, which it lets go of later.
func (c *Coded) hold(cache *v2Cache, s *v2Slot, at uint32) {
	p := s.loaded.paths
	path := &p.paths[p.of[at]]
	if p != c.block || path != c.path {
		c.ranked, c.counted = false, 0
	}
	c.WarpInfo, c.IDs, c.Symbols, c.Block = s.loaded.warps[at], p.ids[path.from:][:path.n], p.symbols, p.number
	c.block, c.path, c.row, c.held, c.cache = p, path, int(p.row[at]), s, cache
	for k := range c.near {
		c.near[k].known = false
	}
}

// manyRanks is how many ranks of a path are counted one by one, which takes the time of some events each.
const manyRanks = 64

// Rank is how many events before an event have its site.
func (c *Coded) Rank(i int) uint32 {
	switch {
	case c.ranked:
		return c.ranks[i]
	case c.block.places != nil && c.counted < manyRanks:
		c.counted++
		sites := c.block.places[c.path.from:][:c.path.n]
		return uint32(bytes.Count(sites[:i], sites[i:i+1]))
	}
	c.ranks, c.ranked = resized(c.ranks, c.path.n), true
	met := make([]uint32, c.block.sites)
	for e, id := range c.IDs {
		of := &met[c.block.numbers[id]]
		c.ranks[e] = *of
		*of++
	}
	return c.ranks[i]
}

// Find returns the number of a symbol in the block.
func (c *Coded) Find(s *Symbol) (id uint32, ok bool) {
	p := c.block
	p.hashed.Do(p.hash)
	mask := uint64(len(p.slots) - 1)
	for at := s.hash() & mask; p.slots[at] != 0; at = (at + 1) & mask {
		if id = p.slots[at] - 1; p.symbols[id] == *s {
			return id, true
		}
	}
	return 0, false
}

// hash makes the table of Find. A file can have one symbol twice, and then either is as good.
func (p *v2Paths) hash() {
	size := 4
	for size < 2*len(p.symbols) {
		size *= 2
	}
	p.mem.slots = resized(p.mem.slots, size)
	clear(p.mem.slots)
	p.slots = p.mem.slots
	for i := range p.symbols {
		at := p.symbols[i].hash() & uint64(size-1)
		for p.slots[at] != 0 {
			at = (at + 1) & uint64(size-1)
		}
		p.slots[at] = uint32(i) + 1
	}
}
