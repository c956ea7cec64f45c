//go:build simt

package simt

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
)

// banks of shared memory, each 4 bytes wide.
const banks = 32

// conflicts counts the passes beyond the first that the banks of shared memory need: lanes that touch different words of one
// bank wait for each other. Accesses of 8 and 16 bytes a lane are served in halves and quarters of a warp, as on hardware.
func conflicts(r *lane.Regs, t *memory.Transfer, size int, lanes uint32) uint64 {
	if t.Absolute || size <= 0 {
		return 0
	}
	group := lane.Lanes
	if size > 4 {
		group = lane.Lanes * 4 / min(size, 16)
	}
	extra := 0
	for start := 0; start < lane.Lanes; start += group {
		if part := lanes >> start & uint32(1<<group-1); part != 0 {
			extra += passes(r, t, uint32(size), start, part) - 1
		}
	}
	return uint64(extra)
}

// passes is the largest number of different words of one bank that some lanes touch, from lane start on.
func passes(r *lane.Regs, t *memory.Transfer, size uint32, start int, part uint32) int {
	var words [lane.Lanes * 4]uint32
	var owner [banks]uint32
	var used, again uint32
	n := 0
	for rest := part; rest != 0; rest &= rest - 1 {
		l := start + first(rest)
		address := uint32(t.Offset)
		if t.Narrow {
			address += r.R32[t.Address][l]
		} else {
			address += uint32(r.R64[t.Address][l])
		}
		for word := address >> 2; word <= (address+size-1)>>2 && n < len(words); word++ {
			words[n] = word
			n++
			switch bank := word % banks; {
			case used>>bank&1 == 0:
				used |= 1 << bank
				owner[bank] = word
			case owner[bank] != word:
				again |= 1 << bank
			}
		}
	}
	most := 1
	for ; again != 0; again &= again - 1 {
		bank := uint32(bits.TrailingZeros32(again))
		var different [lane.Lanes * 4]uint32
		k := 0
		for _, word := range words[:n] {
			if word%banks == bank && !slices.Contains(different[:k], word) {
				different[k] = word
				k++
			}
		}
		most = max(most, k)
	}
	return most
}
