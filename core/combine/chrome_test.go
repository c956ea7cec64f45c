package combine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// chromeJSON is a Chrome document as an independent reader sees it: numbers as they are written.
type chromeJSON struct {
	Base   json.Number      `json:"baseTimeNanoseconds"`
	Unit   string           `json:"displayTimeUnit"`
	Events []map[string]any `json:"traceEvents"`
	Prlx   struct {
		Nodes []map[string]any `json:"nodes"`
	} `json:"prlx"`
}

func plainBytes(t testing.TB, path string) []byte {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b := make([]byte, src.Size())
	if _, err := src.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

func readChrome(t testing.TB, path string) *chromeJSON {
	t.Helper()
	var c chromeJSON
	d := json.NewDecoder(bytes.NewReader(plainBytes(t, path)))
	d.UseNumber()
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return &c
}

// picoseconds returns a number of microseconds as it was written, after base (ns), in ps.
func picoseconds(t testing.TB, v any, base json.Number) *big.Int {
	t.Helper()
	us, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		t.Fatalf("%v is not a number", v)
	}
	ns := new(big.Rat)
	if base != "" {
		ns.SetString(base.String())
	}
	ps := us.Mul(us, big.NewRat(1_000_000, 1))
	ps.Add(ps, ns.Mul(ns, big.NewRat(1000, 1)))
	if !ps.IsInt() {
		t.Fatalf("%v has digits beyond the picosecond", v)
	}
	return ps.Num()
}

// dlrm unpacks the eight ranks of one recorded job.
func dlrm(t testing.TB) []Input {
	t.Helper()
	f, err := os.Open(filetest.Data(t, "kineto/facebookresearch+param__dlrm_kineto.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	inputs := make([]Input, 8)
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return inputs
		}
		if err != nil {
			t.Fatal(err)
		}
		var rank int
		name := filepath.Base(h.Name)
		if _, err := fmt.Sscanf(name, "worker%d_", &rank); err != nil || !strings.HasSuffix(name, ".json") || strings.HasPrefix(name, "._") {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		inputs[rank] = Input{Path: put(t, dir, name, b)}
	}
}

func sampledPair(t testing.TB) []Input {
	t.Helper()
	return []Input{
		{Path: filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-0.json.gz")},
		{Path: filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-1.json.gz")},
	}
}

// expectMerged demands that a merged document holds every event of its inputs, in order, changed in nothing but pid, ids, names
// and, by exactly shiftNS of its node, in time.
func expectMerged(t *testing.T, got *chromeJSON, inputs []Input, shiftNS []int64) {
	t.Helper()
	at := 0
	owner := map[any]int{}
	for k, in := range inputs {
		raw := readChrome(t, in.Path)
		pids, tids := map[any]any{}, map[[2]any]any{}
		for i, want := range raw.Events {
			if at >= len(got.Events) {
				t.Fatalf("node %d: event %d of %d is missing", k, i, len(raw.Events))
			}
			e := got.Events[at]
			at++
			if pid, ok := want["pid"]; ok {
				to, known := pids[pid]
				if !known {
					if was, taken := owner[e["pid"]]; taken {
						t.Fatalf("pid %v belongs to nodes %d and %d", e["pid"], was, k)
					}
					pids[pid], owner[e["pid"]] = e["pid"], k
					to = e["pid"]
				}
				if e["pid"] != to {
					t.Fatalf("node %d, event %d: pid %v, want %v as before", k, i, e["pid"], to)
				}
			}
			if tid, ok := want["tid"].(string); ok { // text becomes a number
				at := [2]any{e["pid"], tid}
				if to, known := tids[at]; known && to != e["tid"] {
					t.Fatalf("node %d, event %d: tid %v, want %v as before", k, i, e["tid"], to)
				}
				if _, ok := e["tid"].(json.Number); !ok {
					t.Fatalf("node %d, event %d: tid %q", k, i, e["tid"])
				}
				tids[at] = e["tid"]
				delete(want, "tid")
				delete(e, "tid")
			}
			if want["ph"] == "M" {
				continue
			}
			if ts, ok := want["ts"]; ok {
				was, is := picoseconds(t, ts, raw.Base), picoseconds(t, e["ts"], got.Base)
				if moved := is.Sub(is, was); moved.Cmp(big.NewInt(shiftNS[k]*1000)) != 0 {
					t.Fatalf("node %d, event %d moved by %v ps, want %d ns", k, i, moved, shiftNS[k])
				}
				if picoseconds(t, e["ts"], "").Sign() < 0 {
					t.Fatalf("node %d, event %d lies before zero: ts %v", k, i, e["ts"])
				}
			}
			for _, key := range []string{"pid", "ts", "id", "bind_id"} {
				delete(want, key)
				delete(e, key)
			}
			if d := cmp.Diff(want, e); d != "" {
				t.Fatalf("node %d, event %d changed (-want +got):\n%s", k, i, d)
			}
		}
		for extra := 0; at < len(got.Events) && got.Events[at]["ph"] == "M" && owner[got.Events[at]["pid"]] == k && extra < 100; extra++ {
			at++ // names that the input does not give
		}
	}
	if at != len(got.Events) {
		t.Errorf("%d events, want %d", len(got.Events), at)
	}
	for n := 1; n <= len(owner); n++ {
		if _, ok := owner[json.Number(fmt.Sprint(n))]; !ok {
			t.Errorf("pids are not dense: there are %d, and %d is none", len(owner), n)
		}
	}
}

func TestKinetoRanksMergeIntoOneJSON(t *testing.T) {
	inputs := dlrm(t)
	out := filepath.Join(t.TempDir(), "merged.json")
	doc := combined(t, 2, Request{Inputs: inputs, Output: out})
	got := readChrome(t, out)
	expectMerged(t, got, inputs, make([]int64, len(inputs)))
	if got.Unit != "ns" || len(got.Prlx.Nodes) != 8 || fmt.Sprint(got.Prlx.Nodes[3]["rank"]) != "3" {
		t.Errorf("unit %q, nodes %v", got.Unit, got.Prlx.Nodes)
	}
	if c := doc.Collectives; c == nil || c.Groups != 8 || c.Before.Violated != 0 {
		t.Errorf("collectives %+v, want 8 groups, none violated: the ranks share a clock", c)
	}
	flows := map[string]int{}
	for _, e := range readChrome(t, out).Events {
		if ph := e["ph"]; ph == "s" || ph == "f" {
			flows[fmt.Sprint(e["id"], ph)]++
		}
	}
	for id, n := range flows {
		if n > 1 {
			t.Fatalf("flow %s occurs %d times: ids of ranks meet", id, n)
		}
	}
}

func TestDeclaredOffsetsMoveKinetoRanksExactly(t *testing.T) {
	inputs, dir := sampledPair(t), t.TempDir()
	declared := put(t, dir, "declared.toml", []byte("[nodes.rank0]\noffset_ns = 0\nbound_ns = 0\n[nodes.rank1]\noffset_ns = -123_456_789\nbound_ns = 250\n"))
	out := filepath.Join(dir, "merged.json.gz")
	doc := combined(t, 2, Request{Inputs: inputs, Output: out, Declared: declared, Method: MethodDeclared})
	expectMerged(t, readChrome(t, out), inputs, []int64{0, 123_456_789})
	r := doc.Nodes[1] // the ranks shared a clock: what is declared makes their collectives impossible
	if doc.Status != StatusDegraded || r.MinCorrectionNS != 123_456_789 || r.MaxCorrectionNS != 123_456_789 || r.BoundNS != (Bounds{P50: 250, P99: 250, Max: 250}) || r.Coverage != 1 {
		t.Errorf("status %s, corrections %d..%d, bounds %+v, coverage %v", doc.Status, r.MinCorrectionNS, r.MaxCorrectionNS, r.BoundNS, r.Coverage)
	}
	raw := readChrome(t, inputs[1].Path)
	if r.Events != int64(len(raw.Events)) || r.EventsCorrected == 0 || doc.Nodes[0].EventsCorrected != 0 {
		t.Errorf("events %d of %d, corrected %d and %d", r.Events, len(raw.Events), doc.Nodes[0].EventsCorrected, r.EventsCorrected)
	}
}

func TestMergedJSONDoesNotDependOnWorkers(t *testing.T) {
	inputs, declared := dlrm(t), put(t, t.TempDir(), "d.json", []byte(`{"nodes": {"worker0": {"offset_ns": 0}, "worker5": {"offset_ns": 77, "drift_ppm": 33.3, "at_ns": 1694128201430000000}}}`))
	for _, name := range []string{"merged.json", "merged.json.gz"} {
		var first []byte
		for _, workers := range []int{1, 4} {
			out := filepath.Join(t.TempDir(), name)
			j := job.New(context.Background(), job.Options{Workers: workers, MemoryLimit: int64(workers) * 8 << 20})
			if _, _, err := Run(j, Request{Inputs: inputs, Output: out, Declared: declared, CorrectionStat: true}); err != nil {
				t.Fatal(err)
			}
			both := []byte{}
			for _, p := range []string{out, out + ".alignment.json"} {
				b, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				both = append(both, b...)
			}
			if first == nil {
				first = both
			} else if !bytes.Equal(first, both) {
				t.Errorf("%s: %d workers write other bytes than one", name, workers)
			}
		}
	}
}

func TestASingleTraceWithoutCorrectionStaysAsItIs(t *testing.T) {
	for _, path := range append(filetest.Glob(t, "kineto/*.json*"), filetest.Glob(t, "jax_skew/*/*.json.gz")...) {
		out := filepath.Join(t.TempDir(), "out.json")
		doc := combined(t, 2, Request{Inputs: []Input{{ID: "a", Path: path}}, Output: out})
		if want := plainBytes(t, path); !bytes.Equal(plainBytes(t, out), want) {
			t.Errorf("%s: the output differs", filepath.Base(path))
		}
		if doc.Outputs[0].Bytes != int64(len(plainBytes(t, path))) {
			t.Errorf("%s: %d bytes stated", filepath.Base(path), doc.Outputs[0].Bytes)
		}
	}
}

func TestASingleTraceIsMovedInItsOwnDocument(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"base":  `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}], "other": [1, 2]}`,
		"array": `[ {"ph":"X","pid":1,"tid":1,"ts":1700000000000005.5,"dur":1.25,"name":"a"}, ]`,
	} {
		in := put(t, dir, "node1-"+name+".json", []byte(strings.Replace(text, ", ]", "]", 1)))
		declared := put(t, dir, "declared.json", []byte(`{"reference": "node0", "nodes": {"node0": {"offset_ns": 0, "bound_ns": 0}, "node1": {"offset_ns": 1000000, "bound_ns": 1}}}`))
		out := filepath.Join(t.TempDir(), name+".out.json")
		combined(t, 1, Request{Inputs: []Input{{ID: "node1", Path: in}}, Output: out, Declared: declared})
		got := readChrome(t, out)
		if ps := picoseconds(t, got.Events[0]["ts"], got.Base); ps.String() != "1699999999999005500000" {
			t.Errorf("%s: the event is at %v ps\n%s", name, ps, plainBytes(t, out))
		}
	}
}

func TestTimeRangeFromTheStartCountsFromTheFirstEvent(t *testing.T) {
	text := `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph":"M","pid":1,"tid":0,"ts":5000000,"name":"process_name","args":{"name":"p"}},
{"ph":"X","pid":1,"tid":1,"ts":5000000,"dur":10,"name":"first"},
{"ph":"X","pid":1,"tid":1,"ts":5000020,"dur":10,"name":"second"},
{"ph":"X","pid":1,"tid":1,"ts":5000040,"dur":10,"name":"third"}]}`
	dir := t.TempDir()
	from, to := int64(15_000), int64(35_000)
	out := filepath.Join(dir, "out.json")
	doc := combined(t, 1, Request{Inputs: []Input{{ID: "a", Path: put(t, dir, "in.json", []byte(text))}}, Output: out, TimeRange: []*int64{&from, &to}})
	var names []string
	for _, e := range readChrome(t, out).Events {
		names = append(names, fmt.Sprint(e["name"]))
	}
	if want := []string{"process_name", "second"}; !cmp.Equal(names, want) || doc.Nodes[0].EventsDropped != 2 {
		t.Errorf("kept %v, want %v; dropped %d", names, want, doc.Nodes[0].EventsDropped)
	}
}

// TestMergeOfTwoSmallTraces shows what a merged document looks like.
func TestMergeOfTwoSmallTraces(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "rank0.json", []byte(`{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
  {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
  {"ph": "X", "name": "k", "pid": 0, "tid": 7, "ts": 10.500, "dur": 2, "args": {}},
  {"ph": "f", "id": 41, "name": "ac2g", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 10.500, "bp": "e"}
], "traceName": "a"}`))
	b := put(t, dir, "rank1.json", []byte(`{"schemaVersion": 1, "distributedInfo": {"rank": 1}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
  {"ph": "X", "name": "k", "pid": "Spans", "tid": "stream 7", "ts": 12.501, "dur": 2.250, "args": {"a": [1, {"b": null}]}},
  {"ph": "f", "id": 41, "name": "ac2g", "cat": "ac2g", "pid": "Spans", "tid": "stream 7", "ts": 12.501}, {}
]}`))
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 0}, "rank1": {"offset_ns": 1500, "bound_ns": 0}}}`))
	out := filepath.Join(dir, "merged.json")
	combined(t, 1, Request{Inputs: []Input{{Path: a}, {Path: b}}, Output: out, Declared: declared, CorrectionStat: true, Version: "1.2.3"})
	want := `{
"schemaVersion": 1,
"displayTimeUnit": "ns",
"baseTimeNanoseconds": 1700000000000000000,
"distributedInfo": {"rank": 0},
"traceName": "a",
"traceEvents": [

  {"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "args": {"labels": "GPU 0, pid 0"}},
  {"ph": "X", "name": "k", "pid": 1, "tid": 7, "ts": 10.500, "dur": 2, "args": {"timestamp_correction_ns":0}},
  {"ph": "f", "id": 41, "name": "ac2g", "cat": "ac2g", "pid": 1, "tid": 7, "ts": 10.500, "bp": "e","args":{"timestamp_correction_ns":0}},
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank0 · GPU 0"}},
{"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":0}},
  {"ph": "X", "name": "k", "pid": 2, "tid": 1, "ts": 11.001, "dur": 2.250, "args": {"a": [1, {"b": null}], "timestamp_correction_ns":-1500}},
  {"ph": "f", "id": 83, "name": "ac2g", "cat": "ac2g", "pid": 2, "tid": 1, "ts": 11.001,"args":{"timestamp_correction_ns":-1500}},
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"rank1 · Spans"}},
{"ph":"M","name":"process_labels","pid":2,"tid":0,"args":{"labels":"pid Spans"}},
{"ph":"M","name":"process_sort_index","pid":2,"tid":0,"args":{"sort_index":1}},
{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"stream 7"}}
],
"prlx": {"nodes": [
{"id":"rank0","rank":0},
{"id":"rank1","rank":1,
"document":{
"distributedInfo": {"rank": 1},
"baseTimeNanoseconds":1700000000000000000}}
]},
"prlxAlignment": {"schema":"prlx.mark/1","prlx":"1.2.3","aligned":true,"reference":"rank0","timebase":"host","zero_ns":1700000000000000000,"nodes":[{"id":"rank0","host":"","rank":0,"method":"declared","offset_ns":0,"drift_ppm":0,"bound_ns":0,"own_zero":false,"processes":[1]},{"id":"rank1","host":"","rank":1,"method":"declared","offset_ns":1500,"drift_ppm":0,"bound_ns":0,"own_zero":false,"wall":{"knots":[[1000000000000001500,1000000000000000000,0,0]],"before_ppt":0,"after_ppt":0,"growth_ppb":0,"wander_ppb":0,"flags":[0,0]},"processes":[2]}]}
}
`
	if d := cmp.Diff(want, string(plainBytes(t, out))); d != "" {
		t.Errorf("merged document (-want +got):\n%s", d)
	}
}

func TestAMergeOfMergesKeepsWhatTheFirstOnesSaid(t *testing.T) {
	dir := t.TempDir()
	var inputs []Input
	for k := range 2 {
		text := fmt.Sprintf(`{"prlx": {"nodes": [{"id": "inner%d"}]}, "id": %d, "traceEvents": [{"ph":"i","pid":%d,"ts":1}]}`, k, k, k)
		inputs = append(inputs, Input{Path: put(t, dir, fmt.Sprintf("rank%d.json", k), []byte(text))})
	}
	out := filepath.Join(dir, "out.json")
	combined(t, 1, Request{Inputs: inputs, Output: out})
	for k, n := range readChrome(t, out).Prlx.Nodes {
		document := n["document"].(map[string]any)
		if got := fmt.Sprint(document["prlx"]); got != fmt.Sprintf("map[nodes:[map[id:inner%d]]]", k) || n["id"] != fmt.Sprintf("rank%d", k) {
			t.Errorf("node %d: %v", k, n)
		}
	}
}

// crossed is what a timed event of an XSpace must be in the JSON.
type crossed struct{ name, start, duration string }

func TestXSpacesCrossIntoChromeJSON(t *testing.T) {
	for _, path := range append(filetest.Glob(t, "xplane/*.xplane.pb"), filetest.Glob(t, "jax_skew/p2/*.xplane.pb")...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ctx := context.Background()
			src, err := file.Open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			s, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
			if err != nil {
				t.Skip("damaged upstream: ", err)
			}
			out := filepath.Join(t.TempDir(), "out.json")
			doc := combined(t, 2, Request{Inputs: []Input{{ID: "node0", Path: path}}, Output: out, Format: FormatChrome})
			var want []crossed
			timed, aggregated := int64(0), int64(0)
			err = xspace.Events(ctx, src, s, nil, func(_ *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
				if e.Aggregated {
					aggregated++
					return nil
				}
				timed++
				base := l.TimestampNS
				if base < xspace.AbsoluteNS {
					base += s.ProfileStartNS
				}
				ps := new(big.Int).Add(new(big.Int).Mul(big.NewInt(base), big.NewInt(1000)), big.NewInt(e.OffsetPS))
				want = append(want, crossed{e.Name(), ps.String(), fmt.Sprint(max(e.DurationPS, 0))})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := readChrome(t, out)
			i := 0
			for _, e := range got.Events {
				if e["ph"] != "X" {
					continue
				}
				name := e["name"]
				if args, ok := e["args"].(map[string]any); ok && args["long_name"] != nil {
					name = args["long_name"]
				}
				c := crossed{fmt.Sprint(name), picoseconds(t, e["ts"], got.Base).String(), picoseconds(t, e["dur"], "").String()}
				if s.ProfileStartNS == 0 { // the file's own zero is the output's
					c.start = picoseconds(t, e["ts"], "").String()
				}
				if i >= len(want) || c != want[i] && !strings.HasSuffix(c.name, "…") {
					t.Fatalf("event %d: got %+v, want %+v", i, c, want[min(i, len(want)-1)])
				}
				i++
			}
			if i != len(want) || doc.Nodes[0].Events != timed+aggregated {
				t.Errorf("%d events, want %d; stated %d", i, len(want), doc.Nodes[0].Events)
			}
		})
	}
}

func TestXSpaceAndKinetoShareOneTimeline(t *testing.T) {
	dir := t.TempDir()
	kineto := put(t, dir, "node1.json", []byte(`{"baseTimeNanoseconds": 1795226000000000000, "traceEvents": [{"ph":"X","name":"k","pid":0,"tid":7,"ts":81526501.402,"dur":2.5}]}`))
	inputs := []Input{{Path: filetest.Data(t, "jax_skew/p2/node0.xplane.pb")}, {Path: kineto}}
	out := filepath.Join(dir, "mixed.json")
	doc := combined(t, 2, Request{Inputs: inputs, Output: out})
	got := readChrome(t, out)
	last := got.Events[len(got.Events)-1]
	for _, e := range got.Events {
		if e["ph"] == "X" && e["name"] == "k" {
			last = e
		}
	}
	if ps := picoseconds(t, last["ts"], got.Base); ps.String() != "1795226081526501402000" {
		t.Errorf("the kernel is at %v ps", ps)
	}
	if doc.Outputs[0].Format != "chrome" || len(doc.Nodes[0].Warnings) == 0 {
		t.Errorf("format %s; what has no place is not said: %v", doc.Outputs[0].Format, doc.Nodes[0].Warnings)
	}
}

func TestDamagedXSpacesCrossOrFailClearly(t *testing.T) {
	cuts, flips, _ := sweep()
	r := rand.New(rand.NewPCG(5, 3))
	for _, rel := range []string{"xplane/AMD-AGI+TraceLens__jax_conv_minimal_08__tw003.xplane.pb", "jax_skew/p2/node0.xplane.pb"} {
		whole := plainBytes(t, filetest.Data(t, rel))
		for k := range cuts + flips {
			b := bytes.Clone(whole)
			if k < cuts {
				b = b[:r.IntN(len(b))]
			} else {
				b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
			}
			dir := t.TempDir()
			out := filepath.Join(dir, "out.json")
			req := Request{Inputs: []Input{{ID: "node0", Path: put(t, dir, "in.pb", b)}}, Output: out, Format: FormatChrome}
			if _, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), req); err != nil {
				if fault.Is(err, fault.Internal) {
					t.Fatalf("%s, damage %d: %v", rel, k, err)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); len(left) != 0 {
					t.Fatalf("%s, damage %d: left behind %v", rel, k, left)
				}
				continue
			}
			if text := plainBytes(t, out); !json.Valid(text) {
				t.Fatalf("%s, damage %d: the output is no JSON", rel, k)
			}
		}
	}
}
