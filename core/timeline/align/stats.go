package align

import (
	"math"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/clock"
)

// Stats counts what alignment did to the events of a node (or of one of its lines).
type Stats struct {
	Events                 int64 // all events, aggregated ones (num_occurrences) included
	EventsCorrected        int64 // events whose instant changed
	EventsClamped          int64 // events moved to keep the order where the clock data went backwards
	EventsInStep           int64 // events inside an interval in which a clock stepped
	SnapshotExtrapolations int64 // events outside the snapshots
	OffsetExtrapolations   int64 // events outside the probe rounds
	Aggregated             int64 // events without an instant of their own: copied as they were
	Uncovered              int64 // events that are extrapolated or in a step: 1 - Uncovered/Timed is the coverage
	Timed                  int64 // events with an instant
	MinCorrectionNS        int64 // smallest (new instant - instant as the file showed it)
	MaxCorrectionNS        int64
	Bounds                 Histogram
	Clamps                 []Clamp // the first MaxClamps of EventsClamped
}

// MaxClamps is how many clamped events are listed; all are counted.
const MaxClamps = 1000

// Clamp is one event that was moved to keep the order.
type Clamp struct {
	Plane    string `json:"plane"`
	Line     string `json:"line"`
	OffsetPS int64  `json:"offset_ps"` // as in the input, from the line's start
	BoundNS  int64  `json:"bound_ns"`
}

// observe counts one event that was at oldNS and is at newNS now.
func (s *Stats) observe(correctionNS, boundNS int64, c clock.Coverage) {
	if s.Timed == 0 || correctionNS < s.MinCorrectionNS {
		s.MinCorrectionNS = correctionNS
	}
	if s.Timed == 0 || correctionNS > s.MaxCorrectionNS {
		s.MaxCorrectionNS = correctionNS
	}
	s.Timed++
	s.Bounds.Add(boundNS)
	if c == 0 {
		return
	}
	if c&clock.Extrapolated != 0 {
		s.SnapshotExtrapolations++
	}
	if c&clock.ExtrapolatedThen != 0 {
		s.OffsetExtrapolations++
	}
	if c&clock.InStep != 0 {
		s.EventsInStep++
	}
	if c&clock.Clamped != 0 {
		s.EventsClamped++
	}
	s.Uncovered++
}

// Merge adds the counts of o.
func (s *Stats) Merge(o *Stats) {
	if o.Timed > 0 {
		if s.Timed == 0 || o.MinCorrectionNS < s.MinCorrectionNS {
			s.MinCorrectionNS = o.MinCorrectionNS
		}
		if s.Timed == 0 || o.MaxCorrectionNS > s.MaxCorrectionNS {
			s.MaxCorrectionNS = o.MaxCorrectionNS
		}
	}
	s.Events += o.Events
	s.EventsCorrected += o.EventsCorrected
	s.EventsClamped += o.EventsClamped
	s.EventsInStep += o.EventsInStep
	s.SnapshotExtrapolations += o.SnapshotExtrapolations
	s.OffsetExtrapolations += o.OffsetExtrapolations
	s.Aggregated += o.Aggregated
	s.Uncovered += o.Uncovered
	s.Timed += o.Timed
	s.Bounds.Merge(&o.Bounds)
	if room := MaxClamps - len(s.Clamps); room > 0 {
		s.Clamps = append(s.Clamps, o.Clamps[:min(room, len(o.Clamps))]...)
	}
}

// Coverage returns the share of timed events that lie inside the clock data, 1 when there are none.
func (s *Stats) Coverage() float64 {
	if s.Timed == 0 {
		return 1
	}
	return float64(s.Timed-s.Uncovered) / float64(s.Timed)
}

// Histogram keeps bounds (ns, >= 0) in buckets of 1/16 of an octave, so a quantile is at most 6.3 % above the truth; the maximum
// is exact. It is small until it holds more than a few different values: a trace may have a hundred thousand lines.
type Histogram struct {
	few    [fewBuckets]bucketCount // while counts is nil
	used   int
	counts []int64
	n, max int64
}

type bucketCount struct {
	bucket int
	n      int64
}

const (
	fewBuckets = 6
	allBuckets = 16 * 61
)

// Add counts one value; negative ones count as 0.
func (h *Histogram) Add(v int64) {
	v = max(v, 0)
	h.max = max(h.max, v)
	h.add(bucket(v), 1)
}

func (h *Histogram) add(b int, n int64) {
	h.n += n
	if h.counts != nil {
		h.counts[b] += n
		return
	}
	for i := range h.few[:h.used] {
		if h.few[i].bucket == b {
			h.few[i].n += n
			return
		}
	}
	if h.used < fewBuckets {
		h.few[h.used] = bucketCount{b, n}
		h.used++
		return
	}
	h.counts = make([]int64, allBuckets)
	for _, f := range h.few {
		h.counts[f.bucket] += f.n
	}
	h.counts[b] += n
}

func bucket(v int64) int {
	if v < 16 {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - 5
	return (e+1)<<4 + int(v>>e)&15
}

// ceiling returns the largest value of a bucket.
func ceiling(b int) int64 {
	if b < 16 {
		return int64(b)
	}
	e := b>>4 - 1
	return (int64(b&15)+17)<<e - 1
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	o.each(func(b int, n int64) bool { h.add(b, n); return true })
	h.max = max(h.max, o.max)
}

// each visits the buckets that are not empty, by value where the histogram is full, else as they came.
func (h *Histogram) each(visit func(b int, n int64) bool) {
	if h.counts == nil {
		for _, f := range h.few[:h.used] {
			if !visit(f.bucket, f.n) {
				return
			}
		}
		return
	}
	for b, n := range h.counts {
		if n > 0 && !visit(b, n) {
			return
		}
	}
}

// Quantile returns a value that at least the share q of the values does not exceed, 0 when there are none.
func (h *Histogram) Quantile(q float64) int64 {
	if h.counts == nil {
		slices.SortFunc(h.few[:h.used], func(a, b bucketCount) int { return a.bucket - b.bucket })
	}
	need := int64(math.Ceil(q * float64(h.n)))
	var seen, found int64
	h.each(func(b int, n int64) bool {
		seen, found = seen+n, min(ceiling(b), h.max)
		return seen < need
	})
	return found
}

// Max returns the largest value.
func (h *Histogram) Max() int64 { return h.max }
