package clockfile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// lineReader walks the lines of a source and holds one of them.
type lineReader struct {
	path string
	w    *file.Window
	n    int // number of the line returned last, 1-based
}

func newLineReader(ctx context.Context, src *file.Source) *lineReader {
	return &lineReader{path: src.Path(), w: file.NewWindow(ctx, src, 0, src.Size(), maxLine+1)}
}

// next returns the next line without its end, and whether it had one. After the last it returns io.EOF. The slice is valid
// until the next call.
func (r *lineReader) next() (line []byte, ended bool, err error) {
	if r.w.Remaining() == 0 {
		return nil, false, io.EOF
	}
	b := r.w.Buffered()
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if b, err = r.w.Fill(); err != nil {
			return nil, false, err
		}
		i = bytes.IndexByte(b, '\n')
	}
	r.n++
	switch {
	case i >= 0:
		line, ended = b[:i], true
	case int64(len(b)) == r.w.Remaining():
		line = b
	default:
		return nil, false, &fault.Error{Kind: fault.Limit, Path: r.path, Line: r.n, Offset: r.w.Offset(), Msg: "the line is longer than 1 MiB"}
	}
	n := int64(len(line))
	if ended {
		n++
	}
	if err := r.w.Discard(n); err != nil {
		return nil, false, err
	}
	if r.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimSpace(line), ended, nil
}

// readAll reads a whole file that may be at most limit bytes long.
func readAll(src *file.Source, limit int64) ([]byte, error) {
	if src.Size() > limit {
		return nil, fault.New(fault.Limit, "is %d bytes long; a document of this kind may have %d", src.Size(), limit).WithPath(src.Path())
	}
	b := make([]byte, src.Size())
	if _, err := src.ReadAt(b, 0); err != nil && !isEOF(err) {
		return nil, fault.FromIO(src.Path(), err)
	}
	return b, nil
}
