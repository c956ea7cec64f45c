package arena

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// Operands are what every lane held at an event. A lane that is not active has nothing there.
type Operands struct {
	Event  int // of Warp.Events
	Site   uint32
	Active uint64
	Lhs    []uint64 // by lane
	Rhs    []uint64
}

// visits is what the counters of one warp take that say how often operands were kept at each site.
func (p *Plan) visits() uint64 {
	if !p.Events || !p.Operands || p.Depth == 0 {
		return 0
	}
	return (4*uint64(p.Sites) + 15) / 16 * 16
}

func (p *Plan) lanes() uint64 { return uint64(cmp.Or(p.Lanes, 32)) }

// operandBytes is what the operands of all lanes take, with their head.
func operandBytes(lanes uint64) uint64 { return 16 * (lanes + 2) }

// An event of 32 bytes has the operands of 32 lanes beside it, which take 544: of what is left of an arena, events get one part in
// eventShare; but a chunk for each warp, where these take no more than one part in leastShare.
const (
	eventShare = 12
	leastShare = 3
)

// forEvents is how much of what is left of an arena chunks or rings may take.
func (p *Plan) forEvents(left, entries uint64) uint64 {
	if !p.Events || !p.Operands {
		return left
	}
	return max(left/eventShare, min(left/leastShare, entries*chunkBytes))
}

// most is how many operands a launch can leave at most, where that is known: a site leaves a few at each visit, one for each element.
func (p *Plan) most(entries uint64) uint64 {
	const elements = 16
	if p.Depth == 0 {
		return ^uint64(0)
	}
	if sites := uint64(max(p.Sites, 1)); entries > 0 && uint64(p.Depth) < (1<<40)/sites/entries/elements {
		return entries * sites * uint64(p.Depth) * elements
	}
	return ^uint64(0)
}

// placeOperands divides what begins at from: it returns how many operands there is room for, of rings how many of each warp.
func (p *Plan) placeOperands(from, size, entries uint64, ring bool) uint64 {
	if !p.Events || !p.Operands || entries == 0 || from >= size {
		return 0
	}
	n := min((size-from)/operandBytes(p.lanes()), p.most(entries), 1<<32-2)
	if ring {
		return n / entries
	}
	return n
}

// kept is where the operands of one event lie.
type kept struct {
	index, token, number, at uint64
}

// findOperands lists the operands that were written, by warp, in the order in which they were.
func (a *Arena) findOperands() error {
	if a.room == 0 {
		return nil
	}
	step, slots := operandBytes(a.lanes), a.room
	if a.ring {
		slots *= a.warps
	} else {
		cursor := binary.LittleEndian.Uint64(a.memory[atOperandCursor:])
		slots = min(slots, cursor)
		a.NoRoom = cursor - slots
	}
	for slot := range slots {
		at := a.operands + slot*step
		head := a.memory[at:][:32]
		k := kept{binary.LittleEndian.Uint64(head[16:]), binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint64(head[24:]) >> 32, at}
		if a.ring && k.number == 0 {
			continue
		}
		if k.number == 0 || k.token == 0 || k.index >= a.warps || a.ring && slot/a.room != k.index {
			return fault.New(fault.Format, "operands %d of the arena belong to no event", slot)
		}
		a.found = append(a.found, k)
	}
	slices.SortFunc(a.found, func(x, y kept) int {
		return cmp.Or(cmp.Compare(x.index, y.index), cmp.Compare(x.token, y.token), cmp.Compare(x.number, y.number))
	})
	return nil
}

// operandsOf are those of one warp, in the order of its events; those of events that are not kept any more are left out.
func (a *Arena) operandsOf(w *Warp, index uint64) {
	w.Operands = w.Operands[:0]
	from, _ := slices.BinarySearchFunc(a.found, index, func(k kept, i uint64) int { return cmp.Compare(k.index, i) })
	for _, k := range a.found[from:] {
		if k.index != index {
			break
		}
		event := k.token - 1 - w.Before
		site := binary.LittleEndian.Uint32(a.memory[k.at+24:])
		if k.token <= w.Before || event >= uint64(len(w.Events)) || w.Events[event].Site != site {
			a.Orphans++
			continue
		}
		o := Operands{Event: int(event), Site: site, Active: binary.LittleEndian.Uint64(a.memory[k.at+8:])}
		o.Lhs, o.Rhs = make([]uint64, a.lanes), make([]uint64, a.lanes)
		for lane := range a.lanes {
			if o.Active>>lane&1 != 0 {
				own := a.memory[k.at+32+16*lane:]
				o.Lhs[lane], o.Rhs[lane] = binary.LittleEndian.Uint64(own), binary.LittleEndian.Uint64(own[8:])
			}
		}
		w.Operands = append(w.Operands, o)
	}
	if a.ring {
		turns := binary.LittleEndian.Uint64(a.memory[a.directory+index*entryBytes+entryTurns:])
		a.NoRoom += turns - min(turns, a.room)
	}
	a.Deep += a.beyond(index)
}

// beyond is at how many events of a warp operands were left out because the depth was reached.
func (a *Arena) beyond(index uint64) (n uint64) {
	if a.depth == 0 {
		return 0
	}
	for i := range a.sites {
		visits := uint64(binary.LittleEndian.Uint32(a.memory[a.visits+4*(index*a.sites+i):]))
		n += visits - min(visits, a.depth)
	}
	return n
}
