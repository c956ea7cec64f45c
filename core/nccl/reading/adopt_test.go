package reading_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// together writes recordings and reads them at once, in this order.
func together(t *testing.T, files ...*nccltest.File) []*operation.Recording {
	t.Helper()
	var paths []string
	dir := t.TempDir()
	for i, f := range files {
		paths = append(paths, filepath.Join(dir, string(rune('a'+i))+reading.Ending))
		f.Write(t, paths[i])
	}
	all, warnings, err := reading.Read(job.New(context.Background(), job.Options{}), paths, reading.Options{Steps: 100})
	if err != nil || len(all) != len(files) || len(warnings) != 0 {
		t.Fatalf("got %d recordings, warnings %q, error %v; want %d and none", len(all), warnings, err, len(files))
	}
	return all
}

// recorded is a process of a host with collectives of its own, each with a proxy operation of two steps, the last of which is open.
func recorded(host string, pid uint32, cookie uint16, wallNS int64, colls int) (*nccltest.File, *nccltest.Thread, []uint64) {
	f := nccltest.NewFile(host, pid)
	f.Cookie, f.Level, f.WallNS, f.Heartbeat = cookie, 3, wallNS, base+1000*ms
	user, progress := f.Thread(), f.Thread()
	c := f.Comm(77, "world", 2, 4, int(pid%4), base)
	var ops []uint64
	for k := range colls {
		at := base + int64(k)*100*ms
		coll := user.Coll(at, c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclInt8", Sequence: uint64(k), Count: 1})
		proxy := progress.ProxyOp(at+1*ms, c, coll, 3, 2, 1<<19, 0, false)
		step := progress.Step(at+2*ms, c, proxy, 0)
		progress.State(at+3*ms, step, 10, 0)
		ops = append(ops, coll)
	}
	return f, progress, ops
}

func TestWhatAnotherProcessDidForAnOperationIsItsChild(t *testing.T) {
	owner, _, ops := recorded("alpha", 100, 7, wall, 3)
	doer, progress, _ := recorded("alpha", 200, 8, wall-5*ms, 2) // CLOCK_REALTIME was set in between
	foreign := progress.ProxyOpFor(base+110*ms, owner, ops[1], 2, 4, 5)
	for n := range uint16(2) {
		at := base + 111*ms + int64(n)*10*ms
		step := progress.Step(at, -1, foreign, n)
		progress.State(at+1*ms, step, 8, 0)
		progress.State(at+2*ms, step, 9, 4096)
		if n == 0 {
			progress.Stop(at+3*ms, step)
		}
	}
	all := together(t, owner, doer)
	r, op := all[0], &all[0].Ops[1]
	if len(r.Proxies) != 4 || op.ProxyTo-op.ProxyFrom != 2 {
		t.Fatalf("%d proxy operations, those of the second collective are %d to %d", len(r.Proxies), op.ProxyFrom, op.ProxyTo)
	}
	p := &r.Proxies[op.ProxyTo-1]
	if !p.Adopted || p.Foreign || p.Other != 1 || p.Op != 1 || p.Member != op.Member || p.Peer != 2 || p.Channel != 5 || p.StartNS != wall+base+110*ms || p.Bytes != 4096 || p.Stage != operation.SendWait {
		t.Errorf("the adopted proxy operation is %+v", *p)
	}
	if p.StepTo-p.StepFrom != 2 || r.Steps[p.StepFrom].Open || !r.Steps[p.StepFrom+1].Open || r.Steps[p.StepFrom].Entered[operation.SendWait] != wall+base+113*ms {
		t.Errorf("its steps are %+v", r.Steps[p.StepFrom:p.StepTo])
	}
	for i := range r.Steps { // each stands by its own
		if q := &r.Proxies[r.Steps[i].Proxy]; int32(i) < q.StepFrom || int32(i) >= q.StepTo {
			t.Errorf("step %d is of proxy operation %d, whose steps are %d to %d", i, r.Steps[i].Proxy, q.StepFrom, q.StepTo)
		}
	}
	for _, i := range []int{0, 2} {
		if o := &r.Ops[i]; o.ProxyTo-o.ProxyFrom != 1 || r.Proxies[o.ProxyFrom].Adopted || r.Proxies[o.ProxyFrom].StepTo-r.Proxies[o.ProxyFrom].StepFrom != 1 {
			t.Errorf("collective %d has proxy operations %d to %d", i, o.ProxyFrom, o.ProxyTo)
		}
	}
	if q := &all[1].Proxies[0]; !q.Foreign || q.Other != 0 || q.Op != operation.None || len(all[1].Proxies) != 3 {
		t.Errorf("where it was done it is %+v of %d", *q, len(all[1].Proxies))
	}
	if e := r.Extent(op); e.Progress != operation.Running || e.MovedNS < wall+base+123*ms {
		t.Errorf("the operation is %+v", e)
	}
}

// TestOneHandleOfTwoProcesses: two processes of a host drew the same cookie. NCCL's number of the process tells them apart; where it tells
// nothing, nobody is given what may be another's. A process of another host is never meant.
func TestOneHandleOfTwoProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		first, second uint32 // their numbers
		host          string // of the second
		meant         uint32
		want          [2]int
	}{
		"its number tells":     {100, 101, "alpha", 101, [2]int{0, 1}},
		"its number is wrong":  {100, 101, "alpha", 55, [2]int{0, 0}},
		"both have its number": {100, 100, "alpha", 100, [2]int{0, 0}},
		"of another host":      {100, 101, "beta", 101, [2]int{1, 0}},
	} {
		first, _, ops := recorded("alpha", c.first, 7, wall, 1)
		second, _, other := recorded(c.host, c.second, 7, wall, 1)
		doer, progress, _ := recorded("alpha", 200, 8, wall, 1)
		if ops[0] != other[0] {
			t.Fatal("the handles differ")
		}
		progress.ProxyOpFor(base+10*ms, &nccltest.File{PID: c.meant}, ops[0], 2, 4, 5)
		all := together(t, first, second, doer)
		for k, want := range c.want {
			adopted := 0
			for i := range all[k].Proxies {
				if all[k].Proxies[i].Adopted {
					adopted++
				}
			}
			if adopted != want {
				t.Errorf("%s: process %d was given %d, want %d", name, k, adopted, want)
			}
		}
	}
}

func TestAnOwnerThatWasNotReadIsSaidToBeUnknown(t *testing.T) {
	owner, _, ops := recorded("alpha", 100, 7, wall, 1)
	doer, progress, _ := recorded("alpha", 200, 8, wall, 1)
	progress.ProxyOpFor(base+10*ms, owner, ops[0], 2, 4, 5)
	progress.ProxyOpFor(base+11*ms, owner, ops[0]+1000, 2, 4, 5)
	for _, all := range [][]*operation.Recording{together(t, doer), together(t, doer, owner)} {
		q := &all[0].Proxies[1]
		if !q.Foreign || q.Other != operation.None || q.Op != operation.None {
			t.Errorf("the proxy operation of nobody is %+v", *q)
		}
	}
}
