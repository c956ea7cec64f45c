//go:build !simt

package simt

import (
	"context"
	"slices"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/ptx"
)

// Program is one PTX module, ready to run. Its .global variables live as long as it does, as on a GPU. A Program runs one launch
// at a time.
type Program struct {
	name    string
	module  *ptx.Module
	mu      sync.Mutex
	running sync.Mutex
}

// Load reads a PTX text. The name is what errors call it. Kernels are bound when they first run, so a module may hold kernels
// that the machine refuses beside some that it runs.
func Load(ctx context.Context, name string, text []byte) (*Program, error) {
	return nil, fault.Usagef("%s: the reader of PTX is not there yet", name)
}

// Kernels are the names of the entry points, in the order of the text.
func (p *Program) Kernels() []string {
	var names []string
	for _, f := range p.module.Functions {
		if f.Entry && !f.Extern {
			names = append(names, f.Name)
		}
	}
	return slices.Clip(names)
}

// Check binds a kernel without running it: nil when the machine can run it, else the refusal, which names the instruction.
func (p *Program) Check(kernel string) error { return nil }

// Run executes one launch. What the kernel did wrong is in Result.Findings; an error says that the launch could not run or did
// not end: a usage error, a refused instruction, the limit of instructions, a cancelled job. The caller's memory is changed in
// place, also by a launch that fails.
func (p *Program) Run(j *job.Job, l *Launch) (*Result, error) { return nil, nil }

// Param is a parameter of a kernel as its PTX declares it.
type Param struct {
	Name    string
	Bytes   uint64
	Pointer bool // declared to be one; older compilers do not say so
}

// Params are the parameters of a kernel, in their order.
func (p *Program) Params(kernel string) ([]Param, error) { return nil, nil }

// Reset gives the .global variables of the module their initial values again.
func (p *Program) Reset() {}
