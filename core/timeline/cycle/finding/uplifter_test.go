package finding

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/cycle/kernels"
	"github.com/prlx-go/prlx/core/timeline/cycle/structure"
)

// identity is n symbols, each that of the name with its number.
func identity(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

func TestACycleWithinACycleTakesItsPlace(t *testing.T) {
	settings := structure.UplifterSettings()
	f := &finder{r: &structure.Run{Opt: structure.Options{Compat: &settings}, Words: &structure.Words{Loose: identity(100)}}}
	outer := slices.Concat([]uint32{90}, slices.Repeat([]uint32{1, 2, 3, 4, 5}, 4), []uint32{91, 92, 93}) // what comes first occurs once
	names := slices.Repeat(outer, 2)
	got := f.uplifterInner(names, pattern{start: 0, length: len(outer), at: []int32{0, int32(len(outer))}})
	if want := []int32{1, 6, 11, 16, 25, 30, 35, 40}; got.start != 1 || got.length != 5 || !slices.Equal(got.at, want) {
		t.Errorf("%+v, want one of 5 kernels from 1 on, at %v", got, want)
	}
	plain := identity(24)
	if got := f.uplifterInner(slices.Repeat(plain, 2), pattern{length: 24, at: []int32{0, 24}}); got.length != 24 || len(got.at) != 2 {
		t.Errorf("%+v, want the cycle as it is: nothing repeats within", got)
	}
}

func TestStepsTakeTheTailThatMostOfThemHave(t *testing.T) {
	r := &structure.Run{
		Trace: &kernels.Trace{Sequences: []kernels.Sequence{{Name: []uint32{1, 2, 7, 1, 2, 7, 1, 2, 8, 9, 1, 2, 7, 7, 1, 2, 7}}}},
		Words: &structure.Words{Loose: identity(10), Strict: identity(10)}, Keys: structure.KeysStrict,
	}
	f := &finder{r: r}
	steps := []tracked{{first: 0, end: 2}, {first: 3, end: 5}, {first: 6, end: 8}, {first: 10, end: 12}, {first: 14, end: 16}}
	f.takeTails(&structure.Track{N: 17}, steps)
	var ends []int32
	for _, s := range steps {
		ends = append(ends, s.end)
	}
	if want := []int32{3, 6, 8, 13, 17}; !slices.Equal(ends, want) { // the third has another tail, the fourth begins with it
		t.Errorf("steps end at %v, want %v", ends, want)
	}
}
