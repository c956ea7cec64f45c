package source

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/file"
)

// Accompanying is a trace of what a library recorded in one process of a job, which may stand beside the trace of that process's profiler.
type Accompanying interface {
	Trace
	// Process is the process that was recorded.
	Process() ProcessID
	// Executed visits the kernels of the library, in order of time.
	Executed(ctx context.Context, src *file.Source, visit func(k *Execution)) error
	// Move moves all instants by so much: the trace is on another clock from then on.
	Move(ns int64)
	// WriteXSpace writes the trace as an XSpace: its processes are planes, in order, with the same lines, behind one plane that says when it was recorded.
	WriteXSpace(ctx context.Context, src *file.Source, w io.Writer) error
	// FlowEnds visits the ends of flows. Those of one number belong together, whichever traces they are in.
	FlowEnds(ctx context.Context, src *file.Source, visit func(e *FlowEnd)) error
}

// ProcessID says which process a trace is of.
type ProcessID struct {
	Host string
	PID  int64
	Rank *int64 // nil: it is several ranks, or nobody knows
}

// Execution is one kernel of a library.
type Execution struct {
	Function       string // of the library, such as AllReduce; several in one kernel are SendRecv
	StartNS, EndNS int64
	BoundNS        int64 // how far off these can be; -1: they are when the host saw them
}

// FlowEnd is one end of a flow.
type FlowEnd struct {
	Number  uint64
	Begins  bool
	Process int32 // places in Trace.Layout and Process.Lines
	Line    int32
	NS      int64
}
