package source

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Text is a trace that is Chrome JSON itself: its times, processes and ids are edited in its text, and all else stays as it was written.
type Text interface {
	Trace
	// Document is what stands in the text beside its events.
	Document() Document
	// Rewriter prepares an edit.
	Rewriter(e TextEdit) (Rewriter, error)
}

// Document is the part of a Chrome JSON that is not an event.
type Document interface {
	// Has reports whether the document has a top-level key.
	Has(key string) bool
	// Value returns the text of a top-level key, nil where it is absent or long.
	Value(key string) []byte
	// CopyKeys writes the keys that want accepts as they are written, each with its value and followed by a comma and a line's end.
	CopyKeys(ctx context.Context, src *file.Source, w io.Writer, want func(key string) bool) error
	// MaxID is the largest decimal id of a flow, and StackRefs how many events refer to stack frames of the document.
	MaxID() uint64
	StackRefs() int64
}

// Rewriter writes a text with one edit applied. It does not change once made; every goroutine takes a Worker.
type Rewriter interface {
	// Head writes what stands before the events, Tail what stands behind them.
	Head(ctx context.Context, src *file.Source, w io.Writer) error
	Tail(ctx context.Context, src *file.Source, w io.Writer) error
	// Pieces is how many runs of whole events the text has. They are rewritten in any order.
	Pieces() int
	// Bytes is the size of a piece.
	Bytes(piece int) int64
	Worker() Worker
	// Gap reads what stands before a piece, or behind the last one.
	Gap(src *file.Source, piece int) ([]byte, error)
	// Added appends the metadata events that the edit adds to the list, and returns how many.
	Added(dst []byte) ([]byte, int)
	// Remarks says what was odd about the text and its rewriting, one sentence each.
	Remarks(c *TextCounts) []string
}

// Worker rewrites pieces on behalf of one goroutine.
type Worker interface {
	// Piece appends the edited events of a piece to dst and counts what happened. scratch is for the bytes of the piece.
	Piece(src *file.Source, piece int, dst []byte, scratch *[]byte, counts *TextCounts) ([]byte, error)
}

// TextEdit says what a Rewriter changes. The zero TextEdit changes nothing.
type TextEdit struct {
	// Clock maps absolute instants of this trace (baseTimeNanoseconds + ts, ns) to absolute instants of the output; nil is the
	// identity.
	Clock *clock.Map
	// OutputBaseNS is the baseTimeNanoseconds of the output, to which every ts is printed relative; nil keeps the trace's.
	OutputBaseNS *int64
	// QuantumPS is the step to which edited times are rounded: 1000 or 1; 0 picks 1000 (ns), or 1 where the trace itself is
	// finer. Viewers read ts and dur as numbers of ns, and rounding starts and ends to one grid keeps what is nested nested.
	QuantumPS int64
	// Processes holds edits by Process.Index; nil, and entries that are zero, change nothing.
	Processes []TextProcess
	// IDs renames flow and async ids.
	IDs TextIDs
	// KeepFromNS and KeepToNS drop events outside [from, to) of the output's absolute clock; events with a duration are kept
	// where they overlap it. Metadata events, and events without a usable ts, are always kept. nil is no limit.
	KeepFromNS, KeepToNS *int64
	// DropEmpty drops {} and null from the list.
	DropEmpty bool
	// CorrectionArg, where not empty, adds an arg of this name to every event with a ts: by how many ns its start was moved.
	CorrectionArg string
	// BoundArg, where not empty, adds an arg of this name to every event with a ts: by how many ns its start or its end can be off.
	BoundArg string
	// Mark, where not empty, is the JSON text of what was done to the document, written under aligned.KeyMark behind its other keys. A bare
	// list that stays one has no place for it, and a document that has a mark keeps that.
	Mark []byte
	// Sample collects bounds and coverage of the mapped starts in Counts. BoundArg samples, too, but collects nothing.
	Sample bool
}

// TextProcess changes one process.
type TextProcess struct {
	PID       string  // new pid as JSON text (a number, or a string with its quotes); "" keeps it
	Name      *string // new process_name
	Labels    *string // new process_labels
	SortIndex *int64  // new process_sort_index
	Drop      bool    // drops every event of the process, metadata too
	// TIDs holds new tids by the old ones, both as JSON text; tids that are not in it stay. A thread without a thread_name gets
	// its old tid for a name.
	TIDs map[string]string
	// Clock maps the instants of this process, where it is not on the clock of the trace; nil: TextEdit.Clock does.
	Clock *clock.Map
}

// Zero reports whether nothing changes.
func (p *TextProcess) Zero() bool {
	return p.PID == "" && p.Name == nil && p.Labels == nil && p.SortIndex == nil && !p.Drop && len(p.TIDs) == 0 && p.Clock == nil
}

// TextIDs puts the ids of a trace into a namespace of their own. Decimal ids grow by Offset and hexadecimal ones ("0x7f...") by
// HexOffset; any other id becomes a string that starts with Prefix. sf and esf get Prefix too, since the stack frames of
// several traces share one table. A decimal id that would pass 2^53, where viewers lose digits, becomes a hexadecimal one.
// Equal ids stay equal. The zero TextIDs changes nothing.
type TextIDs struct {
	Offset, HexOffset uint64
	Prefix            string
}

// Zero reports whether nothing changes.
func (e TextIDs) Zero() bool { return e == TextIDs{} }

// TextCounts is what happened to the events of a piece. Counts of several chunks add up in any order.
type TextCounts struct {
	Events  int64 // events read, empty ones not counted
	Kept    int64 // elements written, empty ones included: 0 means that the piece left no text
	Dropped int64 // events left out: time range or dropped process
	Empty   int64 // empty elements dropped

	Placeless int64 // events left out because their ts or dur is NaN or an infinity
	NotUTF8   int64 // bytes that were not UTF-8 and were replaced

	Timed     int64 // kept events with a ts, metadata not counted
	Corrected int64 // those of them whose absolute start or end changed
	Rounded   int64 // edited numbers that had digits beyond the picosecond
	Quantized int64 // mapped instants that did not fall on TextEdit.QuantumPS and were rounded to it
	NoArg     int64 // timed events that could not take CorrectionArg or BoundArg: counters, and args that are not an object
	Unusable  int64 // ts or dur that is not a number or lies outside +-292 years: copied as it was

	MinNS, MaxNS int64   // smallest and largest correction of a start in ns, over Timed; zero where Timed is 0
	First, Last  Instant // earliest start and latest end written, absolute on the output's clock
	SpanKnown    bool    // First and Last are known

	// With TextEdit.Sample: how the starts were mapped (clock.Coverage), and how far off they can be.
	Extrapolated, ExtrapolatedThen, InStep, Clamped int64
	Uncovered                                       int64 // events with any of these flags
	Bounds                                          clock.Histogram
}

// Add adds the counts of another piece.
func (c *TextCounts) Add(o *TextCounts) {
	if o.Timed > 0 {
		if c.Timed == 0 || o.MinNS < c.MinNS {
			c.MinNS = o.MinNS
		}
		if c.Timed == 0 || o.MaxNS > c.MaxNS {
			c.MaxNS = o.MaxNS
		}
	}
	if o.SpanKnown {
		c.Span(o.First, o.Last)
	}
	c.Events += o.Events
	c.Kept += o.Kept
	c.Dropped += o.Dropped
	c.Empty += o.Empty
	c.Placeless += o.Placeless
	c.NotUTF8 += o.NotUTF8
	c.Timed += o.Timed
	c.Corrected += o.Corrected
	c.Rounded += o.Rounded
	c.Quantized += o.Quantized
	c.NoArg += o.NoArg
	c.Unusable += o.Unusable
	c.Extrapolated += o.Extrapolated
	c.ExtrapolatedThen += o.ExtrapolatedThen
	c.InStep += o.InStep
	c.Clamped += o.Clamped
	c.Uncovered += o.Uncovered
	c.Bounds.Merge(&o.Bounds)
}

// Span takes an event that was written into First and Last.
func (c *TextCounts) Span(first, last Instant) {
	if !c.SpanKnown || first.Before(c.First) {
		c.First = first
	}
	if !c.SpanKnown || c.Last.Before(last) {
		c.Last = last
	}
	c.SpanKnown = true
}
