package reading_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

const (
	ms   = int64(1_000_000)
	base = int64(5_000_000_000)
	wall = int64(1_700_000_000_000_000_000)
)

// one writes a recording and reads it.
func one(t *testing.T, f *nccltest.File, opt reading.Options) *operation.Recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a"+reading.Ending)
	f.Write(t, path)
	all, warnings, err := reading.Read(job.New(context.Background(), job.Options{}), []string{path}, opt)
	if err != nil || len(all) != 1 || len(warnings) != 0 {
		t.Fatalf("got %d recordings, warnings %q, error %v; want one and none", len(all), warnings, err)
	}
	return all[0]
}

// ring writes a collective with a kernel and a sending proxy operation that is in its third step.
func ring(f *nccltest.File) {
	f.Level, f.WallNS, f.Heartbeat = 3, wall, base+20_000*ms
	user, progress := f.Thread(), f.Thread()
	c := f.Comm(77, "world", 2, 4, 1, base)
	group := user.GroupAPI(base+1*ms, c)
	api := user.API(base+1*ms+10, c, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: 1024, Stream: 9})
	user.Stop(base+1*ms+20, api)
	launch := user.Launch(base+1*ms+30, c, group, 9)
	user.Stop(base+1*ms+40, launch)
	coll := user.Coll(base+1*ms+50, c, api, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: 4, Count: 1024, Channels: 2})
	proxy := progress.ProxyOp(base+2*ms, c, coll, 2, 8, 1<<19, 1, true)
	progress.State(base+2*ms, proxy, 19, 0)
	kernel := progress.Kernel(base+3*ms, c, coll, 1, wall+base+2*ms)
	for n := range uint16(3) {
		at := base + 4*ms + int64(n)*10*ms
		step := progress.Step(at, c, proxy, n)
		again := progress.Step(at+1*ms, c, proxy, n)
		progress.State(at+2*ms, again, 8, 0)
		progress.State(at+3*ms, again, 20, 0)
		progress.State(at+4*ms, again, 20, 0)
		if n == 2 {
			break
		}
		progress.State(at+5*ms, again, 9, 65536)
		progress.IB(at+5*ms, c, again, 3)
		progress.Stop(at+9*ms, again)
		progress.Stop(at+9*ms, step) // a handle that was replaced
	}
	progress.KernelStop(base+50*ms, kernel, wall+base+49*ms)
	user.Stop(base+60*ms, coll)
	user.Stop(base+61*ms, group)
}

func TestWhatBelongsTogetherIsTiedByHandles(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	ring(f)
	r := one(t, f, reading.Options{Steps: 10})
	if len(r.Ops) != 1 || len(r.Kernels) != 1 || len(r.Proxies) != 1 {
		t.Fatalf("got %d operations, %d kernels, %d proxy operations; want one of each", len(r.Ops), len(r.Kernels), len(r.Proxies))
	}
	op := &r.Ops[0]
	if op.API != 0 || op.Launch != 0 || r.Name(op.Func) != "AllReduce" || op.Sequence != 4 || op.Bytes != 4096 || op.StartNS != wall+base+1*ms+50 || op.StopNS != wall+base+60*ms {
		t.Errorf("the operation is %+v", *op)
	}
	if op.KernelFrom != 0 || op.KernelTo != 1 || op.ProxyFrom != 0 || op.ProxyTo != 1 || r.Groups[0].StopNS != wall+base+61*ms {
		t.Errorf("the operation is %+v of the group %+v", *op, r.Groups[0])
	}
	if k := r.Kernels[0]; !k.Stopped || k.GPUStartNS != wall+base+2*ms || k.GPUStopNS != wall+base+49*ms || k.Channel != 1 || k.StopNS != wall+base+50*ms {
		t.Errorf("the kernel is %+v", k)
	}
}

func TestTheTimeOfAProxyOperationIsDividedByItsOldestStep(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	ring(f)
	r := one(t, f, reading.Options{Steps: 10})
	p := &r.Proxies[0]
	if p.Begun != 3 || p.Finished != 2 || p.Bytes != 2*65536 || p.NIC != 3 || p.Peer != 2 || p.Retries != 6 || p.Stage != operation.SendPeerWait {
		t.Errorf("the proxy operation is %+v", *p)
	}
	end := r.LastNS - (wall + base)
	want := [operation.Stages]int64{
		operation.StageNone:    3*2*ms + 2*1*ms, // of three steps before their first state, and of two until the next began
		operation.SendGPUWait:  3 * ms,
		operation.SendPeerWait: 2*2*ms + end - 27*ms,
		operation.SendWait:     2 * 4 * ms,
	}
	if p.StageNS != want {
		t.Errorf("its time is divided as %v, want %v", p.StageNS, want)
	}
	total := int64(0)
	for _, ns := range p.StageNS {
		total += ns
	}
	if total != r.LastNS-p.FirstNS {
		t.Errorf("the parts add up to %d ns, want %d: from the first step to the last sign of life", total, r.LastNS-p.FirstNS)
	}
	if len(r.Steps) != 3 || !r.Steps[2].Open || r.Steps[0].Open || r.Steps[2].Number != 2 || p.StepTo-p.StepFrom != 3 {
		t.Errorf("the steps are %+v", r.Steps)
	}
	if few := one(t, f, reading.Options{}); len(few.Steps) != 1 || few.Loss.StepsLeftOut != 2 {
		t.Errorf("got %d steps and %d left out, want the open one and two", len(few.Steps), few.Loss.StepsLeftOut)
	}
}

func TestRecordsOfThreadsMayComeBeforeWhatTheyReferTo(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	f.WallNS, f.Heartbeat = wall, base+ms
	first, second := f.Thread(), f.Thread()
	c := f.Comm(77, "world", 1, 2, 0, base)
	coll := second.Coll(base+10, c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclInt8", Sequence: 0, Count: 1})
	first.Kernel(base, c, 0, 0, 1) // opens its segment first
	kernel := first.Kernel(base+20, c, coll, 0, 2)
	first.KernelStop(base+30, kernel, 3)
	first.Stop(base+40, coll)
	r := one(t, f, reading.Options{})
	if len(r.Ops) != 1 || r.Ops[0].StopNS != wall+base+40 || r.Ops[0].KernelTo-r.Ops[0].KernelFrom != 1 || r.Loss.Orphans != 1 {
		t.Errorf("got operations %+v, %d orphans; want one that has stopped, with its kernel, and the kernel of nobody", r.Ops, r.Loss.Orphans)
	}
}

func TestTheSameAgainIsAnotherOccurrence(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	f.WallNS, f.Heartbeat = wall, base+ms
	user := f.Thread()
	c := f.Comm(77, "world", 1, 3, 0, base)
	for i := range int64(3) {
		user.Coll(base+i*10, c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclInt8", Sequence: 8})
		user.P2P(base+i*10+1, c, 0, "Send", "ncclInt8", 5, int32(i%2)+1)
	}
	r := one(t, f, reading.Options{})
	var got []int32
	for i := range r.Ops {
		got = append(got, r.Ops[i].Occurrence)
	}
	if want := []int32{0, 0, 1, 0, 2, 1}; len(got) != 6 || [6]int32(got) != [6]int32(want) {
		t.Errorf("got occurrences %v, want %v", got, want)
	}
}

// FuzzRecordings reads damaged recordings: an error or a recording, and no panic.
func FuzzRecordings(f *testing.F) {
	whole := nccltest.NewFile("alpha", 100)
	ring(whole)
	f.Add(0, uint64(0), uint64(0))
	f.Add(90000, uint64(0xff00ff), uint64(3))
	data := whole.Bytes()
	f.Fuzz(func(t *testing.T, at int, change, more uint64) {
		b := append([]byte(nil), data...)
		for range 8 {
			at = int(uint(at) % uint(len(b)))
			b[at] ^= byte(change)
			at, change = at+int(more%4096), change>>8|more<<56
			more = more>>4 | more<<60
		}
		src, err := file.FromBytes("fuzzed", b)
		if err != nil {
			t.Fatal(err)
		}
		s, err := segment.FromSource(src)
		if err != nil {
			src.Close()
			return
		}
		defer s.Close()
		r, err := reading.One(context.Background(), s, reading.Options{Steps: 100})
		if err != nil {
			return
		}
		for i := range r.Ops {
			if op := &r.Ops[i]; op.KernelFrom > op.KernelTo || int(op.KernelTo) > len(r.Kernels) || op.ProxyFrom > op.ProxyTo || int(op.ProxyTo) > len(r.Proxies) {
				t.Fatalf("operation %+v of %d kernels and %d proxy operations", *op, len(r.Kernels), len(r.Proxies))
			}
		}
	})
}

// TestGraphsThatTakeTurnsAreCounted: each of two graphs is replayed under numbers of its own, so numbers fall again and again.
func TestGraphsThatTakeTurnsAreCounted(t *testing.T) {
	for _, c := range []struct{ sequences, occurrences []uint64 }{
		{[]uint64{1, 2, 3, 4}, []uint64{0, 0, 0, 0}},
		{[]uint64{1, 1, 1, 2, 2, 3}, []uint64{0, 1, 2, 0, 1, 0}},
		{[]uint64{0, 0, 1}, []uint64{0, 1, 0}},
		{[]uint64{1, 2, 1, 2, 3, 1}, []uint64{0, 0, 1, 1, 0, 2}},
	} {
		f := nccltest.NewFile("alpha", 100)
		user := f.Thread()
		world := f.Comm(77, "world", 1, 2, 0, base)
		for i, sequence := range c.sequences {
			user.Coll(base+int64(i)*ms, world, 0, nccltest.Collective{Func: "AllReduce", Sequence: sequence})
			user.Coll(base+int64(i)*ms+1, world, 0, nccltest.Collective{Func: "AllGather", Sequence: uint64(i)})
		}
		r := one(t, f, reading.Options{})
		for i := range c.sequences {
			if got := r.Ops[2*i].Occurrence; got != int32(c.occurrences[i]) {
				t.Errorf("numbers %d: operation %d is occurrence %d of its number, want %d", c.sequences, i, got, c.occurrences[i])
			}
			if got := r.Ops[2*i+1].Occurrence; got != 0 {
				t.Errorf("numbers %d: operation %d of another function is occurrence %d, want 0", c.sequences, i, got)
			}
		}
	}
}

// TestALaunchIsFoundByItsStream: a group may launch kernels on several streams, and for several communicators on one.
func TestALaunchIsFoundByItsStream(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	user := f.Thread()
	comms := []int{f.Comm(77, "world", 1, 2, 0, base), f.Comm(78, "half", 1, 2, 0, base)}
	call := func(at int64, group uint64, comm int, stream uint64) {
		api := user.API(at, comm, group, false, nccltest.Call{Func: "AllReduce", Stream: stream})
		user.Coll(at+50, comm, api, nccltest.Collective{Func: "AllReduce", Sequence: uint64(at)})
	}
	one1 := user.GroupAPI(base, comms[0])
	user.Launch(base+10, comms[0], one1, 9)
	call(base+1, one1, comms[0], 9)
	call(base+2, one1, comms[0], 8) // of this stream no launch is recorded
	several := user.GroupAPI(base+ms, comms[0])
	for _, l := range []struct {
		comm   int
		stream uint64
	}{{comms[0], 5}, {comms[0], 6}, {comms[1], 6}, {comms[1], 7}} {
		user.Launch(base+ms+20, l.comm, several, l.stream)
	}
	call(base+ms+1, several, comms[1], 6)
	call(base+ms+2, several, comms[0], 7) // on the stream, though for another communicator
	call(base+ms+3, several, comms[0], 6)
	call(base+ms+4, several, comms[0], 3)
	r := one(t, f, reading.Options{})
	for i, want := range []int32{0, operation.None, 3, 4, 2, operation.None} {
		if got := r.Ops[i].Launch; got != want {
			t.Errorf("operation %d has launch %d, want %d", i, got, want)
		}
	}
}

// TestAListIsNoLongerThanTheRecordsOfItsFile: what is expected of the rest of a file takes no more room than the rest can fill.
func TestAListIsNoLongerThanTheRecordsOfItsFile(t *testing.T) {
	f := nccltest.NewFile("alpha", 100)
	user := f.Thread()
	world := f.Comm(77, "world", 1, 2, 0, base)
	const n = 20_000
	for i := range n {
		user.Coll(base+int64(i)*1000, world, 0, nccltest.Collective{Func: "AllReduce", Sequence: uint64(i)})
	}
	r := one(t, f, reading.Options{})
	if len(r.Ops) != n || cap(r.Ops) > n*11/10 {
		t.Errorf("%d operations in a list for %d, want %d in one that is not much longer", len(r.Ops), cap(r.Ops), n)
	}
}
