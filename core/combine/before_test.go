package combine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/straggler"
)

// rankTrace is a Kineto trace that is written event by event.
type rankTrace struct {
	strings.Builder
	rank int
}

func newRankTrace(rank, of int) *rankTrace {
	r := &rankTrace{rank: rank}
	fmt.Fprintf(r, `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [`, rank, of)
	return r
}

func (r *rankTrace) event(cat, name string, pid, tid int, from, to float64, args string) {
	fmt.Fprintf(r, `{"ph": "X", "cat": %q, "name": %q, "pid": %d, "tid": %d, "ts": %.3f, "dur": %.3f, "args": {%s}},`, cat, name, pid, tid, from, to-from, args)
}

func (r *rankTrace) end() string {
	return r.String() + `{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}]}`
}

// beforeOf are steps of 10 ms in which the host loads data, computes and launches, and the device computes, copies and reduces. One rank needs 500 us
// longer for one of these.
func beforeOf(t *testing.T, slow string, late int) []Input {
	t.Helper()
	const ranks, steps, longer = 4, 100, 500
	dir := t.TempDir()
	traces := make([]*rankTrace, ranks)
	for rank := range traces {
		traces[rank] = newRankTrace(rank, ranks)
	}
	for step := range steps {
		base := float64(step) * 10000
		var enters [ranks]float64
		last := 0.0
		for rank, r := range traces {
			extra := func(what string) float64 {
				if rank == late && what == slow {
					return longer
				}
				return 0
			}
			host := func(cat, name string, from, to float64, number int) {
				r.event(cat, name, 100+rank, 1, from, to, fmt.Sprintf(`"correlation": %d`, number))
			}
			number := 10*step + 1
			at := base + float64((step*7+rank*13)%20)
			next := at + 1000 + extra("data")
			host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, next, 0)
			at = next
			if extra("garbage") > 0 {
				host("python_gc", "Python GC", at, at+longer, 0)
				at += longer
			}
			next = at + 300 + extra("host")
			host("cpu_op", "aten::nonzero", at, next, 0)
			at = next + extra("gap")
			host("cuda_runtime", "cudaLaunchKernel", at, at+5, number)
			kernel := at + 10
			r.event("kernel", "gemm", 0, 7, kernel, kernel+3000+extra("kernel"), fmt.Sprintf(`"device": 0, "stream": 7, "correlation": %d`, number))
			copied := kernel + 3000 + extra("kernel")
			r.event("gpu_memcpy", "Memcpy DtoD", 0, 7, copied, copied+200+extra("copy"), `"device": 0, "stream": 7`)
			other := copied + 200 + extra("copy")
			r.event("kernel", "ncclDevKernel_SendRecv", 0, 21, other, other+100+extra("collective"), fmt.Sprintf(
				`"device": 0, "stream": 21, "Collective name": "allgather", "In msg nelems": 4, "Group size": 2, "Process Group Name": "%d", "Process Group Ranks": "[%d, %d]", "Seq": %d, "dtype": "Float"`,
				9+rank, rank, 90+rank, step))
			enter := other + 110 + extra("collective") + extra("launch")
			launch := at + 20 // long before: it is queued
			if slow == "launch" {
				launch = enter - 10
			}
			host("cuda_runtime", "cudaLaunchKernel", launch, launch+5, number+1)
			enters[rank], last = enter, max(last, enter)
		}
		for rank, r := range traces {
			r.event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, enters[rank], last+1000, fmt.Sprintf(
				`"device": 0, "stream": 20, "correlation": %d, "Collective name": "allreduce", "In msg nelems": 1048576, "Group size": 4, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": %d, "dtype": "Float"`,
				10*step+2, step))
		}
	}
	var inputs []Input
	for rank, r := range traces {
		inputs = append(inputs, Input{Path: put(t, dir, fmt.Sprintf("rank%d.json", rank), []byte(r.end()))})
	}
	return inputs
}

// TestWhatTheLateRankDidBefore: of what took longer than elsewhere, and only of that, is said that it did.
func TestWhatTheLateRankDidBefore(t *testing.T) {
	declared := put(t, t.TempDir(), "declared.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 10000}, "rank1": {"offset_ns": 0, "bound_ns": 10000}, "rank2": {"offset_ns": 0, "bound_ns": 10000}, "rank3": {"offset_ns": 0, "bound_ns": 10000}}}`))
	for slow, want := range map[string]straggler.Cause{
		"data":       {Name: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", Kind: straggler.DidData},
		"garbage":    {Name: "Python GC", Kind: straggler.DidGarbage},
		"host":       {Name: "aten::nonzero", Kind: straggler.DidHost},
		"kernel":     {Name: "gemm", Kind: straggler.DidKernel},
		"copy":       {Name: "Memcpy DtoD", Kind: straggler.DidCopy},
		"collective": {Name: "ncclDevKernel_SendRecv", Kind: straggler.DidCollective},
		"gap":        {},
		"launch":     {},
	} {
		d := stragglers(t, StragglersRequest{Request: Request{Inputs: beforeOf(t, slow, 2), Declared: declared, Method: MethodDeclared}})
		first := &d.Ranks[0]
		if !first.Blamed || first.ID != "rank2" || len(first.Causes) == 0 || first.Causes[0].Name != want.Name || first.Causes[0].Kind != want.Kind || first.Causes[0].CostNS*10 < first.CostNS*9 {
			t.Errorf("%s: %s: %+v", slow, d.Verdict, first.Causes)
		}
		if first.Stability.Steps < 95 || first.GainNS < 90*400e3 {
			t.Errorf("%s: %+v, gain %d", slow, first.Stability, first.GainNS)
		}
		launch := d.Time.LaunchNS*10 > d.Time.WaitingNS*9
		if launch != (slow == "launch") || slow == "launch" && (d.Time.LaunchNS < 3*90*400e3 || d.Worst[0].LaunchNS == nil || *d.Worst[0].LaunchNS != 10000) {
			t.Errorf("%s: %+v; %+v", slow, d.Time, d.Worst[0])
		}
	}
}

// TestBandwidthsAreThoseOfTheTransfer: an all-reduce of 4 MiB among four ranks takes 1 ms once all are there, whoever was late.
func TestBandwidthsAreThoseOfTheTransfer(t *testing.T) {
	d := stragglers(t, StragglersRequest{Request: Request{Inputs: beforeOf(t, "kernel", 1)}})
	if len(d.Bandwidths) != 1 {
		t.Fatalf("%+v", d.Bandwidths)
	}
	b := d.Bandwidths[0]
	if b.Kind != "all-reduce" || b.Operation != "allreduce" || b.Ranks != 4 || b.Bytes != 4<<20 || b.Operations != 100 || b.TransferNS != 1e6 || b.DurationNS < 1.5e6 {
		t.Errorf("%+v", b)
	}
	if b.AlgorithmRate != 4<<20*1000 || b.BusRate != 6<<20*1000 || b.WholeAlgorithm >= b.AlgorithmRate || b.WholeBus*2 != b.WholeAlgorithm*3 && b.WholeBus*2 != b.WholeAlgorithm*3+1 && b.WholeBus*2 != b.WholeAlgorithm*3-1 {
		t.Errorf("%+v", b)
	}
}
