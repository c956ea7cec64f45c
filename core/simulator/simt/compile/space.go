package compile

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// window is where the generic addresses of a space begin.
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
	if !ok || len(in.Operands) != 2 || typeOf(in.Op) != "u64" || b.k.Target.IsLater(in.Op) {
		return b.unknown(in, "a conversion of addresses that the simulator does not support")
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
	b.emit(code.Inst{
		Kind: code.KindLane, Lane: add64, Ops: lane.Operands{D: d, A: a, B: k}, Outs: []code.Register{code.R64(d)}, Ins: []code.Register{code.R64(a), code.R64(k)},
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
	if hasMod(in.Op, "param") { // no generic address leads there: cvta.param is refused
		space, ok = ptx.Param, true
	}
	if !ok || len(in.Operands) != 2 || b.k.Target.IsLater(in.Op) {
		return b.unknown(in, "a test of addresses that the simulator does not support")
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
	case ptx.Const, ptx.Param:
		test = isNowhere
	}
	b.emit(code.Inst{Kind: code.KindLane, Lane: test, Ops: lane.Operands{D: d, A: a}, Outs: []code.Register{code.P(d)}, Ins: []code.Register{code.R64(a)}})
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
