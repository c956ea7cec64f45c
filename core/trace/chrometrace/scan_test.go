package chrometrace

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

func TestScanReadsTheDocument(t *testing.T) {
	doc := `
{ "schemaVersion": 1, "trace_id" : "T", "host_name":"h\u00e9",
  "distributedInfo": {"backend":"nccl","rank":"3","world_size":8,"pg_config":[{"pg_name":"0","pg_desc":"default_pg","pg_size":2,"ranks":[0,3]}]},
  "traceEvents": [
    {"ph":"M","name":"process_name","pid":17,"ts":0,"args":{"name":"python"}},
    {"ph":"M","name":"process_labels","pid":17,"args":{"labels":"GPU 2"}},
    {"ph":"M","name":"process_sort_index","pid":17,"args":{"sort_index":500}},
    {"ph":"M","name":"thread_name","pid":17,"tid":"stream 7","args":{"name":"stream 7"}},
    {"ph":"X","cat":"kernel","pid":17,"tid":"stream 7","ts":20.5,"dur":2},
    {"ph":"X","cat":"cpu_op","pid":"Spans","tid":1,"ts":10.001,"dur":30},
    {"ph":"s","cat":"ac2g","id":41,"pid":17,"ts":20.5}
  ],
  "displayTimeUnit": "ns", "baseTimeNanoseconds": 1759300074000000000 }`
	src := bytesSource(t, []byte(doc))
	tr := mustScan(t, src, ScanOptions{ChunkBytes: 150})
	base := int64(1759300074000000000)
	type facts struct {
		Host, TraceID, Unit, Schema string
		Base                        int64
		Rank, World                 int
		Events, Timed, Flows        int64
		MaxID                       uint64
		Min, Max                    Instant
		Resolution                  int64
		Cats                        []nameCount
		X, M, S                     int64
	}
	got := facts{
		tr.Host, tr.TraceID, tr.DisplayTimeUnit, tr.SchemaVersion, tr.BaseNS, tr.rank(), tr.Distributed.WorldSize, tr.Events, tr.Timed, tr.FlowIDs,
		tr.MaxID, tr.Min, tr.Max, tr.ResolutionPS, tr.Cats, tr.Phases['X'], tr.Phases['M'], tr.Phases['s'],
	}
	want := facts{
		"hé", "T", "ns", "1", base, 3, 8, 7, 3, 1, 41,
		Instant{NS: base + 10001},
		Instant{NS: base + 40001},
		1000,
		[]nameCount{{"ac2g", 1}, {"cpu_op", 1}, {"kernel", 1}},
		2, 4, 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	p := tr.Processes[0]
	if p.PID != "17" || p.Name != "python" || p.Labels != "GPU 2" || p.SortIndex != 500 || p.Device != 2 || p.DeviceEvents != 1 || p.Events != 2 ||
		len(p.Threads) != 1 || p.Threads[0].TID != `"stream 7"` || p.Threads[0].Name != "stream 7" {
		t.Fatalf("process %+v, thread %+v", p, p.Threads[0])
	}
	if q := tr.Processes[1]; q.PID != `"Spans"` || q.Device != -1 || q.HasName {
		t.Fatalf("process %+v", q)
	}
	if g := tr.Distributed.Groups; len(g) != 1 || g[0].Desc != "default_pg" || len(g[0].Ranks) != 2 {
		t.Fatalf("groups %+v", g)
	}
	names := ""
	for _, k := range tr.Keys {
		names += k.Name + " "
		if text := doc[k.Offset : k.Offset+k.Length]; k.Value != nil && string(k.Value) != text {
			t.Fatalf("%s is %q, its place holds %q", k.Name, k.Value, text)
		}
	}
	if names != "schemaVersion trace_id host_name distributedInfo traceEvents displayTimeUnit baseTimeNanoseconds " {
		t.Fatalf("keys %s", names)
	}
	var events int64
	for i, c := range tr.Chunks {
		if doc[c.Offset] != '{' || doc[c.End-1] != '}' || c.First != events {
			t.Fatalf("chunk %d %+v is not a run of whole events", i, c)
		}
		events += c.Events
	}
	if len(tr.Chunks) < 3 || events != tr.Events {
		t.Fatalf("%d chunks of %d events", len(tr.Chunks), events)
	}
}

func TestScanNamesTheByteThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int64
		says   string
	}{
		{"", 0, "empty"},
		{" \n ", 3, "white space"},
		{"hello", 0, `starts with 'h'`},
		{"\x0a\x04", 1, "not Chrome trace JSON"},
		{`{"a":1}`, 0, "no traceEvents"},
		{`{"traceEvents":{}}`, 0, "no traceEvents"},
		{`[{"a":1}{"b":2}]`, 8, "expected , or ]"},
		{`[{"a":01}]`, 7, `unexpected '1'`},
		{`[{"a":tru}]`, 6, `unexpected 't'`},
		{`[{"a" 1}]`, 6, "event 0"},
		{`[{"a":1,}]`, 8, "event 0"},
		{`[{a:1}]`, 2, "event 0"},
		{`[1]`, 1, "not an object"},
		{`[{"a":[1,2}]`, 10, "event 0"},
		{`{"traceEvents":[],"traceEvents":[]}`, 32, "twice"},
		{`{"traceEvents":[]} x`, 19, "after the end"},
		{`{"traceEvents":[{"a":1}`, 23, "ends inside"},
		{`{"traceEvents":[{"a":"x`, 23, "ends inside event 0"},
		{`{"x":[1,2`, 9, "ends inside"},
		{`{"baseTimeNanoseconds":1.5,"traceEvents":[]}`, 23, "expected an integer"},
		{`{"baseTimeNanoseconds":9223372036854775807,"traceEvents":[{"ts":1}]}`, -1, "292 years"},
	} {
		src, err := file.FromBytes("t.json", []byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Scan(context.Background(), src, ScanOptions{})
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Format || f.Offset != c.offset || !strings.Contains(f.Error(), c.says) || f.Path != "t.json" {
			t.Errorf("%s: got %v (%+v), want a format error at byte %d that says %q", c.in, err, f, c.offset, c.says)
		}
	}
}

func TestScanNotesWhatStrictReadersWouldRefuse(t *testing.T) {
	for in, want := range map[string]leniency{
		`[{"a":1},{"b":2},`:             {Trailing: 1, Unclosed: true},
		`[{"a":1}`:                      {Unclosed: true},
		`[`:                             {Unclosed: true},
		`[{"a":1},{}]`:                  {EmptyEvents: 1},
		`[{"a":1},]`:                    {Trailing: 1},
		"[{\"a\":\"x\ny\"}]":            {ControlChars: 1},
		`[{"a":"C:\Users\x"}]`:          {BadEscapes: 2},
		`[{"a":NaN,"b":[-Infinity]}]`:   {Literals: 2},
		`{"x":inf,"traceEvents":[]}`:    {Literals: 1},
		`{"x":"\q","traceEvents":[{}]}`: {BadEscapes: 1, EmptyEvents: 1},
	} {
		if tr := mustScan(t, bytesSource(t, []byte(in)), ScanOptions{}); tr.Lenient != want {
			t.Errorf("%s: %+v, want %+v", in, tr.Lenient, want)
		}
	}
}

func TestScanRefusesDeepNesting(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	for _, in := range []string{`[{"a":` + deep, `{"a":` + deep, `{"traceEvents":[{"args":{"a":` + strings.Repeat(`{"a":`, 1_000_000)} {
		_, err := Scan(context.Background(), bytesSource(t, []byte(in)), ScanOptions{})
		if !fault.Is(err, fault.Limit) {
			t.Errorf("%.20s...: %v, want a limit error", in, err)
		}
	}
	ok := `[{"a":` + deep[:9000] + strings.Repeat("]", 9000) + `}]`
	mustScan(t, bytesSource(t, []byte(ok)), ScanOptions{})
}

func TestScanBoundsWhatItKeeps(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for in, want := range map[string]fault.Kind{
		`[{"name":"` + long + `"}]`:                                   fault.Limit,
		`{"notes":"` + long + `","traceEvents":[]}`:                   fault.Limit,
		`{"` + long + `":1,"traceEvents":[]}`:                         fault.Limit,
		`{"notes":["` + long[:1<<20] + `"],"traceEvents":[]}`:         "",
		`[{"name":"` + long[:3<<19] + `"}]`:                           "",
		`[{"pid":1},{"pid":2},{"pid":3},{"pid":4,"tid":1}]`:           "",
		`[{"pid":1},{"pid":2},{"pid":3},{"pid":4,"tid":1},{"pid":5}]`: fault.Limit,
	} {
		tr, err := Scan(context.Background(), bytesSource(t, []byte(in)), ScanOptions{MaxEvent: 2 << 20, MaxValue: 1 << 16, MaxNames: 5})
		if (want == "") != (err == nil) || want != "" && !fault.Is(err, want) {
			t.Errorf("%.40s: got %v, want kind %q", in, err, want)
		}
		if err == nil && len(tr.Keys) > 0 && tr.Keys[0].Value != nil {
			t.Errorf("%.40s: a value of %d bytes was kept", in, len(tr.Keys[0].Value))
		}
	}
}

// Values that straddle the buffer are read as if it had no end: any place of the border gives the same result.
func TestScanDoesNotDependOnWhereTheBufferEnds(t *testing.T) {
	var body strings.Builder
	for i := 0; body.Len() < 3<<20; i++ {
		fmt.Fprintf(&body, `{"ph":"X","name":"a\"\\\u00e9 %d","pid":%d,"ts":%d.%03d,"dur":1e1,"args":{"k":[true,null,-1.5e3,{"x":"\b"}]}},`, i, i%7, i, i%1000)
	}
	for pad := range 40 {
		doc := `{"notes":["` + strings.Repeat("y", bufferSize-12-pad) + `\"",[1,2],{"a":false}],"traceEvents":[` + body.String()[:body.Len()-1] + `],"end":-12.5e+10 }`
		tr := mustScan(t, bytesSource(t, []byte(doc)), ScanOptions{})
		if tr.Events != tr.Timed || tr.Phases['X'] != tr.Events || tr.Lenient != (leniency{}) || len(tr.Processes) != 7 || string(tr.key("end").Value) != "-12.5e+10" {
			t.Fatalf("pad %d: %d events, %d timed, %+v", pad, tr.Events, tr.Timed, tr.Lenient)
		}
		if n := tr.key("notes"); doc[n.Offset] != '[' || doc[n.Offset+n.Length-1] != ']' {
			t.Fatalf("pad %d: notes at %d, %d bytes", pad, n.Offset, n.Length)
		}
	}
}

// A file cut anywhere is refused with the place, or, where the format allows an open list, noted; nothing panics.
func TestScanOfCutFilesIsAnErrorAtTheCut(t *testing.T) {
	doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 6000})
	end := len(strings.TrimRight(string(doc), "\n"))
	for n := range end {
		_, err := Scan(context.Background(), bytesSource(t, doc[:n]), ScanOptions{})
		if f := fault.Of(err); f == nil || f.Kind != fault.Format || f.Offset > int64(n) {
			t.Fatalf("cut at %d of %d: %v", n, end, err)
		}
	}
}

// Flipped bytes give an error or a result; what is accepted can be rewritten.
func TestScanSurvivesFlippedBytes(t *testing.T) {
	paths := filetest.Glob(t, "kineto/*TraceLens__torch_compile*.json.gz")
	src, err := file.Open(context.Background(), paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	in := allOf(t, src)
	refused := 0
	for i := range 400 {
		b := append([]byte(nil), in...)
		at := (i*7919 + i*i*31) % len(b)
		b[at] ^= 1 << (i % 8)
		f := bytesSource(t, b)
		tr, err := Scan(context.Background(), f, ScanOptions{})
		if err != nil {
			if k := fault.Of(err).Kind; k != fault.Format && k != fault.Limit {
				t.Fatalf("flip at %d: %v", at, err)
			}
			refused++
			continue
		}
		mustRewrite(t, f, tr, edit{IDs: idEdit{Offset: 5, Prefix: "x"}, CorrectionArg: correctionArg})
	}
	if refused < 20 || refused > 380 {
		t.Fatalf("%d of 400 flips refused", refused)
	}
}
