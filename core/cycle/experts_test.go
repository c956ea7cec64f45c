package cycle

import (
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// TestLayersOfExpertsAreNoSteps: where each layer launches the kernels of other experts no two steps have the same kernels. Layers, and two of them
// side by side by chance, were called steps.
func TestLayersOfExpertsAreNoSteps(t *testing.T) {
	for seed := range uint64(6) {
		for _, experts := range [][2]int{{1, 3}, {2, 8}, {4, 16}} {
			c := cycletest.Experts(seed, 40, experts[0], experts[1])
			starts := map[int64]bool{int64(len(c.Symbols)): true}
			for _, r := range c.Truth {
				for _, rep := range r.Reps {
					starts[int64(rep.Start)] = true
				}
			}
			d := mustFind(t, traceOf(c), Options{}).Document()
			wrong := 0
			for _, l := range d.Levels {
				for i := range l.Classes {
					for _, b := range l.Classes[i].Borders {
						if l.Name == cycledoc.LevelStep && !(starts[b.First] && starts[b.End]) {
							wrong++
						}
					}
				}
			}
			if wrong > 0 {
				t.Errorf("seed %d, %d to %d experts: %d false steps: %s", seed, experts[0], experts[1], wrong, d.Verdict)
			}
		}
	}
}
