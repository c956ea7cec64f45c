// Package target says what is true of a GPU architecture that the simulator runs kernels as: its limits, and which instructions
// it does not have. The forms of instructions that work on registers are package lane's.
package target

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// What is the same for all GPUs.
const (
	MaxThreads = 1024 // of a block
	Barriers   = 16   // numbered barriers of a block
	BankBytes  = 128  // that the banks of shared memory hold side by side: 32 words of 4 bytes
)

// MaxGrid is the largest grid of a GPU, in blocks, and MaxBlock the largest block, in threads.
var (
	MaxGrid  = [3]uint32{math.MaxInt32, 65535, 65535}
	MaxBlock = [3]uint32{1024, 1024, 64}
)

// Target is one architecture.
type Target struct {
	Name            string // as PTX has it: "sm_80"
	Number          uint32 // the number in it: 80
	SharedBytes     uint64 // that a block can have
	Multiprocessors int    // of the GPU that kernels believe to run on
	ResidentThreads uint64 // that one multiprocessor holds at once
	BlocksOfOne     uint64 // likewise, blocks
	ResidentBlocks  int    // that run side by side here where blocks may wait for each other
	ClusterBlocks   uint64 // of a cluster, 1: there are none

	later     []string // names of instructions that came later
	laterMods []string // modifiers that make one of a later architecture out of an older instruction
	fences    []string // modifiers of membar and fence
	atomics   map[memory.AtomicKind][]ptx.Type
}

var (
	wholeNumbers = []ptx.Type{ptx.U32, ptx.S32, ptx.U64, ptx.S64}
	words        = []ptx.Type{ptx.B32, ptx.B64}
)

// SM80 is an A100.
var SM80 = &Target{
	Name: "sm_80", Number: 80, SharedBytes: 163 << 10, Multiprocessors: 108, ResidentThreads: 2048, BlocksOfOne: 32, ResidentBlocks: 8 * 108, ClusterBlocks: 1,
	later: []string{
		"wgmma", "stmatrix", "elect", "setmaxnreg", "tensormap", "tcgen05", "mapa", "griddepcontrol", "multimem", "getctarank",
		"clusterlaunchcontrol",
	},
	laterMods: []string{"bulk", "cluster", "proxy", "tensor", "expect_tx", "complete_tx", "try_wait", "e4m3x2", "e5m2x2", "e4m3", "e5m2", "shared::cluster"},
	fences:    []string{"gl", "cta", "sys", "gpu", "sc", "acq_rel", "acquire", "release"},
	atomics: map[memory.AtomicKind][]ptx.Type{
		memory.Add: append([]ptx.Type{ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2, ptx.F32, ptx.F64}, wholeNumbers...),
		memory.Min: wholeNumbers, memory.Max: wholeNumbers,
		memory.And: words, memory.Or: words, memory.Xor: words, memory.Exch: words,
		memory.Inc: {ptx.U32}, memory.Dec: {ptx.U32},
		memory.CAS: {ptx.B16, ptx.B32, ptx.B64},
	},
}

// IsLater reports whether an instruction came with a later architecture.
func (t *Target) IsLater(op ptx.Opcode) bool {
	return slices.Contains(t.later, op.Name) || slices.ContainsFunc(op.Mods, func(mod string) bool { return slices.Contains(t.laterMods, mod) })
}

// IsBefore reports whether the architecture that a module names in its .target came later: "sm_90a".
func (t *Target) IsBefore(name string) bool {
	digits := strings.TrimRight(strings.TrimPrefix(name, "sm_"), "abcdefghijklmnopqrstuvwxyz")
	number, err := strconv.ParseUint(digits, 10, 32)
	return err == nil && uint32(number) > t.Number
}

// HasFence reports whether membar and fence have a modifier.
func (t *Target) HasFence(mod string) bool { return slices.Contains(t.fences, mod) }

// HasAtomic reports whether there is an atomic of a kind on a type.
func (t *Target) HasAtomic(kind memory.AtomicKind, on ptx.Type) bool {
	return slices.Contains(t.atomics[kind], on)
}

// Limits are the facts of an architecture that programs and drivers ask for, in the units that they have there.
type Limits struct {
	Capability          [2]uint32 `json:"capability"` // 8, 0
	Warp                uint32    `json:"warp"`       // lanes
	Multiprocessors     int       `json:"multiprocessors"`
	ThreadsOfBlock      uint32    `json:"threads_of_block"`
	Block               [3]uint32 `json:"block"` // threads by dimension
	Grid                [3]uint32 `json:"grid"`  // blocks by dimension
	SharedOfBlock       uint64    `json:"shared_of_block"`
	SharedWithoutAsking uint64    `json:"shared_without_asking"` // that a block may have without a word to the driver
	SharedReserved      uint64    `json:"shared_reserved"`       // of each block, for the driver
	Registers           uint32    `json:"registers"`             // of a multiprocessor, and of a block
	ThreadsAtOnce       uint64    `json:"threads_at_once"`       // of a multiprocessor
	BlocksAtOnce        uint64    `json:"blocks_at_once"`
}

// What all architectures that the simulator knows have in common.
const (
	sharedWithoutAsking = 48 << 10
	sharedReserved      = 1 << 10
	registers           = 1 << 16
	lanes               = 32
)

// Limits are those of the architecture.
func (t *Target) Limits() Limits {
	return Limits{
		Capability: [2]uint32{t.Number / 10, t.Number % 10}, Warp: lanes, Multiprocessors: t.Multiprocessors, ThreadsOfBlock: MaxThreads, Block: MaxBlock, Grid: MaxGrid,
		SharedOfBlock: t.SharedBytes, SharedWithoutAsking: sharedWithoutAsking, SharedReserved: sharedReserved, Registers: registers,
		ThreadsAtOnce: t.ResidentThreads, BlocksAtOnce: t.BlocksOfOne,
	}
}
