// Package xspace reads and rewrites XSpace files (.xplane.pb), the traces of JAX, XLA and TensorFlow, on the wire format.
//
// It works in streaming passes over the bytes. Scan finds the planes, lines, clocks and counts; Measure computes the new size of
// every length-prefixed message under an Edit; Rewrite copies every byte that is not edited as it is; Write does both in one pass,
// into a file of its own, and shows the operations of compiled programs on the way. Events and EventMetadata iterate. Nothing holds a
// file in memory: the largest buffer is one segment of half a MiB a worker, and what is kept grows with the number of planes and lines,
// not of events. Where events are as nearly all are they are taken some at a time (usual.go). It decides nothing about clocks: which line is mapped by which
// map is the caller's business. The format is stated in docs/formats/xspace.md, the schema in docs/formats/xplane.proto.
package xspace

import (
	"fmt"
	"strconv"

	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Names and numbers that the producers use.
const (
	planeHostCPU         = "/host:CPU"
	planeSnapshots       = "/host:snapshots"
	planeMetadata        = "/host:metadata"
	PlaneTaskEnvironment = "Task Environment"
	prefixDeviceGPU      = "/device:GPU:"

	prefixDevice = "/device:"

	statProfileStart = "profile_start_time"
	statProfileStop  = "profile_stop_time"
	statProcessID    = "process_id"
	statTracerROCm   = "rocm_ns"           // a reading of ROCm's clock
	statTracerClock  = "tracer_clock_ns"   // of the clock that the plane names
	statBracket      = "bracket_ns"        // between two readings of the wall clock
	statClockName    = "tracer_clock_name" // of the plane
	statSnapshots    = "prlx_snapshots"    // of planeMetadata: the readings, where there is no plane of them
	statDeviceVendor = "device_vendor"

	// AbsoluteNS is the smallest line.timestamp_ns that is an absolute instant; a smaller one was normalised: the profiler subtracted
	// the start of the session from it.
	AbsoluteNS = source.AbsoluteNS
)

// Space is the structure of one file: everything but its events and name tables.
type Space struct {
	Bytes     int64 // size of the file, decompressed
	Planes    []Plane
	Hostnames []string
	Errors    []string // the producer's own
	Warnings  []string // the producer's own
	Findings  []string // what Scan found odd, one sentence each
	LineCount int
	Events    int64

	ProfileStartNS int64 // stat profile_start_time of the Task Environment plane, ns of the wall clock; 0 unknown
	ProfileStopNS  int64 // stat profile_stop_time, likewise
	ProcessID      string
	JaxVersion     string
	JaxlibVersion  string
	SnapshotsPlane int // index of the plane that Snapshots come from, -1 none
	SnapshotPlanes int // how many planes of that name there are; more than one means a combined file
	SnapshotsLost  int64

	// Snapshots are the readings of two clocks: X is the tracer's (R), Y the wall clock (S), ns, in stored order. Y is absolute
	// when SnapshotsAbsolute; the raw value, relative to the start of the session, is Y - SnapshotsAddedNS.
	Snapshots                []clock.Pair
	SnapshotsAbsolute        bool
	SnapshotsAddedNS         int64 // what was added to make Y absolute: ProfileStartNS for normalised lines, else 0
	SnapshotsLineTimestampNS int64
	SnapshotsNamed           bool   // the plane names its clock: prlx wrote it, and its base is not the start of the collector
	SnapshotsClock           string // the name of the tracer's clock, as the plane has it; "ROCm" where only ROCm's stat says it
}

// Plane is one plane: its header, its lines, its stats, and where its name tables lie.
type Plane struct {
	Index  int
	ID     int64
	Name   string
	Offset int64 // of the message in the file
	Length int64
	Lines  []Line
	Stats  []xStat // in stored order, names resolved
	Events int64   // over all lines, aggregated ones included

	StatsOmitted       int64 // stats beyond what Scan keeps of a plane
	EventMetadataCount int64
	StatMetadataCount  int64

	tag         int64 // offset of the plane's tag in the file
	marks       [2]mark
	eventNames  extent
	statNames   extent
	maxStatKey  int64
	statsExtent extent
}

// Line is one line: its header and a summary of its events, and where they lie. Summarised and OnTracer are set by Scan.
type Line struct {
	source.Line
	Offset    int64 // of the message in the file
	Length    int64
	Negative  int64 // events with a negative duration_ps
	Saturated int64 // events whose end does not fit an int64

	tag      int64
	marks    [6]mark
	segments []segment
}

// statKind is the type of a stat's value.
type statKind = source.StatKind

// The kinds of values.
const (
	statNone   = source.StatNone
	statDouble = source.StatDouble
	statUint   = source.StatUint
	statInt    = source.StatInt
	statStr    = source.StatStr
	statBytes  = source.StatBytes
	statRef    = source.StatRef
)

// mark is the last occurrence of a singular field: the one that readers see. end is 0 when the field is absent.
type mark struct{ start, val, end int64 }

// extent covers all fields of one number in a plane; end is 0 when there is none.
type extent struct{ start, end int64 }

func (e *extent) add(f field) {
	if e.end == 0 {
		e.start = f.start
	}
	e.end = f.end
}

// segment is a run of whole fields of a line, read as one piece; a field longer than segmentSize is a segment of its own.
type segment struct {
	off    int64
	n      int64
	events int64 // events before it in the line
	plain  bool  // nothing but events, none of them big
	usual  bool  // what usualBatch.read takes are usual events: nothing behind their duration_ps changes their times
	big    bool  // one field that does not fit a buffer
}

// xStat is one named value.
type xStat struct {
	MetadataID int64
	Name       string
	Kind       statKind
	Int        int64   // statInt
	Uint       uint64  // statUint; statRef: the id of the stat metadata whose name is the value
	Double     float64 // statDouble
	Bytes      []byte  // statStr and statBytes, at most as much as the reader keeps; an Event's is valid during the visit only
	Ref        string  // statRef: the resolved value
	Offset     int64   // statStr and statBytes: where the whole value lies in the file
	Length     int64

	field extent // of a plane's stat: where it stands in the file
}

// Text returns the value as text: strings as they are, references resolved, numbers in decimal, bytes as "".
func (s *xStat) Text() string {
	switch s.Kind {
	case statStr:
		return string(s.Bytes)
	case statRef:
		return s.Ref
	case statInt:
		return strconv.FormatInt(s.Int, 10)
	case statUint:
		return strconv.FormatUint(s.Uint, 10)
	case statDouble:
		return strconv.FormatFloat(s.Double, 'g', -1, 64)
	}
	return ""
}

// Integer returns the value as int64; ok is false when it is not an integer or does not fit. Decimal strings count.
func (s *xStat) Integer() (v int64, ok bool) {
	switch s.Kind {
	case statInt:
		return s.Int, true
	case statUint:
		return int64(s.Uint), s.Uint <= 1<<63-1
	case statStr, statRef:
		v, err := strconv.ParseInt(s.Text(), 10, 64)
		return v, err == nil
	}
	return 0, false
}

// Stat returns the plane's last stat of a name, nil when it has none.
func (p *Plane) Stat(name string) *xStat {
	for i := len(p.Stats) - 1; i >= 0; i-- {
		if p.Stats[i].Name == name {
			return &p.Stats[i]
		}
	}
	return nil
}

// Plane returns the first plane of a name, nil when there is none.
func (s *Space) Plane(name string) *Plane {
	for i := range s.Planes {
		if s.Planes[i].Name == name {
			return &s.Planes[i]
		}
	}
	return nil
}

const maxFindings = 100

func (s *Space) find(format string, args ...any) {
	if len(s.Findings) < maxFindings {
		s.Findings = append(s.Findings, fmt.Sprintf(format, args...))
	}
}
