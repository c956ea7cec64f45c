package chrometrace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// salvage finds where a document was cut: the events of its list, and the keys before and behind it, that are complete in front of the
// cut are kept, and the list and the document are closed behind them. nil, nil, nil: the document is whole, or no document.
func salvage(ctx context.Context, src *file.Source) (*source.Salvaged, *file.Repair, error) {
	c := cutFinder{}
	buf := make([]byte, 1<<18)
	for off := int64(0); off < src.Size(); {
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.FromIO(src.Path(), err)
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), src.Size()-off)], off)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		if !c.walk(buf[:n], off) {
			return nil, nil, nil
		}
		off += int64(n)
	}
	if len(c.open) == 0 || c.keep == 0 {
		return nil, nil, nil
	}
	said := &source.Salvaged{KeptBytes: c.keep, LeftOutBytes: src.Size() - c.keep, Inside: "its JSON document"}
	tail := make([]byte, 0, cutDepth)
	for i := len(c.closers) - 1; i >= 0; i-- {
		tail = append(tail, c.closers[i])
	}
	return said, &file.Repair{Keep: c.keep, Tail: tail}, nil
}

// cutDepth is how deep the list of events lies in a document that is an object.
const cutDepth = 2

// cutFinder follows brackets and strings. Where a value is complete in the document, or in a list of the document, it could end.
type cutFinder struct {
	open    []byte // what closes the containers that are open
	text    bool   // inside a string
	escaped bool   // behind a backslash in it
	keep    int64  // where the document could end
	closers []byte // what closes it there
}

// walk follows the bytes at off. It is false where the brackets do not fit: then the text is no JSON.
func (c *cutFinder) walk(b []byte, off int64) bool {
	for i, ch := range b {
		if len(c.open) > maxDepth {
			return false
		}
		switch {
		case c.escaped:
			c.escaped = false
		case c.text:
			c.escaped = ch == '\\'
			c.text = ch != '"'
		case ch == '"':
			c.text = true
		case ch == '{':
			c.open = append(c.open, '}')
			c.settle(off+int64(i)+1, len(c.open) == 1)
		case ch == '[':
			c.open = append(c.open, ']')
			c.settle(off+int64(i)+1, true)
		case ch == '}', ch == ']':
			if len(c.open) == 0 || c.open[len(c.open)-1] != ch {
				return false
			}
			c.open = c.open[:len(c.open)-1]
			c.settle(off+int64(i)+1, true)
		case ch == ',':
			c.settle(off+int64(i), true)
		}
	}
	return true
}

// settle notes that the document could end at a place.
func (c *cutFinder) settle(at int64, whole bool) {
	n := len(c.open)
	if !whole || n > cutDepth || n == cutDepth && (c.open[1] != ']' || c.open[0] != '}') {
		return
	}
	c.keep, c.closers = at, append(c.closers[:0], c.open...)
}
