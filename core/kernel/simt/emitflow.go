package simt

import (
	"errors"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
)

var errTooMany = errors.New("has too many operands")

// decodeReason is what package lane says about an instruction that it does not know.
func decodeReason(err error) string { return err.Error() }

// emitBranch appends a jump or a conditional branch.
func (b *binder) emitBranch(f *bound, in *ptx.Inst) error {
	if len(in.Operands) != 1 || in.Operands[0].Kind != ptx.Label {
		return b.unknown(in, "needs one label")
	}
	target := in.Operands[0].Target
	if target < 0 || int(target) > len(f.f.Insts) {
		return b.unknown(in, "the label is nowhere")
	}
	k := kindBranch
	if in.Guard < 0 {
		k = kindJump
	}
	b.emit(inst{kind: k, target: target})
	return nil
}

// emitSwitch appends a jump through a table of labels: brx.idx register, table.
func (b *binder) emitSwitch(f *bound, in *ptx.Inst) error {
	if len(in.Operands) < 2 {
		return b.unknown(in, "needs an index and labels")
	}
	index, err := b.input(f, in, &in.Operands[0], lane.R32, 0)
	if err != nil {
		return err
	}
	var targets []int32
	for _, o := range in.Operands[1:] {
		list := []ptx.Operand{o}
		if len(o.Elems) > 0 {
			list = o.Elems
		}
		for _, label := range list {
			if label.Kind != ptx.Label || label.Target < 0 || int(label.Target) > len(f.f.Insts) {
				return b.unknown(in, "the table of labels is not one")
			}
			targets = append(targets, label.Target)
		}
	}
	b.k.switches = append(b.k.switches, targets)
	b.emit(inst{kind: kindSwitch, detail: int32(len(b.k.switches) - 1), ops: lane.Operands{A: index}, ins: []slot{{lane.R32, index}}})
	return nil
}

// callee finds the function that a call names.
func (b *binder) callee(in *ptx.Inst) (*ptx.Function, error) {
	name, _, _, err := b.callParts(in)
	if err != nil {
		return nil, err
	}
	var found *ptx.Function
	for _, f := range b.module.Functions {
		if f.Name == name && (found == nil || found.Extern) {
			found = f
		}
	}
	switch {
	case found == nil:
		return nil, b.unknown(in, "function %s is not declared", name)
	case found.Entry:
		return nil, b.unknown(in, "%s is a kernel", name)
	case found.Extern && name != "vprintf" && name != "__assertfail":
		return nil, b.unknown(in, "function %s has no body and is not one of the machine", name)
	}
	return found, nil
}

// callParts takes a call apart: call (results), name, (arguments).
func (b *binder) callParts(in *ptx.Inst) (name string, results, arguments []ptx.Operand, err error) {
	for i := range in.Operands {
		o := &in.Operands[i]
		switch {
		case o.Kind == ptx.IsSymbol && name == "":
			name = o.Symbol
		case o.Kind == ptx.Arguments && name == "":
			results = o.Elems
		case o.Kind == ptx.Arguments && arguments == nil:
			arguments = o.Elems
		default:
			return "", nil, nil, b.unknown(in, "calls through a pointer are not simulated")
		}
	}
	if name == "" {
		return "", nil, nil, b.unknown(in, "calls through a pointer are not simulated")
	}
	return name, results, arguments, nil
}

// emitCall appends a call: arguments are copied into the parameters of the callee, and its results back.
func (b *binder) emitCall(f *bound, in *ptx.Inst) error {
	callee, err := b.callee(in)
	if err != nil {
		return err
	}
	_, results, arguments, err := b.callParts(in)
	if err != nil {
		return err
	}
	if len(arguments) != len(callee.Params) || len(results) != len(callee.Results) {
		return b.unknown(in, "passes %d arguments and takes %d results of %s, which has %d and %d",
			len(arguments), len(results), callee.Name, len(callee.Params), len(callee.Results))
	}
	if callee.Extern {
		return b.emitHostCall(f, in, callee.Name, arguments, results)
	}
	g := b.byName[callee.Name]
	for i := range arguments {
		from, err := b.callWords(f, in, &arguments[i])
		if err != nil {
			return err
		}
		b.copyWords(g.symbols[callee.Params[i].Name].words, from)
	}
	at := int32(b.indexOf(g))
	b.emit(inst{kind: kindCall, target: at, detail: at})
	for i := range results {
		to, err := b.callWords(f, in, &results[i])
		if err != nil {
			return err
		}
		b.copyWords(to, g.symbols[callee.Results[i].Name].words)
	}
	return nil
}

func (b *binder) indexOf(g *bound) int {
	for i, f := range b.functions {
		if f == g {
			return i
		}
	}
	return -1
}

// callWords is the variable of parameter memory that a call names.
func (b *binder) callWords(f *bound, in *ptx.Inst, o *ptx.Operand) (words, error) {
	if o.Kind == ptx.IsSymbol {
		if p, ok := f.symbols[o.Symbol]; ok && p.space == ptx.Param && !p.kernel {
			return p.words, nil
		}
	}
	return words{}, b.unknown(in, "passes what is not a variable in parameter space")
}

func (b *binder) copyWords(to, from words) {
	hidden := b.hidden
	b.hidden = true
	n := min((to.bytes+3)/4, (from.bytes+3)/4)
	for i := range int32(n) {
		b.copyRegister(slot{lane.R32, to.first + i}, slot{lane.R32, from.first + i})
	}
	b.hidden = hidden
}

// emitHostCall appends a call of vprintf or __assertfail.
func (b *binder) emitHostCall(f *bound, in *ptx.Inst, name string, arguments, results []ptx.Operand) error {
	c := call{name: name, result: words{first: -1}}
	for i := range arguments {
		w, err := b.callWords(f, in, &arguments[i])
		if err != nil {
			return err
		}
		c.params = append(c.params, w)
	}
	if len(results) > 0 {
		w, err := b.callWords(f, in, &results[0])
		if err != nil {
			return err
		}
		c.result = w
	}
	want, k := []uint64{8, 8}, kindPrint
	if name == "__assertfail" {
		want, k = []uint64{8, 8, 4, 8, 8}, kindAssert
	}
	for i := range want {
		if len(c.params) != len(want) || c.params[i].bytes < want[i] {
			return b.unknown(in, "%s takes other arguments", name)
		}
	}
	b.k.calls = append(b.k.calls, c)
	out := inst{kind: k, detail: int32(len(b.k.calls) - 1)}
	for _, w := range c.params {
		out.ins = append(out.ins, w.slots()...)
	}
	if c.result.first >= 0 {
		out.outs = c.result.slots()
	}
	b.emit(out)
	return nil
}

// emitBarrier appends the barriers of a block and of a warp.
func (b *binder) emitBarrier(f *bound, in *ptx.Inst) error {
	d := barrier{id: -1, threads: -1, aligned: in.Op.Name == "bar"}
	d.in.index = -1
	kind := ""
	for _, mod := range in.Op.Mods {
		switch mod {
		case "sync", "arrive", "red":
			kind = mod
		case "warp":
			d.warp = true
		case "cta":
		case "aligned":
			d.aligned = true
		case "popc":
			d.reduce = reducePopc
		case "and":
			d.reduce = reduceAnd
		case "or":
			d.reduce = reduceOr
		case "pred", "u32":
		default:
			return b.unknown(in, "not a barrier of the machine")
		}
	}
	operands := in.Operands
	if d.warp {
		b.emit(inst{kind: kindNothing}) // lanes of a warp run together here
		return nil
	}
	if kind == "" || (kind == "red") != (d.reduce != reduceNone) || kind == "red" && len(operands) < 3 {
		return b.unknown(in, "not a barrier of the machine")
	}
	d.arrive = kind == "arrive"
	if kind == "red" {
		bank := lane.P
		if d.reduce == reducePopc {
			bank = lane.R32
		}
		at, err := b.output(f, in, &operands[0], bank)
		if err != nil {
			return err
		}
		d.out = slot{bank, at}
		at, err = b.input(f, in, &operands[len(operands)-1], lane.P, 0)
		if err != nil {
			return err
		}
		d.in = slot{lane.P, at}
		operands = operands[1 : len(operands)-1]
	}
	if len(operands) < 1 || len(operands) > 2 || d.arrive && len(operands) != 2 {
		return b.unknown(in, "not a barrier of the machine")
	}
	for i, to := range []*operand32{&d.id, &d.threads}[:len(operands)] {
		at, err := b.input(f, in, &operands[i], lane.R32, i)
		if err != nil {
			return err
		}
		*to = operand32(at)
	}
	b.k.barriers = append(b.k.barriers, d)
	out := inst{kind: kindBarrier, detail: int32(len(b.k.barriers) - 1)}
	for _, at := range []operand32{d.id, d.threads} {
		if at >= 0 {
			out.ins = append(out.ins, slot{lane.R32, int32(at)})
		}
	}
	if d.reduce != reduceNone {
		out.ins, out.outs = append(out.ins, d.in), []slot{d.out}
	}
	b.emit(out)
	return nil
}

// link puts places in the code where branches and calls name instructions of the text and functions, and finds where the sides
// of a branch meet again.
func (b *binder) link() {
	begin := map[*ptx.Function]*bound{}
	blocks := map[*ptx.Function][]int32{}
	for _, f := range b.functions {
		begin[f.f] = f
		of := make([]int32, len(f.f.Insts))
		for i := range f.f.Blocks {
			for at := max(f.f.Blocks[i].First, 0); at < f.f.Blocks[i].End && int(at) < len(of); at++ {
				of[at] = int32(i)
			}
		}
		blocks[f.f] = of
	}
	for i := range b.k.code {
		in := &b.k.code[i]
		o := b.k.origins[in.origin]
		f := begin[o.function]
		switch in.kind {
		case kindJump, kindBranch:
			in.target = f.start[in.target]
		case kindCall:
			in.target = b.functions[in.target].start[0]
			continue
		case kindSwitch:
			targets := b.k.switches[in.detail]
			for j := range targets {
				targets[j] = f.start[targets[j]]
			}
		default:
			continue
		}
		in.join = -1
		if of := blocks[o.function]; int(o.index) < len(of) && int(of[o.index]) < len(f.f.Blocks) {
			if pd := f.f.Blocks[of[o.index]].PostDominator; pd >= 0 && int(pd) < len(f.f.Blocks) {
				in.join = f.start[f.f.Blocks[pd].First]
			}
		}
	}
}
