package xspace

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// What Rewrite changes; the types are those of source.
type (
	spaceEdit = source.Edit
	planeEdit = source.PlaneEdit
	lineEdit  = source.LineEdit
	newStat   = source.NewStat
	nodeMark  = source.NodeMark
	marked    = source.Marked
)

// check refuses an edit that does not fit the space.
func check(e *spaceEdit, space *Space) error {
	if len(e.Planes) > len(space.Planes) {
		return fault.New(fault.Internal, "xspace: edit of %d planes for a file of %d", len(e.Planes), len(space.Planes))
	}
	for i := range e.Planes {
		if got, have := len(e.Planes[i].Lines), len(space.Planes[i].Lines); got > have {
			return fault.New(fault.Internal, "xspace: edit of %d lines for plane %d of %d", got, i, have)
		}
		for _, st := range slices.Concat(e.Planes[i].AddStats, e.Planes[i].SetStats) {
			if st.Kind != statInt && st.Kind != statUint && st.Kind != statDouble && st.Kind != statStr {
				return fault.New(fault.Internal, "xspace: new stat %q of plane %d has no value kind that can be added", st.Name, i)
			}
		}
	}
	return nil
}

// message encodes the stat as an XStat.
func message(n *newStat, id int64) []byte {
	b := appendVarint(nil, 1, uint64(id))
	switch n.Kind {
	case statInt:
		return appendVarint(b, 4, uint64(n.Int))
	case statUint:
		return appendVarint(b, 3, n.Uint)
	case statDouble:
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
	observe  func(*source.Observed)
	seen     source.Observed // what observe is told
	one      [2]int64        // offsets of one event, old and new, for seen

	stats     eventStats
	statAddNS int64
	bounds    *clock.Cursor // of the bound stat

	// The result of the last event: new values, and how many bytes longer its message becomes.
	off, dur   int64
	setOff     bool // offset_ps changes in place
	insertOff  bool // offset_ps was absent and must be written
	setDur     bool
	correction int64
	bound      int64
	withStat   bool // stats are added

	counts counts
}

// counts say what an edit did to events.
type counts struct {
	Events     int64 // in the output
	Mapped     int64 // went through a cursor
	Moved      int64 // of those, the ones whose offset_ps changed
	Dropped    int64 // outside the kept range, or in a dropped plane or line
	Aggregated int64 // in the output, without a time: copied
	Saturated  int64 // whose end does not fit an int64 (duration_ps is copied), or whose new duration does not (clamped)
}

func (c *counts) add(d counts) {
	c.Events += d.Events
	c.Mapped += d.Mapped
	c.Moved += d.Moved
	c.Dropped += d.Dropped
	c.Aggregated += d.Aggregated
	c.Saturated += d.Saturated
}

// eventStats are the stats that events receive: their metadata ids.
type eventStats struct {
	correction, bound       int64
	hasCorrection, hasBound bool
}

// none reports whether events receive no stat.
func (s *eventStats) none() bool { return !s.hasCorrection && !s.hasBound }

// newTransform prepares the events of a line, which receive those of the stats that the edit gives to this line.
func newTransform(l *Line, e *lineEdit, stats eventStats) *transform {
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
	if stats.hasBound && e.Bounds != nil {
		t.stats.hasBound, t.stats.bound, t.bounds = true, stats.bound, e.Bounds.Clone()
	}
	if stats.hasCorrection && e.Moves() {
		t.stats.hasCorrection, t.stats.correction, t.statAddNS = true, stats.correction, e.CorrectionBaseNS
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
		t.observeOne(ev.off)
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
	if !t.stats.none() {
		t.withStat = true
		t.correction = t.statAddNS + roundPS(subSat(t.off, ev.off))
		if t.bounds != nil {
			t.bound = t.bounds.BoundOf(ev.off, ev.dur)
		}
		grow += t.statsLength()
	}
	return grow, true
}

// observeOne tells about the last event, whose offset was old.
func (t *transform) observeOne(old int64) {
	t.one = [2]int64{old, t.off}
	t.seen.OldPS, t.seen.NewPS = t.one[:1], t.one[1:]
	t.observe(&t.seen)
}

func (t *transform) mapEvent(ev *eventFields) {
	t.counts.Mapped++
	if t.off = t.cursor.Map(ev.off); t.observe != nil {
		t.seen.Bounds = t.cursor.Bounds(ev.off)
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

// statsLength is the size of the stats that the event receives, with tags and lengths.
func (t *transform) statsLength() (n int) {
	if t.stats.hasCorrection {
		n += statLength(t.stats.correction, t.correction)
	}
	if t.stats.hasBound {
		n += statLength(t.stats.bound, t.bound)
	}
	return n
}

// statLength is the size of an integer stat with tag and length.
func statLength(id, value int64) int {
	return 2 + 2 + uvarintSize(uint64(id)) + uvarintSize(uint64(value))
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
