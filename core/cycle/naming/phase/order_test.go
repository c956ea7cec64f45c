package phase

import (
	"fmt"
	"slices"
	"testing"
)

func TestTheOrderOfClassesIsSaidWithTheirNumber(t *testing.T) {
	all := []known{
		{Features: &Features{Start: 0, Runs: 1, Repetitions: 4}}, {Features: &Features{Start: 0.2, Runs: 1, Repetitions: 4}}, {Features: &Features{Start: 0.5, Runs: 1, Repetitions: 4}},
	}
	for i, want := range []string{"the earliest of 3 classes", "not the earliest of 3 classes", "not the earliest of 3 classes"} {
		var others []int
		for k := range all {
			if k != i {
				others = append(others, k)
			}
		}
		var said []string
		var odds []float64
		orderOdds(all, i, others, func(o float64, _ bool, format string, args ...any) {
			said, odds = append(said, fmt.Sprintf(format, args...)), append(odds, o)
		})
		at := slices.Index(said, want)
		if at < 0 || (odds[at] > 0) != (i == 0) {
			t.Errorf("class %d: %q with odds %v, want %q", i, said, odds, want)
		}
	}
	orderOdds(all, 0, nil, func(float64, bool, string, ...any) { t.Error("something is said of a class that is alone") })
}

func TestSequencesThatAreAsManyAreAMixtureWhereTheyAreMany(t *testing.T) {
	for _, tc := range []struct{ mine, theirs, want float64 }{
		{mixedLeast, mixedLeast, mixedCounted},
		{mixedLeast - 1, mixedLeast - 1, 0},
		{mixedLeast, mixedLeast - 1, mixedCounted},
		{1, mixedFewer, mixedFew},
		{2, mixedFewer*2 - 1, 0},
	} {
		all := []known{{Features: &Features{}, sequences: tc.mine}, {Features: &Features{}, sequences: tc.theirs}}
		got := mixture(all, 0, []int{1})
		if tc.want != 0 && got != tc.want || tc.want == 0 && got == mixedCounted {
			t.Errorf("%g sequences beside %g: %g, want %g", tc.mine, tc.theirs, got, tc.want)
		}
	}
}
