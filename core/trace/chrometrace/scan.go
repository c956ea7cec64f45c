package chrometrace

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// ScanOptions bounds what Scan keeps. The zero value means the defaults.
type ScanOptions struct {
	ChunkBytes int   // size of a chunk before it is closed; default 1 MiB
	MaxEvent   int   // longest single event, and longest single string of the document; default 64 MiB
	MaxValue   int64 // longest top-level value kept as text; default 4 MiB
	MaxNames   int   // distinct pids plus tids; default 200 000; more are an error
	Progress   func(bytes int64)
}

func (o ScanOptions) withDefaults() ScanOptions {
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = 1 << 20
	}
	if o.MaxEvent <= 0 {
		o.MaxEvent = 64 << 20
	}
	if o.MaxValue <= 0 {
		o.MaxValue = 4 << 20
	}
	if o.MaxNames <= 0 {
		o.MaxNames = 200_000
	}
	return o
}

// Scan walks the whole text once and returns what is in it. Memory is bounded by the options and by the number of distinct
// processes, threads and chunks, not by the size. Errors are *fault.Error with the byte offset.
func Scan(ctx context.Context, src *file.Source, opt ScanOptions) (*trace, error) {
	s := newScanner(ctx, src, opt)
	s.lex.shapes = newShapes()
	return s.scan()
}

func newScanner(ctx context.Context, src *file.Source, opt ScanOptions) *scanner {
	s := &scanner{opt: opt.withDefaults(), trace: &trace{Path: src.Path(), Size: src.Size()}}
	s.in = newInput(ctx, src, s.opt.MaxEvent)
	s.tally.init(s)
	return s
}

func (s *scanner) scan() (*trace, error) {
	if err := s.document(); err != nil {
		return nil, err
	}
	s.trace.Lenient.add(s.lex.lenient)
	return s.trace, s.tally.finish()
}

type scanner struct {
	opt   ScanOptions
	in    *input
	lex   lexer
	i     int // position in in.buf
	trace *trace
	tally tally
	chunk chunk
	open  bool // chunk has begun
}

func (s *scanner) offset(i int) int64 { return s.in.base + int64(i) }

func (s *scanner) errorf(i int, format string, args ...any) *fault.Error {
	return fault.Formatf(s.in.src.Path(), s.offset(i), format, args...)
}

// refill makes room for more bytes, dropping those before keep.
func (s *scanner) refill(keep int) (bool, error) {
	before := s.in.base
	ok, err := s.in.more(keep)
	dropped := int(s.in.base - before)
	s.i -= dropped
	s.lex.b = s.in.buf
	if s.opt.Progress != nil && dropped > 0 {
		s.opt.Progress(int64(dropped))
	}
	return ok, err
}

// next skips white space and returns the byte there, or 0 at the end of the text.
func (s *scanner) next() (byte, error) {
	for {
		s.i = s.lex.space(s.i)
		if s.i < len(s.lex.b) {
			return s.lex.b[s.i], nil
		}
		if ok, err := s.refill(s.i); !ok {
			return 0, err
		}
	}
}

// syntax makes the error for a negative result of the lexer.
func (s *scanner) syntax(r int, what string) error {
	if r == incomplete {
		return s.errorf(len(s.lex.b), "the text ends inside %s", what).WithHint("the file was cut or is still being written; what is complete in front of the cut can be read: --salvage")
	}
	i := badPos(r)
	if s.lex.tooDeep {
		return &fault.Error{Kind: fault.Limit, Path: s.in.src.Path(), Offset: s.offset(i), Msg: fmt.Sprintf("nested more than %d levels deep", maxDepth)}
	}
	return s.errorf(i, "wrong JSON: unexpected %q in %s", s.lex.b[i], what)
}

// need is next, where the end of the text and bytes other than want are errors.
func (s *scanner) need(want byte, where string) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c == want && s.i < len(s.lex.b) {
		s.i++
		return nil
	}
	if s.i >= len(s.lex.b) {
		return s.syntax(incomplete, where)
	}
	return s.errorf(s.i, "wrong JSON: expected %q in %s, got %q", want, where, c)
}

func (s *scanner) document() error {
	if ok, err := s.refill(0); !ok {
		if err != nil {
			return err
		}
		return s.errorf(0, "the file is empty, expected Chrome trace JSON")
	}
	if b := s.lex.b; len(b) >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf {
		s.i = 3 // a byte order mark
	}
	c, err := s.next()
	if err != nil {
		return err
	}
	switch {
	case c == '[':
		s.i++
		s.trace.Array = true
		err = s.events()
	case c == '{':
		s.i++
		err = s.object()
	case s.i >= len(s.lex.b):
		return s.errorf(s.i, "the file holds only white space, expected Chrome trace JSON")
	default:
		return s.errorf(s.i, "not Chrome trace JSON: starts with %q, expected { or [", c)
	}
	if err != nil || s.trace.Lenient.Unclosed {
		return err
	}
	if c, err = s.next(); err != nil {
		return err
	}
	if s.i < len(s.lex.b) {
		return s.errorf(s.i, "wrong JSON: %q after the end of the document", c)
	}
	return nil
}

// object reads the document around the list of events, from behind its brace.
func (s *scanner) object() error {
	found := false
	for first := true; ; first = false {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c == '}' && first {
			s.i++
			break
		}
		name, err := s.key()
		if err != nil {
			return err
		}
		if c, err = s.next(); err != nil {
			return err
		}
		if name.Name == "traceEvents" && c == '[' {
			if found {
				return s.errorf(s.i, "traceEvents occurs twice")
			}
			found = true
			name.Offset = s.offset(s.i)
			s.i++
			if err := s.events(); err != nil {
				return err
			}
			name.Length = s.offset(s.i) - name.Offset
			s.trace.Keys = append(s.trace.Keys, name)
		} else if err := s.topLevel(name); err != nil {
			return err
		}
		if c, err = s.next(); err != nil {
			return err
		}
		if c == '}' {
			s.i++
			break
		}
		if err := s.need(',', "the document"); err != nil {
			return err
		}
	}
	if !found {
		return s.errorf(0, "not a Chrome trace: the document has no traceEvents list").Wrap(source.ErrNoTrace)
	}
	return nil
}

// maxKeys bounds the number of top-level keys.
const maxKeys = 10000

func (s *scanner) key() (key, error) {
	if err := s.need('"', "the document"); err != nil {
		return key{}, err
	}
	s.i--
	for {
		r := s.lex.str(s.i + 1)
		if r >= 0 {
			raw := string(s.lex.b[s.i:r])
			s.i = r
			if len(s.trace.Keys) >= maxKeys || len(raw) > 1<<16 {
				return key{}, &fault.Error{Kind: fault.Limit, Path: s.in.src.Path(), Offset: s.offset(s.i), Msg: fmt.Sprintf("more than %d top-level keys, or one longer than 64 KiB", maxKeys)}
			}
			return key{Name: string(textOf([]byte(raw))), Raw: raw}, s.need(':', "the document")
		}
		ok, err := s.refill(s.i)
		if err != nil {
			return key{}, err
		}
		if !ok {
			return key{}, s.syntax(r, "a key")
		}
	}
}

// topLevel streams over one value of the document and keeps its text up to a bound.
func (s *scanner) topLevel(k key) error {
	k.Offset = s.offset(s.i)
	s.lex.begin(1)
	pos, kept := s.i, true
	keep := func(end int) {
		if kept = kept && int64(len(k.Value)+end-pos) <= s.opt.MaxValue; kept {
			k.Value = append(k.Value, s.lex.b[pos:end]...)
		} else {
			k.Value = nil
		}
	}
	for {
		r := s.lex.walk(pos, 1)
		if r >= 0 {
			keep(r)
			s.i = r
			break
		}
		if r != incomplete {
			return s.syntax(r, "a top-level value")
		}
		at := s.lex.tok
		keep(at)
		s.i = at
		ok, err := s.refill(at)
		if err != nil {
			return err
		}
		if !ok {
			return s.syntax(incomplete, "the value of "+k.Raw)
		}
		pos = s.i
	}
	k.Length = s.offset(s.i) - k.Offset
	if len(s.trace.Keys) == 0 && cap(s.trace.Keys) == 0 {
		s.trace.Keys = make([]key, 0, 16)
	}
	s.trace.Keys = append(s.trace.Keys, k)
	return s.tally.topLevel(&s.trace.Keys[len(s.trace.Keys)-1])
}

// events reads the list from behind its opening bracket to behind its closing one.
func (s *scanner) events() error {
	t := s.trace
	t.EventsOffset = s.offset(s.i)
	var f fields
	afterComma := false
	for {
		c, err := s.next()
		if err != nil {
			return err
		}
		if s.i >= len(s.lex.b) {
			return s.unclosed(afterComma)
		}
		if c == ']' {
			break
		}
		if err := s.element(c, &f); err != nil {
			return err
		}
		if c, err = s.next(); err != nil {
			return err
		}
		if s.i >= len(s.lex.b) {
			return s.unclosed(false)
		}
		if afterComma = c == ','; afterComma {
			s.i++
		} else if c != ']' {
			return s.errorf(s.i, "wrong JSON: expected , or ] after event %d, got %q", t.Events-1, c)
		}
	}
	if afterComma {
		t.Lenient.Trailing++
	}
	t.EventsEnd = s.offset(s.i)
	s.i++
	s.closeChunk()
	return nil
}

// unclosed accepts the end of the text inside a bare list, which the format allows.
func (s *scanner) unclosed(afterComma bool) error {
	if !s.trace.Array {
		return s.syntax(incomplete, "the list of events")
	}
	s.trace.Lenient.Unclosed = true
	if afterComma {
		s.trace.Lenient.Trailing++
	}
	s.trace.EventsEnd = s.offset(s.i)
	s.closeChunk()
	return nil
}

// element reads one element of the list, whose first byte is c.
func (s *scanner) element(c byte, f *fields) error {
	for {
		kept := s.lex.lenient
		var r int
		switch c {
		case '{':
			r = s.lex.event(s.i, f)
		case 'n':
			*f = fields{start: s.i, last: s.i + 1}
			r = s.lex.scalar(s.i)
			f.end = r
		default:
			err := s.errorf(s.i, "event %d is not an object: starts with %q", s.trace.Events, c)
			if s.trace.Array && s.trace.Events == 0 {
				err = err.Wrap(source.ErrNoTrace)
			}
			return err
		}
		if r >= 0 {
			s.noteChunk(f)
			if err := s.tally.event(s.lex.b, f, &s.chunk); err != nil {
				return err
			}
			s.i = r
			if s.chunk.End-s.chunk.Offset >= int64(s.opt.ChunkBytes) {
				s.closeChunk()
			}
			return nil
		}
		if r != incomplete {
			return s.syntax(r, fmt.Sprintf("event %d", s.trace.Events))
		}
		s.lex.lenient = kept
		ok, err := s.refill(s.i)
		if err != nil {
			return err
		}
		if !ok {
			return s.syntax(incomplete, fmt.Sprintf("event %d", s.trace.Events))
		}
	}
}

func (s *scanner) noteChunk(f *fields) {
	if !s.open {
		s.chunk = chunk{Offset: s.offset(f.start), First: s.trace.Events}
		s.open = true
	}
	s.chunk.End = s.offset(f.end)
}

func (s *scanner) closeChunk() {
	if s.open {
		s.trace.Chunks = append(s.trace.Chunks, s.chunk)
		s.open = false
	}
}
