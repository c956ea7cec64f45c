package simulation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// recordedLaunch is a launch of a kernel that records by itself, as tests/simulator/dump_launches.py writes it.
type recordedLaunch struct {
	Kernel      string          `json:"kernel"`
	Grid        [3]uint32       `json:"grid"`
	Block       [3]uint32       `json:"block"`
	SharedBytes uint64          `json:"shared_bytes"`
	Params      []simt.Argument `json:"params"`
	Memory      []struct {
		Name     string `json:"name"`
		Address  uint64 `json:"address"`
		Bytes    int    `json:"bytes"`
		ReadOnly bool   `json:"read_only"`
		Data     []byte `json:"data"` // of the arena: none
	} `json:"memory"`
	Arena int    `json:"arena"`
	Sites string `json:"sites"`
}

// launch is a fresh one, with an arena of zeros.
func (r *recordedLaunch) launch(seed uint64) *simt.Launch {
	l := &simt.Launch{Kernel: r.Kernel, Grid: r.Grid, Block: r.Block, SharedBytes: r.SharedBytes, Params: slices.Clone(r.Params)}
	for _, m := range r.Memory {
		bytes := slices.Clone(m.Data)
		if m.Data == nil {
			bytes = make([]byte, m.Bytes)
		}
		l.Memory = append(l.Memory, memory.Allocation{Name: m.Name, Host: m.Address, Bytes: bytes, ReadOnly: m.ReadOnly})
	}
	l.Options.ScheduleSeed, l.Options.Workers = seed, 1
	return l
}

// trapped runs a launch, and counts the events of each warp that are what the recorder was called with; others fail the test.
func trapped(t *testing.T, text []byte, r *recordedLaunch, seed uint64) (events, lanes int) {
	t.Helper()
	k, variables := compiled(t, r.Kernel, text)
	l := r.launch(seed)
	about := About{}
	prepared, err := arenaOf(about.launch(l), l, &recorder.Record{Instrumented: &recorder.Instrumented{Sites: r.Sites, Arena: r.Arena}})
	if err != nil {
		t.Fatal(err)
	}
	held := prepared.Memory
	if err := prepared.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	seen := &trap{k: k, calls: map[uint64][]arena.Event{}}
	result, err := execute.Run(newJob(t), k, variables, l, seen)
	if err != nil || len(result.Findings) > 0 {
		t.Fatal(err, result)
	}
	a, err := arena.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	if a.Full > 0 || a.Outside > 0 {
		t.Fatalf("the arena has no room for %d events, no entry for %d", a.Full, a.Outside)
	}
	left := map[uint64]bool{}
	if err := a.Warps(func(w *arena.Warp) error {
		left[w.Number] = true
		calls := seen.calls[w.Number]
		for i, e := range w.Events {
			if i >= len(calls) || e != calls[i] {
				t.Errorf("seed %d, warp %d, event %d: recorded %+v, called with %+v", seed, w.Number, i, e, calls[min(i, len(calls)):min(i+1, len(calls))])
				return nil
			}
			events++
			for active := e.Active; active != 0; active &= active - 1 {
				lanes++
			}
		}
		if len(calls) != len(w.Events) || w.Total != uint64(len(calls)) {
			t.Errorf("seed %d, warp %d: %d events, %d of them kept, of %d calls", seed, w.Number, w.Total, len(w.Events), len(calls))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for warp, calls := range seen.calls {
		if !left[warp] && len(calls) > 0 {
			t.Errorf("seed %d, warp %d: %d calls left nothing", seed, warp, len(calls))
		}
	}
	return events, lanes
}

// TestRecordedLaunchesHoldEveryCall runs launches that somebody wrote to the folder PRLX_RECORDED_LAUNCHES again, and compares what the
// recorder was called with, as the simulator sees it, with what it left: sites, active lanes, taken lanes, values.
func TestRecordedLaunchesHoldEveryCall(t *testing.T) {
	folder := os.Getenv("PRLX_RECORDED_LAUNCHES")
	if folder == "" {
		t.Skip("PRLX_RECORDED_LAUNCHES names no folder: tests/simulator/test_recorder.py makes one")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no launches in %s: %v", folder, err)
	}
	events, lanes := 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r recordedLaunch
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".ptx")
			if err != nil {
				t.Fatal(err)
			}
			for _, seed := range []uint64{0, 11} {
				e, n := trapped(t, text, &r, seed)
				events, lanes = events+e, lanes+n
			}
		})
	}
	t.Logf("trapped: %d launches, %d events of %d lanes are what the recorder was called with", len(files), events, lanes)
}
