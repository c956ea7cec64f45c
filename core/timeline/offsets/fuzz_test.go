package offsets_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// FuzzSolve solves whatever reads as a clock file: no panic, no internal error, and a solution that can be written reads back.
func FuzzSolve(f *testing.F) {
	names, err := filepath.Glob("../clockfile/testdata/*.*")
	if err != nil || len(names) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := file.FromBytes("fuzz_node1", b)
		if err != nil {
			return
		}
		c, err := clockfile.Read(context.Background(), src)
		if err != nil {
			return
		}
		var s *offsets.Solution
		switch c.Kind {
		case clockfile.KindRounds:
			s, err = offsets.FromRounds(c.Rounds, offsets.Options{})
		case clockfile.KindDeclared:
			s, err = offsets.FromDeclared(c.Declared, nil, offsets.Options{})
		case clockfile.KindStamps:
			s, err = offsets.SolveStamps(context.Background(), c.Stamps, offsets.Options{})
		case clockfile.KindWindows:
			s, err = offsets.SolveWindows(context.Background(), []*clockfile.Windows{c.Windows}, offsets.Options{})
		case clockfile.KindSnapshots:
			pairs, _, _, err := c.Snapshots.Resolve(clockfile.NodeMeta{StartWalltimeNS: 1760000000000000000, StartTracerNS: 60e9})
			if err == nil {
				_, _, err = offsets.FromSnapshots(pairs, offsets.Options{})
			}
			if fault.Is(err, fault.Internal) {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			if fault.Of(err).Kind == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		text := s.Rounds()
		src, _ = file.FromBytes("rounds", text)
		back, err := clockfile.Read(context.Background(), src)
		if err != nil {
			t.Fatalf("what was written does not read: %v\n%s", err, text)
		}
		if _, err := offsets.FromRounds(back.Rounds, offsets.Options{}); err != nil {
			t.Fatalf("what was written does not solve: %v\n%s", err, text)
		}
	})
}
