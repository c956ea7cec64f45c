package xspace

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Operations visits the events of lines that hold executions, where their name is wanted.
func (s *Space) Operations(ctx context.Context, src *file.Source, startNS int64, v source.OperationVisitor) error {
	o := s.operations(ctx, src, &source.OperationReading{StartNS: startNS, Visitor: v})
	for i := range s.Planes {
		for k := range s.Planes[i].Lines {
			l := &s.Planes[i].Lines[k]
			v, err := o.visitorOf(i, l)
			if err == nil && v != nil {
				err = v.line(l)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// operationReader finds the operations of one plane after the other, in the bytes that it reads itself or that are read for a writer.
type operationReader struct {
	*source.OperationReading
	ctx       context.Context
	src       *file.Source
	space     *Space
	processes []*source.Process

	entered  int // how many planes were
	plane    *Plane
	process  *source.Process
	opt      EventOptions    // names of the plane; Only is nil when none of them is wanted
	programs map[int64]int64 // by event metadata, where events do not carry it
}

func (s *Space) operations(ctx context.Context, src *file.Source, r *source.OperationReading) *operationReader {
	return &operationReader{OperationReading: r, ctx: ctx, src: src, space: s, processes: s.Layout()}
}

// holds reports whether a line of a process holds executions.
func holds(process *source.Process, l *Line) bool {
	return process.Kind != "" && process.Events > 0 && l.Timed() > 0 && process.Executes[l.Index]
}

// enter makes a plane, by its place in the space, the current one and asks which of its names are wanted.
func (o *operationReader) enter(i int) (err error) {
	p, process := &o.space.Planes[i], o.processes[i]
	o.plane, o.process, o.opt, o.programs = p, process, EventOptions{}, nil
	if p.Events == 0 || process.Kind == "" {
		return nil
	}
	if o.opt.EventNames, err = LoadEventNames(o.ctx, o.src, p, NameOptions{}); err != nil {
		return err
	}
	only := &idSet{}
	o.opt.EventNames.each(func(id int64, name string) {
		if o.Visitor.Want(process, name) {
			only.add(id)
		}
	})
	if only.len() == 0 {
		return nil
	}
	if err := o.opt.load(o.ctx, o.src, p); err != nil {
		return err
	}
	if process.Kind == aligned.PlaneOperations {
		if o.programs, err = programsOfEvents(o.ctx, o.src, p, only); err != nil {
			return err
		}
	}
	o.opt.Only = only
	o.Visitor.Enter(process)
	return nil
}

// visitorOf takes the events of a line of the i-th plane; nil: nothing of the line is wanted, or nobody asked. Planes come in order.
func (o *operationReader) visitorOf(i int, l *Line) (*eventVisitor, error) {
	if o == nil {
		return nil, nil
	}
	for o.entered <= i {
		if err := o.enter(o.entered); err != nil {
			return nil, err
		}
		o.entered++
	}
	return o.visitor(l), nil
}

// also visits a segment that was read into b for another purpose; a big one is read here. A nil visitor visits nothing.
func (v *eventVisitor) also(seg *segment, b []byte) error {
	switch {
	case v == nil:
		return nil
	case seg.big:
		return v.bigSegment(seg)
	}
	return v.segment(seg, b)
}

// visitor takes the events of a line of the current plane; nil: nothing of the line is wanted.
func (o *operationReader) visitor(l *Line) *eventVisitor {
	process := o.process
	if o.opt.Only == nil || !holds(process, l) {
		return nil
	}
	base := l.TimestampNS
	if base < AbsoluteNS {
		base = addSat(base, o.StartNS)
	}
	programs := o.programs
	var one source.Operation
	return newEventVisitor(o.ctx, o.src, o.plane, l, o.opt, func(e *Event) error {
		if e.Aggregated {
			return nil
		}
		one = source.Operation{
			Name: e.Name(), Line: int32(l.Index), StartNS: addSat(base, floorNS(e.OffsetPS)), EndNS: addSat(base, ceilNS(addSat(e.OffsetPS, e.DurationPS))),
		}
		facts(e, &one)
		if id, ok := programs[e.MetadataID]; ok && !one.HasProgram {
			one.Program, one.HasProgram = id, true
		}
		o.Visitor.Visit(process, &one)
		return nil
	})
}

// writtenWhole reports whether a pass that writes an edit reads every line that holds executions: no line of them is left out, or
// copied without a look at its events.
func (s *Space) writtenWhole(e *spaceEdit) bool {
	for i, process := range s.Layout() {
		plane := e.Plane(i)
		for k := range s.Planes[i].Lines {
			if !holds(process, &s.Planes[i].Lines[k]) {
				continue
			}
			if l := plane.Line(k); plane.Drop || l.Drop || !l.Eventwise() {
				return false
			}
		}
	}
	return true
}
