package collective

import (
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// FromXSpace finds the collectives in an XSpace. An event is one when its program says so: its name, or its hlo_op, is exactly
// that of a collective instruction of its module. Kernels of NCCL and RCCL without a program are judged by their name.
func FromXSpace(ctx context.Context, src *file.Source, space *xspace.Space, opt Options) (*Part, error) {
	x := &xspaceReader{part: newPart(opt.Limit), opt: opt, src: src}
	if opt.Rank != nil {
		x.part.Ranks[opt.Node] = int(*opt.Rank)
	}
	var err error
	if x.part.Programs, err = ReadPrograms(ctx, src, space, x.part.warn); err != nil {
		return nil, err
	}
	x.executions = newExecutions(x.part, opt.Node, x.part.Programs)
	for i := range space.Planes {
		if err := x.plane(ctx, &space.Planes[i]); err != nil {
			return nil, err
		}
	}
	x.finish()
	x.part.finish()
	return x.part, nil
}

type xspaceReader struct {
	executions
	part *Part
	opt  Options
	src  *file.Source
}

// plane reads the collectives of one plane. Events are looked at when their name may be that of a collective.
func (x *xspaceReader) plane(ctx context.Context, p *xspace.Plane) error {
	kind := kindOf(p)
	if p.Events == 0 || kind == otherPlane {
		return nil
	}
	names, err := xspace.LoadEventNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	candidates, only := map[int64]bool{}, &xspace.IDSet{}
	names.Each(func(id int64, name string) {
		if x.candidate(name, kind) {
			candidates[id] = true
			only.Add(id)
		}
	})
	if len(candidates) == 0 {
		return nil
	}
	stats, err := xspace.LoadStatNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	opt := xspace.EventOptions{EventNames: names, StatNames: stats, Only: only}
	at := place{kind: kind, plane: int32(p.Index), device: deviceOf(p.Name)}
	if kind == operations {
		if at.programs, err = programsOfEvents(ctx, x.src, p, candidates); err != nil {
			return err
		}
	}
	if id, ok := globalID(p); ok {
		x.part.DeviceIDs[Slot{x.opt.Node, at.device}] = id
	}
	for k := range p.Lines {
		l := &p.Lines[k]
		if l.Timed() == 0 || !kind.holdsExecutions(l) {
			continue
		}
		at.line = l
		if err := xspace.EventsOf(ctx, x.src, p, l, opt, func(e *xspace.Event) error {
			if only.Has(e.MetadataID) && !e.Aggregated {
				x.event(&at, e)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// place is where events are while they are visited.
type place struct {
	kind     planeKind
	plane    int32
	device   int32 // -1 on host planes
	line     *xspace.Line
	programs map[int64]int64 // program id by event metadata, where events do not carry it
}

// event adds one event if it is a collective.
func (x *xspaceReader) event(at *place, e *xspace.Event) {
	f := factsOf(e)
	if id, ok := at.programs[e.MetadataID]; ok && !f.hasProgram {
		f.program, f.hasProgram = id, true
	}
	base := at.line.TimestampNS
	if base < xspace.AbsoluteNS {
		base = addSat(base, x.opt.StartNS)
	}
	x.add(at.kind, e.Name(), &f, event.Span{
		Device: at.device, Plane: at.plane, Line: int32(at.line.Index),
		StartNS: addSat(base, floorNS(e.OffsetPS)), EndNS: addSat(base, ceilNS(addSat(e.OffsetPS, e.DurationPS))),
	})
}

func factsOf(e *xspace.Event) eventFacts {
	var f eventFacts
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "hlo_op":
			f.op = strings.TrimPrefix(strings.Clone(st.Text()), "%")
		case "hlo_module":
			f.module = strings.Clone(st.Text())
		case "program_id":
			f.program, f.hasProgram = bits(st)
		case "run_id":
			f.run, f.hasRun = bits(st)
		case "device_ordinal":
			f.ordinal, f.hasOrdinal = st.Integer()
		}
	}
	return f
}

// bits reads an id, which producers write as int64 or uint64 and which may be negative in the one and huge in the other.
func bits(st *xspace.Stat) (int64, bool) {
	switch st.Kind {
	case xspace.StatInt:
		return st.Int, true
	case xspace.StatUint:
		return int64(st.Uint), true
	}
	v, ok := st.Integer()
	return v, ok
}

func floorNS(ps int64) int64 {
	if ps < 0 {
		return -((-ps + 999) / 1000)
	}
	return ps / 1000
}

func ceilNS(ps int64) int64 { return -floorNS(-ps) }
