package ncclreport

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// simulated makes both documents of a simulated job.
func simulated(t testing.TB, p nccltest.Plan) Job {
	t.Helper()
	var all []*operation.Recording
	for i, f := range nccltest.Simulate(p) {
		src, err := file.FromBytes(fmt.Sprintf("node%d-%d.prlx-nccl", i/max(p.PerHost, 1), 1000+i), f.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, err := segment.FromSource(src)
		if err != nil {
			t.Fatal(err)
		}
		one, err := reading.One(context.Background(), s, reading.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		all = append(all, one)
	}
	j, err := joining.Join(job.New(context.Background(), job.Options{}), all, joining.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := dividing.Report(j, dividing.Options{Worst: 2})
	if err != nil {
		t.Fatal(err)
	}
	diagnosis, err := diagnosing.Diagnose(j, diagnosing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Job{report, diagnosis}
}

func small(fault nccltest.Fault) nccltest.Plan {
	return nccltest.Plan{
		Seed: 9, Ranks: 4, PerHost: 1, Channels: 1, Steps: 8, Ops: 12, Level: 3, ComputeNS: 5e5, Jitter: 0.1, Uneven: 0.02, TailNS: 60_000_000_000,
		Fault: fault, Rank: 2, At: 8, Factor: 4,
	}
}

// hostile writes into every text of a document what no page may show as it is.
func hostile(t *testing.T, of Job) Job {
	t.Helper()
	const evil = "<script>alert(1)</script>\"'&\x00\u202e` onload=x"
	poison := func(from, into any) {
		b, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(b, &tree); err != nil {
			t.Fatal(err)
		}
		var walk func(v any) any
		walk = func(v any) any {
			switch v := v.(type) {
			case map[string]any:
				for k := range v {
					v[k] = walk(v[k])
				}
			case []any:
				for i := range v {
					v[i] = walk(v[i])
				}
			case string:
				if v != "send" && v != "receive" {
					return v + evil + strings.Repeat("x", 5000)
				}
			}
			return v
		}
		if b, err = json.Marshal(walk(tree)); err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := Job{new(dividing.Document), new(diagnosing.Document)}
	poison(of.Report, out.Report)
	poison(of.Diagnosis, out.Diagnosis)
	return out
}

func render(t testing.TB, of Job) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write("html", &b, of); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// kept are the documents of a simulated job as they lie under testdata, so that a page depends on them alone; -update simulates it again.
func kept(t *testing.T, name string, fault nccltest.Fault) Job {
	t.Helper()
	path := filepath.Join("testdata", name+".json")
	if *update {
		b, err := json.MarshalIndent(simulated(t, small(fault)), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := Job{}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func jobs(t *testing.T) map[string]Job {
	hang := kept(t, "hang", nccltest.HangSend)
	return map[string]Job{
		"slow": kept(t, "slow", nccltest.SlowLink), "hang": hang, "hostile": hostile(t, hang), "report": {Report: hang.Report},
		"diagnosis": {Diagnosis: hang.Diagnosis}, "nothing": {new(dividing.Document), new(diagnosing.Document)},
	}
}

// TestAPageIsMadeOfWhatAJobSays: of one that is simulated now, whatever the simulator has become.
func TestAPageIsMadeOfWhatAJobSays(t *testing.T) {
	text := render(t, simulated(t, small(nccltest.Straggler)))
	for _, want := range []string{"began last", ", for rank 2: waited ", `<h2 id="links">`, `<h2 id="quality">`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of a job with a straggler lacks %s", want)
		}
	}
}

func TestGolden(t *testing.T) {
	for name, of := range jobs(t) {
		path := filepath.Join("testdata", name+".html")
		got := render(t, of)
		switch name {
		case "hostile", "report", "diagnosis", "nothing":
			continue // what differs from the others, other tests say
		}
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("%s is not what the code writes; -update rewrites it. From byte %d on want %.300s\ngot %.300s", path, at, want[max(at-40, 0):], got[max(at-40, 0):])
		}
	}
}

// TestThePageAsksForNothing looks for whatever would load something, and for names that became markup.
func TestThePageAsksForNothing(t *testing.T) {
	for name, of := range jobs(t) {
		text := render(t, of)
		if n := strings.Count(text, "<script"); n != 0 && n != 2 {
			t.Errorf("the page %s has %d scripts", name, n)
		}
		text = strings.Replace(text, "<script>"+kit.Script("map.js")()+"</script>", "", 1)
		for _, bad := range []string{"http://", "https://", "<script>", "<link", "<img", "url(", "@import", " style=", "\" onload", "ZgotmplZ", "\x00", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page %s has %q", name, bad)
			}
		}
		if len(text) > 1<<20 {
			t.Errorf("the page %s has %d bytes", name, len(text))
		}
	}
}

// TestThePageSaysWhatTheDocumentsSay: who is blamed, which row is marked, what stands still, and how long each rank waited.
func TestThePageSaysWhatTheDocumentsSay(t *testing.T) {
	all := jobs(t)
	for name, wants := range map[string][]string{
		"slow": {
			`<span class="tag bad">slow-link</span>The link from rank 2 (node2) to rank 3 (node3) is slow on channel 0`, `class="bad">rank 2 to rank 3 <small>slow</small>`,
			`aria-label="waiting by rank and by the rank that was waited for"`, `began last`, `id="operation-0" open`, `id="quality"`,
		},
		"hang": {
			`<span class="pill bad" data-outcome="failed">failed</span>`, `<h2 id="stuck">What stands still</h2>`, `<td>SendWait</td><td>to rank 3</td>`, `<small>named</small>`, `<h2 id="chain">`,
		},
		"report":    {`<span class="pill amber">report</span>`, `: waited `, `<h2 id="links">`},
		"diagnosis": {`<h2 id="stuck">What stands still</h2>`, `<h2 id="processes">`},
		"nothing":   {"No operation was looked at."},
	} {
		text := render(t, all[name])
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("the page %s lacks %s", name, want)
			}
		}
	}
	if text := render(t, all["report"]); strings.Contains(text, "<small>slow</small>") || strings.Contains(text, `id="stuck"`) {
		t.Error("a page without a diagnosis blames somebody")
	}
	if text := render(t, all["nothing"]); strings.Contains(text, "<svg") || strings.Contains(text, "<table") {
		t.Error("a page of nothing draws something")
	}
}

// TestPartsOfATimelineAreDrawnWhereTheyHappened: bars of a lane follow each other from the call to the end, scaled to the time of the operation.
func TestPartsOfATimelineAreDrawnWhereTheyHappened(t *testing.T) {
	bound := int64(10)
	w := dividing.Worst{Operation: "AllReduce", AtNS: 1000, TookNS: 1000, Last: "1", LeadNS: 300, BoundNS: &bound, Ranks: []dividing.Part{
		{Rank: "0", AtNS: 1000, EndedNS: 2000, Time: dividing.Parts{LaunchNS: 100, WaitingNS: 400, KernelNS: 500}},
		{Rank: "1", AtNS: 1400, EndedNS: 1900, Time: dividing.Parts{LaunchNS: 100, NetworkNS: 400}},
		{Rank: "2", AtNS: 1400, EndedNS: 1300},
	}}
	text := string(newTimeline(&w, 8).draw())
	for _, want := range []string{
		`<rect class="p1" x="200" y="2" width="96" height="14"/><rect class="p3" x="296" y="2" width="384" height="14"/><rect class="p4" x="680" y="2" width="480" height="14"/>`,
		`<rect class="p1" x="584" y="20" width="96" height="14"/><rect class="p7" x="680" y="20" width="384" height="14"/>`, `class="label last"`, `d="M680 0V36"`,
		"rank 1, began last: called after 400\u00a0ns, launch 100\u00a0ns, network 400\u00a0ns",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "rank 2") {
		t.Error("a rank that ended before it was called is drawn")
	}
	if got := newTimeline(&w, 8).says(); got != "rank 1 began last, 300\u00a0ns after the one before, known to 10\u00a0ns." {
		t.Error(got)
	}
	if lanes := newTimeline(&w, 1).lanes; len(lanes) != 1 || lanes[0].Rank != "1" {
		t.Errorf("of too many lanes the one that began last is left out: %+v", lanes)
	}
}

// TestALargeJobIsASmallPage: what is drawn is bounded, whatever a job has.
func TestALargeJobIsASmallPage(t *testing.T) {
	d := &dividing.Document{}
	for i := range 2000 {
		id := fmt.Sprint(i)
		d.Ranks = append(d.Ranks, dividing.RankTime{ID: id, Host: strings.Repeat("h", 300), Divided: 1, Time: dividing.Parts{LaunchNS: 1e6, WaitingNS: 1e6, NetworkNS: 1e6}})
		d.Time.Add(&d.Ranks[i].Time)
		for k := range 10 {
			d.Waits = append(d.Waits, dividing.Wait{Rank: id, For: fmt.Sprint((i + 1 + k*7) % 2000), WaitingNS: int64(1e9 + i*1e6 + k), CertainNS: 1e8, Operations: 1})
		}
		d.Links = append(d.Links, dividing.Link{From: id, To: "0", Times: 1.7, Ops: 100, Bytes: 1e9, Rate: 1e9})
	}
	w := dividing.Worst{Operation: "AllReduce", Last: "1999", AtNS: 1}
	for i := range d.Ranks {
		w.Ranks = append(w.Ranks, dividing.Part{Rank: d.Ranks[i].ID, AtNS: int64(1 + i), EndedNS: int64(1 + i + 3e6), Time: d.Ranks[i].Time})
	}
	for range 100 {
		d.Worst = append(d.Worst, w)
	}
	text := render(t, Job{Report: d})
	if len(text) > 2<<20 {
		t.Errorf("the page of 2,000 ranks has %d bytes", len(text))
	}
	for _, want := range []string{"1\u202f744 ranks that waited less are not drawn", "began last", "Not drawn: 1\u202f904 ranks."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of 2,000 ranks lacks %q", want)
		}
	}
}

// TestWhereHostsRanAheadThePictureBeginsLater, with times that count from the first call all the same.
func TestWhereHostsRanAheadThePictureBeginsLater(t *testing.T) {
	w := dividing.Worst{AtNS: 0, Last: "0", Ranks: []dividing.Part{{Rank: "0", AtNS: 0, EndedNS: 10_800, Time: dividing.Parts{SchedulingNS: 10_000, KernelNS: 800}}}}
	line := newTimeline(&w, 8)
	if line.cut != 9_900 || line.length != 900 {
		t.Errorf("%d ns are cut off, %d ns are drawn", line.cut, line.length)
	}
	text := string(line.draw())
	for _, want := range []string{`<rect class="p2" x="200" y="2" width="106.7" height="14"/><rect class="p4" x="306.7"`, ">9.90\u00a0µs</text>", ">10.8\u00a0µs</text>", "called after 0\u00a0ns", "had begun after 10.0\u00a0µs"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
}

func TestTheFormatIsToldByTheEnding(t *testing.T) {
	for path, want := range map[string]string{"a.html": "html", "a.HTM": "html", "b.json": "json", "c.txt": "", "": ""} {
		if got, ok := FormatOf(path); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", path, got, ok)
		}
	}
	if err := Write("svg", &bytes.Buffer{}, Job{Report: new(dividing.Document)}); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
	if err := Write("html", &bytes.Buffer{}, Job{}); !fault.Is(err, fault.Internal) {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := Write("json", &b, Job{Diagnosis: &diagnosing.Document{Schema: "x"}}); err != nil || !strings.Contains(b.String(), `"schema": "x"`) {
		t.Error(b.String(), err)
	}
}

// FuzzPage: whatever a document says, a page of it is well-behaved.
func FuzzPage(f *testing.F) {
	d := dividing.Document{Verdict: "x", Ranks: []dividing.RankTime{{ID: "0"}, {ID: "1"}}, Waits: []dividing.Wait{{Rank: "0", For: "1", WaitingNS: 5}}}
	d.Worst = []dividing.Worst{{Last: "1", AtNS: 1, Ranks: []dividing.Part{{Rank: "1", AtNS: 1, EndedNS: 5, Time: dividing.Parts{KernelNS: 4}}}}}
	b, err := json.Marshal(d)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, []byte(`{"status":"culprit","stuck":[{"rank":"1","of":3}],"findings":[{"ranks":["1"]}]}`))
	f.Add([]byte(`{"worst":[{"at_ns":-9223372036854775808,"ranks":[{"at_ns":-9223372036854775808,"ended_ns":9223372036854775807,"time":{"kernel_ns":9223372036854775807}}]}]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, report, diagnosis []byte) {
		of := Job{new(dividing.Document), new(diagnosing.Document)}
		if json.Unmarshal(report, of.Report) != nil || json.Unmarshal(diagnosis, of.Diagnosis) != nil {
			return
		}
		text := render(t, of)
		if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "NaN") && !bytes.Contains(report, []byte("NaN")) && !bytes.Contains(diagnosis, []byte("NaN")) {
			t.Error("the page has what is not text")
		}
	})
}
