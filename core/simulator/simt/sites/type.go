package sites

import (
	"slices"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// typeNames are the types of values by the spelling of modifiers. Bits are no type.
var typeNames = map[string]warptrace.ValueType{
	"s8": warptrace.TypeI8, "s16": warptrace.TypeI16, "s32": warptrace.TypeI32, "s64": warptrace.TypeI64,
	"u8": warptrace.TypeU8, "u16": warptrace.TypeU16, "u32": warptrace.TypeU32, "u64": warptrace.TypeU64,
	"f16": warptrace.TypeF16, "bf16": warptrace.TypeBF16, "f32": warptrace.TypeF32, "f64": warptrace.TypeF64,
}

// spelling is a type as operands of sites have it.
func spelling(t warptrace.ValueType) string {
	switch t {
	case warptrace.TypeU8, warptrace.TypeI8:
		return "i8"
	case warptrace.TypeU16, warptrace.TypeI16:
		return "i16"
	case warptrace.TypeU32, warptrace.TypeI32:
		return "i32"
	case warptrace.TypeU64, warptrace.TypeI64:
		return "i64"
	case warptrace.TypeNone:
		return ""
	}
	return t.String()
}

// warptrace.ValueTypes finds out what kinds of values registers hold: registers of Triton's PTX are bits, and only what is done with them
// says more. A float is believed before an integer.
func valueTypes(f *ptx.Function) []warptrace.ValueType {
	types := make([]warptrace.ValueType, len(f.Registers))
	note := func(o *ptx.Operand, t warptrace.ValueType) {
		if o.Kind != ptx.IsRegister || t == warptrace.TypeNone {
			return
		}
		if _, declared := widthAndType(f.Registers[o.Reg].Type); declared == t || t.Bits() == widthOfRegister(f, o.Reg) {
			if old := types[o.Reg]; old == warptrace.TypeNone || !isFloatType(old) && isFloatType(t) {
				types[o.Reg] = t
			}
		}
	}
	for i := range f.Registers {
		_, types[i] = widthAndType(f.Registers[i].Type)
	}
	for i := range f.Insts {
		noteTypes(&f.Insts[i], note)
	}
	for range 2 { // copies have the types of what they copy
		for i := range f.Insts {
			in := &f.Insts[i]
			switch in.Op.Name {
			case "mov", "selp", "shfl":
				for k := 1; k < len(in.Operands) && k < 3; k++ {
					a, b := &in.Operands[0], &in.Operands[k]
					if a.Kind == ptx.IsRegister && b.Kind == ptx.IsRegister {
						note(a, types[b.Reg])
						note(b, types[a.Reg])
					}
				}
			}
		}
	}
	return types
}

// noteTypes tells what an instruction says of its operands.
func noteTypes(in *ptx.Inst, note func(*ptx.Operand, warptrace.ValueType)) {
	var named []warptrace.ValueType
	wide := slices.Contains(in.Op.Mods, "wide")
	for _, mod := range in.Op.Mods {
		if t, ok := typeNames[mod]; ok {
			named = append(named, t)
		}
	}
	switch {
	case len(named) == 0 || in.Op.Name == "mma" || in.Op.Name == "ld" && len(in.Operands) > 1 && in.Operands[1].Symbol != "":
		return
	case in.Op.Name == "cvt" && len(named) == 2 && len(in.Operands) == 2:
		note(&in.Operands[0], named[0])
		note(&in.Operands[1], named[1])
		return
	case in.Op.Name == "cvt":
		return
	}
	t := named[len(named)-1]
	for i := range in.Operands {
		o := &in.Operands[i]
		if wide && (i == 0 || i == 3) {
			continue
		}
		if o.Kind == ptx.Vector {
			for k := range o.Elems {
				note(&o.Elems[k], t)
			}
		} else {
			note(o, t)
		}
	}
}

func isFloatType(t warptrace.ValueType) bool {
	switch t {
	case warptrace.TypeF16, warptrace.TypeBF16, warptrace.TypeF32, warptrace.TypeF64:
		return true
	}
	return false
}

func widthOfRegister(f *ptx.Function, r int32) uint {
	bits, _ := widthAndType(f.Registers[r].Type)
	return bits
}

// widthAndType is the width of a register, and its kind of values where the declaration says it.
func widthAndType(t ptx.Type) (bits uint, typ warptrace.ValueType) {
	switch t {
	case ptx.Pred:
		return 1, warptrace.TypeBool
	case ptx.B8:
		return 8, warptrace.TypeNone
	case ptx.B16:
		return 16, warptrace.TypeNone
	case ptx.B32, ptx.F16x2, ptx.BF16x2:
		return 32, warptrace.TypeNone
	case ptx.B64:
		return 64, warptrace.TypeNone
	case ptx.U8:
		typ = warptrace.TypeU8
	case ptx.S8:
		typ = warptrace.TypeI8
	case ptx.U16:
		typ = warptrace.TypeU16
	case ptx.S16:
		typ = warptrace.TypeI16
	case ptx.U32:
		typ = warptrace.TypeU32
	case ptx.S32:
		typ = warptrace.TypeI32
	case ptx.U64:
		typ = warptrace.TypeU64
	case ptx.S64:
		typ = warptrace.TypeI64
	case ptx.F16:
		typ = warptrace.TypeF16
	case ptx.BF16:
		typ = warptrace.TypeBF16
	case ptx.F32:
		typ = warptrace.TypeF32
	case ptx.F64:
		typ = warptrace.TypeF64
	}
	return typ.Bits(), typ
}

// warptrace.ValueType is the kind of value of an operand; bits of which nothing is known count as signed integers.
func (d *dataflow) valueType(o *ptx.Operand) warptrace.ValueType {
	switch o.Kind {
	case ptx.Vector:
		if len(o.Elems) > 0 {
			return d.valueType(&o.Elems[0])
		}
	case ptx.IsRegister:
		if t := d.types[o.Reg]; t != warptrace.TypeNone {
			return t
		}
		switch widthOfRegister(d.f, o.Reg) {
		case 8:
			return warptrace.TypeI8
		case 16:
			return warptrace.TypeI16
		case 64:
			return warptrace.TypeI64
		}
	case ptx.Immediate:
		switch o.Float {
		case 32:
			return warptrace.TypeF32
		case 64:
			return warptrace.TypeF64
		}
	}
	return warptrace.TypeI32
}

// accessType is the kind of value that a memory instruction moves: its own type, or where that says bits only, what its operand
// holds.
func (d *dataflow) accessType(in *ptx.Inst, operand int) warptrace.ValueType {
	if n := len(in.Op.Mods); n > 0 {
		if t, ok := typeNames[in.Op.Mods[n-1]]; ok {
			return t
		}
	}
	if operand >= len(in.Operands) {
		return warptrace.TypeNone
	}
	return d.valueType(&in.Operands[operand])
}
