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
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
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
	switch info.Format {
	case "xspace":
		err = t.xspace(j.Context(), src)
	case "chrome":
		err = t.chrome(j.Context(), src)
	default:
		return nil, fault.New(fault.Usage, "holds %s, expected a trace", info.Format).WithPath(r.Path)
	}
	if err != nil {
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

func (t *rowCollector) xspace(ctx context.Context, src *file.Source) error {
	s, err := xspace.ScanTrace(ctx, src, xspace.ScanOptions{})
	if err != nil {
		return err
	}
	start, err := combine.StartOf(ctx, src, s)
	if err != nil {
		return err
	}
	return xspace.Events(ctx, src, s, nil, func(p *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
		base := l.TimestampNS
		if base < xspace.AbsoluteNS {
			base += start
		}
		ns := floorDiv(e.OffsetPS, 1000)
		row := event.Row{
			Plane: int32(p.Index), Line: int32(l.Index), Name: e.Name(), StartNS: base + ns, StartPS: int32(e.OffsetPS - ns*1000),
			DurationPS: e.DurationPS, Count: 1,
		}
		if e.Aggregated {
			row.Count = e.Num
		}
		t.table.Append(row)
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

// chrome numbers processes and threads as inspect lists them. Metadata events are no rows; events without a process, a thread or
// a usable time have none and count as dropped.
func (t *rowCollector) chrome(ctx context.Context, src *file.Source) error {
	tr, err := chrometrace.Scan(ctx, src, chrometrace.ScanOptions{})
	if err != nil {
		return err
	}
	want := func(phase byte, _, _ []byte) bool { return phase != 'M' }
	return chrometrace.Events(ctx, src, tr, want, func(e *chrometrace.Event) error {
		if !e.Timed || e.Process == nil || e.Thread < 0 {
			t.table.Dropped++
			return nil
		}
		t.table.Append(event.Row{
			Plane: int32(e.Process.Index), Line: int32(e.Thread), Name: string(e.Name), StartNS: e.Start.NS, StartPS: e.Start.PS,
			DurationPS: e.DurationPS, Count: 1,
		})
		return nil
	})
}
