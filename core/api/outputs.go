package api

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// onStdout is the path of an output that comes back in the reply instead of being written.
const onStdout = "-"

// outputArg is one report of a request: a format, or none where the path's ending says it.
type outputArg struct {
	Format string `json:"format"`
	Path   string `json:"path"`
}

// reportKind is what can be written of one kind of document.
type reportKind struct {
	formats  func() []string
	formatOf func(path string) (string, bool)
	binary   func(format string) bool
	endings  string // in words
}

var comparisonReports = reportKind{
	kernelreport.Formats, kernelreport.FormatOf, kernelreport.Binary, ".html, .json, .csv, .xml, .sarif, .md, .trace.json or .perfetto-trace",
}

// reports are the outputs of a request: refused or created before any work is done, written and renamed at the end.
type reports struct {
	kind    reportKind
	options kernelreport.Options
	args    []outputArg
	files   []*file.Output // nil for stdout
	text    bytes.Buffer
}

// writtenReports is the part of a reply that says what was written; Rendered is the report that was asked for on stdout.
type writtenReports struct {
	Written  []outputArg `json:"written,omitempty"`
	Rendered string      `json:"rendered,omitempty"`
}

// createReports checks the outputs and creates them. inputs are what is read and must not be touched.
func createReports(kind reportKind, args []outputArg, overwrite bool, inputs []string, root string) (*reports, error) {
	r := &reports{kind: kind, options: kernelreport.Options{Root: root, Version: Version}}
	seen := map[string]bool{}
	for _, arg := range args {
		if err := r.add(arg, overwrite, inputs, seen); err != nil {
			r.abort()
			return nil, err
		}
	}
	return r, nil
}

func (r *reports) add(arg outputArg, overwrite bool, inputs []string, seen map[string]bool) error {
	if arg.Path == "" {
		return fault.Usagef("an output has no path")
	}
	if arg.Format == "" {
		format, ok := r.kind.formatOf(arg.Path)
		if !ok {
			return fault.New(fault.Usage, "the ending says no format").WithPath(arg.Path).
				WithHint("end it in %s, or name the format", r.kind.endings)
		}
		arg.Format = format
	}
	if !slices.Contains(r.kind.formats(), arg.Format) {
		return fault.Usagef("no report has the format %q", arg.Format).WithHint("the formats are %s", strings.Join(r.kind.formats(), ", "))
	}
	if seen[arg.Path] {
		return fault.New(fault.Usage, "is named for two outputs").WithPath(arg.Path)
	}
	seen[arg.Path] = true
	r.args = append(r.args, arg)
	if arg.Path == onStdout && r.kind.binary(arg.Format) {
		return fault.Usagef("the format %q is bytes, not text, and cannot be printed", arg.Format).WithHint("name a file for it with -o")
	}
	if arg.Path == onStdout {
		r.files = append(r.files, nil)
		return nil
	}
	if err := refuseInput(arg.Path, inputs); err != nil {
		return err
	}
	if err := r.refuseOtherEnding(arg); err != nil {
		return err
	}
	f, err := file.Create(arg.Path, overwrite)
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	return nil
}

// ownEndings are the formats that are opened by their ending. Those that are JSON share one, and some are plain text.
var ownEndings = []string{"html", "csv", "markdown", "junit"}

// refuseOtherEnding refuses the name of another format for a report: whoever opens it gets the wrong program.
func (r *reports) refuseOtherEnding(arg outputArg) error {
	other, ok := r.kind.formatOf(arg.Path)
	if !ok || other == arg.Format || !slices.Contains(ownEndings, arg.Format) {
		return nil
	}
	return fault.New(fault.Usage, "is the name of a %s report, and %s is asked for", other, arg.Format).WithPath(arg.Path).
		WithHint("choose the option or the format that goes with its ending: %s", r.kind.endings)
}

// refuseInput refuses to replace what is read, under whatever name.
func refuseInput(output string, inputs []string) error {
	there, err := os.Stat(output)
	if err != nil {
		return nil // nothing there yet
	}
	for _, input := range inputs {
		if read, err := os.Stat(input); err == nil && os.SameFile(there, read) {
			return fault.New(fault.Usage, "is an input, and inputs are never touched").WithPath(output).WithHint("choose another name for the output")
		}
	}
	return nil
}

// writes reports whether one of the reports has that format.
func (r *reports) writes(format string) bool {
	return slices.ContainsFunc(r.args, func(a outputArg) bool { return a.Format == format })
}

// write makes every report and gives the files their names: all of them, or none.
func (r *reports) write(render func(format string, w io.Writer, opt kernelreport.Options) error) error {
	for i, arg := range r.args {
		var w io.Writer = &r.text
		if r.files[i] != nil {
			w = r.files[i]
		}
		if err := render(arg.Format, w, r.options); err != nil {
			return err
		}
	}
	for _, f := range r.files {
		if f == nil {
			continue
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reports) abort() {
	for _, f := range r.files {
		if f != nil {
			f.Abort()
		}
	}
}

func (r *reports) reply() writtenReports {
	w := writtenReports{Rendered: r.text.String()}
	for i, arg := range r.args {
		if r.files[i] != nil {
			w.Written = append(w.Written, arg)
		}
	}
	return w
}
