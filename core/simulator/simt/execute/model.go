package execute

import (
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Launch is one launch of a kernel.
type Launch struct {
	Kernel      string
	Grid        [3]uint32 // blocks
	Block       [3]uint32 // threads
	Cluster     [3]uint32 // blocks of a cluster; zeros: none
	SharedBytes uint64    // dynamic shared memory (extern .shared)
	Params      []Argument
	Memory      []memory.Allocation
	Standing    *memory.Standing // arrays that pointers which the kernel loads may lead to, too; nil: none
	Freed       []Freed          // where arrays were that are gone
	Options     Options
}

// Freed is a range of addresses of the process at which an array was.
type Freed struct {
	Name    string
	Address uint64
	Bytes   uint64
}

// Argument is the value of one .param of the kernel, in their order.
type Argument struct {
	Name       string
	Type       string   // Triton's spelling: "*fp32", "i32"
	Bits       uint64   // scalars: the bits; pointers: the address in the process
	Allocation int      // pointers: index into Launch.Memory, -1: none (a scalar, or an address that nobody described)
	Data       []byte   // of a parameter of more than 8 bytes, all of it; addresses in it are those of the process. Else nil
	View       []uint64 // pointers: where the elements of the view begin and end in the process; nil: not known

	// What recordings say of it; no instruction sees it.
	Shape   []uint64 // of the array that was passed; nil: not known
	Strides []int64  // in elements
	Special string   // what the compiler took for granted of it
}

// Options choose how a launch runs.
type Options struct {
	ScheduleSeed    uint64 // permutes the order of blocks and of warps; 0: ascending
	Patience        uint64 // instructions after which lanes of a warp that go round a loop give others a turn; 0: 4096, with a seed fewer
	Workers         int    // blocks that may run at once; 0: as the job says. The result does not depend on it
	StopAtFirst     bool   // the first finding ends the launch
	MaxFindings     int    // distinct findings that are kept, 0: 1000; the rest is counted
	NaN             bool   // report instructions that turn numbers into NaN
	NoRaces         bool   // do not look for races and uninitialised shared memory
	GlobalRaces     bool   // look for races in global memory too
	WarpRaces       bool   // look for races between lanes of one warp in shared memory
	Views           bool   // look for accesses outside of the view that was passed, inside its storage; Argument.View says which that is
	NoConvergence   bool   // do not look for convergent instructions that a GPU may execute with a part of the warp
	NoCounts        bool   // do not count per line
	Lanes           uint32 // of every warp that run, 0: all. Tests leave some out
	Heap            uint64 // bytes of the heap that malloc takes from, of the module, until something was allocated; 0: as it is, 8 MiB at first
	MaxInstructions uint64 // warp instructions after which the launch ends with an error; 0: DefaultInstructions
}

// Check names what a finding is about; the spelling is that of documents.
type Check string

// The checks. Those of memory come from package memory.
const (
	checkOutOfBounds     Check = "out-of-bounds"
	checkMisaligned      Check = "misaligned"
	checkUninitialised   Check = "uninitialised-shared"
	checkUninitialLocal  Check = "uninitialised-local"
	checkRace            Check = "shared-race"
	checkGlobalRace      Check = "global-race"
	checkStaleCopy       Check = "stale-async-copy"
	checkReadOnly        Check = "read-only-write"
	checkNull            Check = "null-pointer"
	checkBarrier         Check = "barrier-divergence"
	checkDivision        Check = "division-by-zero"
	checkNaN             Check = "nan"
	checkAssert          Check = "assert"
	checkTrap            Check = "trap"
	checkDeadlock        Check = "deadlock"
	checkBadShuffle      Check = "bad-shuffle"
	checkConvergence     Check = "convergence"
	checkMbarrier        Check = "mbarrier"
	checkUninitialGlobal Check = "uninitialised-global"
	checkStack           Check = "stack-overflow"
	checkCall            Check = "bad-call"
	checkWarpRace        Check = "warp-race"
	checkView            Check = "outside-view"
	checkFreed           Check = "use-after-free"
	checkFree            Check = "bad-free"
	checkMetadata        Check = "sparse-metadata"
	checkTexture         Check = "bad-texture"
)

// Finding is what a check found, once for each instruction and check, with how often.
type Finding struct {
	Check    Check
	Kernel   string
	Inst     int32 // instruction of its function
	Function string
	Where    []site.Frame // innermost first, then the calls into which it was inlined
	Text     string       // the instruction
	Block    [3]uint32    // of the first time, in the order of blocks and warps, whatever the schedule
	Warp     int          // in the block
	Lanes    uint32
	Lane     int
	Count    int64         // times that it was found
	Message  string        // one sentence: what happened, with addresses, sizes and the nearest allocation
	Fault    *memory.Fault // for the checks of memory
}

// Result is what a launch left besides the memory that it changed.
type Result struct {
	Instructions     uint64 // of warps
	LaneInstructions uint64 // of active lanes
	Blocks, Warps    uint64
	Lines            []LineCount // by file and line, where counted
	Findings         []Finding   // failed assertions first, then by order of instruction
	MoreFindings     int64       // found beyond Options.MaxFindings
	Output           string      // of vprintf, by block and warp; at most 1 MiB
	OutputCut        bool
	Fidelity         Fidelity
}

// Fidelity says how far the answer of a launch can be trusted: what was executed is exact but for what is named here.
type Fidelity struct {
	Approximated []Approximated // by instruction of the text, in its order
	Decides      []Decision     // where values that may come from these decided something, likewise
}

// Approximated is an instruction whose results may differ from a GPU's.
type Approximated struct {
	Text  string // "ex2.approx.ftz.f32"
	How   string
	Where []site.Frame
	Count uint64 // executions by warps
}

// Decision is an instruction that decided something by a value which may come from approximations.
type Decision struct {
	Use      string // "address", "branch", "predicate" or "barrier"
	Text     string
	Function string // of the module, in which it stands
	Where    []site.Frame
	Count    uint64   // executions by warps
	From     []string // the instructions that approximate
}

// LineCount counts what one source line did.
type LineCount struct {
	File                           string
	Line                           uint32
	Instructions, LaneInstructions uint64
	Branches, Divergent            uint64 // conditional branches of warps, and those that split
	GlobalLoads, GlobalStores      uint64 // accesses of warps
	GlobalBytes                    uint64 // of active lanes
	GlobalSectors                  uint64 // distinct aligned 32-byte pieces touched, by access
	SharedAccesses, BankConflicts  uint64 // accesses of warps; further passes that 32 banks of 4 bytes need
	Atomics, Barriers              uint64
}
