package xspace

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// segmentSize is how much of a line is read, measured and rewritten at a time. It fits the second-level cache together with the
// output it becomes.
const segmentSize = 512 << 10

// lineScanner reads the event lists of lines, one after the other, through one buffer.
type lineScanner struct {
	ctx      context.Context
	src      *file.Source
	buf      []byte
	progress func(int64)
	prev     int64 // start of the previous timed event of the line
	batch    usualBatch
}

func newLineScanner(ctx context.Context, src *file.Source, progress func(int64)) *lineScanner {
	return &lineScanner{ctx: ctx, src: src, progress: progress}
}

// load reads bytes [off, off+n) of the source, n <= segmentSize, into a buffer with padding.
func loadSegment(ctx context.Context, src *file.Source, buf *[]byte, off, n int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.FromIO(src.Path(), err)
	}
	if need := int(n) + pad; cap(*buf) < need {
		*buf = make([]byte, min(max(need, 2*cap(*buf)), segmentSize+pad))
	}
	b := (*buf)[:int(n)+pad]
	clear(b[n:])
	return b, readFull(src, b[:n], off)
}

// scan fills in the summary, the marks and the segments of a line.
func (s *lineScanner) scan(plane int, l *Line) error {
	s.prev = math.MinInt64
	at := place{plane: plane, line: l.Index, event: -1}
	for off, end := l.Offset, l.Offset+l.Length; off < end; {
		n := min(end-off, segmentSize)
		b, err := loadSegment(s.ctx, s.src, &s.buf, off, n)
		if err != nil {
			return err
		}
		seg := segment{off: off, events: l.Events, plain: true, usual: true}
		used, bad := s.fields(l, &seg, b, int(n), off+n == end)
		if bad != nil {
			at.event = l.Events
			return fault.Formatf(s.src.Path(), off+int64(bad.pos), "%s%s", at, bad.what)
		}
		if used == 0 {
			if seg.n, err = s.bigField(at, l, &seg, end); err != nil {
				return err
			}
		} else {
			seg.n = int64(used)
		}
		l.segments = append(l.segments, seg)
		off += seg.n
		if s.progress != nil {
			s.progress(seg.n)
		}
	}
	return nil
}

// fields reads whole fields of a line from b[:n] and returns how many bytes they take. Unless the line ends with b, a field
// that is cut off is left for the next segment.
func (s *lineScanner) fields(l *Line, seg *segment, b []byte, n int, last bool) (used int, bad *wireFault) {
	var ev eventFields
	for i := 0; i < n; {
		if next := s.usual(l, seg, b, i, n); next > i {
			i = next
			continue
		}
		if b[i] == 4<<3|wireLen {
			if p, e := payload(b, i+1); e >= p && e <= n {
				if bad := parseEvent(b, p, e, &ev); bad != nil {
					return 0, bad
				}
				s.event(l, &ev)
				i = e
				continue
			}
		}
		if !last && n-i < 2*maxVarint {
			return i, nil
		}
		f, bad := parseTag(b, i, n)
		if bad != nil {
			if !last && f.wire == wireLen && f.val <= n && f.num > 0 && f.v < 1<<63 { // continues after the buffer
				return i, nil
			}
			return 0, bad
		}
		if f.num == 4 && f.wire == wireLen { // an event with a long tag
			if bad := parseEvent(b, f.val, f.end, &ev); bad != nil {
				return 0, bad
			}
			s.event(l, &ev)
		} else {
			seg.plain = false
			l.header(f.num, f.wire, f.v, mark{seg.off + int64(f.start), seg.off + int64(f.val), seg.off + int64(f.end)})
		}
		i = f.end
	}
	return n, nil
}

// usual takes usual events of a line from b[i:n] and returns where it stopped. It clears the segment's mark when what comes next looks
// like one and is none.
func (s *lineScanner) usual(l *Line, seg *segment, b []byte, i, n int) int {
	u := &s.batch
	u.read(b, i, n)
	if whole := u.stats(b); whole < u.n {
		var ev eventFields
		p := u.place[whole]
		parseEvent(b, p.begin()+p.head(), u.place[whole+1].begin(), &ev)
		if ev.aggregated || ev.offPos != p.begin()+p.off() || ev.durPos != p.begin()+p.dur()+1 {
			seg.usual = false
		}
		u.n = whole
	}
	if u.n == 0 {
		return i
	}
	first, last := l.MinOffsetPS, l.MaxEndPS
	if l.Timed() == 0 {
		first, last = math.MaxInt64, math.MinInt64
	}
	for k, off := range u.off[:u.n] {
		first, last = min(first, off), max(last, off+u.dur[k])
		if off < s.prev {
			l.Sorted = false
		}
		s.prev = off
	}
	l.MinOffsetPS, l.MaxEndPS = first, last
	l.Events += int64(u.n)
	return u.place[u.n].begin()
}

// event adds an event to the line's summary.
func (s *lineScanner) event(l *Line, ev *eventFields) {
	l.Events++
	if ev.aggregated {
		l.Aggregated++
		return
	}
	end := ev.off + ev.dur
	if ev.dur < 0 {
		l.Negative++
		end = ev.off
	} else if end < ev.off {
		l.Saturated++
		end = math.MaxInt64
	}
	if l.Timed() == 1 {
		l.MinOffsetPS, l.MaxEndPS = ev.off, end
	}
	l.MinOffsetPS = min(l.MinOffsetPS, ev.off)
	l.MaxEndPS = max(l.MaxEndPS, end)
	if ev.off < s.prev {
		l.Sorted = false
	}
	s.prev = ev.off
}

// header takes a singular field of the line.
func (l *Line) header(num, wire int, v uint64, m mark) {
	switch {
	case wire == wireVarint && num == 1:
		l.ID, l.marks[markLineID] = int64(v), m
	case wire == wireLen && num == 2:
		l.marks[markLineName] = m
	case wire == wireVarint && num == 3:
		l.TimestampNS, l.marks[markLineTimestamp] = int64(v), m
	case wire == wireVarint && num == 9:
		l.DurationPS, l.marks[markLineDuration] = int64(v), m
	case wire == wireVarint && num == 10:
		l.DisplayID, l.marks[markLineDisplayID] = int64(v), m
	case wire == wireLen && num == 11:
		l.marks[markLineDisplayName] = m
	}
}

// bigField reads a field of a line that does not fit a segment and returns its length.
func (s *lineScanner) bigField(at place, l *Line, seg *segment, end int64) (int64, error) {
	at.event = l.Events
	r := newReader(s.ctx, s.src, at)
	r.seek(seg.off)
	f, _, err := r.next(end)
	if err != nil {
		return 0, err
	}
	seg.plain, seg.usual, seg.big = false, false, true
	if !f.is(4, wireLen) {
		l.header(f.num, f.wire, f.v, mark{f.start, f.val, f.end})
		return f.end - f.start, nil
	}
	ev, err := r.bigEvent(f)
	if err != nil {
		return 0, err
	}
	s.event(l, &ev.eventFields)
	return f.end - f.start, nil
}

// bigEvent is an event that was walked without being held in memory: its values lie where the marks say, the positions of
// eventFields give only their lengths.
type bigEvent struct {
	eventFields
	offMark, durMark mark
}

// bigEvent walks the fields of an event that may have any size.
func (r *reader) bigEvent(event field) (ev bigEvent, err error) {
	r.seek(event.val)
	for {
		f, ok, err := r.next(event.end)
		if err != nil || !ok {
			return ev, err
		}
		if f.wire == wireVarint {
			switch f.num {
			case 1:
				ev.metadata = int64(f.v)
			case 2:
				ev.off, ev.offMark, ev.aggregated = int64(f.v), mark{f.start, f.val, f.end}, false
				ev.offPos, ev.offEnd = 1, 1+int(f.length())
			case 3:
				ev.dur, ev.durMark = int64(f.v), mark{f.start, f.val, f.end}
				ev.durPos, ev.durEnd = 1, 1+int(f.length())
			case 5:
				ev.num, ev.aggregated = int64(f.v), true
			}
		}
		r.skip(f)
	}
}
