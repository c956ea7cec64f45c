package xspace

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// salvageSpace finds where a file was cut: planes, lines, names and events that are complete in front of the cut are kept, and the lengths of
// the plane and the line that it is inside of are made to fit. nil, nil, nil: the file is whole, or damaged otherwise.
func salvageSpace(ctx context.Context, src *file.Source) (*source.Salvaged, *file.Repair, error) {
	s := &salvager{r: newReader(ctx, src, nowhere), src: src, inside: "the file"}
	if err := s.message(0, endless, 0); err != nil {
		if ctx.Err() != nil || fault.Of(err).Kind != fault.Format {
			return nil, nil, err
		}
		return nil, nil, nil // the scan says what is wrong
	}
	if s.keep <= 0 {
		return nil, nil, nil
	}
	said := &source.Salvaged{KeptBytes: s.keep, LeftOutBytes: src.Size() - s.keep, MissingBytes: s.missing, Inside: s.inside, NamesLost: s.unnamed}
	return said, &file.Repair{Keep: s.keep, Patches: s.patches}, nil
}

// salvager walks the fields of the file, of the plane that was cut and of its line that was cut.
type salvager struct {
	r       *reader
	src     *file.Source
	keep    int64 // where the file is made to end; -1: it is whole
	missing int64
	inside  string
	unnamed bool // the plane that was cut lacks names of its events
	patches []file.Patch
}

// The messages that are looked into: the file, a plane, a line.
const depthOfLines = 2

// endless is longer than any file: what a message claims beyond it is damage and no cut.
const endless = int64(1) << 44

// message walks a message that begins at off and should end at end, which may lie behind the file.
func (s *salvager) message(off, end int64, depth int) error {
	r, size := s.r, s.src.Size()
	s.keep = -1
	for r.seek(off); ; {
		start := r.offset()
		if start >= min(end, size) {
			if end > size && depth > 0 { // between two fields
				s.keep = size
			}
			return nil
		}
		f, _, err := r.next(end)
		if depth == 1 && err == nil && f.num <= 4 { // lines come before the names of their events
			s.unnamed = true
		} else if depth == 1 && err == nil && f.num > 4 {
			s.unnamed = false
		}
		if err != nil && end > size && size-start < 2*maxVarint {
			rest := make([]byte, size-start)
			if err := readFull(s.src, rest, start); err != nil {
				return err
			}
			if isHead(rest) {
				s.keep = start
				return nil
			}
		}
		if err != nil {
			return err
		}
		if f.end <= size {
			r.skip(f)
			continue
		}
		s.missing = max(s.missing, f.end-size)
		if depth < depthOfLines && f.is(2*depth+1, wireLen) { // XSpace.planes is field 1, XPlane.lines is field 3
			s.inside = fmt.Sprintf("the %s that begins at byte %d", []string{"plane", "line"}[depth], f.start)
			if err := s.message(f.val, f.end, depth+1); err != nil {
				return err
			}
			if s.keep > f.val {
				s.shorten(f)
				return nil
			}
		}
		if s.keep, s.patches = f.start, nil; depth == 0 {
			s.unnamed = false
		}
		return nil
	}
}

// isHead reports whether the bytes are the beginning of a field and not the whole of its tag, its length or its number.
func isHead(b []byte) bool {
	_, n := binary.Uvarint(b)
	if n == 0 {
		return true
	}
	if n < 0 {
		return false
	}
	rest := b[n:]
	switch b[0] & 7 {
	case wireVarint, wireLen:
		_, n = binary.Uvarint(rest)
		return n == 0
	case wireFixed64:
		return len(rest) < 8
	case wireFixed32:
		return len(rest) < 4
	}
	return false
}

// shorten makes a length fit what is kept, in the bytes that it has.
func (s *salvager) shorten(f field) {
	tag := f.start + int64(uvarintSize(uint64(f.num<<3|wireLen)))
	b := make([]byte, f.val-tag)
	v := uint64(s.keep - f.val)
	for i := range b {
		b[i] = byte(v)&0x7f | 0x80
		v >>= 7
	}
	b[len(b)-1] &= 0x7f
	s.patches = append([]file.Patch{{Offset: tag, Bytes: b}}, s.patches...)
}
