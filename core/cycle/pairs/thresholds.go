package pairs

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
