package offsets_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/file"
)

// read parses the text of a clock file.
func read(t testing.TB, name, text string) *clockfile.File {
	t.Helper()
	src, err := file.FromBytes(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := clockfile.Read(context.Background(), src)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// sameMaps compares two solutions at their knots, between them, in steps and in the tails.
func sameMaps(t *testing.T, a, b *offsets.Solution) {
	t.Helper()
	if len(a.Nodes) != len(b.Nodes) || a.Reference != b.Reference {
		t.Fatalf("%d nodes and reference %d, want %d and %d", len(b.Nodes), b.Reference, len(a.Nodes), a.Reference)
	}
	for i := range a.Nodes {
		p, q := a.Nodes[i], b.Nodes[i]
		if d := cmp.Diff(p.Map.Knots(), q.Map.Knots()); d != "" {
			t.Fatalf("node %d: knots differ (-solved +read)\n%s", p.Node, d)
		}
		if d := cmp.Diff(p.Map.Steps(), q.Map.Steps()); d != "" {
			t.Errorf("node %d: steps differ (-solved +read)\n%s", p.Node, d)
		}
		knots := p.Map.Knots()
		if len(knots) == 0 {
			continue
		}
		for _, x := range []int64{knots[0].X - 3e9, knots[0].X - 1, (knots[0].X + knots[len(knots)-1].X) / 2, knots[len(knots)-1].X + 1, knots[len(knots)-1].X + 7e9} {
			y1, b1, c1 := p.Map.At(x)
			y2, b2, c2 := q.Map.At(x)
			if y1 != y2 || b1 != b2 || c1 != c2 {
				t.Errorf("node %d at %d: %d +- %d (%d), want %d +- %d (%d)", p.Node, x, y2, b2, c2, y1, b1, c1)
			}
		}
	}
}

func TestSolvedRoundsReadBackGiveTheSameMaps(t *testing.T) {
	for _, name := range []string{"p2", "p4", "p2_step"} {
		t.Run(name, func(t *testing.T) {
			r := readRecording(t, name)
			solved, err := offsets.SolveStamps(context.Background(), r.stamps, offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text := solved.Rounds()
			again, err := offsets.SolveStamps(context.Background(), r.stamps, offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, again.Rounds()) {
				t.Error("solving twice gives different bytes")
			}
			f := read(t, "solved.jsonl", string(text))
			back, err := offsets.FromRounds(f.Rounds, offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sameMaps(t, solved, back)
			if !bytes.Equal(text, back.Rounds()) {
				t.Errorf("written again the rounds differ:\n%.600s\n%.600s", text, back.Rounds())
			}
			rebased, err := solved.Rebase(1)
			if err != nil {
				t.Fatal(err)
			}
			back, err = offsets.FromRounds(read(t, "rebased.jsonl", string(rebased.Rounds())).Rounds, offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sameMaps(t, rebased, back)
		})
	}
}

func TestDeclaredOffsetsReadBackGiveTheSameMaps(t *testing.T) {
	f := read(t, "d.toml", `
reference = "node0"
[nodes.node0]
offset_ns = 0
[nodes.node1]
offset_ns = 37_000_000
drift_ppm = 120.0
at_ns = 1795226081526501402
bound_ns = 200
[nodes.node2]
offset_ns = -5200000
bound_ns = 1000
`)
	s, err := offsets.FromDeclared(f.Declared, nil, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := s.Node(1)
	const at = int64(1795226081526501402)
	for _, tc := range []struct{ y, x int64 }{
		{at, at + 37_000_000},                                 // the node is 37 ms ahead at at_ns
		{at + 10e9, at + 10e9 + 37_000_000 + 1_200_000},       // and gains 120 us a second
		{at - 100e9, at - 100e9 + 37_000_000 - 12_000_000},    // before as well
		{at + 3600e9, at + 3600e9 + 37_000_000 + 432_000_000}, // an hour later
		{at - 3600e9, at - 3600e9 + 37_000_000 - 432_000_000}, //
	} {
		y, bound, cov := n.Map.At(tc.x)
		if d := y - tc.y; d < -1 || d > 1 || bound != 200 || cov != 0 {
			t.Errorf("At(%d) is off by %d ns, bound %d, coverage %d; want 0 +- 1, 200, 0", tc.x, d, bound, cov)
		}
	}
	back, err := offsets.FromRounds(read(t, "back.jsonl", string(s.Rounds())).Rounds, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameMaps(t, s, back)
}

// TestTheReferenceOfADeclarationIsNamedAsItsNodesAre: by number, by the id or host of a trace, or by a name that only the file has.
func TestTheReferenceOfADeclarationIsNamedAsItsNodesAre(t *testing.T) {
	const nodes = "[nodes.worker0]\noffset_ns = 0\n[nodes.worker5]\noffset_ns = 77\nbound_ns = 3\n"
	traces := map[string]int{"worker5": 5, "worker0": 0, "tw003": 3}
	for _, tc := range []struct {
		name, text string
		unseen     string // which trace there is not
		reference  int
		called     string
	}{
		{"a trace", "reference = \"worker0\"\n" + nodes, "", 0, ""},
		{"another trace", "reference = \"tw003\"\n[nodes.tw003]\noffset_ns = 0\n[nodes.worker5]\noffset_ns = 77\nbound_ns = 3\n", "", 3, ""},
		{"not among the tables", "reference = \"tw003\"\n[nodes.worker5]\noffset_ns = 77\nbound_ns = 3\n", "", 3, ""},
		{"without a trace", "reference = \"worker0\"\n" + nodes, "worker0", clockfile.MaxNode + 2, "worker0"},
		{"nobody stated", "[nodes.tw003]\noffset_ns = 0\n[nodes.worker5]\noffset_ns = 77\nbound_ns = 3\n", "", 3, ""},
	} {
		lookup := func(name string) (int, bool) {
			id, ok := traces[name]
			return id, ok && name != tc.unseen
		}
		s, err := offsets.FromDeclared(read(t, "d.toml", tc.text).Declared, lookup, offsets.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if n, ok := s.Node(5); s.Reference != tc.reference || s.ReferenceName != tc.called || !ok || n.OffsetNS != 77 || n.Bound.Max != 3 || len(s.Warnings) > 0 {
			t.Errorf("%s: reference %d %q, nodes %+v, warnings %q; want reference %d %q and node 5 ahead by 77 ns", tc.name, s.Reference, s.ReferenceName, s.Nodes, s.Warnings, tc.reference, tc.called)
		}
	}
	for name, text := range map[string]string{
		"a name that nobody has":       "reference = \"wroker0\"\n" + nodes,
		"an offset against itself":     "reference = \"worker5\"\n" + nodes,
		"itself, and without a trace":  "reference = \"w\"\n[nodes.w]\noffset_ns = 1\n",
		"two tables for the reference": "reference = \"worker0\"\n[nodes.0]\noffset_ns = 0\n" + nodes,
	} {
		s, err := offsets.FromDeclared(read(t, "d.toml", text).Declared, func(n string) (int, bool) { id, ok := traces[n]; return id, ok }, offsets.Options{})
		if err == nil {
			t.Errorf("%s: got %+v, want an error", name, s)
		}
	}
}
