package offsets_test

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"sort"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// network of probes: every node probes all others in turn.
type probing struct {
	clocks []wall
	length int64
	every  int64 // between two probes of a node
	delay  func(from, to int) int64
}

// busy is a software-stamped path: 15 us at least, exponential above it, 1 % of 10 ms.
func busy(r *rand.Rand) func(int, int) int64 {
	return func(int, int) int64 {
		d := 15_000 + int64(r.ExpFloat64()*12_000)
		if r.Intn(100) == 0 {
			d += int64(r.Float64() * 10e6)
		}
		return d
	}
}

func (p probing) stamps() []clockfile.Stamp {
	var out []clockfile.Stamp
	n := len(p.clocks)
	for a := range n {
		seq := int64(0)
		for dt := int64(a) * 100_000; dt < p.length; dt += p.every {
			b := (a + 1 + int(seq)%(n-1)) % n
			t2 := dt + p.delay(a, b)
			t3 := t2 + 5_000
			t4 := t3 + p.delay(b, a)
			out = append(out, clockfile.Stamp{
				Src: int32(a), Dst: int32(b), Seq: seq,
				T1: p.clocks[a].at(dt), T2: p.clocks[b].at(t2), T3: p.clocks[b].at(t3), T4: p.clocks[a].at(t4),
			})
			seq++
		}
	}
	return out
}

// compare evaluates a solution on a grid of true time: errors outside steps and how many errors exceed their bound anywhere.
func (p probing) compare(s *offsets.Solution) (errs []int64, inStep, violations, n int) {
	for i := range p.clocks {
		no, ok := s.Node(i)
		if !ok || i == s.Reference {
			continue
		}
		for dt := p.length / 50; dt < p.length-p.length/50; dt += p.length / 2000 {
			y, bound, cov := no.Map.At(p.clocks[i].at(dt))
			e := y - p.clocks[s.Reference].at(dt)
			e = max(e, -e)
			n++
			if e > bound {
				violations++
			}
			if cov&clock.InStep != 0 {
				inStep++
				continue
			}
			errs = append(errs, e)
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i] < errs[j] })
	return errs, inStep, violations, n
}

func solve(t testing.TB, p probing) *offsets.Solution {
	t.Helper()
	s, err := offsets.SolveStamps(context.Background(), p.stamps(), offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoiseFreeStampsOver64NodesAreSolvedToTheNanosecond(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	p := probing{clocks: make([]wall, 64), length: 12e9, every: 20e6, delay: func(int, int) int64 { return 20_000 }}
	for i := 1; i < len(p.clocks); i++ {
		p.clocks[i] = wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(200_000) - 100_000}
	}
	s := solve(t, p)
	errs, _, violations, n := p.compare(s)
	t.Logf("errors p50 %d, max %d ns of %d", errs[len(errs)/2], errs[len(errs)-1], n)
	if worst := errs[len(errs)-1]; worst > 2 || violations > 0 { // stamps and truth are rounded too
		t.Errorf("largest error %d ns, %d beyond their bound", worst, violations)
	}
	for i := range s.Nodes {
		if len(s.Nodes[i].Steps) > 0 {
			t.Errorf("node %d: false alarm %+v", s.Nodes[i].Node, s.Nodes[i].Steps)
		}
	}
}

func TestCleanClocksRaiseNoAlarm(t *testing.T) {
	var worst int64
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		p := probing{clocks: []wall{{}, {offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(400_000) - 200_000}}, length: 20e9, every: 10e6, delay: busy(r)}
		s := solve(t, p)
		for _, l := range s.Links {
			if l.Steps > 0 || l.RateChanges > 0 {
				t.Errorf("seed %d: false alarm: %+v", seed, l)
			}
		}
		errs, _, violations, _ := p.compare(s)
		worst = max(worst, errs[len(errs)-1])
		if violations > 0 {
			t.Errorf("seed %d: %d errors exceed their bound", seed, violations)
		}
	}
	t.Logf("largest error of 100 runs: %d ns", worst)
	if worst > 4000 {
		t.Errorf("largest error %d ns, want at most 4000", worst)
	}
}

func TestStepsSeenByProbesAreLocatedAndNeverInterpolated(t *testing.T) {
	for _, by := range []int64{200_000, -200_000, 1e6, -1e6, 2e6, 100e6, -100e6, 1e9, -1e9} {
		for _, stepper := range []int{0, 1} {
			r := rand.New(rand.NewSource(by))
			p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: 40_000}}, length: 20e9, every: 5e6, delay: busy(r)}
			p.clocks[stepper].steps = []jump{{9_876_543_210, by}}
			s := solve(t, p)
			n, _ := s.Node(1)
			if len(n.Steps) != 1 {
				t.Errorf("step of %d ns on node %d: %d steps found: %+v", by, stepper, len(n.Steps), n.Steps)
				continue
			}
			want := by
			if stepper == 0 {
				want = -by
			}
			st := n.Steps[0]
			if d := math.Abs(float64(st.JumpNS - want)); d > 60_000+50e-6*math.Abs(float64(by)) {
				t.Errorf("step of %d ns on node %d measured as %d", by, stepper, st.JumpNS)
			}
			if width := st.ToNS - st.FromNS; width > 40e6+2*max(by, -by)+2*max(by, -by)/10 {
				t.Errorf("step of %d ns on node %d located within %d ns", by, stepper, width)
			}
			errs, _, violations, _ := p.compare(s)
			if errs[len(errs)-1] > 4000 || violations > 0 {
				t.Errorf("step of %d ns on node %d: errors outside it up to %d ns, %d beyond their bound", by, stepper, errs[len(errs)-1], violations)
			}
		}
	}
}

func TestSlewsChangeTheRateAndAreNotSteps(t *testing.T) {
	for seed := range int64(5) {
		r := rand.New(rand.NewSource(seed))
		p := probing{clocks: []wall{{}, {driftPPB: 10_000, slews: []slew{{20e9, 30e9, 500_000}}}}, length: 60e9, every: 5e6, delay: busy(r)}
		s := solve(t, p)
		n, _ := s.Node(1)
		if len(n.Steps) != 0 {
			t.Errorf("a slew was taken for steps: %+v", n.Steps)
		}
		errs, _, violations, total := p.compare(s)
		t.Logf("slew: p50 %d p99 %d max %d ns, beyond their bound %d of %d; %+v", errs[len(errs)/2], errs[len(errs)*99/100], errs[len(errs)-1], violations, total, s.Links)
		if errs[len(errs)*99/100] > 20_000 || violations*100 > total {
			t.Errorf("slew: p99 error %d ns, %d of %d beyond their bound", errs[len(errs)*99/100], violations, total)
		}
	}
}

func TestWanderingClocksAreFollowed(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	w := wall{driftPPB: 20_000}
	for k := range int64(60) { // the rate walks by 50 ppb every 10 s
		w.slews = append(w.slews, slew{k * 10e9, 600e9, r.Int63n(101) - 50})
	}
	p := probing{clocks: []wall{{}, w}, length: 600e9, every: 20e6, delay: busy(r)}
	s := solve(t, p)
	errs, inStep, violations, n := p.compare(s)
	t.Logf("p50 %d, p99 %d, max %d ns; beyond their bound %d of %d", errs[len(errs)/2], errs[len(errs)*99/100], errs[len(errs)-1], violations, n)
	if inStep > 0 || errs[len(errs)/2] > 1500 || errs[len(errs)-1] > 6000 || violations > 0 {
		t.Errorf("errors p50 %d, max %d ns, %d in steps, %d beyond their bound", errs[len(errs)/2], errs[len(errs)-1], inStep, violations)
	}
}

func TestAnAsymmetricPathStaysInsideTheBound(t *testing.T) {
	r := rand.New(rand.NewSource(10))
	b := busy(r)
	p := probing{clocks: []wall{{}, {offset: 5e6, driftPPB: -30_000}}, length: 20e9, every: 5e6, delay: func(from, to int) int64 {
		if from == 0 {
			return b(from, to) + 40_000 // one direction is 40 us slower: 20 us of error that no probe can see
		}
		return b(from, to)
	}}
	errs, _, violations, _ := p.compare(solve(t, p))
	if worst := errs[len(errs)-1]; worst < 15_000 || worst > 25_000 || violations > 0 {
		t.Errorf("error %d ns with %d beyond their bound; want about 20000 and none", worst, violations)
	}
}

func TestStampsThatLieAreDropped(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	p := probing{clocks: []wall{{}, {offset: 5e6, driftPPB: 30_000}}, length: 20e9, every: 5e6, delay: busy(r)}
	stamps := p.stamps()
	for range 20 { // a stale transmit stamp: the packet seems to arrive before it was sent
		stamps[r.Intn(len(stamps))].T2 -= 3e6
	}
	s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	errs, _, _, _ := p.compare(s)
	n, _ := s.Node(1)
	if len(n.Steps) > 0 || errs[len(errs)-1] > 8000 {
		t.Errorf("errors up to %d ns, steps %+v", errs[len(errs)-1], n.Steps)
	}
	if s.Links[0].Dropped < 10 {
		t.Errorf("%d stamps dropped, want most of 20", s.Links[0].Dropped)
	}
}

func TestNodesThatCannotBeReachedAreNamed(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	p := probing{clocks: []wall{{}, {offset: 1e6}}, length: 2e9, every: 5e6, delay: busy(r)}
	stamps := p.stamps()
	for _, s := range p.stamps() { // nodes 7 and 8 talk to each other only
		s.Src, s.Dst = s.Src+7, s.Dst+7
		stamps = append(stamps, s)
	}
	s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Missing) != 2 || s.Missing[0] != 7 || s.Missing[1] != 8 || len(s.Warnings) == 0 || len(s.Nodes) != 2 {
		t.Errorf("missing %v, %d nodes, warnings %q", s.Missing, len(s.Nodes), s.Warnings)
	}
}

func TestStampsWithoutUseAreAnAlignmentError(t *testing.T) {
	for name, stamps := range map[string][]clockfile.Stamp{
		"none":        nil,
		"backwards":   {{Src: 0, Dst: 1, T1: 100, T2: 200, T3: 150, T4: 300}},
		"negative":    {{Src: 0, Dst: 1, T1: 100, T2: 200, T3: 500, T4: 300}},
		"same node":   {{Src: 1, Dst: 1, T1: 100, T2: 200, T3: 300, T4: 400}},
		"zero stamps": {{Src: 0, Dst: 1}},
	} {
		_, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
		if !fault.Is(err, fault.Alignment) {
			t.Errorf("%s: got %v, want an alignment error", name, err)
		}
	}
	_, err := offsets.SolveStamps(context.Background(), probing{clocks: make([]wall, 2), length: 1e9, every: 1e7, delay: func(int, int) int64 { return 9 }}.stamps(), offsets.Options{Reference: 5, ReferenceSet: true})
	if !fault.Is(err, fault.Alignment) {
		t.Errorf("unknown reference: got %v", err)
	}
}

// TestManyStampsAreSolved: 100,000 of them, or a million.
func TestManyStampsAreSolved(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	p := probing{clocks: make([]wall, 8), length: sweep.Of[int64](60e9, 600e9), every: 4_800_000, delay: busy(r)}
	for i := 1; i < len(p.clocks); i++ {
		p.clocks[i] = wall{offset: r.Int63n(1e8), driftPPB: r.Int63n(60_000) - 30_000}
	}
	stamps := p.stamps()
	s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	errs, _, violations, _ := p.compare(s)
	t.Logf("%d stamps of 8 nodes; errors p50 %d, max %d ns, beyond their bound %d", len(stamps), errs[len(errs)/2], errs[len(errs)-1], violations)
	if violations > 0 || errs[len(errs)-1] > 4000 {
		t.Errorf("largest error %d ns, %d beyond their bound", errs[len(errs)-1], violations)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := offsets.SolveStamps(ctx, stamps, offsets.Options{}); !errors.Is(err, context.Canceled) && !fault.Is(err, fault.Cancelled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// TestStampsAreAnyIntegers feeds what no clock shows; any answer but a panic or a hang will do.
func TestStampsAreAnyIntegers(t *testing.T) {
	edge := []int64{1, 2, 1000, 1 << 40, epoch, epoch + 1, epoch + 1e9, math.MaxInt64 - 1, math.MaxInt64, 0, -5, math.MinInt64}
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		stamps := make([]clockfile.Stamp, 1+r.Intn(200))
		pick := func() int64 {
			v := edge[r.Intn(len(edge))]
			if r.Intn(2) == 0 && v > 0 && v < math.MaxInt64/2 {
				v += r.Int63n(1e10)
			}
			return v
		}
		for i := range stamps {
			stamps[i] = clockfile.Stamp{Src: int32(r.Intn(4)), Dst: int32(r.Intn(4)), T1: pick(), T2: pick(), T3: pick(), T4: pick()}
		}
		s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
		if err == nil {
			s.Rounds()
			if _, err := s.Rebase(s.Nodes[len(s.Nodes)-1].Node); err != nil {
				t.Errorf("seed %d: rebase: %v", seed, err)
			}
		} else if fault.Is(err, fault.Internal) {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
