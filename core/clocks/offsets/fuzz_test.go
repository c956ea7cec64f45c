package offsets_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// FuzzGraph solves whatever facts and snapshots of a few clocks: no panic, no internal error, and no bound below zero.
func FuzzGraph(f *testing.F) {
	f.Add([]byte("\x00\x01abcdefghijklmnop\x01\x00abcdefghijklmnop\x02\x05abcdefghijklmnop"))
	f.Add(make([]byte, 18*40))
	f.Fuzz(func(t *testing.T, b []byte) {
		g := offsets.NewGraph()
		ref := offsets.Clock{}
		g.Mention(ref)
		var pairs []clock.Pair
		for ; len(b) >= 18 && len(pairs) < 1000; b = b[18:] {
			at := [2]int64{int64(binary.LittleEndian.Uint64(b[2:])), int64(binary.LittleEndian.Uint64(b[10:]))}
			if b[0]&0x40 != 0 { // near each other, as clocks are
				at[0], at[1] = 1e18+at[0]%1e10, 1e18+at[1]%1e10
			}
			pairs = append(pairs, clock.Pair{X: at[0], Y: at[1]})
			x := offsets.Clock{Node: int(b[0] & 3), Kind: offsets.Kind(b[0] >> 2 & 3)}
			y := offsets.Clock{Node: int(b[1] & 3), Kind: offsets.Kind(b[1] >> 2 & 3)}
			if x != y {
				g.Between(x, y, offsets.Stamps).Before(x, at[0], at[1])
			}
			if b[1]&0x80 != 0 {
				g.AddSnapshots(int(b[0]&3), pairs)
			}
		}
		s, err := g.Solve(context.Background(), ref, offsets.Options{})
		if err != nil {
			if fault.Of(err).Kind == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		for _, n := range s.Nodes {
			if _, bound, _ := n.Map.At(1e18); bound < 0 {
				t.Fatalf("node %d: bound %d", n.Node, bound)
			}
		}
	})
}

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
