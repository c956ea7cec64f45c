package nsys

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

const recorded = "other/GindaChen+nsys-ai__h100_2gpu_1s.sqlite"

func scanned(t testing.TB, path string) (*rows.Trace, *file.Source) {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	trace, err := Format.Scan(context.Background(), src, source.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace.(*rows.Trace), src
}

// TestARecordingOfTwoGPUs: counts and times by sqlite3, as in SELECT count(*), min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL.
func TestARecordingOfTwoGPUs(t *testing.T) {
	trace, _ := scanned(t, filetest.Data(t, recorded))
	f := trace.Facts()
	want := map[string]int64{"cat kernel": 3442, "cat gpu_memcpy": 904, "cat gpu_memset": 22, "cat cuda_runtime": 5796, "cat nvtx": 16782}
	for name, n := range want {
		if f.Counts[name] != n {
			t.Errorf("%s: %d, want %d", name, f.Counts[name], n)
		}
	}
	const began = 1779630014975716426 // TARGET_INFO_SESSION_START_TIME.utcEpochNs
	if len(f.Counts) != len(want) || f.Events != 26946 || f.Timed != f.Events || f.StartNS != began || !f.Dated || len(f.Hosts) != 1 || f.Hosts[0] != "modal" {
		t.Errorf("%+v", f)
	}
	if f.First.NS != began+155357525002 {
		t.Errorf("first at %d", f.First.NS-began)
	}
	var names []string
	for _, p := range trace.Layout() {
		for _, l := range p.Lines {
			names = append(names, p.Name+"|"+l.Name)
		}
	}
	got := strings.Join(names, ", ")
	if got != "/device:GPU:0|stream 7, /device:GPU:1|stream 15, /host:CPU python3 111|thread 111 python3, /host:CPU python3 112|thread 112 python3" {
		t.Error(got)
	}
	l := trace.Layout()[0].Lines[0]
	if l.Events != 2184 || l.MinOffsetPS != 155357525002000 || l.MaxEndPS != 156326972607000 {
		t.Errorf("stream 7: %+v", l)
	}
	if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") {
		t.Errorf("warnings %q", f.Warnings)
	}
}

// TestLinesHoldWhatIsVisited: by line or in stored order, the events are the same, with the same arguments.
func TestLinesHoldWhatIsVisited(t *testing.T) {
	trace, src := scanned(t, filetest.Data(t, recorded))
	text := func(e *source.Event) string {
		b, err := json.Marshal([]any{e.Process, e.Line, e.Name, e.OffsetPS, e.DurationPS, e.Timed, string(e.Args.AppendArgs(nil, 0, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	left := map[string]int{}
	n := 0
	if err := trace.Visit(context.Background(), src, source.AllEvents, 0, func(e *source.Event) error { left[text(e)]++; n++; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, p := range trace.Layout() {
		lines, err := trace.Open(context.Background(), src, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Lines {
			seen := int64(0)
			err := lines.Line(context.Background(), l, func(e *source.Event) error {
				e.Process = int32(p.Index)
				if seen++; left[text(e)] == 0 {
					t.Fatalf("%s is not visited", text(e))
				}
				left[text(e)]--
				n--
				return nil
			})
			if err != nil || seen != l.Events {
				t.Errorf("%s: %d of %d events: %v", l.Name, seen, l.Events, err)
			}
		}
	}
	if n != 0 {
		t.Errorf("%d events stand on no line", n)
	}
}

// TestKernelsAndTheirCallsShareNumbers, which differ between the processes of one database.
func TestKernelsAndTheirCallsShareNumbers(t *testing.T) {
	trace, src := scanned(t, filetest.Data(t, recorded))
	calls, done := map[uint64]source.Launch{}, []source.Launch{}
	err := trace.Launches(context.Background(), src, func(l *source.Launch) {
		switch l.Role {
		case source.LaunchCall:
			calls[l.Number] = *l
		case source.LaunchWork:
			done = append(done, *l)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	linked := 0
	for _, l := range done {
		call, ok := calls[l.Number]
		if !ok { // it was launched before the recording was cut to a second
			continue
		}
		linked++
		if gpu := l.Process; call.Process != gpu+2 || l.Start.Before(call.Start) { // GPU 0 and 1, then the processes that used them
			t.Fatalf("%+v was launched by %+v", l, call)
		}
	}
	if linked != 2092 || // as a join of the tables says
		len(done) != 3442+904+22 {
		t.Errorf("%d of %d have a call", linked, len(done))
	}
	kinds := map[source.ActivityRole]int{}
	if err := trace.Activities(context.Background(), src, func(a *source.Activity) { kinds[a.Role]++ }); err != nil {
		t.Fatal(err)
	}
	if kinds[source.ActiveKernel] != 3442 || kinds[source.ActiveCopy] != 926 || kinds[source.ActiveHost] != 5796+16782 {
		t.Errorf("%v", kinds)
	}
}

// TestWorkOfARecording: kernels of both GPUs with names, blocks and calls; ranges are marks.
func TestWorkOfARecording(t *testing.T) {
	j := job.New(context.Background(), job.Options{Workers: 1})
	read := func(copies bool) *work.Found {
		t.Helper()
		found, err := Format.Work(j, filetest.Data(t, recorded), work.Options{Copies: copies, Read: func(string) work.Saying { return work.Saying{Kind: work.NVTX, Step: -1} }})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	found := read(false)
	if found.Rows.Len() != 3442 || found.Losses.Copies != 926 || len(found.Marks) != 16782 || !found.Called || len(found.Names.All) < 20 {
		t.Errorf("%d kernels, %d copies left out, %d marks, %d names", found.Rows.Len(), found.Losses.Copies, len(found.Marks), len(found.Names.All))
	}
	// The first row: grid 50 x 4 x 1, 155360295935 to 155360299999.
	if found.Rows.Start.At(0) != 155360295935000 || found.Rows.DurNS(0) != 4064 || found.Rows.Blocks.At(0) != 200 || found.Rows.Corr.At(0) != 1438831 {
		t.Errorf("the first kernel: %d + %d, %d blocks", found.Rows.Start.At(0), found.Rows.DurNS(0), found.Rows.Blocks.At(0))
	}
	if n := read(true).Rows.Len(); n != 3442+926 {
		t.Errorf("%d with copies", n)
	}
}

func TestVersionsOfCallsAreCut(t *testing.T) {
	for in, want := range map[string]string{
		"cudaLaunchKernel_v7000": "cudaLaunchKernel", "cudaLaunchKernelExC_v11060": "cudaLaunchKernelExC", "cuMemcpyDtoH_v2": "cuMemcpyDtoH_v2", "cuLaunchKernel": "cuLaunchKernel",
		"_v": "_v", "": "", "a_v70x0": "a_v70x0",
	} {
		if got := withoutVersion(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestTheRankIsWhatTheEnvironmentSays, the launcher's own word before that of the batch system.
func TestTheRankIsWhatTheEnvironmentSays(t *testing.T) {
	trace, _ := scanned(t, "testdata/small.sqlite")
	if f := trace.Facts(); f.Rank == nil || *f.Rank != 3 || len(f.Warnings) != 2 || !strings.Contains(f.Warnings[1], "--cuda-graph-trace=node") || len(f.Losses) != 1 {
		t.Errorf("%+v", f)
	}
	var lines []string
	for _, p := range trace.Layout() {
		for _, l := range p.Lines {
			lines = append(lines, p.Name+"|"+p.Labels+"|"+l.Name)
		}
	}
	want := "/device:GPU:1|A GPU|stream 7 of context 1, /device:GPU:1|A GPU|stream 7 of context 2, /host:CPU train.py 500||thread 501 worker"
	if got := strings.Join(lines, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestAScannedTraceCanBeSent: what another process gets has the same lines.
func TestAScannedTraceCanBeSent(t *testing.T) {
	sent, _ := scanned(t, "testdata/small.sqlite")
	var b bytes.Buffer
	got := Format.Blank()
	if err := errors.Join(gob.NewEncoder(&b).Encode(sent), gob.NewDecoder(&b).Decode(got)); err != nil {
		t.Fatal(err)
	}
	if g := got.(*rows.Trace); !reflect.DeepEqual([]any{g.Said, g.Processes, g.Places, g.Clock}, []any{sent.Said, sent.Processes, sent.Places, sent.Clock}) {
		t.Errorf("got %+v, sent %+v", got, sent)
	}
}

// TestEverythingOfASmallDatabase: events with their args, launches, activities and columns, as testdata/small.golden has them, which was read by eye.
func TestEverythingOfASmallDatabase(t *testing.T) {
	trace, src := scanned(t, "testdata/small.sqlite")
	var b strings.Builder
	for _, p := range trace.Layout() {
		fmt.Fprintf(&b, "process %d %s: GPU %d, %d events\n", p.ID, p.Name, p.GPU, p.Events)
		for _, l := range p.Lines {
			fmt.Fprintf(&b, "  line %d %s: %d events, %d without a time, %d to %d ps, sorted %v\n", l.ID, l.Name, l.Events, l.Aggregated, l.MinOffsetPS, l.MaxEndPS, l.Sorted)
		}
	}
	began := trace.Facts().StartNS
	err := errors.Join(
		trace.Visit(context.Background(), src, source.AllEvents, 0, func(e *source.Event) error {
			fmt.Fprintf(&b, "event %d/%d %s: %d + %d ps, timed %v {%s}\n", e.Process, e.Line, e.Name, e.OffsetPS, e.DurationPS, e.Timed, e.Args.AppendArgs(nil, 0, nil))
			return nil
		}),
		trace.Visit(context.Background(), src, source.Kernels, 0, func(e *source.Event) error { fmt.Fprintf(&b, "kernel %s\n", e.Name); return nil }),
		trace.Launches(context.Background(), src, func(l *source.Launch) {
			fmt.Fprintf(&b, "launch role %d number %d at %d to %d, awaited %v, blocks %v, to host %v\n", l.Role, l.Number&(1<<40-1), l.Start.NS-began, l.EndNS-began, l.Awaited, l.Blocks, l.ToHost)
		}),
		trace.Activities(context.Background(), src, func(a *source.Activity) {
			fmt.Fprintf(&b, "activity role %d %s at %d to %d\n", a.Role, a.Name, a.Start.NS-began, a.EndNS-began)
		}))
	found, failed := Format.Work(job.New(context.Background(), job.Options{Workers: 1}), "testdata/small.sqlite", work.Options{Copies: true, Read: func(string) work.Saying { return work.Saying{Kind: work.NVTX} }})
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(found.Rows.Len()) {
		l := found.Lanes[found.Rows.Lane.At(i)]
		fmt.Fprintf(&b, "row %s at %d ps + %d ns, lane %s, corr %d, blocks %d\n", found.Names.All[found.Rows.Name.At(i)], found.Rows.Start.At(i), found.Rows.DurNS(i), l.Thread, found.Rows.Corr.At(i), found.Rows.Blocks.At(i))
	}
	for _, p := range found.Processes {
		fmt.Fprintf(&b, "of rank %d, host %q, device %q, group %d\n", p.Rank, p.Host, p.Device, p.Group)
	}
	fmt.Fprintf(&b, "marks %+v, launches %d, graphs %v, losses %+v\n", found.Marks, found.Launches.At.N, found.Launches.Graph, found.Losses)
	want, err := os.ReadFile("testdata/small.golden")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", b.String())
	}
}

// TestADatabaseOfSomethingElseIsRefused in its own words.
func TestADatabaseOfSomethingElseIsRefused(t *testing.T) {
	src, err := file.Open(context.Background(), "../sqlite/testdata/small.db")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := Format.Scan(context.Background(), src, source.ScanOptions{}); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "no table of kernels") {
		t.Errorf("%v", err)
	}
}

// FuzzScan: no bytes make the reader panic; what it scans can be visited.
func FuzzScan(f *testing.F) {
	b, err := os.ReadFile("testdata/small.sqlite")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := file.FromBytes("fuzz.sqlite", b)
		if err != nil {
			return
		}
		trace, err := Format.Scan(context.Background(), src, source.ScanOptions{})
		if err != nil {
			return
		}
		n := int64(0)
		if err := trace.Visit(context.Background(), src, source.AllEvents, 0, func(*source.Event) error { n++; return nil }); err != nil || n != trace.Facts().Events {
			t.Errorf("%d of %d events: %v", n, trace.Facts().Events, err)
		}
	})
}
