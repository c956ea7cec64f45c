package diff

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// asSections writes the warps of a recording as versions of prlx did that knew no paths.
func asSections(t *testing.T, from *warptrace.Trace) *warptrace.Trace {
	t.Helper()
	var out bytes.Buffer
	w, err := warptrace.CreateV2(&out, *from.Header(), from.Sites(), warptrace.V2Options{Sections: true})
	if err != nil {
		t.Fatal(err)
	}
	index, err := from.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var warp warptrace.Warp
	for i := range index {
		if err := from.ReadWarp(t.Context(), index[i].Warp, &warp); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(&warp); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := file.FromBytes(from.Path(), out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	return trace
}

// textOf compares two recordings. How many blocks were read is no part of what is found.
func textOf(t *testing.T, a, b *warptrace.Trace, opt Options) (text string, r *Result) {
	t.Helper()
	r, err := Compare(job.New(t.Context(), job.Options{}), a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	r.Blocks = nil
	raw, err := json.Marshal(documentOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), r
}

// TestSymbolsAreComparedAsColumnsAre holds comparing blocks of paths, by their digests and symbols, against decoding every warp of files
// of the same events that can be told by columns only.
func TestSymbolsAreComparedAsColumnsAre(t *testing.T) {
	rows, snapshots := 0, 0
	for seed := range uint64(24) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Structured: seed%2 == 0})
		wave := []int{32, 64}[seed%3%2]
		a := p.Run(warptracetest.Launch{Warps: 12, WarpsPerBlock: 2, Wave: wave, Data: seed, Run: 1})
		other, _ := warptracetest.Edit(a, warptracetest.Edits{Seed: seed, Rate: []float64{0, 0.001, 0.01, 0.2}[seed/2%4]})
		pathsA, pathsB := a.OpenV2(t, "a"), other.OpenV2(t, "b")
		plainA, plainB := asSections(t, pathsA), asSections(t, pathsB)
		if pathsA.MayHaveSnapshots() {
			snapshots++
		}
		for _, opt := range []Options{{}, {Values: true}, {StrictOrder: true, IgnoreActiveMask: true}} {
			want, r := textOf(t, plainA, plainB, opt)
			rows += len(r.Rows)
			for name, pair := range map[string][2]*warptrace.Trace{"paths": {pathsA, pathsB}, "paths and sections": {pathsA, plainB}} {
				if got, _ := textOf(t, pair[0], pair[1], opt); got != want {
					t.Fatalf("seed %d, %+v: of %s\n%s\nof sections\n%s", seed, opt, name, got, want)
				}
			}
		}
	}
	if rows == 0 || snapshots == 24 {
		t.Errorf("%d rows, %d recordings with snapshots: the test shows nothing", rows, snapshots)
	}
}
