package source

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

// Marker is a trace that can say what prlx did to it.
type Marker interface {
	// ReadMark returns what the file says, nil where it says nothing.
	ReadMark(ctx context.Context, src *file.Source) (*Marked, error)
}

// ReadMark returns what a trace says about what prlx did to it, nil where it says nothing or cannot.
func ReadMark(ctx context.Context, src *file.Source, t Trace) (*Marked, error) {
	if m, ok := t.(Marker); ok {
		return m.ReadMark(ctx, src)
	}
	return nil, nil
}

// Marked is what a file says about what prlx did to it.
type Marked struct {
	*aligned.Mark
	*Places // nil where the mark alone says what belongs to whom
}

// Places is what stands with the processes of a file, where its format has room for it.
type Places struct {
	At     []int           // by node: the process that carries its mark
	NodeOf []int           // by process: index of its node, -1 where that is not said
	Names  []string        // by process: its name in the recording
	Tracer []aligned.Lines // by process: its lines that were on the tracer's clock
}

// ByNode returns, by node, the processes that are its own. nodes is how many there are.
func (p *Places) ByNode(nodes int) [][]int {
	out := make([][]int, nodes)
	for i, k := range p.NodeOf {
		if k >= 0 {
			out[k] = append(out[k], i)
		}
	}
	return out
}

// StartOf returns the instant since 1970 from which times of a trace count that are not absolute themselves: the zero of its mark
// (nil: none) where that says it, else what the trace says.
func StartOf(f *Facts, m *Marked) int64 {
	if m != nil && f.MarkDates {
		return m.ZeroNS
	}
	return f.StartNS
}
