package memory_test

import (
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// bench holds memory with two arrays and a block of four warps, and does one access at a time.
type bench struct {
	t    *testing.T
	g    *memory.Global
	b    *memory.Block
	x, y []byte
	r    *lane.Regs
	inst int32
}

const (
	hostX = 0x10010
	hostY = 0x7f0000001000
)

func newBench(t *testing.T) *bench {
	t.Helper()
	s := &bench{t: t, x: make([]byte, 256), y: make([]byte, 128), r: registers()}
	var err error
	s.g, err = memory.NewGlobal([]memory.Allocation{{Name: "x", Host: hostX, Bytes: s.x}, {Name: "y", Host: hostY, Bytes: s.y, ReadOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	s.g.Arguments([]int{0, 1, -1})
	if s.b, err = memory.NewBlock(s.g, memory.Shape{Warps: 4, Shared: 256, Local: 64, Checks: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// one is an access of lane 0 of a warp.
func (s *bench) one(address uint64, t *memory.Transfer) {
	s.r.R64[0][0] = address
	s.r.R32[0][0] = uint32(address)
	s.inst++
	t.Inst = s.inst
}

func (s *bench) load(warp int, space ptx.Space, width int, address uint64) *memory.Fault {
	t := vector(space, min(width, 4), max(1, width/4))
	s.one(address, t)
	return s.b.Load(s.r, t, warp, 1)
}

func (s *bench) store(warp int, space ptx.Space, width int, address uint64, value uint32) *memory.Fault {
	t := vector(space, min(width, 4), max(1, width/4))
	s.one(address, t)
	for i := range t.Count {
		s.r.R32[t.Regs[i]][0] = value
	}
	return s.b.Store(s.r, t, warp, 1)
}

// storeEach stores a word of every lane.
func (s *bench) storeEach(warp int, space ptx.Space, width int, address, value func(lane int) uint64) *memory.Fault {
	t := vector(space, width, 1)
	s.one(0, t)
	for l := range lane.Lanes {
		s.r.R64[t.Address][l], s.r.R32[t.Regs[0]][l] = address(l), uint32(value(l))
	}
	return s.b.Store(s.r, t, warp, 1<<lane.Lanes-1)
}

// want checks that an access found exactly this.
func want(t *testing.T, f *memory.Fault, check memory.Check, nearest string, distance int64) {
	t.Helper()
	if f == nil {
		t.Fatalf("nothing was found, want check %d", check)
	}
	if f.Check != check || f.Nearest != nearest || f.Distance != distance || f.Next != nil || f.Lanes != 1 || f.Lane != 0 {
		t.Fatalf("got %+v, want check %d near %q, distance %d", f, check, nearest, distance)
	}
}

func clean(t *testing.T, f *memory.Fault) {
	t.Helper()
	if f != nil {
		t.Fatalf("got %+v, want nothing", f)
	}
}

func race(t *testing.T, f *memory.Fault, warp, inst int32, store bool) {
	t.Helper()
	if f == nil || f.Check != memory.SharedRace || f.Next != nil {
		t.Fatalf("got %+v, want a race", f)
	}
	if want := (memory.Party{Warp: warp, Inst: inst, Store: store}); f.Other != want {
		t.Fatalf("the other party is %+v, want %+v", f.Other, want)
	}
}

func TestAccessOutOfBoundsNamesTheNearestArrayAndHowFar(t *testing.T) {
	s := newBench(t)
	x, y := s.g.Pointer(0, hostX), s.g.Pointer(1, hostY)
	clean(t, s.load(0, ptx.Global, 4, x))
	clean(t, s.load(0, ptx.Global, 4, x+252))
	want(t, s.load(0, ptx.Global, 4, x+256), memory.OutOfBounds, "x", 4)
	want(t, s.load(0, ptx.Global, 4, x-4), memory.OutOfBounds, "x", -4)
	want(t, s.store(0, ptx.Global, 16, x+256-16+16, 1), memory.OutOfBounds, "x", 16)
	clean(t, s.store(0, ptx.Global, 16, x+256-16, 1))
	want(t, s.load(0, ptx.Global, 4, y+4*1000), memory.OutOfBounds, "y", 4*1000-128+4)
	want(t, s.load(0, ptx.Global, 4, 0xdeadbeef000000), memory.OutOfBounds, "", 0)
	want(t, s.load(0, ptx.Shared, 4, 256), memory.OutOfBounds, "shared memory", 4)
	want(t, s.load(0, ptx.Shared, 4, ^uint64(3)), memory.OutOfBounds, "shared memory", -4)
	want(t, s.load(0, ptx.Local, 8, 64), memory.OutOfBounds, "local memory", 8)
}

func TestIndexThatLeavesOneArrayNeverLandsInAnother(t *testing.T) {
	s := newBench(t)
	x := s.g.Pointer(0, hostX)
	for _, elements := range []int64{1 << 31, -1 << 31, 1<<31 - 1} {
		f := s.load(0, ptx.Global, 8, x+uint64(8*elements))
		if f == nil || f.Check != memory.OutOfBounds || f.Nearest != "x" {
			t.Errorf("an index of %d: got %+v", elements, f)
		}
	}
}

func TestPointerStaysInTheArrayOfItsArgument(t *testing.T) {
	s := newBench(t)
	x, y := s.g.Pointer(0, hostX), s.g.Pointer(1, hostY)
	access := func(legal, address uint64) *memory.Fault {
		tr := vector(ptx.Global, 4, 1)
		tr.Legal = legal
		s.one(address, tr)
		return s.g.Load(s.r, tr, 1)
	}
	clean(t, access(1<<0, x))
	clean(t, access(1<<1, y))
	clean(t, access(1<<0|1<<1, y))
	clean(t, access(1<<2, y)) // an argument that nobody described
	clean(t, access(1<<0|1<<40, y))
	clean(t, access(0, y))
	f := access(1<<0, y+4)
	if f == nil || f.Check != memory.OutOfBounds || f.Nearest != "x" || f.Inside != "y" {
		t.Errorf("got %+v, want out of bounds of x, inside y", f)
	}
}

func TestArgumentsFrom63OnShareABit(t *testing.T) {
	s := newBench(t)
	list := make([]int, 70)
	list[65], list[63], list[0] = 1, 0, 0
	for i := range list {
		if i != 65 {
			list[i] = 0
		}
	}
	s.g.Arguments(list)
	tr := vector(ptx.Global, 4, 1)
	tr.Legal = 1 << 63
	for i, host := range []uint64{hostX, hostY} {
		s.one(s.g.Pointer(i, host), tr)
		clean(t, s.g.Load(s.r, tr, 1))
	}
	tr.Legal = 1 << 62
	s.one(s.g.Pointer(1, hostY), tr)
	if f := s.g.Load(s.r, tr, 1); f == nil {
		t.Error("argument 62 does not point to y, and reads it")
	}
}

func TestPointersOfTheProcessAreUnderstood(t *testing.T) {
	s := newBench(t)
	s.x[8], s.y[4] = 77, 88
	clean(t, s.load(0, ptx.Global, 4, hostX+8))
	if got := s.r.R32[1][0]; got != 77 {
		t.Errorf("x[2] through its address in the process: got %d, want 77", got)
	}
	clean(t, s.load(0, ptx.Generic, 4, hostY+4))
	if got := s.r.R32[1][0]; got != 88 {
		t.Errorf("y[1]: got %d, want 88", got)
	}
	want(t, s.load(0, ptx.Global, 4, hostY+128), memory.OutOfBounds, "y", 4)
	want(t, s.load(0, ptx.Global, 4, hostX-8), memory.OutOfBounds, "x", -8)
}

func TestArraysThatOverlapInTheProcess(t *testing.T) {
	whole := make([]byte, 100)
	a := []memory.Allocation{
		{Name: "whole", Host: 0x100000, Bytes: whole},
		{Name: "part", Host: 0x100000 + 20, Bytes: whole[20:40]},
		{Name: "tail", Host: 0x100000 + 80, Bytes: append(whole[80:100:100], make([]byte, 20)...)},
	}
	g, err := memory.NewGlobal(a)
	if err != nil {
		t.Fatal(err)
	}
	r, tr := registers(), vector(ptx.Global, 4, 1)
	for offset := uint64(0); offset < 120; offset += 4 {
		r.R64[0][0] = 0x100000 + offset
		if f := g.Load(r, tr, 1); f != nil {
			t.Errorf("offset %d: %+v", offset, f)
		}
	}
	r.R64[0][0] = 0x100000 + 120
	if f := g.Load(r, tr, 1); f == nil || f.Nearest != "tail" || f.Distance != 4 {
		t.Errorf("behind all: %+v", f)
	}
	r.R64[0][0] = g.Pointer(1, a[1].Host) + 20
	if f := g.Load(r, tr, 1); f == nil || f.Nearest != "part" {
		t.Errorf("behind the part, by its own address: %+v", f)
	}
}

func TestPointerKeepsAlignmentAndDistance(t *testing.T) {
	s := newBench(t)
	for _, host := range []uint64{hostX, hostX + 3, hostX - 100, hostX + 1<<20} {
		p := s.g.Pointer(0, host)
		if p%16 != host%16 {
			t.Errorf("Pointer(%#x) = %#x: other low bits", host, p)
		}
		if got, want := p-s.g.Pointer(0, hostX), host-hostX; got != want {
			t.Errorf("Pointer(%#x) is %d from the start, want %d", host, int64(got), int64(want))
		}
	}
	if i, at := s.g.Host(s.g.Pointer(1, hostY+5)); i != 1 || at != 5 {
		t.Errorf("Host: got allocation %d, offset %d, want 1, 5", i, at)
	}
	if i, _ := s.g.Host(s.g.Pointer(1, hostY+128)); i != -1 {
		t.Errorf("Host of an address behind y: got allocation %d", i)
	}
	again := newBench(t)
	if got, want := again.g.Pointer(1, hostY), s.g.Pointer(1, hostY); got != want {
		t.Errorf("the same arrays have addresses %#x and %#x", got, want)
	}
}

func TestHugeArraysGetLargerSlots(t *testing.T) {
	for largest, want := range map[uint64]uint{0: 36, 1 << 35: 36, 1<<35 + 1: 37, 1 << 40: 41} {
		if got := memory.BitsOfSlot(largest); got != want {
			t.Errorf("arrays of %d bytes: slots of 2^%d, want 2^%d", largest, got, want)
		}
	}
}

func TestMisalignedAccess(t *testing.T) {
	s := newBench(t)
	x := s.g.Pointer(0, hostX)
	for _, width := range []int{2, 4, 8, 16} {
		want(t, s.load(0, ptx.Global, width, x+uint64(width/2)), memory.Misaligned, "x", 0)
		want(t, s.store(0, ptx.Shared, width, uint64(width/2), 1), memory.Misaligned, "shared memory", 0)
		want(t, s.load(0, ptx.Local, width, uint64(width/2)), memory.Misaligned, "local memory", 0)
	}
	clean(t, s.load(0, ptx.Global, 16, x))
	clean(t, s.load(0, ptx.Global, 1, x+1))
}

func TestWriteToAReadOnlyArray(t *testing.T) {
	s := newBench(t)
	y := s.g.Pointer(1, hostY)
	want(t, s.store(0, ptx.Global, 4, y, 5), memory.ReadOnlyWrite, "y", 0)
	clean(t, s.load(0, ptx.Global, 4, y))
	tr := vector(ptx.Global, 4, 1)
	s.one(y, tr)
	if f := s.g.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Or, Type: ptx.B32}, 1); f == nil || f.Check != memory.ReadOnlyWrite || !f.Atomic {
		t.Errorf("an atomic: got %+v", f)
	}
	if s.y[0] != 0 {
		t.Error("y was written")
	}
}

func TestNullPointer(t *testing.T) {
	s := newBench(t)
	for _, address := range []uint64{0, 4, 0xfffc, ^uint64(3)} {
		want(t, s.load(0, ptx.Global, 4, address), memory.NullPointer, "", 0)
	}
	if f := s.load(0, ptx.Global, 4, 1<<16+4); f == nil || f.Check != memory.OutOfBounds {
		t.Errorf("got %+v", f)
	}
	s.g.Null(2)
	tr := vector(ptx.Global, 4, 1)
	tr.Legal = 1 << 2
	s.one(1<<24, tr)
	want(t, s.g.Load(s.r, tr, 1), memory.NullPointer, "", 0)
}

func TestUninitialisedSharedMemory(t *testing.T) {
	s := newBench(t)
	want(t, s.load(0, ptx.Shared, 4, 8), memory.UninitialisedShared, "shared memory", 0)
	clean(t, s.store(0, ptx.Shared, 2, 8, 1))
	clean(t, s.load(0, ptx.Shared, 2, 8))
	want(t, s.load(0, ptx.Shared, 4, 8), memory.UninitialisedShared, "shared memory", 0) // half of it
	clean(t, s.store(0, ptx.Shared, 2, 10, 1))
	clean(t, s.load(0, ptx.Shared, 4, 8))
	s.b.Reset()
	want(t, s.load(0, ptx.Shared, 4, 8), memory.UninitialisedShared, "shared memory", 0) // another block
	if s.r.R32[1][0] != 0 {
		t.Error("a block sees what the one before left")
	}
}

func TestUninitialisedLocalMemory(t *testing.T) {
	s := newBench(t)
	want(t, s.load(1, ptx.Local, 4, 8), memory.UninitialisedLocal, "local memory", 0)
	clean(t, s.store(1, ptx.Local, 4, 8, 9))
	clean(t, s.load(1, ptx.Local, 4, 8))
	if s.r.R32[1][0] != 9 {
		t.Errorf("got %d, want 9", s.r.R32[1][0])
	}
	want(t, s.load(2, ptx.Local, 4, 8), memory.UninitialisedLocal, "local memory", 0) // another warp has its own
	tr := vector(ptx.Local, 4, 1)
	s.r.R64[0][1] = 8
	if f := s.b.Load(s.r, tr, 1, 2); f == nil || f.Check != memory.UninitialisedLocal || f.Lane != 1 {
		t.Errorf("another lane has its own: got %+v", f)
	}
	s.b.ForgetLocal(1, 1, 8, 4)
	want(t, s.load(1, ptx.Local, 4, 8), memory.UninitialisedLocal, "local memory", 0)
	clean(t, s.store(1, ptx.Local, 4, 8, 9))
	s.b.Reset()
	want(t, s.load(1, ptx.Local, 4, 8), memory.UninitialisedLocal, "local memory", 0)
}

func TestOneAccessCanFailSeveralChecks(t *testing.T) {
	s := newBench(t)
	x, y := s.g.Pointer(0, hostX), s.g.Pointer(1, hostY)
	tr := vector(ptx.Generic, 4, 1)
	copy(s.r.R64[0][:], []uint64{
		x, x + 2, x + 256, y, 0, x + 260, memory.SharedWindow, memory.SharedWindow + 256,
		memory.LocalWindow, memory.LocalWindow + 64, y + 4,
	})
	f := s.b.Store(s.r, tr, 0, 1<<11-1)
	got := ""
	for ; f != nil; f = f.Next {
		got += fmt.Sprintf("%d:%x@%d ", f.Check, f.Lanes, f.Lane)
	}
	if want := "0:80@7 0:200@9 1:2@1 0:24@2 6:408@3 7:10@4 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBlocksHaveLimits(t *testing.T) {
	g, err := memory.NewGlobal(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		shape memory.Shape
		fits  bool
	}{
		{memory.Shape{Warps: 32, Shared: 1 << 20, Local: 64}, true},
		{memory.Shape{Warps: 33}, false},
		{memory.Shape{Warps: 0}, false},
		{memory.Shape{Warps: 1, Shared: 1<<20 + 1}, false},
		{memory.Shape{Warps: 1, Local: 1 << 20}, true},
		{memory.Shape{Warps: 1, Local: 1<<20 + 1}, false},
	} {
		if _, err := memory.NewBlock(g, tc.shape); (err == nil) != tc.fits || err != nil && !fault.Is(err, fault.Limit) {
			t.Errorf("%+v: got %v, want that it fits: %v", tc.shape, err, tc.fits)
		}
	}
}

func TestPeekReadsAnySpace(t *testing.T) {
	s := newBench(t)
	s.x[3], s.x[4] = 0x34, 0x12
	x := s.g.Pointer(0, hostX)
	clean(t, s.store(1, ptx.Shared, 4, 8, 0x11223344))
	clean(t, s.store(1, ptx.Local, 4, 8, 0x55667788))
	for _, tc := range []struct {
		address uint64
		bytes   int
		want    uint64
	}{{x + 3, 2, 0x1234}, {x + 252, 4, 0}, {memory.SharedWindow + 252, 4, 0}, {hostX + 3, 1, 0x34}, {memory.SharedWindow + 9, 2, 0x2233}, {memory.LocalWindow + 8, 8, 0x55667788}} {
		got, f := s.b.Peek(tc.address, tc.bytes, 1, 0)
		clean(t, f)
		if got != tc.want {
			t.Errorf("%d bytes at %#x: got %#x, want %#x", tc.bytes, tc.address, got, tc.want)
		}
	}
	for _, tc := range []struct {
		address  uint64
		check    memory.Check
		nearest  string
		distance int64
	}{
		{x + 252, memory.OutOfBounds, "x", 4},
		{memory.SharedWindow + 252, memory.OutOfBounds, "shared memory", 4},
		{memory.LocalWindow + 63, memory.OutOfBounds, "local memory", 7},
		{8, memory.NullPointer, "", 0},
	} {
		_, f := s.b.Peek(tc.address, 8, 1, 0)
		want(t, f, tc.check, tc.nearest, tc.distance)
	}
}
