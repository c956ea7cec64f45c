package naming

// What decides in this room, in one table: every threshold with what it decides. Package phase has its own.

// How sure it is that a class repeats and has these borders.
const (
	markedConfidence = 0.99 // what marks define is as sure as that, where all repetitions have the same kernels
	editedDoubt      = 0.5  // a repetition with edits counts for so much less than one without
	doubtLeft        = 0.5  // each repetition after the first leaves this share of the doubt that was there before
	enoughCounted    = 60   // repetitions after which no doubt is left that a float64 could hold
)

// What a class is called.
const (
	draftScore      = 0.75 // score of a draft, which is told by its place in front of each verification and by no kernel
	trainingPercent = 50   // a step with backward or optimizer kernels is a whole training step when it has this share of all kernels
	graphPercent    = 50   // a kernel is launched by graphs when it is in more than this share of the repetitions
)

// Which marks are asked.
const (
	maxAnnotations = 1000 // repetitions of a class whose marks are asked, spread over the run
	maxMarkTexts   = 8    // texts of marks that a class lists, the most frequent
	lookBack       = 16   // marks that start before an instant, of which those that hold it are around it
)
