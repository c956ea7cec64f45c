package combine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// recorded writes a synthetic job and returns its traces and its round offsets.
func recorded(t testing.TB, c xspacetest.Config) (j *xspacetest.Job, inputs []Input, offsets string) {
	t.Helper()
	dir := t.TempDir()
	j = xspacetest.New(c)
	for k := range j.Clocks {
		var b bytes.Buffer
		if err := j.Write(k, &b); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, Input{Path: put(t, dir, fmt.Sprintf("node%d.xplane.pb", k), b.Bytes())})
	}
	var b bytes.Buffer
	if err := j.RoundOffsets(&b); err != nil {
		t.Fatal(err)
	}
	return j, inputs, put(t, dir, "round_offsets.jsonl", b.Bytes())
}

func put(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func combined(t testing.TB, workers int, r Request) *Document {
	t.Helper()
	doc, _, err := Run(job.New(context.Background(), job.Options{Workers: workers}), r)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestNoiseFreeClocksAreExactToTheNanosecond is the exactness of the whole way, device lines through R and S included.
func TestNoiseFreeClocksAreExactToTheNanosecond(t *testing.T) {
	nodes := 64
	if testing.Short() {
		nodes = 5
	}
	j, inputs, offsets := recorded(t, xspacetest.Config{Nodes: nodes, GPUs: 2, EventsPerGPU: 2000, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7, Unsorted: true, Nested: true})
	out := filepath.Join(t.TempDir(), "run")
	doc := combined(t, 2, Request{Inputs: inputs, Offsets: offsets, Output: out})
	if doc.Status != StatusAligned {
		t.Errorf("status %q, warnings %v", doc.Status, doc.Warnings)
	}
	var worst int64
	for k := range j.Clocks {
		var want []instant
		for gpu := range j.GPUs {
			j.Events(k, gpu, func(e xspacetest.Event) {
				want = append(want, instant{start: j.Clocks[0].Wall(e.Start), end: j.Clocks[0].Wall(e.End)})
			})
		}
		got := instants(t, filepath.Join(out, doc.Outputs[k].Path), doc.ZeroNS)
		for i, w := range want { // device planes come first
			a, b := (got[i].start-w.start)*1000+got[i].startPS, (got[i].end-w.end)*1000+got[i].endPS
			worst = max(worst, a, -a, b, -b)
		}
		if r := doc.Nodes[k]; r.EventsClamped != 0 || r.SnapshotExtrapolations != 0 || r.OffsetExtrapolations != 0 || r.BoundNS.Max*1000 < worst {
			t.Errorf("node %d: %+v", k, r)
		}
	}
	t.Logf("%d nodes: worst error of any start or end %d ps", nodes, worst)
	// Every reading that goes in is a whole number of ns: the event's own, the snapshots', the rounds'. The event's alone is off by
	// up to 1 ns; the rest is what readings that fall on few different fractions leave of the lines through them.
	if worst > 1500 {
		t.Errorf("worst error %d ps, want at most 1000 of the event's own reading and 500", worst)
	}
}

func TestZeroOffsetsAndEqualStartsKeepEveryByte(t *testing.T) {
	clocks := make([]xspacetest.Clock, 3)
	for k := range clocks {
		clocks[k].TracerNS = 1e14
	}
	for name, c := range map[string]xspacetest.Config{
		"without snapshots": {Clocks: clocks, GPUs: 2, NoSnapshots: true},
		"R equals S":        {Clocks: withTracerAsWall(clocks), GPUs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, inputs, offsets := recorded(t, c)
			out := filepath.Join(t.TempDir(), "run")
			doc := combined(t, 2, Request{Inputs: inputs, Offsets: offsets, Output: out})
			for k := range inputs {
				if d := differs(t, inputs[k].Path, filepath.Join(out, doc.Outputs[k].Path)); d != "" {
					t.Errorf("node %d: output differs from its input: %s", k, d)
				}
				if doc.Nodes[k].EventsCorrected != 0 {
					t.Errorf("node %d: %d events corrected", k, doc.Nodes[k].EventsCorrected)
				}
			}
		})
	}
}

// differs says in what two XSpaces differ beside the stats of their planes, to which combine adds what it did: the bytes of every
// line, names, ids, the number of entries in the tables of names of events.
func differs(t *testing.T, a, b string) string {
	t.Helper()
	x, y := scanned(t, a), scanned(t, b)
	xs, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	ys, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Planes) != len(y.Planes) || len(x.Hostnames) != len(y.Hostnames) {
		return "planes or hosts"
	}
	for i := range x.Planes {
		p, q := &x.Planes[i], &y.Planes[i]
		if p.Name != q.Name || p.ID != q.ID || len(p.Lines) != len(q.Lines) || p.EventMetadataCount != q.EventMetadataCount {
			return "plane " + p.Name
		}
		for k := range p.Lines {
			l, m := &p.Lines[k], &q.Lines[k]
			if !bytes.Equal(xs[l.Offset:l.Offset+l.Length], ys[m.Offset:m.Offset+m.Length]) {
				return fmt.Sprintf("plane %s, line %d", p.Name, k)
			}
		}
	}
	return ""
}

// withTracerAsWall makes the tracer's clock show wall time.
func withTracerAsWall(clocks []xspacetest.Clock) []xspacetest.Clock {
	out := make([]xspacetest.Clock, len(clocks))
	for k, c := range clocks {
		c.TracerNS = xspacetest.Epoch
		out[k] = c
	}
	return out
}

func TestUnequalStartsMoveOnlyTheLines(t *testing.T) {
	const later = 37_000_001
	clocks := []xspacetest.Clock{{}, {StartNS: later}}
	_, inputs, offsets := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, NoSnapshots: true})
	out := filepath.Join(t.TempDir(), "run")
	doc := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Output: out})
	before, after := scanned(t, inputs[1].Path), scanned(t, filepath.Join(out, doc.Outputs[1].Path))
	for i := range before.Planes {
		for k := range before.Planes[i].Lines {
			a, b := before.Planes[i].Lines[k], after.Planes[i].Lines[k]
			if b.TimestampNS-a.TimestampNS != later {
				t.Errorf("line %q moved by %d ns, want %d", a.Name, b.TimestampNS-a.TimestampNS, later)
			}
			if a.MinOffsetPS != b.MinOffsetPS || a.MaxEndPS != b.MaxEndPS || a.Events != b.Events {
				t.Errorf("line %q: events changed", a.Name)
			}
		}
	}
	if d := differs(t, inputs[0].Path, filepath.Join(out, doc.Outputs[0].Path)); d != "" {
		t.Errorf("the reference's file changed: %s", d)
	}
}

func scanned(t testing.TB, path string) *xspace.Space {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s, err := xspace.Scan(context.Background(), src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBytesDoNotDependOnWorkers(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 3, GPUs: 3, EventsPerGPU: 5000, Seed: 3})
	for _, format := range []Format{FormatRun, FormatXPlane} {
		var first []Output
		for _, workers := range []int{1, 2, 7} {
			out := filepath.Join(t.TempDir(), "out")
			doc := combined(t, workers, Request{Inputs: inputs, Offsets: offsets, Output: out, Format: format})
			if first == nil {
				first = doc.Outputs
			}
			for i := range first {
				if doc.Outputs[i].SHA256 != first[i].SHA256 {
					t.Errorf("%s with %d workers: other bytes in %s", format, workers, first[i].Path)
				}
			}
		}
	}
}

// TestHandWorkedExample is the two-node example of docs/concepts/clocks.md. Node 1 is 2 ms ahead, so what it calls 10:00:00.005 is
// 10:00:00.003 on the reference's clock; adding the offset, as one formula of XLA's `trace_combiner` does, would give .007.
func TestHandWorkedExample(t *testing.T) {
	clocks := []xspacetest.Clock{{}, {OffsetNS: 2_000_000}}
	j, inputs, _ := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 10, NoSnapshots: true})
	dir := t.TempDir()
	rows := `{"meta":true,"nodes":[{"node_id":0,"start_walltime_ns":0,"start_gpu_ns":0},{"node_id":1,"start_walltime_ns":0,"start_gpu_ns":0}]}
{"round_id":0,"window_id":0,"midpoint_sys_ns":1759999999000000000,"node_id":0,"offset_ns":0,"drift_ppm":0,"residual":0,"reachable":true,"converged":true}
{"round_id":0,"window_id":0,"midpoint_sys_ns":1759999999000000000,"node_id":1,"offset_ns":2000000,"drift_ppm":0,"residual":0,"reachable":true,"converged":true}
{"round_id":1,"window_id":1,"midpoint_sys_ns":1760000003000000000,"node_id":0,"offset_ns":0,"drift_ppm":0,"residual":0,"reachable":true,"converged":true}
{"round_id":1,"window_id":1,"midpoint_sys_ns":1760000003000000000,"node_id":1,"offset_ns":2000000,"drift_ppm":0,"residual":0,"reachable":true,"converged":true}
`
	out := filepath.Join(t.TempDir(), "run")
	doc := combined(t, 1, Request{Inputs: inputs, Offsets: put(t, dir, "offsets.jsonl", []byte(rows)), Output: out})
	raw, got := instants(t, inputs[1].Path, 0), instants(t, filepath.Join(out, doc.Outputs[1].Path), doc.ZeroNS)
	for i := range raw {
		if got[i].start != raw[i].start-2_000_000 {
			t.Fatalf("event %d: %d became %d, want 2 ms less", i, raw[i].start, got[i].start)
		}
	}
	if r := doc.Nodes[1]; r.OffsetNS != 2_000_000 || r.MinCorrectionNS != -2_000_000 || r.MaxCorrectionNS != -2_000_000 {
		t.Errorf("node 1: offset %d, corrections %d to %d", r.OffsetNS, r.MinCorrectionNS, r.MaxCorrectionNS)
	}
	_ = j
}

func TestOneFileHoldsEveryNodeAndViewersCanTellThemApart(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 60, GPUs: 8, EventsPerGPU: 10, Seed: 5})
	for _, naming := range []naming{viewer, seed, tagged, rocmCode} {
		out := filepath.Join(t.TempDir(), "all.xplane.pb")
		doc := combined(t, 2, Request{Inputs: inputs, Offsets: offsets, Output: out, Naming: string(naming)})
		s := scanned(t, out)
		ids, names, gpus, hosts := map[int64]int{}, map[string]int{}, 0, 0
		for i := range s.Planes {
			p := &s.Planes[i]
			ids[p.ID]++
			names[p.Name]++
			if strings.HasPrefix(p.Name, "/device:GPU:") && p.ID <= maxViewerID {
				gpus++
			}
			if strings.HasPrefix(p.Name, "/host:CPU") {
				hosts++
			}
		}
		if len(names) != len(s.Planes) {
			t.Errorf("%s: %d names for %d planes", naming, len(names), len(s.Planes))
		}
		if len(s.Hostnames) != 60 || len(doc.Nodes) != 60 {
			t.Errorf("%s: %d hosts, %d nodes", naming, len(s.Hostnames), len(doc.Nodes))
		}
		if naming != viewer {
			continue
		}
		if gpus != 480 || hosts != 60 || len(ids) != len(s.Planes) || names["/host:CPU"] != 1 || names["/host:CPU node01"] != 1 {
			t.Errorf("viewer: %d GPU planes in reach, %d hosts, %d ids for %d planes", gpus, hosts, len(ids), len(s.Planes))
		}
	}
}

func TestMoreDevicesThanViewersShowBecomeARunDirectory(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 63, GPUs: 8, EventsPerGPU: 1})
	out := filepath.Join(t.TempDir(), "all.xplane.pb")
	doc, e, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Offsets: offsets, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Outputs) != 63 || e.Output != strings.TrimSuffix(out, ".xplane.pb") || !strings.Contains(strings.Join(doc.Notes, " "), "run directory") {
		t.Errorf("%d outputs in %s, notes %v", len(doc.Outputs), e.Output, doc.Notes)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the file was written too")
	}
	if _, err := os.Stat(filepath.Join(e.Output, doc.Outputs[62].Path)); err != nil {
		t.Error(err)
	}
}

func TestTimeRangeKeepsWhatTouchesIt(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 4000, Seed: 2})
	from, to := int64(20_000_000), int64(60_000_000)
	out := filepath.Join(t.TempDir(), "run")
	doc := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Output: out, TimeRange: []*int64{&from, &to}})
	all := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Output: filepath.Join(t.TempDir(), "all")})
	for k := range inputs {
		got := instants(t, filepath.Join(out, doc.Outputs[k].Path), 1)
		for _, e := range got {
			if e.end < from || e.start >= to+1 {
				t.Fatalf("node %d: event %d..%d lies outside", k, e.start, e.end)
			}
		}
		if kept, dropped := int64(len(got)), doc.Nodes[k].EventsDropped; kept == 0 || kept+dropped != all.Nodes[k].Events {
			t.Errorf("node %d: %d kept and %d dropped of %d", k, kept, dropped, all.Nodes[k].Events)
		}
	}
}

func TestTracerTimebaseGoesBackToEachNodesTracer(t *testing.T) {
	clocks := []xspacetest.Clock{{TracerNS: 1e14}, {OffsetNS: 5_000_000, TracerNS: 2e14, TracerPPB: 50_000}}
	_, inputs, offsets := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 3000})
	dir := t.TempDir()
	host := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Output: filepath.Join(dir, "host")})
	tracer := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Output: filepath.Join(dir, "tracer"), Timebase: "tracer"})
	a := instants(t, filepath.Join(dir, "host", host.Outputs[1].Path), host.ZeroNS)
	b := instants(t, filepath.Join(dir, "tracer", tracer.Outputs[1].Path), tracer.ZeroNS)
	first, last := 0, 2999 // one device line comes first in the file
	wall, ticks := a[last].start-a[first].start, b[last].start-b[first].start
	if want := wall + wall*50_000/1_000_000_000; ticks < want-2 || ticks > want+2 {
		t.Errorf("on the tracer's clock the line lasts %d ns, on the host's %d; want %d", ticks, wall, want)
	}
	if tracer.Timebase != "tracer" {
		t.Errorf("timebase %q", tracer.Timebase)
	}
}

func TestMergingOnlyTakesNoClockFiles(t *testing.T) {
	no := false
	r := Request{ApplyAlignment: &no}
	f := &Found{Probes: []string{"/d/probes.jsonl"}}
	if err := r.AddClockFiles(t.Context(), f); err != nil || len(r.Probes) != 0 || len(f.Notes) != 0 {
		t.Errorf("probes %v, notes %v, %v", r.Probes, f.Notes, err)
	}
}
