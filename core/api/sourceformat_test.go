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
	"github.com/prlx-go/prlx/core/testing/listtest"
	"github.com/prlx-go/prlx/core/trace/formats"
)

// kernelList is the trace of one rank in the format of listtest: steps of three kernels, a millisecond apart.
func kernelList(rank, steps int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%shost node%d\nrank %d\nqueue 7\n", listtest.Magic, rank, rank)
	for step := range steps {
		for i, name := range []string{"gemm_kernel", "softmax_kernel", "norm_kernel"} {
			fmt.Fprintf(&b, "%d %d %s\n", 1_700_000_000_000_000_000+int64(step)*1_000_000+int64(i)*100_000, 80_000_000+1000*i, name)
		}
	}
	return []byte(b.String())
}

// chromeEvent is an event of a Chrome JSON.
type chromeEvent struct {
	Phase string  `json:"ph"`
	Name  string  `json:"name"`
	PID   int     `json:"pid"`
	TS    float64 `json:"ts"`
}

func eventsOf(t *testing.T, path string) []chromeEvent {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Events []chromeEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Events
}

// TestAFormatIsOneFolderAndOneLine: a third format, which can neither be re-timed nor written, is taken by inspect, cycles and combine
// once it is in the table. combine crosses it to Chrome JSON, because it cannot write it.
func TestAFormatIsOneFolderAndOneLine(t *testing.T) {
	dir := t.TempDir()
	for rank := range 2 {
		save(t, filepath.Join(dir, fmt.Sprintf("node%d.klist", rank)), kernelList(rank, 40))
	}
	first := filepath.Join(dir, "node0.klist")
	do := func(op, request string, into any) error {
		t.Helper()
		reply, err := operations()[op](job.New(t.Context(), job.Options{Workers: 2}), []byte(request))
		if err != nil {
			return err
		}
		return json.Unmarshal(reply, into)
	}
	if err := do("cycles", `{"paths":[`+quoted(first)+`]}`, &struct{}{}); err == nil {
		t.Error("cycles reads a format that is not in the table")
	}

	known := formats.Table
	t.Cleanup(func() { formats.Table = known })
	formats.Table = append(known[:len(known):len(known)], &listtest.Format) // the one line

	var inspected InspectDocument
	if err := do("inspect", `{"paths":[`+quoted(dir)+`]}`, &inspected); err != nil || len(inspected.Files) != 2 {
		t.Fatalf("inspect: %v, %d files", err, len(inspected.Files))
	}
	f := inspected.Files[0]
	if f.Format != "kernel-list" || *f.Events != 120 || *f.Rank != 0 || f.Hosts[0] != "node0" || *f.StartNS != 1_700_000_000_000_000_000 {
		t.Errorf("inspect says %+v", f)
	}
	if f.Kernels[0].Name != "norm_kernel" || f.Kernels[0].Count != 40 || f.Planes[0].Lines[0].Name != "queue 7" || f.Planes[0].Lines[0].Clock != "wall" {
		t.Errorf("inspect lists %+v and %+v", f.Kernels[0], f.Planes[0].Lines[0])
	}

	var cycles struct {
		Confidence float64 `json:"confidence"`
		Input      struct {
			Format  string `json:"format"`
			Kernels int    `json:"kernels"`
			Ranks   []int  `json:"ranks"`
		} `json:"input"`
	}
	if err := do("cycles", `{"paths":[`+quoted(first)+`]}`, &cycles); err != nil {
		t.Fatalf("cycles: %v", err)
	}
	if in := cycles.Input; in.Format != "kernel-list" || in.Kernels != 120 || len(in.Ranks) != 1 || in.Ranks[0] != 0 || cycles.Confidence < 0.9 {
		t.Errorf("cycles finds %+v", cycles)
	}

	var combined struct {
		Status string `json:"status"`
		Nodes  []struct {
			ID        string `json:"id"`
			Events    int64  `json:"events"`
			Corrected int64  `json:"events_corrected"`
		} `json:"nodes"`
	}
	declared, out := filepath.Join(dir, "clocks.toml"), filepath.Join(dir, "merged.json")
	save(t, declared, []byte("[nodes]\nnode1 = { offset_ns = 5000 }\n"))
	if err := do("combine", `{"inputs":[`+quoted(dir)+`],"declared":`+quoted(declared)+`,"output":`+quoted(out)+`}`, &combined); err != nil {
		t.Fatalf("combine: %v", err)
	}
	if len(combined.Nodes) != 2 || combined.Nodes[0].Events != 120 || combined.Nodes[1].Events != 120 || combined.Nodes[1].Corrected != 120 {
		t.Errorf("combine says %+v", combined)
	}
	starts := map[int][]float64{}
	for _, e := range eventsOf(t, out) {
		if e.Phase == "X" && e.Name == "softmax_kernel" {
			starts[e.PID] = append(starts[e.PID], e.TS)
		}
	}
	if a, b := starts[1], starts[2]; len(a) != 40 || len(b) != 40 || a[0]-b[0] != 5 || b[39]-b[0] != 39_000 {
		t.Errorf("combined are %d and %d kernels, the first at %v, want 40 each, those of node1 5 us earlier", len(a), len(b), starts)
	}
	if err := do("inspect", `{"paths":[`+quoted(out)+`]}`, &inspected); err != nil || inspected.Files[0].Format != "chrome" || inspected.Files[0].Counts["ph X"] != 240 {
		t.Errorf("what combine wrote: %v", err)
	}
	if err := do("align", `{"trace":`+quoted(filepath.Join(dir, "node1.klist"))+`,"node":"node1","declared":`+quoted(declared)+`,"output":`+quoted(filepath.Join(dir, "one.json"))+`}`, &combined); err != nil || combined.Nodes[0].Corrected != 120 {
		t.Errorf("align: %v, %+v", err, combined)
	}
	if err := do("combine", `{"inputs":[`+quoted(first)+`,`+quoted(filepath.Join(dir, "node1.klist"))+`],"output":`+quoted(filepath.Join(dir, "nameless"))+`}`, &combined); err != nil {
		t.Errorf("an output whose name says no format: %v", err)
	}
	err := do("combine", `{"inputs":[`+quoted(dir)+`],"format":"run","output":`+quoted(filepath.Join(dir, "run"))+`}`, &combined)
	if err == nil || fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "2 of 2 inputs are kernel list") {
		t.Errorf("a run directory of kernel lists: %v", err)
	}
}
