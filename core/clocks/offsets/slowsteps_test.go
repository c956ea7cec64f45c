package offsets_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// slow is a path of so many ns whose packets wait for a while now and then.
func slow(r *rand.Rand, ns int64) func(int, int) int64 {
	return func(int, int) int64 { return ns + int64(r.ExpFloat64()*float64(ns)/20) }
}

// TestAStepIsLocatedByTheFewPacketsThatContradictIt: probes are 200 ms apart, and the step is hardly larger than the round trip, so that one
// packet before it contradicts the lines after it, or none.
func TestAStepIsLocatedByTheFewPacketsThatContradictIt(t *testing.T) {
	found := 0
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		p := probing{clocks: []wall{{}, {offset: 3e6, driftPPB: r.Int63n(400_000) - 200_000}}, length: 20e9, every: 200e6, delay: slow(r, 440_000)}
		by := int64(1_000_000) + r.Int63n(300_000)
		if seed%2 == 1 {
			by = -by
		}
		stepped := 4e9 + r.Int63n(12e9)
		p.clocks[seed/2%2].steps = []jump{{stepped, by}}
		s := solve(t, p)
		_, _, violations, n := p.compare(s)
		if violations > 0 {
			node, _ := s.Node(1)
			t.Errorf("seed %d, step of %d at %d: %d of %d errors are beyond their bound; found %+v", seed, by, stepped, violations, n, node.Steps)
		}
		if node, _ := s.Node(1); len(node.Steps) == 1 {
			found++
		}
	}
	if found < 270 {
		t.Errorf("%d of 300 steps are found", found)
	}
}

// TestTwoClocksThatStepTogetherAreNotTakenForOne: a link between them sees both steps as one of another size.
func TestTwoClocksThatStepTogetherAreNotTakenForOne(t *testing.T) {
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		p := probing{length: 20e9, every: 60e6}
		for range 6 {
			p.clocks = append(p.clocks, wall{offset: r.Int63n(2e9) - 1e9, driftPPB: r.Int63n(200_000) - 100_000})
		}
		far := map[[2]int]int64{}
		p.delay = func(from, to int) int64 {
			k := [2]int{min(from, to), max(from, to)}
			if far[k] == 0 {
				far[k] = []int64{5_000, 50_000, 250_000, 1_500_000}[r.Intn(4)]
			}
			return far[k] + int64(r.ExpFloat64()*float64(far[k])/20)
		}
		first := 4e9 + r.Int63n(10e9)
		p.clocks[1].steps = []jump{{first, -480_000}}
		p.clocks[2].steps = []jump{{first + 100e6 + r.Int63n(400e6), -900_000}}
		s := solve(t, p)
		if _, _, violations, n := p.compare(s); violations > 0 {
			t.Errorf("seed %d: %d of %d errors are beyond their bound", seed, violations, n)
		}
	}
}

// TestAnAnswerMayWait: probers read their sockets now and then, so that a packet waits for its answer, on clocks of different rates, for
// longer than the round trip takes.
func TestAnAnswerMayWait(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	p := probing{clocks: []wall{{}, {offset: 5e6, driftPPB: 190_000}}, length: 20e9, every: 80e6, delay: func(int, int) int64 { return 2000 + int64(r.ExpFloat64()*500) }}
	var stamps []clockfile.Stamp
	for _, s := range p.stamps() {
		a, b := p.clocks[s.Src], p.clocks[s.Dst]
		at := s.Seq*p.every + int64(s.Src)*100_000
		arrived := at + p.delay(0, 0)
		answered := arrived + r.Int63n(120e6)
		s.T2, s.T3, s.T4 = b.at(arrived), b.at(answered), a.at(answered+p.delay(0, 0))
		stamps = append(stamps, s)
	}
	s, err := offsets.SolveStamps(context.Background(), stamps, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l := s.Links[0]; l.Dropped > 0 || l.MinRTTNS < 4000 || l.MinRTTNS > 5000 {
		t.Errorf("%+v, want no stamp dropped, and a round trip of 4 us and little more", l)
	}
	errs, _, violations, _ := p.compare(s)
	if worst := errs[len(errs)-1]; violations > 0 || worst > 500 {
		t.Errorf("largest error %d ns, %d beyond their bound", worst, violations)
	}
}
