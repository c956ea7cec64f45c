package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// TestDocumentsOfOneTraceHaveInstantsInCommon: of a part of it, too, for instants are multiples of powers of two.
func TestDocumentsOfOneTraceHaveInstantsInCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 3000 {
		first := r.Int64N(2e18)
		length := int64(math.Exp(r.Float64() * 41))
		whole := clockInstants(first, first+length)
		if len(whole) > mostInstants+1 || length >= 2*mostInstants && len(whole) < mostInstants/2-1 {
			t.Fatalf("%d instants in %d ns from %d", len(whole), length, first)
		}
		if !slices.IsSorted(whole) || len(whole) > 0 && (whole[0] < first || whole[len(whole)-1] > first+length) {
			t.Fatalf("%v lie not within [%d, %d]", whole, first, first+length)
		}
		from := first + r.Int64N(length/4+1)
		to := from + length/2
		common := 0
		part := clockInstants(from, to)
		for _, at := range part {
			if slices.Contains(whole, at) {
				common++
			}
		}
		inside := 0
		for _, at := range whole {
			if at >= from && at <= to {
				inside++
			}
		}
		if common != inside {
			t.Fatalf("of %d instants in the part %d are stated by both", inside, common)
		}
	}
	for _, c := range [][2]int64{{5, 4}, {-7, 9}} {
		if got := clockInstants(c[0], c[1]); got != nil {
			t.Errorf("%v: %v", c, got)
		}
	}
	if got := clockInstants(math.MaxInt64-3, math.MaxInt64); len(got) != 4 {
		t.Errorf("at the end of time: %v", got)
	}
}

// compared combines p4 in the ways given and compares the first with the second.
func compared(t *testing.T, ways ...Request) (*CompareDocument, []*Document) {
	t.Helper()
	inputs, probes, _ := jax(t, "p4")
	var docs []*Document
	var paths []string
	for _, r := range ways {
		r.Inputs, r.Output = inputs, filepath.Join(t.TempDir(), "run")
		if r.Method == MethodProbes {
			r.Probes = probes
		}
		docs, paths = append(docs, combined(t, 2, r)), append(paths, r.Output)
	}
	d, err := Compare(context.Background(), CompareRequest{A: paths[0], B: filepath.Join(paths[1], "alignment.json")})
	if err != nil {
		t.Fatal(err)
	}
	return d, docs
}

// TestTwoAlignmentsOfOneRecordingAgree: by probes and by collectives, and what they state holds the truth.
func TestTwoAlignmentsOfOneRecordingAgree(t *testing.T) {
	d, docs := compared(t, Request{Method: MethodProbes}, Request{Method: methodCollectives})
	_, _, tr := jax(t, "p4")
	if d.Status != compareAgree || len(d.Nodes) != 4 || d.Nodes[0].Status != compareReference || !strings.Contains(d.Verdict, "3 clocks compared") {
		t.Fatalf("%s: %s", d.Status, d.Verdict)
	}
	for k, n := range d.Nodes[1:] {
		a, b := docs[0].Nodes[k+1], docs[1].Nodes[k+1]
		if n.Status != compareAgree || n.Instants != len(a.Clock) || n.Instants != len(b.Clock) || n.Instants < mostInstants/2 || n.Disjoint != 0 {
			t.Errorf("%s: %+v", n.ID, n)
		}
		if n.ApartNS.Max < n.ApartNS.P50 || n.ApartNS.Max > 100_000 || *n.A.BoundNS > 20_000 || *n.B.BoundNS < 50_000 || math.Abs(*n.DriftPPM-(b.DriftPPM-a.DriftPPM)) > 1e-9 {
			t.Errorf("%s: %+v, bounds %d and %d, drift %f", n.ID, n.ApartNS, *n.A.BoundNS, *n.B.BoundNS, *n.DriftPPM)
		}
		for _, c := range append(slices.Clone(a.Clock), b.Clock...) {
			if e := c.AtNS - c.OffsetNS - tr.trueNS(k+1, c.AtNS); max(e, -e) > c.BoundNS+2 {
				t.Errorf("%s at %d: off by %d ns, bound %d", n.ID, c.AtNS, e, c.BoundNS)
			}
		}
	}
}

// TestAlignmentsThatExcludeEachOtherContradict: where, by how much, and for how long.
func TestAlignmentsThatExcludeEachOtherContradict(t *testing.T) {
	_, _, tr := jax(t, "p4")
	text := "[nodes]\nnode0 = { offset_ns = 0 }\n"
	for k := 1; k < 4; k++ {
		n := tr.Nodes[k]
		off, drift := n.Offset, n.Drift
		if k == 2 {
			drift += 500_000 // right at the anchor, and wrong by half a millisecond a second later
		}
		text += fmt.Sprintf("node%d = { offset_ns = %d, drift_ppm = %f, bound_ns = 1000, at_ns = %d }\n", k, off, float64(drift)/1000, tr.Anchor+2_000_000_000)
	}
	declared := put(t, t.TempDir(), "clocks.toml", []byte(text))
	d, _ := compared(t, Request{Method: MethodProbes}, Request{Method: MethodDeclared, Declared: declared})
	if d.Status != compareContradict {
		t.Fatalf("%s: %s", d.Status, d.Verdict)
	}
	n := d.Nodes[2]
	if n.Status != compareContradict || n.Disjoint == 0 || n.Disjoint > n.Instants || len(n.DisjointNS) != 2 || n.DisjointNS[0] > n.DisjointNS[1] {
		t.Errorf("%+v", n)
	}
	if w := n.Worst; w == nil || max(w.ByNS, -w.ByNS) != n.ApartNS.Max || max(w.ByNS, -w.ByNS) <= w.AllowedNS || !strings.Contains(d.Verdict, "node2") {
		t.Errorf("%+v; %s", n.Worst, d.Verdict)
	}
}

// TestDocumentsThatCannotBeCompared: other references and other files are errors, clocks that nothing relates are not judged, and what a hostile
// document says does not overflow.
func TestDocumentsThatCannotBeCompared(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, d *Document) string {
		d.Schema = Schema
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return put(t, dir, name, b)
	}
	clockOf := func(offset, bound int64) NodeResult {
		return NodeResult{ID: "b", Method: MethodProbes, Clock: []ClockAt{{AtNS: 64, OffsetNS: offset, BoundNS: bound}}}
	}
	with := func(n ...NodeResult) *Document {
		return &Document{Reference: "a", Nodes: append([]NodeResult{{ID: "a", Clock: []ClockAt{}}}, n...)}
	}
	plain := write("plain.json", with(clockOf(10, 5)))
	for name, c := range map[string]struct {
		other  *Document
		status string
		said   string
	}{
		"touching":          {with(clockOf(20, 5)), compareAgree, ""},
		"apart":             {with(clockOf(21, 5)), compareContradict, ""},
		"beyond int64":      {with(clockOf(math.MinInt64, math.MaxInt64)), compareAgree, ""},
		"far beyond int64":  {with(clockOf(math.MinInt64, 5)), compareContradict, ""},
		"not related":       {with(NodeResult{ID: "b", Method: MethodWall, Clock: []ClockAt{}}), compareInconclusive, "only one of the documents"},
		"an earlier prlx":   {with(NodeResult{ID: "b", Method: MethodProbes}), compareInconclusive, "earlier prlx"},
		"of other instants": {with(NodeResult{ID: "b", Method: MethodProbes, Clock: []ClockAt{{AtNS: 128}}}), compareInconclusive, "not of the same trace"},
		"of other nodes":    {with(NodeResult{ID: "c", Method: MethodProbes, Clock: []ClockAt{{AtNS: 64}}}), compareInconclusive, ""},
	} {
		d, err := Compare(context.Background(), CompareRequest{A: plain, B: write("other.json", c.other)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Status != c.status || !strings.Contains(strings.Join(d.Warnings, "; "), c.said) {
			t.Errorf("%s: %s, want %s; %v", name, d.Status, c.status, d.Warnings)
		}
		if name == "of other nodes" && (!slices.Equal(d.OnlyA, []string{"b"}) || !slices.Equal(d.OnlyB, []string{"c"})) {
			t.Errorf("%s: %v, %v", name, d.OnlyA, d.OnlyB)
		}
	}
	elsewhere := with(clockOf(10, 5))
	elsewhere.Reference = "b"
	for _, c := range []struct {
		b    string
		kind fault.Kind
	}{
		{write("elsewhere.json", elsewhere), fault.Incompatible},
		{put(t, dir, "list.json", []byte("[]")), fault.Format},
		{put(t, dir, "solve.json", []byte(`{"schema": "prlx.solve/1"}`)), fault.Format},
		{put(t, dir, "nobody.json", []byte(`{"schema": "prlx.combine/1"}`)), fault.Format},
		{put(t, dir, "half.json", []byte(`{"schema": "prlx.combine/1", "nodes": [`)), fault.Format},
		{filepath.Join(dir, "nothing.json"), fault.IO},
		{"", fault.Usage},
	} {
		if _, err := Compare(context.Background(), CompareRequest{A: plain, B: c.b}); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v, want %s", filepath.Base(c.b), err, c.kind)
		}
	}
}
