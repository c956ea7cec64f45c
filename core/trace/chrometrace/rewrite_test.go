package chrometrace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

func ptr[T any](v T) *T { return &v }

func TestRewriteChangesOnlyWhatTheEditNames(t *testing.T) {
	drift, err := clock.New([]clock.Knot{{X: 0, Y: 1000}, {X: 1_000_000, Y: 1_002_000}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in, want string
		edit           edit
	}{
		{
			"shift keeps spelling and spaces",
			`{ "traceEvents" : [ {"ph":"X", "ts" : 10.500 ,"dur":2.0, "args":{"ts":10.5}} ,  {"ts":"7","x":1e3} ] }`,
			`{ "traceEvents" : [ {"ph":"X", "ts" : 12.500 ,"dur":2.0, "args":{"ts":10.5}} ,  {"ts":"9","x":1e3} ] }`,
			edit{Clock: clock.Shift(2000, 0)},
		},
		{
			"shift by ns takes decimals",
			`[{"ts":10},{"ts":10.25},{"ts":1e1},{"ts":-0.001}]`, `[{"ts":10.001},{"ts":10.251},{"ts":10.001},{"ts":0.000}]`,
			edit{Clock: clock.Shift(1, 0)},
		},
		{
			"starts and ends are mapped, rounded to ns",
			`[{"ts":100.000,"dur":100.000,"tts":3,"tdur":4}]`, `[{"ts":101.100,"dur":100.100,"tts":3,"tdur":4}]`,
			edit{Clock: drift},
		},
		{
			"picoseconds are kept where the trace has them",
			`[{"ts":100.000001,"dur":0.5}]`, `[{"ts":101.100001,"dur":0.5005}]`,
			edit{Clock: drift},
		},
		{
			"another base",
			`{"baseTimeNanoseconds":5000,"traceEvents":[{"ts":10}]}`, `{"baseTimeNanoseconds":3000,"traceEvents":[{"ts":12}]}`,
			edit{OutputBaseNS: ptr(int64(3000))},
		},
		{
			"a base that is a string, behind the events",
			`{"traceEvents":[{"ts":10}],"baseTimeNanoseconds":"5000"}`, `{"traceEvents":[{"ts":11}],"baseTimeNanoseconds":"4000"}`,
			edit{OutputBaseNS: ptr(int64(4000))},
		},
		{
			"a base where there was none",
			`{"traceEvents":[{"ts":1623143093496439}]}`, `{"baseTimeNanoseconds":1623143093000000000,"traceEvents":[{"ts":496439}]}`,
			edit{OutputBaseNS: ptr(int64(1623143093000000000))},
		},
		{
			"a base for a bare list",
			`[{"ts":10}]`, `{"baseTimeNanoseconds":1000,"displayTimeUnit":"ns","traceEvents":[{"ts":9}]}` + "\n",
			edit{OutputBaseNS: ptr(int64(1000))},
		},
		{
			"pids and names",
			`[{"ph":"M","name":"process_name","pid":3,"args":{"name":"python" }},{"pid":3,"ph":"i"},{"pid":"Spans","ph":"i"},{"ph":"M","name":"process_sort_index","pid":3,"args":{"sort_index":5}}]`,
			`[{"ph":"M","name":"process_name","pid":1003,"args":{"name":"rank 1 · \"h\"" }},{"pid":1003,"ph":"i"},{"pid":"Spans 1","ph":"i"},{"ph":"M","name":"process_sort_index","pid":1003,"args":{"sort_index":-7}}` +
				",\n" + `{"ph":"M","name":"process_labels","pid":1003,"tid":0,"args":{"labels":"GPU 0"}},` + "\n" + `{"ph":"M","name":"process_name","pid":"Spans 1","tid":0,"args":{"name":"s"}}]`,
			edit{Processes: []processEdit{{PID: "1003", Name: ptr(`rank 1 · "h"`), Labels: ptr("GPU 0"), SortIndex: ptr(int64(-7))}, {PID: `"Spans 1"`, Name: ptr("s")}}},
		},
		{
			"a dropped process",
			`[ {"pid":1}, {"pid":2}, {"pid":1}, {"pid":3} ]`, `[ {"pid":2}, {"pid":3} ]`,
			edit{Processes: []processEdit{{Drop: true}}},
		},
		{
			"nothing is left",
			`[ {"pid":1}, {"pid":1} ,]`, `[ ]`,
			edit{Processes: []processEdit{{Drop: true}}},
		},
		{
			"ids",
			`[{"id":7},{"id":"7"},{"id":"0xFF"},{"id":"a\"b"},{"id":-1},{"id":2.5},{"id2":{"local":"0x1","global":3}},{"bind_id":"0x10","sf":4},{"id":9007199254740992}]`,
			`[{"id":1007},{"id":"1007"},{"id":"0x10000000000ff"},{"id":"n1:a\"b"},{"id":"n1:-1"},{"id":"n1:2.5"},{"id2":{"local":"0x1000000000001","global":1003}},{"bind_id":"0x1000000000010","sf":"n1:4"},{"id":"0x21000000000000"}]`,
			edit{IDs: idEdit{Offset: 1000, HexOffset: 1 << 48, Prefix: "n1:"}},
		},
		{
			"empty events",
			`[{"pid":1},{},null , { }]`, `[{"pid":1}]`,
			edit{DropEmpty: true},
		},
		{
			"a time range keeps what overlaps, and names",
			`[{"ph":"M","ts":0,"name":"x"},{"ts":1,"dur":1},{"ts":1,"dur":2},{"ts":2},{"ts":3},{"ts":9,"dur":1},{"pid":1},{"ts":"?"}]`,
			`[{"ph":"M","ts":0,"name":"x"},{"ts":1,"dur":2},{"ts":2},{"ts":3},{"pid":1},{"ts":"?"}]`,
			edit{KeepFromNS: ptr(int64(2000)), KeepToNS: ptr(int64(9000))},
		},
		{
			"the correction as an arg",
			`[{"ts":1,"args":{"a":1 }},{"ts":1,"args":{ }},{"ts":1},{"ph":"C","ts":1,"args":{"a":1}},{"ph":"M","ts":1},{"ts":1,"args":[]}]`,
			`[{"ts":1.005,"args":{"a":1, "prlx_correction_ns":5 }},{"ts":1.005,"args":{"prlx_correction_ns":5 }},{"ts":1.005,"args":{"prlx_correction_ns":5}},{"ph":"C","ts":1.005,"args":{"a":1}},{"ph":"M","ts":1.005},{"ts":1.005,"args":[]}]`,
			edit{Clock: clock.Shift(5, 0), CorrectionArg: correctionArg},
		},
		{
			"the bound as an arg: that of the start or of the end, whichever is more, behind the correction",
			`[{"ts":1,"dur":1,"args":{"a":1}},{"ts":2,"dur":1,"args":{}},{"ts":3},{"ph":"C","ts":1,"args":{"a":1}},{"ph":"M","ts":1}]`,
			`[{"ts":1,"dur":1,"args":{"a":1, "correction":0, "bound":70}},{"ts":2,"dur":1,"args":{"correction":0, "bound":70}},{"ts":3,"args":{"correction":0, "bound":20}},{"ph":"C","ts":1,"args":{"a":1}},{"ph":"M","ts":1}]`,
			edit{Clock: bounded(t, 10, 70, 20), CorrectionArg: "correction", BoundArg: "bound"},
		},
		{
			"the bound alone",
			`[{"ts":1,"args":{}},{"ts":2}]`,
			`[{"ts":1,"args":{"bound":10}},{"ts":2,"args":{"bound":70}}]`,
			edit{Clock: bounded(t, 10, 70, 20), BoundArg: "bound"},
		},
		{
			"keys spelled with escapes",
			`[{"\u0074s":1,"p\u0069d":4}]`, `[{"\u0074s":2,"p\u0069d":5}]`,
			edit{Clock: clock.Shift(1000, 0), Processes: []processEdit{{PID: "5"}}},
		},
		{
			"what is not a time stays",
			`[{"ts":null},{"ts":"soon"},{"ts":1e300},{"ts":1,"dur":"long"}]`, `[{"ts":null},{"ts":"soon"},{"ts":1e300},{"ts":1,"dur":"long"}]`,
			edit{Clock: clock.Shift(1000, 0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := bytesSource(t, []byte(c.in))
			for _, chunk := range []int{1, 1 << 20} {
				tr := mustScan(t, src, ScanOptions{ChunkBytes: chunk})
				out, _ := mustRewrite(t, src, tr, c.edit)
				want := c.want
				if chunk == 1 { // the white space around dropped events may differ
					out, want = compact(t, out), string(compact(t, []byte(want)))
				}
				if d := cmp.Diff(want, string(out)); d != "" {
					t.Fatalf("chunks of %d bytes (-want +got):\n%s", chunk, d)
				}
			}
		})
	}
}

func compact(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return bytes.ReplaceAll(b, []byte(" "), nil)
	}
	return out.Bytes()
}

// rankClock is the exact inverse of a generated rank's clock near the job, as a map.
func rankClock(t *testing.T, o chrometracetest.Options) *clock.Map {
	t.Helper()
	var knots []clock.Knot
	for s := int64(-2); s <= 20; s++ {
		at := chrometracetest.Epoch + s*1_000_000_000
		knots = append(knots, clock.Knot{X: o.Shown(at), Y: at, BoundNS: 100 + s})
	}
	m, err := clock.New(knots)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRewriteBringsEveryRankToTrueTimeWithinOneNanosecond(t *testing.T) {
	for rank, o := range []chrometracetest.Options{
		{},
		{OffsetNS: 37_591_600_123, DriftPPB: 120_000},
		{OffsetNS: -500_000_000, DriftPPB: -100_000, BaseLast: true},
		{OffsetNS: 250_001, DriftPPB: 35_000, NoBase: true},
		{OffsetNS: -77, DriftPPB: -80_000, Indent: true},
	} {
		o.Seed, o.Rank, o.World, o.Bytes = uint64(rank), rank, 5, 1<<20
		doc, truth := chrometracetest.Generate(o)
		src := bytesSource(t, doc)
		tr := mustScan(t, src, ScanOptions{ChunkBytes: 1 << 16})
		if tr.rank() != rank || tr.Distributed.WorldSize != 5 || tr.Timed != int64(len(truth)) {
			t.Fatalf("rank %d of %d with %d timed events, want %d of 5 with %d", tr.rank(), tr.Distributed.WorldSize, tr.Timed, rank, len(truth))
		}
		base := chrometracetest.Base - 7_000_000_001
		out, counts := mustRewrite(t, src, tr, edit{Clock: rankClock(t, o), OutputBaseNS: &base, Sample: true})
		if counts.Extrapolated != 0 || counts.Bounds.Max() > 121 || counts.Bounds.Total() != tr.Timed {
			t.Fatalf("%d extrapolated, bounds up to %d ns over %d events", counts.Extrapolated, counts.Bounds.Max(), counts.Bounds.Total())
		}
		again := bytesSource(t, out)
		i := 0
		err := Events(context.Background(), again, mustScan(t, again, ScanOptions{}), func(ph byte, _, _ []byte) bool { return ph != 'M' }, func(e *Event) error {
			want := truth[i]
			i++
			if string(e.Name) != want.Name {
				t.Fatalf("event %d is %s, want %s", i, e.Name, want.Name)
			}
			if d := e.Start.NS - want.TrueNS; d < -1 || d > 1 || e.Start.PS != 0 {
				t.Fatalf("rank %d, event %d starts at %d, %d ns off", rank, i, e.Start.NS, d)
			}
			stretched := want.DurationNS - want.DurationNS*o.DriftPPB/1e9
			if d := e.DurationPS/1000 - stretched; d < -1 || d > 1 {
				t.Fatalf("rank %d, event %d lasts %d ps, want %d ns", rank, i, e.DurationPS, stretched)
			}
			return nil
		})
		if err != nil || i != len(truth) {
			t.Fatalf("%d events, want %d: %v", i, len(truth), err)
		}
	}
}

// Nested stays nested and order stays order, because starts and ends go through one map and one rounding.
func TestRewriteKeepsOrderAndNesting(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var knots []clock.Knot
	x, y := int64(0), int64(5_000_000)
	for range 200 {
		knots = append(knots, clock.Knot{X: x, Y: y})
		step := 1 + rng.Int64N(60_000)
		x, y = x+step, y+step/2+1+rng.Int64N(step)
	}
	m, err := clock.New(knots)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ s, e Instant }
	for _, decimals := range []int{0, 3, 6} {
		var doc strings.Builder
		for i := range 1500 {
			start, dur := rng.Float64()*5000, rng.Float64()*20
			if i%3 == 0 {
				start = float64(int(start))
			}
			sep := ","
			if i == 0 {
				sep = "["
			}
			fmt.Fprintf(&doc, "%s{\"ph\":\"X\",\"ts\":%.*f,\"dur\":%.*f}", sep, decimals, start, decimals, dur)
		}
		doc.WriteString("]")
		read := func(b []byte) (all []pair) {
			src := bytesSource(t, b)
			err := Events(context.Background(), src, mustScan(t, src, ScanOptions{}), nil, func(e *Event) error {
				all = append(all, pair{e.Start, e.End})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		src := bytesSource(t, []byte(doc.String()))
		out, _ := mustRewrite(t, src, mustScan(t, src, ScanOptions{}), edit{Clock: m})
		before, after := read([]byte(doc.String())), read(out)
		for i := range before {
			for j := range before {
				a, b, c, d := before[i], before[j], after[i], after[j]
				if (a.s == b.s && c.s != d.s) || (a.s.Before(b.s) && d.s.Before(c.s)) || (a.e == b.s && c.e != d.s) ||
					(!b.s.Before(a.s) && !a.e.Before(b.e) && (d.s.Before(c.s) || c.e.Before(d.e))) {
					t.Fatalf("%d decimals: %v and %v became %v and %v", decimals, a, b, c, d)
				}
			}
		}
	}
}

func TestChunksAreTheSameForAnyNumberOfWorkersInAnyOrder(t *testing.T) {
	o := chrometracetest.Options{Bytes: 1 << 19, World: 2, DriftPPB: 50_000}
	doc, _ := chrometracetest.Generate(o)
	src := bytesSource(t, doc)
	tr := mustScan(t, src, ScanOptions{ChunkBytes: 4096})
	r, err := newRewriter(tr, edit{Clock: rankClock(t, o), IDs: idEdit{Offset: 1 << 20}, Processes: []processEdit{{PID: "77"}}, Sample: true})
	if err != nil {
		t.Fatal(err)
	}
	run := func(workers int, reverse bool) (out [][]byte, total counts) {
		out = make([][]byte, len(tr.Chunks))
		var wg sync.WaitGroup
		counts := make([]counts, workers)
		for k := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				w := r.worker()
				for i := k; i < len(out); i += workers {
					i := i
					if reverse {
						i = len(out) - 1 - i
					}
					raw, err := readChunk(src, &tr.Chunks[i], nil)
					if err != nil {
						t.Error(err)
						return
					}
					if out[i], err = w.chunk(nil, raw, &tr.Chunks[i], &counts[k]); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		wg.Wait()
		for k := range counts {
			total.Add(&counts[k])
		}
		return out, total
	}
	one, countsOne := run(1, false)
	many, countsMany := run(3, true)
	if len(one) < 50 || !reflect.DeepEqual(countsOne, countsMany) {
		t.Fatalf("%d chunks; counts %+v and %+v", len(one), countsOne, countsMany)
	}
	for i := range one {
		if !bytes.Equal(one[i], many[i]) {
			t.Fatalf("chunk %d differs", i)
		}
	}
}

// Every value that no edit names is the same in the eyes of encoding/json, in every recording.
func TestRewriteLeavesEverythingElseAlone(t *testing.T) {
	recordings(t, func(t *testing.T, src *file.Source) {
		if src.Size() > 5<<20 {
			t.Skip("the twin is slow: smaller recordings only")
		}
		tr := mustScan(t, src, ScanOptions{ChunkBytes: 1 << 16})
		e := edit{Clock: clock.Shift(-123_456_789_017, 3), IDs: idEdit{Offset: 1_000_000_000, HexOffset: 1 << 48, Prefix: "n2:"}}
		for _, p := range tr.Processes {
			e.Processes = append(e.Processes, processEdit{PID: string(appendString(nil, "n2 "+p.PID))})
		}
		out, counts := mustRewrite(t, src, tr, e)
		before, _ := readTwin(allOf(t, src))
		after, ok := readTwin(out)
		if !ok || len(before.events) != len(after.events) || counts.Kept != int64(len(before.events))+before.empty {
			t.Fatalf("%d events, kept %d; want %d", len(after.events), counts.Kept, len(before.events))
		}
		for i, a := range before.events {
			b := after.events[i]
			if len(a) != len(b) {
				t.Fatalf("event %d has %d keys, want %d", i, len(b), len(a))
			}
			for key, v := range a {
				switch key {
				case "ts":
					us, ps, _ := twinStamp(t, string(v))
					gotUS, gotPS, _ := twinStamp(t, string(b[key]))
					moved := (gotUS-us)*1_000_000 + int64(gotPS-ps)
					if before.text(a["ph"]) == "M" && us < 123_456_790 && gotUS == 0 && gotPS == 0 {
						continue // names are not moved before the base
					}
					if moved != -123_456_789_017_000 {
						t.Fatalf("event %d moved by %d ps: %s to %s", i, moved, v, b[key])
					}
				case "pid":
					if want := "n2 " + string(v); after.text(b[key]) != want {
						t.Fatalf("event %d: pid %s, want %s", i, b[key], want)
					}
				case "id":
					if want := fmt.Sprint(1_000_000_000 + parseNumber(v).us); string(b[key]) != want {
						t.Fatalf("event %d: id %s, want %s", i, b[key], want)
					}
				case "dur":
					if parseNumber(v).stamp != parseNumber(b[key]).stamp {
						t.Fatalf("event %d: dur %s, want %s", i, b[key], v)
					}
				default:
					if !bytes.Equal(v, b[key]) {
						t.Fatalf("event %d: %s is %s, want %s", i, key, b[key], v)
					}
				}
			}
		}
	})
}

func TestChunkRefusesTextThatChangedSinceTheScan(t *testing.T) {
	src := bytesSource(t, []byte(`[{"pid":1},{"pid":2}]`))
	tr := mustScan(t, src, ScanOptions{})
	r, err := newRewriter(tr, edit{Processes: []processEdit{{PID: "4"}}})
	if err != nil {
		t.Fatal(err)
	}
	var counts counts
	for _, raw := range []string{`{"pid":1},{"pid":3}`, `{"pid":1} {"pid":2}`, `{"pid":1},`, `{"pid":1},{"pid"`, `]`, `nul`} {
		_, err := r.worker().chunk(nil, []byte(raw), &tr.Chunks[0], &counts)
		if !fault.Is(err, fault.Format) {
			t.Errorf("%s: got %v, want a format error", raw, err)
		}
	}
}

// bounded is the identity with these bounds at 1, 2, 3 us, and so on.
func bounded(t *testing.T, bounds ...int64) *clock.Map {
	t.Helper()
	var knots []clock.Knot
	for i, b := range bounds {
		at := int64(i+1) * 1000
		knots = append(knots, clock.Knot{X: at, Y: at, BoundNS: b})
	}
	m, err := clock.New(knots)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
