package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
)

func copyTo(s *bench, warp int, to, from uint64, bytes, size int) *memory.Fault {
	s.inst++
	s.r.R32[0][0], s.r.R64[0][0], s.r.R32[30][0] = uint32(to), from, uint32(size)
	return s.b.CopyAsync(s.r, &memory.Copy{To: memory.Transfer{Narrow: true, Inst: s.inst}, From: memory.Transfer{Inst: s.inst}, Bytes: bytes, Size: 30}, warp, 1)
}

func TestAsyncCopyLandsWhenItsThreadWaits(t *testing.T) {
	s := newBench(t)
	for i := range s.x {
		s.x[i] = byte(i)
	}
	x := s.g.Pointer(0, hostX)
	clean(t, copyTo(s, 0, 32, x+16, 16, 16))
	s.b.Commit(0, 1)
	f := s.load(0, ptx.Shared, 4, 32)
	want(t, f, memory.StaleAsyncCopy, "shared memory", 0)
	if f.Other != (memory.Party{Warp: 0, Inst: 1, Store: true}) {
		t.Errorf("the copy is %+v", f.Other)
	}
	want(t, s.store(0, ptx.Shared, 4, 44, 1), memory.StaleAsyncCopy, "shared memory", 0)
	clean(t, s.store(0, ptx.Shared, 4, 48, 1)) // just behind it
	want(t, copyTo(s, 0, 32, x, 4, 4), memory.StaleAsyncCopy, "shared memory", 0)
	s.b.Wait(1, all, 0) // another warp's waiting is no help
	want(t, s.load(0, ptx.Shared, 4, 36), memory.StaleAsyncCopy, "shared memory", 0)
	s.b.Wait(0, 2, 0) // nor is another lane's
	want(t, s.load(0, ptx.Shared, 4, 36), memory.StaleAsyncCopy, "shared memory", 0)
	s.b.Wait(0, 1, 0)
	clean(t, s.load(0, ptx.Shared, 4, 36))
	if got := s.r.R32[1][0]; got != 0x17161514 {
		t.Errorf("copied: got %#x, want 0x17161514", got)
	}
	if f := s.load(1, ptx.Shared, 4, 36); f == nil || f.Check != memory.SharedRace {
		t.Errorf("another warp without a barrier: got %+v", f)
	}
	s.b.Barrier()
	clean(t, s.load(1, ptx.Shared, 4, 36))
	race(t, copyTo(s, 0, 32, x, 16, 16), 1, s.inst-1, false) // overwrites what another warp may still read
}

func TestAsyncCopyGroups(t *testing.T) {
	s := newBench(t)
	x := s.g.Pointer(0, hostX)
	for stage := range uint64(3) {
		clean(t, copyTo(s, 0, 16*stage, x, 16, 16))
		s.b.Commit(0, 1)
	}
	clean(t, copyTo(s, 0, 48, x, 16, 16)) // not committed
	stale := func(stages ...uint64) {
		t.Helper()
		for stage := range uint64(4) {
			f := s.load(0, ptx.Shared, 4, 16*stage)
			isStale := false
			for _, i := range stages {
				isStale = isStale || i == stage
			}
			if (f != nil) != isStale {
				t.Errorf("stage %d: got %+v, stale %v expected", stage, f, isStale)
			}
		}
	}
	s.b.Wait(0, 1, 3)
	stale(0, 1, 2, 3)
	s.b.Wait(0, 1, 2)
	stale(1, 2, 3)
	s.b.Wait(0, 1, 2)
	stale(1, 2, 3)
	s.b.Commit(0, 1)
	s.b.Wait(0, 1, 2)
	stale(2, 3)
	s.b.Commit(0, 1) // empty groups count
	s.b.Commit(0, 1)
	s.b.Wait(0, 1, 2)
	stale()
}

func TestAsyncCopyWaitForAll(t *testing.T) {
	s := newBench(t)
	clean(t, copyTo(s, 0, 16, s.g.Pointer(0, hostX), 16, 16))
	s.b.Wait(0, 1, 0) // not committed
	want(t, s.load(0, ptx.Shared, 4, 16), memory.StaleAsyncCopy, "shared memory", 0)
	s.b.Wait(0, 1, -1)
	clean(t, s.load(0, ptx.Shared, 4, 16))
}

func TestAsyncCopyFillsWithZerosAndReadsNoMore(t *testing.T) {
	s := newBench(t)
	for i := range s.x {
		s.x[i] = 0xff
	}
	x := s.g.Pointer(0, hostX)
	clean(t, copyTo(s, 0, 0, x+256, 16, 0)) // reads nothing: the address does not matter
	clean(t, copyTo(s, 0, 16, x+240+8-8, 16, 6))
	s.b.Wait(0, 1, -1)
	clean(t, s.load(0, ptx.Shared, 16, 0))
	if s.r.R32[1][0] != 0 || s.r.R32[4][0] != 0 {
		t.Error("bytes beyond the source are not zero")
	}
	clean(t, s.load(0, ptx.Shared, 16, 16))
	if s.r.R32[1][0] != 0xffffffff || s.r.R32[2][0] != 0xffff || s.r.R32[3][0] != 0 {
		t.Errorf("six bytes: got %x %x %x", s.r.R32[1][0], s.r.R32[2][0], s.r.R32[3][0])
	}
	want(t, copyTo(s, 0, 32, x+256, 16, 4), memory.OutOfBounds, "x", 4)
	want(t, copyTo(s, 0, 32, x+4, 16, 16), memory.Misaligned, "x", 0)
	want(t, copyTo(s, 0, 256, x, 16, 16), memory.OutOfBounds, "shared memory", 16)
}

func TestCopiesThatNobodyWaitsForAreBounded(t *testing.T) {
	s := newBench(t)
	x := s.g.Pointer(0, hostX)
	for range 20_000 {
		copyTo(s, 0, 0, x, 16, 16)
		s.b.Commit(0, 1)
	}
	for range 20_000 {
		copyTo(s, 1, 0, x, 16, 16)
	}
	s.b.Exit(0)
	s.b.Exit(1)
	clean(t, s.load(1, ptx.Shared, 4, 12))
}

func TestStaleCopiesAreNamedByTheInstructionThatStartedThem(t *testing.T) {
	s := newBench(t)
	x := s.g.Pointer(0, hostX)
	started := map[uint64]memory.Party{}
	for _, c := range []struct {
		warp int
		to   uint64
	}{{0, 96}, {0, 16}, {1, 64}, {0, 160}, {1, 32}} {
		clean(t, copyTo(s, c.warp, c.to, x, 16, 16))
		started[c.to] = memory.Party{Warp: int32(c.warp), Inst: s.inst, Store: true}
	}
	for to, party := range started {
		for _, warp := range []int{0, 1} {
			f := s.load(warp, ptx.Shared, 4, to+12)
			if f == nil || f.Check != memory.StaleAsyncCopy || f.Other != party {
				t.Errorf("warp %d at %d: got %+v, want a stale copy of %+v", warp, to+12, f, party)
			}
		}
	}
}

func TestEveryLaneOfACopyIsWatched(t *testing.T) {
	s := watched(t)
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(0, ptx.Global, 16, x+32, 1))
	s.next(1)
	s.inst++
	for l := range 3 { // lane 0 reads nothing, lane 1 what nobody wrote
		s.r.R32[0][l], s.r.R64[0][l], s.r.R32[30][l] = uint32(16*l), x+uint64(16*l), uint32(min(l, 1)*16)
	}
	f := s.b.CopyAsync(s.r, &memory.Copy{To: memory.Transfer{Narrow: true, Inst: s.inst}, From: memory.Transfer{Inst: s.inst}, Bytes: 16, Size: 30}, 0, 7)
	globalRace(t, f, memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true, Block: 0})
	if f.Lanes != 1<<2 {
		t.Errorf("got lanes %b, want lane 2", f.Lanes)
	}
}
