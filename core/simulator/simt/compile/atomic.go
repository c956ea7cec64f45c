package compile

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// atomics by name.
var atomics = map[string]memory.AtomicKind{
	"add": memory.Add, "min": memory.Min, "max": memory.Max, "and": memory.And, "or": memory.Or, "xor": memory.Xor,
	"inc": memory.Inc, "dec": memory.Dec, "exch": memory.Exch, "cas": memory.CAS,
}

// atomicTypes are the types of atomics by name.
var atomicTypes = map[string]ptx.Type{
	"u32": ptx.U32, "s32": ptx.S32, "b32": ptx.B32, "u64": ptx.U64, "s64": ptx.S64, "b64": ptx.B64, "b16": ptx.B16,
	"f16": ptx.F16, "f16x2": ptx.F16x2, "bf16": ptx.BF16, "bf16x2": ptx.BF16x2, "f32": ptx.F32, "f64": ptx.F64,
}

// emitAtomic appends atom and red.
func (b *binder) emitAtomic(f *bound, in *ptx.Inst) error {
	a, err := b.accessOf(in)
	if err != nil {
		return err
	}
	kind, known := atomics[a.op]
	t0, typed := atomicTypes[a.kind]
	if !known || !typed || !b.k.Target.HasAtomic(kind, t0) || a.space == ptx.Local || a.space == ptx.Const || a.space == ptx.Param || a.count != 1 {
		return b.unknown(in, "an atomic that the simulator does not support")
	}
	operands := in.Operands
	result := (*ptx.Operand)(nil)
	if in.Op.Name == "atom" && len(operands) > 0 {
		result, operands = &operands[0], operands[1:]
	}
	want := 2
	if kind == memory.CAS {
		want = 3
	}
	if len(operands) != want && (len(operands) != want+1 || !a.policy) {
		return b.unknown(in, "has %d operands", len(in.Operands))
	}
	t, ins, err := b.transfer(f, in, &operands[0], a.space)
	if err != nil {
		return err
	}
	memoryWidth(t, &a)
	b.confine(f, &operands[0], t)
	if t.Order == memory.Weak {
		t.Order = memory.Relaxed
	}
	out := code.Inst{Kind: code.KindAtomic, Mem: t, Ins: ins, Atomic: memory.AtomicOp{Kind: kind, Type: t0}}
	for i, to := range []*[8]int32{&t.Data, &t.New}[:want-1] {
		s, err := b.storedRegister(f, in, &operands[1+i], t, i)
		if err != nil {
			return err
		}
		to[0] = s.Index
		out.Ins = append(out.Ins, s)
	}
	if result != nil && result.Kind != ptx.Sink {
		s, err := b.elementRegister(f, in, result, t, 0)
		if err != nil {
			return err
		}
		t.Regs[0] = s.Index
		out.Outs = []code.Register{s}
	}
	if t.Space != ptx.Shared {
		b.k.Ordered = true
	}
	if kind == memory.CAS {
		f.notePart(&operands[0], t)
	}
	if isSumOfFloats(out.Atomic) {
		b.noteApproximation(in.Op.Full, orderOfAdditions)
	}
	b.emit(out)
	return nil
}
