package source

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Retimer is a trace that can be written in its own format with other times and names. Outputs that follow one another are one trace
// of all their planes.
type Retimer interface {
	ByLine
	// WriteFile writes the whole output, alone in a file that create makes, and returns the file, to be committed, with its size. Where
	// most lengths stay as they are one pass over the events does it.
	WriteFile(ctx context.Context, src *file.Source, e *Edit, create func() (*file.Output, error)) (out *file.Output, bytes int64, err error)
	// Measure sizes the output, and calls the Observe functions of the edit.
	Measure(ctx context.Context, src *file.Source, e *Edit) (Measured, error)
	// AddMark makes an edit write what was done to a node. tracer says by plane which lines were on the tracer's clock, nil: none.
	AddMark(e *Edit, n NodeMark, tracer []aligned.Lines)
	// CounterPlane encodes a plane of curves, which can follow any output whose times count from zeroNS.
	CounterPlane(name string, id, zeroNS int64, tracks []CounterTrack) []byte
	// MarkPlane returns the plane that carries the mark of a trace of one node.
	MarkPlane() int
}

// Measured is an output that was sized.
type Measured interface {
	// Bytes is its size.
	Bytes() int64
	// WriteAt writes it to w from an offset on.
	WriteAt(ctx context.Context, src *file.Source, w io.WriterAt, at int64, workers int) error
}

// Edit says what a Retimer changes. The zero Edit changes nothing: the output is the input, byte for byte.
type Edit struct {
	Planes []PlaneEdit // by Process.Index; planes beyond its end are copied

	// CorrectionStat, when not empty, is the name of an int64 stat that every timed event of a line with a Cursor or a new
	// TimestampNS receives: by how many ns its start moved (rounded to nearest).
	CorrectionStat string

	// BoundStat, when not empty, is the name of an int64 stat that every timed event of a line with Bounds receives: by how many ns its
	// start or its end can be off.
	BoundStat string

	// Operations, when set, sees the operations of compiled programs, as Compiled.Operations shows them, of a trace that has them.
	// WriteFile and Measure serve it, from the bytes that they read anyhow where they can.
	Operations *OperationReading

	Workers  int // goroutines; default 1
	Progress func(bytes int64)
}

// OperationReading is what Compiled.Operations is given.
type OperationReading struct {
	StartNS int64 // from which times count that are not absolute
	Visitor OperationVisitor
}

// PlaneEdit changes one process, which the formats that can be re-timed call a plane. The zero PlaneEdit copies it.
type PlaneEdit struct {
	Drop     bool // leave the plane out
	Name     *string
	ID       *int64
	AddStats []NewStat
	SetStats []NewStat  // values of stats that the plane has, in their places; stats that it lacks are added
	Lines    []LineEdit // by Line.Index; lines beyond its end are copied
}

// NewStat is a value added to a plane. It sits in the field that goes with Kind.
type NewStat struct {
	Name   string
	Kind   StatKind // StatInt, StatUint, StatDouble or StatStr
	Int    int64
	Uint   uint64
	Double float64
	Text   string // StatStr
}

// LineEdit changes one line. The zero LineEdit copies it.
type LineEdit struct {
	Drop        bool // leave the line out
	ID          *int64
	DisplayID   *int64
	Name        *string
	DisplayName *string
	TimestampNS *int64

	// Cursor maps offsets and ends (offset + duration) of events, and the line's duration where it has one. Clones of it are used. nil
	// copies offsets and durations.
	Cursor *clock.Cursor

	// KeepFromPS and KeepToPS drop timed events that lie wholly outside [from, to), in ps from the line's new base. An event
	// that touches the range is kept whole. Aggregated events are kept.
	KeepFromPS, KeepToPS *int64

	// CorrectionBaseNS is added to the correction stat of every event of the line; the rest of the correction is what the file
	// shows: new minus old base, plus new minus old offset.
	CorrectionBaseNS int64

	// Bounds, when set, knows how far off the events can be that go through it: Cursor, or the one of a line that moves as a whole. Clones
	// of it are used.
	Bounds *clock.Cursor

	// Observe, when set, sees every kept timed event in stored order while it is measured, some at a time. With several workers Observe
	// functions of different lines run at the same time.
	Observe func(*Observed)
}

// Observed are some timed events of a line that follow one another: their offsets in ps before and after, valid during the call.
type Observed struct {
	OldPS, NewPS []int64
	Bounds       clock.Bounds // of all NewPS, where the line has a Cursor
}

// Plane returns the edit of a plane, the zero edit where there is none.
func (e *Edit) Plane(i int) *PlaneEdit {
	if i < len(e.Planes) {
		return &e.Planes[i]
	}
	return &PlaneEdit{}
}

// Cuts reports whether events may be left out by their time.
func (e *Edit) Cuts() bool {
	for i := range e.Planes {
		for k := range e.Planes[i].Lines {
			if l := &e.Planes[i].Lines[k]; l.KeepFromPS != nil || l.KeepToPS != nil {
				return true
			}
		}
	}
	return false
}

// Line returns the edit of a line, the zero edit where there is none.
func (e *PlaneEdit) Line(i int) *LineEdit {
	if i < len(e.Lines) {
		return &e.Lines[i]
	}
	return &LineEdit{}
}

// Active reports whether the edit changes or watches anything of the plane.
func (e *PlaneEdit) Active() bool {
	if e.Drop || e.Name != nil || e.ID != nil || len(e.AddStats) > 0 || len(e.SetStats) > 0 {
		return true
	}
	for i := range e.Lines {
		if e.Lines[i].Active() {
			return true
		}
	}
	return false
}

// Active reports whether the edit changes or watches anything of the line.
func (e *LineEdit) Active() bool {
	return e.Drop || e.ID != nil || e.DisplayID != nil || e.Name != nil || e.DisplayName != nil || e.TimestampNS != nil || e.Eventwise()
}

// Eventwise reports whether single events may change.
func (e *LineEdit) Eventwise() bool {
	return e.Cursor != nil || e.KeepFromPS != nil || e.KeepToPS != nil || e.Observe != nil || e.Bounds != nil
}

// Moves reports whether events receive the correction stat.
func (e *LineEdit) Moves() bool { return e.Cursor != nil || e.TimestampNS != nil }

// StatKind is the type of a stat's value.
type StatKind uint8

// The kinds of values.
const (
	StatNone StatKind = iota
	StatDouble
	StatUint
	StatInt
	StatStr
	StatBytes
	StatRef
)

// NodeMark is what AddMark writes of one node.
type NodeMark struct {
	Text   []byte // of the mark with this node alone
	ID     string // to be written on every plane, where the file holds several nodes; else ""
	Plane  int    // that carries the mark, see Retimer.MarkPlane
	Planes []int  // of the node

	// The session on the output's clock; 0: not known, or already so. What was recorded is kept beside.
	StartNS, StopNS int64
}
