package kernelreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// sited is a place as both sides have it: B's is another one where the source of the kernel was edited, and where B goes on elsewhere.
type sited struct {
	a, b place // b is the zero place where it is the same
	only string
}

// placesOf are the places of a divergence.
func placesOf(d *diff.Divergence) sited {
	s := sited{a: placeOf(d.SourceLocation), only: d.InTrace}
	if d.LocationB != "" {
		s.b = placeOf(d.LocationB)
	}
	return s
}

// side is whose line the first place is.
func (s sited) side() string { return sideOf(s.only) }

// sourceWith finds the piece of source that shows a line of a side: its own, one of both sides, else any.
func sourceWith(doc *diff.Document, p place, side string) *diff.Source {
	var found *diff.Source
	for i := range doc.Sources {
		s := &doc.Sources[i]
		if at := p.Line - s.FirstLine; p.Line <= 0 || s.File != p.File || at < 0 || at >= len(s.Lines) {
			continue
		}
		if s.Side == side || s.Side == "" {
			return s
		}
		if found == nil {
			found = s
		}
	}
	return found
}

// sourceLine finds the text of a line of a side among the sources of a document.
func sourceLine(doc *diff.Document, p place, side string) (text string, ok bool) {
	s := sourceWith(doc, p, side)
	if s == nil {
		return "", false
	}
	return s.Lines[p.Line-s.FirstLine], true
}

// sourceWarning says what is to be known of a piece of source before its lines are believed, "" for nothing.
func sourceWarning(s *diff.Source) string {
	switch {
	case s.Stale:
		return "changed since the recording: lines may have moved"
	case s.Changed && s.Side == "":
		return "as recorded; the file was edited since"
	}
	return ""
}

// annotated is where a reader of code is shown a finding: the file that lies in the repository is B's, where the text of the kernel was edited
// between the two.
func (f *siteFinding) annotated(doc *diff.Document) (location, side string) {
	s := f.site
	if doc.Edits == nil || s.InTrace == "A" {
		return s.SourceLocation, sideOf(s.InTrace)
	}
	if s.LocationB != "" {
		return s.LocationB, "B"
	}
	return s.SourceLocation, "B"
}

// inA is where A has a finding, where that is another line than is annotated or another text; "" where it is the same.
func (f *siteFinding) inA(doc *diff.Document) string {
	s := f.site
	if doc.Edits == nil || s.InTrace != "" {
		return ""
	}
	p := placeOf(s.SourceLocation)
	if s.LocationB != "" {
		return s.SourceLocation
	}
	a, b := sourceWith(doc, p, "A"), sourceWith(doc, p, "B")
	if a == nil || b == nil || a == b || a.Lines[p.Line-a.FirstLine] == b.Lines[p.Line-b.FirstLine] {
		return ""
	}
	return s.SourceLocation
}

func sideOf(only string) string {
	if only == "B" {
		return "B"
	}
	return "A"
}

// listing is the source around a place, of one side or of both.
type listing struct {
	Side, File, Warning string // Side is "" where both have the same
	Rows                []sourceRow
}

// listings are the lines around a place: those of A and of B where they are not the same.
func listings(doc *diff.Document, s sited) []listing {
	var out []listing
	add := func(p place, side string) {
		src := sourceWith(doc, p, side)
		if src == nil {
			return
		}
		l := listing{Side: src.Side, File: clean(p.File, maxName), Warning: sourceWarning(src), Rows: sourceRows(src, p)}
		if s.b.Line > 0 {
			l.Side = side
		}
		out = append(out, l)
	}
	add(s.a, s.side())
	other := s.b
	if s.b.Line == 0 && s.only == "" && len(out) == 1 && out[0].Side == "A" { // the same line of an edited function
		other = s.a
	}
	if other.Line > 0 {
		add(other, "B")
	}
	if len(out) == 2 && slices.Equal(out[0].Rows, out[1].Rows) { // what was edited is elsewhere in the function
		out = out[:1]
		out[0].Side = ""
	}
	return out
}

// sourceRows are the lines around a place, with the token at its column marked.
func sourceRows(s *diff.Source, p place) (rows []sourceRow) {
	at := p.Line - s.FirstLine
	for k := max(0, at-sourceAround); k < min(len(s.Lines), at+sourceAround+1); k++ {
		row := sourceRow{Number: s.FirstLine + k, Before: codeText(s.Lines[k])}
		if k == at {
			row.Here = true
			row.Before, row.Mark, row.After = atColumn(s.Lines[k], p.Column)
		}
		rows = append(rows, row)
	}
	return rows
}

// insideText names the lines of libraries within a place: "through standard.py:263".
func insideText(inside []string) string {
	var names []string
	for _, at := range inside[:min(len(inside), maxInside)] {
		names = append(names, clean(siteName("", at), maxName))
	}
	if len(names) == 0 {
		return ""
	}
	return "through " + strings.Join(names, ", called from ")
}

const maxInside = 4 // frames of libraries that reports name

// edited is how the text of the kernel differs, for a page and for lines of text.
type edited struct {
	Text      string
	Functions []editedFunction
	Constants []comparison
	LeftOut   string
}

type editedFunction struct {
	Name, File string
	Rows       []editedRow
}

// editedRow is one line that only one side has.
type editedRow struct {
	Side, Sign, Text string // Side is "a" or "b"
	Number           int
}

// maxEditedRows is how many lines a page shows.
const maxEditedRows = 400

// newEdited is nil where the texts are not known, or are the same.
func newEdited(doc *diff.Document) *edited {
	e := doc.Edits
	if e == nil || len(e.Functions)+len(e.Constants) == 0 {
		return nil
	}
	out := &edited{Text: clean(e.Text, maxText)}
	left, omitted := maxEditedRows, e.Omitted
	for i := range e.Functions {
		f := &e.Functions[i]
		one := editedFunction{Name: clean(f.Function, maxName), File: editedFiles(f)}
		for k := range f.Hunks {
			h := &f.Hunks[k]
			for _, side := range []struct {
				name, sign string
				first      int
				lines      []string
			}{{"a", "\u2212", h.FirstA, h.A}, {"b", "+", h.FirstB, h.B}} {
				for n, line := range side.lines {
					if left == 0 {
						omitted++
						continue
					}
					left--
					one.Rows = append(one.Rows, editedRow{side.name, side.sign, codeText(line), side.first + n})
				}
			}
		}
		if len(one.Rows) > 0 {
			out.Functions = append(out.Functions, one)
		}
	}
	for _, c := range e.Constants[:min(len(e.Constants), maxEditedRows)] {
		out.Constants = append(out.Constants, comparison{clean(c.Name, maxName), clean(c.A, maxName), clean(c.B, maxName), true})
	}
	if omitted > 0 {
		out.LeftOut = figure.Plural(omitted, "more line is", "more lines are") + " left out."
	}
	return out
}

// editedFiles names the file of a function, or both.
func editedFiles(f *diff.EditedText) string {
	switch {
	case f.FileA == "":
		return clean(f.FileB, maxName) + ", only in B"
	case f.FileB == "":
		return clean(f.FileA, maxName) + ", only in A"
	case f.FileA != f.FileB:
		return clean(f.FileA, maxName) + ", in B " + clean(f.FileB, maxName)
	}
	return clean(f.FileA, maxName)
}

// plainEdited is how the texts differ in lines of text, at most so many of them.
func plainEdited(doc *diff.Document, most int) string {
	e := newEdited(doc)
	if e == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(e.Text + "\n")
	for _, c := range e.Constants {
		fmt.Fprintf(&b, "  %s: %s in A, %s in B\n", c.Label, orNothing(c.A), orNothing(c.B))
	}
	for _, f := range e.Functions {
		fmt.Fprintf(&b, "  %s (%s)\n", f.Name, f.File)
		for _, r := range f.Rows {
			if most--; most < 0 {
				continue
			}
			fmt.Fprintf(&b, "  %s %5d | %s\n", strings.NewReplacer("\u2212", "-").Replace(r.Sign), r.Number, clean(r.Text, maxName))
		}
	}
	if most < 0 {
		fmt.Fprintf(&b, "  %s\n", figure.Plural(-most, "more line differs", "more lines differ"))
	}
	return b.String()
}

func orNothing(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
