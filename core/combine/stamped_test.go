package combine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/snapshot"
	"github.com/prlx-go/prlx/core/testing/snapshottest"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// readingsOf is what a sampler of a node of the job reads of a clock that is an uptime.
func readingsOf(j *xspacetest.Job, node int, name string) *clockfile.Snapshots {
	r := &clockfile.Snapshots{TracerClock: name, SamplingPeriodNS: 1e6}
	for at := xspacetest.Epoch; at < j.LastTrueNS()+2e6; at += 1e6 {
		r.Pairs = append(r.Pairs, clockfile.SnapshotPair{SysNS: j.Clocks[node].Wall(at), TracerNS: j.Clocks[node].Tracer(at), BracketNS: 40})
	}
	return r
}

// asMessage is a recording of clocks as the message SnapshotPairs.
func asMessage(t *testing.T, r *clockfile.Snapshots) []byte {
	t.Helper()
	dir := t.TempDir()
	message := filepath.Join(dir, "snapshot_pairs.pb")
	if _, err := snapshot.Finish(context.Background(), put(t, dir, "pairs.jsonl", snapshottest.Lines(r)), message, false); err != nil {
		t.Fatal(err)
	}
	return plainBytes(t, message)
}

// TestReadingsOfAnotherClockMoveNothing: device lines of CUDA and host lines are on the wall clock, where their profiler has put them. A plane or a
// file that relates the wall clock to a clock which stamped none of them leaves every byte as it is without it.
func TestReadingsOfAnotherClockMoveNothing(t *testing.T) {
	for _, gpus := range []int{1, 0} {
		j, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: max(1, gpus), EventsPerGPU: 2000, RoundNS: 4e6, Seed: 11, NoSnapshots: true})
		plain := Request{Inputs: inputs, Offsets: offsets, Format: FormatRun}
		if gpus == 0 { // a trace of the CPU alone
			for k := range inputs {
				plain.Inputs[k].Path = put(t, t.TempDir(), fmt.Sprintf("node%d.xplane.pb", k), withoutPlane(t, plainBytes(t, inputs[k].Path), "/device:"))
			}
		}
		want := combinedBytes(t, plain)
		for _, name := range []string{"CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "TSC", "a clock of my own"} {
			with, beside := plain, plain
			with.Inputs = nil
			for k, in := range plain.Inputs {
				dir, r := t.TempDir(), readingsOf(j, k, name)
				with.Inputs = append(with.Inputs, Input{ID: in.ID, Path: put(t, dir, filepath.Base(in.Path), append(plainBytes(t, in.Path), snapshottest.Plane(r, j.ProfileStartNS(k))...))})
				ending, content := "pairs.jsonl", snapshottest.Lines(r)
				if k == 1 {
					ending, content = "snapshot_pairs.pb", asMessage(t, r)
				}
				beside.Snapshots = append(beside.Snapshots, Input{Path: put(t, dir, fmt.Sprintf("node%d.%s", k, ending), content)})
			}
			if got := withoutPlane(t, combinedBytes(t, with), "/host:snapshots"); !bytes.Equal(got, want) {
				t.Errorf("%d GPUs: a plane with readings of %s changes the output", gpus, name)
			}
			if got := combinedBytes(t, beside); !bytes.Equal(got, want) {
				t.Errorf("%d GPUs: files with readings of %s change the output", gpus, name)
			}
			doc := combined(t, 2, into(t, with))
			for _, n := range doc.Nodes {
				if n.TracerLines != 0 || len(n.Warnings) > 0 {
					t.Errorf("%s, %d GPUs: %d lines are on the tracer's clock; warnings %q", n.ID, gpus, n.TracerLines, n.Warnings)
				}
			}
			if said := strings.Join(doc.Notes, "\n"); !strings.Contains(said, "clock readings of "+name+" are there (node0, node1)") {
				t.Errorf("%d GPUs: %q", gpus, doc.Notes)
			}
		}
	}
}

// TestReadingsOfTheClockThatStampedTheLinesMoveThem: the same plane, named after the tracer that made the lines, is what ROCm's own is.
func TestReadingsOfTheClockThatStampedTheLinesMoveThem(t *testing.T) {
	j, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 2000, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 11})
	for _, name := range []string{"ROCm", "CUPTI", "tracer"} { // nothing in these traces says whose devices they are
		r := Request{Offsets: offsets, Format: FormatRun}
		for k, in := range inputs {
			bare := withoutPlane(t, plainBytes(t, in.Path), "/host:snapshots")
			r.Inputs = append(r.Inputs, Input{ID: in.ID, Path: put(t, t.TempDir(), filepath.Base(in.Path), append(bare, snapshottest.Plane(readingsOf(j, k, name), j.ProfileStartNS(k))...))})
		}
		for _, n := range combined(t, 2, into(t, r)).Nodes {
			if n.TracerLines != 1 || n.BoundNS.Max > 5000 {
				t.Errorf("%s, %s: %d lines are on the tracer's clock, bound %d ns", name, n.ID, n.TracerLines, n.BoundNS.Max)
			}
		}
	}
}

// into gives a request a file to write.
func into(t *testing.T, r Request) Request {
	r.Output = filepath.Join(t.TempDir(), "out")
	return r
}

// combinedBytes is what combine writes of a request: the aligned traces, one after the other.
func combinedBytes(t *testing.T, r Request) (out []byte) {
	t.Helper()
	r = into(t, r)
	combined(t, 2, r)
	paths, err := filepath.Glob(filepath.Join(r.Output, "*.xplane.pb"))
	if err != nil || len(paths) != 2 {
		paths, err = filepath.Glob(filepath.Join(r.Output, "plugins/profile/*/*.xplane.pb"))
	}
	if err != nil || len(paths) != 2 {
		t.Fatalf("got %q, %v; want two traces", paths, err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}
