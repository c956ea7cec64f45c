package simt

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// Run executes one launch that nobody observes.
func (p *Program) Run(j *job.Job, l *Launch) (*Result, error) { return p.Record(j, l, nil) }

// Record is Run that is observed as r asks, if it is not nil.
func (p *Program) Record(j *job.Job, l *Launch, r *Recording) (*Result, error) {
	return p.Observe(j, l, r, nil)
}

// Check binds a kernel without running it: nil when the simulator can run it, else the refusal, which names the instruction.
func (p *Program) Check(kernel string) error {
	_, err := p.bound(kernel)
	return err
}

// Param is a parameter of a kernel as its PTX declares it.
type Param struct {
	Name    string
	Bytes   uint64
	Pointer bool   // declared to be one; older compilers do not say so
	Type    string // as the PTX declares it: "u64", "f32", "b8"
	Align   uint64
	Array   bool // of several elements of the type: a structure is one of bytes
}

// Params are the parameters of a kernel, in their order.
func (p *Program) Params(kernel string) ([]Param, error) {
	for _, f := range p.module.Functions {
		if f.Name != kernel || !f.Entry {
			continue
		}
		list := make([]Param, len(f.Params))
		for i := range f.Params {
			v := &f.Params[i]
			list[i] = Param{
				Name: v.Name, Bytes: v.Bytes, Pointer: v.Pointer, Type: v.Type.String(), Align: uint64(v.Align), Array: v.Bytes != uint64(code.WidthOf(v.Type.String())/8),
			}
		}
		return list, nil
	}
	return nil, fault.Usagef("%s has no kernel %q", p.name, kernel)
}

// Reset gives the .global variables of the module their initial values again.
func (p *Program) Reset() {
	p.running.Lock()
	defer p.running.Unlock()
	p.variables.Reset()
}

// Sites are the sites of a kernel, whose arguments have the names of the PTX.
func (p *Program) Sites(kernel string) (*site.Table, error) {
	return p.SitesNamed(kernel, nil)
}
