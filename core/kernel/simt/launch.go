package simt

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// launch is what all blocks of one launch share.
type launch struct {
	job           *job.Job
	vars          *Variables
	kernel        *kernel
	code          []inst // the kernel's, with what the options ask for
	copies        []memory.Copy
	request       *Launch
	options       Options
	global        *memory.Global
	firstVariable int // number of the allocation of the module's first variable
	blocks        uint64
	warps         int
	order         []uint64 // of blocks, nil ascending
	spent         atomic.Uint64
	watching      observer // nil: nobody looks
}

// limits of a launch.
const (
	maxBlocks   = 1 << 40
	maxOrdered  = 1 << 22 // blocks that a seed permutes; the order of more is ascending
	maxFindings = 1000    // unless the options say otherwise
)

// Streams of random numbers under one seed.
const (
	seedBlocks = 0x626c6f636b73
	seedWarps  = 0x7761727073
)

// prepare checks a launch against its kernel and lays out memory.
func prepare(j *job.Job, k *kernel, v *Variables, l *Launch, who observer) (*launch, error) {
	if err := checkLaunch(k, l); err != nil {
		return nil, err
	}
	r := &launch{job: j, vars: v, kernel: k, request: l, options: l.Options, watching: who, firstVariable: len(l.Memory)}
	r.blocks = uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2])
	r.warps = int((l.Block[0]*l.Block[1]*l.Block[2] + lane.Lanes - 1) / lane.Lanes)
	if r.options.MaxFindings <= 0 {
		r.options.MaxFindings = maxFindings
	}
	global, err := memory.NewGlobal(append(append([]memory.Allocation(nil), l.Memory...), v.allocations()...))
	if err != nil {
		return nil, err
	}
	r.global = global
	arguments := make([]int, len(l.Params))
	for i, a := range l.Params {
		arguments[i] = a.Allocation
	}
	global.Arguments(arguments)
	for i, a := range l.Params {
		if a.Allocation < 0 && a.Bits == 0 && (strings.HasPrefix(a.Type, "*") || k.entry.Params[i].Pointer) {
			global.Null(i)
		}
	}
	if r.options.GlobalRaces {
		if r.blocks > math.MaxInt32 {
			return nil, r.limitError("races in global memory are looked for in up to %d blocks", math.MaxInt32)
		}
		global.Watch()
	}
	r.code = r.variant()
	if seed := r.options.ScheduleSeed; seed != 0 && r.blocks <= maxOrdered {
		r.order = make([]uint64, r.blocks)
		for i := range r.order {
			r.order[i] = uint64(i)
		}
		rand.New(rand.NewPCG(seed, seedBlocks)).Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	}
	return r, nil
}

// checkLaunch says what is wrong with a launch.
func checkLaunch(k *kernel, l *Launch) error {
	blocks, threads := uint64(1), uint64(1)
	for i := range l.Grid {
		if l.Grid[i] > target.MaxGrid[i] || l.Block[i] == 0 || l.Block[i] > target.MaxThreads {
			return fault.Usagef("kernel %s: grid %v, block %v: not a launch of a GPU", k.name, l.Grid, l.Block)
		}
		blocks *= uint64(l.Grid[i])
		threads *= uint64(l.Block[i])
		if blocks > maxBlocks {
			return fault.New(fault.Limit, "kernel %s: a grid of %v has more than %d blocks", k.name, l.Grid, int64(maxBlocks))
		}
	}
	if threads > target.MaxThreads {
		return fault.Usagef("kernel %s: a block of %v has %d threads, a GPU allows %d", k.name, l.Block, threads, target.MaxThreads)
	}
	if n := k.entry.ReqNTID; n[0] != 0 && [3]uint32{n[0], max(n[1], 1), max(n[2], 1)} != l.Block {
		return fault.Usagef("kernel %s was compiled for blocks of %v threads (.reqntid), launched with %v", k.name, n, l.Block)
	}
	if n := k.entry.MaxNTID; n[0] != 0 && threads > uint64(n[0])*uint64(max(n[1], 1))*uint64(max(n[2], 1)) {
		return fault.Usagef("kernel %s was compiled for at most %v threads a block (.maxntid), launched with %v", k.name, n, l.Block)
	}
	t := k.target
	if uint64(max(l.Cluster[0], 1))*uint64(max(l.Cluster[1], 1))*uint64(max(l.Cluster[2], 1)) > t.ClusterBlocks {
		return fault.New(fault.Incompatible, "kernel %s: a cluster of %v blocks needs sm_90, the machine is an %s", k.name, l.Cluster, t.Name)
	}
	if l.SharedBytes > t.SharedBytes || k.shared+l.SharedBytes > t.SharedBytes {
		return fault.New(fault.Limit, "kernel %s needs %d bytes of shared memory, a block of an %s has %d", k.name, k.shared+l.SharedBytes, t.Name, t.SharedBytes)
	}
	return checkParams(k, l)
}

func checkParams(k *kernel, l *Launch) error {
	if len(l.Params) != len(k.entry.Params) {
		return fault.Usagef("kernel %s takes %d parameters, the launch has %d", k.name, len(k.entry.Params), len(l.Params))
	}
	for i, a := range l.Params {
		if a.Allocation < -1 || a.Allocation >= len(l.Memory) {
			return fault.Usagef("kernel %s: parameter %d names allocation %d of %d", k.name, i, a.Allocation, len(l.Memory))
		}
		if k.entry.Params[i].Bytes > 8 {
			return fault.New(fault.Incompatible, "kernel %s: parameter %d is a structure of %d bytes, which launches of the machine do not pass",
				k.name, i, k.entry.Params[i].Bytes)
		}
	}
	return nil
}

// variant is the code of the kernel with what the launch asks for.
func (r *launch) variant() []inst {
	numbers := r.numbers()
	r.copies = r.kernel.copies
	if !r.options.NaN && r.watching == nil && numbers == 0 {
		return r.kernel.code
	}
	r.copies = append([]memory.Copy(nil), r.copies...)
	for i := range r.copies {
		r.copies[i].From.Legal &^= numbers
	}
	code := append([]inst(nil), r.kernel.code...)
	for i := range code {
		in := &code[i]
		if in.mem != nil && in.mem.Legal&numbers != 0 {
			held := *in.mem
			held.Legal &^= numbers
			in.mem = &held
		}
		if in.hidden {
			continue
		}
		if r.options.NaN {
			lookForNaN(r.kernel, in)
		}
		in.watch = r.watching != nil && r.watching.wants(int32(i))
	}
	return code
}

// numbers are the parameters of 8 bytes that the launch says are no pointers, as strides are: an address that derives from one
// and from a pointer belongs to the pointer.
func (r *launch) numbers() uint64 {
	var set uint64
	for i, a := range r.request.Params {
		if a.Allocation < 0 && a.Type != "" && !strings.HasPrefix(a.Type, "*") && !r.kernel.entry.Params[i].Pointer {
			set |= 1 << min(i, 63)
		}
	}
	for i := 63; i < len(r.request.Params); i++ {
		if r.request.Params[i].Allocation >= 0 {
			set &^= 1 << 63
		}
	}
	return set
}

// blockIndex is the index of a block by its linear number.
func (r *launch) blockIndex(linear uint64) [3]uint32 {
	x, y := uint64(r.request.Grid[0]), uint64(r.request.Grid[1])
	return [3]uint32{uint32(linear % x), uint32(linear / x % y), uint32(linear / x / y)}
}

// blockNumber is the linear number of the block at an index.
func (r *launch) blockNumber(index [3]uint32) uint64 {
	x, y := uint64(r.request.Grid[0]), uint64(r.request.Grid[1])
	return uint64(index[0]) + x*(uint64(index[1])+y*uint64(index[2]))
}

// limitError is the error for a limit of the machine.
func (r *launch) limitError(format string, args ...any) error {
	return fault.New(fault.Limit, "kernel "+r.kernel.name+": "+format, args...)
}

// spend counts instructions and says whether the launch must stop.
func (r *launch) spend(ctx context.Context, n uint64) error {
	total := r.spent.Add(n)
	if limit := r.options.MaxInstructions; limit > 0 && total > limit {
		return r.limitError("more than %d instructions of warps", limit).(*fault.Error).
			WithHint("a loop may never end; otherwise raise the limit of instructions")
	}
	return ctx.Err()
}

// constantBits is the value of a constant register that does not differ within a block; index is that of the block.
func (r *launch) constantBits(c *constant, index [3]uint32, linear uint64) uint64 {
	l := r.request
	switch c.from {
	case fromLiteral:
		return c.bits
	case fromParam:
		return r.paramBits(c)
	case fromVariable:
		return r.global.Pointer(r.firstVariable+r.vars.allocationOf(c.number), 0) + c.bits
	}
	switch n := c.number; {
	case n >= specialNTID && n < specialNTID+3:
		return uint64(l.Block[n-specialNTID])
	case n >= specialCTAID && n < specialCTAID+3:
		return uint64(index[n-specialCTAID])
	case n >= specialNCTAID && n < specialNCTAID+3:
		return uint64(l.Grid[n-specialNCTAID])
	case n == specialWarps:
		return uint64(r.warps)
	case n == specialSM:
		return linear % uint64(r.kernel.target.Multiprocessors)
	case n == specialSMs:
		return uint64(r.kernel.target.Multiprocessors)
	case n == specialDynamic:
		return l.SharedBytes
	case n == specialShared:
		return r.kernel.shared + l.SharedBytes
	case n == specialSize:
		return lane.Lanes
	}
	return 0
}

// paramBits is a piece of a parameter. Pointers are those of the machine.
func (r *launch) paramBits(c *constant) uint64 {
	a := &r.request.Params[c.number]
	bits := a.Bits
	if a.Allocation >= 0 {
		bits = r.global.Pointer(a.Allocation, a.Bits)
	}
	bits >>= 8 * min(c.bits, 8)
	if c.bits >= 8 {
		bits = 0
	}
	shift := 64 - 8*uint(c.bytes)
	switch {
	case c.half:
		return uint64(uint16(int64(bits<<shift) >> shift))
	case c.signed:
		return uint64(int64(bits<<shift) >> shift)
	}
	return bits << shift >> shift
}

// laneBits is the value of a special register in one thread of a block.
func (r *launch) laneBits(number int, warp, l int) uint64 {
	thread := uint32(warp*lane.Lanes + l)
	x, y := r.request.Block[0], r.request.Block[1]
	switch number {
	case specialTID:
		return uint64(thread % x)
	case specialTID + 1:
		return uint64(thread / x % y)
	case specialTID + 2:
		return uint64(thread / x / y)
	case specialLane:
		return uint64(l)
	case specialWarp:
		return uint64(warp)
	case specialEQ:
		return 1 << l
	case specialLE:
		return 1<<(l+1) - 1
	case specialLT:
		return 1<<l - 1
	case specialGE:
		return math.MaxUint32 &^ (1<<l - 1)
	case specialGT:
		return math.MaxUint32 &^ (1<<(l+1) - 1)
	}
	return 0
}
