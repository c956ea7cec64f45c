package warptrace

import "context"

// Outputs is what a recording says of the memory that a launch wrote, and of what was looked at. It is there when the launch
// ended and its recorder watched stores (format v2, from 0.1.0 on).
//
// Two launches that wrote the same values to the same places have equal numbers here, wherever their arrays lie in the process
// and whatever stood in memory that they did not write.
type Outputs struct {
	Coverage Coverage
	Arrays   []Array      // that the launch wrote, ascending by ID
	Stores   []StoreTotal // by site, then array: the sums of all warps
	Findings []Finding    // what the checks of the simulator found, in the order of the kernel's instructions
	Held     []Held       // what the memory behind arguments held after the launch, ascending by ID
}

// Coverage says what the recorder looked at, so that nobody takes what was not recorded for what is equal.
type Coverage struct {
	ControlFlow   bool   // events of branches and switches
	Predicates    bool   // events of the guards of memory accesses and selects
	StoreEvents   bool   // an event for each store
	AtomicEvents  bool   // an event for each atomic
	LoadEvents    bool   // an event for each load
	BarrierEvents bool   // an event for each barrier
	Rolling       bool   // hashes of the events in place of events (mode digest)
	Values        bool   // operands of every lane (mode values)
	Stores        bool   // counts and hashes of what each warp stored
	Arrays        bool   // digests of the bytes that were written
	Checks        bool   // findings: the checks of global memory and of the program
	Races         bool   // findings: races and uninitialised reads in shared memory
	GlobalRaces   bool   // findings: races in global memory
	NaN           bool   // findings: NaNs that instructions make of numbers
	Stopped       bool   // the launch ended at its first finding: what follows was not executed
	StoreSites    uint64 // statements of the kernel that store to global memory or are atomics on it
	MoreFindings  uint64 // times that something was found beyond the findings that are kept
	RowsDropped   uint64 // pairs of warp and site that are in StoreTotal only
	ChunksDropped uint64 // chunks that are in the digest of their array only
	ContentBudget uint64 // bytes of contents that were asked for, 0: none
	ContentBytes  uint64 // bytes of contents that are in the file
	Writers       bool   // contents name the thread that wrote each element
	InNoSum       uint64 // stores and atomics that are in no sum of a statement, at least
	ContentsAfter bool   // digests of what memory held after the launch, whoever wrote it: Outputs.Held
}

// NoSite is the local site number of what has no site in the table.
const NoSite = ^uint32(0)

// ArrayKind says what an array is.
type ArrayKind uint8

// The kinds of arrays. Their IDs are: of arguments and scratch memory the place among the kernel's parameters, scalars included;
// of registered memory FirstRegistered and up, in the order in which tables of pointers name them; of variables FirstVariable and up.
const (
	ArrayArgument   ArrayKind = 0 // what a pointer argument points to
	ArrayRegistered ArrayKind = 1 // memory that the kernel reached through a pointer that it loaded
	ArrayVariable   ArrayKind = 2 // a variable of the module
	ArrayScratch    ArrayKind = 3 // memory that the compiler added to every launch; what is in it is not a result
)

// IDs of arrays. Arguments and scratch memory have their place among the kernel's parameters, scalars included.
const (
	FirstRegistered = 1 << 16 // and up: registered memory, in the order in which tables of pointers name it
	FirstVariable   = 1 << 17 // and up: variables, in the order of the module
)

// Array is one array that the launch wrote. Offsets count bytes from where the argument points, so a view says the same as an
// array of its own. Bytes that the kernel wrote through two arguments belong to both.
type Array struct {
	ID           uint32 // names the array in this recording
	Kind         ArrayKind
	Name         string     // of the argument or variable; of registered memory the table entry that leads to it ("rows[3]"), else its name
	Type         string     // of the argument, "*fp16"; "" unknown
	ElementBytes uint32     // of that type, 1 where it is unknown; a chunk is ChunkElements of them
	Written      uint64     // bytes that the launch wrote
	Digest       uint64     // over the written bytes and their offsets: the sum of the digests of all chunks, modulo 2^64
	Began        uint64     // over the bytes that an atomic was the first to write: what they held until then; exchanges do not count
	Values       *ValueSums // of the elements that were written whole, as they were in the end; nil: not recorded
	Chunks       []Chunk
}

// ChunkElements is how many elements of an array share one digest.
const ChunkElements = 256

// Chunk is what the launch wrote of one piece of an array. Only chunks that were written are listed, ascending by Index.
type Chunk struct {
	Index  int64  // of the chunk: its first byte is at offset Index*ChunkElements*ElementBytes, which may be negative
	Bytes  uint32 // that were written
	Digest uint64 // over their final contents and their offsets in the array; files hold the low half, because Array.Digest decides
}

// Held is what all the memory behind an argument held after the launch, whoever wrote it and when. Somebody who cannot see which bytes a kernel
// writes knows this and no more, so it is compared with its like alone: with another Held, and with what the memory held before (Argument.Before).
type Held struct {
	ID        uint32 // of the argument: its place among the kernel's parameters
	Name      string
	Type      string // "*fp16"; "" unknown
	Bytes     uint64 // of the memory; the argument may point anywhere into it
	Digest    uint64 // contents digest of it (docs/formats/prlx-v2.md)
	Addresses uint64 // where elements are integers of 8 bytes: how many may be addresses, which change from run to run
}

// HeldByID finds what the memory of an argument held, nil where that is not known.
func (o *Outputs) HeldByID(id uint32) *Held {
	for i := range o.Held {
		if o.Held[i].ID == id {
			return &o.Held[i]
		}
	}
	return nil
}

// ArrayByID finds an array that was written, nil when it was not.
func (o *Outputs) ArrayByID(id uint32) *Array {
	for i := range o.Arrays {
		if o.Arrays[i].ID == id {
			return &o.Arrays[i]
		}
	}
	return nil
}

// StoreSum is what one warp stored at one source statement to one array. The hash is a sum over elements, so that it depends
// neither on the order of lanes and of passes nor on how wide the instructions are that one statement became.
type StoreSum struct {
	Site  uint32 // local number of the first site of the statement: sites with the same chain and kind are one statement
	Array uint32 // Array.ID; of what lies in no known array NoArray
	Count uint64 // elements that lanes wrote; of compare-and-swap those that swapped
	Hash  uint64 // over (offset in the array, value); of atomics the operand, never the old value; of compare-and-swap the offset alone
}

// NoArray is the ID of no array.
const NoArray = ^uint32(0)

// StoreTotal is the sum of all warps at one statement and array.
type StoreTotal struct {
	StoreSum
	Warps uint64 // that stored something
	Swaps bool   // compare-and-swaps are among them, whose values are not in the hash
	// Values are sums over what was stored without its place, of elements as wide as those of the array; nil: not recorded.
	Values *ValueSums
}

// Stores are the sums of each warp, in columns of equal length, ascending by warp, site and array. What is here is enough to name the
// warps that stored something else; whether anything differs at all, StoreTotal says in full width.
type Stores struct {
	Warp  []uint64
	Site  []uint32
	Array []uint32
	Count []uint64
	Hash  []uint32 // the low half of the hash
}

// Len is the number of rows.
func (s *Stores) Len() int { return len(s.Warp) }

// ofWarp returns the rows of a warp: from, up to and without to.
func (s *Stores) ofWarp(warp uint64) (from, to int) {
	lo, hi := 0, len(s.Warp)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.Warp[mid] < warp {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for to = lo; to < len(s.Warp) && s.Warp[to] == warp; to++ {
	}
	return lo, to
}

// Finding is what a check of the simulator found, once for each instruction and check.
type Finding struct {
	Check       string // "out-of-bounds", "shared-race", ...
	Site        uint32 // the site of the instruction, NoSite where it is none
	Function    string
	File        string
	Line        uint32
	Column      uint32
	Instruction string
	Block       [3]uint32 // of the first time
	Warp        uint64    // of the launch, as WarpInfo.Warp
	Lane        uint32    // the first of Lanes
	Lanes       uint64
	Count       uint64 // times that it was found
	Array       string // name of the nearest array, "" none
	Distance    int64  // bytes beyond its end (positive) or before its start (negative)
	Message     string // one sentence for people; it may hold addresses, so it is not for comparing
}

// Contents is the final contents of one chunk of an array, as far as the launch wrote it.
type Contents struct {
	Array   uint32 // Array.ID
	Chunk   int64  // Chunk.Index
	Element uint32 // bytes of an element
	Bytes   []byte // of the whole chunk; those that were not written are 0
	Written []byte // bit i (of weight 1<<(i%8) in byte i/8) says that byte i was written
	// Pointers are where in Bytes 8 bytes are the name of an address (PointerName) in place of the address.
	Pointers []uint32
	// Writers, one for each element of the chunk, nil when they are not known: the thread that wrote it last.
	Writers []Writer
}

// Writer is the thread that wrote an element last. Where several blocks write one element, and nothing orders them, it is the last
// in the order of the schedule.
type Writer struct {
	Site uint32 // statement, as StoreSum.Site; NoSite: nobody wrote the element
	Lane uint32
	Warp uint64 // of the launch
}

// PointerOffsetBits is how many low bits of a named pointer are its offset, as a number with a sign; the ID of the array is above.
const PointerOffsetBits = 40

// PointerName takes a named pointer apart: stored pointers are not copied, because arrays lie elsewhere in every process.
func PointerName(word uint64) (array uint32, offset int64) {
	return uint32(word >> PointerOffsetBits), int64(word<<(64-PointerOffsetBits)) >> (64 - PointerOffsetBits)
}

// WrittenAt reports whether byte i of the chunk was written.
func (c *Contents) WrittenAt(i int) bool { return i/8 < len(c.Written) && c.Written[i/8]>>(i%8)&1 == 1 }

// Offset is the offset of the chunk's first byte in its array.
func (c *Contents) Offset() int64 { return c.Chunk * ChunkElements * int64(c.Element) }

// outputSource is a recording that may hold outputs.
type outputSource interface {
	outputs(ctx context.Context) (*Outputs, error)
	stores(ctx context.Context) (*Stores, error)
	contents(ctx context.Context, visit func(*Contents) error) error
}

// Outputs says what the launch wrote. It is nil when the recording does not hold that: of format v1, made by an older prlx, converted
// from either, cut short before the launch ended, or continued afterwards.
func (t *Trace) Outputs(ctx context.Context) (*Outputs, error) {
	if s, ok := t.rec.(outputSource); ok {
		return s.outputs(ctx)
	}
	return nil, nil
}

// Stores says what each warp stored; nil when the recording does not hold that. Of a recording that was cut short it holds the warps up
// to there, though Outputs is nil. It reads and decodes the rows each time.
func (t *Trace) Stores(ctx context.Context) (*Stores, error) {
	if s, ok := t.rec.(outputSource); ok {
		return s.stores(ctx)
	}
	return nil, nil
}

// Contents calls visit with every chunk whose contents were kept, ascending by array and chunk. A Contents is valid during the call.
func (t *Trace) Contents(ctx context.Context, visit func(*Contents) error) error {
	if s, ok := t.rec.(outputSource); ok {
		return s.contents(ctx, visit)
	}
	return nil
}
