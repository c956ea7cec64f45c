package source

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
)

// Scheduled is a trace whose lines stand for what ranks of a parallel job did: named parts of training steps, without kernels.
type Scheduled interface {
	Trace
	// Schedule visits the parts in stored order.
	Schedule(ctx context.Context, src *file.Source, visit func(p *SchedulePart)) error
}

// SchedulePart is one part of a step on one line.
type SchedulePart struct {
	Span
	Name string
	Step int64 // -1: the trace does not say
}
