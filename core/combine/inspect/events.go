package inspect

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Events are the events of a trace as columns, in order of their start. Lines are numbered over the whole file.
type Events struct {
	*event.Table
	Planes []string // names by number
	Lines  []string
	Line   []int32 // by row, where Table numbers the lines of each plane
}

// ReadEvents reads the events of a trace that Read has described, at most rows of them. What stands on no line, and what should have a
// time and has none that can be used, has no row and counts as dropped.
func ReadEvents(ctx context.Context, f *File, rows int) (*Events, error) {
	of := formats.ByName(f.Format)
	if of == nil {
		return nil, fault.New(fault.Usage, "holds %s, expected a trace", f.Format).WithPath(f.Path)
	}
	src, _, err := formats.Open(ctx, f.Path, f.Salvaged != nil)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	e := &Events{Table: event.NewTable(rows)}
	if err := e.read(ctx, src, of); err != nil {
		return nil, fault.Of(err).WithPath(f.Path)
	}
	e.SortByStart()
	e.name(f.Planes)
	return e, nil
}

func (e *Events) read(ctx context.Context, src *file.Source, of *source.Format) error {
	trace, err := of.Scan(ctx, src, source.ScanOptions{})
	if err != nil {
		return err
	}
	start, err := combine.StartOf(ctx, src, trace)
	if err != nil {
		return err
	}
	return trace.Visit(ctx, src, source.AllEvents, start, func(ev *source.Event) error {
		if ev.Process < 0 || ev.Line < 0 || !ev.Timed && !ev.Aggregated {
			e.Dropped++
			return nil
		}
		at := source.After(ev.BaseNS, ev.OffsetPS)
		e.Append(event.Row{
			Plane: ev.Process, Line: ev.Line, Name: ev.Name, StartNS: at.NS, StartPS: at.PS, DurationPS: ev.DurationPS, Count: ev.Count,
		})
		return nil
	})
}

// name gives planes and lines their names, and each row the number of its line in the file.
func (e *Events) name(planes []Plane) {
	firstLine := make([]int32, len(planes))
	for i, p := range planes {
		e.Planes = append(e.Planes, p.Name)
		firstLine[i] = int32(len(e.Lines))
		for _, l := range p.Lines {
			e.Lines = append(e.Lines, lineName(l))
		}
	}
	plane, line := e.Column("plane").I32, e.Column("line").I32
	e.Line = make([]int32, len(line))
	for i := range line {
		e.Line[i] = firstLine[plane[i]] + line[i]
	}
}

func lineName(l Line) string {
	switch {
	case l.DisplayName != "":
		return l.DisplayName
	case l.Name != "":
		return l.Name
	}
	return fmt.Sprint(l.ID)
}
