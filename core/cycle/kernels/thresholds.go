package kernels

import "math"

// What decides in this room, in one table: every threshold with what it decides.

// When memory and time are spent differently.
const (
	collectRows = 1 << 19 // kernels from which on memory is given back between columns
	nearlyMoves = 8       // moves a kernel up to which a file that is all but in order is sorted by insertion
	maxTable    = 1 << 25 // ids of the longest table of launches, which is as long as the largest id is beyond the smallest: above, a map
)

// What is too much to be of use.
const (
	maxGraphMarks = 1 << 17 // graph launches up to which they are marks: above, none of them is
)

// Units, and what they leave room for.
const (
	psPerNS   = 1000
	longestNS = math.MaxInt64 / (2 * psPerNS) // duration above which a kernel ends there: its end must be a number of picoseconds
)

// What kernels belong to.
const (
	maxOwned       = 1 << 24 // ranges, and kernels, that are kept to tell what kernels belong to
	maxRangeNumber = 1 << 20 // a larger number at the end of a range's name is part of the name: an address, a time
	kibi           = 1024
	longestNumber  = 20 // digits of the number of an operator
)
