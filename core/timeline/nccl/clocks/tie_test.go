package clocks

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/nccl/operation"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// jobOf makes n ranks, each on a host and a GPU of its own, which do AllReduces together. The host's clock of rank k leads the true time by
// skew[k] and gains ppm[k]. It returns when each part truly started, by match and rank.
func jobOf(seed uint64, n, matches int, skew []int64, ppm []float64) (*operation.Job, [][]int64) {
	return lateJob(seed, n, matches, skew, ppm, 0)
}

// lateJob is jobOf with a last rank that is always late by so much.
func lateJob(seed uint64, n, matches int, skew []int64, ppm []float64, lateNS int64) (*operation.Job, [][]int64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	j := &operation.Job{}
	shows := func(k int, ns int64) int64 { return ns + skew[k] + int64(float64(ns-epoch)*ppm[k]*1e-6) }
	gpu := make([]truth, n)
	for k := range n {
		gpu[k] = truth{leadNS: rnd.Int64N(80_000_000) - 40_000_000, grainNS: 1000, ppm: rnd.Float64()*100 - 50}
		j.Recordings = append(j.Recordings, &operation.Recording{Members: []operation.Member{{Rank: int32(k)}}})
		j.Clocks = append(j.Clocks, operation.HostClock{})
		j.Ranks = append(j.Ranks, operation.Rank{Recording: int32(k), Clock: int32(k)})
	}
	var starts [][]int64
	at := epoch
	for i := range matches {
		at += 3_000_000 + rnd.Int64N(2_000_000)
		m := operation.Match{Func: "AllReduce", Sequence: uint64(i), From: int32(len(j.Parts))}
		begun := make([]int64, n)
		last := int64(0)
		launched := make([]int64, n)
		for k := range n {
			launched[k] = at + rnd.Int64N(400_000)
			if k == n-1 && lateNS > 0 {
				launched[k] = at + 400_000 + lateNS
			}
			begun[k] = launched[k] + 4000 + int64(rnd.ExpFloat64()*8000)
			last = max(last, begun[k])
		}
		for k := range n {
			stop := last + 25_000 + rnd.Int64N(10_000)
			r := j.Recordings[k]
			r.Launch = append(r.Launch, operation.Launch{StartNS: shows(k, launched[k])})
			r.Ops = append(r.Ops, operation.Op{Launch: int32(i), API: operation.None, KernelFrom: int32(i), KernelTo: int32(i + 1)})
			r.Kernels = append(r.Kernels, operation.Kernel{
				Op: int32(i), Stopped: true, GPUStartNS: gpu[k].shows(begun[k]), GPUStopNS: gpu[k].shows(stop),
				CallStartNS: shows(k, begun[k]+200+rnd.Int64N(5000)), CallStopNS: shows(k, stop+200+rnd.Int64N(5000)),
			})
			j.Parts = append(j.Parts, operation.Part{Seat: int32(k), Rank: int32(k), Recording: int32(k), Op: int32(i)})
		}
		m.To = int32(len(j.Parts))
		j.Matches = append(j.Matches, m)
		starts = append(starts, begun)
	}
	return j, starts
}

func onOneClock(t *testing.T, j *operation.Job) *Tied {
	t.Helper()
	for _, r := range j.Recordings {
		fitted(t, r).Apply(r)
	}
	tied, err := Tie(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return tied
}

// TestEightRanksAreOnOneClock: hosts that are tens of milliseconds apart and drift, each with a GPU that does, too, come to within 20 us of the
// first, through nothing but their collectives, and never farther than the bound says.
func TestEightRanksAreOnOneClock(t *testing.T) {
	skew := []int64{0, 37_000_000, -5_200_000, 250_000, -91_000_000, 1_000, 60_000_000, -300_000}
	ppm := []float64{0, 50, -50, 3, 25, -40, 12, 7}
	j, starts := jobOf(1, 8, 3000, skew, ppm)
	tied := onOneClock(t, j)
	if tied.Meetings == 0 || tied.Silent != 0 {
		t.Fatalf("%d meetings, %d silent", tied.Meetings, tied.Silent)
	}
	worst := int64(0)
	for k, c := range tied.Clocks {
		if c.Map == nil {
			t.Fatalf("rank %d is not tied: %v", k, tied.Warnings)
		}
		for i := range j.Matches {
			kernel := &j.Recordings[k].Kernels[i]
			at, bound, _ := c.Map.At(kernel.StartNS)
			e := at - starts[i][k]
			if e = max(e, -e); e > bound+kernel.BoundNS {
				t.Fatalf("rank %d, operation %d: %d ns off, outside of +-%d", k, i, e, bound+kernel.BoundNS)
			}
			worst = max(worst, e)
		}
		t.Logf("rank %d: offset %d drift %.3f bound %+v", k, c.OffsetNS, c.DriftPPM, c.Bound)
	}
	t.Logf("worst error %d ns", worst)
	if worst > 20_000 {
		t.Errorf("the worst error is %d ns", worst)
	}
}

// TestWhoIsAlwaysLateIsInsideTheBound: nothing says how long ago the others had come, and the bound does not pretend it.
func TestWhoIsAlwaysLateIsInsideTheBound(t *testing.T) {
	j, starts := lateJob(5, 2, 800, []int64{0, 4_000_000}, []float64{0, -10}, 300_000)
	tied := onOneClock(t, j)
	c := &tied.Clocks[1]
	if c.Map == nil {
		t.Fatal(tied.Warnings)
	}
	for i := range j.Matches {
		k := &j.Recordings[1].Kernels[i]
		at, bound, _ := c.Map.At(k.StartNS)
		if e := at - starts[i][1]; max(e, -e) > bound+k.BoundNS {
			t.Fatalf("operation %d: %d ns off, outside of +-%d", i, e, bound+k.BoundNS)
		}
	}
}

func TestTwoGPUsOfAHostAreOnePresence(t *testing.T) {
	a := offsets.Presence{Gives: true, Takes: true, EnterNS: 10, LeftNS: 50}
	b := offsets.Presence{Gives: true, Takes: true, EnterNS: 30, LeftNS: 40}
	takes := offsets.Presence{Takes: true, EnterNS: 5, LeftNS: 20}
	for i, c := range []struct{ p, o, want offsets.Presence }{
		{a, b, offsets.Presence{Gives: true, Takes: true, EnterNS: 30, LeftNS: 40}},
		{b, a, offsets.Presence{Gives: true, Takes: true, EnterNS: 30, LeftNS: 40}},
		{takes, a, offsets.Presence{Gives: true, Takes: true, EnterNS: 10, LeftNS: 20}},
		{a, takes, offsets.Presence{Gives: true, Takes: true, EnterNS: 10, LeftNS: 20}},
	} {
		if got := joined(c.p, c.o); got != c.want {
			t.Errorf("case %d: got %+v, want %+v", i, got, c.want)
		}
	}
}

// TestWithoutStampsTheHostTiesLess: launches and callbacks alone bound when operations were entered and left.
func TestWithoutStampsTheHostTiesLess(t *testing.T) {
	j, starts := jobOf(2, 2, 500, []int64{0, 9_000_000}, []float64{0, 20})
	for _, r := range j.Recordings {
		for i := range r.Kernels {
			r.Kernels[i].GPUStartNS, r.Kernels[i].GPUStopNS = 0, 0
		}
	}
	tied := onOneClock(t, j)
	c := &tied.Clocks[1]
	if c.Map == nil {
		t.Fatal(tied.Warnings)
	}
	for i := range j.Matches {
		k := &j.Recordings[1].Kernels[i]
		at, bound, _ := c.Map.At(k.StartNS)
		if late := at - starts[i][1]; late < -bound || late > bound+100_000 {
			t.Fatalf("operation %d: %d ns late, bound %d", i, late, bound)
		}
	}
}

// TestWhoWaitsForWhom: a broadcast binds from its root to the others alone, and what says nothing is counted.
func TestWhoWaitsForWhom(t *testing.T) {
	j, _ := jobOf(3, 3, 10, make([]int64, 3), make([]float64, 3))
	for i := range j.Matches {
		j.Matches[i].Func = [...]string{"Broadcast", "Reduce", "AllReduce", "Mystery"}[i%4]
	}
	for _, r := range j.Recordings {
		fitted(t, r).Apply(r)
		for i := range r.Ops {
			r.Ops[i].Peer = 1
		}
	}
	for i, want := range [][2]string{{"010", "101"}, {"101", "010"}, {"111", "111"}, {"000", "000"}} {
		for nth := range 3 {
			gives, takes := roles(j, &j.Matches[i], nth, &j.Parts[3*i+nth])
			if gives != (want[0][nth] == '1') || takes != (want[1][nth] == '1') {
				t.Errorf("%s, rank %d: gives %v, takes %v", j.Matches[i].Func, nth, gives, takes)
			}
		}
	}
	tied, err := Tie(context.Background(), j)
	if err != nil || tied.Silent != 2 || tied.Meetings != 8 {
		t.Errorf("%+v, %v", tied, err)
	}
}
