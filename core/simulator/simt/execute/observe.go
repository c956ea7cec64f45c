package execute

import "context"

// Observer is somebody who observes a launch. Blocks run on several workers at once: Open and Close are called from any of
// them, but the calls for one block, and those of its observer, never overlap.
type Observer interface {
	Wants(at int32) bool                                           // asked once for each instruction of the code, before the launch
	Open(b *Block) BlockObserver                                   // the block begins
	Close(ctx context.Context, b *Block, seen BlockObserver) error // it has ended
	Finish(r *Running, result *Result) error                       // all have
}

// BlockObserver is told what the warps of a block pass. at is an index into the kernel's code. Of a conditional branch, taken are the
// lanes that take it; of other instructions those whose guard holds. After is called of watched instructions other than control
// flow, when their results are in the registers.
type BlockObserver interface {
	Before(b *Block, w *Warp, at int32, active, taken uint32)
	After(b *Block, w *Warp, at int32, active, taken uint32)
}
