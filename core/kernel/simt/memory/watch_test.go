package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
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
	globalRace(t, s.store(0, ptx.Generic, 4, x+16, 3), memory.Party{Warp: 1, Inst: 3, OtherBlock: true, Block: -1})
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

func TestAtomicsEndTheWatch(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 4, x, 1))
	tr := vector(ptx.Global, 4, 1)
	s.one(x+64, tr)
	clean(t, s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Add, Type: ptx.U32}, 0, 1))
	s.next(1)
	clean(t, s.load(0, ptx.Global, 4, x))
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
