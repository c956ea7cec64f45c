package cycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/verdict"
)

// plain is a run of steps of 20 kernels of 50 us with 1 % of noise. Slow says how many times as long a kernel takes, pause what the step before it waits.
func plain(seed uint64, steps int, slow func(step int) float64, pause func(step int) int64) *kernels.Trace {
	r := rand.New(rand.NewPCG(seed, 31))
	now := int64(1_000_000)
	return series(20*steps, func(i int) (string, int64, int64) {
		step := i / 20
		if i%20 == 0 {
			now += 40_000
			if pause != nil && step > 0 {
				now += pause(step - 1)
			}
		}
		dur := 50_000 * (1 + 0.01*r.NormFloat64())
		if slow != nil {
			dur *= slow(step)
		}
		at := now
		now += int64(dur) + 300
		return fmt.Sprintf("kernel_%d<%c>", i%20, 'a'+i%20), at, int64(dur)
	})
}

// TestComparisonsWithoutEnoughEvidenceAreNotTheSame has the ways in which a slower run was once called the same.
func TestComparisonsWithoutEnoughEvidenceAreNotTheSame(t *testing.T) {
	times := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	for _, tc := range []struct {
		name string
		a, b *kernels.Trace
		want verdict.Outcome
		says string
	}{
		{"nothing changed", plain(1, 40, nil, nil), plain(2, 40, nil, nil), verdict.Same, "Nothing changed"},
		{"every third step stalls", plain(1, 40, nil, nil), plain(2, 40, nil, func(s int) int64 {
			if s%10 == 1 || s%10 == 4 || s%10 == 7 {
				return 40_000_000
			}
			return 0
		}), verdict.Differs, "far longer than usual"},
		{"one step stalls", plain(1, 40, nil, nil), plain(2, 40, nil, func(s int) int64 {
			if s == 17 {
				return 40_000_000
			}
			return 0
		}), verdict.Inconclusive, "not told from chance"},
		{"three steps, twice slower", plain(1, 3, nil, nil), plain(2, 3, times(2), nil), verdict.Inconclusive, "a test needs 8"},
		{"three steps, the same", plain(1, 3, nil, nil), plain(2, 3, nil, nil), verdict.Inconclusive, "a test needs 8"},
		{"one step, ten times slower", plain(1, 1, nil, nil), plain(2, 1, times(10), nil), verdict.Inconclusive, "nothing in it repeats"},
		{"no kernels", &kernels.Trace{}, &kernels.Trace{}, verdict.Inconclusive, "holds none"},
		{"no kernels on one side", plain(1, 40, nil, nil), &kernels.Trace{}, verdict.Inconclusive, "kernels of B"},
		{"a file that was cut", plain(1, 40, nil, nil), func() *kernels.Trace {
			tr := plain(2, 40, nil, nil)
			tr.Losses.Truncated = true
			return tr
		}(), verdict.Inconclusive, "the rest of the trace of B"},
		{"a slower file that was cut", plain(1, 40, nil, nil), func() *kernels.Trace {
			tr := plain(2, 40, times(1.2), nil)
			tr.Losses.Truncated = true
			return tr
		}(), verdict.Differs, "slower"},
		{"a rank without a file", plain(1, 40, nil, nil), join([]*kernels.Trace{plain(2, 40, nil, nil), nil}), verdict.Inconclusive, "left out"},
	} {
		d := mustCompare(t, mustFind(t, tc.a, Options{}), mustFind(t, tc.b, Options{}))
		if d.Conclusion.Outcome != tc.want || !strings.Contains(d.Verdict, tc.says) {
			t.Errorf("%s: %s (%s), want %s that says %q\n%s", tc.name, d.Conclusion.Outcome, d.Status, tc.want, tc.says, d.Verdict)
		}
		if agrees := map[verdict.Outcome]string{verdict.Same: cycledoc.CompareSame, verdict.Differs: cycledoc.CompareChanged, verdict.Inconclusive: cycledoc.CompareOpen}; d.Status != agrees[d.Conclusion.Outcome] {
			t.Errorf("%s: status %s of %s", tc.name, d.Status, d.Conclusion.Outcome)
		}
	}
}

func TestCyclesPassWhereTheyExplainTheTime(t *testing.T) {
	cut := plain(1, 40, nil, nil)
	cut.Losses.Truncated = true
	for _, tc := range []struct {
		name  string
		trace *kernels.Trace
		want  verdict.Outcome
		says  string
	}{
		{"steps", plain(1, 40, nil, nil), verdict.Passed, "40 × step"},
		{"one step", plain(1, 1, nil, nil), verdict.Inconclusive, "nothing repeats"},
		{"no kernels", &kernels.Trace{}, verdict.Inconclusive, "holds none"},
		{"a file that was cut", cut, verdict.Inconclusive, "the file is cut"},
		{"one rank of several is left out", join([]*kernels.Trace{plain(1, 40, nil, nil), nil}), verdict.Inconclusive, "left out"},
		{"two ranks of eight", func() *kernels.Trace {
			tr := join([]*kernels.Trace{plain(1, 40, nil, nil), plain(2, 40, nil, nil)})
			tr.World = 8
			return tr
		}(), verdict.Inconclusive, "6 ranks"},
		{"one rank of eight", func() *kernels.Trace {
			tr := plain(1, 40, nil, nil)
			tr.World = 8
			return tr
		}(), verdict.Passed, "40 × step"},
	} {
		d := mustFind(t, tc.trace, Options{}).Document()
		if d.Conclusion.Outcome != tc.want || !strings.Contains(d.Conclusion.Why, tc.says) {
			t.Errorf("%s: %s: %s; want %s that says %q", tc.name, d.Conclusion.Outcome, d.Conclusion.Why, tc.want, tc.says)
		}
	}
}

// TestCleanPairsAreTheSameAndChangedOnesDiffer counts verdicts on runs that were drawn apart.
func TestCleanPairsAreTheSameAndChangedOnesDiffer(t *testing.T) {
	const pairs = 60
	count := map[string]map[verdict.Outcome]int{}
	for seed := range uint64(pairs) {
		r := rand.New(rand.NewPCG(seed, 20261126))
		steps := 20 + r.IntN(80)
		share := 0.25 + 0.5*r.Float64() // of the steps
		stalls := func(int) int64 {
			if r.Float64() < share {
				return 5_000_000 + r.Int64N(40_000_000)
			}
			return 0
		}
		for name, b := range map[string]*kernels.Trace{
			"clean": plain(2*seed+1, steps, nil, nil), "stalls": plain(2*seed+1, steps, nil, stalls),
			"slower": plain(2*seed+1, steps, func(int) float64 { return 1.08 }, nil),
		} {
			d := mustCompare(t, mustFind(t, plain(2*seed, steps, nil, nil), Options{}), mustFind(t, b, Options{}))
			if count[name] == nil {
				count[name] = map[verdict.Outcome]int{}
			}
			count[name][d.Conclusion.Outcome]++
		}
	}
	t.Logf("%v", count)
	if c := count["clean"]; c[verdict.Differs] > 1 || 100*c[verdict.Same] < 90*pairs {
		t.Errorf("clean pairs: %v", c)
	}
	for _, name := range []string{"stalls", "slower"} {
		if c := count[name]; c[verdict.Same] > 0 || 100*c[verdict.Differs] < 90*pairs {
			t.Errorf("%s: %v", name, c)
		}
	}
}
