package simt

import (
	"math"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
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
func (b *binder) narrow(from int32) slot {
	d := inR32(b.newRegister(lane.R32))
	b.emitHidden(inst{kind: kindLane, lane: lowWord, ops: lane.Operands{D: d.index, A: from}, outs: []slot{d}, ins: []slot{inR64(from)}})
	return d
}

// extend appends the copy of the low bits of a register of 32 bits into one of a width, with a sign or with zeros.
func (b *binder) extend(d, from slot, bits int, signed bool, width int) {
	shift := b.literal(lane.R32, uint64(64-bits))
	mask := b.literal(lane.R64, math.MaxUint64>>(64-width))
	f := extendZeros
	if signed {
		f = extendSign
	}
	if d.bank == lane.R64 {
		b.emit(inst{kind: kindLane, lane: f, ops: lane.Operands{D: d.index, A: from.index, B: shift, C: mask}, outs: []slot{d}, ins: []slot{from}})
		return
	}
	wide := b.newRegister(lane.R64)
	b.emitHidden(inst{
		kind: kindLane, lane: f, ops: lane.Operands{D: wide, A: from.index, B: shift, C: mask}, outs: []slot{inR64(wide)}, ins: []slot{from},
	})
	b.emit(inst{kind: kindLane, lane: lowWord, ops: lane.Operands{D: d.index, A: wide}, outs: []slot{d}, ins: []slot{inR64(wide)}})
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
