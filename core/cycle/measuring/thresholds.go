package measuring

// What decides in this room, in one table: every threshold with what it decides.

// What makes a repetition odd: it is far from the median by the robust z of Iglewicz and Hoaglin (1993, How to Detect and Handle
// Outliers), and by a share that matters.
const (
	outlierScore  = 5.0    // robust z from which on a repetition is an outlier
	outlierChange = 0.05   // share of the median by which it must differ too: where times are steady, differences that do not matter have a great z
	outlierLeast  = 8      // repetitions on a device: fewer have no usual time
	maxOutliers   = 20     // outliers that a class lists, the oddest
	madToSigma    = 1.4826 // standard deviations in a median absolute deviation, where times are distributed normally
	leastMAD      = 0.5    // ns: a clock has steps, and a deviation that is all zeros is one of half a nanosecond
)

// What makes a drift: Pettitt's test (Appl. Statist. 28, 1979) finds one change point, and both sides differ by a share that matters.
const (
	driftP      = 0.01 // chance of such a change point in a run without one, above which there is none
	driftChange = 0.03 // share by which the medians of both sides must differ
	driftLeast  = 20   // repetitions on a device: fewer have no change point
	driftSide   = 5    // repetitions on either side: what fewer do is an outlier, or the start
	driftPoints = 4096 // values that the test is made on at most: a longer series is told by the medians of equal stretches
)

// When the steps of several devices are one step, where no mark numbers them.
const differPercent = 10 // steps that are of another class than the first device says, above which their order does not line them up

// How much is held and listed.
const (
	slotValues = 1 << 20 // times that a worker holds while it measures slots
	maxBeside  = 64      // kernels of other streams that a class lists
)
