package source

import (
	"context"
	"errors"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/work"
)

// ErrNoTrace is the cause in the error of a scan that read a whole file of its kind of text and found something else, as JSON of another kind.
var ErrNoTrace = errors.New("not a trace")

// Format is one format of traces: a line in the table of package formats.
type Format struct {
	Name    string        // in documents: "xspace"
	Title   string        // in sentences: "XSpace"
	Kind    format.Kind   // what files of it are by their first bytes; "" where only Claims tells
	Damaged []format.Kind // what damaged files of it look like: its reader is asked, whose error says where they stop to make sense
	Endings []string      // of file names, by which empty and damaged files of it are known in a directory
	Devices string        // how to record so that a file of it has what devices execute; "" the title says it
	Beside  bool          // its traces are Accompanying: they are read beside those of other formats
	// Claims reports whether a file that package format does not know by name begins like one of this format; nil: none does.
	Claims func(head []byte) bool
	// Blank makes an empty trace, for one that was sent to be decoded into.
	Blank func() Trace
	Scan  func(ctx context.Context, src *file.Source, opt ScanOptions) (Trace, error)
	// Work reads what devices did, in one pass over the file, which it opens itself. Streams: it reads what can be read only once too,
	// and of damaged files what it can.
	Work    func(j *job.Job, path string, opt work.Options) (*work.Found, error)
	Streams bool
	// Salvage finds what is complete in a file that was cut; nil: nothing is salvaged of this format.
	Salvage Salvager
}
