package compile

import (
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// access is what the modifiers of a memory instruction say.
type access struct {
	space  ptx.Space
	count  int
	kind   string // its type
	order  memory.Order
	policy bool // a cache policy follows the operands
	op     string
	near   bool // the scope is the block
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
			a.near = false
		case "cta":
			a.near = true
		case "weak", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified", "noftz":
		case "L2::cache_hint":
			a.policy = true
		case "add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas":
			if a.op != "" || in.Op.Name != "atom" && in.Op.Name != "red" {
				return a, b.unknown(in, "the simulator does not support the modifier .%s", mod)
			}
			a.op = mod
		default:
			if strings.HasPrefix(mod, "L1::") || strings.HasPrefix(mod, "L2::") {
				continue
			}
			if i != len(in.Op.Mods)-1 || code.WidthOf(mod) < 8 {
				return a, b.unknown(in, "the simulator does not support the modifier .%s", mod)
			}
			a.kind = mod
		}
	}
	if a.kind == "" || code.WidthOf(a.kind) > 64 {
		return a, b.unknown(in, "needs a type of 8 to 64 bits")
	}
	return a, nil
}

// transfer fills the address and the place of a transfer.
func (b *binder) transfer(f *bound, in *ptx.Inst, o *ptx.Operand, space ptx.Space) (*memory.Transfer, []code.Register, error) {
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
		return t, []code.Register{code.R64(at)}, nil
	case o.Reg >= 0:
		s, err := b.register(f, in, o)
		if err != nil {
			return nil, nil, err
		}
		if s.Bank == lane.P || s.Bank == lane.R32 && (space == ptx.Global || space == ptx.Generic || space == ptx.Const) {
			return nil, nil, b.unknown(in, "the address needs a register of 64 bits")
		}
		t.Address, t.Narrow, t.Legal = s.Index, s.Bank == lane.R32, f.legalOf(o.Reg)
		return t, []code.Register{s}, nil
	}
	t.Absolute = true
	return t, nil, nil
}

var noRegisters = [8]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// memoryWidth sets the size of the elements.
func memoryWidth(t *memory.Transfer, a *access) {
	t.Elem, t.Count, t.Order, t.Block = code.WidthOf(a.kind)/8, a.count, a.order, a.near
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
	b.confine(f, &in.Operands[1], t)
	out := code.Inst{Kind: code.KindLoad, Mem: t, Ins: ins}
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
		out.Outs = append(out.Outs, s)
		t.Regs[i] = s.Index
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
		b.k.Ordered = true
	}
}

// elementRegister is the register of one element of a transfer. All have one width, at least that of the element.
func (b *binder) elementRegister(f *bound, in *ptx.Inst, o *ptx.Operand, t *memory.Transfer, i int) (code.Register, error) {
	if o.Kind != ptx.IsRegister || o.Not || o.Neg {
		return code.Register{}, b.unknown(in, "element %d is not a register", i)
	}
	s, err := b.register(f, in, o)
	if err != nil {
		return s, err
	}
	name := in.Op.Name
	wide := t.Elem < 8 && (name == "ld" || name == "ldu" || name == "st") && b.isWider(f, o, lane.R32, typeOf(in.Op))
	if s.Bank == lane.P || (t.Elem == 8) != (s.Bank == lane.R64) && !wide || registerWidth(f, o) < 8*t.Elem || t.Wide && !wide {
		return s, b.unknown(in, "register %s does not fit %d bytes", code.RegisterName(f.f, o.Reg), t.Elem)
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
	b.confine(f, &in.Operands[0], t)
	list := elements(&in.Operands[1])
	if len(list) != t.Count {
		return b.unknown(in, "stores %d elements from %d registers", t.Count, len(list))
	}
	out := code.Inst{Kind: code.KindStore, Mem: t, Ins: ins}
	for i, o := range list {
		s, err := b.storedRegister(f, in, o, t, i)
		if err != nil {
			return err
		}
		t.Regs[i] = s.Index
		out.Ins = append(out.Ins, s)
	}
	b.noteOrder(&a, t)
	b.emit(out)
	return nil
}

// storedRegister is the register of an element that is stored: constants have registers too.
func (b *binder) storedRegister(f *bound, in *ptx.Inst, o *ptx.Operand, t *memory.Transfer, i int) (code.Register, error) {
	if o.Kind == ptx.IsRegister {
		return b.elementRegister(f, in, o, t, i)
	}
	bank := lane.R32
	if t.Elem == 8 || t.Wide {
		bank = lane.R64
	}
	at, err := b.input(f, in, o, bank, i)
	return code.Register{Bank: bank, Index: at}, err
}
