package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func example(opt Options) *Result {
	return &Result{
		WarpsCompared: 4, WarpsDiverged: 3, EventsA: 8, EventsB: 10, opt: opt,
		a: &warptrace.Header{Kernel: "ker\"nel\x07é", WarpsPerBlock: 2, ArchNumber: 80, Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}},
		b: &warptrace.Header{ArchNumber: 0x1100, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{64, 1, 1}},
		Divergences: []divergence{
			{Warp: 0, Event: 1, Site: 2, Kind: activeMask, A: 0xffffffff, B: 1},
			{Warp: 1, Event: 2, Site: 3, Kind: path, A: 3, B: 0xabc},
			{Warp: 3, Event: 2, Site: 2, Kind: extraEvents, A: 3},
		},
	}
}

func siteMap(t testing.TB, text string) *SiteMap {
	t.Helper()
	src, err := file.FromBytes("prlx-sites.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	m, err := ReadSiteMap(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const oneSite = `[{"site_id": 2, "filename": "a,b.cu", "function": "f", "line": 7, "column": 3, "event_type": 0, "more": [1]}]`

func TestJSONIsTheDescribedDocument(t *testing.T) {
	r := example(Options{IgnoreActiveMask: true, Threshold: 2, CrossGPU: true, Map: siteMap(t, oneSite)})
	want := `{
  "status": "diverged",
  "total_divergences": 3,
  "counted_divergences": 2,
  "warps_compared": 4,
  "warps_diverged": 3,
  "total_events_a": 8,
  "total_events_b": 10,
  "divergence_breakdown": {
    "ActiveMask": 1,
    "ExtraEvents": 1,
    "Path": 1
  },
  "divergences": [
    {
      "warp_idx": 0,
      "event_idx": 1,
      "site_id": "0x00000002",
      "kind": "ActiveMask",
      "source_location": "a,b.cu:f:7:3"
    },
    {
      "warp_idx": 1,
      "event_idx": 2,
      "site_id": "0x00000003",
      "kind": "Path"
    },
    {
      "warp_idx": 3,
      "event_idx": 2,
      "site_id": "0x00000002",
      "kind": "ExtraEvents",
      "source_location": "a,b.cu:f:7:3"
    }
  ],
  "threshold": 2,
  "passed": true,
  "cross_gpu": {
    "arch_a": "NVIDIA SM_80",
    "arch_b": "AMD gfx4352",
    "warp_size_a": 32,
    "warp_size_b": 64,
    "grid_a": [
      2,
      1,
      1
    ],
    "grid_b": [
      1,
      1,
      1
    ],
    "block_a": [
      64,
      1,
      1
    ],
    "block_b": [
      64,
      1,
      1
    ]
  }
}`
	if got := string(r.JSON()); got != want {
		t.Errorf("got %s", got)
	}
}

func TestEqualRecordingsMakeEmptyLists(t *testing.T) {
	r := example(Options{})
	r.Divergences = nil
	if got := string(r.JSON()); !strings.Contains(got, "\"divergence_breakdown\": {},\n  \"divergences\": [],\n") || !strings.Contains(got, `"status": "identical"`) {
		t.Errorf("got %s", got)
	}
	if !r.Passed() || !r.identical() {
		t.Error("nothing differs, and it did not pass")
	}
}

func TestCSVQuotesOnlyCommas(t *testing.T) {
	var b bytes.Buffer
	if err := example(Options{Map: siteMap(t, oneSite)}).CSV(&b); err != nil {
		t.Fatal(err)
	}
	want := "warp_idx,event_idx,site_id,kind,details,source_location\n" +
		"0,1,0x00000002,ActiveMask,mask_a=0xffffffff mask_b=0x00000001,\"a,b.cu:f:7:3\"\n" +
		"1,2,0x00000003,Path,site_a=0x00000003 site_b=0x00000abc,\n" +
		"3,2,0x00000002,ExtraEvents,count=3 in_trace=A,\"a,b.cu:f:7:3\"\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

func TestFlamegraphIsGroupedBySite(t *testing.T) {
	var b bytes.Buffer
	if err := example(Options{Map: siteMap(t, oneSite)}).Flamegraph(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			TS            float64
			PID, TID      int
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range got.TraceEvents {
		args, _ := json.Marshal(e.Args)
		lines = append(lines, strings.Join([]string{e.Ph, e.Name, e.Cat, strings.Repeat("*", e.PID), strings.Repeat("*", e.TID), string(args)}, "|"))
	}
	want := []string{
		"M|process_name|__metadata|||{\"name\":\"ker\\\"nel\\u0007é\"}",
		`X|a,b.cu:7 [ActiveMask]|ActiveMask|||{"event_idx":1,"kind":"ActiveMask","site_id":"0x00000002","warp_idx":0}`,
		`X|a,b.cu:7 [ExtraEvents]|ExtraEvents|*|*|{"event_idx":2,"kind":"ExtraEvents","site_id":"0x00000002","warp_idx":3}`,
		`X|0x00000003 [Path]|Path||*|{"event_idx":2,"kind":"Path","site_id":"0x00000003","warp_idx":1}`,
		`C|divergence_count|heatmap|||{"a,b.cu:7":2}`,
		`C|divergence_count|heatmap|||{"0x00000003":1}`,
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for i, ts := range []float64{0, 0, 10, 20, 130, 131} {
		if got.TraceEvents[i].TS != ts {
			t.Errorf("event %d begins at %v, want %v", i, got.TraceEvents[i].TS, ts)
		}
	}
	if !strings.Contains(b.String(), `"ts": 10.0,`) || !strings.Contains(b.String(), `"dur": 10.0,`) {
		t.Error("times are not printed as floating-point numbers are")
	}
}

func TestQuotedTextIsJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "\x00\x01\x1f\b\f\n\r\t\"\\/", "größe <&>", "a\xffb\xc3", "\xe2\x82", "\xe2\x82x", "\xf0\x9f\x98", "\U0001f600", "\u2028"} {
		var back string
		if err := json.Unmarshal([]byte(quote(s)), &back); err != nil {
			t.Errorf("%q becomes %s: %v", s, quote(s), err)
		} else if back != lossy(s) {
			t.Errorf("%q becomes %s, read back as %q", s, quote(s), back)
		}
	}
	for from, want := range map[string]string{"a\xff\xfeb": "a\ufffd\ufffdb", "\xe2\x82": "\ufffd", "\xe2\x82x": "\ufffdx", "\xf0\x9f\x98\xff": "\ufffd\ufffd", "\xc0\xaf": "\ufffd\ufffd"} {
		if got := lossy(from); got != want {
			t.Errorf("lossy(%q) = %q, want %q", from, got, want)
		}
	}
}

func TestFiltersReadWhatTheyCan(t *testing.T) {
	text := func(s string) *string { return &s }
	d := func(warp uint64, kind kind, id uint32) *divergence {
		return &divergence{Warp: warp, Kind: kind, Site: id}
	}
	for name, c := range map[string]struct {
		opt     Options
		pass    []*divergence
		drop    []*divergence
		ignored int
	}{
		"none":              {Options{}, []*divergence{d(0, path, 0)}, nil, 0},
		"warps":             {Options{Warps: text("1, 3 - 5 ,+7")}, []*divergence{d(1, 0, 0), d(3, 0, 0), d(5, 0, 0), d(7, 0, 0)}, []*divergence{d(0, 0, 0), d(2, 0, 0), d(6, 0, 0)}, 0},
		"warps backwards":   {Options{Warps: text("5-3")}, nil, []*divergence{d(4, 0, 0)}, 0},
		"no warps":          {Options{Warps: text("")}, nil, []*divergence{d(0, 0, 0)}, 1},
		"odd warps":         {Options{Warps: text("x,-3,1-,1-2-3,0-4294967296,0x1,++1,2")}, []*divergence{d(2, 0, 0)}, []*divergence{d(1, 0, 0), d(0, 0, 0)}, 7},
		"kinds":             {Options{Kinds: text("path, EXTRAEVENTS")}, []*divergence{d(0, path, 0), d(0, extraEvents, 0)}, []*divergence{d(0, branch, 0)}, 0},
		"unknown kind":      {Options{Kinds: text("active_mask")}, nil, []*divergence{d(0, activeMask, 0)}, 1},
		"sites are hex":     {Options{Sites: text("0x1F, 10,0Xa")}, []*divergence{d(0, 0, 0x1f), d(0, 0, 0x10), d(0, 0, 10)}, []*divergence{d(0, 0, 1)}, 0},
		"odd sites":         {Options{Sites: text("zz,0xfffffffff,,0x")}, nil, []*divergence{d(0, 0, 0)}, 4},
		"all have to agree": {Options{Warps: text("1"), Kinds: text("Path"), Sites: text("2")}, []*divergence{d(1, path, 2)}, []*divergence{d(0, path, 2), d(1, branch, 2), d(1, path, 3)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, ignored := readFilters(c.opt)
			if len(ignored) != c.ignored {
				t.Errorf("%d pieces ignored (%q), want %d", len(ignored), ignored, c.ignored)
			}
			for _, d := range c.pass {
				if !f.pass(d) {
					t.Errorf("%v was dropped", d)
				}
			}
			for _, d := range c.drop {
				if f.pass(d) {
					t.Errorf("%v passed", d)
				}
			}
		})
	}
}

func TestSiteMapsAreReadWholeOrNotAtAll(t *testing.T) {
	const complete = `{"site_id": 2, "filename": "a", "function": "f", "line": 1, "column": 1, "event_type": 0, "ordinal": null}`
	for _, text := range []string{
		"", "null", "{}", "[", "[1]", "[{}]", "[" + complete, "[" + complete + "] []", "[" + strings.Replace(complete, `2`, `2.0`, 1) + "]",
		"[" + strings.Replace(complete, `2`, `-1`, 1) + "]", "[" + strings.Replace(complete, `"event_type": 0`, `"event_type": 256`, 1) + "]",
		"[" + strings.Replace(complete, `"line": 1, `, ``, 1) + "]", "[" + strings.Replace(complete, `null`, `4294967296`, 1) + "]",
	} {
		src, err := file.FromBytes("sites.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadSiteMap(context.Background(), src)
		if !fault.Is(err, fault.Format) || fault.Of(err).Path != "sites.json" {
			t.Errorf("%s: got %v, want a format error with the path", text, err)
		}
	}
	m := siteMap(t, "["+complete+","+strings.Replace(complete, `"line": 1`, `"line": 9`, 1)+"]")
	if got, ok := m.location(2); !ok || got != "a:f:9:1" {
		t.Errorf("got %q, want the later of two entries", got)
	}
	if _, ok := m.location(3); ok {
		t.Error("a site that the map lacks has a location")
	}
	if len(siteMap(t, "[]").sites) != 0 {
		t.Error("an empty map has sites")
	}
}

func FuzzReadSiteMap(f *testing.F) {
	f.Add([]byte(oneSite))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"site_id":4294967296}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := file.FromBytes("sites.json", b)
		if err != nil {
			return // compressed, and not as it should be
		}
		defer src.Close()
		m, err := ReadSiteMap(context.Background(), src)
		if err != nil {
			if kind := fault.Of(err).Kind; kind != fault.Format && kind != fault.Limit {
				t.Fatalf("%v is of kind %s", err, kind)
			}
			return
		}
		for id := range m.sites {
			if _, ok := m.location(id); !ok || m.label(id) == "" {
				t.Fatalf("site %d has no place", id)
			}
		}
		remapping(m, m)
	})
}

func TestWhatCannotBeCompared(t *testing.T) {
	open := func(version int, grid uint32) *warptrace.Trace {
		var b bytes.Buffer
		h := warptrace.Header{
			Version: version, Kernel: "f", KernelHash: warptrace.Hash64("f"), Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{32, 1, 1},
			WarpsPerBlock: 1, WarpSlots: 1, EventsPerWarp: 4, SampleRate: 1, WaveSize: 32,
		}
		var w interface{ Close() error }
		var err error
		if version == 1 {
			w, err = warptrace.CreateV1(&b, h, warptrace.V1Options{})
		} else {
			w, err = warptrace.CreateV2(&b, h, nil, warptrace.V2Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		src, err := file.FromBytes("trace.prlx", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		trace, err := warptrace.Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { trace.Close() })
		return trace
	}
	one := open(1, 1)
	for name, c := range map[string]struct {
		b    *warptrace.Trace
		opt  Options
		want fault.Kind
	}{
		"format v2":            {open(2, 1), Options{}, fault.Usage},
		"another grid":         {open(1, 2), Options{}, fault.Incompatible},
		"another grid, forced": {open(1, 2), Options{Force: true}, fault.Incompatible},
		"a negative window":    {one, Options{Lookahead: -1}, fault.Usage},
		"a negative limit":     {one, Options{Limit: -1}, fault.Usage},
		"a negative threshold": {one, Options{Threshold: -1}, fault.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Compare(job.New(t.Context(), job.Options{}), one, c.b, c.opt); !fault.Is(err, c.want) {
				t.Errorf("got %v, want a %s error", err, c.want)
			}
		})
	}
	r, err := Compare(job.New(t.Context(), job.Options{}), one, open(1, 2), Options{CrossGPU: true, RemapA: siteMap(t, "[]"), Warps: new(string)})
	if err != nil || len(r.Warnings) != 3 {
		t.Errorf("got %v and warnings %q, want three: the grid, one site map alone, an empty list of warps", err, r.Warnings)
	}
}
