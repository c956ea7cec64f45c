package compile

import (
	"errors"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

var errTooMany = errors.New("has too many operands")

// decodeReason is what package lane says about an instruction that it does not know.
func decodeReason(err error) string { return err.Error() }

// emitBranch appends a jump or a conditional branch.
func (b *binder) emitBranch(f *bound, in *ptx.Inst) error {
	if len(in.Operands) != 1 || in.Operands[0].Kind != ptx.Label {
		return b.unknown(in, "needs one label")
	}
	to := in.Operands[0].Target
	if to < 0 || int(to) > len(f.f.Insts) {
		return b.unknown(in, "the label is nowhere")
	}
	k := code.KindBranch
	if in.Guard < 0 {
		k = code.KindJump
	}
	b.emit(code.Inst{Kind: k, Target: to})
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
	var labels []code.Label
	for _, o := range in.Operands[1:] {
		list := []ptx.Operand{o}
		if len(o.Elems) > 0 {
			list = o.Elems
		}
		for _, o := range list {
			if o.Kind != ptx.Label || o.Target < 0 || int(o.Target) > len(f.f.Insts) {
				return b.unknown(in, "the table of labels is not one")
			}
			labels = append(labels, code.Label{At: o.Target})
		}
	}
	b.k.Switches = append(b.k.Switches, labels)
	b.emit(code.Inst{Kind: code.KindSwitch, Detail: int32(len(b.k.Switches) - 1), Ops: lane.Operands{A: index}, Ins: []code.Register{code.R32(index)}})
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
	case found.Extern && isDeviceRuntime(name):
		return nil, b.unknown(in, "launches from the device are not simulated (%s): launch from the host", name)
	case found.Extern && systemCalls[name].params == nil:
		return nil, b.unknown(in, "function %s has no body, and the simulator does not provide it", name)
	}
	return found, nil
}

// isDeviceRuntime reports whether a function is one of the runtime that kernels launch others with.
func isDeviceRuntime(name string) bool {
	for _, begin := range []string{"cudaGraph", "cudaLaunchDevice", "cudaGetParameterBuffer", "cudaDeviceSynchronize", "cudaStream", "cudaEvent", "__cudaCDP"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
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
			return "", nil, nil, b.unknown(in, "the call's target is neither a symbol nor a register")
		}
	}
	if name == "" {
		return "", nil, nil, b.unknown(in, "the call's target is neither a symbol nor a register")
	}
	return name, results, arguments, nil
}

// emitCall appends a call: arguments are copied into the parameters of the callee, and its results back.
func (b *binder) emitCall(f *bound, in *ptx.Inst) error {
	if isIndirect(in) {
		return b.emitIndirect(f, in)
	}
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
	at := int32(b.indexOf(g))
	if g.dynamic {
		return b.emitPassing(f, in, arguments, results, code.Inst{Kind: code.KindCall, Target: at, Detail: at})
	}
	for i := range arguments {
		from, err := b.callWords(f, in, &arguments[i])
		if err != nil {
			return err
		}
		b.copyWords(g.symbols[callee.Params[i].Name].words, from)
	}
	b.emit(code.Inst{Kind: code.KindCall, Target: at, Detail: at})
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
func (b *binder) callWords(f *bound, in *ptx.Inst, o *ptx.Operand) (code.Words, error) {
	if o.Kind == ptx.IsSymbol {
		if p, ok := f.symbols[o.Symbol]; ok && p.space == ptx.Param && !p.kernel {
			return p.words, nil
		}
	}
	return code.Words{}, b.unknown(in, "passes what is not a variable in parameter space")
}

func (b *binder) copyWords(to, from code.Words) {
	hidden := b.hidden
	b.hidden = true
	n := min((to.Bytes+3)/4, (from.Bytes+3)/4)
	for i := range int32(n) {
		b.copyRegister(code.R32(to.First+i), code.R32(from.First+i))
	}
	b.hidden = hidden
}

// systemCalls are the functions of the system, with the bytes of their parameters.
var systemCalls = map[string]struct {
	kind   code.Kind
	params []uint64
}{
	"vprintf":      {code.KindPrint, []uint64{8, 8}},
	"__assertfail": {code.KindAssert, []uint64{8, 8, 4, 8, 8}},
	"malloc":       {code.KindMalloc, []uint64{8}},
	"free":         {code.KindFree, []uint64{8}},

	"__nv_aligned_device_malloc": {code.KindMalloc, []uint64{8, 8}},
}

// emitHostCall appends a call of a function of the system.
func (b *binder) emitHostCall(f *bound, in *ptx.Inst, name string, arguments, results []ptx.Operand) error {
	c := code.Call{Name: name, Result: code.Words{First: -1}}
	for i := range arguments {
		w, err := b.callWords(f, in, &arguments[i])
		if err != nil {
			return err
		}
		c.Params = append(c.Params, w)
	}
	if len(results) > 0 {
		w, err := b.callWords(f, in, &results[0])
		if err != nil {
			return err
		}
		c.Result = w
	}
	call := systemCalls[name]
	for i, bytes := range call.params {
		if len(c.Params) != len(call.params) || c.Params[i].Bytes < bytes {
			return b.unknown(in, "%s takes other arguments", name)
		}
	}
	if call.kind == code.KindMalloc {
		if c.Result.First < 0 || c.Result.Bytes < 8 {
			return b.unknown(in, "%s gives an address of 64 bits", name)
		}
		b.k.Ordered = true // who comes first gets the lower address
	}
	b.k.Ordered = b.k.Ordered || call.kind == code.KindFree
	b.k.Calls = append(b.k.Calls, c)
	out := code.Inst{Kind: call.kind, Detail: int32(len(b.k.Calls) - 1)}
	for _, w := range c.Params {
		out.Ins = append(out.Ins, w.Registers()...)
	}
	if c.Result.First >= 0 {
		out.Outs = c.Result.Registers()
	}
	b.emit(out)
	return nil
}

// barrierOf reads the modifiers of a barrier; kind is sync, arrive or red.
func (b *binder) barrierOf(in *ptx.Inst) (d code.Barrier, kind string, err error) {
	d = code.Barrier{ID: -1, Threads: -1, Aligned: in.Op.Name == "bar"}
	d.In.Index = -1
	for _, mod := range in.Op.Mods {
		switch mod {
		case "sync", "arrive", "red":
			kind = mod
		case "warp":
			d.Warp = true
		case "cta":
		case "aligned":
			d.Aligned = true
		case "popc":
			d.Reduce = code.ReducePopc
		case "and":
			d.Reduce = code.ReduceAnd
		case "or":
			d.Reduce = code.ReduceOr
		case "pred", "u32":
		default:
			return d, kind, b.unknown(in, "a barrier that the simulator does not support")
		}
	}
	d.Arrive = kind == "arrive"
	return d, kind, nil
}

// emitBarrier appends the barriers of a block and of a warp.
func (b *binder) emitBarrier(f *bound, in *ptx.Inst) error {
	d, kind, err := b.barrierOf(in)
	if err != nil {
		return err
	}
	operands := in.Operands
	if d.Warp {
		return b.emitWarpBarrier(f, in)
	}
	if kind == "" || (kind == "red") != (d.Reduce != code.ReduceNone) || kind == "red" && len(operands) < 3 {
		return b.unknown(in, "a barrier that the simulator does not support")
	}
	if kind == "red" {
		bank := lane.P
		if d.Reduce == code.ReducePopc {
			bank = lane.R32
		}
		at, err := b.output(f, in, &operands[0], bank)
		if err != nil {
			return err
		}
		d.Out = code.Register{Bank: bank, Index: at}
		at, err = b.input(f, in, &operands[len(operands)-1], lane.P, 0)
		if err != nil {
			return err
		}
		d.In = code.P(at)
		operands = operands[1 : len(operands)-1]
	}
	if len(operands) < 1 || len(operands) > 2 || d.Arrive && len(operands) != 2 {
		return b.unknown(in, "a barrier that the simulator does not support")
	}
	for i, to := range []*int32{&d.ID, &d.Threads}[:len(operands)] {
		at, err := b.input(f, in, &operands[i], lane.R32, i)
		if err != nil {
			return err
		}
		*to = at
	}
	b.k.Barriers = append(b.k.Barriers, d)
	out := code.Inst{Kind: code.KindBarrier, Detail: int32(len(b.k.Barriers) - 1)}
	if d.Aligned {
		out.Meet = code.MeetWarp
	}
	for _, at := range []int32{d.ID, d.Threads} {
		if at >= 0 {
			out.Ins = append(out.Ins, code.R32(at))
		}
	}
	if d.Reduce != code.ReduceNone {
		out.Ins, out.Outs = append(out.Ins, d.In), []code.Register{d.Out}
	}
	b.emit(out)
	return nil
}

// emitWarpBarrier appends bar.warp.sync: lanes wait there for those of a mask.
func (b *binder) emitWarpBarrier(f *bound, in *ptx.Inst) error {
	if len(in.Operands) != 1 {
		return b.unknown(in, "needs a mask")
	}
	at, err := b.input(f, in, &in.Operands[0], lane.R32, 0)
	if err != nil {
		return err
	}
	b.emit(code.Inst{Kind: code.KindNothing, Meet: code.MeetMask, Members: at, Ins: []code.Register{code.R32(at)}})
	return nil
}

// link puts places in the code where branches and calls name instructions of the text and functions.
func (b *binder) link() {
	begin := map[*ptx.Function]*bound{}
	for _, f := range b.functions {
		begin[f.f] = f
	}
	for i := range b.k.Code {
		in := &b.k.Code[i]
		o := b.k.Origins[in.Origin]
		f := begin[o.Function]
		switch in.Kind {
		case code.KindJump, code.KindBranch:
			in.Target, in.Arrive, in.Join = f.start[in.Target], f.arrive(o.Inst, in.Target), f.join(o.Inst)
			in.Back = in.Arrive != b.k.Code[in.Target].Order
		case code.KindCall:
			if in.Detail >= 0 {
				in.Target = b.functions[in.Target].entry
			}
		case code.KindSwitch:
			in.Join = f.join(o.Inst)
			targets := b.k.Switches[in.Detail]
			for j, t := range targets {
				targets[j] = code.Label{At: f.start[t.At], Arrive: f.arrive(o.Inst, t.At)}
			}
		}
	}
}

// arrive is where lanes wait that go from one instruction of the text to another, in the arrangement of the function.
func (f *bound) arrive(from, to int32) int32 {
	if int(to) >= len(f.f.Insts) {
		return f.flow.end
	}
	return f.flow.arrive(f.block[from], f.block[to])
}

// findAlone marks the code of a kernel from which no lane comes to an instruction at which it looks at others.
func (b *binder) findAlone() {
	at := slices.IndexFunc(b.functions, func(f *bound) bool { return f.f == b.k.Entry })
	f := b.functions[at]
	for i := range f.f.Blocks {
		block := &f.f.Blocks[i]
		alone := !slices.ContainsFunc(block.Succ, func(s int32) bool { return f.flow.meets[s] })
		for at := block.End - 1; at >= block.First && alone; at-- {
			alone = !b.meets(&f.f.Insts[at])
			for c := f.start[at+1] - 1; c >= f.start[at] && (alone || b.k.Code[c].Kind == code.KindLane); c-- { // results of a call are copied behind it
				b.k.Code[c].Alone = true
			}
		}
	}
	b.k.Code[f.start[len(f.f.Insts)]].Alone = true
}

// join is where lanes come together again that an instruction of the text divides, as arrive counts; noJoin if nowhere.
func (f *bound) join(from int32) int32 {
	at := f.block[from]
	switch to := f.joins[at]; to {
	case noJoin:
		return noJoin
	case int32(len(f.joins)):
		return f.flow.end
	default:
		return f.flow.arrive(at, to)
	}
}

// arrange orders the blocks of a function, those of the functions that it calls first. What stands behind a call that does not
// return is not reached from there.
func (b *binder) arrange(f *bound) {
	if f.flow != nil || f.arranging {
		return
	}
	f.arranging = true
	n := len(f.f.Insts)
	f.block = make([]int32, n)
	succ, leaves, meets := make([][]int32, len(f.f.Blocks)), make([]bool, len(f.f.Blocks)), make([]bool, len(f.f.Blocks))
	for i := range f.f.Blocks {
		block := &f.f.Blocks[i]
		for at := block.First; at < block.End; at++ {
			f.block[at] = int32(i)
			meets[i] = meets[i] || b.meets(&f.f.Insts[at])
		}
		if b.stops(f.f.Insts[block.First:block.End]) {
			continue
		}
		succ[i], leaves[i] = block.Succ, block.Leaves
		if f.f.Insts[block.End-1].Op.Name == "trap" {
			leaves[i] = int(block.End) == n // under a guard: the others may go on to the end of the text
		}
	}
	f.flow, f.joins = arrange(succ, leaves, meets), joins(succ, leaves)
	for i, leave := range leaves {
		last := &f.f.Insts[f.f.Blocks[i].End-1]
		f.returns = f.returns || leave && f.flow.reached[i] && (last.Op.Name != "exit" || last.Guard >= 0 && int(f.f.Blocks[i].End) == n)
	}
	f.returns = f.returns || n == 0
}

// stops reports whether control never comes to the end of some instructions.
func (b *binder) stops(list []ptx.Inst) bool {
	for i := range list {
		in := &list[i]
		if in.Guard >= 0 {
			continue
		}
		switch in.Op.Name {
		case "trap", "brkpt":
			return true
		case "call":
			name, _, _, err := b.callParts(in)
			if g := b.byName[name]; err == nil && g != nil {
				if b.arrange(g); g.flow != nil && !g.returns {
					return true
				}
			} else if name == "__assertfail" {
				return true
			}
		}
	}
	return false
}

// meets reports whether lanes look at each other in an instruction, or wait for each other; a function may hold such ones.
func (b *binder) meets(in *ptx.Inst) bool {
	switch in.Op.Name {
	case "shfl", "vote", "match", "redux", "activemask", "elect", "bar", "barrier", "mma", "wmma", "ldmatrix", "movmatrix":
		return true
	case "call":
		name, _, _, err := b.callParts(in)
		return isIndirect(in) || err == nil && b.byName[name] != nil
	}
	return false
}

// comesBack reports whether control goes on behind the instruction at which a block ends to the head of a loop that it is in:
// there lanes may have to wait, which they do at jumps only.
func (f *bound) comesBack(at int32) bool {
	next := at + 1
	if int(next) >= len(f.f.Insts) || f.block[next] == f.block[at] {
		return false
	}
	switch in := &f.f.Insts[at]; in.Op.Name {
	case "bra", "brx", "ret", "exit", "trap":
		if in.Guard < 0 {
			return false
		}
	}
	from, to := f.block[at], f.block[next]
	return f.flow.order[to] <= f.flow.order[from] && f.flow.again[to] >= 0
}
