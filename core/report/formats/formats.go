// Package formats chooses how a report is written: by the name of a format, or by the ending of a file's name.
package formats

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// maxName is how much of a format's name an error repeats, in characters.
const maxName = 40

// A Format is one line of a table: its name, the endings of file names that mean it in lower case, and what writes it.
type Format[W any] struct {
	Name    string
	Endings []string
	Write   W
}

// A Table lists formats in the order in which endings are tried: longer endings before those they end with.
type Table[W any] []Format[W]

// Names lists the formats in a fixed order.
func (t Table[W]) Names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].Name
	}
	return names
}

// Of tells the format from the ending of a path.
func (t Table[W]) Of(path string) (name string, ok bool) {
	lower := strings.ToLower(path)
	for i := range t {
		for _, ending := range t[i].Endings {
			if strings.HasSuffix(lower, ending) {
				return t[i].Name, true
			}
		}
	}
	return "", false
}

// Named is what writes a format. It fails with [fault.Usage] where there is none of that name, with the names that there are.
func (t Table[W]) Named(name string) (W, error) {
	for i := range t {
		if t[i].Name == name {
			return t[i].Write, nil
		}
	}
	var none W
	return none, Unknown(name, t.Names())
}

// Unknown is the error about a format that is not among all.
func Unknown(name string, all []string) error {
	return fault.Usagef("no report has the format %q", foreign.Clean(name, maxName)).WithHint("the formats are %s", strings.Join(all, ", "))
}

// JSON writes a document with two spaces of indent, and < as <.
func JSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}
