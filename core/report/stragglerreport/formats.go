// Package stragglerreport turns who was late and what it cost (prlx.stragglers/1) into files for people and machines: HTML, Markdown, CSV, JUnit and the
// document itself. A report is a function of the document alone, and of the gate that it is held against.
//
// What a trace may contain reaches a report escaped and bounded: no name can become markup or a formula of a spreadsheet. The same document
// gives the same bytes.
package stragglerreport

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// Options shape reports. The zero value is fine.
type Options struct {
	// MostPercent is the part of the time, in percent, that a rank that is blamed may cost; nil: there is no gate.
	MostPercent *float64
	// Tracks are what tracks are made of: a document does not list every operation.
	Tracks *straggler.Tracks
}

// Exceeds reports whether the gate is met: the rank is blamed and cost more.
func (o Options) Exceeds(r *straggler.RankCost) bool {
	return o.MostPercent != nil && r.Blamed && 100*r.Share > *o.MostPercent
}

// A format is one line of the table: its name, the endings of file names that mean it, and who writes it.
type format struct {
	name    string
	endings []string
	write   func(io.Writer, *straggler.Document, Options) error
}

var formats = []format{
	{"html", []string{".html", ".htm"}, HTML},
	{"csv", []string{".csv"}, CSV},
	{"markdown", []string{".md"}, Markdown},
	{"junit", []string{".xml", ".junit"}, JUnit},
	{"chrome", []string{".trace.json"}, Chrome},
	{"json", []string{".json"}, writeJSON},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].name
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
func Write(name string, w io.Writer, d *straggler.Document, opt Options) error {
	for i := range formats {
		if formats[i].name == name {
			return formats[i].write(w, d, opt)
		}
	}
	return fault.Usagef("no report has the format %q", clean(name, 40)).WithHint("the formats are %s", strings.Join(Formats(), ", "))
}

// writeJSON writes two-space indented JSON that says < as <.
func writeJSON(w io.Writer, d *straggler.Document, _ Options) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
