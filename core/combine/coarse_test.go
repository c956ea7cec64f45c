package combine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// TestAnAlignmentThatIsOfNoUseSaysSo: with bounds wider than the collectives themselves nobody can tell who was late, whatever is aligned.
func TestAnAlignmentThatIsOfNoUseSaysSo(t *testing.T) {
	_, inputs, _ := recorded(t, xspacetest.Config{Nodes: 3, GPUs: 1, EventsPerGPU: 500, RoundNS: 4e6, Seed: 3, NoSnapshots: true})
	for bound, want := range map[int64]string{
		100:        "",
		60_000_000: "too coarse to compare 1 node with others: bounds up to 60000 us, wider than most collectives (",
	} {
		declared := put(t, t.TempDir(), "declared.toml", fmt.Appendf(nil, "reference = \"node0\"\n[nodes.node1]\noffset_ns = 0\nbound_ns = 100\n[nodes.node2]\noffset_ns = 0\nbound_ns = %d\n", bound))
		doc := combined(t, 2, into(t, Request{Inputs: inputs, Declared: declared, Method: MethodDeclared}))
		if want == "" && strings.Contains(doc.Verdict, "coarse") || !strings.Contains(doc.Verdict, want) {
			t.Errorf("bound %d: %s", bound, doc.Verdict)
		}
		if said := strings.Join(doc.Warnings, "\n"); (want != "") != strings.Contains(said, "known too coarsely to say who was late") {
			t.Errorf("bound %d: warnings %q", bound, doc.Warnings)
		}
	}
}
