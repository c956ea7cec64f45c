package combine

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/source/xspace/xspacetest"
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
