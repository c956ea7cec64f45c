package cycle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

func mustCompare(t testing.TB, a, b *Result) *cycledoc.CompareDocument {
	t.Helper()
	d, err := Compare(nil, a, b, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tested reports whether all steps are compared with as many repetitions as a test needs; without steps, whether all classes are.
func tested(d *cycledoc.CompareDocument) bool {
	for i := range d.Pairs {
		if p := &d.Pairs[i]; p.Level == d.Pairs[0].Level && p.Wall.Verdict == string(pairs.TooFew) {
			return false
		}
	}
	return len(d.Pairs) > 0
}

func TestARunComparedWithItselfIsExact(t *testing.T) {
	for _, family := range cycletest.Families() {
		r := mustFind(t, traceOf(cycletest.Make(family, 2, cycletest.Options{Kernels: 6000, Noise: 0.03})), Options{})
		d := mustCompare(t, r, r)
		encoded(t, d)
		if d.Conclusion.Bad() || d.Conclusion.Good() != tested(d) || len(d.Pairs) != len(r.run.Classes) || len(d.OnlyA)+len(d.OnlyB)+len(d.Regressions)+len(d.Improvements) > 0 {
			t.Errorf("%s: %s, %d pairs of %d classes: %s", family, d.Status, len(d.Pairs), len(r.run.Classes), d.Verdict)
		}
		for _, p := range d.Pairs {
			if !p.Identical || p.A.ID != p.B.ID || p.Similarity != 1 || p.Wall.DeltaNS != 0 || p.Gap.DeltaNS != 0 {
				t.Errorf("%s: %+v", family, p.A)
			}
		}
	}
}

// edited is one step of a run: kernels with their usual times.
type edited struct {
	names []string
	ns    []int64
}

func (e edited) clone() edited { return edited{slices.Clone(e.names), slices.Clone(e.ns)} }

func (e *edited) remove(i int) {
	e.names, e.ns = slices.Delete(e.names, i, i+1), slices.Delete(e.ns, i, i+1)
}

// recorded runs a step again and again, with 1 % of noise and a pause before each, from the kernel at start on.
func (e edited) recorded(r *rand.Rand, steps, start int) *kernels.Trace {
	now := int64(1_000_000)
	n := len(e.names)
	return series(steps*n, func(i int) (string, int64, int64) {
		k := (i + start) % n
		if k == 0 {
			now += 40_000
		}
		dur := int64(float64(e.ns[k]) * (1 + 0.01*r.NormFloat64()))
		at := now
		now += dur + 300
		return e.names[k], at, dur
	})
}

// TestInjectedEditsAreFoundAndNothingElse changes one run in five ways at once: a kernel a fifth slower, one removed, two fused, another
// start of the recording, another tile.
func TestInjectedEditsAreFoundAndNothingElse(t *testing.T) {
	all := seeds(t, 200)
	complete, falseOnes := 0, 0
	for seed := range uint64(all) {
		r := rand.New(rand.NewPCG(seed, 77))
		n := 20 + r.IntN(25)
		a := edited{}
		for i := range n {
			a.names = append(a.names, fmt.Sprintf("void ns::kernel_%c%c<float>", 'a'+i%26, 'a'+i/26))
			a.ns = append(a.ns, int64(3000+211*i))
		}
		at := r.Perm(n / 4)
		slow, gone, fused, tile := 4*at[0], 4*at[1], 4*at[2], 4*at[3] // four apart: edits do not touch
		a.names[tile] = "nvjet_tst_64x64_64x13_1x2_h_bz_TNN"
		b := a.clone()
		b.names[tile] = "nvjet_tst_128x64_64x9_2x1_v_bz_TNN"
		b.ns[slow] += b.ns[slow] / 5
		slowName, goneName, fusedNames := a.names[slow], a.names[gone], []string{a.names[fused], a.names[fused+1]}
		b.names[fused], b.ns[fused] = "void ns::fused_kernel<float>", b.ns[fused]+b.ns[fused+1]
		order := []int{fused + 1, gone}
		slices.Sort(order)
		b.remove(order[1])
		b.remove(order[0])
		d := mustCompare(t, mustFind(t, a.recorded(r, 40, 0), Options{}), mustFind(t, b.recorded(r, 40, 1+r.IntN(len(b.names)-1)), Options{}))
		if len(d.Pairs) != 1 {
			t.Errorf("seed %d: %d pairs: %s", seed, len(d.Pairs), d.Verdict)
			continue
		}
		found := map[string]bool{}
		for _, row := range d.Pairs[0].Rows {
			switch {
			case row.Kind == "exact" && row.Change.Verdict == "slower" && row.A[0].Name == slowName:
				found["slow"] = true
			case row.Kind == "removed" && row.A[0].Name == goneName:
				found["gone"] = true
			case row.Kind == "fused" && len(row.A) == 2 && row.A[0].Name == fusedNames[0] && row.A[1].Name == fusedNames[1]:
				found["fused"] = true
			case row.Kind == "similar" && strings.HasPrefix(row.A[0].Name, "nvjet"):
				found["tile"] = true
			case row.Kind != "exact" || row.Change.Verdict != "no significant change":
				falseOnes++
				t.Errorf("seed %d: false %s %s %+v", seed, row.Kind, row.Change.Verdict, row.A)
			}
		}
		if len(found) == 4 {
			complete++
		} else {
			t.Errorf("seed %d: found %v of %d kernels", seed, found, n)
		}
		if len(d.Regressions) == 0 || d.Regressions[0].Row < 0 && len(d.Regressions) < 2 {
			t.Errorf("seed %d: regressions %+v", seed, d.Regressions)
		}
	}
	t.Logf("all five edits found in %d of %d, %d false ones", complete, all, falseOnes)
}

func TestRegressionsAreSortedByWhatTheyCostAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	a := edited{}
	for i := range 20 {
		a.names, a.ns = append(a.names, fmt.Sprintf("k%c", 'a'+i)), append(a.ns, 10_000)
	}
	b := a.clone()
	b.ns[3], b.ns[9], b.ns[15] = 12_000, 15_000, 7000
	d := mustCompare(t, mustFind(t, a.recorded(r, 30, 0), Options{}), mustFind(t, b.recorded(r, 30, 0), Options{}))
	if len(d.Regressions) != 2 || d.Regressions[0].What != "kj" || d.Regressions[1].What != "kd" || len(d.Improvements) != 1 || d.Improvements[0].What != "kp" {
		t.Fatalf("%+v\n%+v", d.Regressions, d.Improvements)
	}
	if c := d.Regressions[0]; c.StepNS < 4900 || c.StepNS > 5100 || d.Status != cycledoc.CompareChanged || !strings.Contains(d.Verdict, "kj") {
		t.Errorf("%+v: %s", c, d.Verdict)
	}
}

func TestFewRepetitionsDecideNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	a := edited{}
	for i := range 30 {
		a.names, a.ns = append(a.names, fmt.Sprintf("k%d", i)), append(a.ns, 10_000)
	}
	b := a.clone()
	b.ns[3] = 20_000
	d := mustCompare(t, mustFind(t, a.recorded(r, 4, 0), Options{}), mustFind(t, b.recorded(r, 4, 0), Options{}))
	if len(d.Pairs) != 1 || d.Pairs[0].Wall.Verdict != "not enough repetitions" || len(d.Regressions) > 0 || len(d.Warnings) == 0 {
		t.Errorf("%+v", d)
	}
}

func TestRunsWithNothingInCommonAreUnmatched(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 8))
	side := func(prefix string) *Result {
		e := edited{}
		for i := range 20 {
			e.names, e.ns = append(e.names, fmt.Sprintf("%s_%c", prefix, 'a'+i)), append(e.ns, 5000)
		}
		return mustFind(t, e.recorded(r, 20, 0), Options{})
	}
	d := mustCompare(t, side("left"), side("right"))
	if d.Status != cycledoc.CompareUnmatched || len(d.OnlyA) != 1 || len(d.OnlyB) != 1 {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	none := mustFind(t, &kernels.Trace{}, Options{})
	if d := mustCompare(t, none, none); d.Status != cycledoc.CompareOpen || len(d.Warnings) != 2 {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
}

func TestRunsOnOtherHardwareArePairedAndDistinguished(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 9))
	side := func(gemm string) *Result {
		e := edited{}
		for i := range 20 {
			name := fmt.Sprintf("common_%c", 'a'+i)
			if i%3 > 0 {
				name = fmt.Sprintf("%s_%c", gemm, 'a'+i)
			}
			e.names, e.ns = append(e.names, name), append(e.ns, 5000)
		}
		return mustFind(t, e.recorded(r, 20, 0), Options{})
	}
	d := mustCompare(t, side("left"), side("right"))
	if len(d.Pairs) != 1 || d.Pairs[0].Kinds.Exact != 7 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "50 %") {
		t.Errorf("%s %+v: %s", d.Status, d.Warnings, d.Verdict)
	}
}

func TestComparingIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := mustFind(t, traceOf(cycletest.Make("training", 1, cycletest.Options{Kernels: 3000})), Options{})
	if _, err := Compare(job.New(ctx, job.Options{}), r, r, CompareOptions{}); !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
	if _, err := Compare(nil, r, r, CompareOptions{Alpha: 2}); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
}

// twoThousand is a run whose step has 2,000 kernels.
func twoThousand(t testing.TB, slow int) *Result {
	r := rand.New(rand.NewPCG(5, 5))
	e := edited{}
	for range 2000 {
		name := fmt.Sprintf("void ns::kernel_%c%c<float>", 'a'+r.IntN(10), 'a'+r.IntN(6))
		e.names, e.ns = append(e.names, name), append(e.ns, int64(3000+r.IntN(5000)))
	}
	e.ns[100] += int64(slow)
	return mustFind(t, e.recorded(r, 100, 0), Options{})
}

func TestTwoStepsOfTwoThousandKernels(t *testing.T) {
	a, b := twoThousand(t, 0), twoThousand(t, 3000)
	d := mustCompare(t, a, b)
	if len(d.Pairs) != 1 || len(d.Pairs[0].Rows) != 2000 || len(d.Regressions) != 1 {
		t.Errorf("%d pairs, %d regressions", len(d.Pairs), len(d.Regressions))
	}
}
