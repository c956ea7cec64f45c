package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Two words of one lane are looked at together: another warp that accesses one of them races, whichever it is.
func TestPairsOfWordsRaceByEitherWord(t *testing.T) {
	for _, at := range []uint64{0, 4, 8, 12} {
		for name, accesses := range map[string][2]func(s *bench, warp int, width int, at uint64) *memory.Fault{
			"a store behind a load":  {(*bench).loadWord, (*bench).storeWord},
			"a load behind a store":  {(*bench).storeWord, (*bench).loadWord},
			"a store behind a store": {(*bench).storeWord, (*bench).storeWord},
		} {
			for pair := range 2 { // which of the two has two words
				s := newBench(t)
				for word := range uint64(4) {
					clean(t, s.store(0, ptx.Shared, 4, 4*word, 1))
				}
				s.b.Barrier()
				width, place := [2]int{4, 4}, [2]uint64{at, at}
				width[pair], place[pair] = 8, at&^7
				if f := accesses[0](s, 1, width[0], place[0]); f != nil {
					t.Fatalf("%s, word at %d: %+v", name, at, f)
				}
				want(t, accesses[1](s, 2, width[1], place[1]), memory.SharedRace, "shared memory", 0)
			}
		}
	}
}

func (s *bench) loadWord(warp, width int, at uint64) *memory.Fault {
	return s.narrow(warp, width, at, false)
}

func (s *bench) storeWord(warp, width int, at uint64) *memory.Fault {
	return s.narrow(warp, width, at, true)
}

// Accesses of whatever width race where they have a byte in common, and nowhere else, whoever has looked at which part of a word before.
func TestAccessesRaceByTheBytesThatTheyHaveInCommon(t *testing.T) {
	type access func(s *bench, warp, width int, at uint64) *memory.Fault
	for name, accesses := range map[string][2]access{
		"a store behind a load":  {(*bench).loadWord, (*bench).storeWord},
		"a load behind a store":  {(*bench).storeWord, (*bench).loadWord},
		"a store behind a store": {(*bench).storeWord, (*bench).storeWord},
	} {
		for _, before := range []int{0, 1, 2, 4, 8} { // the width of what the first warp did between two barriers
			for _, first := range []int{1, 2, 4, 8} {
				for _, second := range []int{1, 2, 4, 8} {
					for at := 0; at < 16; at += first {
						for to := 0; to < 16; to += second {
							s := newBench(t)
							clean(t, s.store(0, ptx.Shared, 16, 0, 0))
							s.b.Barrier()
							if before > 0 {
								clean(t, s.narrow(0, before, uint64(at/before*before), true))
								s.b.Barrier()
							}
							if f := accesses[0](s, 1, first, uint64(at)); f != nil {
								t.Fatalf("%s, the first: %+v", name, f)
							}
							f := accesses[1](s, 2, second, uint64(to))
							if raced := f != nil && f.Check == memory.SharedRace; raced != (at < to+second && to < at+first) {
								t.Fatalf("%s: %d bytes at %d behind %d at %d, %d before: found %+v", name, second, to, first, at, before, f)
							}
						}
					}
				}
			}
		}
	}
}

// narrow is load or store of one element of up to 8 bytes.
func (s *bench) narrow(warp, width int, at uint64, store bool) *memory.Fault {
	t := vector(ptx.Shared, min(width, 4), max(1, width/4))
	s.one(at, t)
	if !store {
		return s.b.Load(s.r, t, warp, 1)
	}
	for i := range t.Count {
		s.r.R32[t.Regs[i]][0] = uint32(warp+7) * 0x01010101
	}
	return s.b.Store(s.r, t, warp, 1)
}
