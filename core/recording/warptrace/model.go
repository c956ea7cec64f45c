// Package warptrace reads and writes recordings of GPU kernels: .prlx files, in which every warp of one launch left the sequence of
// events that it passed.
//
// Two formats are spoken: v1, which other tools write (docs/formats/prlx-v1.md), and v2, our own (docs/formats/prlx-v2.md). A
// Trace hides which one a file is. It streams: what is in memory is the index and the warps being looked at.
package warptrace

import (
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/site"
)

// Header says what was recorded, and how.
type Header struct {
	Version        int    // of the format: 1 or 2
	Kernel         string // name; v1 keeps at most 63 bytes
	KernelHash     uint64 // v1: FNV-1a of the name; v2: FNV-1a-64 of the full name
	ModuleHash     string // hex digest of the compiled module, "" unknown
	Grid           [3]uint32
	Cluster        [3]uint32 // blocks of a cluster; zero: none
	Block          [3]uint32
	WaveSize       int    // lanes of a warp: 32 or 64
	WarpsPerBlock  uint32 // 0 unknown
	WarpSlots      uint64 // warps that the launch has
	EventsPerWarp  uint32 // capacity of a warp's buffer in events, 0: no limit
	Arch           string // "sm_80", "gfx942", "" unknown
	ArchNumber     uint32 // v1: cuda_arch as it stands in the file
	Launch         uint64 // index of the launch in its session
	ArgumentDigest uint64 // hash over the arguments of the launch, 0 unknown
	Arguments      []Argument
	Mode           Mode
	Means          Means
	Keep           Keep
	SampleRate     uint32         // one in so many events was kept; 1: every one
	TimestampNS    int64          // unix time of the launch, 0 unknown
	Taken          bool           // taken masks were recorded; without, only the direction of one lane (Dir)
	HistoryDepth   uint32         // v1: entries of each warp's ring
	SnapshotDepth  uint32         // v1: entries of each warp's ring
	Compressed     bool           // the events are compressed inside the file
	Producer       string         // name and version of what wrote the file, "" unknown
	Origin         *origin.Origin // what the kernel computes; nil: no compiler of graphs made it, or it was not recorded
	Truncated      bool           // v2: the file has no end (a crash); what is there was recovered
	Warnings       []string
}

// Argument is one argument of the launch.
type Argument struct {
	Name   string
	Type   string // Triton or LLVM spelling: "*fp16", "i32"
	Value  string // scalars: the value in text; pointers: ""
	Digest uint64 // pointers: hash over the contents when it was taken, else 0

	Shape   []uint64 // arrays: of the view that was passed; nil: not known, or no dimension
	Strides []int64  // likewise, in elements
	Offset  uint64   // arrays: bytes from where their memory begins to the first element of the view
	Aligned uint64   // pointers: the largest power of two up to MostAligned that divides the address; 0 not known
	Special string   // what the compiler took for granted of it: "divisible by 16"; "" nothing
	Points  uint64   // tables of pointers: entries. Digest is then over what they point at, 0: not known what that is
	Before  uint64   // pointers: contents digest (docs/formats/prlx-v2.md) of all the memory behind it before the launch, 0 not known; no other than Held.Digest is like it
}

// MostAligned is the alignment up to which recordings say that of an address: compilers look at no more, and what is beyond it changes from
// run to run.
const MostAligned = 16

// Mode is how much each warp left.
type Mode uint8

// The capture modes.
const (
	ModeUnknown     Mode = 0
	ModeDigest      Mode = 1 // a rolling hash and counts, no events
	ModeControlFlow Mode = 2 // one event per site passed
	ModeValues      Mode = 3 // the same and operands of every lane at chosen sites
)

// Means is how the events were obtained.
type Means uint8

// The means of capture.
const (
	MeansUnknown      Means = 0
	MeansInstrumented Means = 1 // the kernel was rewritten to record
	MeansObserved     Means = 2 // a simulator watched the clean kernel
	MeansConverted    Means = 3 // converted from another format
	MeansGenerated    Means = 4 // made up, for tests and demonstrations
)

// Keep says which events of a warp survive when its buffer is full.
type Keep uint8

// The policies.
const (
	KeepFirst  Keep = 0
	KeepLast   Keep = 1
	KeepWindow Keep = 2 // around a chosen occurrence of a site
)

// ValueType is the type of an event's value or of a lane's operand.
type ValueType uint8

// The value types. Integers and floats narrower than 64 bits stand in the low bits.
const (
	TypeNone  ValueType = 0 // no value
	TypeBits  ValueType = 1 // 32 bits of unknown meaning (v1)
	TypeI8    ValueType = 2
	TypeI16   ValueType = 3
	TypeI32   ValueType = 4
	TypeI64   ValueType = 5
	TypeU8    ValueType = 6
	TypeU16   ValueType = 7
	TypeU32   ValueType = 8
	TypeU64   ValueType = 9
	TypeF16   ValueType = 10
	TypeBF16  ValueType = 11
	TypeF32   ValueType = 12
	TypeF64   ValueType = 13
	TypePtr   ValueType = 14
	TypeHash  ValueType = 15 // a hash over the values of all lanes: equal or not, nothing else
	TypeBool  ValueType = 16
	TypeF8E4  ValueType = 17 // e4m3
	TypeF8E5  ValueType = 18 // e5m2
	typeCount ValueType = 19
)

// WarpInfo is what the index knows of one warp without reading its events.
type WarpInfo struct {
	Warp       uint64 // linear number: block * WarpsPerBlock + warp of the block
	Events     uint32 // events that are in the file
	Total      uint64 // events that happened, kept or not; equal to Events where nothing was lost
	Dropped    uint64 // events lost because the buffer was full
	Before     uint64 // of those lost, how many came before the first event in the file (keep last, window)
	Digest     uint64 // warps of one number that have the same have the same events; valid when HasDigest. Others can have the same, too
	Control    uint64 // the same without values: site, kind, direction, active and taken lanes; valid when HasDigest
	Rolling    uint64 // the recorder's own hash over all events that happened; valid when HasRolling
	Stored     uint32 // v1: num_events as it stands in the file, which may exceed what there is room for
	HasDigest  bool
	HasRolling bool
}

// Warp is the recording of one warp in columns of equal length, one element an event. The slices of a Warp that is filled again
// are reused.
type Warp struct {
	WarpInfo
	Site      []uint32 // local site number: v1 the id, v2 the index in the site table
	Kind      []site.Kind
	Dir       []uint8  // the leader's decision: 0 or 1 for branches; v1: branch_dir as it stands
	Aux       []uint16 // v1: the reserved field (CUDA atomics: low half of the old value); else 0
	Active    []uint64 // lanes that passed the site
	Taken     []uint64 // those whose condition held; where Header.Taken is false, unknown and 0
	Value     []uint64
	Type      []ValueType
	History   []HistoryEntry
	Snapshots []Snapshot // in order of Seq
	Stores    []StoreSum // for writing: what the warp stored, ascending by site and array. Reading leaves it alone, see Trace.Stores
}

// Len is the number of events.
func (w *Warp) Len() int { return len(w.Site) }

// HistoryEntry is a value that flowed towards a compare (v1: loads that a branch condition depends on).
type HistoryEntry struct {
	Site  uint32 // local site number
	Value uint64
	Seq   uint32 // counts the entries that the warp ever wrote
	Event int32  // index of the event it precedes, -1 unknown
}

// Snapshot is what every lane held at one event: both operands of a compare, or address and value, or operand and old value.
type Snapshot struct {
	Site    uint32 // local site number
	Event   int32  // index of the event it belongs to, -1 unknown
	Seq     uint32 // v1: counts the snapshots that the warp ever wrote; v2: equal to the position
	Active  uint64 // lanes that are meaningful
	Compare site.Compare
	Role    SnapshotRole
	Type    ValueType
	Lhs     []uint64 // one element a lane, WaveSize long
	Rhs     []uint64 // likewise, nil when there is no second operand
}

// SnapshotRole says what Lhs and Rhs are.
type SnapshotRole uint8

// The roles.
const (
	RoleCompare SnapshotRole = 0 // left and right operand of a compare
	RoleAtomic  SnapshotRole = 1 // operand, old value
	RoleStore   SnapshotRole = 2 // address, value
	RoleLoad    SnapshotRole = 3 // address, value
	RoleValue   SnapshotRole = 4 // value, none
)
