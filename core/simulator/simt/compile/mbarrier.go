package compile

import (
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// mbarrierKinds are the instructions on mbarrier objects by name, with how many operands they have at least and at most.
var mbarrierKinds = map[string]struct {
	kind        memory.MbarrierKind
	least, most int
}{
	"init": {memory.MbarrierInit, 2, 2}, "inval": {memory.MbarrierInvalidate, 1, 1}, "arrive": {memory.MbarrierArrive, 1, 3},
	"arrive_drop": {memory.MbarrierDrop, 1, 3}, "test_wait": {memory.MbarrierTest, 3, 3},
}

// emitMbarrier appends the instructions on mbarrier objects, which are 8 bytes of shared memory.
func (b *binder) emitMbarrier(f *bound, in *ptx.Inst) error {
	name, op, rest, err := b.mbarrierOf(in)
	if err != nil {
		return err
	}
	if name == "pending_count" {
		return b.emitPendingCount(f, in)
	}
	operands, result := in.Operands, (*ptx.Operand)(nil)
	if in.Outputs > 0 || len(operands) > 0 && operands[0].Kind == ptx.Sink {
		result, operands = &operands[0], operands[1:]
	}
	k := mbarrierKinds[name]
	if n := len(in.Operands); n < k.least || n > k.most || len(operands) == 0 || rest {
		return b.unknown(in, "an mbarrier that the simulator does not support")
	}
	t, ins, err := b.transfer(f, in, &operands[0], ptx.Shared)
	if err != nil {
		return err
	}
	t.Elem, t.Legal = 8, 0
	out := code.Inst{Kind: code.KindMbarrier, Mem: t, Ins: ins, Detail: op.Number()}
	if len(operands) > 1 {
		bank := lane.R32
		if op.Kind == memory.MbarrierTest {
			bank = lane.R64
		}
		at, err := b.input(f, in, &operands[1], bank, 0)
		if err != nil {
			return err
		}
		t.Data[0] = at
		out.Ins = append(out.Ins, code.Register{Bank: bank, Index: at})
	} else if op.NoComplete {
		return b.unknown(in, "needs a count")
	}
	if result != nil {
		bank := lane.R64
		if name == "test_wait" {
			bank = lane.P
		}
		at, err := b.output(f, in, result, bank)
		if err != nil {
			return err
		}
		t.Regs[0] = at
		out.Outs = []code.Register{{Bank: bank, Index: at}}
	} else if name == "test_wait" {
		return b.unknown(in, "needs a predicate")
	}
	b.emit(out)
	return nil
}

// mbarrierOf reads the modifiers; others says that some are left that no sm_80 has.
func (b *binder) mbarrierOf(in *ptx.Inst) (name string, op memory.MbarrierOp, others bool, err error) {
	for _, mod := range in.Op.Mods {
		switch mod {
		case "init", "inval", "arrive", "arrive_drop", "test_wait", "pending_count":
			name = mod
			op.Kind = mbarrierKinds[mod].kind
		case "parity":
			op.Kind = memory.MbarrierParity
		case "noComplete":
			op.NoComplete = true
		case "shared", "shared::cta", "b64", "release", "acquire", "cta":
		default:
			others = true
		}
	}
	_, known := mbarrierKinds[name]
	if !known && name != "pending_count" || others || op.Kind == memory.MbarrierParity && name != "test_wait" {
		return "", op, true, b.unknown(in, "an mbarrier that the simulator does not support")
	}
	return name, op, false, nil
}

func (b *binder) emitPendingCount(f *bound, in *ptx.Inst) error {
	if len(in.Operands) != 2 {
		return b.unknown(in, "needs a state")
	}
	d, err := b.output(f, in, &in.Operands[0], lane.R32)
	if err != nil {
		return err
	}
	a, err := b.input(f, in, &in.Operands[1], lane.R64, 0)
	if err != nil {
		return err
	}
	b.emit(code.Inst{Kind: code.KindLane, Lane: pendingCount, Ops: lane.Operands{D: d, A: a}, Outs: []code.Register{code.R32(d)}, Ins: []code.Register{code.R64(a)}})
	return nil
}

func pendingCount(r *lane.Regs, o *lane.Operands) {
	for l, state := range &r.R64[o.A] {
		r.R32[o.D][l] = memory.Pending(state)
	}
}

// emitCopyArrival appends cp.async.mbarrier.arrive: the copies of the lane are there at once, and arrive.
func (b *binder) emitCopyArrival(f *bound, in *ptx.Inst) error {
	op := memory.MbarrierOp{Kind: memory.MbarrierCopied}
	switch strings.TrimPrefix(in.Op.Full, "cp.async.mbarrier.arrive") {
	case ".b64", ".shared.b64", ".shared::cta.b64":
	case ".noinc.b64", ".noinc.shared.b64", ".noinc.shared::cta.b64":
		op.Kind = memory.MbarrierArrive
	default:
		return b.unknown(in, "an mbarrier that the simulator does not support")
	}
	if len(in.Operands) != 1 {
		return b.unknown(in, "needs one address")
	}
	t, ins, err := b.transfer(f, in, &in.Operands[0], ptx.Shared)
	if err != nil {
		return err
	}
	t.Elem, t.Legal = 8, 0
	b.emitHidden(code.Inst{Kind: code.KindWait, Detail: -1})
	b.emit(code.Inst{Kind: code.KindMbarrier, Mem: t, Ins: ins, Detail: op.Number()})
	return nil
}
