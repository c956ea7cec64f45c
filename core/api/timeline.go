package api

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source"
	"github.com/prlx-go/prlx/core/timeline/source/formats"
)

type timelineRequest struct {
	requestLimits
	Path    string `json:"path"`
	MaxRows int    `json:"max_rows"` // default event.DefaultRows
}

// TimelineDocument is the reply of timeline: what is in the file, and the table "events" beside it.
type TimelineDocument struct {
	Schema  string       `json:"schema"`
	File    *InspectFile `json:"file"`
	Rows    int          `json:"rows"`
	Dropped int64        `json:"dropped"` // events beyond the limit of rows
}

// timeline reads the events of one trace into columns, in order of their start.
func timeline(j *job.Job, r *timelineRequest) (*TimelineDocument, error) {
	info, err := inspectFile(j, r.Path)
	if err != nil {
		return nil, err
	}
	if info.Recording != nil {
		return nil, format.Recording.Refuse(r.Path, "a trace")
	}
	src, err := file.Open(j.Context(), r.Path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	t := &rowCollector{table: event.NewTable(r.MaxRows), file: info}
	trace := formats.ByName(info.Format)
	if trace == nil {
		return nil, fault.New(fault.Usage, "holds %s, expected a trace", info.Format).WithPath(r.Path)
	}
	if err := t.read(j.Context(), src, trace); err != nil {
		return nil, fault.Of(err).WithPath(r.Path)
	}
	t.table.SortByStart()
	AttachTable(j, "events", t.columns())
	return &TimelineDocument{Schema: "prlx.timeline/1", File: info, Rows: t.table.Len(), Dropped: t.table.Dropped}, nil
}

// rowCollector turns events into rows. Lines are numbered over the whole file.
type rowCollector struct {
	table *event.Table
	file  *InspectFile
}

// read takes the events of a trace. What stands on no line, and what should have a time and has none that can be used, has no row and
// counts as dropped.
func (t *rowCollector) read(ctx context.Context, src *file.Source, f *source.Format) error {
	trace, err := f.Scan(ctx, src, source.ScanOptions{})
	if err != nil {
		return err
	}
	start, err := combine.StartOf(ctx, src, trace)
	if err != nil {
		return err
	}
	return trace.Visit(ctx, src, source.AllEvents, start, func(e *source.Event) error {
		if e.Process < 0 || e.Line < 0 || !e.Timed && !e.Aggregated {
			t.table.Dropped++
			return nil
		}
		at := source.After(e.BaseNS, e.OffsetPS)
		t.table.Append(event.Row{
			Plane: e.Process, Line: e.Line, Name: e.Name, StartNS: at.NS, StartPS: at.PS, DurationPS: e.DurationPS, Count: e.Count,
		})
		return nil
	})
}

// columns makes the table that Python sees: names of planes and lines instead of their numbers.
func (t *rowCollector) columns() *Table {
	out := NewTable(t.table.Len())
	byName := map[string]event.Column{}
	for _, c := range t.table.Columns() {
		byName[c.Name] = c
	}
	var planes, lines []string
	firstLine := make([]int32, len(t.file.Planes))
	for i, p := range t.file.Planes {
		planes = append(planes, p.Name)
		firstLine[i] = int32(len(lines))
		for _, l := range p.Lines {
			name := l.DisplayName
			if name == "" {
				name = l.Name
			}
			if name == "" {
				name = fmt.Sprint(l.ID)
			}
			lines = append(lines, name)
		}
	}
	plane, line := byName["plane"].I32, byName["line"].I32
	of := make([]int32, len(line))
	for i := range line {
		of[i] = firstLine[plane[i]] + line[i]
	}
	out.Codes("plane", plane, planes)
	out.Codes("line", of, lines)
	out.Codes("name", byName["name"].I32, byName["name"].Dictionary)
	out.Int64("start_ns", "ns", byName["start_ns"].I64, nil)
	out.Int32("start_ps", "ps", byName["start_ps"].I32, nil)
	out.Int64("duration_ps", "ps", byName["duration_ps"].I64, nil)
	out.Int64("count", "", byName["count"].I64, nil)
	return out
}
