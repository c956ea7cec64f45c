package xspace

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/clock"
)

// Edit says what Rewrite changes. The zero Edit changes nothing: the output is the input, byte for byte.
type Edit struct {
	Planes []PlaneEdit // by Plane.Index; planes beyond its end are copied

	// CorrectionStat, when not empty, is the name of an int64 stat that every timed event of a line with a Cursor or a new
	// TimestampNS receives: by how many ns its start moved (rounded to nearest).
	CorrectionStat string

	Workers  int // goroutines of Measure; default 1
	Progress func(bytes int64)
}

// PlaneEdit changes one plane. The zero PlaneEdit copies it.
type PlaneEdit struct {
	Drop     bool // leave the plane out
	Name     *string
	ID       *int64
	AddStats []NewStat
	SetStats []NewStat  // values of stats that the plane has, in their places; stats that it lacks are added
	Lines    []LineEdit // by Line.Index; lines beyond its end are copied
}

// NewStat is a stat added to a plane. Kind is StatInt, StatUint, StatDouble or StatStr; the value sits in the field of Stat that
// goes with it (Text for StatStr).
type NewStat struct {
	Name   string
	Kind   StatKind
	Int    int64
	Uint   uint64
	Double float64
	Text   string
}

// LineEdit changes one line. The zero LineEdit copies it.
type LineEdit struct {
	Drop        bool // leave the line out
	ID          *int64
	DisplayID   *int64
	Name        *string
	DisplayName *string
	TimestampNS *int64

	// Cursor maps offset_ps and ends (offset_ps + duration_ps), and the line's duration_ps where it has one. Measure and Rewrite
	// use clones of it. nil copies offsets and durations.
	Cursor *clock.Cursor

	// KeepFromPS and KeepToPS drop timed events that lie wholly outside [from, to), in ps from the line's new base. An event
	// that touches the range is kept whole. Aggregated events are kept.
	KeepFromPS, KeepToPS *int64

	// CorrectionBaseNS is added to the correction stat of every event of the line; the rest of the correction is what the file
	// shows: new minus old timestamp_ns, plus new minus old offset_ps.
	CorrectionBaseNS int64

	// Observe, when set, sees every kept timed event in stored order during Measure or Write: offset_ps before and after, and,
	// where the line has a Cursor, the bound of the new instant and how it was mapped. With several workers Observe functions of
	// different lines run at the same time.
	Observe func(oldPS, newPS, boundNS int64, cov clock.Coverage)
}

// active reports whether the edit changes or watches anything of the plane.
func (e *PlaneEdit) active() bool {
	if e.Drop || e.Name != nil || e.ID != nil || len(e.AddStats) > 0 || len(e.SetStats) > 0 {
		return true
	}
	for i := range e.Lines {
		if e.Lines[i].active() {
			return true
		}
	}
	return false
}

func (e *LineEdit) active() bool {
	return e.Drop || e.ID != nil || e.DisplayID != nil || e.Name != nil || e.DisplayName != nil || e.TimestampNS != nil || e.eventwise()
}

// eventwise reports whether single events may change.
func (e *LineEdit) eventwise() bool {
	return e.Cursor != nil || e.KeepFromPS != nil || e.KeepToPS != nil || e.Observe != nil
}

// moves reports whether events receive the correction stat.
func (e *LineEdit) moves() bool { return e.Cursor != nil || e.TimestampNS != nil }

// check refuses an edit that does not fit the space.
func (e *Edit) check(space *Space) error {
	if len(e.Planes) > len(space.Planes) {
		return fault.New(fault.Internal, "xspace: edit of %d planes for a file of %d", len(e.Planes), len(space.Planes))
	}
	for i := range e.Planes {
		if got, have := len(e.Planes[i].Lines), len(space.Planes[i].Lines); got > have {
			return fault.New(fault.Internal, "xspace: edit of %d lines for plane %d of %d", got, i, have)
		}
		for _, st := range slices.Concat(e.Planes[i].AddStats, e.Planes[i].SetStats) {
			if st.Kind != StatInt && st.Kind != StatUint && st.Kind != StatDouble && st.Kind != StatStr {
				return fault.New(fault.Internal, "xspace: new stat %q of plane %d has no value kind that can be added", st.Name, i)
			}
		}
	}
	return nil
}

// message encodes the stat as an XStat.
func (n *NewStat) message(id int64) []byte {
	b := appendVarint(nil, 1, uint64(id))
	switch n.Kind {
	case StatInt:
		return appendVarint(b, 4, uint64(n.Int))
	case StatUint:
		return appendVarint(b, 3, n.Uint)
	case StatDouble:
		b = appendTag(b, 2, wireFixed64)
		v := math.Float64bits(n.Double)
		for range 8 {
			b, v = append(b, byte(v)), v>>8
		}
		return b
	}
	return appendBytes(b, 5, n.Text)
}

// transform maps the events of one line. It is used by one goroutine.
type transform struct {
	cursor   *clock.Cursor
	from, to int64
	keepAll  bool
	hasTo    bool
	observe  func(oldPS, newPS, boundNS int64, cov clock.Coverage)
	boundNS  int64 // of the last event
	coverage clock.Coverage

	statID    int64 // 0: no correction stat
	hasStat   bool
	statAddNS int64

	// The result of the last event: new values, and how many bytes longer its message becomes.
	off, dur   int64
	setOff     bool // offset_ps changes in place
	insertOff  bool // offset_ps was absent and must be written
	setDur     bool
	correction int64
	withStat   bool

	counts Counts
}

// Counts say what an edit did to events.
type Counts struct {
	Events     int64 // in the output
	Mapped     int64 // went through a cursor
	Moved      int64 // of those, the ones whose offset_ps changed
	Dropped    int64 // outside the kept range, or in a dropped plane or line
	Aggregated int64 // in the output, without a time: copied
	Saturated  int64 // whose end does not fit an int64 (duration_ps is copied), or whose new duration does not (clamped)
}

func (c *Counts) add(d Counts) {
	c.Events += d.Events
	c.Mapped += d.Mapped
	c.Moved += d.Moved
	c.Dropped += d.Dropped
	c.Aggregated += d.Aggregated
	c.Saturated += d.Saturated
}

// newTransform prepares the events of a line; statID 0 means no correction stat.
func newTransform(l *Line, e *LineEdit, statID int64, hasStat bool) *transform {
	t := &transform{from: math.MinInt64, to: math.MaxInt64, observe: e.Observe}
	if e.Cursor != nil {
		t.cursor = e.Cursor.Clone()
	}
	if e.KeepFromPS != nil {
		t.from = *e.KeepFromPS
	}
	if e.KeepToPS != nil {
		t.to, t.hasTo = *e.KeepToPS, true
	}
	t.keepAll = e.KeepFromPS == nil && e.KeepToPS == nil
	if hasStat && e.moves() {
		t.hasStat, t.statID, t.statAddNS = true, statID, e.CorrectionBaseNS
		if e.TimestampNS != nil {
			t.statAddNS += *e.TimestampNS - l.TimestampNS
		}
	}
	return t
}

// event decides what becomes of an event. keep is false when it is left out; grow is the change of its message's length.
func (t *transform) event(ev *eventFields) (grow int, keep bool) {
	t.setOff, t.insertOff, t.setDur, t.withStat = false, false, false, false
	if ev.aggregated {
		t.counts.Events++
		t.counts.Aggregated++
		return 0, true
	}
	t.off, t.dur = ev.off, ev.dur
	if t.cursor != nil {
		t.mapEvent(ev)
	}
	if !t.keepAll && t.outside() {
		t.counts.Dropped++
		return 0, false
	}
	t.counts.Events++
	if t.observe != nil {
		t.observe(ev.off, t.off, t.boundNS, t.coverage)
	}
	if t.off != ev.off {
		t.counts.Moved++
		if ev.offPos != 0 {
			t.setOff = true
			grow += uvarintSize(uint64(t.off)) - (ev.offEnd - ev.offPos)
		} else {
			t.insertOff = true
			grow += 1 + uvarintSize(uint64(t.off))
		}
	}
	if t.dur != ev.dur { // only where duration_ps is present: an absent one is 0 and stays 0
		t.setDur = true
		grow += uvarintSize(uint64(t.dur)) - (ev.durEnd - ev.durPos)
	}
	if t.hasStat {
		t.withStat = true
		t.correction = t.statAddNS + roundPS(subSat(t.off, ev.off))
		grow += t.statLength()
	}
	return grow, true
}

func (t *transform) mapEvent(ev *eventFields) {
	t.counts.Mapped++
	if t.observe != nil {
		t.off, t.boundNS, t.coverage = t.cursor.Sample(ev.off)
	} else {
		t.off = t.cursor.Map(ev.off)
	}
	if ev.dur == 0 {
		return
	}
	end := ev.off + ev.dur
	if (end >= ev.off) != (ev.dur >= 0) { // the end is beyond int64: there is nothing to map, the duration stays
		t.counts.Saturated++
		return
	}
	end = t.cursor.Map(end)
	t.dur = end - t.off
	if (end >= t.off) != (t.dur >= 0) {
		t.counts.Saturated++
		t.dur = subSat(end, t.off)
	}
}

// outside reports whether the event lies wholly outside the kept range. An event without duration is in it when its start is.
func (t *transform) outside() bool {
	end := addSat(t.off, max(t.dur, 0))
	return t.off >= t.to && t.hasTo || end <= t.from && t.off < t.from
}

// statLength is the size of the correction stat with tag and length.
func (t *transform) statLength() int {
	return 2 + 2 + uvarintSize(uint64(t.statID)) + uvarintSize(uint64(t.correction))
}

func addSat(a, b int64) int64 {
	s := a + b
	if a > 0 && b > 0 && s < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && s >= 0 {
		return math.MinInt64
	}
	return s
}

func subSat(a, b int64) int64 {
	d := a - b
	if a >= 0 && b < 0 && d < 0 {
		return math.MaxInt64
	}
	if a < 0 && b > 0 && d >= 0 {
		return math.MinInt64
	}
	return d
}
