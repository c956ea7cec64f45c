package chrometrace

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Event is one event during a visit. It, its texts and what its methods return are valid until the visit returns.
type Event struct {
	Phase       byte // ph; 0 where there is no usable one
	Cat, Name   []byte
	Process     *traceProcess // nil where the event has no pid
	Thread      int           // place in Process.Threads, -1 where absent
	TID         []byte        // as written
	Timed       bool          // Start and End are known
	Start, End  Instant       // absolute; End is Start where there is no dur
	HasDuration bool
	DurationPS  int64 // saturated at 106 days

	lex *lexer
	f   *fields
}

// Arg returns the text of an arg: a string decoded, anything else as it is written.
func (e *Event) Arg(key string) ([]byte, bool) {
	v, ok := lookup(e.lex, e.f.at[fieldArgs], key)
	if !ok {
		return nil, false
	}
	return textOf(v.of(e.lex.b)), true
}

// ArgInt returns an arg that is an integer, or a string that holds one.
func (e *Event) ArgInt(key string) (int64, bool) {
	text, ok := e.Arg(key)
	if !ok {
		return 0, false
	}
	return integer(text)
}

// args calls visit with the decoded key and the text of every arg, until it returns false.
func (e *Event) args(visit func(key, value []byte) bool) {
	e.lex.members(e.f.at[fieldArgs], func(key []byte, v span) bool { return visit(key, textOf(v.of(e.lex.b))) })
}

// integer reads a decimal integer.
func integer(text []byte) (int64, bool) {
	neg := len(text) > 0 && text[0] == '-'
	if neg {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	switch {
	case neg && v <= 1<<63:
		return -int64(v), true
	case !neg && v < 1<<63:
		return int64(v), true
	}
	return 0, false
}

// Events visits, in the order of the list, the events that want accepts (nil: all; metadata events too, empty ones never). want
// sees no more than what is cheap to find: phase, category and name, decoded. Memory is bounded by the longest chunk.
func Events(ctx context.Context, src *file.Source, t *trace, want func(phase byte, cat, name []byte) bool, visit func(e *Event) error) error {
	r := newEventReader(t)
	var raw []byte
	for i := range t.Chunks {
		c := &t.Chunks[i]
		if err := ctx.Err(); err != nil {
			return fault.FromIO(t.Path, err)
		}
		var err error
		if raw, err = readChunk(src, c, raw); err != nil {
			return err
		}
		if err := r.chunk(raw, c, want, visit); err != nil {
			return err
		}
	}
	return nil
}

// collectiveKernels visits the kernels that Scan listed in Trace.Collectives. It reads only these.
func collectiveKernels(ctx context.Context, src *file.Source, t *trace, visit func(e *Event) error) error {
	const window = 1 << 18
	r := newEventReader(t)
	var raw []byte
	var from, to int64 // the bytes in raw
	for i, x := range t.Collectives {
		if i%1024 == 0 && ctx.Err() != nil {
			return fault.FromIO(t.Path, ctx.Err())
		}
		if x.Offset < from || x.Offset+x.Length > to {
			from, to = x.Offset, x.Offset+x.Length
			for _, next := range t.Collectives[i+1:] {
				if next.Offset+next.Length-from > window {
					break
				}
				to = next.Offset + next.Length
			}
			var err error
			if raw, err = readRange(src, from, to, raw); err != nil {
				return err
			}
		}
		at := int(x.Offset - from)
		r.lex.b = raw[:at+int(x.Length)]
		if raw[at] != '{' || r.lex.event(at, &r.f) < 0 {
			return r.changed(x.Offset)
		}
		r.take()
		if err := visit(&r.e); err != nil {
			return err
		}
	}
	return nil
}

// eventReader makes Events of text that Scan has read.
type eventReader struct {
	t       *trace
	lex     lexer
	f       fields
	e       Event
	procs   map[string]int
	threads []map[string]int
}

func newEventReader(t *trace) *eventReader {
	r := &eventReader{t: t, procs: make(map[string]int, len(t.Processes)), threads: make([]map[string]int, len(t.Processes))}
	for i, p := range t.Processes {
		r.procs[p.PID] = i
		r.threads[i] = make(map[string]int, len(p.Threads))
		for k, th := range p.Threads {
			r.threads[i][th.TID] = k
		}
	}
	r.e.lex, r.e.f = &r.lex, &r.f
	r.lex.shapes = newShapes()
	return r
}

func (r *eventReader) changed(at int64) error {
	return fault.Formatf(r.t.Path, at, "the file has changed since it was scanned").WithHint("wait until its writer is done, then try again")
}

func (r *eventReader) chunk(raw []byte, c *chunk, want func(phase byte, cat, name []byte) bool, visit func(e *Event) error) error {
	r.lex.b = raw
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{':
			if i = r.lex.event(i, &r.f); i < 0 {
				return r.changed(c.Offset)
			}
			if r.f.empty() || want != nil && !want(r.f.phase(raw), textOf(r.f.at[fieldCat].of(raw)), textOf(r.f.at[fieldName].of(raw))) {
				continue
			}
			r.take()
			if err := visit(&r.e); err != nil {
				return err
			}
		case 'n':
			i += len("null")
		case ',', ' ', '\t', '\r', '\n':
			i++
		default:
			return r.changed(c.Offset + int64(i))
		}
	}
	return nil
}

// take fills in what the event is, where and when.
func (r *eventReader) take() {
	b, f, e := r.lex.b, &r.f, &r.e
	e.Phase, e.Cat, e.Name = f.phase(b), textOf(f.at[fieldCat].of(b)), textOf(f.at[fieldName].of(b))
	e.Process, e.Thread, e.TID = nil, -1, f.at[fieldTID].of(b)
	if f.at[fieldPID].set() {
		if p, ok := r.procs[string(f.at[fieldPID].of(b))]; ok {
			e.Process = r.t.Processes[p]
			if th, ok := r.threads[p][string(e.TID)]; ok {
				e.Thread = th
			}
		}
	}
	e.Timed, e.HasDuration, e.Start, e.End, e.DurationPS = false, false, Instant{}, Instant{}, 0
	if !f.at[fieldTS].set() {
		return
	}
	ts := parseNumber(f.at[fieldTS].of(b))
	start, ok := ts.instant(r.t.BaseNS)
	if !ok || !ts.ok || f.placeless(b) {
		return
	}
	e.Timed, e.Start, e.End = true, start, start
	if !f.at[fieldDur].set() {
		return
	}
	dur := parseNumber(f.at[fieldDur].of(b))
	end, ok := plus(ts.stamp, dur.stamp, r.t.BaseNS)
	if !dur.ok || !ok {
		return
	}
	e.HasDuration, e.End, e.DurationPS = true, end, dur.totalPS()
}
