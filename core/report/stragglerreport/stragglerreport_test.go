package stragglerreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/junit"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

const hostile = "<script>alert(1)</script>|`*]]>\x00\u202e\xff"

// late is a job of four ranks in two steps, of which one rank was late and one link slow.
func late(suffix string) *straggler.Document {
	rank := func(n int, blamed bool, cost int64) straggler.RankCost {
		r := straggler.RankCost{
			ID: fmt.Sprintf("rank%d%s", n, suffix), Host: fmt.Sprintf("host%d%s", n/2, suffix), Blamed: blamed, CostNS: cost, GainNS: cost - cost/10, Share: float64(cost) / 1e9,
			Operations: 80, Last: n, Time: straggler.Parts{TransferNS: 40_000_000, WaitingNS: 30_000_000 - cost/4},
		}
		if cost > 0 {
			r.Steps, r.Causes = 1, []straggler.Cause{{Name: "ampere_sgemm" + suffix, CostNS: cost}}
		}
		return r
	}
	return &straggler.Document{
		Schema: straggler.Schema, Status: straggler.StatusBlamed, Verdict: "rank2" + suffix + " was late: it cost 61.50 ms", FromNS: 1000, ToNS: 1_000_001_000, LengthNS: 1_000_000_000,
		Conclusion: verdict.Verdict{Outcome: verdict.Failed, Why: "rank2" + suffix + " was late", Looked: []verdict.Looked{{What: "ranks", Count: 4}}, Missing: []verdict.Missing{{What: "trace of rank 4" + suffix, Why: "no file of it"}}},
		Clocks:     "probes", Operations: straggler.Operations{Count: 80, Told: 77},
		Time:  straggler.Parts{TransferNS: 160_000_000, WaitingNS: 104_000_000, ProfilerNS: 900, UntoldNS: 12_345},
		Ranks: []straggler.RankCost{rank(2, true, 61_500_000), rank(0, false, 1_200_000), rank(1, false, 0), rank(3, false, 0)},
		Links: []straggler.LinkCost{
			{Ranks: []string{"rank0" + suffix, "rank3" + suffix}, Blamed: true, CostNS: 20_000_000, Share: 0.02, Times: 7},
			{Ranks: []string{}, Group: "default_pg" + suffix, CostNS: 1000, Times: 1},
		},
		Steps: []straggler.StepCost{
			{Name: "1", FromNS: 1000, ToNS: 500_001_000, Critical: "rank0" + suffix, CostNS: 1_200_000},
			{Name: "2" + suffix, FromNS: 500_001_000, ToNS: 1_000_001_000, Critical: "rank2" + suffix, CostNS: 61_500_000, Cause: "ampere_sgemm" + suffix},
			{Name: "3"},
		},
		Groups: []straggler.GroupCost{{Group: "default_pg" + suffix, Operations: 80, Told: 77, Time: straggler.Parts{TransferNS: 160_000_000, WaitingNS: 104_000_000}}},
		Bandwidths: []straggler.Bandwidth{
			{
				Group: "default_pg" + suffix, Operation: "all-reduce" + suffix, Kind: "all-reduce", Ranks: 4, Pair: []string{}, Bytes: 25_000_000, Operations: 40, TransferNS: 1_000_000, DurationNS: 2_000_000,
				AlgorithmRate: 25_000_000_000, BusRate: 37_500_000_000, WholeAlgorithm: 12_500_000_000, WholeBus: 18_750_000_000, SlowestTransferNS: 3_000_000,
			},
			{Group: "default_pg" + suffix, Operation: "send", Kind: "send-recv", Ranks: 2, Pair: []string{"rank0" + suffix, "rank3" + suffix}, Bytes: 4096, Operations: 7, TransferNS: 20_000},
		},
		Map: straggler.Map{
			Columns: []straggler.MapColumn{{From: "1", To: "1", Steps: 1}, {From: "2" + suffix, To: "3", Steps: 2}},
			CostNS:  [][]int64{{0, 61_500_000}, {1_200_000, 0}, {0, 0}, {0, 0}}, GainNS: [][]int64{{0, 0}, {0, 0}, {0, 0}, {0, 0}}, LateNS: [][]int64{{20_000, 4_000_000}, {0, 0}, {0, 0}, {0, 0}},
		},
		Pictures: []straggler.Picture{{
			Step: "2" + suffix, FromNS: 500_001_000, ToNS: 600_001_000, Operations: []string{"all-reduce" + suffix}, RanksLeftOut: 2,
			Rows: []straggler.PictureRow{
				{Rank: "rank2" + suffix, CostNS: 61_500_000, Spans: []straggler.PictureSpan{{EnterNS: 590_001_000, ReadyNS: 590_001_000, LeaveNS: 600_001_000, CostNS: 61_500_000, Cause: "ampere_sgemm" + suffix}}},
				{Rank: "rank0" + suffix, Spans: []straggler.PictureSpan{{EnterNS: 520_001_000, ReadyNS: 590_001_000, LeaveNS: 600_001_000, For: "rank2" + suffix}}},
			},
			Chain: []straggler.PictureHop{{
				Operation: "all-reduce" + suffix, Rank: "rank2" + suffix, BeganNS: 500_001_000, EnteredNS: 590_001_000, LeftBy: "rank0" + suffix, LeftNS: 600_001_000, CostNS: 61_500_000, Cause: "ampere_sgemm" + suffix,
			}},
		}},
		Worst:    []straggler.Late{},
		Notes:    []string{"clocks are related by probes" + suffix},
		Warnings: []string{"3 operations are undecided" + suffix},
	}
}

func documents() map[string]*straggler.Document {
	evil := late(hostile)
	evil.Ranks[1].ID, evil.Ranks[2].ID, evil.Ranks[3].ID = "=cmd|' /C calc'!A0", "@SUM(1)", "@SUM(1)"
	evil.Ranks[0].Host, evil.Ranks[0].Causes[0].Name = "-1+1", "+HYPERLINK(\"x\")\r\nnext,row"
	evil.Groups[0].Group = "\n# title\n<b>" + strings.Repeat("x", 3000)
	return map[string]*straggler.Document{
		"late": late(""), "hostile": evil, "zero": {},
		"unknown": {
			Schema: straggler.Schema, Status: straggler.StatusInconclusive, Verdict: "nothing to judge: one rank",
			Conclusion: verdict.Verdict{Outcome: verdict.Inconclusive, Why: "nothing to judge: one rank", Looked: []verdict.Looked{}, Missing: []verdict.Missing{}}, Ranks: []straggler.RankCost{}, Links: []straggler.LinkCost{},
			Steps: []straggler.StepCost{}, Groups: []straggler.GroupCost{}, Worst: []straggler.Late{}, Notes: []string{}, Warnings: []string{"only one trace was given"},
		},
	}
}

func gate(percent float64) Options { return Options{MostPercent: &percent} }

// asked is what every format can be written with.
func asked(suffix string) Options {
	opt := gate(5)
	opt.Tracks = tracks(suffix)
	return opt
}

// tracks are two ranks, of which one waits for the other; two operations of the other overlap.
func tracks(suffix string) *straggler.Tracks {
	const base = int64(1_700_000_000_000_000_000)
	return &straggler.Tracks{BaseNS: base, LeftOut: 2, Ranks: []straggler.Track{
		{ID: "rank2" + suffix, Host: "host1" + suffix, Blamed: true, CostNS: 61_500_000, Spans: []straggler.TrackSpan{
			{
				Operation: "all-reduce" + suffix, Group: "default_pg" + suffix, Step: "2" + suffix, Occurrence: 3, EnterNS: base + 5_000_123, LeaveNS: base + 6_000_123,
				Parts: straggler.Parts{TransferNS: 1_000_000}, LateNS: 4_000_000, Blame: []straggler.TrackBlame{{CostNS: 3_900_000, GainNS: 3_800_000, Cause: "ampere_sgemm" + suffix}},
			},
			{Operation: "all-gather", EnterNS: base + 5_500_000, LeaveNS: base + 6_500_000, Parts: straggler.Parts{TransferNS: 1_000_000}, Blame: []straggler.TrackBlame{{CostNS: 500, Link: true}}},
		}},
		{ID: "rank0" + suffix, Spans: []straggler.TrackSpan{
			{
				Operation: "all-reduce" + suffix, Group: "default_pg" + suffix, Occurrence: 3, EnterNS: base + 1_000_000, LeaveNS: base + 6_000_000, For: "rank2" + suffix,
				Parts: straggler.Parts{ProfilerNS: 100_000, LaunchNS: 400_000, WaitingNS: 3_500_000, UntoldNS: 123, TransferNS: 999_877},
			},
			{Operation: "all-gather", EnterNS: base + 6_000_000, LeaveNS: base + 6_000_000},
		}},
	}}
}

func render(t testing.TB, format string, d *straggler.Document, opt Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(format, &b, d, opt); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

var endings = map[string]string{"chrome": ".trace.json", "html": ".html", "csv": ".csv", "markdown": ".md", "junit": ".xml", "json": ".json"}

func TestGolden(t *testing.T) {
	for _, name := range []string{"late", "hostile", "unknown"} {
		for _, format := range Formats() {
			t.Run(name+"/"+format, func(t *testing.T) {
				golden(t, name+endings[format], render(t, format, documents()[name], asked(map[string]string{"hostile": hostile}[name])))
			})
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

func TestEveryReportIsText(t *testing.T) {
	for name, d := range documents() {
		for _, format := range Formats() {
			b := render(t, format, d, asked(hostile))
			if !utf8.Valid(b) {
				t.Errorf("%s of %s is not UTF-8", format, name)
			}
			if format != "json" && bytes.ContainsAny(b, "\x00\u202e") { // JSON says what the trace says
				t.Errorf("%s of %s has characters that hide or turn text", format, name)
			}
		}
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	d := documents()["late"]
	var back straggler.Document
	if err := json.Unmarshal(render(t, "json", d, Options{}), &back); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(*d, back) {
		t.Error(cmp.Diff(*d, back))
	}
}

func TestCSVHasARowARank(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", documents()["late"], Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"rank", "host", "cost_ns", "share", "gain_ns", "last", "operations", "steps", "waited_ns", "cause", "blamed"},
		{"rank2", "host1", "61500000", "0.0615", "55350000", "2", "80", "1", "14625000", "ampere_sgemm", "true"},
	}
	if len(rows) != 5 || !slices.EqualFunc(rows[:2], want, slices.Equal) {
		t.Errorf("%q", rows)
	}
}

func TestHostileNamesStayText(t *testing.T) {
	d := documents()["hostile"]
	rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", d, Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(d.Ranks) {
		t.Errorf("%d rows of %d ranks", len(rows), len(d.Ranks))
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
	}
	text := string(render(t, "markdown", d, Options{}))
	for _, bad := range []string{"<", "\n#", "`", "_"} {
		if own := strings.TrimPrefix(strings.ReplaceAll(text, "\\"+bad, ""), "###"); strings.Contains(own, bad) {
			t.Errorf("a name has become markup: %q", bad)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if len(line) > 12_000 {
			t.Errorf("line %d has %d bytes", i+1, len(line))
		}
	}
}

// TestTablesKeepTheirColumns counts the cells of every row of Markdown, also where names hold the character that divides them.
func TestTablesKeepTheirColumns(t *testing.T) {
	for name, d := range documents() {
		cells := 0
		for _, line := range strings.Split(string(render(t, "markdown", d, Options{})), "\n") {
			n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|")
			if cells > 0 && n > 0 && n != cells {
				t.Errorf("%s: a row of %d cells in a table of %d: %s", name, n-1, cells-1, line)
			}
			cells = n
		}
	}
}

// junitFile is what a build server reads.
type junitFile struct {
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Suite    junit.Suite `xml:"testsuite"`
}

func readJUnit(t *testing.T, b []byte) junitFile {
	t.Helper()
	var read junitFile
	if err := xml.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestJUnitFailsWhereTheGateIsMet reads the report as a build server does.
func TestJUnitFailsWhereTheGateIsMet(t *testing.T) {
	for _, c := range []struct {
		what, document   string
		opt              Options
		failures, errors int
		failed           []string
	}{
		{"no gate", "late", Options{}, 1, 0, []string{"verdict"}},
		{"a gate that is met", "late", gate(5), 2, 0, []string{"rank-loss>5%", "rank2"}},
		{"a gate that is exactly reached", "late", gate(6.15), 0, 0, nil},
		{"a gate that only who is not blamed exceeds", "late", gate(6.2), 0, 0, nil},
		{"nothing to judge", "unknown", gate(5), 0, 2, nil},
	} {
		suites := readJUnit(t, render(t, "junit", documents()[c.document], c.opt))
		var failed []string
		for i := range suites.Suite.Cases {
			if suites.Suite.Cases[i].Failure != nil {
				failed = append(failed, suites.Suite.Cases[i].Name)
			}
		}
		if suites.Failures != c.failures || suites.Suite.Failures != c.failures || suites.Errors != c.errors || !slices.Equal(failed, c.failed) {
			t.Errorf("%s: %d failures, %d errors, of %q", c.what, suites.Failures, suites.Errors, failed)
		}
	}
}

func TestARankThatIsNotBlamedMeetsNoGate(t *testing.T) {
	d := late("")
	d.Ranks[0].Blamed = false
	if n := readJUnit(t, render(t, "junit", d, gate(5))).Failures; n != 0 {
		t.Errorf("%d failures", n)
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readJUnit(t, render(t, "junit", documents()["hostile"], gate(5))).Suite.Cases {
		if seen[c.Class+c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		seen[c.Class+c.Name] = true
	}
	if !seen["prlx stragglers.ranks@SUM(1) #2"] {
		t.Errorf("%v", seen)
	}
}

func TestReportsOfALargeJobAreBounded(t *testing.T) {
	d := late("")
	for len(d.Ranks) < maxCases+3 {
		d.Ranks = append(d.Ranks, straggler.RankCost{ID: fmt.Sprint("rank", len(d.Ranks)), Operations: 2000})
	}
	for n := range 2000 {
		d.Steps = append(d.Steps, straggler.StepCost{Name: fmt.Sprint(n), Critical: "rank0", CostNS: int64(n)})
	}
	text := string(render(t, "markdown", d, Options{}))
	if strings.Count(text, "\n") > 100 || !strings.Contains(text, figure.Count(maxCases+3-maxMarkdownRows)+" ranks more.") || !strings.Contains(text, "1\u202f982 steps more.") {
		t.Errorf("%.3000s", text)
	}
	suite := readJUnit(t, render(t, "junit", d, Options{})).Suite
	if len(suite.Cases) != 1+maxCases || !strings.Contains(suite.Cases[0].Failure.Text, "3 ranks have no case here.") {
		t.Errorf("%d cases, %+v", len(suite.Cases), suite.Cases[0])
	}
}

func TestFormatsAreRecognisedByTheirEnding(t *testing.T) {
	for path, want := range map[string]string{"b.html": "html", "c.JSON": "json", "d.csv": "csv", "e.md": "markdown", "f.xml": "junit", "g.junit": "junit", "i.trace.json": "chrome", "h.txt": ""} {
		if got, _ := FormatOf(path); got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	if err := Write("pdf", io.Discard, &straggler.Document{}, Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
}
