package compile

import (
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// constantSlot is the register that holds a constant.
func (b *binder) constantSlot(c code.Constant) int32 {
	if at, ok := b.constants[c]; ok {
		return at
	}
	at := b.newRegister(c.Bank)
	b.constants[c] = at
	c.Slot = at
	b.k.Constants = append(b.k.Constants, c)
	return at
}

func (b *binder) literal(bank lane.Bank, bits uint64) int32 {
	return b.constantSlot(code.Constant{Bank: bank, Bits: bits})
}

// specials are the special registers of the simulator, but for the clocks.
var specials = map[string]struct {
	number int
	from   code.ValueSource
}{
	"%tid.x": {code.SpecialTID, code.FromLane}, "%tid.y": {code.SpecialTID + 1, code.FromLane}, "%tid.z": {code.SpecialTID + 2, code.FromLane},
	"%ntid.x": {code.SpecialNTID, code.FromLaunch}, "%ntid.y": {code.SpecialNTID + 1, code.FromLaunch}, "%ntid.z": {code.SpecialNTID + 2, code.FromLaunch},
	"%ctaid.x": {code.SpecialCTAID, code.FromBlock}, "%ctaid.y": {code.SpecialCTAID + 1, code.FromBlock}, "%ctaid.z": {code.SpecialCTAID + 2, code.FromBlock},
	"%nctaid.x": {code.SpecialNCTAID, code.FromLaunch}, "%nctaid.y": {code.SpecialNCTAID + 1, code.FromLaunch}, "%nctaid.z": {code.SpecialNCTAID + 2, code.FromLaunch},
	"%laneid": {code.SpecialLane, code.FromLane}, "%warpid": {code.SpecialWarp, code.FromWarp}, "%nwarpid": {code.SpecialWarps, code.FromLaunch},
	"%smid": {code.SpecialSM, code.FromBlock}, "%nsmid": {code.SpecialSMs, code.FromLaunch}, "%gridid": {code.SpecialGrid, code.FromLaunch},
	"%lanemask_eq": {code.SpecialEQ, code.FromLane}, "%lanemask_le": {code.SpecialLE, code.FromLane}, "%lanemask_lt": {code.SpecialLT, code.FromLane},
	"%lanemask_ge": {code.SpecialGE, code.FromLane}, "%lanemask_gt": {code.SpecialGT, code.FromLane},
	"%dynamic_smem_size": {code.SpecialDynamic, code.FromLaunch}, "%total_smem_size": {code.SpecialShared, code.FromLaunch},
	"%aggr_smem_size": {code.SpecialShared, code.FromLaunch}, "WARP_SZ": {code.SpecialSize, code.FromLaunch},
	"%envreg1": {code.SpecialGridHigh, code.FromLaunch}, "%envreg2": {code.SpecialGridLow, code.FromLaunch},
	"%clusterid.x": {code.SpecialCTAID, code.FromBlock}, "%clusterid.y": {code.SpecialCTAID + 1, code.FromBlock}, "%clusterid.z": {code.SpecialCTAID + 2, code.FromBlock},
	"%nclusterid.x": {code.SpecialNCTAID, code.FromLaunch}, "%nclusterid.y": {code.SpecialNCTAID + 1, code.FromLaunch}, "%nclusterid.z": {code.SpecialNCTAID + 2, code.FromLaunch},
}

// fixedSpecials are those whose value no launch changes: a block is a cluster of its own, nothing is counted, no graph runs.
var fixedSpecials = map[string]uint64{
	"%cluster_ctaid.x": 0, "%cluster_ctaid.y": 0, "%cluster_ctaid.z": 0, "%cluster_nctaid.x": 1, "%cluster_nctaid.y": 1, "%cluster_nctaid.z": 1,
	"%cluster_ctarank": 0, "%cluster_nctarank": 1, "%current_graph_exec": 0,
}

// reservedBytes is how much of the shared memory of a block the system has for itself. Cooperative groups use it.
const reservedBytes = 1 << 10

const reservedPrefix = "%reserved_smem_offset_"

// placeReserved puts the reserved part of shared memory behind the static variables if the kernel asks where it is.
func (b *binder) placeReserved() {
	for _, f := range b.functions {
		for i := range f.f.Insts {
			for j := range f.f.Insts[i].Operands {
				for _, o := range elements(&f.f.Insts[i].Operands[j]) {
					if o.Kind == ptx.Special && strings.HasPrefix(o.Symbol, reservedPrefix) {
						b.k.Reserved = reservedBytes
					}
				}
			}
		}
	}
	b.k.Shared += b.k.Reserved
}

// fixedSpecial is the value of a special register that is known before the launch.
func (b *binder) fixedSpecial(name string) (bits uint64, ok bool) {
	if bits, ok = fixedSpecials[name]; ok {
		return bits, true
	}
	if where, reserved := strings.CutPrefix(name, reservedPrefix); reserved {
		switch where {
		case "end":
			return b.k.Shared, true
		case "cap":
			return reservedBytes, true
		}
		return b.k.Shared - b.k.Reserved, true
	}
	return 0, strings.HasPrefix(name, "%pm") || strings.HasPrefix(name, "%envreg")
}

// special is the register that holds a special register. Clocks count the instructions of the warp.
func (b *binder) special(in *ptx.Inst, name string, bank lane.Bank) (int32, error) {
	if bank == lane.P {
		if name == "%is_explicit_cluster" {
			return b.literal(lane.P, 0), nil
		}
		return 0, b.unknown(in, "%s is not a predicate", name)
	}
	if s, ok := specials[name]; ok {
		if s.number == code.SpecialGridHigh || s.number == code.SpecialGridLow {
			b.k.Cooperative = true
		}
		return b.constantSlot(code.Constant{Bank: bank, From: s.from, Number: s.number}), nil
	}
	if bits, ok := b.fixedSpecial(name); ok {
		return b.literal(bank, bits), nil
	}
	shift := int32(0)
	switch name {
	case "%clock", "%clock64", "%globaltimer", "%globaltimer_lo":
	case "%clock_hi", "%globaltimer_hi":
		shift = 32
	default:
		return 0, b.unknown(in, "the simulator does not support the special register %s", name)
	}
	d := code.Register{Bank: bank, Index: b.newRegister(bank)}
	b.emitHidden(code.Inst{Kind: code.KindClock, Detail: shift, Outs: []code.Register{d}})
	return d.Index, nil
}

// address is the register that holds the address of a symbol.
func (b *binder) address(f *bound, in *ptx.Inst, symbol string, offset int64, bank lane.Bank) (int32, error) {
	p, ok := b.lookup(f, symbol)
	if number := b.module.FunctionNamed(symbol); !ok && number >= 0 && bank == lane.R64 && !b.module.Functions[number].Entry {
		return b.literal(bank, ptx.FunctionAddress(number)), nil
	}
	if !ok {
		return 0, b.unknown(in, "symbol %s is not declared", symbol)
	}
	if bank == lane.P {
		return 0, b.unknown(in, "the address of %s is not a predicate", symbol)
	}
	switch p.space {
	case ptx.Shared, ptx.Local:
		if p.space == ptx.Local && f.dynamic {
			return b.stackAddress(f, p.offset+uint64(offset), bank), nil
		}
		bits := p.offset + uint64(offset)
		if bank == lane.R32 {
			bits &= math.MaxUint32
		}
		return b.literal(bank, bits), nil
	case ptx.Global, ptx.Const:
		if bank != lane.R64 {
			return 0, b.unknown(in, "the address of %s needs 64 bits", symbol)
		}
		return b.constantSlot(code.Constant{Bank: bank, From: code.FromVariable, Number: p.number, Bits: uint64(offset)}), nil
	}
	if p.kernel {
		b.k.ByAddress = true
		return b.literal(bank, code.ParamOffset(b.k.Entry, p.number)+uint64(offset)), nil
	}
	return 0, b.unknown(in, "the address of %s, which is a parameter of a function", symbol)
}

// lookup finds a variable by name, inside the function first.
func (b *binder) lookup(f *bound, symbol string) (place, bool) {
	if p, ok := f.symbols[symbol]; ok {
		return p, true
	}
	p, ok := b.symbols[symbol]
	return p, ok
}
