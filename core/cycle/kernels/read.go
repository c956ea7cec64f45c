package kernels

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/work"
)

// Read reads the kernels and marks of a trace of any format, plain or compressed, from a file, from a pipe, or from "-", which is stdin.
func Read(j *job.Job, path string, opt Options) (*Trace, error) {
	f, stream, err := formats.ForWork(j.Context(), path)
	if err != nil {
		return nil, err
	}
	if stream != nil && opt.Owners {
		stream.Close()
		return nil, fault.New(fault.Usage, "can be read only once, and what kernels belong to takes a second look").WithPath(path).WithHint("name a file, or do not ask for modules")
	}
	options := opt.work()
	options.Stream = stream
	found, err := f.Work(j, path, options)
	if err != nil {
		return nil, err
	}
	t, err := (&gather{found}).finish(j.Context(), f.Name, f.Devices)
	if err == nil && opt.Owners && t.Owners == nil { // else the recorder wrote them beside the kernels
		err = t.own(j, opt.Salvage)
	}
	return t, err
}

// work is what a reader looks for.
func (o Options) work() work.Options {
	return work.Options{Copies: o.Copies, MaxKernels: o.MaxKernels, Scopes: o.Owners, Salvage: o.Salvage, Read: read}
}

// gather is what a reader found, until finish makes a Trace of it.
type gather struct{ *work.Found }
