package kernelreport

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
)

// inPlace is the sample after an edit in place: B has one line more in front of the branch, which is inside of a function of Triton's.
func inPlace() *diff.Document {
	doc := sample()
	a := softmaxSource()
	a.Stale, a.Recorded, a.Side = false, true, "A"
	b := a
	b.Side = "B"
	b.Lines = append([]string{}, a.Lines[:4]...)
	b.Lines = append(append(b.Lines, "    length = tl.load(lens + row + 1)", "    mask = offs <= length # edited"), a.Lines[6:]...)
	b.Lines = append(b.Lines[:1:1], append([]string{"# one more"}, b.Lines[1:]...)...)
	doc.Sources = []diff.Source{a, b}
	move := func(d *diff.Divergence) {
		d.LocationB, d.Inside = "kernels/softmax.py:masked_softmax:25:12", []string{"triton/language/standard.py:max:170:4"}
	}
	move(doc.First)
	move(&doc.Clusters[0].First)
	doc.Sites[0].LocationB = doc.First.LocationB
	doc.Edits = &diff.Edits{
		Text: "edited: A softmax.py:23, B softmax.py:24; softmax.py:24 (B: softmax.py:25), the line that differs first, is the same in both texts", First: "same",
		Functions: []diff.EditedText{{
			Function: "masked_softmax", FileA: "kernels/softmax.py", FileB: "kernels/softmax.py",
			Hunks: []diff.Hunk{{FirstA: 23, FirstB: 24, A: []string{"    length = tl.load(lens + row)"}, B: []string{"    length = tl.load(lens + row + 1)"}}},
		}},
		Constants: []diff.EditedConstant{{Name: "BLOCK", A: "64", B: "128"}},
	}
	return doc
}

// Every report shows A's line for A and B's for B, the lines that were edited, and the line of the library within.
func TestReportsShowTheLinesOfTheirSide(t *testing.T) {
	doc := inPlace()
	wants := map[string][]string{
		"html": {
			`<b>A</b> <code>kernels/softmax.py</code>`, `<b>B</b> <code>kernels/softmax.py</code>`, `<span class="n">24</span><span class="t">    mask = <mark>offs</mark> &lt;= length</span>`,
			`<span class="n">25</span><span class="t">    mask = <mark>offs</mark> &lt;= length # edited</span>`, `in B <b class="place">softmax.py:25:12</b>`, "through standard.py:170:4",
			`id="edits"`, "tl.load(lens &#43; row &#43; 1)", `<th scope="row">BLOCK</th><td>64</td><td>128</td>`,
		},
		"junit":    {"A     24 |     mask = offs <= length\n", "B     25 |     mask = offs <= length # edited", "through standard.py:170:4", "+    24 |     length = tl.load(lens + row + 1)", "BLOCK: 64 in A, 128 in B"},
		"markdown": {"B     25 |     mask = offs <= length # edited", "-    23 |     length = tl.load(lens + row)"},
		"github":   {"file=kernels/softmax.py,line=25,"},
	}
	for format, texts := range wants {
		got := string(render(t, format, doc))
		for _, want := range texts {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
	result := sarifOf(t, doc).Results[0]
	at, inA, library := result.Locations[0].Physical.Region, result.Related[0], result.Related[1]
	if at.Line != 25 || at.Snippet == nil || at.Snippet.Text != "    mask = offs <= length # edited" {
		t.Errorf("SARIF shows line %d, %+v, want B's", at.Line, at.Snippet)
	}
	if r := inA.Physical.Region; r.Line != 24 || r.Snippet == nil || r.Snippet.Text != "    mask = offs <= length" || inA.Message.Text != "the same statement in A" {
		t.Errorf("SARIF shows line %d of A, %+v", r.Line, r.Snippet)
	}
	if library.Physical.Region.Line != 170 || *library.ID != 2 {
		t.Errorf("the line of the library: %+v", library)
	}
}

// Where only what was written differs, the page opens on the statement that wrote it.
func TestThePageOpensOnTheFirstOutput(t *testing.T) {
	doc := writtenOther()
	doc.First, doc.Findings = nil, nil
	s := softmaxSource()
	s.Stale = false
	doc.Sources = []diff.Source{s}
	doc.Outputs.Stores[0].SourceLocation = "kernels/softmax.py:masked_softmax:30:9"
	page := pageOf(t, doc)
	for _, want := range []string{`id="first"`, "The first output that differs", `<mark>tl.store</mark>`, `<a href="#first">First</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestAFileThatChangedSinceIsNoticed(t *testing.T) {
	doc := sample()
	s := softmaxSource()
	s.Stale, s.Recorded, s.Changed = false, true, true
	doc.Sources = []diff.Source{s}
	if page := pageOf(t, doc); !strings.Contains(page, "as recorded; the file was edited since") {
		t.Error("nothing says that the file on this machine is another one by now")
	}
}

func TestEditsOfAnySizeAreBounded(t *testing.T) {
	doc := inPlace()
	h := &doc.Edits.Functions[0].Hunks[0]
	for len(h.A) < 10_000 {
		h.A = append(h.A, "x")
	}
	e := newEdited(doc)
	if n := len(e.Functions[0].Rows); n != maxEditedRows || e.LeftOut != "9\u202f601 more lines are left out." {
		t.Errorf("%d rows, %q", n, e.LeftOut)
	}
	if text := plainEdited(doc, 5); strings.Count(text, " x\n") > 5 || !strings.Contains(text, "more lines differ") {
		t.Errorf("text: %q", text)
	}
}
