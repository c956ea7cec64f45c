package pairs

import (
	"math"
	"slices"
)

// Verdict is what a test says about two samples.
type Verdict string

// The verdicts.
const (
	Slower    Verdict = "slower"
	Faster    Verdict = "faster"
	Same      Verdict = "no significant change"
	TooFew    Verdict = "not enough repetitions"
	NotTested Verdict = ""
)

// Change compares one time of two runs.
type Change struct {
	MeanA, MeanB float64 // ns
	P            float64 // two-sided, before correction; 1 when not tested
	Verdict      Verdict

	moved bool // the times of both runs overlap while they go on
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

// tested compares two samples; judge decides later, when the number of tests is known.
func tested(a, b []int64) Change {
	c := Change{MeanA: mean(a), MeanB: mean(b), P: 1, Verdict: TooFew}
	if len(a) >= MinRepetitions && len(b) >= MinRepetitions {
		c.P, c.Verdict, c.moved = mannWhitney(a, b), Same, !apart(a, b)
	}
	return c
}

// apart reports whether the medians of all stages of one run lie on one side of those of the other. The test takes repetitions for independent
// of each other; in a run that warms up or drifts they are not, and a part of it differs from the whole by as much as it moved.
func apart(a, b []int64) bool {
	lowA, highA := stages(a)
	lowB, highB := stages(b)
	return highA < lowB || highB < lowA
}

// stages gives the least and the greatest median of the stages of a run.
func stages(x []int64) (low, high int64) {
	n := max(1, min(maxStages, len(x)/MinRepetitions))
	for i := range n {
		stage := slices.Sorted(slices.Values(x[i*len(x)/n : (i+1)*len(x)/n]))
		m := stage[len(stage)/2]
		if i == 0 {
			low, high = m, m
		}
		low, high = min(low, m), max(high, m)
	}
	return low, high
}

// judge gives verdicts to tests made together, by Holm's step-down method (Scand. J. Statist. 6, 1979), so that the chance of even one
// false change among them is at most alpha. A change is reported only if it is also at least smallest, as a share of a, and greater than what
// either run moves by itself. When no sample of that many repetitions could ever pass, the verdict is TooFew.
func judge(changes []*Change, reps func(i int) (a, b int), alpha, smallest float64) {
	var order []int
	for i, c := range changes {
		if c.Verdict == Same {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case changes[x].P < changes[y].P:
			return -1
		case changes[x].P > changes[y].P:
			return 1
		}
		return 0
	})
	passing := true
	for k, i := range order {
		c := changes[i]
		a, b := reps(i)
		if pOfU(0, float64(a), float64(b), 0)*float64(len(order)) > alpha {
			c.Verdict = TooFew
		}
		if passing = passing && c.P*float64(len(order)-k) <= alpha; !passing || c.moved || math.Abs(c.DeltaNS()) < smallest*c.MeanA {
			continue
		}
		if c.Verdict = Slower; c.MeanB < c.MeanA {
			c.Verdict = Faster
		}
	}
}
