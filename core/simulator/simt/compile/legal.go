package compile

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// legality is which pointers the registers and the parameter variables of a function derive from, without regard to the order of
// instructions.
type legality struct {
	registers []derived
	words     map[string]*derived
}

// derived is where a value comes from: bit i of params says parameter i of the kernel; loaded says that it may be a pointer that
// was read from memory.
//
// shared says from which variables in shared memory, the last bit standing for all from the 64th on.
type derived struct {
	params uint64
	shared uint64
	loaded bool
}

// maxPasses bounds the passes until nothing changes. Each adds at least one bit to one register; chains are short in practice.
const maxPasses = 1000

// derive finds out for every register which pointer arguments it derives from. Pointers first; what was loaded needs them.
func (b *binder) derive() {
	for _, f := range b.functions {
		f.legal = legality{registers: make([]derived, len(f.registers)), words: map[string]*derived{}}
		for i := range f.f.Params {
			if f.dynamic {
				f.variable(f.f.Params[i].Name).loaded = true
			}
		}
	}
	for _, loaded := range []bool{false, true} {
		for pass, changed := 0, true; changed && pass < maxPasses; pass++ {
			changed = false
			for _, f := range b.functions {
				for i := range f.f.Insts {
					if b.deriveInst(f, &f.f.Insts[i], loaded) {
						changed = true
					}
				}
			}
		}
	}
}

// legalOf is the mask of a transfer through an address register: 0 when any allocation may be meant.
func (f *bound) legalOf(register int32) uint64 {
	if register < 0 || int(register) >= len(f.legal.registers) {
		return 0
	}
	if d := f.legal.registers[register]; !d.loaded {
		return d.params
	}
	return 0
}

// deriveInst follows one instruction; loaded chooses which half is followed.
func (b *binder) deriveInst(f *bound, in *ptx.Inst, loaded bool) bool {
	if in.Op.Name == "call" {
		return b.deriveCall(f, in, loaded)
	}
	if len(in.Operands) == 0 || in.Outputs == 0 {
		if in.Op.Name == "st" && hasMod(in.Op, "param") && len(in.Operands) == 2 {
			changed := false
			for _, v := range elements(&in.Operands[1]) {
				changed = f.variable(in.Operands[0].Symbol).join(b.valueOf(f, v), loaded) || changed
			}
			return changed
		}
		return false
	}
	value := b.result(f, in)
	changed := false
	for i := range in.Operands[:min(in.Outputs, len(in.Operands))] {
		for _, o := range elements(&in.Operands[i]) {
			if o.Kind == ptx.IsRegister && o.Reg >= 0 && int(o.Reg) < len(f.legal.registers) {
				changed = f.legal.registers[o.Reg].join(value, loaded) || changed
			}
		}
	}
	return changed
}

// join adds what a value derives from.
func (d *derived) join(v derived, loaded bool) bool {
	if loaded {
		if v.loaded && !d.loaded {
			d.loaded = true
			return true
		}
		return false
	}
	before, symbols := d.params, d.shared
	d.params |= v.params
	d.shared |= v.shared
	return d.params != before || d.shared != symbols
}

// result is what the outputs of an instruction derive from. Products, shifts and comparisons are numbers, not addresses.
func (b *binder) result(f *bound, in *ptx.Inst) derived {
	inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
	switch in.Op.Name {
	case "ld", "ldu":
		if hasMod(in.Op, "param") && len(inputs) > 0 && inputs[0].Symbol != "" {
			return b.loadedParam(f, &inputs[0])
		}
		return derived{loaded: code.WidthOf(typeOf(in.Op)) == 64}
	case "atom":
		return derived{loaded: code.WidthOf(typeOf(in.Op)) == 64}
	case "mad", "madc":
		if len(inputs) == 3 {
			return b.valueOf(f, &inputs[2])
		}
		return derived{}
	case "add", "addc":
		if len(inputs) == 2 {
			return sum(b.valueOf(f, &inputs[0]), b.valueOf(f, &inputs[1]))
		}
	case "mov", "sub", "subc", "selp", "and", "or", "xor", "lop3", "cvta", "cvt", "min", "max", "shfl", "prmt", "bfi", "slct", "shf":
		var d derived
		for i := range inputs {
			for _, o := range elements(&inputs[i]) {
				v := b.valueOf(f, o)
				d.params |= v.params
				d.shared |= v.shared
				d.loaded = d.loaded || v.loaded
			}
		}
		return d
	}
	return derived{}
}

// sum is an address and an offset: a loaded number that is added to a pointer argument is the offset.
func sum(a, b derived) derived {
	points := func(d derived) bool { return d.params != 0 || d.shared != 0 }
	return derived{a.params | b.params, a.shared | b.shared, a.loaded && (!points(b) || points(a)) || b.loaded && (!points(a) || points(b))}
}

func (b *binder) valueOf(f *bound, o *ptx.Operand) derived {
	if o.Kind == ptx.IsRegister && o.Reg >= 0 && int(o.Reg) < len(f.legal.registers) {
		return f.legal.registers[o.Reg]
	}
	if o.Kind == ptx.IsSymbol {
		if p, ok := b.lookup(f, o.Symbol); ok && p.space == ptx.Shared {
			return derived{shared: 1 << min(p.number, 63)}
		}
	}
	return derived{}
}

// confine says within which variable of shared memory an access must stay, where its address derives from one.
func (b *binder) confine(f *bound, o *ptx.Operand, t *memory.Transfer) {
	if t.Space != ptx.Shared && t.Space != ptx.Generic {
		return
	}
	var d derived
	switch {
	case o.Symbol != "":
		d = b.valueOf(f, &ptx.Operand{Kind: ptx.IsSymbol, Symbol: o.Symbol})
	case o.Reg >= 0 && int(o.Reg) < len(f.legal.registers):
		d = f.legal.registers[o.Reg]
	}
	number := bits.TrailingZeros64(d.shared)
	if d.loaded || bits.OnesCount64(d.shared) != 1 || number == 63 {
		return
	}
	s := b.shared[number]
	if p := s.table[s.name]; p.bytes > 0 {
		t.Within = &memory.Variable{Name: s.name, First: p.offset, Last: p.offset + p.bytes}
	}
}

// loadedParam is what a parameter holds: a pointer argument is known by its place, whatever its type says.
func (b *binder) loadedParam(f *bound, o *ptx.Operand) derived {
	p, ok := f.symbols[o.Symbol]
	if !ok || p.space != ptx.Param {
		return derived{}
	}
	if p.kernel {
		if p.bytes == 8 {
			return derived{params: 1 << min(p.number, 63)}
		}
		return derived{loaded: p.bytes > 8} // a structure may hold pointers
	}
	return *f.variable(o.Symbol)
}

// variable is what a variable of parameter memory derives from.
func (f *bound) variable(name string) *derived {
	d := f.legal.words[name]
	if d == nil {
		d = new(derived)
		f.legal.words[name] = d
	}
	return d
}

// deriveCall joins arguments into the callee's parameters, and its results into the variables of the caller.
func (b *binder) deriveCall(f *bound, in *ptx.Inst, loaded bool) bool {
	if isIndirect(in) {
		return f.deriveResults(in, loaded)
	}
	name, results, arguments, err := b.callParts(in)
	g := b.byName[name]
	if g != nil && g.dynamic || g == nil && systemCalls[name].kind == code.KindMalloc {
		return f.deriveResults(in, loaded)
	}
	if err != nil || g == nil {
		return false
	}
	changed := false
	for i := range min(len(arguments), len(g.f.Params)) {
		changed = g.variable(g.f.Params[i].Name).join(*f.variable(arguments[i].Symbol), loaded) || changed
	}
	for i := range min(len(results), len(g.f.Results)) {
		changed = f.variable(results[i].Symbol).join(*g.variable(g.f.Results[i].Name), loaded) || changed
	}
	return changed
}

// deriveResults lets results of functions that may be any be whatever can be loaded.
func (f *bound) deriveResults(in *ptx.Inst, loaded bool) (changed bool) {
	if len(in.Operands) > 0 && in.Operands[0].Kind == ptx.Arguments && in.Outputs > 0 {
		for _, o := range in.Operands[0].Elems {
			changed = f.variable(o.Symbol).join(derived{loaded: true}, loaded) || changed
		}
	}
	return changed
}

// elements are the operands inside a vector or pair, or the operand itself.
func elements(o *ptx.Operand) []*ptx.Operand {
	if o.Kind != ptx.Vector && o.Kind != ptx.Pair {
		return []*ptx.Operand{o}
	}
	list := make([]*ptx.Operand, len(o.Elems))
	for i := range o.Elems {
		list[i] = &o.Elems[i]
	}
	return list
}
