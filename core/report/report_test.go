package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	zeroNS = int64(1_760_000_000_000_000_000)
	ms     = int64(1_000_000)
)

// sample is a run of n nodes and the given number of collectives whose clocks are up to 37 ms apart. The last node's clock steps
// and its trace reaches beyond the clock data.
func sample(t testing.TB, n, groups int) CombineReport {
	t.Helper()
	doc := &combine.Document{
		Schema: combine.Schema, Status: combine.StatusDegraded, Verdict: figure.Plural(n, "node", "nodes") + " on the clock of node0: degraded", Reference: "node0", Timebase: "host", ZeroNS: zeroNS,
		Outputs:     []combine.Output{{Path: "node0.xplane.pb", Format: "xplane", Bytes: 124_517, SHA256: strings.Repeat("c1", 32)}},
		Conclusion:  verdict.Verdict{Outcome: verdict.Inconclusive, Why: "degraded", Looked: []verdict.Looked{{What: "clocks", Count: 2}}, Missing: []verdict.Missing{{What: "the clock of <node2>", Why: "it is not known"}}},
		Collectives: &combine.Collectives{Groups: groups, Unmatched: 1, Before: combine.Verdicts{Violated: groups - 1, Consistent: 1}, After: combine.Verdicts{Consistent: groups}},
		Notes:       []string{"nodes are named by the number in their path"}, Warnings: []string{"probes.jsonl: the last line is cut short and was skipped"},
	}
	in := CombineReport{Doc: doc, Output: "run_aligned", GroupsTotal: groups}
	for k := range n {
		offset := []int64{0, 37 * ms, -5 * ms, ms / 4}[k%4]
		drift := []int64{0, 120, -80, 35}[k%4] // ns per ms
		knots := []clock.Knot{{X: zeroNS + offset, Y: zeroNS, BoundNS: 15_000}, {X: zeroNS + 1000*ms + offset + 1000*drift, Y: zeroNS + 1000*ms, BoundNS: 9_000}, {X: zeroNS + 2000*ms + offset + 2000*drift, Y: zeroNS + 2000*ms, BoundNS: 16_000}}
		opts := []clock.Option{}
		r := combine.NodeResult{
			ID: fmt.Sprintf("node%d", k), Host: fmt.Sprintf("host%d", k), Method: combine.MethodProbes, OffsetWindows: 3, Coverage: 1, Events: 4498, EventsCorrected: 4498,
			OffsetNS: offset, DriftPPM: float64(drift), MinCorrectionNS: -offset - 2000*drift, MaxCorrectionNS: -offset, BoundNS: combine.Bounds{P50: 12_000, P99: 15_900, Max: 16_000 + int64(k)},
		}
		switch {
		case k == 0:
			knots, r.BoundNS, r.EventsCorrected = nil, combine.Bounds{}, 0
		case k == n-1:
			knots[1].Y -= 2 * ms
			knots[2].Y -= 2 * ms
			opts = append(opts, clock.WithSteps(0), clock.WithTails(0, 0, 200_000))
			r.Coverage, r.EventsInStep, r.OffsetExtrapolations = 0.9313, 12, 309
			r.Steps = []combine.Step{{FromNS: zeroNS + 300*ms, ToNS: zeroNS + 340*ms, SizeNS: 2 * ms}}
			r.Warnings = []string{"the clock stepped by +2.000 ms"}
		}
		m, err := clock.New(knots, opts...)
		if err != nil {
			t.Fatal(err)
		}
		doc.Nodes = append(doc.Nodes, r)
		in.Curves = append(in.Curves, CurveOf(r.ID, m, zeroNS+offset, zeroNS+offset+2100*ms, zeroNS))
	}
	for i := range groups {
		g := groupSpans{Key: "jit_step/psum.7", Kind: "all-reduce", Occurrence: i, Before: collective.Violated}
		if i == 0 {
			g.Before = collective.Consistent
		}
		for k := range n {
			start := int64(i/4)*34*ms + int64(i%4)*3*ms + int64(k)*ms/20
			shift := []int64{0, 37 * ms, -5 * ms, ms / 4}[k%4]
			g.Spans = append(g.Spans, groupSpan{Node: k, BeforeStartNS: start + shift, BeforeEndNS: start + shift + 2*ms, AfterStartNS: start, AfterEndNS: start + 2*ms})
		}
		in.Groups = append(in.Groups, g)
	}
	return in
}

func render(t *testing.T, write func(io.Writer, CombineReport) error, in CombineReport) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs from what is made now (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

func TestCombineMatchesGolden(t *testing.T) {
	golden(t, "combine.html", render(t, Combine, sample(t, 3, 16)))
}

func TestPictureMatchesGolden(t *testing.T) {
	golden(t, "picture.svg", render(t, Picture, sample(t, 3, 16)))
}

func TestReportIsTheSameTwice(t *testing.T) {
	if a, b := render(t, Combine, sample(t, 5, 40)), render(t, Combine, sample(t, 5, 40)); a != b {
		t.Error("two renderings of one result differ")
	}
}

var external = regexp.MustCompile(`(?i)(src|href|action)\s*=|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(`)

func TestReportLoadsNothing(t *testing.T) {
	page := render(t, Combine, sample(t, 4, 40))
	if found := external.FindAllString(page, -1); len(found) > 0 {
		t.Errorf("the page refers to something outside of itself: %q", found)
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") && !strings.Contains(page, "default-src 'none'") {
		t.Error("the page does not forbid loading")
	}
}

func TestPictureStandsAlone(t *testing.T) {
	svg := render(t, Picture, sample(t, 4, 40))
	wellFormed(t, svg)
	if strings.Contains(svg, "<script") || external.MatchString(svg) {
		t.Error("the picture holds a script or a reference")
	}
	if !strings.Contains(svg, "prefers-color-scheme: dark") {
		t.Error("the picture has no colours for a dark page")
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed XML: %v", err)
		}
	}
}

const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x00\u202e\xff'; rm -rf /"

func TestReportEscapesHostileNames(t *testing.T) {
	in := sample(t, 3, 8)
	in.Output = hostile
	for k := range in.Doc.Nodes {
		n := &in.Doc.Nodes[k]
		n.ID, n.Host, n.Method, n.Warnings = hostile, hostile, hostile, []string{hostile}
		in.Curves[k].Node = hostile
	}
	in.Doc.Reference, in.Doc.Status, in.Doc.Timebase = hostile, hostile, hostile
	in.Doc.Notes, in.Doc.Warnings = []string{hostile}, []string{hostile}
	in.Doc.Outputs[0] = combine.Output{Path: hostile, Format: hostile, SHA256: hostile}
	for i := range in.Groups {
		in.Groups[i].Key, in.Groups[i].Kind = hostile, hostile
	}
	page := render(t, Combine, in)
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d script elements, want 2", n)
	}
	for _, bad := range []string{"<img", "\x00", "\u202e", "\xff"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !json.Valid(dataOf(t, page)) {
		t.Error("the data of the picture is no JSON")
	}
	svg := render(t, Picture, in)
	wellFormed(t, svg)
	if strings.Contains(svg, "<script") || strings.Contains(svg, "<img") {
		t.Error("the picture holds an element of a name")
	}
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

func dataOf(t *testing.T, page string) []byte {
	t.Helper()
	m := dataElement.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data on the page")
	}
	return []byte(m[1])
}

func TestReportOfALargeRunIsBounded(t *testing.T) {
	in := sample(t, 300, 10)
	one := in.Groups[0]
	in.Groups = nil
	for i := range 80 { // what Groups lets through for 300 nodes
		g := one
		g.Occurrence = i
		in.Groups = append(in.Groups, g)
	}
	in.GroupsTotal = 1_000_000
	in.Doc.Warnings = make([]string, 10_000)
	page := render(t, Combine, in)
	if limit := 4 << 20; len(page) > limit {
		t.Errorf("the page has %d bytes, want at most %d", len(page), limit)
	}
	for _, said := range []string{"64 of 300 nodes are drawn", "80 of 1\u202f000\u202f000 matched collectives are on this page", "more warnings are in the JSON document"} {
		if !strings.Contains(page, said) {
			t.Errorf("the page does not say %q", said)
		}
	}
}

// lateSample is a job of eight ranks of which one was late.
func lateSample() *straggler.Document {
	d := &straggler.Document{
		Status: straggler.StatusBlamed, Verdict: "node1 was late: <it> cost 61.5ms", Operations: straggler.Operations{Count: 80, Told: 77},
		Time: straggler.Parts{TransferNS: 600 * ms, WaitingNS: 250 * ms, LaunchNS: 50 * ms, ProfilerNS: 25 * ms, UntoldNS: 75 * ms},
	}
	for k := range 8 {
		d.Ranks = append(d.Ranks, straggler.RankCost{ID: fmt.Sprintf("node%d", (k+1)%8), Host: fmt.Sprintf("host%d", (k+1)%8), Blamed: k == 0, CostNS: 61_500_000 / int64(k*k+1), Share: 0.0615 / float64(k*k+1), Operations: 80, Last: 9 - k})
	}
	return d
}

// TestThePageSaysWhoWasLate: in a sentence and a short table, with the command that says more; and nothing where nothing could be judged.
func TestThePageSaysWhoWasLate(t *testing.T) {
	in := sample(t, 2, 5)
	in.Late = lateSample()
	page := render(t, Combine, in)
	for _, want := range []string{
		"<p>node1 was late: &lt;it&gt; cost 61.5ms.</p>", "60.0\u00a0% was transfer, 30.0\u00a0% waiting for somebody who was late, 2.5\u00a0% waiting for a recording that had not begun; 7.5\u00a0% is undecided.",
		`<tr><th scope="row">node1<small>blamed</small><small>host1</small></th><td class="num">61.5`, "3 ranks that cost less are not listed.", "prlx stragglers run_aligned --html late.html",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	in.Late = &straggler.Document{Status: straggler.StatusInconclusive}
	if page := render(t, Combine, in); strings.Contains(page, "Who was late") {
		t.Error("the page says who was late where nothing could be judged")
	}
}

func TestShellIsSmall(t *testing.T) {
	in := sample(t, 1, 0)
	in.Curves = nil
	if page := render(t, Combine, in); len(page) > 100<<10 {
		t.Errorf("an empty report has %d bytes", len(page))
	}
}

func TestReportWithoutCollectivesOrOutputs(t *testing.T) {
	page := render(t, Combine, CombineReport{Doc: &combine.Document{Status: combine.StatusUnaligned, Nodes: []combine.NodeResult{{ID: "a"}}}})
	if strings.Contains(page, "<script") || !strings.Contains(page, "none could be matched") {
		t.Error("a result without collectives is not shown as one")
	}
	if svg := render(t, Picture, CombineReport{Doc: &combine.Document{}}); !strings.Contains(svg, "No matched collective") {
		t.Error("a picture of nothing does not say so")
	}
}

func TestUnknownClocksAreSaidToBe(t *testing.T) {
	in := sample(t, 3, 4)
	n := &in.Doc.Nodes[1]
	n.Method, n.BoundNS, n.OffsetNS = combine.MethodWall, combine.Bounds{Unknown: true}, 0
	page := render(t, Combine, in)
	for _, want := range []string{"Nothing is known about the clocks of 1 node", "unknown for 1 node", `<td class="num">–</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "Now every event stands") {
		t.Error("the page promises a bound for every event")
	}
}

func TestWaysToOpenFollowTheFormat(t *testing.T) {
	for _, tc := range []struct{ output, format, want string }{
		{"out/all.json.gz", "chrome", "https://ui.perfetto.dev"},
		{"out/all.xplane.pb", "xplane", "cp out/all.xplane.pb view/plugins/profile/run/"},
		{"out/my run", "xplane", "cp -r &#39;out/my run&#39;/. view/plugins/profile/run"},
	} {
		in := sample(t, 2, 4)
		in.Output, in.Doc.Outputs[0].Format = tc.output, tc.format
		if page := render(t, Combine, in); !strings.Contains(page, tc.want) {
			t.Errorf("%s: no %q on the page", tc.output, tc.want)
		}
	}
}

func TestCurveTouchesKnotsAndEnds(t *testing.T) {
	m, err := clock.New([]clock.Knot{{X: zeroNS + 10, Y: zeroNS, BoundNS: 5}, {X: zeroNS + 1010, Y: zeroNS + 1001, BoundNS: 7}})
	if err != nil {
		t.Fatal(err)
	}
	c := CurveOf("a", m, zeroNS, zeroNS+2000, zeroNS)
	at := map[int64]point{}
	for i, p := range c.Points {
		at[p.AtNS] = p
		if i > 0 && p.AtNS <= c.Points[i-1].AtNS {
			t.Fatalf("points %d and %d are not in order", i-1, i)
		}
	}
	for x, want := range map[int64]point{10: {10, -10, 5, 0}, 1009: {1009, -9, 7, 0}, 0: {0, -10, 6, clock.Extrapolated}} {
		if diff := cmp.Diff(want, at[x]); diff != "" {
			t.Errorf("point at %d (-want +got):\n%s", x, diff)
		}
	}
	if _, ok := at[2000]; !ok {
		t.Error("the curve does not reach the end")
	}
}

func TestThinnedCurveKeepsItsExtremes(t *testing.T) {
	var pts []point
	for i := range int64(5000) {
		pts = append(pts, point{AtNS: i, CorrectionNS: 100})
	}
	pts[2717].CorrectionNS, pts[2718].CorrectionNS = 900, -900
	thin := thinPoints(pts, func(p point) float64 { return float64(p.CorrectionNS) })
	if len(thin) > maxPoints {
		t.Errorf("%d points are left, want at most %d", len(thin), maxPoints)
	}
	seen := map[int64]bool{}
	for _, p := range thin {
		seen[p.AtNS] = true
	}
	for _, x := range []int64{0, 2717, 2718, 4999} {
		if !seen[x] {
			t.Errorf("the point at %d is gone", x)
		}
	}
}

func TestCurveIsComparedWithALineOnEitherSideOfAStep(t *testing.T) {
	var pts []point
	for i := range int64(100) {
		p := point{AtNS: i * 1000, CorrectionNS: i * 3}
		switch {
		case i >= 50:
			p.CorrectionNS += 2 * ms
		case i >= 47:
			p.Flags = clock.InStep
		}
		pts = append(pts, p)
	}
	line := fit(pts)
	if got := driftText(line.slope); got != "+3000.00\u00a0ppm" {
		t.Errorf("slope %s, want +3000 ppm", got)
	}
	for _, p := range pts {
		if d := float64(p.CorrectionNS) - line.at(p.AtNS); !inStep(p) && (d > 1 || d < -1) {
			t.Errorf("at %d the curve is %v ns off its line", p.AtNS, d)
		}
	}
}

func TestStretchesKeepWhatMatters(t *testing.T) {
	for _, tc := range []struct{ n, limit int }{{10, 20}, {5000, 2000}, {100_000, 80}, {3, 1}, {1000, 999}} {
		chosen := stretches(tc.n, tc.limit, func(i int) bool { return i == tc.n-2 })
		if len(chosen) > max(tc.limit, 1) {
			t.Errorf("%d of %d: %d chosen", tc.limit, tc.n, len(chosen))
		}
		seen, last := false, choice{-2, -1}
		for _, c := range chosen {
			seen = seen || c.index == tc.n-2
			if c.index <= last.index || (c.stretch == last.stretch) != (c.index == last.index+1) {
				t.Fatalf("%d of %d: %v follows %v", tc.limit, tc.n, c, last)
			}
			last = c
		}
		if !seen {
			t.Errorf("%d of %d: what matters is left out", tc.limit, tc.n)
		}
	}
}

func TestGroupsJudgesBothClocks(t *testing.T) {
	part := &collective.Part{Ops: []collective.Op{{Key: "psum", Kind: event.AllReduce}}}
	var groups []collective.Group
	for i := range int64(3) {
		g := collective.Group{Occurrence: int(i)}
		for node := range int32(2) {
			start := zeroNS + i*10*ms + int64(node)*50*ms // node 1 is 50 ms ahead
			g.Members = append(g.Members, collective.Member{Span: int32(len(part.Spans))})
			part.Spans = append(part.Spans, event.Span{Node: node, StartNS: start, EndNS: start + ms})
		}
		groups = append(groups, g)
	}
	after := func(s *event.Span, ns int64) (int64, int64) { return ns - int64(s.Node)*50*ms, 1000 }
	got, total, err := Groups(context.Background(), &collective.Matched{Part: part, Groups: groups}, nil, after, zeroNS)
	if err != nil {
		t.Fatal(err)
	}
	if total != 3 || len(got) != 3 {
		t.Fatalf("%d of %d groups, want 3 of 3", len(got), total)
	}
	want := groupSpans{Key: "psum", Kind: "all-reduce", Occurrence: 1, Before: collective.Violated, After: collective.Consistent, Spans: []groupSpan{
		{0, 10 * ms, 11 * ms, 10 * ms, 11 * ms}, {1, 60 * ms, 61 * ms, 10 * ms, 11 * ms},
	}}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("second group (-want +got):\n%s", diff)
	}
}

func TestDurationsReadWell(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0", 7: "7\u00a0ns", -999: minus + "999\u00a0ns", 15_359: "15.4\u00a0µs", 1_500_000: "1.50\u00a0ms", -37_499_521: minus + "37.5\u00a0ms",
		123_456_789_012: "123\u00a0s", -1 << 63: minus + "9223372037\u00a0s", 9_999: "10.0\u00a0µs",
	} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) = %q, want %q", ns, got, want)
		}
	}
	if got := percent(0.999999); got != "99.99\u00a0%" {
		t.Errorf("nearly everything reads %q", got)
	}
	if got := figure.Count(-1234567); got != minus+"1\u202f234\u202f567" {
		t.Errorf("count reads %q", got)
	}
}

func TestTheHeadingIsTheVerdictOfTheDocument(t *testing.T) {
	for verdict, want := range map[string]string{
		"3 nodes on the clock of node0: degraded":           `<h1>3 nodes on the clock of node0 <span class="pill degraded" title="some clock is not known over its whole trace">degraded</span> <span class="pill amber"`,
		"3 nodes: not aligned: <b> is 2 hours off the rest": `<span class="pill degraded" title="some clock is not known over its whole trace">not aligned: &lt;b&gt; is 2 hours off the rest</span> <span class="pill amber"`,
	} {
		in := sample(t, 3, 2)
		in.Doc.Verdict = verdict
		if page := render(t, Combine, in); !strings.Contains(page, want) {
			t.Errorf("the page has not %q", want)
		}
	}
}

// verdicts are of a run with everything that a page of them shows.
func verdicts() *combine.ValidateDocument {
	failed, bound := false, int64(62_700)
	return &combine.ValidateDocument{
		Schema: combine.ValidateSchema, Status: combine.StatusViolated, Passed: &failed, Groups: 1240, Violated: 238, Consistent: 1000, Undecidable: 2, Unmatched: 17,
		Verdict:    "1240 collectives: 238 impossible, 1000 consistent, 2 undecidable, 17 unmatched; left out, as unreadable: node2.xplane.pb",
		Conclusion: verdict.Verdict{Outcome: verdict.Failed, Looked: []verdict.Looked{{What: "collectives", Count: 1238}}, Missing: []verdict.Missing{{What: "node2.xplane.pb", Why: "the file is empty"}}},
		Worst: []combine.WorstGroup{
			{Key: "jit_permute_step/ppermute.3", Kind: "permute", Occurrence: 57, Verdict: "violated", GapNS: -43_600_000, Nodes: [2]string{"node2", "node1"}},
			{Key: strings.Repeat("group 0 (default_pg)/", 8) + "<script>alert(1)</script>", Kind: "all-reduce", Occurrence: 1_000_000, Verdict: "undecidable", GapNS: -12, BoundNS: &bound, Nodes: [2]string{"worker-with-a-long-name-12/7", "node1"}},
		},
		ByKind:   []combine.KindVerdicts{{Kind: "permute", Groups: 240, Verdicts: combine.Verdicts{Violated: 238, Consistent: 2}}, {Kind: "all-reduce", Groups: 1000, Verdicts: combine.Verdicts{Consistent: 998, Undecidable: 2}}},
		Lost:     []combine.Unmatched{{Key: "jit_step/all-reduce.1", Reason: "it is not recorded which device is which participant", Count: 17}},
		Notes:    []string{"nodes are named by the number in their path: node0, node1"},
		Warnings: []string{"node2.xplane.pb was left out: the file is empty"},
	}
}

// TestVerdictsHaveAPageLikeTheOtherReports: complete in itself, without a script, with what the document says.
func TestVerdictsHaveAPageLikeTheOtherReports(t *testing.T) {
	var b bytes.Buffer
	if err := Validate(&b, verdicts()); err != nil {
		t.Fatal(err)
	}
	golden(t, "validate.html", b.String())
	for _, want := range []string{"238", "1\u202f000", "impossible", "−43.6\u00a0ms", "62.7\u00a0µs", "default-src &#39;none&#39;", "was left out", "as unreadable", "&lt;script&gt;"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(b.String(), "<script") {
		t.Error("the page has a script")
	}
	for status, class := range map[string]string{combine.StatusPassed: "aligned", combine.StatusInconclusive: "degraded"} {
		doc := verdicts()
		doc.Status, doc.Worst = status, make([]combine.WorstGroup, maxRows+3)
		b.Reset()
		if err := Validate(&b, doc); err != nil || !strings.Contains(b.String(), `class="pill `+class+`"`) || !strings.Contains(b.String(), "3 more rows are in the JSON document.") {
			t.Errorf("%s: %v", status, err)
		}
	}
}
