package combine

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/job"
)

// TestOfTooManyExecutionsTheShortestBoundTheClocks: of recordings whose executions do not all fit, the short ones bound the clocks as well as all do, or
// nearly, where as many that a lot drew do not; and every event is within its bound.
func TestOfTooManyExecutionsTheShortestBoundTheClocks(t *testing.T) {
	for set, most := range map[string]int{"p2": 160, "p4": 160} {
		inputs, _, tr := jax(t, set)
		half := map[string]int64{} // summed over the nodes
		for _, way := range []string{"all", "lot", "shortest"} {
			func() {
				defer func(spans int, lot bool) { mostSpans, byLotAlone = spans, lot }(mostSpans, byLotAlone)
				mostSpans, byLotAlone = most, way == "lot"
				if way == "all" {
					mostSpans = collective.MaxSpans
				}
				out := filepath.Join(t.TempDir(), "out")
				doc, evidence, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Method: methodCollectives, Output: out})
				if err != nil {
					t.Fatal(err)
				}
				errorsOf(t, set+" by "+way, inputs, out, doc, evidence, tr)
				for _, n := range doc.Nodes[1:] {
					half[way] += n.RestsOn[0].HalfWidthNS.P50
				}
				said := strings.Join(doc.Notes, "; ")
				if (way != "all") != strings.Contains(said, "over the whole time") || (way == "shortest") != strings.Contains(said, "that were the shortest") {
					t.Errorf("%s by %s: %q", set, way, said)
				}
			}()
		}
		t.Logf("%s: half of what is possible, summed over the nodes: %v ns", set, half)
		if half["shortest"] > half["lot"] || half["shortest"] > half["all"]*5/4 {
			t.Errorf("%s: %v", set, half)
		}
	}
}
