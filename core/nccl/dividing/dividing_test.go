package dividing_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

func reported(t *testing.T, p nccltest.Plan) *dividing.Document {
	t.Helper()
	d, err := dividing.Report(tied(t, p), dividing.Options{Worst: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tied is a simulated job, read and tied together.
func tied(t *testing.T, p nccltest.Plan) *operation.Job {
	t.Helper()
	var all []*operation.Recording
	for i, f := range nccltest.Simulate(p) {
		src, err := file.FromBytes(fmt.Sprintf("%03d", i), f.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, err := segment.FromSource(src)
		if err != nil {
			t.Fatal(err)
		}
		one, err := reading.One(context.Background(), s, reading.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		all = append(all, one)
	}
	j, err := joining.Join(job.New(context.Background(), job.Options{}), all, joining.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func plan(level uint32) nccltest.Plan {
	return nccltest.Plan{Seed: 9, Ranks: 8, PerHost: 2, Channels: 2, Steps: 8, Ops: 30, Level: level, ComputeNS: 5e5, Jitter: 0.1, Uneven: 0.02, WarmUp: 2}
}

func TestThePartsOfAnOperationAddUpToItsTime(t *testing.T) {
	for level := uint32(1); level <= 3; level++ {
		d := reported(t, plan(level))
		if len(d.Worst) != 30 {
			t.Fatalf("level %d: %d operations are divided, want 30", level, len(d.Worst))
		}
		for _, w := range d.Worst {
			for _, p := range w.Ranks {
				if got, want := p.Time.Total(), p.EndedNS-p.AtNS; got != want {
					t.Fatalf("level %d, %s #%d, rank %s: the parts add up to %d ns, its time is %d ns: %+v", level, w.Operation, w.Sequence, p.Rank, got, want, p.Time)
				}
				for _, part := range []int64{p.Time.LaunchNS, p.Time.SchedulingNS, p.Time.WaitingNS, p.Time.KernelNS, p.Time.ProxyNS, p.Time.CreditNS, p.Time.NetworkNS, p.Time.FlushNS} {
					if part < 0 {
						t.Fatalf("level %d: a part is negative: %+v", level, p.Time)
					}
				}
			}
		}
		total := dividing.Parts{}
		for i := range d.Ranks {
			total.Add(&d.Ranks[i].Time)
		}
		if total != d.Time {
			t.Errorf("level %d: ranks have %+v, all have %+v", level, total, d.Time)
		}
		if (d.Time.NetworkNS > 0) != (level == 3) {
			t.Errorf("level %d: %d ns in the network", level, d.Time.NetworkNS)
		}
	}
}

func TestTheRankThatAllWaitForIsNamed(t *testing.T) {
	p := plan(3)
	p.Fault, p.Rank, p.Factor, p.WarmUp = nccltest.Straggler, 5, 4, 0
	d := reported(t, p)
	if d.Ranks[5].Last < 20 || d.Ranks[5].CausedNS < 20*int64(p.ComputeNS) {
		t.Errorf("rank 5 was last %d times and caused %d ns", d.Ranks[5].Last, d.Ranks[5].CausedNS)
	}
	for i := range d.Ranks {
		if i != 5 && d.Ranks[i].Last > 3 {
			t.Errorf("rank %d was last %d times", i, d.Ranks[i].Last)
		}
	}
	waited := map[string]int64{}
	for _, w := range d.Waits {
		waited[w.Rank] += w.WaitingNS
		if w.CertainNS > w.WaitingNS || w.Operations < 1 || w.Rank == w.For {
			t.Errorf("%+v", w)
		}
	}
	for i := range d.Ranks {
		if r := &d.Ranks[i]; waited[r.ID] != r.Time.WaitingNS {
			t.Errorf("rank %s waited for %d ns, and for others %d ns in all", r.ID, r.Time.WaitingNS, waited[r.ID])
		}
	}
	for i, w := range d.Waits[:7] {
		if w.For != "5" || w.CertainNS*2 < w.WaitingNS || i > 0 && w.WaitingNS > d.Waits[i-1].WaitingNS {
			t.Errorf("waits begin with %+v", w)
		}
	}
	if d.Ranks[5].Time.WaitingNS*4 > d.Ranks[0].Time.WaitingNS {
		t.Errorf("the late rank waited for %d ns, another for %d ns", d.Ranks[5].Time.WaitingNS, d.Ranks[0].Time.WaitingNS)
	}
}

func TestASlowLinkIsSlowInTheReport(t *testing.T) {
	p := plan(3)
	p.PerHost, p.Fault, p.Rank, p.Channel, p.Factor = 1, nccltest.SlowLink, 3, 0, 3
	d := reported(t, p)
	if l := d.Links[0]; l.From != "3" || l.To != "4" || l.Channel != 0 || l.NIC != 0 || l.Times < 2.5 || l.Times > 3.5 {
		t.Errorf("the slowest link is %+v", l)
	}
	if l := d.Links[1]; l.Times > 1.3 {
		t.Errorf("another is slow as well: %+v", l)
	}
}

func TestBandwidthsAreThoseOfNCCLTests(t *testing.T) {
	d := reported(t, plan(1))
	for _, b := range d.Bandwidths {
		if b.Operation != "AllReduce" || b.Bytes != 4<<20 {
			continue
		}
		if rate := float64(b.Bytes) / float64(b.TransferNS) * 1e9; float64(b.AlgorithmRate) < rate*0.99 || float64(b.AlgorithmRate) > rate*1.01 {
			t.Errorf("algorithm bandwidth %d, want %g", b.AlgorithmRate, rate)
		}
		if want := float64(b.AlgorithmRate) * 2 * 7 / 8; float64(b.BusRate) < want*0.99 || float64(b.BusRate) > want*1.01 {
			t.Errorf("bus bandwidth %d, want %g: 2 (n-1)/n of the algorithm's", b.BusRate, want)
		}
		return
	}
	t.Errorf("no bandwidth of an AllReduce of 4 MiB: %+v", d.Bandwidths)
}

func TestNoTimeIsDividedAtLevelZero(t *testing.T) {
	d := reported(t, plan(0))
	if d.Links == nil {
		t.Error("no links are null in the document, want an empty list")
	}
	if d.Time.Total() != 0 || len(d.Worst) != 0 || d.Operations[0].Divided != 0 || d.Operations[0].Count == 0 {
		t.Errorf("time %+v, %d operations with their ranks, the first class %+v", d.Time, len(d.Worst), d.Operations[0])
	}
}
