// Package code is the form in which a kernel runs: instructions whose registers, labels and immediates are numbers, and where each
// comes from in the text of its module. Package compile makes it, package execute runs it, and whoever observes a launch reads it.
package code

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
	"github.com/prlx-go/prlx/core/simulator/simt/texture"
)

// Kind says how an instruction is executed.
type Kind uint8

// The kinds. The order counts: from KindJump on instructions change where lanes go, and those from KindReturn on do so in a way of
// their own.
const (
	KindLane    Kind = iota // computes every lane for itself
	KindWarp                // lanes see each other
	KindLaneNaN             // the same two, looking for NaNs that they make of numbers
	KindWarpNaN
	KindDivide // an integer division: a lane whose divisor is 0 is a finding
	KindClock
	KindLoad
	KindStore
	KindAtomic
	KindCopyAsync
	KindCommit
	KindWait
	KindMatrix
	KindMbarrier
	KindFence
	KindAllocate // memory of the stack
	KindRestore  // the stack to what it was
	KindMalloc
	KindFree
	KindTexture // a fetch, or where an access of a surface lands
	KindNothing
	KindJump // from here on control flow
	KindBranch
	KindReturn
	KindExit
	KindTrap
	KindCall
	KindSwitch
	KindPrint
	KindAssert
	KindBarrier
)

// NoFunction is the detail of a call through a pointer that no function of the module can be the target of: none takes its arguments.
const NoFunction = -2

// Inst is one instruction.
type Inst struct {
	Kind    Kind
	Meet    Meet
	Back    bool  // a jump that leads back to the head of a loop
	Polls   bool  // of such a jump: the loop looks at what other threads may change
	Alone   bool  // no way leads from here to an instruction at which lanes of the warp look at each other, but the end
	Hidden  bool  // stands for a part of another one: not counted, not a place of its own
	Watch   bool  // an observer wants to see it
	Guard   int32 // predicate, -1 none
	Invert  uint32
	Order   int32 // of its block in the arrangement of its function
	Lane    lane.Func
	Mem     *memory.Transfer
	Ops     lane.Operands
	Warp    lane.WarpFunc
	Detail  int32      // index into the table of the kind: barriers, calls (below 0: through a pointer), switches, copies, loops of jumps that poll; of a clock, a wait and an mbarrier a number
	Target  int32      // of a branch or call: index into Kernel.Code
	Arrive  int32      // where lanes wait that a branch sends to its target, in the arrangement of the function
	Join    int32      // likewise, where those come together again that a branch divides; -1 nowhere
	Members int32      // register of lane.R32 with the lanes that an instruction names, of MeetMask
	Origin  int32      // index into Kernel.Origins
	Outs    []Register // registers written
	Ins     []Register // registers read, those of addresses included
	Atomic  memory.AtomicOp

	_ [16]byte // so that an instruction has three lines of the processor's cache, and what most need the first
}

// Meet says for whom lanes wait that come to an instruction.
type Meet uint8

// The ways in which lanes of a warp meet.
const (
	MeetNobody Meet = iota
	MeetMask        // .sync with a mask: for the lanes of the mask
	MeetWarp        // .aligned: all lanes of the warp must come at once
)

// MaxOutputs is how many registers a lanewise instruction may write; mov.b128 of bytes does not exist.
const MaxOutputs = 8

// Loop is a loop that looks at what other threads may change: where it stands in the arrangement of its function, and the registers on
// which depends what its instructions access and where they lead. What it only counts is not among these.
type Loop struct {
	Function      *ptx.Function
	First, Behind int32 // order of its head, and the first order behind it
	Registers     []Register
}

// Holds reports whether an instruction of the code is in the loop.
func (l *Loop) Holds(k *Kernel, at int32) bool {
	order := k.Code[at].Order
	return order >= l.First && order < l.Behind && k.Origin(at).Function == l.Function
}

// Contains reports whether another loop is a part of this one.
func (l *Loop) Contains(other *Loop) bool {
	return l.Function == other.Function && l.First <= other.First && l.Behind >= other.Behind
}

// Label is one of the places that an indexed jump may go to.
type Label struct {
	At     int32 // index into Kernel.Code
	Arrive int32 // as of a branch
}

// Register is a register; those of all functions of a kernel are numbered together.
type Register struct {
	Bank  lane.Bank
	Index int32
}

// R32 is a register of lane.R32.
func R32(index int32) Register { return Register{lane.R32, index} }

// R64 is a register of lane.R64.
func R64(index int32) Register { return Register{lane.R64, index} }

// P is a predicate.
func P(index int32) Register { return Register{lane.P, index} }

// Origin is the instruction of the text that one of the code comes from.
type Origin struct {
	Function *ptx.Function
	Inst     int32 // of the function; the number of its instructions stands for its end
}

// PTX is the instruction itself, nil at the end of a function.
func (o Origin) PTX() *ptx.Inst {
	if int(o.Inst) >= len(o.Function.Insts) {
		return nil
	}
	return &o.Function.Insts[o.Inst]
}

// Kernel is an entry point with the functions that it calls.
type Kernel struct {
	Name      string
	Target    *target.Target // that it runs as
	Module    *ptx.Module
	Entry     *ptx.Function
	Code      []Inst
	Origins   []Origin   // of the code, each once
	Registers [3]int     // of each bank, constants included
	Written   [3]int     // those that instructions write; constants follow
	Clear     [3][]int32 // registers of each bank that may be read before they are written: zero where a warp starts
	ClearAll  bool       // that is all of them
	Constants []Constant
	Barriers  []Barrier
	Calls     []Call
	Switches  [][]Label
	Copies    []memory.Copy
	Textures  []Texture
	Frames    []Frame // by function, as calls number them
	Local     int     // bytes of local memory of a thread
	Stack     uint64  // of these bytes, the last: the stack of functions that are called through pointers or call themselves, and of alloca
	StackUsed int32   // register of lane.R64: how much of it is in use
	Shared    uint64  // bytes of static shared memory, behind which the dynamic part begins
	Reserved  uint64  // bytes of these that belong to the system, the last ones; 0 when the kernel does not ask for them
	Loops     []Loop  // that look at what other threads may change
	Ordered   bool    // blocks see each other's memory through atomics or volatile accesses: one at a time

	Approximations []Approximation // instructions whose results may differ from a GPU's, in their order
	Arrivals       []Arrival       // where these may decide something

	ByAddress   bool // its parameters are also read through addresses
	Cooperative bool // asks for what the blocks of a cooperative grid share
}

// Origin is where an instruction of the code comes from.
func (k *Kernel) Origin(at int32) Origin { return k.Origins[k.Code[at].Origin] }

// Barrier is the static part of a barrier instruction.
type Barrier struct {
	Reduce  reduction
	ID      int32 // register of 32 bits, -1: 0
	Threads int32 // likewise, -1: all of the block
	Arrive  bool  // does not wait
	Warp    bool  // bar.warp.sync
	Aligned bool
	In, Out Register // of a reduction
}

// Texture is the static part of an access of a texture or a surface. A fetch writes its texel to the registers of Out. Of a surface Out
// is the address at which the access lands, of lane.R64, and the predicate that says whether it does: loads and stores follow.
type Texture struct {
	texture.Access
	Handle      int32    // register of lane.R64
	Coordinates [3]int32 // registers of lane.R32
	Layer       int32    // likewise, -1 none
	Out         []int32  // registers, -1 nobody wants it
	Surface     bool
	Boundary    texture.Boundary // of a surface
	Bytes       uint32           // of a surface: that are accessed
	Store       bool             // of a surface
}

// reduction is what bar.red does with a predicate of every thread.
type reduction uint8

// The reductions.
const (
	ReduceNone reduction = iota
	ReducePopc
	ReduceAnd
	ReduceOr
)

// Call is a call of a function of the system, which has no body, such as vprintf: its arguments as words of parameter memory.
type Call struct {
	Name   string
	Params []Words
	Result Words // First is -1: nobody asks for it
}

// Words is a variable in parameter memory: consecutive registers of 32 bits.
type Words struct {
	First int32 // register of lane.R32
	Bytes uint64
}

// Frame is a function as calls see it: where its local memory begins in that of the thread, and its size; of one that is dynamic the
// memory lies on the stack.
type Frame struct {
	First, Bytes uint64
	Entry        int32      // where its code begins
	Address      uint64     // by which pointers lead to it
	Dynamic      bool       // pointers may lead to it, or it calls itself
	Own          []Register // of such a function: what an outer call of it has to find again
}

// Registers are the registers of the words.
func (w Words) Registers() []Register {
	var out []Register
	for i := range int32((w.Bytes + 3) / 4) {
		out = append(out, R32(w.First+i))
	}
	return out
}
