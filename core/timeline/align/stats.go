package align

import (
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
	Bounds                 clock.Histogram
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
