package offsets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// truth is the truth.json of a recording: shown = true + offset + drift*(true-anchor) (+ step once true >= step_at). Node 0 shows
// the true time in every recording.
type truth struct {
	Anchor int64 `json:"anchor_true_ns"`
	Nodes  []struct {
		Node   int   `json:"node"`
		Offset int64 `json:"offset_ns"`
		Drift  int64 `json:"drift_ppb"`
		Step   int64 `json:"step_ns"`
		StepAt int64 `json:"step_at_true_ns"`
	} `json:"nodes"`
}

// shown is what a node's clock shows at a true instant.
func (tr *truth) shown(node int, t int64) int64 {
	n := tr.Nodes[node]
	gain := new(big.Int).Mul(big.NewInt(n.Drift), big.NewInt(t-tr.Anchor))
	s := t + n.Offset + gain.Quo(gain, big.NewInt(1e9)).Int64()
	if n.Step != 0 && t >= n.StepAt {
		s += n.Step
	}
	return s
}

type recording struct {
	truth    truth
	stamps   []clockfile.Stamp
	from, to int64 // true instants between which the trace runs
}

func readRecording(t testing.TB, name string) recording {
	t.Helper()
	var r recording
	dir := filepath.Dir(filetest.Data(t, "jax_skew/"+name+"/truth.json"))
	b, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r.truth); err != nil {
		t.Fatal(err)
	}
	for n := range r.truth.Nodes {
		src, err := file.Open(context.Background(), filepath.Join(dir, fmt.Sprintf("probes_node%d.jsonl", n)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := clockfile.Read(context.Background(), src)
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		r.stamps = append(r.stamps, f.Stamps...)
	}
	r.from, r.to = readSpan(t, filepath.Join(dir, "node0.pairs.jsonl"))
	return r
}

// readSpan returns the first and last true instant of a pairs file, which frame the trace.
func readSpan(t testing.TB, path string) (from, to int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var p struct {
			Before int64 `json:"true_before_ns"`
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if from == 0 {
			from = p.Before
		}
		to = p.Before
	}
	return from, to
}

// accuracy is how a solution compares with the truth on a grid of true instants.
type accuracy struct {
	p50, worst  int64 // |error| outside steps, ns
	bound       int64 // median
	worstBound  int64
	outOfBounds int
	inStep      int
	n           int
}

func measure(r recording, s *offsets.Solution, from, to, every int64) accuracy {
	var a accuracy
	var errs, bounds []int64
	for node := 1; node < len(r.truth.Nodes); node++ {
		no, _ := s.Node(node)
		for t := from; t <= to; t += every {
			y, bound, cov := no.Map.At(r.truth.shown(node, t))
			e := max(y-t, t-y)
			a.n++
			if e > bound {
				a.outOfBounds++
			}
			if cov&clock.InStep != 0 {
				a.inStep++
				continue
			}
			errs = append(errs, e)
			bounds = append(bounds, bound)
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i] < errs[j] })
	sort.Slice(bounds, func(i, j int) bool { return bounds[i] < bounds[j] })
	a.p50, a.worst = errs[len(errs)/2], errs[len(errs)-1]
	a.bound, a.worstBound = bounds[len(bounds)/2], bounds[len(bounds)-1]
	return a
}

func (a accuracy) String() string {
	return fmt.Sprintf("error p50 %.2f us, max %.2f us; bound median %.1f us, max %.1f us; outside its bound %d of %d; in a step %d",
		float64(a.p50)/1e3, float64(a.worst)/1e3, float64(a.bound)/1e3, float64(a.worstBound)/1e3, a.outOfBounds, a.n, a.inStep)
}

// TestRecordedProbesGiveTheClocks prints the table of docs/concepts/solving.md (go test -v -run Recorded).
func TestRecordedProbesGiveTheClocks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps int
	}{{"p2", 0}, {"p4", 0}, {"p2_step", 1}} {
		t.Run(tc.name, func(t *testing.T) {
			r := readRecording(t, tc.name)
			s, err := offsets.SolveStamps(context.Background(), r.stamps, offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := measure(r, s, r.from, r.to, 100_000)
			t.Logf("%s: %s", tc.name, a)
			if a.p50 > 1500 || a.worst > 4000 {
				t.Errorf("errors p50 %d ns and max %d ns, want at most 1500 and 4000", a.p50, a.worst)
			}
			if a.outOfBounds > 0 {
				t.Errorf("%d of %d errors exceed their bound", a.outOfBounds, a.n)
			}
			if a.bound > 20_000 {
				t.Errorf("median bound %d ns, want at most 20000", a.bound)
			}
			steps := 0
			for i := range s.Nodes {
				n := &s.Nodes[i]
				steps += len(n.Steps)
				t.Logf("node %d: offset %d ns, drift %.3f ppm, bounds %+v, steps %+v, %q", n.Node, n.OffsetNS, n.DriftPPM, n.Bound, n.Steps, n.Warnings)
			}
			for _, l := range s.Links {
				t.Logf("link %+v", l)
			}
			if len(s.Warnings) > 0 {
				t.Logf("warnings %q", s.Warnings)
			}
			if steps != tc.steps {
				t.Errorf("%d steps found, want %d", steps, tc.steps)
			}
		})
	}
}

// TestTheDocumentedAccuracyIsCurrent compares the table of docs/concepts/solving.md with what the recordings give now.
func TestTheDocumentedAccuracyIsCurrent(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "concepts", "solving.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(string(doc), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 7 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells
		}
	}
	for _, name := range []string{"p2", "p4", "p2_step"} {
		r := readRecording(t, name)
		s, err := offsets.SolveStamps(context.Background(), r.stamps, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := measure(r, s, r.from, r.to, 100_000)
		for i, got := range map[int]float64{2: float64(a.p50) / 1e3, 3: float64(a.worst) / 1e3, 4: float64(a.bound) / 1e3, 5: float64(a.outOfBounds)} {
			if len(rows[name]) == 0 {
				t.Fatalf("the table has no row %s", name)
			}
			var want float64
			if _, err := fmt.Sscan(rows[name][i], &want); err != nil {
				t.Fatal(err)
			}
			if d := got - want; d > 0.06 || d < -0.06 {
				t.Errorf("%s, column %d: the page says %g, it is %.2f", name, i, want, got)
			}
		}
	}
}
