package simt

import (
	"math"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
)

// constantSlot is the register that holds a constant.
func (b *binder) constantSlot(c constant) int32 {
	if at, ok := b.constants[c]; ok {
		return at
	}
	at := b.newRegister(c.bank)
	b.constants[c] = at
	c.slot = at
	b.k.constants = append(b.k.constants, c)
	return at
}

func (b *binder) literal(bank lane.Bank, bits uint64) int32 {
	return b.constantSlot(constant{bank: bank, bits: bits})
}

// specials are the special registers of the machine, but for the clocks.
var specials = map[string]struct {
	number int
	from   source
}{
	"%tid.x": {specialTID, fromLane}, "%tid.y": {specialTID + 1, fromLane}, "%tid.z": {specialTID + 2, fromLane},
	"%ntid.x": {specialNTID, fromLaunch}, "%ntid.y": {specialNTID + 1, fromLaunch}, "%ntid.z": {specialNTID + 2, fromLaunch},
	"%ctaid.x": {specialCTAID, fromBlock}, "%ctaid.y": {specialCTAID + 1, fromBlock}, "%ctaid.z": {specialCTAID + 2, fromBlock},
	"%nctaid.x": {specialNCTAID, fromLaunch}, "%nctaid.y": {specialNCTAID + 1, fromLaunch}, "%nctaid.z": {specialNCTAID + 2, fromLaunch},
	"%laneid": {specialLane, fromLane}, "%warpid": {specialWarp, fromWarp}, "%nwarpid": {specialWarps, fromLaunch},
	"%smid": {specialSM, fromBlock}, "%nsmid": {specialSMs, fromLaunch}, "%gridid": {specialGrid, fromLaunch},
	"%lanemask_eq": {specialEQ, fromLane}, "%lanemask_le": {specialLE, fromLane}, "%lanemask_lt": {specialLT, fromLane},
	"%lanemask_ge": {specialGE, fromLane}, "%lanemask_gt": {specialGT, fromLane},
	"%dynamic_smem_size": {specialDynamic, fromLaunch}, "%total_smem_size": {specialShared, fromLaunch},
	"WARP_SZ": {specialSize, fromLaunch},
}

// special is the register that holds a special register. Clocks count the instructions of the warp.
func (b *binder) special(in *ptx.Inst, name string, bank lane.Bank) (int32, error) {
	if bank == lane.P {
		return 0, b.unknown(in, "%s is not a predicate", name)
	}
	if s, ok := specials[name]; ok {
		return b.constantSlot(constant{bank: bank, from: s.from, number: s.number}), nil
	}
	shift := int32(0)
	switch name {
	case "%clock", "%clock64", "%globaltimer", "%globaltimer_lo":
	case "%clock_hi", "%globaltimer_hi":
		shift = 32
	default:
		return 0, b.unknown(in, "special register %s is not one of the machine", name)
	}
	d := slot{bank, b.newRegister(bank)}
	b.emitHidden(inst{kind: kindClock, detail: shift, outs: []slot{d}})
	return d.index, nil
}

// address is the register that holds the address of a symbol.
func (b *binder) address(f *bound, in *ptx.Inst, symbol string, offset int64, bank lane.Bank) (int32, error) {
	p, ok := b.lookup(f, symbol)
	if !ok {
		return 0, b.unknown(in, "symbol %s is not declared", symbol)
	}
	if bank == lane.P {
		return 0, b.unknown(in, "the address of %s is not a predicate", symbol)
	}
	switch p.space {
	case ptx.Shared, ptx.Local:
		bits := p.offset + uint64(offset)
		if bank == lane.R32 {
			bits &= math.MaxUint32
		}
		return b.literal(bank, bits), nil
	case ptx.Global, ptx.Const:
		if bank != lane.R64 {
			return 0, b.unknown(in, "the address of %s needs 64 bits", symbol)
		}
		return b.constantSlot(constant{bank: bank, from: fromVariable, number: p.number, bits: uint64(offset)}), nil
	}
	return 0, b.unknown(in, "the address of %s, which is in parameter space", symbol)
}

// lookup finds a variable by name, inside the function first.
func (b *binder) lookup(f *bound, symbol string) (place, bool) {
	if p, ok := f.symbols[symbol]; ok {
		return p, true
	}
	p, ok := b.symbols[symbol]
	return p, ok
}
