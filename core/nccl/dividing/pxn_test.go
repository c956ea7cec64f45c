package dividing_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// TestAProxyIsTheOneThatDidTheWork: rank 1 has the network and does what rank 0 sends (PXN). The link is rank 0's, the work rank 1's.
func TestAProxyIsTheOneThatDidTheWork(t *testing.T) {
	const second, ms = int64(1_000_000_000), int64(1_000_000)
	var files [2]*nccltest.File
	var comms [2]int
	for k := range files {
		f := nccltest.NewFile("alpha", uint32(100+k))
		f.Level, f.WallNS, f.Heartbeat = 3, second, 10*second
		files[k], comms[k] = f, f.Comm(77, "world", 2, 3, k, second)
	}
	user, progress := files[0].Thread(), files[1].Thread()
	for n := range int64(20) {
		at := second + n*50*ms
		coll := user.Coll(at, comms[0], 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclInt8", Sequence: uint64(n), Count: 4096})
		op := progress.ProxyOpFor(at+ms, files[0], coll, 2, 1, 0)
		progress.State(at+ms, op, 19, 0)
		step := progress.Step(at+2*ms, -1, op, 0)
		progress.State(at+3*ms, step, 8, 0)
		progress.State(at+4*ms, step, 9, 4096)
		progress.Stop(at+9*ms, step)
		progress.Stop(at+10*ms, op)
	}
	var paths []string
	dir := t.TempDir()
	for k, f := range files {
		paths = append(paths, filepath.Join(dir, string(rune('a'+k))+reading.Ending))
		f.Write(t, paths[k])
	}
	j := job.New(context.Background(), job.Options{})
	all, _, err := reading.Read(j, paths, reading.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tied, err := joining.Join(j, all, joining.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dividing.Report(tied, dividing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Proxies) != 1 || d.Proxies[0].Rank != "1" || d.Proxies[0].Operations != 20 || d.Proxies[0].Foreign != 20 || d.Proxies[0].Bytes != 20*4096 {
		t.Errorf("the proxies are %+v", d.Proxies)
	}
	if len(d.Links) != 1 || d.Links[0].From != "0" || d.Links[0].To != "2" || d.Links[0].Bytes != 20*4096 {
		t.Errorf("the links are %+v", d.Links)
	}
}
