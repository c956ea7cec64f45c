package diff

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// oneSite is a kernel of one site with noise of a rate.
func oneSite(kind RowKind, warps, passes int, rate float64) noisyKernel {
	return noisyKernel{warps: warps, passes: passes, sites: []noisySite{{kind: kind, rate: rate, lanes: 31}, {kind: RowBranch}}}
}

// inverted inverts a branch in some warps, at every pass.
func inverted(site, from, to int) func(deviations) {
	return func(d deviations) {
		for w := from; w < to; w++ {
			for p := range d[w] {
				d[w][p][site] = everyLane
			}
		}
	}
}

func undecidedWhy(r *Result) string {
	var why []string
	for _, u := range r.Baseline.Undecided {
		why = append(why, u.Why)
	}
	return strings.Join(why, ",")
}

// A site that flips in 0.2 % of its passes must not hide a branch that is inverted on every pass.
func TestABranchThatIsAlwaysInvertedIsNotHiddenByRareNoise(t *testing.T) {
	for seed := range uint64(10) {
		c := noisyCase{kernel: oneSite(RowBranch, 64, 28, 0.002), runsA: 3, seed: seed, bug: inverted(0, 0, 64)}
		r := c.compare(t)
		if got := statusOf(t, r); got != "diverged" || r.Baseline.Suppressed > 20 || r.First < 0 || r.Rows[r.First].Noise {
			t.Errorf("seed %d: %s, %d of %d are noise, first %d", seed, got, r.Baseline.Suppressed, len(r.Rows), r.First)
		}
	}
}

// A follower of noise is counted as any other site: it must not be explained because its key was seen once.
func TestABugInWhatFollowsNoiseIsFound(t *testing.T) {
	for seed := range uint64(10) {
		k := noisyKernel{warps: 256, passes: 1, sites: []noisySite{
			{kind: RowBranch, rate: 0.1, lanes: 31, leads: 2, likely: 0.05}, {kind: RowBranch}, {kind: RowBranch},
		}}
		c := noisyCase{kernel: k, runsA: 3, seed: seed, bug: func(d deviations) {
			for w := range d {
				if d[w][0][0] > 0 { // only where noise came before
					d[w][0][2] = 5
				}
			}
		}}
		if got := statusOf(t, c.compare(t)); got != "diverged" {
			t.Errorf("seed %d: a follower in each warp with noise, where noise has one in twenty: %s", seed, got)
		}
	}
}

func TestWhatStandsOutOfNoiseIsNotExplained(t *testing.T) {
	few := func(w int) bool { return w < 4 }
	for name, c := range map[string]noisyCase{
		"in one warp": {kernel: oneSite(RowBranch, 64, 28, 0.02), runsA: 3, bug: inverted(0, 17, 18)},
		"in one lane": {kernel: noisyKernel{warps: 256, passes: 4, sites: []noisySite{{kind: RowBranch, rate: 0.1, lanes: 4}}}, runsA: 4, bug: func(d deviations) {
			for w := range 40 {
				d[w][0][0] = 30
			}
		}},
		"in warps where noise never is": {kernel: noisyKernel{warps: 64, passes: 40, sites: []noisySite{{kind: RowBranch, rate: 0.3, lanes: 31, only: few}}}, runsA: 5, bug: func(d deviations) {
			for w := 10; w < 30; w++ {
				d[w][3][0] = 7
			}
		}},
		"of another kind": {kernel: noisyKernel{warps: 64, passes: 8, sites: []noisySite{{kind: RowBranch, rate: 0.1, lanes: 31}, {kind: RowActiveMask}}}, runsA: 3, bug: func(d deviations) {
			for w := range d {
				d[w][2][1] = 4
			}
		}},
		"that comes with nothing like it in a deterministic kernel": {kernel: oneSite(RowBranch, 64, 8, 0), runsA: 3, bug: inverted(0, 0, 20)},
		"in one of eight warps that are noisy":                      {kernel: oneSite(RowValue, 8, 200, 0.02), runsA: 5, bug: inverted(0, 3, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				c.seed = seed
				r := c.compare(t)
				if got := statusOf(t, r); got != "diverged" {
					t.Errorf("seed %d: %s (%s)", seed, got, undecidedWhy(r))
				}
			}
		})
	}
}

// The document says what cannot be determined, and what would determine it.
func TestWhatEqualRunsCannotTellIsInconclusive(t *testing.T) {
	for name, c := range map[string]struct {
		noisyCase
		why  string
		a, b bool // more runs of A, of B would tell
	}{
		"one difference where equal runs have none": {
			noisyCase{kernel: oneSite(RowBranch, 64, 8, 0), runsA: 3, bug: func(d deviations) { d[9][2][0] = 3 }}, "unseen", false, true,
		},
		"three where equal runs have none": {
			noisyCase{kernel: oneSite(RowBranch, 64, 8, 0), runsA: 3, bug: func(d deviations) { d[9][2][0], d[11][2][0], d[33][2][0] = 3, 3, 3 }}, "unseen", true, true,
		},
		"noise that B lacks": {
			noisyCase{kernel: oneSite(RowBranch, 256, 4, 0.05), runsA: 5, bug: func(d deviations) {
				for w := range d {
					for p := range d[w] {
						d[w][p][0] = 0
					}
				}
			}}, "less", false, false,
		},
		"a race that only B has, among its equal runs": {
			noisyCase{kernel: oneSite(RowBranch, 256, 4, 0), runsA: 3, runsB: 3, bug: raceIn(0)}, "noisier", false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				c.seed = seed
				r := c.compare(t)
				if got := statusOf(t, r); got != "inconclusive" || !strings.Contains(undecidedWhy(r), c.why) {
					t.Fatalf("seed %d: %s (%s)", seed, got, undecidedWhy(r))
				}
				u := r.Baseline.Undecided[0]
				if (u.MoreRunsA > 0) != c.a || (u.MoreRunsB > 0) != c.b {
					t.Errorf("seed %d: %+v", seed, u)
				}
				said := documentOf(t, r).Verdict
				if strings.Contains(said, " of A") != c.a || strings.Contains(said, " of B") != c.b || strings.Contains(said, " would tell") != (c.a || c.b) {
					t.Errorf("seed %d: %q", seed, said)
				}
			}
		})
	}
}

// raceIn makes other places deviate in each run.
func raceIn(site int) func(deviations) {
	rng := rand.New(rand.NewPCG(4, 4))
	return func(d deviations) {
		for range 30 {
			w := rng.IntN(len(d))
			d[w][rng.IntN(len(d[w]))][site] = uint8(1 + rng.IntN(31))
		}
	}
}

// As many more runs as the verdict asks for do tell.
func TestTheRunsThatAreAskedForTell(t *testing.T) {
	bug := func(d deviations) { d[9][2][0], d[11][2][0], d[33][2][0] = 3, 3, 3 }
	c := noisyCase{kernel: oneSite(RowBranch, 64, 8, 0), runsA: 3, seed: 1, bug: bug}
	u := c.compare(t).Baseline.Undecided[0]
	for name, more := range map[string][2]int{"of A": {u.MoreRunsA, 0}, "of B": {0, u.MoreRunsB}} {
		d := c
		d.runsA, d.runsB = c.runsA+more[0], more[1]
		if got := statusOf(t, d.compare(t)); got != "diverged" {
			t.Errorf("a bug with %v more runs %s: %s", more, name, got)
		}
	}
	once := noisyCase{kernel: oneSite(RowBranch, 64, 8, 0), runsA: 3, runsB: u.MoreRunsB, seed: 1}
	first := true
	once.bug = func(d deviations) {
		if first {
			bug(d)
		}
		first = false
	}
	if got := statusOf(t, once.compare(t)); got != "identical" {
		t.Errorf("what B's equal runs do not have: %s", got)
	}
}

// The whole launch goes one of two ways: equal runs show the very same differences.
func TestNoiseThatHitsAllWarpsAtOnceIsNoise(t *testing.T) {
	n := 0
	c := noisyCase{kernel: oneSite(RowBranch, 64, 4, 0), runsA: 2}
	c.kernel.sites[0].rate = 0
	mode := inverted(0, 0, 64)
	recorded := []bool{false, true, true, false} // A, B, A2, A3
	c.each = func(d deviations) {
		if recorded[n] {
			mode(d)
		}
		n++
	}
	if got := statusOf(t, c.compare(t)); got != "identical" {
		t.Errorf("got %s", got)
	}
}

func TestTheRatesOfSitesAreInTheDocument(t *testing.T) {
	c := noisyCase{kernel: oneSite(RowBranch, 256, 1, 0.2), runsA: 3, seed: 3, bug: inverted(1, 0, 256)}
	r := c.compare(t)
	d, err := r.Document(DocumentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Sites) != 2 {
		t.Fatalf("got %+v", d.Sites)
	}
	if bug := d.Sites[0]; bug.BaselineRate != 0 || *bug.Chance > 1e-9 || bug.Explained+bug.Undecided != 0 {
		t.Errorf("a site without noise that always differs: %+v", bug)
	}
	if noise := d.Sites[1]; noise.BaselineRate < 0.2 || noise.BaselineRate > 0.5 || *noise.Chance < noiseAlpha {
		t.Errorf("a site that differs in about a third of all pairs: %+v", noise)
	}
}
