package diagnosing_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// size is a number of the environment: the real one takes a minute and a gigabyte.
func size(name string, small int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return small
}

// levelOne writes what a rank records at level 1: AllReduce after AllReduce, on two channels.
func levelOne(rank, ranks, times int) *nccltest.File {
	f := nccltest.NewFile(fmt.Sprintf("node%d", rank/8), uint32(100+rank))
	f.Level, f.WallNS = 1, wall
	user, kernels := f.Thread(), f.Thread()
	c := f.Comm(77, "world", ranks/8, ranks, rank, base)
	for n := range times {
		at := base + int64(n)*ms + int64(rank*7919%50)*1000
		group := user.GroupAPI(at, c)
		api := user.API(at+10, c, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: 1 << 20, Stream: 7})
		user.Stop(at+20, api)
		launch := user.Launch(at+30, c, group, 7)
		user.Stop(at+40, launch)
		coll := user.Coll(at+50, c, api, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: uint64(n), Count: 1 << 20, Channels: 2})
		user.Stop(at+60, coll)
		user.Stop(at+70, group)
		for ch := range uint16(2) {
			k := kernels.Kernel(at+100_000+int64(ch), c, coll, ch, at+100_000)
			kernels.KernelStop(base+int64(n)*ms+700_000+int64(ch), k, at+600_000)
		}
	}
	f.Heartbeat = base + int64(times)*ms
	return f
}

// BenchmarkAnalysis reads, joins, divides and diagnoses a job at level 1: PRLX_NCCL_RANKS=64 PRLX_NCCL_TIMES=20000 is the one that is promised.
func BenchmarkAnalysis(b *testing.B) {
	ranks, times := size("PRLX_NCCL_RANKS", 8), size("PRLX_NCCL_TIMES", 500)
	dir, bytes := b.TempDir(), int64(0)
	if kept := os.Getenv("PRLX_NCCL_BENCH_DIR"); kept != "" { // made once, for profiles of the analysis alone
		dir = kept
	}
	for rank := range ranks {
		path := filepath.Join(dir, fmt.Sprintf("%03d%s", rank, reading.Ending))
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
			continue
		}
		data := levelOne(rank, ranks, times).Bytes()
		bytes += int64(len(data))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	b.SetBytes(bytes)
	before := processorTime()
	for b.Loop() {
		j := job.New(context.Background(), job.Options{})
		paths, err := reading.Find([]string{dir})
		if err != nil {
			b.Fatal(err)
		}
		all, _, err := reading.Read(j, paths, reading.Options{})
		if err != nil {
			b.Fatal(err)
		}
		tied, err := joining.Join(j, all, joining.Options{})
		if err != nil {
			b.Fatal(err)
		}
		d, err := diagnosing.Diagnose(tied, diagnosing.Options{})
		if err != nil || d.Looked.Complete != times {
			b.Fatalf("error %v, %+v", err, d.Looked)
		}
		if os.Getenv("PRLX_NCCL_REPORT") != "" {
			if _, err := dividing.Report(tied, dividing.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric((processorTime()-before)/float64(b.N), "cpu-s/op")
}

// processorTime is what this process has used of processors, in seconds.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkReadingSteps reads a recording at level 3 on one core.
func BenchmarkReadingSteps(b *testing.B) {
	p := nccltest.Plan{Seed: 1, Ranks: 2, PerHost: 1, Channels: 4, Steps: 64, Ops: size("PRLX_NCCL_TIMES", 100), Level: 3, ComputeNS: 1e5, Jitter: 0.05}
	data := nccltest.Simulate(p)[0].Bytes()
	b.SetBytes(int64(len(data)))
	before := processorTime()
	for b.Loop() {
		src, err := file.FromBytes("steps", data)
		if err != nil {
			b.Fatal(err)
		}
		s, err := segment.FromSource(src)
		if err != nil {
			b.Fatal(err)
		}
		if r, err := reading.One(context.Background(), s, reading.Options{}); err != nil || len(r.Proxies) == 0 {
			b.Fatalf("error %v, no proxies", err)
		}
		s.Close()
	}
	b.ReportMetric(float64(b.N)*float64(len(data))/1e6/(processorTime()-before), "MB/cpu-s")
}
