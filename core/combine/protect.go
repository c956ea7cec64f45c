package combine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// protect refuses, before anything is written, an output that would replace what is not prlx's to replace: an input, a directory
// that holds one, or a directory that combine did not write. Overwriting is about outputs; inputs are never touched.
func protect(output string, overwrite bool, inputs []string) error {
	out, err := os.Stat(output)
	if err != nil {
		return nil // nothing is there
	}
	real := realPath(output)
	for _, in := range inputs {
		st, err := os.Stat(in)
		if err != nil {
			continue
		}
		if os.SameFile(out, st) {
			return fault.New(fault.Usage, "is an input, and inputs are never touched").WithPath(output).WithHint("choose another output")
		}
		if out.IsDir() && within(realPath(in), real) {
			return fault.New(fault.Usage, "holds the input %s, and inputs are never touched", filepath.Base(in)).WithPath(output).WithHint("choose another output")
		}
	}
	if overwrite && out.IsDir() && !replaceable(output) {
		return fault.New(fault.Usage, "is a directory that prlx did not write, and is not replaced").WithPath(output).WithHint("choose another output, or remove it yourself")
	}
	return nil
}

// realPath resolves symbolic links where it can.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// replaceable reports whether a directory is empty or a run directory of combine, which viewers may have added to.
func replaceable(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err == nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "alignment.json"))
	var d struct {
		Schema string `json:"schema"`
	}
	return err == nil && json.Unmarshal(b, &d) == nil && d.Schema == Schema
}

// inputPaths returns every file that the request reads.
func (r *Request) inputPaths(nodes []*Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Path)
	}
	for _, in := range r.Inputs { // those that were left out, too
		all = append(all, in.Path)
	}
	for _, in := range r.clockFiles() {
		all = append(all, in.Path)
	}
	return all
}

// clockFiles returns the files that say how clocks relate.
func (r *Request) clockFiles() []Input {
	all := slices.Clone(r.Snapshots)
	for _, path := range append(slices.Clone(r.Probes), r.Offsets, r.Declared) {
		if path != "" {
			all = append(all, Input{Path: path})
		}
	}
	return all
}

// besides returns the names of the documents that stand beside a single file.
func besides(output string, nodes []*Node, f Format) []string {
	if f == FormatRun {
		return nil
	}
	names := []string{output + ".alignment.json"}
	if len(nodes) == 1 {
		names = append(names, output+"."+clean(nodes[0].ID)+".alignment_stats.json")
	}
	return names
}

// CheckReport refuses a report where the trace goes: at its name, or in a run directory, which appears as a whole.
func CheckReport(output, report string) error {
	switch {
	case output == "":
		return nil
	case filepath.Clean(output) == filepath.Clean(report):
		return fault.New(fault.Usage, "is the output and the report at once").WithPath(report).WithHint("give the report another name")
	case within(report, output):
		return fault.New(fault.Usage, "lies inside the output, which is written as a whole").WithPath(report).WithHint("write the report beside it: --report %s.html", filepath.Clean(output))
	}
	return nil
}
