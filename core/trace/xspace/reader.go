package xspace

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// place names the message being read, for errors. Indexes count from 0 in stored order; -1 means none.
type place struct {
	plane, line int
	event       int64
	part        string
}

var nowhere = place{plane: -1, line: -1, event: -1}

func (p place) String() string {
	var b strings.Builder
	b.WriteString("xspace: ")
	if p.plane >= 0 {
		fmt.Fprintf(&b, "plane %d", p.plane)
		if p.line >= 0 {
			fmt.Fprintf(&b, ", line %d", p.line)
		}
		b.WriteString(": ")
	}
	if p.event >= 0 {
		fmt.Fprintf(&b, "event %d: ", p.event)
	}
	if p.part != "" {
		b.WriteString(p.part + ": ")
	}
	return b.String()
}

// reader walks fields of nested messages through one small buffer. It may move anywhere in the source.
type reader struct {
	ctx  context.Context
	src  *file.Source
	at   place
	buf  []byte // buf[:n] holds the bytes from base on; pad bytes follow
	base int64
	n    int
	pos  int // next unread byte in buf
}

// structureWindow is the buffer of a walk over everything but event lists.
const structureWindow = 32 << 10

func newReader(ctx context.Context, src *file.Source, at place) *reader {
	size := int64(structureWindow)
	if s := src.Size(); s < size {
		size = s
	}
	return &reader{ctx: ctx, src: src, at: at, buf: make([]byte, size+pad)}
}

func (r *reader) offset() int64 { return r.base + int64(r.pos) }

// seek moves to an absolute offset; bytes already in memory are kept.
func (r *reader) seek(off int64) {
	if off >= r.base && off <= r.base+int64(r.n) {
		r.pos = int(off - r.base)
		return
	}
	r.base, r.n, r.pos = off, 0, 0
}

// fill makes at least want bytes readable at pos, or all that the source still has.
func (r *reader) fill(want int) error {
	if r.n-r.pos >= want || r.base+int64(r.n) >= r.src.Size() {
		return nil
	}
	if err := r.ctx.Err(); err != nil {
		return fault.FromIO(r.src.Path(), err)
	}
	copy(r.buf, r.buf[r.pos:r.n])
	r.base += int64(r.pos)
	r.n -= r.pos
	r.pos = 0
	room := r.buf[r.n : len(r.buf)-pad]
	if rest := r.src.Size() - r.base - int64(r.n); int64(len(room)) > rest {
		room = room[:rest]
	}
	if err := readFull(r.src, room, r.base+int64(r.n)); err != nil {
		return err
	}
	r.n += len(room)
	return nil
}

// readFull reads exactly len(p) bytes, which the caller knows to lie inside the source.
func readFull(src *file.Source, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fault.Formatf(src.Path(), off+int64(n), "xspace: the file ended early: it had %d bytes when it was opened", src.Size())
	}
	return err
}

func (r *reader) fail(off int64, format string, args ...any) error {
	return fault.Formatf(r.src.Path(), off, "%s%s", r.at, fmt.Sprintf(format, args...))
}

// beyond is the error of a field that is longer than what is left. At the end of the file that is what a cut looks like.
func (r *reader) beyond(f *field, claimed uint64, end int64) error {
	err := fault.Of(r.fail(f.start, "field %d claims %d bytes, but only %d are left", f.num, claimed, end-f.val))
	if end == r.src.Size() {
		return err.WithHint("if the file was cut, what is complete in front of the cut can be read: --salvage")
	}
	return err
}

// field is one field of a message. For a wireLen field the reader stands at its payload, which the caller walks or skips.
type field struct {
	num   int
	wire  int
	start int64  // offset of the tag
	val   int64  // offset of the value; of the payload for wireLen
	end   int64  // offset after the field
	v     uint64 // value of a wireVarint, wireFixed64 or wireFixed32 field
}

func (f field) is(num, wire int) bool { return f.num == num && f.wire == wire }
func (f field) length() int64         { return f.end - f.val }

// next reads the next field of a message that ends at end; ok is false at its end.
func (r *reader) next(end int64) (f field, ok bool, err error) {
	f.start = r.offset()
	if f.start >= end {
		return f, false, nil
	}
	if err := r.fill(2*maxVarint + 8); err != nil {
		return f, false, err
	}
	tag, err := r.varint(end, "field tag")
	if err != nil {
		return f, false, err
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return f, false, r.fail(f.start, "field number %d is not valid: the bytes are not an XSpace, or are damaged", tag>>3)
	}
	f.num, f.wire, f.val = int(tag>>3), int(tag&7), r.offset()
	switch f.wire {
	case wireVarint:
		f.v, err = r.varint(end, "value")
	case wireFixed64:
		f.v, err = r.fixed(8, end)
	case wireFixed32:
		f.v, err = r.fixed(4, end)
	case wireLen:
		var n uint64
		if n, err = r.varint(end, "length"); err == nil {
			f.val = r.offset()
			if n > uint64(end-f.val) {
				return f, false, r.beyond(&f, n, end)
			}
			f.end = f.val + int64(n)
			return f, true, nil
		}
	default:
		return f, false, r.fail(f.start, "field %d has wire type %d, which no XSpace uses: the file is damaged", f.num, f.wire)
	}
	f.end = r.offset()
	return f, err == nil, err
}

// skip moves past a field.
func (r *reader) skip(f field) { r.seek(f.end) }

func (r *reader) varint(end int64, what string) (uint64, error) {
	clear(r.buf[r.n:min(r.n+maxVarint, len(r.buf))]) // a varint cut off by the end of the file ends there
	v, n := uvarint(r.buf, r.pos)
	if n == 0 {
		return 0, r.fail(r.offset(), "%s is longer than 64 bits", what)
	}
	if r.offset()+int64(n) > end || r.pos+n > r.n {
		return 0, r.fail(r.offset(), "%s is cut off by the end of its message", what)
	}
	r.pos += n
	return v, nil
}

func (r *reader) fixed(n int, end int64) (v uint64, err error) {
	if r.offset()+int64(n) > end || r.pos+n > r.n {
		return 0, r.fail(r.offset(), "a %d-byte value is cut off by the end of its message", n)
	}
	for k := n - 1; k >= 0; k-- {
		v = v<<8 | uint64(r.buf[r.pos+k])
	}
	r.pos += n
	return v, nil
}

// text reads the payload of f as valid UTF-8, at most limit bytes of it, and moves past the field.
func (r *reader) text(f field, limit int) (string, error) {
	b, err := r.payload(f, limit)
	return strings.ToValidUTF8(string(b), "\uFFFD"), err
}

// payload reads at most limit bytes of the payload of f and moves past the field. The slice is valid until the next call.
func (r *reader) payload(f field, limit int) ([]byte, error) {
	n := int(min(f.length(), int64(limit)))
	if n <= len(r.buf)-pad {
		r.seek(f.val)
		if err := r.fill(n); err != nil {
			return nil, err
		}
		b := r.buf[r.pos : r.pos+n]
		r.skip(f)
		return b, nil
	}
	b := make([]byte, n)
	err := readFull(r.src, b, f.val)
	r.skip(f)
	return b, err
}
