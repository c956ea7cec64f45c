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
}

// events counts the events of the warps of a block.
func (l *v2Loaded) events() int {
	n := 0
	for i := range l.warps {
		n += int(l.warps[i].Events)
	}
	return n
}

// v2CacheBytes is how much the cache keeps. The newest block stays whatever its size.
const v2CacheBytes = 16 << 20

// v2Cache keeps the blocks that were read last, because warps are mostly read in order. Of goroutines that want one block at the
// same time, one reads it and the others wait.
type v2Cache struct {
	mu    sync.Mutex
	slots []*v2Slot // the newest last
}

type v2Slot struct {
	block  uint32
	once   sync.Once
	loaded *v2Loaded
	err    error
	size   int // set under the cache's lock
}

func (c *v2Cache) get(block uint32, load func() (*v2Loaded, error)) (*v2Loaded, error) {
	s := c.slot(block)
	s.once.Do(func() {
		s.loaded, s.err = load()
		c.settle(s)
	})
	return s.loaded, s.err
}

// slot finds or makes the slot of a block and makes it the newest.
func (c *v2Cache) slot(block uint32) *v2Slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.slots, func(s *v2Slot) bool { return s.block == block })
	if i < 0 {
		c.slots = append(c.slots, &v2Slot{block: block})
		return c.slots[len(c.slots)-1]
	}
	s := c.slots[i]
	c.slots = append(slices.Delete(c.slots, i, i+1), s)
	return s
}

// settle counts a block that was read and drops the oldest. A block that cannot be read is not kept.
func (c *v2Cache) settle(s *v2Slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.err != nil {
		c.slots = slices.DeleteFunc(c.slots, func(o *v2Slot) bool { return o == s })
		return
	}
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
		c.slots = c.slots[1:]
	}
}
