package compile

import (
	"math"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// PTX lets the registers of ld, st and cvt be wider than the type of the instruction ("Operand Size Exceeding Instruction-Type
// Size"): of a source the low bits count, a result is extended to its register, with its sign where the type has one. Registers
// of up to 32 bits share a bank, so that only those of 64 bits, and signs that end within 32 bits, need an instruction for it.

// isWider reports whether an operand is a register of 64 bits where a type has fewer. Registers of bits fit every type, those of
// integers no float, those of floats only bits.
func (b *binder) isWider(f *bound, o *ptx.Operand, bank lane.Bank, kind string) bool {
	if bank != lane.R32 || o.Kind != ptx.IsRegister || o.Reg < 0 || int(o.Reg) >= len(f.registers) {
		return false
	}
	switch f.f.Registers[o.Reg].Type {
	case ptx.B64:
		return true
	case ptx.U64, ptx.S64:
		return !isFloat(kind)
	case ptx.F64:
		return kind[0] == 'b' && !isFloat(kind)
	}
	return false
}

// narrow appends the copy of the low bits of a register of 64 bits.
func (b *binder) narrow(from int32) code.Register {
	d := code.R32(b.newRegister(lane.R32))
	b.emitHidden(code.Inst{Kind: code.KindLane, Lane: lowWord, Ops: lane.Operands{D: d.Index, A: from}, Outs: []code.Register{d}, Ins: []code.Register{code.R64(from)}})
	return d
}

// extend appends the copy of the low bits of a register of 32 bits into one of a width, with a sign or with zeros.
func (b *binder) extend(d, from code.Register, bits int, signed bool, width int) {
	shift := b.literal(lane.R32, uint64(64-bits))
	mask := b.literal(lane.R64, math.MaxUint64>>(64-width))
	f := extendZeros
	if signed {
		f = extendSign
	}
	if d.Bank == lane.R64 {
		b.emit(code.Inst{Kind: code.KindLane, Lane: f, Ops: lane.Operands{D: d.Index, A: from.Index, B: shift, C: mask}, Outs: []code.Register{d}, Ins: []code.Register{from}})
		return
	}
	wide := b.newRegister(lane.R64)
	b.emitHidden(code.Inst{
		Kind: code.KindLane, Lane: f, Ops: lane.Operands{D: wide, A: from.Index, B: shift, C: mask}, Outs: []code.Register{code.R64(wide)}, Ins: []code.Register{from},
	})
	b.emit(code.Inst{Kind: code.KindLane, Lane: lowWord, Ops: lane.Operands{D: d.Index, A: wide}, Outs: []code.Register{d}, Ins: []code.Register{code.R64(wide)}})
}

func lowWord(r *lane.Regs, o *lane.Operands) {
	d, a := &r.R32[o.D], &r.R64[o.A]
	for l := range d {
		d[l] = uint32(a[l])
	}
}

func extendZeros(r *lane.Regs, o *lane.Operands) {
	d, a, shift, mask := &r.R64[o.D], &r.R32[o.A], r.R32[o.B][0]&63, r.R64[o.C][0]
	for l := range d {
		d[l] = uint64(a[l]) << shift >> shift & mask
	}
}

func extendSign(r *lane.Regs, o *lane.Operands) {
	d, a, shift, mask := &r.R64[o.D], &r.R32[o.A], r.R32[o.B][0]&63, r.R64[o.C][0]
	for l := range d {
		d[l] = uint64(int64(uint64(a[l])<<shift)>>shift) & mask
	}
}
