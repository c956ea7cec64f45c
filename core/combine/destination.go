package combine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/source"
)

// destination is what is written, and where.
type destination struct {
	format    Format
	output    string // a file or a run directory; "": it is named by what comes out
	overwrite bool
	notes     []string // what was decided about it
}

// chooseDestination decides the format and refuses an output that must not be written.
func chooseDestination(req *Request, nodes []*Node) (destination, error) {
	to := destination{output: req.Output, overwrite: req.Overwrite}
	if err := to.chooseFormat(req.Format, nodes); err != nil {
		return to, err
	}
	if to.output == "" {
		return to, nil
	}
	return to.settled(req, nodes)
}

// settled is a destination whose output is named: where one XSpace would not do a run directory. It refuses an output that must not be written.
func (to destination) settled(req *Request, nodes []*Node) (destination, error) {
	if to.format == FormatXPlane && req.naming == viewer {
		to.shard(nodes)
	}
	return to, to.protectInputs(req, nodes)
}

// named names an output that the caller did not name, by what was done: nothing is called aligned that is not. notes are what is said of that.
func (to destination) named(req *Request, nodes []*Node, corrected bool) (named destination, notes []string, err error) {
	if to.output != "" {
		return to, nil, nil
	}
	suffix := "aligned"
	switch {
	case !req.applies():
		suffix = "merged"
	case !corrected:
		suffix = "unaligned"
	}
	if to.output, err = defaultOutput(nodes, to.format, suffix); err != nil {
		return to, nil, err
	}
	before := to.notes
	to, err = to.settled(req, nodes)
	to.notes, notes = before, to.notes[len(before):]
	return to, notes, err
}

// chooseFormat decides the format from what was asked for, the output's name and the inputs.
func (to *destination) chooseFormat(asked Format, nodes []*Node) error {
	other, recordings := 0, 0 // inputs that cannot be re-timed in a format of their own; those that become XSpaces
	var titles []string
	for _, n := range nodes {
		if _, ok := n.Trace.(source.Accompanying); ok {
			recordings++
		} else if _, ok := n.Trace.(source.Retimer); !ok {
			other++
			if !slices.Contains(titles, n.format.Title) {
				titles = append(titles, n.format.Title)
			}
		}
	}
	f := asked
	if f == "" {
		switch name := strings.ToLower(to.output); {
		case strings.HasSuffix(name, ".pb"):
			f = FormatXPlane
		case isJSON(name):
			f = FormatChrome
		case other > 0, recordings == len(nodes):
			f = FormatChrome
			to.addEnding()
		default:
			f = FormatRun
		}
	}
	if other > 0 && f != FormatChrome {
		return fault.Usagef("format %s holds XSpace only, and %d of %d inputs are %s", f, other, len(nodes), strings.Join(titles, " or ")).WithHint("use --format chrome, and a name that ends in .json, .json.gz or .json.zst")
	}
	to.format = f
	return refuseOtherEnding(to.output, f)
}

// addEnding gives a name without an ending the one of what is written: inputs of another format than XSpace become one JSON, where
// a directory may have been expected.
func (to *destination) addEnding() {
	if to.output == "" || filepath.Ext(to.output) != "" {
		return
	}
	named := filepath.Base(to.output)
	to.output = filepath.Clean(to.output) + ".json.gz"
	to.notes = append(to.notes, fmt.Sprintf("not all inputs are XSpace, so one JSON is written and no run directory: %s.json.gz", named))
}

// shard turns one XSpace into a run directory, of the same name without its ending, when it would hold more devices than trace
// viewers tell apart in one file. A run directory has no such limit.
func (to *destination) shard(nodes []*Node) {
	devices := 0
	for _, n := range nodes {
		for _, p := range n.layout {
			if _, _, ok := source.Device(p.Name); ok {
				devices++
			}
		}
	}
	if devices <= maxViewerID+1 {
		return
	}
	file := to.output
	to.format = FormatRun
	to.output = strings.TrimSuffix(strings.TrimSuffix(file, ".pb"), ".xplane")
	if to.output == file {
		to.output += "_run"
	}
	to.notes = append(to.notes, fmt.Sprintf("%d devices do not fit one XSpace, of which trace viewers show %d: a run directory is written instead, %s",
		devices, maxViewerID+1, filepath.Base(to.output)))
}

// protectInputs checks every name that will be written: the output, the documents beside a single file, the report.
func (to *destination) protectInputs(req *Request, nodes []*Node) error {
	inputs := req.inputPaths(nodes)
	if err := protect(to.output, to.overwrite, inputs); err != nil {
		return err
	}
	for _, name := range besides(to.output, nodes, to.format) {
		if err := protect(name, to.overwrite, inputs); err != nil {
			return err
		}
		if _, err := os.Lstat(name); err == nil && !to.overwrite {
			return fault.FromIO(name, os.ErrExist)
		}
	}
	if req.Report == "" {
		return nil
	}
	if err := CheckReport(to.output, req.Report); err != nil {
		return err
	}
	return protect(req.Report, to.overwrite, inputs)
}

// defaultOutput derives an output path from the inputs: a sibling of their common directory, <dir>_<suffix>.
func defaultOutput(nodes []*Node, f Format, suffix string) (string, error) {
	common := filepath.Dir(nodes[0].Path)
	for _, n := range nodes[1:] {
		for common != "/" && common != "." && !within(n.Path, common) {
			common = filepath.Dir(common)
		}
	}
	if nodes[0].Path == "-" || common == "/" || common == "." {
		return "", fault.Usagef("no output is named and none can be derived from the inputs").WithHint("name one with -o")
	}
	stem := common + "_" + suffix
	if len(nodes) == 1 {
		name := filepath.Base(nodes[0].Path)
		for _, ext := range []string{".gz", ".zst", ".json", ".pt.trace", ".trace", ".pb", ".xplane"} {
			name = strings.TrimSuffix(name, ext)
		}
		if f != FormatRun {
			stem = filepath.Join(common, name+"."+suffix)
		}
	}
	switch f {
	case FormatXPlane:
		return stem + ".xplane.pb", nil
	case FormatChrome:
		return stem + ".json.gz", nil
	}
	return stem, nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
