// Package inspect says what one file holds, a trace or clock readings, and reads the events of a trace into a
// table. It changes nothing, relates no clocks and knows no recordings of kernels.
package inspect

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// File is what is in one file. Instants are ns since 1970; those of a trace that does not say when it was recorded count from its own
// zero.
type File struct {
	Path              string           `json:"path"`
	Format            string           `json:"format"` // xspace, chrome, snapshot-pairs, probe-windows, probe-stamps, round-offsets, declared-offsets, prlx-v1, prlx-v2, session
	Bytes             int64            `json:"bytes"`
	Compression       string           `json:"compression,omitempty"`
	DecompressedBytes int64            `json:"decompressed_bytes"`
	Hosts             []string         `json:"hosts,omitempty"`
	Rank              *int             `json:"rank,omitempty"`
	MergedRanks       []string         `json:"merged_ranks,omitempty"` // of a trace that another tool merged out of those of several ranks
	WorldSize         int              `json:"world_size,omitempty"`
	Backend           string           `json:"backend,omitempty"`
	Nodes             []int            `json:"nodes,omitempty"`
	StartNS           *int64           `json:"start_ns,omitempty"`
	EndNS             *int64           `json:"end_ns,omitempty"`
	Events            *int64           `json:"events,omitempty"`
	Counts            map[string]int64 `json:"counts,omitempty"`
	Planes            []Plane          `json:"planes,omitempty"`
	Clocks            []Clock          `json:"clocks,omitempty"`
	Alignment         *Alignment       `json:"alignment,omitempty"` // of a trace that prlx wrote
	Kernels           []Kernel         `json:"kernels,omitempty"`
	Losses            []string         `json:"losses,omitempty"`
	Warnings          []string         `json:"warnings,omitempty"`
	Salvaged          *source.Salvaged `json:"salvaged,omitempty"` // of a trace that was cut: what was lost
}

// Alignment is what a trace says about what prlx did to it.
type Alignment struct {
	Version   string `json:"prlx"`
	Aligned   bool   `json:"aligned"`
	Reference string `json:"reference"`
	Timebase  string `json:"timebase"`
	ZeroNS    int64  `json:"zero_ns"`
	Nodes     []Node `json:"nodes"`
}

// Node is a node of a trace that prlx wrote.
type Node struct {
	ID       string  `json:"id"`
	Host     string  `json:"host"`
	Rank     *int64  `json:"rank"`
	Method   string  `json:"method"`
	OffsetNS int64   `json:"offset_ns"`
	DriftPPM float64 `json:"drift_ppm"`
	BoundNS  *int64  `json:"bound_ns"` // the largest error of its times; null: nothing is known
	Knots    int     `json:"knots"`    // of the map that its times went through
}

// Plane is a plane of an XSpace or a process of a Chrome trace.
type Plane struct {
	Index  int    `json:"index"`
	ID     any    `json:"id"` // number; text where the trace has text, or beyond 2^53
	Name   string `json:"name"`
	Events int64  `json:"events"`
	Lines  []Line `json:"lines"`
}

// Line is a line of a plane or a thread of a process.
type Line struct {
	Index       int    `json:"index"`
	ID          any    `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Events      int64  `json:"events"`
	Aggregated  int64  `json:"aggregated,omitempty"`
	FirstNS     *int64 `json:"first_ns,omitempty"`
	LastNS      *int64 `json:"last_ns,omitempty"`
	Clock       string `json:"clock,omitempty"` // wall, tracer
	Sorted      *bool  `json:"sorted,omitempty"`
}

// Clock is something that says how clocks relate.
type Clock struct {
	Name     string `json:"name"`
	Readings int64  `json:"readings"`
	FirstNS  *int64 `json:"first_ns,omitempty"`
	LastNS   *int64 `json:"last_ns,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Kernel sums up the device events of one name.
type Kernel struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	TotalNS int64  `json:"total_ns"`
}

// Of returns what every open file has: its path and its size.
func Of(path string, src *file.Source) File {
	return File{Path: path, Bytes: src.DiskSize(), Compression: src.Compression(), DecompressedBytes: src.Size()}
}

// Read says what is in an open file whose first bytes are head. said is what became of it where it was salvaged; nil otherwise.
func Read(j *job.Job, path string, src *file.Source, head []byte, said *source.Salvaged) (*File, error) {
	f := Of(path, src)
	if said != nil {
		f.Salvaged, f.Losses = said, []string{said.Sentence()}
	}
	if err := f.read(j, src, head); err != nil {
		return nil, fault.Of(err).WithPath(path)
	}
	return &f, nil
}

func (f *File) read(j *job.Job, src *file.Source, head []byte) error {
	trace, kind := formats.Of(head), format.Of(head)
	switch {
	case trace != nil:
		f.Format = trace.Name
		return f.trace(j, src, trace)
	case kind.Known() && kind != format.PairsMessage && kind != format.ClockText:
		return kind.Refuse(f.Path, "a trace, a recording of a kernel or clock readings")
	}
	return f.clocks(j.Context(), src)
}

// reach widens a span of instants that starts as nil, nil.
func reach(first, last **int64, ns int64) {
	if *first == nil || ns < **first {
		from := ns
		*first = &from
	}
	if *last == nil || ns > **last {
		to := ns
		*last = &to
	}
}
