package simt

// observer is told what the warps of a block pass. at is an index into the kernel's code. Of a conditional branch, taken are the
// lanes that take it; of other instructions those whose guard holds. after is called of watched instructions other than control
// flow, when their results are in the registers.
type observer interface {
	before(b *block, w *warp, at int32, active, taken uint32)
	after(b *block, w *warp, at int32, active, taken uint32)
}

// watching is somebody who observes a launch. Blocks run on several workers at once: open and close are called from any of
// them, but the calls for one block, and those of its observer, never overlap.
type watching interface {
	wants(at int32) bool                 // asked once for each instruction of the code, before the launch
	open(b *block) observer              // the block begins
	close(b *block, seen observer) error // it has ended
	finish() error                       // all have
}

// reporting is somebody who observes and has something to say when the result of the launch is known.
type reporting interface {
	ended(r *launch, result *Result) error
}
