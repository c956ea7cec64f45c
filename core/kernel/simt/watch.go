package simt

import "context"

// observer is somebody who observes a launch. Blocks run on several workers at once: open and close are called from any of
// them, but the calls for one block, and those of its observer, never overlap.
type observer interface {
	wants(at int32) bool                                           // asked once for each instruction of the code, before the launch
	open(b *block) blockObserver                                   // the block begins
	close(ctx context.Context, b *block, seen blockObserver) error // it has ended
	finish(r *launch, result *Result) error                        // all have
}

// blockObserver is told what the warps of a block pass. at is an index into the kernel's code. Of a conditional branch, taken are the
// lanes that take it; of other instructions those whose guard holds. after is called of watched instructions other than control
// flow, when their results are in the registers.
type blockObserver interface {
	before(b *block, w *warp, at int32, active, taken uint32)
	after(b *block, w *warp, at int32, active, taken uint32)
}
