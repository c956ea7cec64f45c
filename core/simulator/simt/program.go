// Package simt executes PTX over blocks, warps and lanes: masks that meet again at the first place that all of their lanes come to,
// barriers, memory that checks every access, a schedule that a seed permutes. It is the compiled kernel without a GPU, not a model
// of one: it knows nothing of time.
//
// Of a warp whose lanes are at several places, the path with the lowest PC runs; after spinning it yields to the others. So blocks, warps and lanes that spin until another one acts make progress.
package simt

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/compile"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/record"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// Program is one PTX module, ready to run. Its .global variables live as long as it does, as on a GPU. A Program runs one launch
// at a time; others wait.
type Program struct {
	name      string
	module    *ptx.Module
	variables *execute.Variables
	running   sync.Mutex
	mu        sync.Mutex
	kernels   map[string]*binding
	sites     map[string]*sites.List // by kernel and names of its arguments
	made      made
}

// made counts what is to be done once, not at every launch.
type made struct{ bindings, siteLists int }

// binding is a kernel that was bound, or the reason why it cannot be.
type binding struct {
	kernel *code.Kernel
	err    error
}

// Load reads a PTX text. The name is what errors call it. Kernels are bound when they first run, so a module may hold kernels
// that the simulator refuses beside some that it runs.
func Load(ctx context.Context, name string, text []byte) (*Program, error) {
	m, err := ptx.Read(ctx, name, text)
	if err != nil {
		return nil, err
	}
	v, err := execute.NewVariables(name, m)
	if err != nil {
		return nil, err
	}
	return &Program{name: name, module: m, variables: v, kernels: map[string]*binding{}, sites: map[string]*sites.List{}}, nil
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

// Observe executes one launch. What the kernel did wrong is in Result.Findings; an error says that the launch could not run or did
// not end: a usage error, a refused instruction, the limit of instructions, a cancelled job. The caller's memory is changed in
// place, also by a launch that fails.
//
// It is recorded as r asks, if that is not nil. Others may observe it, too: with is asked once, before the launch, with who observes for r (nil: nobody), and
// says who observes the launch (nil: nobody).
func (p *Program) Observe(
	j *job.Job, l *Launch, r *Recording, with func(k *code.Kernel, list *sites.List, recorder execute.Observer) execute.Observer,
) (*Result, error) {
	p.running.Lock()
	defer p.running.Unlock()
	k, err := p.bound(l.Kernel)
	if err != nil {
		return nil, err
	}
	if r == nil && with == nil {
		return execute.Run(j, k, p.variables, l, nil)
	}
	list := p.siteList(k.Entry, nil)
	var who execute.Observer
	if r != nil {
		who = record.New(k, list, r, j.Budget().Limit(), l.Block)
	}
	if with != nil {
		who = with(k, list, who)
	}
	return execute.Run(j, k, p.variables, l, who)
}

// Files are the source files that lines of the PTX name.
func (p *Program) Files() []string { return slices.Clone(p.module.Files) }

// Reach says where the accesses of a kernel to global memory can lead: for each kind of them a set of parameters, as bits, that their addresses
// derive from, each set once and ascending. 0 is an address that was loaded or computed, which may lead anywhere; bit 63 stands for that
// parameter and those behind it. declared are the parameters that the PTX declares to be pointers.
func (p *Program) Reach(kernel string) (sets []uint64, declared uint64, err error) {
	k, err := p.bound(kernel)
	if err != nil {
		return nil, 0, err
	}
	for i := range k.Code {
		if m := k.Code[i].Mem; m != nil && m.Space != ptx.Shared && m.Space != ptx.Local {
			sets = append(sets, m.Legal)
		}
	}
	for i := range k.Copies {
		sets = append(sets, k.Copies[i].From.Legal)
	}
	for i := range k.Entry.Params {
		if k.Entry.Params[i].Pointer {
			declared |= 1 << min(i, 63)
		}
	}
	slices.Sort(sets)
	return slices.Compact(sets), declared, nil
}

// bound is a kernel that is ready to run.
func (p *Program) bound(name string) (*code.Kernel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.kernels[name]; b != nil {
		return b.kernel, b.err
	}
	for _, f := range p.module.Functions {
		if f.Name == name && f.Entry && !f.Extern {
			b := &binding{}
			p.made.bindings++
			b.kernel, b.err = compile.Kernel(target.SM80, p.name, p.module, f)
			p.kernels[name] = b
			return b.kernel, b.err
		}
	}
	return nil, fault.Usagef("%s has no kernel %q", p.name, name)
}

// Variable copies bytes from a place in a .global or .const variable, or to it where write says so, while no kernel of the module runs. It returns how
// many bytes the variable has.
func (p *Program) Variable(name string, offset uint64, b []byte, write bool) (uint64, error) {
	p.running.Lock()
	defer p.running.Unlock()
	held, ok := p.variables.Bytes(name)
	if !ok {
		return 0, fault.Usagef("%s has no variable %q", p.name, name)
	}
	n := uint64(len(held))
	if offset > n || uint64(len(b)) > n-offset {
		return n, fault.Usagef("%d bytes from byte %d on: the variable %s has %d", len(b), offset, name, n)
	}
	if write {
		copy(held[offset:], b)
	} else {
		copy(b, held[offset:])
	}
	return n, nil
}

// Variables are the .global and .const variables, as kernels have left them; known is false where kernels have allocated memory, which is not
// among them.
func (p *Program) Variables() (list []memory.Allocation, known bool) {
	p.running.Lock()
	defer p.running.Unlock()
	return p.variables.All()
}

// SitesNamed are the sites of a kernel and of the functions that it calls: all kinds, whatever a recording asks for, so that the
// numbers of one build never change. arguments are names for the arguments of the kernel, in their order; "" keeps that of the PTX.
func (p *Program) SitesNamed(kernel string, arguments []string) (*site.Table, error) {
	for _, f := range p.module.Functions {
		if f.Name == kernel && f.Entry && !f.Extern {
			return p.siteList(f, arguments).Table(), nil
		}
	}
	return nil, fault.Usagef("%s has no kernel %q", p.name, kernel)
}

// maxSiteLists bounds how many lists of sites a Program keeps: one for each kernel that is launched again and again.
const maxSiteLists = 64

// siteList is the sites of a kernel, made once.
func (p *Program) siteList(entry *ptx.Function, arguments []string) *sites.List {
	key := entry.Name + "\x00" + strings.Join(arguments, "\x00")
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.sites[key]
	if l == nil {
		if len(p.sites) >= maxSiteLists {
			clear(p.sites)
		}
		p.made.siteLists++
		l = sites.Find(p.module, entry, arguments)
		p.sites[key] = l
	}
	return l
}
