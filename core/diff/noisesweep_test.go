package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// noiseCases is how many cases of each kind a run looks at: PRLX_NOISE_CASES says how many, else a sample.
func noiseCases(t *testing.T, sample int) int {
	text := os.Getenv("PRLX_NOISE_CASES")
	if text == "" {
		return sample
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PRLX_NOISE_CASES is %q, want a number", text)
	}
	return n
}

var (
	noiseLevels = []float64{0.0005, 0.002, 0.01, 0.05, 0.2}
	noiseShapes = [][2]int{{256, 1}, {64, 28}, {8, 200}, {1, 900}, {128, 8}}
	equalCounts = []int{1, 2, 3, 5, 8}
)

// noisyKernelOf draws a kernel with noise of a level at several sites, of all kinds, some with followers, some that last.
func noisyKernelOf(rng *rand.Rand, level float64, shape [2]int, first RowKind) noisyKernel {
	k := noisyKernel{warps: shape[0], passes: shape[1]}
	k.sites = append(k.sites, noisySite{kind: first, rate: level, lanes: 31})
	for len(k.sites) < 3+rng.IntN(4) {
		n := noisySite{kind: RowKind(rng.IntN(rowKinds)), lanes: 1 + rng.IntN(31)}
		switch rng.IntN(4) {
		case 0:
			n.rate = level
		case 1:
			n.rate, n.lasts = level/4, 1+rng.IntN(6)
		case 2:
			n.rate = noiseLevels[rng.IntN(len(noiseLevels))]
		}
		if s := len(k.sites); s > 1 && rng.IntN(2) == 0 {
			from := &k.sites[rng.IntN(s)]
			from.leads, from.likely = s, []float64{1, 0.5, 0.1}[rng.IntN(3)]
		}
		k.sites = append(k.sites, n)
	}
	return k
}

// One more equal run is never called diverged, and is called the same where equal runs show enough.
func TestCleanPairsAreNotDiverged(t *testing.T) {
	said := make(map[string]map[string]int)
	for i := range noiseCases(t, 15) {
		seed := uint64(i) + 1
		rng := rand.New(rand.NewPCG(seed, 5))
		level := noiseLevels[i%len(noiseLevels)]
		c := noisyCase{seed: seed, runsA: equalCounts[rng.IntN(len(equalCounts))]}
		c.kernel = noisyKernelOf(rng, level, noiseShapes[rng.IntN(len(noiseShapes))], RowKind(rng.IntN(rowKinds)))
		if rng.IntN(4) == 0 {
			c.runsB = equalCounts[rng.IntN(len(equalCounts))]
		}
		r := c.compare(t)
		status := statusOf(t, r)
		for _, by := range []string{"all", fmt.Sprintf("level %.2f %%", 100*level), fmt.Sprintf("%d equal runs", c.runsA)} {
			if said[by] == nil {
				said[by] = make(map[string]int)
			}
			said[by][status]++
			if status == "inconclusive" {
				for _, u := range r.Baseline.Undecided {
					said[by][u.Why]++
				}
			}
		}
		if status == "diverged" {
			row := &r.Rows[r.First]
			t.Errorf("seed %d, noise %g, %d+%d equal runs, %d warps of %d passes: a %s at %s counts, in warp %d", seed, level, c.runsA, c.runsB,
				c.kernel.warps, c.kernel.passes, row.Kind, r.Sites[siteOfRow(row)].Location(), row.Warp)
		}
	}
	for by, n := range said {
		t.Logf("%s: %v", by, n)
	}
}

// bugCase draws a comparison with a bug of so many times the noise of a pair at the first site.
func bugCase(seed uint64, times float64, most float64) (noisyCase, string) {
	rng := rand.New(rand.NewPCG(seed, 6))
	c := noisyCase{seed: seed, runsA: equalCounts[rng.IntN(len(equalCounts))]}
	level := noiseLevels[rng.IntN(len(noiseLevels))]
	kind := RowKind(rng.IntN(rowKinds))
	shape := noiseShapes[rng.IntN(len(noiseShapes))]
	for { // enough noise, or less than that
		pair := 2 * level * (1 - level) * float64(shape[0]*shape[1])
		if most == 0 && pair >= 16 && pair*(1+times) < 0.9*float64(shape[0]*shape[1]) || most > 0 && pair < most {
			break
		}
		level, shape = noiseLevels[rng.IntN(len(noiseLevels))], noiseShapes[rng.IntN(len(noiseShapes))]
	}
	c.kernel = noisyKernelOf(rng, level, shape, kind)
	pair := 2 * level * (1 - level) * float64(c.kernel.places())
	count := max(int(times*pair+0.999), 1)
	warps := c.kernel.warps
	where := "anywhere"
	if rng.IntN(3) == 0 {
		warps = min(warps, max(1, (count+c.kernel.passes-1)/c.kernel.passes))
		where = "in few warps"
	}
	if seed%4 == 0 {
		c.runsB = 1 + rng.IntN(4)
	}
	lane := uint8(everyLane)
	if rng.IntN(2) == 0 {
		lane = uint8(1 + rng.IntN(31))
	}
	c.bug = plant(&c.kernel, rng, 0, count, lane, warps)
	if kind != RowBranch && kind != RowActiveMask {
		c.bug = plant(&c.kernel, rng, 0, count, 1, warps)
	}
	return c, fmt.Sprintf("seed %d: %d of %s in %d warps of %d passes, %.2g a pair, %s, %d equal runs", seed, count, kind, c.kernel.warps,
		c.kernel.passes, pair, where, c.runsA)
}

// A bug of three times the noise where equal runs differ twelve times a pair and more is found.
func TestBugsOfThreeTimesTheNoiseAreFound(t *testing.T) {
	said := make(map[string]int)
	for i := range noiseCases(t, 25) {
		c, what := bugCase(uint64(i)+1, 3, 0)
		status := statusOf(t, c.compare(t))
		said[status]++
		if status == "identical" {
			t.Errorf("%s: hidden", what)
		} else if status != "diverged" {
			t.Logf("%s: %s", what, status)
		}
	}
	t.Log(said)
}

// With fewer observations a bug of three times the noise is never called the same.
func TestBugsWithFewObservationsAreNotTheSame(t *testing.T) {
	said := make(map[string]int)
	for i := range noiseCases(t, 25) {
		c, what := bugCase(uint64(i)+1, 3, 12)
		status := statusOf(t, c.compare(t))
		said[status]++
		if status == "identical" {
			t.Errorf("%s: hidden", what)
		}
	}
	t.Log(said)
}

// A smaller bug is not called the same either, as long as it is twice as large as the noise; smaller ones hardly ever are, and how
// often that is, a long run logs.
func TestSmallerBugsAreNotTheSame(t *testing.T) {
	all := []float64{2, 1, 0.5, 0.25}
	if noiseCases(t, 0) == 0 {
		all = all[:2]
	}
	for _, times := range all {
		said := make(map[string]int)
		for i := range noiseCases(t, 10) {
			c, what := bugCase(uint64(i)+1, times, 0)
			status := statusOf(t, c.compare(t))
			said[status]++
			if status == "identical" && times >= 2 {
				t.Errorf("%g times: %s: hidden", times, what)
			}
		}
		t.Log(times, said)
	}
}
