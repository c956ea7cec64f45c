package chrometrace

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

var _ source.Scheduled = (*trace)(nil)

// Schedule visits the complete events, with the step that their args name.
func (t *trace) Schedule(ctx context.Context, src *file.Source, visit func(p *source.SchedulePart)) error {
	known := texts{map[string]string{}}
	return Events(ctx, src, t, func(phase byte, _, _ []byte) bool { return phase == 'X' }, func(e *Event) error {
		if !e.Timed || e.Process == nil {
			return nil
		}
		p := source.SchedulePart{Span: spanOf(e), Name: known.of(e.Name), Step: -1}
		if step, ok := e.ArgInt("step"); ok && step >= 0 {
			p.Step = step
		}
		visit(&p)
		return nil
	})
}
