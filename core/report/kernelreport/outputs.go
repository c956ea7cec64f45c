package kernelreport

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/diff"
)

// outputFindings lists what differs among what the kernel wrote, and what the checks of the simulator found: a finding an array, at the
// statement that stored it, one for each further statement, and one for each finding.
func outputFindings(doc *diff.Document) []siteFinding {
	var out []siteFinding
	if o := doc.Outputs; o != nil {
		placed := map[int]bool{} // statements that stand for an array
		for i := range o.Arrays {
			a := &o.Arrays[i]
			s := &diff.SiteSummary{Divergences: a.Chunks, Noise: a.Noise}
			for k := range o.Stores {
				if x := &o.Stores[k]; x.Array == a.Name && x.Noise == a.Noise {
					s.SiteID, s.SourceLocation, s.SiteKind, s.Warps, s.WarpRanges = x.SiteID, x.SourceLocation, x.SiteKind, x.Warps, x.WarpRanges
					placed[k] = true
					break
				}
			}
			out = append(out, quietIf(a.Noise, siteFinding{site: s, kind: diff.KindOutput, count: a.Chunks, text: arrayText(a, o.First)}))
		}
		for k := range o.Stores {
			if x := &o.Stores[k]; !placed[k] {
				s := &diff.SiteSummary{
					SiteID: x.SiteID, SourceLocation: x.SourceLocation, SiteKind: x.SiteKind, Divergences: 1, Warps: x.Warps, WarpRanges: x.WarpRanges, Noise: x.Noise,
				}
				out = append(out, quietIf(x.Noise, siteFinding{site: s, kind: diff.KindStore, count: 1, text: storeText(x)}))
			}
		}
	}
	for i := range doc.Findings {
		x := &doc.Findings[i]
		s := &diff.SiteSummary{SourceLocation: x.SourceLocation, Divergences: 1, Noise: x.Noise}
		text := fmt.Sprintf("%s: %s in A, %s in B; %s", clean(x.Check, 40), times(x.CountA), times(x.CountB), clean(x.Message, maxText))
		out = append(out, quietIf(x.Noise, siteFinding{site: s, kind: diff.KindFinding, count: 1, text: text}))
	}
	return out
}

func quietIf(isNoise bool, f siteFinding) siteFinding {
	if isNoise {
		f.loudest = noise
	}
	return f
}

func times(n int64) string {
	switch n {
	case 0:
		return "not"
	case 1:
		return "once"
	}
	return count(n) + " times"
}

// arrayText says how the contents of an array differ, and what is known of the first element.
func arrayText(a *diff.ArrayDiff, first *diff.FirstOutput) string {
	atLeast := ""
	if a.AtLeast {
		atLeast = "at least "
	}
	s := fmt.Sprintf("other contents of %s: %s%s of %s of 256 elements", clean(a.Name, maxName), atLeast, count(a.Chunks), plural(a.ChunksOf, "chunk", "chunks"))
	if a.Elements != "" {
		s += " (elements " + clean(a.Elements, 80) + ")"
	}
	if first != nil && first.Array == a.Name && first.Element != nil {
		s += fmt.Sprintf("; element %s is %s in A, %s in B", count(*first.Element), written(first.ValueA), written(first.ValueB))
		for _, w := range []*diff.OutputWriter{first.WriterB, first.WriterA} {
			if w != nil {
				s += "; written by " + threadText(w)
				break
			}
		}
	}
	return s
}

func written(value string) string {
	if value == "" {
		return "not written"
	}
	return clean(value, 80)
}

func threadText(w *diff.OutputWriter) string {
	s := fmt.Sprintf("lane %s of warp %s", count(w.Lane), count(w.Warp))
	if w.Block != nil {
		s = fmt.Sprintf("block %s, warp %s of it, lane %s", count(*w.Block), count(*w.WarpOfBlock), count(w.Lane))
	}
	if at := placeOf(w.SourceLocation); at.known() {
		s += " at " + clean(at.short(), maxName)
	}
	return s
}

func storeText(x *diff.StoreDiff) string {
	s := "something else is stored"
	if x.SiteKind == "atomic" {
		s = "other operands of the atomic"
	}
	if x.Array != "" {
		s += " to " + clean(x.Array, maxName)
	}
	if x.CountA != x.CountB {
		s += fmt.Sprintf(": %s in A, %s in B", plural(int64(min(x.CountA, 1<<62)), "element", "elements"), count(x.CountB))
	}
	if x.Warps > 0 {
		s += fmt.Sprintf("; %s (%s)", plural(x.Warps, "warp", "warps"), clean(x.WarpRanges, 80))
	}
	return s
}

// plainOutputs is what differs among outputs, stores and findings in lines of text.
func plainOutputs(doc *diff.Document) string {
	var b strings.Builder
	for _, f := range outputFindings(doc) {
		b.WriteString("  " + f.sentence(doc))
		if at := siteName(f.site.SiteID, f.site.SourceLocation); f.site.SiteID != "" || f.site.SourceLocation != "" {
			b.WriteString(" (" + clean(at, maxName) + ")")
		}
		b.WriteByte('\n')
	}
	if doc.Outputs != nil && doc.Outputs.More != "" {
		b.WriteString("  " + clean(doc.Outputs.More, maxText) + "\n")
	}
	return b.String()
}

// outputRow is one row of the table of outputs on the page.
type outputRow struct{ Kind, What, Place, Role string }

// outputRows are the rows of that table; note says what would show more.
func outputRows(doc *diff.Document) (rows []outputRow, note string) {
	all := outputFindings(doc)
	for i := range all[:min(len(all), maxOutputRows)] {
		f := &all[i]
		row := outputRow{Kind: clean(f.kind, 40), What: f.sentence(doc)}
		if f.site.SiteID != "" || f.site.SourceLocation != "" {
			row.Place = clean(siteName(f.site.SiteID, f.site.SourceLocation), maxName)
		}
		if f.loudest.quiet() {
			row.Role = f.loudest.String()
		}
		rows = append(rows, row)
	}
	if n := len(all) - maxOutputRows; n > 0 {
		note = plural(n, "more row is", "more rows are") + " in the JSON document. "
	}
	if doc.Outputs != nil {
		note += clean(doc.Outputs.More, maxText)
	}
	return rows, note
}

const maxOutputRows = 200 // on the page
