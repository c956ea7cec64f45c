package xspace

import (
	"context"
	"encoding/binary"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Event is one event during a visit. It and what it returns are valid only until the visit returns, strings excepted.
type Event struct {
	Index      int64 // in its line, stored order
	MetadataID int64
	OffsetPS   int64 // from line.timestamp_ns; 0 for aggregated events
	DurationPS int64 // for aggregated events over all occurrences
	Aggregated bool  // has num_occurrences instead of a time
	Num        int64 // num_occurrences
	Offset     int64 // of the message in the file
	Length     int64
	Truncated  bool // longer than EventOptions.MaxEventBytes: its stats were not read

	names *tables
	b     []byte // b[from:to] is the message, pad bytes follow
	from  int
	to    int
	err   *wireFault
}

// tables are the name tables of the plane being visited.
type tables struct{ events, stats *names }

// Name returns the name of the event's metadata, "" when there is none.
func (e *Event) Name() string { return e.names.events.name(e.MetadataID) }

// Stats returns an iterator over the event's stats: for it := e.Stats(); it.Next(); { st := it.Stat() }.
func (e *Event) Stats() statIter { return statIter{e: e, i: e.from} }

// statIter iterates over the stats of one event.
type statIter struct {
	e  *Event
	i  int
	st xStat
}

// Stat returns the current stat. Its Bytes are valid until the visit returns; strings stay valid.
func (it *statIter) Stat() *xStat { return &it.st }

// Next moves to the next stat. A damaged stat ends the iteration; EventsOf and Events then return the error.
func (it *statIter) Next() bool {
	e := it.e
	for it.i < e.to {
		f, bad := parseTag(e.b, it.i, e.to)
		if bad != nil {
			e.err = bad
			return false
		}
		it.i = f.end
		if f.num == 4 && f.wire == wireLen {
			if bad := it.parse(f.val, f.end); bad != nil {
				e.err, it.i = bad, e.to
				return false
			}
			return true
		}
	}
	return false
}

func (it *statIter) parse(i, end int) *wireFault {
	e := it.e
	it.st = xStat{}
	for i < end {
		f, bad := parseTag(e.b, i, end)
		if bad != nil {
			return bad
		}
		i = f.end
		if f.num == 1 && f.wire == wireVarint {
			it.st.MetadataID = int64(f.v)
			continue
		}
		if f.wire == wireFixed64 {
			f.v = binary.LittleEndian.Uint64(e.b[f.val:])
		}
		if it.st.value(f.num, f.wire, f.v) && f.wire == wireLen {
			it.st.Bytes = e.b[f.val:f.end:f.end]
			it.st.Offset, it.st.Length = e.Offset+int64(f.val-e.from), int64(f.end-f.val)
		}
	}
	it.st.resolve(e.names.stats)
	return nil
}

// EventOptions are what EventsOf needs beside the line. The zero value loads the plane's whole name tables.
type EventOptions struct {
	EventNames    *names // nil: loaded
	StatNames     *names // nil: loaded
	Only          *idSet // only events of this metadata; one with several ids, which no producer writes, may be missed. nil: all
	MaxEventBytes int    // longer events are visited without stats; default 16 MiB
}

// Events visits the events of every line that want accepts (nil: all), in stored order. Name tables are held for one plane
// at a time.
func Events(ctx context.Context, src *file.Source, space *Space, want func(p *Plane, l *Line) bool, visit func(p *Plane, l *Line, e *Event) error) error {
	for i := range space.Planes {
		p := &space.Planes[i]
		var opt EventOptions
		for k := range p.Lines {
			l := &p.Lines[k]
			if l.Events == 0 || want != nil && !want(p, l) {
				continue
			}
			if err := opt.load(ctx, src, p); err != nil {
				return err
			}
			if err := EventsOf(ctx, src, p, l, opt, func(e *Event) error { return visit(p, l, e) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *EventOptions) load(ctx context.Context, src *file.Source, p *Plane) (err error) {
	if o.MaxEventBytes <= 0 {
		o.MaxEventBytes = 16 << 20
	}
	if o.EventNames == nil {
		if o.EventNames, err = LoadEventNames(ctx, src, p, NameOptions{}); err != nil {
			return err
		}
	}
	if o.StatNames == nil {
		o.StatNames, err = LoadStatNames(ctx, src, p, NameOptions{})
	}
	return err
}

// EventsOf visits the events of one line in stored order. Several lines may be visited at the same time.
func EventsOf(ctx context.Context, src *file.Source, p *Plane, l *Line, opt EventOptions, visit func(e *Event) error) error {
	if err := opt.load(ctx, src, p); err != nil {
		return err
	}
	return newEventVisitor(ctx, src, p, l, opt, visit).line(l)
}

// newEventVisitor visits events of a line with tables that are loaded.
func newEventVisitor(ctx context.Context, src *file.Source, p *Plane, l *Line, opt EventOptions, visit func(e *Event) error) *eventVisitor {
	v := &eventVisitor{ctx: ctx, src: src, at: place{plane: p.Index, line: l.Index}, opt: opt, visit: visit}
	v.e.names = &tables{events: opt.EventNames, stats: opt.StatNames}
	return v
}

// line visits all events of the line.
func (v *eventVisitor) line(l *Line) error {
	var buf []byte
	for i := range l.segments {
		seg := &l.segments[i]
		if seg.big {
			if err := v.bigSegment(seg); err != nil {
				return err
			}
			continue
		}
		b, err := loadSegment(v.ctx, v.src, &buf, seg.off, seg.n)
		if err != nil {
			return err
		}
		if err := v.segment(seg, b); err != nil {
			return err
		}
	}
	return nil
}

type eventVisitor struct {
	ctx   context.Context
	src   *file.Source
	at    place
	opt   EventOptions
	visit func(e *Event) error
	e     Event
}

func (v *eventVisitor) segment(seg *segment, b []byte) error {
	index, n := seg.events, int(seg.n)
	for i := 0; i < n; {
		if only := v.opt.Only; only != nil && b[i] == 4<<3|wireLen && b[i+1] < 0x80 && b[i+2] == 1<<3|wireVarint {
			x := uint64(b[i+3]) | uint64(b[i+4])<<8 // an id of one or two bytes, without a branch
			long := x >> 7 & 1
			id := x&0x7f | x>>1&0x3f80&-long
			if e := i + 2 + int(b[i+1]); long&(x>>15) == 0 && e > i+4 && e <= n && !only.has(id) {
				i = e
				index++
				continue
			}
		}
		f, bad := parseTag(b, i, n)
		if bad != nil {
			return v.fail(index, seg.off, bad)
		}
		i = f.end
		if f.num != 4 || f.wire != wireLen {
			continue
		}
		if err := v.event(index, b, f.val, f.end, seg.off+int64(f.val)); err != nil {
			return err
		}
		index++
	}
	return nil
}

// event visits the event in b[from:to], which lies at offset at of the file.
func (v *eventVisitor) event(index int64, b []byte, from, to int, at int64) error {
	var ev eventFields
	base := at - int64(from)
	if parseUsual(b, from, to, &ev) {
		id, _ := uvarint(b, from+1)
		ev.metadata = int64(id)
	} else if bad := parseEvent(b, from, to, &ev); bad != nil {
		return v.fail(index, base, bad)
	}
	if v.skips(ev.metadata) {
		return nil
	}
	v.take(index, &ev, at, int64(to-from))
	v.e.b, v.e.from, v.e.to = b, from, to
	if err := v.visit(&v.e); err != nil {
		return err
	}
	if v.e.err != nil {
		return v.fail(index, base, v.e.err)
	}
	return nil
}

// skips reports whether events of a metadata id were not asked for.
func (v *eventVisitor) skips(id int64) bool { return v.opt.Only != nil && !v.opt.Only.Has(id) }

func (v *eventVisitor) take(index int64, ev *eventFields, offset, length int64) {
	e := &v.e
	e.Index, e.MetadataID, e.OffsetPS, e.DurationPS = index, ev.metadata, ev.off, ev.dur
	e.Aggregated, e.Num, e.Offset, e.Length = ev.aggregated, ev.num, offset, length
	if ev.aggregated {
		e.OffsetPS = 0
	}
	e.Truncated = false
}

func (v *eventVisitor) fail(index, base int64, bad *wireFault) error {
	v.at.event = index
	return fault.Formatf(v.src.Path(), base+int64(bad.pos), "%s%s", v.at, bad.what)
}

// bigSegment visits an event that does not fit a segment.
func (v *eventVisitor) bigSegment(seg *segment) error {
	v.at.event = seg.events
	r := newReader(v.ctx, v.src, v.at)
	r.seek(seg.off)
	f, _, err := r.next(seg.off + seg.n)
	if err != nil || !f.is(4, wireLen) {
		return err
	}
	if f.length() <= int64(v.opt.MaxEventBytes) {
		b := make([]byte, int(f.length())+pad)
		if err := readFull(v.src, b[:f.length()], f.val); err != nil {
			return err
		}
		return v.event(seg.events, b, 0, int(f.length()), f.val)
	}
	ev, err := r.bigEvent(f)
	if err != nil || v.skips(ev.metadata) {
		return err
	}
	v.take(seg.events, &ev.eventFields, f.val, f.length())
	v.e.Truncated, v.e.from, v.e.to = true, 0, 0
	return v.visit(&v.e)
}

// idSet is a set of metadata ids.
type idSet struct {
	low  []uint64
	high map[int64]bool
	n    int
}

// add puts an id into the set.
func (s *idSet) add(id int64) {
	if s.Has(id) {
		return
	}
	s.n++
	if id < 0 || id >= lowIDs {
		if s.high == nil {
			s.high = map[int64]bool{}
		}
		s.high[id] = true
		return
	}
	for int64(len(s.low)) <= id>>6 {
		s.low = append(s.low, 0)
	}
	s.low[id>>6] |= 1 << (id & 63)
}

// Has reports whether an id is in the set.
func (s *idSet) Has(id int64) bool {
	if id < 0 || id >= lowIDs {
		return s.high[id]
	}
	return s.has(uint64(id))
}

// len returns how many ids are in the set.
func (s *idSet) len() int { return s.n }

// has serves small ids.
func (s *idSet) has(id uint64) bool {
	return id>>6 < uint64(len(s.low)) && s.low[id>>6]>>(id&63)&1 != 0
}
