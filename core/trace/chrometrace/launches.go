package chrometrace

import (
	"bytes"
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

var _ source.Linked = (*trace)(nil)

// Launches visits the calls of CUDA's and HIP's runtimes and drivers and the work of devices, as Kineto writes both.
func (t *trace) Launches(ctx context.Context, src *file.Source, visit func(l *source.Launch)) error {
	role := func(phase byte, cat, name []byte) (source.LaunchRole, bool) {
		if phase != 'X' {
			return 0, false
		}
		switch classOf(string(cat)) {
		case kernelClass, copyClass:
			return source.LaunchWork, true
		case runtimeClass:
			if source.WaitsForDevice(string(name)) {
				return source.LaunchWait, true
			}
			return source.LaunchCall, true
		}
		return 0, false
	}
	want := func(phase byte, cat, name []byte) bool { _, ok := role(phase, cat, name); return ok }
	return Events(ctx, src, t, want, func(e *Event) error {
		if !e.Timed || e.Process == nil {
			return nil
		}
		l := source.Launch{Span: spanOf(e)}
		l.Role, _ = role(e.Phase, e.Cat, e.Name)
		if n, ok := e.ArgInt("correlation"); ok && n > 0 {
			l.Number = uint64(n)
		}
		switch l.Role {
		case source.LaunchWork:
			l.ToHost = bytes.HasPrefix(e.Name, []byte("Memcpy DtoH"))
			l.Awaited = l.ToHost && bytes.Contains(e.Name, []byte("-> Pageable"))
		case source.LaunchCall:
			l.Blocks = returnsDone(e.Name)
		}
		visit(&l)
		return nil
	})
}

// returnsDone reports whether a call that copies to the host returns when the copy is there.
func returnsDone(name []byte) bool {
	switch string(name) {
	case "cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream", "hipMemcpyDtoH", "cuMemcpyDtoH_v2", "cuMemcpyDtoH":
		return true
	}
	return false
}
