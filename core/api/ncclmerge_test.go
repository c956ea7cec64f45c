package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"

	"github.com/prlx-go/prlx/core/file"
)

// ncclJob writes the recordings of two ranks that do n AllReduces, with kernels and proxies.
func ncclJob(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for rank := range 2 {
		f := nccltest.NewFile(fmt.Sprintf("node%d", rank), uint32(500+rank))
		f.Level, f.WallNS, f.Ended = 2, 1_795_000_000_000_000_000, true
		at := int64(1_000_000_000)
		comm := f.Comm(77, "world", 2, 2, rank, at)
		user, proxy := f.Thread(), f.Thread()
		for i := range n {
			at += 1_000_000
			group := user.GroupAPI(at, comm)
			api := user.API(at+1000, comm, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: 1024, Stream: 5})
			user.Stop(at+2000, api)
			launch := user.Launch(at+3000, comm, group, 5)
			user.Stop(at+5000, launch)
			op := user.Coll(at+6000, comm, api, nccltest.Collective{
				Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: uint64(i), Count: 1024, Channels: 1,
			})
			user.Stop(at+7000, op)
			user.Stop(at+8000, group)
			send := proxy.ProxyOp(at+9000, comm, op, int32(1-rank), 4, 4096, 0, true)
			recv := proxy.ProxyOp(at+9500, comm, op, int32(1-rank), 4, 4096, 0, false)
			kernel := proxy.Kernel(at+20_000, comm, op, 0, 1_795_000_001_000_000_000+at)
			proxy.KernelStop(at+120_000, kernel, 1_795_000_001_000_000_000+at+100_000)
			proxy.Stop(at+130_000, send)
			proxy.Stop(at+130_500, recv)
		}
		f.Heartbeat = at + 1_000_000
		f.Write(t, filepath.Join(dir, fmt.Sprintf("node%d-%d-aa.prlx-nccl", rank, 500+rank)))
	}
	return dir
}

func merged(t *testing.T, request map[string]any) (*NCCLMergeDocument, error) {
	t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := operations()["nccl_merge"](job.New(t.Context(), job.Options{}), b)
	if err != nil {
		return nil, err
	}
	d := &NCCLMergeDocument{}
	return d, json.Unmarshal(reply, d)
}

// TestAMergedJobIsATraceThatOurReadersRead, in both formats, with the same events.
func TestAMergedJobIsATraceThatOurReadersRead(t *testing.T) {
	dir := ncclJob(t, 20)
	for _, name := range []string{"out.json", "out.xplane.pb"} {
		path := filepath.Join(t.TempDir(), name)
		d, err := merged(t, map[string]any{"inputs": []string{dir}, "output": path})
		if err != nil {
			t.Fatal(err)
		}
		if d.Ranks != 2 || d.Slices != 20*2*7 || d.Flows != 20*2*4 || d.Clocked != "collectives" || len(d.Hosts) != 2 {
			t.Errorf("%s: %+v", name, d)
		}
		src, err := file.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		trace, _, err := formats.Scan(t.Context(), src, source.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		facts := trace.Facts()
		events, kernels := 0, 0
		err = trace.Visit(t.Context(), src, source.AllEvents, facts.StartNS, func(e *source.Event) error {
			if e.Timed && e.DurationPS > 0 {
				events++
				if e.Name == "AllReduce #3" {
					kernels++
				}
			}
			return nil
		})
		if err != nil || events != d.Slices || kernels != 4 {
			t.Errorf("%s: %d events of %d, %d are of AllReduce #3; %v", name, events, d.Slices, kernels, err)
		}
		if facts.StartNS != d.StartNS {
			t.Errorf("%s: begins at %d, want %d", name, facts.StartNS, d.StartNS)
		}
		if _, err := merged(t, map[string]any{"inputs": []string{dir}, "output": path}); !fault.Is(err, fault.IO) {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
}

// TestTracesBesideRecordingsAreSaid: merge writes recordings alone, and combine joins both.
func TestTracesBesideRecordingsAreSaid(t *testing.T) {
	dir := ncclJob(t, 3)
	request := map[string]any{"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out.json")}
	if d, err := merged(t, request); err != nil || strings.Contains(strings.Join(d.Warnings, " "), "prlx combine") {
		t.Fatalf("%+v, %v", d, err)
	}
	trace := `{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}], "baseTimeNanoseconds": 1795000000000000000}`
	if err := os.WriteFile(filepath.Join(dir, "rank0.json"), []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	request["overwrite"] = true
	if d, err := merged(t, request); err != nil || !strings.Contains(strings.Join(d.Warnings, " "), "1 traces of a profiler lie beside the recordings") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAMergeRefusesWhatMakesNoSense(t *testing.T) {
	dir := ncclJob(t, 2)
	for name, request := range map[string]map[string]any{
		"no output":      {"inputs": []string{dir}},
		"no ending":      {"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out")},
		"another ending": {"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out.json"), "format": "xplane"},
		"no such format": {"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out"), "format": "svg"},
		"an input":       {"inputs": []string{dir}, "output": filepath.Join(dir, "node0-500-aa.prlx-nccl"), "format": "chrome", "overwrite": true},
		"no recordings":  {"inputs": []string{t.TempDir()}, "output": filepath.Join(t.TempDir(), "out.json")},
	} {
		if _, err := merged(t, request); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestRecordingsAreCombinedAndInspected: they are a format of traces, and become Chrome JSON.
func TestRecordingsAreCombinedAndInspected(t *testing.T) {
	dir := ncclJob(t, 5)
	out := filepath.Join(t.TempDir(), "out.json")
	request := fmt.Sprintf(`{"inputs": [{"path": %q}], "output": %q}`, dir, out)
	if _, err := operations()["combine"](job.New(t.Context(), job.Options{}), []byte(request)); err != nil {
		t.Fatal(err)
	}
	slices := 0
	for _, e := range eventsOf(t, out) {
		if e.Phase == "X" {
			slices++
		}
	}
	if slices != 2*5*7 {
		t.Errorf("%d slices", slices)
	}
	request = fmt.Sprintf(`{"paths": [%q]}`, filepath.Join(dir, "node0-500-aa.prlx-nccl"))
	reply, err := operations()["inspect"](job.New(t.Context(), job.Options{}), []byte(request))
	if err != nil || !json.Valid(reply) {
		t.Fatalf("%s, %v", reply, err)
	}
}
