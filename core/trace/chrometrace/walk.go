package chrometrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
)

// interest says what to do with an event.
type interest uint8

// Interests.
const (
	pass   interest = iota // skip it without looking at the rest of it
	byName                 // ask again with its name
	take                   // visit it
)

// walkOptions say what Walk visits. Want and Visit are needed.
type walkOptions struct {
	Path     string
	MaxEvent int // longest single event that is wanted; default 64 MiB
	// Want is asked as soon as phase and category of an event are known; both may be absent (0, nil). Name is asked where it said byName.
	Want func(phase byte, cat []byte) interest
	Name func(phase byte, cat, name []byte) bool
	// Visit sees the wanted events in the order of the text. The event is valid until it returns.
	Visit    func(e *walked) error
	Progress func()
}

// micros is a number of microseconds: US and PS millionths of one more, 0 to 999 999.
type micros struct {
	US int64
	PS int32
}

// walked is one event of a walk.
type walked struct {
	Phase         byte
	Cat           []byte
	PID, TID      []byte // as written
	TS, Dur       micros // relative to the base of the document
	HasTS, HasDur bool   // absent, unusable or beyond 292 years otherwise
	Document      int

	rawName  []byte // as written, with its quotes
	name     []byte // decoded when it is asked for
	named    bool
	argsText []byte
	known    *shape // of the event, where it has one that says where its args are
	w        *walker
	visitErr error
}

// Name returns the event's name, decoded.
func (e *walked) Name() []byte {
	if !e.named {
		e.named, e.name = true, textInto(&e.w.text, e.rawName)
	}
	return e.name
}

// arg returns the text of an arg: a string decoded, anything else as it is written.
func (e *walked) arg(key string) ([]byte, bool) {
	v := e.rawArg(key)
	return textOf(v), v != nil
}

// rawArg returns an arg as it is written, nil where absent.
func (e *walked) rawArg(key string) []byte {
	if e.known == nil {
		return findArg(&e.w.arg, e.argsText, key)
	}
	for i := range e.known.args {
		if a := &e.known.args[i]; a.key == key {
			return e.w.lex.shapes.span(a.from, a.to).of(e.w.lex.b)
		}
	}
	return nil
}

// argUint returns an arg that is an integer from 0, or a string that holds one.
func (e *walked) argUint(key string) (uint64, bool) {
	v, ok := e.arg(key)
	if !ok {
		return 0, false
	}
	n, ok := integer(v)
	return uint64(n), ok && n >= 0
}

// walkedDocument is one of the documents of a text; most have one.
type walkedDocument struct {
	Array       bool
	BaseNS      int64 // baseTimeNanoseconds, 0 where absent
	HasBase     bool
	Host        string
	Distributed *distributedInfo
	Events      int64
}

// walkResult says what a walk met.
type walkResult struct {
	Documents []walkedDocument
	Bytes     int64
	Events    int64
	Empty     int64 // {} or null
	Skipped   int64 // places that are not events; the walk went on at the next one
	Truncated bool  // the text ends inside of a document
	Trailing  int64 // bytes after the last document that belong to none
}

// walk goes through the text once, front to back, and visits the events that are wanted. Unlike Scan it judges nothing: events that
// nobody wants are skipped by counting brackets, and of wrong JSON it reads what it can: a text that is cut, several documents one behind
// another, invalid numbers, damaged events. What it left out is in the result. Errors are those of the reader, of Visit, a text that is
// no trace at all, and an event longer than MaxEvent.
func walk(ctx context.Context, r io.Reader, opt walkOptions) (*walkResult, error) {
	if opt.MaxEvent <= 0 {
		opt.MaxEvent = 64 << 20
	}
	w := &walker{ctx: ctx, r: r, opt: opt, res: &walkResult{}, askedAt: -1}
	w.lex.shapes = newShapes()
	w.lex.b = make([]byte, 0, bufferSize)
	err := w.all()
	w.res.Bytes = w.base + int64(len(w.lex.b))
	return w.res, err
}

type walker struct {
	ctx  context.Context
	r    io.Reader
	opt  walkOptions
	lex  lexer // lex.b is the window
	base int64 // offset of the window
	i    int   // position in the window
	end  bool  // the window reaches the end of the text
	res  *walkResult
	f    fields
	e    walked
	arg  lexer  // for args
	text []byte // room for a name that is decoded

	askedAt int64 // offset of the event that Want was asked about last
	answer  interest
}

func (w *walker) offset(i int) int64 { return w.base + int64(i) }

func (w *walker) doc() *walkedDocument { return &w.res.Documents[len(w.res.Documents)-1] }

// fill drops the window before keep and reads on. It reports false at the end of the text.
func (w *walker) fill(keep int) (bool, error) {
	if err := w.ctx.Err(); err != nil {
		return false, fault.FromIO(w.opt.Path, err)
	}
	if w.end {
		return false, nil
	}
	b := w.lex.b
	n := copy(b[:cap(b)], b[keep:])
	w.base += int64(keep)
	w.i -= keep
	b = b[:n]
	if n > cap(b)/2 {
		if cap(b) >= w.opt.MaxEvent {
			return false, &fault.Error{Kind: fault.Limit, Path: w.opt.Path, Offset: w.base, Msg: fmt.Sprintf("one event takes more than %d bytes", w.opt.MaxEvent)}
		}
		grown := make([]byte, n, min(2*cap(b), w.opt.MaxEvent))
		copy(grown, b)
		b = grown
	}
	for len(b) < cap(b) {
		got, err := w.r.Read(b[len(b):cap(b)])
		b = b[:len(b)+got]
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, err
			}
			w.end = true
			w.res.Truncated = w.res.Truncated || err != io.EOF
			break
		}
	}
	w.lex.b = b
	if w.opt.Progress != nil {
		w.opt.Progress()
	}
	return len(b) > n, nil
}

// next skips white space and returns the byte there, 0 at the end of the text.
func (w *walker) next() (byte, error) {
	for {
		if w.i = w.lex.space(w.i); w.i < len(w.lex.b) {
			return w.lex.b[w.i], nil
		}
		if ok, err := w.fill(w.i); !ok {
			return 0, err
		}
	}
}

func (w *walker) atEnd() bool { return w.i >= len(w.lex.b) }

// all reads documents until the text ends.
func (w *walker) all() error {
	if _, err := w.fill(0); err != nil {
		return err
	}
	if bytes.HasPrefix(w.lex.b, []byte("\xef\xbb\xbf")) {
		w.i = 3
	}
	for {
		c, err := w.next()
		if err != nil {
			return err
		}
		first := len(w.res.Documents) == 0
		switch {
		case w.atEnd() && !first:
			return nil
		case w.atEnd() && w.offset(w.i) == 0:
			return fault.Formatf(w.opt.Path, 0, "the file is empty, expected Chrome trace JSON")
		case w.atEnd():
			return fault.Formatf(w.opt.Path, w.offset(w.i), "the file holds only white space, expected Chrome trace JSON")
		case c == '[' || c == '{':
			w.i++
			w.res.Documents = append(w.res.Documents, walkedDocument{Array: c == '['})
			if err := w.document(c); err != nil {
				return err
			}
		case c == ',' && !first:
			w.i++
		case first:
			return fault.Formatf(w.opt.Path, w.offset(w.i), "not Chrome trace JSON: starts with %q, expected { or [", c)
		default:
			return w.trailing()
		}
	}
}

// maxDocuments bounds how many documents one text may hold.
const maxDocuments = 1 << 12

func (w *walker) document(open byte) error {
	if len(w.res.Documents) > maxDocuments {
		return fault.New(fault.Limit, "more than %d documents one behind another", maxDocuments).WithPath(w.opt.Path)
	}
	if open == '[' {
		return w.events()
	}
	found, err := w.object()
	if err == nil && !found {
		if len(w.res.Documents) > 1 { // something else behind a trace
			w.res.Documents = w.res.Documents[:len(w.res.Documents)-1]
			w.res.Skipped++
			return nil
		}
		if w.res.Truncated {
			return fault.Formatf(w.opt.Path, w.offset(w.i), "the text ends before a traceEvents list").WithHint("the file was cut, or is no Chrome trace")
		}
		return fault.Formatf(w.opt.Path, 0, "not a Chrome trace: the document has no traceEvents list")
	}
	return err
}

// trailing counts what is left of the text.
func (w *walker) trailing() error {
	for {
		w.res.Trailing += int64(len(w.lex.b) - w.i)
		w.i = len(w.lex.b)
		if ok, err := w.fill(w.i); !ok {
			return err
		}
	}
}

// object reads a document from behind its brace. It reports whether a list of events was found.
func (w *walker) object() (found bool, err error) {
	for {
		c, err := w.next()
		switch {
		case err != nil:
			return found, err
		case w.atEnd():
			w.res.Truncated = true
			return found, nil
		case c == '}':
			w.i++
			return found, nil
		case c == ',':
			w.i++
			continue
		case c != '"':
			return found, w.noKey(found, c)
		}
		key, err := w.key()
		if err != nil {
			return found, err
		}
		c, err = w.next()
		if err != nil {
			return found, err
		}
		if c != ':' || w.atEnd() {
			if w.atEnd() {
				continue
			}
			return found, w.noKey(found, c)
		}
		w.i++
		if c, err = w.next(); err != nil {
			return found, err
		}
		if key == "traceEvents" && c == '[' {
			found = true
			w.i++
			if err := w.events(); err != nil {
				return found, err
			}
			continue
		}
		if err := w.value(key, c); err != nil {
			return found, err
		}
	}
}

// noKey ends a document whose text is not that of an object.
func (w *walker) noKey(found bool, c byte) error {
	if !found {
		return fault.Formatf(w.opt.Path, w.offset(w.i), "wrong JSON: unexpected %q in the document, before a traceEvents list", c)
	}
	w.res.Skipped++
	return w.trailing()
}

// key reads a key of the document; the end of the text inside of it ends the key.
func (w *walker) key() (string, error) {
	for {
		if r := w.lex.str(w.i + 1); r >= 0 {
			k := string(textOf(w.lex.b[w.i:r]))
			w.i = r
			return k, nil
		}
		if len(w.lex.b)-w.i > 1<<16 {
			return "", fault.Formatf(w.opt.Path, w.offset(w.i), "a key of the document is longer than 64 KiB")
		}
		ok, err := w.fill(w.i)
		if err != nil {
			return "", err
		}
		if !ok {
			w.i = len(w.lex.b)
			return "", nil
		}
	}
}

// keptValue is how much of a top-level value is kept.
const keptValue = 4 << 20

// value goes over one top-level value and keeps those that matter.
func (w *walker) value(key string, c byte) error {
	keep := key == "baseTimeNanoseconds" || key == "distributedInfo" || key == "host_name" || key == "hostname"
	var text []byte
	k := skipFrom(c)
	switch {
	case w.atEnd():
		return nil
	case c == '{' || c == '[':
	case c == '"':
		k.inString, k.depth = true, 1 // ends at the quote, see below
		k.open, k.close = 0, 0
		w.i++
		text = append(text, '"')
	default:
		return w.bareValue(key)
	}
	for {
		from := w.i
		var r int
		if k.close == 0 {
			r = w.lex.str(w.i)
		} else {
			r = k.run(w.lex.b, w.i)
		}
		to := r
		if r < 0 {
			to = len(w.lex.b)
			if k.close == 0 { // a string is read again from where no escape can be cut
				if to > from && !w.end {
					to = max(from, to-8)
					for to > from && w.lex.b[to-1] == '\\' {
						to--
					}
				}
			}
		}
		if keep = keep && len(text)+to-from <= keptValue; keep {
			text = append(text, w.lex.b[from:to]...)
		}
		w.i = to
		if r >= 0 {
			if keep {
				w.note(key, text)
			}
			return nil
		}
		ok, err := w.fill(to)
		if err != nil {
			return err
		}
		if !ok {
			w.i = len(w.lex.b)
			return nil
		}
	}
}

// bareValue goes over a number or literal.
func (w *walker) bareValue(key string) error {
	for {
		r := bare(w.lex.b, w.i)
		if r < len(w.lex.b) || w.end {
			if r == w.i {
				w.i++ // a byte that cannot stand here
				return nil
			}
			w.note(key, w.lex.b[w.i:r])
			w.i = r
			return nil
		}
		if r-w.i > 1<<16 {
			return fault.Formatf(w.opt.Path, w.offset(w.i), "a number of the document is longer than 64 KiB")
		}
		if _, err := w.fill(w.i); err != nil {
			return err
		}
	}
}

// note keeps what a top-level value says.
func (w *walker) note(key string, raw []byte) {
	d := w.doc()
	switch key {
	case "baseTimeNanoseconds":
		if n, err := strconv.ParseInt(string(textOf(raw)), 10, 64); err == nil {
			d.BaseNS, d.HasBase = n, true
		} else {
			w.res.Skipped++
		}
	case "distributedInfo":
		d.Distributed = readDistributed(raw)
	case "host_name", "hostname":
		if raw[0] == '"' {
			d.Host = clip(string(textOf(raw)))
		}
	}
}
