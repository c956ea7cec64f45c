package xspace

import (
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

var _ source.Linked = (*Space)(nil)

// statCorrelation is the number that XLA's GPU tracers give a call of the runtime and what the device did because of it.
const statCorrelation = "correlation_id"

// Launches visits what the GPU tracer recorded: its calls on lines of the host, kernels and copies on planes of GPUs. Waits have no number, and
// are told by their names.
func (s *Space) Launches(ctx context.Context, src *file.Source, visit func(l *source.Launch)) error {
	gpu := func(p *Plane) bool {
		kind, _, ok := source.Device(p.Name)
		return ok && kind == "GPU"
	}
	want := func(p *Plane, l *Line) bool {
		return gpu(p) && work.RoleOf(l.Label()) == work.KernelLine || strings.HasPrefix(p.Name, "/host:")
	}
	return Events(ctx, src, s, want, func(p *Plane, l *Line, e *Event) error {
		if e.Aggregated {
			return nil
		}
		base := l.TimestampNS
		if base < source.AbsoluteNS {
			base = addSat(base, s.ProfileStartNS)
		}
		end := source.After(base, addSat(e.OffsetPS, max(e.DurationPS, 0)))
		one := source.Launch{Span: source.Span{Process: int32(p.Index), Line: int32(l.Index), Start: source.After(base, e.OffsetPS), EndNS: end.NS}}
		if end.PS > 0 {
			one.EndNS = addSat(one.EndNS, 1)
		}
		for it := e.Stats(); it.Next(); {
			if st := it.Stat(); st.Name == statCorrelation {
				one.Number = max(st.Uint, uint64(max(st.Int, 0)))
			}
		}
		switch {
		case gpu(p):
			one.Role = source.LaunchWork
		case source.WaitsForDevice(e.Name()):
			one.Role = source.LaunchWait
		case one.Number == 0:
			return nil
		}
		visit(&one)
		return nil
	})
}
