package combine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// tree returns the content of every file below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTree(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, b := range before {
		if after[path] != b {
			t.Errorf("%s was touched", path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s was left behind", path)
		}
	}
}

// TestOverwriteNeverTouchesWhatIsNotOurs names outputs that would replace an input, or a directory of somebody else.
func TestOverwriteNeverTouchesWhatIsNotOurs(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	dir := filepath.Dir(inputs[0].Path)
	other := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(other, "letters"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, other, "thesis.tex", []byte("years of work"))
	link := filepath.Join(other, "link.xplane.pb")
	if err := os.Symlink(inputs[1].Path, link); err != nil {
		t.Fatal(err)
	}
	hard := filepath.Join(dir, "hard.xplane.pb")
	if err := os.Link(inputs[1].Path, hard); err != nil {
		t.Fatal(err)
	}
	linkedDir := filepath.Join(other, "linked")
	if err := os.Symlink(dir, linkedDir); err != nil {
		t.Fatal(err)
	}
	files, homes := tree(t, dir), tree(t, other)
	for name, r := range map[string]Request{
		"an input":                      {Output: inputs[0].Path, Format: FormatXPlane},
		"a symbolic link to an input":   {Output: link, Format: FormatXPlane},
		"a hard link to an input":       {Output: hard, Format: FormatXPlane},
		"a clock file":                  {Output: offsets, Format: FormatXPlane},
		"the directory of the inputs":   {Output: dir},
		"a directory above the inputs":  {Output: filepath.Dir(dir)},
		"a link to the inputs":          {Output: linkedDir},
		"a directory of somebody else":  {Output: other},
		"an input as the report":        {Output: filepath.Join(other, "run"), Report: inputs[0].Path},
		"a clock file as the report":    {Output: filepath.Join(other, "run"), Report: offsets},
		"a report at the output's name": {Output: filepath.Join(other, "x.pb"), Report: filepath.Join(other, "x.pb")},
		"a report inside the output":    {Output: filepath.Join(other, "run"), Report: filepath.Join(other, "run", "r.html")},
	} {
		t.Run(name, func(t *testing.T) {
			r.Inputs, r.Offsets, r.Overwrite = inputs, offsets, true
			_, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("got %v, want a usage error", err)
			}
			if e := fault.Of(err); e.Path == "" || e.Hint == "" || strings.Contains(e.Error(), "\n") {
				t.Errorf("the error does not say where and what to do: %#v", e)
			}
			sameTree(t, files, tree(t, dir))
			sameTree(t, homes, tree(t, other))
		})
	}
}

// TestOverwriteReplacesOurOwn replaces an empty directory and a run directory that a viewer has added to.
func TestOverwriteReplacesOurOwn(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	out := t.TempDir() // empty
	r := Request{Inputs: inputs, Offsets: offsets, Output: out, Overwrite: true}
	combined(t, 2, r)
	first := tree(t, out)
	put(t, out, "ALL_HOSTS.op_stats.pb", []byte("a viewer's cache"))
	combined(t, 2, r)
	sameTree(t, first, tree(t, out))
}

// TestDocumentsBesideAFileAreNotOverwritten keeps the statistics of an earlier alignment unless told to replace them.
func TestDocumentsBesideAFileAreNotOverwritten(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	dir := t.TempDir()
	put(t, dir, "out.xplane.pb.node1.alignment_stats.json", []byte("mine"))
	before := tree(t, dir)
	r := Request{Inputs: inputs[1:], Offsets: offsets, Output: filepath.Join(dir, "out.xplane.pb")}
	_, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
	if !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), "out.xplane.pb.node1.alignment_stats.json: already exists") {
		t.Fatalf("got %v", err)
	}
	sameTree(t, before, tree(t, dir))
	r.Overwrite = true
	combined(t, 2, r)
	if b := tree(t, dir)[filepath.Join(dir, "out.xplane.pb.node1.alignment_stats.json")]; !strings.Contains(b, statsSchema) {
		t.Errorf("not replaced: %s", b)
	}
}
