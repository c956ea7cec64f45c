package kernelreport

import (
	"io"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/formats"
)

// Options shape every report alike. The zero value is fine.
type Options struct {
	// Root is the directory to which sarif and gitHub annotations make source paths relative; those services know files by their
	// path in the repository. "" leaves paths as they were recorded.
	Root string
	// Version is that of prlx, named where a format asks for the version of the tool; "" leaves it out.
	Version string
}

// writers write one format: of two recordings and of two sessions; nil: nobody.
type writers struct {
	diff    func(io.Writer, *diff.Document, Options) error
	session func(io.Writer, *session.Document, Options) error
}

var table = formats.Table[writers]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: writers{html, sessionHTML}},
	{Name: "csv", Endings: []string{".csv"}, Write: writers{writeCSV, sessionCSV}},
	{Name: "junit", Endings: []string{".xml", ".junit"}, Write: writers{jUnit, sessionJUnit}},
	{Name: "sarif", Endings: []string{".sarif.json", ".sarif"}, Write: writers{sarif, sessionSARIF}},
	{Name: "github", Endings: []string{".github.txt", ".github"}, Write: writers{gitHub, sessionGitHub}},
	{Name: "markdown", Endings: []string{".md"}, Write: writers{markdown, sessionMarkdown}},
	{Name: "chrome", Endings: []string{".trace.json", ".chrome.json"}, Write: writers{chrome, nil}},
	{Name: "perfetto", Endings: []string{".perfetto-trace", ".pftrace", ".perfetto"}, Write: writers{perfetto, nil}},
	{Name: "json", Endings: []string{".json"}, Write: writers{writeJSON, sessionJSON}},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string { return table.Names() }

// Binary reports whether a format is bytes, not text: it cannot be printed.
func Binary(name string) bool { return name == "perfetto" }

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the report of that format.
func Write(name string, w io.Writer, d *diff.Document, opt Options) error {
	f, err := table.Named(name)
	if err != nil {
		return err
	}
	return f.diff(w, d, opt)
}

// WriteSession writes the report of that format of a comparison of sessions. Tracks exist of recordings only.
func WriteSession(name string, w io.Writer, d *session.Document, opt Options) error {
	f, err := table.Named(name)
	if err != nil {
		return err
	}
	if f.session == nil {
		return fault.Usagef("no report of sessions has the format %q", name).WithHint("compare the recordings of one launch, or choose another format")
	}
	return f.session(w, d, opt)
}

// writeJSON writes the document itself.
func writeJSON(w io.Writer, d *diff.Document, _ Options) error { return formats.JSON(w, d) }
