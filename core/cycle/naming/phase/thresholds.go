package phase

// What decides in this room, in one table: every weight, threshold and score with what it is of.

// How sure kernels make that only one phase has, where nothing is weighed.
const (
	trainingScore = 0.95 // kernels of an optimizer and of a backward pass: a training step
	wholeScore    = 0.9  // kernels of either in a step that holds most of the run
	partScore     = 0.8  // kernels of either in a part of a step
	forwardScore  = 0.8  // attention that training and prefill share, in a trace that trains
	verifyScore   = 0.85 // kernels that accept or reject drafted tokens
	bothScore     = 0.9  // kernels that attend for prompts and single tokens at once
	besideScore   = 0.85 // attention of single tokens beside that of prompts, in about every layer
	twiceScore    = 0.7  // split-KV and paged attention as often as each other
	bothPercent   = 75   // both kinds of attention stand in about every layer when the rarer one stands in this share of them
)

// Prefill and decode are told apart by odds: each piece of evidence that a class gives, by itself or beside the others of its level, adds the
// logarithm of how much likelier it is in a prefill than in a decode step. The weights are set by hand from what servers do; calibrated makes a
// score of their sum that was counted on recordings made for it.
const (
	telling    = 3.0  // attention that only one of the phases runs
	leaning    = 0.9  // attention that prompts take as a rule
	unlike     = 2.0  // attention that prompts take, where another class of the level has that of single tokens
	hardly     = 0.2  // attention of a library that has one family for both
	splitting  = -0.7 // attention over pieces of a cache: decode as a rule, prompts where the cache is paged
	combining  = -1.4 // pieces put together: one token does not fill the device otherwise
	shared     = 0.2  // what is left of a kernel's weight where classes that differ clearly all have it
	sharedBoth = 0.5  // the same of a telling kernel, where they differ much
	single     = -2.5 // matrix times vector
	smallTiles = -0.6 // matrix products of at most smallTile rows a tile, and the reverse for at least greatTile
	captured   = -1.7 // a graph that holds attention: servers capture decode
	alone      = -0.8 // more of the same, where others of the level are not captured; and the reverse for those
	alike      = -2.2 // as many rows as sequences
	manyRows   = 0.8  // many times as many rows as sequences
	greater    = 1.1  // clearly more work, or time a layer, than another class of the same kernels
	earliest   = 0.5  // begins the recording, or comes later than another class
	lasting    = -0.6 // comes in long runs where others come in short ones, and the reverse
)

// What counts as clear.
const (
	smallTile       = 32            // rows of the tile of a matrix product, up to which it is small: libraries choose it for few rows
	greatTile       = 128           // rows of a tile, from which on it is great
	workRatio       = 4.0           // times as many thread blocks of the same kernels, or rows
	timeRatio       = 2.5           // times as long a layer
	someTime        = 1.6           // times as long a layer: some, and what both classes have tells half as much
	muchWork        = 2 * workRatio // times as many thread blocks, where the time is clearly longer as well: much
	muchTime        = 4.0           // times as long a layer: much, whatever the thread blocks say
	runRatio        = 2.0           // times as many repetitions in a row
	leastRun        = 3.0           // repetitions of the shortest run that is long
	oneToken        = 1             // tokens per step and request, up to which a step decodes, as its marks say
	manyTokens      = 16            // tokens per step and request, from which on it does not
	leastPass       = 10            // kernels of the shortest pass of a model whose attention has no known name
	evenRows        = 200.0         // rows that prefill and decode have equally often
	rowWeight       = 1.1           // what a step of e times as many rows is worth
	mostRows        = 3.2           // what rows are worth at most
	alikeRatio      = 2             // rows a sequence, up to which there are about as many of both
	manyRatio       = 32            // rows a sequence, from which on they are many
	closeOdds       = 0.25          // odds below which no phase is named
	sameNames       = 0.3           // share of names that classes of one model have in common
	partRatio       = 2             // times as many layers, above which a class is a part of a pass beside another, or several passes
	leastRatios     = 3             // kernels with thread blocks that two classes must have in common before their work is compared
	maxReasons      = 4             // pieces of evidence that a reason gives, the weightiest
	leastReading    = 0.1           // score of a reading that is worth a word
	graphShare      = 0.5           // share of the kernels that graphs launch, above which a class is captured
	capturedPercent = 50            // and its attention is captured when more than this share of its kernels is
	layerPercent    = 50            // a kernel of a family that also stands at the end of a step attends when there is one in this share of the layers
	tokenTimes      = 2             // times that a kernel that chooses tokens stands in a step at most: what stands there more often is of a layer
)

// How likely a step of prompts has single tokens of other requests among them.
const (
	mixedAfter   = 0.40 // its attention serves all requests, and decode steps stand in front of it
	mixedFirst   = 0.25 // the same without such steps
	mixedForward = 0.20 // its attention is that of prompts as a rule
	mixedCached  = 0.40 // it attends to the prompt and to a cache, which may be that of the prompt or of other requests
	mixedCounted = 0.80 // it chooses tokens for as many sequences as a decode step, or more
	mixedFew     = 0.10 // it chooses tokens for clearly fewer
	mixedMore    = 2    // times the rows of a decode step, from which on a step has a prompt in it
	mixedLeast   = 4    // sequences, from which on as many as in a decode step are no chance
	mixedFewer   = 2    // times as many sequences in a decode step, from which on a step has clearly fewer
)
