package xspace

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

// spaceOf makes a file of planes, each with the stats given as name=value.
func spaceOf(t *testing.T, planes ...[]string) (*file.Source, *Space, []byte) {
	t.Helper()
	var b []byte
	for _, stats := range planes {
		plane := appendBytes(nil, 2, stats[0])
		for i, st := range stats[1:] {
			name, value, _ := strings.Cut(st, "=")
			meta := appendBytes(appendVarint(nil, 1, uint64(i+1)), 2, name)
			plane = appendBytes(plane, 5, appendBytes(appendVarint(nil, 1, uint64(i+1)), 2, meta))
			if strings.HasPrefix(value, "{") {
				plane = appendBytes(plane, 6, appendBytes(appendVarint(nil, 1, uint64(i+1)), 5, value))
				continue
			}
			n := uint64(0)
			for _, c := range value {
				n = 10*n + uint64(c-'0')
			}
			plane = appendBytes(plane, 6, appendVarint(appendVarint(nil, 1, uint64(i+1)), 3, n))
		}
		plane = appendBytes(plane, 3, appendBytes(appendVarint(nil, 1, 7), 4, appendVarint(appendVarint(nil, 1, 1), 2, 5)))
		b = appendBytes(b, 1, plane)
	}
	return rescanned(t, b)
}

func rescanned(t *testing.T, b []byte) (*file.Source, *Space, []byte) {
	t.Helper()
	src, err := file.FromBytes("marked.xplane.pb", b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Scan(context.Background(), src, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return src, s, b
}

// written makes the edit in both ways of writing, which must agree.
func written(t *testing.T, src *file.Source, s *Space, e *spaceEdit) []byte {
	t.Helper()
	sizes, err := Measure(context.Background(), src, s, e)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rewrite(context.Background(), src, s, e, sizes, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStatsAreSetInTheirPlaces: every stat of the name, and the rest of the plane stays as it is; what is not there is added.
func TestStatsAreSetInTheirPlaces(t *testing.T) {
	src, s, before := spaceOf(t, []string{"a", "first=5", "x=6", "last=7"}, []string{"b", "x=6"})
	edit := &spaceEdit{Planes: []planeEdit{{SetStats: []newStat{{Name: "x", Kind: statUint, Uint: 60_000}, {Name: "new", Kind: statStr, Text: "text"}}}}}
	_, after, b := rescanned(t, written(t, src, s, edit))
	var got []string
	for _, st := range after.Planes[0].Stats {
		got = append(got, st.Name+"="+st.Text())
	}
	if want := "first=5 x=60000 last=7 new=text"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p, q := before[s.Planes[1].Offset:], b[after.Planes[1].Offset:]
	if !bytes.Equal(p, q) {
		t.Error("another plane changed")
	}
	edit.Planes[0].SetStats = []newStat{{Name: "x", Kind: statUint, Uint: 6}}
	if same := written(t, src, s, edit); !bytes.Equal(same, before) {
		t.Error("setting what is there changes bytes")
	}
}

// TestAMarkIsFoundAgain: with whose planes they are, what they were called, and which lines were on the tracer's clock.
func TestAMarkIsFoundAgain(t *testing.T) {
	src, s, _ := spaceOf(t, []string{"/host:CPU"}, []string{"Task Environment", "profile_start_time=1000", "profile_stop_time=2000"}, []string{"/device:GPU:0"})
	text := `{"schema":"prlx.mark/1","zero_ns":5,"nodes":[{"id":"node1"}],"padding":"` + strings.Repeat("x", 100_000) + `"}` // longer than what Scan keeps of a stat
	name := "/device:GPU:7"
	e := &spaceEdit{Planes: make([]planeEdit, 3)}
	e.Planes[2].Name = &name
	s.AddMark(e, nodeMark{Text: []byte(text), ID: "node1", Plane: s.MarkPlane(), Planes: []int{0, 1, 2}, StartNS: 1500, StopNS: 2500}, []aligned.Lines{{}, {Lines: []int{0}}, {All: true}})
	src, s, _ = rescanned(t, written(t, src, s, e))
	m, err := ReadMark(context.Background(), src, s)
	if err != nil {
		t.Fatal(err)
	}
	if m.ZeroNS != 5 || m.Nodes[0].ID != "node1" || m.At[0] != 1 || m.Names[2] != "/device:GPU:0" || s.Planes[2].Name != name {
		t.Errorf("%+v", m)
	}
	if m.Tracer[0].Has(0) || !m.Tracer[1].Has(0) || m.Tracer[1].All || !m.Tracer[2].All || len(m.ByNode(1)[0]) != 3 {
		t.Errorf("lines %+v, nodes %v", m.Tracer, m.NodeOf)
	}
	if s.ProfileStartNS != 1500 || s.ProfileStopNS != 2500 || s.Planes[1].Stat(StatRecordedStart).Uint != 1000 || s.Planes[1].Stat(StatRecordedStop).Uint != 2000 {
		t.Errorf("from %d to %d", s.ProfileStartNS, s.ProfileStopNS)
	}
	if view := s.only([]int{2}, m.Names); len(view.Planes) != 1 || view.Planes[0].Name != "/device:GPU:0" || view.Planes[0].Index != 2 || s.Planes[2].Name != name {
		t.Error("the view is not of the recording, or it changed the file's own names")
	}
}

// TestMarksThatContradictAreRefused: of two alignments in one file, of several nodes in one stat, damaged ones.
func TestMarksThatContradictAreRefused(t *testing.T) {
	one := func(zero, id string) string {
		return `prlx_alignment={"schema":"prlx.mark/1","zero_ns":` + zero + `,"nodes":[{"id":"` + id + `"}]}`
	}
	for name, c := range map[string]struct {
		planes [][]string
		kind   fault.Kind
	}{
		"two zeros":     {[][]string{{"a", one("5", "n0")}, {"b", one("6", "n1")}}, fault.Incompatible},
		"two in one":    {[][]string{{"a", `prlx_alignment={"schema":"prlx.mark/1","nodes":[{"id":"a"},{"id":"b"}]}`}}, fault.Format},
		"no text":       {[][]string{{"a", "prlx_alignment=5"}}, fault.Format},
		"damaged":       {[][]string{{"a", `prlx_alignment={"schema":"prlx.mark/1"`}}, fault.Format},
		"newer":         {[][]string{{"a", `prlx_alignment={"schema":"prlx.mark/2"}`}}, fault.Format},
		"and all right": {[][]string{{"a", one("5", "n0")}, {"b", one("5", "n1")}}, ""},
	} {
		src, s, _ := spaceOf(t, c.planes...)
		m, err := ReadMark(context.Background(), src, s)
		if c.kind != "" && (!fault.Is(err, c.kind) || m != nil) || c.kind == "" && (err != nil || len(m.Nodes) != 2 || m.NodeOf[0] != -1) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
