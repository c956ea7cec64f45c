package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// curves are the values of counters by name, at instants of the output's clock in ns.
type curves map[string][][2]int64

// xspaceCurves reads the counters of an XSpace, as viewers do: from lines of their name, values in a stat.
func xspaceCurves(t *testing.T, path string, zeroNS int64) curves {
	t.Helper()
	ctx := context.Background()
	src, err := file.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := curves{}
	err = xspace.Events(ctx, src, s, nil, func(p *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
		if l.Name != "_counters_" {
			return nil
		}
		if !strings.HasPrefix(p.Name, "/device:CUSTOM:clock of ") || e.DurationPS != 0 {
			t.Errorf("a counter of plane %s that lasts %d ps", p.Name, e.DurationPS)
		}
		for it := e.Stats(); it.Next(); {
			if st := it.Stat(); st.Name == "ns" {
				out[e.Name()] = append(out[e.Name()], [2]int64{zeroNS + l.TimestampNS + e.OffsetPS/1000, st.Int})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// jsonCurves reads the counters that prlx adds to a JSON.
func jsonCurves(t *testing.T, path string, zeroNS int64) curves {
	t.Helper()
	out := curves{}
	for _, e := range readChrome(t, path).Events {
		name := fmt.Sprint(e["name"])
		if e["ph"] != "C" || !strings.HasPrefix(name, "clock of ") {
			continue
		}
		us, err := strconv.ParseFloat(e["ts"].(json.Number).String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		v, err := e["args"].(map[string]any)["ns"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = append(out[name], [2]int64{zeroNS + int64(math.Round(us*1000)), v})
	}
	return out
}

// expectCurves compares curves of one node with its map.
func expectCurves(t *testing.T, got curves, node string, m *clock.Map) {
	t.Helper()
	offset, bound := got["clock of "+node+" ahead by"], got["clock of "+node+" bound"]
	if len(offset) < 100 || len(offset) != len(bound) {
		t.Fatalf("%s: %d offsets and %d bounds", node, len(offset), len(bound))
	}
	for i := range offset {
		x := offset[i][0] + offset[i][1] // the instant of the node's clock
		y, b, _ := m.At(x)
		if offset[i][0] != bound[i][0] || max(y-offset[i][0], offset[i][0]-y) > 1 || b != bound[i][1] {
			t.Fatalf("%s at %d ns: offset %d, bound %d; the map says %d and %d", node, offset[i][0], offset[i][1], bound[i][1], x-y, b)
		}
		if i > 0 && offset[i][0] <= offset[i-1][0] {
			t.Fatalf("%s: %d ns comes after %d ns", node, offset[i][0], offset[i-1][0])
		}
	}
}

// TestClocksAreDrawn: beside the events stand the offset and the bound of each node over time, in every format.
func TestClocksAreDrawn(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	for name, opt := range map[string]Request{"run": {Format: FormatRun}, "one.xplane.pb": {}, "one.json": {}} {
		opt.Inputs, opt.Method, opt.BoundStat, opt.Output = inputs, methodCollectives, true, filepath.Join(t.TempDir(), name)
		doc, evidence, err := Run(job.New(context.Background(), job.Options{Workers: 2}), opt)
		if err != nil {
			t.Fatal(err)
		}
		got := curves{}
		for _, o := range doc.Outputs {
			read, path := xspaceCurves, opt.Output
			if opt.Format == FormatRun {
				path = filepath.Join(opt.Output, o.Path)
			}
			if name == "one.json" {
				read = jsonCurves
			}
			for k, v := range read(t, path, doc.ZeroNS) {
				got[k] = append(got[k], v...)
			}
			if b, err := os.ReadFile(path); err != nil || int64(len(b)) != o.Bytes {
				t.Errorf("%s has %d bytes, %d stated (%v)", path, len(b), o.Bytes, err)
			}
		}
		if len(got) != 4 {
			t.Errorf("%s: %d curves, want two of each node", name, len(got))
		}
		for k, n := range evidence.Nodes {
			expectCurves(t, got, n.ID, evidence.Nodes[k].Wall)
		}
		// What has curves can be read again: they belong to no node, and nothing moves.
		in := opt.Output
		again, err := Validate(job.New(context.Background(), job.Options{Workers: 1}), ValidateRequest{Request: Request{Inputs: []Input{{Path: in}}}})
		if name != "run" && (err != nil || again.Violated != 0 || again.Groups != doc.Collectives.Groups) {
			t.Errorf("%s: read again %+v, %v", name, again, err)
		}
	}
}

// TestClocksAreDrawnElsewhere: tasks of an executor write the same bytes, stats and curves included.
func TestClocksAreDrawnElsewhere(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	r := Request{Inputs: inputs, Method: methodCollectives, BoundStat: true, CorrectionStat: true, Output: filepath.Join(t.TempDir(), "run")}
	want := combined(t, 2, r)
	r.Output = filepath.Join(t.TempDir(), "run")
	got, err := elsewhere(t, job.New(t.Context(), job.Options{Workers: 2}), r, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range want.Outputs {
		if got.Outputs[k] != want.Outputs[k] {
			t.Errorf("%+v, want %+v", got.Outputs[k], want.Outputs[k])
		}
	}
}

// TestOneJSONThatIsAlignedGetsAProcessOfItsOwn: whose number no process of the trace has.
func TestOneJSONThatIsAlignedGetsAProcessOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	in := put(t, dir, "rank1.json", []byte(`{"distributedInfo": {"rank": 1}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
  {"ph": "X", "name": "k", "pid": "Spans", "tid": 7, "ts": 12.5, "dur": 2}, {"ph": "X", "name": "k", "pid": 41, "tid": 7, "ts": 12000.5, "dur": 2}]}`))
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0}, "rank1": {"offset_ns": 1500, "bound_ns": 250}}}`))
	for want, ask := range map[int]bool{0: false, 2: true} {
		out := filepath.Join(t.TempDir(), "out.json")
		doc := combined(t, 1, Request{Inputs: []Input{{Path: in}}, Output: out, Declared: declared, BoundStat: ask})
		got := jsonCurves(t, out, doc.ZeroNS)
		if len(got) != want {
			t.Fatalf("%d curves, want %d", len(got), want)
		}
		for _, e := range readChrome(t, out).Events {
			if e["ph"] == "C" && fmt.Sprint(e["pid"]) != "42" {
				t.Fatalf("pid %v, want 42", e["pid"])
			}
		}
		for _, points := range got {
			for _, p := range points {
				if p[1] != 1500 && p[1] != 250 {
					t.Fatalf("values %v", points)
				}
			}
		}
	}
}
