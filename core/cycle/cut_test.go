package cycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/testing/cycletest"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/testing/sweep"
)

// cutTrace is what a recorder that ran from an instant to another one would have seen: kernels that lie inside, and marks that do.
func cutTrace(tr *kernels.Trace, from, to int64) *kernels.Trace {
	out := &kernels.Trace{Path: "cut of " + tr.Path, Format: tr.Format, Names: tr.Names, BaseNS: tr.BaseNS}
	moved := make([]int, len(tr.Sequences))
	for i := range tr.Sequences {
		s := &tr.Sequences[i]
		n := kernels.Sequence{Rank: s.Rank, Host: s.Host, Device: s.Device, Streams: slices.Clone(s.Streams)}
		for k := range n.Streams {
			n.Streams[k].Kernels = 0
		}
		var dur []int64
		for k := range s.Len() {
			if s.StartNS[k] < from || s.EndNS(k) > to {
				continue
			}
			n.Name, n.StartNS, n.Stream = append(n.Name, s.Name[k]), append(n.StartNS, s.StartNS[k]), append(n.Stream, s.Stream[k])
			if s.Graph != nil {
				n.Graph = append(n.Graph, s.Graph[k])
			}
			dur = append(dur, s.DurNS(k))
			n.Streams[s.Stream[k]].Kernels++
		}
		n.SetDurations(dur)
		if moved[i] = -1; len(dur) > 0 {
			moved[i] = len(out.Sequences)
			out.Sequences = append(out.Sequences, n)
		}
	}
	for _, m := range tr.Marks {
		if m.StartNS < from || m.EndNS > to || m.Sequence >= 0 && moved[m.Sequence] < 0 {
			continue
		}
		if m.Sequence >= 0 {
			m.Sequence = moved[m.Sequence]
		}
		out.Marks = append(out.Marks, m)
	}
	return out
}

// span is from the first start to the last end of all kernels.
func span(tr *kernels.Trace) (from, to int64) {
	for i := range tr.Sequences {
		s := &tr.Sequences[i]
		for k := range s.Len() {
			if i == 0 && k == 0 {
				from = s.StartNS[0]
			}
			from, to = min(from, s.StartNS[k]), max(to, s.EndNS(k))
		}
	}
	return from, to
}

// randomCut cuts off the beginning, the end, or both, and leaves about half or more.
func randomCut(r *rand.Rand, tr *kernels.Trace) *kernels.Trace {
	from, to := span(tr)
	length := float64(to - from)
	head, tail := int64(0.3*length*r.Float64()), int64(0.3*length*r.Float64())
	switch r.IntN(3) {
	case 0:
		head = 0
	case 1:
		tail = 0
	}
	return cutTrace(tr, from+head, to-tail)
}

// occurs reports whether the kernels of a class stand somewhere in a run, by a search that is slow and obvious.
func occurs(r *Result, c *structure.Class, of *Result) bool {
	want := make([]string, len(c.Word))
	for i, s := range c.Word {
		want[i] = of.run.Words.KeysOf(of.run.Keys)[s]
	}
	for _, t := range r.run.Tracks {
		keys := make([]string, t.N)
		for i, s := range r.run.Symbols(t, 0, t.N) {
			keys[i] = r.run.Words.KeysOf(r.run.Keys)[s]
		}
		for i := range keys {
			if i+len(want) <= len(keys) && slices.Equal(keys[i:i+len(want)], want) {
				return true
			}
		}
	}
	return false
}

// falseChanges are the differences that a comparison of a run with a part of itself names.
func falseChanges(d *cycledoc.CompareDocument, a, b *Result) []string {
	var out []string
	for i := range d.Pairs {
		p := &d.Pairs[i]
		for k := range p.Rows {
			if row := &p.Rows[k]; row.Kind != string(pairs.Exact) || row.Change.Verdict == string(pairs.Slower) || row.Change.Verdict == string(pairs.Faster) {
				out = append(out, fmt.Sprintf("%s, now %s: a row is %s, %s", p.A.Name, p.B.Name, row.Kind, row.Change.Verdict))
				break
			}
		}
		for _, x := range []cycledoc.Delta{p.Wall, p.Gap} {
			if x.Verdict == string(pairs.Slower) || x.Verdict == string(pairs.Faster) {
				out = append(out, fmt.Sprintf("%s of %d x %d, now %d x %d: %+v", p.A.Name, p.A.Period, p.A.Count, p.B.Period, p.B.Count, x))
			}
		}
	}
	for _, side := range []struct {
		only   []cycledoc.ClassBrief
		r, not *Result
	}{{d.OnlyA, a, b}, {d.OnlyB, b, a}} {
		for _, o := range side.only {
			for _, c := range side.r.run.Classes {
				if cycledoc.ID(c.ID) == o.ID && occurs(side.not, c, side.r) {
					out = append(out, fmt.Sprintf("%s of %d x %d kernels stands in the other run too", o.Name, o.Count, o.Period))
				}
			}
		}
	}
	for _, c := range slices.Concat(d.Regressions, d.Improvements) {
		out = append(out, fmt.Sprintf("cost %s of %s: %.0f ns", c.What, c.Class, c.StepNS))
	}
	return out
}

// unbalanced are the sums of a comparison that do not hold: parts of accounts, rows of parts, costs of pairs.
func unbalanced(d *cycledoc.CompareDocument) []string {
	var out []string
	check := func(what string, a *cycledoc.Account) {
		sum := int64(0)
		for _, p := range a.Parts {
			sum += p.DeltaNS
		}
		if sum != a.DeltaNS || a.BNS-a.ANS != a.DeltaNS {
			out = append(out, fmt.Sprintf("%s: the parts add up to %d: %+v", what, sum, *a))
		}
	}
	check("account", &d.Account)
	for i := range d.Pairs {
		p := &d.Pairs[i]
		check(p.A.Name, &p.Account)
		rows := map[string]int64{}
		for k := range p.Rows {
			row := &p.Rows[k]
			if row.BNS-row.ANS != row.DeltaNS || math.Abs(row.Change.DeltaNS-float64(row.DeltaNS)) > 2 { // each side is rounded so that rows add up
				out = append(out, fmt.Sprintf("%s: row %+v", p.A.Name, *row))
			}
			rows[row.Part] += row.DeltaNS
		}
		costs := 0.0
		for _, c := range slices.Concat(d.Regressions, d.Improvements) {
			if c.Of == i && c.Row >= 0 {
				costs += c.StepNS
			}
		}
		listed := int64(0)
		for _, x := range p.Account.Parts {
			if x.Rows > 0 && rows[x.Part] != x.DeltaNS {
				out = append(out, fmt.Sprintf("%s: the rows of %s add up to %d, not %d", p.A.Name, x.Part, rows[x.Part], x.DeltaNS))
			}
			if x.Part == cycledoc.PartAdded || x.Part == cycledoc.PartRemoved || x.Part == cycledoc.PartChanged {
				listed += x.DeltaNS
			}
		}
		if p.Level == cycledoc.LevelStep && p.Kinds.Fused+p.Kinds.Split+p.Kinds.Replaced == 0 && math.Abs(costs-float64(listed)) > 1e-3*math.Abs(costs) {
			out = append(out, fmt.Sprintf("%s: costs of %.0f ns are listed, changed kernels are %d", p.A.Name, costs, listed))
		}
	}
	return out
}

// TestAnotherStartingPointIsNotADifference compares generated runs with parts of themselves that begin and end in the middle of a step.
func TestAnotherStartingPointIsNotADifference(t *testing.T) {
	cuts := 0
	for _, family := range []string{"single-prefill", "multi-prefill", "chunked-mixed", "speculative", "dense-moe", "alternating", "two-streams", "pipeline", "training", "nested"} {
		for seed := range uint64(seeds(t, sweep.Of(1, 4))) {
			r := rand.New(rand.NewPCG(seed, 10))
			tr := traceOf(cycletest.Make(family, 400+seed, cycletest.Options{Kernels: 4000}))
			a := mustFind(t, tr, Options{})
			for range 3 {
				b := mustFind(t, randomCut(r, tr), Options{})
				d := mustCompare(t, a, b)
				encoded(t, d)
				if wrong := falseChanges(d, a, b); len(wrong) > 0 {
					t.Errorf("%s %d: %d false changes\n%s", family, seed, len(wrong), strings.Join(wrong, "\n"))
				}
				if wrong := unbalanced(d); len(wrong) > 0 {
					t.Errorf("%s %d: %s", family, seed, strings.Join(wrong, "\n"))
				}
				cuts++
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// TestCutsOfRealRecordings does the same to every recording that has steps or layers, with and without its annotations. PRLX_CYCLE_CUTS says
// how many cuts each gets; without it a few recordings get one.
func TestCutsOfRealRecordings(t *testing.T) {
	files := []string{filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz")}
	n := 1
	if s := os.Getenv("PRLX_CYCLE_CUTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("PRLX_CYCLE_CUTS is %q", s)
		}
		files = slices.Concat(filetest.Glob(t, "kineto/*.json.gz"), filetest.Glob(t, "xplane/*.pb"))
	}
	cuts, wrongCuts := 0, 0
	for _, file := range files {
		tr, err := kernels.Read(nil, file, kernels.Options{})
		if err != nil || tr.Kernels() == 0 {
			continue // damaged, or of a host alone
		}
		r := rand.New(rand.NewPCG(10, 10))
		for _, ignore := range []bool{false, true} {
			a := mustFind(t, tr, Options{IgnoreAnnotations: ignore})
			if len(a.run.Classes) == 0 {
				continue
			}
			for range n {
				b := mustFind(t, randomCut(r, tr), Options{IgnoreAnnotations: ignore})
				d := mustCompare(t, a, b)
				cuts++
				if wrong := unbalanced(d); len(wrong) > 0 {
					t.Errorf("%s, ignore %v: %s", file, ignore, strings.Join(wrong, "\n"))
				}
				if wrong := falseChanges(d, a, b); len(wrong) > 0 {
					wrongCuts++
					t.Errorf("%s, ignore %v: %d false changes\n%s", file, ignore, len(wrong), strings.Join(wrong[:min(len(wrong), 12)], "\n"))
				}
			}
		}
	}
	t.Logf("%d cuts, %d with false changes", cuts, wrongCuts)
}

// TestEveryNanosecondOfAChangeIsSaid compares runs that differ in every way at once: the parts of the account are those that were made.
func TestEveryNanosecondOfAChangeIsSaid(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	a := edited{}
	for i := range 24 {
		a.names, a.ns = append(a.names, fmt.Sprintf("void ns::kernel_%c<float>", 'a'+i)), append(a.ns, 10_000)
	}
	b := a.clone()
	b.ns[3], b.ns[17] = 30_000, 5_000
	b.remove(9)
	b.names, b.ns = slices.Insert(b.names, 20, "void ns::new_kernel<float>"), slices.Insert(b.ns, 20, 7_000)
	for _, steps := range []int{30, 3} { // 3 are too few to tell, and add up all the same
		d := mustCompare(t, mustFind(t, a.recorded(r, steps, 0), Options{}), mustFind(t, b.recorded(r, steps, 5), Options{}))
		if wrong := unbalanced(d); len(wrong) > 0 || len(d.Pairs) != 1 {
			t.Fatalf("%v %d pairs", wrong, len(d.Pairs))
		}
		got := map[string]int64{}
		for _, p := range d.Account.Parts {
			got[p.Part] = p.DeltaNS
		}
		want := map[string]int64{cycledoc.PartAdded: 7_000, cycledoc.PartRemoved: -10_000, cycledoc.PartChanged: 15_000, cycledoc.PartUntested: 0, cycledoc.PartInsignificant: 0, cycledoc.PartIdle: 0}
		if steps == 3 {
			want[cycledoc.PartChanged], want[cycledoc.PartUntested] = 0, 15_000
		}
		for part, ns := range want {
			if diff := got[part] - ns; max(diff, -diff) > 1_000 {
				t.Errorf("%d steps: %s is %d, not %d: %+v", steps, part, got[part], ns, d.Account)
			}
		}
		if !strings.Contains(d.Verdict, "removed") || !strings.Contains(d.Verdict, "added") {
			t.Errorf("the verdict does not say the sum: %s", d.Verdict)
		}
	}
}
