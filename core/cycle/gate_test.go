package cycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/gate"
	"github.com/prlx-go/prlx/core/verdict"
)

// stepOf is a step of a model in miniature.
func stepOf() edited {
	e := edited{}
	for i := range 24 {
		e.names = append(e.names, fmt.Sprintf("void ns::kernel_%c<float>", 'a'+i))
		e.ns = append(e.ns, int64(20_000+1_000*i))
	}
	return e
}

func gated(t *testing.T, a, b *Result, baselines []*Result, texts ...string) *cycledoc.CompareDocument {
	t.Helper()
	gates, err := gate.Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(nil, a, b, CompareOptions{Gates: gates}, baselines...)
	if err != nil {
		t.Fatal(err)
	}
	encoded(t, d)
	return d
}

func runOf(t *testing.T, e edited, seed uint64, steps int) *Result {
	return mustFind(t, e.recorded(rand.New(rand.NewPCG(seed, 4)), steps, 0), Options{})
}

func scaled(e edited, by float64) edited {
	e = e.clone()
	for i := range e.ns {
		e.ns[i] = int64(float64(e.ns[i]) * by)
	}
	return e
}

func TestAGateFailsOnWhatItNames(t *testing.T) {
	plain := stepOf()
	slower := plain.clone()
	slower.ns[3] = slower.ns[3] * 12 / 10 // kernel_d: 0.6 % of a step
	more := plain.clone()
	more.names, more.ns = append(more.names, "void ns::new_kernel<float>"), append(more.ns, 30_000)
	less := plain.clone()
	less.remove(5)
	for _, c := range []struct {
		name string
		b    edited
		gate string
		want verdict.Outcome
		why  string
	}{
		{"equal", plain, "step>3%", verdict.Passed, "could not have been seen"},
		{"equal", plain, "kernel>5%", verdict.Passed, "24 compared"},
		{"equal", plain, "added", verdict.Passed, "none"},
		{"equal", plain, "idle>50%", verdict.Passed, "time between kernels"},
		{"equal", plain, "layer>3%", verdict.Inconclusive, "no layer of A"},
		{"equal", plain, "kernel:flash*>5%", verdict.Inconclusive, "no kernel that is compared has such a name"},
		{"equal", plain, "step>0.01%", verdict.Inconclusive, "is not told from chance|could not have been seen"},
		{"slower kernel", slower, "kernel:kernel_d>10%", verdict.Failed, "ns::kernel_d<float> +"},
		{"slower kernel", slower, "kernel:kernel_d>3us", verdict.Failed, "kernel_d"},
		{"slower kernel", slower, "kernel:kernel_d>30us", verdict.Passed, "kernel_d"},
		{"slower kernel", slower, "kernel:kernel_d>30%", verdict.Passed, "kernel_d"},
		{"slower kernel", slower, "kernel:kernel_e>5%", verdict.Passed, "kernel_e"},
		{"slower kernel", slower, "step>3%", verdict.Passed, "could not have been seen"},
		{"all slower", scaled(plain, 1.06), "step>3%", verdict.Failed, "+"},
		{"all slower", scaled(plain, 1.06), "step:no such*>3%", verdict.Inconclusive, "whose name fits no such*"},
		{"all faster", scaled(plain, 0.9), "step>3%", verdict.Passed, "-"},
		{"a kernel more", more, "added", verdict.Failed, "added: ns::new_kernel<float> +30"},
		{"a kernel more", more, "added:new*", verdict.Failed, "new_kernel"},
		{"a kernel more", more, "added:old*", verdict.Passed, "none"},
		{"a kernel more", more, "removed", verdict.Passed, "none"},
		{"a kernel more", more, "kernel:new*>5%", verdict.Failed, "new_kernel"},
		{"a kernel less", less, "removed", verdict.Failed, "removed: ns::kernel_f<float>"},
		{"a kernel less", less, "added", verdict.Passed, "none"},
		{"a kernel less", less, "kernel:kernel_f>5%", verdict.Passed, ""},
	} {
		d := gated(t, runOf(t, plain, 1, 60), runOf(t, c.b, 2, 60), nil, c.gate)
		g := d.Gate.Gates[0]
		said := false
		for _, why := range strings.Split(c.why, "|") {
			said = said || strings.Contains(g.Why, why)
		}
		if g.Outcome != c.want || d.Gate.Outcome != c.want || !said {
			t.Errorf("%s, %s: got %s (%s), want %s (%s); looked at %d", c.name, c.gate, g.Outcome, g.Why, c.want, c.why, g.Looked)
		}
		if (g.Outcome == verdict.Failed) != (len(g.Crossed) > 0) {
			t.Errorf("%s, %s: %s with %d crossings", c.name, c.gate, g.Outcome, len(g.Crossed))
		}
	}
}

func TestSeveralGatesComeToOneVerdict(t *testing.T) {
	plain := stepOf()
	a, b := runOf(t, plain, 1, 60), runOf(t, scaled(plain, 1.06), 2, 60)
	for _, c := range []struct {
		gates []string
		want  verdict.Outcome
	}{
		{[]string{"added", "removed"}, verdict.Passed},
		{[]string{"added", "layer>3%"}, verdict.Inconclusive},
		{[]string{"added", "layer>3%", "step>3%"}, verdict.Failed},
	} {
		d := gated(t, a, b, nil, c.gates...)
		if d.Gate.Outcome != c.want || len(d.Gate.Gates) != len(c.gates) {
			t.Errorf("%v: got %s: %s", c.gates, d.Gate.Outcome, d.Gate.Why)
		}
	}
	if d := mustCompare(t, a, b); d.Gate != nil {
		t.Errorf("no gate was named: %+v", d.Gate)
	}
}

func TestAGateIsNotPassedWithoutEvidence(t *testing.T) {
	plain := stepOf()
	a := runOf(t, plain, 1, 60)
	cut := plain.recorded(rand.New(rand.NewPCG(2, 4)), 60, 0)
	cut.Losses.Truncated, cut.Losses.TruncatedAt = true, 1000
	for name, b := range map[string]*Result{
		"few repetitions": runOf(t, plain, 2, 5),
		"a cut file":      mustFind(t, cut, Options{}),
		"nothing":         mustFind(t, series(0, nil), Options{}),
		"something else":  runOf(t, edited{[]string{"x", "y", "z"}, []int64{900, 700, 500}}, 3, 60),
	} {
		for _, text := range []string{"step>3%", "kernel>5%", "idle>5%"} {
			if g := gated(t, a, b, nil, text).Gate; g.Outcome != verdict.Inconclusive || g.Why == "" {
				t.Errorf("%s, %s: got %s: %s", name, text, g.Outcome, g.Why)
			}
		}
	}
	// What is crossed stays crossed.
	slow := scaled(plain, 1.3).recorded(rand.New(rand.NewPCG(2, 4)), 60, 0)
	slow.Losses.Truncated = true
	if g := gated(t, a, mustFind(t, slow, Options{}), nil, "step>3%").Gate; g.Outcome != verdict.Failed {
		t.Errorf("a cut file that is slower: got %s: %s", g.Outcome, g.Why)
	}
}

// TestBaselinesSayWhatIsNoise compares runs that differ by more than their repetitions do: as those of GPUs whose clocks move.
func TestBaselinesSayWhatIsNoise(t *testing.T) {
	plain := stepOf()
	a := runOf(t, plain, 1, 60)
	var baselines []*Result
	for i, by := range []float64{1.012, 0.99, 1.004, 0.995} {
		baselines = append(baselines, runOf(t, scaled(plain, by), uint64(10+i), 60))
	}
	moved := runOf(t, scaled(plain, 1.035), 2, 60)
	if d := gated(t, a, moved, nil, "step>2%"); d.Gate.Outcome != verdict.Failed || !d.Conclusion.Bad() {
		t.Errorf("without baselines: %s: %s", d.Gate.Outcome, d.Verdict)
	}
	d := gated(t, a, moved, baselines, "step>2%")
	if d.Gate.Outcome != verdict.Inconclusive || !strings.Contains(d.Gate.Why, "baselines") || d.Conclusion.Outcome != verdict.Inconclusive || len(d.Regressions) > 0 {
		t.Errorf("with baselines: %s: %s; %s", d.Gate.Outcome, d.Gate.Why, d.Verdict)
	}
	if d.Pairs[0].Wall.Verdict != "within the baselines" || d.Options.Baselines != len(baselines) {
		t.Errorf("got %q of %d baselines", d.Pairs[0].Wall.Verdict, d.Options.Baselines)
	}
	if d := gated(t, a, runOf(t, scaled(plain, 1.12), 2, 60), baselines, "step>2%"); d.Gate.Outcome != verdict.Failed {
		t.Errorf("far beyond the baselines: %s: %s", d.Gate.Outcome, d.Gate.Why)
	}
	strange := runOf(t, edited{[]string{"x", "y", "z"}, []int64{900, 700, 500}}, 3, 60)
	if d := gated(t, a, runOf(t, plain, 2, 60), append(baselines[:len(baselines):len(baselines)], strange), "step>20%"); d.Gate.Outcome != verdict.Inconclusive || d.Conclusion.Good() {
		t.Errorf("a baseline without the step: %s: %s", d.Gate.Outcome, d.Gate.Why)
	}
}

// TestChangesOfTheStatedLimitAreSeen asks of runs that the limit was not made of: 80 of 100 that changed by it are told.
func TestChangesOfTheStatedLimitAreSeen(t *testing.T) {
	plain := stepOf()
	all := seeds(t, 100)
	seen := 0
	for seed := range uint64(all) {
		d := gated(t, runOf(t, plain, 4*seed, 40), runOf(t, plain, 4*seed+1, 40), nil, "step>50%")
		limit := *d.Pairs[0].Limit
		by := 1 + limit*d.Pairs[0].Wall.ANS/d.Pairs[0].Busy.ANS // of kernels, which are not all of a step
		got := gated(t, runOf(t, plain, 4*seed+2, 40), runOf(t, scaled(plain, by), 4*seed+3, 40), nil, fmt.Sprintf("step>%.4f%%", 100*limit/2))
		if got.Gate.Outcome == verdict.Failed {
			seen++
		}
	}
	t.Logf("%d of %d seen", seen, all)
	if seen*10 < all*8 {
		t.Errorf("%d of %d changes of the stated limit were seen", seen, all)
	}
}

// TestAKernelThatIsAddedAnywhereIsFound adds one at every place of the step, and lets the recording start anywhere: at the border, too.
func TestAKernelThatIsAddedAnywhereIsFound(t *testing.T) {
	plain := stepOf()
	for at := range len(plain.names) + 1 {
		more := plain.clone()
		more.names = append(more.names[:at:at], append([]string{"void ns::new_kernel<float>"}, plain.names[at:]...)...)
		more.ns = append(more.ns[:at:at], append([]int64{30_000}, plain.ns[at:]...)...)
		a := runOf(t, plain, 1, 40)
		b := mustFind(t, more.recorded(rand.New(rand.NewPCG(2, 4)), 40, (at*7)%len(more.names)), Options{})
		for _, c := range []struct {
			a, b *Result
			gate string
		}{{a, b, "added:new_kernel"}, {b, a, "removed:new_kernel"}} {
			if g := gated(t, c.a, c.b, nil, c.gate).Gate.Gates[0]; g.Outcome != verdict.Failed || len(g.Crossed) != 1 || !strings.Contains(g.Why, "new_kernel") {
				t.Errorf("at %d, %s: got %s: %s", at, c.gate, g.Outcome, g.Why)
			}
		}
	}
}
