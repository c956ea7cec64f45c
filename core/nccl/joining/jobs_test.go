package joining_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// member is a recording of one rank of a communicator of two, from an instant to another, in s.
func member(pid uint32, comm uint64, rank int, from, to int64) *nccltest.File {
	f := nccltest.NewFile("alpha", pid)
	f.Level, f.WallNS, f.Heartbeat = 1, 1_700_000_000_000_000_000, to*1e9
	user := f.Thread()
	if comm != 0 {
		c := f.Comm(comm, "world", 1, 2, rank, from*1e9)
		user.Stop(from*1e9+5, user.Coll(from*1e9, c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Sequence: 1, Count: 4, Channels: 1}))
	} else {
		user.Stop(from*1e9, f.Handle(8))
	}
	return f
}

// apart reads recordings and returns which are of the latest job.
func apart(t *testing.T, files ...*nccltest.File) (kept string, others []operation.Other, warnings []string) {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, f := range files {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d%s", i, reading.Ending)))
		f.Write(t, paths[i])
	}
	all, unread, err := reading.Read(job.New(context.Background(), job.Options{}), paths, reading.Options{})
	if err != nil || len(unread) > 0 {
		t.Fatal(err, unread)
	}
	of, others, warnings := joining.Apart(all)
	for _, r := range of {
		kept += strings.TrimSuffix(filepath.Base(r.Path), reading.Ending)
	}
	return kept, others, warnings
}

func TestTheJobsOfAFolderAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  []*nccltest.File
		kept   string
		others int
		before bool
	}{
		{"one job", []*nccltest.File{member(1, 7, 0, 100, 200), member(2, 7, 1, 101, 190)}, "01", 0, false},
		{"a former job, which was over", []*nccltest.File{member(1, 7, 0, 100, 200), member(2, 7, 1, 101, 205), member(3, 8, 0, 210, 300), member(4, 8, 1, 211, 300)}, "23", 1, true},
		{"the former one's files come last", []*nccltest.File{member(3, 8, 0, 210, 300), member(1, 7, 0, 100, 200), member(4, 8, 1, 211, 300)}, "02", 1, true},
		{"two communicators that share nobody, at one time", []*nccltest.File{member(1, 7, 0, 100, 200), member(2, 8, 1, 101, 205)}, "01", 0, false},
		{"a process that made no communicator", []*nccltest.File{member(1, 7, 0, 100, 200), member(2, 0, 0, 101, 205)}, "01", 0, false},
		{"a rank that died long before the others did", []*nccltest.File{member(1, 7, 0, 100, 110), member(2, 7, 1, 100, 900)}, "01", 0, false},
	} {
		kept, others, _ := apart(t, c.files...)
		if kept != c.kept || len(others) != c.others || len(others) > 0 && others[0].Before != c.before {
			t.Errorf("%s: kept %s, others %+v", c.name, kept, others)
		}
	}
}

func TestACopyOfAnEarlierMomentGivesWay(t *testing.T) {
	for _, files := range [][]*nccltest.File{
		{member(1, 7, 0, 100, 150), member(1, 7, 0, 100, 200), member(2, 7, 1, 100, 200)},
		{member(1, 7, 0, 100, 200), member(1, 7, 0, 100, 150), member(2, 7, 1, 100, 200)},
	} {
		kept, others, warnings := apart(t, files...)
		longer := "12"
		if files[0].Heartbeat == 200e9 {
			longer = "02"
		}
		if kept != longer || len(others) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "of one process") {
			t.Errorf("kept %s, want %s; others %v, %q", kept, longer, others, warnings)
		}
	}
}
