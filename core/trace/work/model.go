package work

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/file"
)

// Options say what a reader looks for.
type Options struct {
	Copies     bool // memory copies and fills are kernels too; else they are only counted
	Scopes     bool // what a recorder wrote beside kernels of the ranges around their launch is kept
	Salvage    bool // of a file that was cut, what is complete is read, where the format does not do so anyway
	MaxKernels int  // bounds what is kept; more is a Limit error. 0 means 1 << 28
	// Read says what the text of an annotation means. It is asked once a text.
	Read func(text string) Saying
	// Stream is what can be read only once, opened and not yet read; nil: the path is opened.
	Stream *file.Stream
}

// Open opens what is to be read, from its beginning to its end or at any place.
func (o Options) Open(ctx context.Context, path string) (*file.Source, error) {
	if o.Stream == nil {
		return file.Open(ctx, path)
	}
	defer o.Stream.Close()
	return file.Spool(ctx, path, o.Stream, math.MaxInt64-1)
}

// Saying is what the text of an annotation says.
type Saying struct {
	Kind   MarkKind
	Phase  string
	Step   int64
	Tokens int
	Batch  int
}

// MarkKind is what made a mark.
type MarkKind string

// The kinds of marks.
const (
	ProfilerStep MarkKind = "ProfilerStep" // PyTorch's profiler
	VLLM         MarkKind = "vllm"
	SGLang       MarkKind = "sglang"
	ATOM         MarkKind = "atom"
	NVTX         MarkKind = "nvtx" // any other range of a user
	XLAModule    MarkKind = "xla-module"
	XLAStep      MarkKind = "xla-step"
	GraphLaunch  MarkKind = "graph-launch"
)

// Losses counts what was not read as it should be.
type Losses struct {
	Events       int64 // events read
	Copies       int64 // memory copies and fills that Options.Copies left out
	Unusable     int64 // kernels without a usable time
	Negative     int64 // kernels of negative duration, which count as 0 ns long
	Unpaired     int64 // kernels that have a begin or an end only
	Duplicates   int64 // kernels that two documents of one file have, with everything equal; one of them is kept
	Skipped      int64 // pieces of text that are not events, skipped up to the next one
	Documents    int64 // beyond the first, in one file
	Truncated    bool  // the file ends inside the list of events
	TruncatedAt  int64 // where
	LostMarks    int64 // marks beyond the limit of what is kept
	LostLaunches int64 // launches beyond the limit of what is kept
}
