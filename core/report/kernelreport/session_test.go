package kernelreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/verdict"
)

// sessions is a comparison of sessions of every kind: launches that agree, two that differ, one that could not be read, one of
// another grid, one that B lacks and one that only B has.
func sessions() *session.Document {
	first := sample()
	other := branch(5, 9, 0xff, 0x7f)
	shape := [3]uint32{64, 1, 1}
	result := func(n uint64, kernel, status string) session.LaunchResult {
		return session.LaunchResult{
			Kernel: kernel, Launch: n, LaunchB: n, IndexA: int64(n), IndexB: int64(n), MatchedBy: session.ByArguments, Status: status, WarpsCompared: 128,
			FileA: fmt.Sprintf("%s_%d.prlx", kernel, n), FileB: fmt.Sprintf("%s_%d.prlx", kernel, n), Grid: [3]uint32{32, 1, 1}, Block: [3]uint32{128, 1, 1},
		}
	}
	d := &session.Document{
		Schema: session.DocumentSchema, Status: "diverged", Conclusion: concludes(verdict.Differs, 5, "could not be compared"), Causes: []session.Cause{}, Headline: diff.HeadlineOf("diverged", false, 12, diff.Allowed{}), Verdict: "2 of 6 launches differ, the first is masked_softmax (launch 2); 1 missing from B; 1 only in B; 1 could not be compared",
		TotalDivergences: 14, CountedDivergences: 12, A: session.Side{Path: "runs/good", Launches: 7, Manifest: true}, B: session.Side{Path: "runs/bad", Launches: 7, Partial: true},
		KernelResults: []session.LaunchResult{
			result(0, "embed", "identical"), result(1, "layernorm", "identical"), result(2, "masked_softmax", "diverged"), result(3, "matmul", "error"), result(5, "matmul", "diverged"),
			result(6, "layernorm", "identical"),
		},
		UnmatchedA: []string{"dropout (launch 4)"}, UnmatchedB: []string{"cast (launch 4)"},
		Missing:  []session.LaunchOf{{Index: 4, Launch: 4, Kernel: "dropout", File: "dropout_4.prlx", Grid: shape, Block: shape}},
		Inserted: []session.LaunchOf{{Index: 4, Launch: 4, Kernel: "cast", File: "cast_4.prlx"}},
		Sequence: session.Sequence{Missing: 1, Inserted: 1}, Totals: session.Totals{Matched: 6, Identical: 3, Diverged: 2, Errors: 1},
		Losses: first.Losses, Options: first.Options, Warnings: []string{"recording of a session did not come to its end: launches behind that are not compared"},
		First: &session.FirstLaunch{Kernel: "masked_softmax", Launch: 2, LaunchB: 2, IndexA: 2, IndexB: 2, Diff: first},
	}
	two, three, five := &d.KernelResults[2], &d.KernelResults[3], &d.KernelResults[4]
	two.Divergences, two.CountedDivergences, two.WarpsDiverged, two.First, two.Breakdown = 12, 10, 8, first.First, first.DivergenceBreakdown
	three.Error, three.ErrorKind = "the file ends inside the events of warp 3", "format"
	five.Divergences, five.CountedDivergences, five.WarpsDiverged, five.First, five.Breakdown = 2, 2, 2, &other, map[string]int64{"Branch": 2}
	five.MatchedBy, five.GridB, five.LaunchB, five.Warnings = session.ByKernel, &shape, 6, []string{"the grids differ"}
	five.Losses = &session.LossesOfLaunch{DroppedB: 7}
	return d
}

// agreeing is a comparison of sessions that found nothing.
func agreeing() *session.Document {
	d := sessions()
	return &session.Document{
		Schema: d.Schema, Status: "identical", Conclusion: concludes(verdict.Same, 2, ""), Causes: []session.Cause{}, Verdict: "2 launches of both sessions agree", Passed: true, A: d.A, B: d.A, KernelResults: d.KernelResults[:2],
		UnmatchedA: []string{}, UnmatchedB: []string{}, Missing: []session.LaunchOf{}, Inserted: []session.LaunchOf{}, Warnings: []string{},
		Totals: session.Totals{Matched: 2, Identical: 2}, Sequence: session.Sequence{Same: true},
	}
}

// concludes is a verdict over launches, of which one is missing for a reason.
func concludes(outcome verdict.Outcome, launches int64, why string) verdict.Verdict {
	v := verdict.Verdict{Outcome: outcome, Why: "what was compared", Looked: []verdict.Looked{{What: "launches", Count: launches}}, Missing: []verdict.Missing{}}
	if why != "" {
		one := int64(1)
		v.Missing = append(v.Missing, verdict.Missing{What: "launches", Count: &one, Why: why})
	}
	return v
}

// nastySession is sessions with a hostile text wherever a recording or a manifest has a say.
func nastySession(name string) *session.Document {
	d := sessions()
	d.Verdict, d.A.Path, d.B.Path, d.A.Producer, d.Warnings = name, name, name, name, []string{name}
	for i := range d.KernelResults {
		l := &d.KernelResults[i]
		l.Kernel, l.FileA, l.FileB, l.MatchedBy, l.Warnings = name, name, name, name, []string{name}
		if l.Error != "" {
			l.Error = name
		}
		if l.First != nil {
			f := *l.First
			f.SourceLocation, f.ValueA, f.Kind = name+":"+name+":3:4", name, name
			l.First, l.Breakdown = &f, map[string]int64{name: 1}
		}
	}
	d.Conclusion = concludes(verdict.Outcome(name), 1, name)
	d.Missing[0].Kernel, d.Missing[0].File, d.Inserted[0].Kernel = name, name, name
	d.First.Kernel, d.First.Diff = name, nasty(name)
	return d
}

func sessionDocuments() map[string]*session.Document {
	return map[string]*session.Document{"session": sessions(), "session-identical": agreeing(), "session-hostile": nastySession(hostile), "session-empty": {}}
}

func sessionFormats() []string {
	return []string{"html", "csv", "junit", "sarif", "github", "markdown", "json"}
}

func renderSession(t testing.TB, format string, d *session.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSession(format, &b, d, options); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

func TestGoldenOfSessions(t *testing.T) {
	ending := map[string]string{"html": ".html", "csv": ".csv", "junit": ".xml", "sarif": ".sarif", "github": ".github.txt", "markdown": ".md", "json": ".json"}
	for _, name := range []string{"session", "session-identical", "session-hostile"} {
		for _, format := range sessionFormats() {
			t.Run(name+"/"+format, func(t *testing.T) { golden(t, name+ending[format], renderSession(t, format, sessionDocuments()[name])) })
		}
	}
}

func TestReportsOfSessionsSayHowFarApart(t *testing.T) {
	d := sessions()
	for i := range maxDistances + 2 {
		d.KernelResults[2].Arrays = append(d.KernelResults[2].Arrays, diff.ArrayDiff{Name: fmt.Sprintf("out%d", i), DistanceText: "7 of 9 elements differ"})
	}
	d.KernelResults[2].ArraysOmitted = 3
	for _, format := range []string{"html", "junit", "markdown"} {
		text := string(renderSession(t, format, d))
		for _, want := range []string{"out3: 7 of 9 elements differ", "5 more arrays differ"} {
			if !strings.Contains(text, want) || strings.Contains(text, "out4: ") {
				t.Errorf("%s does not have %q, or more than it should", format, want)
			}
		}
	}
}

func TestReportsOfSessionsAreWellFormed(t *testing.T) {
	for name, d := range sessionDocuments() {
		t.Run(name, func(t *testing.T) { checkSession(t, d) })
	}
}

func checkSession(t *testing.T, d *session.Document) {
	wellFormedXML(t, renderSession(t, "junit", d))
	wellFormedJSON(t, renderSession(t, "sarif", d))
	renderSession(t, "markdown", d)
	if rows, err := csv.NewReader(bytes.NewReader(renderSession(t, "csv", d))).ReadAll(); err != nil || len(rows) != 1+len(runOf(d).launches) {
		t.Fatalf("CSV: %d rows, %v", len(rows), err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(renderSession(t, "github", d)), "\n"), "\n") {
		if !strings.HasPrefix(line, "::") {
			t.Fatalf("no annotation: %q", line)
		}
	}
	page := string(renderSession(t, "html", d))
	if n := len(strayTag.FindAllString(page, -1)); n != 1 {
		t.Fatalf("%d elements that run or load, want the one of the page", n)
	}
	nested(t, page)
}

func FuzzSessionReports(f *testing.F) {
	for _, d := range []*session.Document{sessions(), agreeing()} {
		if d.First != nil {
			d.First.Diff = shortened(d.First.Diff)
		}
		for i := range d.KernelResults {
			d.KernelResults[i].First = nil
		}
		b, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"kernel_results":[{"index_a":-1,"index_b":9223372036854775807,"status":"error"},{"index_a":-1,"status":"diverged","first":{}}],"missing":[{"index":-9}],"inserted":[{"index":-9},{"index":0}],"first":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d session.Document
		if json.Unmarshal(b, &d) != nil {
			t.Skip()
		}
		checkSession(t, &d)
	})
}

func TestLaunchesStandInTheOrderInWhichTheyRan(t *testing.T) {
	var got []string
	for _, l := range runOf(sessions()).launches {
		got = append(got, l.name()+" "+l.kernel+" "+l.state())
	}
	want := []string{
		"launch 0 embed identical", "launch 1 layernorm identical", "launch 2 masked_softmax diverged", "launch 3 matmul not compared", "launch 4 dropout only in A",
		"launch 4 of B cast only in B", "launch 5 matmul diverged", "launch 6 layernorm identical",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("launches (-want +got):\n%s", d)
	}
}

func TestNoReportOfSessionsIsATrack(t *testing.T) {
	var f *fault.Error
	if err := WriteSession("perfetto", io.Discard, sessions(), Options{}); !errors.As(err, &f) || f.Kind != fault.Usage || f.Hint == "" {
		t.Errorf("got %v, want a usage error with a hint", err)
	}
}

// TestTheSameSiteInManyLaunchesIsOneResult: a service that tracks findings has one alert for a bug, not one per launch.
func TestTheSameSiteInManyLaunchesIsOneResult(t *testing.T) {
	d := sessions()
	for n := range 50 {
		l := d.KernelResults[4]
		l.Launch, l.IndexA = uint64(100+n), int64(100+n)
		d.KernelResults = append(d.KernelResults, l)
	}
	var log sarifLog
	if err := json.Unmarshal(renderSession(t, "sarif", d), &log); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range log.Runs[0].Results {
		if strings.HasPrefix(r.Message.Text, "launch 5:") {
			found++
			if r.Properties["launches"] != 51.0 {
				t.Errorf("the result stands for %v launches, want 51", r.Properties["launches"])
			}
		}
	}
	if found != 1 {
		t.Errorf("%d results for one site", found)
	}
}

func TestASessionThatPassedFailsNoBuild(t *testing.T) {
	d := sessions()
	d.Passed, d.Missing, d.Inserted = true, nil, nil
	d.KernelResults = append(d.KernelResults[:3:3], d.KernelResults[4:]...)
	if got := string(renderSession(t, "junit", d)); strings.Contains(got, "<failure") || strings.Contains(got, "<error") {
		t.Error("a JUnit case fails")
	}
	if strings.Contains(string(renderSession(t, "github", d)), "::error") {
		t.Error("an annotation is an error")
	}
}

func TestPageOfAThousandLaunchesIsBounded(t *testing.T) {
	d := sessions()
	for n := range 5000 {
		l := d.KernelResults[n%2*4]
		l.Launch, l.IndexA, l.IndexB = uint64(100+n), int64(100+n), int64(100+n)
		d.KernelResults = append(d.KernelResults, l)
	}
	page := string(renderSession(t, "html", d))
	if limit := 6 << 20; len(page) > limit {
		t.Errorf("the page has %d bytes, want at most %d", len(page), limit)
	}
	nested(t, page)
}

func TestOneCauseIsOneFailureOfJUnit(t *testing.T) {
	d := sessions()
	d.KernelResults, d.Missing, d.Inserted = d.KernelResults[2:5], nil, nil
	for i, role := range []string{session.RoleCauses, session.RoleFollows, session.RoleFollows} {
		l := &d.KernelResults[i]
		l.Status, l.Error, l.CountedDivergences, l.Role = session.StatusDiverged, "", 3, role
	}
	text := string(renderSession(t, "junit", d))
	if got := strings.Count(text, "<failure"); got != 1 {
		t.Errorf("got %d failures, want 1:\n%s", got, text)
	}
	if got := strings.Count(text, "<skipped"); got != 2 {
		t.Errorf("got %d skipped, want the two that follow:\n%s", got, text)
	}
}
