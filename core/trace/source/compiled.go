package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// Compiled is a trace that holds compiled programs, and events that are operations of them.
type Compiled interface {
	Trace
	// Part returns a view of some processes, under the names that they had in the recording.
	Part(processes []int, names []string) Compiled
	// Programs reads the compiled programs. warn takes what is odd about them.
	Programs(ctx context.Context, src *file.Source, warn func(string)) ([]Program, error)
	// Operations visits operations in stored order. startNS is the instant from which times count that are not absolute.
	Operations(ctx context.Context, src *file.Source, startNS int64, v OperationVisitor) error
}

// Program is one compiled program with the id that events carry.
type Program struct {
	ID int64
	*hlo.Module
}

// OperationVisitor takes the operations of compiled programs.
type OperationVisitor struct {
	// Want is asked once for every name in a process that holds executions, whether its events are visited.
	Want func(p *Process, name string) bool
	// Enter is called for a process that has such names, before its events.
	Enter func(p *Process)
	// Visit takes an operation, valid until it returns.
	Visit func(p *Process, o *Operation)
}

// Operation is an event that may be the execution of an operation of a compiled program.
type Operation struct {
	Name           string // as recorded
	Line           int32
	StartNS, EndNS int64 // rounded down and up, so that rounding never makes an order impossible

	Op, Module   string // as the event says, "" where it does not
	Program, Run int64  // ids of the program and of the launch
	Ordinal      int64  // of the device, on lines of a host

	HasProgram, HasRun, HasOrdinal bool
}

// DeviceNumber returns the ordinal in the name of a plane, "/device:GPU:3", and -1 for planes of other names.
func DeviceNumber(plane string) int32 {
	rest, ok := strings.CutPrefix(plane, "/device:")
	if !ok {
		return -1
	}
	_, num, _ := strings.Cut(rest, ":")
	var d int32
	if _, err := fmt.Sscanf(num, "%d", &d); err != nil || d < 0 {
		return 0
	}
	return d
}
