package diff

import "math"

// What decides whether a difference is more than noise. All of it works on counts, so the order in which runs, warps or rows
// were looked at plays no part. docs/concepts/noise.md explains the rule, the formulas and where they come from.
const (
	// noiseAlpha is how often, at most, one more equal run is called diverged: the chance for a whole comparison.
	noiseAlpha = 1e-3
	// noiseDoubt is the chance, for a whole comparison, below which a count is too unusual to be called noise.
	noiseDoubt = 0.05
	// noiseHidden is how often, at most, a run that deviates noiseTimes as often as equal runs do is called noise.
	noiseHidden = 1e-3
	// noiseTimes is by how much a run may deviate more often than equal runs do before it must not be called noise. A bug that makes
	// A and B differ three times as often as two equal runs makes B deviate five times as often as one of them.
	noiseTimes = 5
	// noiseUsual is the share of equal runs that must show as much as B for it to be usual, whatever the distribution.
	noiseUsual = 0.2
	// noiseSure is the chance of being wrong about noiseUsual.
	noiseSure = 0.01
	// noiseRich is how many observations make baselines rich enough to say that what they never showed is new.
	noiseRich = 20
	// noiseOften is how often each thing that was seen must have been seen for that.
	noiseOften = 5
	// noiseMeasured is how many observations tell whether divergences come one by one or in bursts.
	noiseMeasured = 12
	// noiseMoved is how many times as many rows as any warp of an equal run has count in a warp whose events are paired anew.
	noiseMoved = 2
	// noiseSlips is how many times as many events as in any equal run may be paired with those of other passes of their loop.
	noiseSlips = 3
	// noiseBlind is the share of events that may be paired in that way: what a bug does there is not seen.
	noiseBlind = 0.02
	// noiseWhere is how many questions besides the number are asked of a site and kind: lanes, warps, directions, lengths, repeats and
	// what they follow. They share what the question about the number may err.
	noiseWhere = 8
)

// binomialUpper is the probability of at least k hits in n trials with the chance p each. It is 1 where k is no more than expected.
func binomialUpper(k, n int64, p float64) float64 {
	if k = min(k, n); float64(k) <= float64(n)*p {
		return 1
	}
	return upperTail(k, n, func(x int64) float64 { return lnBinomial(x, n, p) })
}

// binomialLower is the probability of at most k hits in n trials. It is 1 where k is no less than expected.
func binomialLower(k, n int64, p float64) float64 {
	return binomialUpper(n-k, n, 1-p)
}

func lnBinomial(x, n int64, p float64) float64 {
	return lnChoose(n, x) + float64(x)*math.Log(p) + float64(n-x)*math.Log1p(-p)
}

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
	k0 = max(k0, 0)
	return binomialUpper(k, k+k0, 0.5)
}

// geometricUpper is the exact conditional test of one geometric count beside m others that add up to sum: the probability that it is x
// or more, when all come from one distribution and their total is given. Lengths and repeats that end by chance are of this kind.
func geometricUpper(x, sum, m int64) float64 {
	if m <= 0 || x <= 0 {
		return 1
	}
	return math.Exp(lnChoose(sum+m, m) - lnChoose(sum+x+m, m))
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

// noiseSpecies counts how often each of several things (lanes, warps) was seen among observations.
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
