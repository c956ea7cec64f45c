package cycle

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

func TestTracesOfSeveralRanksAreOne(t *testing.T) {
	c := cycletest.Make("dense-moe", 4, cycletest.Options{Kernels: 3000})
	slow := *c
	slow.DurNS = slices.Clone(c.DurNS)
	for i := range slow.DurNS {
		slow.DurNS[i] += 100
	}
	together := mustFind(t, traceOf(c, &slow), Options{}).Document()
	a, b := traceOf(c), traceOf(&slow)
	a.Sequences[0].Rank, b.Sequences[0].Rank = -1, -1
	b.Names = append([]string{"a name that the other has not"}, b.Names...)
	for i := range b.Sequences[0].Name {
		b.Sequences[0].Name[i]++
	}
	apart := mustFind(t, join([]*kernels.Trace{a, b}), Options{}).Document()
	apart.Input.Names--
	if !bytes.Equal(encoded(t, together), encoded(t, apart)) {
		t.Errorf("joined:\n%s\nin one file:\n%s", describeDoc(apart), describeDoc(together))
	}
	if len(apart.RankTotals) != 2 || apart.RankTotals[1].Slowest == 0 {
		t.Errorf("%+v", apart.RankTotals)
	}
}

func TestRanksThatClashAreRenumberedAndNamed(t *testing.T) {
	c := cycletest.Make("training", 4, cycletest.Options{Kernels: 2000})
	a, b := traceOf(c), traceOf(c)
	b.Marks = []kernels.Mark{{Sequence: 0, Rank: 0, Text: "x", Place: kernels.OnHost}}
	tr := join([]*kernels.Trace{a, b})
	if tr.Sequences[1].Rank != 1 || len(tr.Warnings) != 1 || tr.Marks[0].Sequence != 1 || tr.Marks[0].Rank != 1 {
		t.Errorf("rank %d, %v, %+v", tr.Sequences[1].Rank, tr.Warnings, tr.Marks)
	}
}

func TestADirectoryAndAFileNamedTwiceAreNotRanks(t *testing.T) {
	path := filepath.Join("..", "..", "examples", "serving", "before.json.gz")
	for want, paths := range map[string][]string{
		"no trace given": nil, "is a directory": {filepath.Dir(path)}, "is given twice": {path, filepath.Join(".", path)},
	} {
		if _, err := Read(job.New(t.Context(), job.Options{}), paths, ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", paths, err, want)
		}
	}
	one, err := Read(job.New(t.Context(), job.Options{}), []string{path}, ReadOptions{})
	if err != nil || len(one.Sequences) == 0 {
		t.Errorf("one trace: got %v", err)
	}
}
