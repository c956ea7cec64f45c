package offsets_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// graphCalc writes rounds of a reference and one node as GraphCalc does: windows of 4 s, each node's own.
func graphCalc(w wall, rounds int, own bool, noise func(k int) float64) *clockfile.Rounds {
	r := &clockfile.Rounds{Reference: -1, Meta: []clockfile.NodeMeta{{Node: 0}, {Node: 1}}}
	ref := wall{}
	for k := range rounds {
		from, to := int64(k)*4e9, int64(k+1)*4e9
		mid := (from + to) / 2
		r.Rows = append(r.Rows, clockfile.Round{RoundID: int64(k), FromNS: ref.at(from), ToNS: ref.at(to), Node: 0, BoundNS: -1, Reachable: true, Converged: true})
		row := clockfile.Round{
			RoundID: int64(k), FromNS: ref.at(from), ToNS: ref.at(to), Node: 1, BoundNS: -1, Reachable: true, Converged: true,
			DriftPPM: float64(w.driftPPB) / 1e3, OffsetNS: w.at(mid) - ref.at(mid) + int64(math.Round(noise(k))),
		}
		if own {
			row.FromNS, row.ToNS = w.at(from), w.at(to)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// roundErrors evaluates node 1 between the first and last midpoint.
func roundErrors(t *testing.T, s *offsets.Solution, w wall, from, to int64) (errs, bounds []int64, inStep, violations int) {
	t.Helper()
	n, ok := s.Node(1)
	if !ok {
		t.Fatal("node 1 is missing")
	}
	for dt := from; dt <= to; dt += 50e6 {
		y, bound, cov := n.Map.At(w.at(dt))
		e := y - (wall{}).at(dt)
		e = max(e, -e)
		if e > bound {
			violations++
		}
		if cov&clock.InStep != 0 {
			inStep++
			continue
		}
		errs, bounds = append(errs, e), append(bounds, bound)
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i] < errs[j] })
	sort.Slice(bounds, func(i, j int) bool { return bounds[i] < bounds[j] })
	return errs, bounds, inStep, violations
}

func fromRounds(t *testing.T, r *clockfile.Rounds) *offsets.Solution {
	t.Helper()
	s, err := offsets.FromRounds(r, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoiseFreeRoundsAreMetToTheNanosecond(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, own := range []bool{false, true} {
		for range 32 {
			w := wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(200_000) - 100_000}
			errs, _, inStep, violations := roundErrors(t, fromRounds(t, graphCalc(w, 30, own, func(int) float64 { return 0 })), w, 2e9, 118e9)
			if worst := errs[len(errs)-1]; worst > 2 || inStep > 0 || violations > 0 {
				t.Fatalf("own windows %v, %+v: largest error %d ns, %d in steps, %d beyond their bound", own, w, worst, inStep, violations)
			}
		}
	}
}

func TestOwnWindowsAreDistinguishedFromTheReferences(t *testing.T) {
	w := wall{offset: 37e6, driftPPB: 50_000}
	none := func(int) float64 { return 0 }
	if s := fromRounds(t, graphCalc(w, 10, true, none)); !strings.Contains(strings.Join(s.Warnings, "\n"), "each node's own") {
		t.Errorf("warnings %q do not say that the windows are each node's own", s.Warnings)
	}
	if s := fromRounds(t, graphCalc(w, 10, false, none)); strings.Contains(strings.Join(s.Warnings, "\n"), "each node's own") {
		t.Errorf("warnings %q take the reference's windows for the node's own", s.Warnings)
	}
	alone := graphCalc(w, 10, true, none) // the reference's rows are lost
	kept := alone.Rows[:0]
	for _, row := range alone.Rows {
		if row.Node == 1 {
			kept = append(kept, row)
		}
	}
	alone.Rows = kept
	s := fromRounds(t, alone)
	errs, _, _, violations := roundErrors(t, s, w, 2e9, 38e9)
	if errs[len(errs)-1] > 5 || violations > 0 {
		t.Errorf("without the reference's rows: errors up to %d ns, %d beyond their bound", errs[len(errs)-1], violations)
	}
}

func TestNoisyRoundsWithOutliers(t *testing.T) {
	var all, bounds []int64
	violations := 0
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		w := wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(60_000) - 30_000}
		s := fromRounds(t, graphCalc(w, 150, true, func(int) float64 {
			if r.Intn(50) == 0 {
				return 100_000
			}
			return r.NormFloat64() * 500
		}))
		n, _ := s.Node(1)
		if len(n.Steps) > 0 {
			t.Errorf("seed %d: false alarm %+v", seed, n.Steps)
		}
		e, b, _, v := roundErrors(t, s, w, 10e9, 590e9)
		all, bounds, violations = append(all, e...), append(bounds, b...), violations+v
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	sort.Slice(bounds, func(i, j int) bool { return bounds[i] < bounds[j] })
	n := len(all)
	t.Logf("errors p50 %d p99 %d ns, median bound %d ns, beyond their bound %d of %d", all[n/2], all[n*99/100], bounds[n/2], violations, n)
	if all[n/2] > 500 || all[n*99/100] > 2000 || violations*100 > n || bounds[n/2] > 4*all[n*99/100] {
		t.Errorf("errors p50 %d p99 %d ns, median bound %d ns, %d of %d beyond their bound", all[n/2], all[n*99/100], bounds[n/2], violations, n)
	}
}

func TestRoundsThatAreOutliersAreCounted(t *testing.T) {
	s := fromRounds(t, graphCalc(wall{offset: 5e6, driftPPB: 20_000}, 150, true, func(k int) float64 {
		if k == 20 || k == 70 || k == 71 {
			return 100_000
		}
		return 0
	}))
	n, _ := s.Node(1)
	if n.Missed != 3 || n.Windows != 147 || !slices.Contains(n.Warnings, "3 of 150 samples are outliers and not used") {
		t.Errorf("%d missed, %d used, warnings %q; want 3, 147 and a warning of 3", n.Missed, n.Windows, n.Warnings)
	}
}

func TestStepsBetweenRoundsAreMarked(t *testing.T) {
	for _, by := range []int64{1e6, -1e6, 100e6, -100e6, 1e9, -1e9} {
		r := rand.New(rand.NewSource(by))
		w := wall{driftPPB: 12_000, steps: []jump{{301e9, by}}}
		s := fromRounds(t, graphCalc(w, 150, false, func(int) float64 { return r.NormFloat64() * 500 }))
		n, _ := s.Node(1)
		if len(n.Steps) != 1 {
			t.Errorf("step of %d ns: %d found", by, len(n.Steps))
			continue
		}
		if d := math.Abs(float64(n.Steps[0].JumpNS - by)); d > 10_000+20e-6*math.Abs(float64(by)) {
			t.Errorf("step of %d ns measured as %d", by, n.Steps[0].JumpNS)
		}
		errs, _, _, violations := roundErrors(t, s, w, 2e9, 598e9)
		if errs[len(errs)-1] > 4000 || violations*100 > len(errs) {
			t.Errorf("step of %d ns: errors up to %d ns outside it, %d beyond their bound", by, errs[len(errs)-1], violations)
		}
	}
}

func TestSlewsBetweenRoundsStayInsideTheBound(t *testing.T) {
	for _, sl := range []slew{{200e9, 210e9, 500_000}, {203e9, 303e9, 500_000}, {203e9, 303e9, -500_000}, {0, 600e9, 11_574}} {
		r := rand.New(rand.NewSource(sl.to))
		w := wall{driftPPB: 12_000, slews: []slew{sl}}
		s := fromRounds(t, graphCalc(w, 150, false, func(int) float64 { return r.NormFloat64() * 500 }))
		errs, _, inStep, violations := roundErrors(t, s, w, 10e9, 590e9)
		if violations*100 > len(errs) {
			t.Errorf("slew %+v: errors p99 %d, max %d ns, %d of %d beyond their bound, %d in steps", sl, errs[len(errs)*99/100], errs[len(errs)-1], violations, len(errs), inStep)
		}
	}
}

func TestMissingAndUnusableRounds(t *testing.T) {
	w := wall{offset: 37e6, driftPPB: 50_000}
	full := func() *clockfile.Rounds { return graphCalc(w, 30, true, func(int) float64 { return 0 }) }
	node1 := func(r *clockfile.Rounds, change func(k int, row *clockfile.Round)) *clockfile.Rounds {
		for i := range r.Rows {
			if r.Rows[i].Node == 1 {
				change(int(r.Rows[i].RoundID), &r.Rows[i])
			}
		}
		return r
	}
	t.Run("unreachable and not converged rows are never used", func(t *testing.T) {
		s := fromRounds(t, node1(full(), func(k int, row *clockfile.Round) {
			if k%3 == 0 {
				row.Reachable, row.OffsetNS = k%2 == 0, 0
				row.Converged = k%2 != 0
			}
		}))
		n, _ := s.Node(1)
		if n.Windows != 20 || n.Missed != 10 || len(n.Warnings) == 0 {
			t.Errorf("%d used, %d missed, warnings %q; want 20, 10 and a warning", n.Windows, n.Missed, n.Warnings)
		}
		if errs, _, _, _ := roundErrors(t, s, w, 6e9, 114e9); errs[len(errs)-1] > 2 {
			t.Errorf("errors up to %d ns", errs[len(errs)-1])
		}
	})
	t.Run("only unreachable rows", func(t *testing.T) {
		s := fromRounds(t, node1(full(), func(_ int, row *clockfile.Round) { row.Reachable, row.OffsetNS = false, 0 }))
		if _, ok := s.Node(1); ok || len(s.Missing) != 1 || len(s.Warnings) == 0 {
			t.Errorf("missing %v, warnings %q; want node 1 missing, never an offset of 0", s.Missing, s.Warnings)
		}
	})
	t.Run("a node known from the header only", func(t *testing.T) {
		r := full()
		r.Meta = append(r.Meta, clockfile.NodeMeta{Node: 5})
		if s := fromRounds(t, r); len(s.Missing) != 1 || s.Missing[0] != 5 {
			t.Errorf("missing %v, want [5]", s.Missing)
		}
	})
	t.Run("one round", func(t *testing.T) {
		s := fromRounds(t, node1(full(), func(k int, row *clockfile.Round) { row.Reachable = k == 3 }))
		n, _ := s.Node(1)
		y, b0, _ := n.Map.At(w.at(14e9))
		_, b1, cov := n.Map.At(w.at(24e9))
		if d := y - (wall{}).at(14e9); d > 1 || d < -1 || b0 < 50_000 || b1 < b0+900_000 || cov&clock.Extrapolated == 0 {
			t.Errorf("off by %d ns, bounds %d and %d ten seconds later, coverage %d", d, b0, b1, cov)
		}
		if d := n.Map; d != nil { // the stated drift carries on
			if y, _, _ := d.At(w.at(114e9)); y-(wall{}).at(114e9) > 10 || y-(wall{}).at(114e9) < -10 {
				t.Errorf("100 s later off by %d ns", y-(wall{}).at(114e9))
			}
		}
	})
	t.Run("a gap of a minute", func(t *testing.T) {
		s := fromRounds(t, node1(full(), func(k int, row *clockfile.Round) { row.Reachable = k < 8 || k > 22 }))
		n, _ := s.Node(1)
		_, near, _ := n.Map.At(w.at(10e9))
		y, far, cov := n.Map.At(w.at(60e9))
		if d := y - (wall{}).at(60e9); d > 2 || d < -2 || far <= near+1000 || cov != 0 {
			t.Errorf("in the gap off by %d ns, bound %d (outside it %d), coverage %d", d, far, near, cov)
		}
	})
	t.Run("out of order and repeated", func(t *testing.T) {
		r := full()
		r.Rows = append(r.Rows, r.Rows[7], r.Rows[9])
		rand.New(rand.NewSource(3)).Shuffle(len(r.Rows), func(i, j int) { r.Rows[i], r.Rows[j] = r.Rows[j], r.Rows[i] })
		s := fromRounds(t, r)
		n, _ := s.Node(1)
		if n.Windows != 30 || n.Missed != 2 {
			t.Errorf("%d used and %d missed, want 30 and 2", n.Windows, n.Missed)
		}
		sameMaps(t, fromRounds(t, full()), s)
	})
	t.Run("six digits widen the bound", func(t *testing.T) {
		big := wall{offset: 999_999_900, driftPPB: 50_000}
		r := node1(graphCalc(big, 30, true, func(int) float64 { return 0 }), func(_ int, row *clockfile.Round) {
			var f float64
			fmt.Sscan(fmt.Sprintf("%.6g", float64(row.OffsetNS)), &f)
			row.OffsetNS, row.QuantumNS = int64(f), 5000
		})
		_, _, _, violations := roundErrors(t, fromRounds(t, r), big, 2e9, 118e9)
		if violations > 0 {
			t.Errorf("%d errors exceed their bound", violations)
		}
	})
}

func TestTheDocumentsExampleHoldsInBothReadingsOfTheSign(t *testing.T) {
	// O > 0: the node is ahead of the reference (section 3); M_j = M_0 + O; the correction subtracts, against section 4.2's plus
	f := read(t, "round_offsets.jsonl", `{"round_id":1,"midpoint_sys_ns":1760000002000000000,"node_id":0,"offset_ns":0}
{"round_id":1,"midpoint_sys_ns":1760000002000000000,"node_id":1,"offset_ns":5000}
{"round_id":2,"midpoint_sys_ns":1760000006000000000,"node_id":0,"offset_ns":0}
{"round_id":2,"midpoint_sys_ns":1760000006000000000,"node_id":1,"offset_ns":9000}
`)
	n, _ := fromRounds(t, f.Rounds).Node(1)
	for _, tc := range []struct{ x, y int64 }{
		{1760000002000005000, 1760000002000000000},
		{1760000004000007000, 1760000004000000000}, // halfway: 7 us ahead
		{1760000006000009000, 1760000006000000000},
	} {
		if y, _, cov := n.Map.At(tc.x); y != tc.y || cov&^clock.Extrapolated != 0 {
			t.Errorf("At(%d) = %d, want %d", tc.x, y, tc.y)
		}
	}
}

func TestAnotherReferenceIsAComposition(t *testing.T) {
	w := wall{offset: 37e6, driftPPB: 50_000}
	r := graphCalc(w, 30, false, func(int) float64 { return 0 })
	s, err := offsets.FromRounds(r, offsets.Options{Reference: 1, ReferenceSet: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.Reference != 1 {
		t.Fatalf("reference %d, want 1", s.Reference)
	}
	n, _ := s.Node(0)
	for dt := int64(3e9); dt < 110e9; dt += 7e9 {
		if y, _, _ := n.Map.At((wall{}).at(dt)); y-w.at(dt) > 2 || y-w.at(dt) < -2 {
			t.Errorf("node 0 on node 1's clock is off by %d ns", y-w.at(dt))
		}
	}
	if n.OffsetNS > -37e6 {
		t.Errorf("offset %d, want about -37 ms: the old reference is behind", n.OffsetNS)
	}
}

// TestFewRoundsHaveTheBoundThatTheFileStates: in its rows or, where whoever measured knows it, in the header for all of them.
func TestFewRoundsHaveTheBoundThatTheFileStates(t *testing.T) {
	const header, nodes = `{"meta":true,"nodes":[{"node_id":0},{"node_id":1}]%s}` + "\n", `{"round_id":1,"midpoint_sys_ns":1760000002000000000,"node_id":0,"offset_ns":0}
{"round_id":1,"midpoint_sys_ns":1760000002000000000,"node_id":1,"offset_ns":5000%s}
{"round_id":2,"midpoint_sys_ns":1760000006000000000,"node_id":1,"offset_ns":9000%s}
`
	for _, tc := range []struct {
		name, header, first, second string
		given                       int64
		bounds                      [2]int64
		says                        string // in the warning, "" none
	}{
		{"nowhere", "", "", "", 0, [2]int64{50_000, 50_000}, "--round-bound-ns says better"},
		{"in the rows", "", `,"bound_ns":300`, `,"bound_ns":400`, 0, [2]int64{300, 400}, ""},
		{"in the header", `,"bound_ns":2000`, "", "", 0, [2]int64{2000, 2000}, ""},
		{"in both", `,"bound_ns":2000`, `,"bound_ns":300`, "", 0, [2]int64{300, 2000}, ""},
		{"in one row", "", `,"bound_ns":300`, "", 0, [2]int64{300, 50_000}, "(50 us where there are fewer than 5"},
		{"by the user", "", "", "", 700, [2]int64{700, 700}, "(700 ns, as given, where there are fewer than 5)"},
		{"by the user and in one row", "", `,"bound_ns":300`, "", 700, [2]int64{300, 700}, "700 ns, as given"},
		{"by the user and in the header", `,"bound_ns":2000`, "", "", 700, [2]int64{2000, 2000}, ""},
	} {
		f := read(t, "round_offsets.jsonl", fmt.Sprintf(header, tc.header)+fmt.Sprintf(nodes, tc.first, tc.second))
		s, err := offsets.FromRounds(f.Rounds, offsets.Options{RoundBoundNS: tc.given})
		if err != nil {
			t.Fatal(err)
		}
		n, _ := s.Node(1)
		_, a, _ := n.Map.At(1760000002000005000)
		_, b, _ := n.Map.At(1760000006000009000)
		if got := [2]int64{a, b}; got != tc.bounds {
			t.Errorf("%s: bounds %v, want %v", tc.name, got, tc.bounds)
		}
		if said := strings.Join(s.Warnings, "; "); (said == "") != (tc.says == "") || !strings.Contains(said, tc.says) {
			t.Errorf("%s: warnings %q, want %q", tc.name, s.Warnings, tc.says)
		}
	}
}
