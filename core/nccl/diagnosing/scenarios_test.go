package diagnosing_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/testing/sweep"
)

// plan draws a job of a seed: how many ranks, on how many hosts, how fast, how uneven.
func plan(seed uint64, fault nccltest.Fault) nccltest.Plan {
	rnd := rand.New(rand.NewPCG(seed, uint64(fault)))
	p := nccltest.Plan{
		Seed: seed*100 + uint64(fault), Ranks: []int{8, 12, 16, 24, 32, 64}[rnd.IntN(6)], PerHost: []int{1, 1, 2, 4}[rnd.IntN(4)], Channels: 2 + 2*rnd.IntN(2),
		Steps: 8 + rnd.IntN(9), Ops: 24 + rnd.IntN(17), Level: 3, ComputeNS: 1e5 * (1 + 9*rnd.Float64()), Jitter: 0.02 + 0.1*rnd.Float64(), Uneven: 0.03 * rnd.Float64(),
		WarmUp: rnd.IntN(4), Bursts: []float64{0, 0.01, 0.05}[rnd.IntN(3)], TailNS: 20_000_000_000, Fault: fault, Factor: 2 + 3*rnd.Float64(),
	}
	p.Rank, p.Channel, p.At = rnd.IntN(p.Ranks), rnd.IntN(p.Channels), 8+rnd.IntN(p.Ops-12)
	p.Ops = min(p.Ops, max(24, 640/p.Ranks*2))
	p.At = min(p.At, p.Ops-4)
	p.Steps = min(p.Steps, max(8, 384/p.Ranks))
	switch fault {
	case nccltest.Healthy, nccltest.Straggler, nccltest.SlowLink, nccltest.SlowSend, nccltest.SlowReceive, nccltest.WrongCount:
		p.TailNS = rnd.Int64N(2_000_000_000)
	}
	switch (seed + uint64(fault)) % 5 {
	case 1:
		p.Algorithm = "TREE"
	case 2:
		p.Graph = fault != nccltest.WrongCount && fault != nccltest.WrongCall // a graph replays what it has
	case 3:
		p.PXN, p.PerHost = true, 2+2*rnd.IntN(2)
	case 4:
		if fault < nccltest.SlowLink || fault >= nccltest.Missing && fault < nccltest.HangSendGPU { // no step of a proxy
			p.Algorithm, p.Ranks, p.PerHost = "NVLS", 8, 8
			p.Rank %= p.Ranks
		}
	}
	switch {
	case fault == nccltest.SlowSend || fault == nccltest.SlowReceive:
		p.PerHost, p.Channels = 1, 4
	case fault == nccltest.SlowLink:
		p.PerHost = 1
	case fault >= nccltest.HangSendGPU:
		p.Rank = onTheNetwork(p, fault)
	}
	return p
}

// onTheNetwork is a rank whose hop of the channel has a proxy: a step that hangs has one.
func onTheNetwork(p nccltest.Plan, fault nccltest.Fault) int {
	for r := p.Rank; ; r = (r + 1) % p.Ranks {
		sends := fault == nccltest.HangSendGPU || fault == nccltest.HangSendPeer || fault == nccltest.HangSend
		if nccltest.Crosses(p, r, p.Channel, sends) {
			return r
		}
	}
}

// expected is the class that a fault should be called, and the ranks that may be named for it.
func expected(p nccltest.Plan) (class []string, ranks []string) {
	r := fmt.Sprint(p.Rank)
	switch p.Fault {
	case nccltest.Straggler:
		return []string{diagnosing.ClassStraggler}, []string{r}
	case nccltest.SlowLink:
		return []string{diagnosing.ClassSlowLink}, []string{r}
	case nccltest.SlowSend, nccltest.SlowReceive:
		return []string{diagnosing.ClassSlowNIC}, []string{r}
	case nccltest.Missing:
		return []string{diagnosing.ClassNeverArrived}, []string{r}
	case nccltest.Died:
		return []string{diagnosing.ClassEnded}, []string{r}
	case nccltest.WrongCount, nccltest.WrongCall:
		return []string{diagnosing.ClassMismatch}, []string{r}
	case nccltest.Deadlock:
		return []string{diagnosing.ClassDeadlock}, []string{r}
	case nccltest.P2PDeadlock:
		return []string{diagnosing.ClassDeadlock}, nil // all are in it
	}
	return []string{diagnosing.ClassStage}, []string{r}
}

// right reports whether the first finding is what the simulator made, be it said for certain or as what may be.
func right(p nccltest.Plan, d *diagnosing.Document) bool {
	if d.Status == diagnosing.StatusNothing || len(d.Findings) == 0 {
		return false
	}
	f := &d.Findings[0]
	class, ranks := expected(p)
	if !slices.Contains(class, f.Class) || len(ranks) > 0 && !slices.Contains(f.Ranks, ranks[0]) {
		return false
	}
	if p.Fault >= nccltest.HangSendGPU {
		return "hang "+f.Stage == p.Fault.String() && len(f.Ranks) == 1
	}
	return p.Fault == nccltest.P2PDeadlock || p.Fault == nccltest.Deadlock || len(f.Ranks) == 1
}

// many is how many jobs of each fault are played: all of the proof on request, else a few.
func many() uint64 {
	if os.Getenv("PRLX_NCCL_ALL") != "" {
		return 14
	}
	return sweep.Of[uint64](1, 2)
}

func TestTheCulpritIsNamed(t *testing.T) {
	played, wrong, perhaps := 0, 0, 0
	for fault := nccltest.Straggler; fault < nccltest.Faults; fault++ {
		for seed := range many() {
			p := plan(seed, fault)
			d := diagnosed(t, nccltest.Simulate(p))
			played++
			if d.Status != diagnosing.StatusCulprit {
				perhaps++
			}
			if !right(p, d) {
				wrong++
				t.Logf("seed %d, %v at rank %d, operation %d of %d ranks on hosts of %d, %d channels, %s graph %v PXN %v: %s: %s", seed, fault, p.Rank, p.At, p.Ranks, p.PerHost, p.Channels, p.Algorithm, p.Graph, p.PXN, d.Status, d.Verdict)
				for i := range d.Findings {
					t.Logf("   %s %v: %s", d.Findings[i].Class, d.Findings[i].Ranks, d.Findings[i].Sentence)
				}
			}
		}
	}
	t.Logf("%d of %d named right, %d as what may be", played-wrong, played, perhaps)
	if wrong*20 > played || perhaps*5 > played {
		t.Errorf("%d of %d are not named right, %d as what may be", wrong, played, perhaps)
	}
}

func TestNobodyIsBlamedInAJobThatRunsWell(t *testing.T) {
	played, blamed := 0, 0
	for seed := range 7 * many() {
		p := plan(seed, nccltest.Healthy)
		d := diagnosed(t, nccltest.Simulate(p))
		played++
		if d.Status == diagnosing.StatusCulprit {
			blamed++
			t.Logf("seed %d, %d ranks on hosts of %d, jitter %.3f, uneven %.3f: %s", seed, p.Ranks, p.PerHost, p.Jitter, p.Uneven, d.Verdict)
		}
	}
	t.Logf("%d of %d blamed", blamed, played)
	if blamed*50 > played {
		t.Errorf("somebody is blamed in %d of %d jobs", blamed, played)
	}
}

// TestNothingWrongIsSaidForCertain plays the same jobs with less recorded, and with records lost: then less is known, and what is said for
// certain is right all the same.
func TestNothingWrongIsSaidForCertain(t *testing.T) {
	for k, less := range []struct {
		name  string
		level uint32
		lost  float64
	}{{"level 0", 0, 0}, {"level 1", 1, 0}, {"level 2", 2, 0}, {"lost", 3, 0.002}, {"lost at level 1", 1, 0.002}} {
		played, named, wrong := 0, 0, 0
		for fault := nccltest.Healthy; fault < nccltest.Faults; fault++ {
			if (int(fault)+k)%2 == 1 && many() == 1 {
				continue // a sample: each fault with every other of these
			}
			for seed := range (many() + 1) / 2 {
				p := plan(seed+100, fault)
				p.Level, p.Lost = less.level, less.lost
				d := diagnosed(t, nccltest.Simulate(p))
				played++
				ok := fault != nccltest.Healthy && right(p, d)
				if ok {
					named++
				}
				if d.Status == diagnosing.StatusCulprit && !ok && d.Findings[0].Certain {
					wrong++
					t.Logf("%s, seed %d, %v at rank %d, operation %d of %d ranks on hosts of %d, %s graph %v PXN %v: %s", less.name, seed, fault, p.Rank, p.At, p.Ranks, p.PerHost, p.Algorithm, p.Graph, p.PXN, d.Verdict)
				}
			}
		}
		t.Logf("%s: %d of %d named right, %d wrong for certain", less.name, named, played, wrong)
		if wrong*50 > played {
			t.Errorf("%s: %d of %d are wrong, and said for certain", less.name, wrong, played)
		}
	}
}
