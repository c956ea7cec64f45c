package compile

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// paramPlace is the parameter that an address names: variables of parameter space have no addresses, only names.
func (b *binder) paramPlace(f *bound, in *ptx.Inst, o *ptx.Operand, bytes uint64) (place, uint64, error) {
	if o.Kind != ptx.Address || o.Symbol == "" {
		return place{}, 0, b.unknown(in, "parameters are found by name only, not through registers")
	}
	p, ok := f.symbols[o.Symbol]
	if !ok || p.space != ptx.Param {
		return place{}, 0, b.unknown(in, "%s is not a parameter", o.Symbol)
	}
	if o.Offset < 0 || uint64(o.Offset)+bytes > p.bytes {
		return place{}, 0, b.unknown(in, "bytes %d to %d of parameter %s, which has %d", o.Offset, uint64(o.Offset)+bytes, o.Symbol, p.bytes)
	}
	return p, uint64(o.Offset), nil
}

// emitLoadParam appends a load of a parameter: a copy of a register, element by element.
func (b *binder) emitLoadParam(f *bound, in *ptx.Inst, a *access) error {
	if o := &in.Operands[1]; o.Kind == ptx.Address && o.Symbol == "" && o.Reg >= 0 {
		return b.emitLoadByAddress(f, in, a)
	}
	size := uint64(code.WidthOf(a.kind) / 8)
	p, offset, err := b.paramPlace(f, in, &in.Operands[1], size*uint64(a.count))
	if err != nil {
		return err
	}
	list := elements(&in.Operands[0])
	if len(list) != a.count {
		return b.unknown(in, "loads %d elements into %d registers", a.count, len(list))
	}
	for i, o := range list {
		if o.Kind == ptx.Sink {
			continue
		}
		if o.Kind != ptx.IsRegister || registerWidth(f, o) < int(8*size) {
			return b.unknown(in, "element %d does not fit", i)
		}
		d, width, signed := f.registers[o.Reg], registerWidth(f, o), a.kind[0] == 's'
		if p.kernel {
			c := code.Constant{Bank: d.Bank, From: code.FromParam, Number: p.number, Bits: offset + uint64(i)*size, Bytes: uint8(size), Signed: signed, Half: signed && width == 16}
			b.copyRegister(d, code.Register{Bank: d.Bank, Index: b.constantSlot(c)})
		} else if err := b.loadWords(in, d, p.words, offset+uint64(i)*size, size, signed, width); err != nil {
			return err
		}
		b.hidden = true
	}
	return nil
}

// emitLoadByAddress appends a load of a parameter whose address was computed: parameters lie in memory, too, which cannot be written.
func (b *binder) emitLoadByAddress(f *bound, in *ptx.Inst, a *access) error {
	o := &in.Operands[1]
	s, err := b.register(f, in, o)
	if err != nil {
		return err
	}
	if s.Bank == lane.P {
		return b.unknown(in, "the address is a predicate")
	}
	b.k.ByAddress = true
	base := b.constantSlot(code.Constant{Bank: lane.R64, From: code.FromLaunch, Number: code.SpecialParams})
	d := b.newRegister(lane.R64)
	add := add64
	if s.Bank == lane.R32 {
		add = addWord
	}
	b.emitHidden(code.Inst{
		Kind: code.KindLane, Lane: add, Ops: lane.Operands{D: d, A: base, B: s.Index}, Outs: []code.Register{code.R64(d)}, Ins: []code.Register{code.R64(base), s},
	})
	t := &memory.Transfer{Space: ptx.Global, Inst: b.origin, Regs: noRegisters, Data: noRegisters, New: noRegisters, Address: d, Offset: o.Offset}
	memoryWidth(t, a)
	out := code.Inst{Kind: code.KindLoad, Mem: t, Ins: []code.Register{code.R64(d)}}
	list := elements(&in.Operands[0])
	if len(list) != t.Count {
		return b.unknown(in, "loads %d elements into %d registers", t.Count, len(list))
	}
	for i, e := range list {
		if e.Kind == ptx.Sink {
			continue
		}
		to, err := b.elementRegister(f, in, e, t, i)
		if err != nil {
			return err
		}
		t.Regs[i], t.Signed, t.Half = to.Index, a.kind[0] == 's', registerWidth(f, e) == 16
		out.Outs = append(out.Outs, to)
	}
	b.emit(out)
	return nil
}

// addWord adds a number of 32 bits to one of 64.
func addWord(r *lane.Regs, o *lane.Operands) {
	d, x, y := &r.R64[o.D], &r.R64[o.A], &r.R32[o.B]
	for l := range d {
		d[l] = x[l] + uint64(y[l])
	}
}

// loadWords copies bytes of parameter memory into a register of a width.
func (b *binder) loadWords(in *ptx.Inst, d code.Register, w code.Words, offset, size uint64, signed bool, width int) error {
	at := code.R32(w.First + int32(offset/4))
	if d.Bank == lane.R64 && size < 8 || signed && width == 16 && size == 1 {
		piece := code.R32(b.newRegister(lane.R32))
		hidden := b.hidden
		b.hidden = true
		err := b.loadWords(in, piece, w, offset, size, false, 32)
		b.hidden = hidden
		if err == nil {
			b.extend(d, piece, int(8*size), signed, width)
		}
		return err
	}
	switch {
	case size == 4 && offset%4 == 0 && d.Bank == lane.R32:
		b.copyRegister(d, at)
	case size == 8 && offset%4 == 0 && d.Bank == lane.R64:
		b.emit(code.Inst{
			Kind: code.KindLane, Lane: joinWords, Ops: lane.Operands{D: d.Index, A: at.Index, B: at.Index + 1},
			Outs: []code.Register{d}, Ins: []code.Register{at, code.R32(at.Index + 1)},
		})
	case size < 4 && offset%4+size <= 4 && d.Bank == lane.R32:
		shift := b.literal(lane.R32, offset%4*8)
		mask := b.literal(lane.R32, 1<<(8*size)-1)
		cut := cutWord
		if signed && width == 32 {
			cut = cutSigned
		}
		b.emit(code.Inst{
			Kind: code.KindLane, Lane: cut, Ops: lane.Operands{D: d.Index, A: at.Index, B: shift, C: mask}, Outs: []code.Register{d},
			Ins: []code.Register{at},
		})
	default:
		return b.unknown(in, "a piece of %d bytes at %d of a parameter", size, offset)
	}
	return nil
}

// emitStoreParam appends a store into parameter memory.
func (b *binder) emitStoreParam(f *bound, in *ptx.Inst, a *access) error {
	size := uint64(code.WidthOf(a.kind) / 8)
	p, offset, err := b.paramPlace(f, in, &in.Operands[0], size*uint64(a.count))
	if err != nil {
		return err
	}
	list := elements(&in.Operands[1])
	if p.kernel || len(list) != a.count {
		return b.unknown(in, "cannot be stored there")
	}
	for i, o := range list {
		bank := lane.R32
		if size == 8 {
			bank = lane.R64
		}
		var v int32
		if b.isWider(f, o, bank, a.kind) {
			v = b.narrow(f.registers[o.Reg].Index).Index
		} else if v, err = b.input(f, in, o, bank, i); err != nil {
			return err
		}
		if err := b.storeWords(in, p.words, offset+uint64(i)*size, size, code.Register{Bank: bank, Index: v}); err != nil {
			return err
		}
		b.hidden = true
	}
	return nil
}

// storeWords copies a register into bytes of parameter memory.
func (b *binder) storeWords(in *ptx.Inst, w code.Words, offset, size uint64, v code.Register) error {
	at := code.R32(w.First + int32(offset/4))
	switch {
	case size == 4 && offset%4 == 0:
		b.copyRegister(at, v)
	case size == 8 && offset%4 == 0:
		b.emit(code.Inst{
			Kind: code.KindLane, Lane: splitWord, Ops: lane.Operands{D: at.Index, D2: at.Index + 1, A: v.Index},
			Outs: []code.Register{at, code.R32(at.Index + 1)}, Ins: []code.Register{v},
		})
	case size < 4 && offset%4+size <= 4:
		shift := b.literal(lane.R32, offset%4*8)
		mask := b.literal(lane.R32, 1<<(8*size)-1)
		b.emit(code.Inst{
			Kind: code.KindLane, Lane: pasteWord, Ops: lane.Operands{D: at.Index, A: v.Index, B: shift, C: mask}, Outs: []code.Register{at},
			Ins: []code.Register{at, v},
		})
	default:
		return b.unknown(in, "a piece of %d bytes at %d of a parameter", size, offset)
	}
	return nil
}

func joinWords(r *lane.Regs, o *lane.Operands) {
	d, low, high := &r.R64[o.D], &r.R32[o.A], &r.R32[o.B]
	for l := range d {
		d[l] = uint64(low[l]) | uint64(high[l])<<32
	}
}

func splitWord(r *lane.Regs, o *lane.Operands) {
	low, high, a := &r.R32[o.D], &r.R32[o.D2], &r.R64[o.A]
	for l := range a {
		low[l], high[l] = uint32(a[l]), uint32(a[l]>>32)
	}
}

func cutWord(r *lane.Regs, o *lane.Operands) {
	d, a, shift, mask := &r.R32[o.D], &r.R32[o.A], r.R32[o.B][0], r.R32[o.C][0]
	for l := range d {
		d[l] = a[l] >> (shift & 31) & mask
	}
}

// cutSigned is cutWord of a number with a sign, which fills the register.
func cutSigned(r *lane.Regs, o *lane.Operands) {
	cutWord(r, o)
	mask := r.R32[o.C][0]
	sign := mask ^ mask>>1
	for l, v := range r.R32[o.D] {
		r.R32[o.D][l] = (v ^ sign) - sign
	}
}

func pasteWord(r *lane.Regs, o *lane.Operands) {
	d, a, shift, mask := &r.R32[o.D], &r.R32[o.A], r.R32[o.B][0]&31, r.R32[o.C][0]
	for l := range d {
		d[l] = d[l]&^(mask<<shift) | a[l]&mask<<shift
	}
}
