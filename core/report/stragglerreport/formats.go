// Package stragglerreport turns who was late and what it cost (prlx.stragglers/1) into files for people and machines: writeHTML, Markdown, writeCSV, jUnit and the
// document itself. A report is a function of the document alone, and of the gate that it is held against.
//
// What a trace may contain reaches a report escaped and bounded: no name can become markup or a formula of a spreadsheet. The same document
// gives the same bytes.
package stragglerreport

import (
	"io"

	"github.com/prlx-go/prlx/core/report/formats"
	"github.com/prlx-go/prlx/core/straggler"
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

var table = formats.Table[func(io.Writer, *straggler.Document, Options) error]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: writeHTML},
	{Name: "csv", Endings: []string{".csv"}, Write: writeCSV},
	{Name: "markdown", Endings: []string{".md"}, Write: markdown},
	{Name: "junit", Endings: []string{".xml", ".junit"}, Write: jUnit},
	{Name: "chrome", Endings: []string{".trace.json"}, Write: chrome},
	{Name: "json", Endings: []string{".json"}, Write: writeJSON},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string { return table.Names() }

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the report of that format.
func Write(name string, w io.Writer, d *straggler.Document, opt Options) error {
	write, err := table.Named(name)
	if err != nil {
		return err
	}
	return write(w, d, opt)
}

func writeJSON(w io.Writer, d *straggler.Document, _ Options) error { return formats.JSON(w, d) }
