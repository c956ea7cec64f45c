package warptrace_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// TestGeneratedRecordingsSayWhatWasWritten runs programs twice in other orders: what they wrote is the same, and a bug shows.
func TestGeneratedRecordingsSayWhatWasWritten(t *testing.T) {
	shown := 0
	for seed := range uint64(4) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed})
		a := p.Run(warptracetest.Launch{Warps: 12, Outputs: true})
		b := p.Run(warptracetest.Launch{Warps: 12, Outputs: true, Run: 7})
		if len(a.Outputs.Arrays) == 0 || len(a.Outputs.Stores) == 0 || len(a.Contents) == 0 {
			t.Fatalf("seed %d: nothing was written: %+v", seed, a.Outputs)
		}
		if d := cmp.Diff(a.Outputs, b.Outputs); d != "" {
			t.Errorf("seed %d: equal runs differ:\n%s", seed, d)
		}
		trace := a.OpenV2(t, "a.prlx")
		for i := range a.Outputs.Arrays {
			for k := range a.Outputs.Arrays[i].Chunks {
				a.Outputs.Arrays[i].Chunks[k].Digest &= 1<<32 - 1
			}
		}
		got, err := trace.Outputs(context.Background())
		if err != nil || cmp.Diff(a.Outputs, got, cmpopts.EquateEmpty()) != "" {
			t.Errorf("seed %d: %v (-want +got):\n%s", seed, err, cmp.Diff(a.Outputs, got, cmpopts.EquateEmpty()))
		}
		chunks := 0
		if err := trace.Contents(context.Background(), func(c *warptrace.Contents) error {
			if d := cmp.Diff(a.Contents[chunks], *c, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("seed %d, chunk %d (-want +got):\n%s", seed, chunks, d)
			}
			chunks++
			return nil
		}); err != nil || chunks != len(a.Contents) {
			t.Errorf("seed %d: got %d chunks of %d, %v", seed, chunks, len(a.Contents), err)
		}
		if q, err := p.WithBug("bound"); err == nil {
			if c := q.Run(warptracetest.Launch{Warps: 12, Outputs: true}); c.Outputs.Arrays[0].Digest != a.Outputs.Arrays[0].Digest {
				shown++
			}
		}
	}
	if shown == 0 {
		t.Error("no loop that runs once too often changes what is written")
	}
}
