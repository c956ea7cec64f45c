package warptrace

import (
	"slices"
	"sync"
)

// v2Loaded is a warps block in memory, inflated.
type v2Loaded struct {
	body    []byte
	warps   []WarpInfo
	entries []v2Entry
	starts  []int    // of each warp's section in the body
	paths   *v2Paths // of a paths block, in place of sections
	mem     *v2Memory
}

// events counts the events of the warps of a block.
func (l *v2Loaded) events() int {
	n := 0
	for i := range l.warps {
		n += int(l.warps[i].Events)
	}
	return n
}

// v2Memory is the memory of a block, which the next one that is read takes over: a recording is walked through block by block, and pages
// that are new to a process take longer than what is decoded into them.
type v2Memory struct {
	raw, body    []byte
	symbols      []Symbol
	numbers, ids []uint32
	sites, codes []uint32 // that do not fit into two bytes
	zeros        []byte
	slots        []uint32
	wide         []uint64
	columns      []v2Column
}

// bytes is how much it is.
func (m *v2Memory) bytes() int {
	return cap(m.raw) + cap(m.body) + 32*cap(m.symbols) + 4*(cap(m.numbers)+cap(m.ids)+cap(m.sites)+cap(m.codes)+cap(m.slots)) + cap(m.zeros) +
		8*cap(m.wide) + 64*cap(m.columns)
}

const (
	// v2CacheBytes is how much the cache keeps. The newest block stays whatever its size.
	v2CacheBytes = 16 << 20
	// v2FreeBytes is how much memory of blocks is kept for those to come.
	v2FreeBytes = 4 << 20
)

// v2Cache keeps the blocks that were read last, because warps are mostly read in order. Of goroutines that want one block at the
// same time, one reads it and the others wait.
type v2Cache struct {
	mu    sync.Mutex
	slots []*v2Slot   // the newest last
	free  []*v2Memory // of blocks that nobody uses
}

type v2Slot struct {
	block  uint32
	once   sync.Once
	loaded *v2Loaded
	err    error

	// Under the cache's lock:
	size    int
	users   int  // who got it and did not release it
	left    int  // so many warps of it were not asked for yet, if none was twice
	settled bool // it was read
	dropped bool // the cache does not have it any more
}

// get returns a block, which whoever asked for it must release.
func (c *v2Cache) get(block uint32, load func(mem *v2Memory) (*v2Loaded, error)) (*v2Slot, error) {
	s := c.slot(block)
	s.once.Do(func() {
		s.loaded, s.err = load(c.memory())
		c.settle(s)
	})
	if s.err != nil {
		c.release(s)
		return nil, s.err
	}
	return s, nil
}

// slot finds or makes the slot of a block and makes it the newest. Blocks all of whose warps were asked for make room for a new one.
func (c *v2Cache) slot(block uint32) *v2Slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.slots, func(s *v2Slot) bool { return s.block == block })
	if i < 0 {
		c.drop(func(o *v2Slot) bool { return o.settled && o.left <= 0 })
		c.slots = append(c.slots, &v2Slot{block: block, users: 1, left: -1})
		return c.slots[len(c.slots)-1]
	}
	s := c.slots[i]
	s.users, s.left = s.users+1, s.left-1
	c.slots = append(slices.Delete(c.slots, i, i+1), s)
	return s
}

// memory is that of a block that nobody uses any more, or new.
func (c *v2Cache) memory() *v2Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		m := c.free[n-1]
		c.free = c.free[:n-1]
		return m
	}
	return &v2Memory{}
}

// settle counts a block that was read and drops the oldest. A block that cannot be read is not kept.
func (c *v2Cache) settle(s *v2Slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.settled = true
	if s.err != nil {
		c.drop(func(o *v2Slot) bool { return o == s })
		return
	}
	s.left += len(s.loaded.warps)
	s.size = len(s.loaded.body) + 128*len(s.loaded.warps)
	if p := s.loaded.paths; p != nil {
		s.size += p.bytes(s.loaded.events())
	}
	total := 0
	for _, o := range c.slots {
		total += o.size
	}
	for total > v2CacheBytes && len(c.slots) > 1 && c.slots[0] != s {
		total -= c.slots[0].size
		oldest := c.slots[0]
		c.drop(func(o *v2Slot) bool { return o == oldest })
	}
}

// drop forgets blocks.
func (c *v2Cache) drop(which func(*v2Slot) bool) {
	c.slots = slices.DeleteFunc(c.slots, func(s *v2Slot) bool {
		if !which(s) {
			return false
		}
		s.dropped = true
		c.reuse(s)
		return true
	})
}

// release says that somebody who got a block does not use it any more.
func (c *v2Cache) release(s *v2Slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.users--
	c.reuse(s)
}

// reuse keeps the memory of a block that was dropped and that nobody uses.
func (c *v2Cache) reuse(s *v2Slot) {
	if !s.dropped || s.users > 0 || s.loaded == nil || s.loaded.mem == nil {
		return
	}
	kept := s.loaded.mem.bytes()
	for _, m := range c.free {
		kept += m.bytes()
	}
	if kept <= v2FreeBytes {
		c.free = append(c.free, s.loaded.mem)
	}
	s.loaded = nil
}
