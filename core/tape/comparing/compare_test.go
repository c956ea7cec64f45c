package comparing

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/verdict"
)

// op is an operator of a made-up training: it reads and makes one tensor.
type op struct {
	module, name string
	in, out      float32
	scalars      string
	seed         uint64
}

// run makes a tape of a list of operators a step.
func run(t *testing.T, facts []tape.Fact, steps ...[]op) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tape")
	w, err := tape.Create(path, &tape.Run{Level: "operators", Every: 1, Ranks: 1, Facts: facts}, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for number, ops := range steps {
		if err := w.Step(int64(number)); err != nil {
			t.Fatal(err)
		}
		for _, o := range ops {
			one := func(name string, role tape.Role) tape.Slot {
				return tape.Slot{Role: role, Name: name, Type: "float32", Shape: []int64{1}, Stride: []int64{1}}
			}
			id, err := w.Define(&tape.Place{Module: o.module, Class: "M", Operator: o.name, Slots: []tape.Slot{one("self", tape.Input), one("0", tape.Output)}})
			if err != nil {
				t.Fatal(err)
			}
			record := &tape.Operator{Scalars: o.scalars, Values: []tape.Value{value(o.in), value(o.out)}}
			if o.seed != 0 {
				record.Generator = &tape.Generator{Seed: o.seed, Before: o.seed * 3, After: o.seed * 5}
			}
			if err := w.Add(id, record); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.Close(nil, ""); err != nil {
		t.Fatal(err)
	}
	return path
}

func value(x float32) tape.Value {
	return tape.Of("float32", binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)), true)
}

// compare compares two tapes.
func compare(t *testing.T, a, b string) *Document {
	t.Helper()
	x, err := tape.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	y, err := tape.Open(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	r := &Result{}
	if err := r.Pair(context.Background(), x, y); err != nil {
		t.Fatal(err)
	}
	return r.Document()
}

// chain is a training of three operators, each of which reads what the one before it made.
func chain(first float32) []op {
	return []op{{"0", "mul", first, first + 1, "", 0}, {"1", "exp", first + 1, first + 2, "", 0}, {"2", "sum", first + 2, first + 3, "", 0}}
}

func TestDifferencesAreNamedByWhatDiffersFirst(t *testing.T) {
	change := func(at int, edit func(*op)) []op {
		list := chain(1)
		edit(&list[at])
		return list
	}
	inserted := chain(1)
	inserted = append(inserted[:1:1], append([]op{{"1", "neg", 2, 2, "", 0}}, inserted[1:]...)...)
	for name, c := range map[string]struct {
		b             []op
		kind          Kind
		operator      string
		total, follow int64
		says          string
	}{
		"output":    {change(1, func(o *op) { o.out = 3.5 }), kindOutput, "exp", 1, 0, "made another result of the same inputs; results are up to 0.5 apart (relative 0.143, "},
		"input":     {change(1, func(o *op) { o.in = 9 }), kindInput, "exp", 1, 0, "got another self (float32 [1]); step 0, forward: mul in 0 (M) had made it"},
		"arguments": {change(1, func(o *op) { o.scalars = "x=1, value=2" }), kindArguments, "exp", 1, 0, "called with x=3 in A and x=1 in B"},
		"missing":   {chain(1)[:2], kindMissing, "sum", 1, 0, "only A has it"},
		"inserted":  {inserted, kindInserted, "neg", 1, 0, "only B has it"},
		"follow":    {append(chain(1)[:1:1], op{"1", "exp", 2, 4, "", 0}, op{"2", "sum", 4, 7, "", 0}), kindOutput, "exp", 2, 1, "same inputs"},
		"NaN":       {change(2, func(o *op) { o.out = float32(math.NaN()) }), kindOutput, "sum", 1, 0, "B has 1 NaN"},
	} {
		a := chain(1)
		if name == "arguments" {
			a[1].scalars = "x=3, value=2"
		}
		d := compare(t, run(t, nil, a), run(t, nil, c.b))
		if d.First == nil {
			t.Errorf("%s: nothing differs", name)
			continue
		}
		where := d.First.A
		if where == nil {
			where = d.First.B
		}
		if d.First.Kind != c.kind || where.Operator != c.operator || d.Total != c.total || d.Followers != c.follow || !strings.Contains(d.Verdict, c.says) {
			t.Errorf("%s: got %s at %s, %d differences, %d followers: %s", name, d.First.Kind, where, d.Total, d.Followers, d.Verdict)
		}
		if d.Conclusion.Outcome != verdict.Differs || d.Passed || d.Status != "diverged" {
			t.Errorf("%s: %+v", name, d.Conclusion)
		}
	}
}

func TestSeedsAndCountsOfRandomNumbersAreToldApart(t *testing.T) {
	draw := func(seed uint64, out float32) []op { return []op{{"0", "bernoulli", 1, out, "", seed}} }
	d := compare(t, run(t, nil, draw(7, 1)), run(t, nil, draw(8, 0)))
	if d.First == nil || d.First.Kind != kindRandom || d.First.ValueA != "seed 7" || d.First.ValueB != "seed 8" {
		t.Errorf("got %+v", d.First)
	}
}

func TestEqualRunsAreTheSameAndWhatDiffersOfThemIsSaid(t *testing.T) {
	threads := func(n string) []tape.Fact {
		return []tape.Fact{{Name: "seed", Value: "1"}, {Name: "threads", Value: n}}
	}
	d := compare(t, run(t, threads("1"), chain(1), chain(2)), run(t, threads("2"), chain(1), chain(2)))
	if d.Conclusion.Outcome != verdict.Same || !d.Passed || len(d.Facts) != 1 || d.Facts[0] != (FactDiffer{"threads", "1", "2"}) {
		t.Errorf("got %+v, facts %v", d.Conclusion, d.Facts)
	}
	if !strings.Contains(d.Verdict, "6 operators of 2 steps") || !strings.Contains(d.Verdict, "threads 1 / 2") {
		t.Errorf("got %q", d.Verdict)
	}
}

// TestNothingLookedAtIsNotTheSame: tapes without steps, with other steps, and cut ones.
func TestNothingLookedAtIsNotTheSame(t *testing.T) {
	whole := run(t, nil, chain(1), chain(2))
	cut := filepath.Join(t.TempDir(), "cut.tape")
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(b) - 1; n > 120; n -= 7 {
		if err := os.WriteFile(cut, b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]string{{whole, cut}, {cut, whole}, {cut, cut}} {
			if d := compare(t, pair[0], pair[1]); d.Conclusion.Outcome != verdict.Inconclusive {
				t.Fatalf("cut at %d of %d: %+v", n, len(b), d.Conclusion)
			}
		}
	}
	none := run(t, nil)
	for _, other := range []string{none, whole} {
		if d := compare(t, none, other); d.Conclusion.Outcome != verdict.Inconclusive {
			t.Errorf("no steps: %+v", d.Conclusion)
		}
	}
	if d := compare(t, run(t, nil, chain(1)), whole); d.Conclusion.Outcome != verdict.Inconclusive || !strings.Contains(d.Verdict, "steps of B") {
		t.Errorf("a step that A lacks: %+v", d.Conclusion)
	}
	r := &Result{}
	r.Unpaired("B", 3)
	if d := r.Document(); d.Conclusion.Outcome != verdict.Inconclusive || len(d.Missing) != 1 {
		t.Errorf("a rank that B lacks: %+v", d.Conclusion)
	}
}

func TestLevelsDoNotCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.tape")
	w, err := tape.Create(path, &tape.Run{Level: "modules"}, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(nil, ""); err != nil {
		t.Fatal(err)
	}
	a, _ := tape.Open(context.Background(), run(t, nil, chain(1)))
	defer a.Close()
	b, _ := tape.Open(context.Background(), path)
	defer b.Close()
	if err := (&Result{}).Pair(context.Background(), a, b); !fault.Is(err, fault.Incompatible) {
		t.Errorf("got %v", err)
	}
}

// TestMakerOfNaNIsFoundOnEitherSide: the operator whose inputs are finite, not those that pass it on.
func TestMakerOfNaNIsFoundOnEitherSide(t *testing.T) {
	nan := float32(math.NaN())
	bad := []op{{"0", "mul", 1, 2, "", 0}, {"1", "log", 2, nan, "", 0}, {"2", "sum", nan, nan, "", 0}}
	d := compare(t, run(t, nil, chain(1)), run(t, nil, bad))
	if m := d.Ranks[0].NotFiniteB; m == nil || m.At.Operator != "log" && m.At.Module != "1" || d.Ranks[0].NotFiniteA != nil {
		t.Errorf("got %+v and %+v", d.Ranks[0].NotFiniteA, m)
	}
}
