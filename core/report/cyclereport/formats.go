// Package cyclereport turns the cycles of a trace (prlx.cycles/1) and the comparison of two (prlx.cycles-compare/1) into files for people and
// machines: HTML, Markdown, CSV as uplifter writes it, and a track that opens beside the trace. A report is a function of the
// document alone.
//
// What a trace may contain reaches a report escaped and bounded: no name can become markup or a formula of a spreadsheet. The same document
// gives the same bytes.
package cyclereport

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/cycle/cycledoc"
)

// Options shape reports. The zero value is fine.
type Options struct {
	// Class is the id of the class that the CSV describes; "" is the one that the document has selected.
	Class string
	// Pair is the pair that the CSV of a comparison describes, by its place in the document.
	Pair int
}

// A format is one line of the table: its name, the endings of file names that mean it, and who writes it of cycles and of comparisons;
// nil: nobody.
type format struct {
	name    string
	endings []string
	cycles  func(io.Writer, *cycledoc.Document, Options) error
	compare func(io.Writer, *cycledoc.CompareDocument, Options) error
}

// formats is in the order in which endings are tried: longer endings before those they end with.
var formats = []format{
	{"html", []string{".html", ".htm"}, HTML, CompareHTML},
	{"csv", []string{".csv"}, CSV, CompareCSV},
	{"markdown", []string{".md"}, Markdown, CompareMarkdown},
	{"chrome", []string{".trace.json", ".chrome.json"}, Chrome, nil},
	{"json", []string{".json"}, writeJSON[*cycledoc.Document], writeJSON[*cycledoc.CompareDocument]},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].name
	}
	return names
}

// CompareFormats lists the names that WriteCompare takes, in a fixed order.
func CompareFormats() []string {
	var names []string
	for i := range formats {
		if formats[i].compare != nil {
			names = append(names, formats[i].name)
		}
	}
	return names
}

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) {
	lower := strings.ToLower(path)
	for i := range formats {
		for _, ending := range formats[i].endings {
			if strings.HasSuffix(lower, ending) {
				return formats[i].name, true
			}
		}
	}
	return "", false
}

// Write writes the report of that format.
func Write(name string, w io.Writer, d *cycledoc.Document, opt Options) error {
	for i := range formats {
		if formats[i].name == name {
			return formats[i].cycles(w, d, opt)
		}
	}
	return unknown(name, Formats())
}

// WriteCompare writes the report of that format of a comparison. Tracks exist of one trace only.
func WriteCompare(name string, w io.Writer, d *cycledoc.CompareDocument, opt Options) error {
	for i := range formats {
		if formats[i].name == name && formats[i].compare != nil {
			return formats[i].compare(w, d, opt)
		}
	}
	return unknown(name, CompareFormats())
}

func unknown(name string, all []string) error {
	return fault.Usagef("no report has the format %q", clean(name, 40)).WithHint("the formats are %s", strings.Join(all, ", "))
}

// writeJSON writes two-space indented JSON that says < as <.
func writeJSON[T any](w io.Writer, d T, _ Options) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
