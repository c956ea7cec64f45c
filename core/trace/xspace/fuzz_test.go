package xspace

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
)

type fileSource = file.Source

func sourceOf(b []byte) (*fileSource, error) { return file.FromBytes("fuzz.xplane.pb", b) }

func addSeeds(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(newQuirky(seed).space(6))
	}
	f.Add(snapshotFile(3, 3_000_000))
	f.Add(snapshotFile(3, 4e18))
}

// FuzzScan reads anything: it works or gives a typed error, and one worker sees what two see.
func FuzzScan(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := sourceOf(b)
		if err != nil {
			return
		}
		s, err := Scan(context.Background(), src, ScanOptions{})
		if err != nil {
			typed(t, err)
			return
		}
		two, err := Scan(context.Background(), src, ScanOptions{Workers: 2})
		if err != nil || two.Events != s.Events || two.LineCount != s.LineCount || len(two.Snapshots) != len(s.Snapshots) {
			t.Fatalf("two workers differ from one: %v", err)
		}
		visit(t, src, s)
	})
}

// FuzzRewrite rewrites whatever scans: nothing edited gives the same bytes, and an edited file scans with the same counts.
func FuzzRewrite(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if src, err := sourceOf(b); err == nil && src.Compression() == "" {
			try(t, b)
		}
	})
}

// FuzzRandomEdit applies random edits to quirky files and compares them with the protobuf library's.
func FuzzRandomEdit(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { compareEdit(t, seed) })
}
