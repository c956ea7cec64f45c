// Package formats is the table of the formats of traces that prlx reads, and what is told by it: which format a file is of. Nothing but
// this table imports a format, but for core/api, which adds those whose reader stands above core/trace.
package formats

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/nsys"
	"github.com/prlx-go/prlx/core/trace/perfetto"
	"github.com/prlx-go/prlx/core/trace/rocprof"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// Table lists the formats, a line each. Where a directory holds traces of several, those of the first are taken. A format whose reader needs
// more than this box is added by core/api before anything is read.
var Table = []*source.Format{
	&xspace.Format,
	&chrometrace.Format,
	&nsys.Format,
	&rocprof.JSON,
	&rocprof.Table,
	&rocprof.Database,
	&perfetto.Format,
}

// Of returns the format of a file whose first bytes, decompressed, are head; nil where it is none of the table, or too damaged to tell.
func Of(head []byte) *source.Format {
	kind := format.Of(head)
	for _, f := range Table {
		if f.Kind == kind && f.Kind != "" || f.Claims != nil && !kind.Known() && f.Claims(head) {
			return f
		}
	}
	return nil
}

// likely is Of, with the format whose reader says best what is wrong where a file is damaged. Files of other kinds are refused by name.
func likely(path string, head []byte) (*source.Format, error) {
	if f := Of(head); f != nil {
		return f, nil
	}
	kind := format.Of(head)
	for _, f := range Table {
		if slices.Contains(f.Damaged, kind) {
			return f, nil
		}
	}
	return nil, kind.Refuse(path, expected)
}

// OfWhole tells the format of JSON whose first bytes do not tell by reading all of it: nil where it is JSON of another kind, an error where it
// is damaged, so that nobody can tell.
func OfWhole(ctx context.Context, path string, head []byte) (*source.Format, error) {
	f, err := likely(path, head)
	if err != nil {
		return nil, err
	}
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	t, err := f.Scan(ctx, src, source.ScanOptions{})
	switch {
	case errors.Is(err, source.ErrNoTrace):
		return nil, nil
	case err != nil:
		return nil, err
	case t.Facts().Timed == 0: // a list of other objects
		return nil, nil
	}
	return f, nil
}

// expected names what a reader of traces expects.
const expected = "an XSpace (.xplane.pb), Chrome / Kineto JSON, Nsight Systems, rocprofv3 or Perfetto trace"

// ForWork returns the format whose reader of work takes a file, and the file itself where it can be read only once: it was opened, and its first
// bytes were looked at. What is not known for certain goes to the reader of streams, whose error says what is wrong with it.
func ForWork(ctx context.Context, path string) (*source.Format, *file.Stream, error) {
	if st, err := os.Stat(path); path == "-" || err == nil && st.Mode()&os.ModeNamedPipe != 0 {
		stream, err := file.OpenStream(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		f, err := forWork(path, stream.Peek(format.HeadBytes))
		if err != nil {
			stream.Close()
			return nil, nil, err
		}
		return f, stream, nil
	}
	head, _, err := file.Head(ctx, path, format.HeadBytes)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	f, err := forWork(path, head)
	return f, nil, err
}

// forWork decides by the first bytes.
func forWork(path string, head []byte) (*source.Format, error) {
	if f := Of(head); f != nil {
		return f, nil
	}
	if kind := format.Of(head); kind.Known() && kind != format.Empty || kind == format.Binary {
		return nil, kind.Refuse(path, expected)
	}
	return Table[slices.IndexFunc(Table, func(f *source.Format) bool { return f.Streams })], nil
}

// Named returns the format whose files are called so, nil where none is.
func Named(name string) *source.Format {
	name = strings.ToLower(name)
	for _, compressed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compressed)
	}
	for _, f := range Table {
		if slices.ContainsFunc(f.Endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			return f
		}
	}
	return nil
}

// ByName returns the format of a name, nil where there is none.
func ByName(name string) *source.Format {
	for _, f := range Table {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// head reads the first bytes of an open file, as many as Of should see.
func head(src *file.Source) ([]byte, error) {
	head := make([]byte, min(src.Size(), format.HeadBytes))
	if n, err := src.ReadAt(head, 0); err != nil && n < len(head) {
		return nil, err
	}
	return head, nil
}

// Open opens a trace. With salvage what is complete of one that was cut is opened, and said says what was lost; nil: nothing.
func Open(ctx context.Context, path string, salvage bool) (src *file.Source, said *source.Salvaged, err error) {
	if !salvage {
		src, err = file.Open(ctx, path)
		return src, nil, err
	}
	src, cut, err := file.OpenCut(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	head, err := head(src)
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	var f source.Salvager
	if of, err := likely(src.Path(), head); err == nil { // else its reader refuses it
		f = of.Salvage
	}
	out, said, err := source.Salvage(ctx, src, cut, f)
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	return out, said, nil
}

// Scan tells which format an open file is of and scans it.
func Scan(ctx context.Context, src *file.Source, opt source.ScanOptions) (source.Trace, *source.Format, error) {
	head, err := head(src)
	if err != nil {
		return nil, nil, err
	}
	f, err := likely(src.Path(), head)
	if err != nil {
		return nil, nil, err
	}
	t, err := f.Scan(ctx, src, opt)
	return t, f, err
}
