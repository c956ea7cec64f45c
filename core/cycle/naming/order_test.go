package naming

import (
	"testing"

	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

func TestOrderSaysWhatAClassFollows(t *testing.T) {
	reps := func(starts ...int32) []structure.Part {
		var p structure.Part
		for _, s := range starts {
			p.Reps = append(p.Reps, repeat.Span{Start: s, End: s + 10})
		}
		return []structure.Part{p}
	}
	r := &structure.Run{
		Tracks:  []*structure.Track{{N: 100}},
		Classes: []*structure.Class{{Parts: reps(0, 10, 40, 50)}, {Parts: reps(20, 30, 60)}},
		Levels:  []structure.Level{{Classes: []int{0, 1}}},
	}
	f := &namer{r: r}
	features := make([]phase.Features, 2)
	f.order(features)
	for i, want := range []phase.Features{{Runs: 2, Start: 0, After: false}, {Runs: 2, Start: 0.2, After: true}} {
		if got := features[i]; got.Runs != want.Runs || got.Start != want.Start || got.After != want.After {
			t.Errorf("class %d: %d runs from %g on, after another: %v; want %d, %g, %v", i, got.Runs, got.Start, got.After, want.Runs, want.Start, want.After)
		}
	}
}
