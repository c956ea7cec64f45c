package finding

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
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

func TestACycleTooShortToBeOneHidesNoOther(t *testing.T) {
	settings := structure.UplifterSettings()
	f := &finder{r: &structure.Run{Opt: structure.Options{Compat: &settings}, Words: &structure.Words{Loose: identity(100)}}}
	outer := slices.Concat([]uint32{80, 80, 80}, slices.Repeat([]uint32{1, 2, 3, 4, 5, 6}, 4)) // 80 repeats every kernel
	got := f.uplifterInner(outer, pattern{start: 0, length: len(outer), at: []int32{0}})
	if got.start != 3 || got.length != 6 || !slices.Equal(got.at, []int32{3, 9, 15, 21}) {
		t.Errorf("%+v, want one of 6 kernels from 3 on", got)
	}
}

func TestBlocksOfASizeAreKnownWhereMostKernelsSayThem(t *testing.T) {
	for _, tc := range []struct{ said, of int }{{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {0, 0}, {50, 100}, {51, 100}, {49, 100}} {
		s := kernels.Sequence{Name: make([]uint32, tc.of+1), Blocks: make([]uint32, tc.of+1)}
		for i := range tc.said {
			s.Blocks[i] = 10
		}
		s.Name[tc.of] = 1 // works not by rows
		s.SetDurations(slices.Repeat([]int64{5}, tc.of+1))
		f := &splitter{trace: &kernels.Trace{Sequences: []kernels.Sequence{s}}, tracks: []*structure.Track{{N: tc.of + 1}}, rows: []bool{true, false}}
		var x sized
		f.size(&x, 0, repeat.Span{Start: 0, End: int32(tc.of + 1)})
		want := 0.0
		if 100*tc.said > saidPercent*tc.of {
			want = float64(10 * tc.said)
		}
		if x.blocks != want || x.ns != float64(5*(tc.of+1)) {
			t.Errorf("%d of %d kernels say their blocks: %g in %g ns, want %g", tc.said, tc.of, x.blocks, x.ns, want)
		}
	}
}

func TestRangesThatAreTooManyDefineNoSteps(t *testing.T) {
	marks := make([]int32, maxRanges+1)
	trace := &kernels.Trace{Sequences: make([]kernels.Sequence, 1), Marks: []kernels.Mark{{Kind: kernels.NVTX, Text: "a"}}}
	const many = "there are too many to be steps"
	if _, why := stepMarks(trace, 0, kernels.NVTX, marks); why != many {
		t.Errorf("%d ranges: %q", len(marks), why)
	}
	if _, why := stepMarks(trace, 0, kernels.NVTX, marks[1:]); why == many {
		t.Errorf("%d ranges are too many", maxRanges)
	}
}

// TestMarksDefineStepsOfTheSequenceThatTheyHold, and what is said of them is why, or why not.
func TestMarksDefineStepsOfTheSequenceThatTheyHold(t *testing.T) {
	trace := &kernels.Trace{Sequences: []kernels.Sequence{{Name: make([]uint32, 6)}}}
	for i := range int64(3) {
		trace.Marks = append(trace.Marks, kernels.Mark{Kind: kernels.VLLM, StartNS: 10 * i, EndNS: 10*i + 9, Kernels: 2})
	}
	sources, said := chooseEvidence(trace, false)
	if len(sources) != 1 || sources[0].kind != kernels.VLLM || len(sources[0].marks) != 3 || len(said) != 1 || said[0].Use != "steps" {
		t.Errorf("%+v, %+v", sources, said)
	}
	if sources, said = chooseEvidence(trace, true); sources[0].marks != nil || said[0].Use != "ignored" {
		t.Errorf("where they are to be ignored: %+v, %+v", sources, said)
	}
	trace.Marks[1].EndNS = 27 // overlaps the third
	if sources, said = chooseEvidence(trace, false); sources[0].marks != nil || said[0].Use != "not used" || said[0].Note != "they overlap each other" {
		t.Errorf("where they overlap: %+v, %+v", sources, said)
	}
}

// TestTheGreaterRepetitionsBecomeAClassOfTheirOwn, and what is left keeps its id.
func TestTheGreaterRepetitionsBecomeAClassOfTheirOwn(t *testing.T) {
	c := &structure.Class{ID: 7, Parts: []structure.Part{{Reps: []repeat.Span{{Start: 0, End: 2}, {Start: 2, End: 4}, {Start: 4, End: 6}}, Marks: []int32{5, 6, 7}}}}
	n := divide(c, [][]bool{{false, true, false}})
	if n.ID == 7 || len(n.Parts) != 1 || len(n.Parts[0].Reps) != 1 || n.Parts[0].Reps[0].Start != 2 || n.Parts[0].Marks[0] != 6 {
		t.Errorf("the greater ones: %+v", n)
	}
	if c.ID != 7 || len(c.Parts[0].Reps) != 2 || c.Parts[0].Marks[1] != 7 {
		t.Errorf("what is left: %+v", c)
	}
}
