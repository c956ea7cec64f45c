package combine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

// TestWhatIsNotAlignedIsNotCalledSo: the name that the output gets, the reason, and what to do.
func TestWhatIsNotAlignedIsNotCalledSo(t *testing.T) {
	together, probes, _ := jax(t, "p2")
	other, _, _ := jax(t, "p2_step")
	never := false
	for name, c := range map[string]struct {
		r       Request
		output  string // the end of its name
		because string
		warned  bool
	}{
		"no clock data":           {Request{}, "job_unaligned", "no clock data", true},
		"no clock data, one file": {Request{Format: FormatXPlane}, "job_unaligned.xplane.pb", "no clock data", true},
		"no clock data, JSON":     {Request{Format: FormatChrome}, "job_unaligned.json.gz", "no clock data", true},
		"a merge":                 {Request{ApplyAlignment: &never}, "job_merged", "a merge was asked for", false},
		"wall":                    {Request{Method: MethodWall}, "job_unaligned", "wall clocks", false},
		"probes":                  {Request{Probes: probes}, "job_aligned", "", false},
		"collectives":             {Request{}, "job_aligned", "", false},
	} {
		dir := filepath.Join(t.TempDir(), "job")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := c.r
		inputs := together
		if c.warned { // traces of two runs share no collective
			inputs = []Input{together[0], other[1]}
		}
		for _, in := range inputs {
			b, err := os.ReadFile(in.Path)
			if err != nil {
				t.Fatal(err)
			}
			r.Inputs = append(r.Inputs, Input{Path: put(t, dir, filepath.Base(in.Path), b)})
		}
		doc, evidence, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said := strings.Join(doc.Warnings, "; ")
		if !strings.HasSuffix(evidence.Output, c.output) || !strings.Contains(doc.NotAligned, c.because) || (doc.NotAligned == "") != (doc.Status == StatusAligned) {
			t.Errorf("%s: %s, %s, not aligned because of %q", name, evidence.Output, doc.Status, doc.NotAligned)
		}
		if warned := strings.Contains(said, "not aligned: no clock data") && strings.Contains(said, "--probes"); warned != c.warned {
			t.Errorf("%s: warnings are %q", name, said)
		}
	}
}

// TestTracesWithoutADateAreNotAskedForClockData: the trace viewer's JSON of JAX does not say when it was recorded. Probes do not help there, given
// or not.
func TestTracesWithoutADateAreNotAskedForClockData(t *testing.T) {
	spaces, probes, _ := jax(t, "p2")
	var undated []Input
	for k := range spaces {
		undated = append(undated, Input{Path: filetest.Data(t, fmt.Sprintf("jax_skew/p2/node%d.trace.json.gz", k))})
	}
	for name, r := range map[string]Request{
		"with probes":    {Inputs: undated, Probes: probes},
		"without":        {Inputs: undated},
		"one has a date": {Inputs: []Input{spaces[0], undated[1]}, Probes: probes, Format: FormatChrome},
	} {
		r.Output = filepath.Join(t.TempDir(), "out.json")
		doc, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said := strings.Join(doc.Warnings, "; ")
		if !strings.Contains(said, "not aligned: ") || !strings.Contains(doc.NotAligned, "when they were recorded") || doc.Status == StatusAligned {
			t.Errorf("%s: %s because of %q: %q", name, doc.Status, doc.NotAligned, said)
		}
		if strings.Contains(said, "--probes") || strings.Contains(said, "no clock data") {
			t.Errorf("%s: clock data is asked for, and is of no use: %q", name, said)
		}
	}
}

// TestClockFilesOneDirectoryUpAreNamed: and so are those beside traces that were named one by one. Which option takes them is said.
func TestClockFilesOneDirectoryUpAreNamed(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	dir := t.TempDir()
	var traces, dirs []Input
	for k, in := range inputs {
		sub := filepath.Join(dir, "node"+string(rune('0'+k)))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, Input{Path: sub})
		traces = append(traces, Input{Path: put(t, sub, "host.xplane.pb", read(in.Path))})
	}
	for what, c := range map[string]struct {
		names []string
		text  [][]byte
		want  string
	}{
		"probes":   {[]string{"probes_node0.jsonl", "probes_node1.jsonl"}, [][]byte{read(probes[0]), read(probes[1])}, "add --probes with probes_node0.jsonl, probes_node1.jsonl"},
		"declared": {[]string{"clocks.toml"}, [][]byte{[]byte("[nodes]\nnode1 = { offset_ns = 5 }\n")}, "add --declared with clocks.toml"},
	} {
		for i, name := range c.names {
			put(t, dir, name, c.text[i])
		}
		for how, args := range map[string][]Input{"directories": dirs, "files": traces} {
			found, err := Discover(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			r := Request{Inputs: found.Traces, Output: filepath.Join(t.TempDir(), "run")}
			if err := r.AddClockFiles(t.Context(), found); err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(combined(t, 2, r).Warnings, "; "); !strings.Contains(said, c.want) {
				t.Errorf("%s, %s: %q", what, how, said)
			}
		}
		for _, name := range c.names {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
