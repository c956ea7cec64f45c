// Package source is one trace, whatever its format: what a scan found, processes and lines, events in order, which clock stamped a
// line, the work of devices and the raw material of collectives.
//
// A format is a folder beside this file and one line in the table of package formats. Trace is what every format gives; the rest are
// capabilities that a format may have, and that callers ask for by a type assertion: Marker, ByLine, Retimer, Text, Linked, Active, Scheduled, and of
// collectives Compiled and Recorded. A trace that can neither be re-timed in its own format nor as text (a database, say) is read line by line and
// becomes Chrome JSON.
//
// Formats drive: they call a visitor for every event, or fill columns (package work), so that no interface is called in the loop over
// the bytes. Nothing here decides about clocks.
package source

import (
	"context"
	"strconv"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// AbsoluteNS is the smallest instant in ns that counts from 1970 (11.6 days after): a smaller one counts from the start of a session,
// because no recording lasts 11 days and none was made in January 1970.
const AbsoluteNS = int64(1_000_000_000_000_000)

// Trace is one trace that was scanned. It holds its structure, not its events and not its file: the file is passed where events are
// read, and a trace without one can be sent elsewhere (encoding/gob).
type Trace interface {
	// Facts is what the scan found of the whole.
	Facts() *Facts
	// Layout lists the processes of the trace in the order of the file, made anew on each call; their lines are the trace's own.
	Layout() []*Process
	// Visit visits events of all lines in stored order. startNS is the instant from which times count that are not absolute. The event
	// is valid until the visit returns, its texts excepted.
	Visit(ctx context.Context, src *file.Source, which Which, startNS int64, visit func(e *Event) error) error
}

// Which selects events.
type Which uint8

// The selections.
const (
	AllEvents Which = iota // metadata excepted
	Kernels                // what devices executed: the events of device planes, the kernels of a profiler
)

// Facts is what a scan found of a whole trace. What a format does not say is zero.
type Facts struct {
	Hosts       []string
	Rank        *int64
	Distributed *Distributed // what the recorder says of process groups, nil nothing

	Events int64
	Counts map[string]int64 // of events by other properties, by the names that documents use

	// StartNS is the instant since 1970 from which times of the trace count that are not absolute themselves; 0: the trace does not say.
	// Dated: its instants are since 1970.
	StartNS, StopNS int64
	HasStart        bool // it says StartNS, if only as 0
	Dated           bool
	Undated         string // what is missing where the trace does not say when it was recorded, "" where nothing is
	MarkDates       bool   // the zero of a mark replaces StartNS

	// Timed is how many events have a time, and First and Last the earliest start and the latest end of them, where the trace knows this
	// of the whole and not line by line.
	Timed       int64
	First, Last Instant

	// Snapshots are readings of two clocks: X is the tracer's, Y the wall clock, ns, in stored order.
	Snapshots       []clock.Pair
	SnapshotsBaseNS int64  // base of the line that holds them
	HasSnapshots    bool   // the trace has a place for them, whose base is the start of the collector
	SnapshotsClock  string // the clock beside the wall clock, as they name it; AnyTracer: the tracer's, whichever it is
	SnapshotsIn     string // the process that has them

	Losses   []string // what the producer lost, one sentence each
	Warnings []string // what the producer and the scan found, one sentence each
}

// Process is a process of a Chrome trace, a plane of an XSpace.
type Process struct {
	Index  int    // in Trace.Layout
	ID     int64  // where the format has numbers
	TextID string // as written, where ids may be text: 17, or "Spans" with its quotes
	Name   string
	Labels string // beside the name
	Place  int64  // among the others in a viewer, 0 unless the trace says it
	GPU    int    // number of the accelerator that the process stands for, -1 none
	Events int64
	Lines  []*Line

	Readings bool // its events are readings of clocks, no part of what ran: they may lie before it and after

	// What its events are to collectives.
	Kind     string // one of aligned.PlaneHost, PlaneKernels, PlaneOperations; "" nothing
	Device   int32  // its number within the node, -1 for the host
	DeviceID *int64 // its number among all devices of the job, nil unknown
	Executes []bool // by line: its events are executions, which other lines may repeat
}

// Line is a thread of a Chrome trace, a line of an XSpace.
type Line struct {
	Index       int // in Process.Lines
	ID          int64
	TextID      string // as written, where ids may be text
	DisplayID   int64
	Name        string
	DisplayName string

	TimestampNS int64 // base from which offsets of its events count; below AbsoluteNS it counts from Facts.StartNS itself
	DurationPS  int64
	OnTracer    bool   // a tracer's clock stamped it, if the trace has such a clock
	Tracer      string // whose clock: TracerROCm, ..., AnyTracer where the trace does not say

	Events      int64 // all of them
	Aggregated  int64 // those that stand for several and have no time
	Summarised  bool  // the fields that follow are known
	MinOffsetPS int64 // smallest offset of a timed event; 0 when there is none
	MaxEndPS    int64 // largest end of a timed event from the base, saturated; 0 when there is none
	Sorted      bool  // timed events start in non-decreasing order
}

// Timed returns the number of events that have a time.
func (l *Line) Timed() int64 { return l.Events - l.Aggregated }

// Label returns what a person calls the line: its display name, its name, or its id.
func (l *Line) Label() string {
	switch {
	case l.DisplayName != "":
		return l.DisplayName
	case l.Name != "":
		return l.Name
	}
	return "line " + strconv.FormatInt(l.ID, 10)
}

// Instant is a point in time: NS nanoseconds since the Unix epoch (or since whatever the trace counts from) and PS, 0 to 999,
// picoseconds more.
type Instant struct {
	NS int64
	PS int32
}

// Before reports whether i is earlier than j.
func (i Instant) Before(j Instant) bool { return i.NS < j.NS || i.NS == j.NS && i.PS < j.PS }

// After returns the instant that lies ps after base (ns).
func After(baseNS, ps int64) Instant {
	ns, rest := ps/1000, ps%1000
	if rest < 0 {
		ns, rest = ns-1, rest+1000
	}
	return Instant{NS: baseNS + ns, PS: int32(rest)}
}

// Event is one event during a visit.
type Event struct {
	Process, Line int32  // places in Trace.Layout and Process.Lines, -1 where the event says none
	Name          string // as recorded
	LongName      string // what Name stands for where ByLine shows a shorter one, "" else
	BaseNS        int64  // instant from which OffsetPS counts: that of its line, or one of its own; ByLine leaves it out
	OffsetPS      int64
	DurationPS    int64
	Timed         bool // BaseNS and OffsetPS are known
	Aggregated    bool // it stands for Count events, which have no time of their own
	Count         int64

	Args ArgsWriter // of ByLine; nil: it has none
}

// ScanOptions bounds a scan.
type ScanOptions struct {
	Workers  int // goroutines; default 1
	Progress func(bytes int64)
}
