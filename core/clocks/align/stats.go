package align

import (
	"math"

	"github.com/prlx-go/prlx/core/trace/clock"
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
	Bounds                 clock.Histogram
	Clamps                 []Clamp // the first maxClamps of EventsClamped
}

// maxClamps is how many clamped events are listed; all are counted.
const maxClamps = 1000

// Clamp is one event that was moved to keep the order.
type Clamp struct {
	Plane    string `json:"plane"`
	Line     string `json:"line"`
	OffsetPS int64  `json:"offset_ps"` // as in the input, from the line's start
	BoundNS  int64  `json:"bound_ns"`
}

// eventsOf counts the events of one line, all of which move by shiftNS beside what happens to their offsets.
type eventsOf struct {
	stats       *Stats
	plane, line string
	shiftNS     int64
}

// observe counts events that one interval of a map serves.
func (l *eventsOf) observe(oldPS, newPS []int64, bounds *clock.Bounds) {
	s, n := l.stats, int64(len(oldPS))
	moved, least, most := extremes(oldPS, newPS)
	least, most = l.shiftNS+least/1000, l.shiftNS+most/1000
	if s.Timed == 0 {
		s.MinCorrectionNS, s.MaxCorrectionNS = least, most
	}
	s.MinCorrectionNS, s.MaxCorrectionNS = min(s.MinCorrectionNS, least), max(s.MaxCorrectionNS, most)
	s.Timed += n
	if l.shiftNS != 0 {
		moved = n
	}
	s.EventsCorrected += moved
	countBounds(&s.Bounds, oldPS, bounds)
	s.cover(n, bounds.Coverage)
	if bounds.Coverage&clock.Clamped == 0 {
		return
	}
	for _, at := range oldPS[:min(len(oldPS), maxClamps-len(s.Clamps))] {
		s.Clamps = append(s.Clamps, Clamp{Plane: l.plane, Line: l.line, OffsetPS: at, BoundNS: clock.WholeNS(bounds.At(at))})
	}
}

// extremes returns how many offsets changed, and the smallest and the largest change.
func extremes(oldPS, newPS []int64) (moved, least, most int64) {
	newPS = newPS[:len(oldPS)]
	least, most = newPS[0]-oldPS[0], newPS[0]-oldPS[0]
	for k, old := range oldPS {
		change := newPS[k] - old
		if change != 0 {
			moved++
		}
		least, most = min(least, change), max(most, change)
	}
	return moved, least, most
}

// maxExactNS is the largest bound of which float64 tells neighbours apart.
const maxExactNS = 1 << 52

// countBounds adds the bounds of offsets to a histogram: neighbours mostly share a bucket.
func countBounds(h *clock.Histogram, oldPS []int64, bounds *clock.Bounds) {
	below, upTo := math.Inf(1), math.Inf(-1) // a bound in the bucket: below < bound <= upTo
	largest, n := 0.0, int64(0)
	for _, at := range oldPS {
		v := bounds.At(at)
		if v > below && v <= upTo {
			if n++; v > largest {
				largest = v
			}
			continue
		}
		if n > 0 {
			h.AddRun(clock.WholeNS(largest), n)
		}
		largest, n = v, 1
		from, to := clock.Bucket(clock.WholeNS(v))
		if below, upTo = float64(from)-1, float64(to); to > maxExactNS {
			below, upTo = math.Inf(1), math.Inf(-1)
		}
	}
	if n > 0 {
		h.AddRun(clock.WholeNS(largest), n)
	}
}

// cover counts events by how they were mapped.
func (s *Stats) cover(n int64, c clock.Coverage) {
	if c == 0 {
		return
	}
	if c&clock.Extrapolated != 0 {
		s.SnapshotExtrapolations += n
	}
	if c&clock.ExtrapolatedThen != 0 {
		s.OffsetExtrapolations += n
	}
	if c&clock.InStep != 0 {
		s.EventsInStep += n
	}
	if c&clock.Clamped != 0 {
		s.EventsClamped += n
	}
	s.Uncovered += n
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
	if room := maxClamps - len(s.Clamps); room > 0 {
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
