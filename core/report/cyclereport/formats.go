// Package cyclereport turns the cycles of a trace (prlx.cycles/1) and the comparison of two (prlx.cycles-compare/1) into files for people and
// machines: html, Markdown, writeCSV as uplifter writes it, and a track that opens beside the trace. A report is a function of the
// document alone.
//
// What a trace may contain reaches a report escaped and bounded: no name can become markup or a formula of a spreadsheet. The same document
// gives the same bytes.
package cyclereport

import (
	"io"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/formats"
)

// Options shape reports. The zero value is fine.
type Options struct {
	// Class is the id of the class that the writeCSV describes; "" is the one that the document has selected.
	Class string
	// Pair is the pair that the writeCSV of a comparison describes, by its place in the document.
	Pair int
}

// writers write one format: of cycles and of comparisons; nil: nobody.
type writers struct {
	cycles  func(io.Writer, *cycledoc.Document, Options) error
	compare func(io.Writer, *cycledoc.CompareDocument, Options) error
}

var table = formats.Table[writers]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: writers{html, compareHTML}},
	{Name: "csv", Endings: []string{".csv"}, Write: writers{writeCSV, compareCSV}},
	{Name: "markdown", Endings: []string{".md"}, Write: writers{markdown, compareMarkdown}},
	{Name: "chrome", Endings: []string{".trace.json", ".chrome.json"}, Write: writers{chrome, nil}},
	{Name: "junit", Endings: []string{".xml"}, Write: writers{nil, compareJUnit}},
	{Name: "github", Write: writers{nil, compareGitHub}},
	{Name: "json", Endings: []string{".json"}, Write: writers{writeJSON[*cycledoc.Document], writeJSON[*cycledoc.CompareDocument]}},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string { return withWriter(func(w *writers) bool { return w.cycles != nil }) }

// CompareFormats lists the names that WriteCompare takes, in a fixed order.
func CompareFormats() []string { return withWriter(func(w *writers) bool { return w.compare != nil }) }

func withWriter(has func(*writers) bool) []string {
	var out []string
	for i := range table {
		if has(&table[i].Write) {
			out = append(out, table[i].Name)
		}
	}
	return out
}

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the report of that format.
func Write(name string, w io.Writer, d *cycledoc.Document, opt Options) error {
	if f, err := table.Named(name); err == nil && f.cycles != nil {
		return f.cycles(w, d, opt)
	}
	return formats.Unknown(name, Formats())
}

// WriteCompare writes the report of that format of a comparison. Tracks exist of one trace only, and what judges of two.
func WriteCompare(name string, w io.Writer, d *cycledoc.CompareDocument, opt Options) error {
	if f, err := table.Named(name); err == nil && f.compare != nil {
		return f.compare(w, d, opt)
	}
	return formats.Unknown(name, CompareFormats())
}

func writeJSON[T any](w io.Writer, d T, _ Options) error { return formats.JSON(w, d) }
