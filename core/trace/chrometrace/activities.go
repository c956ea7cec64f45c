package chrometrace

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

var _ source.Active = (*trace)(nil)

// Activities visits kernels, copies and fills, calls of the runtime, operators, and the ranges of users and of Python on the host.
func (t *trace) Activities(ctx context.Context, src *file.Source, visit func(a *source.Activity)) error {
	role := func(phase byte, cat, name []byte) (source.ActivityRole, bool) {
		if phase != 'X' || len(cat) == 0 {
			return 0, false
		}
		switch string(cat) {
		case "python_function", "python_gc", "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver":
			return source.ActiveHost, true
		case "kernel":
			return source.ActiveKernel, true
		}
		switch classOf(string(cat)) {
		case kernelClass:
			return source.ActiveKernel, true
		case copyClass:
			return source.ActiveCopy, true
		case runtimeClass, operatorClass, hostMark:
			return source.ActiveHost, true
		}
		return source.ActiveHost, source.CollectsGarbage(name)
	}
	want := func(phase byte, cat, name []byte) bool { _, ok := role(phase, cat, name); return ok }
	var one source.Activity
	var of *Event
	sequence := func() (int64, bool) { // of PyTorch: forward operators have no thread of a forward operator
		n, _ := of.ArgInt("Sequence number")
		thread, _ := of.ArgInt("Fwd thread id")
		return n, thread != 0
	}
	return Events(ctx, src, t, want, func(e *Event) error {
		if !e.Timed || e.Process == nil {
			return nil
		}
		of = e
		one = source.Activity{Span: spanOf(e), Name: e.Name, Named: classOf(string(e.Cat)) == hostMark, Sequence: sequence}
		one.Role, _ = role(e.Phase, e.Cat, e.Name)
		if string(e.Cat) != "cpu_op" && string(e.Cat) != "python_function" {
			if n, ok := e.ArgInt("correlation"); ok && n > 0 {
				one.Number = uint64(n)
			}
		}
		visit(&one)
		return nil
	})
}
