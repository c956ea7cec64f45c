package execute

import (
	"fmt"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// maxCalls bounds how deeply functions are nested that call themselves or are called through pointers.
const maxCalls = 256

// callPointers sends lanes into the functions that their pointers lead to. They come together again behind the call.
func (b *Block) callPointers(w *Warp, in *code.Inst, at int32, taken uint32) {
	pointers := w.Regs.R64[in.Ops.A]
	for left := taken; left != 0 && !b.ended; {
		lanes, address := uint32(0), pointers[first(left)]
		for m := left; m != 0; m &= m - 1 {
			if l := first(m); pointers[l] == address {
				lanes |= 1 << l
			}
		}
		left &^= lanes
		function := b.functionAt(address)
		if function < 0 || in.Detail == code.NoFunction {
			b.report(checkCall, w, at, lanes, fmt.Sprintf("a call through 0x%x, where no function is that the module calls through pointers%s", address, withThese(in)))
			b.ended = true
			return
		}
		w.runWith(lanes)
		b.callDynamic(w, at, lanes, function)
	}
}

// withThese says of a call that no function of the module takes its arguments.
func withThese(in *code.Inst) string {
	if in.Detail == code.NoFunction {
		return " with these arguments"
	}
	return ""
}

// functionAt is the number of the function with an address, -1 none.
func (b *Block) functionAt(address uint64) int32 {
	if address < ptx.FunctionAddress(0) {
		return -1
	}
	for i := range b.kernel.Frames {
		if f := &b.kernel.Frames[i]; f.Dynamic && f.Address == address {
			return int32(i)
		}
	}
	return -1
}

// runWith makes the path run that some lanes are in.
func (w *Warp) runWith(lanes uint32) {
	for i := range w.paths {
		if w.paths[i].lanes&lanes != 0 {
			w.run = i
			return
		}
	}
}

// callDynamic sends lanes of the path that runs into a function whose registers an outer call may need again.
func (b *Block) callDynamic(w *Warp, at int32, taken uint32, function int32) {
	p := w.take()
	f := &b.kernel.Frames[function]
	if message := b.stackFault(w, f, depthOf(p.frame), taken); message != "" {
		w.paths = append(w.paths, p)
		w.run = len(w.paths) - 1
		b.report(checkStack, w, at, taken, message)
		b.ended = true
		return
	}
	back := b.code[at+1].Order
	if others := p.lanes &^ taken; others != 0 {
		rest := p
		rest.pc, rest.order, rest.lanes = at+1, back, others
		w.place(rest)
	}
	p.frame = w.frameOf(p.frame, at+1, back, function)
	if p.frame.isInner() {
		w.putAway(p.frame, f.Own, taken)
	}
	p.pc, p.order, p.lanes, p.ending = f.Entry, b.code[f.Entry].Order, taken, 0
	w.place(p)
}

// stackFault says what is wrong with one more call, "" nothing.
func (b *Block) stackFault(w *Warp, f *code.Frame, depth int32, lanes uint32) string {
	if depth >= maxCalls {
		return fmt.Sprintf("calls are nested more than %d deep", maxCalls)
	}
	if f.Bytes == 0 {
		return ""
	}
	for m := lanes; m != 0; m &= m - 1 {
		if used := w.Regs.R64[b.kernel.StackUsed][first(m)]; used+(f.Bytes+15)&^15 > b.kernel.Stack {
			return fmt.Sprintf("the local memory of nested calls has more than %d bytes: %d are in use and %d more are needed", b.kernel.Stack, used, f.Bytes)
		}
	}
	return ""
}

// isInner reports whether the function of a call has been called around it, too.
func (f *frame) isInner() bool {
	for g := f.parent; g != nil; g = g.parent {
		if g.function == f.function {
			return true
		}
	}
	return false
}

// putAway keeps what lanes hold in the registers of a function that begins again in them.
func (w *Warp) putAway(f *frame, own []code.Register, lanes uint32) {
	if f.outer == nil {
		f.outer = w.save(own)
		return
	}
	for i := range f.outer { // others have come here by the same call
		s := &f.outer[i]
		s.take(w.save([]code.Register{s.r})[0], lanes)
	}
}

// take replaces what some lanes had.
func (s *saved) take(from saved, lanes uint32) {
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		s.r32[l], s.r64[l] = from.r32[l], from.r64[l]
	}
	s.p = s.p&^lanes | from.p&lanes
}

// restore gives lanes that leave a call what the outer call of its function had.
func (w *Warp) restore(f *frame, lanes uint32) {
	for i := range f.outer {
		w.blend(f.outer[i].r, &f.outer[i], lanes)
	}
}
