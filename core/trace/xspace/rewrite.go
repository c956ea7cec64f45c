package xspace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/safe"
)

// rewrite writes the edited file: exactly sizes.Total bytes. What no edit touches is copied byte for byte: unknown fields, order,
// varints in more bytes than they need. sizes must come from Measure with the same space and edit.
func rewrite(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, sizes *sizes, w io.Writer) error {
	if edit == nil {
		edit = &spaceEdit{}
	}
	e := newEmitter(ctx, src, space, edit, sizes, w)
	if err := walkPieces(space, sizes, e.piece); err != nil {
		return err
	}
	return e.finish(sizes.Total)
}

// rewriteAt does what Rewrite does into w from offset at on, with several workers that write disjoint ranges. The bytes do not
// depend on the number of workers.
func rewriteAt(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, sizes *sizes, w io.WriterAt, at int64, workers int) error {
	if edit == nil {
		edit = &spaceEdit{}
	}
	if workers <= 1 {
		return rewrite(ctx, src, space, edit, sizes, io.NewOffsetWriter(w, at))
	}
	g, ctx := safe.NewGroup(ctx)
	batches := make(chan batch, workers)
	g.Go(func() error {
		defer close(batches)
		return sendBatches(ctx, space, sizes, batches)
	})
	for range workers {
		g.Go(func() error {
			e := newEmitter(ctx, src, space, edit, sizes, nil)
			for b := range batches {
				e.begin(io.NewOffsetWriter(w, at+b.at))
				for _, p := range b.pieces {
					if err := e.piece(p); err != nil {
						return err
					}
				}
				if err := e.finish(b.n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// batch is a run of pieces that becomes the n output bytes from at on.
type batch struct {
	pieces []piece
	at, n  int64
}

const batchSize = 2 << 20

func sendBatches(ctx context.Context, space *Space, sizes *sizes, batches chan<- batch) error {
	var b batch
	send := func() error {
		if len(b.pieces) == 0 {
			return nil
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return fault.Of(ctx.Err())
		}
		b = batch{at: b.at + b.n}
		return nil
	}
	add := func(p piece) error {
		b.pieces = append(b.pieces, p)
		if b.n += p.length(); b.n >= batchSize {
			return send()
		}
		return nil
	}
	err := walkPieces(space, sizes, func(p piece) error {
		for p.kind == pieceCopy && p.n > batchSize {
			if err := add(piece{kind: pieceCopy, off: p.off, n: batchSize}); err != nil {
				return err
			}
			p.off, p.n = p.off+batchSize, p.n-batchSize
		}
		return add(p)
	})
	if err != nil {
		return err
	}
	return send()
}

type pieceKind uint8

const (
	pieceCopy    pieceKind = iota // n bytes of the source from off on
	pieceBytes                    // b
	pieceSegment                  // a segment of an edited line, n bytes long when written
)

// piece is a run of output bytes.
type piece struct {
	kind    pieceKind
	off, n  int64
	b       []byte
	ref     lineRef
	segment int
}

func (p *piece) length() int64 {
	if p.kind == pieceBytes {
		return int64(len(p.b))
	}
	return p.n
}

// pieceWalk turns a layout into pieces: everything up to pos is done, what follows is copied unless something else is said.
type pieceWalk struct {
	visit func(piece) error
	pos   int64
	err   error
	once  *onePass // set when lengths are not known yet
}

// unknown is the length of a segment that was not measured.
const unknown = -1

func (w *pieceWalk) emit(p piece) {
	if w.err == nil && p.length() != 0 {
		w.err = w.visit(p)
	}
}

// copyTo copies the source up to off.
func (w *pieceWalk) copyTo(off int64) {
	w.emit(piece{kind: pieceCopy, off: w.pos, n: off - w.pos})
	w.pos = off
}

// replace writes b instead of the source up to end.
func (w *pieceWalk) replace(b []byte, end int64) {
	w.emit(piece{kind: pieceBytes, b: b})
	w.pos = end
}

// open writes tag and length of a message and its new first fields.
func (w *pieceWalk) open(num int, tag, payload, old, length int64, head []byte) {
	if old == length || w.once != nil {
		w.copyTo(payload)
		w.replace(head, payload)
		return
	}
	w.copyTo(tag)
	w.replace(append(prefix(num, length), head...), payload)
}

// walkPieces visits the pieces of the output in order.
func walkPieces(space *Space, sizes *sizes, visit func(piece) error) error {
	w := &pieceWalk{visit: visit}
	return w.space(space, sizes)
}

func (w *pieceWalk) space(space *Space, sizes *sizes) error {
	for i := range space.Planes {
		p, out := &space.Planes[i], &sizes.planes[i]
		end := p.Offset + p.Length
		switch out.mode {
		case dropped:
			w.copyTo(p.tag)
			w.pos = end
		case edited:
			at := w.mayGrow(p.tag)
			w.open(1, p.tag, p.Offset, p.Length, out.length, out.head)
			w.plane(p, out)
			w.copyTo(end)
			w.replace(out.tail, end)
			if w.once != nil && w.err == nil {
				out.addUp(p)
				w.err = w.once.close(1, at, p.Offset-p.tag, p.Length, out.length)
			}
		}
		if w.err != nil {
			return w.err
		}
	}
	w.copyTo(space.Bytes)
	return w.err
}

func (w *pieceWalk) plane(p *Plane, out *planeLayout) {
	marks := out.marks
	for k := range p.Lines {
		l, lo := &p.Lines[k], &out.lines[k]
		for len(marks) > 0 && marks[0].start < l.tag {
			w.mark(marks[0])
			marks = marks[1:]
		}
		switch lo.mode {
		case dropped:
			w.copyTo(l.tag)
			w.pos = l.Offset + l.Length
		case edited:
			if w.once != nil {
				w.lineOnce(lineRef{p.Index, k}, l, lo)
				break
			}
			w.open(3, l.tag, l.Offset, l.Length, lo.length, lo.head)
			w.line(lineRef{p.Index, k}, l, lo)
		}
		if w.err != nil {
			return
		}
	}
	for _, m := range marks {
		w.mark(m)
	}
}

func (w *pieceWalk) mark(m replacement) {
	w.copyTo(m.start)
	w.replace(m.b, m.end)
}

func (w *pieceWalk) line(ref lineRef, l *Line, lo *lineLayout) {
	for i := range l.segments {
		seg := &l.segments[i]
		if seg.plain && !lo.walk {
			continue
		}
		w.copyTo(seg.off)
		w.emit(piece{kind: pieceSegment, n: lo.segments[i], ref: ref, segment: i})
		w.pos = seg.off + seg.n
	}
}
