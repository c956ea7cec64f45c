// Package chrometrace reads and rewrites Chrome Trace Event JSON: the format of PyTorch's Kineto profiler, of JAX's trace.json
// and of chrome://tracing, as an object with a traceEvents list or as a bare list of events.
//
// Scan walks the text once with bounded memory and says what is there: top-level keys, processes, threads, counts, the range
// of times, and a table of chunks of whole events. A Rewriter then edits chunks one by one, in any order and from several
// goroutines: times through a clock map, process ids, flow ids, names. Bytes that are not edited are copied as they are:
// white space, key order, args, spelling of numbers, escapes. Times are exact: decimal text becomes integer picoseconds and
// is printed back without a float in between. The package does not decide which clock map or which ids are right.
//
// The format is described in docs/formats/chrometrace.md.
package chrometrace

import (
	"math"

	"github.com/prlx-go/prlx/core/trace/source"
)

// instant converts microseconds relative to base (ns). ok is false when it does not fit.
func (s stamp) instant(base int64) (Instant, bool) {
	ns := s.us*1000 + int64(s.ps)/1000 // parseNumber keeps us*1000 inside int64, and ps adds less than one us
	sum := ns + base
	if (base > 0 && sum <= ns) || (base < 0 && sum >= ns) || (ns < 0) != (s.us < 0) {
		return Instant{}, false
	}
	return Instant{NS: sum, PS: s.ps % 1000}, true
}

// trace is what Scan found.
type trace struct {
	Path  string // the source's path
	Size  int64  // decompressed bytes
	Array bool   // a bare list of events, without a document around it

	Keys []key // top-level keys in file order, traceEvents included

	BaseNS          int64  // baseTimeNanoseconds, to which every ts is relative; 0 where absent
	HasBase         bool   // baseTimeNanoseconds is present
	DisplayTimeUnit string // "ms", "ns" or ""
	SchemaVersion   string
	TraceID         string
	Host            string // the host's name where one is recorded
	Distributed     *distributedInfo

	// The bytes between EventsOffset and EventsEnd are the list without its brackets.
	EventsOffset, EventsEnd int64

	Events    int64           // elements of the list, empty ones not counted
	Phases    [256]int64      // events by ph; 0 counts those without a usable one
	Cats      []nameCount     // events by cat, most frequent first, then by name
	OtherCats int64           // events whose cat is beyond the limit of distinct ones
	Processes []*traceProcess // in order of first occurrence

	FlowIDs   int64  // events that carry id, id2 or bind_id
	MaxID     uint64 // the largest decimal id
	StackRefs int64  // events that refer to stackFrames by sf or esf

	Timed        int64   // events with a ts, metadata events not counted
	Min, Max     Instant // earliest start and latest end of Timed events, absolute; zero where Timed is 0
	MinTS        string  // the text of the earliest ts
	ResolutionPS int64   // the finest step seen in ts and dur: 1 000 000 (us), 1000 (ns) or 1 (ps)
	Unusable     int64   // events whose ts or dur is no number, or lies outside +-292 years
	RoundedPS    int64   // ts or dur with digits beyond the picosecond
	Repeated     int64   // events in which a key that matters occurs twice
	Negative     int64   // events that end before they begin

	// Collectives are the kernels of NCCL and RCCL, in order; CollectivesOmitted counts those beyond the limit.
	Collectives        []extent
	CollectivesOmitted int64

	Lenient leniency
	Chunks  []chunk

	notUTF8 int64 // bytes of the document around the events that were replaced when it was written
}

// extent is the place of one event.
type extent struct{ Offset, Length int64 }

// key is one top-level key of the document.
type key struct {
	Name           string // decoded
	Raw            string // as written, with its quotes
	Offset, Length int64  // place of the value
	Value          []byte // the value's text, nil for traceEvents and where it is longer than ScanOptions.MaxValue
}

// nameCount counts a name.
type nameCount struct {
	Name  string
	Count int64
}

// distributedInfo is Kineto's record of the process group; Groups are the entries of pg_config.
type (
	distributedInfo = source.Distributed
	processGroup    = source.ProcessGroup
)

// traceProcess is one pid of the trace.
type traceProcess struct {
	Index        int    // position in Trace.Processes
	PID          string // as written: 17 or "Spans" with its quotes
	Name         string // metadata process_name, "" where absent
	Labels       string // metadata process_labels
	SortIndex    int64  // metadata process_sort_index
	HasName      bool
	HasLabels    bool
	HasSortIndex bool
	Device       int   // number of the accelerator ("GPU N" in its labels), -1 where none
	DeviceEvents int64 // events of device categories: kernel, gpu_memcpy, gpu_memset and their older spellings
	Events       int64 // metadata events not counted
	Threads      []*traceThread
}

// traceThread is one tid of a process.
type traceThread struct {
	TID          string // as written
	Name         string // metadata thread_name
	SortIndex    int64
	HasSortIndex bool
	Events       int64 // metadata events not counted
}

// chunk is a run of whole events: bytes [Offset, End) start with the brace of its first event and end with the brace of its last.
type chunk struct {
	Offset, End int64
	First       int64   // index of its first event
	Events      int64   // elements, empty ones not counted
	Timed       int64   // events with a ts, metadata not counted
	Min, Max    Instant // earliest start, latest end of the Timed ones
}

// originNS is the instant, in ns, from which the package counts picoseconds: the earliest event, floored to the us.
func (t *trace) originNS() int64 {
	o := t.Min.NS - (t.Min.NS-t.BaseNS)%1000
	if t.Min.NS < math.MinInt64+2000 {
		return t.Min.NS
	}
	return o
}

// key returns the top-level key of a name, nil where absent.
func (t *trace) key(name string) *key {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	return nil
}

// rank returns the rank of the process that was recorded, -1 where the trace does not say.
func (t *trace) rank() int {
	if t.Distributed == nil {
		return -1
	}
	return t.Distributed.Rank
}
