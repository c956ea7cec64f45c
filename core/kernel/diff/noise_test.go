package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A simulated run: what each warp did at each site. Two runs differ where their outcomes do.
type (
	outcome struct{ value, lane int }
	simRun  [][]outcome // by warp, by site
	noisy   struct {
		site  int
		rate  float64
		lanes int             // noise is in one of the lanes below this
		warps func(int) bool  // nil: all
		leads map[int]float64 // sites that then differ too, and how often
	}
)

const simSites = 12

func simulate(rng *rand.Rand, warps int, noise []noisy) simRun {
	run := make(simRun, warps)
	for w := range run {
		run[w] = make([]outcome, simSites)
		for _, n := range noise {
			if n.warps != nil && !n.warps(w) || rng.Float64() >= n.rate {
				continue
			}
			run[w][n.site] = outcome{1 + rng.IntN(1000), rng.IntN(n.lanes)}
			for site := range simSites { // not in the order of the map
				if p, leads := n.leads[site]; leads && rng.Float64() < p {
					run[w][site] = outcome{1 + rng.IntN(1000), rng.IntN(n.lanes)}
				}
			}
		}
	}
	return run
}

// between is the comparison of two simulated runs. Sites divisible by three differ in a decision, the others in a value.
func between(a, b simRun) *Result {
	r := &Result{Baseline: &Baseline{}, Stats: Stats{WarpsCompared: int64(len(a))}}
	for site := range simSites {
		r.Sites = append(r.Sites, SiteRef{ID: 0x100 + uint64(site), LocalA: int64(site), LocalB: int64(site)})
	}
	for w := range a {
		follows := false
		for site := range simSites {
			x, y := a[w][site], b[w][site]
			if x == y {
				continue
			}
			kind := RowValue
			if site%3 == 0 {
				kind = RowBranch
			}
			r.Rows = append(r.Rows, Row{
				Warp: uint64(w), EventA: int32(site), EventB: int32(site), SiteA: int32(site), SiteB: int32(site), Kind: kind,
				Count: 1, CountB: 1, Lanes: 1<<x.lane | 1<<y.lane, Follows: follows,
			})
			follows = true
		}
	}
	return r
}

// judged marks the noise of a comparison against equal runs, of which the first is A.
func judged(r *Result, equal []simRun) *Result {
	names := make([]uint64, len(r.Sites))
	for i := range names {
		names[i] = r.Sites[i].ID
	}
	table := newNoiseTable(len(equal))
	table.names = names
	for _, p := range noisePairs(len(equal)) {
		table.observe(between(equal[p[0]], equal[p[1]]), names, p[0]%2 == 0 && p[1] == p[0]+1)
	}
	markNoise(r, []*noiseTable{table})
	return r
}

// left lists "warp/site" of what is no noise.
func left(r *Result) []string {
	var rows []string
	for _, row := range r.Rows {
		if !row.Noise {
			rows = append(rows, fmt.Sprintf("%d/%d", row.Warp, row.SiteA))
		}
	}
	return rows
}

func equalRuns(rng *rand.Rand, n, warps int, noise []noisy) []simRun {
	var runs []simRun
	for range n {
		runs = append(runs, simulate(rng, warps, noise))
	}
	return runs
}

var usual = []noisy{{site: 3, rate: 0.1, lanes: 32, leads: map[int]float64{4: 1, 9: 0.5}}, {site: 7, rate: 0.3, lanes: 32}}

func TestWithThreeBaselinesOnlyTheSeededDifferenceRemains(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		runs := equalRuns(rng, 4, 256, usual)
		b := simulate(rng, 256, usual)
		warp := rng.IntN(256)
		b[warp][1] = outcome{5000, 3} // before any noise of the warp
		got := left(judged(between(runs[0], b), runs))
		if want := []string{fmt.Sprintf("%d/1", warp)}; !slices.Equal(got, want) {
			// What follows the bug in its warp and is not seen among equal runs is left to the bug.
			got = slices.DeleteFunc(got, func(s string) bool { return s == fmt.Sprintf("%d/4", warp) || s == fmt.Sprintf("%d/9", warp) })
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: left %v, want %v", seed, got, want)
			}
		}
	}
}

func TestOneMoreEqualRunIsEqual(t *testing.T) {
	for _, n := range []int{3, 4, 20} {
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			runs := equalRuns(rng, n+1, 128, usual)
			if got := left(judged(between(runs[0], runs[n]), runs[:n])); len(got) > 0 {
				t.Errorf("%d baselines, seed %d: left %v", n, seed, got)
			}
		}
	}
}

// The whole launch goes one of two ways: the worst pair shows it, however few pairs there are.
func TestNoiseThatHitsAllWarpsAtOnceIsNoise(t *testing.T) {
	mode := func(value int) simRun {
		run := simulate(rand.New(rand.NewPCG(1, 1)), 256, nil)
		for w := range run {
			run[w][5] = outcome{value, 0}
		}
		return run
	}
	runs := []simRun{mode(0), mode(0), mode(1)}
	if got := left(judged(between(runs[0], mode(1)), runs)); len(got) > 0 {
		t.Errorf("left %d rows", len(got))
	}
}

func TestABugAtANoisySiteStays(t *testing.T) {
	few := func(w int) bool { return w < 4 }
	cases := map[string]struct {
		noise []noisy
		runs  int
		bug   func(simRun)
		want  string // what stays, among others
		least int    // how many stay
	}{
		"in more warps than noise reaches": {
			[]noisy{{site: 7, rate: 0.05, lanes: 32}},
			4,
			func(b simRun) {
				for w := range 100 {
					b[w][7] = outcome{5000, 1}
				}
			}, "", 70,
		},
		"in a warp where noise never was": {
			[]noisy{{site: 7, rate: 0.9, lanes: 32, warps: few}},
			33,
			func(b simRun) { b[200][7] = outcome{5000, 1} }, "200/7", 1,
		},
		"in lanes where noise never was": {
			[]noisy{{site: 7, rate: 0.5, lanes: 4}},
			4,
			func(b simRun) { b[200][7] = outcome{5000, 30} }, "200/7", 1,
		},
		"after noise that never leads to it": {
			[]noisy{{site: 3, rate: 0.5, lanes: 4, leads: map[int]float64{4: 0.8}}},
			8,
			func(b simRun) {
				for w := range b {
					b[w][3], b[w][4] = outcome{1, 1}, outcome{1, 1}
				}
				b[200][8] = outcome{5000, 1}
			}, "200/8", 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, 9))
				runs := equalRuns(rng, c.runs, 256, c.noise)
				b := simulate(rng, 256, c.noise)
				c.bug(b)
				r := judged(between(runs[0], b), runs)
				if got := left(r); len(got) < c.least || c.want != "" && !slices.Contains(got, c.want) {
					t.Errorf("seed %d: left %v, want at least %d and %s among them", seed, got, c.least, c.want)
				}
			}
		})
	}
}

func TestAnotherKindAtANoisySiteStays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	runs := equalRuns(rng, 4, 128, usual)
	r := between(runs[0], simulate(rng, 128, usual))
	r.Rows = append(r.Rows, Row{Warp: 127, EventA: 90, EventB: 90, SiteA: 7, SiteB: 7, Kind: RowActiveMask, Count: 1, CountB: 1, Lanes: 1})
	if got := left(judged(r, runs)); !slices.Equal(got, []string{"127/7"}) {
		t.Errorf("left %v, want the other lanes at the noisy site", got)
	}
}

func TestTheRatesOfSitesAreTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	runs := equalRuns(rng, 4, 256, usual)
	b := simulate(rng, 256, usual)
	for w := range 256 {
		b[w][10] = outcome{1, 1}
	}
	r := judged(between(runs[0], b), runs)
	if site := r.Baseline.sites[10]; site.rate() != 0 || site.chance > 1e-9 {
		t.Errorf("a site without noise that always differs: %+v", site)
	}
	if site := r.Baseline.sites[7]; site.rate() < 0.3 || site.rate() > 0.7 || site.chance < noiseAlpha {
		t.Errorf("a site that differs in about half of all pairs: %+v (rate %g)", site, site.rate())
	}
}

func TestPairsAreBoundedAndIncludeThoseThatShareNoRun(t *testing.T) {
	for n := 2; n <= maxNoiseRuns; n++ {
		pairs := noisePairs(n)
		if want := min(n*(n-1)/2, maxNoisePairs); len(pairs) != want {
			t.Fatalf("%d runs: %d pairs, want %d", n, len(pairs), want)
		}
		apart := 0
		for _, p := range pairs {
			if p[0]%2 == 0 && p[1] == p[0]+1 {
				apart++
			}
		}
		if apart != n/2 {
			t.Fatalf("%d runs: %d pairs that share no run, want %d", n, apart, n/2)
		}
	}
}
