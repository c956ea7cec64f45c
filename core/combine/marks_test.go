package combine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// carriedAway copies the traces of a result into a directory of their own, without the documents beside them.
func carriedAway(t *testing.T, output string, doc *Document) []Input {
	t.Helper()
	from, to := output, t.TempDir()
	if st, err := os.Stat(output); err != nil || !st.IsDir() {
		from = filepath.Dir(output)
	}
	var inputs []Input
	for _, o := range doc.Outputs {
		b, err := os.ReadFile(filepath.Join(from, o.Path))
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, Input{Path: put(t, to, o.Path, b)})
	}
	return inputs
}

func validated(t *testing.T, inputs []Input) *ValidateDocument {
	t.Helper()
	doc, err := Validate(job.New(context.Background(), job.Options{Workers: 2}), ValidateRequest{Request: Request{Inputs: inputs}})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// jobs are jobs with the clock data that relates them.
func jobs(t *testing.T) map[string]Request {
	t.Helper()
	out := map[string]Request{}
	for _, set := range []string{"p2", "p4", "p2_step"} {
		inputs, probes, _ := jax(t, set)
		out[set] = Request{Inputs: inputs, Probes: probes}
	}
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 3, GPUs: 2, EventsPerGPU: 200, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	out["with tracer"] = Request{Inputs: inputs, Offsets: offsets}
	inputs, _, _ = jax(t, "p4")
	out["unaligned"] = Request{Inputs: inputs, Method: MethodWall}
	return out
}

var outputsOf = map[Format]string{FormatRun: "run", FormatXPlane: "one.xplane.pb", FormatChrome: "one.json"}

// TestAlignedFilesAreMovedOnceWithoutTheirDocument: what combine wrote, copied away from alignment.json, is combined again.
func TestAlignedFilesAreMovedOnceWithoutTheirDocument(t *testing.T) {
	for name, r := range jobs(t) {
		for format, output := range outputsOf {
			label := name + ", " + string(format)
			r.Format, r.Output = format, filepath.Join(t.TempDir(), output)
			doc := combined(t, 2, r)
			inputs := carriedAway(t, r.Output, doc)
			again := Request{Inputs: inputs, Format: format, Output: filepath.Join(t.TempDir(), output)}
			if name == "unaligned" {
				again.Method = MethodWall
			}
			redone := combined(t, 2, again)
			if redone.Status != doc.Status || redone.ZeroNS != doc.ZeroNS || redone.Reference != doc.Reference {
				t.Errorf("%s: %s to %s from %d, again %s to %s from %d", label, doc.Status, doc.Reference, doc.ZeroNS, redone.Status, redone.Reference, redone.ZeroNS)
			}
			for k, in := range carriedAway(t, again.Output, redone) {
				a, _ := os.ReadFile(inputs[k].Path)
				b, err := os.ReadFile(in.Path)
				if err != nil || !bytes.Equal(a, b) {
					t.Errorf("%s: %s changed (%v, %d and %d bytes)", label, filepath.Base(in.Path), err, len(a), len(b))
				}
			}
			for k, n := range redone.Nodes {
				if n.MinCorrectionNS != 0 || n.MaxCorrectionNS != 0 {
					t.Errorf("%s: node %s was moved by %d to %d ns", label, n.ID, n.MinCorrectionNS, n.MaxCorrectionNS)
				}
				if was := doc.Nodes[k]; len(redone.Nodes) == len(doc.Nodes) && (n.ID != was.ID || n.Method != was.Method || n.OffsetNS != was.OffsetNS || n.BoundNS.Unknown != was.BoundNS.Unknown || far(n.BoundNS.Max, was.BoundNS.Max)) {
					t.Errorf("%s: node %s %s %+d ns ±%+v, was %s %s %+d ns ±%+v", label, n.ID, n.Method, n.OffsetNS, n.BoundNS, was.ID, was.Method, was.OffsetNS, was.BoundNS)
				}
			}
			again.Output, again.Probes, again.Offsets = filepath.Join(t.TempDir(), output), r.Probes, r.Offsets
			if again.Probes == nil && again.Offsets == "" {
				continue
			}
			if _, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), again); !fault.Is(err, fault.Incompatible) {
				t.Errorf("%s: clock data for a trace that was aligned: %v", label, err)
			}
		}
	}
}

// far reports whether two bounds differ by more than their rounding and the drift over them.
func far(a, b int64) bool { return a-b > 20 || b-a > 20 }

// TestValidateJudgesWhatCombineJudged: the files alone give the verdicts of the run that wrote them, with its bounds.
func TestValidateJudgesWhatCombineJudged(t *testing.T) {
	all := jobs(t)
	all["kineto"] = Request{Inputs: dlrm(t), Format: FormatChrome}
	declared := put(t, t.TempDir(), "d.json", []byte(`{"nodes": {"rank1": {"offset_ns": -900000, "bound_ns": 400}, "rank2": {"offset_ns": 25, "bound_ns": 100000000}}}`))
	all["kineto with declared offsets"] = Request{Inputs: dlrm(t), Format: FormatChrome, Declared: declared}
	for name, r := range all {
		for format, output := range outputsOf {
			if r.Format != "" && r.Format != format {
				continue
			}
			label := name + ", " + string(format)
			one := r
			one.Format, one.Output = format, filepath.Join(t.TempDir(), output)
			doc := combined(t, 2, one)
			got := validated(t, carriedAway(t, one.Output, doc))
			want := doc.Collectives
			if got.Groups != want.Groups || got.Unmatched != want.Unmatched || got.Violated != want.After.Violated || got.Consistent != want.After.Consistent || got.Undecidable != want.After.Undecidable {
				t.Errorf("%s: %d groups, %d unmatched, %d/%d/%d, combine said %+v", label, got.Groups, got.Unmatched, got.Violated, got.Consistent, got.Undecidable, want)
			}
			if (got.Passed == nil) != (want.Passed == nil) || got.Passed != nil && *got.Passed != *want.Passed {
				t.Errorf("%s: passed differs", label)
			}
			if name != "with tracer" && got.Groups == 0 {
				t.Errorf("%s: no collectives", label)
			}
		}
	}
}

// TestCrossedRecordingsAreJudgedAlike: of every profiler whose traces we have, two nodes with the same trace, one of them 3 us late.
func TestCrossedRecordingsAreJudgedAlike(t *testing.T) {
	paths, err := filepath.Glob(filetest.Data(t, "xplane") + "/*.xplane.pb")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	dir := t.TempDir()
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"node0": {"offset_ns": 0}, "node1": {"offset_ns": 3000, "bound_ns": 700}}}`))
	judged := 0
	for _, path := range paths {
		if st, err := os.Stat(path); err != nil || st.Size() > 8<<20 {
			continue
		}
		out := filepath.Join(t.TempDir(), "all.json")
		req := Request{Inputs: []Input{{ID: "node0", Path: path}, {ID: "node1", Path: path}}, Declared: declared, Output: out, Format: FormatChrome}
		doc, _, err := Run(job.New(t.Context(), job.Options{Workers: 2}), req)
		if err != nil {
			continue // a trace that says no time, or is damaged: other tests
		}
		want, got := doc.Collectives, validated(t, carriedAway(t, out, doc))
		if got.Groups != want.Groups || got.Unmatched != want.Unmatched || got.Violated != want.After.Violated || got.Consistent != want.After.Consistent || got.Undecidable != want.After.Undecidable {
			t.Errorf("%s: %d groups, %d unmatched, %d/%d/%d, combine said %+v", filepath.Base(path), got.Groups, got.Unmatched, got.Violated, got.Consistent, got.Undecidable, want)
		}
		req.Output, req.Format = filepath.Join(t.TempDir(), "run"), FormatRun
		if x := validated(t, carriedAway(t, req.Output, combined(t, 2, req))); !reflect.DeepEqual(got.ByKind, x.ByKind) || !reflect.DeepEqual(got.Lost, x.Lost) || !reflect.DeepEqual(got.Worst, x.Worst) || !reflect.DeepEqual(got.Notes, x.Notes) {
			t.Errorf("%s: in JSON\n%+v\nin XSpace\n%+v", filepath.Base(path), got, x)
		}
		if got.Groups > 0 {
			judged++
		}
	}
	if judged < 1 {
		t.Errorf("%d recordings with collectives", judged)
	}
}

// TestNamesOfPlanesDoNotDecideWhatIsJudged: a scheme that hides host planes from tools does not hide them from validate.
func TestNamesOfPlanesDoNotDecideWhatIsJudged(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	for _, naming := range []naming{viewer, seed, tagged, rocmCode} {
		out := filepath.Join(t.TempDir(), "one.xplane.pb")
		doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: out, Naming: string(naming)})
		if got := validated(t, carriedAway(t, out, doc)); got.Groups != 240 || got.Consistent != 240 {
			t.Errorf("%s: %d groups, %d consistent, want 240", naming, got.Groups, got.Consistent)
		}
	}
}

// TestProfileStartTimeFitsTheEvents: whoever adds profile_start_time to the times of events gets aligned instants; what was recorded
// is kept beside.
func TestProfileStartTimeFitsTheEvents(t *testing.T) {
	inputs, probes, truth := jax(t, "p4")
	out := filepath.Join(t.TempDir(), "run")
	doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: out, Version: "1.2.3"})
	for k, o := range doc.Outputs {
		path := filepath.Join(out, o.Path)
		before, after := scanned(t, inputs[k].Path), scanned(t, path)
		if after.ProfileStartNS != doc.ZeroNS {
			t.Errorf("node %d: profile_start_time is %d, times count from %d", k, after.ProfileStartNS, doc.ZeroNS)
		}
		environment := after.Plane(xspace.PlaneTaskEnvironment)
		kept, _ := environment.Stat(xspace.StatRecordedStart).Integer()
		stop, _ := environment.Stat(xspace.StatRecordedStop).Integer()
		if kept != before.ProfileStartNS || stop != before.ProfileStopNS {
			t.Errorf("node %d: recorded start %d and stop %d are kept as %d and %d", k, before.ProfileStartNS, before.ProfileStopNS, kept, stop)
		}
		first, shown := instants(t, path, after.ProfileStartNS), instants(t, inputs[k].Path, before.ProfileStartNS)
		for i := range first {
			if off := first[i].start - truth.trueNS(k, shown[i].start); off > 30_000 || off < -30_000 {
				t.Fatalf("node %d: an event lies %d ns from the truth", k, off)
			}
		}
		m := marksOf(t, path)
		if n := m.Nodes[0]; m.Version != "1.2.3" || !m.Aligned || m.Reference != "node0" || n.ID != fmt.Sprintf("node%d", k) || n.BoundNS == nil || *n.BoundNS < doc.Nodes[k].BoundNS.Max {
			t.Errorf("node %d: %+v, the document says ±%d", k, m, doc.Nodes[k].BoundNS.Max)
		}
	}
}

func marksOf(t *testing.T, path string) *aligned.Mark {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	m, err := xspace.ReadMark(context.Background(), src, scanned(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return m.Mark
}

// TestASingleChromeTraceCarriesItsMark: in its own document, behind its own keys, and it is not moved again.
func TestASingleChromeTraceCarriesItsMark(t *testing.T) {
	dir := t.TempDir()
	event := `{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}`
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"node0": {"offset_ns": 0}, "node1": {"offset_ns": 1500, "bound_ns": 20}}}`))
	for name, text := range map[string]string{
		"keys behind":  `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [` + event + `], "traceName": "a"}` + "\n",
		"list last":    `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [` + event + `]}`,
		"base behind":  `{"traceEvents": [` + event + `], "baseTimeNanoseconds": 1700000000000000000 }`,
		"a bare list":  `[{"ph":"X","pid":1,"tid":1,"ts":1700000000000005.5,"dur":1.25,"name":"a"}]`,
		"base is text": `{"traceEvents": [` + event + `], "baseTimeNanoseconds": "1700000000000000000" }`,
	} {
		in := put(t, dir, "node1.json", []byte(text))
		out := filepath.Join(t.TempDir(), "node1.aligned.json")
		doc := combined(t, 1, Request{Inputs: []Input{{Path: in}}, Output: out, Declared: declared, Format: FormatChrome})
		src, err := file.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		trace, err := chrometrace.Scan(t.Context(), src, chrometrace.ScanOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := chrometrace.ReadMark(t.Context(), src, trace)
		src.Close()
		if err != nil || m == nil || m.Reference != "node0" || m.Nodes[0].ID != "node1" || m.Nodes[0].OffsetNS != 1500 || *m.Nodes[0].BoundNS != 20 {
			t.Errorf("%s: %+v, %v", name, m, err)
			continue
		}
		inputs := carriedAway(t, out, doc)
		again := filepath.Join(t.TempDir(), "again.json")
		combined(t, 1, Request{Inputs: inputs, Output: again, Format: FormatChrome})
		if a, b := plainBytes(t, inputs[0].Path), plainBytes(t, again); !bytes.Equal(a, b) {
			t.Errorf("%s: changed when combined again:\n%s\n%s", name, a, b)
		}
	}
}

// TestMarkedTracesOfDifferentClocksAreSaidToBe: aligned to different references, or joined from different runs.
func TestMarkedTracesOfDifferentClocksAreSaidToBe(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	var moved []Input
	for k, reference := range []string{"node0", "node3"} {
		out := filepath.Join(t.TempDir(), "run")
		doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: out, Reference: reference})
		moved = append(moved, carriedAway(t, out, doc)[k+1])
	}
	doc := combined(t, 2, Request{Inputs: moved, Output: filepath.Join(t.TempDir(), "mixed")})
	if said := strings.Join(doc.Warnings, "; "); doc.Status != StatusDegraded || !strings.Contains(said, "different clocks: node0, node3") {
		t.Errorf("%s: %s", doc.Status, said)
	}
	var both []byte
	for _, in := range moved {
		b, err := os.ReadFile(in.Path)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, b...)
	}
	_, err := Validate(job.New(t.Context(), job.Options{}), ValidateRequest{Request: Request{Inputs: []Input{{Path: put(t, t.TempDir(), "both.xplane.pb", both)}}}})
	if !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), "two alignments") {
		t.Errorf("joined files: %v", err)
	}
}

// TestADamagedMarkIsRefused: not taken for a trace as recorded.
func TestADamagedMarkIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":"prlx.mark/1","nodes":[]}`:   "speaks of 0 nodes",
		`{"schema":"prlx.mark/9","prlx":"7.0"}`: "a newer prlx wrote it",
		`[1,2]`:                                 "damaged",
		`{"schema":"prlx.mark/1","nodes":[{"id":"a","wall":{"knots":[[5,5,0,0],[4,4,0,0]]}}]}`:       "damaged",
		`{"schema":"prlx.mark/1","nodes":[{"id":"a","wall":{"knots":[[5,5,0,0]],"flags":[0,0,0]}}]}`: "damaged",
	} {
		in := put(t, t.TempDir(), "node0.json", []byte(`{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}], "prlxAlignment": `+text+`}`))
		_, _, err := Run(job.New(t.Context(), job.Options{}), Request{Inputs: []Input{{Path: in}}, Output: filepath.Join(t.TempDir(), "out.json")})
		if e := fault.Of(err); err == nil || e.Kind != fault.Format || !strings.Contains(e.Error()+e.Hint, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMergedTracesAreMergedAgain: marks of nodes survive a merge of merges, in both formats, and the verdicts with them.
func TestMergedTracesAreMergedAgain(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	run := filepath.Join(t.TempDir(), "run")
	single := carriedAway(t, run, combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: run}))
	kineto := dlrm(t)
	for name, c := range map[string]struct {
		inputs []Input
		output string
	}{"xspace": {single, "one.xplane.pb"}, "json": {kineto, "all.json"}, "crossed": {single, "all.json"}} {
		var parts []Input
		for i, part := range [][]Input{c.inputs[:1], c.inputs[1:]} {
			out := filepath.Join(t.TempDir(), c.output)
			one := carriedAway(t, out, combined(t, 2, Request{Inputs: part, Method: MethodWall, Output: out}))[0]
			parts = append(parts, Input{ID: fmt.Sprint("part", i), Path: one.Path})
		}
		out := filepath.Join(t.TempDir(), c.output)
		doc := combined(t, 2, Request{Inputs: parts, Output: out})
		whole, again := validated(t, c.inputs), validated(t, carriedAway(t, out, doc))
		if whole.Groups == 0 || again.Groups != whole.Groups || again.Violated != whole.Violated || again.Consistent != whole.Consistent || again.Undecidable != whole.Undecidable || again.Unmatched != whole.Unmatched {
			t.Errorf("%s: %+v, of the parts %+v", name, again, whole)
		}
		if got := doc.Collectives; got.Groups != whole.Groups {
			t.Errorf("%s: combine judged %+v", name, got)
		}
	}
}

// TestFilesOfEarlierVersionsHaveTheirBoundsFromTheDocument: they carry no mark; the document beside them has one bound a node.
func TestFilesOfEarlierVersionsHaveTheirBoundsFromTheDocument(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	dir := t.TempDir()
	doc := Document{Schema: Schema, Status: StatusAligned, Reference: "node0", Timebase: "host"}
	var copied []Input
	for k, in := range inputs {
		b, err := os.ReadFile(in.Path)
		if err != nil {
			t.Fatal(err)
		}
		copied = append(copied, Input{Path: put(t, dir, filepath.Base(in.Path), b)})
		doc.Outputs = append(doc.Outputs, Output{Path: filepath.Base(in.Path), Format: "xplane"})
		doc.Nodes = append(doc.Nodes, NodeResult{ID: fmt.Sprint("node", k), Method: MethodProbes, BoundNS: Bounds{Max: int64(k) * 50_000_000}})
	}
	doc.ZeroNS = scanned(t, copied[0].Path).ProfileStartNS - 1_000_000_000 // not what the files say
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := validated(t, copied); got.Violated != 240 {
		t.Errorf("without a document: %d violated, want 240", got.Violated)
	}
	put(t, dir, "alignment.json", text)
	if got := validated(t, copied); got.Violated != 0 || got.Undecidable == 0 {
		t.Errorf("with bounds of 50 ms: %d violated, %d undecidable", got.Violated, got.Undecidable)
	}
	if again := combined(t, 1, Request{Inputs: copied, Output: filepath.Join(t.TempDir(), "again")}); again.ZeroNS != doc.ZeroNS {
		t.Errorf("times count from %d, the document says %d", again.ZeroNS, doc.ZeroNS)
	}
	if _, _, err := Run(job.New(t.Context(), job.Options{Workers: 1}), Request{Inputs: copied, Probes: probes, Output: filepath.Join(t.TempDir(), "run")}); !fault.Is(err, fault.Incompatible) {
		t.Errorf("clock data for them: %v", err)
	}
}

// TestTooManyProgramsAreSaidAndNotJudged: a part of them would tell some collectives wrong.
func TestTooManyProgramsAreSaidAndNotJudged(t *testing.T) {
	d := &chromeDocument{marks: marks{mark: &aligned.Mark{Nodes: []aligned.Node{{Compiled: &aligned.Compiled{}}, {}}}}}
	d.programs.List, d.programs.Full = []aligned.Program{{Name: "a"}}, true
	d.settlePrograms()
	if m := d.marks.mark; m.Programs != nil || m.Nodes[0].Compiled != nil || len(d.said.warnings) != 1 || !strings.Contains(d.said.warnings[0], "validate") {
		t.Errorf("%+v, %q", m, d.said.warnings)
	}
}
