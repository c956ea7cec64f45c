package execute

import (
	"fmt"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// allocate gives each lane a piece of its stack, which nobody has written. Those whose stack has not so much left end the block: what a
// GPU does then is undefined.
func (b *Block) allocate(w *Warp, in *code.Inst, at int32, lanes uint32) {
	used, base, align := &w.Regs.R64[b.kernel.StackUsed], uint64(b.kernel.Local)-b.kernel.Stack, uint64(in.Detail)
	var over uint32
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		size := w.value(in.Ins[0], l)
		from := (base + used[l] + align - 1) &^ (align - 1)
		if begin := from - base; begin > b.kernel.Stack || size > b.kernel.Stack-begin {
			over |= 1 << l
			continue
		}
		b.mem.ForgetLocal(w.Index, 1<<l, from, size)
		used[l] = from - base + size
		if d := in.Outs[0]; d.Bank == lane.R64 {
			w.Regs.R64[d.Index][l] = from
		} else {
			w.Regs.R32[d.Index][l] = uint32(from)
		}
	}
	if over != 0 {
		l := first(over)
		b.report(checkStack, w, at, over, fmt.Sprintf("the stack of a thread has %d bytes: %d are in use and %d more are needed, aligned to %d",
			b.kernel.Stack, used[l], w.value(in.Ins[0], l), align))
		b.ended = true
	}
}

// restoreStack makes the stack of each lane what it was. What was allocated since then nobody has written any more.
func (b *Block) restoreStack(w *Warp, in *code.Inst, at int32, lanes uint32) {
	used, base := &w.Regs.R64[b.kernel.StackUsed], uint64(b.kernel.Local)-b.kernel.Stack
	var over uint32
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		to := w.value(in.Ins[0], l)
		if to > used[l] {
			over |= 1 << l
			continue
		}
		b.mem.ForgetLocal(w.Index, 1<<l, base+to, used[l]-to)
		used[l] = to
	}
	if over != 0 {
		l := first(over)
		b.report(checkStack, w, at, over, fmt.Sprintf("the stack is set to 0x%x, which no stacksave has said: %d bytes of it are in use",
			w.value(in.Ins[0], l), used[l]))
		b.ended = true
	}
}

// value is what a lane holds in a register.
func (w *Warp) value(r code.Register, l int) uint64 {
	if r.Bank == lane.R64 {
		return w.Regs.R64[r.Index][l]
	}
	return uint64(w.Regs.R32[r.Index][l])
}
