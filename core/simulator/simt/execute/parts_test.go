package execute

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Banks serve as many lanes at once as have 128 bytes together, in pieces of a power of two.
func TestConflictsOfWideElements(t *testing.T) {
	r := &lane.Regs{R32: make([][lane.Lanes]uint32, 1)}
	for _, tc := range []struct {
		size, stride int
		lanes        uint32
		want         uint64
	}{
		{4, 4, math.MaxUint32, 0},
		{4, 8, math.MaxUint32, 1},
		{4, 128, math.MaxUint32, 31},
		{4, 128, 0x10001, 1},
		{8, 8, math.MaxUint32, 0},
		{8, 16, math.MaxUint32, 2},
		{8, 128, math.MaxUint32, 30},
		{8, 128, 0x10001, 0},
		{8, 128, 0x11, 1},
		{16, 32, math.MaxUint32, 4},
		{16, 128, math.MaxUint32, 28},
		{16, 128, 0x01010101, 0},
	} {
		for l := range lane.Lanes {
			r.R32[0][l] = uint32(l * tc.stride)
		}
		if got := conflicts(r, &memory.Transfer{Narrow: true}, tc.size, tc.lanes); got != tc.want {
			t.Errorf("%d bytes every %d of lanes %08x: %d more passes, want %d", tc.size, tc.stride, tc.lanes, got, tc.want)
		}
	}
}

// What is known of the conflicts of an access holds wherever its addresses move to.
func TestConflictsThatAreKnownAreThoseOfTheAddresses(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	r, tr, known := &lane.Regs{R32: make([][lane.Lanes]uint32, 1)}, &memory.Transfer{Narrow: true, Offset: 48}, new(memory.Pattern)
	for round := range 2000 {
		if round%8 == 0 {
			stride := 16 * random.Uint32N(20)
			for l := range uint32(lane.Lanes) {
				r.R32[0][l] = l*stride ^ 16*random.Uint32N(3)
			}
		}
		by := random.Uint32()
		if round%3 > 0 {
			by &^= 15
		}
		for l := range r.R32[0] {
			r.R32[0][l] += by
		}
		if got, want := conflictsAt(r, tr, known.Places(r, tr)), conflicts(r, tr, 16, math.MaxUint32); got != want {
			t.Fatalf("round %d: %d conflicts, want %d", round, got, want)
		}
	}
}

func TestCountsOfWorkersAddUp(t *testing.T) {
	to := []count{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {}}
	sumCounts(to, []count{{10, 20, 30, 40, 50, 60, 70, 80, 90}, {issued: 9}})
	if want := (count{11, 22, 33, 44, 55, 66, 77, 88, 99}); to[0] != want || to[1] != (count{issued: 9}) {
		t.Errorf("%+v, want %+v and 9 issued", to, want)
	}
}

func TestFindingsOfWorkersAreThoseOfOne(t *testing.T) {
	type sight struct {
		at    int32
		block uint64
		warp  int
	}
	all := []sight{{1, 5, 0}, {2, 5, 1}, {3, 0, 1}, {1, 4, 2}, {2, 6, 0}, {4, 7, 0}, {3, 0, 0}, {5, 1, 1}, {1, 4, 1}, {6, 2, 2}}
	gather := func(sights ...sight) *findings {
		f := newFindings()
		for _, s := range sights {
			f.add(spot{origin: s.at}, s.block, s.warp, func() Finding { return Finding{Message: fmt.Sprint(s)} })
		}
		return f
	}
	want, more := gather(all...).list(100)
	for cut := range all {
		f := gather(all[:cut]...)
		f.merge(gather(all[cut:]...))
		got, gotMore := f.list(100)
		if fmt.Sprint(got) != fmt.Sprint(want) || gotMore != more || f.total != int64(len(all)) {
			t.Errorf("cut at %d: %v and %d of %d, want %v and %d of %d", cut, got, gotMore, f.total, want, more, len(all))
		}
	}
}

func TestPositionsOfThreads(t *testing.T) {
	r := &Running{Request: &Launch{Block: [3]uint32{5, 4, 6}}}
	for thread := range 120 {
		for axis, want := range []uint64{uint64(thread % 5), uint64(thread / 5 % 4), uint64(thread / 20)} {
			if got := r.laneBits(code.SpecialTID+axis, thread/lane.Lanes, thread%lane.Lanes); got != want {
				t.Fatalf("thread %d has %d on axis %d, want %d", thread, got, axis, want)
			}
		}
	}
}

func TestMatrixInputsAreOfTheTypeThatTheInstructionNames(t *testing.T) {
	for _, tc := range []struct {
		mods []string
		bank lane.Bank
		want float
	}{
		{[]string{"sync", "m16n8k8", "f32", "tf32", "tf32", "f32"}, lane.R32, float32x1},
		{[]string{"sync", "m16n8k16", "f32", "bf16", "bf16", "f32"}, lane.R32, bfloat16x2},
		{[]string{"sync", "m16n8k16", "f32", "f16", "f16", "f32"}, lane.R32, float16x2},
		{[]string{"sync", "m8n8k4", "f64", "f64", "f64", "f64"}, lane.R64, float64x1},
	} {
		if got := matrixInput(tc.mods, tc.bank, 0); got != tc.want {
			t.Errorf("mma.%v in bank %d: %d, want %d", tc.mods, tc.bank, got, tc.want)
		}
	}
}

func TestHostileWidthsAreNotPrinted(t *testing.T) {
	for spec, want := range map[string]string{"%d": "%d", "%9999": "%9999", "%10000": "%", "%-1234.5678": "%-1234.5678", "%1.12345": "%"} {
		if got := clampWidth(spec); got != want {
			t.Errorf("%q becomes %q, want %q", spec, got, want)
		}
	}
}

// A block needs at least its registers and its shared memory.
func TestBlocksNeedWhatTheyHold(t *testing.T) {
	k := &code.Kernel{Shared: 1000, Local: 64}
	k.Registers[lane.R32], k.Registers[lane.R64] = 200, 100
	r := &Running{Kernel: k, Request: &Launch{SharedBytes: 500}, Warps: 4}
	const registers, local, shared = (200*4 + 100*8) * lane.Lanes * 4, 64 * lane.Lanes * 4, 1500
	if got := r.blockBytes(); got < registers+local+shared || got > 20*(registers+local+shared) {
		t.Errorf("%d bytes, want at least %d and not 20 times as many", got, registers+local+shared)
	}
}

// What an assertion says comes first, whatever was found before it and however few findings are kept.
func TestFailedAssertionsAreListedFirst(t *testing.T) {
	f := newFindings()
	for _, s := range []spot{{3, checkBarrier}, {5, checkOutOfBounds}, {9, checkAssert}, {1, checkTrap}} {
		f.add(s, 0, 0, func() Finding { return Finding{Check: s.check} })
	}
	list, more := f.list(2)
	if len(list) != 2 || list[0].Check != checkAssert || list[1].Check != checkTrap || more != 2 {
		t.Errorf("listed are %v and %d more, want the assertion, the trap and 2", list, more)
	}
}
