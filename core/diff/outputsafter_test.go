package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/verdict"
)

// TestMemoryAfterLaunchesIsComparedWithItsLike goes through what the memory of an array can say, and through all that keeps it from saying anything.
func TestMemoryAfterLaunchesIsComparedWithItsLike(t *testing.T) {
	launch := func(value float32, before, after uint64) run {
		return run{warps: way(3), stores: row(0, 4, 0, 0, 32, value), held: []heldMemory{{"out", 4096, before, after, 0}}}
	}
	with := func(r run, change func(r *run)) run {
		change(&r)
		return r
	}
	atomics := func(r *run) { r.stores, r.atomics = nil, []float32{1} }
	addresses := func(r *run) { r.held[0].addresses = 3 }
	lost := func(r *run) { r.inNoSum = 7 }
	other := func(r *run) { r.held = append(r.held, heldMemory{"x", 64, 5, 6, 0}) }
	otherAfter := func(r *run) { r.held = append(r.held, heldMemory{"x", 64, 5, 7, 0}) }
	after := "1 array by contents after the launch"
	tolerance, err := ParseTolerance("rel=1e-5")
	must(t, err)
	for _, c := range []struct {
		name string
		a, b run
		opt  Options
		want verdict.Outcome
		says []string
	}{
		{"the same", launch(1, 5, 6), launch(1, 5, 6), Options{}, verdict.Same, []string{after}},
		{"began otherwise, ended the same", launch(1, 5, 6), launch(1, 7, 6), Options{}, verdict.Same, []string{after}},
		{"ended otherwise, and nothing else differs", launch(1, 5, 6), launch(1, 5, 7), Options{}, verdict.Differs, []string{"output out", "every store is the same", after}},
		{"stored otherwise", launch(1, 5, 6), launch(2, 5, 7), Options{}, verdict.Differs, []string{"output out", "k.py:14"}},
		{"stored otherwise with the same end", launch(1, 5, 6), launch(2, 5, 6), Options{}, verdict.Differs, []string{"same results", "something else was stored on the way"}},
		{"began otherwise: sums decide", launch(1, 5, 6), launch(1, 8, 9), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"began otherwise, and sums differ", launch(1, 5, 6), launch(2, 8, 9), Options{}, verdict.Differs, []string{"what was stored differs"}},
		{"unknown how it began", launch(1, 0, 6), launch(1, 0, 9), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"began otherwise, and atomics add to it", with(launch(1, 5, 6), atomics), with(launch(1, 8, 9), atomics), Options{}, verdict.Inconclusive, []string{"perhaps as it did before, and atomics went to it"}},
		{"began otherwise, and stores are in no sum", with(launch(1, 5, 6), lost), with(launch(1, 8, 9), lost), Options{}, verdict.Inconclusive, []string{"stores are in no sum"}},
		{"the same, and stores are in no sum", with(launch(1, 5, 6), lost), with(launch(1, 5, 6), lost), Options{}, verdict.Inconclusive, []string{"may have gone to memory that no argument has"}},
		{"the order of atomics", with(launch(1, 5, 6), atomics), with(launch(1, 5, 9), atomics), Options{}, verdict.Differs, []string{"atomics in another order"}},
		{"addresses", with(launch(1, 5, 6), addresses), with(launch(1, 5, 9), addresses), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"an array that no sum names", with(launch(1, 5, 6), other), with(launch(1, 5, 6), otherAfter), Options{}, verdict.Differs, []string{"output x", "2 arrays by contents after the launch"}},
		{"memory of another size", launch(1, 5, 6), with(launch(1, 5, 9), func(r *run) { r.held[0].bytes = 8 }), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"nobody looked in B", launch(1, 5, 6), with(launch(1, 5, 9), func(r *run) { r.held, r.noArrays = nil, true }), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"digests of what was written in B", launch(1, 5, 6), with(launch(1, 5, 9), func(r *run) { r.held = nil }), Options{}, verdict.Same, []string{"arrays not compared"}},
		{"a tolerance", launch(1, 5, 6), launch(1, 5, 9), Options{Values: true, Tolerance: tolerance}, verdict.Inconclusive, []string{"a tolerance needs them"}},
	} {
		d := judge(t, c.a, c.b, c.opt)
		if d.Conclusion.Outcome != c.want || d.Passed != d.Conclusion.Good() {
			t.Errorf("%s: %s, passed %t: %s", c.name, d.Conclusion.Outcome, d.Passed, d.Verdict)
		}
		for _, says := range c.says {
			if !strings.Contains(d.Verdict, says) {
				t.Errorf("%s: %q is not in %q", c.name, says, d.Verdict)
			}
		}
		if missing := d.Conclusion.Missing; (c.want == verdict.Inconclusive) != (len(missing) > 0) {
			t.Errorf("%s: missing %v", c.name, missing)
		}
	}
}

// TestMemoryThatEqualRunsLeaveOtherwiseIsNoise: atomics add up in another order in every run.
func TestMemoryThatEqualRunsLeaveOtherwiseIsNoise(t *testing.T) {
	launch := func(after uint64) run {
		return run{warps: way(3), atomics: []float32{1}, held: []heldMemory{{"out", 4096, 5, after, 0}}}
	}
	a, b, again := launch(6).open(t, "a.prlx"), launch(7).open(t, "b.prlx"), launch(8).open(t, "again.prlx")
	r := compared(t, a, b, Options{}, 1)
	if got := r.Judge().Status; got != StatusDiverged {
		t.Errorf("one pair: %s", got)
	}
	_, err := ApplyBaseline(job.New(t.Context(), job.Options{}), r, a, b, []*warptrace.Trace{again}, nil, Options{})
	must(t, err)
	if got := r.Judge().Status; got != StatusIdentical {
		t.Errorf("noise: %s: %s", got, documentOf(t, r).Verdict)
	}
}

// TestWhatMemoryHeldBeforeIsWhatALaunchWasGiven compares contents digests with their like alone.
func TestWhatMemoryHeldBeforeIsWhatALaunchWasGiven(t *testing.T) {
	a, b := run{warps: way(3), held: []heldMemory{{"x", 64, 5, 5, 0}}}, run{warps: way(3), held: []heldMemory{{"x", 64, 6, 6, 0}}}
	given := func(a, b run) []Given { return GivenOf(a.open(t, "a.prlx").Header(), b.open(t, "b.prlx").Header()) }
	if got := given(a, b); len(got) != 1 || got[0].Text() != "x held something else when the kernel was launched" {
		t.Errorf("got %v", got)
	}
	written := run{warps: way(3)}
	written.arguments = append(written.arguments, a.open(t, "x.prlx").Header().Arguments...)
	written.arguments[0].Before, written.arguments[0].Digest = 0, 99
	if got := given(a, written); len(got) != 0 {
		t.Errorf("another kind of digest: got %v", got)
	}
}
