package compile

import (
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// emitFunction appends the code of a function. Targets are instructions of the text until link puts code in their place.
func (b *binder) emitFunction(f *bound) error {
	f.start = make([]int32, len(f.f.Insts)+1)
	f.entry = int32(len(b.k.Code))
	for i := range f.f.Insts {
		f.start[i] = int32(len(b.k.Code))
		in := &f.f.Insts[i]
		b.origin = int32(len(b.k.Origins))
		b.k.Origins = append(b.k.Origins, code.Origin{Function: f.f, Inst: int32(i)})
		b.guard, b.invert, b.hidden, b.order = -1, 0, false, f.flow.order[f.block[i]]
		if i == 0 && f.hasFrame() {
			b.emitBegin(f)
			f.start[0] = int32(len(b.k.Code))
		}
		if in.Guard >= 0 {
			if int(in.Guard) >= len(f.registers) || f.registers[in.Guard].Bank != lane.P {
				return b.unknown(in, "the guard is not a predicate")
			}
			b.guard = f.registers[in.Guard].Index
			if in.GuardNot {
				b.invert = math.MaxUint32
			}
		}
		if err := b.emitInst(f, in); err != nil {
			return err
		}
		if f.comesBack(int32(i)) {
			b.guard, b.invert, b.hidden = -1, 0, true
			b.emit(code.Inst{Kind: code.KindJump, Target: int32(i + 1)})
		}
	}
	f.start[len(f.f.Insts)] = int32(len(b.k.Code))
	b.origin = int32(len(b.k.Origins))
	b.k.Origins = append(b.k.Origins, code.Origin{Function: f.f, Inst: int32(len(f.f.Insts))})
	b.guard, b.invert, b.hidden, b.order = -1, 0, true, f.flow.end
	if len(f.f.Insts) == 0 && f.hasFrame() {
		b.emitBegin(f)
		b.hidden = true
	}
	return b.emitReturn(f, nil)
}

// emit appends one instruction under the guard of the moment and returns its index.
func (b *binder) emit(in code.Inst) int32 {
	in.Guard, in.Invert, in.Hidden, in.Origin, in.Order = b.guard, b.invert, b.hidden, b.origin, b.order
	b.k.Code = append(b.k.Code, in)
	return int32(len(b.k.Code) - 1)
}

// emitHidden appends an instruction that stands for a part of the one that follows.
func (b *binder) emitHidden(in code.Inst) {
	hidden := b.hidden
	b.hidden = true
	b.emit(in)
	b.hidden = hidden
}

// emitter appends the instructions of one name.
type emitter struct {
	emit func(b *binder, f *bound, in *ptx.Inst) error
	doc  string // forms that the simulator supports
}

// emitters are the instructions that are not package lane's: control flow, memory, barriers.
var emitters = map[string]emitter{
	"bra":           {(*binder).emitBranch, "with a label, also .uni"},
	"brx":           {(*binder).emitSwitch, ".idx with a table of labels; an index beyond the table ends the launch with an error"},
	"ret":           {(*binder).emitReturn, "of a function; of a kernel it ends the thread"},
	"exit":          {plain(code.KindExit), ""},
	"trap":          {plain(code.KindTrap), "a finding; the block ends, others go on"},
	"brkpt":         {plain(code.KindTrap), "as trap"},
	"call":          {(*binder).emitCall, "of functions by name and through pointers, also of themselves: up to 256 calls deep, with a stack of 16 KiB a thread; vprintf, __assertfail, malloc, __nv_aligned_device_malloc, free"},
	"bar":           {(*binder).emitBarrier, ".sync .arrive .red (.popc .and .or) with and without a count, barriers 0 to 15; .warp.sync: lanes of a mask wait for each other"},
	"barrier":       {(*binder).emitBarrier, "as bar"},
	"membar":        {(*binder).emitFence, ".cta .gl .sys: nothing, memory is sequentially consistent"},
	"fence":         {(*binder).emitFence, ".sc .acq_rel with .cta .gpu .sys: as membar"},
	"nanosleep":     {(*binder).emitNothing, "nothing"},
	"pmevent":       {(*binder).emitNothing, "nothing"},
	"prefetch":      {(*binder).emitNothing, "nothing, the address is not looked at"},
	"prefetchu":     {(*binder).emitNothing, "as prefetch"},
	"discard":       {(*binder).emitNothing, "nothing, the address is not looked at"},
	"applypriority": {(*binder).emitNothing, "nothing, the address is not looked at"},
	"createpolicy":  {(*binder).emitPolicy, "the policy is 0: there is no cache"},
	"ld": {(*binder).emitLoad, ".global .shared .local .const .param and generic, .v2 .v4 .v8, b8 to b64, u, s, f32, f64; .nc .volatile .relaxed .acquire; " +
		"cache operators and policies are ignored"},
	"ldu":      {(*binder).emitLoad, "as ld"},
	"st":       {(*binder).emitStore, ".global .shared .local .param and generic, as ld"},
	"atom":     {(*binder).emitAtomic, "add u32 s32 u64 s64 f32 f64 f16 f16x2 bf16 bf16x2; min max u32 s32 u64 s64; and or xor exch b32 b64; inc dec u32; cas b16 b32 b64; .global .shared generic; every order and scope"},
	"red":      {(*binder).emitAtomic, "as atom"},
	"cp":       {(*binder).emitCopy, ".async.ca 4 8 16, .async.cg 16, with a source size or a predicate; .async.commit_group .wait_group .wait_all; .async.mbarrier.arrive (.noinc): the copies are there at once"},
	"ldmatrix": {(*binder).emitMatrix, ".sync.aligned.m8n8 .x1 .x2 .x4 .trans .shared b16"},
	"mbarrier": {
		(*binder).emitMbarrier,
		".init .inval .arrive .arrive_drop (.noComplete, with a count) .test_wait (.parity) .pending_count, .shared and generic, b64",
	},
	"wmma":     {(*binder).emitWmma, lane.WmmaDoc},
	"tex":      {(*binder).emitFetch, "1d 2d 3d a1d a2d cube acube, .v4 of f32 s32 u32, coordinates f32 and s32, by objects; .level and .grad: a texture has one level; a linear filter is approximated"},
	"tld4":     {(*binder).emitFetch, ".r .g .b .a of 2d and a2d, by objects"},
	"suld":     {(*binder).emitSurface, ".b of 1d 2d 3d a1d a2d, b8 to b64, .v2 .v4, .trap .clamp .zero, by objects"},
	"sust":     {(*binder).emitSurface, "as suld"},
	"cvta":     {(*binder).emitConvertAddress, "u64, to and from .global .shared .local .const"},
	"isspacep": {(*binder).emitSpace, ".global .shared .local .const .param"},
	"alloca": {
		(*binder).emitAlloca,
		"u32 u64, with an alignment; a thread has a stack of 16 KiB for it and for calls through pointers, and to need more is a finding",
	},
	"stacksave":    {(*binder).emitStackSave, "u32 u64"},
	"stackrestore": {(*binder).emitStackRestore, "u32 u64; memory that it gives back counts as unwritten, and to restore more than is in use is a finding"},
}

// plain appends an instruction without operands.
func plain(k code.Kind) func(*binder, *bound, *ptx.Inst) error {
	return func(b *binder, _ *bound, _ *ptx.Inst) error {
		b.emit(code.Inst{Kind: k})
		return nil
	}
}

// emitNothing accepts a hint.
func (b *binder) emitNothing(_ *bound, in *ptx.Inst) error {
	if b.k.Target.IsLater(in.Op) {
		return b.unknown(in, "an instruction that the simulator does not support")
	}
	b.emit(code.Inst{Kind: code.KindNothing})
	return nil
}

// emitInst appends one instruction of the text.
func (b *binder) emitInst(f *bound, in *ptx.Inst) error {
	if e, ok := emitters[in.Op.Name]; ok {
		return e.emit(b, f, in)
	}
	return b.emitForm(f, in)
}

// emitFence accepts fences. Memory is sequentially consistent here: they only matter to the search for races.
func (b *binder) emitFence(_ *bound, in *ptx.Inst) error {
	for _, mod := range in.Op.Mods {
		if !b.k.Target.HasFence(mod) {
			return b.unknown(in, "a fence that the simulator does not support")
		}
	}
	out := code.Inst{Kind: code.KindFence}
	if hasMod(in.Op, "cta") {
		out.Detail = 1
	}
	b.emit(out)
	return nil
}

// emitPolicy gives a cache policy the value 0: there is no cache.
func (b *binder) emitPolicy(f *bound, in *ptx.Inst) error {
	if len(in.Operands) == 0 || in.Operands[0].Kind != ptx.IsRegister || b.k.Target.IsLater(in.Op) {
		return b.unknown(in, "a cache policy that the simulator does not support")
	}
	d, err := b.output(f, in, &in.Operands[0], lane.R64)
	if err != nil {
		return err
	}
	b.copyRegister(code.R64(d), code.R64(b.literal(lane.R64, 0)))
	return nil
}

// emitForm appends an instruction that package lane knows.
func (b *binder) emitForm(f *bound, in *ptx.Inst) error {
	form, err := lane.Decode(in, f.f)
	if err != nil {
		return b.unknown(in, "%s", decodeReason(err))
	}
	flat, outputs := flattenOperands(in)
	if len(flat) != len(form.Out)+len(form.In) || outputs != len(form.Out) {
		return b.unknown(in, "has %d operands, %d of them written; want %d and %d", len(flat), outputs, len(form.Out)+len(form.In), len(form.Out))
	}
	if len(form.Out) > code.MaxOutputs && form.Lanewise != nil {
		return b.unknown(in, "writes %d registers", len(form.Out))
	}
	out := code.Inst{Kind: code.KindLane, Lane: form.Lanewise, Warp: form.Warp}
	if form.Warp != nil {
		out.Kind = code.KindWarp
	}
	all := make([]int32, 0, len(flat))
	var wide, result code.Register
	for i, o := range flat {
		if o.Neg && lane.IsVideo(in.Op.Name) {
			plain := *o
			plain.Neg = false
			o = &plain
		}
		var at int32
		var err error
		switch {
		case i >= outputs:
			bank := form.In[i-outputs]
			if in.Op.Name == "cvt" && b.isWider(f, o, bank, typeOf(in.Op)) {
				at = b.narrow(f.registers[o.Reg].Index).Index
			} else {
				at, err = b.input(f, in, o, bank, i-outputs)
			}
			out.Ins = append(out.Ins, code.Register{Bank: bank, Index: at})
		case in.Op.Name == "cvt" && b.isWider(f, o, form.Out[i], resultType(in.Op)):
			wide, result = f.registers[o.Reg], code.R32(b.newRegister(lane.R32))
			at = result.Index
			out.Outs = append(out.Outs, result)
		default:
			at, err = b.output(f, in, o, form.Out[i])
			out.Outs = append(out.Outs, code.Register{Bank: form.Out[i], Index: at})
		}
		if err != nil {
			return err
		}
		all = append(all, at)
	}
	if err := place32(&out.Ops, all, outputs, form.UsesVec); err != nil {
		return b.unknown(in, "%v", err)
	}
	if (in.Op.Name == "div" || in.Op.Name == "rem") && !isFloat(typeOf(in.Op)) {
		out.Kind = code.KindDivide
	}
	b.noteApproximation(in.Op.Full, form.Approx)
	if out.Meet = meetOf(in.Op); out.Meet == code.MeetMask {
		out.Members = out.Ins[len(out.Ins)-1].Index
	}
	b.emit(out)
	if wide.Bank == lane.R64 {
		b.hidden = true
		t := resultType(in.Op)
		b.extend(wide, result, code.WidthOf(t), t[0] == 's', 64)
	}
	return nil
}

// meetOf says for whom lanes wait that come to an instruction that package lane knows. A mask is its last operand.
func meetOf(op ptx.Opcode) code.Meet {
	switch op.Name {
	case "shfl", "vote", "match", "redux", "elect":
		return code.MeetMask
	case "mma", "wmma", "movmatrix":
		return code.MeetWarp
	}
	return code.MeetNobody
}

// resultType is the type before the last one: what a conversion makes.
func resultType(op ptx.Opcode) string {
	return typeOf(ptx.Opcode{Mods: op.Mods[:max(0, len(op.Mods)-1)]})
}

// place32 puts registers where a form looks for them.
func place32(o *lane.Operands, all []int32, outputs int, vec bool) error {
	if vec {
		o.Vec = all
		return nil
	}
	outs, ins := []*int32{&o.D, &o.D2}, []*int32{&o.A, &o.B, &o.C, &o.E}
	if outputs > len(outs) || len(all)-outputs > len(ins) {
		return errTooMany
	}
	for i, at := range all {
		if i < outputs {
			*outs[i] = at
		} else {
			*ins[i-outputs] = at
		}
	}
	return nil
}

// flattenOperands lists all operands, the elements of vectors and pairs included, and says how many are written.
func flattenOperands(in *ptx.Inst) (flat []*ptx.Operand, outputs int) {
	for i := range in.Operands {
		o := &in.Operands[i]
		if i == in.Outputs {
			outputs = len(flat)
		}
		if o.Kind == ptx.Vector || o.Kind == ptx.Pair {
			for j := range o.Elems {
				flat = append(flat, &o.Elems[j])
			}
			continue
		}
		flat = append(flat, o)
	}
	if in.Outputs >= len(in.Operands) {
		outputs = len(flat)
	}
	return flat, outputs
}

// output is the register that an operand writes.
func (b *binder) output(f *bound, in *ptx.Inst, o *ptx.Operand, bank lane.Bank) (int32, error) {
	switch o.Kind {
	case ptx.Sink:
		return b.sinks[bank], nil
	case ptx.IsRegister:
		s, err := b.register(f, in, o)
		if err != nil {
			return 0, err
		}
		if s.Bank != bank || o.Not || o.Neg {
			return 0, b.unknown(in, "register %s does not fit", f.f.Registers[o.Reg].Name)
		}
		return s.Index, nil
	}
	return 0, b.unknown(in, "writes what is not a register")
}

func (b *binder) register(f *bound, in *ptx.Inst, o *ptx.Operand) (code.Register, error) {
	if o.Reg < 0 || int(o.Reg) >= len(f.registers) {
		return code.Register{}, b.unknown(in, "names no register")
	}
	return f.registers[o.Reg], nil
}

// input is the register that holds an operand: one of the program, or one that the binder fills with a constant. position counts
// the inputs of the instruction.
func (b *binder) input(f *bound, in *ptx.Inst, o *ptx.Operand, bank lane.Bank, position int) (int32, error) {
	switch o.Kind {
	case ptx.IsRegister:
		s, err := b.register(f, in, o)
		if err != nil {
			return 0, err
		}
		if s.Bank != bank || o.Neg || o.Not && bank != lane.P {
			return 0, b.unknown(in, "register %s does not fit", f.f.Registers[o.Reg].Name)
		}
		if o.Not {
			d := b.newRegister(lane.P)
			b.emitHidden(code.Inst{Kind: code.KindLane, Lane: notP, Ops: lane.Operands{D: d, A: s.Index}, Outs: []code.Register{code.P(d)}, Ins: []code.Register{s}})
			return d, nil
		}
		return s.Index, nil
	case ptx.Immediate:
		bits, ok := immediate(in.Op, o, bank, position)
		if !ok {
			return 0, b.unknown(in, "the immediate does not fit")
		}
		return b.literal(bank, bits), nil
	case ptx.Special:
		return b.special(in, o.Symbol, bank)
	case ptx.IsSymbol:
		return b.address(f, in, o.Symbol, o.Offset, bank)
	}
	return 0, b.unknown(in, "an operand is of a kind that does not fit")
}

// immediate is the bits of a number in a register of a bank.
func immediate(op ptx.Opcode, o *ptx.Operand, bank lane.Bank, position int) (uint64, bool) {
	t := typeOf(op)
	switch {
	case bank == lane.P:
		if o.Bits != 0 {
			return 1, true
		}
		return 0, true
	case bank == lane.R64:
		if o.Float == 32 {
			return math.Float64bits(float64(math.Float32frombits(uint32(o.Bits)))), true
		}
		return o.Bits, true
	case o.Float == 64 && t == "f32":
		return uint64(math.Float32bits(float32(math.Float64frombits(o.Bits)))), true
	case o.Float == 64:
		return 0, o.Bits == 0
	case o.Float == 32:
		return o.Bits & math.MaxUint32, true
	}
	shift := (op.Name == "shl" || op.Name == "shr") && position == 1
	addend := op.Name == "mad" && position == 2
	switch width := code.WidthOf(t); {
	case width == 16 && !shift && !(addend && hasMod(op, "wide")):
		return o.Bits & 0xffff, true
	case width == 8:
		return o.Bits & 0xff, true
	}
	return o.Bits & math.MaxUint32, true
}

// typeOf is the last type among the modifiers, "" none.
func typeOf(op ptx.Opcode) string {
	for i := len(op.Mods) - 1; i >= 0; i-- {
		if code.WidthOf(op.Mods[i]) > 0 {
			return op.Mods[i]
		}
	}
	return ""
}

func isFloat(t string) bool {
	return strings.HasPrefix(t, "f") || strings.HasPrefix(t, "bf") || t == "tf32"
}

func hasMod(op ptx.Opcode, mod string) bool {
	for _, m := range op.Mods {
		if m == mod {
			return true
		}
	}
	return false
}

// copyRegister appends a copy between registers of one bank.
func (b *binder) copyRegister(d, a code.Register) {
	f := copy32
	switch d.Bank {
	case lane.R64:
		f = copy64
	case lane.P:
		f = copyP
	}
	b.emit(code.Inst{Kind: code.KindLane, Lane: f, Ops: lane.Operands{D: d.Index, A: a.Index}, Outs: []code.Register{d}, Ins: []code.Register{a}})
}

func copy32(r *lane.Regs, o *lane.Operands) { r.R32[o.D] = r.R32[o.A] }
func copy64(r *lane.Regs, o *lane.Operands) { r.R64[o.D] = r.R64[o.A] }
func copyP(r *lane.Regs, o *lane.Operands)  { r.P[o.D] = r.P[o.A] }
func notP(r *lane.Regs, o *lane.Operands)   { r.P[o.D] = ^r.P[o.A] }
