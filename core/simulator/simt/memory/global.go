package memory

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Addresses of the simulator. Every allocation has a slot of its own, all of one size, so that the slot of an address is a shift
// away. It begins a quarter of the slot behind the slot's start: an index that runs out of it, on either side, stays in its
// slot. A slot of 64 GiB holds what a 32-bit index of 8-byte elements can reach.
const (
	firstSlot  uint64 = 1 << 57
	slotBits          = 36 // at least
	lastSlot   uint64 = 1 << 62
	nullPage   uint64 = 1 << 16 // addresses up to it, and as many below 0, are those of a null pointer
	aliasBytes        = 16      // addresses keep this much of their alignment in the process: all that accesses need, so that runs agree
	fullMask   uint32 = 1<<lane.Lanes - 1
)

// Global is the memory that blocks share. Its methods may be called from several goroutines at once; what a kernel does to one
// address in several blocks is then as undefined as it is on a GPU.
type Global struct {
	regions  []region // by number of the allocation
	aliases  []region // by address of the process, disjoint
	standing []region // likewise, of arrays that the launch does not list
	heap     *Heap    // what malloc gave, nil nothing
	bits     uint     // of a slot
	fixed    int      // the first of the variables of the module
	last     int      // and the last, and 1
	any      uint64   // parameters whose pointers may point anywhere
	null     uint64   // parameters that are null pointers
	watch    *watch   // nil: nobody asks
}

// region is a range of addresses and the bytes behind it.
type region struct {
	base     uint64
	host     uint64 // address of the bytes in the process
	bytes    []byte
	params   uint64 // that point here
	index    int
	name     string
	readOnly bool
	written  *written     // of an array that was not written before the launch; nil nobody asks
	fresh    *atomic.Bool // of one that stands: nobody has written it yet; nil somebody has
	heap     bool         // malloc gave it
}

// written says of each byte of an array whether the launch wrote it.
type written struct{ bytes []bool }

// NewGlobal gives every allocation its addresses. Allocations may overlap in the process; each has its own addresses all the
// same.
func NewGlobal(allocations []Allocation) (*Global, error) {
	var largest uint64
	for i := range allocations {
		largest = max(largest, uint64(len(allocations[i].Bytes)))
	}
	g := &Global{bits: bitsOfSlot(largest), any: ^uint64(0)}
	if g.bits > 56 || uint64(len(allocations)) > (lastSlot-firstSlot)>>g.bits {
		return nil, fault.New(fault.Limit, "%d allocations do not fit the simulator's addresses", len(allocations))
	}
	g.regions = make([]region, len(allocations))
	for i := range allocations {
		a := &allocations[i]
		base := g.address(i, a.Host)
		if a.Variable { // from the end, whatever else a launch has: kernels may keep the address in memory
			if g.last == 0 {
				g.fixed = i
			}
			g.last = i + 1
			base = lastSlot - uint64(g.last-g.fixed)<<g.bits + 1<<g.bits/4
		}
		g.regions[i] = region{base: base, host: a.Host, bytes: a.Bytes, index: i, name: a.Name, readOnly: a.ReadOnly}
		if a.Unwritten {
			g.regions[i].written = &written{make([]bool, len(a.Bytes))}
		}
	}
	g.aliases = aliasesOf(allocations)
	for i := range g.aliases {
		g.aliases[i].written = g.regions[g.aliases[i].index].written
	}
	return g, nil
}

// address is where a kernel finds an allocation that is not a variable, by its number.
func (g *Global) address(number int, host uint64) uint64 {
	return firstSlot + uint64(number)<<g.bits + 1<<g.bits/4 + host%aliasBytes
}

// Addresses says where a kernel finds the allocations that begin the list of a launch, in which no other is larger.
func Addresses(allocations []Allocation) []uint64 {
	g := &Global{bits: slotBits}
	for i := range allocations {
		g.bits = max(g.bits, bitsOfSlot(uint64(len(allocations[i].Bytes))))
	}
	list := make([]uint64, len(allocations))
	for i := range allocations {
		list[i] = g.address(i, allocations[i].Host)
	}
	return list
}

// bitsOfSlot is the size of slots for allocations of up to so many bytes: what is behind and before one must be as large as a
// quarter of its slot.
func bitsOfSlot(largest uint64) uint {
	bits := uint(slotBits)
	for largest > 1<<bits/2 {
		bits++
	}
	return bits
}

// aliasesOf makes the regions of the addresses that allocations have in the process. Where several overlap, an address belongs
// to the one that goes on longest; a region ends where that changes, its bytes go on.
func aliasesOf(allocations []Allocation) []region {
	order := make([]int, 0, len(allocations))
	for i := range allocations {
		a := &allocations[i]
		if a.known() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(allocations[i].Host, allocations[j].Host) })
	var list []region
	var end uint64
	for _, i := range order {
		a := &allocations[i]
		if e := a.Host + uint64(len(a.Bytes)); e > end {
			list = append(list, region{base: a.Host, host: a.Host, bytes: a.Bytes, index: i, name: a.Name, readOnly: a.ReadOnly})
			end = e
		}
	}
	return list
}

// Arguments says for each parameter of the kernel, in their order, which allocation it points into: -1 says that it is no
// pointer, or one to what nobody described. A Transfer whose Legal names such a parameter may go anywhere.
func (g *Global) Arguments(allocation []int) {
	g.any, g.null = 0, 0
	for i := range g.regions {
		g.regions[i].params = 0
	}
	for i, a := range allocation {
		bit := uint64(1) << min(i, 63)
		if a < 0 || a >= len(g.regions) {
			g.any |= bit
			continue
		}
		g.regions[a].params |= bit
	}
	if n := len(allocation); n < 64 {
		g.any |= ^uint64(0) << n
	}
	for i := range g.aliases {
		g.aliases[i].params = g.regions[g.aliases[i].index].params
	}
}

// Null says that parameter i is a null pointer: what derives from it alone is a NullPointer wherever it points.
func (g *Global) Null(i int) { g.null |= 1 << min(i, 63) }

// Pointer returns the simulator's address of an address of the process that points into allocation i, or around it. An address
// too far away for that is its own.
func (g *Global) Pointer(i int, host uint64) uint64 {
	r := &g.regions[i]
	d := host - r.host
	if quarter := uint64(1) << g.bits / 4; d+quarter > 3*quarter {
		return host
	}
	return r.base + d
}

// Host returns the number of the allocation that an address of the simulator falls into, and how far into it; -1 when into none.
func (g *Global) Host(address uint64) (allocation int, offset uint64) {
	r := g.find(address)
	if r == nil || address-r.base >= uint64(len(r.bytes)) {
		return -1, 0
	}
	return r.index, address - r.base
}

// InProcess returns the address in the process for an address that this launch gave a place in an array of the caller; false for any other.
func (g *Global) InProcess(address uint64) (host uint64, ok bool) {
	slot := (address - firstSlot) >> g.bits
	if slot >= uint64(len(g.regions)) {
		return 0, false
	}
	r := &g.regions[slot]
	if r.host == 0 || address-r.base > uint64(len(r.bytes)) { // one behind the end is an address, too
		return 0, false
	}
	return r.host + (address - r.base), true
}

// find returns the region whose slot or alias an address falls into, nil when into none. The address need not be inside.
func (g *Global) find(address uint64) *region {
	if slot := (address - firstSlot) >> g.bits; slot < uint64(len(g.regions)) {
		return &g.regions[slot]
	}
	if slot := (lastSlot - 1 - address) >> g.bits; slot < uint64(g.last-g.fixed) {
		return &g.regions[g.fixed+int(slot)]
	}
	if address >= heapBase {
		return g.allocated(address)
	}
	return g.alias(address)
}

// alias finds the region of an address of the process.
func (g *Global) alias(address uint64) *region {
	r := below(g.aliases, address)
	if g.standing != nil && !r.holds(address) {
		if s := below(g.standing, address); s.holds(address) {
			return s
		}
	}
	return r
}

// within returns the region that holds all of [low, high) and that a pointer may point to, nil when there is none.
func (g *Global) within(low, high, legal uint64) *region {
	r := g.find(low)
	if r == nil {
		return nil
	}
	size := uint64(len(r.bytes))
	if first := low - r.base; first >= size || high < low || high-r.base > size {
		return nil
	}
	if legal != 0 && legal&(r.params|g.any) == 0 {
		return nil
	}
	return r
}

// Span is memory that an instruction reads as a whole: n bytes at an address.
func (g *Global) Span(address, n uint64) ([]byte, *Fault) {
	var found faults
	if in := g.checkSized(&found, &Transfer{}, 0, address, n, 1); in != nil {
		return in.bytes[address-in.base:][:n:n], nil
	}
	return nil, found.first
}
