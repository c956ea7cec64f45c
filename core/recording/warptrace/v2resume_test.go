package warptrace

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// resumed writes raw to a file and continues it.
func resumed(t *testing.T, raw []byte) (*V2Writer, *os.File, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.prlx"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(raw); err != nil {
		t.Fatal(err)
	}
	w, _, err := ResumeV2(context.Background(), f, f.Name(), V2Options{})
	return w, f, err
}

// checkWarps opens a file and compares it with the warps that it should hold.
func checkWarps(t *testing.T, f *os.File, warps []*Warp) *Trace {
	t.Helper()
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	trace := openV2Bytes(t, raw)
	index, err := trace.Index(context.Background())
	if err != nil || len(index) != len(warps) || trace.Header().Truncated {
		t.Fatalf("got %d warps of %d, truncated %v, %v", len(index), len(warps), trace.Header().Truncated, err)
	}
	var got Warp
	for _, w := range warps {
		if err := trace.ReadWarp(context.Background(), w.Warp, &got); err != nil {
			t.Fatal(err)
		}
		if d := warpDiff(w, &got); d != "" {
			t.Fatalf("warp %d (-want +got):\n%s", w.Warp, d)
		}
	}
	return trace
}

// TestV2IsContinuedAfterACut cuts a recording at every byte of its last block of warps, writes that warp again, and must end with the
// same file as if nothing had happened.
func TestV2IsContinuedAfterACut(t *testing.T) {
	raw, warps := smallV2(t)
	start, end := 0, 0
	for _, at := range blocksOf(raw) {
		if head, _ := parseV2Head(raw[at:]); holdsWarps(head.kind) {
			start, end = at, at+v2HeadBytes+int(head.stored)
		}
	}
	for size := start; size <= end; size++ {
		w, f, err := resumed(t, raw[:size])
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		lastWarp := warps[len(warps)-1]
		switch err := w.Append(lastWarp); {
		case size == end && !fault.Is(err, fault.Usage):
			t.Fatalf("the block was whole, and its warp is written twice: %v", err)
		case size < end && err != nil:
			t.Fatalf("cut at %d: %v", size, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkWarps(t, f, warps)
		if got, _ := os.ReadFile(f.Name()); string(got) != string(raw) {
			t.Fatalf("cut at %d: the file differs from one that was written at once", size)
		}
	}
}

func TestV2IsContinuedAfterClose(t *testing.T) {
	raw, warps := smallV2(t)
	w, f, err := resumed(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	more := someSites(6)[4:]
	if err := w.AddSites(more); err != nil {
		t.Fatal(err)
	}
	later := *warps[0]
	later.Warp = 99
	later.Site = append([]uint32(nil), 5, 4, 3, 5)
	if err := w.Append(&later); err != nil {
		t.Fatal(err)
	}
	if err := w.AddSites(more); !fault.Is(err, fault.Usage) {
		t.Errorf("the same sites again: got %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace := checkWarps(t, f, append(warps, &later))
	if trace.Sites().Len() != 6 {
		t.Errorf("got %d sites, want 6", trace.Sites().Len())
	}
}

func TestV2IsNotContinuedWithoutAHeader(t *testing.T) {
	raw, _ := smallV2(t)
	for _, size := range []int{0, 10, v2Preamble, v2Preamble + v2HeadBytes} {
		if _, f, err := resumed(t, raw[:size]); !fault.Is(err, fault.Format) {
			t.Errorf("cut at %d: got %v, want a format error", size, err)
		} else if got, _ := os.ReadFile(f.Name()); len(got) != size {
			t.Errorf("cut at %d: the file was changed", size)
		}
	}
}
