package pairs

import "math"

// What decides in this room, in one table: every threshold with what it decides.

// What counts as a change, where the options say nothing.
const (
	DefaultAlpha      = 0.01 // DefaultAlpha is the chance of a false change in one class.
	DefaultMinChange  = 0.03 // DefaultMinChange is the smallest change worth a word, as a share.
	DefaultSimilarity = 0.5  // DefaultSimilarity is the least share of common kernels of two classes that are paired.
)

// What can be tested and aligned.
const (
	// MinRepetitions is the fewest repetitions on each side for which a test is made: below, the normal approximation of U is not good
	// (Mann and Whitney 1947 find it good from 8 on).
	MinRepetitions = 8
	maxStages      = 4    // stages of a run that are looked at, each of at least MinRepetitions
	maxPeriod      = 8192 // kernels of the longest class that is aligned: the alignment needs the product of both in time and bytes
)

// How a change is told from chance.
const (
	ranksWeight    = 2      // the test of ranks may use 1/2 of alpha, for most changes move most repetitions,
	tailsWeight    = 4      // that of tails 1/4
	meansWeight    = 4      // and that of means 1/4: together they use all of it
	lateDeviations = 5      // robust deviations beyond the usual time, from which on a repetition is late: as of outliers
	madToSigma     = 1.4826 // standard deviations in a median absolute deviation, where times are distributed normally
	lateShare      = 0.03   // and the share of the usual time: what is worth a word
)

// What a comparison could have seen.
const (
	powerShare = 0.85 // share of drawn runs that tell a change of the limit: of others 0.8, the usual power of a test (Cohen 1988)
	powerDraws = 64   // runs that are drawn for it: the limit is then known to about a tenth of itself
	powerSteps = 16   // halvings of the search in one draw: finer than any change that is told
	// what is added to draws has that share of the deviation, times a power of the number of values (Silverman, Density Estimation, 1986, 3.31)
	smoothing      = 0.9
	smoothingPower = -0.2
	medianVariance = math.Pi / 2 // of a median, in variances of the values, times their number: where they are distributed normally
	mostPower      = 10.0        // a change of eleven times the time is the greatest that is looked for
)
