package precedence

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/testing/collectivetest"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/event"
)

// aligned is a job whose clocks were solved.
type aligned struct {
	job      *collectivetest.Job
	matched  *collective.Matched
	solution *offsets.Solution
}

func align(t testing.TB, j *collectivetest.Job) *aligned {
	t.Helper()
	a := &aligned{job: j}
	ctx := context.Background()
	var err error
	if a.matched, err = collective.Match(ctx, j.Part); err != nil {
		t.Fatal(err)
	}
	x := Collect(a.matched, collective.AsRecorded, own)
	g := offsets.NewGraph()
	for n := range j.Nodes {
		g.Mention(offsets.Clock{Node: n})
	}
	g.Meet(&x.Meetings, offsets.Clock{})
	if a.solution, err = g.Solve(ctx, offsets.Clock{}, offsets.Options{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// errors compares every instant of every execution's node with the truth on a grid, and returns the errors and how many are beyond their bound.
func (a *aligned) errors(nodes ...int) (errs, bounds []int64, outside int) {
	for i := range a.job.Nodes {
		n, ok := a.solution.Node(i)
		if !ok || i == 0 || len(nodes) > 0 && !slices.Contains(nodes, i) {
			continue
		}
		for dt := int64(0); dt < a.job.LengthNS(); dt += a.job.LengthNS() / 997 {
			y, bound, _ := n.Map.At(a.job.Clocks[i].Shows(dt))
			e := y - a.job.Clocks[0].Shows(dt)
			e = max(e, -e)
			if e > bound+1 {
				outside++
			}
			errs, bounds = append(errs, e), append(bounds, bound)
		}
	}
	slices.Sort(errs)
	slices.Sort(bounds)
	return errs, bounds, outside
}

// at maps an instant of a node's clock to the reference's, with its bound.
func (a *aligned) at(node int32, ns int64) (y, boundNS int64) {
	n, ok := a.solution.Node(int(node))
	if !ok {
		return ns, 1 << 60
	}
	y, bound, _ := n.Map.At(ns)
	return y, bound
}

func (a *aligned) judge(t testing.TB, worst int) *collective.Verdict {
	t.Helper()
	v, err := collective.Check(context.Background(), a.matched, func(s *event.Span, ns int64) (int64, int64) { return a.at(s.Node, ns) }, worst)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// seeds is how many jobs a test makes: a few, or as many as PRLX_COLLECTIVE_SEEDS says.
func seeds(few uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("PRLX_COLLECTIVE_SEEDS"), 10, 32); err == nil {
		return n
	}
	return few
}

func quantile(v []int64, q float64) int64 { return v[int(q*float64(len(v)-1))] }

// proof sums up what the jobs of many seeds showed.
type proof struct {
	jobs, instants, outside int
	p50, p99                []int64 // of the errors of each job
	bounds                  []int64 // the median of each job
	largest                 int64
	falsely                 int // executions that are called impossible and are not
	large, found            int // inversions above twice the bound
	small, smallFound       int // the others
}

func (p *proof) String() string {
	slices.Sort(p.p50)
	slices.Sort(p.p99)
	slices.Sort(p.bounds)
	last := len(p.p50) - 1
	return fmt.Sprintf("%d jobs: error p50 %d ns (worst job %d), p99 %d ns (worst job %d), max %d; bound p50 %d ns; inside their bound %d of %d instants; falsely impossible %d; inversions above twice the bound found %d of %d, below %d of %d",
		p.jobs, quantile(p.p50, 0.5), p.p50[last], quantile(p.p99, 0.5), p.p99[last], p.largest, quantile(p.bounds, 0.5), p.instants-p.outside, p.instants, p.falsely, p.found, p.large, p.smallFound, p.small)
}

// add looks at a job some of whose executions were inverted.
func (p *proof) add(t testing.TB, a *aligned, inverted []collectivetest.Inversion) {
	t.Helper()
	errs, bounds, outside := a.errors()
	p.jobs, p.instants, p.outside = p.jobs+1, p.instants+len(errs), p.outside+outside
	p.p50, p.p99, p.bounds = append(p.p50, quantile(errs, 0.5)), append(p.p99, quantile(errs, 0.99)), append(p.bounds, quantile(bounds, 0.5))
	p.largest = max(p.largest, errs[len(errs)-1])
	v := a.judge(t, len(a.matched.Groups))
	type id struct {
		op  int32
		run int64
	}
	bad := map[id]bool{}
	for _, w := range v.Worst {
		if w.Judgement == collective.Violated {
			g := &a.matched.Groups[w.Group]
			bad[id{g.Op, a.job.Part.Spans[g.Members[0].Span].Run}] = true
		}
	}
	for _, x := range inverted {
		_, left := a.at(x.Left.Node, x.LeftNS)
		_, enter := a.at(x.Enter.Node, x.EnterNS)
		k := id{x.Op, x.Run}
		large := x.SizeNS > 2*(left+enter)
		switch {
		case large && bad[k]:
			p.large, p.found = p.large+1, p.found+1
		case large:
			p.large++
			t.Errorf("%s: an inversion by %d ns, where the bounds are %d and %d ns, was not found", a.job, x.SizeNS, left, enter)
		case bad[k]:
			p.small, p.smallFound = p.small+1, p.smallFound+1
		default:
			p.small++
		}
		delete(bad, k)
	}
	p.falsely += len(bad)
}

// TestClocksOfASyntheticJob: entries that scatter by milliseconds, ends within 2 us, sub-groups, a pipeline, lost events, drift and wander, and
// one execution of all nodes in a hundred that is impossible. make corpus looks at 200 jobs of 1,000 steps.
func TestClocksOfASyntheticJob(t *testing.T) {
	steps := 200
	if os.Getenv("PRLX_COLLECTIVE_SEEDS") != "" {
		steps = 1000
	}
	var p proof
	for seed := range seeds(sweep.Of[uint64](1, 2)) {
		j := collectivetest.Standard(seed, 16, 8, steps).Make()
		inverted := j.Invert("step/reduce-all", 100, 20e3, 50e6)
		p.add(t, align(t, j), inverted)
	}
	t.Log(p.String())
	if p.outside > 0 || p.falsely > 0 || p.large == 0 || p.found != p.large {
		t.Errorf("outside %d, falsely impossible %d, inversions %d of %d", p.outside, p.falsely, p.found, p.large)
	}
	if last := len(p.p50) - 1; p.p50[last] > 1000 || p.p99[last] > 3000 {
		t.Errorf("error p50 %d ns, p99 %d ns in the worst job; want at most 1000 and 3000", p.p50[last], p.p99[last])
	}
}

// TestOneGarbageClockHarmsNoOther: a node whose instants are noise is as far from the truth as it is, and all others as close as without it.
func TestOneGarbageClockHarmsNoOther(t *testing.T) {
	for seed := range seeds(sweep.Of[uint64](1, 4)) {
		j := collectivetest.Standard(seed, 8, 2, 150)
		bad := 1 + int(seed)%7
		for n := range j.Nodes {
			j.Clocks = append(j.Clocks, collectivetest.Clock{OffsetNS: int64(n) * 1e6, DriftPPM: float64(n)})
		}
		j.Clocks[bad].Garbage = true
		a := align(t, j.Make())
		for n := 1; n < j.Nodes; n++ {
			if n == bad {
				continue
			}
			errs, _, outside := a.errors(n)
			if len(errs) == 0 || outside > 0 || quantile(errs, 0.99) > 3000 {
				t.Errorf("%s, node %d is garbage: node %d has %d instants, p99 %d ns, %d beyond their bound; %v", j, bad, n, len(errs), quantile(errs, 0.99), outside, a.solution.Warnings)
			}
		}
	}
}

// TestNodesThatNeverMeetAreSolvedThroughOthersOrMissing: two halves that a pipeline joins are one job; without it the second half is named.
func TestNodesThatNeverMeetAreSolvedThroughOthersOrMissing(t *testing.T) {
	j := collectivetest.Standard(5, 8, 2, 150)
	j.NoWorld = true
	a := align(t, j.Make())
	if errs, _, outside := a.errors(); outside > 0 || len(errs) == 0 || len(a.solution.Missing) > 0 {
		t.Errorf("through a pipeline: %d instants, %d beyond their bound, missing %v", len(errs), outside, a.solution.Missing)
	}
	j = collectivetest.Standard(5, 8, 2, 150)
	j.NoWorld, j.Pipeline = true, false
	a = align(t, j.Make())
	if want := []int{4, 5, 6, 7}; !slices.Equal(a.solution.Missing, want) {
		t.Errorf("missing %v, want %v", a.solution.Missing, want)
	}
	if errs, _, outside := a.errors(1, 2, 3); outside > 0 || quantile(errs, 0.99) > 3000 {
		t.Errorf("the reference's own half: p99 %d ns, %d beyond their bound", quantile(errs, 0.99), outside)
	}
}

// TestAnInversionIsFoundAndMovesNoClock: an execution that one node left before another entered, by more than both bounds allow.
func TestAnInversionIsFoundAndMovesNoClock(t *testing.T) {
	for seed := range seeds(sweep.Of[uint64](2, 7)) {
		j := collectivetest.Standard(seed, 8, 1, 150).Make()
		moved := 0
		for i := range j.Part.Spans {
			s := &j.Part.Spans[i]
			if s.Node == int32(1+seed%7) && j.Part.Ops[s.Op].Key == "step/reduce-all" && s.Run%50 == 25 {
				s.StartNS, s.EndNS = s.StartNS-30e6, s.EndNS-30e6
				moved++
			}
		}
		a := align(t, j)
		errs, _, outside := a.errors()
		v := a.judge(t, 0)
		if outside > 0 || quantile(errs, 0.99) > 3000 {
			t.Errorf("%s: p99 %d ns, %d beyond their bound; %v", j, quantile(errs, 0.99), outside, a.solution.Warnings)
		}
		if v.Violated != moved {
			t.Errorf("%s: %d of %d inversions found", j, v.Violated, moved)
		}
	}
}

// TestAnInversionThatContradictsNothingMovesNoBound: by less than there is room, so that clocks could be where it says; the ends of all other
// executions say that they are not.
func TestAnInversionThatContradictsNothingMovesNoBound(t *testing.T) {
	for seed := range seeds(6) {
		j := collectivetest.Standard(seed, 4, 2, 150).Make()
		inverted := j.Invert("step/reduce-all", 75, 19e3, 24e3)
		a := align(t, j)
		if errs, _, outside := a.errors(); outside > 0 || quantile(errs, 0.99) > 5000 {
			t.Errorf("%s, %d inverted: p99 %d ns, %d beyond their bound; %v", j, len(inverted), quantile(errs, 0.99), outside, a.solution.Warnings)
		}
	}
}

// TestAStepIsFoundByCollectives: it is located between two collectives, bounded by its size, and as good as without it elsewhere.
func TestAStepIsFoundByCollectives(t *testing.T) {
	for seed := range seeds(4) {
		j := collectivetest.Standard(seed, 4, 2, 200)
		for n := range j.Nodes {
			j.Clocks = append(j.Clocks, collectivetest.Clock{OffsetNS: int64(n) * 1e7, DriftPPM: float64(10 * n)})
		}
		j.Clocks[2].StepNS, j.Clocks[2].StepAfterNS = 3e6*int64(1-2*(seed%2)), 9_970e6
		a := align(t, j.Make())
		n, _ := a.solution.Node(2)
		if _, _, outside := a.errors(); outside > 0 {
			t.Errorf("%s: %d beyond their bound", j, outside)
		}
		if len(n.Steps) != 1 || n.Steps[0].ToNS-n.Steps[0].FromNS > 200e6 {
			t.Fatalf("%s: steps %+v", j, n.Steps)
		}
		if d := n.Steps[0].JumpNS - j.Clocks[2].StepNS; max(d, -d) > 100_000 {
			t.Errorf("%s: a step of %d ns was measured as %d", j, j.Clocks[2].StepNS, n.Steps[0].JumpNS)
		}
		if errs, _, _ := a.errors(1, 3); quantile(errs, 0.99) > 3000 {
			t.Errorf("%s: the others are off by %d ns", j, quantile(errs, 0.99))
		}
	}
}
