package sites

import (
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// dataflow is where the registers of a function are written, and what kind of values they hold.
type dataflow struct {
	f      *ptx.Function
	writes [][]int32 // by register, ascending
	block  []int32   // of each instruction
	before []int32   // of each block: the only one that leads to it, -1 none or several
	calls  []int32   // the call before it in its block, -1 none
	types  []warptrace.ValueType
}

func newDataflow(f *ptx.Function) *dataflow {
	d := &dataflow{f: f, writes: make([][]int32, len(f.Registers)), block: make([]int32, len(f.Insts)), calls: make([]int32, len(f.Insts))}
	for i := range f.Blocks {
		call := int32(-1)
		for at := f.Blocks[i].First; at < f.Blocks[i].End; at++ {
			d.block[at], d.calls[at] = int32(i), call
			if f.Insts[at].Op.Name == "call" {
				call = at
			}
		}
	}
	d.before = make([]int32, len(f.Blocks))
	ways := make([]int, len(f.Blocks))
	for i := range f.Blocks {
		for _, s := range f.Blocks[i].Succ {
			d.before[s] = int32(i)
			ways[s]++
		}
	}
	for i := range d.before {
		if ways[i] != 1 || i == 0 {
			d.before[i] = -1
		}
	}
	for i := range f.Insts {
		eachWritten(&f.Insts[i], func(r int32) { d.writes[r] = append(d.writes[r], int32(i)) })
	}
	d.types = valueTypes(f)
	return d
}

// eachWritten calls f with the registers that an instruction writes.
func eachWritten(in *ptx.Inst, f func(int32)) {
	for i := range in.Operands[:min(in.Outputs, len(in.Operands))] {
		eachRegister(&in.Operands[i], f)
	}
}

func eachRegister(o *ptx.Operand, f func(int32)) {
	if o.Kind == ptx.IsRegister {
		f(o.Reg)
	}
	for i := range o.Elems {
		eachRegister(&o.Elems[i], f)
	}
}

// defined is where the value of a register comes from: one instruction, or several, around a loop or not.
type defined struct {
	inst    int32 // -1: none, or several
	carried bool
	all     []int32
}

// maxBefore bounds how many blocks are followed back.
const maxBefore = 32

// definition finds where the value of a register at an instruction comes from.
func (d *dataflow) definition(register, at int32) defined {
	writes := d.writes[register]
	i, _ := slices.BinarySearch(writes, at)
	if i > 0 && d.block[writes[i-1]] == d.block[at] {
		return defined{inst: writes[i-1]}
	}
	if len(writes) > 1 {
		for b, steps := d.before[d.block[at]], 0; b >= 0 && steps < maxBefore; b, steps = d.before[b], steps+1 {
			last, _ := slices.BinarySearch(writes, d.f.Blocks[b].End)
			if last > 0 && writes[last-1] >= d.f.Blocks[b].First {
				return defined{inst: writes[last-1]}
			}
		}
	}
	switch {
	case i < len(writes): // written behind its use: it comes around a loop
		return defined{inst: -1, carried: true, all: writes}
	case len(writes) == 1:
		return defined{inst: writes[0]}
	}
	return defined{inst: -1, all: writes}
}

// compared is a compare behind a predicate.
type compared struct {
	inst      int32
	predicate site.Compare
	types     [2]warptrace.ValueType
	safe      bool
}

// compareOf finds the compare that made a predicate, seen through negations. One that joins its result with another predicate is
// no compare.
func (d *dataflow) compareOf(register, at int32, not bool) (compared, bool) {
	safe, use := true, at
	for range 4 {
		def := d.definition(register, at)
		if def.inst < 0 {
			return compared{}, false
		}
		in := &d.f.Insts[def.inst]
		safe = safe && d.still(register, def.inst, at)
		switch {
		case in.Guard >= 0:
			return compared{}, false // a predicate that some lanes keep from before
		case in.Op.Name == "not" && len(in.Operands) == 2 && in.Operands[1].Kind == ptx.IsRegister:
			register, at, not = in.Operands[1].Reg, def.inst, not != !in.Operands[1].Not
		case in.Op.Name == "mov" && len(in.Operands) == 2 && in.Operands[1].Kind == ptx.IsRegister:
			register, at, not = in.Operands[1].Reg, def.inst, not != in.Operands[1].Not
		case in.Op.Name == "setp" && len(in.Operands) == 3:
			if o := &in.Operands[0]; o.Kind == ptx.Pair && len(o.Elems) == 2 && o.Elems[1].Kind == ptx.IsRegister && o.Elems[1].Reg == register {
				not = !not
			}
			c := compared{inst: def.inst, safe: safe}
			var ok bool
			if c.predicate, c.types, ok = d.compareTypes(in, not); !ok {
				return compared{}, false
			}
			for i := range in.Operands[1:] {
				if o := &in.Operands[1+i]; o.Kind == ptx.IsRegister {
					c.safe = c.safe && d.still(o.Reg, def.inst, use)
				}
			}
			return c, true
		default:
			return compared{}, false
		}
	}
	return compared{}, false
}

// still reports whether a register has the same value at two instructions of which the first comes before the second: nothing
// between them writes it, or only one instruction ever does.
func (d *dataflow) still(register, from, to int32) bool {
	writes := d.writes[register]
	if len(writes) <= 1 {
		return true
	}
	if d.block[from] != d.block[to] || from > to {
		return false
	}
	next, _ := slices.BinarySearch(writes, from+1)
	return next == len(writes) || writes[next] >= to
}

// compares are the numbers of compares: of signed and unsigned integers, of floats.
var compares = map[string][3]site.Compare{
	"eq": {32, 32, 1}, "ne": {33, 33, 6}, "gt": {38, 34, 2}, "ge": {39, 35, 3}, "lt": {40, 36, 4}, "le": {41, 37, 5},
	"hi": {34, 34, 0}, "hs": {35, 35, 0}, "lo": {36, 36, 0}, "ls": {37, 37, 0},
	"num": {0, 0, 7}, "nan": {0, 0, 8}, "equ": {0, 0, 9}, "gtu": {0, 0, 10}, "geu": {0, 0, 11}, "ltu": {0, 0, 12}, "leu": {0, 0, 13}, "neu": {0, 0, 14},
}

// compareTypes is what a setp compares, the other way round with not.
func (d *dataflow) compareTypes(in *ptx.Inst, not bool) (site.Compare, [2]warptrace.ValueType, bool) {
	var none [2]warptrace.ValueType
	if len(in.Op.Mods) < 2 {
		return 0, none, false
	}
	t := in.Op.Mods[len(in.Op.Mods)-1]
	row, known := compares[in.Op.Mods[0]]
	typ, ok := typeNames[t]
	if !ok {
		switch t { // bits: equal or not
		case "b16":
			typ = warptrace.TypeI16
		case "b32":
			typ = warptrace.TypeI32
		case "b64":
			typ = warptrace.TypeI64
		default:
			return 0, none, false
		}
		for i := range in.Operands[1:] {
			if found := d.valueType(&in.Operands[1+i]); in.Operands[1+i].Kind == ptx.IsRegister && found.Bits() == typ.Bits() {
				typ = found
			}
		}
	}
	column := 0
	switch {
	case isFloatType(typ):
		column = 2
	case t[0] == 'u':
		column = 1
	}
	c := row[column]
	if !known || c == 0 {
		return 0, none, false
	}
	if not {
		c = inverse(c)
	}
	return c, [2]warptrace.ValueType{typ, typ}, true
}

// inverse is the compare that holds where another does not.
func inverse(c site.Compare) site.Compare {
	switch {
	case c < 16:
		return 15 - c
	case c <= 33:
		return 65 - c
	}
	return [...]site.Compare{37, 36, 35, 34, 41, 40, 39, 38}[c-34]
}
