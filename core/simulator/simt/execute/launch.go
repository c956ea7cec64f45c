package execute

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// Running is a launch that runs: what all of its blocks share. Who observes it reads the exported part.
type Running struct {
	Request       *Launch
	Kernel        *code.Kernel
	Code          []code.Inst // the kernel's, with what the options ask for
	Global        *memory.Global
	Variables     *Variables
	FirstVariable int      // the variables are the allocations from here on
	Blocks        uint64   // of the grid
	Warps         int      // of a block
	Order         []uint64 // of blocks, nil ascending

	job      *job.Job
	params   []byte // of a kernel that reads them by address
	copies   []memory.Copy
	options  Options
	spent    atomic.Uint64
	changes  uint64 // that blocks made to memory which others see; counted where they run in turn
	writes   writes
	undo     *memory.Undo // of memory, where a first try looks for races in it; else nil
	once     bool         // there was a first try
	observer Observer     // nil: nobody looks

	watchAll   sync.Once
	allWatched []code.Inst // where somebody divided by zero
}

// limits of a launch.
const (
	maxBlocks   = 1 << 40
	maxOrdered  = 1 << 22 // blocks that a seed permutes; the order of more is ascending
	maxFindings = 1000    // unless the options say otherwise
)

// DefaultInstructions is how many instructions of warps a launch may have that names no limit: minutes of one core.
const DefaultInstructions = 10_000_000_000

// Unlimited as MaxInstructions lets a launch run for as long as it takes.
const Unlimited = math.MaxUint64

// Streams of random numbers under one seed.
const (
	seedBlocks = 0x626c6f636b73
	seedWarps  = 0x7761727073
)

// prepare checks a launch against its kernel and lays out memory.
func prepare(j *job.Job, k *code.Kernel, v *Variables, l *Launch, who Observer) (*Running, error) {
	if err := checkLaunch(k, l); err != nil {
		return nil, err
	}
	r := &Running{job: j, Variables: v, Kernel: k, Request: l, options: l.Options, observer: who, FirstVariable: len(l.Memory)}
	r.Blocks = uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2])
	r.Warps = int((l.Block[0]*l.Block[1]*l.Block[2] + lane.Lanes - 1) / lane.Lanes)
	if r.options.MaxFindings <= 0 {
		r.options.MaxFindings = maxFindings
	}
	global, err := memory.NewGlobal(r.memory())
	if err != nil {
		return nil, err
	}
	r.Global = global
	if err := r.resizeHeap(); err != nil {
		return nil, err
	}
	global.Serve(&v.heap)
	if l.Standing != nil {
		global.Stand(l.Standing)
	}
	arguments := make([]int, len(l.Params))
	for i, a := range l.Params {
		arguments[i] = a.Allocation
	}
	global.Arguments(arguments)
	if k.ByAddress {
		r.fillParams()
	}
	for i, a := range l.Params {
		if a.Allocation < 0 && a.Bits == 0 && (strings.HasPrefix(a.Type, "*") || k.Entry.Params[i].Pointer) {
			global.Null(i)
		}
	}
	if r.options.GlobalRaces {
		if r.Blocks > math.MaxInt32 {
			return nil, r.limitError("races in global memory are looked for in up to %d blocks", math.MaxInt32)
		}
		global.Watch()
	}
	r.observer = r.inspected()
	r.Code = r.variant()
	if seed := r.options.ScheduleSeed; seed != 0 && r.Blocks <= maxOrdered {
		r.Order = make([]uint64, r.Blocks)
		for i := range r.Order {
			r.Order[i] = uint64(i)
		}
		rand.New(rand.NewPCG(seed, seedBlocks)).Shuffle(len(r.Order), func(i, j int) { r.Order[i], r.Order[j] = r.Order[j], r.Order[i] })
	}
	return r, nil
}

// checkLaunch says what is wrong with a launch.
func checkLaunch(k *code.Kernel, l *Launch) error {
	blocks, threads := uint64(1), uint64(1)
	for i := range l.Grid {
		if l.Grid[i] > target.MaxGrid[i] || l.Grid[i] == 0 || l.Block[i] == 0 || l.Block[i] > target.MaxBlock[i] {
			return fault.Usagef("kernel %s: grid %v, block %v: not a launch of a GPU", k.Name, l.Grid, l.Block).WithHint(
				"a grid has 1 to %v blocks, a block 1 to %v threads and at most %d in all", target.MaxGrid, target.MaxBlock, target.MaxThreads)
		}
		blocks *= uint64(l.Grid[i])
		threads *= uint64(l.Block[i])
		if blocks > maxBlocks {
			return fault.New(fault.Limit, "kernel %s: a grid of %v has more than %d blocks", k.Name, l.Grid, int64(maxBlocks))
		}
	}
	if threads > target.MaxThreads {
		return fault.Usagef("kernel %s: a block of %v has %d threads, a GPU allows %d", k.Name, l.Block, threads, target.MaxThreads)
	}
	if n := k.Entry.ReqNTID; n[0] != 0 && [3]uint32{n[0], max(n[1], 1), max(n[2], 1)} != l.Block {
		return fault.Usagef("kernel %s was compiled for blocks of %v threads (.reqntid), launched with %v", k.Name, n, l.Block)
	}
	if n := k.Entry.MaxNTID; n[0] != 0 && threads > uint64(n[0])*uint64(max(n[1], 1))*uint64(max(n[2], 1)) {
		return fault.Usagef("kernel %s was compiled for at most %v threads a block (.maxntid), launched with %v", k.Name, n, l.Block)
	}
	t := k.Target
	if uint64(max(l.Cluster[0], 1))*uint64(max(l.Cluster[1], 1))*uint64(max(l.Cluster[2], 1)) > t.ClusterBlocks {
		return fault.New(fault.Incompatible, "kernel %s: a cluster of %v blocks needs sm_90, the simulator runs %s", k.Name, l.Cluster, t.Name)
	}
	if need := k.Shared - k.Reserved + l.SharedBytes; l.SharedBytes > t.SharedBytes || need > t.SharedBytes {
		return fault.New(fault.Limit, "kernel %s needs %d bytes of shared memory, a block of an %s has %d", k.Name, need, t.Name, t.SharedBytes).
			WithHint("fewer stages, or smaller tiles, need less of it")
	}
	if k.Cooperative {
		if most := residentBlocks(k, l, threads); blocks > most {
			return fault.New(fault.Limit, "kernel %s: all blocks of a cooperative grid must be there at once: the %s holds %d of these, the grid has %d",
				k.Name, t.Name, most, blocks).WithHint("a grid of at most that many blocks, each of which does more")
		}
	}
	return checkParams(k, l)
}

// residentBlocks is how many blocks of a launch the multiprocessors hold at once, by their threads and their shared memory.
func residentBlocks(k *code.Kernel, l *Launch, threads uint64) uint64 {
	t := k.Target
	warps := (threads + lane.Lanes - 1) / lane.Lanes
	each := min(t.ResidentThreads/(warps*lane.Lanes), t.BlocksOfOne)
	if shared := k.Shared - k.Reserved + l.SharedBytes; shared > 0 {
		each = min(each, (t.SharedBytes+reservedOfOne)/(shared+reservedOfOne))
	}
	return each * uint64(t.Multiprocessors)
}

// reservedOfOne is what the system takes of shared memory for each block.
const reservedOfOne = 1 << 10

func checkParams(k *code.Kernel, l *Launch) error {
	if len(l.Params) != len(k.Entry.Params) {
		return fault.Usagef("kernel %s takes %d parameters, the launch has %d", k.Name, len(k.Entry.Params), len(l.Params))
	}
	for i, a := range l.Params {
		if a.Allocation < -1 || a.Allocation >= len(l.Memory) {
			return fault.Usagef("kernel %s: parameter %d names allocation %d of %d", k.Name, i, a.Allocation, len(l.Memory))
		}
		switch want := k.Entry.Params[i].Bytes; {
		case want > 8 && uint64(len(a.Data)) != want:
			return fault.Usagef("kernel %s: parameter %d is a structure of %d bytes, the launch passes %d", k.Name, i, want, len(a.Data))
		case want <= 8 && a.Data != nil:
			return fault.Usagef("kernel %s: parameter %d has %d bytes: they are passed as a number", k.Name, i, want)
		}
	}
	return nil
}

// variant is the code of the kernel with what the launch asks for.
func (r *Running) variant() []code.Inst {
	numbers := r.numbers()
	r.copies = r.Kernel.Copies
	if !r.options.NaN && r.observer == nil && numbers == 0 {
		return r.Kernel.Code
	}
	r.copies = append([]memory.Copy(nil), r.copies...)
	for i := range r.copies {
		r.copies[i].From.Legal &^= numbers
	}
	code := append([]code.Inst(nil), r.Kernel.Code...)
	for i := range code {
		in := &code[i]
		if in.Mem != nil && in.Mem.Legal&numbers != 0 {
			held := *in.Mem
			held.Legal &^= numbers
			in.Mem = &held
		}
		if in.Hidden {
			continue
		}
		if r.options.NaN {
			lookForNaN(r.Kernel, in)
		}
		in.Watch = r.observer != nil && r.observer.Wants(int32(i))
	}
	return code
}

// numbers are the parameters of 8 bytes that the launch says are no pointers, as strides are: an address that derives from one
// and from a pointer belongs to the pointer.
func (r *Running) numbers() uint64 {
	var set uint64
	for i, a := range r.Request.Params {
		if a.Allocation < 0 && a.Type != "" && !strings.HasPrefix(a.Type, "*") && !r.Kernel.Entry.Params[i].Pointer {
			set |= 1 << min(i, 63)
		}
	}
	for i := 63; i < len(r.Request.Params); i++ {
		if r.Request.Params[i].Allocation >= 0 {
			set &^= 1 << 63
		}
	}
	return set
}

// blockIndex is the index of a block by its linear number.
func (r *Running) blockIndex(linear uint64) [3]uint32 {
	x, y := uint64(r.Request.Grid[0]), uint64(r.Request.Grid[1])
	return [3]uint32{uint32(linear % x), uint32(linear / x % y), uint32(linear / x / y)}
}

// BlockNumber is the linear number of the block at an index.
func (r *Running) BlockNumber(index [3]uint32) uint64 {
	x, y := uint64(r.Request.Grid[0]), uint64(r.Request.Grid[1])
	return uint64(index[0]) + x*(uint64(index[1])+y*uint64(index[2]))
}

// limitError is the error for a limit of the simulator.
func (r *Running) limitError(format string, args ...any) error {
	return fault.New(fault.Limit, "kernel "+r.Kernel.Name+": "+format, args...)
}

// spend counts instructions and says whether the launch must stop; where says at which line the block is that spent them.
func (r *Running) spend(ctx context.Context, n uint64, where func() string) error {
	limit := r.options.MaxInstructions
	if limit == 0 {
		limit = DefaultInstructions
	}
	if r.spent.Add(n) > limit {
		hint := "a loop may never end; otherwise raise the limit of instructions (max_instructions, --max-instructions), or lift it with 0"
		if r.options.MaxInstructions == 0 {
			hint = "launches that name no limit have this one; " + hint
		}
		return r.limitError("more than %d instructions of warps%s", limit, where()).(*fault.Error).WithHint("%s", hint)
	}
	return ctx.Err()
}

// constantBits is the value of a constant register that does not differ within a block; index is that of the block.
func (r *Running) constantBits(c *code.Constant, index [3]uint32, linear uint64) uint64 {
	l := r.Request
	switch c.From {
	case code.FromLiteral:
		return c.Bits
	case code.FromParam:
		return r.paramBits(c)
	case code.FromVariable:
		return r.Global.Pointer(r.FirstVariable+r.Variables.allocationOf(c.Number), 0) + c.Bits
	}
	switch n := c.Number; {
	case n >= code.SpecialNTID && n < code.SpecialNTID+3:
		return uint64(l.Block[n-code.SpecialNTID])
	case n >= code.SpecialCTAID && n < code.SpecialCTAID+3:
		return uint64(index[n-code.SpecialCTAID])
	case n >= code.SpecialNCTAID && n < code.SpecialNCTAID+3:
		return uint64(l.Grid[n-code.SpecialNCTAID])
	case n == code.SpecialWarps:
		return uint64(r.Warps)
	case n == code.SpecialSM:
		return linear % uint64(r.Kernel.Target.Multiprocessors)
	case n == code.SpecialSMs:
		return uint64(r.Kernel.Target.Multiprocessors)
	case n == code.SpecialDynamic:
		return l.SharedBytes
	case n == code.SpecialShared:
		return r.Kernel.Shared - r.Kernel.Reserved + l.SharedBytes
	case n == code.SpecialParams:
		return r.Global.Pointer(r.FirstVariable+len(r.Variables.list), 0)
	case n == code.SpecialGridHigh:
		return r.gridSpace() >> 32
	case n == code.SpecialGridLow:
		return r.gridSpace() & math.MaxUint32
	case n == code.SpecialSize:
		return lane.Lanes
	}
	return 0
}

// gridBytes is the size of what the blocks of a cooperative grid share: the barrier of grid.sync() is in it.
const gridBytes = 1 << 12

// gridSpace is its address: it is the last allocation.
func (r *Running) gridSpace() uint64 {
	at := r.FirstVariable + len(r.Variables.list)
	if r.Kernel.ByAddress {
		at++
	}
	return r.Global.Pointer(at, 0)
}

// memory is what the kernel sees: arrays of the caller, then variables of the module, then what a cooperative grid shares.
func (r *Running) memory() []memory.Allocation {
	list := append(append([]memory.Allocation(nil), r.Request.Memory...), r.Variables.allocations()...)
	if r.Kernel.ByAddress {
		r.params = make([]byte, code.ParamOffset(r.Kernel.Entry, -1))
		list = append(list, memory.Allocation{Name: "the parameters", Bytes: r.params, ReadOnly: true})
	}
	if r.Kernel.Cooperative {
		list = append(list, memory.Allocation{Name: "the barrier of the grid", Bytes: make([]byte, gridBytes)})
	}
	return list
}

// fillParams puts the parameters into the memory by which they are read through addresses.
func (r *Running) fillParams() {
	for i := range r.Request.Params {
		to := r.params[code.ParamOffset(r.Kernel.Entry, i):][:r.Kernel.Entry.Params[i].Bytes]
		if data := r.Request.Params[i].Data; data != nil {
			copy(to, data)
			continue
		}
		var bits [8]byte
		binary.LittleEndian.PutUint64(bits[:], r.paramBits(&code.Constant{Number: i, Bytes: 8}))
		copy(to, bits[:])
	}
}

// paramBits is a piece of a parameter. Pointers are those of the simulator.
func (r *Running) paramBits(c *code.Constant) uint64 {
	a := &r.Request.Params[c.Number]
	bits := a.Bits
	if a.Allocation >= 0 {
		bits = r.Global.Pointer(a.Allocation, a.Bits)
	}
	bits >>= 8 * min(c.Bits, 8)
	if c.Bits >= 8 {
		bits = 0
	}
	if a.Data != nil {
		var piece [8]byte
		copy(piece[:c.Bytes], a.Data[min(c.Bits, uint64(len(a.Data))):])
		bits = binary.LittleEndian.Uint64(piece[:])
	}
	shift := 64 - 8*uint(c.Bytes)
	switch {
	case c.Half:
		return uint64(uint16(int64(bits<<shift) >> shift))
	case c.Signed:
		return uint64(int64(bits<<shift) >> shift)
	}
	return bits << shift >> shift
}

// laneBits is the value of a special register in one thread of a block.
func (r *Running) laneBits(number int, warp, l int) uint64 {
	thread := uint32(warp*lane.Lanes + l)
	x, y := r.Request.Block[0], r.Request.Block[1]
	switch number {
	case code.SpecialTID:
		return uint64(thread % x)
	case code.SpecialTID + 1:
		return uint64(thread / x % y)
	case code.SpecialTID + 2:
		return uint64(thread / x / y)
	case code.SpecialLane:
		return uint64(l)
	case code.SpecialWarp:
		return uint64(warp)
	case code.SpecialEQ:
		return 1 << l
	case code.SpecialLE:
		return 1<<(l+1) - 1
	case code.SpecialLT:
		return 1<<l - 1
	case code.SpecialGE:
		return math.MaxUint32 &^ (1<<l - 1)
	case code.SpecialGT:
		return math.MaxUint32 &^ (1<<(l+1) - 1)
	}
	return 0
}
