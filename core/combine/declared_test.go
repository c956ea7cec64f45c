package combine

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// workers writes a synthetic job whose traces are called worker0, worker1 and so on.
func workers(t *testing.T, nodes int) []Input {
	t.Helper()
	_, inputs, _ := recorded(t, xspacetest.Config{Nodes: nodes, GPUs: 1, EventsPerGPU: 10, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7, NoSnapshots: true})
	for k, in := range inputs {
		inputs[k].Path = put(t, t.TempDir(), strings.Replace(filepath.Base(in.Path), "node", "worker", 1), plainBytes(t, in.Path))
	}
	return inputs
}

// TestTheReferenceOfADeclarationIsNamedAsItsNodesAre: `reference = "worker0"` works where [nodes.worker0] does.
func TestTheReferenceOfADeclarationIsNamedAsItsNodesAre(t *testing.T) {
	inputs := workers(t, 2)
	declared := put(t, t.TempDir(), "declared.toml", []byte("reference = \"worker0\"\n[nodes.worker0]\noffset_ns = 0\n[nodes.worker1]\noffset_ns = 5_000\nbound_ns = 7\n"))
	for name, r := range map[string]Request{
		"both":                      {Inputs: inputs},
		"one":                       {Inputs: inputs[1:]},
		"one, and the same is said": {Inputs: inputs[1:], Reference: "worker0"},
	} {
		r.Declared, r.Output = declared, filepath.Join(t.TempDir(), "out.xplane.pb")
		doc := combined(t, 2, r)
		n := doc.Nodes[len(doc.Nodes)-1]
		if doc.Reference != "worker0" || n.Method != MethodDeclared || n.OffsetNS != 5_000 || n.BoundNS.Max != 7 {
			t.Errorf("%s: reference %q, %s, offset %d, bound %d; want worker0, declared, 5000, 7", name, doc.Reference, n.Method, n.OffsetNS, n.BoundNS.Max)
		}
		if said := strings.Join(doc.Warnings, "\n"); strings.Contains(said, "none of the nodes") || strings.Contains(said, "knows no node") {
			t.Errorf("%s: warnings %q", name, doc.Warnings)
		}
	}
}

// TestDeclaredOffsetsBesideMeasuredOnes: a contradiction is reported, agreement and the choice are said, and a node that was not measured
// has the clock that is declared.
func TestDeclaredOffsetsBesideMeasuredOnes(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	dir := t.TempDir()
	solved := filepath.Join(dir, "offsets.jsonl")
	doc, err := Solve(job.New(context.Background(), job.Options{}), SolveRequest{Files: probes, Output: solved})
	if err != nil {
		t.Fatal(err)
	}
	declared := func(name string, wrongNS int64) string {
		var b strings.Builder
		b.WriteString("[nodes.node0]\noffset_ns = 0\n")
		for k, n := range doc.Nodes[1:] {
			off := n.OffsetNS
			if k == 0 {
				off += wrongNS
			}
			fmt.Fprintf(&b, "[nodes.node%d]\noffset_ns = %d\ndrift_ppm = %f\nat_ns = %d\nbound_ns = 50_000\n", k+1, off, n.DriftPPM, n.AtNS)
		}
		return put(t, dir, name, []byte(b.String()))
	}
	agrees, contradicts := declared("agrees.toml", 0), declared("contradicts.toml", 250_000_000)
	run := func(r Request) *Document {
		r.Inputs, r.Output = inputs, filepath.Join(t.TempDir(), "run")
		return combined(t, 2, r)
	}
	for name, r := range map[string]Request{"probes": {Probes: probes}, "round offsets": {Offsets: solved}} {
		r.Declared = contradicts
		got := run(r)
		said := strings.Join(got.Warnings, "\n")
		if !strings.Contains(said, "probes and declared contradict each other about node1: 249.9") || !strings.Contains(said, "the clock by probes is used") || strings.Contains(said, "about node2") {
			t.Errorf("%s, 250 ms apart: warnings %q", name, got.Warnings)
		}
		if n := got.Nodes[1]; n.Method != MethodProbes || far(n.OffsetNS/1_000_000, doc.Nodes[1].OffsetNS/1_000_000) {
			t.Errorf("%s: node1 by %s, offset %d", name, n.Method, n.OffsetNS)
		}
		r.Declared = agrees
		got = run(r)
		if said := strings.Join(got.Warnings, "\n"); strings.Contains(said, "contradict") {
			t.Errorf("%s that agree: warnings %q", name, got.Warnings)
		}
		if said := strings.Join(got.Notes, "\n"); !strings.Contains(said, "3 of its nodes have the measured clock, 0 the declared one") {
			t.Errorf("%s: the choice is not said: %q", name, got.Notes)
		}
	}
	var known []byte // what was measured, without node 3
	for _, line := range bytes.SplitAfter(plainBytes(t, solved), []byte("\n")) {
		if !bytes.Contains(line, []byte(`"node_id":3,"offset_ns"`)) {
			known = append(known, line...)
		}
	}
	got := run(Request{Offsets: put(t, dir, "known.jsonl", known), Declared: agrees})
	if n := got.Nodes[3]; n.Method != MethodDeclared || n.BoundNS.Max != 50_000 || got.Status != StatusAligned {
		t.Errorf("a node that was not measured: %s, bound %d, status %s", n.Method, n.BoundNS.Max, got.Status)
	}
	if got := run(Request{Offsets: solved, Probes: probes}); !strings.Contains(strings.Join(got.Notes, "\n"), "the probes are not used") {
		t.Errorf("round offsets and probes: %q", got.Notes)
	}
	if got := run(Request{Probes: probes, Declared: agrees, Method: MethodProbes}); !strings.Contains(strings.Join(got.Notes, "\n"), "agrees.toml is not used") {
		t.Errorf("method probes: %q", got.Notes)
	}
}
