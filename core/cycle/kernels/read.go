package kernels

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/work"
)

// Read reads the kernels and marks of a trace: Chrome / Kineto JSON or XSpace, plain or compressed; JSON only from "-", which is stdin,
// and from a pipe.
func Read(j *job.Job, path string, opt Options) (*Trace, error) {
	f, err := formats.ForWork(j.Context(), path)
	if err != nil {
		return nil, err
	}
	found, err := f.Work(j, path, opt.work())
	if err != nil {
		return nil, err
	}
	return (&gather{found}).finish(j.Context(), f.Name)
}

// work is what a reader looks for.
func (o Options) work() work.Options {
	return work.Options{Copies: o.Copies, MaxKernels: o.MaxKernels, Salvage: o.Salvage, Read: read}
}

// gather is what a reader found, until finish makes a Trace of it.
type gather struct{ *work.Found }
