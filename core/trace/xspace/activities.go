package xspace

import (
	"bytes"
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

var _ source.Active = (*Space)(nil)

// Activities visits what lines of devices executed, and the threads of hosts. Of a TPU these are the operations of compiled programs.
func (s *Space) Activities(ctx context.Context, src *file.Source, visit func(a *source.Activity)) error {
	device := func(p *Plane) bool {
		_, _, ok := source.Device(p.Name)
		return ok
	}
	want := func(p *Plane, l *Line) bool {
		return device(p) && work.RoleOf(l.Label()) == work.KernelLine || strings.HasPrefix(p.Name, "/host:")
	}
	var one source.Activity
	var name []byte
	return Events(ctx, src, s, want, func(p *Plane, l *Line, e *Event) error {
		if e.Aggregated {
			return nil
		}
		base := l.TimestampNS
		if base < source.AbsoluteNS {
			base = addSat(base, s.ProfileStartNS)
		}
		end := source.After(base, addSat(e.OffsetPS, max(e.DurationPS, 0)))
		name = append(name[:0], e.Name()...)
		one = source.Activity{Span: source.Span{Process: int32(p.Index), Line: int32(l.Index), Start: source.After(base, e.OffsetPS), EndNS: end.NS}, Name: name, Role: source.ActiveHost}
		if end.PS > 0 {
			one.EndNS = addSat(one.EndNS, 1)
		}
		for it := e.Stats(); it.Next(); {
			if st := it.Stat(); st.Name == statCorrelation {
				one.Number = max(st.Uint, uint64(max(st.Int, 0)))
			}
		}
		if device(p) {
			one.Role = source.ActiveKernel
			if lower := bytes.ToLower(name); bytes.HasPrefix(lower, []byte("memcpy")) || bytes.HasPrefix(lower, []byte("memset")) {
				one.Role = source.ActiveCopy
			}
		}
		visit(&one)
		return nil
	})
}
