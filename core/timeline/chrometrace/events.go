package chrometrace

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Event is one event during a visit. It and what its methods return are valid until the visit returns.
type Event struct {
	Phase           byte // ph; 0 where there is no usable one
	Process, Thread int  // Process.Index, and the place in Process.Threads; -1 where absent
	Timed           bool // Start is known
	Start           Instant
	HasDuration     bool
	DurationPS      int64 // saturated at 106 days

	lex *lexer
	f   *fields
}

// Name returns the event's name, decoded.
func (e *Event) Name() []byte { return textOf(e.f.name.of(e.lex.b)) }

// Cat returns the event's category, decoded.
func (e *Event) Cat() []byte { return textOf(e.f.cat.of(e.lex.b)) }

// Args calls visit with the decoded key and the decoded text of every arg (numbers, lists and objects as they are written), until
// it returns false.
func (e *Event) Args(visit func(key, value []byte) bool) {
	e.lex.members(e.f.args, func(key []byte, v span) bool { return visit(key, textOf(v.of(e.lex.b))) })
}

// Events visits every event of the list in its order, metadata events too, empty ones not. Memory is bounded by the longest
// chunk.
func Events(ctx context.Context, src *file.Source, t *Trace, visit func(e *Event) error) error {
	r := newEventReader(t)
	var raw []byte
	for i := range t.Chunks {
		c := &t.Chunks[i]
		if err := ctx.Err(); err != nil {
			return fault.FromIO(t.Path, err)
		}
		var err error
		if raw, err = ReadChunk(src, c, raw); err != nil {
			return err
		}
		if err := r.chunk(raw, c, visit); err != nil {
			return err
		}
	}
	return nil
}

// CollectiveKernels visits the kernels that Scan listed in Trace.Collectives. It reads only these.
func CollectiveKernels(ctx context.Context, src *file.Source, t *Trace, visit func(e *Event) error) error {
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
	t       *Trace
	lex     lexer
	f       fields
	e       Event
	procs   map[string]int
	threads []map[string]int
}

func newEventReader(t *Trace) *eventReader {
	r := &eventReader{t: t, procs: make(map[string]int, len(t.Processes)), threads: make([]map[string]int, len(t.Processes))}
	for i, p := range t.Processes {
		r.procs[p.PID] = i
		r.threads[i] = make(map[string]int, len(p.Threads))
		for k, th := range p.Threads {
			r.threads[i][th.TID] = k
		}
	}
	r.e.lex, r.e.f = &r.lex, &r.f
	return r
}

func (r *eventReader) changed(at int64) error {
	return fault.Formatf(r.t.Path, at, "the file has changed since it was scanned").WithHint("wait until its writer is done, then try again")
}

func (r *eventReader) chunk(raw []byte, c *Chunk, visit func(e *Event) error) error {
	r.lex.b = raw
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{':
			if i = r.lex.event(i, &r.f); i < 0 {
				return r.changed(c.Offset)
			}
			if !r.f.empty() {
				r.take()
				if err := visit(&r.e); err != nil {
					return err
				}
			}
		case 'n', ',', ' ', '\t', '\r', '\n':
			if raw[i] == 'n' {
				i += len("null")
			} else {
				i++
			}
		default:
			return r.changed(c.Offset + int64(i))
		}
	}
	return nil
}

// take fills the event from the fields that were read.
func (r *eventReader) take() {
	b, f, e := r.lex.b, &r.f, &r.e
	e.Phase, e.Process, e.Thread = f.phase(b), -1, -1
	if f.pid.set() {
		if p, ok := r.procs[string(f.pid.of(b))]; ok {
			e.Process = p
			if th, ok := r.threads[p][string(f.tid.of(b))]; ok {
				e.Thread = th
			}
		}
	}
	e.Timed, e.HasDuration, e.Start, e.DurationPS = false, false, Instant{}, 0
	if !f.ts.set() {
		return
	}
	ts := parseNumber(f.ts.of(b))
	e.Start, e.Timed = ts.instant(r.t.BaseNS)
	e.Timed = e.Timed && ts.ok
	if !f.dur.set() {
		return
	}
	if dur := parseNumber(f.dur.of(b)); dur.ok {
		e.HasDuration = true
		const most = math.MaxInt64/1_000_000 - 1
		switch {
		case dur.us > most:
			e.DurationPS = math.MaxInt64
		case dur.us < -most:
			e.DurationPS = math.MinInt64
		default:
			e.DurationPS = dur.us*1_000_000 + int64(dur.ps)
		}
	}
}
