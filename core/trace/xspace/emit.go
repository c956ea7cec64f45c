package xspace

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// emitter writes pieces through one output buffer. It is used by one goroutine.
type emitter struct {
	ctx   context.Context
	src   *file.Source
	space *Space
	edit  *spaceEdit
	sizes *sizes

	w       io.Writer
	out     []byte // out[:n] is not written yet
	n       int
	written int64
	in      []byte
	batch   usualBatch

	ref lineRef // the line that t belongs to
	t   *transform

	once    *onePass      // set when sizes are only found while writing
	visitor *eventVisitor // sees the events of the line, too; nil: nobody does
}

// outputBuffer holds at least one segment; emitSlack is the room for what a copy in blocks may overrun.
const (
	outputBuffer = 1 << 20
	emitSlack    = 512
)

func newEmitter(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, sizes *sizes, w io.Writer) *emitter {
	size := min(outputBuffer, 2*space.Bytes)
	return &emitter{ctx: ctx, src: src, space: space, edit: edit, sizes: sizes, w: w, out: make([]byte, size+emitSlack), ref: lineRef{-1, -1}}
}

func (e *emitter) begin(w io.Writer) { e.w, e.written = w, 0 }

// finish writes what is buffered and checks the number of bytes written since begin.
func (e *emitter) finish(want int64) error {
	if err := e.flush(); err != nil {
		return err
	}
	if e.written != want {
		return fault.New(fault.Internal, "xspace: wrote %d bytes, measured %d", e.written, want).WithPath(e.src.Path())
	}
	return nil
}

func (e *emitter) flush() error {
	if e.n == 0 {
		return nil
	}
	if e.once != nil && e.once.lost {
		e.written, e.n = e.written+int64(e.n), 0
		return nil
	}
	n, err := e.w.Write(e.out[:e.n])
	e.written += int64(n)
	if err != nil {
		return err
	}
	if n != e.n {
		return io.ErrShortWrite
	}
	e.n = 0
	return nil
}

// room makes n bytes and the slack free behind what is buffered.
func (e *emitter) room(n int64) error {
	if int64(len(e.out)-emitSlack-e.n) >= n {
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	if int64(len(e.out)-emitSlack) < n {
		e.out = make([]byte, n+emitSlack)
	}
	return nil
}

func (e *emitter) piece(p piece) error {
	switch p.kind {
	case pieceBytes:
		return e.bytes(p.b)
	case pieceCopy:
		return e.copy(p.off, p.n)
	}
	return e.segment(p)
}

func (e *emitter) bytes(b []byte) error {
	if err := e.room(int64(len(b))); err != nil {
		return err
	}
	e.n += copy(e.out[e.n:], b)
	return nil
}

// copy copies n bytes of the source from off on.
func (e *emitter) copy(off, n int64) error {
	for n > 0 {
		if err := e.ctx.Err(); err != nil {
			return fault.FromIO(e.src.Path(), err)
		}
		room := int64(len(e.out) - emitSlack - e.n)
		if room == 0 || room < n && e.n > 0 && room < outputBuffer/4 {
			if err := e.flush(); err != nil {
				return err
			}
			continue
		}
		k := min(n, room)
		if err := readFull(e.src, e.out[e.n:e.n+int(k)], off); err != nil {
			return err
		}
		e.n += int(k)
		off, n = off+k, n-k
		e.progress(k)
	}
	return nil
}

func (e *emitter) progress(n int64) {
	if e.edit.Progress != nil {
		e.edit.Progress(n)
	}
}

// segment writes one segment of an edited line.
func (e *emitter) segment(p piece) error {
	plane := &e.sizes.planes[p.ref.plane]
	l, out := &e.space.Planes[p.ref.plane].Lines[p.ref.line], &plane.lines[p.ref.line]
	if e.ref != p.ref {
		e.ref = p.ref
		e.t = newTransform(l, e.edit.Plane(p.ref.plane).Line(p.ref.line), plane.stats)
		e.t.observe = nil // Measure did
	}
	seg := &l.segments[p.segment]
	before := e.position()
	if err := e.fields(p, seg, out); err != nil {
		return err
	}
	if p.n != unknown && e.position()-before != p.n {
		return changed(e.src, p.ref, seg.off)
	}
	return nil
}

// position returns how many bytes the emitter has made since begin.
func (e *emitter) position() int64 { return e.written + int64(e.n) }

// fields writes the fields of a segment.
func (e *emitter) fields(p piece, seg *segment, out *lineLayout) error {
	if seg.big {
		if err := e.visitor.also(seg, nil); err != nil {
			return err
		}
		return e.big(p, seg, out)
	}
	defer e.progress(seg.n)
	b, err := loadSegment(e.ctx, e.src, &e.in, seg.off, seg.n)
	if err != nil {
		return err
	}
	if err := e.visitor.also(seg, b); err != nil {
		return err
	}
	n, t := int(seg.n), e.t
	dst, o := e.out, e.n
	batches := seg.usual && t.onlyMaps()
	var ev eventFields
	for i := 0; i < n; {
		if batches {
			if next := e.batch.read(b, i, n); next > i {
				e.n = o
				if err := e.emitBatch(b); err != nil {
					return err
				}
				dst, o, i = e.out, e.n, next
				continue
			}
		}
		var from, to int
		if b[i] == 4<<3|wireLen {
			if from, to = i+2, i+2+int(b[i+1]); b[i+1] >= 0x80 {
				from, to = payload(b, i+1)
			}
			if to < from || to > n {
				return changed(e.src, p.ref, seg.off+int64(i))
			}
		} else {
			f, bad := parseTag(b, i, n)
			if bad != nil {
				return changed(e.src, p.ref, seg.off+int64(i))
			}
			if f.num != 4 || f.wire != wireLen {
				e.n = o
				if err := e.header(b[i:f.end], out, seg.off+int64(i)); err != nil {
					return err
				}
				dst, o, i = e.out, e.n, f.end
				continue
			}
			from, to = f.val, f.end
		}
		usual := parseUsual(b, from, to, &ev)
		if !usual && parseEvent(b, from, to, &ev) != nil {
			return changed(e.src, p.ref, seg.off+int64(i))
		}
		grow, keep := t.event(&ev)
		if keep {
			if o+(to-i)+emitSlack > len(dst) {
				e.n = o
				if err := e.room(int64(to - i)); err != nil {
					return err
				}
				dst, o = e.out, e.n
			}
			if usual && t.setOff && !t.withStat && from == i+2 && to-from+grow < 0x80 {
				o = t.emitUsual(dst, o, b, from, to, grow, &ev)
			} else {
				o = t.emit(dst, o, b, i, from, to, grow, &ev)
			}
		}
		i = to
	}
	e.n = o
	return nil
}

// emitBatch writes the events of the batch, which it maps.
func (e *emitter) emitBatch(b []byte) error {
	if err := e.room(e.batch.most()); err != nil {
		return err
	}
	e.t.mapBatch(&e.batch)
	e.n = e.batch.emit(e.out, e.n, b, &e.t.counts)
	return nil
}

// header writes a field of a line that is not an event.
func (e *emitter) header(field []byte, out *lineLayout, at int64) error {
	if r := replaced(out.marks, at); r != nil {
		field = r.b
	}
	return e.bytes(field)
}

// emit writes the event field in b[i:e], whose message begins at p, at dst[o] and returns the position after it.
func (t *transform) emit(dst []byte, o int, b []byte, i, p, e, grow int, ev *eventFields) int {
	from := i
	if grow != 0 {
		dst[o] = 4<<3 | wireLen
		o = putUvarint(dst, o+1, uint64(e-p+grow))
		from = p
	}
	if t.insertOff {
		o = copyShort(dst, o, b, from, p)
		from = p
		dst[o] = 2<<3 | wireVarint
		o = putUvarint(dst, o+1, uint64(t.off))
	}
	durLast := ev.durPos > ev.offPos
	if t.setDur && !durLast {
		o = copyShort(dst, o, b, from, ev.durPos)
		o = putUvarint(dst, o, uint64(t.dur))
		from = ev.durEnd
	}
	if t.setOff {
		o = copyShort(dst, o, b, from, ev.offPos)
		o = putUvarint(dst, o, uint64(t.off))
		from = ev.offEnd
	}
	if t.setDur && durLast {
		o = copyShort(dst, o, b, from, ev.durPos)
		o = putUvarint(dst, o, uint64(t.dur))
		from = ev.durEnd
	}
	o = copyShort(dst, o, b, from, e)
	if t.withStat {
		o = t.emitStats(dst, o)
	}
	return o
}

// emitUsual does what emit does for a moved event that parseUsual read, of less than 128 bytes before and after.
func (t *transform) emitUsual(dst []byte, o int, b []byte, p, e, grow int, ev *eventFields) int {
	off, dur, n := uint64(t.off), uint64(t.dur), e-p+grow
	d, s := dst[o:o+emitSlack/2], b[p:e+pad]
	d[0], d[1] = 4<<3|wireLen, byte(n)
	copy16(d[2:], s) // metadata_id takes at most eight bytes with its tag, the next tag one
	j := putUvarint(d, 2+ev.offPos-p, off)
	from := ev.offEnd - p
	if t.setDur {
		d[j] = 3<<3 | wireVarint
		j = putUvarint(d, j+1, dur)
		from = ev.durEnd - p
	}
	for ; from < e-p; from += 16 {
		copy16(d[j:], s[from:])
		j += 16
	}
	return o + 2 + n
}

// emitStats writes the stats that the event receives.
func (t *transform) emitStats(dst []byte, o int) int {
	if t.stats.hasCorrection {
		o = emitStat(dst, o, t.stats.correction, t.correction)
	}
	if t.stats.hasBound {
		o = emitStat(dst, o, t.stats.bound, t.bound)
	}
	return o
}

// emitStat writes an integer stat.
func emitStat(dst []byte, o int, id, value int64) int {
	dst[o], dst[o+1], dst[o+2] = 4<<3|wireLen, byte(statLength(id, value)-2), 1<<3|wireVarint
	o = putUvarint(dst, o+3, uint64(id))
	dst[o] = 4<<3 | wireVarint
	return putUvarint(dst, o+1, uint64(value))
}

// big writes a segment that holds one long field, in ranges.
func (e *emitter) big(p piece, seg *segment, out *lineLayout) error {
	f, ev, err := readBig(e.ctx, e.src, p.ref, seg)
	if err != nil {
		return err
	}
	if !f.is(4, wireLen) {
		if r := replaced(out.marks, f.start); r != nil {
			return e.bytes(r.b)
		}
		return e.copy(seg.off, seg.n)
	}
	grow, keep := e.t.event(&ev.eventFields)
	if !keep {
		return nil
	}
	w := &pieceWalk{visit: e.piece, pos: f.start}
	if grow != 0 {
		w.replace(prefix(4, f.length()+int64(grow)), f.val)
	}
	if e.t.insertOff {
		w.copyTo(f.val)
		w.replace(appendVarint(nil, 2, uint64(e.t.off)), f.val)
	}
	var marks []replacement
	if e.t.setOff {
		marks = append(marks, replacement{ev.offMark.val, ev.offMark.end, binary.AppendUvarint(nil, uint64(e.t.off))})
	}
	if e.t.setDur {
		marks = append(marks, replacement{ev.durMark.val, ev.durMark.end, binary.AppendUvarint(nil, uint64(e.t.dur))})
	}
	sortReplacements(marks)
	for _, m := range marks {
		w.mark(m)
	}
	w.copyTo(f.end)
	if e.t.withStat {
		var b [128]byte
		w.replace(b[:e.t.emitStats(b[:], 0)], f.end)
	}
	return w.err
}
