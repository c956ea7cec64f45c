package memory_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Warps that load matrices between two barriers are written down and come into the shadow only when another access comes before the second:
// what is found is the same, to the last party of a race, as with a block that looks at every lane at once.
func TestReadsThatAreWrittenDownRaceAsOthersDo(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 3))
	races, quiet := 0, 0
	for range 300 {
		later, once := roomyBench(t), roomyBench(t)
		known := map[int]*memory.Pattern{}
		fill := vector(ptx.Shared, 4, 4)
		fill.Narrow = true
		for _, s := range []*bench{later, once} {
			for row := range 2 {
				for l := range lane.Lanes {
					s.r.R32[0][l] = uint32(512*row + 16*l)
				}
				clean(t, s.b.Store(s.r, fill, 0, all))
			}
			s.b.Barrier()
		}
		for step := range 60 {
			warp, what, start, lanes := random.IntN(4), random.IntN(14), 16*random.IntN(33), random.Uint32()
			tr := vector(ptx.Shared, 4, []int{1, 2, 4}[random.IntN(3)])
			tr.Narrow, tr.Inst, tr.Trans = true, int32(step), step%2 == 0
			apart := uint32(16 * random.IntN(2))
			var found [2]*memory.Fault
			for i, s := range []*bench{later, once} {
				for l := range lane.Lanes {
					s.r.R32[0][l] = uint32(start) + uint32(l)*apart
				}
				switch what {
				case 0, 1:
					s.b.Barrier()
				case 2:
					s.b.Meet(1, lanes&15)
				case 3:
					s.b.Arrive(1, warp)
				case 4:
					tr.Order = memory.Relaxed
					found[i] = s.b.Load(s.r, tr, warp, 1<<(lanes%32))
				case 5:
					found[i] = s.b.Load(s.r, tr, warp, lanes)
				case 6:
					found[i] = s.b.Store(s.r, tr, warp, 1<<(lanes%32))
				case 7:
					if lanes%8 == 0 {
						found[i] = s.b.StoreMatrix(s.r, tr, warp, all)
					}
				default:
					var k *memory.Places
					if i == 0 {
						if known[tr.Count] == nil {
							known[tr.Count] = new(memory.Pattern)
						}
						k = known[tr.Count].Places(s.r, tr)
					}
					found[i] = s.b.LoadMatrix(s.r, tr, warp, all, k)
				}
			}
			if !reflect.DeepEqual(found[0], found[1]) {
				t.Fatalf("step %d, kind %d of warp %d: found %+v, one by one %+v", step, what, warp, found[0], found[1])
			}
			if found[0] != nil && found[0].Check == memory.SharedRace {
				races++
			} else {
				quiet++
			}
		}
	}
	if races < 500 || quiet < 5000 {
		t.Errorf("%d accesses raced, %d did not: the programs try too little", races, quiet)
	}
}
