package memory

import (
	"fmt"
	"slices"
)

// Heap is the memory that kernels get from malloc. It lives as long as their module, as on a GPU: what one launch allocated another one may
// use and free. No address is given twice, and between two pieces is a gap, so that an index that runs out of one lands in no other, and
// what was freed is known as such.
type Heap struct {
	limit  uint64 // bytes
	used   uint64
	next   uint64  // address behind the last piece and its gap
	pieces []given // ascending by address
	freed  int     // of these
}

// given is a piece of the heap. Its bytes are gone when it was freed.
type given struct {
	region
	size  uint64
	cost  uint64
	freed string // by whom, "" nobody
}

const (
	// defaultHeap is how many bytes a heap has that is given no size: that of a GPU whose program does not ask for more.
	defaultHeap = 8 << 20

	heapBase  = lastSlot // the first address
	heapGap   = 1 << 20
	heapAlign = 16        // of every piece, at least; each counts as a multiple of it
	heapLast  = 1<<63 - 1 // pieces end before it
	heapKept  = 1 << 14   // freed pieces that are remembered, at least
)

// Resize says how many bytes a heap has. It can be said until something was allocated, as on a GPU until a module is loaded.
func (h *Heap) Resize(bytes uint64) bool {
	if h.next != 0 && bytes != h.limit {
		return false
	}
	h.limit = bytes
	return true
}

// Used reports whether something was ever allocated.
func (h *Heap) Used() bool { return h.next != 0 }

// Reset frees all that was allocated, and forgets it.
func (h *Heap) Reset() { *h = Heap{limit: h.limit} }

// Allocate gives so many bytes, which nobody has written, at a multiple of align; 0 says that the heap has not so much left. name is what
// findings call them.
func (h *Heap) Allocate(size, align uint64, name string) (address uint64) {
	if h.next == 0 {
		h.next = heapBase
	}
	if h.limit == 0 {
		h.limit = defaultHeap
	}
	align = max(align, heapAlign)
	cost := max(size+heapAlign-1, heapAlign) &^ (heapAlign - 1)
	at := (h.next + align - 1) &^ (align - 1)
	if size > h.limit || cost > h.limit-h.used || at < h.next || at > heapLast-size-heapGap {
		return 0
	}
	r := region{base: at, bytes: make([]byte, size), index: -1, name: name, written: &written{make([]bool, size)}, heap: true}
	h.pieces = append(h.pieces, given{region: r, size: size, cost: cost})
	h.used += cost
	h.next = at + size + heapGap
	return at
}

// Free takes back what Allocate gave, and says what is wrong with that, "" nothing. by is who frees it.
func (h *Heap) Free(address uint64, by string) (wrong string) {
	p := h.piece(address)
	switch {
	case p == nil || address-p.base > p.size:
		return "no memory that malloc gave"
	case p.freed != "" && p.base == address:
		return fmt.Sprintf("freed before: it belonged to %s, which %s freed", p.name, p.freed)
	case p.base != address:
		return fmt.Sprintf("%d bytes behind the start of %s", address-p.base, p.name)
	}
	h.used -= p.cost
	p.bytes, p.written, p.freed = nil, nil, by
	if h.freed++; h.freed >= 2*heapKept && h.freed > len(h.pieces)/2 {
		h.forget()
	}
	return ""
}

// forget forgets the first half of what was freed.
func (h *Heap) forget() {
	most := h.freed / 2
	h.pieces = slices.DeleteFunc(h.pieces, func(p given) bool {
		if p.freed == "" || most == 0 {
			return false
		}
		most--
		h.freed--
		return true
	})
}

// piece is the last one that does not begin behind an address, nil none.
func (h *Heap) piece(address uint64) *given {
	if h == nil || address < heapBase {
		return nil
	}
	i, found := slices.BinarySearchFunc(h.pieces, address, func(p given, at uint64) int {
		switch {
		case p.base < at:
			return -1
		case p.base > at:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &h.pieces[i]
}

// Serve lets kernels reach what a heap has given. It may give more while they run, if one goroutine runs them.
func (g *Global) Serve(h *Heap) { g.heap = h }

// allocated is the region of the heap around an address, nil when there is none near.
func (g *Global) allocated(address uint64) *region {
	p := g.heap.piece(address)
	if p == nil {
		return nil
	}
	return &p.region
}

// near says where an access is that leads out of what a heap has given: beside a piece, or into one that was freed.
func (h *Heap) near(f *Fault) (is bool) {
	p := h.piece(f.Address)
	if p == nil {
		return false
	}
	if p.freed != "" && f.Address-p.base < p.size {
		f.Check, f.Nearest, f.Distance, f.Size = UseAfterFree, p.name, 0, p.size
		f.Says = fmt.Sprintf("%s, which %s freed", p.name, p.freed)
		return true
	}
	f.near(&p.region)
	return true
}

// empty reports whether nothing was ever allocated.
func (h *Heap) empty() bool { return h == nil || len(h.pieces) == 0 }
