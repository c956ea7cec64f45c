package combine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// TestTimesAreMovedOnce combines what combine wrote: nothing moves again, neither by the snapshots that the files still hold nor by
// clock data.
func TestTimesAreMovedOnce(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 200, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	for name, r := range map[string]Request{
		"aligned":         {Inputs: inputs, Offsets: offsets},
		"tracer and wall": {Inputs: inputs, Method: MethodWall},
	} {
		once, twice := filepath.Join(t.TempDir(), "once"), filepath.Join(t.TempDir(), "twice")
		r.Output = once
		doc := combined(t, 2, r)
		var outputs []Input
		for _, o := range doc.Outputs {
			outputs = append(outputs, Input{Path: filepath.Join(once, o.Path)})
		}
		again := combined(t, 2, Request{Inputs: outputs, Output: twice, Method: r.Method})
		for k, o := range doc.Outputs {
			a, errA := os.ReadFile(filepath.Join(once, o.Path))
			b, errB := os.ReadFile(filepath.Join(twice, again.Outputs[k].Path))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s was moved again (%v, %v): %+v", name, o.Path, errA, errB, again.Nodes[k])
			}
		}
		_, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), Request{Inputs: outputs, Offsets: offsets, Output: twice + "2"})
		if refused := fault.Is(err, fault.Incompatible); refused != (name == "aligned") {
			t.Errorf("%s: with clock data: %v", name, err)
		}
	}
}

// TestASingleTraceThatNothingRelatesIsUnaligned: the status must not promise what nobody did.
func TestASingleTraceThatNothingRelatesIsUnaligned(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	chrome := put(t, t.TempDir(), "node1.json", []byte(`{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}]}`))
	for want, r := range map[string]Request{
		StatusUnaligned: {Inputs: []Input{{Path: chrome}}, Output: filepath.Join(t.TempDir(), "out.json")},
		StatusAligned:   {Inputs: inputs[1:], Offsets: offsets, Output: filepath.Join(t.TempDir(), "run")},
	} {
		if doc := combined(t, 2, r); doc.Status != want {
			t.Errorf("got %q, want %q", doc.Status, want)
		}
	}
}

// TestATraceIsRefusedAsAClockFile: an XSpace in the place of a clock file is not read as snapshots.
func TestATraceIsRefusedAsAClockFile(t *testing.T) {
	_, inputs, _ := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	for name, r := range map[string]Request{
		"offsets":   {Offsets: inputs[0].Path},
		"declared":  {Declared: inputs[0].Path},
		"probes":    {Probes: []string{inputs[0].Path}},
		"snapshots": {Snapshots: inputs[:1]},
	} {
		r.Inputs, r.Output = inputs, filepath.Join(t.TempDir(), "run")
		_, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
		if !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "is an XSpace trace") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestWhatCanHardlyBeMeantIsRemarkedOn: traces of different years, JSON in a file called XSpace.
func TestWhatCanHardlyBeMeantIsRemarkedOn(t *testing.T) {
	dir := t.TempDir()
	event := `{"baseTimeNanoseconds": %, "traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}]}`
	var inputs []Input
	for name, base := range map[string]string{"node0.json": "1700000000000000000", "node1.json": "1800000000000000000"} {
		inputs = append(inputs, Input{Path: put(t, dir, name, []byte(strings.Replace(event, "%", base, 1)))})
	}
	r := Request{Inputs: inputs, Output: filepath.Join(dir, "out.json")}
	if said := strings.Join(combined(t, 1, r).Warnings, "; "); !strings.Contains(said, "1157.4 days apart") {
		t.Errorf("nothing of 1157.4 days in %q", said)
	}
	r.Output = filepath.Join(dir, "out.xplane.pb")
	if _, _, err := Run(job.New(context.Background(), job.Options{Workers: 1}), r); !fault.Is(err, fault.Usage) {
		t.Errorf("JSON in a file called XSpace: %v", err)
	}
}
