package chrometrace

import (
	"context"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// ReadGap reads what stands before a chunk in the list: white space, and the comma behind the chunk before it. i is the chunk's
// index, or the number of chunks for what stands behind the last one.
func (t *Trace) ReadGap(src *file.Source, i int) ([]byte, error) {
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

// ReadChunk reads the bytes of a chunk into buf, which it grows where needed.
func ReadChunk(src *file.Source, c *Chunk, buf []byte) ([]byte, error) {
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

// Rewrite writes the whole document of one trace with an edit applied: what stands around the events as it is, apart from
// baseTimeNanoseconds, and between the events what stood there. With an edit that changes nothing the output is the input,
// byte for byte. It runs in one goroutine; callers that want more use a Rewriter themselves.
func Rewrite(ctx context.Context, src *file.Source, t *Trace, e Edit, dst io.Writer) (Counts, error) {
	var counts Counts
	r, err := NewRewriter(t, e)
	if err != nil {
		return counts, err
	}
	d := &documentWriter{ctx: ctx, src: src, t: t, r: r, dst: dst}
	err = d.write(&counts)
	return counts, err
}

type documentWriter struct {
	ctx      context.Context
	src      *file.Source
	t        *Trace
	r        *Rewriter
	dst      io.Writer
	raw, out []byte
	wrote    bool // an event has been written
}

// Head writes what stands before the list of events, its opening bracket included. A bare list has no place for a base: when the
// edit changes that, Head and Tail put a document around it.
func (r *Rewriter) Head(ctx context.Context, src *file.Source, dst io.Writer) error {
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

// Tail writes what stands behind the list of events, its closing bracket included.
func (r *Rewriter) Tail(ctx context.Context, src *file.Source, dst io.Writer) error {
	d := &documentWriter{ctx: ctx, src: src, t: r.trace, r: r, dst: dst}
	if r.wraps() {
		end := "]}\n"
		if len(r.edit.Mark) > 0 {
			end = "],\n\"" + KeyMark + "\": " + string(r.edit.Mark) + "}\n"
		}
		_, err := io.WriteString(dst, end)
		return err
	}
	if len(r.edit.Mark) > 0 && !r.trace.Array && r.trace.Key(KeyMark) == nil {
		return d.marked()
	}
	return d.around(r.trace.EventsEnd, r.trace.Size)
}

func (r *Rewriter) wraps() bool { return r.trace.Array && r.outBase != r.trace.BaseNS }

func (d *documentWriter) write(counts *Counts) error {
	t := d.t
	if err := d.r.Head(d.ctx, d.src, d.dst); err != nil {
		return err
	}
	added, n := d.r.Added(nil)
	at := t.EventsOffset
	w := d.r.Worker()
	for i := range t.Chunks {
		c := &t.Chunks[i]
		if err := d.ctx.Err(); err != nil {
			return fault.FromIO(t.Path, err)
		}
		var err error
		if d.raw, err = ReadChunk(d.src, c, d.raw); err != nil {
			return err
		}
		before := counts.Kept
		if d.out, err = w.Chunk(d.out[:0], d.raw, c, counts); err != nil {
			return err
		}
		if counts.Kept > before {
			if err := d.gap(at, c.Offset); err != nil {
				return err
			}
			if _, err := d.dst.Write(d.out); err != nil {
				return err
			}
			d.wrote = true
		}
		at = c.End
	}
	if n > 0 {
		if d.wrote {
			added = append([]byte(",\n"), added...)
		}
		if _, err := d.dst.Write(added); err != nil {
			return err
		}
		d.wrote = true
	}
	if err := d.gap(at, t.EventsEnd); err != nil {
		return err
	}
	return d.r.Tail(d.ctx, d.src, d.dst)
}

// gap writes bytes [from, to) of the list, which hold no event; before the first event kept only their white space.
func (d *documentWriter) gap(from, to int64) error {
	if d.wrote {
		return d.copy(from, to)
	}
	for from < to {
		end := min(to, from+maxGap)
		b, err := readRange(d.src, from, end, nil)
		if err != nil {
			return err
		}
		if _, err := d.dst.Write(withoutCommas(b)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

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
	base := d.t.Key("baseTimeNanoseconds")
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
