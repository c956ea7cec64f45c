package combine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// normalised is a synthetic job as section 5 of trace_alignment.md has it: traces without snapshots, which lie beside them as pairs that
// count from the starts of the recording, and probes.
type normalised struct {
	*xspacetest.Job
	traces []Input
	pairs  []string
	probes string
}

func recordedNormalised(t *testing.T) *normalised {
	t.Helper()
	j, inputs, _ := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 2000, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	n := &normalised{Job: j}
	dir := t.TempDir()
	for k, in := range inputs {
		n.traces = append(n.traces, Input{Path: put(t, dir, fmt.Sprintf("node%d.xspace", k), withoutPlane(t, plainBytes(t, in.Path), "/host:snapshots"))})
		var b bytes.Buffer
		for at := xspacetest.Epoch; at < j.LastTrueNS()+2e6; at += 1e6 {
			s, r := j.Clocks[k].Wall(at)-j.StartWallNS(k), j.Clocks[k].Tracer(at)-j.StartTracerNS(k)
			if s >= 0 && r >= 0 {
				fmt.Fprintf(&b, `{"sys_clock_ns": %d, "tracer_clock_ns": %d}`+"\n", s, r)
			}
		}
		n.pairs = append(n.pairs, put(t, dir, fmt.Sprintf("node%d.snapshot.jsonl", k), b.Bytes()))
	}
	var b bytes.Buffer
	for at := xspacetest.Epoch - 1e9; at < j.LastTrueNS()+1e9; at += 4e6 {
		for src := range 2 {
			p, q := &j.Clocks[src], &j.Clocks[1-src]
			fmt.Fprintf(&b, `{"src":%d,"dst":%d,"t1":%d,"t2":%d,"t3":%d,"t4":%d}`+"\n", src, 1-src, p.Wall(at), q.Wall(at+5000), q.Wall(at+6000), p.Wall(at+11000))
		}
	}
	n.probes = put(t, dir, "probes.jsonl", b.Bytes())
	return n
}

// withoutPlane removes the planes of a name from an XSpace.
func withoutPlane(t *testing.T, b []byte, name string) (out []byte) {
	t.Helper()
	for len(b) > 0 {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		if !bytes.Contains(b[:min(n, 100)], []byte(name)) {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// solved runs prlx solve on the probes.
func (n *normalised) solved(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "offsets.jsonl")
	if _, err := Solve(job.New(context.Background(), job.Options{}), SolveRequest{Files: []string{n.probes}, Output: out}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPairsThatCountFromTheStartAreOfTheTracesStart: neither the pairs nor the offsets of prlx solve say when the recording began. The
// trace does.
func TestPairsThatCountFromTheStartAreOfTheTracesStart(t *testing.T) {
	j := recordedNormalised(t)
	offsets := j.solved(t)
	for k := range j.traces {
		out := filepath.Join(t.TempDir(), "aligned.xspace")
		doc := combined(t, 2, Request{Inputs: j.traces[k : k+1], Snapshots: []Input{{Path: j.pairs[k]}}, Offsets: offsets, Output: out, Format: FormatXPlane})
		r := doc.Nodes[0]
		if doc.Status != StatusAligned || r.Snapshots == 0 || r.TracerLines == 0 {
			t.Errorf("node %d: status %q, %d snapshots, %d lines on the tracer's clock, warnings %q", k, doc.Status, r.Snapshots, r.TracerLines, r.Warnings)
		}
		got, i, worst := instants(t, out, doc.ZeroNS), 0, int64(0)
		j.Events(k, 0, func(e xspacetest.Event) {
			a, b := got[i].start-j.Clocks[0].Wall(e.Start), got[i].end-j.Clocks[0].Wall(e.End)
			worst = max(worst, a, -a, b, -b)
			i++
		})
		if worst > r.BoundNS.Max || worst > 1000 {
			t.Errorf("node %d: an event is off by %d ns, want at most the bound of %d ns", k, worst, r.BoundNS.Max)
		}
		if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "the base of the device lines of the trace says") || !strings.Contains(said, "counts from the collector's start") {
			t.Errorf("node %d does not say from where the starts are: %q", k, r.Warnings)
		}
	}
}

// TestSolveWritesTheStartsThatItKnows: probes may say when a recording began, in a meta line as windows have it.
func TestSolveWritesTheStartsThatItKnows(t *testing.T) {
	j := recordedNormalised(t)
	meta := fmt.Sprintf(`{"meta":true,"node_id":1,"start_walltime_ns":%d,"start_gpu_ns":%d}`+"\n", j.StartWallNS(1), j.StartTracerNS(1))
	j.probes = put(t, t.TempDir(), "probes.jsonl", slices.Concat([]byte(meta), plainBytes(t, j.probes)))
	var header struct {
		Nodes []map[string]int64
	}
	first, _, _ := bytes.Cut(plainBytes(t, j.solved(t)), []byte("\n"))
	if err := json.Unmarshal(first, &header); err != nil {
		t.Fatal(err)
	}
	if n := header.Nodes[1]; n["start_walltime_ns"] != j.StartWallNS(1) || n["start_gpu_ns"] != j.StartTracerNS(1) {
		t.Errorf("node 1 in the header: %v", n)
	}
	if wall, said := header.Nodes[0]["start_walltime_ns"]; said {
		t.Errorf("node 0's start is written as %d, and nothing is known of it", wall)
	}
}
