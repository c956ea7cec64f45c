package nccl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

// TestWhatAProxyDidForAnotherProcessIsTiedToIt plays PXN with two processes: the one that has the network is handed context, parent and number
// of the other, and does its sends. Both files have what was played, and together they tell whose each send was.
func TestWhatAProxyDidForAnotherProcessIsTiedToIt(t *testing.T) {
	b := build(t)
	const colls, channels = 200, 2
	dir := t.TempDir()
	var pids [2]int
	if _, err := fmt.Sscan(b.play(t, dir, nil, "pair", filepath.Join(dir, "truth"), fmt.Sprint(colls)), &pids[0], &pids[1]); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for k, who := range []string{"owner", "doer"} {
		found, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("*-%d-????.prlx-nccl", pids[k])))
		if len(found) != 1 {
			t.Fatalf("recordings of process %d: %v", pids[k], found)
		}
		paths = append(paths, found[0])
		same(t, decode(t, found[0]), filepath.Join(dir, "truth-"+who), false)
	}
	all, _, err := reading.Read(job.New(context.Background(), job.Options{}), paths, reading.Options{Steps: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	owner, doer := all[0], all[1]
	t.Logf("clocks are off by %d and %d ns at most", owner.ClockBoundNS, doer.ClockBoundNS)
	if len(owner.Ops) != colls || len(doer.Ops) != colls || len(owner.Proxies) != 2*channels*colls || len(doer.Proxies) != (1+channels)*colls {
		t.Fatalf("%d and %d operations, %d and %d proxy operations", len(owner.Ops), len(doer.Ops), len(owner.Proxies), len(doer.Proxies))
	}
	off := owner.ClockBoundNS + doer.ClockBoundNS
	for i := range owner.Ops {
		op := &owner.Ops[i]
		var sends, steps int32
		for k := op.ProxyFrom; k < op.ProxyTo; k++ {
			p := &owner.Proxies[k]
			if p.Send != p.Adopted || p.Parent != op.Handle || p.PID != int32(pids[0]) || p.StartNS+off < op.StartNS {
				t.Fatalf("collective %d began at %d and has, with clocks that are off by %d ns at most, %+v", i, op.StartNS, off, *p)
			}
			if p.Adopted {
				sends, steps = sends+1, steps+p.Begun
			}
		}
		hangs := i == colls-1
		e := owner.Extent(op)
		if want := map[bool]operation.Progress{false: operation.Finished, true: operation.Running}[hangs]; sends != channels || steps != 8*channels || e.Progress != want {
			t.Fatalf("collective %d of %d: %d sends with %d steps, %+v", i, colls, sends, steps, e)
		}
	}
	last := &owner.Proxies[owner.Ops[colls-1].ProxyTo-1]
	if last.Stage != operation.SendWait || last.Finished != 7 || last.StepTo-last.StepFrom != 8 || !owner.Steps[last.StepTo-1].Open {
		t.Errorf("the send that hangs is %+v", *last)
	}
	for i := range doer.Proxies {
		if p := &doer.Proxies[i]; p.Foreign != (p.Op < 0) || p.Foreign && p.Other != 0 || p.Foreign != (p.PID == int32(pids[0])) {
			t.Fatalf("where it was done, proxy operation %d is %+v", i, *p)
		}
	}
}
