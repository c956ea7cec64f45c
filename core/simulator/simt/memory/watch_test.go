package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// watched is a bench whose global memory is watched, at block 0.
func watched(t *testing.T) *bench {
	t.Helper()
	s := newBench(t)
	s.g.Watch()
	s.b.Number(0)
	return s
}

func (s *bench) next(block uint32) {
	s.b.Reset()
	s.b.Number(block)
}

func globalRace(t *testing.T, f *memory.Fault, want memory.Party) {
	t.Helper()
	if f == nil || f.Check != memory.GlobalRace || f.Nearest != "x" || f.Next != nil {
		t.Fatalf("got %+v, want a race in x", f)
	}
	if f.Other != want {
		t.Fatalf("the other party is %+v, want %+v", f.Other, want)
	}
}

func TestBlocksThatWriteDifferentValuesRace(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(2, ptx.Global, 4, x, 5))
	clean(t, s.store(2, ptx.Global, 4, x, 6)) // the same warp
	s.next(1)
	clean(t, s.store(0, ptx.Global, 4, x, 6)) // the same value
	clean(t, s.store(0, ptx.Global, 4, x+4, 6))
	globalRace(t, s.store(0, ptx.Global, 4, x, 7), memory.Party{Warp: 2, Inst: 2, Store: true, OtherBlock: true, Block: 0})
	clean(t, s.load(0, ptx.Global, 4, hostX+4)) // its own, by another address
}

func TestBlocksThatReadWhatAnotherWritesRace(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.load(0, ptx.Global, 4, x+8))
	clean(t, s.store(0, ptx.Global, 4, x+8, 1)) // in place: reads and writes its own
	clean(t, s.load(1, ptx.Global, 4, x+16))
	s.next(1)
	globalRace(t, s.load(0, ptx.Global, 4, hostX+8), memory.Party{Warp: 0, Inst: 2, Store: true, OtherBlock: true, Block: 0})
	clean(t, s.load(0, ptx.Global, 4, x+16)) // both read
	s.next(2)
	globalRace(t, s.store(0, ptx.Generic, 4, x+16, 3), memory.Party{Warp: 1, Inst: 3, OtherBlock: true, Block: 0})
}

func TestStoreThatChangesNothingRacesWithNoReader(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 4, x, 0))
	s.next(1)
	clean(t, s.load(0, ptx.Global, 4, x))
	s.next(2)
	globalRace(t, s.store(0, ptx.Global, 4, x, 1), memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true, Block: 0})
}

func TestNeighboursInOneWordDoNotRace(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 2, x, 1))
	s.next(1)
	clean(t, s.store(0, ptx.Global, 2, x+2, 2))
	clean(t, s.load(0, ptx.Global, 2, x+2))
	globalRace(t, s.load(0, ptx.Global, 4, x), memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true, Block: 0})
}

func TestWarpsOfOneBlockRaceInGlobalMemoryWithoutABarrier(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 4, x, 1))
	globalRace(t, s.load(1, ptx.Global, 4, x), memory.Party{Warp: 0, Inst: 1, Store: true})
	clean(t, s.store(0, ptx.Global, 4, x+4, 1))
	s.b.Barrier()
	clean(t, s.load(1, ptx.Global, 4, x+4))
	globalRace(t, s.store(2, ptx.Global, 4, x+4, 2), memory.Party{Warp: 1, Inst: 4})
}

// TestWarpsThatLoadWhatOneOfThemStores: warps 0 and 1 execute one load, and warp 0 stores.
func TestWarpsThatLoadWhatOneOfThemStores(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, other := range []bool{false, true} {
			s := watched(t)
			x := s.g.Pointer(0, hostX)
			read := func(warp int, inst int32) *memory.Fault {
				tr := vector(ptx.Global, 4, 1)
				s.one(x, tr)
				tr.Inst = inst
				return s.b.Load(s.r, tr, warp, 1)
			}
			inst := int32(100)
			if other {
				inst = 200
			}
			clean(t, read(0, 100))
			var f *memory.Fault
			if !late {
				clean(t, read(1, inst))
				f = s.store(0, ptx.Global, 4, x, 9)
			} else {
				clean(t, s.store(0, ptx.Global, 4, x, 9))
				f = read(1, inst)
			}
			if (f != nil) != other {
				t.Errorf("late %t, by another load %t: %+v", late, other, f)
			}
		}
	}
}

func TestLanesThatStoreDifferentValuesAtOnceRace(t *testing.T) {
	s := watched(t)
	tr := vector(ptx.Global, 4, 1)
	for l := range lane.Lanes {
		s.r.R64[0][l] = s.g.Pointer(0, hostX) + uint64(4*l)
		s.r.R32[1][l] = uint32(l)
	}
	clean(t, s.b.Store(s.r, tr, 0, all))
	s.r.R64[0][9] = s.r.R64[0][3]
	clean(t, s.b.Store(s.r, tr, 0, all&^(1<<3)))
	f := s.b.Store(s.r, tr, 0, all)
	globalRace(t, f, memory.Party{Warp: 0, Store: true})
	if f.Lanes != 1<<9 {
		t.Errorf("got lanes %08x, want lane 9", f.Lanes)
	}
	s.r.R32[1][9] = s.r.R32[1][3]
	clean(t, s.b.Store(s.r, tr, 0, all)) // the same value
}

func TestCopiesAreWatched(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 16, x, 1))
	s.next(1)
	globalRace(t, copyTo(s, 0, 0, x, 16, 16), memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true, Block: 0})
	clean(t, copyTo(s, 0, 16, x, 16, 0))
}

// atomicAt adds 1 to a word with an order and a scope.
func (s *bench) atomicAt(warp int, address uint64, order memory.Order, block bool) *memory.Fault {
	tr := vector(ptx.Global, 4, 1)
	s.one(address, tr)
	tr.Order, tr.Block = order, block
	tr.Data[0] = tr.Regs[0]
	return s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Add, Type: ptx.U32}, warp, 1)
}

// TestWhatOrdersBlocks lets block 0 write a word and tell of it by a flag, and block 1 look at the flag and read the word.
func TestWhatOrdersBlocks(t *testing.T) {
	const flag = 64
	for name, c := range map[string]struct {
		tell, look func(s *bench, flag uint64)
		ordered    bool
	}{
		"release, acquire": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Release, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Acquire, false)) }, true,
		},
		"acq_rel, acq_rel": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.AcqRel, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.AcqRel, false)) }, true,
		},
		"relaxed": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)) }, false,
		},
		"no release": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Acquire, false)) }, false,
		},
		"no acquire": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Release, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)) }, false,
		},
		"fences": {
			func(s *bench, f uint64) { s.b.Fence(0, false); clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)); s.b.Fence(0, false) }, true,
		},
		"fences of another warp": {
			func(s *bench, f uint64) { s.b.Fence(1, false); clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)); s.b.Fence(0, false) }, false,
		},
		"a fence before it looks": {
			func(s *bench, f uint64) { s.b.Fence(0, false); clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { s.b.Fence(0, false); clean(t, s.atomicAt(0, f, memory.Relaxed, false)) }, false,
		},
		"fences of the block": {
			func(s *bench, f uint64) { s.b.Fence(0, true); clean(t, s.atomicAt(0, f, memory.Relaxed, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Relaxed, false)); s.b.Fence(0, false) }, false,
		},
		"the scope of the block": {
			func(s *bench, f uint64) { s.atomicAt(0, f, memory.Release, true) },
			func(s *bench, f uint64) { s.atomicAt(0, f, memory.Acquire, false) }, false,
		},
		"told by another warp behind a barrier": {
			func(s *bench, f uint64) { s.b.Barrier(); clean(t, s.atomicAt(2, f, memory.Release, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(3, f, memory.Acquire, false)); s.b.Barrier() }, true,
		},
		"told by another warp": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(2, f, memory.Release, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Acquire, false)) }, false,
		},
		"another flag": {
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f, memory.Release, false)) },
			func(s *bench, f uint64) { clean(t, s.atomicAt(0, f+4, memory.Acquire, false)) }, false,
		},
	} {
		s := watched(t)
		x := s.g.Pointer(0, hostX)
		clean(t, s.store(0, ptx.Global, 4, x, 7))
		c.tell(s, x+flag)
		s.next(1)
		c.look(s, x+flag)
		if f := s.load(0, ptx.Global, 4, x); (f == nil) != c.ordered {
			t.Errorf("%s: found %+v, want a race: %t", name, f, !c.ordered)
		}
	}
}

// TestOrderGoesThroughOthers: block 0 tells block 1, which tells block 2.
func TestOrderGoesThroughOthers(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 4, x, 7))
	clean(t, s.atomicAt(0, x+64, memory.Release, false))
	s.next(1)
	clean(t, s.atomicAt(1, x+64, memory.Acquire, false))
	clean(t, s.atomicAt(1, x+68, memory.Release, false))
	s.next(2)
	clean(t, s.atomicAt(0, x+68, memory.Acquire, false))
	clean(t, s.store(0, ptx.Global, 4, x, 8))
	s.next(3)
	clean(t, s.atomicAt(0, x+64, memory.Acquire, false)) // knows of block 0 only
	globalRace(t, s.load(0, ptx.Global, 4, x), memory.Party{Inst: 6, Store: true, OtherBlock: true, Block: 2})
}

// TestAtomicsRaceWithPlainAccesses: among themselves they do not, of whatever order.
func TestAtomicsRaceWithPlainAccesses(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.atomicAt(0, x, memory.Relaxed, false))
	s.next(1)
	clean(t, s.atomicAt(0, x, memory.Relaxed, false))
	globalRace(t, s.load(1, ptx.Global, 4, x), memory.Party{Inst: 2, Store: true, Block: 1})
	s.next(2)
	if f := s.atomicAt(0, x, memory.Relaxed, true); f == nil || f.Check != memory.GlobalRace {
		t.Errorf("an atomic of the scope of the block: %+v, want a race with those of other blocks", f)
	}
}

func TestWatchDoesNotReplaceTheOtherChecks(t *testing.T) {
	s := watched(t)
	x, y := s.g.Pointer(0, hostX), s.g.Pointer(1, hostY)
	want(t, s.store(0, ptx.Global, 4, x+256, 1), memory.OutOfBounds, "x", 4)
	want(t, s.store(0, ptx.Global, 4, y, 1), memory.ReadOnlyWrite, "y", 0)
	s.next(1)
	clean(t, s.load(0, ptx.Global, 4, y))
	want(t, s.load(0, ptx.Global, 4, x+250), memory.Misaligned, "x", 0)
}

func TestArraysThatShareBytesAreWatchedAsOne(t *testing.T) {
	bytes := make([]byte, 64)
	g, err := memory.NewGlobal([]memory.Allocation{
		{Name: "x", Host: 0x10000, Bytes: bytes},
		{Name: "x", Host: 0x10000 + 16, Bytes: bytes[16:32]},
		{Name: "variable", Bytes: make([]byte, 8)},
		{Name: "other", Bytes: make([]byte, 8)},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Watch()
	b, err := memory.NewBlock(g, memory.Shape{Warps: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &bench{t: t, g: g, b: b, r: registers()}
	s.b.Number(0)
	clean(t, s.store(0, ptx.Global, 4, g.Pointer(0, 0x10000+20), 1))
	clean(t, s.store(0, ptx.Global, 4, g.Pointer(2, 0), 1))
	s.next(1)
	clean(t, s.load(0, ptx.Global, 4, g.Pointer(1, 0x10000+16)))
	clean(t, s.load(0, ptx.Global, 4, g.Pointer(3, 0)))
	globalRace(t, s.load(0, ptx.Global, 4, g.Pointer(1, 0x10000+20)), memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true})
}
