package diff

import "math"

// What decides whether a difference is more than noise. All of it works on counts, so the order in which runs, warps or rows
// were looked at plays no part. docs/concepts/noise.md explains the formulas and says where they come from.
const (
	// noiseAlpha is the chance, for each site and kind, at which an excess over the baselines still counts as noise.
	noiseAlpha = 1e-3
	// noiseRich is how many observations make baselines rich enough to say that what they never showed is new.
	noiseRich = 20
	// noiseOften is how often each thing that was seen must have been seen for that.
	noiseOften = 5
)

// fisherUpper is the one-sided exact test of Fisher: the probability of at least k of n hits beside k0 of n0, when both have the
// same rate and their sum is given. It is 1 where the rate is no higher, and where nothing can be compared.
func fisherUpper(k, n, k0, n0 int64) float64 {
	k, k0 = min(k, n), min(max(k0, 0), n0)
	if n <= 0 || n0 <= 0 || float64(k)*float64(n0) <= float64(k0)*float64(n) {
		return 1
	}
	hits := k + k0
	all := lnChoose(n+n0, hits)
	return upperTail(k, min(n, hits), func(x int64) float64 { return lnChoose(n, x) + lnChoose(n0, hits-x) - all })
}

// poissonUpper is the conditional test of two Poisson counts over equal exposures: the probability that of k+k0 at least k fall
// on one side, when both sides have the same rate. It is 1 where k is no larger.
func poissonUpper(k, k0 int64) float64 {
	if k0 = max(k0, 0); k <= k0 {
		return 1
	}
	n := k + k0
	return upperTail(k, n, func(x int64) float64 { return lnChoose(n, x) - float64(n)*math.Ln2 })
}

// upperTail sums exp(ln(x)) from k to last, all beyond the mode, and stops where more adds nothing.
func upperTail(k, last int64, ln func(x int64) float64) float64 {
	sum := 0.0
	for x := k; x <= last; x++ {
		term := math.Exp(ln(x))
		sum += term
		if term <= sum*1e-17 {
			break
		}
	}
	return min(sum, 1)
}

// lnChoose is the logarithm of a binomial coefficient, -Inf where it is 0.
func lnChoose(n, k int64) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	return lnFactorial(n) - lnFactorial(k) - lnFactorial(n-k)
}

func lnFactorial(n int64) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// noiseSpecies counts how often each of several things (lanes, warps, ways to follow) was seen among observations.
type noiseSpecies struct {
	seen map[uint64]int64
	n    int64 // observations; each may have shown several things
}

func (s *noiseSpecies) saw(what uint64) {
	if s.seen == nil {
		s.seen = make(map[uint64]int64)
	}
	s.seen[what]++
}

// complete reports whether the observations suggest that nothing is left to be seen. The share of what was never seen is about
// the share of what was seen exactly once (Good and Turing), and something that is as frequent as what was seen a few times may
// well have been missed: so everything must have been seen often, over enough observations.
func (s *noiseSpecies) complete() bool {
	if s.n < noiseRich {
		return false
	}
	for _, count := range s.seen {
		if count < noiseOften {
			return false
		}
	}
	return true
}
