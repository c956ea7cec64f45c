package api

import (
	"github.com/prlx-go/prlx/core/combine/inspect"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/formats"
)

type timelineRequest struct {
	requestLimits
	Path    string `json:"path"`
	MaxRows int    `json:"max_rows"` // default event.defaultRows
	Salvage bool   `json:"salvage"`
}

// TimelineDocument is the reply of timeline: what is in the file, and the table "events" beside it.
type TimelineDocument struct {
	Schema  string        `json:"schema"`
	File    *inspect.File `json:"file"`
	Rows    int           `json:"rows"`
	Dropped int64         `json:"dropped"` // events beyond the limit of rows
}

// timeline reads the events of one trace into columns, in order of their start.
func timeline(j *job.Job, r *timelineRequest) (*TimelineDocument, error) {
	info, err := inspectTrace(j, r.Path, r.Salvage)
	if err != nil {
		return nil, err
	}
	events, err := inspect.ReadEvents(j.Context(), info, r.MaxRows)
	if err != nil {
		return nil, err
	}
	attachTable(j, "events", eventTable(events))
	return &TimelineDocument{Schema: "prlx.timeline/1", File: info, Rows: events.Len(), Dropped: events.Dropped}, nil
}

// inspectTrace says what is in one file, and refuses a recording of a kernel.
func inspectTrace(j *job.Job, path string, salvage bool) (*inspect.File, error) {
	src, said, err := formats.Open(j.Context(), path, salvage)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		return nil, err
	}
	if format.Of(head) == format.Recording {
		return nil, format.Recording.Refuse(path, "a trace")
	}
	return inspect.Read(j, path, src, head, said)
}

// eventTable is the table that Python sees: names of planes and lines instead of their numbers.
func eventTable(e *inspect.Events) *table {
	out := newTable(e.Len())
	out.codes("plane", e.Column("plane").I32, e.Planes)
	out.codes("line", e.Line, e.Lines)
	out.codes("name", e.Column("name").I32, e.Column("name").Dictionary)
	out.Int64("start_ns", "ns", e.Column("start_ns").I64, nil)
	out.int32("start_ps", "ps", e.Column("start_ps").I32, nil)
	out.Int64("duration_ps", "ps", e.Column("duration_ps").I64, nil)
	out.Int64("count", "", e.Column("count").I64, nil)
	return out
}
