package combine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// oneDamaged is a job of four whose third trace is damaged, in a directory of its own.
func oneDamaged(t *testing.T, damage func([]byte) []byte) (inputs []Input, probes []string) {
	t.Helper()
	whole, probes, _ := jax(t, "p4")
	dir := t.TempDir()
	for k, in := range whole {
		b, err := os.ReadFile(in.Path)
		if err != nil {
			t.Fatal(err)
		}
		if k == 2 {
			b = damage(b)
		}
		inputs = append(inputs, Input{ID: in.ID, Path: put(t, dir, filepath.Base(in.Path), b)})
	}
	return inputs, probes
}

func cutInHalf(b []byte) []byte { return b[:len(b)/2] }

// TestOneUnreadableNodeIsLeftOutAndNamed: on request alone; in the verdict, the document and a warning, and an output is never put in
// its place. The others are what they are without it.
func TestOneUnreadableNodeIsLeftOutAndNamed(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":   cutInHalf,
		"empty": func([]byte) []byte { return nil },
		"text":  func([]byte) []byte { return []byte("hello, world") },
	} {
		inputs, probes := oneDamaged(t, damage)
		bad := inputs[2].Path
		r := Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "run")}
		j := job.New(t.Context(), job.Options{Workers: 2})
		if _, _, err := Run(j, r); !fault.Is(err, fault.Format) || fault.Of(err).Path != bad {
			t.Errorf("%s: without being asked: %v", name, err)
		}
		r.SkipUnreadable = true
		doc := combined(t, 2, r)
		var ids []string
		for _, n := range doc.Nodes {
			ids = append(ids, n.ID)
		}
		if !slices.Equal(ids, []string{"node0", "node1", "node3"}) || doc.Status != StatusDegraded {
			t.Errorf("%s: nodes %v, %s", name, ids, doc.Status)
		}
		if len(doc.Skipped) != 1 || doc.Skipped[0].Path != "node2.xplane.pb" || doc.Skipped[0].Error == "" {
			t.Errorf("%s: left out are %+v", name, doc.Skipped)
		}
		if !strings.Contains(doc.Verdict, "3 nodes") || !strings.HasSuffix(doc.Verdict, "left out, as unreadable: node2.xplane.pb") {
			t.Errorf("%s: the verdict is %q", name, doc.Verdict)
		}
		if said := strings.Join(doc.Warnings, "; "); !strings.Contains(said, "node2.xplane.pb was left out: "+doc.Skipped[0].Error) {
			t.Errorf("%s: warnings are %q", name, said)
		}
		if err := doc.Strict(r.Output); !fault.Is(err, fault.Partial) {
			t.Errorf("%s: strict accepts it: %v", name, err)
		}
		judged, err := Validate(j, ValidateRequest{Request: Request{Inputs: inputs, SkipUnreadable: true}})
		if err != nil || len(judged.Skipped) != 1 || !strings.Contains(judged.Verdict, "left out, as unreadable: node2.xplane.pb") {
			t.Errorf("%s: validate: %+v, %v", name, judged, err)
		}
		without := Request{Inputs: slices.Delete(slices.Clone(inputs), 2, 3), Probes: probes, Output: filepath.Join(t.TempDir(), "run")}
		combined(t, 2, without)
		for _, o := range doc.Outputs {
			a, _ := os.ReadFile(filepath.Join(r.Output, o.Path))
			b, err := os.ReadFile(filepath.Join(without.Output, o.Path))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s is not what it is without the node that was left out", name, o.Path)
			}
		}
		r.Output, r.Overwrite, r.Format = bad, true, FormatXPlane
		if _, _, err := Run(j, r); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: an output in place of the trace that was left out: %v", name, err)
		}
	}
}

// TestNodesKeepTheirPlacesWhenOneIsLeftOut: those that are named by their order are not renumbered.
func TestNodesKeepTheirPlacesWhenOneIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	inputs := []Input{
		{Path: put(t, dir, "x.json", []byte(`[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2}]`))},
		{Path: put(t, dir, "y.json", nil)},
		{Path: put(t, dir, "z.json", []byte(`[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2}]`))},
	}
	doc := combined(t, 1, Request{Inputs: inputs, SkipUnreadable: true, Output: filepath.Join(dir, "out.json")})
	if len(doc.Nodes) != 2 || doc.Nodes[0].ID != "node0" || doc.Nodes[1].ID != "node2" {
		t.Errorf("nodes %+v", doc.Nodes)
	}
}

// TestNothingReadableIsAnError: with the first of them.
func TestNothingReadableIsAnError(t *testing.T) {
	dir := t.TempDir()
	inputs := []Input{{Path: put(t, dir, "node0.json", []byte(`{"traceEvents": [}`))}, {Path: put(t, dir, "node1.json", nil)}}
	_, _, err := Run(job.New(t.Context(), job.Options{}), Request{Inputs: inputs, SkipUnreadable: true, Output: filepath.Join(dir, "out.json")})
	if e := fault.Of(err); !fault.Is(err, fault.Format) || !strings.HasSuffix(e.Path, "node0.json") || !strings.Contains(e.Msg, "none of the 2 traces") {
		t.Errorf("got %v", err)
	}
}

// TestACutTraceIsSalvaged: an XSpace and a JSON, on request alone; what was lost is in the document, the verdict and a warning.
func TestACutTraceIsSalvaged(t *testing.T) {
	inputs, probes := oneDamaged(t, cutInHalf)
	j := job.New(t.Context(), job.Options{Workers: 2})
	r := Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "run"), Salvage: true}
	doc := combined(t, 2, r)
	n := doc.Nodes[2]
	if n.Salvaged == nil || n.Salvaged.MissingBytes == 0 || n.Events == 0 || !slices.Contains(n.Warnings, n.Salvaged.Sentence()) {
		t.Errorf("node %s: %+v, %d events, %q", n.ID, n.Salvaged, n.Events, n.Warnings)
	}
	if doc.Nodes[0].Salvaged != nil || !strings.HasSuffix(doc.Verdict, "cut and salvaged: node2") {
		t.Errorf("%q, and of a whole trace %+v", doc.Verdict, doc.Nodes[0].Salvaged)
	}
	if err := doc.Strict(r.Output); !fault.Is(err, fault.Partial) {
		t.Errorf("strict accepts it: %v", err)
	}
	judged, err := Validate(j, ValidateRequest{Request: Request{Inputs: inputs, Salvage: true}})
	if err != nil || len(judged.Salvaged) != 1 || judged.Salvaged[0].ID != "node2" || !strings.Contains(judged.Verdict, "cut and salvaged: node2") {
		t.Errorf("validate: %+v, %v", judged, err)
	}
	text := plainBytes(t, dlrm(t)[0].Path)
	cut := []Input{{Path: put(t, t.TempDir(), "rank0.json", text[:len(text)/2])}}
	out := filepath.Join(t.TempDir(), "out.json")
	if _, _, err := Run(j, Request{Inputs: cut, Output: out}); !fault.Is(err, fault.Format) {
		t.Errorf("without being asked: %v", err)
	}
	doc = combined(t, 2, Request{Inputs: cut, Output: out, Salvage: true})
	if s := doc.Nodes[0].Salvaged; s == nil || s.LeftOutBytes == 0 || len(readChrome(t, out).Events) < 1000 {
		t.Errorf("JSON: %+v, %d events", s, len(readChrome(t, out).Events))
	}
}

// TestScansInOtherProcessesSkipAndSalvage as one process does.
func TestScansInOtherProcessesSkipAndSalvage(t *testing.T) {
	for name, opt := range map[string]LoadOptions{"skip": {SkipUnreadable: true}, "salvage": {Salvage: true}} {
		inputs, probes := oneDamaged(t, cutInHalf)
		j := job.New(t.Context(), job.Options{Workers: 2})
		r := Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "run"), SkipUnreadable: opt.SkipUnreadable, Salvage: opt.Salvage}
		want := combined(t, 2, r)
		r.Output = filepath.Join(t.TempDir(), "run")
		got, err := elsewhere(t, j, r, opt)
		if err != nil || got.Verdict != want.Verdict || len(got.Skipped) != len(want.Skipped) || !slices.Equal(got.Warnings, want.Warnings) {
			t.Errorf("%s: %q, want %q: %v", name, got.Verdict, want.Verdict, err)
		}
		for k := range want.Outputs {
			if got.Outputs[k] != want.Outputs[k] {
				t.Errorf("%s: %+v, want %+v", name, got.Outputs[k], want.Outputs[k])
			}
		}
	}
}

// elsewhere combines by tasks, as an executor runs them.
func elsewhere(t *testing.T, j *job.Job, r Request, opt LoadOptions) (*Document, error) {
	t.Helper()
	var scans []Scanned
	for _, in := range r.Inputs {
		s, err := ScanNode(j, in, len(r.Inputs), opt)
		if err != nil {
			t.Fatal(err)
		}
		scans = append(scans, *s)
	}
	plan, err := Plan(j, r, scans)
	if err != nil {
		t.Fatal(err)
	}
	var done []NodeDone
	for _, task := range plan.Tasks {
		d, err := WriteNode(j, task)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, *d)
	}
	return Finish(plan, done)
}
