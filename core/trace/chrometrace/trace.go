package chrometrace

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Format is Chrome JSON in the table of formats.
var Format = source.Format{
	Name: "chrome", Title: "Chrome JSON", Kind: format.Chrome, Damaged: []format.Kind{format.JSON}, Endings: []string{".trace.json"},
	Work: readWork, Streams: true, Salvage: salvage, Devices: "in torch.profiler with ProfilerActivity.CUDA",
	Blank: func() source.Trace { return &trace{} },
	Scan: func(ctx context.Context, src *file.Source, opt source.ScanOptions) (source.Trace, error) {
		t, err := Scan(ctx, src, ScanOptions{Progress: opt.Progress})
		if err != nil {
			return nil, err
		}
		return t, nil
	},
}

// A Trace is re-timed as text.
var (
	_ source.Text   = (*trace)(nil)
	_ source.Marker = (*trace)(nil)
)

// Facts is what the scan found of the whole.
func (t *trace) Facts() *source.Facts {
	f := &source.Facts{
		Events: t.Events, Distributed: t.Distributed, Counts: map[string]int64{}, StartNS: t.BaseNS, HasStart: t.HasBase, Dated: t.HasBase || t.Min.NS >= source.AbsoluteNS,
		Timed: t.Timed, First: t.Min, Last: t.Max,
	}
	if t.Host != "" {
		f.Hosts = []string{t.Host}
	}
	if r := int64(t.rank()); r >= 0 {
		f.Rank = &r
	}
	for ph, n := range t.Phases {
		if n > 0 && ph > 0 {
			f.Counts["ph "+string(rune(ph))] = n
		}
	}
	for _, c := range t.Cats {
		f.Counts["cat "+c.Name] = c.Count
	}
	if !f.Dated {
		f.Undated = "baseTimeNanoseconds"
	}
	switch t.Unusable {
	case 0:
	case 1:
		f.Losses = []string{"1 event has a ts or dur that is not a time"}
	default:
		f.Losses = []string{fmt.Sprintf("%d events have a ts or dur that is not a time", t.Unusable)}
	}
	return f
}

// Layout lists the processes and their threads.
func (t *trace) Layout() []*source.Process {
	out := make([]*source.Process, len(t.Processes))
	for i, p := range t.Processes {
		one := &source.Process{
			Index: p.Index, TextID: p.PID, Name: p.Name, Labels: p.Labels, Place: p.SortIndex, GPU: p.Device, Events: p.Events,
			Lines: make([]*source.Line, len(p.Threads)),
		}
		for k, th := range p.Threads {
			one.Lines[k] = &source.Line{Index: k, TextID: th.TID, Name: th.Name, Events: th.Events}
		}
		out[i] = one
	}
	return out
}

// Visit visits the events of the list, or its kernels.
func (t *trace) Visit(ctx context.Context, src *file.Source, which source.Which, _ int64, visit func(e *source.Event) error) error {
	want := func(phase byte, _, _ []byte) bool { return phase != 'M' }
	if which == source.Kernels {
		want = func(phase byte, cat, _ []byte) bool { return phase == 'X' && strings.EqualFold(string(cat), "kernel") }
	}
	var one source.Event
	return Events(ctx, src, t, want, func(e *Event) error {
		one = source.Event{
			Process: -1, Line: -1, Name: string(e.Name), BaseNS: e.Start.NS, OffsetPS: int64(e.Start.PS), DurationPS: e.DurationPS, Timed: e.Timed, Count: 1,
		}
		if e.Process != nil {
			one.Process, one.Line = int32(e.Process.Index), int32(e.Thread)
		}
		return visit(&one)
	})
}

// ReadMark returns what the document says about what prlx did to it, nil when it says nothing.
func (t *trace) ReadMark(ctx context.Context, src *file.Source) (*source.Marked, error) {
	m, err := ReadMark(ctx, src, t)
	if m == nil || err != nil {
		return nil, err
	}
	return &source.Marked{Mark: m}, nil
}

// Document is what stands in the text beside its events.
func (t *trace) Document() source.Document { return document{t} }

type document struct{ t *trace }

// Has reports whether the document has a top-level key.
func (d document) Has(key string) bool { return d.t.key(key) != nil }

// Value returns the text of a top-level key, nil where it is absent or long.
func (d document) Value(key string) []byte {
	if k := d.t.key(key); k != nil {
		return k.Value
	}
	return nil
}

// MaxID is the largest decimal id of a flow.
func (d document) MaxID() uint64 { return d.t.MaxID }

// StackRefs is how many events refer to stack frames of the document.
func (d document) StackRefs() int64 { return d.t.StackRefs }

// CopyKeys writes the keys that want accepts, each followed by a comma and a line's end.
func (d document) CopyKeys(ctx context.Context, src *file.Source, w io.Writer, want func(key string) bool) error {
	for i := range d.t.Keys {
		key := &d.t.Keys[i]
		if !want(key.Name) {
			continue
		}
		if err := d.t.strictly(w, func(w io.Writer) error { _, err := io.WriteString(w, key.Raw+": "); return err }); err != nil {
			return err
		}
		err := d.t.strictly(w, func(w io.Writer) error {
			win := file.NewWindow(ctx, src, key.Offset, key.Offset+key.Length, 1<<16)
			return win.CopyTo(w, key.Length)
		})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, ",\n"); err != nil {
			return err
		}
	}
	return nil
}

// Rewriter prepares an edit.
func (t *trace) Rewriter(e source.TextEdit) (source.Rewriter, error) {
	r, err := newRewriter(t, e)
	if err != nil {
		return nil, err
	}
	return rewriting{r}, nil
}

// rewriting is a Rewriter as source knows it: its pieces are the chunks of the scan.
type rewriting struct{ *rewriter }

// Pieces is how many chunks there are.
func (r rewriting) Pieces() int { return len(r.trace.Chunks) }

// Bytes is the size of a chunk.
func (r rewriting) Bytes(piece int) int64 {
	return r.trace.Chunks[piece].End - r.trace.Chunks[piece].Offset
}

// Head writes what stands before the events, as strict JSON.
func (r rewriting) Head(ctx context.Context, src *file.Source, dst io.Writer) error {
	return r.trace.strictly(dst, func(w io.Writer) error { return r.rewriter.head(ctx, src, w) })
}

// Tail writes what stands behind the events, as strict JSON: a list that was not closed is.
func (r rewriting) Tail(ctx context.Context, src *file.Source, dst io.Writer) error {
	return r.trace.strictly(dst, func(w io.Writer) error {
		if r.trace.Lenient.Unclosed && !r.wraps() {
			_, err := io.WriteString(w, "]\n")
			return err
		}
		return r.rewriter.tail(ctx, src, w)
	})
}

// Worker returns a new worker.
func (r rewriting) Worker() source.Worker {
	w := r.rewriter.worker()
	w.strict = true
	return w
}

// Gap reads what stands before a chunk, or behind the last one, where a comma would follow nothing.
func (r rewriting) Gap(src *file.Source, piece int) ([]byte, error) {
	gap, err := r.trace.readGap(src, piece)
	if piece == r.Pieces() {
		gap = withoutCommas(gap)
	}
	return gap, err
}

// Piece rewrites a chunk as strict JSON; one that stays as it is is read into dst at once.
func (w *worker) Piece(src *file.Source, piece int, dst []byte, scratch *[]byte, counts *counts) (text []byte, err error) {
	c := &w.trace.Chunks[piece]
	from := len(dst)
	if w.identity() && w.trace.Lenient.plain() {
		if text, err = readChunk(src, c, dst); err != nil {
			return nil, err
		}
		counts.Events += c.Events
		counts.Kept += c.Events
		counts.Timed += c.Timed
		return w.strictText(text, 0, true, counts), nil
	}
	if *scratch, err = readChunk(src, c, *scratch); err != nil {
		return nil, err
	}
	if text, err = w.chunk(dst, *scratch, c, counts); err != nil {
		return nil, err
	}
	if w.identity() { // times were not looked at
		counts.Timed += c.Timed
	}
	return w.strictText(text, from, w.lex.lenient.plain(), counts), nil
}

// Added appends the metadata events that the edit adds, as strict JSON.
func (r rewriting) Added(dst []byte) ([]byte, int) {
	added, n := r.rewriter.added(nil)
	var s strict
	return s.flush(s.text(dst, added)), n
}

// strictText makes text behind from strict; plain: only its UTF-8 can be invalid.
func (w *worker) strictText(text []byte, from int, plain bool, counts *counts) []byte {
	if plain && utf8.Valid(text[from:]) {
		return text
	}
	var s strict
	wrong := append([]byte(nil), text[from:]...)
	text = s.flush(s.text(text[:from], wrong))
	counts.NotUTF8 += s.notUTF8
	return text
}

// Remarks says what was odd about the text and its rewriting.
func (r rewriting) Remarks(c *counts) (out []string) {
	odd := r.trace.Lenient
	for _, w := range []struct {
		n    int64
		text string
	}{
		{c.Placeless, "left out: events whose ts or dur is NaN or an infinity"},
		{max(c.Unusable, r.trace.Unusable) - c.Placeless, "copied as they are: events whose ts or dur is not a time"},
		{r.trace.Negative, "copied as they are: events that end before they begin"},
		{c.NoArg, "without their correction or bound as an arg: counters, and events whose args are no object"},
		{r.trace.RoundedPS, "rounded to the picosecond where they changed: times with more digits"},
		{r.trace.Repeated, "a key twice, of which the last counts: events"},
		{odd.ControlChars + odd.BadEscapes, "repaired, for strict JSON forbids them: control characters and invalid escapes in texts"},
		{odd.Literals, "null, or left out with their events, for strict JSON forbids them: NaN and infinities"},
		{c.NotUTF8 + r.trace.notUTF8, "replaced by U+FFFD: bytes that are not UTF-8"},
	} {
		if w.n > 0 {
			out = append(out, fmt.Sprintf("%s: %d", w.text, w.n))
		}
	}
	if odd.Unclosed {
		out = append(out, "the list of events is not closed: the file may have been cut")
	}
	return out
}
