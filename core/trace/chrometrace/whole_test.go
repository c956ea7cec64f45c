package chrometrace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Rewrite writes the whole document of one trace with an edit applied: what stands around the events as it is, apart from
// baseTimeNanoseconds, and between the events what stood there. With an edit that changes nothing the output is the input,
// byte for byte. It runs in one goroutine; callers that want more use a Rewriter themselves.
func Rewrite(ctx context.Context, src *file.Source, t *trace, e edit, dst io.Writer) (counts, error) {
	var counts counts
	r, err := newRewriter(t, e)
	if err != nil {
		return counts, err
	}
	d := &wholeWriter{documentWriter: documentWriter{ctx: ctx, src: src, t: t, r: r, dst: dst}}
	err = d.write(&counts)
	return counts, err
}

// wholeWriter writes the list of events, too.
type wholeWriter struct {
	documentWriter
	raw, out []byte
	wrote    bool // an event has been written
}

func (d *wholeWriter) write(counts *counts) error {
	t := d.t
	if err := d.r.head(d.ctx, d.src, d.dst); err != nil {
		return err
	}
	added, n := d.r.added(nil)
	at := t.EventsOffset
	w := d.r.worker()
	for i := range t.Chunks {
		c := &t.Chunks[i]
		if err := d.ctx.Err(); err != nil {
			return fault.FromIO(t.Path, err)
		}
		var err error
		if d.raw, err = readChunk(d.src, c, d.raw); err != nil {
			return err
		}
		before := counts.Kept
		if d.out, err = w.chunk(d.out[:0], d.raw, c, counts); err != nil {
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
	return d.r.tail(d.ctx, d.src, d.dst)
}

// gap writes bytes [from, to) of the list, which hold no event; before the first event kept only their white space.
func (d *wholeWriter) gap(from, to int64) error {
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
