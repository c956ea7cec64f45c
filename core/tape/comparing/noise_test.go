package comparing

import (
	"context"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/verdict"
)

// compareWith compares two tapes, and says before what an equal run differs in.
func compareWith(t *testing.T, a, equal, b string) *Document {
	t.Helper()
	r := &Result{Noise: &Noise{}}
	for _, each := range []struct {
		path string
		with func(context.Context, Side, Side) error
	}{{equal, r.Noise.Baseline}, {b, r.Pair}} {
		x, err := tape.Open(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		y, err := tape.Open(context.Background(), each.path)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		if err := each.with(context.Background(), x, y); err != nil {
			t.Fatal(err)
		}
	}
	return r.Document()
}

// noisyChain is chain whose second operator makes something of its own, which the third gets.
func noisyChain(own float32) []op {
	return []op{{"0", "mul", 1, 2, "", 0}, {"1", "exp", 2, 3 + own, "", 0}, {"2", "sum", 3 + own, 4 + own, "", 0}}
}

func TestWhatDiffersBetweenEqualRunsIsNoise(t *testing.T) {
	a, equal := run(t, nil, noisyChain(0), noisyChain(0)), run(t, nil, noisyChain(0), noisyChain(0.5))
	edit := func(step int, change func([]op)) string {
		steps := [][]op{noisyChain(0.25), noisyChain(0.125)} // here the first step is one that the equal runs agree in
		change(steps[step])
		return run(t, nil, steps...)
	}
	for name, c := range map[string]struct {
		b         string
		outcome   verdict.Outcome
		operator  string
		noise     int64
		total     int64
		mentioned string
	}{
		"noise alone":            {edit(0, func([]op) {}), verdict.Inconclusive, "", 4, 0, "4 operators"},
		"the same":               {run(t, nil, noisyChain(0), noisyChain(0)), verdict.Same, "", 0, 0, ""},
		"another operator":       {edit(1, func(o []op) { o[0].out = 7 }), verdict.Differs, "mul", 4, 1, "made another result"},
		"an argument behind it":  {edit(1, func(o []op) { o[2].scalars = "dim=1" }), verdict.Differs, "sum", 3, 1, "was called with"},
		"other inputs behind it": {edit(1, func(o []op) { o[2].in = 99 }), verdict.Inconclusive, "", 4, 0, ""},
	} {
		d := compareWith(t, a, equal, c.b)
		first := ""
		if d.First != nil {
			first = d.First.A.Operator
		}
		if d.Conclusion.Outcome != c.outcome || first != c.operator || d.Noise != c.noise || d.Total != c.total || d.Baseline != 1 {
			t.Errorf("%s: %s, first %q, noise %d, total %d: %s", name, d.Conclusion.Outcome, first, d.Noise, d.Total, d.Verdict)
		}
		if text := d.Verdict + strings.Join(whats(d), " "); !strings.Contains(text, c.mentioned) {
			t.Errorf("%s: %q is not in %q", name, c.mentioned, text)
		}
	}
	without := compare(t, a, edit(0, func([]op) {}))
	if without.Conclusion.Outcome != verdict.Differs || without.Baseline != 0 {
		t.Errorf("without an equal run: %s", without.Verdict)
	}
}

func whats(d *Document) (list []string) {
	for _, m := range d.Conclusion.Missing {
		list = append(list, m.What, m.Why)
	}
	return list
}

func TestOperatorsThatTorchListsAreSaidToBeSoOnAGPU(t *testing.T) {
	const says = "torch lists the operator"
	for _, c := range []struct {
		facts    []tape.Fact
		operator string
		said     bool
	}{
		{[]tape.Fact{{Name: "gpu", Value: "H100"}}, "aten.index_add.default", true},
		{[]tape.Fact{{Name: "gpu", Value: "H100"}}, "aten.mm.default", false},
		{[]tape.Fact{{Name: "cuda", Value: "13"}}, "aten.index_add.default", false},
	} {
		make := func(out float32) string {
			return run(t, c.facts, []op{{"0", c.operator, 1, out, "", 0}})
		}
		if d := compare(t, make(2), make(3)); strings.Contains(d.Verdict, says) != c.said {
			t.Errorf("%v %s: %s", c.facts, c.operator, d.Verdict)
		}
	}
}
