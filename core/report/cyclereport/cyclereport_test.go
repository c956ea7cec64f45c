package cyclereport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/cycle"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/gate"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// run is how a sample differs from the plain one.
type run struct {
	path   string
	slower int // this kernel of a layer takes a fifth longer; 0 none
	drop   int // this kernel of a layer is missing; 0 none
	hurt   bool
}

const (
	layersOfStep  = 3
	kernelsOfPart = 5
	sampleSteps   = 40
)

// trace is two ranks of a small server: steps of three layers, a collective in another stream, an outlier and a drift.
func trace(o run) *kernels.Trace {
	layer := []string{
		"void vllm::rms_norm_kernel<c10::BFloat16>", "nvjet_tst_64x8_64x16_1x2_h_bz_TNN", "void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128, 16>",
		"void vllm::act_and_mul_kernel<c10::BFloat16>", "nvjet_tst_128x8_64x12_2x1_v_bz_TNN",
	}
	head, tail, comm := "triton_poi_fused_embedding_0", "void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
	if o.hurt {
		layer[1] = "<script>alert(1)</script>\u202e=cmd|' /C calc'!A0"
		tail = "=HYPERLINK(\"http://x\")\x00|`*"
	}
	names := append(slices.Clone(layer), head, tail, comm)
	slices.Sort(names)
	id := func(name string) uint32 { return uint32(slices.Index(names, name)) }
	t := &kernels.Trace{Path: o.path, Format: "chrome", Names: names, BaseNS: 1_700_000_000_000_000_000}
	for rank := range 2 {
		r := rand.New(rand.NewPCG(uint64(rank), 9))
		s := kernels.Sequence{Rank: rank, Device: "GPU 0", Streams: []kernels.Stream{{Name: "7"}, {Name: "20", Communication: true}}}
		now := t.BaseNS + 5_000_000 + int64(rank)*1000
		var durs []int64
		put := func(name string, stream uint16, start, dur int64) {
			s.Name, s.StartNS, s.Stream = append(s.Name, id(name)), append(s.StartNS, start), append(s.Stream, stream)
			s.Streams[stream].Kernels++
			durs = append(durs, dur)
		}
		kernel := func(name string, dur int64) {
			dur += r.Int64N(1 + dur/100)
			put(name, 0, now, dur)
			now += dur + 500
		}
		for step := range sampleSteps {
			now += 20_000
			kernel(head, 2000)
			for l := range layersOfStep {
				for k := range kernelsOfPart {
					if o.drop > 0 && k == o.drop {
						continue
					}
					dur := int64(3000 + 1000*k)
					if o.slower > 0 && k == o.slower {
						dur += dur / 5
					}
					if step >= 24 && k == 2 {
						dur += 4000
					}
					if step == 7 && l == 1 && k == 4 {
						dur += 60_000
					}
					if rank == 1 && k == 1 {
						dur += 300
					}
					kernel(layer[k], dur)
				}
				put(comm, 1, now-400, 300)
			}
			kernel(tail, 2500)
			if len(t.Marks) < 2*sampleSteps && step%2 == 0 {
				t.Marks = append(t.Marks, kernels.Mark{Kind: kernels.NVTX, Text: fmt.Sprintf("decode bs=%d", 8), Place: kernels.OnHost, Sequence: -1, Rank: -1, Step: -1})
			}
		}
		s.SetDurations(durs)
		t.Sequences = append(t.Sequences, s)
	}
	return t
}

func found(t testing.TB, o run) *cycle.Result {
	t.Helper()
	r, err := cycle.Find(nil, trace(o), cycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func documents(t testing.TB) map[string]*cycledoc.Document {
	t.Helper()
	none, err := cycle.Find(nil, &kernels.Trace{Path: "empty.json", Format: "chrome"}, cycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*cycledoc.Document{
		"serving": found(t, run{path: "run/a.json.gz"}).Document(), "none": none.Document(), "hostile": found(t, run{path: "<b>\u202e.json", hurt: true}).Document(), "zero": {},
	}
}

func comparisons(t testing.TB) map[string]*cycledoc.CompareDocument {
	t.Helper()
	compare := func(a, b run, failOn ...string) *cycledoc.CompareDocument {
		gates, err := gate.Parse(failOn)
		if err != nil {
			t.Fatal(err)
		}
		d, err := cycle.Compare(nil, found(t, a), found(t, b), cycle.CompareOptions{Gates: gates})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a := run{path: "run/a.json.gz"}
	return map[string]*cycledoc.CompareDocument{
		"changed": compare(a, run{path: "run/b.json.gz", slower: 1, drop: 3}), "same": compare(a, a),
		"hostile": compare(run{path: "<b>.json", hurt: true}, run{path: "c.json", hurt: true, slower: 1}, "step:<script>>3%", "kernel>3%"), "zero": {},
		"gated": compare(a, run{path: "run/b.json.gz", slower: 1, drop: 3}, "layer>3%", "removed", "added", "kernel:rms_norm*>5%", "kernel:flash*>5%", "kernel:paged*>0.1%"),
	}
}

func render(t testing.TB, format string, d *cycledoc.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(format, &b, d, Options{}); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

func renderCompare(t testing.TB, format string, d *cycledoc.CompareDocument) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteCompare(format, &b, d, Options{}); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

var endings = map[string]string{"html": ".html", "csv": ".csv", "markdown": ".md", "chrome": ".trace.json", "json": ".json", "junit": ".xml", "github": ".txt"}

func TestGolden(t *testing.T) {
	docs := documents(t)
	for _, name := range []string{"serving", "none", "hostile"} {
		for _, format := range Formats() {
			if format == "json" && name != "none" { // all digits of means: processors that fuse multiplying and adding differ in the last
				continue
			}
			t.Run(name+"/"+format, func(t *testing.T) { golden(t, name+endings[format], render(t, format, docs[name])) })
		}
	}
	pairs := comparisons(t)
	for _, name := range []string{"changed", "same", "hostile", "gated"} {
		for _, format := range CompareFormats() {
			if format == "json" {
				continue
			}
			t.Run("compare/"+name+"/"+format, func(t *testing.T) { golden(t, "compare-"+name+endings[format], renderCompare(t, format, pairs[name])) })
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code writes; -update rewrites it (-want +got):\n%.4000s", path, cmp.Diff(string(want), string(got)))
	}
}

func TestReportsAreTheSameEveryTime(t *testing.T) {
	a, b := documents(t), documents(t)
	for name := range a {
		for _, format := range Formats() {
			if !bytes.Equal(render(t, format, a[name]), render(t, format, b[name])) {
				t.Errorf("%s of %s differs from one time to the next", format, name)
			}
		}
	}
}

func TestEveryReportIsText(t *testing.T) {
	check := func(what string, b []byte) {
		if !utf8.Valid(b) {
			t.Errorf("%s is not UTF-8", what)
		}
		if bytes.ContainsAny(b, "\x00\u202e") {
			t.Errorf("%s has characters that hide or turn text", what)
		}
	}
	for name, d := range documents(t) {
		for _, format := range Formats() {
			if b := render(t, format, d); format != "json" { // JSON says what the trace says
				check(name+" "+format, b)
			}
		}
	}
	for name, d := range comparisons(t) {
		for _, format := range CompareFormats() {
			if b := renderCompare(t, format, d); format != "json" {
				check("compare "+name+" "+format, b)
			}
		}
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	for name, d := range documents(t) {
		var back cycledoc.Document
		if err := json.Unmarshal(render(t, "json", d), &back); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(*d, back) && name != "hostile" { // whose names are no UTF-8
			t.Errorf("%s: %s", name, cmp.Diff(*d, back))
		}
	}
}

func TestHostileNamesStayText(t *testing.T) {
	page := string(render(t, "html", documents(t)["hostile"])) + string(renderCompare(t, "html", comparisons(t)["hostile"]))
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
		t.Error("a name has become markup")
	}
	for _, report := range [][]byte{render(t, "csv", documents(t)["hostile"]), renderCompare(t, "csv", comparisons(t)["hostile"])} {
		rows, err := reader(report).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) && !regexp.MustCompile(`^-?[0-9.]+$`).MatchString(cell) {
					t.Errorf("a spreadsheet takes %q for a formula", cell)
				}
			}
		}
	}
}

func TestPagesAskForNothing(t *testing.T) {
	for _, page := range [][]byte{render(t, "html", documents(t)["serving"]), renderCompare(t, "html", comparisons(t)["changed"])} {
		text := string(page)
		for _, bad := range []string{"http://", "https://", "<script", "<link", "<img", "url(", "@import", " style="} {
			if strings.Contains(text, bad) {
				t.Errorf("the page has %q", bad)
			}
		}
		if !strings.Contains(text, `lang="en"`) || !strings.Contains(text, "Content-Security-Policy") {
			t.Error("the page does not say its language or what it may do")
		}
		ids := regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1)
		seen := map[string]bool{}
		for _, id := range ids {
			if seen[id[1]] {
				t.Errorf("the id %q occurs twice", id[1])
			}
			seen[id[1]] = true
		}
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(text, -1) {
			if !seen[link[1]] {
				t.Errorf("a link leads to #%s, which is not there", link[1])
			}
		}
	}
}

func reader(b []byte) *csv.Reader {
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord = -1
	return r
}

// TestCSVIsTheDescribedLayout reads the writeCSV as uplifter's users do.
func TestCSVIsTheDescribedLayout(t *testing.T) {
	d := documents(t)["serving"]
	text := string(render(t, "csv", d))
	lines := strings.Split(text, "\n")
	if lines[0] != "# Iterations,80" || !strings.HasPrefix(lines[1], "# Kernels per cycle,17") || !strings.HasPrefix(lines[2], "# Avg cycle time (us),") || !strings.HasPrefix(lines[3], "# Total time (us),") || lines[4] != "" {
		t.Errorf("the comments are %q", lines[:5])
	}
	if lines[5] != "index,kernel_name,avg_duration_us,min_duration_us,max_duration_us,stddev_us,count,pct_of_cycle" {
		t.Errorf("the header is %q", lines[5])
	}
	rows, err := reader([]byte(strings.Join(lines[6:], "\n"))).ReadAll()
	if err != nil || len(rows) != 17 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	decimals := regexp.MustCompile(`^\d+\.\d{3}$`)
	for i, row := range rows {
		if row[0] != fmt.Sprint(i) || !decimals.MatchString(row[2]) || !regexp.MustCompile(`^\d+\.\d{4}$`).MatchString(row[7]) || row[6] != "80" {
			t.Errorf("row %q", row)
		}
	}
	var b bytes.Buffer
	if err := writeCSV(&b, d, Options{Class: "0000"}); !fault.Is(err, fault.Usage) {
		t.Errorf("an unknown class: %v", err)
	}
}

// TestReportsSayWhereTheTimeWent reads the parts of the account back from the page and from Markdown.
func TestReportsSayWhereTheTimeWent(t *testing.T) {
	d := comparisons(t)["changed"]
	for _, format := range []string{"html", "markdown"} {
		text := string(renderCompare(t, format, d))
		for _, p := range d.Account.Parts {
			if !strings.Contains(text, p.Text) || !strings.Contains(strings.ReplaceAll(text, "\\", ""), exactSigned(p.DeltaNS)) && format == "markdown" {
				t.Errorf("%s does not say %s %s", format, p.Text, exactSigned(p.DeltaNS))
			}
		}
	}
}

func TestCompareCSVIsTheDescribedLayout(t *testing.T) {
	d := comparisons(t)["changed"]
	var b bytes.Buffer
	if err := compareCSV(&b, d, Options{Pair: 0}); err != nil {
		t.Fatal(err)
	}
	rows, err := reader(b.Bytes()).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	total := slices.IndexFunc(rows, func(row []string) bool { return row[0] == "TOTAL" })
	if strings.Join(rows[0], ",") != "eager_kernel,compiled_kernel,duration_us,match_type" || total < 0 {
		t.Fatalf("first %q, total in row %d", rows[0], total)
	}
	kinds := map[string]int{}
	for _, row := range rows[1:total] {
		kinds[row[3]]++
	}
	us := func(row []string) int64 {
		whole, part, _ := strings.Cut(row[2], ".")
		n, err := strconv.ParseInt(whole+part, 10, 64)
		if err != nil || len(part) != 3 {
			t.Fatalf("%q", row)
		}
		return n
	}
	left := us(rows[total+3])
	last := len(rows) - 1
	if rows[last][0] != "# conclusion: differs" {
		t.Errorf("the last row is %q", rows[last])
	}
	for _, row := range rows[total+4 : last] {
		left -= us(row)
	}
	if account := &d.Pairs[0].Account; left != 0 || us(rows[total+3]) != account.DeltaNS || us(rows[total+2])-us(rows[total+1]) != account.DeltaNS || len(account.Parts) < 3 {
		t.Errorf("the comments do not add up: %q", rows[total:])
	}
	if kinds["exact"] != 14 || kinds["removed"] != 3 || len(kinds) != 2 { // a step of three layers lost one kernel in each
		t.Errorf("%v", kinds)
	}
	if err := compareCSV(io.Discard, d, Options{Pair: 99}); !fault.Is(err, fault.Usage) {
		t.Errorf("a pair that is not there: %v", err)
	}
}

// TestTrackLiesBesideTheInput holds the slices of the track against the times of the trace.
func TestTrackLiesBesideTheInput(t *testing.T) {
	tr := trace(run{path: "a.json"})
	r, err := cycle.Find(nil, tr, cycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Document()
	var track struct {
		BaseTimeNanoseconds int64
		TraceEvents         []struct {
			Name, Ph string
			TS, Dur  json.Number
			PID, TID int
		}
	}
	if err := json.Unmarshal(render(t, "chrome", d), &track); err != nil {
		t.Fatal(err)
	}
	if track.BaseTimeNanoseconds != tr.BaseNS {
		t.Errorf("baseTimeNanoseconds is %d, not %d", track.BaseTimeNanoseconds, tr.BaseNS)
	}
	slices, first := 0, ""
	for _, e := range track.TraceEvents {
		if e.Ph == "X" {
			if slices++; slices == 1 {
				first = string(e.TS)
			}
		}
	}
	want := int64(0)
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			want += c.Count
		}
	}
	if int64(slices) != want {
		t.Errorf("%d slices, not %d", slices, want)
	}
	ns := tr.Sequences[0].StartNS[0] - tr.BaseNS
	if text := fmt.Sprintf("%d.%03d", ns/1000, ns%1000); first != text {
		t.Errorf("the first slice starts at %s, the first kernel at %s", first, text)
	}
}

func TestFormatsAreRecognisedByTheirEnding(t *testing.T) {
	for path, want := range map[string]string{"a.html": "html", "b.trace.json": "chrome", "c.JSON": "json", "d.csv": "csv", "e.md": "markdown", "f.txt": "", "g.xml": "junit"} {
		if got, _ := FormatOf(path); got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	if err := Write("pdf", io.Discard, &cycledoc.Document{}, Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
	if err := WriteCompare("chrome", io.Discard, &cycledoc.CompareDocument{}, Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
}

// TestPageOfManyStepsIsBounded gives a page a hundred thousand steps of alternating classes.
func TestPageOfManyStepsIsBounded(t *testing.T) {
	d := documents(t)["serving"]
	d.Steps = nil
	for i := range int64(100_000) {
		class := d.Selected
		if i%2 == 1 {
			class = ""
		}
		d.Steps = append(d.Steps, cycledoc.Step{Device: "GPU 0", Number: i, Class: class, StartNS: i * 1000, EndNS: i*1000 + 900, WallNS: 1000, BusyNS: 800})
	}
	if n := len(render(t, "html", d)); n > 1<<20 {
		t.Errorf("the page has %d bytes", n)
	}
}

func TestAClassOfOneKernelThatOneRunHasIsInTheSingular(t *testing.T) {
	d := &cycledoc.CompareDocument{OnlyA: []cycledoc.ClassBrief{{Name: "block", Period: 1, Count: 5}}, OnlyB: []cycledoc.ClassBrief{{Name: "layer", Period: 12, Count: 5}}}
	text := strings.Join(compareLimits(d), "\n")
	for _, want := range []string{"Only A has block: 5 × 1 kernel, ", "Only B has layer: 5 × 12 kernels, "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
