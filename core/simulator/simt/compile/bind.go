// Package compile turns a kernel of a PTX module, and the functions that it calls, into the form that runs: bind.go gives variables
// and registers their places, the emit functions append the code of each instruction by its name, legal.go finds which arguments an
// address derives from, order.go where lanes that diverged wait for each other. What the simulator does not do is refused by name.
package compile

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// binder turns one kernel, and the functions that it calls, into code. It has a method for each kind of instruction, which all add to one
// program: they are looked up in a table (emitters) and share the numbers of registers, so they stay with one type, however many they are.
type binder struct {
	name      string // of the module, for errors
	module    *ptx.Module
	k         *code.Kernel
	functions []*bound
	byName    map[string]*bound
	symbols   map[string]place // of the module
	constants map[code.Constant]int32
	sinks     [3]int32
	shared    []sharedSymbol
	passing   *passing // nil: no function is called through a pointer or calls itself
	stack     *stack   // nil: nobody needs one
	origin    int32    // of what is emitted now
	order     int32    // of its block
	hidden    bool
	guard     int32
	invert    uint32
}

// bound is a function while it is bound.
type bound struct {
	f         *ptx.Function
	registers []code.Register
	symbols   map[string]place
	start     []int32 // where the code of each instruction begins
	legal     legality
	parts     map[int32]int32 // what partsOf finds, nil not looked for
	block     []int32         // of each instruction
	flow      *arrangement    // of the blocks
	joins     []int32         // by block: where lanes that it divides come together again
	returns   bool            // control can come back to who calls it
	calls     []*bound        // functions that it calls by name
	dynamic   bool            // pointers lead to it, or it calls itself
	entry     int32           // where its code begins
	frame     int32           // where hasFrame: register of lane.R64, how much of the stack was in use before it
	allocates bool            // memory of the stack by itself
	arranging bool
}

// sharedSymbol is a variable in shared memory; its place is known when all are.
type sharedSymbol struct {
	name  string
	table map[string]place
}

// place is where a variable is.
type place struct {
	space  ptx.Space
	offset uint64     // shared and local memory
	number int        // of a .global variable of the module, of a parameter of the kernel
	words  code.Words // parameters of functions
	kernel bool       // a parameter of the kernel
	align  uint32
	bytes  uint64
	points bool
}

// Kernel compiles an entry point of a module, to run on a target. The name is that of the module, for errors.
func Kernel(on *target.Target, name string, m *ptx.Module, entry *ptx.Function) (*code.Kernel, error) {
	b := &binder{
		name: name, module: m, byName: map[string]*bound{}, symbols: map[string]place{}, constants: map[code.Constant]int32{}, guard: -1,
		k: &code.Kernel{Name: entry.Name, Module: m, Entry: entry, Target: on},
	}
	if err := b.checkAddresses(); err != nil {
		return nil, err
	}
	if err := b.declareModule(); err != nil {
		return nil, err
	}
	if err := b.reach(entry); err != nil {
		return nil, err
	}
	b.k.Shared = alignUp(b.k.Shared, 128)
	b.placeReserved()
	b.placeDynamic()
	b.findDynamic()
	b.placeStack()
	for bank := range b.sinks {
		b.sinks[bank] = b.newRegister(lane.Bank(bank))
	}
	for _, f := range b.functions {
		if err := b.flatten(f); err != nil {
			return nil, err
		}
	}
	b.derive()
	for _, f := range b.functions {
		b.arrange(f)
	}
	b.k.Written = b.k.Registers
	for _, f := range b.functions {
		if err := b.emitFunction(f); err != nil {
			return nil, err
		}
	}
	b.link()
	b.describe()
	b.findAlone()
	findPolls(b.k)
	b.findUndefined()
	b.followApproximations()
	return b.k, nil
}

// checkAddresses refuses modules of 32 bits.
func (b *binder) checkAddresses() error {
	if b.module.AddressSize != 64 && b.module.AddressSize != 0 {
		return b.refuse(0, "addresses of %d bits: the simulator has 64", b.module.AddressSize)
	}
	return nil
}

// refuse is the error for what the simulator does not do.
func (b *binder) refuse(line int, format string, args ...any) *fault.Error {
	e := fault.New(fault.Incompatible, format, args...)
	e.Path, e.Line = b.name, line
	return e
}

// unknown refuses an instruction by name, with its line in the PTX and in the source.
func (b *binder) unknown(in *ptx.Inst, format string, args ...any) *fault.Error {
	text := in.Op.Full + ": " + fmt.Sprintf(format, args...)
	if at := code.SourceOf(b.module, in.Location); len(at) > 0 && at[0].File != "" {
		text += fmt.Sprintf(" (%s:%d)", at[0].File, at[0].Line)
	}
	e := b.refuse(int(in.Line), "%s", text)
	if b.k.Target.IsBefore(b.module.Target) {
		e.Hint = "the text is for " + b.module.Target + " (.target) and the simulator is an " + b.k.Target.Name + ": compile for that target"
	} else if b.k.Target.IsLater(in.Op) {
		e.Hint = "the simulator is an " + b.k.Target.Name + ": compile for that target, which needs no such instruction"
	} else {
		e.Hint = hintOf(in.Op)
	}
	return e
}

// hintOf says what to do about an instruction that the simulator does not execute though an older GPU may.
func hintOf(op ptx.Opcode) string {
	switch op.Name {
	case "tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep":
		return "of textures and surfaces tex, tld4, suld.b and sust.b are executed, by objects: read and write the array so, or through a pointer"
	case "shfl", "vote":
		if !hasMod(op, "sync") {
			return "sm_70 took it away: use the form with .sync and a mask"
		}
	case "call":
		return "call a function that the module defines; of those of the system vprintf, __assertfail, malloc and free are there"
	case "mma":
		if hasMod(op, "sp") || hasMod(op, "sp::ordered_metadata") {
			return "which lanes have the metadata of m16n8k64 of s4 no second source says: m16n8k128 does the same; the selector is a number that names lanes"
		}
		return "a form that docs/ptx-manual.md lists does the same"
	}
	return "docs/ptx-manual.md lists what is executed: write the line so that the compiler takes one of these, or report it with its PTX"
}

// newRegister adds a register to a bank.
func (b *binder) newRegister(bank lane.Bank) int32 {
	n := b.k.Registers[bank]
	b.k.Registers[bank]++
	return int32(n)
}

// newWords adds a variable of parameter memory: registers of 32 bits.
func (b *binder) newWords(bytes uint64) code.Words {
	w := code.Words{First: int32(b.k.Registers[lane.R32]), Bytes: bytes}
	b.k.Registers[lane.R32] += int((bytes + 3) / 4)
	return w
}

// declareModule places the variables of the module.
func (b *binder) declareModule() error {
	for i := range b.module.Variables {
		v := &b.module.Variables[i]
		if err := b.declare(b.symbols, v, i); err != nil {
			return err
		}
	}
	return nil
}

// maxStatic bounds what one variable may need; a GPU has less of each.
const maxStatic = 1 << 24

func (b *binder) declare(into map[string]place, v *ptx.Variable, number int) error {
	if v.Bytes > 1<<32 || v.Space != ptx.Global && v.Space != ptx.Const && v.Bytes > maxStatic {
		return b.refuse(0, "variable %s has %d bytes", v.Name, v.Bytes)
	}
	align := max(v.Align, 1)
	if align&(align-1) != 0 || align > 1<<16 {
		return b.refuse(0, "variable %s: alignment %d", v.Name, v.Align)
	}
	p := place{space: v.Space, align: align, bytes: v.Bytes, number: number, points: v.Pointer}
	switch v.Space {
	case ptx.Global, ptx.Const:
		if v.Extern && v.Bytes == 0 {
			return b.refuse(0, "variable %s is defined elsewhere", v.Name)
		}
	case ptx.Shared:
		p.number = len(b.shared)
		b.shared = append(b.shared, sharedSymbol{v.Name, into})
		if v.Bytes > 0 {
			p.offset = alignUp(b.k.Shared, uint64(align))
			b.k.Shared = p.offset + v.Bytes
		}
	case ptx.Local:
		p.offset = alignUp(uint64(b.k.Local), uint64(align))
		b.k.Local = int(p.offset + v.Bytes)
	case ptx.Param:
		if old, ok := into[v.Name]; ok && old.space == ptx.Param && old.bytes >= v.Bytes {
			return nil // scopes of calls use the same names, one after the other
		}
		p.words = b.newWords(v.Bytes)
	default:
		return b.refuse(0, "variable %s is in a space that the simulator does not support", v.Name)
	}
	if b.k.Local > maxStatic || b.k.Shared > maxStatic {
		return b.refuse(0, "variable %s: too much memory", v.Name)
	}
	into[v.Name] = p
	return nil
}

// placeDynamic puts .extern .shared arrays behind the static ones: they all begin at one place.
func (b *binder) placeDynamic() {
	tables := []map[string]place{b.symbols}
	for _, f := range b.functions {
		tables = append(tables, f.symbols)
	}
	for _, table := range tables {
		for name, p := range table {
			if p.space == ptx.Shared && p.bytes == 0 {
				p.offset = b.k.Shared
				table[name] = p
			}
		}
	}
}

// reach declares a function and those that it calls, by name or through pointers.
func (b *binder) reach(f *ptx.Function) error {
	if b.byName[f.Name] != nil {
		return nil
	}
	g := &bound{f: f, symbols: map[string]place{}}
	b.byName[f.Name] = g
	b.functions = append(b.functions, g)
	for i := range f.Params {
		v := f.Params[i]
		if f.Entry {
			g.symbols[v.Name] = place{space: ptx.Param, kernel: true, number: i, bytes: v.Bytes, align: max(v.Align, 1), points: v.Pointer}
			continue
		}
		if v.Space != ptx.Param {
			return b.refuse(f.Line, "function %s: parameter %s is not in .param space", f.Name, v.Name)
		}
		if err := b.declare(g.symbols, &v, i); err != nil {
			return err
		}
	}
	if len(f.Variables) > 0 {
		b.k.Local = int(alignUp(uint64(b.k.Local), 16))
	}
	frameAt := len(b.k.Frames)
	b.k.Frames = append(b.k.Frames, code.Frame{First: uint64(b.k.Local)})
	for _, list := range [][]ptx.Variable{f.Results, f.Variables} {
		for i := range list {
			if err := b.declare(g.symbols, &list[i], i); err != nil {
				return err
			}
		}
	}
	b.k.Frames[frameAt].Bytes = uint64(b.k.Local) - b.k.Frames[frameAt].First
	for i := range f.Insts {
		in := &f.Insts[i]
		if in.Op.Name != "call" {
			continue
		}
		if isIndirect(in) {
			if err := b.reachPointers(g); err != nil {
				return err
			}
			continue
		}
		callee, err := b.callee(in)
		if err != nil {
			return err
		}
		if callee.Extern {
			continue
		}
		if err := b.reach(callee); err != nil {
			return err
		}
		g.calls = append(g.calls, b.byName[callee.Name])
	}
	return nil
}

// reachPointers declares the functions that a call through a pointer may lead to.
func (b *binder) reachPointers(from *bound) error {
	for _, f := range b.pointedAt() {
		if err := b.reach(f); err != nil {
			return err
		}
		g := b.byName[f.Name]
		g.dynamic = true
		from.calls = append(from.calls, g)
	}
	return nil
}

// flatten numbers a function's registers through the whole kernel.
func (b *binder) flatten(f *bound) error {
	f.registers = make([]code.Register, len(f.f.Registers))
	for i, r := range f.f.Registers {
		if r.Type == ptx.B128 {
			return b.refuse(f.f.Line, "register %s has 128 bits", r.Name)
		}
		bank := lane.BankOf(r.Type)
		f.registers[i] = code.Register{Bank: bank, Index: b.newRegister(bank)}
	}
	return nil
}

func alignUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
