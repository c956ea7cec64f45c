package memory_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

func TestSectorsAreDistinctPiecesOf32Bytes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	r := registers()
	for range 2000 {
		tr := vector(ptx.Global, []int{1, 2, 4, 8}[random.IntN(4)], []int{1, 2, 4, 8}[random.IntN(4)])
		tr.Offset = int64(random.IntN(64) - 32)
		width, step := uint64(tr.Elem*tr.Count), uint64(random.IntN(80))
		if random.IntN(2) == 0 {
			step = width
		}
		start := 1<<40 + uint64(random.IntN(64))
		for l := range uint64(lane.Lanes) {
			r.R64[0][l] = start + l*step
			if random.IntN(40) == 0 {
				r.R64[0][l] = random.Uint64() >> 1
			}
		}
		mask := random.Uint32()
		if random.IntN(2) == 0 {
			mask = all
		}
		seen := map[uint64]bool{}
		for l := range lane.Lanes {
			for i := range width {
				if mask>>l&1 != 0 {
					seen[(r.R64[0][l]+uint64(tr.Offset)+i)/32] = true
				}
			}
		}
		if got := memory.Sectors(r, tr, mask); got != len(seen) {
			t.Fatalf("%d bytes a lane, step %d, mask %08x: got %d sectors, want %d", width, step, mask, got, len(seen))
		}
	}
	if got := memory.Sectors(r, vector(ptx.Global, 4, 1), 0); got != 0 {
		t.Errorf("no lane: got %d sectors", got)
	}
}

func TestSectorsOfKnownSourcesAreThoseOfUnknownOnes(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 3))
	r, tr, known := registers(), vector(ptx.Global, 4, 4), new(memory.Pattern)
	tr.Offset = 16
	for round := range 3000 {
		if round%10 == 0 {
			step := uint64(random.IntN(80))
			for l := range uint64(lane.Lanes) {
				r.R64[0][l] = 1<<40 + l*step
			}
		}
		by := uint64(8 * random.IntN(20))
		for l := range r.R64[0] {
			r.R64[0][l] += by
		}
		if got, want := known.Sources(r, tr).Sectors, memory.Sectors(r, tr, all); got != want {
			t.Fatalf("round %d: %d sectors, want %d", round, got, want)
		}
	}
}
