package compile

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Functions that are called through pointers, and those that call themselves, get their arguments by registers that all of them share, and
// copy them into their own where they begin; results go the other way. So a call need not know whom it calls, and the registers of an
// outer call can be put away while an inner one runs. Their local memory lies on the stack.

// passing is what functions of that kind share.
type passing struct {
	arguments, results []code.Words
}

// parts of a call through a pointer: call (results), register, (arguments), prototype.
func indirectParts(in *ptx.Inst) (pointer *ptx.Operand, results, arguments []ptx.Operand, ok bool) {
	for i := range in.Operands {
		o := &in.Operands[i]
		switch {
		case o.Kind == ptx.IsRegister && pointer == nil:
			pointer = o
		case o.Kind == ptx.Arguments && pointer == nil:
			results = o.Elems
		case o.Kind == ptx.Arguments:
			arguments = o.Elems
		case o.Kind == ptx.IsSymbol && pointer != nil && i == len(in.Operands)-1: // the prototype, or the list of targets
		default:
			return nil, nil, nil, false
		}
	}
	return pointer, results, arguments, pointer != nil
}

// isIndirect reports whether an instruction calls through a pointer.
func isIndirect(in *ptx.Inst) bool {
	if in.Op.Name != "call" {
		return false
	}
	_, _, _, ok := indirectParts(in)
	return ok
}

// pointedAt are the functions of the module whose addresses its text takes.
func (b *binder) pointedAt() []*ptx.Function {
	names := map[string]bool{}
	for i := range b.module.Variables {
		for _, at := range b.module.Variables[i].Pointers {
			names[at.Name] = true
		}
	}
	for _, f := range b.module.Functions {
		for i := range f.Insts {
			in := &f.Insts[i]
			if in.Op.Name == "call" {
				continue
			}
			for j := range in.Operands {
				for _, o := range elements(&in.Operands[j]) {
					if o.Kind == ptx.IsSymbol {
						names[o.Symbol] = true
					}
				}
			}
		}
	}
	var list []*ptx.Function
	for _, f := range b.module.Functions {
		if names[f.Name] && !f.Entry && !f.Extern {
			list = append(list, f)
		}
	}
	return list
}

// findDynamic marks the functions that pointers lead to and those that call themselves, and makes what they share.
func (b *binder) findDynamic() {
	for _, f := range b.functions {
		f.dynamic = f.dynamic || b.comesTo(f, f, map[*bound]bool{})
		if !f.dynamic {
			continue
		}
		if b.passing == nil {
			b.passing = &passing{}
		}
		b.passing.arguments = b.widen(b.passing.arguments, f.f.Params)
		b.passing.results = b.widen(b.passing.results, f.f.Results)
	}
}

// comesTo reports whether a function calls another one, by whatever way.
func (b *binder) comesTo(f, to *bound, seen map[*bound]bool) bool {
	for _, g := range f.calls {
		if g == to {
			return true
		}
		if !seen[g] {
			seen[g] = true
			if b.comesTo(g, to, seen) {
				return true
			}
		}
	}
	return false
}

// widen makes room for values in what is shared.
func (b *binder) widen(words []code.Words, values []ptx.Variable) []code.Words {
	for i := range values {
		if i == len(words) {
			words = append(words, code.Words{})
		}
		if words[i].Bytes < values[i].Bytes {
			words[i] = b.newWords(values[i].Bytes)
		}
	}
	return words
}

// describe says of functions what calls need when they run.
func (b *binder) describe() {
	for i, f := range b.functions {
		frame := &b.k.Frames[i]
		frame.Entry, frame.Address, frame.Dynamic = f.entry, b.addressOf(f.f), f.dynamic
		if !f.dynamic {
			continue
		}
		frame.Own = append(frame.Own, code.R64(f.frame))
		frame.Own = append(frame.Own, f.registers...)
		for _, p := range f.symbols {
			if p.space == ptx.Param {
				frame.Own = append(frame.Own, p.words.Registers()...)
			}
		}
	}
}

// addressOf is the address of a function: its number in the module says it.
func (b *binder) addressOf(f *ptx.Function) uint64 {
	for i, g := range b.module.Functions {
		if g == f {
			return ptx.FunctionAddress(i)
		}
	}
	return 0
}

// emitBegin appends what a function does first that is of that kind or allocates: it takes its arguments, and its part of the stack.
func (b *binder) emitBegin(f *bound) {
	b.hidden = true
	for i := range f.f.Params {
		if f.dynamic {
			b.copyWords(f.symbols[f.f.Params[i].Name].words, b.passing.arguments[i])
		}
	}
	b.copyRegister(code.R64(f.frame), code.R64(b.stack.used))
	if n := b.k.Frames[b.indexOf(f)].Bytes; n > 0 && f.dynamic {
		b.addNumber(b.stack.used, b.stack.used, alignUp(n, 16))
	}
	b.hidden = false
}

// emitReturn appends a return. Functions of that kind hand over their results, and all give their part of the stack back.
func (b *binder) emitReturn(f *bound, _ *ptx.Inst) error {
	if f.hasFrame() {
		hidden := b.hidden
		b.hidden = true
		for i := range f.f.Results {
			if f.dynamic {
				b.copyWords(b.passing.results[i], f.symbols[f.f.Results[i].Name].words)
			}
		}
		b.copyRegister(code.R64(b.stack.used), code.R64(f.frame))
		b.hidden = hidden
	}
	b.emit(code.Inst{Kind: code.KindReturn})
	return nil
}

// addNumber appends d = a + number.
func (b *binder) addNumber(d, a int32, number uint64) {
	k := b.literal(lane.R64, number)
	b.emit(code.Inst{
		Kind: code.KindLane, Lane: add64, Ops: lane.Operands{D: d, A: a, B: k}, Outs: []code.Register{code.R64(d)}, Ins: []code.Register{code.R64(a), code.R64(k)},
	})
}

// stackAddress is the register that holds the address of a local variable of such a function.
func (b *binder) stackAddress(f *bound, offset uint64, bank lane.Bank) int32 {
	hidden := b.hidden
	b.hidden = true
	defer func() { b.hidden = hidden }()
	d := b.newRegister(lane.R64)
	b.addNumber(d, f.frame, b.stack.base+offset-b.k.Frames[b.indexOf(f)].First)
	if bank == lane.R64 {
		return d
	}
	return b.narrow(d).Index
}

// emitIndirect appends a call through a pointer.
func (b *binder) emitIndirect(f *bound, in *ptx.Inst) error {
	pointer, results, arguments, _ := indirectParts(in)
	at, err := b.input(f, in, pointer, lane.R64, 0)
	if err != nil {
		return err
	}
	if b.passing == nil || len(arguments) > len(b.passing.arguments) || len(results) > len(b.passing.results) {
		b.emit(code.Inst{Kind: code.KindCall, Target: -1, Detail: code.NoFunction, Ops: lane.Operands{A: at}, Ins: []code.Register{code.R64(at)}})
		return nil
	}
	return b.emitPassing(f, in, arguments, results, code.Inst{
		Kind: code.KindCall, Target: -1, Detail: -1, Ops: lane.Operands{A: at}, Ins: []code.Register{code.R64(at)},
	})
}

// emitPassing appends a call that passes what functions share.
func (b *binder) emitPassing(f *bound, in *ptx.Inst, arguments, results []ptx.Operand, call code.Inst) error {
	for i := range arguments {
		from, err := b.callWords(f, in, &arguments[i])
		if err != nil {
			return err
		}
		b.copyWords(b.passing.arguments[i], from)
	}
	b.emit(call)
	for i := range results {
		to, err := b.callWords(f, in, &results[i])
		if err != nil {
			return err
		}
		b.copyWords(to, b.passing.results[i])
	}
	return nil
}
