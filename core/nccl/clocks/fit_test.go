package clocks

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// truth is a GPU whose clock is known: it leads the host's by leadNS at epoch, and gains ppm.
type truth struct {
	leadNS, grainNS int64
	ppm             float64
}

const epoch = int64(1_795_000_000_000_000_000)

func (c truth) shows(hostNS int64) int64 {
	ns := hostNS + c.leadNS + int64(float64(hostNS-epoch)*c.ppm*1e-6)
	return ns - ns%c.grainNS
}

// made is a recording of n operations, a kernel on each of two channels, with the instants at which its kernels truly started and stopped. The
// profiler's thread looks every pollNS, and launches take some time to reach the GPU.
func made(seed uint64, c truth, n int, everyNS, pollNS int64) (*operation.Recording, []int64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := &operation.Recording{Members: []operation.Member{{}}}
	var starts []int64
	at := epoch
	for i := range n {
		at += everyNS/2 + rnd.Int64N(everyNS)
		r.Launch = append(r.Launch, operation.Launch{StartNS: at})
		r.Ops = append(r.Ops, operation.Op{Launch: int32(i), API: operation.None, Sequence: uint64(i), StartNS: at + 2000})
		start := at + 4000 + int64(rnd.ExpFloat64()*8000)
		if rnd.IntN(10) == 0 {
			start += rnd.Int64N(3_000_000) // the stream is busy
		}
		stop := start + 20_000 + rnd.Int64N(400_000)
		for ch := range 2 {
			s := start + rnd.Int64N(500)
			starts = append(starts, s)
			r.Kernels = append(r.Kernels, operation.Kernel{
				Op: int32(i), Channel: uint8(ch), Stopped: true, GPUStartNS: c.shows(s), GPUStopNS: c.shows(stop),
				CallStartNS: s + 200 + rnd.Int64N(pollNS), CallStopNS: stop + 200 + rnd.Int64N(pollNS),
			})
		}
		at = max(at, stop-everyNS/2)
	}
	return r, starts
}

func fitted(t *testing.T, r *operation.Recording) *Fitted {
	t.Helper()
	f, err := Fit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTheGPUsClockIsKnownToTenMicroseconds: drift +-50 ppm, a clock that shows microseconds, polls 5 us apart: the error is at most 10 us for 99 of
// 100 kernels, and no kernel is outside of its interval.
func TestTheGPUsClockIsKnownToTenMicroseconds(t *testing.T) {
	for seed, c := range []truth{
		{0, 1000, 0},
		{37_000_000, 1000, 50},
		{-37_000_000, 1000, -50},
		{1_000_000_000_000, 1024, 50},
		{-12_345_678, 1, -50},
		{5_000_000_000, 32, 17.3},
		{-9_999, 1000, -50},
		{800_000, 1000, 3},
	} {
		for _, every := range []int64{500_000, 20_000_000} {
			r, starts := made(uint64(seed), c, 2000, every, 5000)
			f := fitted(t, r)
			g := &f.GPUs[0]
			if !g.Trusted || g.GrainNS != c.grainNS {
				t.Fatalf("%+v: trusted %v, grain %d: %s, %+v", c, g.Trusted, g.GrainNS, g.Said, g.Flaws)
			}
			f.Apply(r)
			var errs []int64
			for i := range r.Kernels {
				k := &r.Kernels[i]
				e := k.StartNS - starts[i]
				e = max(e, -e)
				if errs = append(errs, e); e > k.BoundNS {
					t.Fatalf("%+v, %d ns apart: kernel %d is %d ns off, outside of +-%d", c, every, i, e, k.BoundNS)
				}
			}
			slices.Sort(errs)
			if p99 := errs[len(errs)*99/100]; p99 > 10_000 {
				t.Errorf("%+v, %d ns apart: p99 of the errors is %d ns", c, every, p99)
			}
			if d := g.DriftPPM - c.ppm; d > 1 || d < -1 {
				t.Errorf("%+v: got a drift of %f ppm", c, g.DriftPPM)
			}
			t.Logf("%+v every %d: p50 %d p99 %d max %d bound %+v drift %.3f", c, every, errs[len(errs)/2], errs[len(errs)*99/100], errs[len(errs)-1], g.Bound, g.DriftPPM)
		}
	}
}

func TestStampsOfOlderAndNewerOperationsAreFound(t *testing.T) {
	c := truth{leadNS: -3_000_000, grainNS: 1000, ppm: 20}
	r, starts := made(9, c, 3000, 500_000, 5000)
	// lapped: the host was 64 operations late, and four of the first channel carry the stamps of newer ones
	for i := 2000; i < 2008; i += 2 {
		r.Kernels[i].GPUStartNS, r.Kernels[i].GPUStopNS = r.Kernels[i+128].GPUStartNS, r.Kernels[i+128].GPUStopNS
		r.Kernels[i].CallStartNS, r.Kernels[i].CallStopNS = r.Kernels[i+128].CallStartNS+100, r.Kernels[i+128].CallStopNS+100
	}
	// the start of a newer one only: it stops before it starts
	r.Kernels[3001].GPUStartNS = r.Kernels[3101].GPUStartNS + 1000
	r.Kernels[3001].CallStartNS = r.Kernels[3101].CallStartNS + 1000
	// ahead: the stamps of an older one, slightly changed, as of a slot that was half written
	for i := 4001; i < 4041; i += 2 {
		r.Kernels[i].GPUStartNS, r.Kernels[i].GPUStopNS = r.Kernels[i-100].GPUStartNS+3000, r.Kernels[i-100].GPUStopNS+3000
	}
	r.Kernels[10].GPUStopNS = 0
	f := fitted(t, r)
	want := map[int]Flaw{3001: stopBeforeStart, 10: zero}
	for i := 2000; i < 2008; i += 2 {
		want[i], want[i+128] = repeated, repeated
	}
	for i := 4001; i < 4041; i += 2 {
		want[i] = beforeLaunch
	}
	for i := range r.Kernels {
		if got := f.Flaws[i]; want[i] != 0 && got&want[i] == 0 || want[i] == 0 && got != 0 {
			t.Errorf("kernel %d: got flaws %05b, want %05b", i, got, want[i])
		}
	}
	if g := f.GPUs[0]; !g.Trusted || g.Flaws.Repeated != 8 || g.Flaws.BeforeLaunch != 20 || g.Flaws.StopBeforeStart != 1 {
		t.Errorf("%+v", g)
	}
	f.Apply(r)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if want[i] != 0 {
			if k.BoundNS >= 0 || k.StartNS != k.CallStartNS {
				t.Errorf("kernel %d has flaws and stands at %d +- %d", i, k.StartNS, k.BoundNS)
			}
			continue
		}
		if e := k.StartNS - starts[i]; max(e, -e) > k.BoundNS {
			t.Errorf("kernel %d is %d ns off, outside of +-%d", i, e, k.BoundNS)
		}
	}
}

// TestOlderStampsDoNotBendTheClock: one in a hundred kernels, spread over the recording, has the stamps of the operation 100 before it.
func TestOlderStampsDoNotBendTheClock(t *testing.T) {
	r, starts := made(11, truth{leadNS: 7_000_000, grainNS: 1000, ppm: -30}, 3000, 500_000, 5000)
	older := map[int]bool{}
	for i := 250; i < len(r.Kernels); i += 102 {
		older[i] = true
		r.Kernels[i].GPUStartNS, r.Kernels[i].GPUStopNS = r.Kernels[i-200].GPUStartNS+3000, r.Kernels[i-200].GPUStopNS+3000
	}
	f := fitted(t, r)
	if g := f.GPUs[0]; !g.Trusted || g.Bound.Max > 4000 {
		t.Fatalf("%+v", g)
	}
	f.Apply(r)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if e := k.StartNS - starts[i]; !older[i] && max(e, -e) > k.BoundNS {
			t.Errorf("kernel %d is %d ns off, outside of +-%d", i, e, k.BoundNS)
		}
		if older[i] != (f.Flaws[i]&beforeLaunch != 0) {
			t.Errorf("kernel %d: flaws %05b, has older stamps: %v", i, f.Flaws[i], older[i])
		}
	}
}

// TestTheTwoHalvesOfASendAndAReceiveShareTheirStamps, for they are one kernel.
func TestTheTwoHalvesOfASendAndAReceiveShareTheirStamps(t *testing.T) {
	c := truth{grainNS: 1000}
	r, _ := made(3, c, 200, 500_000, 5000)
	for i := 0; i+1 < len(r.Ops); i += 2 {
		r.Ops[i].Kind, r.Ops[i+1].Kind, r.Ops[i+1].Launch = operation.Send, operation.Recv, r.Ops[i].Launch
		for ch := range 2 {
			a, b := &r.Kernels[2*i+ch], &r.Kernels[2*i+2+ch]
			b.GPUStartNS, b.GPUStopNS, b.CallStartNS, b.CallStopNS = a.GPUStartNS, a.GPUStopNS, a.CallStartNS+300, a.CallStopNS+300
		}
	}
	if f := fitted(t, r); f.GPUs[0].Flaws != (flaws{}) || !f.GPUs[0].Trusted {
		t.Errorf("%+v", f.GPUs[0])
	}
}

// TestAClockThatMakesNoSenseIsNotTrusted: stamps that have nothing to do with when kernels ran, and those without launches.
func TestAClockThatMakesNoSenseIsNotTrusted(t *testing.T) {
	r, _ := made(4, truth{grainNS: 1000}, 500, 500_000, 5000)
	rnd := rand.New(rand.NewPCG(4, 4))
	for i := range r.Kernels {
		r.Kernels[i].GPUStartNS = epoch + rnd.Int64N(3_000_000_000)
		r.Kernels[i].GPUStopNS = r.Kernels[i].GPUStartNS + 1000
	}
	if f := fitted(t, r); f.GPUs[0].Trusted {
		t.Errorf("stamps by chance: %+v", f.GPUs[0])
	}
	r, _ = made(4, truth{grainNS: 1000}, 500, 500_000, 5000)
	r.Launch = nil
	f := fitted(t, r)
	if f.GPUs[0].Trusted || f.GPUs[0].Map != nil {
		t.Errorf("without launches: %+v", f.GPUs[0])
	}
	if f.Apply(r); r.Kernels[0].StartNS != r.Kernels[0].CallStartNS || r.Kernels[0].BoundNS >= 0 {
		t.Errorf("without launches: %+v", r.Kernels[0])
	}
}

// queued makes a recording of GPUs that always have work: kernels start 2 ms after their launch, and stop 3 us after a proxy gave them the last data.
func queued(c truth, protocol string, handedNS int64) *operation.Recording {
	r, starts := made(3, c, 200, 4_000_000, 5000)
	r.Names = []string{"", protocol}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		op := &r.Ops[k.Op]
		r.Launch[op.Launch].StartNS = starts[i&^1] - 2_000_000
		stop := k.GPUStopNS - c.leadNS
		op.Protocol, op.ProxyFrom, op.ProxyTo = 1, int32(i&^1), int32(i&^1)+2
		r.Proxies = append(r.Proxies, operation.ProxyOp{Op: k.Op, Channel: k.Channel, HandedNS: stop - handedNS})
	}
	return r
}

// TestDataForKernelsTiesClocksOfBusyGPUs: what proxies hand over bounds the clock where launches do not; with LL a kernel may be ahead of its proxy,
// whose word then says nothing.
func TestDataForKernelsTiesClocksOfBusyGPUs(t *testing.T) {
	c := truth{37_000_000, 1, 0}
	for _, p := range []struct {
		protocol string
		handedNS int64
		wide     bool
	}{{"SIMPLE", 3_000, false}, {"LL", 3_000, true}, {"LL128", -40_000, true}} {
		g := &fitted(t, queued(c, p.protocol, p.handedNS)).GPUs[0]
		if !g.Trusted || g.Map == nil {
			t.Fatalf("%s: %s", p.protocol, g.Said)
		}
		if wide := g.Bound.P50 > 500_000; wide != p.wide || !p.wide && g.Bound.P50 > 6_000 {
			t.Errorf("%s: the bound is %d ns", p.protocol, g.Bound.P50)
		}
	}
	r := queued(c, "SIMPLE", 3_000)
	for i := range r.Proxies {
		r.Proxies[i].Send = true // what a GPU fills tells nothing of when it ends
	}
	if g := &fitted(t, r).GPUs[0]; g.Bound.P50 < 500_000 {
		t.Errorf("of sends: the bound is %d ns", g.Bound.P50)
	}
}
