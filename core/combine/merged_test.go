package combine

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

// markOfJSON is what a file says about what prlx did to it.
func markOfJSON(t *testing.T, path string) *aligned.Mark {
	t.Helper()
	n, err := loadOne(t.Context(), job.New(t.Context(), job.Options{}), Input{Path: path}, 1, false)
	n.close()
	if err != nil || n.mark == nil {
		t.Fatalf("%s: mark %v, %v", path, n.mark, err)
	}
	return n.mark
}

func fused(t *testing.T) Input {
	return Input{Path: filetest.Data(t, "kineto/amd+HPCTrainingExamples__merged_all_events.json.gz")}
}

// TestRanksThatAnotherToolMergedAreNodes: TraceLens merged four ranks into one file. Their collectives match each other, and it is said.
func TestRanksThatAnotherToolMergedAreNodes(t *testing.T) {
	doc := validated(t, []Input{fused(t)})
	if doc.Groups != 21 || doc.Unmatched != 0 || doc.Consistent+doc.Violated+doc.Undecidable != doc.Groups {
		t.Errorf("%d groups, %d unmatched, want the 84 kernels of NCCL in 21 groups of 4: %+v", doc.Groups, doc.Unmatched, doc)
	}
	if said := strings.Join(doc.Notes, "; "); !strings.Contains(said, "4 ranks that another tool merged: rank0, rank1, rank2, rank3") {
		t.Errorf("the notes say %q", said)
	}
	for _, w := range doc.Worst {
		if !strings.HasPrefix(w.Nodes[0], "rank") || !strings.HasPrefix(w.Nodes[1], "rank") {
			t.Errorf("%s is between %v, want ranks", w.Key, w.Nodes)
		}
	}
}

// TestAMergedTraceIsCombined: its ranks are nodes of the output, alone, cut and beside another trace, and clock data is refused.
func TestAMergedTraceIsCombined(t *testing.T) {
	want := []string{"rank0", "rank1", "rank2", "rank3"}
	other := Input{ID: "other", Path: filetest.Data(t, "kineto/AMD-AGI+TraceLens__torch_compile_triton__trace.json.gz")}
	from, to := int64(0), int64(150_000_000)
	for name, c := range map[string]struct {
		r    Request
		want []string
	}{
		"cut":                  {Request{Inputs: []Input{fused(t)}, TimeRange: []*int64{&from, &to}}, want},
		"beside another trace": {Request{Inputs: []Input{fused(t), other}}, append(slices.Clone(want), "other")},
	} {
		c.r.Output = filepath.Join(t.TempDir(), "out.json")
		doc := combined(t, 2, c.r)
		if said := strings.Join(doc.Warnings, "; "); !strings.Contains(said, "holds 4 ranks that were merged on clocks of their own") || strings.Contains(said, "share no collective") {
			t.Errorf("%s: warnings %q", name, said)
		}
		if !slices.Equal(doc.Nodes[0].Holds, want) || !strings.Contains(strings.Join(doc.Notes, "; "), "another tool merged") {
			t.Errorf("%s: ranks %v, notes %q", name, doc.Nodes[0].Holds, doc.Notes)
		}
		if doc.Collectives == nil || doc.Collectives.Groups == 0 {
			t.Errorf("%s: collectives are %+v", name, doc.Collectives)
		}
		mark := markOfJSON(t, c.r.Output)
		var ids []string
		for _, n := range mark.Nodes {
			ids = append(ids, n.ID)
			if len(n.Processes) == 0 || n.ID != "other" && (n.Rank == nil || n.BoundNS != nil || len(n.Processes) != 2) {
				t.Errorf("%s: the mark says of %s: processes %v, rank %v, bound %v", name, n.ID, n.Processes, n.Rank, n.BoundNS)
			}
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: the mark speaks of %v, want %v", name, ids, c.want)
		}
		if again := validated(t, []Input{{Path: c.r.Output}}); again.Groups != doc.Collectives.Groups {
			t.Errorf("%s: %d collectives in the output, combine judged %d", name, again.Groups, doc.Collectives.Groups)
		}
	}
	declared := put(t, t.TempDir(), "d.json", []byte(`{"nodes": {"0": {"offset_ns": 0}, "1": {"offset_ns": 1000}}}`))
	_, _, err := Run(job.New(t.Context(), job.Options{}), Request{Inputs: []Input{{ID: "0", Path: fused(t).Path}, {ID: "1", Path: other.Path}}, Declared: declared, Output: filepath.Join(t.TempDir(), "o.json")})
	if !fault.Is(err, fault.Incompatible) {
		t.Errorf("clock data for a merged trace: %v", err)
	}
}

// TestCombiningWhatWasCombinedKeepsTheNamesOfNodes: of files with several nodes, and of one each, beside a trace as recorded.
func TestCombiningWhatWasCombinedKeepsTheNamesOfNodes(t *testing.T) {
	inputs, _, _ := jax(t, "p4")
	for format, output := range outputsOf {
		out := filepath.Join(t.TempDir(), output)
		first := Request{Inputs: inputs[1:3], Output: out, Format: format, Method: MethodWall}
		before := carriedAway(t, out, combined(t, 2, first))
		for to, output := range outputsOf {
			if format == FormatChrome && to != FormatChrome {
				continue
			}
			again := filepath.Join(t.TempDir(), output)
			doc := combined(t, 2, Request{Inputs: append(slices.Clone(before), inputs[3]), Output: again, Format: to, Method: MethodWall})
			var ids []string
			for _, n := range doc.Nodes {
				if n.Holds == nil {
					ids = append(ids, n.ID)
				}
				ids = append(ids, n.Holds...)
			}
			slices.Sort(ids)
			if want := []string{"node1", "node2", "node3"}; !slices.Equal(ids, want) {
				t.Errorf("%s to %s: nodes %v, want %v", format, to, ids, want)
			}
			if !slices.Contains(ids, doc.Reference) || !strings.HasPrefix(doc.Verdict, "3 nodes") {
				t.Errorf("%s to %s: reference %q, %q", format, to, doc.Reference, doc.Verdict)
			}
			if to != FormatChrome {
				continue
			}
			names := map[string]bool{}
			for _, e := range readChrome(t, again).Events {
				if e["name"] == "process_name" {
					names[e["args"].(map[string]any)["name"].(string)] = true
				}
			}
			for _, id := range ids {
				if !names[id+" · /host:CPU"] {
					t.Errorf("%s to %s: no process of %s: %v", format, to, id, names)
				}
			}
		}
	}
}
