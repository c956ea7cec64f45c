package nccl_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

// TestReplaysOfAGraphAreTold: NCCL calls nothing when a graph is replayed. Its operations come with the call and the launch of the capture; the
// number stands still unless kernels are recorded, and counting tells such replays apart.
func TestReplaysOfAGraphAreTold(t *testing.T) {
	b := build(t)
	for _, release := range []string{"228", "232"} {
		dir := t.TempDir()
		b.play(t, dir, nil, "sequences", release, filepath.Join(dir, "truth"), "10")
		all, _, err := reading.Read(job.New(context.Background(), job.Options{}), []string{recording(t, dir)}, reading.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := all[0]
		var still, counted []*operation.Op
		for i := range r.Ops {
			op := &r.Ops[i]
			if !op.Captured || op.Kind != operation.Collective || r.Name(op.Func) != "AllGather" {
				continue
			}
			if op.KernelFrom == op.KernelTo {
				still = append(still, op)
			} else {
				counted = append(counted, op)
			}
		}
		if len(still) != 20 || len(counted) != 20 {
			t.Fatalf("release %s: %d replays without kernels and %d with, want 20 of each", release, len(still), len(counted))
		}
		for k, op := range still {
			if op.Occurrence != int32(k) || op.Sequence != still[0].Sequence || op.API != still[0].API || !r.APIs[op.API].Captured || op.Launch != still[0].Launch || op.Launch < 0 || op.ProxyTo-op.ProxyFrom != 1 {
				t.Fatalf("release %s: replay %d is %+v", release, k, *op)
			}
			if e := r.Extent(op); k > 0 && e.CalledNS != op.StartNS || e.BeganNS < op.StartNS || e.Progress != operation.Finished {
				t.Fatalf("release %s: replay %d was %+v, it was scheduled at %d", release, k, e, op.StartNS)
			}
		}
		for k, op := range counted {
			if op.Occurrence != 0 || op.Sequence != still[0].Sequence+uint64(k)+1 || op.API != still[0].API || op.Launch != still[0].Launch {
				t.Fatalf("release %s: replay %d with kernels is %+v", release, k, *op)
			}
			if e := r.Extent(op); e.Progress != operation.Finished || !e.Kernels {
				t.Fatalf("release %s: replay %d with kernels was %+v", release, k, e)
			}
		}
	}
}
