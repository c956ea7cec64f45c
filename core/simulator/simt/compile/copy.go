package compile

import (
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// emitCopy appends cp.async and what waits for it.
func (b *binder) emitCopy(f *bound, in *ptx.Inst) error {
	mods := strings.Join(in.Op.Mods, ".")
	switch mods {
	case "async.commit_group":
		b.emit(code.Inst{Kind: code.KindCommit})
		return nil
	case "async.wait_all":
		b.emit(code.Inst{Kind: code.KindWait, Detail: -1})
		return nil
	case "async.wait_group":
		if len(in.Operands) != 1 || in.Operands[0].Kind != ptx.Immediate || in.Operands[0].Bits > 1<<20 {
			return b.unknown(in, "needs the number of groups that may be under way")
		}
		b.emit(code.Inst{Kind: code.KindWait, Detail: int32(in.Operands[0].Bits)})
		return nil
	}
	if hasMod(in.Op, "mbarrier") && !hasMod(in.Op, "bulk") {
		return b.emitCopyArrival(f, in)
	}
	operands, err := b.copyOperands(in)
	if err != nil {
		return err
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
		at, err := b.copySize(f, in, &operands[3], bytes)
		if err != nil {
			return err
		}
		c.Size = at
		ins = append(ins, code.R32(at))
	}
	b.k.Copies = append(b.k.Copies, c)
	b.emit(code.Inst{Kind: code.KindCopyAsync, Detail: int32(len(b.k.Copies) - 1), Ins: ins})
	return nil
}

// copySize is the register with how many bytes are read: the operand, or all and none by a predicate that says whether the source is ignored.
func (b *binder) copySize(f *bound, in *ptx.Inst, o *ptx.Operand, bytes uint64) (int32, error) {
	if o.Kind != ptx.IsRegister || o.Reg < 0 || f.registers[o.Reg].Bank != lane.P {
		return b.input(f, in, o, lane.R32, 0)
	}
	p, err := b.input(f, in, o, lane.P, 0)
	if err != nil {
		return 0, err
	}
	d := b.newRegister(lane.R32)
	none, all := b.literal(lane.R32, 0), b.literal(lane.R32, bytes)
	b.emitHidden(code.Inst{
		Kind: code.KindLane, Lane: chooseWord, Ops: lane.Operands{D: d, A: none, B: all, C: p}, Outs: []code.Register{code.R32(d)}, Ins: []code.Register{code.P(p)},
	})
	return d, nil
}

func chooseWord(r *lane.Regs, o *lane.Operands) {
	d, yes, no, p := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], r.P[o.C]
	for l := range d {
		if d[l] = no[l]; p>>l&1 != 0 {
			d[l] = yes[l]
		}
	}
}

// copyOperands are those of cp.async: where to, where from, how many bytes, and if it says so how many of them are read.
func (b *binder) copyOperands(in *ptx.Inst) ([]ptx.Operand, error) {
	policy := false
	for _, mod := range in.Op.Mods {
		switch {
		case mod == "async", mod == "ca", mod == "cg", mod == "shared", mod == "shared::cta", mod == "global":
		case mod == "L2::cache_hint":
			policy = true
		case strings.HasPrefix(mod, "L2::"):
		default:
			return nil, b.unknown(in, "a copy that the simulator does not support")
		}
	}
	operands := in.Operands
	if policy && len(operands) > 3 {
		operands = operands[:len(operands)-1]
	}
	if !hasMod(in.Op, "async") || len(operands) < 3 || len(operands) > 4 || operands[2].Kind != ptx.Immediate {
		return nil, b.unknown(in, "a copy that the simulator does not support")
	}
	return operands, nil
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
			return b.unknown(in, "the simulator does not support the modifier .%s", mod)
		}
	}
	if count == 0 || len(in.Operands) != 2 {
		return b.unknown(in, "a matrix load that the simulator does not support")
	}
	t, ins, err := b.transfer(f, in, &in.Operands[1], ptx.Shared)
	if err != nil {
		return err
	}
	t.Elem, t.Count, t.Trans = 4, count, trans
	out := code.Inst{Kind: code.KindMatrix, Meet: code.MeetWarp, Mem: t, Ins: ins}
	list := elements(&in.Operands[0])
	if len(list) != count {
		return b.unknown(in, "loads %d matrices into %d registers", count, len(list))
	}
	for i, o := range list {
		s, err := b.elementRegister(f, in, o, t, i)
		if err != nil {
			return err
		}
		if s.Bank != lane.R32 {
			return b.unknown(in, "register %s does not fit", code.RegisterName(f.f, o.Reg))
		}
		t.Regs[i] = s.Index
		out.Outs = append(out.Outs, s)
	}
	b.emit(out)
	return nil
}
