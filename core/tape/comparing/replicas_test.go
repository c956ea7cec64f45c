package comparing

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/verdict"
)

// act is an operator of one rank: what it got and what it wrote.
type act struct {
	phase         tape.Phase
	module, name  string
	slot, scalars string
	in, out       float32
}

// update is what an optimizer does to a parameter.
func update(in, out float32) act {
	return act{2, "w", "aten.mul_.Tensor", "self", "other=0.5", in, out}
}

// rankTape makes the tape of a rank.
func rankTape(t *testing.T, rank, ranks int64, steps ...[]act) *tape.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("x.rank%d.tape", rank))
	w, err := tape.Create(path, &tape.Run{Level: "operators", Every: 1, Rank: rank, Ranks: ranks}, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for number, acts := range steps {
		if err := w.Step(int64(number)); err != nil {
			t.Fatal(err)
		}
		for _, a := range acts {
			one := func(role tape.Role) tape.Slot { return tape.Slot{Role: role, Name: a.slot, Type: "float32"} }
			id, err := w.Define(&tape.Place{Module: a.module, Operator: a.name, Phase: a.phase, Slots: []tape.Slot{one(tape.Input), one(tape.Mutated)}})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Add(id, &tape.Operator{Scalars: a.scalars, Values: []tape.Value{value(a.in), value(a.out)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.Close(nil, ""); err != nil {
		t.Fatal(err)
	}
	r, err := tape.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// among compares ranks, each of which did something in one step or more.
func among(t *testing.T, ranks ...[][]act) (*Document, error) {
	t.Helper()
	var sides []Side
	for rank, steps := range ranks {
		sides = append(sides, rankTape(t, int64(rank), int64(len(ranks)), steps...))
	}
	r := &Result{}
	if err := r.Replicas(context.Background(), sides); err != nil {
		return nil, err
	}
	return r.Document(), nil
}

func TestTheRankThatIsNotLikeTheOthersDeviates(t *testing.T) {
	of := func(values ...float32) (ranks [][][]act) {
		for _, x := range values {
			ranks = append(ranks, [][]act{{update(1, 2)}, {update(x, 3)}})
		}
		return ranks
	}
	for name, c := range map[string]struct {
		values []float32
		want   []int64
	}{
		"one of three":                  {[]float32{2, 7, 2}, []int64{1}},
		"the first of three":            {[]float32{7, 2, 2}, []int64{0}},
		"two of four":                   {[]float32{2, 7, 2, 8}, []int64{1, 3}},
		"each of three":                 {[]float32{2, 7, 8}, []int64{}},
		"of two, what nobody made":      {[]float32{2, 7}, []int64{1}},
		"of two, what nobody made on 0": {[]float32{7, 2}, []int64{0}},
		"of two, neither was made":      {[]float32{7, 8}, []int64{}},
	} {
		doc, err := among(t, of(c.values...)...)
		if err != nil {
			t.Fatal(err)
		}
		if doc.First == nil || at(doc.First).Step != 1 || doc.First.Kind != kindInput || !slices.Equal(doc.First.Ranks, c.want) {
			t.Errorf("%s: got %+v, want an input of step 1 and ranks %v", name, doc.First, c.want)
		}
		if doc.Among != "ranks" || doc.Conclusion.Outcome != verdict.Differs {
			t.Errorf("%s: got %s of %s, want differs of ranks", name, doc.Conclusion.Outcome, doc.Among)
		}
	}
}

func TestOfTwoRanksTheOneThatIsCalledWithSomethingElseThanBeforeDeviates(t *testing.T) {
	moved := update(2, 3)
	moved.scalars = "other=0.25"
	doc, err := among(t, [][]act{{update(1, 2)}, {moved}}, [][]act{{update(1, 2)}, {update(2, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	if doc.First == nil || doc.First.Kind != kindArguments || !slices.Equal(doc.First.Ranks, []int64{0}) {
		t.Errorf("got %+v, want arguments and rank 0", doc.First)
	}
}

func TestACountOfAnotherParameterIsNotItsOwn(t *testing.T) {
	count := func(module string, in, out float32) act {
		return act{2, module, "aten.add_.Tensor", "self", "other=1", in, out}
	}
	right := [][]act{{count("a", 0, 1), count("b", 0, 1)}, {count("a", 1, 2), count("b", 1, 2)}}
	wrong := [][]act{{count("a", 0, 1), count("b", 0, 1)}, {count("a", 1, 2), count("b", 2, 3)}}
	doc, err := among(t, right, wrong)
	if err != nil {
		t.Fatal(err)
	}
	if doc.First == nil || at(doc.First).Module != "b" || !slices.Equal(doc.First.Ranks, []int64{1}) {
		t.Errorf("got %+v, want rank 1 at b", doc.First)
	}
}

func TestWhatRanksNeedNotHaveInCommonIsNotCompared(t *testing.T) {
	for name, of := range map[string]func(x float32) act{
		"batches": func(x float32) act { return act{0, "m", "aten.mul.Tensor", "self", "", x, x} },
		"shards":  func(x float32) act { return act{2, "w", "aten.mul_.Tensor", "self @ Shard(0)", "", x, x} },
		"what goes into a collective": func(x float32) act {
			return act{1, "", "c10d.allreduce_.default", "tensors[0]", "process_group=[0, 1]", x, 5}
		},
		"another group": func(x float32) act {
			return act{1, "", "c10d.allreduce_.default", "tensors[0]", fmt.Sprintf("process_group=[%g]", x), x, x}
		},
		"parts": func(x float32) act {
			return act{1, "", "c10d._reduce_scatter_base_.default", "output", "process_group=[0, 1]", x, x}
		},
	} {
		doc, err := among(t, [][]act{{of(0), update(1, 2)}}, [][]act{{of(1), update(1, 2)}})
		if err != nil {
			t.Fatal(err)
		}
		if doc.Conclusion.Outcome != verdict.Same {
			t.Errorf("%s: got %s, want same", name, doc.Verdict)
		}
	}
	result := func(x float32) act {
		return act{1, "", "c10d.allreduce_.default", "tensors[0]", "process_group=[0, 1]", 1, x}
	}
	doc, err := among(t, [][]act{{result(5)}}, [][]act{{result(6)}})
	if err != nil {
		t.Fatal(err)
	}
	if doc.First == nil || doc.First.Kind != kindOutput {
		t.Errorf("got %+v, want another result of a collective", doc.First)
	}
}

func TestNothingThatShouldAgreeIsNoAgreement(t *testing.T) {
	forward := []act{{0, "m", "aten.mul.Tensor", "self", "", 1, 1}}
	doc, err := among(t, [][]act{forward}, [][]act{forward})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Conclusion.Outcome != verdict.Inconclusive {
		t.Errorf("got %s, want inconclusive", doc.Verdict)
	}
	doc, err = among(t, [][]act{{update(1, 2)}, {update(2, 3)}}, [][]act{{update(1, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Conclusion.Outcome == verdict.Same {
		t.Errorf("got %s although a rank lacks a step", doc.Verdict)
	}
}

func TestRanksWithoutATapeAreMissing(t *testing.T) {
	for _, there := range []int64{1, 2} {
		var sides []Side
		for rank := range there {
			sides = append(sides, rankTape(t, rank, 3, []act{update(1, 2)}))
		}
		r := &Result{}
		if err := r.Replicas(context.Background(), sides); err != nil {
			t.Fatal(err)
		}
		doc := r.Document()
		if doc.Conclusion.Outcome != verdict.Inconclusive || !slices.ContainsFunc(doc.Conclusion.Missing, func(m verdict.Missing) bool { return m.What == "ranks" }) {
			t.Errorf("%d of 3 ranks: got %+v, want inconclusive, ranks missing", there, doc.Conclusion)
		}
	}
}

func TestRanksOfOtherRunsAndFlatPartsAreRefused(t *testing.T) {
	flatten := update(1, 2)
	flatten.module = "block._flat_param"
	if _, err := among(t, [][]act{{flatten}}, [][]act{{flatten}}); !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), "flat parts") {
		t.Errorf("got %v, want a refusal", err)
	}
	r := &Result{}
	sides := []Side{rankTape(t, 0, 2, []act{update(1, 2)}), rankTape(t, 1, 4, []act{update(1, 2)})}
	if err := r.Replicas(context.Background(), sides); !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), "another run") {
		t.Errorf("got %v, want a refusal", err)
	}
}
