// Package arena is the memory that recorders inside of kernels write to: a header that the host fills, a directory with an entry for each
// warp, and chunks of events that warps claim as they need them. docs/formats/arena.md says what lies where; runtime/device writes it.
//
// Nothing in an arena is believed when it is read: a kernel may have written over it.
package arena

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/fault"
)

// The places of the header's fields.
const (
	magic   = 0x31455241584c5250 // "PRLXARE1"
	version = 1

	atMagic     = 0
	atVersion   = 8
	atHeader    = 12
	atCapacity  = 16
	atDirectory = 24
	atWarps     = 32
	atBase      = 40
	atChunks    = 48
	atPerChunk  = 56
	atFirst     = 64
	atWanted    = 72
	atMode      = 80
	atBudget    = 88
	atCursor    = 128 // from here on the kernel writes
	atOutside   = 136
	atFull      = 144

	headerBytes = 256
	entryBytes  = 64
	eventBytes  = 32

	entryState = 0
	entryTotal = 8
	entryHash  = 16

	modeEvents = 1
)

// perChunk is how many events a chunk holds; with its head it takes a kilobyte.
const perChunk = 31

const chunkBytes = (perChunk + 1) * eventBytes

// MaxEvents bounds the events that are kept of one warp.
const MaxEvents = 1 << 22

// Plan says what an arena is for.
type Plan struct {
	Warps  uint64 // of the launch
	First  uint64 // the first warp that is recorded
	Wanted uint64 // how many from there on; 0: all
	Events bool   // false: counts and hashes only
	Budget uint64 // events that are kept of a warp, its first ones; 0: as many as there is room for
}

// Least is the size below which an arena for so many warps cannot hold anything.
func Least(warps uint64) uint64 { return headerBytes + warps*entryBytes }

// Prepare makes an arena of memory, which must be zeros, and says what a kernel will find in it. Of more warps than there is room for
// the first ones are recorded; the others are counted.
func Prepare(memory []byte, p Plan) error {
	if len(memory) < headerBytes {
		return fault.New(fault.Limit, "an arena of %d bytes has no room for its header of %d", len(memory), headerBytes)
	}
	wanted := p.Wanted
	if wanted == 0 {
		wanted = ^uint64(0)
	}
	entries := uint64(0)
	if p.First < p.Warps {
		entries = min(p.Warps-p.First, wanted, uint64(len(memory)-headerBytes)/entryBytes)
	}
	base := min((headerBytes+entries*entryBytes+chunkBytes-1)/chunkBytes*chunkBytes, uint64(len(memory)))
	chunks := uint64(0)
	if p.Events {
		chunks = min((uint64(len(memory))-base)/chunkBytes, 1<<31)
	}
	budget := p.Budget
	if budget == 0 || budget > MaxEvents {
		budget = MaxEvents
	}
	mode := uint32(0)
	if p.Events {
		mode = modeEvents
	}
	clear(memory[:headerBytes])
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(memory[at:], v) }
	put(atMagic, magic)
	binary.LittleEndian.PutUint32(memory[atVersion:], version)
	binary.LittleEndian.PutUint32(memory[atHeader:], headerBytes)
	put(atCapacity, uint64(len(memory)))
	put(atDirectory, headerBytes)
	put(atWarps, entries)
	put(atBase, base)
	put(atChunks, chunks)
	binary.LittleEndian.PutUint32(memory[atPerChunk:], perChunk)
	put(atFirst, p.First)
	put(atWanted, wanted)
	binary.LittleEndian.PutUint32(memory[atMode:], mode)
	put(atBudget, budget)
	return nil
}
