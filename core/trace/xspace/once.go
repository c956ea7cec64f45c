package xspace

import (
	"context"
	"errors"
	"io"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// errLengths is what write returns when a length turned out to need more or fewer bytes than in the input, after it was written.
// The Sizes are complete then: write again, into an empty file, with Rewrite.
var errLengths = errors.New("xspace: a message's length takes another number of bytes than before")

// write does what measure and Rewrite do in one pass over the events: it writes each length as it was and corrects it when the
// message is complete. The output begins at offset 0 of w and is the same as Rewrite's. Observe functions of the edit are called
// as by measure.
//
// It goes through a buffer of a size: what is still in it can change its length, what was written cannot.
// operations, when set, sees the operations in the lines that are written event by event.
func write(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, operations *source.OperationReading, w io.WriterAt, buffer int64) (*sizes, error) {
	m, err := newMeasurer(ctx, src, space, edit)
	if err != nil {
		return nil, err
	}
	e := newEmitter(ctx, src, space, m.edit, m.sizes, io.NewOffsetWriter(w, 0))
	e.out = make([]byte, buffer+emitSlack)
	e.once = &onePass{m: m, e: e, w: w}
	if operations != nil {
		e.once.operations = space.operations(ctx, src, operations)
	}
	walk := &pieceWalk{visit: e.piece, once: e.once}
	if err := walk.space(space, m.sizes); err != nil {
		return nil, err
	}
	m.addUp()
	if err := e.flush(); err != nil {
		return nil, err
	}
	if e.once.lost {
		return m.sizes, errLengths
	}
	return m.sizes, e.finish(m.sizes.Total)
}

// onePass corrects lengths behind the emitter.
type onePass struct {
	m    *measurer
	e    *emitter
	w    io.WriterAt
	lost bool // a length does not fit its place: nothing more is written, sizes are still found

	operations *operationReader // nil: nobody asked
}

// mayGrow copies the source up to a message whose length is open, and returns where it begins in the output.
func (w *pieceWalk) mayGrow(tag int64) int64 {
	if w.once == nil {
		return 0
	}
	w.copyTo(tag)
	return w.once.e.position()
}

// lineOnce writes an edited line whose length is not known.
func (w *pieceWalk) lineOnce(ref lineRef, l *Line, lo *lineLayout) {
	m, e := w.once.m, w.once.e
	at := w.mayGrow(l.tag)
	_, t := m.begin(ref)
	e.ref, e.t = ref, t
	if w.err == nil {
		e.visitor, w.err = w.once.operations.visitorOf(ref.plane, l)
	}
	w.open(3, l.tag, l.Offset, l.Length, lo.length, lo.head)
	for i := range l.segments {
		seg := &l.segments[i]
		if lo.segments[i] = seg.n; seg.plain && !lo.walk {
			continue
		}
		w.copyTo(seg.off)
		before := e.position()
		w.emit(piece{kind: pieceSegment, n: unknown, ref: ref, segment: i})
		w.pos = seg.off + seg.n
		lo.segments[i] = e.position() - before
		lo.length += lo.segments[i] - seg.n
	}
	w.copyTo(l.Offset + l.Length)
	lo.finish(l, t)
	if w.err == nil {
		w.err = w.once.close(3, at, l.Offset-l.tag, l.Length, lo.length)
	}
}

// close corrects the tag and length of a complete message: width bytes at output offset at, which still say old.
func (o *onePass) close(num int, at, width, old, length int64) error {
	if old == length || o.lost {
		return nil
	}
	p, e := prefix(num, length), o.e
	if k := at - e.written; k >= 0 { // all of it is still in the buffer
		grow := len(p) - int(width)
		if e.n+grow > len(e.out) {
			if err := e.flush(); err != nil {
				return err
			}
			o.lost = true
			return nil
		}
		copy(e.out[int(k)+len(p):], e.out[int(k+width):e.n])
		copy(e.out[k:], p)
		e.n += grow
		return nil
	}
	if o.lost = int64(len(p)) != width; o.lost {
		return nil
	}
	if n := min(e.written-at, width); n < width { // the buffer was written in the middle of it
		copy(e.out, p[n:])
		p = p[:n]
	}
	_, err := o.w.WriteAt(p, at)
	return err
}
