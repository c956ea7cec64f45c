package file

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
)

// Window is a sequential cursor over a byte range of a Source that never holds more than its size in memory.
// It is not safe for concurrent use; several Windows over one Source are.
type Window struct {
	ctx  context.Context
	src  *Source
	buf  []byte // buf[r:w] is unread
	r, w int
	next int64 // offset in src of the byte after buf[w-1]
	end  int64 // offset in src where the range ends
}

// NewWindow returns a cursor over bytes [off, end) of src with a buffer of size bytes. end is clipped to the source's size.
func NewWindow(ctx context.Context, src *Source, off, end int64, size int) *Window {
	if end > src.Size() {
		end = src.Size()
	}
	if off > end {
		off = end
	}
	if rest := end - off; int64(size) > rest {
		size = int(rest)
	}
	return &Window{ctx: ctx, src: src, buf: make([]byte, size), next: off, end: end}
}

// Offset returns the absolute offset of the next unread byte.
func (w *Window) Offset() int64 { return w.next - int64(w.w-w.r) }

// Remaining returns how many bytes of the range are unread.
func (w *Window) Remaining() int64 { return w.end - w.Offset() }

// Buffered returns the unread bytes that are in memory, without reading. The slice is valid until the next call.
func (w *Window) Buffered() []byte { return w.buf[w.r:w.w] }

// Fill reads until the buffer is full or the range is at its end, and returns the unread bytes in memory.
func (w *Window) Fill() ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, fault.FromIO(w.src.path, err)
	}
	if w.r > 0 {
		copy(w.buf, w.buf[w.r:w.w])
		w.w -= w.r
		w.r = 0
	}
	for w.w < len(w.buf) && w.next < w.end {
		p := w.buf[w.w:]
		if rest := w.end - w.next; int64(len(p)) > rest {
			p = p[:rest]
		}
		n, err := w.src.ReadAt(p, w.next)
		w.w += n
		w.next += int64(n)
		if n < len(p) {
			if err == nil || err == io.EOF {
				return nil, fault.Formatf(w.src.path, w.next, "file ended early: expected bytes up to %d", w.end)
			}
			return nil, err
		}
	}
	return w.buf[w.r:w.w], nil
}

// Peek returns at least min(n, Remaining()) unread bytes without consuming them. n must not exceed the window's size.
func (w *Window) Peek(n int) ([]byte, error) {
	if w.w-w.r >= n || w.next == w.end {
		return w.buf[w.r:w.w], nil
	}
	return w.Fill()
}

// Discard consumes n bytes, in memory or not. Discarding more than Remaining is a Format error.
func (w *Window) Discard(n int64) error {
	if n > w.Remaining() || n < 0 {
		return fault.Formatf(w.src.path, w.Offset(), "needs %d bytes, %d are left", n, w.Remaining())
	}
	if in := int64(w.w - w.r); n > in {
		w.next += n - in
		w.r, w.w = 0, 0
		return nil
	}
	w.r += int(n)
	return nil
}

// CopyTo writes the next n bytes to dst and consumes them.
func (w *Window) CopyTo(dst io.Writer, n int64) error {
	if n > w.Remaining() || n < 0 {
		return fault.Formatf(w.src.path, w.Offset(), "needs %d bytes, %d are left", n, w.Remaining())
	}
	for n > 0 {
		b := w.Buffered()
		if len(b) == 0 {
			var err error
			if b, err = w.Fill(); err != nil {
				return err
			}
		}
		if int64(len(b)) > n {
			b = b[:n]
		}
		if _, err := dst.Write(b); err != nil {
			return err
		}
		w.r += len(b)
		n -= int64(len(b))
	}
	return nil
}
