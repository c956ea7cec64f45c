package offsets

import (
	"context"
	"math"
	"math/rand"
	"testing"
)

// bands is the slow and obvious twin of the graph of constraints: d[i][j] is the most that j can be ahead of i.
type bands [][]float64

func newBands(n int) bands {
	d := make(bands, n)
	for i := range d {
		d[i] = make([]float64, n)
		for j := range d[i] {
			if i != j {
				d[i][j] = math.Inf(1)
			}
		}
	}
	return d
}

// limit says lo <= c_b - c_a <= hi.
func (d bands) limit(a, b int, lo, hi float64) {
	d[a][b] = math.Min(d[a][b], hi)
	d[b][a] = math.Min(d[b][a], -lo)
}

// close is Floyd's and Warshall's; false where the constraints have no solution.
func (d bands) close() bool {
	for k := range d {
		for i := range d {
			for j := range d {
				d[i][j] = math.Min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	for i := range d {
		if d[i][i] < 0 {
			return false
		}
	}
	return true
}

// TestIntervalsAreThoseOfAllWaysOverTheGraph: of random graphs of differences that have a solution, with one-sided ones, several of a
// pair, and clocks that nothing reaches.
func TestIntervalsAreThoseOfAllWaysOverTheGraph(t *testing.T) {
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		n := 1 + r.Intn(9)
		truth := make([]float64, n)
		for i := range truth {
			truth[i] = r.NormFloat64() * 1e6
		}
		twin := newBands(n)
		var rows []difference
		for range r.Intn(3 * n) {
			a, b := r.Intn(n), r.Intn(n)
			if a == b {
				continue
			}
			d := truth[b] - truth[a]
			row := difference{a, b, d - r.ExpFloat64()*1e4, d + r.ExpFloat64()*1e4}
			switch r.Intn(8) {
			case 0:
				row.lo = math.Inf(-1)
			case 1:
				row.hi = math.Inf(1)
			}
			rows = append(rows, row)
			twin.limit(a, b, row.lo, row.hi)
		}
		if !twin.close() {
			t.Fatalf("seed %d: constraints around a solution have none", seed)
		}
		c := newClosure(n)
		for ground := range n {
			c.reset(ground)
			c.chain(rows)
			for i := range n {
				up, low := twin[ground][i], -twin[i][ground]
				if differ(c.up[i], up) || differ(c.low[i], low) {
					t.Fatalf("seed %d: clock %d against %d is in [%g, %g], want [%g, %g]", seed, i, ground, c.low[i], c.up[i], low, up)
				}
			}
		}
	}
}

func differ(a, b float64) bool {
	return a != b && !(math.Abs(a-b) < 1e-3)
}

// TestTheBandOfAnEdgeIsSpannedByAllItsLines: what the polygon of lines spans at an instant is what a linear program over the facts allows:
// its corners are crossings of two of them.
func TestTheBandOfAnEdgeIsSpannedByAllItsLines(t *testing.T) {
	const steepest, tol = 1e6, 3.0
	for seed := range int64(1000) {
		r := rand.New(rand.NewSource(seed))
		offset, slope := r.NormFloat64()*1e5, r.NormFloat64()*1e4
		p := newPolygon(0, -1e7, 1e7, 1, steepest)
		// half planes k*a + m*s <= c, the polygon's own first
		half := [][3]float64{{1, 0, 1e7 + steepest + 1}, {-1, 0, 1e7 + steepest + 1}, {0, 1, steepest}, {0, -1, steepest}}
		for range 1 + r.Intn(12) {
			side := float64(1 - 2*r.Intn(2))
			x := (r.Float64() - 0.5) * 1e9
			o := obs{x, offset + slope*x/1e9 + side*r.ExpFloat64()*3e4, side}
			if !p.clip(o, tol) {
				t.Fatalf("seed %d: a fact contradicts the truth", seed)
			}
			half = append(half, [3]float64{side, side * o.x / 1e9, side*o.v + tol})
		}
		for _, x := range []float64{-0.5e9, 0, 0.3e9} {
			lo, hi := p.band(x)
			wantLo, wantHi := program(half, x/1e9)
			if math.Abs(lo-wantLo) > 1e-2+1e-9*math.Abs(wantLo) || math.Abs(hi-wantHi) > 1e-2+1e-9*math.Abs(wantHi) {
				t.Fatalf("seed %d at %g: [%g, %g], want [%g, %g]", seed, x, lo, hi, wantLo, wantHi)
			}
		}
	}
}

// program returns the smallest and largest a + dx*s over the half planes, by trying every crossing of two of their borders.
func program(half [][3]float64, dx float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i, g := range half {
		for _, h := range half[:i] {
			det := g[0]*h[1] - g[1]*h[0]
			if math.Abs(det) < 1e-12 {
				continue
			}
			a, s := (g[2]*h[1]-g[1]*h[2])/det, (g[0]*h[2]-g[2]*h[0])/det
			inside := true
			for _, f := range half {
				inside = inside && f[0]*a+f[1]*s <= f[2]+1e-3
			}
			if inside {
				lo, hi = math.Min(lo, a+dx*s), math.Max(hi, a+dx*s)
			}
		}
	}
	return lo, hi
}

// TestEveryClockThatFactsAllowLiesInsideTheBound: of random graphs of clocks that run alike, whatever offsets no fact contradicts, not
// the true ones alone, are inside of what is stated; and where the facts are dense the bound is little more.
func TestEveryClockThatFactsAllowLiesInsideTheBound(t *testing.T) {
	const start = int64(1_760_000_000_000_000_000)
	for seed := range int64(150) {
		r := rand.New(rand.NewSource(seed))
		n := 2 + r.Intn(4)
		offset := make([]int64, n)
		for i := range offset {
			offset[i] = r.Int63n(2e9) - 1e9
		}
		g := NewGraph()
		twin := newBands(n)
		for a := range n {
			for b := range a {
				if a-b > 1 && r.Intn(2) == 0 {
					continue
				}
				e := g.Between(Clock{Node: a}, Clock{Node: b}, Stamps)
				floor := [2]int64{5_000 + r.Int63n(40_000), 5_000 + r.Int63n(40_000)}
				for dt := int64(0); dt < 8e9; dt += 5e6 {
					for k, from := range [2]int{a, b} {
						to := a + b - from
						sent, took := start+dt+r.Int63n(1e6), floor[k]+int64(r.ExpFloat64()*10_000)
						e.Before(Clock{Node: from}, sent+offset[from], sent+took+offset[to])
						twin.limit(from, to, math.Inf(-1), float64(took+offset[to]-offset[from]))
					}
				}
			}
		}
		if !twin.close() {
			t.Fatalf("seed %d: facts around the truth have no solution", seed)
		}
		ref := r.Intn(n)
		s, err := g.Solve(context.Background(), Clock{Node: ref}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if i == ref {
				continue
			}
			no, _ := s.Node(i)
			for dt := int64(1e9); dt < 7e9; dt += 1e9 {
				x := start + dt + offset[i]
				y, bound, _ := no.Map.At(x)
				ahead := float64(x - y)
				most, least := twin[ref][i], -twin[i][ref]
				if ahead+float64(bound) < most || ahead-float64(bound) > least {
					t.Fatalf("seed %d: clock %d is ahead of %d by %.0f ±%d, facts allow [%.0f, %.0f]", seed, i, ref, ahead, bound, least, most)
				}
				if half := (most - least) / 2; float64(bound) > 2*half+6_000 {
					t.Errorf("seed %d: clock %d against %d: ±%d, facts allow ±%.0f", seed, i, ref, bound, half)
				}
			}
		}
	}
}

// TestAFactIsABoundOnTheSideOfItsClock: in either direction, and none that is not an instant.
func TestAFactIsABoundOnTheSideOfItsClock(t *testing.T) {
	a, b := Clock{Node: 1}, Clock{Node: 2, Kind: Tracer}
	e := NewGraph().Between(b, a, Stamps)
	if e.A != a || e.B != b {
		t.Fatalf("the edge leads from %s to %s", e.A, e.B)
	}
	e.around(100, 1000)
	e.Before(a, 500, 1700)
	e.Before(b, 1600, 550)
	for _, no := range [][2]int64{{-1, 5}, {5, -1}, {math.MinInt64, math.MaxInt64}, {maxInstant, 5}} {
		e.Before(a, no[0], no[1])
	}
	if want := [2]obs{{400, 200, 1}, {450, 50, -1}}; len(e.bounds) != 2 || [2]obs(e.bounds) != want || e.dropped != 4 {
		t.Errorf("%+v, %d dropped", e.bounds, e.dropped)
	}
	e.AtMost(5, maxInstant-5) // a tracer counts from when its machine was started
	if hosts := NewGraph().Between(a, Clock{}, Stamps); len(e.bounds) == 3 {
		if hosts.AtMost(5, maxInstant-5); hosts.dropped != 1 {
			t.Error("hosts 146 years apart")
		}
	} else {
		t.Error("a tracer that started with its machine is no clock")
	}
}

// TestTheBandOfABoxIsSpannedByItsCorners: to the last bit what all four corners give, on both sides of the center.
func TestTheBandOfABoxIsSpannedByItsCorners(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for range 20_000 {
		size := math.Pow(10, float64(r.Intn(9)))
		x, v, bound, slope, slopeBound := r.Float64()*1e12, r.NormFloat64()*size, r.Float64()*size, r.NormFloat64()*size, r.Float64()*size
		if r.Intn(4) == 0 {
			slope, slopeBound = 0, 0
		}
		w := boxWindow(x, v, bound, slope, slopeBound)
		w.misfit = float64(r.Intn(3)) * 100
		corners := &polygon{x0: x, v: []line{
			{v - bound, slope - slopeBound}, {v + bound, slope - slopeBound}, {v + bound, slope + slopeBound}, {v - bound, slope + slopeBound},
		}}
		at := x + float64(r.Intn(3)-1)*r.Float64()*1e10
		lo, hi := corners.band(at)
		want := value{line{v, slope}.at(corners.dx(at)), lo - w.misfit, hi + w.misfit}
		if got := w.at(at); got != want {
			t.Fatalf("at %g from the center: %+v, want %+v", at-x, got, want)
		}
	}
}

// TestAMisfitWidensTheWindowsBesideIt: half of what they look at is the same. It does not travel further.
func TestAMisfitWidensTheWindowsBesideIt(t *testing.T) {
	windows := []window{{misfit: 10}, {}, {}, {misfit: 500}, {misfit: 20}, {}}
	if most := shareMisfit(windows); most != 500 {
		t.Errorf("the largest is %g, want 500", most)
	}
	for i, want := range []float64{10, 10, 500, 500, 500, 20} {
		if got := windows[i].misfit; got != want {
			t.Errorf("window %d: %g, want %g", i, got, want)
		}
	}
}

// TestKnotsOfALinkAscend: those that a clock shows a second time, after it went back, are in the step.
func TestKnotsOfALinkAscend(t *testing.T) {
	g := NewGraph()
	e := g.Between(Clock{Node: 1}, Clock{}, Rounds)
	e.on = e.B
	var list []sample
	for k := range int64(20) {
		offset := int64(1000) // of A's clock over B's
		if k >= 10 {
			offset -= 5e9
		}
		list = append(list, sample{at: 1e18 + k*1e9, offset: offset, bound: 100})
	}
	e.read(list)
	l := &link{Edge: e}
	opt, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l.learn(opt)
	for i := 1; i < len(l.obs); i++ {
		if l.obs[i].x <= l.obs[i-1].x {
			t.Errorf("knot %d at %g after %g", i, l.obs[i].x, l.obs[i-1].x)
		}
	}
	if len(l.parts) != 2 || len(l.breaks) != 1 || l.breaks[0].kind != breakStep || len(l.obs) != 15 {
		t.Errorf("%d parts, breaks %+v, %d knots", len(l.parts), l.breaks, len(l.obs))
	}
}
