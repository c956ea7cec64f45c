package offsets

import (
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// at makes a row of a node that is so far ahead of the reference at an instant.
func at(node int, midpoint, offset int64) clockfile.Round {
	return clockfile.Round{Node: node, MidpointNS: midpoint, OffsetNS: offset, BoundNS: 5, Reachable: true, Converged: true}
}

func TestTheReferenceIsTheFirstNodeThatIsNeverOff(t *testing.T) {
	rows := []clockfile.Round{at(5, 1e9, 0), at(0, 1e9, 0), at(3, 1e9, 0), at(4, 1e9, 0), at(4, 2e9, 7)}
	for range 20 { // nodes are in a map
		if got := guessReference(&clockfile.Rounds{Rows: rows}, &Options{}); got != 0 {
			t.Fatalf("got node %d, want 0", got)
		}
		if got := guessReference(&clockfile.Rounds{Rows: rows}, &Options{ReferenceSet: true, Reference: 3}); got != 3 {
			t.Fatalf("got node %d, want 3, which was asked for", got)
		}
		if got := guessReference(&clockfile.Rounds{Rows: rows}, &Options{ReferenceSet: true, Reference: 4}); got != 0 {
			t.Fatalf("got node %d, want 0: 4 is off once", got)
		}
	}
	if got := guessReference(&clockfile.Rounds{Rows: []clockfile.Round{at(2, 1e9, 9)}}, &Options{}); got != 0 {
		t.Errorf("got node %d where all are off, want 0", got)
	}
}

func TestANodeWithoutKnotsKeepsNoOtherFromItsMap(t *testing.T) {
	s := &Solution{}
	r := &clockfile.Rounds{
		Meta: []clockfile.NodeMeta{{Node: 1}},
		Rows: []clockfile.Round{at(0, 1e9, 0), at(2, 1e9, 70), at(2, 2e9, 70), at(2, 2e9, 70), {Node: 2, MidpointNS: 3e9}},
	}
	if err := s.exactRounds(r); err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 2 || s.Nodes[0].Node != 0 || s.Nodes[1].Node != 2 {
		t.Fatalf("maps of %+v, want those of nodes 0 and 2", s.Nodes)
	}
	if y, _, _ := s.Nodes[1].Map.At(1_500_000_070); y != 1_500_000_000 {
		t.Errorf("node 2 is mapped to %d, want 70 ns less", y)
	}
	if got := s.Nodes[1].Missed; got != 2 {
		t.Errorf("%d rows are missed, want the repeated and the unreachable one", got)
	}
}

func TestRowsBeyondBeliefAreCountedAndLeftOut(t *testing.T) {
	good, far, lost := at(1, 3e9, 8), at(1, 2e9, 2*maxOffset), at(1, 1e9, 4)
	lost.Converged = false
	for _, rows := range [][]*clockfile.Round{{&far, &lost, &good}, {&good, &far, &lost}, {&lost, &good, &far}} {
		n := &NodeOffsets{}
		got := n.samplesOf(rows, instants{})
		if len(got) != 1 || got[0].at != 3e9 || got[0].offset != 8 || n.Missed != 2 {
			t.Errorf("samples %+v, %d missed; want the good one, and two", got, n.Missed)
		}
	}
}

func TestCellsHoldTheFastestOfBothDirections(t *testing.T) {
	p := newPolygon(0, -1000, 1000, 1, 1)
	cells := make([]cell, 2)
	fillCells(cells, []obs{{0, 9, 1}, {1e8, 7, 1}, {2e8, -5, -1}, {6e8, 3, 1}, {7e8, 4, 1}, {9e8, -2, -1}, {1e9, -8, -1}, {9.5e8, 1, dead}}, p, line{}, 0, 1e9)
	for i, want := range []struct{ up, down float64 }{{7, -5}, {3, -2}} {
		if cells[i].up != want.up || cells[i].down != want.down {
			t.Errorf("cell %d: %g and %g, want %g and %g", i, cells[i].up, cells[i].down, want.up, want.down)
		}
	}
	one := make([]cell, 1)
	fillCells(one, []obs{{0, 9, 1}, {1e9, 3, 1}, {1e9, -8, -1}}, p, line{}, 0, 1e9)
	if one[0].up != 3 || one[0].down != -8 {
		t.Errorf("one cell: %g and %g", one[0].up, one[0].down)
	}
}

func TestDeadObservationsAreOfNoSide(t *testing.T) {
	l := &link{obs: []obs{{0, 0, 1}, {1, 0, dead}, {2, 0, -1}, {3, 0, dead}}}
	for _, tc := range []struct {
		from, to int
		want     bool
	}{{0, 4, true}, {0, 2, false}, {1, 4, false}, {3, 4, false}, {0, 0, false}} {
		if got := l.twoSided(tc.from, tc.to); got != tc.want {
			t.Errorf("observations %d to %d are of both sides: %v", tc.from, tc.to, got)
		}
	}
}

func TestAPartThatCannotBeFittedJoinsTheBreaksBesideIt(t *testing.T) {
	some := []window{{}}
	for name, tc := range map[string]struct {
		parts  [][]window
		breaks []breakIn
		want   []breakIn
	}{
		"in the middle":           {[][]window{some, nil, some}, []breakIn{{kind: breakKink, fromX: 1, toX: 2}, {kind: breakStep, fromX: 3, toX: 4}}, []breakIn{{kind: breakStep, fromX: 1, toX: 4}}},
		"before a gap":            {[][]window{some, nil, some}, []breakIn{{kind: breakStep, fromX: 1, toX: 2}, {kind: breakGap, fromX: 3, toX: 4}}, []breakIn{{kind: breakStep, fromX: 1, toX: 4}}},
		"at the start":            {[][]window{nil, some, some}, []breakIn{{kind: breakStep, toX: 2}, {kind: breakKink, toX: 4}}, []breakIn{{kind: breakKink, toX: 4}}},
		"at the end":              {[][]window{some, some, nil}, []breakIn{{kind: breakStep, toX: 2}, {kind: breakKink, toX: 4}}, []breakIn{{kind: breakStep, toX: 2}}},
		"nothing but that":        {[][]window{nil}, nil, nil},
		"several, one after each": {[][]window{some, nil, nil, some}, []breakIn{{kind: breakGap, fromX: 1, toX: 2}, {kind: breakStep, toX: 4}, {kind: breakGap, toX: 6}}, []breakIn{{kind: breakStep, fromX: 1, toX: 6}}},
	} {
		l := &link{breaks: tc.breaks}
		for _, w := range tc.parts {
			l.parts = append(l.parts, part{windows: w})
		}
		l.dropUnfitted()
		if len(l.breaks) != len(tc.want) {
			t.Errorf("%s: %d breaks, want %d", name, len(l.breaks), len(tc.want))
			continue
		}
		for i, want := range tc.want {
			if l.breaks[i] != want {
				t.Errorf("%s: break %d is %+v, want %+v", name, i, l.breaks[i], want)
			}
		}
	}
}

func TestAJumpIsWhatTheDriftOfItsPlaceDoesNotExplain(t *testing.T) {
	q := &series{x: []float64{0, 10, 30}, v: []float64{0, 55, 56}}
	slopes := []float64{5, 0.05}
	for _, tc := range []struct {
		i, j int
		want float64
	}{{0, 1, 5}, {1, 2, 0}} {
		if got := q.jump(tc.i, tc.j, slopes); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("from %d to %d: %g, want %g", tc.i, tc.j, got, tc.want)
		}
	}
}

func TestScatterIsMeasuredBetweenNeighbours(t *testing.T) {
	q := &series{x: []float64{0, 1, 3}, v: []float64{0, 1, 0}}
	q.measure()
	// The middle one is 1 above the line; errors of the three add up to sqrt(1 + 1/9 + 4/9) times that of one.
	if want := 1.4826 / math.Sqrt(14.0/9) * 5; math.Abs(q.sigma-want) > 1e-9 {
		t.Errorf("scatter %g, want %g", q.sigma, want)
	}
	if got := latencyOf(q); got != q.sigma {
		t.Errorf("a latency of %g, want the scatter %g", got, q.sigma)
	}
	still := &series{x: []float64{0, 1, 2, 3}, v: []float64{0, 5, 10, 15}}
	if got := latencyOf(still); got != 0 {
		t.Errorf("samples of one line: a latency of %g", got)
	}
}

func TestSnapshotsWarnOfRepeatedAndUnorderedReadings(t *testing.T) {
	for name, tc := range map[string]struct {
		pairs     []clock.Pair
		warnings  int
		instants  []int64
		unordered int
	}{
		"clean":     {[]clock.Pair{{X: 1, Y: 5}, {X: 2, Y: 6}, {X: 3, Y: 7}}, 0, []int64{1, 2, 3}, 0},
		"repeated":  {[]clock.Pair{{X: 1, Y: 5}, {X: 1, Y: 4}, {X: 3, Y: 7}}, 1, []int64{1, 3}, 0},
		"unordered": {[]clock.Pair{{X: 3, Y: 7}, {X: 1, Y: 5}, {X: 2, Y: 6}}, 1, []int64{1, 2, 3}, 1},
	} {
		r := &SnapshotReport{}
		got := r.samples(tc.pairs)
		if len(r.Warnings) != tc.warnings || len(got) != len(tc.instants) || r.Unordered != tc.unordered {
			t.Errorf("%s: %d samples, warnings %q, %d out of order", name, len(got), r.Warnings, r.Unordered)
			continue
		}
		for i, x := range tc.instants {
			if got[i].at != x || got[i].offset != 4 {
				t.Errorf("%s: sample %d is %+v, want %d with an offset of 4", name, i, got[i], x)
			}
		}
	}
}

func TestAPieceIsSureInItsMiddle(t *testing.T) {
	p := piece{c: 100, half: 10, mean: 5}
	for x, want := range map[float64]float64{100: 6, 110: 16, 90: 16, 105: 8.5} {
		if got := p.error(x, 5); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %g: %g, want %g", x, got, want)
		}
	}
	if got := (piece{c: 100, mean: 5}).error(300, 5); got != 6 {
		t.Errorf("a piece of one instant: %g, want 6", got)
	}
}

func TestOptionsBeyondReasonAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"window too short": {WindowNS: 1e8 - 1}, "window too long": {WindowNS: 3600e9 + 1}, "gap": {GapNS: 1e6 - 1}, "drift": {MaxDriftPPM: -1},
		"more drift": {MaxDriftPPM: 1e5 + 1}, "no number": {MaxDriftPPM: math.NaN()}, "wander": {WanderPPB: -1}, "more wander": {WanderPPB: 1e6 + 1},
	} {
		if got, err := o.withDefaults(); got != nil || !fault.Is(err, fault.Usage) {
			t.Errorf("%s: got %+v and %v, want that it is refused", name, got, err)
		}
	}
	for _, o := range []Options{{}, {WindowNS: 1e8, GapNS: 1e6, MaxDriftPPM: 1e5, WanderPPB: 1e6}, {WindowNS: 3600e9}} {
		if got, err := o.withDefaults(); err != nil || got.WindowNS == 0 || got.GapNS == 0 || got.MaxDriftPPM == 0 || got.WanderPPB == 0 {
			t.Errorf("%+v: got %+v and %v", o, got, err)
		}
	}
}

func TestOfWindowsOfOneInstantTheOneWithTheMostProbesStays(t *testing.T) {
	d := directed{1, 2}
	for _, first := range []int64{5, 9} {
		g := &windowSet{edges: map[directed][]windowSample{d: {{from: 0, to: 1e9, pairs: first}, {from: 0, to: 1e9, pairs: 14 - first}, {from: 4e9, to: 5e9, pairs: 1}, {from: 6e9, to: 7e9, pairs: 1}}}}
		g.keys = []pairKey{{1, 2}}
		g.sortEdges()
		if w := g.edges[d]; len(w) != 3 || w[0].pairs != 9 || g.dropped != 1 || g.spacing != 3e9 {
			t.Errorf("windows %+v, %d dropped, %d ns apart; want three, the first of 9 probes, one, 3 s", w, g.dropped, g.spacing)
		}
	}
}

func TestWindowsOfTwoDirectionsAreAveragedByTheirProbes(t *testing.T) {
	got := mergeClose([]measured{{0, 100, 8, 30}, {40, 200, 4, 10}, {500, 7, 1, 1}, {601, 9, 1, 1}}, 100)
	want := []measured{{10, 125, 7, 40}, {500, 7, 1, 1}, {601, 9, 1, 1}}
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestThreeSamplesCanShowAStepAndTwoCannot(t *testing.T) {
	q := &series{x: []float64{0, 1e9, 2e9}, v: []float64{0, 0, 1e6}, slack: make([]float64, 3)}
	if got := q.steps(); len(got) == 0 {
		t.Error("no step in three samples of which one is off by 1 ms")
	}
	q = &series{x: q.x[:2], v: []float64{0, 1e6}, slack: q.slack[:2]}
	if got := q.steps(); len(got) != 0 {
		t.Errorf("steps %v in two samples, which may be the drift", got)
	}
}

func TestTwoReadingsHaveTheDriftBetweenThem(t *testing.T) {
	opt, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := &link{Edge: &Edge{}}
	l.fromSeries(&series{x: []float64{0, 1e9}, v: []float64{0, 50}, slack: make([]float64, 2), src: []int{0, 1}}, 1e9, opt)
	if len(l.parts) != 1 || len(l.parts[0].windows) != 2 {
		t.Fatalf("parts %+v, want one of two windows", l.parts)
	}
	for i, w := range l.parts[0].windows {
		if math.Abs(w.fit.s-50) > 1e-9 {
			t.Errorf("window %d drifts by %g ns/s, want 50", i, w.fit.s)
		}
	}
}
