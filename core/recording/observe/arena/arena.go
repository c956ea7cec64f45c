// Package arena is the memory that recorders inside of kernels write to: a header that the host fills, a directory with an entry for each
// warp, and chunks of events that warps claim as they need them. docs/formats/arena.md says what lies where; runtime/device writes it.
//
// Nothing in an arena is believed when it is read: a kernel may have written over it.
package arena

import (
	"cmp"
	"encoding/binary"

	"github.com/prlx-go/prlx/core/fault"
)

// The places of the header's fields.
const (
	magic   = 0x31455241584c5250 // "PRLXARE1"
	version = 4

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

	atOutside = 264 // in the entry of warps that have none

	headerBytes = 320
	entryBytes  = 64
	eventBytes  = 32
	placeBytes  = 32
	sumBytes    = 40
	widthBytes  = 4

	entryState = 0
	entryTotal = 8
	entryHash  = 16
	entryPlace = 16 // where every event is kept
	entryStop  = 24
	entrySkip  = 32
	entryKept  = 40
	entryTurns = 48

	modeEvents = 1
	modeRing   = 2
	modeOccurs = 4
	modeEvery  = 8
)

// perChunk is how many events a chunk holds; with its head it takes a kilobyte.
const perChunk = 31

const chunkBytes = (perChunk + 1) * eventBytes

// maxEvents bounds the events that are kept of one warp.
const maxEvents = 1 << 22

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

	Known  []int32 // sums of each warp whose array is known: its ID
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
	Width  uint32  // bytes of its elements; 0 and 1: not known
	Pieces []Piece // of memory that belong to it; where several arrays have a piece, it is the last one's
}

// Piece is some memory.
type Piece struct{ From, Bytes uint64 }

// slots are the sums of each warp.
func (p *Plan) slots() uint64 { return uint64(len(p.Known)) + uint64(p.Sought)*uint64(len(p.Arrays)) }

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

// layout is where the parts of an arena lie.
type layout struct {
	slots, pieces             uint64 // of a warp; of all arrays
	table                     uint64
	directory, entries        uint64
	sums, occurrences, visits uint64
	base, chunks, budget      uint64
	operands, room            uint64
	mode                      uint32
}

// layout divides an arena of a size. Of more warps than there is room for the first ones have an entry.
func (p *Plan) layout(size uint64) (l layout) {
	wanted := p.Wanted
	if wanted == 0 {
		wanted = ^uint64(0)
	}
	l.slots, l.pieces = p.slots(), p.pieces()
	if l.slots > maxSlots || l.pieces > maxPieces || tableAt(l.slots)+l.pieces*placeBytes > size {
		l.slots, l.pieces = 0, 0 // all that is stored is counted as lost
	}
	l.table = tableAt(l.slots)
	l.directory = l.table + l.pieces*placeBytes
	if p.First < p.Warps {
		l.entries = min(p.Warps-p.First, wanted, (size-l.directory)/(entryBytes+l.slots*sumBytes+p.counters()+p.visits()))
	}
	l.sums = l.directory + l.entries*entryBytes
	l.occurrences = l.sums + l.entries*l.slots*sumBytes
	l.visits = l.occurrences + l.entries*p.counters()
	l.base = min((l.visits+l.entries*p.visits()+chunkBytes-1)/chunkBytes*chunkBytes, size)
	left := p.forEvents(size-l.base, l.entries)
	if p.Events {
		l.chunks = min(left/chunkBytes, 1<<31)
	}
	l.budget = p.Budget
	if l.budget == 0 || l.budget > maxEvents {
		l.budget = maxEvents
	}
	if p.Events {
		l.mode = modeEvents
	}
	if p.ring() && l.entries > 0 {
		if most := left / eventBytes / l.entries; most > 0 {
			l.mode, l.chunks, l.budget = l.mode|modeRing, 0, min(l.budget, most)
		} else {
			l.chunks = 0 // everything is counted as lost
		}
	}
	if p.counters() > 0 {
		l.mode |= modeOccurs
	}
	if l.mode == modeEvents && l.budget == maxEvents && !p.Operands {
		l.mode |= modeEvery
	}
	l.operands = l.base + l.chunks*chunkBytes
	if l.mode&modeRing != 0 {
		l.operands = (l.base + l.entries*l.budget*eventBytes + 15) / 16 * 16
	}
	l.room = p.placeOperands(l.operands, size, l.entries, l.mode&modeRing != 0)
	return l
}

// Prepare makes an arena of memory, which must be zeros, and says what a kernel will find in it. Of more warps than there is room for
// the first ones are recorded; the others are counted.
func Prepare(memory []byte, p Plan) error {
	if len(memory) < headerBytes {
		return fault.New(fault.Limit, "an arena of %d bytes has no room for its header of %d", len(memory), headerBytes)
	}
	l := p.layout(uint64(len(memory)))
	clear(memory[:min(tableAt(uint64(len(p.Known))), uint64(len(memory)))]) // an arena is prepared again once its arrays are known
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(memory[at:], v) }
	put(atMagic, magic)
	binary.LittleEndian.PutUint32(memory[atVersion:], version)
	binary.LittleEndian.PutUint32(memory[atHeader:], headerBytes)
	put(atCapacity, uint64(len(memory)))
	put(atDirectory, l.directory)
	put(atSums, l.sums)
	put(atTable, l.table)
	put(atOccur, l.occurrences)
	put(atOperands, l.operands)
	put(atRoom, l.room)
	put(atVisits, l.visits)
	for i := range l.entries * min(uint64(l.mode&modeRing), 1) {
		put(int(l.directory+i*entryBytes+entryStop), ^uint64(0))
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
	half(atSlots, l.slots)
	half(atKnown, uint64(len(p.Known)))
	half(atArrays, uint64(len(p.Arrays)))
	if half(atPlaces, l.pieces); l.pieces > 0 {
		low, high := p.place(memory[l.table:l.directory])
		put(atLow, low)
		put(atSpan, high-low)
	}
	if l.slots > 0 {
		p.widths(memory[headerBytes:l.table])
	}
	put(atWarps, l.entries)
	put(atBase, l.base)
	put(atChunks, l.chunks)
	binary.LittleEndian.PutUint32(memory[atPerChunk:], perChunk)
	put(atFirst, p.First)
	put(atWanted, cmp.Or(p.Wanted, ^uint64(0)))
	binary.LittleEndian.PutUint32(memory[atMode:], l.mode)
	put(atBudget, l.budget)
	return nil
}

// Front is how much of the beginning of a prepared arena is not zeros, and of how many warps it has entries: whoever copies an arena to a GPU copies
// that and clears the rest.
func (p *Plan) Front(size uint64) (bytes, warps uint64) {
	l := p.layout(size)
	if l.mode&modeRing != 0 {
		return l.sums, l.entries
	}
	return l.directory, l.entries
}

// tableAt is where the table of arrays begins: behind the widths of so many sums.
func tableAt(slots uint64) uint64 {
	return headerBytes + (slots*widthBytes+placeBytes-1)/placeBytes*placeBytes
}

// unknownWidth is how wide the elements of an array are whose type is not known: accesses to it are not taken apart.
const unknownWidth = 255

// widths writes how wide the elements of the array of each sum are.
func (p *Plan) widths(table []byte) {
	of := make(map[int32]uint32, len(p.Arrays))
	wide := func(width uint32) uint32 {
		if width <= 1 || width > 8 {
			return unknownWidth
		}
		return width
	}
	for i := range p.Arrays {
		of[int32(p.Arrays[i].ID)] = p.Arrays[i].Width
	}
	put := func(slot int, width uint32) { binary.LittleEndian.PutUint32(table[slot*widthBytes:], wide(width)) }
	for slot, id := range p.Known {
		put(slot, of[id])
	}
	for k := range int(p.Sought) * len(p.Arrays) {
		put(len(p.Known)+k, p.Arrays[k%len(p.Arrays)].Width)
	}
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
