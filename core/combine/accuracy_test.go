package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// truth is truth.json of a recording: shown = true + offset + drift*(true-anchor) (+ step once true >= step_at).
type truth struct {
	Anchor int64 `json:"anchor_true_ns"`
	Nodes  []struct {
		Offset int64 `json:"offset_ns"`
		Drift  int64 `json:"drift_ppb"`
		Step   int64 `json:"step_ns"`
		StepAt int64 `json:"step_at_true_ns"`
	} `json:"nodes"`
}

func readTruth(t *testing.T, path string) *truth {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tr truth
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	return &tr
}

// trueNS returns the true instant at which node k's clock showed shown.
func (tr *truth) trueNS(k int, shown int64) int64 {
	n := tr.Nodes[k]
	inv := func(x int64) int64 {
		d := x - n.Offset - tr.Anchor
		return tr.Anchor + d - int64(float64(d)*float64(n.Drift)/(1e9+float64(n.Drift)))
	}
	if n.Step != 0 {
		if s := inv(shown - n.Step); s >= n.StepAt {
			return s
		}
	}
	return inv(shown)
}

// instant is an event's absolute start and end, rounded down to ns, and the picoseconds that this leaves.
type instant struct {
	start, end     int64
	startPS, endPS int64
}

// instants returns the absolute start and end (ns) of every timed event of a file, in stored order; startNS is what its times
// count from.
func instants(t *testing.T, path string, startNS int64) []instant {
	t.Helper()
	ctx := context.Background()
	src, err := file.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if startNS == 0 {
		startNS = s.ProfileStartNS
	}
	var out []instant
	err = xspace.Events(ctx, src, s, nil, func(_ *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
		if !e.Aggregated && l.Name != "_counters_" { // curves of prlx
			base := startNS + l.TimestampNS
			a, b := e.OffsetPS, e.OffsetPS+e.DurationPS
			out = append(out, instant{base + a/1000, base + b/1000, a % 1000, b % 1000})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func jax(t *testing.T, set string) (inputs []Input, probes []string, tr *truth) {
	t.Helper()
	tr = readTruth(t, filetest.Data(t, "jax_skew/"+set+"/truth.json"))
	for k := range tr.Nodes {
		inputs = append(inputs, Input{Path: filetest.Data(t, fmt.Sprintf("jax_skew/%s/node%d.xplane.pb", set, k))})
		probes = append(probes, filetest.Data(t, fmt.Sprintf("jax_skew/%s/probes_node%d.jsonl", set, k)))
	}
	return inputs, probes, tr
}

// TestRealClocksFromRawProbes is the accuracy of the whole way: raw probes in, every event of the output against the truth.
func TestRealClocksFromRawProbes(t *testing.T) {
	for _, tc := range []struct {
		set      string
		p50, max int64 // ns; 0: no demand
		before   int   // violated groups of 240
	}{
		{"p2", 1500, 4000, 240}, {"p4", 1500, 4000, 238}, {"p2_step", 0, 0, 87},
	} {
		t.Run(tc.set, func(t *testing.T) {
			inputs, probes, tr := jax(t, tc.set)
			out := filepath.Join(t.TempDir(), "out")
			doc, evidence, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Probes: probes, Output: out})
			if err != nil {
				t.Fatal(err)
			}
			inStep := 0
			for k, n := range doc.Nodes {
				raw, got := instants(t, inputs[k].Path, 0), instants(t, filepath.Join(out, doc.Outputs[k].Path), doc.ZeroNS)
				if len(raw) != len(got) {
					t.Fatalf("node %d: %d events became %d", k, len(raw), len(got))
				}
				var errs []int64
				for i := range raw {
					for _, p := range [][2]int64{{raw[i].start, got[i].start}, {raw[i].end, got[i].end}} {
						_, bound, _ := evidence.Nodes[k].Wall.At(p[0])
						if e := p[1] - tr.trueNS(k, p[0]); max(e, -e) > bound+2 { // both sides are rounded to ns
							t.Fatalf("node %d, event %d: error %d ns, bound %d ns", k, i, e, bound)
						}
					}
					stepped := false
					for _, s := range n.Steps {
						stepped = stepped || raw[i].start >= s.FromNS && raw[i].start <= s.ToNS || raw[i].end >= s.FromNS && raw[i].end <= s.ToNS
					}
					if stepped {
						inStep++
						continue
					}
					for _, p := range [][2]int64{{raw[i].start, got[i].start}, {raw[i].end, got[i].end}} {
						e := p[1] - tr.trueNS(k, p[0])
						errs = append(errs, max(e, -e))
					}
				}
				slices.Sort(errs)
				p50, worst := errs[len(errs)/2], errs[len(errs)-1]
				t.Logf("%s node %d: error p50 %d ns, max %d ns; bound p50 %d, p99 %d, max %d; steps %v", tc.set, k, p50, worst, n.BoundNS.P50, n.BoundNS.P99, n.BoundNS.Max, n.Steps)
				if worst > n.BoundNS.Max+2 {
					t.Errorf("node %d: error %d ns exceeds the largest stated bound %d ns", k, worst, n.BoundNS.Max)
				}
				if tc.p50 > 0 && (p50 > tc.p50 || worst > tc.max) {
					t.Errorf("node %d: error p50 %d ns, max %d ns; want at most %d and %d", k, p50, worst, tc.p50, tc.max)
				}
				if n.BoundNS.P50 > 20_000 {
					t.Errorf("node %d: median bound %d ns, want at most 20 us", k, n.BoundNS.P50)
				}
				if n.EventsClamped != 0 {
					t.Errorf("node %d: %d events clamped", k, n.EventsClamped)
				}
			}
			if strings.HasSuffix(tc.set, "step") != (len(doc.Nodes[1].Steps) == 1) {
				t.Errorf("steps found: %v", doc.Nodes[1].Steps)
			}
			if doc.Collectives == nil || doc.Collectives.Before.Violated != tc.before || doc.Collectives.After.Violated != 0 {
				t.Errorf("collectives %+v, want %d violated before and 0 after", doc.Collectives, tc.before)
			}
		})
	}
}

// TestNoEventIsBeyondItsBoundWhereAClockStepped: five real clocks of which one steps back by 0.8 ms, which fits between what the collectives
// allow. Neither its own events nor those of the others may be beyond their bounds, with probes or without.
func TestNoEventIsBeyondItsBoundWhereAClockStepped(t *testing.T) {
	for _, method := range []string{methodCollectives, "auto"} {
		t.Run(method, func(t *testing.T) {
			inputs, probes, tr := jax(t, "p5_step")
			req := Request{Inputs: inputs, Method: method, Output: filepath.Join(t.TempDir(), "out")}
			if method == "auto" {
				req.Probes = probes
			}
			doc, evidence, err := Run(job.New(context.Background(), job.Options{}), req)
			if err != nil {
				t.Fatal(err)
			}
			for k, n := range doc.Nodes {
				raw, got := instants(t, inputs[k].Path, 0), instants(t, filepath.Join(req.Output, doc.Outputs[k].Path), doc.ZeroNS)
				beyond, worst := 0, int64(0)
				for i := range raw {
					_, bound, _ := evidence.Nodes[k].Wall.At(raw[i].start)
					e := got[i].start - tr.trueNS(k, raw[i].start)
					if worst = max(worst, e, -e); max(e, -e) > bound+2 {
						beyond++
					}
				}
				t.Logf("node %d: largest error %d ns, bounds %+v", k, worst, n.BoundNS)
				if beyond > 0 {
					t.Errorf("node %d: %d of %d events are beyond their bound", k, beyond, len(raw))
				}
				for _, r := range n.RestsOn {
					if method == "auto" && r.Narrows && r.Source == methodCollectives {
						t.Errorf("node %d: collectives contradict the probes of other nodes, and narrow this one", k)
					}
				}
			}
			if method == "auto" && doc.Status != StatusDegraded {
				t.Errorf("status %s, where two sources contradict each other", doc.Status)
			}
		})
	}
}
