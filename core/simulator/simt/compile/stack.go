package compile

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// stackBytes is the stack of a thread: for alloca, and for the local memory of functions that pointers lead to or that call themselves. A
// GPU gives 1 KiB unless a program asks for more.
const stackBytes = 16 << 10

// stack is where it begins in the local memory of a thread, and the register of lane.R64 that says how much of it is in use.
type stack struct {
	base uint64
	used int32
}

// minAlign is what alloca aligns to at least, by the manual.
const minAlign = 8

// maxAlign bounds the alignment that alloca may ask for, by the manual.
const maxAlign = 1 << 23

var stackInstructions = []string{"alloca", "stacksave", "stackrestore"}

// hasFrame reports whether a function gives its part of the stack back when it returns.
func (f *bound) hasFrame() bool { return f.dynamic || f.allocates && !f.f.Entry }

// placeStack puts the stack behind the local variables, if there is somebody who needs it.
func (b *binder) placeStack() {
	needs := false
	for i, f := range b.functions {
		f.allocates = slices.ContainsFunc(f.f.Insts, func(in ptx.Inst) bool { return slices.Contains(stackInstructions, in.Op.Name) })
		if (f.dynamic || f.allocates) && b.stack == nil {
			b.stack = &stack{base: alignUp(uint64(b.k.Local), 16), used: b.newRegister(lane.R64)}
			b.k.StackUsed = b.stack.used
		}
		if f.hasFrame() {
			f.frame = b.newRegister(lane.R64)
		}
		needs = needs || f.allocates || f.dynamic && b.k.Frames[i].Bytes > 0
	}
	if needs {
		b.k.Local, b.k.Stack = int(b.stack.base+stackBytes), stackBytes
	}
}

// stackBank is the bank of the operands of such an instruction.
func (b *binder) stackBank(in *ptx.Inst, operands ...int) (lane.Bank, error) {
	if t := typeOf(in.Op); len(in.Op.Mods) != 1 || t != "u32" && t != "u64" || !slices.Contains(operands, len(in.Operands)) {
		return 0, b.unknown(in, "has the type u32 or u64 and its operands")
	}
	return lane.BankOf(map[string]ptx.Type{"u32": ptx.U32, "u64": ptx.U64}[in.Op.Mods[0]]), nil
}

// emitAlloca appends alloca: a piece of the stack, by its address in local memory.
func (b *binder) emitAlloca(f *bound, in *ptx.Inst) error {
	bank, err := b.stackBank(in, 2, 3)
	if err != nil {
		return err
	}
	align := uint64(minAlign)
	if len(in.Operands) == 3 {
		if o := &in.Operands[2]; o.Kind != ptx.Immediate || o.Bits == 0 || o.Bits&(o.Bits-1) != 0 || o.Bits > maxAlign {
			return b.unknown(in, "the alignment is no power of 2 up to 2^23")
		}
		align = max(align, in.Operands[2].Bits)
	}
	d, err := b.output(f, in, &in.Operands[0], bank)
	if err != nil {
		return err
	}
	size, err := b.input(f, in, &in.Operands[1], bank, 0)
	if err != nil {
		return err
	}
	b.emit(code.Inst{
		Kind: code.KindAllocate, Detail: int32(align), Ops: lane.Operands{D: d, A: size},
		Outs: []code.Register{{Bank: bank, Index: d}, code.R64(b.stack.used)}, Ins: []code.Register{{Bank: bank, Index: size}, code.R64(b.stack.used)},
	})
	return nil
}

// emitStackSave appends stacksave: how much of the stack is in use stands for the stack pointer.
func (b *binder) emitStackSave(f *bound, in *ptx.Inst) error {
	bank, err := b.stackBank(in, 1)
	if err != nil {
		return err
	}
	d, err := b.output(f, in, &in.Operands[0], bank)
	if err != nil {
		return err
	}
	from := code.R64(b.stack.used)
	if bank == lane.R32 {
		from = b.narrow(b.stack.used)
	}
	b.copyRegister(code.Register{Bank: bank, Index: d}, from)
	return nil
}

// emitStackRestore appends stackrestore.
func (b *binder) emitStackRestore(f *bound, in *ptx.Inst) error {
	bank, err := b.stackBank(in, 1)
	if err != nil {
		return err
	}
	at, err := b.input(f, in, &in.Operands[0], bank, 0)
	if err != nil {
		return err
	}
	b.emit(code.Inst{
		Kind: code.KindRestore, Ops: lane.Operands{A: at}, Outs: []code.Register{code.R64(b.stack.used)},
		Ins: []code.Register{{Bank: bank, Index: at}, code.R64(b.stack.used)},
	})
	return nil
}
