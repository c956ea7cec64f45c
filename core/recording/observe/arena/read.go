package arena

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Arena is one that a kernel has written.
type Arena struct {
	memory                  []byte
	directory, base, chunks uint64
	first, warps            uint64
	events, ring, every     bool
	length                  uint64 // of a ring
	sums, slots             uint64
	marks                   []turn

	operands, room, lanes uint64 // of every lane at events
	visits, sites, depth  uint64
	found                 []kept

	Outside uint64 // events of warps that have no entry
	Full    uint64 // events that found no chunk
	Claimed uint64 // chunks

	Elsewhere uint64 // accesses to no array that is known
	NoRoom    uint64 // operands that found no room, or that others took the place of; of rings once all Warps were read
	Deep      uint64 // events without operands, because warps visited their sites often enough; once all Warps were read
	Orphans   uint64 // operands of events that are not kept any more; likewise

	Uncounted uint64 // accesses of warps that have no entry
}

// Event is one event.
type Event struct {
	Site   uint32
	Active uint64
	Taken  uint64
	Value  uint64
}

// Warp is what one warp left.
type Warp struct {
	Number uint64 // in the launch
	Total  uint64 // events that happened
	Left   uint64 // of these left out, because others stand for them
	Before uint64 // of those that were to be kept and are not, how many came before the first event that is kept
	Hash   uint64 // over them, where no events were asked for
	Events []Event

	Operands []Operands // in the order of the events; several of one event are of several elements

	Sums []Sum // those that are not 0, by slot
}

// Sum is what a warp stored at one statement to one array.
type Sum struct {
	Slot, Count, Hash uint64
	Values            warptrace.ValueSums // without places
	Overflown         bool                // Values are not whole: there were more elements than they can count
}

// Open reads the header of an arena.
func Open(memory []byte) (*Arena, error) {
	if len(memory) < headerBytes || binary.LittleEndian.Uint64(memory) != magic {
		return nil, fault.New(fault.Format, "this is no arena: it does not begin with PRLXARE1")
	}
	get := func(at int) uint64 { return binary.LittleEndian.Uint64(memory[at:]) }
	a := &Arena{
		memory: memory, directory: get(atDirectory), base: get(atBase), chunks: get(atChunks), first: get(atFirst), warps: get(atWarps),
		ring: binary.LittleEndian.Uint32(memory[atMode:])&modeRing != 0, length: get(atBudget),
		every:  binary.LittleEndian.Uint32(memory[atMode:])&modeEvery != 0,
		events: binary.LittleEndian.Uint32(memory[atMode:])&modeEvents != 0, Outside: get(atOutside), Full: get(atFull), Claimed: min(get(atCursor), get(atChunks)),
		operands: get(atOperands), room: get(atRoom), lanes: uint64(binary.LittleEndian.Uint32(memory[atLanes:])),
		visits: get(atVisits), sites: uint64(binary.LittleEndian.Uint32(memory[atSites:])), depth: uint64(binary.LittleEndian.Uint32(memory[atDepth:])),
		sums: get(atSums), slots: uint64(binary.LittleEndian.Uint32(memory[atSlots:])), Elsewhere: get(atElsewhere), Uncounted: get(atUncounted),
	}
	n := uint64(len(memory))
	switch {
	case binary.LittleEndian.Uint32(memory[atVersion:]) != version:
		return nil, fault.New(fault.Format, "an arena of version %d, this prlx reads %d", binary.LittleEndian.Uint32(memory[atVersion:]), version)
	case get(atCapacity) != n || binary.LittleEndian.Uint32(memory[atPerChunk:]) != perChunk,
		a.directory > n || a.warps > (n-a.directory)/entryBytes,
		a.sums > n || a.slots > maxSlots || a.warps > 0 && a.slots*sumBytes > (n-a.sums)/a.warps,
		a.ring && a.warps > 0 && a.length > (n-min(a.base, n))/eventBytes/a.warps,
		a.lanes != 32 && a.lanes != 64 || a.operands > n || a.room > (n-a.operands)/operandBytes(a.lanes),
		a.ring && a.warps > 0 && a.room > (n-a.operands)/operandBytes(a.lanes)/a.warps,
		a.depth > 0 && (a.visits > n || a.warps > 0 && a.sites > (n-a.visits)/4/a.warps),
		a.base > n || a.chunks > (n-a.base)/chunkBytes:
		return nil, fault.New(fault.Format, "the header of the arena was overwritten")
	}
	return a, a.findOperands()
}

// Used says which parts of an arena can have something in them: offset and bytes, ascending. It needs the header alone.
func Used(header []byte) ([][2]uint64, error) {
	if len(header) < headerBytes || binary.LittleEndian.Uint64(header) != magic {
		return nil, fault.New(fault.Format, "this is no arena: it does not begin with PRLXARE1")
	}
	get := func(at int) uint64 { return binary.LittleEndian.Uint64(header[at:]) }
	half := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(header[at:])) }
	n, warps, base, room := get(atCapacity), get(atWarps), get(atBase), min(get(atOperandCursor), get(atRoom))
	events, each := min(get(atCursor), get(atChunks)), uint64(chunkBytes)
	if half(atMode)&modeRing != 0 {
		events, each = warps, min(get(atBudget), n)*eventBytes
		if room = 0; warps > 0 {
			room = min(get(atRoom), n/operandBytes(32)/warps) * warps
		}
	}
	operands, lanes := get(atOperands), half(atLanes)
	if base > n || each > n || each > 0 && events > (n-base)/each || lanes != 32 && lanes != 64 || operands > n || room > (n-operands)/operandBytes(lanes) {
		return nil, fault.New(fault.Format, "the header of the arena was overwritten")
	}
	used := [][2]uint64{{0, base + events*each}}
	if room > 0 {
		used = append(used, [2]uint64{operands, room * operandBytes(lanes)})
	}
	return used, nil
}

// Warps calls do for every warp that left something, ascending. The events are valid during the call.
func (a *Arena) Warps(do func(w *Warp) error) error {
	var w Warp
	seen := make([]bool, a.Claimed)
	for i := range a.warps {
		entry := a.memory[a.directory+i*entryBytes:][:entryBytes]
		w.Number, w.Total, w.Hash = a.first+i, binary.LittleEndian.Uint64(entry[entryTotal:]), binary.LittleEndian.Uint64(entry[entryHash:])
		w.Events, w.Left, w.Before = w.Events[:0], binary.LittleEndian.Uint64(entry[entrySkip:]), 0
		if w.Sums = a.sumsOf(w.Sums[:0], i); w.Total == 0 && len(w.Sums) == 0 && !(a.every && binary.LittleEndian.Uint64(entry[entryPlace:]) != 0) {
			continue
		}
		if a.ring {
			if err := a.turns(&w, i); err != nil {
				return err
			}
		} else if a.every {
			if err := a.follow(&w, i, binary.LittleEndian.Uint64(entry[entryPlace:]), seen); err != nil {
				return err
			}
			w.Total += uint64(len(w.Events))
		} else if a.events {
			if err := a.read(&w, i, binary.LittleEndian.Uint64(entry[entryState:]), seen); err != nil {
				return err
			}
		}
		if w.Operands = w.Operands[:0]; a.room > 0 {
			a.operandsOf(&w, i)
		}
		if err := do(&w); err != nil {
			return err
		}
	}
	return nil
}

// turns reads the ring of a warp: its last events, and those around one.
func (a *Arena) turns(w *Warp, index uint64) error {
	room := a.memory[a.base+index*a.length*eventBytes:][:a.length*eventBytes]
	a.marks = a.marks[:0]
	for k := range a.length {
		if mark := binary.LittleEndian.Uint64(room[k*eventBytes+24:]); mark>>32 != 0 {
			a.marks = append(a.marks, turn{mark >> 32, k})
		}
	}
	slices.SortFunc(a.marks, func(x, y turn) int { return cmp.Compare(x.number, y.number) })
	for i, t := range a.marks {
		if i > 0 && t.number != a.marks[i-1].number+1 {
			return fault.New(fault.Format, "warp %d: an event was counted and not written", w.Number)
		}
		e := room[t.at*eventBytes:][:eventBytes]
		w.Events = append(w.Events, eventOf(e))
	}
	if len(a.marks) > 0 {
		w.Before = a.marks[0].number - 1
	}
	return nil
}

// turn is where an event of a ring is, and how many were kept up to it.
type turn struct{ number, at uint64 }

// eventOf reads an event.
func eventOf(e []byte) Event {
	return Event{
		Site: uint32(binary.LittleEndian.Uint64(e[24:])), Active: binary.LittleEndian.Uint64(e), Taken: binary.LittleEndian.Uint64(e[8:]),
		Value: binary.LittleEndian.Uint64(e[16:]),
	}
}

// sumsOf appends what a warp stored.
func (a *Arena) sumsOf(into []Sum, index uint64) []Sum {
	row := a.memory[a.sums+index*a.slots*sumBytes:][:a.slots*sumBytes]
	for slot := range a.slots {
		get := func(at uint64) uint64 { return binary.LittleEndian.Uint64(row[slot*sumBytes+at:]) }
		if count, marks := get(0), get(32); count != 0 {
			values := warptrace.ValueSums{Hash: get(16), Bits: get(24), Tops: marks & (1<<32 - 1), Specials: marks >> 32}
			into = append(into, Sum{Slot: slot, Count: count, Hash: get(8), Values: values, Overflown: count > mostCounted})
		}
	}
	return into
}

// mostCounted are how many elements of a warp may be counted in 32 bits each: one of 8 bytes has up to 4 values in it.
const mostCounted = (1<<32 - 1) / 4

// link is a chunk in the chain of a warp, and how many of its events were written.
type link struct{ chunk, events uint64 }

// placed is what an entry says where every event is kept: the number of places that were left in its chunk, times 2^40, less than 0 where more
// were asked for; and where the next one would be.
func (a *Arena) placed(place uint64) (l link, ok bool) {
	left, at := int64(place)>>placeShift, place&(1<<placeShift-1)
	begin := uint64(int64(at)-eventBytes*(perChunk+1-left)) - a.base
	return link{begin / chunkBytes, uint64(perChunk - max(left, 0))}, left < perChunk && begin%chunkBytes == 0 && begin/chunkBytes < a.Claimed
}

// placeShift is where in a place stands how many more there are.
const placeShift = 40

// noChunk reports whether a place is that of a warp that has no chunk: it counts from 0.
func noChunk(place uint64) bool {
	left, at := int64(place)>>placeShift, place&(1<<placeShift-1)
	return left <= 0 && int64(at) == -left*eventBytes
}

// follow reads the chunks of a warp where every event is kept.
func (a *Arena) follow(w *Warp, index, place uint64, seen []bool) error {
	var chain []link
	for !noChunk(place) {
		l, ok := a.placed(place)
		if !ok {
			return a.unchained(w)
		}
		before, err := a.own(w, index, l.chunk, seen)
		if err != nil {
			return err
		}
		chain, place = append(chain, l), before
	}
	return a.readChain(w, chain)
}

func (a *Arena) unchained(w *Warp) error {
	return fault.New(fault.Format, "warp %d: its chunks are not chained as a recorder chains them", w.Number)
}

// own checks that a chunk is in the chain of one warp, and returns what stands at its head.
func (a *Arena) own(w *Warp, index, chunk uint64, seen []bool) (uint64, error) {
	if chunk >= a.Claimed || seen[chunk] {
		return 0, a.unchained(w)
	}
	seen[chunk] = true
	head := a.chunk(chunk)
	if binary.LittleEndian.Uint64(head[8:]) != index {
		return 0, fault.New(fault.Format, "warp %d: a chunk of its chain belongs to another warp", w.Number)
	}
	return binary.LittleEndian.Uint64(head), nil
}

// read follows the chunks of a warp from its last one to its first. seen are those of all warps: none has two owners.
func (a *Arena) read(w *Warp, index, state uint64, seen []bool) error {
	var chain []link
	for s := state; s>>32 != 0; {
		before, err := a.own(w, index, s>>32-1, seen)
		if err != nil {
			return err
		}
		chain, s = append(chain, link{s>>32 - 1, min(s&(1<<32-1), perChunk)}), before
	}
	return a.readChain(w, chain)
}

// readChain reads the events of chunks, the last one first.
func (a *Arena) readChain(w *Warp, chain []link) error {
	slices.Reverse(chain)
	for _, l := range chain {
		body := a.chunk(l.chunk)[eventBytes:]
		for k := range l.events {
			e := body[k*eventBytes:][:eventBytes]
			mark := binary.LittleEndian.Uint64(e[24:])
			if mark>>32 != 1 {
				return fault.New(fault.Format, "warp %d: event %d was counted and not written", w.Number, len(w.Events))
			}
			w.Events = append(w.Events, eventOf(e))
		}
	}
	return nil
}

func (a *Arena) chunk(i uint64) []byte { return a.memory[a.base+i*chunkBytes:][:chunkBytes] }
