// Package kernels makes of what a trace's reader found (source/work) what the search for cycles needs: the kernels of each device of
// each rank in order of time, as columns, and the marks that say where steps are. It knows no format, finds nothing and judges nothing.
//
// The result does not depend on where an event stands in its file: kernels are ordered by their own properties, and names are
// numbered after they were sorted. What could not be read is counted in Losses and said in Warnings.
package kernels

import (
	"math"

	"github.com/prlx-go/prlx/core/trace/work"
)

// Options tune Read. The zero value is usable.
type Options struct {
	// Copies makes memory copies and fills kernels too. Without it they are only counted.
	Copies bool
	// MaxKernels bounds what is kept; more is a Limit error. 0 means 1 << 30.
	MaxKernels int
	// Owners says what kernels belong to, in a second pass over the file.
	Owners bool
	// Salvage reads what is complete of a file that was cut. Chrome JSON is always read so.
	Salvage bool
}

// Trace is what Read found.
type Trace struct {
	Path      string
	Format    string // "chrome" or "xspace"
	Sequences []Sequence
	// Marks are ordered by sequence, start, end (longest first), kind and text. Those that belong to no sequence come first.
	Marks    []Mark
	Names    []string // of kernels, sorted; Sequence.Name points into it
	BaseNS   int64    // baseTimeNanoseconds of a Chrome trace: starts include it, the file's ts do not
	Warnings []string // one sentence each
	Losses   Losses
	Left     int     // traces of the same run that could not be read and were left out
	World    int     // ranks of the job, as the recorder says it; 0 unknown
	Owners   []Owner // what Sequence.Owner points into; the first is unknown
}

// Kernels is the number of kernels of all sequences.
func (t *Trace) Kernels() int {
	n := 0
	for i := range t.Sequences {
		n += t.Sequences[i].Len()
	}
	return n
}

// Sequence is the kernels of one device of one rank. The columns have one length. Kernels are in order of start, then duration, name,
// correlation, stream; starts are compared with all digits of the file and kept in ns, rounded down, durations are rounded to the nearest ns.
type Sequence struct {
	Rank    int    // -1 unknown
	Host    string // of the recording, "" unknown
	Device  string // "GPU 3", "TPU:0": as the file names it; one name occurs once a rank
	Streams []Stream

	Name    []uint32 // place in Trace.Names
	StartNS []int64  // absolute, or from whatever the file counts from
	Stream  []uint16 // place in Streams
	// Graph is the number of the graph launch that started the kernel, counted from 1 in order of first kernel; 0 is none. nil where the
	// trace has no graph launch.
	Graph []uint32
	// Owner is what the kernel belongs to, a place in Trace.Owners. nil unless asked for (Options.Owners).
	Owner []uint32
	// Blocks is how many thread blocks the kernel was launched with, 0 unknown. nil where the trace says it of none.
	Blocks []uint32

	dur  []uint32
	long map[int]int64 // durations that dur cannot hold, where it has math.MaxUint32
}

// Len is the number of kernels.
func (s *Sequence) Len() int { return len(s.Name) }

// DurNS is the duration of kernel i.
func (s *Sequence) DurNS(i int) int64 {
	if d := s.dur[i]; d != math.MaxUint32 {
		return int64(d)
	}
	return s.long[i]
}

// EndNS is the end of kernel i.
func (s *Sequence) EndNS(i int) int64 { return s.StartNS[i] + s.DurNS(i) }

// Stream is one queue of a device.
type Stream struct {
	Name          string // "7", "stream 7", "XLA Ops": as the file names it
	Kernels       int
	Collectives   int  // kernels of NCCL, RCCL and their like
	Communication bool // nothing but collectives
}

// MarkKind is what made a mark.
type MarkKind = work.MarkKind

// The kinds of marks.
const (
	ProfilerStep = work.ProfilerStep // PyTorch's profiler
	VLLM         = work.VLLM
	SGLang       = work.SGLang
	ATOM         = work.ATOM
	NVTX         = work.NVTX // any other range of a user
	XLAModule    = work.XLAModule
	XLAStep      = work.XLAStep
	GraphLaunch  = work.GraphLaunch
)

// Losses counts what was not read as it should be.
type Losses = work.Losses

// markPlace says how the interval of a mark was found.
type markPlace string

// How a mark came to its interval.
const (
	OnDevice markPlace = "device"   // the file has it on the device
	Launched markPlace = "launches" // from the first to the last kernel that was launched inside of it
	OnHost   markPlace = "host"     // as recorded on the host: nothing ties it to kernels
)

// Mark is one interval that a recorder or program named.
type Mark struct {
	Kind     MarkKind
	Text     string
	Place    markPlace
	Sequence int // place in Trace.Sequences, -1 none
	Rank     int // -1 unknown
	StartNS  int64
	EndNS    int64
	Kernels  int // of its sequence that start inside of it
	// What the text says; Phase is one of the phases of package phase, or "". Counts are 0 where it says nothing.
	Phase  string
	Step   int64 // number of the step, -1 where it says none
	Tokens int
	Batch  int // requests
}
