package execute

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// heapShare is how many bytes the heap takes for each that malloc gives: its own, and whether it was written.
const heapShare = 2

// resizeHeap gives the heap the size that the launch asks for, if it asks.
func (r *Running) resizeHeap() error {
	bytes := r.options.Heap
	if bytes == 0 {
		return nil
	}
	if limit := uint64(r.job.Budget().Limit()); limit > 0 && bytes > limit/heapShare {
		return fault.New(fault.Limit, "kernel %s: a heap of %d bytes takes %d times as many, and the memory limit is %d bytes", r.Kernel.Name, bytes, heapShare, limit).
			WithHint("ask for a smaller heap, or raise the memory limit")
	}
	if !r.Variables.heap.Resize(bytes) {
		return fault.Usagef("kernel %s: the heap of its module has another size than %d bytes, and malloc was called", r.Kernel.Name, bytes).
			WithHint("say the size from the first launch of the module on")
	}
	return nil
}

// malloc gives each lane memory of the heap, in ascending order; a null pointer where there is not so much left.
func (b *Block) malloc(w *Warp, in *code.Inst, at int32, lanes uint32) {
	c := &b.kernel.Calls[in.Detail]
	heap, name := &b.Running.Variables.heap, "memory that malloc gave"+b.placeText(at)
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		size, align := w.word64(c.Params[0], l), uint64(1)
		if len(c.Params) > 1 {
			align = w.word64(c.Params[1], l)
		}
		address := uint64(0)
		if align != 0 && align&(align-1) == 0 {
			address = heap.Allocate(size, align, name)
		}
		if address == 0 { // somebody may free some
			w.paths[w.run].polls = true
		} else {
			b.changed()
		}
		w.Regs.R32[c.Result.First][l], w.Regs.R32[c.Result.First+1][l] = uint32(address), uint32(address>>32)
	}
}

// free takes back what malloc gave. A null pointer is nothing to free.
func (b *Block) free(w *Warp, in *code.Inst, at int32, lanes uint32) {
	c := &b.kernel.Calls[in.Detail]
	b.changed()
	by := "free" + b.placeText(at)
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		address := w.word64(c.Params[0], l)
		if address == 0 {
			continue
		}
		if wrong := b.Running.Variables.heap.Free(address, by); wrong != "" {
			b.report(checkFree, w, at, 1<<l, fmt.Sprintf("free of 0x%x, which is %s", address, wrong))
		}
	}
}

// placeText is where an instruction stands in the source, with the kernel.
func (b *Block) placeText(at int32) string {
	if where := b.kernel.Where(at); len(where) > 0 && where[0].Line > 0 {
		return fmt.Sprintf(" at %s:%d", where[0].File, where[0].Line)
	}
	return " in " + b.kernel.Name
}
