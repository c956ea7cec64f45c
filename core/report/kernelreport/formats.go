package kernelreport

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/diff"
	"github.com/prlx-go/prlx/core/kernel/session"
)

// Options shape every report alike. The zero value is fine.
type Options struct {
	// Root is the directory to which SARIF and GitHub annotations make source paths relative; those services know files by their
	// path in the repository. "" leaves paths as they were recorded.
	Root string
	// Version is that of prlx, named where a format asks for the version of the tool; "" leaves it out.
	Version string
}

// A format is one line of the table: its name, the endings of file names that mean it, and who writes it of two recordings and
// of two sessions; nil: nobody.
type format struct {
	name    string
	endings []string
	diff    func(io.Writer, *diff.Document, Options) error
	session func(io.Writer, *session.Document, Options) error
}

// formats is in the order in which endings are tried: longer endings before those they end with.
var formats = []format{
	{"html", []string{".html", ".htm"}, HTML, sessionHTML},
	{"csv", []string{".csv"}, CSV, sessionCSV},
	{"junit", []string{".xml", ".junit"}, JUnit, sessionJUnit},
	{"sarif", []string{".sarif.json", ".sarif"}, SARIF, sessionSARIF},
	{"github", []string{".github.txt", ".github"}, GitHub, sessionGitHub},
	{"markdown", []string{".md"}, Markdown, sessionMarkdown},
	{"chrome", []string{".trace.json", ".chrome.json"}, Chrome, nil},
	{"perfetto", []string{".perfetto-trace", ".pftrace", ".perfetto"}, Perfetto, nil},
	{"json", []string{".json"}, JSON, sessionJSON},
}

// Formats lists the names that Write takes, in a fixed order.
func Formats() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].name
	}
	return names
}

// Binary reports whether a format is bytes, not text: it cannot be printed.
func Binary(name string) bool { return name == "perfetto" }

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
func Write(name string, w io.Writer, d *diff.Document, opt Options) error {
	f, err := formatNamed(name)
	if err != nil {
		return err
	}
	return f.diff(w, d, opt)
}

// WriteSession writes the report of that format of a comparison of sessions. Tracks exist of recordings only.
func WriteSession(name string, w io.Writer, d *session.Document, opt Options) error {
	f, err := formatNamed(name)
	if err != nil {
		return err
	}
	if f.session == nil {
		return fault.Usagef("no report of sessions has the format %q", name).WithHint("compare the recordings of one launch, or choose another format")
	}
	return f.session(w, d, opt)
}

func formatNamed(name string) (*format, error) {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
	}
	return nil, fault.Usagef("no report has the format %q", clean(name, 40)).WithHint("the formats are %s", strings.Join(Formats(), ", "))
}

// JSON writes the document itself.
func JSON(w io.Writer, d *diff.Document, _ Options) error { return writeJSON(w, d) }

// writeJSON writes two-space indented JSON that says < as <.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
