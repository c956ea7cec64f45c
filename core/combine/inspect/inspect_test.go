package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
)

const chrome = `{"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "GPU 0"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "stream 7"}},
{"ph": "X", "cat": "kernel", "name": "matmul", "pid": 1, "tid": 7, "ts": 20.0, "dur": 5.0},
{"ph": "X", "cat": "kernel", "name": "matmul", "pid": 1, "tid": 7, "ts": 10.0, "dur": 4.0},
{"ph": "X", "cat": "kernel", "name": "softmax", "pid": 1, "tid": 7, "ts": 30.5, "dur": 90.0},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 2, "tid": 9, "ts": 1.0, "dur": 2.0}
]}`

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) (*File, error) {
	t.Helper()
	src, err := file.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		t.Fatal(err)
	}
	return Read(job.New(t.Context(), job.Options{}), path, src, head, nil)
}

func TestATraceIsDescribedByItsLinesAndItsMostExpensiveKernels(t *testing.T) {
	f, err := read(t, written(t, "trace.json", chrome))
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != "chrome" || *f.Events != 6 || *f.StartNS != 1000 || *f.EndNS != 120500 {
		t.Errorf("got %s, %d events from %d to %d ns", f.Format, *f.Events, *f.StartNS, *f.EndNS)
	}
	want := []Kernel{{"softmax", 1, 90000}, {"matmul", 2, 9000}}
	if !slices.Equal(f.Kernels, want) {
		t.Errorf("got kernels %v, want %v", f.Kernels, want)
	}
	gpu := f.Planes[0]
	if gpu.Name != "GPU 0" || gpu.Lines[0].Name != "stream 7" || gpu.Lines[0].Events != 3 {
		t.Errorf("got plane %q with line %+v", gpu.Name, gpu.Lines[0])
	}
}

func TestEventsComeInTheOrderOfTheirStartWithLinesOfTheWholeFile(t *testing.T) {
	f, err := read(t, written(t, "trace.json", chrome))
	if err != nil {
		t.Fatal(err)
	}
	e, err := ReadEvents(t.Context(), f, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, name := range e.Column("name").I32 {
		got = append(got, fmt.Sprintf("%d %s %s", e.Column("start_ns").I64[i], e.Names.All()[name], e.Lines[e.Line[i]]))
	}
	want := []string{"1000 aten::mm 9", "10000 matmul stream 7", "20000 matmul stream 7", "30500 softmax stream 7"}
	if !slices.Equal(got, want) {
		t.Errorf("got rows %q, want %q", got, want)
	}
	if e, err = ReadEvents(t.Context(), f, 3); err != nil || e.Len() != 3 || e.Dropped != 1 {
		t.Errorf("at most 3 rows: got %d rows and %d dropped (%v)", e.Len(), e.Dropped, err)
	}
}

func TestAClockFileSaysHowManyReadingsOfWhichNodesItHas(t *testing.T) {
	f, err := read(t, filepath.Join("..", "..", "..", "examples", "jax_p4", "probes_node1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != "probe-stamps" || !slices.Equal(f.Nodes, []int{0, 1, 2, 3}) || f.Clocks[0].Readings == 0 || *f.Clocks[0].FirstNS >= *f.Clocks[0].LastNS {
		t.Errorf("got %s of nodes %v with %+v", f.Format, f.Nodes, f.Clocks[0])
	}
	if _, err := ReadEvents(t.Context(), f, 0); err == nil || !strings.Contains(err.Error(), "probe-stamps, expected a trace") {
		t.Errorf("its events: got %v, want a refusal", err)
	}
}

func TestAnotherFormatIsRefusedByItsName(t *testing.T) {
	path := written(t, "db.sqlite", "SQLite format 3\x00"+strings.Repeat("\x00", 100))
	_, err := read(t, path)
	if f := fault.Of(err); err == nil || f.Path != path || !strings.Contains(f.Error(), "SQLite") {
		t.Errorf("got %v, want a refusal that names SQLite and the file", err)
	}
}

// Clock readings have no head to know them by, so what is of no format at all ends with their reader, who cannot know what was meant.
func TestWhatIsOfNoFormatIsRefusedWithEverythingThatCanBeInspected(t *testing.T) {
	for name, text := range map[string]string{"text.txt": "hello\n", "object.json": `{"a":1}`, "binary": "\x8f\xfe\x01\x02"} {
		_, err := read(t, written(t, name, text))
		if f := fault.Of(err); err == nil || !strings.HasPrefix(f.Hint, "expected a trace (XSpace, Chrome / Kineto JSON, Nsight Systems SQLite, rocprofv3, Perfetto), a recording of a kernel") {
			t.Errorf("%s: %v with the hint %q, want all kinds of files", name, err, f.Hint)
		}
	}
}

func TestKernelNamesBeyondTheLimitAreCounted(t *testing.T) {
	var events strings.Builder
	for i := range maxNames + 3 {
		fmt.Fprintf(&events, `,{"ph":"X","cat":"kernel","name":"k%d","pid":1,"tid":7,"ts":%d,"dur":1}`, i, i)
	}
	f, err := read(t, written(t, "trace.json", `{"traceEvents":[`+events.String()[1:]+"]}"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Kernels) != maxKernels || !slices.ContainsFunc(f.Losses, func(s string) bool { return strings.HasPrefix(s, "3 kernel events are not") }) {
		t.Errorf("got %d kernels and losses %q", len(f.Kernels), f.Losses)
	}
}
