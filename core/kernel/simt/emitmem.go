package simt

import (
	"strings"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
)

// access is what the modifiers of a memory instruction say.
type access struct {
	space  ptx.Space
	count  int
	kind   string // its type
	order  memory.Order
	policy bool // a cache policy follows the operands
	op     string
	wide   bool // scope beyond the block
}

// accessOf reads the modifiers of ld, st, atom and red. What only speaks to caches is ignored; what is unknown is refused.
func (b *binder) accessOf(in *ptx.Inst) (access, error) {
	a := access{count: 1}
	for i, mod := range in.Op.Mods {
		switch mod {
		case "global":
			a.space = ptx.Global
		case "shared", "shared::cta":
			a.space = ptx.Shared
		case "local":
			a.space = ptx.Local
		case "const":
			a.space = ptx.Const
		case "param", "param::entry", "param::func":
			a.space = ptx.Param
		case "v2":
			a.count = 2
		case "v4":
			a.count = 4
		case "v8":
			a.count = 8
		case "volatile", "relaxed", "mmio":
			a.order = memory.Relaxed
		case "acquire":
			a.order = memory.Acquire
		case "release":
			a.order = memory.Release
		case "acq_rel":
			a.order = memory.AcqRel
		case "gpu", "sys":
			a.wide = true
		case "weak", "cta", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified", "noftz":
		case "L2::cache_hint":
			a.policy = true
		case "add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas":
			if a.op != "" || in.Op.Name != "atom" && in.Op.Name != "red" {
				return a, b.unknown(in, "modifier .%s is not one of the machine", mod)
			}
			a.op = mod
		default:
			if strings.HasPrefix(mod, "L1::") || strings.HasPrefix(mod, "L2::") {
				continue
			}
			if i != len(in.Op.Mods)-1 || widthOf(mod) < 8 {
				return a, b.unknown(in, "modifier .%s is not one of the machine", mod)
			}
			a.kind = mod
		}
	}
	if a.kind == "" || widthOf(a.kind) > 64 {
		return a, b.unknown(in, "needs a type of 8 to 64 bits")
	}
	return a, nil
}

// transfer fills the address and the place of a transfer.
func (b *binder) transfer(f *bound, in *ptx.Inst, o *ptx.Operand, space ptx.Space) (*memory.Transfer, []slot, error) {
	t := &memory.Transfer{Space: space, Count: 1, Inst: b.origin, Regs: noRegisters, Data: noRegisters, New: noRegisters}
	if o.Kind != ptx.Address {
		return nil, nil, b.unknown(in, "needs an address in brackets")
	}
	t.Offset = o.Offset
	switch {
	case o.Symbol != "":
		p, ok := b.lookup(f, o.Symbol)
		if !ok {
			return nil, nil, b.unknown(in, "symbol %s is not declared", o.Symbol)
		}
		if space == ptx.Generic && (p.space == ptx.Shared || p.space == ptx.Local) {
			t.Space = p.space
		}
		if p.space != t.Space && (p.space != ptx.Const || t.Space != ptx.Generic) && (p.space != ptx.Global || t.Space != ptx.Generic) {
			return nil, nil, b.unknown(in, "%s is in another space", o.Symbol)
		}
		at, err := b.address(f, in, o.Symbol, 0, lane.R64)
		if err != nil {
			return nil, nil, err
		}
		t.Address = at
		return t, []slot{inR64(at)}, nil
	case o.Reg >= 0:
		s, err := b.register(f, in, o)
		if err != nil {
			return nil, nil, err
		}
		if s.bank == lane.P || s.bank == lane.R32 && (space == ptx.Global || space == ptx.Generic || space == ptx.Const) {
			return nil, nil, b.unknown(in, "the address needs a register of 64 bits")
		}
		t.Address, t.Narrow, t.Legal = s.index, s.bank == lane.R32, f.legalOf(o.Reg)
		return t, []slot{s}, nil
	}
	t.Absolute = true
	return t, nil, nil
}

var noRegisters = [8]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// memoryWidth sets the size of the elements.
func memoryWidth(t *memory.Transfer, a *access) {
	t.Elem, t.Count, t.Order = widthOf(a.kind)/8, a.count, a.order
}

// emitLoad appends a load. Parameters are registers; the rest is memory.
func (b *binder) emitLoad(f *bound, in *ptx.Inst) error {
	a, err := b.accessOf(in)
	if err != nil {
		return err
	}
	if len(in.Operands) != 2 && (len(in.Operands) != 3 || !a.policy) {
		return b.unknown(in, "has %d operands", len(in.Operands))
	}
	if a.space == ptx.Param {
		return b.emitLoadParam(f, in, &a)
	}
	t, ins, err := b.transfer(f, in, &in.Operands[1], a.space)
	if err != nil {
		return err
	}
	memoryWidth(t, &a)
	out := inst{kind: kindLoad, mem: t, ins: ins}
	list := elements(&in.Operands[0])
	if len(list) != t.Count {
		return b.unknown(in, "loads %d elements into %d registers", t.Count, len(list))
	}
	for i, o := range list {
		if o.Kind == ptx.Sink {
			continue
		}
		s, err := b.elementRegister(f, in, o, t, i)
		if err != nil {
			return err
		}
		out.outs = append(out.outs, s)
		t.Regs[i] = s.index
		t.Signed = a.kind[0] == 's'
		t.Half = registerWidth(f, o) == 16
	}
	b.noteOrder(&a, t)
	f.notePart(&in.Operands[1], t)
	b.emit(out)
	return nil
}

// noteOrder notices accesses through which blocks may wait for each other.
func (b *binder) noteOrder(a *access, t *memory.Transfer) {
	if a.order != memory.Weak && t.Space != ptx.Shared && t.Space != ptx.Local {
		b.k.ordered = true
	}
}

// elementRegister is the register of one element of a transfer. All have one width, at least that of the element.
func (b *binder) elementRegister(f *bound, in *ptx.Inst, o *ptx.Operand, t *memory.Transfer, i int) (slot, error) {
	if o.Kind != ptx.IsRegister || o.Not || o.Neg {
		return slot{}, b.unknown(in, "element %d is not a register", i)
	}
	s, err := b.register(f, in, o)
	if err != nil {
		return s, err
	}
	name := in.Op.Name
	wide := t.Elem < 8 && (name == "ld" || name == "ldu" || name == "st") && b.isWider(f, o, lane.R32, typeOf(in.Op))
	if s.bank == lane.P || (t.Elem == 8) != (s.bank == lane.R64) && !wide || registerWidth(f, o) < 8*t.Elem || t.Wide && !wide {
		return s, b.unknown(in, "register %s does not fit %d bytes", registerName(f.f, o.Reg), t.Elem)
	}
	if wide {
		t.Wide = true
	}
	return s, nil
}

// registerWidth is the bits of a register.
func registerWidth(f *bound, o *ptx.Operand) int {
	switch f.f.Registers[o.Reg].Type {
	case ptx.B8, ptx.U8, ptx.S8:
		return 8
	case ptx.B16, ptx.U16, ptx.S16, ptx.F16, ptx.BF16:
		return 16
	case ptx.B64, ptx.U64, ptx.S64, ptx.F64:
		return 64
	case ptx.Pred:
		return 1
	}
	return 32
}

// emitStore appends a store.
func (b *binder) emitStore(f *bound, in *ptx.Inst) error {
	a, err := b.accessOf(in)
	if err != nil {
		return err
	}
	if len(in.Operands) != 2 && (len(in.Operands) != 3 || !a.policy) {
		return b.unknown(in, "has %d operands", len(in.Operands))
	}
	if a.space == ptx.Param {
		return b.emitStoreParam(f, in, &a)
	}
	if a.space == ptx.Const {
		return b.unknown(in, "constant memory cannot be written")
	}
	t, ins, err := b.transfer(f, in, &in.Operands[0], a.space)
	if err != nil {
		return err
	}
	memoryWidth(t, &a)
	list := elements(&in.Operands[1])
	if len(list) != t.Count {
		return b.unknown(in, "stores %d elements from %d registers", t.Count, len(list))
	}
	out := inst{kind: kindStore, mem: t, ins: ins}
	for i, o := range list {
		s, err := b.storedRegister(f, in, o, t, i)
		if err != nil {
			return err
		}
		t.Regs[i] = s.index
		out.ins = append(out.ins, s)
	}
	b.noteOrder(&a, t)
	b.emit(out)
	return nil
}

// storedRegister is the register of an element that is stored: constants have registers too.
func (b *binder) storedRegister(f *bound, in *ptx.Inst, o *ptx.Operand, t *memory.Transfer, i int) (slot, error) {
	if o.Kind == ptx.IsRegister {
		return b.elementRegister(f, in, o, t, i)
	}
	bank := lane.R32
	if t.Elem == 8 || t.Wide {
		bank = lane.R64
	}
	at, err := b.input(f, in, o, bank, i)
	return slot{bank, at}, err
}

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
	if !known || !typed || !b.k.target.HasAtomic(kind, t0) || a.space == ptx.Local || a.space == ptx.Const || a.space == ptx.Param || a.count != 1 {
		return b.unknown(in, "not an atomic of the machine")
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
	if t.Order == memory.Weak {
		t.Order = memory.Relaxed
	}
	out := inst{kind: kindAtomic, mem: t, ins: ins, atomic: memory.AtomicOp{Kind: kind, Type: t0}}
	for i, to := range []*[8]int32{&t.Data, &t.New}[:want-1] {
		s, err := b.storedRegister(f, in, &operands[1+i], t, i)
		if err != nil {
			return err
		}
		to[0] = s.index
		out.ins = append(out.ins, s)
	}
	if result != nil && result.Kind != ptx.Sink {
		s, err := b.elementRegister(f, in, result, t, 0)
		if err != nil {
			return err
		}
		t.Regs[0] = s.index
		out.outs = []slot{s}
	}
	if t.Space != ptx.Shared {
		b.k.ordered = true
	}
	if kind == memory.CAS {
		f.notePart(&operands[0], t)
	}
	b.emit(out)
	return nil
}

// emitCopy appends cp.async and what waits for it.
func (b *binder) emitCopy(f *bound, in *ptx.Inst) error {
	mods := strings.Join(in.Op.Mods, ".")
	switch mods {
	case "async.commit_group":
		b.emit(inst{kind: kindCommit})
		return nil
	case "async.wait_all":
		b.emit(inst{kind: kindWait, detail: -1})
		return nil
	case "async.wait_group":
		if len(in.Operands) != 1 || in.Operands[0].Kind != ptx.Immediate || in.Operands[0].Bits > 1<<20 {
			return b.unknown(in, "needs the number of groups that may be under way")
		}
		b.emit(inst{kind: kindWait, detail: int32(in.Operands[0].Bits)})
		return nil
	}
	policy := false
	for _, mod := range in.Op.Mods {
		switch {
		case mod == "async", mod == "ca", mod == "cg", mod == "shared", mod == "shared::cta", mod == "global":
		case mod == "L2::cache_hint":
			policy = true
		case strings.HasPrefix(mod, "L2::"):
		default:
			return b.unknown(in, "not a copy of the machine")
		}
	}
	operands := in.Operands
	if policy && len(operands) > 3 {
		operands = operands[:len(operands)-1]
	}
	if !hasMod(in.Op, "async") || len(operands) < 3 || len(operands) > 4 || operands[2].Kind != ptx.Immediate {
		return b.unknown(in, "not a copy of the machine")
	}
	bytes := operands[2].Bits
	if bytes != 16 && (bytes != 4 && bytes != 8 || hasMod(in.Op, "cg")) {
		return b.unknown(in, "copies %d bytes at once", bytes)
	}
	to, ins, err := b.transfer(f, in, &operands[0], ptx.Shared)
	if err != nil {
		return err
	}
	from, more, err := b.transfer(f, in, &operands[1], ptx.Global)
	if err != nil {
		return err
	}
	from.Elem, from.Count = 4, int(bytes)/4
	c := memory.Copy{To: *to, From: *from, Bytes: int(bytes), Size: -1}
	ins = append(ins, more...)
	if len(operands) == 4 {
		if s := &operands[3]; s.Kind == ptx.IsRegister && s.Reg >= 0 && f.registers[s.Reg].bank == lane.P {
			return b.unknown(in, "the predicate that ignores the source is not simulated")
		}
		at, err := b.input(f, in, &operands[3], lane.R32, 0)
		if err != nil {
			return err
		}
		c.Size = at
		ins = append(ins, inR32(at))
	}
	b.k.copies = append(b.k.copies, c)
	b.emit(inst{kind: kindCopyAsync, detail: int32(len(b.k.copies) - 1), ins: ins})
	return nil
}

// emitMatrix appends ldmatrix.
func (b *binder) emitMatrix(f *bound, in *ptx.Inst) error {
	count, trans := 0, false
	for _, mod := range in.Op.Mods {
		switch mod {
		case "sync", "aligned", "m8n8", "shared", "shared::cta", "b16":
		case "x1":
			count = 1
		case "x2":
			count = 2
		case "x4":
			count = 4
		case "trans":
			trans = true
		default:
			return b.unknown(in, "modifier .%s is not one of the machine", mod)
		}
	}
	if count == 0 || len(in.Operands) != 2 {
		return b.unknown(in, "not a matrix load of the machine")
	}
	t, ins, err := b.transfer(f, in, &in.Operands[1], ptx.Shared)
	if err != nil {
		return err
	}
	t.Elem, t.Count, t.Trans = 4, count, trans
	out := inst{kind: kindMatrix, mem: t, ins: ins}
	list := elements(&in.Operands[0])
	if len(list) != count {
		return b.unknown(in, "loads %d matrices into %d registers", count, len(list))
	}
	for i, o := range list {
		s, err := b.elementRegister(f, in, o, t, i)
		if err != nil {
			return err
		}
		if s.bank != lane.R32 {
			return b.unknown(in, "register %s does not fit", registerName(f.f, o.Reg))
		}
		t.Regs[i] = s.index
		out.outs = append(out.outs, s)
	}
	b.emit(out)
	return nil
}

// windows of the generic address space.
func window(space ptx.Space) uint64 {
	switch space {
	case ptx.Shared:
		return memory.SharedWindow
	case ptx.Local:
		return memory.LocalWindow
	}
	return 0
}

// spaceOf is the space that the modifiers name.
func spaceOf(op ptx.Opcode) (ptx.Space, bool) {
	for _, mod := range op.Mods {
		switch mod {
		case "global":
			return ptx.Global, true
		case "shared", "shared::cta":
			return ptx.Shared, true
		case "local":
			return ptx.Local, true
		case "const":
			return ptx.Const, true
		}
	}
	return 0, false
}

// emitConvertAddress appends cvta: generic addresses of shared and local memory are those of a window.
func (b *binder) emitConvertAddress(f *bound, in *ptx.Inst) error {
	space, ok := spaceOf(in.Op)
	if !ok || len(in.Operands) != 2 || typeOf(in.Op) != "u64" || b.k.target.IsLater(in.Op) {
		return b.unknown(in, "not a conversion of addresses of the machine")
	}
	d, err := b.output(f, in, &in.Operands[0], lane.R64)
	if err != nil {
		return err
	}
	a, err := b.input(f, in, &in.Operands[1], lane.R64, 0)
	if err != nil {
		return err
	}
	by := window(space)
	if hasMod(in.Op, "to") {
		by = -by
	}
	k := b.literal(lane.R64, by)
	b.emit(inst{
		kind: kindLane, lane: add64, ops: lane.Operands{D: d, A: a, B: k}, outs: []slot{inR64(d)}, ins: []slot{inR64(a), inR64(k)},
	})
	return nil
}

func add64(r *lane.Regs, o *lane.Operands) {
	d, x, y := &r.R64[o.D], &r.R64[o.A], &r.R64[o.B]
	for l := range d {
		d[l] = x[l] + y[l]
	}
}

// emitSpace appends isspacep.
func (b *binder) emitSpace(f *bound, in *ptx.Inst) error {
	space, ok := spaceOf(in.Op)
	if !ok || len(in.Operands) != 2 || b.k.target.IsLater(in.Op) {
		return b.unknown(in, "not a test of addresses of the machine")
	}
	d, err := b.output(f, in, &in.Operands[0], lane.P)
	if err != nil {
		return err
	}
	a, err := b.input(f, in, &in.Operands[1], lane.R64, 0)
	if err != nil {
		return err
	}
	test := isGlobal
	switch space {
	case ptx.Shared:
		test = isShared
	case ptx.Local:
		test = isLocal
	case ptx.Const:
		test = isNowhere
	}
	b.emit(inst{kind: kindLane, lane: test, ops: lane.Operands{D: d, A: a}, outs: []slot{inP(d)}, ins: []slot{inR64(a)}})
	return nil
}

func isShared(r *lane.Regs, o *lane.Operands) {
	inWindow(r, o, func(a uint64) bool { return a-memory.SharedWindow < memory.LocalWindow-memory.SharedWindow })
}

func isLocal(r *lane.Regs, o *lane.Operands) {
	inWindow(r, o, func(a uint64) bool { return a-memory.LocalWindow < memory.LocalWindow-memory.SharedWindow })
}

func isGlobal(r *lane.Regs, o *lane.Operands) {
	inWindow(r, o, func(a uint64) bool { return a-memory.SharedWindow >= 2*(memory.LocalWindow-memory.SharedWindow) })
}

func isNowhere(r *lane.Regs, o *lane.Operands) { r.P[o.D] = 0 }

func inWindow(r *lane.Regs, o *lane.Operands, in func(uint64) bool) {
	var set uint32
	for l, a := range r.R64[o.A] {
		if in(a) {
			set |= 1 << l
		}
	}
	r.P[o.D] = set
}
