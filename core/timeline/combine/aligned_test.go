package combine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/xspace/xspacetest"
)

// TestTimesAreMovedOnce combines what combine wrote: nothing moves again, neither by the snapshots that the files still hold nor by
// clock data.
func TestTimesAreMovedOnce(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 200, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	for name, r := range map[string]Request{
		"aligned":         {Inputs: inputs, Offsets: offsets},
		"tracer and wall": {Inputs: inputs},
	} {
		once, twice := filepath.Join(t.TempDir(), "once"), filepath.Join(t.TempDir(), "twice")
		r.Output = once
		doc := combined(t, 2, r)
		var outputs []Input
		for _, o := range doc.Outputs {
			outputs = append(outputs, Input{Path: filepath.Join(once, o.Path)})
		}
		again := combined(t, 2, Request{Inputs: outputs, Output: twice})
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
