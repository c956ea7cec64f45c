package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// boundStats returns the bound that every timed event of an XSpace states, in stored order; -1 where it states none.
func boundStats(t *testing.T, path string) (out []int64) {
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
	err = xspace.Events(ctx, src, s, nil, func(_ *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
		if e.Aggregated || l.Name == "_counters_" {
			return nil
		}
		bound := int64(-1)
		for it := e.Stats(); it.Next(); {
			if st := it.Stat(); st.Name == boundStatName {
				bound = st.Int
			}
		}
		out = append(out, bound)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEventsCarryTheirBound: with the stat asked for, every event of the output states how far off it can be, and is not further off.
func TestEventsCarryTheirBound(t *testing.T) {
	for _, set := range []string{"p2", "p2_step"} {
		inputs, _, tr := jax(t, set)
		out := filepath.Join(t.TempDir(), "out")
		doc := combined(t, 2, Request{Inputs: inputs, Method: methodCollectives, Output: out, BoundStat: true})
		for k := range inputs {
			path := filepath.Join(out, doc.Outputs[k].Path)
			raw, got, bounds := instants(t, inputs[k].Path, 0), instants(t, path, doc.ZeroNS), boundStats(t, path)
			if len(bounds) != len(raw) {
				t.Fatalf("%s node %d: %d events of %d", set, k, len(bounds), len(raw))
			}
			outside, largest := 0, int64(0)
			for i, bound := range bounds {
				largest = max(largest, bound)
				for _, p := range [][2]int64{{raw[i].start, got[i].start}, {raw[i].end, got[i].end}} {
					if e := p[1] - tr.trueNS(k, p[0]); max(e, -e) > bound+2 { // both sides are rounded to ns
						outside++
					}
				}
			}
			if outside > 0 || largest < doc.Nodes[k].BoundNS.Max {
				t.Errorf("%s node %d: %d instants are further off than their event says; the largest bound is %d ns, of the document %d", set, k, outside, largest, doc.Nodes[k].BoundNS.Max)
			}
		}
	}
}

// TestEventsOfOneJSONCarryTheSameBound: what crosses to Chrome JSON states the bounds that XSpace does.
func TestEventsOfOneJSONCarryTheSameBound(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	dir := t.TempDir()
	run := combined(t, 1, Request{Inputs: inputs, Method: methodCollectives, Output: filepath.Join(dir, "run"), BoundStat: true})
	combined(t, 2, Request{Inputs: inputs, Method: methodCollectives, Output: filepath.Join(dir, "out.json"), BoundStat: true})
	want := map[int64]int{}
	for k := range inputs {
		for _, b := range boundStats(t, filepath.Join(dir, "run", run.Outputs[k].Path)) {
			want[b]++
		}
	}
	for _, e := range readChrome(t, filepath.Join(dir, "out.json")).Events {
		if e["ph"] == "X" {
			args, _ := e["args"].(map[string]any)
			v, ok := args[boundStatName].(json.Number)
			if !ok {
				t.Fatalf("an event without its bound: %v", e)
			}
			bound, err := v.Int64()
			if err != nil {
				t.Fatal(err)
			}
			want[bound]--
		}
	}
	for b, n := range want {
		if n != 0 {
			t.Errorf("%d events more state %d ns in XSpace than in JSON", n, b)
		}
	}
}

// TestJSONEventsCarryTheirBound: events of a Chrome trace receive it, those of the reference none but 0, and with the correction both.
func TestJSONEventsCarryTheirBound(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "rank0.json", []byte(`{"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
  {"ph": "X", "name": "k", "pid": 0, "tid": 7, "ts": 10.500, "dur": 2}]}`))
	b := put(t, dir, "rank1.json", []byte(`{"distributedInfo": {"rank": 1}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
  {"ph": "X", "name": "k", "pid": 1, "tid": 7, "ts": 12.500, "dur": 2, "args": {"a": 1}},
  {"ph": "C", "name": "memory", "pid": 1, "tid": 7, "ts": 12.500, "args": {"bytes": 1}}]}`))
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 0}, "rank1": {"offset_ns": 1500, "bound_ns": 250}}}`))
	for _, correction := range []bool{false, true} {
		out := filepath.Join(dir, "merged.json")
		combined(t, 1, Request{Inputs: []Input{{Path: a}, {Path: b}}, Output: out, Declared: declared, BoundStat: true, CorrectionStat: correction, Overwrite: true})
		got := map[string]string{}
		for _, e := range readChrome(t, out).Events {
			args, _ := e["args"].(map[string]any)
			switch {
			case e["ph"] == "X":
				got[fmt.Sprint(e["pid"])] = fmt.Sprint(args[boundStatName])
				if _, ok := args[correctionStatName]; ok != correction {
					t.Errorf("correction asked for: %v, event %v", correction, e)
				}
			case e["name"] == "memory" && len(args) != 1:
				t.Errorf("a counter got a series: %v", e)
			}
		}
		if got["1"] != "0" || got["2"] != "250" {
			t.Errorf("bounds by process %v, want 0 of the reference and 250", got)
		}
	}
	combined(t, 1, Request{Inputs: []Input{{Path: a}, {Path: b}}, Output: filepath.Join(dir, "wall.json"), Method: MethodWall, BoundStat: true})
	for _, e := range readChrome(t, filepath.Join(dir, "wall.json")).Events {
		if args, _ := e["args"].(map[string]any); fmt.Sprint(e["pid"]) == "2" && args[boundStatName] != nil {
			t.Errorf("nothing is known of this event's error, and it states a bound: %v", e)
		}
	}
}

// TestBoundsThatCannotBeStatedAreSaidSo: a warning names the nodes whose events were to carry a bound and carry none.
func TestBoundsThatCannotBeStatedAreSaidSo(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	never := false
	for name, r := range map[string]Request{"merged": {ApplyAlignment: &never}, "wall": {Method: MethodWall}, "aligned": {}} {
		r.Inputs, r.BoundStat, r.Output = inputs, true, filepath.Join(t.TempDir(), "out")
		doc := combined(t, 2, r)
		said := strings.Join(doc.Warnings, "; ")
		for k, n := range doc.Nodes {
			silent := !slices.ContainsFunc(boundStats(t, filepath.Join(r.Output, doc.Outputs[k].Path)), func(b int64) bool { return b >= 0 })
			if named := strings.Contains(said, "events of "+n.ID+" carry no bound (--bound-stat)"); named != silent {
				t.Errorf("%s: no event of %s carries a bound: %t; warnings are %q", name, n.ID, silent, said)
			}
			if want := name != "aligned" && k > 0; silent != want {
				t.Errorf("%s: no event of %s carries a bound: %t, want %t", name, n.ID, silent, want)
			}
		}
	}
}
