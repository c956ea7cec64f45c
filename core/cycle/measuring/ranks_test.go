package measuring

import (
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// stepsOf makes a run of steps, by class and by the number that their mark gives them; -1 is none.
func stepsOf(classAndNumber ...[2]int) *structure.Run {
	r := &structure.Run{Trace: &kernels.Trace{}}
	for _, s := range classAndNumber {
		step := structure.Step{Class: int32(s[0]), Mark: -1}
		if s[1] >= 0 {
			step.Mark = int32(len(r.Trace.Marks))
			r.Trace.Marks = append(r.Trace.Marks, kernels.Mark{Step: int64(s[1])})
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

func TestARowHasAClassWhereAllItsStepsHave(t *testing.T) {
	r := stepsOf([2]int{4, -1}, [2]int{4, -1}, [2]int{5, -1}, [2]int{-1, -1})
	for _, tc := range []struct {
		row  []int
		want int32
	}{{[]int{0, 1}, 4}, {[]int{0, -1, 1}, 4}, {[]int{-1, 2}, 5}, {[]int{0, 2}, -1}, {[]int{2, -1, 0}, -1}, {[]int{3, 0}, -1}, {[]int{3}, -1}} {
		if got := oneClass(r, tc.row); got != tc.want {
			t.Errorf("row %v: class %d, want %d", tc.row, got, tc.want)
		}
	}
}

func TestNumbersOfMarksLineStepsUp(t *testing.T) {
	r := stepsOf([2]int{0, 7}, [2]int{0, 9}, [2]int{0, 8}, [2]int{0, 9}, [2]int{0, 7})
	rows, ok := lineUp(r, [][]int{{0, 1}, {2, 3, 4}})
	if want := [][]int{{0, 4}, {-1, 2}, {1, 3}}; !ok || !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %v (%v), want %v", rows, ok, want)
	}
	if len(r.Warnings) != 0 {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestStepsWithoutNumbersLineUpWhereTheyAreAsMany(t *testing.T) {
	r := stepsOf([2]int{0, -1}, [2]int{1, -1}, [2]int{0, -1}, [2]int{1, -1}, [2]int{0, 3})
	rows, ok := lineUp(r, [][]int{{0, 1}, {2, 3}})
	if want := [][]int{{0, 2}, {1, 3}}; !ok || !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %v (%v), want %v", rows, ok, want)
	}
	if rows, ok := lineUp(r, [][]int{{0, 1}, {2, 3, 4}}); ok || len(r.Warnings) != 1 {
		t.Errorf("different counts: rows %v, warnings %q", rows, r.Warnings)
	}
}

func TestOwnTimeIsTheUnionWithoutCollectives(t *testing.T) {
	s := kernels.Sequence{Name: []uint32{0, 0, 1, 0, 0, 0}, StartNS: []int64{100, 105, 110, 130, 131, 200}}
	s.SetDurations([]int64{10, 10, 50, 5, 2, 7}) // two overlap, one is inside another, one waits for other ranks
	r := &structure.Run{Trace: &kernels.Trace{Sequences: []kernels.Sequence{s}}, Words: &structure.Words{Collective: []bool{false, true}}}
	track := &structure.Track{N: 6}
	for _, tc := range []struct {
		from, to int32
		want     int64
	}{{0, 6, 15 + 5 + 7}, {0, 1, 10}, {2, 3, 0}, {3, 5, 5}} {
		if got := own(r, track, repeat.Span{Start: tc.from, End: tc.to}); got != tc.want {
			t.Errorf("kernels %d to %d: %d ns of its own, want %d", tc.from, tc.to, got, tc.want)
		}
	}
	if got := kernelTime(r, track, repeat.Span{Start: 0, End: 6}); got != 84 {
		t.Errorf("%d ns in kernels, want 84", got)
	}
}
