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
	version = 2

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
	atSums      = 96
	atSlots     = 104
	atKnown     = 108
	atPlaces    = 112
	atArrays    = 116
	atTable     = 120
	atCursor    = 128 // from here on the kernel writes
	atOutside   = 136
	atFull      = 144
	atElsewhere = 152
	atUncounted = 160
	atLow       = 176 // and the host again
	atSpan      = 184
	atOccur     = 192
	atSites     = 200
	atRate      = 204
	atChosen    = 208
	atWhich     = 212
	atAfter     = 216

	atOperandCursor = 168 // the kernel's
	atOperands      = 224
	atRoom          = 232
	atVisits        = 240
	atDepth         = 248
	atLanes         = 252

	headerBytes = 256
	entryBytes  = 64
	eventBytes  = 32
	placeBytes  = 32
	sumBytes    = 16

	entryState = 0
	entryTotal = 8
	entryHash  = 16
	entryStop  = 24
	entrySkip  = 32
	entryKept  = 40
	entryTurns = 48

	modeEvents = 1
	modeRing   = 2
	modeOccurs = 4
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

	Last   bool    // keep the last Budget events of a warp, not its first ones
	Rate   uint32  // of the events of a warp at a site keep the first of so many; 0 and 1: every one
	Sites  uint32  // of the kernel
	Window *Window // keep what is around an event; nil: nothing in particular

	Operands bool   // what every lane compares, stores or chooses by is kept beside the events of kernels that say it
	Depth    uint32 // at the first so many visits of each site by a warp; 0: at all
	Lanes    uint32 // of a warp; 0: 32

	Known  uint32  // sums of each warp whose array is known
	Sought uint32  // statements whose array is looked for: each has a sum for every array
	Arrays []Array // that the launch may write
}

// Window is around one event of each warp: when a site was passed for the n-th time. Budget events are kept, so many of them behind it.
type Window struct {
	Site       uint32
	Occurrence uint32 // from 0
	After      uint64
}

// Array is where an array lies, as a kernel has it.
type Array struct {
	ID     uint32
	Base   uint64  // what offsets in it count from
	Pieces []Piece // of memory that belong to it; where several arrays have a piece, it is the last one's
}

// Piece is some memory.
type Piece struct{ From, Bytes uint64 }

// Slots are the sums of each warp.
func (p *Plan) Slots() uint64 { return uint64(p.Known) + uint64(p.Sought)*uint64(len(p.Arrays)) }

// ring reports whether events of a warp take turns in its room.
func (p *Plan) ring() bool { return p.Events && (p.Last || p.Window != nil) }

// counters is how many bytes of a warp say how often it passed each site.
func (p *Plan) counters() uint64 {
	if !p.Events || p.Rate <= 1 && p.Window == nil {
		return 0
	}
	return (4*uint64(p.Sites) + 15) / 16 * 16
}

// pieces are those of all arrays.
func (p *Plan) pieces() (n uint64) {
	for i := range p.Arrays {
		n += uint64(len(p.Arrays[i].Pieces))
	}
	return n
}

// The bounds of what one warp stores: more is not summed.
const (
	maxSlots  = 1 << 16
	maxPieces = 1 << 12
)

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
	slots, pieces := p.Slots(), p.pieces()
	if slots > maxSlots || pieces > maxPieces || headerBytes+pieces*placeBytes > uint64(len(memory)) {
		slots, pieces = 0, 0 // all that is stored is counted as lost
	}
	directory := headerBytes + pieces*placeBytes
	entries := uint64(0)
	if p.First < p.Warps {
		entries = min(p.Warps-p.First, wanted, (uint64(len(memory))-directory)/(entryBytes+slots*sumBytes+p.counters()+p.visits()))
	}
	sums := directory + entries*entryBytes
	occurrences := sums + entries*slots*sumBytes
	visits := occurrences + entries*p.counters()
	base := min((visits+entries*p.visits()+chunkBytes-1)/chunkBytes*chunkBytes, uint64(len(memory)))
	left := p.forEvents(uint64(len(memory))-base, entries)
	chunks := uint64(0)
	if p.Events {
		chunks = min(left/chunkBytes, 1<<31)
	}
	budget := p.Budget
	if budget == 0 || budget > MaxEvents {
		budget = MaxEvents
	}
	mode := uint32(0)
	if p.Events {
		mode = modeEvents
	}
	if p.ring() && entries > 0 {
		if most := left / eventBytes / entries; most > 0 {
			mode, chunks, budget = mode|modeRing, 0, min(budget, most)
		} else {
			chunks = 0 // everything is counted as lost
		}
	}
	if p.counters() > 0 {
		mode |= modeOccurs
	}
	operands := base + chunks*chunkBytes
	if mode&modeRing != 0 {
		operands = (base + entries*budget*eventBytes + 15) / 16 * 16
	}
	room := p.placeOperands(operands, uint64(len(memory)), entries, mode&modeRing != 0)
	clear(memory[:headerBytes])
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(memory[at:], v) }
	put(atMagic, magic)
	binary.LittleEndian.PutUint32(memory[atVersion:], version)
	binary.LittleEndian.PutUint32(memory[atHeader:], headerBytes)
	put(atCapacity, uint64(len(memory)))
	put(atDirectory, directory)
	put(atSums, sums)
	put(atTable, headerBytes)
	put(atOccur, occurrences)
	put(atOperands, operands)
	put(atRoom, room)
	put(atVisits, visits)
	for i := range entries * min(uint64(mode&modeRing), 1) {
		put(int(directory+i*entryBytes+entryStop), ^uint64(0))
	}
	half := func(at int, v uint64) { binary.LittleEndian.PutUint32(memory[at:], uint32(v)) }
	half(atSites, (uint64(p.Sites)+3)/4*4) // rows are whole
	half(atDepth, uint64(p.Depth)*min(p.visits(), 1))
	half(atLanes, p.lanes())
	half(atRate, uint64(max(p.Rate, 1)))
	if half(atChosen, 1<<32-1); p.Window != nil {
		half(atChosen, uint64(p.Window.Site))
		half(atWhich, uint64(p.Window.Occurrence))
		put(atAfter, p.Window.After)
	}
	half(atSlots, slots)
	half(atKnown, uint64(p.Known))
	half(atArrays, uint64(len(p.Arrays)))
	if half(atPlaces, pieces); pieces > 0 {
		low, high := p.place(memory[headerBytes:directory])
		put(atLow, low)
		put(atSpan, high-low)
	}
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

// place writes the table of arrays, and returns between which addresses they lie.
func (p *Plan) place(table []byte) (low, high uint64) {
	low = ^uint64(0)
	for i := range p.Arrays {
		a := &p.Arrays[i]
		for _, piece := range a.Pieces {
			binary.LittleEndian.PutUint64(table, piece.From)
			binary.LittleEndian.PutUint64(table[8:], piece.Bytes)
			binary.LittleEndian.PutUint64(table[16:], piece.From-(a.Pieces[0].From-a.Base))
			binary.LittleEndian.PutUint32(table[24:], a.ID)
			binary.LittleEndian.PutUint32(table[28:], uint32(i))
			table = table[placeBytes:]
			low, high = min(low, piece.From), max(high, piece.From+piece.Bytes)
		}
	}
	return low, high
}
