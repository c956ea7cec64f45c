// Package slice says what an instruction of a kernel depends on, and what two builds of a kernel compute differently.
//
// Read makes a Code of PTX: for every operand where its value was written, for every instruction which branches decide about it and
// which stores can have written what it loads, and a hash over what it computes. Hashes hold neither names, registers, lines nor the
// order of instructions, so that what two builds have in common has the same hash in both. Compare looks at the instructions that
// what differs depends on, on both sides. It knows nothing of recordings; package diff matches what it finds with what was observed.
package slice

import (
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// maxInstructions is how many instructions a kernel has at most that is looked at.
const maxInstructions = 1 << 17

// Code is one kernel as a graph of instructions. It does not change once made.
type Code struct {
	module *ptx.Module
	f      *ptx.Function
	insts  []instruction
	writes [][]int32 // by register: the instructions that write it, ascending
	block  []int32   // of each instruction
	before [][]int32 // of each block: those that lead to it
	loops  []loop
	left   int // steps that may still be spent on following values: code comes from files
}

// maxSteps is how many blocks and instructions are looked at to follow the values of a kernel, and of one register.
const (
	maxSteps         = 1 << 26
	maxRegisterSteps = 4096
)

// instruction is what is known of one instruction.
type instruction struct {
	in       *ptx.Inst
	op       operation
	uses     []use   // of registers, in the order of its operands; the guard is last
	control  []int32 // branches that decide whether it runs
	bases    uint64  // parameters that its address comes from, as bits; parameter 63 stands for those behind
	hash     uint64  // over what it computes
	frame    site.Frame
	chain    []site.Frame
	fromData bool // what it computes depends on something that was loaded
	branches bool // a branch is decided by it, by predicates alone
	chooses  bool // an address of global memory, a mask, a branch or a select is made of it, by whole numbers and predicates alone
}

// use is a register that an instruction reads.
type use struct {
	role role
	from []definition
	hash uint64 // of its value
}

// definition is an instruction that wrote the value of a register.
type definition struct {
	inst    int32
	carried bool // around a loop
}

// role is what an operand is good for.
type role uint8

const (
	asInput   role = iota
	asAddress      // of what is loaded or stored
	asGuard        // whether a lane does it
	asBefore       // what a register held, where the guard may leave it as it was
)

// loop is a branch back to a block that comes before it or is its own.
type loop struct {
	branch      int32 // instruction
	first, last int32 // blocks
}

// Read makes the Code of a kernel of a PTX text. Limits and damage of the text are errors.
func Read(ctx context.Context, name string, text []byte, kernel string) (*Code, error) {
	m, err := ptx.Read(ctx, name, text)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Functions {
		if f.Name != kernel || !f.Entry || f.Extern {
			continue
		}
		if len(f.Insts) > maxInstructions {
			return nil, fault.New(fault.Limit, "kernel %s has %d instructions; at most %d are followed", kernel, len(f.Insts), maxInstructions)
		}
		return newCode(ctx, m, f)
	}
	return nil, fault.Usagef("%s has no kernel %q", name, kernel)
}

func newCode(ctx context.Context, m *ptx.Module, f *ptx.Function) (*Code, error) {
	c := &Code{module: m, f: f, insts: make([]instruction, len(f.Insts)), writes: make([][]int32, len(f.Registers)), block: make([]int32, len(f.Insts)), left: maxSteps}
	c.before = make([][]int32, len(f.Blocks))
	for b := range f.Blocks {
		for _, to := range f.Blocks[b].Succ {
			c.before[to] = append(c.before[to], int32(b))
			if to <= int32(b) {
				c.loops = append(c.loops, loop{f.Blocks[b].End - 1, to, int32(b)})
			}
		}
		for i := f.Blocks[b].First; i < f.Blocks[b].End; i++ {
			c.block[i] = int32(b)
		}
	}
	for i := range f.Insts {
		eachWritten(&f.Insts[i], func(r int32) { c.writes[r] = append(c.writes[r], int32(i)) })
	}
	chains := chainsOf(m, f)
	for i := range c.insts {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		one := &c.insts[i]
		one.in, one.op = &f.Insts[i], operationOf(&f.Insts[i])
		if at := f.Insts[i].Location; at >= 0 && int(at) < len(chains) {
			one.chain = chains[at]
			if shown := site.User(one.chain); shown != nil {
				one.frame = *shown
			}
		}
		c.findUses(int32(i))
	}
	if c.findControl(); c.left <= 0 {
		return nil, fault.New(fault.Limit, "kernel %s has so many branches that its values cannot be followed", f.Name)
	}
	c.hashAll()
	c.findOrigins()
	c.findChoices()
	return c, nil
}

// maxFrames bounds the chain of a location.
const maxFrames = 64

// chainsOf is the chain of frames of every location of a module, innermost first.
func chainsOf(m *ptx.Module, f *ptx.Function) [][]site.Frame {
	chains := make([][]site.Frame, len(m.Locations))
	for i := range m.Locations {
		for at := int32(i); at >= 0 && int(at) < len(m.Locations) && len(chains[i]) < maxFrames; at = m.Locations[at].Inlined {
			l := &m.Locations[at]
			frame := site.Frame{Function: l.Function, Line: l.Line, Column: l.Column}
			if frame.Function == "" {
				frame.Function = f.Name
			}
			if l.File >= 0 && int(l.File) < len(m.Files) {
				frame.File = m.Files[l.File]
			}
			chains[i] = append(chains[i], frame)
		}
	}
	return chains
}

func eachWritten(in *ptx.Inst, f func(int32)) {
	for i := range in.Operands[:min(in.Outputs, len(in.Operands))] {
		eachRegister(&in.Operands[i], f)
	}
}

func eachRegister(o *ptx.Operand, f func(int32)) {
	if o.Kind == ptx.IsRegister || o.Kind == ptx.Address && o.Reg >= 0 {
		f(o.Reg)
	}
	for i := range o.Elems {
		eachRegister(&o.Elems[i], f)
	}
}

// findUses finds the registers that an instruction reads, and where each was written.
func (c *Code) findUses(at int32) {
	one := &c.insts[at]
	in := one.in
	add := func(r int32, as role) { one.uses = append(one.uses, use{role: as, from: c.definitions(r, at)}) }
	for k := range in.Operands[min(in.Outputs, len(in.Operands)):] {
		o := &in.Operands[in.Outputs+k]
		as := asInput
		if one.op.memory != noMemory && o.Kind == ptx.Address {
			as = asAddress
		}
		eachRegister(o, func(r int32) { add(r, as) })
	}
	if in.Guard < 0 {
		return
	}
	add(in.Guard, asGuard)
	eachWritten(in, func(r int32) {
		if from := c.definitions(r, at); len(from) > 0 {
			one.uses = append(one.uses, use{role: asBefore, from: from})
		}
	})
}

// definitions are the instructions that can have written the value that a register has in front of an instruction.
func (c *Code) definitions(r, at int32) []definition {
	writes := c.writes[r]
	if len(writes) == 1 {
		return []definition{{writes[0], writes[0] >= at}}
	}
	type place struct {
		block   int32
		carried bool
	}
	var found []definition
	seen := map[place]bool{}
	var queue []place
	look := func(block, end int32, carried bool) {
		i, _ := slices.BinarySearch(writes, end)
		if i > 0 && writes[i-1] >= c.f.Blocks[block].First {
			if d := (definition{writes[i-1], carried}); !slices.Contains(found, d) {
				found = append(found, d)
			}
			return // a guarded one leads to those before it
		}
		for _, b := range c.before[block] {
			p := place{b, carried || b >= block}
			if c.left--; !seen[p] && len(seen) < maxRegisterSteps && c.left > 0 {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	if len(writes) == 0 {
		return nil
	}
	look(c.block[at], at, false)
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		look(p.block, c.f.Blocks[p.block].End, p.carried)
	}
	return withoutTwice(found)
}

// withoutTwice leaves out what is carried around a loop and comes straight, too.
func withoutTwice(found []definition) []definition {
	return slices.DeleteFunc(found, func(d definition) bool { return d.carried && slices.Contains(found, definition{d.inst, false}) })
}
