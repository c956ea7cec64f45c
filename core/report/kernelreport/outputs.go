package kernelreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// outputFindings lists what the checks of the simulator found, and what differs among what the kernel wrote: one for each finding, then one
// an array, at the statement that stored it, and one for each further statement.
func outputFindings(doc *diff.Document) []siteFinding {
	var out []siteFinding
	for i := range doc.Findings {
		x := &doc.Findings[i]
		s := &diff.SiteSummary{SourceLocation: x.SourceLocation, Divergences: 1, Noise: x.Noise}
		if x.CountA == 0 {
			s.InTrace = "B"
		}
		text := fmt.Sprintf("%s: %s in A, %s in B; %s", clean(x.Check, 40), times(x.CountA), times(x.CountB), clean(x.Message, maxText))
		out = append(out, quietIf(x.Noise, siteFinding{site: s, kind: diff.KindFinding, count: 1, text: text}))
	}
	if o := doc.Outputs; o != nil {
		placed := map[int]bool{} // statements that stand for an array
		for i := range o.Arrays {
			a := &o.Arrays[i]
			s := &diff.SiteSummary{Divergences: a.Chunks, Noise: a.Noise}
			for k := range o.Stores {
				if x := &o.Stores[k]; x.Array == a.Name && x.Noise == a.Noise {
					s.SiteID, s.SourceLocation, s.LocationB, s.InTrace, s.SiteKind, s.Warps, s.WarpRanges = x.SiteID, x.SourceLocation, x.LocationB, x.InTrace, x.SiteKind, x.Warps, x.WarpRanges
					placed[k] = true
					break
				}
			}
			out = append(out, quietIf(a.Noise, siteFinding{site: s, kind: diff.KindOutput, count: a.Chunks, text: arrayText(a, o.First)}))
		}
		for k := range o.Stores {
			if x := &o.Stores[k]; !placed[k] {
				s := &diff.SiteSummary{
					SiteID: x.SiteID, SourceLocation: x.SourceLocation, LocationB: x.LocationB, InTrace: x.InTrace, SiteKind: x.SiteKind, Divergences: 1, Warps: x.Warps, WarpRanges: x.WarpRanges, Noise: x.Noise,
				}
				out = append(out, quietIf(x.Noise, siteFinding{site: s, kind: diff.KindStore, count: 1, text: storeText(x)}))
			}
		}
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
	return figure.Count(n) + " times"
}

// arrayText says how the contents of an array differ, and what is known of the first element.
func arrayText(a *diff.ArrayDiff, first *diff.FirstOutput) string {
	atLeast := ""
	if a.AtLeast {
		atLeast = "at least "
	}
	s := fmt.Sprintf("other contents of %s: %s%s of %s of 256 elements", clean(a.Name, maxName), atLeast, figure.Count(a.Chunks), figure.Plural(a.ChunksOf, "chunk", "chunks"))
	if a.Elements != "" {
		s += " (elements " + clean(a.Elements, 80) + ")"
	}
	if first != nil && first.Array == a.Name && first.Element != nil {
		s += fmt.Sprintf("; element %s is %s in A, %s in B", figure.Count(*first.Element), written(first.ValueA), written(first.ValueB))
		for _, w := range []*diff.OutputWriter{first.WriterB, first.WriterA} {
			if w != nil {
				s += "; written by " + threadText(w)
				break
			}
		}
	}
	if a.DistanceText != "" {
		s += "; " + clean(a.DistanceText, maxText)
	}
	return s
}

// distanceText says how far apart an array is.
func distanceText(a *diff.ArrayDiff) string {
	return clean(a.Name, maxName) + ": " + clean(cmp.Or(a.DistanceText, "how far apart is not known"), maxText)
}

func written(value string) string {
	if value == "" {
		return "not written"
	}
	return clean(value, 80)
}

func threadText(w *diff.OutputWriter) string {
	s := fmt.Sprintf("lane %s of warp %s", figure.Count(w.Lane), figure.Count(w.Warp))
	if w.Block != nil {
		s = fmt.Sprintf("block %s, warp %s of it, lane %s", figure.Count(*w.Block), figure.Count(*w.WarpOfBlock), figure.Count(w.Lane))
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
		s += fmt.Sprintf(": %s in A, %s in B", figure.Plural(int64(min(x.CountA, 1<<62)), "element", "elements"), figure.Count(x.CountB))
	}
	if x.Warps > 0 {
		s += fmt.Sprintf("; %s (%s)", figure.Plural(x.Warps, "warp", "warps"), clean(x.WarpRanges, 80))
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

// firstOutput is the place on which a page opens where no event differs: the statement that stored something else first.
type firstOutput struct {
	Place, PlaceB, Function, What string
	Sources                       []listing
}

// newFirstOutput is nil where nothing but events differs.
func newFirstOutput(doc *diff.Document) *firstOutput {
	all := outputFindings(doc)
	at := slices.IndexFunc(all, func(f siteFinding) bool { return !f.loudest.quiet() })
	if at < 0 {
		return nil
	}
	f := &all[at]
	s := sited{a: placeOf(f.site.SourceLocation), b: placeOf(f.site.LocationB), only: f.site.InTrace}
	out := &firstOutput{What: f.sentence(doc), Sources: listings(doc, s)}
	if f.site.SiteID != "" || f.site.SourceLocation != "" {
		out.Place = clean(siteName(f.site.SiteID, f.site.SourceLocation), maxName)
	}
	if s.a.Line > 0 {
		out.Function = clean(s.a.Function, maxName)
	}
	if s.b.Line > 0 {
		out.PlaceB = clean(s.b.short(), maxName)
	}
	return out
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
		note = figure.Plural(n, "more row is", "more rows are") + " in the JSON document. "
	}
	if doc.Outputs != nil {
		note += clean(doc.Outputs.More, maxText)
	}
	return rows, note
}

const maxOutputRows = 200 // on the page
