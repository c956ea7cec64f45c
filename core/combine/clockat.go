package combine

import (
	"math"
	"math/bits"
)

// ClockAt is what is known of a node's clock at an instant that it showed.
type ClockAt struct {
	AtNS     int64 `json:"at_ns"`     // on the node's own clock, ns since 1970
	OffsetNS int64 `json:"offset_ns"` // how far it is ahead of the reference's
	BoundNS  int64 `json:"bound_ns"`  // how far off that can be
}

// mostInstants is at how many instants, at most, a document says what a clock shows; at least half as many where a trace is that many ns long.
const mostInstants = 32

// clockInstants are the multiples of a power of two ns between two instants, so that documents of the same clock have instants in common,
// whatever part of it each saw.
func clockInstants(first, last int64) []int64 {
	if last < first || first < 0 {
		return nil
	}
	every := int64(1) << max(0, bits.Len64(uint64(last-first)/mostInstants))
	var out []int64
	for at := (first + every - 1) / every * every; at <= last && at >= first; at += every {
		out = append(out, at)
		if at > math.MaxInt64-every {
			break
		}
	}
	return out
}
