package collective

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// xspacePart extracts the collectives of one file as node n.
func xspacePart(t testing.TB, path string, n int32, limit int) *Part {
	t.Helper()
	ctx := context.Background()
	src, err := file.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	space, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := FromCompiled(ctx, src, space, Options{Node: n, StartNS: space.ProfileStartNS, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func mustMatch(t testing.TB, parts ...*Part) *Matched {
	t.Helper()
	m, err := Match(context.Background(), Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustCheck(t testing.TB, m *Matched, c Clock, worst int) *Verdict {
	t.Helper()
	v, err := Check(context.Background(), m, c, worst)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// trueClock is the exact inverse of the clock errors of a jax_skew set: shown = true + offset + drift*(true-anchor) [+ step].
type trueClock struct {
	Anchor int64 `json:"anchor_true_ns"`
	Nodes  []struct {
		Node     int   `json:"node"`
		Offset   int64 `json:"offset_ns"`
		DriftPPB int64 `json:"drift_ppb"`
		Step     int64 `json:"step_ns"`
		StepAt   int64 `json:"step_at_true_ns"`
	} `json:"nodes"`
}

func readTruth(t testing.TB, set string) *trueClock {
	t.Helper()
	b, err := os.ReadFile(filetest.Data(t, "jax_skew/"+set+"/truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c trueClock
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func (c *trueClock) at(s *event.Span, ns int64) (int64, int64) {
	n := c.Nodes[s.Node]
	inverse := func(shown int64) int64 {
		d := big.NewInt(shown - n.Offset - c.Anchor)
		d.Mul(d, big.NewInt(1_000_000_000))
		d.Quo(d, big.NewInt(1_000_000_000+n.DriftPPB))
		return c.Anchor + d.Int64()
	}
	if n.Step != 0 {
		if after := inverse(ns - n.Step); after >= n.StepAt {
			return after, 0
		}
	}
	return inverse(ns), 0
}

func skewed(t testing.TB, set string, nodes int) *Matched {
	t.Helper()
	var parts []*Part
	for k := range nodes {
		parts = append(parts, xspacePart(t, filetest.Data(t, fmt.Sprintf("jax_skew/%s/node%d.xplane.pb", set, k)), int32(k), 0))
	}
	return mustMatch(t, parts...)
}

func TestRealSkewedClocksShowAndTheTruthClearsThem(t *testing.T) {
	for _, c := range []struct {
		set             string
		nodes, violated int
		worstNS         int64 // as data/jax_skew/README.md says, to 10 us
	}{
		{"p2", 2, 240, -37_930_000},
		{"p4", 4, 238, -43_580_000},
		{"p2_step", 2, 87, -1_570_000},
	} {
		t.Run(c.set, func(t *testing.T) {
			m := skewed(t, c.set, c.nodes)
			raw := mustCheck(t, m, nil, 3)
			if raw.Groups != 240 || raw.Violated != c.violated || raw.Consistent != 240-c.violated || raw.Undecidable != 0 {
				t.Errorf("raw clocks: %+v, want %d of 240 violated", raw.Counts, c.violated)
			}
			if len(raw.Worst) != 3 || raw.Worst[0].GapNS/10_000 != c.worstNS/10_000 {
				t.Errorf("worst %+v, want %d", raw.Worst, c.worstNS)
			}
			for k := event.Unknown; k <= event.SendRecv; k++ {
				want := 0
				if slices.Contains([]event.Kind{event.AllReduce, event.AllGather, event.ReduceScatter, event.Permute}, k) {
					want = 60
				}
				if got := raw.ByKind[k].Groups; got != want {
					t.Errorf("%v: %d groups, want %d", k, got, want)
				}
			}
			if raw.ByHow[byRun] != 240 || raw.Incomplete != 0 || raw.Guessed != 0 || m.UnmatchedCount() != 0 || m.Part.Unknown != 0 {
				t.Errorf("matched by %v, %d incomplete, %d guessed, unmatched %v", raw.ByHow, raw.Incomplete, raw.Guessed, m.Unmatched)
			}
			truth := mustCheck(t, m, readTruth(t, c.set).at, 3)
			if truth.Violated != 0 || truth.Undecidable != 0 || truth.Consistent != 240 || len(truth.Worst) != 0 {
				t.Errorf("true clocks: %+v %+v, want none violated", truth.Counts, truth.Worst)
			}
			if truth.MinGapNS < 50_000 || truth.MinGapNS > 100_000 {
				t.Errorf("smallest slack on true clocks %d ns, want the 54 to 68 us that the recordings have", truth.MinGapNS)
			}
			t.Logf("%s: raw %+v worst %d ns; true: slack min %d median %d ns", c.set, raw.Counts, raw.Worst[0].GapNS, truth.MinGapNS, truth.MedianNS)
		})
	}
}
