package kernelreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/report/annotation"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/diff"
)

func TestEveryReportOfEveryDocumentIsWellFormed(t *testing.T) {
	for name, doc := range documents() {
		t.Run(name, func(t *testing.T) {
			wellFormedXML(t, render(t, "junit", doc))
			for _, format := range []string{"sarif", "chrome", "json"} {
				wellFormedJSON(t, render(t, format, doc))
			}
			rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", doc))).ReadAll()
			if err != nil || len(rows) != len(doc.Divergences)+1 {
				t.Errorf("%d rows of CSV (%v), want %d", len(rows), err, len(doc.Divergences)+1)
			}
			for _, line := range strings.Split(strings.TrimSuffix(string(render(t, "github", doc)), "\n"), "\n") {
				if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") && !strings.HasPrefix(line, "::notice ") {
					t.Errorf("no annotation: %q", line)
				}
			}
		})
	}
}

func TestCSVHasTheDescribedColumnsFirst(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", sample()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"warp_idx", "event_idx", "site_id", "kind", "details", "source_location"},
		{"3", "71", "0x00000000a70301c0", "Value", "val_a=1.25 val_b=-nan", "kernels/softmax.py:masked_softmax:32:9"},
		{"17", "41", "0x00000000c0ffee01", "Branch", "dir_a=0 dir_b=1", "kernels/softmax.py:masked_softmax:24:12"},
	}
	for i := range want {
		if d := cmp.Diff(want[i], rows[i][:6]); d != "" {
			t.Errorf("row %d (-want +got):\n%s", i, d)
		}
	}
}

func TestCSVHoldsNoFormulas(t *testing.T) {
	doc := sample()
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd": "'+cmd", "-1+2": "'-1+2", "-1.5": "-1.5", "+inf": "+inf", "a=b": "a=b", "\t=1": "\uFFFD=1", "": "",
	} {
		doc.Divergences[0].ValueA = text
		rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", doc))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[1][18]; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestAnnotationsNameFilesInTheRepository(t *testing.T) {
	doc := sample()
	doc.Sites[0].SourceLocation = "/home/user/repo/kernels/a,b:c.py:f:24:12"
	got := string(render(t, "github", doc))
	if want := "::error file=kernels/a%2Cb,line=24,col=12,title=prlx%3A Branch::"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestAnnotationsAreBounded(t *testing.T) {
	got := string(render(t, "github", many(10_000)))
	for _, level := range []string{"error", "warning"} {
		if n := strings.Count(got, "::"+level+" "); n == 0 || n > annotation.Most {
			t.Errorf("%d annotations of level %s", n, level)
		}
	}
	if !strings.Contains(got, "more sites and kinds differ") {
		t.Error("what is left out is not said")
	}
}

// TestAComparisonThatPassedFailsNoBuild: a threshold that is kept must not turn a build red through its reports.
func TestAComparisonThatPassedFailsNoBuild(t *testing.T) {
	doc := sample()
	doc.Passed, doc.Threshold = true, 20
	if got := string(render(t, "junit", doc)); strings.Contains(got, "<failure") || !strings.Contains(got, `failures="0"`) {
		t.Error("a JUnit case fails")
	}
	for format, bad := range map[string]string{"github": "::error", "sarif": `"level": "error",` + "\n          \"message\""} {
		if strings.Contains(string(render(t, format, doc)), bad) {
			t.Errorf("%s holds %q", format, bad)
		}
	}
}

func sarifOf(t *testing.T, doc *diff.Document) sarifRun {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal(render(t, "sarif", doc), &log); err != nil {
		t.Fatal(err)
	}
	return log.Runs[0]
}

func TestFingerprintsSurviveAMoveOfTheLine(t *testing.T) {
	moved := sample()
	moved.Sources[0].FirstLine += 10
	for i := range moved.Sites {
		p := placeOf(moved.Sites[i].SourceLocation)
		moved.Sites[i].SourceLocation = fmt.Sprintf("%s:%s:%d:%d", p.File, p.Function, p.Line+10, p.Column)
	}
	was, is := sarifOf(t, sample()).Results, sarifOf(t, moved).Results
	seen := map[string]bool{}
	for i := range was {
		byText := was[i].Fingerprints["primaryLocationLineHash"]
		if got := is[i].Fingerprints["primaryLocationLineHash"]; got != byText {
			t.Errorf("result %d: %s became %s", i, byText, got)
		}
		if was[i].Fingerprints["prlxLocation/v1"] == is[i].Fingerprints["prlxLocation/v1"] {
			t.Errorf("result %d: the fingerprint of the location did not follow it", i)
		}
		if seen[byText] {
			t.Errorf("result %d shares its fingerprint with an earlier one", i)
		}
		seen[byText] = true
	}
}

func TestFingerprintsTellKernelsAndKindsApart(t *testing.T) {
	doc, other := sample(), sample()
	other.A.Kernel = "another"
	was, is := sarifOf(t, doc).Results, sarifOf(t, other).Results
	if was[0].Fingerprints["primaryLocationLineHash"] == is[0].Fingerprints["primaryLocationLineHash"] {
		t.Error("two kernels share a fingerprint")
	}
	doc.Sites[0].Breakdown = map[string]int64{diff.KindBranch: 1, diff.KindValue: 1}
	is = sarifOf(t, doc).Results
	if is[0].Fingerprints["primaryLocationLineHash"] == is[1].Fingerprints["primaryLocationLineHash"] {
		t.Error("two kinds share a fingerprint")
	}
}

func TestSARIFTellsTheStoryInCausalOrder(t *testing.T) {
	results := sarifOf(t, sample()).Results
	steps := results[0].CodeFlows[0].ThreadFlows[0].Locations
	if got := steps[len(steps)-1].Location.Message.Text; !strings.HasPrefix(got, "compare: ") {
		t.Errorf("the flow ends with %q, want the divergence", got)
	}
	levels := map[string]string{}
	for _, r := range results {
		levels[r.Properties["kind"].(string)+r.Properties["siteId"].(string)[14:]] = r.Level
	}
	want := map[string]string{"Branch" + "ee01": "error", "ActiveMask" + "ee02": "warning", "Value" + "ee03": "warning", "Path" + "ee04": "warning", "ExtraEvents" + "ee07": "error", "Value" + "01c0": "note"}
	if d := cmp.Diff(want, levels); d != "" {
		t.Errorf("levels (-want +got):\n%s", d)
	}
	if related := results[4].Related; len(related) != 0 {
		t.Errorf("extra events are related to %v", related)
	}
	if related := results[3].Related; len(related) != 1 || related[0].Physical.Region.Line != 31 {
		t.Errorf("the other side of a path is %v", related)
	}
}

func TestPlacesAreTakenApart(t *testing.T) {
	for text, want := range map[string]place{
		"a/b.py:f:12:7":                 {"a/b.py", "f", 12, 7},
		`C:\k\a.cu:ns::f<int>:3:1`:      {`C:\k\a.cu`, "ns::f<int>", 3, 1},
		"a.py::5:0":                     {"a.py", "", 5, 0},
		"a.py:f:9":                      {"a.py", "f", 9, 0},
		"just_a_function":               {Function: "just_a_function"},
		"":                              {},
		"a.py:f:99999999999999999999:1": {"a.py", "f:99999999999999999999", 1, 0},
	} {
		if got := placeOf(text); got != want {
			t.Errorf("placeOf(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestURIsAreRelativeToTheRoot(t *testing.T) {
	for _, tc := range []struct{ file, root, uri string }{
		{"/repo/a b.py", "/repo", "a%20b.py"},
		{"/repo/a.py", "/repo/", "a.py"},
		{"/else/a.py", "/repo", "file:///else/a.py"},
		{"k/a.py", "/repo", "k/a.py"},
		{"./k/a.py", "", "k/a.py"},
		{`C:\r\k.cu`, `C:\r`, "k.cu"},
		{`C:\r\k.cu`, "", "file:///C:/r/k.cu"},
		{"a:b.py", "", "./a:b.py"},
		{"//host/x.py", "", "file:///host/x.py"},
	} {
		if got, _ := uri(relative(tc.file, tc.root)); got != tc.uri {
			t.Errorf("%q seen from %q: %q, want %q", tc.file, tc.root, got, tc.uri)
		}
	}
}

// TestWarpZeroHasATrackOfItsOwn: as thread 0 viewers would take it for the idle one.
func TestWarpZeroHasATrackOfItsOwn(t *testing.T) {
	doc := sample()
	if bytes.Contains(render(t, "perfetto", doc), []byte("warp 0")) {
		t.Fatal("the sample has a divergence in warp 0")
	}
	doc.Divergences = append(doc.Divergences, valueOf(0, 5))
	if !bytes.Contains(render(t, "perfetto", doc), []byte("warp 0")) {
		t.Error("warp 0 is a thread")
	}
}
