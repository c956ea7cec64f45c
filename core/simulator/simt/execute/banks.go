package execute

import (
	"math"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// conflicts counts the passes beyond the first that the banks of shared memory need: lanes that touch different words of one
// bank wait for each other. Accesses of 8 and 16 bytes a lane are served in halves and quarters of a warp, as on hardware.
func conflicts(r *lane.Regs, t *memory.Transfer, size int, lanes uint32) uint64 {
	if t.Absolute || size <= 0 {
		return 0
	}
	var wide [lane.Lanes]uint32
	at := &wide
	if t.Narrow {
		at = &r.R32[t.Address]
	} else {
		for l, a := range r.R64[t.Address] {
			wide[l] = uint32(a)
		}
	}
	if lanes == math.MaxUint32 && oneAfterTheOther(at, uint32(size)) {
		return 0
	}
	shift := max(2, bits.Len(uint(size-1)))
	group := min(target.BankBytes>>shift, lane.Lanes) // lanes that are served at once
	extra := 0
	for start := 0; start < lane.Lanes; start += group {
		if part := lanes >> start & uint32(1<<group-1); part != 0 {
			extra += passes(at[start:], uint32(t.Offset), shift, part) - 1
		}
	}
	return uint64(extra)
}

// pattern is what the block knows of the addresses of an instruction.
func (b *Block) pattern(at int32) *memory.Pattern {
	if b.patterns == nil {
		b.patterns = make([]*memory.Pattern, len(b.code))
	}
	k := b.patterns[at]
	if k == nil {
		k = new(memory.Pattern)
		b.patterns[at] = k
	}
	return k
}

// conflictsAt is conflicts of an access of 16 bytes of all lanes, of whose addresses something is known.
func conflictsAt(r *lane.Regs, t *memory.Transfer, k *memory.Places) uint64 {
	if !k.Counted {
		k.Conflicts, k.Counted = conflicts(r, t, 16, math.MaxUint32), true
	}
	return k.Conflicts
}

// oneAfterTheOther reports whether lanes touch memory without gaps, or all the same place.
func oneAfterTheOther(at *[lane.Lanes]uint32, size uint32) bool {
	step := at[1] - at[0]
	if step != size && step != 0 {
		return false
	}
	for l := 2; l < lane.Lanes; l++ {
		if at[l]-at[l-1] != step {
			return false
		}
	}
	return true
}

// passes is the largest number of different pieces, of 1 << shift bytes each, that lanes touch in one group of banks.
func passes(at []uint32, offset uint32, shift int, part uint32) int {
	if oneEach(at, offset, shift, part) {
		return 1
	}
	var owner [lane.Lanes]uint32
	var used uint32
	groups := uint32(target.BankBytes >> shift)
	for rest := part; rest != 0; rest &= rest - 1 {
		piece := (at[first(rest)] + offset) >> shift
		bank := piece & (groups - 1)
		if used>>bank&1 == 0 {
			used |= 1 << bank
			owner[bank] = piece
		} else if owner[bank] != piece {
			return manyPasses(at, offset, shift, part)
		}
	}
	return 1
}

// oneEach reports whether lanes that are all there touch a bank each.
func oneEach(at []uint32, offset uint32, shift int, part uint32) bool {
	groups := uint32(target.BankBytes >> shift)
	if part != uint32(1)<<groups-1 {
		return false
	}
	var used uint32
	for _, v := range at[:groups] {
		used |= 1 << ((v + offset) >> shift & (groups - 1))
	}
	return used == part
}

// manyPasses is passes where there are conflicts.
func manyPasses(at []uint32, offset uint32, shift int, part uint32) int {
	var pieces [lane.Lanes]uint32
	n := 0
	for rest := part; rest != 0; rest &= rest - 1 {
		pieces[n] = (at[first(rest)] + offset) >> shift
		n++
	}
	slices.Sort(pieces[:n])
	var count [lane.Lanes]uint8
	groups := uint32(target.BankBytes >> shift)
	most := uint8(0)
	for _, piece := range slices.Compact(pieces[:n]) {
		bank := piece & (groups - 1)
		count[bank]++
		most = max(most, count[bank])
	}
	return int(most)
}
