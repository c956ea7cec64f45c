package offsets_test

import (
	"context"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// shows is what each clock of a test shows, dt ns after the start.
type shows map[offsets.Clock]func(dt int64) int64

// check compares the maps of a solution with the truth over [from, to], and returns the largest bound of each clock.
func (c shows) check(t *testing.T, s *offsets.Solution, reference offsets.Clock, from, to int64) map[offsets.Clock]int64 {
	t.Helper()
	maps := map[offsets.Clock]*clock.Map{}
	for i := range s.Nodes {
		maps[offsets.Clock{Node: s.Nodes[i].Node}] = s.Nodes[i].Map
	}
	for i := range s.Others {
		maps[s.Others[i].Clock] = s.Others[i].Map
	}
	bounds := map[offsets.Clock]int64{}
	for k, at := range c {
		if k == reference {
			continue
		}
		m, ok := maps[k]
		if !ok {
			t.Errorf("%s has no map", k)
			continue
		}
		for dt := from; dt <= to; dt += (to - from) / 200 {
			y, bound, cov := m.At(at(dt))
			if e := y - c[reference](dt); e > bound || -e > bound {
				t.Errorf("%s at %d: off by %d ns, bound %d", k, dt, e, bound)
				return nil
			}
			if cov&clock.InStep == 0 {
				bounds[k] = max(bounds[k], bound)
			}
		}
	}
	return bounds
}

var (
	host0   = offsets.Clock{}
	host1   = offsets.Clock{Node: 1}
	host2   = offsets.Clock{Node: 2}
	host3   = offsets.Clock{Node: 3}
	tracer1 = offsets.Clock{Node: 1, Kind: offsets.Tracer}
	tracer2 = offsets.Clock{Node: 2, Kind: offsets.Tracer}
	device1 = offsets.Clock{Node: 1, Kind: offsets.Device, Number: 3}
)

// several is a job of four hosts, two tracers and a device, each pair of clocks measured by what fits: stamps between hosts 0 and 1,
// rounds of hosts 2 and 3 against 0, snapshots of the tracers, launches and waits of the device.
func several(seed int64) (shows, *offsets.Graph) {
	r := rand.New(rand.NewSource(seed))
	hosts := make([]wall, 4)
	for i := 1; i < len(hosts); i++ {
		hosts[i] = wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(100_000) - 50_000}
	}
	c := shows{
		host0: hosts[0].at, host1: hosts[1].at, host2: hosts[2].at, host3: hosts[3].at,
		tracer1: func(dt int64) int64 { return tracer(dt, 20_000) }, tracer2: func(dt int64) int64 { return tracer(dt, -7_000) },
		device1: func(dt int64) int64 { return hosts[1].at(dt) + 250_000 + mulPPB(dt, 4_000) },
	}
	g := offsets.NewGraph()
	g.AddStamps(probing{clocks: hosts[:2], length: 30e9, every: 10e6, delay: busy(r)}.stamps())
	rounds := graphCalc(hosts[2], 9, false, func(int) float64 { return r.NormFloat64() * 100 })
	for _, row := range graphCalc(hosts[3], 9, false, func(int) float64 { return r.NormFloat64() * 100 }).Rows {
		if row.Node == 1 {
			row.Node = 3
			rounds.Rows = append(rounds.Rows, row)
		}
	}
	for i := range rounds.Rows {
		if rounds.Rows[i].Node == 1 {
			rounds.Rows[i].Node = 2
		}
	}
	g.AddRounds(rounds, 0)
	for node, drift := range []int64{1: 20_000, 2: -7_000} { // in order: they draw from one generator
		if drift == 0 {
			continue
		}
		g.AddSnapshots(node, snapshotsOf(hosts[node], drift, 34e9, 500e6, func() int64 { return latency(r) }))
	}
	e := g.Between(device1, host1, offsets.Stamps)
	for dt := int64(0); dt < 30e9; dt += 5e6 {
		begun := dt + 3_000 + int64(r.ExpFloat64()*20_000)
		ended := begun + 100_000
		e.Before(host1, c[host1](dt), c[device1](begun))
		e.Before(device1, c[device1](ended), c[host1](ended+4_000+int64(r.ExpFloat64()*30_000)))
	}
	return c, g
}

// TestAGraphTakesEverySourceAtOnce: clocks that different sources relate are solved together, whichever of them is the reference.
func TestAGraphTakesEverySourceAtOnce(t *testing.T) {
	for _, reference := range []offsets.Clock{host0, host1, host3, tracer2, device1} {
		c, g := several(5)
		s, err := g.Solve(context.Background(), reference, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Method != "graph" || len(s.Missing) > 0 || len(s.Nodes)+len(s.Others) < len(c)-1 {
			t.Errorf("to %s: %s, missing %v, %d hosts and %d others", reference, s.Method, s.Missing, len(s.Nodes), len(s.Others))
		}
		for k, bound := range c.check(t, s, reference, 2e9, 29e9) {
			if bound > 60_000 {
				t.Errorf("to %s: %s ±%d ns", reference, k, bound)
			}
		}
	}
}

// TestAnotherReferenceTakesAllClocksAlong: not only those of hosts.
func TestAnotherReferenceTakesAllClocksAlong(t *testing.T) {
	c, g := several(7)
	s, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.Rebase(1)
	if err != nil || moved.Reference != 1 || len(moved.Nodes) != 4 || len(moved.Others) != 3 {
		t.Fatalf("%v: %+v", err, moved)
	}
	c.check(t, moved, host1, 2e9, 29e9)
	c.check(t, s, host0, 2e9, 29e9) // and leaves what was there as it was
}

// TestClocksHungOnTheGraphAreComposed: what snapshots say of a tracer stays as it is, and goes through the map of its host.
func TestClocksHungOnTheGraphAreComposed(t *testing.T) {
	_, g := several(2)
	s, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(2))
	alone := offsets.NewGraph()
	pairs := snapshotsOf(wall{offset: 5}, 20_000, 34e9, 500e6, func() int64 { return latency(r) })
	report := alone.AddSnapshots(1, append(pairs, pairs[0]))
	if report.Duplicates != 1 {
		t.Errorf("duplicates %d, want 1", report.Duplicates)
	}
	own, want, err := offsets.FromSnapshots(append(pairs, pairs[0]), offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := alone.Solve(context.Background(), host1, offsets.Options{})
	if err != nil || len(got.Others) != 1 || got.Method != "snapshots" {
		t.Fatalf("%v: %+v", err, got)
	}
	if o := got.Others[0]; o.Clock != tracer1 || !reflect.DeepEqual(o.Map, own) || !reflect.DeepEqual(o.Snapshots, want) {
		t.Errorf("%+v, of the pairs alone %+v", o, want)
	}
	host, _ := s.Node(1)
	i := slices.IndexFunc(s.Others, func(o offsets.ClockOffsets) bool { return o.Clock == tracer1 })
	if o := s.Others[i]; o.Snapshots == nil || o.Bound.Max < host.Bound.P50 || math.Abs(o.DriftPPM-host.DriftPPM-o.Snapshots.DriftPPM) > 0.001 || math.Abs(host.DriftPPM) < 1 {
		t.Errorf("the tracer of node 1: ±%+v on a host of ±%+v", o.Bound, host.Bound)
	}
	stepped := offsets.NewGraph()
	stepped.AddSnapshots(1, snapshotsOf(wall{steps: []jump{{15e9, 2e6}}}, 0, 30e9, 500e6, func() int64 { return 0 }))
	back, err := stepped.Solve(context.Background(), host1, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o := back.Others[0]; len(o.Steps) != 1 || len(o.Snapshots.Steps) != 1 || o.Steps[0].JumpNS != -o.Snapshots.Steps[0].JumpNS || o.Snapshots.Steps[0].JumpNS < 1e6 {
		t.Errorf("steps of the tracer %+v, of the wall clock %+v", o.Steps, o.Snapshots.Steps)
	}
	inverse, err := alone.Solve(context.Background(), tracer1, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := inverse.Node(1)
	for dt := int64(0); dt < 30e9; dt += 777e6 {
		x := tracer(dt, 20_000)
		y, _, _ := own.At(x)
		if back, _, _ := n.Map.At(y); back-x > 2 || x-back > 2 {
			t.Fatalf("%d goes to %d and back to %d", x, y, back)
		}
	}
}

// TestTwoSourcesOfOnePairAreBothUsed: the bound is that of the better one, and the truth inside.
func TestTwoSourcesOfOnePairAreBothUsed(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	w := wall{offset: 4e6, driftPPB: 30_000}
	stamps := probing{clocks: []wall{{}, w}, length: 32e9, every: 10e6, delay: busy(r)}.stamps()
	rounds := graphCalc(w, 9, false, func(int) float64 { return 0 })
	for i := range rounds.Rows {
		rounds.Rows[i].BoundNS = 3_000
	}
	bounds := map[string]int64{}
	for name, fill := range map[string]func(*offsets.Graph){
		"stamps": func(g *offsets.Graph) { g.AddStamps(stamps) },
		"rounds": func(g *offsets.Graph) { g.AddRounds(rounds, 0) },
		"both":   func(g *offsets.Graph) { g.AddStamps(stamps); g.AddRounds(rounds, 0) },
	} {
		g := offsets.NewGraph()
		fill(g)
		s, err := g.Solve(context.Background(), host0, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		bounds[name] = shows{host0: wall{}.at, host1: w.at}.check(t, s, host0, 4e9, 28e9)[host1]
	}
	if bounds["both"] > 2*bounds["rounds"] || bounds["stamps"] < 3*bounds["rounds"] {
		t.Errorf("bounds %v", bounds)
	}
	far := graphCalc(wall{offset: 4e6 + 900_000, driftPPB: 30_000}, 9, false, func(int) float64 { return 0 })
	for i := range far.Rows {
		far.Rows[i].BoundNS = 3_000
	}
	g := offsets.NewGraph()
	g.AddStamps(stamps)
	g.AddRounds(far, 0)
	s, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(s.Warnings, "\n"); !strings.Contains(said, "probes between nodes 0 and 1 contradict") && !strings.Contains(said, "round offsets between nodes 0 and 1 contradict") {
		t.Errorf("0.9 ms apart: %q", said)
	}
}

// TestAGraphIsSolvedAgain: with the same result, though lying stamps were set aside, and with more in it.
func TestAGraphIsSolvedAgain(t *testing.T) {
	c, g := several(11)
	lies := probing{clocks: []wall{{}, {offset: 77e6}}, length: 30e9, every: 3e9, delay: func(int, int) int64 { return 5_000 }}.stamps()
	g.AddStamps(lies)
	first, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%v: the second solution differs", err)
	}
	if first.Links[0].Dropped == 0 {
		t.Errorf("no stamp was set aside: %+v", first.Links)
	}
	host4 := offsets.Clock{Node: 4}
	late := wall{offset: -8e6}
	g.AddStamps([]clockfile.Stamp{{Src: 4, Dst: 9, T1: 5, T2: 4, T3: 3, T4: 2}})
	if s, err := g.Solve(context.Background(), host0, offsets.Options{}); err != nil || !slices.Equal(s.Missing, []int{4, 9}) {
		t.Errorf("%v: missing %v", err, s.Missing)
	}
	e := g.Between(host4, host0, offsets.Stamps)
	for dt := int64(0); dt < 30e9; dt += 100e6 {
		e.AtLeast(c[host0](dt), late.at(dt)-c[host0](dt)-9_000)
		e.AtMost(c[host0](dt), late.at(dt)-c[host0](dt)+7_000)
		e.AtMost(-1, 0) // no instant
	}
	s, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil || !slices.Equal(s.Missing, []int{9}) {
		t.Fatalf("%v: missing %v", err, s.Missing)
	}
	shows{host0: c[host0], host4: late.at}.check(t, s, host0, 1e9, 29e9)
	if l := s.Links[len(s.Links)-1]; l.A != 0 || l.B != 4 || l.Dropped != 300 {
		t.Errorf("%+v", l)
	}
	if _, err := g.Solve(context.Background(), device1, offsets.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := g.Solve(context.Background(), offsets.Clock{Node: 12}, offsets.Options{}); !fault.Is(err, fault.Alignment) || !strings.Contains(err.Error(), "node 12") {
		t.Errorf("a reference that nobody measured: %v", err)
	}
}

// TestClocksAreNamed: as messages call them.
func TestClocksAreNamed(t *testing.T) {
	for want, c := range map[string]offsets.Clock{
		"node 2": host2, "node 1's tracer": tracer1, "node 1's device 3": device1, "node 0's timer": {Kind: offsets.Timer},
	} {
		if c.String() != want {
			t.Errorf("%q, want %q", c, want)
		}
	}
}

// TestReadingsAmongOtherWaysKeepTheirSide: rounds against either end, snapshots, with and without a step, beside facts that say little.
func TestReadingsAmongOtherWaysKeepTheirSide(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	back := wall{steps: []jump{{15e9, -5e9}}} // beyond several rounds
	stepping := wall{offset: 4e6, driftPPB: 30_000, steps: []jump{{15e9, -3e6}}}
	for name, c := range map[string]struct {
		clock offsets.Clock
		at    func(int64) int64
		fill  func(g *offsets.Graph)
		most  int64
	}{
		"rounds against 0": {host1, stepping.at, func(g *offsets.Graph) { g.AddRounds(roundsOf(0, wall{}, 1, stepping), 0) }, 6_000},
		"rounds against 1": {host1, stepping.at, func(g *offsets.Graph) { g.AddRounds(roundsOf(1, stepping, 0, wall{}), 1) }, 6_000},
		"rounds of a clock that goes back": {
			host1, wall{}.at, func(g *offsets.Graph) { g.AddRounds(roundsOf(1, wall{}, 0, back), 1) }, 6_000,
		},
		"snapshots": {
			offsets.Clock{Kind: offsets.Tracer},
			func(dt int64) int64 { return tracer(dt, 9_000) },
			func(g *offsets.Graph) {
				g.AddSnapshots(0, snapshotsOf(wall{}, 9_000, 30e9, 500e6, func() int64 { return latency(r) }))
			}, 12_000,
		},
	} {
		g := offsets.NewGraph()
		c.fill(g)
		if edges := g.Edges(); len(edges) != 1 || edges[0].A != host0 || edges[0].B != c.clock {
			t.Fatalf("%s: edges %+v", name, edges)
		}
		zero := wall{}
		if strings.Contains(name, "goes back") {
			zero = back
		}
		e := g.Between(host0, c.clock, offsets.Stamps)
		for dt := int64(0); dt <= 30e9; dt += 20e6 {
			e.Before(host0, zero.at(dt), c.at(dt+400_000))
			e.Before(c.clock, c.at(dt), zero.at(dt+400_000))
		}
		s, err := g.Solve(context.Background(), host0, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if e.Dropped() > 0 || len(s.Warnings) > 1 || len(s.Warnings) == 1 && !strings.Contains(s.Warnings[0], "state no bounds") {
			t.Errorf("%s: %q", name, s.Warnings)
		}
		truth := shows{host0: zero.at, c.clock: c.at}
		for _, part := range [][2]int64{{3e9, 13e9}, {19e9, 27e9}} {
			if bound := truth.check(t, s, host0, part[0], part[1])[c.clock]; bound > c.most {
				t.Errorf("%s: ±%d ns, want at most %d", name, bound, c.most)
			}
		}
	}
}

// roundsOf makes rounds of one node against another, every 2 s, with bounds of 2 us.
func roundsOf(reference int, ref wall, node int, w wall) *clockfile.Rounds {
	r := &clockfile.Rounds{Reference: reference}
	for dt := int64(0); dt <= 30e9; dt += 2e9 {
		r.Rows = append(r.Rows, clockfile.Round{
			RoundID: dt, MidpointNS: ref.at(dt), Node: node, OffsetNS: w.at(dt) - ref.at(dt), BoundNS: 2_000, Reachable: true, Converged: true,
		})
	}
	return r
}

// TestAMissingClockIsNamedOnce: with what its source knows about it.
func TestAMissingClockIsNamedOnce(t *testing.T) {
	r := roundsOf(0, wall{}, 1, wall{offset: 5})
	r.Rows = append(r.Rows, clockfile.Round{Node: 7, BoundNS: -1})
	g := offsets.NewGraph()
	g.AddRounds(r, 0)
	g.Mention(offsets.Clock{Node: 8})
	s, err := g.Solve(context.Background(), host0, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(s.Warnings, "\n")
	if !slices.Equal(s.Missing, []int{7, 8}) || strings.Count(said, "node 7") != 1 || !strings.Contains(said, "node 7 has no usable round") || strings.Count(said, "nothing ties node 8") != 1 {
		t.Errorf("missing %v: %s", s.Missing, said)
	}
}
