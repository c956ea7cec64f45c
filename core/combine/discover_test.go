package combine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// TestADirectoryLosesNoNodeInSilence: a file that is called a trace and cannot be read as one is an error, not one node less.
func TestADirectoryLosesNoNodeInSilence(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 3, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	dir, bad := filepath.Dir(inputs[0].Path), inputs[1].Path
	for name, spoil := range map[string]func() error{
		"empty":    func() error { return os.WriteFile(bad, nil, 0o600) },
		"garbage":  func() error { return os.WriteFile(bad, []byte("garbage\n"), 0o600) },
		"dangling": func() error { return os.Symlink("nowhere", bad) },
		"gzip":     func() error { return os.WriteFile(bad, []byte("\x1f\x8b\x08\x00"), 0o600) },
	} {
		if err := os.Remove(bad); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		f, err := Discover(context.Background(), []Input{{Path: dir}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := filepath.Join(t.TempDir(), "run")
		_, _, err = Run(job.New(context.Background(), job.Options{Workers: 2}), Request{Inputs: f.Traces, Offsets: offsets, Output: out})
		if e := fault.Of(err); err == nil || e.Kind != fault.Format && e.Kind != fault.IO || e.Path != bad {
			t.Errorf("%s: got %v, want an error that names %s", name, err, bad)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Errorf("%s: an output was written", name)
		}
	}
}

// TestDirectoriesBesideTracesAreMentioned: traces one level further down are not taken, which is said.
func TestDirectoriesBesideTracesAreMentioned(t *testing.T) {
	_, inputs, _ := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	dir := filepath.Dir(inputs[0].Path)
	if err := os.MkdirAll(filepath.Join(dir, "node2"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Discover(context.Background(), []Input{{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, "not looked into") }) {
		t.Errorf("notes are %q", f.Notes)
	}
}

// TestDeclaredNodesWithoutATraceAreMentioned: a misspelt node is seen.
func TestDeclaredNodesWithoutATraceAreMentioned(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	declared := put(t, filepath.Dir(offsets), "declared.json", []byte(`{"nodes": {"node0": {"offset_ns": 0}, "node11": {"offset_ns": 5, "bound_ns": 1}}}`))
	doc := combined(t, 2, Request{Inputs: inputs, Declared: declared, Output: filepath.Join(t.TempDir(), "run")})
	if !slices.ContainsFunc(doc.Notes, func(n string) bool { return strings.Contains(n, "declared.json speaks of node11") }) {
		t.Errorf("notes are %q", doc.Notes)
	}
}

// TestOurOwnFilesAreNotTakenAsInputs: combining a directory again does not take the file that the first time left in it.
func TestOurOwnFilesAreNotTakenAsInputs(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	dir := filepath.Dir(inputs[0].Path)
	combined(t, 2, Request{Inputs: inputs, Offsets: offsets, Output: filepath.Join(dir, "all.xplane.pb")})
	f, err := Discover(context.Background(), []Input{{Path: dir}})
	if err != nil || !slices.Equal(f.Traces, inputs) || !slices.Contains(f.Notes, "written by prlx, and so passed over: all.xplane.pb") {
		t.Errorf("%v, %v, %v", f, inputs, err)
	}
	for _, in := range inputs {
		if err := os.Remove(in.Path); err != nil {
			t.Fatal(err)
		}
	}
	if f, err = Discover(context.Background(), []Input{{Path: dir}}); err != nil || len(f.Traces) != 1 {
		t.Errorf("only ours: %v, %v", f, err)
	}
}

// TestALaterCycleOfAWorkerIsTaken: a schedule that repeats writes a trace each time. The last ones belong together; two traces of one rank
// would be two nodes of one name.
func TestALaterCycleOfAWorkerIsTaken(t *testing.T) {
	write := func(dir string, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"traceEvents":[{"ph":"X","name":"k","pid":1,"tid":1,"ts":1,"dur":1}]}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := func(dir string) (names []string, notes string) {
		t.Helper()
		f, err := Discover(context.Background(), []Input{{Path: dir}})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range f.Traces {
			names = append(names, filepath.Base(in.Path))
		}
		return names, strings.Join(f.Notes, "\n")
	}
	dir := t.TempDir()
	write(dir, "host0_11.999999999999999999.pt.trace.json", "host0_11.1700000000000000000.pt.trace.json", "host1_12.1600000000000000000.pt.trace.json",
		"host1_12.1700000000000000001.pt.trace.json", "other.json")
	names, notes := found(dir)
	want := []string{"host0_11.1700000000000000000.pt.trace.json", "host1_12.1700000000000000001.pt.trace.json", "other.json"}
	if !slices.Equal(names, want) || !strings.Contains(notes, "2 traces of earlier cycles") || strings.Contains(notes, "same steps") {
		t.Errorf("taken: %v; notes: %s", names, notes)
	}
	write(dir, "host1_12.1700000000000000002.pt.trace.json")
	if names, notes = found(dir); names[1] != "host1_12.1700000000000000002.pt.trace.json" || !strings.Contains(notes, "from 2 to 3 cycles") {
		t.Errorf("taken: %v; notes: %s", names, notes)
	}
	// One trace of each, and names that only look alike, are taken as they are.
	dir = t.TempDir()
	write(dir, "host0_11.1700000000000000000.pt.trace.json", "host1_12.1700000000000000000.pt.trace.json", "rank0.1.pt.trace.json", "rank0.2.pt.trace.json")
	if names, notes = found(dir); len(names) != 4 || notes != "" {
		t.Errorf("taken: %v; notes: %s", names, notes)
	}
}
