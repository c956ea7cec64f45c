package memory_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

func copyTo(s *bench, warp int, to, from uint64, bytes, size int) *memory.Fault {
	s.inst++
	s.r.R32[0][0], s.r.R64[0][0], s.r.R32[30][0] = uint32(to), from, uint32(size)
	return s.b.CopyAsync(s.r, &memory.Copy{To: memory.Transfer{Narrow: true, Inst: s.inst}, From: memory.Transfer{Inst: s.inst}, Bytes: bytes, Size: 30}, warp, 1, nil, nil)
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
	f := s.b.CopyAsync(s.r, &memory.Copy{To: memory.Transfer{Narrow: true, Inst: s.inst}, From: memory.Transfer{Inst: s.inst}, Bytes: 16, Size: 30}, 0, 7, nil, nil)
	globalRace(t, f, memory.Party{Warp: 0, Inst: 1, Store: true, OtherBlock: true, Block: 0})
	if f.Lanes != 1<<2 {
		t.Errorf("got lanes %b, want lane 2", f.Lanes)
	}
}

// sharedOfWarps is the shared memory of roomyBench: what a warp copies at once, and as much again.
const sharedOfWarps = 1024

func roomyBench(t *testing.T) *bench {
	t.Helper()
	s := newBench(t)
	var err error
	if s.b, err = memory.NewBlock(s.g, memory.Shape{Warps: 4, Shared: sharedOfWarps, Checks: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A warp that copies with all lanes is looked at in one go where nothing is in doubt: what comes of it is what comes of its lanes one by one.
func TestWholeWarpsCopyAsTheirLanesDo(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	known := new(memory.Pattern) // the warps execute one instruction: often at addresses of before, moved
	order := random.Perm(lane.Lanes)
	for round := range 800 {
		whole, single := roomyBench(t), roomyBench(t)
		if random.IntN(3) == 0 {
			order = random.Perm(lane.Lanes)
		}
		twice, before, short, whole16 := random.IntN(3) == 0, random.IntN(3) == 0, random.IntN(3) == 0, random.IntN(2) == 0
		landed := random.Uint32() | random.Uint32()
		size := []uint32{16, 16, 0, 17}[random.IntN(4)]
		apart, start, from := 16*(1+random.IntN(3)/2), 16*random.IntN(34), 4*random.IntN(9)
		if random.IntN(8) == 0 {
			start += []int{-1 << 11, 4, 1 << 31, -640}[random.IntN(4)] // some wrap around in between
		}
		var faults [2]*memory.Fault
		for i, s := range []*bench{whole, single} {
			for at := range s.x {
				s.x[at] = byte(at * 7)
			}
			if before { // another warp reads where one of the lanes copies to
				elem := 4
				if whole16 {
					elem = 16
				}
				clean(t, s.store(1, ptx.Shared, elem, 64, 1))
				s.b.Barrier()
				clean(t, s.load(1, ptx.Shared, elem, 64))
			}
			c := &memory.Copy{To: memory.Transfer{Narrow: true, Inst: 9}, From: memory.Transfer{Inst: 9, Elem: 4, Count: 4}, Bytes: 16, Size: 30}
			for l, to := range order {
				s.r.R32[0][l] = uint32(start + apart*to)
				s.r.R64[0][l] = s.g.Pointer(0, hostX) + uint64(16*l)%uint64(len(s.x)-16)&^15 + uint64(from)
				s.r.R32[30][l] = size
			}
			if twice {
				s.r.R32[0][5] = s.r.R32[0][20]
			}
			if short {
				s.r.R32[30][order[0]] = 7
			}
			masks := []uint32{all}
			source, place := known.Sources(s.r, &c.From), known.Places(s.r, &c.To)
			if i == 1 {
				masks, source, place = nil, nil, nil
				for l := range lane.Lanes {
					masks = append(masks, 1<<l)
				}
			}
			for _, m := range masks {
				if f := s.b.CopyAsync(s.r, c, 0, m, source, place); f != nil && faults[i] == nil {
					faults[i] = f
				}
			}
			s.b.Commit(0, all)
			s.b.Wait(0, landed, 0)
		}
		if (faults[0] == nil) != (faults[1] == nil) || faults[0] != nil && (faults[0].Check != faults[1].Check || faults[0].Lane != faults[1].Lane) {
			t.Fatalf("round %d: all lanes at once found %+v, one by one %+v", round, faults[0], faults[1])
		}
		for at := uint64(0); at < uint64(sharedOfWarps); at += 4 {
			f, g := whole.load(0, ptx.Shared, 4, at), single.load(0, ptx.Shared, 4, at)
			if (f == nil) != (g == nil) || whole.r.R32[1][0] != single.r.R32[1][0] {
				t.Fatalf("round %d, address %d: %x and %+v, one by one %x and %+v", round, at, whole.r.R32[1][0], f, single.r.R32[1][0], g)
			}
		}
	}
}

// The same of ldmatrix: with lane 31 missing, which gives no address of two matrices, it goes the long way.
func TestWholeWarpsLoadMatricesAsOthersDo(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	known := map[[2]any]*memory.Pattern{}
	for round := range 800 {
		var results [2][4][lane.Lanes]uint32
		var found [2]bool
		seed := random.Uint64()
		for i := range results {
			own := rand.New(rand.NewPCG(seed, 1))
			s := roomyBench(t)
			tr := vector(ptx.Shared, 4, 2)
			tr.Narrow, tr.Trans, tr.Offset = true, own.IntN(2) == 0, 16*int64(own.IntN(3))
			fill := vector(ptx.Shared, 4, 1)
			fill.Narrow = true
			for row := range 8 {
				for l := range lane.Lanes {
					s.r.R32[0][l], s.r.R32[10][l] = uint32(128*row+4*l)%sharedOfWarps, own.Uint32()
				}
				if own.IntN(20) > 0 { // else nobody wrote it
					s.b.Store(s.r, fill, own.IntN(2)/2, all)
				}
			}
			start := 16 * own.IntN(40)
			for l := range lane.Lanes {
				s.r.R32[0][l] = uint32(start + 32*l%(sharedOfWarps/2))
			}
			if own.IntN(2) == 0 {
				for l := range lane.Lanes {
					s.r.R32[0][l] = uint32(16*own.IntN(sharedOfWarps/16-3)) + uint32(own.IntN(40)/39)*8
				}
			}
			mask := uint32(all)
			name := [2]any{tr.Trans, tr.Offset}
			k := known[name]
			if k == nil {
				k = new(memory.Pattern)
				known[name] = k
			}
			if i == 1 {
				mask = all >> 1
			}
			found[i] = s.b.LoadMatrix(s.r, tr, 0, mask, k.Places(s.r, tr)) != nil
			for m := range 2 {
				results[i][m] = s.r.R32[tr.Regs[m]]
				results[i][m][31] = 0
			}
		}
		if results[0] != results[1] || found[0] != found[1] {
			t.Fatalf("round %d: %v %x, the long way %v %x", round, found[0], results[0], found[1], results[1])
		}
	}
}
