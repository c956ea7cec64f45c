package collective

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
)

// FromCompiled finds the collectives in a trace that holds compiled programs. An event is one when its program says so: its name, or its
// hlo_op, is exactly that of a collective instruction of its module. Kernels of NCCL and RCCL without a program are judged by their name.
func FromCompiled(ctx context.Context, src *file.Source, trace source.Compiled, opt Options) (*Part, error) {
	e, err := BeginCompiled(ctx, src, trace, opt)
	if err != nil {
		return nil, err
	}
	if err := trace.Operations(ctx, src, opt.StartNS, e.Visitor()); err != nil {
		return nil, err
	}
	return e.Finish(), nil
}

// Extraction finds the collectives among the operations of a trace that somebody else reads.
type Extraction struct {
	part *Part
	node int32
	x    executions
}

// BeginCompiled does what FromCompiled does before it reads operations.
func BeginCompiled(ctx context.Context, src *file.Source, trace source.Compiled, opt Options) (*Extraction, error) {
	part := begin(opt)
	if opt.Rank != nil {
		part.Ranks[opt.Node] = int(*opt.Rank)
	}
	var err error
	if part.Programs, err = ReadPrograms(ctx, src, trace, part.warn); err != nil {
		return nil, err
	}
	return &Extraction{part: part, node: opt.Node, x: newExecutions(part, opt.Node, part.Programs)}, nil
}

// Visitor takes the operations, in stored order.
func (e *Extraction) Visitor() source.OperationVisitor {
	return source.OperationVisitor{
		Want: func(p *source.Process, name string) bool { return e.x.candidate(name, p.Kind) },
		Enter: func(p *source.Process) {
			if p.DeviceID != nil {
				e.part.DeviceIDs[Slot{e.node, p.Device}] = *p.DeviceID
			}
		},
		Visit: func(p *source.Process, o *source.Operation) {
			e.x.add(p.Kind, o, event.Span{Device: p.Device, Plane: int32(p.Index), Line: o.Line, StartNS: o.StartNS, EndNS: o.EndNS})
		},
	}
}

// Finish returns what was found.
func (e *Extraction) Finish() *Part {
	e.x.finish()
	e.part.finish()
	return e.part
}
