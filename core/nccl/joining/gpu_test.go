package joining

import (
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
)

const epoch = int64(1_795_000_000_000_000_000)

// drifting is a clock that leads the true time by leadNS at the epoch and gains ppm, and shows multiples of grainNS.
type drifting struct {
	leadNS, grainNS int64
	ppm             float64
}

func (c drifting) shows(ns int64) int64 {
	ns += c.leadNS + int64(float64(ns-epoch)*c.ppm*1e-6)
	return ns - ns%c.grainNS
}

// hosts makes recordings of ranks, each on a host and a GPU of its own, that do AllReduces together, and returns when each part truly
// started, by rank and operation. With lateNS the last rank always comes so much later.
func hosts(seed uint64, clocks []drifting, n int, lateNS int64) ([]*operation.Recording, [][]int64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var all []*operation.Recording
	starts := make([][]int64, len(clocks))
	var gpus []drifting
	for k := range clocks {
		gpus = append(gpus, drifting{rnd.Int64N(80_000_000) - 40_000_000, 1000, rnd.Float64()*100 - 50})
		all = append(all, &operation.Recording{
			Host: string(rune('a' + k)), BootID: string(rune('a' + k)), PID: 1, Level: 1, Names: []string{"AllReduce"},
			Members: []operation.Member{{ID: 7, Name: "world", Nodes: int32(len(clocks)), Ranks: int32(len(clocks)), Rank: int32(k)}},
		})
	}
	at := epoch
	for i := range n {
		at += 3_000_000 + rnd.Int64N(2_000_000)
		launched, begun, last := make([]int64, len(clocks)), make([]int64, len(clocks)), int64(0)
		for k := range clocks {
			launched[k] = at + rnd.Int64N(400_000)
			if k == len(clocks)-1 && lateNS > 0 {
				launched[k] = at + 400_000 + lateNS
			}
			begun[k] = launched[k] + 4000 + int64(rnd.ExpFloat64()*8000)
			last = max(last, begun[k])
		}
		for k, c := range clocks {
			stop := last + 25_000 + rnd.Int64N(10_000)
			r := all[k]
			r.Launch = append(r.Launch, operation.Launch{StartNS: c.shows(launched[k]), StopNS: c.shows(launched[k] + 3000)})
			r.Ops = append(r.Ops, operation.Op{
				Launch: int32(i), API: operation.None, Sequence: uint64(i), Count: 1, Channels: 1, KernelFrom: int32(i), KernelTo: int32(i + 1),
				StartNS: c.shows(launched[k] - 2000), StopNS: c.shows(launched[k] + 3000),
			})
			r.Kernels = append(r.Kernels, operation.Kernel{
				Op: int32(i), Stopped: true, GPUStartNS: gpus[k].shows(begun[k]), GPUStopNS: gpus[k].shows(stop),
				CallStartNS: c.shows(begun[k] + 200 + rnd.Int64N(5000)), CallStopNS: c.shows(stop + 200 + rnd.Int64N(5000)),
			})
			starts[k] = append(starts[k], begun[k])
		}
	}
	for k, c := range clocks {
		all[k].FirstNS, all[k].LastNS = c.shows(epoch), c.shows(at+1_000_000)
	}
	return all, starts
}

func joined(t *testing.T, all []*operation.Recording) *operation.Job {
	t.Helper()
	out, err := Join(job.New(t.Context(), job.Options{}), all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEightRanksAreOnOneClock: hosts that are tens of milliseconds apart and drift, each with a GPU that does, too, come to within 20 us of
// the first through nothing but their collectives, and never farther than the bounds say.
func TestEightRanksAreOnOneClock(t *testing.T) {
	clocks := []drifting{{0, 1, 0}, {37_000_000, 1, 50}, {-5_200_000, 1, -50}, {250_000, 1, 3}, {-91_000_000, 1, 25}, {1_000, 1, -40}, {60_000_000, 1, 12}, {-300_000, 1, 7}}
	all, starts := hosts(1, clocks, 3000, 0)
	j := joined(t, all)
	if j.Clocked != byCollectives || len(j.Matches) != 3000 {
		t.Fatalf("clocked by %q, %d operations, %v", j.Clocked, len(j.Matches), j.Warnings)
	}
	worst := int64(0)
	for k, r := range all {
		for i := range r.Kernels {
			e := r.Kernels[i].StartNS - starts[k][i]
			if e = max(e, -e); e > j.Clocks[k].BoundNS+r.Kernels[i].BoundNS {
				t.Fatalf("rank %d, operation %d: %d ns off, outside of +-%d +-%d", k, i, e, j.Clocks[k].BoundNS, r.Kernels[i].BoundNS)
			}
			worst = max(worst, e)
		}
	}
	if t.Logf("the worst error is %d ns", worst); worst > 20_000 {
		t.Errorf("the worst error is %d ns", worst)
	}
}

// TestWhoIsAlwaysLateIsInsideTheBound: nothing says how long ago the others had come, and the bound does not pretend it.
func TestWhoIsAlwaysLateIsInsideTheBound(t *testing.T) {
	all, starts := hosts(5, []drifting{{0, 1, 0}, {4_000_000, 1, -10}}, 800, 300_000)
	j := joined(t, all)
	for i := range all[1].Kernels {
		e := all[1].Kernels[i].StartNS - starts[1][i]
		if max(e, -e) > j.Clocks[1].BoundNS+all[1].Kernels[i].BoundNS {
			t.Fatalf("operation %d: %d ns off, outside of +-%d", i, e, j.Clocks[1].BoundNS)
		}
	}
}

// TestStampsThatCannotBeAreNotUsed: kernels stand where the host saw them, and the job says so.
func TestStampsThatCannotBeAreNotUsed(t *testing.T) {
	all, _ := hosts(6, []drifting{{0, 1, 0}, {0, 1, 0}}, 300, 0)
	for i := range all[1].Kernels {
		all[1].Kernels[i].GPUStartNS = epoch + int64(i)*7_919_000%900_000_000
		all[1].Kernels[i].GPUStopNS = all[1].Kernels[i].GPUStartNS + 1
	}
	j := joined(t, all)
	if all[0].Kernels[5].BoundNS < 0 || all[1].Kernels[5].BoundNS >= 0 || len(j.Warnings) == 0 {
		t.Errorf("%+v, %+v, %q", all[0].Kernels[5], all[1].Kernels[5], j.Warnings)
	}
}
