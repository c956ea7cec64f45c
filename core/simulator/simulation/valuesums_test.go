package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// valueSums are what a recording says of the values that statements stored: by statement and array.
func valueSums(t *testing.T, path string) map[string]string {
	t.Helper()
	trace, err := warptrace.OpenPath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	o, err := trace.Outputs(t.Context())
	if err != nil || o == nil {
		t.Fatal(path, err, o)
	}
	all := make(map[string]string)
	for i := range o.Stores {
		x := &o.Stores[i]
		if x.Values == nil {
			t.Fatalf("%s: statement %d has no sums of values", path, x.Site)
		}
		s, ok := trace.SiteOf(x.Site)
		if !ok {
			t.Fatalf("%s: site %d is in no table", path, x.Site)
		}
		at := s.Shown()
		name := fmt.Sprintf("%s %s:%s:%d:%d array %d", s.Kind, filepath.Base(at.File), at.Function, at.Line, at.Column, x.Array)
		all[name] = fmt.Sprintf("%d elements, hash %x, %+v", x.Count, x.Hash, *x.Values)
	}
	return all
}

// TestRecordedPairsHaveTheSameValues compares recordings that somebody made to the folder PRLX_RECORDED_PAIRS: what the simulator
// observed of a kernel, and what the same kernel recorded by itself. Every sum of values is the same, bit for bit.
func TestRecordedPairsHaveTheSameValues(t *testing.T) {
	folder := os.Getenv("PRLX_RECORDED_PAIRS")
	if folder == "" {
		t.Skip("PRLX_RECORDED_PAIRS names no folder: tests/simulator/test_recorder.py makes one")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.observed.prlx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	same, other := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".observed.prlx")
		observed, made := valueSums(t, file), valueSums(t, strings.TrimSuffix(file, ".observed.prlx")+".instrumented.prlx")
		for statement, want := range observed {
			if got := made[statement]; got == want {
				same++
			} else {
				other++
				fmt.Printf("other: %s %s: %s, want %s\n", name, statement, got, want)
			}
			delete(made, statement)
		}
		for statement, got := range made {
			other++
			fmt.Printf("other: %s %s: %s, want none\n", name, statement, got)
		}
	}
	t.Logf("values: %d pairs, %d sums are the same, %d are not", len(files), same, other)
}
