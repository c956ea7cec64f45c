package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

func TestRacesOfTwoWarps(t *testing.T) {
	const word = 32
	for _, tc := range []struct {
		name string
		do   func(s *bench) *memory.Fault
		inst int32 // of the other party, 0 no race
		side bool  // it wrote
	}{
		{"write, read", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			return s.load(1, ptx.Shared, 4, word)
		}, 1, true},
		{"write, write", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			return s.store(1, ptx.Shared, 4, word, 2)
		}, 1, true},
		{"the same value", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			return s.store(1, ptx.Shared, 4, word, 1)
		}, 0, false},
		{"the same value, read by a third", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			s.store(1, ptx.Shared, 4, word, 1)
			return s.load(2, ptx.Shared, 4, word)
		}, 1, true},
		{"the same value, read by both", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			clean(t, s.load(0, ptx.Shared, 4, word))
			clean(t, s.store(1, ptx.Shared, 4, word, 1))
			clean(t, s.load(1, ptx.Shared, 4, word))
			return s.load(0, ptx.Shared, 4, word)
		}, 0, false},
		{"the same value in the end, of lanes that differ", func(s *bench) *memory.Fault {
			at := func(l int) uint64 { return word + uint64(l%2)*8 }
			values := func(l int) uint64 { return uint64(l + 7) }
			clean(t, s.storeEach(0, ptx.Shared, 4, at, values))
			return s.storeEach(1, ptx.Shared, 4, at, values)
		}, 0, false},
		{"lanes that differ, and another value in the end", func(s *bench) *memory.Fault {
			at := func(int) uint64 { return word }
			clean(t, s.storeEach(0, ptx.Shared, 4, at, func(l int) uint64 { return uint64(l) }))
			return s.storeEach(1, ptx.Shared, 4, at, func(l int) uint64 { return uint64(31 - l) })
		}, 1, true},
		{"read, write", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			s.b.Barrier()
			s.load(0, ptx.Shared, 4, word)
			return s.store(1, ptx.Shared, 4, word, 1)
		}, 2, false},
		{"read, read", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			s.b.Barrier()
			s.load(0, ptx.Shared, 4, word)
			return s.load(1, ptx.Shared, 4, word)
		}, 0, false},
		{"one warp", func(s *bench) *memory.Fault {
			s.store(3, ptx.Shared, 4, word, 1)
			return s.load(3, ptx.Shared, 4, word)
		}, 0, false},
		{"barrier", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			s.b.Barrier()
			return s.load(1, ptx.Shared, 4, word)
		}, 0, false},
		{"bytes of one word", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 1, word, 1)
			s.store(1, ptx.Shared, 1, word+1, 1)
			s.store(2, ptx.Shared, 2, word+2, 1)
			clean(t, s.load(0, ptx.Shared, 1, word))
			clean(t, s.load(1, ptx.Shared, 1, word+1))
			return s.load(2, ptx.Shared, 2, word+2)
		}, 0, false},
		{"a byte of a word", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 1, word, 1)
			s.store(1, ptx.Shared, 1, word+1, 1)
			return s.load(1, ptx.Shared, 1, word)
		}, 1, true},
		{"words of one granule", func(s *bench) *memory.Fault {
			for w := range 4 {
				s.store(w, ptx.Shared, 4, word+uint64(4*w), 1)
			}
			clean(t, s.load(3, ptx.Shared, 4, word+12))
			return s.load(0, ptx.Shared, 4, word)
		}, 0, false},
		{"a granule over its words", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 16, word, 1)
			s.b.Barrier()
			s.load(2, ptx.Shared, 4, word+8)
			return s.store(0, ptx.Shared, 16, word, 2)
		}, 2, false},
		{"a word of a granule", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 16, word, 1)
			return s.load(1, ptx.Shared, 4, word+12)
		}, 1, true},
		{"an ended warp", func(s *bench) *memory.Fault {
			s.store(0, ptx.Shared, 4, word, 1)
			s.b.Exit(0)
			s.b.Meet(0, 0b1110)
			return s.load(1, ptx.Shared, 4, word)
		}, 0, false},
	} {
		s := newBench(t)
		f := tc.do(s)
		if tc.inst == 0 {
			if f != nil {
				t.Errorf("%s: got %+v, want nothing", tc.name, f)
			}
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			other := int32(0)
			if tc.name == "a granule over its words" {
				other = 2
			}
			race(t, f, other, tc.inst, tc.side)
		})
	}
}

func TestWritersOfOneValueRaceWithThoseWhoReadIt(t *testing.T) {
	s := newBench(t)
	clean(t, s.store(0, ptx.Shared, 4, 32, 1))
	s.b.Meet(1, 0b0101)
	clean(t, s.load(2, ptx.Shared, 4, 32)) // ordered behind warp 0, but not before warp 1
	race(t, s.store(1, ptx.Shared, 4, 32, 1), 2, 2, false)
}

func TestBarriersOfSomeWarps(t *testing.T) {
	s := newBench(t)
	clean(t, s.store(0, ptx.Shared, 4, 0, 1))
	clean(t, s.store(2, ptx.Shared, 4, 16, 1))
	s.b.Meet(1, 0b0011)
	clean(t, s.load(1, ptx.Shared, 4, 0))
	race(t, s.load(1, ptx.Shared, 4, 16), 2, 2, true) // warp 2 was not there
	race(t, s.load(2, ptx.Shared, 4, 0), 0, 1, true)
	s.b.Meet(2, 0b0110)
	clean(t, s.load(2, ptx.Shared, 4, 0)) // warp 1 brought what it knew of warp 0
	race(t, s.store(0, ptx.Shared, 4, 0, 2), 2, 6, false)
	s.b.Meet(0, 0b1111)
	clean(t, s.store(3, ptx.Shared, 4, 0, 2))
}

func TestArriveTellsThoseWhoWait(t *testing.T) {
	s := newBench(t)
	clean(t, s.store(0, ptx.Shared, 4, 0, 1))
	s.b.Arrive(3, 0)
	clean(t, s.store(0, ptx.Shared, 4, 16, 1)) // behind arriving: nobody knows of it
	s.b.Meet(3, 0b0010)
	clean(t, s.load(1, ptx.Shared, 4, 0))
	race(t, s.load(1, ptx.Shared, 4, 16), 0, 2, true)
	s.b.Meet(3, 0b0100)
	race(t, s.load(2, ptx.Shared, 4, 0), 0, 1, true) // warp 0 did not arrive again
}

func atomicOn(s *bench, warp int, order memory.Order, address uint64) *memory.Fault {
	tr := vector(ptx.Shared, 4, 1)
	tr.Order = order
	s.one(address, tr)
	s.r.R32[10][0] = 1
	return s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Add, Type: ptx.U32}, warp, 1)
}

func ordered(s *bench, warp int, order memory.Order, address uint64, store bool) *memory.Fault {
	tr := vector(ptx.Shared, 4, 1)
	tr.Order = order
	s.one(address, tr)
	if store {
		return s.b.Store(s.r, tr, warp, 1)
	}
	return s.b.Load(s.r, tr, warp, 1)
}

func TestAtomicsRaceOnlyWithOthers(t *testing.T) {
	s := newBench(t)
	want(t, atomicOn(s, 0, memory.Relaxed, 64), memory.UninitialisedShared, "shared memory", 0)
	clean(t, s.store(0, ptx.Shared, 4, 0, 0))
	s.b.Barrier()
	for w := range 4 {
		clean(t, atomicOn(s, w, memory.Relaxed, 0))
	}
	if got := s.r.R32[1][0]; got != 3 {
		t.Errorf("the last of four saw %d, want 3", got)
	}
	clean(t, ordered(s, 1, memory.Relaxed, 0, false))
	race(t, s.load(1, ptx.Shared, 4, 0), 0, 6, true) // a plain load among atomics
	s.b.Barrier()
	clean(t, s.load(1, ptx.Shared, 4, 0))
	race(t, atomicOn(s, 2, memory.Relaxed, 0), 1, 9, false)

	s = newBench(t)
	clean(t, s.store(0, ptx.Shared, 4, 0, 0)) // initialised without a barrier behind it, hidden by its own atomic
	clean(t, atomicOn(s, 0, memory.Relaxed, 0))
	if f := atomicOn(s, 1, memory.Relaxed, 0); f == nil || f.Check != memory.SharedRace {
		t.Errorf("got %+v, want a race with the plain store", f)
	}
}

func TestAcquireAndReleaseOrderWarps(t *testing.T) {
	for _, fence := range []bool{false, true} {
		release, acquire := memory.Release, memory.Acquire
		s := newBench(t)
		clean(t, s.store(3, ptx.Shared, 4, 0, 0))
		s.b.Barrier()
		if fence {
			release, acquire = memory.Relaxed, memory.Relaxed
			s.b.Fence(0, false)
		}
		clean(t, s.store(0, ptx.Shared, 4, 16, 1))
		clean(t, ordered(s, 0, release, 0, true))
		clean(t, ordered(s, 1, acquire, 0, false))
		clean(t, s.load(1, ptx.Shared, 4, 16))
		if f := s.load(2, ptx.Shared, 4, 16); f == nil || f.Check != memory.SharedRace {
			t.Errorf("a warp that did not acquire: got %+v", f)
		}
	}
	s := newBench(t) // what comes behind the release is not released
	clean(t, ordered(s, 0, memory.Release, 0, true))
	clean(t, s.store(0, ptx.Shared, 4, 32, 1))
	clean(t, ordered(s, 1, memory.Acquire, 0, false))
	race(t, s.load(1, ptx.Shared, 4, 32), 0, 2, true)

	s = newBench(t) // relaxed accesses without a fence order nothing
	clean(t, s.store(0, ptx.Shared, 4, 16, 1))
	clean(t, ordered(s, 0, memory.Relaxed, 0, true))
	clean(t, ordered(s, 1, memory.Relaxed, 0, false))
	race(t, s.load(1, ptx.Shared, 4, 16), 0, 1, true)
}

func TestTicksRunOut(t *testing.T) {
	s := newBench(t)
	clean(t, s.store(0, ptx.Shared, 4, 0, 1))
	for i := range 200_000 {
		s.b.Barrier()
		if i%1000 == 0 {
			w := i / 1000 % 4
			clean(t, s.store(w, ptx.Shared, 4, 0, uint32(i)))
			race(t, s.load((w+1)%4, ptx.Shared, 4, 0), int32(w), s.inst-1, true)
		}
	}
}

func TestWholeWarpsOfRelaxedAccessesDoNotRace(t *testing.T) {
	s := newBench(t)
	tr := vector(ptx.Shared, 4, 1)
	for l := range lane.Lanes {
		s.r.R64[0][l] = uint64(4 * l)
		s.r.R32[1][l] = uint32(l)
	}
	for warp := range 2 {
		tr.Order = memory.Relaxed
		s.r.R32[1][3] = uint32(100 + warp)
		clean(t, s.b.Store(s.r, tr, warp, all))
		clean(t, s.b.Load(s.r, tr, warp, all))
	}
	tr.Order = memory.Weak
	if f := s.b.Load(s.r, tr, 2, all); f == nil || f.Check != memory.SharedRace || f.Lanes != all {
		t.Errorf("a plain load of what others store: got %+v", f)
	}
}
