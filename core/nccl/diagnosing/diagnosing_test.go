package diagnosing_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/verdict"
)

const (
	ms   = int64(1_000_000)
	base = int64(5_000_000_000)
	wall = int64(1_700_000_000_000_000_000)
)

// joined writes recordings, reads them and ties them together.
func joined(t *testing.T, files []*nccltest.File) *operation.Job {
	t.Helper()
	dir := t.TempDir()
	paths := make([]string, 0, len(files))
	for i, f := range files {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%03d%s", i, reading.Ending)))
		f.Write(t, paths[i])
	}
	all, warnings, err := reading.Read(job.New(context.Background(), job.Options{}), paths, reading.Options{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	out, err := joining.Join(job.New(context.Background(), job.Options{}), all, joining.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func diagnosed(t *testing.T, files []*nccltest.File) *diagnosing.Document {
	t.Helper()
	doc, err := diagnosing.Diagnose(joined(t, files), diagnosing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// calls writes a rank that calls AllReduce so often, 10 ms apart, and then lives on until the end.
func calls(rank, ranks, times int, count uint64, endNS int64) *nccltest.File {
	f := nccltest.NewFile("alpha", uint32(100+rank))
	f.WallNS, f.Heartbeat = wall, endNS
	user := f.Thread()
	c := f.Comm(77, "world", 1, ranks, rank, base)
	for n := range times {
		at := base + int64(n)*10*ms
		group := user.GroupAPI(at, c)
		api := user.API(at+10, c, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: count})
		user.Stop(at+20, api)
		user.Stop(at+90, user.Coll(at+50, c, api, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: uint64(n), Count: count}))
		user.Stop(at+100, group)
	}
	return f
}

func TestARankThatNeverArrivedIsNamed(t *testing.T) {
	var files []*nccltest.File
	for rank := range 8 {
		times := 20
		if rank == 3 {
			times = 17
		}
		files = append(files, calls(rank, 8, times, 1024, base+60_000*ms))
	}
	d := diagnosed(t, files)
	if d.Status != diagnosing.StatusCulprit || len(d.Findings) != 1 || d.Findings[0].Class != diagnosing.ClassNeverArrived || d.Findings[0].Ranks[0] != "3" || d.Findings[0].Sequence != 17 {
		t.Fatalf("status %s, findings %+v", d.Status, d.Findings)
	}
	if want := "Rank 3 (alpha) never called AllReduce #17 of world: 7 ranks have waited for 59.8 s"; d.Verdict != want {
		t.Errorf("got  %s\nwant %s", d.Verdict, want)
	}
	if len(d.Waits) == 0 || d.Waits[0].For != "3" || len(d.Stuck) < 8 {
		t.Errorf("waits %+v, stuck %d", d.Waits, len(d.Stuck))
	}
}

func TestAJobThatGoesOnIsNotStalled(t *testing.T) {
	var files []*nccltest.File
	for rank := range 8 {
		files = append(files, calls(rank, 8, 20-rank%3, 1024, base+20*10*ms+1000*ms)) // hosts run ahead of each other
	}
	d := diagnosed(t, files)
	if d.Progress.Outcome != verdict.Passed || len(d.Findings) != 0 {
		t.Fatalf("progress %+v: %s", d.Progress, d.Verdict)
	}
	if d.Status != diagnosing.StatusInconclusive || d.Conclusion.Outcome != verdict.Inconclusive || !strings.Contains(d.Verdict, "who was late") {
		t.Errorf("at level 0 nobody knows who was late, and the verdict says %q", d.Verdict)
	}
}

func TestSilenceAtLevelZeroIsNotDecided(t *testing.T) {
	var files []*nccltest.File
	for rank := range 4 {
		files = append(files, calls(rank, 4, 20, 1024, base+60_000*ms))
	}
	d := diagnosed(t, files)
	if d.Status != diagnosing.StatusInconclusive || len(d.Advice) == 0 {
		t.Fatalf("status %s: %s, advice %q", d.Status, d.Verdict, d.Advice)
	}
}

func TestADeadProcessIsNotOneThatComputes(t *testing.T) {
	for _, ends := range []bool{false, true} {
		var files []*nccltest.File
		for rank := range 4 {
			times, end := 20, base+60_000*ms
			if rank == 2 {
				times, end = 10, base+100*ms
			}
			f := calls(rank, 4, times, 1024, end)
			f.Ended = rank == 2 && ends
			files = append(files, f)
		}
		d := diagnosed(t, files)
		if len(d.Findings) != 1 || d.Findings[0].Class != diagnosing.ClassEnded || d.Findings[0].Ranks[0] != "2" {
			t.Errorf("ended by exit %v: findings %+v", ends, d.Findings)
		}
	}
}

func TestWhatIsPassedDifferentlyIsAMismatch(t *testing.T) {
	var files []*nccltest.File
	for rank := range 4 {
		count := uint64(1024)
		if rank == 1 {
			count = 512
		}
		files = append(files, calls(rank, 4, 3, count, base+100*ms))
	}
	d := diagnosed(t, files)
	if len(d.Findings) != 1 || d.Findings[0].Class != diagnosing.ClassMismatch || d.Findings[0].Ranks[0] != "1" {
		t.Fatalf("findings %+v", d.Findings)
	}
	if want := "passed count 512 to AllReduce #0"; !strings.Contains(d.Verdict, want) {
		t.Errorf("got %s, want it to say %s", d.Verdict, want)
	}
}

func TestARankThatNobodyRecordedIsNotBlamed(t *testing.T) {
	var files []*nccltest.File
	for rank := range 3 {
		f := calls(rank, 4, 20, 1024, base+60_000*ms)
		files = append(files, f)
	}
	d := diagnosed(t, files)
	if d.Status != diagnosing.StatusInconclusive {
		t.Fatalf("status %s: %s", d.Status, d.Verdict)
	}
}
