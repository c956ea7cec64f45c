package simt

import (
	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// kind says how the executor treats an instruction.
type kind uint8

const (
	kindLane    kind = iota // computes every lane for itself
	kindWarp                // lanes see each other
	kindLaneNaN             // the same two, looking for NaNs that they make of numbers
	kindWarpNaN
	kindDivide // an integer division: a lane whose divisor is 0 is a finding
	kindClock
	kindLoad
	kindStore
	kindAtomic
	kindCopyAsync
	kindCommit
	kindWait
	kindMatrix
	kindFence
	kindNothing
	kindJump // from here on control flow
	kindBranch
	kindReturn
	kindExit
	kindTrap
	kindCall
	kindSwitch
	kindPrint
	kindAssert
	kindBarrier
)

// inst is one instruction in the form that runs.
type inst struct {
	kind   kind
	hidden bool  // added by the binder: not counted, not a place of its own
	watch  bool  // an observer wants to see it
	guard  int32 // predicate, -1 none
	invert uint32
	target int32 // of a branch or call: index into code
	arrive int32 // where lanes wait that a branch sends to its target, in the arrangement of the function
	detail int32 // index into the table of the kind: barriers, calls, switches
	order  int32 // of its block in the arrangement of its function
	origin int32 // index into kernel.origins
	lane   lane.Func
	warp   lane.WarpFunc
	ops    lane.Operands
	outs   []slot // registers written
	ins    []slot // registers read, for the check for NaN
	mem    *memory.Transfer
	atomic memory.AtomicOp
}

// maxOutputs is how many registers a lanewise instruction may write; mov.b128 of bytes does not exist.
const maxOutputs = 8

// label is one of the places that an indexed jump may go to.
type label struct {
	at     int32 // index into code; an instruction of the text until it is linked
	arrive int32 // as of a branch
}

// slot is a register of the whole kernel.
type slot struct {
	bank  lane.Bank
	index int32
}

// inR32 is a register of lane.R32.
func inR32(index int32) slot { return slot{lane.R32, index} }

// inR64 is a register of lane.R64.
func inR64(index int32) slot { return slot{lane.R64, index} }

// inP is a predicate.
func inP(index int32) slot { return slot{lane.P, index} }

// origin is the instruction of the text that a bound one comes from.
type origin struct {
	function *ptx.Function
	index    int32
}

// kernel is an entry point with the functions that it calls, bound: every register, label and immediate is a number.
type kernel struct {
	name      string
	target    *target.Target
	module    *ptx.Module
	entry     *ptx.Function
	code      []inst
	origins   []origin
	registers [3]int // of each bank, constants included
	variable  [3]int // those that instructions write; constants follow
	clear     [3][]int32
	clearAll  bool // registers must be zero where a warp starts, whatever ran before
	constants []constant
	barriers  []barrier
	calls     []call
	switches  [][]label
	copies    []memory.Copy
	frames    []frame
	local     int    // bytes of local memory of a thread
	shared    uint64 // bytes of static shared memory, behind which the dynamic part begins
	ordered   bool   // blocks see each other's memory through atomics or volatile accesses: one at a time
}

// barrier is the static part of a barrier instruction.
type barrier struct {
	reduce  reduction
	id      int32 // register of 32 bits, -1: 0
	threads int32 // likewise, -1: all of the block
	arrive  bool  // does not wait
	warp    bool  // bar.warp.sync
	aligned bool
	in, out slot // of a reduction
}

// reduction is what bar.red does with a predicate of every thread.
type reduction uint8

const (
	reduceNone reduction = iota
	reducePopc
	reduceAnd
	reduceOr
)

// call is a call of something that has no body: its arguments as words of parameter memory.
type call struct {
	name   string
	params []words
	result words
}

// words is a variable in parameter memory: consecutive registers of 32 bits.
type words struct {
	first int32
	bytes uint64
}

// frame is the local memory of a function.
type frame struct{ first, bytes uint64 }

// slots are the registers of the words.
func (w words) slots() []slot {
	var out []slot
	for i := range int32((w.bytes + 3) / 4) {
		out = append(out, inR32(w.first+i))
	}
	return out
}
