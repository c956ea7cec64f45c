package pairs

import (
	"cmp"
	"math"
	"slices"
)

// Verdict is what a test says about two samples.
type Verdict string

// The verdicts.
const (
	Slower      Verdict = "slower"
	Faster      Verdict = "faster"
	Same        Verdict = "no significant change"
	TooFew      Verdict = "not enough repetitions"
	withinNoise Verdict = "within the baselines" // a test tells it from chance, and runs that should be equal differ by as much
	NotTested   Verdict = ""
)

// Change compares one time of two runs.
type Change struct {
	MeanA, MeanB   float64 // ns
	P              float64 // two-sided, before correction, of the test that By names, of the ranks where none does; 1 when not tested
	Verdict        Verdict
	By             string    // the test that tells the change from chance: byRanks, ByTails or byMeans; "" none
	CountA, CountB int       // repetitions that are compared
	LateA, LateB   int       // of these, those that take far longer than is usual in both runs
	Told           bool      // a test tells it from chance, and it is more than the baselines differ by, however small it is
	Noise          *interval // what the baselines differ by; nil where there are none

	tests []test
}

// What a change is told by.
const (
	byRanks = "ranks" // the repetitions of one run stand behind those of the other
	ByTails = "tails" // more repetitions are far longer than usual
	byMeans = "means"
)

// test is one way to tell a change.
type test struct {
	by     string
	p      float64
	weight float64 // the share of alpha that it may use is 1 / weight
	moved  bool    // the two runs overlap in it while they go on
}

// score is the p of a test as if it were the only one; 1 where the runs overlap.
func (t *test) score() float64 {
	if t.moved {
		return 1
	}
	return min(1, t.p*t.weight)
}

// score is that of the test that tells most.
func (c *Change) score() float64 {
	out := 1.0
	for i := range c.tests {
		out = min(out, c.tests[i].score())
	}
	return out
}

// told is the first test whose score is small enough.
func (c *Change) told(enough float64) *test {
	for i := range c.tests {
		if c.tests[i].score() <= enough {
			return &c.tests[i]
		}
	}
	return nil
}

// DeltaNS is how much longer b takes, in ns.
func (c Change) DeltaNS() float64 { return c.MeanB - c.MeanA }

// Relative is DeltaNS as a share of a; 0 where a is 0.
func (c Change) Relative() float64 {
	if c.MeanA == 0 {
		return 0
	}
	return c.DeltaNS() / c.MeanA
}

func mean(x []int64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

func sum(x []int64) int64 {
	n := int64(0)
	for _, v := range x {
		n += v
	}
	return n
}

// whole divides a sum by a count, to the nearest, halves up; nothing gives 0.
func whole(sum int64, n int) int64 {
	if n == 0 {
		return 0
	}
	q := 2*sum + int64(n)
	d := 2 * int64(n)
	if q < 0 {
		return -((-q + d - 1) / d)
	}
	return q / d
}

// mannWhitney is the two-sided p of the Mann-Whitney U test by its normal approximation with the correction for ties and for
// continuity (Mann and Whitney, Ann. Math. Statist. 18, 1947; ties: Lehmann, Nonparametrics, 1975, 1.2):
//
//	U = R1 - n1(n1+1)/2,  z = (|U - n1 n2/2| - 1/2) / sqrt(n1 n2 / 12 * (N+1 - sum(t^3-t) / (N(N-1))))
//
// R1 is the sum of the mid-ranks of x and t the sizes of groups of equal values. All equal gives 1.
func mannWhitney(x, y []int64) float64 {
	type value struct {
		ns    int64
		first bool
	}
	all := make([]value, 0, len(x)+len(y))
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int {
		switch {
		case a.ns < b.ns:
			return -1
		case a.ns > b.ns:
			return 1
		}
		return 0
	})
	ranks, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j, mine := i, 0
		for ; j < len(all) && all[j].ns == all[i].ns; j++ {
			if all[j].first {
				mine++
			}
		}
		t := float64(j - i)
		ranks += float64(mine) * (float64(i+j+1) / 2)
		ties += t*t*t - t
		i = j
	}
	n1, n2 := float64(len(x)), float64(len(y))
	return pOfU(ranks-n1*(n1+1)/2, n1, n2, ties)
}

// uniform is what the square of a range is divided by for the variance of ranks in it, in the variance of U.
const uniform = 12

func pOfU(u, n1, n2, ties float64) float64 {
	n := n1 + n2
	variance := n1 * n2 / uniform * (n + 1 - ties/(n*(n-1)))
	if !(variance > 0) {
		return 1
	}
	z := max(0, math.Abs(u-n1*n2/2)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// tested compares two samples; judge decides later, when the number of tests is known. Ranks see that most repetitions moved, tails that some
// of them stall, means what neither sees. A change in a part of the repetitions leaves ranks almost as they are.
func tested(a, b []int64) Change {
	c := Change{MeanA: mean(a), MeanB: mean(b), P: 1, Verdict: TooFew, CountA: len(a), CountB: len(b)}
	if len(a) < MinRepetitions || len(b) < MinRepetitions {
		return c
	}
	usual, late := lateFrom(a, b)
	isLate := func(x []int64) []int64 {
		out := make([]int64, len(x))
		for i, v := range x {
			if v > usual && v-usual >= late {
				out[i] = 1
			}
		}
		return out
	}
	lateA, lateB := isLate(a), isLate(b)
	c.LateA, c.LateB = int(sum(lateA)), int(sum(lateB))
	c.Verdict = Same
	c.tests = []test{
		{byRanks, mannWhitney(a, b), ranksWeight, !apart(a, b, median)},
		{ByTails, fisher(c.LateA, len(a), c.LateB, len(b)), tailsWeight, !apart(lateA, lateB, mean)},
		{byMeans, pitman(a, b), meansWeight, !apart(a, b, mean)},
	}
	c.P = c.tests[0].p
	return c
}

// lateFrom is the usual time of both runs together, and by how much a repetition must exceed it to be late. Both depend on the values alone and
// not on the run that has them, so that the test of tails is exact.
func lateFrom(a, b []int64) (usual, late int64) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	usual = all[(len(all)-1)/2]
	for i, v := range all {
		all[i] = max(v-usual, usual-v)
	}
	slices.Sort(all)
	spread := lateDeviations * madToSigma * float64(all[(len(all)-1)/2])
	return usual, max(1, int64(math.Ceil(max(spread, lateShare*float64(usual)))))
}

// fisher is the two-sided p of Fisher's exact test of two shares, k1 of n1 and k2 of n2: twice the smaller tail (Statistical Methods for
// Research Workers, 1934, 21.02).
func fisher(k1, n1, k2, n2 int) float64 {
	k := k1 + k2
	if k == 0 || k == n1+n2 {
		return 1
	}
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	all := choose(n1+n2, k)
	low, high := 0.0, 0.0
	for i := max(0, k-n2); i <= min(k, n1); i++ {
		p := math.Exp(choose(n1, i) + choose(n2, k-i) - all)
		if i <= k1 {
			low += p
		}
		if i >= k1 {
			high += p
		}
	}
	return min(1, 2*min(low, high))
}

// pitman is the two-sided p of Pitman's permutation test of means (Suppl. J. R. Statist. Soc. 4, 1937) by its normal approximation. One repetition
// that takes a hundred times as long makes the means differ, and their deviation as well: it is no change.
func pitman(a, b []int64) float64 {
	n1, n2 := float64(len(a)), float64(len(b))
	ma, mb := mean(a), mean(b)
	all, squares := (n1*ma+n2*mb)/(n1+n2), 0.0
	for _, x := range [2][]int64{a, b} {
		for _, v := range x {
			squares += (float64(v) - all) * (float64(v) - all)
		}
	}
	variance := squares / (n1 + n2 - 1) * (1/n1 + 1/n2)
	if !(variance > 0) {
		return 1
	}
	return math.Erfc(math.Abs(ma-mb) / math.Sqrt(2*variance))
}

// apart reports whether all stages of one run lie on one side of those of the other, by their medians or means. The tests take repetitions for
// independent of each other; in a run that warms up or drifts they are not, and a part of it differs from the whole by as much as it moved.
func apart(a, b []int64, of func([]int64) float64) bool {
	lowA, highA := stages(a, of)
	lowB, highB := stages(b, of)
	return highA < lowB || highB < lowA
}

// stages gives the least and the greatest value of the stages of a run.
func stages(x []int64, of func([]int64) float64) (low, high float64) {
	n := stagesOf(x)
	for i := range n {
		m := of(x[i*len(x)/n : (i+1)*len(x)/n])
		if i == 0 {
			low, high = m, m
		}
		low, high = min(low, m), max(high, m)
	}
	return low, high
}

func stagesOf(x []int64) int { return max(1, min(maxStages, len(x)/MinRepetitions)) }

func median(x []int64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return float64(sorted[len(sorted)/2])
}

// judge gives verdicts to changes looked at together, by Holm's step-down method (Scand. J. Statist. 6, 1979), so that the chance of even one
// false change among them is at most alpha. The tests of one change share its alpha. A change is reported only if it is also at least smallest, as
// a share of a, and greater than what either run moves by itself. When no sample of that many repetitions could ever pass, the verdict is TooFew.
func judge(changes []*Change, reps func(i int) (a, b int), alpha, smallest float64) {
	var order []int
	for i, c := range changes {
		if c.Verdict == Same {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(changes[x].score(), changes[y].score())
	})
	passing := true
	for k, i := range order {
		c := changes[i]
		a, b := reps(i)
		if ranksWeight*pOfU(0, float64(a), float64(b), 0)*float64(len(order)) > alpha {
			c.Verdict = TooFew
		}
		by := c.told(alpha / float64(len(order)-k))
		if passing = passing && by != nil; !passing {
			continue
		}
		if c.Told = !c.Noise.holds(c.Relative()); math.Abs(c.DeltaNS()) < smallest*c.MeanA {
			continue
		}
		if !c.Told {
			c.Verdict = withinNoise
			continue
		}
		c.P, c.By = by.p, by.by
		if c.Verdict = Slower; c.MeanB < c.MeanA {
			c.Verdict = Faster
		}
	}
}
