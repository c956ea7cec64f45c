package combine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/job"
)

// TestRealClocksFromCollectives: nothing but the traces in, every event of the output against the truth.
func TestRealClocksFromCollectives(t *testing.T) {
	for _, tc := range []struct {
		set      string
		p50, max int64 // ns
		half     int64 // of what is possible, median, ns
		before   int   // violated groups of 240
	}{
		// The joint linear program over all pairs with one line for each clock, from the first collective to the last: 87 us; 142 to 219 us.
		{"p2", 15_000, 50_000, 87_500, 240}, {"p4", 65_000, 100_000, 219_000, 238}, {"p2_step", 0, 0, 87_500, 87},
	} {
		t.Run(tc.set, func(t *testing.T) {
			inputs, _, tr := jax(t, tc.set)
			out := filepath.Join(t.TempDir(), "out")
			doc, evidence, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Method: methodCollectives, Output: out})
			if err != nil {
				t.Fatal(err)
			}
			for k, e := range errorsOf(t, tc.set, inputs, out, doc, evidence, tr) {
				n := doc.Nodes[k]
				if tc.p50 > 0 && (e[len(e)/2] > tc.p50 || e[len(e)-1] > tc.max) {
					t.Errorf("node %d: error p50 %d ns, max %d ns; want at most %d and %d", k, e[len(e)/2], e[len(e)-1], tc.p50, tc.max)
				}
				if k > 0 && n.RestsOn[0].HalfWidthNS.P50 > tc.half {
					t.Errorf("node %d: half of what is possible is %d ns, want at most %d", k, n.RestsOn[0].HalfWidthNS.P50, tc.half)
				}
			}
			if doc.Collectives == nil || doc.Collectives.Before.Violated != tc.before || doc.Collectives.After.Violated != 0 {
				t.Errorf("collectives %+v, want %d violated before and 0 after", doc.Collectives, tc.before)
			}
			if stepped := len(doc.Nodes[1].Steps) == 1; stepped != (tc.set == "p2_step") {
				t.Errorf("steps %+v", doc.Nodes[1].Steps)
			}
		})
	}
}

// errorsOf compares every event of a run directory with the truth: none is beyond its bound. It returns the errors of each node, sorted.
func errorsOf(t *testing.T, set string, inputs []Input, out string, doc *Document, evidence *Evidence, tr *truth) (all [][]int64) {
	t.Helper()
	for k, n := range doc.Nodes {
		raw, got := instants(t, inputs[k].Path, 0), instants(t, filepath.Join(out, doc.Outputs[k].Path), doc.ZeroNS)
		if len(raw) != len(got) {
			t.Fatalf("node %d: %d events became %d", k, len(raw), len(got))
		}
		var errs []int64
		outside := 0
		for i := range raw {
			for _, p := range [][2]int64{{raw[i].start, got[i].start}, {raw[i].end, got[i].end}} {
				_, bound, _ := evidence.Nodes[k].Wall.At(p[0])
				e := p[1] - tr.trueNS(k, p[0])
				if max(e, -e) > bound+2 { // both sides are rounded to ns
					outside++
					if outside < 5 {
						t.Errorf("node %d, event %d: error %d ns, bound %d ns", k, i, e, bound)
					}
				}
				errs = append(errs, max(e, -e))
			}
		}
		slices.Sort(errs)
		t.Logf("%s node %d: error p50 %d ns, max %d ns; bound p50 %d, p99 %d, max %d; steps %v, outside %d of %d; %s", set, k, errs[len(errs)/2], errs[len(errs)-1],
			n.BoundNS.P50, n.BoundNS.P99, n.BoundNS.Max, n.Steps, outside, len(errs), halfOf(n))
		all = append(all, errs)
	}
	return all
}

// TestFreshRecordingsFromCollectives: recordings with a truth.json in the directories that PRLX_SKEW_RECORDINGS lists, each with a folder of JAX's profiler for
// each node.
func TestFreshRecordingsFromCollectives(t *testing.T) {
	listed := os.Getenv("PRLX_SKEW_RECORDINGS")
	if listed == "" {
		t.Skip("PRLX_SKEW_RECORDINGS lists none")
	}
	for _, dir := range filepath.SplitList(listed) {
		tr := readTruth(t, filepath.Join(dir, "truth.json"))
		var inputs []Input
		for k := range tr.Nodes {
			found, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("node%d", k), "plugins", "profile", "*", "*.xplane.pb"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%s: node %d has %d traces, %v", dir, k, len(found), err)
			}
			inputs = append(inputs, Input{ID: fmt.Sprintf("node%d", k), Path: found[0]})
		}
		out := filepath.Join(t.TempDir(), "out")
		doc, evidence, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Method: methodCollectives, Output: out})
		if err != nil {
			t.Fatal(err)
		}
		errorsOf(t, filepath.Base(dir), inputs, out, doc, evidence, tr)
		t.Logf("collectives %+v; %v", *doc.Collectives, doc.Warnings)
	}
}

func halfOf(n NodeResult) string {
	if len(n.RestsOn) == 0 {
		return "the reference"
	}
	return fmt.Sprintf("half of what is possible: %+v", *n.RestsOn[0].HalfWidthNS)
}
