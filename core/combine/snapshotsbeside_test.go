package combine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestSnapshotsBesideTracesWithoutATracerClockAreReported: Kineto has put its kernels on the host's clock itself, and what prlx combined is
// on it too; snapshots of the tracer's clock would move the times twice, and leaving them out is said.
func TestSnapshotsBesideTracesWithoutATracerClockAreReported(t *testing.T) {
	dir := t.TempDir()
	inputs, snapshots := make([]Input, 2), make([]Input, 2)
	for k := range inputs {
		inputs[k] = Input{Path: put(t, dir, fmt.Sprintf("node%d.json", k),
			[]byte(`{"baseTimeNanoseconds": 1760000000000000000, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2}]}`))}
		snapshots[k] = Input{Path: put(t, dir, fmt.Sprintf("node%d.pairs.jsonl", k),
			[]byte(`{"sys_clock_ns": 1760000000000001000, "tracer_clock_ns": 77}`+"\n"+`{"sys_clock_ns": 1760000000000900000, "tracer_clock_ns": 899077}`+"\n"))}
	}
	told := func(r Request, want string) {
		t.Helper()
		r.Output, r.Method, r.Overwrite = filepath.Join(dir, "out.json"), MethodWall, true
		for _, n := range combined(t, 2, r).Nodes {
			if said := strings.Join(n.Warnings, "\n"); strings.Contains(said, "snapshots are not used") != (want != "") || !strings.Contains(said, want) {
				t.Errorf("%s: got warnings %q, want %q", n.ID, n.Warnings, want)
			}
		}
	}
	told(Request{Inputs: inputs, Snapshots: snapshots}, "its snapshots are not used: the times of a Chrome trace are on the host's clock")
	told(Request{Inputs: inputs}, "")
}
