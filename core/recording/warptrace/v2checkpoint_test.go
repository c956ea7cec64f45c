package warptrace

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
)

// memoryFile is a file: Write goes on where it was, WriteAt writes anywhere.
type memoryFile struct {
	at    int
	bytes []byte
	full  bool // no space is left for WriteAt
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.place(p, f.at)
	f.at += len(p)
	return len(p), nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if f.full {
		return 0, errors.New("no space left on device")
	}
	f.place(p, int(off))
	return len(p), nil
}

func (f *memoryFile) place(p []byte, at int) {
	f.bytes = append(f.bytes, make([]byte, max(0, at+len(p)-len(f.bytes)))...)
	copy(f.bytes[at:], p)
}

// warpsOfFewPaths are warps of which every other one went the way of one before it.
func warpsOfFewPaths(rng *rand.Rand, n, sites int) []*Warp {
	var warps []*Warp
	for i := range n {
		w := randomWarp(rng, uint64(i), 1+rng.IntN(40), sites, 32)
		if i > 1 && rng.IntN(2) == 0 {
			path := *warps[rng.IntN(i)]
			path.Warp = uint64(i)
			w = &path
		}
		warps = append(warps, w)
	}
	return warps
}

// TestAKilledWriterLeavesWhatItsCheckpointHeld writes recordings with checkpoints at random places. At each of them the file as it stands
// is read: it holds all warps and sums of stores so far. In the end the file has the bytes that it has without checkpoints.
func TestAKilledWriterLeavesWhatItsCheckpointHeld(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		sites := someSites(1 + rng.IntN(9))
		warps := warpsOfFewPaths(rng, 12, len(sites))
		h, opt := v2TestHeader(12), V2Options{Sections: seed%4 == 0}
		outputs := randomOutputs(rng, warps, 1, 32)
		write := func(f *memoryFile, checkpoint func(w *V2Writer, so int)) {
			w, err := CreateV2(f, h, site.NewTable(sites), opt)
			if err != nil {
				t.Fatal(err)
			}
			flushes := rand.New(rand.NewPCG(seed, 12))
			for i, warp := range warps {
				row := *warp
				row.Stores = outputs.sums[warp.Warp]
				if err := w.Append(&row); err != nil {
					t.Fatal(err)
				}
				if flushes.IntN(4) == 0 {
					if err := w.flush(); err != nil {
						t.Fatal(err)
					}
				}
				checkpoint(w, i+1)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f.bytes = f.bytes[:w.Size()]
		}
		var plain, checked memoryFile
		write(&plain, func(*V2Writer, int) {})
		write(&checked, func(w *V2Writer, so int) {
			if rng.IntN(2) == 0 {
				return
			}
			if err := w.Checkpoint(&checked); err != nil {
				t.Fatal(err)
			}
			checkCut(t, checked.bytes, warps[:so], outputs)
		})
		if !bytes.Equal(plain.bytes, checked.bytes) {
			t.Fatalf("seed %d: checkpoints change the file: %d bytes, without %d", seed, len(checked.bytes), len(plain.bytes))
		}
	}
}

// checkCut reads a file as a killed process leaves it.
func checkCut(t *testing.T, raw []byte, warps []*Warp, written *launchOutputs) {
	t.Helper()
	trace := openV2Bytes(t, slices.Clone(raw))
	index, err := trace.Index(context.Background())
	if err != nil || len(index) != len(warps) || !trace.Header().Truncated {
		t.Fatalf("got %d warps of %d, truncated %v, %v", len(index), len(warps), trace.Header().Truncated, err)
	}
	var got Warp
	rows := 0
	for _, w := range warps {
		if err := trace.ReadWarp(context.Background(), w.Warp, &got); err != nil {
			t.Fatal(err)
		}
		got.Stores = nil
		if d := warpDiff(w, &got); d != "" {
			t.Fatalf("warp %d (-want +got):\n%s", w.Warp, d)
		}
		rows += len(written.sums[w.Warp])
	}
	sums, err := trace.Stores(context.Background())
	if err != nil || (sums == nil) != (rows == 0) || sums != nil && sums.Len() != rows {
		t.Fatalf("got %v, expected %d rows of stores, %v", sums, rows, err)
	}
}

func TestACheckpointWritesNothingTwice(t *testing.T) {
	var f memoryFile
	w, err := CreateV2(&f, v2TestHeader(2), site.NewTable(someSites(1)), V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.bytes)
	check := func(why string, want bool) {
		t.Helper()
		f.full = false
		clear(f.bytes[w.Size():])
		if err := w.Checkpoint(&f); err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(f.bytes[w.Size():], func(b byte) bool { return b != 0 }); got != want {
			t.Errorf("%s: wrote something: %v, want %v", why, got, want)
		}
	}
	check("nothing is held", false)
	rng := rand.New(rand.NewPCG(1, 1))
	if err := w.Append(randomWarp(rng, 0, 5, 1, 32)); err != nil {
		t.Fatal(err)
	}
	f.full = true
	if err := w.Checkpoint(&f); err == nil || fault.Of(err).Kind != fault.IO {
		t.Errorf("no space is left: got %v", err)
	}
	check("a warp is held, and no space was left before", true)
	check("nothing came since", false)
	if err := w.Append(randomWarp(rng, 1, 5, 1, 32)); err != nil {
		t.Fatal(err)
	}
	check("another warp is held", true)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("the recording is closed", false)
	if len(f.bytes) <= before {
		t.Error("the recording is empty")
	}
}
