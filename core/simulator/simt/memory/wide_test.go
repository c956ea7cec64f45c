package memory

import (
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

func TestLoopsInAssemblyAreThoseInGo(t *testing.T) {
	if !lane.Wide() {
		t.Skip("this processor has no vectors of 256 bits")
	}
	random := rand.New(rand.NewPCG(12, 3))
	for round := range 4000 {
		var cells, inGo [lane.Lanes]cell
		var state [lane.Lanes]uint32
		known := random.Uint64()
		for i := range cells {
			state[i] = random.Uint32() &^ extraordinary
			cells[i] = cell{write: random.Uint64N(known), read: random.Uint64N(known)}
		}
		i := random.IntN(lane.Lanes)
		switch round % 5 {
		case 0:
			state[i] |= 1 << (16 + random.IntN(5))
		case 1:
			cells[i].write = known + uint64(random.IntN(2))
		case 2:
			cells[i].read = known + uint64(random.IntN(2))
		case 3:
			cells[i].read = ^uint64(0)
		}
		if got, want := quietWide(&cells, &state, known), quietInGo(&cells, &state, known); got != want {
			t.Fatalf("round %d, granule %d: quiet is %v, in Go %v", round, i, got, want)
		}
		inGo, stateInGo := cells, state
		fillWide(&cells, &state, known, uint32(round))
		if fillInGo(&inGo, &stateInGo, known, uint32(round)); cells != inGo || state != stateInGo {
			t.Fatalf("fill: got %v and %v, in Go %v and %v", cells, state, inGo, stateInGo)
		}
	}
}
