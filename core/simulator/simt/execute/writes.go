package execute

import (
	"math"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// writes are those of a launch that polls, to the memory that its blocks share: for the case that it hangs. Blocks of such a launch run in turn.
type writes struct {
	byPlace map[uint64]*wrote // by address
	cut     bool              // some are not here: there were too many
	ranges  map[int32]*span   // of stores of many lanes, by instruction
}

// wrote is what was written at one address.
type wrote struct {
	at     int32 // the instruction of the last time, its block and its warp
	block  uint64
	warp   int
	count  uint64
	blocks map[uint64]struct{}
}

// span is where an instruction wrote.
type span struct{ low, high uint64 }

// maxWrites is at how many addresses writes are kept.
const maxWrites = 1 << 16

// note keeps that a lane changed what is at an address.
func (s *writes) note(b *Block, w *Warp, at int32, address uint64) {
	x := s.byPlace[address]
	if x == nil {
		if len(s.byPlace) >= maxWrites {
			s.cut = true
			return
		}
		if s.byPlace == nil {
			s.byPlace = map[uint64]*wrote{}
		}
		x = &wrote{blocks: map[uint64]struct{}{}}
		s.byPlace[address] = x
	}
	x.at, x.block, x.warp = at, b.Linear, w.Index
	x.count++
	x.blocks[b.Linear] = struct{}{}
}

// wide keeps where a store of many lanes wrote, roughly.
func (s *writes) wide(w *Warp, in *code.Inst, at int32, lanes uint32) {
	x := s.ranges[at]
	if x == nil {
		if s.ranges == nil {
			s.ranges = map[int32]*span{}
		}
		x = &span{low: math.MaxUint64}
		s.ranges[at] = x
	}
	for m := lanes; m != 0; m &= m - 1 {
		a := generic(w, in.Mem, first(m))
		x.low, x.high = min(x.low, a), max(x.high, a+uint64(in.Mem.Elem*in.Mem.Count))
	}
}

// covers reports whether a store of many lanes may have written an address.
func (s *writes) covers(address uint64) bool {
	for _, x := range s.ranges {
		if address >= x.low && address < x.high {
			return true
		}
	}
	return false
}
