package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// equalTraces runs a program several times with the same data: the runs differ in what depends on the order of warps and on clocks.
func equalTraces(t *testing.T, p *warptracetest.Program, l warptracetest.Launch, n int) []*warptrace.Trace {
	t.Helper()
	var runs []*warptrace.Trace
	for i := range n {
		l.Run = uint64(1000 + i)
		runs = append(runs, p.Run(l).OpenV2(t, fmt.Sprintf("a%d.prlx", i+1)))
	}
	return runs
}

// countedRows are those that equal runs rule out to be noise.
func countedRows(r *Result) []Row {
	var rows []Row
	for k := range r.Rows {
		if r.Options.counts(&r.Rows[k]) && !r.Rows[k].Undecided {
			rows = append(rows, r.Rows[k])
		}
	}
	return rows
}

func against(t *testing.T, runs []*warptrace.Trace, b *warptrace.Trace, opt Options) *Result {
	t.Helper()
	r, err := Compare(nil, runs[0], b, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyBaseline(nil, r, runs[0], b, runs[1:], nil, opt); err != nil {
		t.Fatal(err)
	}
	return r
}

// With noise in known sites and three baselines, only the seeded difference remains: what counts first in
// warps is the bug.
func TestWithThreeBaselinesOnlyTheSeededBugRemains(t *testing.T) {
	for _, name := range []string{"bound", "mask", "compare", "swap", "stale", "uninit", "order", "precision"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= sweep.Of[uint64](1, 2); seed++ {
				p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Noise: 3})
				q, err := p.WithBug(name)
				if err != nil {
					t.Fatal(err)
				}
				l := warptracetest.Launch{Warps: 64}
				runs := equalTraces(t, p, l, 4)
				l.Run = 77
				opt := Options{Values: true}
				r := against(t, runs, q.Run(l).OpenV2(t, "b.prlx"), opt)
				rows := countedRows(r)
				if len(rows) == 0 {
					t.Errorf("seed %d: the bug is gone", seed)
				}
				// Where noise and the bug meet, a Path has the noise on one side and the bug on the other. What is explained or
				// undecided in a warp is not what counts there, so a bug that shifts loops is seen late in some.
				warps, late := 0, 0
				for i := range rows {
					row := &rows[i]
					if i > 0 && rows[i-1].Warp == row.Warp {
						continue
					}
					if warps++; !isAt(r, row.SiteA, q.Bug.SiteIDs) && !isAt(r, row.SiteB, q.Bug.SiteIDs) {
						late++
						t.Logf("seed %d: warp %d counts first a %s at %s, the bug shows at %s",
							seed, row.Warp, row.Kind, r.Sites[siteOfRow(row)].Location(), q.Bug.Shown)
					}
				}
				if 4*late > warps {
					t.Errorf("seed %d: in %d of %d warps something else than the bug counts first", seed, late, warps)
				}
				if first := &r.Rows[max(r.First, 0)]; !isAt(r, first.SiteA, q.Bug.SiteIDs) && !isAt(r, first.SiteB, q.Bug.SiteIDs) {
					t.Errorf("seed %d: the first divergence is %s at %s", seed, first.Kind, r.Sites[siteOfRow(first)].Location())
				}
				d, err := r.Document(DocumentOptions{})
				if err != nil {
					t.Fatal(err)
				}
				checkRanking(t, d)
				checkGroups(t, r)
				if r.First < 0 || r.Baseline.Suppressed == 0 {
					t.Errorf("seed %d: first %d, %d suppressed", seed, r.First, r.Baseline.Suppressed)
				}
			}
		})
	}
}

// checkRanking holds the sites of a document against their own counts.
func checkRanking(t *testing.T, d *Document) {
	t.Helper()
	if d.Baseline == nil || d.Status != "diverged" || d.Passed || d.CountedDivergences+d.Baseline.Suppressed != d.TotalDivergences {
		t.Errorf("%s, passed %t: %d count, %+v, of %d", d.Status, d.Passed, d.CountedDivergences, d.Baseline, d.TotalDivergences)
	}
	for i, s := range d.Sites {
		if s.Chance == nil || s.BaselineOf == 0 || s.BaselineRate != float64(s.BaselineWarps)/float64(s.BaselineOf) {
			t.Fatalf("site %s: %+v", s.SourceLocation, s)
		}
		if i == 0 {
			if s.Noise || *s.Chance > noiseAlpha {
				t.Errorf("the first site is %s, with a chance of %g", s.SourceLocation, *s.Chance)
			}
			continue
		}
		if before := d.Sites[i-1]; before.Noise && !s.Noise || before.Noise == s.Noise && *before.Chance > *s.Chance {
			t.Errorf("site %s stands before %s: chances %g and %g", before.SourceLocation, s.SourceLocation, *before.Chance, *s.Chance)
		}
	}
}

// checkGroups: every warp is in one cluster, those of noise alone come last, and noise is not what a cluster begins with.
func checkGroups(t *testing.T, r *Result) {
	t.Helper()
	warps, noise := int64(0), false
	for i := range r.Clusters {
		c := &r.Clusters[i]
		warps += int64(len(c.Warps))
		if noise && !c.Noise {
			t.Errorf("cluster %d stands behind noise", i)
		}
		noise = c.Noise
		if c.First.Noise != c.Noise || r.Rows[c.At].Warp != c.Warps[0] || int(r.Rows[c.At].Cluster) != i {
			t.Errorf("cluster %d of %d warps begins with %+v", i, len(c.Warps), c.First)
		}
	}
	if warps != r.Stats.WarpsDiverged {
		t.Errorf("%d warps are in clusters, %d differ", warps, r.Stats.WarpsDiverged)
	}
	if r.First >= 0 && r.Rows[r.First].Cluster != 0 {
		t.Errorf("the first divergence is in cluster %d", r.Rows[r.First].Cluster)
	}
}

func isAt(r *Result, at int32, ids []string) bool {
	return at != None && slices.Contains(ids, r.Sites[at].Name())
}

// One more run that is equal to twenty others is equal to them.
func TestTwentyEqualRunsLeaveNothingOfAnother(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Noise: 3})
			runs := equalTraces(t, p, warptracetest.Launch{Warps: 32}, 21)
			r := against(t, runs[:20], runs[20], Options{Values: true})
			for _, row := range countedRows(r) {
				t.Errorf("%s in warp %d at %s (follows: %t)", row.Kind, row.Warp, r.Sites[siteOfRow(&row)].Location(), row.Follows)
			}
			if explained := float64(r.Baseline.Suppressed) / float64(len(r.Rows)); explained < 0.98 || r.Baseline.Pairs != 19 {
				t.Errorf("%.4f of %d are noise, %+v", explained, len(r.Rows), r.Baseline)
			}
		})
	}
}

// The same runs in another order, or as the baselines of B, say the same.
func TestEitherSideMayHaveTheBaselines(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 5, Noise: 3})
	runs := equalTraces(t, p, warptracetest.Launch{Warps: 64}, 6)
	opt := Options{Values: true}
	for name, sides := range map[string][2][]*warptrace.Trace{
		"of A": {runs[2:], nil}, "of B": {nil, runs[2:]}, "of both": {runs[2:4], runs[4:]},
	} {
		r, err := Compare(nil, runs[0], runs[1], opt)
		if err != nil {
			t.Fatal(err)
		}
		base, err := ApplyBaseline(nil, r, runs[0], runs[1], sides[0], sides[1], opt)
		if err != nil {
			t.Fatal(err)
		}
		if rows := countedRows(r); len(rows) > 0 {
			t.Errorf("baselines %s: %d divergences count, the first %s at %s", name, len(rows), rows[0].Kind, r.Sites[siteOfRow(&rows[0])].Location())
		}
		if base.RunsA != len(sides[0]) || base.RunsB != len(sides[1]) || len(base.Paths) != 4 {
			t.Errorf("baselines %s: %+v", name, base)
		}
	}
}

func TestABaselineOfAnotherKernelIsRefused(t *testing.T) {
	l := warptracetest.Launch{Warps: 8}
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 5})
	a := p.Run(l).OpenV2(t, "a.prlx")
	l.Warps = 16
	other := p.Run(l).OpenV2(t, "other.prlx")
	r, err := Compare(nil, a, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ApplyBaseline(nil, r, a, a, []*warptrace.Trace{other}, nil, Options{})
	if !fault.Is(err, fault.Incompatible) || !strings.HasPrefix(err.Error(), "other.prlx: this baseline is of something else") {
		t.Errorf("got %v", err)
	}
}

// Format v1 knows sites by other names, and only the leader's decision.
func TestBaselinesMayBeOfFormatV1(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 2, Noise: 3})
	q, err := p.WithBug("mask")
	if err != nil {
		t.Fatal(err)
	}
	l := warptracetest.Launch{Warps: 64}
	var runs []*warptrace.Trace
	for i := range 4 {
		l.Run = uint64(1000 + i)
		runs = append(runs, p.Run(l).OpenV1(t, fmt.Sprintf("a%d.prlx", i+1), warptracetest.V1File{}))
	}
	l.Run = 77
	opt := Options{Values: true}
	same := against(t, runs[:3], runs[3], opt)
	if rows := countedRows(same); len(rows) > 0 {
		t.Errorf("%d divergences of an equal run count, the first a %s at %s", len(rows), rows[0].Kind, same.Sites[siteOfRow(&rows[0])].Location())
	}
	r := against(t, runs, q.Run(l).OpenV1(t, "b.prlx", warptracetest.V1File{}), opt)
	if r.First < 0 || r.Baseline.Suppressed == 0 {
		t.Fatalf("first %d, %+v", r.First, r.Baseline)
	}
	noisy := make(map[string]bool)
	for _, k := range p.Run(l).Noise {
		noisy[site.FormatLocation(p.Sites().At(k))] = true
	}
	for _, row := range countedRows(r) {
		if noisy[r.Sites[siteOfRow(&row)].Location()] && !row.Follows {
			t.Errorf("%s in warp %d at the noisy site %s counts", row.Kind, row.Warp, r.Sites[siteOfRow(&row)].Location())
		}
	}
}
