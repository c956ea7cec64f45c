package kernelreport

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

func pageOf(t testing.TB, doc *diff.Document) string {
	t.Helper()
	return string(render(t, "html", doc))
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

func dataOf(t testing.TB, page string) scriptData {
	t.Helper()
	m := dataElement.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data on the page")
	}
	var d scriptData
	if err := json.Unmarshal([]byte(m[1]), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPagesToLookAt writes pages for a browser when PRLX_REPORT_DIR says where.
func TestPagesToLookAt(t *testing.T) {
	dir := os.Getenv("PRLX_REPORT_DIR")
	if dir == "" {
		t.Skip("PRLX_REPORT_DIR is not set")
	}
	all := documents()
	all["many"] = many(10_000)
	for name, doc := range all {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(pageOf(t, doc)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShellIsSmall(t *testing.T) {
	if page := pageOf(t, &diff.Document{}); len(page) > 60<<10 {
		t.Errorf("a page about nothing has %d bytes, want at most 60 KiB", len(page))
	}
}

func TestPageOfManyWarpsIsBounded(t *testing.T) {
	page := pageOf(t, many(30_000))
	if limit := 4 << 20; len(page) > limit {
		t.Errorf("the page has %d bytes, want at most %d", len(page), limit)
	}
	for _, said := range []string{"20\u202f000 of 30\u202f000 divergences are on this page; 10\u202f000 are left out", "100\u202f000 warps in blocks of 4"} {
		if !strings.Contains(page, said) {
			t.Errorf("the page does not say %q", said)
		}
	}
}

func TestHostileNamesStayText(t *testing.T) {
	page := pageOf(t, nasty(hostile))
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d script elements, want 2", n)
	}
	for _, bad := range []string{"<img", "\x00", "\x1b", "\u202e", "\u200b", "\u2028", "\xff"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	dataOf(t, page)
}

func TestLongNamesAreCut(t *testing.T) {
	if page := pageOf(t, nasty(strings.Repeat("n\u00e4me", 1<<18))); len(page) > 1<<20 {
		t.Errorf("names of a megabyte make a page of %d bytes", len(page))
	}
}

func TestPageAsksForNothing(t *testing.T) {
	for name, doc := range documents() {
		page := pageOf(t, doc)
		for _, bad := range []string{"http://", "https://", "@import", " src=", "url(", " style=", " onclick=", "<link", "<iframe"} {
			if strings.Contains(strings.ReplaceAll(page, "<img src=x", ""), bad) && name != "hostile" {
				t.Errorf("%s: the page holds %q", name, bad)
			}
		}
		if !strings.Contains(page, `content="default-src &#39;none&#39;;`) && !strings.Contains(page, `content="default-src 'none';`) {
			t.Errorf("%s: no policy", name)
		}
	}
}

func TestVerdictAndFirstDivergenceReadWithoutScripts(t *testing.T) {
	page := pageOf(t, sample())
	page = page[:strings.Index(page, `<script type="application/json"`)]
	for _, want := range []string{
		`<span class="pill bad">diverged</span>`, "The runs differ: 12 divergences in 8 of 128 warps", "taken by 13 of 32 lanes in A, by 16 in B",
		`<div class="here"><span class="n">24</span><span class="t">    mask = <mark>offs</mark> &lt;= length</span></div>`, "changed since the recording",
		"differ: 0-2", "lens is the third argument of the kernel", "known from the code, not recorded", `<tr class="only-a">`, `<tr class="only-b">`,
		"A lost 105 events (0.20\u00a0%) in 3 warps, because buffers were full.", "11 of 12 divergences are on this page; 1 is left out.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestVerdictHasTheColourOfItsWeight(t *testing.T) {
	passed, lost := sample(), identical()
	passed.Passed = true
	lost.Losses.A.Dropped = 3
	for _, tc := range []struct {
		doc  *diff.Document
		want string
	}{{sample(), "bad"}, {passed, "amber"}, {identical(), "good"}, {lost, "amber"}} {
		if got := tone(tc.doc); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.doc.Status, got, tc.want)
		}
	}
}

func TestWhatFollowsAndNoiseAreFolded(t *testing.T) {
	groups, _ := clusterGroups(sample())
	var got []string
	for _, g := range groups {
		got = append(got, g.Role+" "+map[bool]string{true: "open", false: "folded"}[g.Open]+" "+figure.Count(g.Count))
	}
	if want := "cause open 2, follows folded 1, noise folded 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

func TestLanesOfAWave64StandInTwoBands(t *testing.T) {
	doc := sample()
	doc.A.WaveSize, doc.B.WaveSize = 64, 64
	d := *doc.First
	d.LaneValues, d.Lanes = nil, nil
	d.MaskA, d.TakenA, d.MaskB, d.TakenB = "0xffffffff00000001", "0x8000000000000000", "0xffffffff00000001", "0x0000000000000001"
	got := newDetail(&d, doc)
	if len(got.Bands) != 2 || got.Differing != "0, 63" {
		t.Fatalf("%d bands, lanes that differ: %q; want 2 and 0, 63", len(got.Bands), got.Differing)
	}
	if c := got.Bands[1].Lanes[31]; c.A != "taken" || c.B != "not" || !c.Differs {
		t.Errorf("lane 63 is %+v", c)
	}
	if c := got.Bands[0].Lanes[1]; c.A != "idle" || c.Differs {
		t.Errorf("lane 1 is %+v", c)
	}
}

func TestTheMarkIsAtTheColumnThatTheCompilerNames(t *testing.T) {
	for _, tc := range []struct {
		line                string
		column              int
		before, mark, after string
	}{
		{"\tif (x < n)", 6, "    if (", "x", " < n)"},
		{"  a.b_c + 1", 3, "  ", "a.b_c", " + 1"},
		{"x", 0, "x", "", ""},
		{"x", 9, "x", "", ""},
		{"a < b", 3, "a ", "<", " b"},
		{"größe = 1", 1, "", "größe", " = 1"},
	} {
		before, mark, after := atColumn(tc.line, tc.column)
		if before != tc.before || mark != tc.mark || after != tc.after {
			t.Errorf("%q at %d: %q %q %q", tc.line, tc.column, before, mark, after)
		}
	}
}

func TestRangesAreReadAsFarAsTheyMakeSense(t *testing.T) {
	for text, want := range map[string]string{
		"0-3,7": "[0 3 7 7] true", "": "[] false", "5-2": "[] false", "1,x,3": "[1 1 3 3] false", "1,2,3,4,5,6": "[1 1 2 2 3 3 4 4] false", "0-99999999999999999999": "[] false",
		"3, 9-12": "[3 3 9 12] true",
	} {
		pairs, complete := parseRanges(text, 8)
		if got := fmt.Sprint(pairs, " ", complete); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestMapStaysSmallForAnyNumberOfWarps: a header may claim 2^64 warps.
func TestMapStaysSmallForAnyNumberOfWarps(t *testing.T) {
	doc := sample()
	for _, slots := range []uint64{1, 128, 400_000, 400_001, 10_000_000, 1 << 40, 1<<64 - 1} {
		doc.A.WarpSlots = slots
		m := dataOf(t, pageOf(t, doc)).Map
		if cells := (m.Slots + m.Scale - 1) / m.Scale; cells > maxCells || cells < 1 {
			t.Errorf("%d warps make %d cells", slots, cells)
		}
	}
}

// TestOneBugIsOneFamily: warps that part at one place and then all do something else are as many clusters, and one line.
func TestOneBugIsOneFamily(t *testing.T) {
	doc := sample()
	cause := doc.Clusters[0]
	for i := range 50 {
		c := cause
		c.ID, c.First.WarpIdx = int64(10+i), int64(30+i)
		doc.Clusters = append(doc.Clusters, c)
	}
	groups, _ := clusterGroups(doc)
	f := groups[0].Families[0]
	if len(groups[0].Families) != 2 || len(f.Rows) != 51 || !f.Folded || f.Warps != "102 warps" {
		t.Errorf("%d families, the first of %d clusters and %s, folded: %v", len(groups[0].Families), len(f.Rows), f.Warps, f.Folded)
	}
	data := dataOf(t, pageOf(t, doc))
	if first, last := data.Clusters[0].Family, data.Clusters[len(data.Clusters)-1].Family; first != last {
		t.Errorf("families %d and %d, want one colour", first, last)
	}
}

func TestTakenLanesAreShownWhereLanesDecide(t *testing.T) {
	doc := sample()
	d := valueOf(17, 9)
	d.SiteKind, d.TakenA, d.TakenB, d.DirA, d.DirB = "atomic", d.MaskA, d.MaskB, doc.First.DirA, doc.First.DirA
	got := newDetail(&d, doc)
	for _, f := range got.Facts {
		if f.Label == "decision" || f.Label == "taken lanes" {
			t.Errorf("an atomic has the row %q", f.Label)
		}
	}
	if c := got.Bands[0].Lanes[0]; c.A != "active" {
		t.Errorf("a lane of an atomic is %q", c.A)
	}
}
