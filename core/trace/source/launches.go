package source

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
)

// Linked is a trace whose recorder gave calls of the host, and what devices did because of them, one number.
type Linked interface {
	Trace
	// Launches visits those calls, the work of devices, and the calls that wait for it, in any order.
	Launches(ctx context.Context, src *file.Source, visit func(l *Launch)) error
}

// LaunchRole is what an event is to launches.
type LaunchRole uint8

// The roles.
const (
	LaunchCall LaunchRole = iota // of the host: it starts work
	LaunchWork                   // of a device: a kernel, a copy, a fill
	LaunchWait                   // of the host: it returns when all the work that its device was given before is done
)

// Launch is one of them.
type Launch struct {
	Span
	Role   LaunchRole
	Number uint64 // of calls and their work; 0: none
	// Awaited is of work: its call returns when it is done, as for copies to memory of the host that the device cannot reach.
	Awaited bool
	// Blocks is of calls: work of theirs that is a copy to the host is done when they return, wherever it goes.
	Blocks bool
	ToHost bool // of work: a copy to the host
}

// WaitsForDevice reports whether a call returns when all the work of its device is done. Which stream or event the others of its kind wait for is
// not written.
func WaitsForDevice(call string) bool {
	switch call {
	case "cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize", "hipCtxSynchronize", "cudaThreadSynchronize":
		return true
	}
	return false
}
