package chrometrace

import (
	"context"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// readGap reads what stands before a chunk in the list: white space, and the comma behind the chunk before it. i is the chunk's
// index, or the number of chunks for what stands behind the last one.
func (t *trace) readGap(src *file.Source, i int) ([]byte, error) {
	from, to := t.EventsOffset, t.EventsEnd
	if i > 0 {
		from = t.Chunks[i-1].End
	}
	if i < len(t.Chunks) {
		to = t.Chunks[i].Offset
	}
	if to-from > maxGap { // nobody writes this; a comma between chunks stays a comma
		if i == 0 || i == len(t.Chunks) {
			return nil, nil
		}
		return []byte{','}, nil
	}
	return readRange(src, from, to, nil)
}

// maxGap bounds the white space between two chunks that is copied.
const maxGap = 1 << 20

// readChunk reads the bytes of a chunk into buf, which it grows where needed.
func readChunk(src *file.Source, c *chunk, buf []byte) ([]byte, error) {
	return readRange(src, c.Offset, c.End, buf)
}

func readRange(src *file.Source, from, to int64, buf []byte) ([]byte, error) {
	n := int(to - from)
	if cap(buf) < n {
		buf = make([]byte, n, n+n/4)
	}
	buf = buf[:n]
	got, err := src.ReadAt(buf, from)
	if got < n {
		if err == nil || err == io.EOF {
			err = fault.Formatf(src.Path(), from+int64(got), "the file ends early: expected bytes up to %d", to)
		}
		return nil, err
	}
	return buf, nil
}

type documentWriter struct {
	ctx context.Context
	src *file.Source
	t   *trace
	r   *rewriter
	dst io.Writer
}

// head writes what stands before the list of events, its opening bracket included. A bare list has no place for a base: when the
// edit changes that, Head and Tail put a document around it.
func (r *rewriter) head(ctx context.Context, src *file.Source, dst io.Writer) error {
	d := &documentWriter{ctx: ctx, src: src, t: r.trace, r: r, dst: dst}
	if r.wraps() {
		text := append([]byte(`{"baseTimeNanoseconds":`), strconv.AppendInt(nil, r.outBase, 10)...)
		if _, err := dst.Write(append(text, `,"displayTimeUnit":"ns","traceEvents":[`...)); err != nil {
			return err
		}
		return nil
	}
	return d.around(0, r.trace.EventsOffset)
}

// tail writes what stands behind the list of events, its closing bracket included.
func (r *rewriter) tail(ctx context.Context, src *file.Source, dst io.Writer) error {
	d := &documentWriter{ctx: ctx, src: src, t: r.trace, r: r, dst: dst}
	if r.wraps() {
		end := "]}\n"
		if len(r.edit.Mark) > 0 {
			end = "],\n\"" + KeyMark + "\": " + string(r.edit.Mark) + "}\n"
		}
		_, err := io.WriteString(dst, end)
		return err
	}
	if len(r.edit.Mark) > 0 && !r.trace.Array && r.trace.key(KeyMark) == nil {
		return d.marked()
	}
	return d.around(r.trace.EventsEnd, r.trace.Size)
}

func (r *rewriter) wraps() bool { return r.trace.Array && r.outBase != r.trace.BaseNS }

func withoutCommas(b []byte) []byte {
	kept := b[:0]
	for _, c := range b {
		if c != ',' {
			kept = append(kept, c)
		}
	}
	return kept
}

// around copies bytes [from, to) that lie outside the list of events, with baseTimeNanoseconds edited.
func (d *documentWriter) around(from, to int64) error {
	base := d.t.key("baseTimeNanoseconds")
	changed := d.r.outBase != d.t.BaseNS
	if changed && base != nil && base.Offset >= from && base.Offset < to {
		if err := d.copy(from, base.Offset); err != nil {
			return err
		}
		text := strconv.FormatInt(d.r.outBase, 10)
		if len(base.Value) > 0 && base.Value[0] == '"' {
			text = `"` + text + `"`
		}
		if _, err := io.WriteString(d.dst, text); err != nil {
			return err
		}
		from = base.Offset + base.Length
	}
	if changed && base == nil && !d.t.Array && from == 0 {
		return d.insertBase(d.t.Keys[0].Offset, to) // a document with a list has at least that key
	}
	return d.copy(from, to)
}

// insertBase writes the document up to to, with the key for the base in front of the first one.
func (d *documentWriter) insertBase(valueAt, to int64) error {
	head, err := readRange(d.src, 0, valueAt, nil)
	if err != nil {
		return err
	}
	open := 0
	for open < len(head) && head[open] != '{' {
		open++
	}
	if open == len(head) {
		return fault.Formatf(d.t.Path, 0, "the file has changed since it was scanned")
	}
	text := append(head[:open+1:open+1], `"baseTimeNanoseconds":`...)
	text = strconv.AppendInt(text, d.r.outBase, 10)
	text = append(append(text, ','), head[open+1:]...)
	if _, err := d.dst.Write(text); err != nil {
		return err
	}
	return d.copy(valueAt, to)
}

func (d *documentWriter) copy(from, to int64) error {
	w := file.NewWindow(d.ctx, d.src, from, to, 1<<18)
	return w.CopyTo(d.dst, w.Remaining())
}
