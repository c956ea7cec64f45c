// Package memory is the memory that the simulated kernel sees: global memory made of the caller's arrays, and the shared and
// local memory of a block. Every access is checked: bounds, alignment, null, read-only; in shared memory also what nobody wrote,
// races between barriers, and cp.async that was not waited for; in local memory what the lane did not write; on request races in
// global memory.
//
// Addresses inside the simulator are not those of the process. Each allocation gets an address that depends only on its number
// and alignment, with a gap on both sides, so that two runs see the same addresses and an index that leaves one array never
// lands in another. Addresses of the process, as in tables of pointers, are understood too.
//
// A race is two accesses of different warps to one byte that nothing orders, of which one writes. Barriers order, of the whole
// block or of the warps that meet, and accesses that acquire what another released; fences make relaxed accesses do so. No race
// are atomics and other accesses that are not weak among themselves, and writes of one value. Lanes of one warp do not race. The
// check remembers the last writer and the readers since, so the first race at a byte is found and some after it are not; it may
// miss one where barriers of some warps, fences or writes of one value play a part, and reports none that is not. In global memory
// happens-before also goes from block to block, and scopes count (order.go).
//
// Races of lanes of one warp are looked for by Lanes, when asked. Arrays of the caller count as written unless it says otherwise.
package memory

import "github.com/prlx-go/prlx/core/simulator/ptx"

// Allocation is an array of the caller.
type Allocation struct {
	Name     string // of the argument, or what the caller calls it
	Host     uint64 // its address in the process
	Bytes    []byte // the array itself, which the kernel reads and writes in place
	ReadOnly bool

	Variable bool // of the module: its addresses are the same in every launch. All of these stand beside each other

	Unwritten bool // nobody wrote its bytes before the launch: reads of those that the launch did not write are a fault
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
	StaleAsyncCopy // reads or overwrites what cp.async has not been waited for
	ReadOnlyWrite
	NullPointer
	GlobalRace // only when Global.Watch asked for it
	MbarrierMisuse
	UninitialisedGlobal // only of arrays that are said to be unwritten
	WarpRace            // only of Lanes
	OutsideView         // inside the storage of an array, outside of the view of it that was passed
	UseAfterFree        // at what was an array once
)

// Fault is what a check found in one access of one warp.
type Fault struct {
	Check    Check
	Lanes    uint32 // lanes that it concerns
	Lane     int    // the first of them
	Address  uint64 // of that lane
	Bytes    int    // of its access
	Store    bool
	Nearest  string // name of the nearest allocation, "" none; "shared memory", "local memory" are two
	Distance int64  // bytes that it reaches beyond its end (positive) or starts before its start (negative), 0 inside
	Size     uint64 // of that allocation
	Offset   uint64 // Locate: how far into it
	Inside   string // OutOfBounds: the allocation that it falls into though its pointer comes from another, "" none
	Other    Party  // SharedRace, GlobalRace, StaleAsyncCopy: the other access
	Atomic   bool   // an atomic, which loads and stores
	Says     string // MbarrierMisuse: what is wrong; UseAfterFree: to whom it belonged

	Allocated bool   // UninitialisedGlobal: of memory that malloc gave
	Next      *Fault // another check that the same access failed, nil none
}

// Party is the other side of a race.
type Party struct {
	Warp  int32 // in the block, of several the first; -1 unknown
	Inst  int32 // instruction, of several the last; -1 unknown
	Store bool

	OtherBlock bool  // GlobalRace: it is of another block
	Block      int64 // GlobalRace: which block, -1 one of several
	Lane       int32 // WarpRace: of several the first
}

// Transfer is the static part of a load, store, atomic, copy or matrix access, decoded once.
type Transfer struct {
	Space    ptx.Space // Generic, Global, Shared, Local or Const; the other spaces are not memory here
	Elem     int       // bytes of an element: 1, 2, 4, 8
	Count    int       // elements of the vector: 1, 2, 4, 8; of ldmatrix and stmatrix: matrices
	Signed   bool      // sign-extends into the register
	Half     bool      // the register has 16 bits: a sign goes no further
	Regs     [8]int32  // registers of the elements, -1 none: of lane.R64 when Elem is 8 or Wide, else of lane.R32
	Data     [8]int32  // atomics: registers of the operand b of each element
	New      [8]int32  // atom.cas: registers of c, the new value
	Wide     bool      // the register has 64 bits though the element has fewer
	Address  int32     // register of the address: of lane.R64, or of lane.R32 when Narrow
	Narrow   bool      // the address has 32 bits
	Absolute bool      // no register: Offset is the address
	Offset   int64
	Order    Order     // how it is ordered with other accesses
	Block    bool      // of one that is not weak: its scope is the block
	Trans    bool      // ldmatrix, stmatrix: transposed
	Inst     int32     // instruction, for findings
	Part     int32     // 1 + the register of lane.R64 that was rounded down to the address: the access is for a part of the word there, 0 none
	Within   *Variable // of an address in shared memory that derives from one variable: that one; nil it may be anywhere
	Legal    uint64    // bit i: the address derives from parameter i of the kernel; 0: any allocation (loaded pointers); parameters from 63 on share bit 63
}

// Variable is a variable in shared memory: its name, where it begins and where it ends.
type Variable struct {
	Name        string
	First, Last uint64
}

// Order is what PTX calls the semantics of an access.
type Order uint8

// The orders. Accesses that are not weak do not race with one another.
const (
	Weak    Order = iota
	Relaxed       // also volatile
	Acquire
	Release
	AcqRel
)

// AtomicKind is what an atomic does.
type AtomicKind uint8

// The atomics.
const (
	Add AtomicKind = iota
	Min
	Max
	And
	Or
	Xor
	Inc
	Dec
	Exch
	CAS
)

// AtomicOp is an atomic with the type that it works on. The packed types do both halves, each atomically.
type AtomicOp struct {
	Kind AtomicKind
	Type ptx.Type // U32, S32, B32, U64, S64, B64, B16, F16, F16x2, BF16, BF16x2, F32 or F64
}

// Copy is a cp.async: Bytes (4, 8 or 16) from global memory to shared memory.
type Copy struct {
	To, From Transfer // only their addresses, Inst and Legal; Sectors looks at Elem and Count of From too
	Bytes    int
	Size     int32 // register of lane.R32 with how many bytes are read, the rest being zeros; -1: all
}

// The windows of the generic address space: cvta adds the first address of one, cvta.to subtracts it. Global addresses and
// constant ones are generic as they are. No process has addresses there.
const (
	SharedWindow uint64 = 1 << 56
	LocalWindow  uint64 = 1<<56 + 1<<40
	windowSize   uint64 = 1 << 40
)
