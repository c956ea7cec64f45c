// Package memory is the memory that the simulated kernel sees: global memory made of the caller's arrays, and the shared, local
// and parameter memory of a block. Every access is checked: bounds, alignment, initialisation, races between barriers.
//
// Addresses inside the machine are not those of the process. Each allocation gets an address that depends only on its number
// and size, with a gap behind it, so that two runs see the same addresses and an index that leaves one array never lands in
// another. Addresses of the process, as in tables of pointers, are understood too.
package memory

// Allocation is an array of the caller.
type Allocation struct {
	Name     string // of the argument, or what the caller calls it
	Host     uint64 // its address in the process
	Bytes    []byte // the array itself, which the kernel reads and writes in place
	ReadOnly bool
}

// Check names one of the checks.
type Check uint8

// The checks of memory.
const (
	OutOfBounds Check = iota
	Misaligned
	UninitialisedShared
	UninitialisedLocal
	SharedRace
	StaleAsyncCopy // reads what cp.async has not been waited for
	ReadOnlyWrite
	NullPointer
)

// Fault is what a check found in one access of one warp.
type Fault struct {
	Check    Check
	Lanes    uint32 // lanes that it concerns
	Lane     int    // the first of them
	Address  uint64 // of that lane
	Bytes    int    // of its access
	Store    bool
	Nearest  string // name of the nearest allocation, "" none
	Distance int64  // bytes from its end (positive) or before its start (negative), 0 inside
	Size     uint64 // of that allocation
	Other    Party  // SharedRace: the other access
}

// Party is the other side of a race.
type Party struct {
	Warp  int32 // in the block
	Inst  int32 // instruction
	Store bool
}

// Transfer is the static part of a load, store, atomic or copy, decoded once.
type Transfer struct {
	Elem     int      // bytes of an element: 1, 2, 4, 8
	Count    int      // elements of the vector: 1, 2, 4, 8
	Signed   bool     // sign-extends into the register
	Regs     [8]int32 // registers of the elements: of lane.R64 when Elem is 8 or Wide, else of lane.R32
	Wide     bool     // the register has 64 bits though the element has fewer
	Address  int32    // register of the address: of lane.R64, or of lane.R32 when Narrow
	Narrow   bool     // the address has 32 bits
	Absolute bool     // no register: Offset is the address
	Offset   int64
	Inst     int32  // instruction, for findings
	Legal    uint64 // bit i: the address derives from pointer argument i; 0: any allocation (loaded pointers); arguments from 63 on share bit 63
}
