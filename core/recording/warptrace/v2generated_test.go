package warptrace_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// TestV2HoldsGeneratedRecordings writes what programs recorded and reads it back.
func TestV2HoldsGeneratedRecordings(t *testing.T) {
	for seed := range uint64(6) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed})
		r := p.Run(warptracetest.Launch{Warps: 12, Wave: 32 << (seed % 2), Events: 300, Share: 0.8, Loads: seed%3 == 0, Snapshots: int(seed) - 1, History: 5})
		trace := r.OpenV2(t, "generated.prlx")
		index, err := trace.Index(context.Background())
		if err != nil || len(index) != len(r.Warps) {
			t.Fatalf("seed %d: got %d warps of %d, %v", seed, len(index), len(r.Warps), err)
		}
		for i := range r.Warps {
			want := r.Warps[i]
			var got warptrace.Warp
			if err := trace.ReadWarp(context.Background(), want.Warp, &got); err != nil {
				t.Fatal(err)
			}
			if len(want.History) != len(got.History) || len(want.Snapshots) != len(got.Snapshots) {
				t.Fatalf("seed %d, warp %d: %d history entries and %d snapshots of %d and %d", seed, want.Warp, len(got.History), len(got.Snapshots), len(want.History), len(want.Snapshots))
			}
			for k := range want.Snapshots {
				if d := cmp.Diff(want.Snapshots[k], got.Snapshots[k]); d != "" {
					t.Fatalf("seed %d, warp %d, snapshot %d (-want +got):\n%s", seed, want.Warp, k, d)
				}
			}
			if !slices.Equal(want.Site, got.Site) || !slices.Equal(want.Kind, got.Kind) || !slices.Equal(want.Dir, got.Dir) || !slices.Equal(want.Active, got.Active) ||
				!slices.Equal(want.Taken, got.Taken) || !slices.Equal(want.Value, got.Value) || !slices.Equal(want.Type, got.Type) || !slices.Equal(want.History, got.History) {
				t.Fatalf("seed %d, warp %d: the events differ", seed, want.Warp)
			}
		}
		for i := range r.Sites.Len() {
			if d := cmp.Diff(r.Sites.At(i), trace.Sites().At(i), cmpopts.IgnoreUnexported(site.Site{})); d != "" {
				t.Fatalf("seed %d, site %d (-want +got):\n%s", seed, i, d)
			}
		}
	}
}

func TestV2TakesAnEighthOfV1(t *testing.T) {
	for seed := range uint64(3) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Structured: true, Endless: true})
		r := p.Run(warptracetest.Launch{Warps: 32, Events: 4096, Loads: true})
		var v1 bytes.Buffer
		if err := (warptracetest.V1File{}).Write(&v1, r); err != nil {
			t.Fatal(err)
		}
		v2, err := r.V2Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if len(v2)*8 > v1.Len() {
			t.Errorf("seed %d: %d bytes, v1 takes %d", seed, len(v2), v1.Len())
		}
	}
}
