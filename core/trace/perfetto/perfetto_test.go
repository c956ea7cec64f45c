package perfetto

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

func listed(t *testing.T, path string) []string {
	t.Helper()
	src, err := file.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	trace, err := Format.Scan(t.Context(), src, source.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	err = trace.Visit(t.Context(), src, source.AllEvents, 0, func(e *source.Event) error {
		out = append(out, fmt.Sprintf("%d/%d %s %d + %d {%s}", e.Process, e.Line, e.Name, e.OffsetPS/1000, e.DurationPS/1000, e.Args.AppendArgs(nil, 0, nil)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSlicesOfALibrary: names, defaults, a clock of differences, and args, compressed or not.
func TestSlicesOfALibrary(t *testing.T) {
	want := []string{`0/0 aten::mm 0 + 20000 {"bytes":4096}`, `0/0 forward -10000 + 60000 {}`, `0/0 mark 51000 + 0 {}`}
	for _, name := range []string{"library", "compressed"} {
		if got := listed(t, "testdata/"+name+".pftrace"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWorkOfStages: kernels with blocks and correlations, a range of the device as a mark on its lane, copies on request.
func TestWorkOfStages(t *testing.T) {
	j := job.New(context.Background(), job.Options{Workers: 1})
	for _, copies := range []bool{false, true} {
		found, err := Format.Work(j, "testdata/gpu.pftrace", work.Options{Copies: copies, Read: func(string) work.Saying { return work.Saying{Kind: work.NVTX} }})
		if err != nil {
			t.Fatal(err)
		}
		n := 24
		if copies {
			n += 12
		}
		if found.Rows.Len() != n || found.Rows.Blocks.At(0) != 20 || found.Rows.Corr.At(1) != 2 || len(found.Marks) != 1 || found.Marks[0].Lane == work.NoLane {
			t.Errorf("copies %v: %d kernels, %d blocks, correlation %d, marks %+v", copies, found.Rows.Len(), found.Rows.Blocks.At(0), found.Rows.Corr.At(1), found.Marks)
		}
	}
}

func TestDevicesInNames(t *testing.T) {
	for name, want := range map[string]int64{
		"COMPUTE AGENT [4] STREAM [2] (GPU)": 4, "COPY to AGENT [11] THREAD [0] (GPU)": 11, "COPY to AGENT [0] THREAD [0] (CPU)": -1, "/device:GPU:3": 3, "GPU 0": 0,
		"GPU": -1, "GPU x": -1, "": -1, "stream (GPU)": 0, "COMPUTE AGENT [x] (GPU) ": 0,
	} {
		if got := deviceOf(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

// FuzzScan: no bytes make the reader panic or ask for memory that they do not have; what it scans can be visited, and read as work.
func FuzzScan(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.pftrace")
	if err != nil || len(paths) != 3 {
		f.Fatal(paths, err)
	}
	for _, path := range append(paths, "../../report/kernelreport/testdata/diverged.pftrace") {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := file.FromBytes("fuzz.pftrace", b)
		if err != nil {
			return
		}
		trace, err := Format.Scan(context.Background(), src, source.ScanOptions{})
		if err != nil {
			if _, typed := err.(*fault.Error); !typed {
				t.Errorf("an error without a kind: %v", err)
			}
			return
		}
		n := int64(0)
		err = trace.Visit(context.Background(), src, source.AllEvents, 0, func(e *source.Event) error {
			n++
			e.Args.AppendArgs(nil, 0, nil)
			return nil
		})
		if err != nil || n != trace.Facts().Events {
			t.Errorf("%d of %d events: %v", n, trace.Facts().Events, err)
		}
	})
}
