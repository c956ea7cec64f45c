package source

import (
	"bytes"
	"context"

	"github.com/prlx-go/prlx/core/file"
)

// Active is a trace that shows what devices and the threads of hosts were busy with.
type Active interface {
	Trace
	// Activities visits what devices executed, and calls and ranges of hosts, in any order. An activity is valid until the visit returns.
	Activities(ctx context.Context, src *file.Source, visit func(a *Activity)) error
}

// Activity is one of them.
type Activity struct {
	Span
	Role   ActivityRole
	Name   []byte
	Number uint64 // that a call and what it launched share; 0 none
	Named  bool   // of hosts: a range that a user named
	// Sequence is the number that an operator and the operator which computes its gradient share, 0 none, and whether it is the latter; nil where the
	// trace knows none. It is asked only while the activity is visited.
	Sequence func() (number int64, backward bool)
}

// ActivityRole is what an activity is.
type ActivityRole uint8

// The roles.
const (
	ActiveKernel ActivityRole = iota // of a device
	ActiveCopy                       // of a device: a copy or a fill of memory
	ActiveHost                       // of a thread of a host
)

// LoadsData reports whether a range of a host is one in which a program waits for its data: PyTorch's data loader, TensorFlow's and Grain's iterators.
func LoadsData(name []byte) bool {
	for _, s := range [][]byte{
		[]byte("enumerate(DataLoader)"), []byte("DataLoaderIter"), []byte("IteratorGetNext"), []byte("data_load"), []byte("dataloader"),
		[]byte("DatasetIterator"), []byte("PyGrain"),
	} {
		if bytes.Contains(name, s) {
			return true
		}
	}
	return false
}

// CollectsGarbage reports whether a range of a host is a collection of garbage: "Python GC" for PyTorch and those who mark it themselves, "GC" for Ascend's
// profiler, gc.collect for tracers of Python's functions.
func CollectsGarbage(name []byte) bool {
	if string(name) == "GC" {
		return true
	}
	for _, s := range [][]byte{[]byte("Python GC"), []byte("gc.collect"), []byte("gc collect"), []byte("garbage collect")} {
		if bytes.Contains(name, s) {
			return true
		}
	}
	return false
}

// Communicates reports whether a kernel is one of a communication library: NCCL, RCCL, or what derives from them.
func Communicates(name []byte) bool {
	return bytes.Contains(name, []byte("nccl")) || bytes.Contains(name, []byte("rccl")) || bytes.Contains(name, []byte("oneccl"))
}
