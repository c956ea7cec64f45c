package finding

// What decides in this room, in one table: every threshold with what it decides. Shares are of 1, percentages are compared in integers.

// Which streams are searched, and by which keys.
const (
	worthPercent   = 5    // a stream beside the busiest is searched when it has this share of the kernels of its device
	mergeGain      = 0.05 // streams are merged when that explains this share of the kernels more than each stream alone does
	busiestPercent = 50   // streams are not merged when the busiest one explains this share of its own kernels: it repeats alone
	looseBelow     = 50   // loose keys are tried when strict ones explain less than this percentage
	looseGain      = 0.2  // loose keys are taken when they explain this share of the kernels more than strict ones
	looseDistinct  = 4    // and when every class that they find has so many different kernels, for they make much equal
)

// Which marks define steps.
const (
	markCover       = 0.5     // marks that hold less than this share of the kernels of their sequence leave too much outside of all steps
	rangeCover      = 0.6     // ranges of the user need this share, for they need not be steps
	graphCover      = 0.8     // graph launches need this share, for a step may have some and kernels beside them
	rangeKernels    = 8       // a range of the user with fewer kernels marks an operation, not a step
	graphKernels    = 100     // a graph with fewer kernels (the median launch) is a piece of a step
	parallelPercent = 20      // marks that overlap by more of the shorter one are not one after the other
	tailPercent     = 50      // steps take the kernels behind them when this share of the steps has the same ones there
	maxRanges       = 100_000 // more ranges of the user than that are too many to be steps
)

// How steps that marks define become classes.
const (
	maxGroups    = 64     // classes of steps of one track: what is still alone then stays without a class
	maxTries     = 20_000 // comparisons of one track, each of which costs the length of a step
	smallEdits   = 3      // edits that a step may have although they are more than the percentage of the options
	smallPercent = 25     // they must not be more than this share of its kernels
)

// Which level is the one of steps, where no mark says so.
const (
	leastLayer      = 5   // kernels of the shortest layer: what is shorter is a block
	leastPeriod     = 4   // kernels of the shortest step: a shorter one could not be told from noise
	stepPeriod      = 100 // kernels from which on a repetition is a step: layers are shorter
	layerPercent    = 40  // a class consists of others when this share of it lies in their repetitions
	optimizerShare  = 50  // kernels of an optimizer in percent, below which a repetition that has some is a step and not the optimizer alone
	madePercent     = 80  // steps without a pause must cover this share of what their layers cover
	betweenPart     = 2   // a step of another kind is at least one in so many of the shortest step long
	leastBetween    = 2   // times that a stretch of layers between steps recurs, to be a step of another kind
	launchedPercent = 80  // a class is launched as a graph when this share of its repetitions is a launch of its own
	outerFactor     = 1.5 // a level is one of microbatches when the pause in front of what is around it is so many times as long
)

// Which of the classes that order alone gives stay beside steps that marks define.
const (
	uncutPercent     = 80             // a class stays when this share of its repetitions lies in one step
	innerPercent     = 80             // and when it is shorter than this percentage of a step: a longer one is the step itself
	loopPercent      = 150            // a class that is cut, and longer than this percentage of a step, is a loop of steps
	microbatchPeriod = stepPeriod / 2 // kernels from which on the outermost class inside of a marked training step is a microbatch
)

// A server whose attention serves every phase may run the same kernels, by name, for a prompt and for single tokens. The order of kernels cannot tell
// these apart; their work can. A class of a trace that serves is taken apart where its repetitions are of two clearly different sizes.
const (
	splitBlocks  = 2.2 // times as many thread blocks, of kernels that have one per row
	splitTime    = 1.7 // times as long, in the sum of kernel times, where the trace does not say thread blocks
	splitOne     = 4.0 // times as long for one repetition among others, which may be odd for another reason
	splitGraph   = 1.3 // times as long where one kind is launched by graphs and the other is not
	slotRatio    = 1.2 // a kernel of the greater size takes so many times as long
	slotShare    = 0.6 // as many kernels do: when a few take longer, it is not the size that differs
	minSized     = 5   // kernels of the shortest class that is taken apart
	saidPercent  = 50  // thread blocks count when more than this share of the kernels with one per row says them
	graphPercent = 50  // a repetition is launched by graphs when more than this share of its kernels is
)
