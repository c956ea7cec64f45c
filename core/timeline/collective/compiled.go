package collective

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source"
)

// FromCompiled finds the collectives in a trace that holds compiled programs. An event is one when its program says so: its name, or its
// hlo_op, is exactly that of a collective instruction of its module. Kernels of NCCL and RCCL without a program are judged by their name.
func FromCompiled(ctx context.Context, src *file.Source, trace source.Compiled, opt Options) (*Part, error) {
	part := newPart(opt.Limit)
	if opt.Rank != nil {
		part.Ranks[opt.Node] = int(*opt.Rank)
	}
	var err error
	if part.Programs, err = ReadPrograms(ctx, src, trace, part.warn); err != nil {
		return nil, err
	}
	x := newExecutions(part, opt.Node, part.Programs)
	err = trace.Operations(ctx, src, opt.StartNS, source.OperationVisitor{
		Want: func(p *source.Process, name string) bool { return x.candidate(name, p.Kind) },
		Enter: func(p *source.Process) {
			if p.DeviceID != nil {
				part.DeviceIDs[Slot{opt.Node, p.Device}] = *p.DeviceID
			}
		},
		Visit: func(p *source.Process, o *source.Operation) {
			x.add(p.Kind, o, event.Span{Device: p.Device, Plane: int32(p.Index), Line: o.Line, StartNS: o.StartNS, EndNS: o.EndNS})
		},
	})
	if err != nil {
		return nil, err
	}
	x.finish()
	part.finish()
	return part, nil
}
