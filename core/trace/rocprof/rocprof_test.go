package rocprof

import (
	"context"
	"os"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// TestWorkOfTheForms: kernels, blocks, calls and markers of one small recording in its three forms.
func TestWorkOfTheForms(t *testing.T) {
	j := job.New(context.Background(), job.Options{Workers: 1})
	for path, f := range map[string]*source.Format{"small_results.json": &JSON, "908_kernel_trace.csv": &Table, "small_results.db": &Database} {
		found, err := f.Work(j, "testdata/"+path, work.Options{Copies: true, Read: func(string) work.Saying { return work.Saying{Kind: work.NVTX} }})
		if err != nil {
			t.Fatal(path, err)
		}
		if found.Rows.Len() != 8 || found.Rows.Blocks.At(0) != 32 || found.Rows.Corr.At(1) != 2 || len(found.Marks) != 4 || found.Launches.At.N != 4 || len(found.Names.All) != 4 {
			t.Errorf("%s: %d kernels and copies, %d blocks, correlation %d, %d marks, %d calls, names %q", path, found.Rows.Len(), found.Rows.Blocks.At(0), found.Rows.Corr.At(1),
				len(found.Marks), found.Launches.At.N, found.Names.All)
		}
		if text := found.Texts.All[found.Marks[2].Text]; text != "step 2" {
			t.Errorf("%s: a marker says %q", path, text)
		}
	}
}

// TestTablesOfOlderVersions have other names of columns, and no file beside them.
func TestTablesOfOlderVersions(t *testing.T) {
	trace, _ := scanned(t, &Table, []byte("\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"pid\",\"tid\",\"BeginNs\",\"EndNs\"\n0,\"k(int)\",1,2,33,34,1000,1500\n"))
	p := trace.Layout()[0]
	if p.Name != "/device:GPU:1" || p.Lines[0].Name != "queue 2" || p.Lines[0].MaxEndPS != 500_000 {
		t.Errorf("%s, %s, %d", p.Name, p.Lines[0].Name, p.Lines[0].MaxEndPS)
	}
}

func scanned(t *testing.T, f *source.Format, b []byte) (source.Trace, *file.Source) {
	t.Helper()
	src, err := file.FromBytes("fuzz", b)
	if err != nil {
		t.Skip(err)
	}
	trace, err := f.Scan(context.Background(), src, source.ScanOptions{})
	if err != nil {
		if _, typed := err.(*fault.Error); !typed {
			t.Errorf("an error without a kind: %v", err)
		}
		t.Skip(err)
	}
	return trace, src
}

func fuzzed(f *testing.F, format *source.Format, seeds ...string) {
	f.Helper()
	for _, path := range seeds {
		b, err := os.ReadFile("testdata/" + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trace, src := scanned(t, format, b)
		n := int64(0)
		err := trace.Visit(context.Background(), src, source.AllEvents, 0, func(e *source.Event) error {
			n++
			e.Args.AppendArgs(nil, 0, nil)
			return nil
		})
		if err != nil || n != trace.Facts().Events {
			t.Errorf("%d of %d events: %v", n, trace.Facts().Events, err)
		}
	})
}

// The readers take any bytes: they work or end with a typed error, and what is scanned can be visited.

func FuzzJSON(f *testing.F) { fuzzed(f, &JSON, "small_results.json") }

func FuzzTable(f *testing.F)    { fuzzed(f, &Table, "908_kernel_trace.csv", "908_memory_copy_trace.csv") }
func FuzzDatabase(f *testing.F) { fuzzed(f, &Database, "small_results.db") }
