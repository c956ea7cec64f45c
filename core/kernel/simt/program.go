package simt

import (
	"context"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// Program is one PTX module, ready to run. Its .global variables live as long as it does, as on a GPU. A Program runs one launch
// at a time; others wait.
type Program struct {
	name      string
	module    *ptx.Module
	variables []variable
	running   sync.Mutex
	mu        sync.Mutex
	kernels   map[string]*binding
	sites     map[string]*siteList // by kernel and names of its arguments
}

// variable is the memory of a .global or .const variable of the module.
type variable struct {
	name     string
	number   int // in the module
	bytes    []byte
	constant bool
}

// binding is a kernel that was bound, or the reason why it cannot be.
type binding struct {
	kernel *kernel
	err    error
}

// maxVariables bounds the .global variables of a module together.
const maxVariables = 1 << 30

// Load reads a PTX text. The name is what errors call it. Kernels are bound when they first run, so a module may hold kernels
// that the machine refuses beside some that it runs.
func Load(ctx context.Context, name string, text []byte) (*Program, error) {
	m, err := ptx.Read(ctx, name, text)
	if err != nil {
		return nil, err
	}
	return newProgram(name, m)
}

// newProgram makes the memory of a module.
func newProgram(name string, m *ptx.Module) (*Program, error) {
	p := &Program{name: name, module: m, kernels: map[string]*binding{}, sites: map[string]*siteList{}}
	total := uint64(0)
	for i := range m.Variables {
		v := &m.Variables[i]
		if v.Space != ptx.Global && v.Space != ptx.Const || v.Extern && v.Bytes == 0 {
			continue
		}
		if total += v.Bytes; v.Bytes > maxVariables || total > maxVariables {
			return nil, fault.New(fault.Limit, "the variables of the module have more than %d bytes", maxVariables).WithPath(name)
		}
		data := make([]byte, v.Bytes)
		copy(data, v.Init)
		p.variables = append(p.variables, variable{name: v.Name, number: i, bytes: data, constant: v.Space == ptx.Const})
	}
	return p, nil
}

// Kernels are the names of the entry points, in the order of the text.
func (p *Program) Kernels() []string {
	var names []string
	for _, f := range p.module.Functions {
		if f.Entry && !f.Extern {
			names = append(names, f.Name)
		}
	}
	return names
}

// Check binds a kernel without running it: nil when the machine can run it, else the refusal, which names the instruction.
func (p *Program) Check(kernel string) error {
	_, err := p.bound(kernel)
	return err
}

// bound is a kernel that is ready to run.
func (p *Program) bound(name string) (*kernel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.kernels[name]; b != nil {
		return b.kernel, b.err
	}
	for _, f := range p.module.Functions {
		if f.Name == name && f.Entry && !f.Extern {
			b := &binding{}
			b.kernel, b.err = bindKernel(target.SM80, p.name, p.module, f)
			p.kernels[name] = b
			return b.kernel, b.err
		}
	}
	return nil, fault.Usagef("%s has no kernel %q", p.name, name)
}

// Param is a parameter of a kernel as its PTX declares it.
type Param struct {
	Name    string
	Bytes   uint64
	Pointer bool // declared to be one; older compilers do not say so
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
			list[i] = Param{v.Name, v.Bytes, v.Pointer}
		}
		return list, nil
	}
	return nil, fault.Usagef("%s has no kernel %q", p.name, kernel)
}

// allocations are the variables of the module as memory that kernels reach.
func (p *Program) allocations() []memory.Allocation {
	list := make([]memory.Allocation, len(p.variables))
	for i, v := range p.variables {
		list[i] = memory.Allocation{Name: v.name, Bytes: v.bytes, ReadOnly: v.constant}
	}
	return list
}

// variableOf maps the variables of a module to their places among the allocations, by number.
func (p *Program) variableOf(number int) int {
	for i, v := range p.variables {
		if v.number == number {
			return i
		}
	}
	return -1
}

// Reset gives the .global variables of the module their initial values again.
func (p *Program) Reset() {
	p.running.Lock()
	defer p.running.Unlock()
	for _, v := range p.variables {
		clear(v.bytes)
		copy(v.bytes, p.module.Variables[v.number].Init)
	}
}
