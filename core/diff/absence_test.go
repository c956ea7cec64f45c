package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/verdict"
)

func TestAbsenceIsNotTheSame(t *testing.T) {
	tolerance, err := ParseTolerance("rel=1e-5")
	must(t, err)
	near := Options{Values: true, Tolerance: tolerance}
	stored := func(value float32, keep bool) run {
		return run{warps: way(3), stores: row(0, 4, 0, 0, 32, value), keep: keep}
	}
	lost := stored(1, false)
	lost.inNoSum, lost.noArrays = 4928, true
	for _, c := range []struct {
		name string
		a, b run
		opt  Options
		want verdict.Outcome
		says string
	}{
		{"no store and no array", run{warps: way(3)}, run{warps: way(3)}, Options{}, verdict.Inconclusive, "no store and no array of either run was seen"},
		{"its way alone", run{warps: way(3)}, run{warps: way(3)}, Options{Require: 1 << AspectControlFlow}, verdict.Same, "the same"},
		{"a tolerance without contents", stored(1, false), stored(1.000001, false), near, verdict.Inconclusive, "the contents of out were not recorded, and a tolerance needs them"},
		{"a tolerance where digests are equal", stored(1, false), stored(1, false), near, verdict.Same, "the same"},
		{"a tolerance with contents", stored(1, true), stored(1.000001, true), near, verdict.Same, "largest error within the tolerance: 9.54e-07 (relative 9.54e-07), out[0]: 1 in A, 1.000001 in B"},
		{"beyond the tolerance", stored(1, true), stored(1.1, true), near, verdict.Differs, "output out differs"},
		{"stores that are in no sum", lost, lost, Options{}, verdict.Inconclusive, "4928 stores of A and 4928 of B are in no sum"},
	} {
		d := judge(t, c.a, c.b, c.opt)
		if d.Conclusion.Outcome != c.want || d.Passed != d.Conclusion.Good() || !strings.Contains(d.Verdict, c.says) {
			t.Errorf("%s: %s, passed %t: %s", c.name, d.Conclusion.Outcome, d.Passed, d.Verdict)
		}
		if missing := d.Conclusion.Missing; (c.want == verdict.Inconclusive) != (len(missing) > 0) {
			t.Errorf("%s: missing %v", c.name, missing)
		}
	}
}

func TestAnArrayThatNoSumExplainsIsNotSaidToBe(t *testing.T) {
	a, b := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}, run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	x, y := compared(t, a.open(t, "a.prlx"), b.open(t, "b.prlx"), Options{}, 1), &outputs{}
	*y = *x.outputs
	y.arrays[0].chunks, y.arrays[0].noise = []int64{0}, []bool{false}
	for _, c := range []struct {
		name string
		set  func()
		want string
	}{
		{"stores alone", func() {}, "every store is the same: they came in another order"},
		{"atomics", func() { y.arrays[0].atomics = true }, "every store and every operand of an atomic is the same"},
		{"lost", func() { y.inNoSum = [2]uint64{0, 4928} }, "who stored it is not known: at least 0 stores of A and 4928 of B are in no sum"},
		{"not recorded", func() { y.sums = false }, "who stored it was not recorded"},
	} {
		c.set()
		if got := y.unexplained("out"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
