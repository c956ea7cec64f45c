package kernelreport

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
)

// writtenOther is a comparison in which no event differs and outputs do: with contents, noise, a statement without an array and a finding.
func writtenOther() *diff.Document {
	doc := identical()
	zero, from, to, element, block := int64(0), int64(512), int64(767), int64(515), int64(2)
	doc.Status, doc.Passed, doc.TotalDivergences, doc.CountedDivergences = diff.StatusDiverged, false, 6, 4
	doc.Verdict = "output out differs at element 515: 12 in A, 77 in B, stored at kernels/softmax.py:30 by block 2, warp 0, lane 3"
	doc.DivergenceBreakdown = map[string]int64{diff.KindOutput: 3, diff.KindStore: 2, diff.KindFinding: 1}
	doc.Require = []string{"control-flow", "outputs"}
	doc.Coverage = &diff.Coverage{
		Text: "control flow of 52301 events, 2 stores and 2 arrays by contents; values not recorded", Missing: []string{},
		ControlFlow: diff.FlowCoverage{By: "events", EventsA: 52_301, EventsB: 52_301, Agrees: diff.Agrees},
		Outputs:     diff.OutputCoverage{By: "contents", Stores: 2, Arrays: 2, Chunks: 12, Elements: 3000, Agrees: diff.Differs, Limits: []string{}},
		Values:      diff.ValueCoverage{By: "nothing", Agrees: diff.AgreementUnknown},
	}
	place := diff.OutputPlace{SiteID: "0x00000000000000aa", SourceLocation: "kernels/softmax.py:masked_softmax:30:5", SiteKind: "global-store", Warp: &zero, Warps: 2}
	writer := diff.OutputWriter{Warp: 8, Block: &block, WarpOfBlock: &zero, Lane: 3, SiteID: place.SiteID, SourceLocation: place.SourceLocation}
	doc.Outputs = &diff.OutputDiff{
		Arrays: []diff.ArrayDiff{
			{Name: "out", Type: "*fp32", Chunks: 2, ChunksOf: 8, Elements: "512-767,1024-1279", WrittenA: 8192, WrittenB: 8192, DistanceText: "2 of 2048 elements differ"},
			{Name: "stats", Type: "*fp32", Chunks: 1, ChunksOf: 4, Elements: "0-255", WrittenA: 1024, WrittenB: 1024, Noise: true, Noisy: 1},
		},
		Stores: []diff.StoreDiff{
			{SiteID: place.SiteID, SourceLocation: place.SourceLocation, SiteKind: "global-store", Array: "out", CountA: 2048, CountB: 2048, Warps: 2, WarpRanges: "8-9"},
			{SiteID: "0x00000000000000ab", SourceLocation: "kernels/softmax.py:masked_softmax:32:9", SiteKind: "atomic", CountA: 4, CountB: 5},
		},
		First: &diff.FirstOutput{
			Array: "out", Type: "*fp32", From: &from, To: &to, Element: &element, ValueA: "12", ValueB: "77", BitsA: "0x41400000", BitsB: "0x429a0000",
			Store: &place, WriterA: &writer, WriterB: &writer,
		},
	}
	doc.Findings = []diff.FindingDiff{{Check: "out-of-bounds", SourceLocation: "kernels/softmax.py:masked_softmax:26:20", CountB: 4, Message: "loads 16 bytes beyond inp"}}
	return doc
}

func TestEveryReportNamesTheOutputThatDiffers(t *testing.T) {
	doc := writtenOther()
	want := map[string][]string{
		"html":     {`id="outputs"`, "other contents of out", "2 of 2048 elements differ", "out-of-bounds", "noise", "must agree"},
		"csv":      {"Output,\"other contents of out", "Finding", `Store,"other operands of the atomic`},
		"junit":    {`failures="4"`, "other contents of out", "skipped", "element 515 is 12 in A, 77 in B; written by block 2", "2 of 2048 elements differ"},
		"sarif":    {"PRLX0008", "PRLX0009", "PRLX0010", `"coverage"`},
		"github":   {"::error file=kernels/softmax.py,line=30", "::error file=kernels/softmax.py,line=26", "::notice"},
		"markdown": {"other contents of out", "2 of 2048 elements differ", "out\\-of\\-bounds"},
		"json":     {`"element": 515`, `"agrees": "no"`},
	}
	for format, words := range want {
		text := string(render(t, format, doc))
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s does not have %q", format, word)
			}
		}
	}
}

func TestStatusesInReports(t *testing.T) {
	same, unsaid := writtenOther(), identical()
	same.Outputs, same.Findings, same.Status = nil, nil, diff.StatusSameResults
	unsaid.Status, unsaid.Passed, unsaid.Verdict = diff.StatusInconclusive, false, "cannot tell whether they differ"
	passes := *same
	passes.Passed = true
	for _, c := range []struct {
		doc          *diff.Document
		format, word string
	}{
		{same, "junit", `<failure message=`},
		{same, "github", "::error title="},
		{same, "markdown", ": same results\n"},
		{same, "html", `pill amber">same results`},
		{&passes, "junit", `failures="0" errors="0"`},
		{&passes, "github", "::notice title="},
		{&passes, "markdown", ": same results, passed\n"},
		{&passes, "html", `pill good">same results, passed`},
		{unsaid, "junit", `<error message="cannot tell whether they differ" type="inconclusive">`},
		{unsaid, "github", "::error title="},
		{unsaid, "markdown", ": inconclusive\n"},
		{unsaid, "html", `pill amber">inconclusive`},
		{unsaid, "sarif", `"level": "error"`},
	} {
		if text := render(t, c.format, c.doc); !bytes.Contains(text, []byte(c.word)) {
			t.Errorf("%s, %s: no %q", c.doc.Status, c.format, c.word)
		}
	}
}
