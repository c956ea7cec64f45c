package comparing

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

func TestRepetitionsPerStep(t *testing.T) {
	layer := &structure.Class{Depth: structure.DepthLayer, Count: 120, Parts: make([]structure.Part, 2)}
	alone := &structure.Class{Depth: structure.DepthLayer, Count: 30, Parts: make([]structure.Part, 2)}
	step := &structure.Class{Depth: structure.DepthStep, Children: []structure.Child{{Class: layer, Count: 12}}}
	loop := &structure.Class{Depth: structure.DepthLoop, Children: []structure.Child{{Class: step, Count: 4}}}
	layer.Parents = []int{0, 1}
	r := &structure.Run{Classes: []*structure.Class{step, loop}}
	for name, tc := range map[string]struct {
		c    *structure.Class
		want float64
	}{"a step": {step, 1}, "a layer of a step": {layer, 12}, "a loop of four steps": {loop, 0.25}, "in no step: by device": {alone, 15}} {
		if got := perStep(r, tc.c); got != tc.want {
			t.Errorf("%s: %g, want %g", name, got, tc.want)
		}
	}
	r.Steps = make([]structure.Step, 10)
	if got := perStep(r, alone); got != 3 {
		t.Errorf("in no step, where there are ten: %g, want 3", got)
	}
	if got := perStep(r, layer); got != 12 {
		t.Errorf("a layer of a step, where there are ten: %g, want 12", got)
	}
}

func TestAClassIsOnTheLevelOfItsDepth(t *testing.T) {
	r := &structure.Run{Levels: []structure.Level{{Depth: structure.DepthLayer}, {Depth: structure.DepthStep}}}
	for depth, want := range map[structure.Depth]int{structure.DepthLayer: 0, structure.DepthStep: 1, structure.DepthLoop: -1} {
		if got := levelPlace(r, &structure.Class{Depth: depth}); got != want {
			t.Errorf("depth %d stands on level %d, want %d", depth, got, want)
		}
	}
}

func TestSlotsBelongToTheRepetitionsThatTheyStandIn(t *testing.T) {
	inner := &structure.Class{Word: []uint32{7, 8}, Parts: []structure.Part{
		{Track: 0, Reps: []repeat.Span{{Start: 8, End: 10}, {Start: 11, End: 13}, {Start: 13, End: 15, Edits: 1}, {Start: 15, End: 17}, {Start: 19, End: 21}}},
		{Track: 1, Reps: []repeat.Span{{Start: 18, End: 20}}},
	}}
	out := make([]place, 10)
	for i := range out {
		out[i].pair = -1
	}
	noteOwner(out, 10, &structure.Part{Track: 0}, repeat.Span{Start: 10, End: 20}, 3, inner)
	none := place{pair: -1}
	if want := []place{none, {3, 0}, {3, 1}, none, none, {3, 0}, {3, 1}, none, none, none}; !slices.Equal(out, want) {
		t.Errorf("%v, want %v", out, want)
	}
}
