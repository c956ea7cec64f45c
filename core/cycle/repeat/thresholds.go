package repeat

// What decides in this room, in one table: every threshold with what it decides. Percentages are compared in integers, so that the same symbols give
// the same levels on every machine.

// What is reported. Anything less may be chance.
const (
	enoughPercent = 10 // a class is reported when its repetitions are this percentage of the input
	enoughSymbols = 48 // or when it once repeats side by side over so many symbols
	onlyPercent   = 50 // one symbol said many times over is a cycle when it is more than this percentage of the input: there is little else then
	sideBySide    = 2  // repetitions in a row, above which they count as side by side
)

// How far repetitions may differ. EditPercent of the options is the rule; short words may have a few more edits.
const (
	standardPercent = 5 // Options.EditPercent, where it is 0
	fewEdits        = 3 // edits that a word may have although they are more than the percentage
	fewPart         = 4 // which are at most one symbol in so many
)

// What is a run.
const (
	workPerToken = 24  // steps spent on stretches that turned out not to repeat: more, and the search gives up on the rest
	mostAlike    = 0.8 // chance that two tokens are equal, as it is reckoned at most: no run would be long enough otherwise
	chancePower  = 7   // runs are so long that fewer than one in e to this power sequences, about a thousand, has one by chance
	leastTokens  = 4   // tokens of the shortest sequence that is looked at
	leastMatch   = 4   // tokens that must equal those one period before, in any sequence
	wholePeriods = 3   // above single symbols a run is enough when it has so many periods
	wholePercent = 80  // and is this percentage of the sequence
)

// Which token cuts a sequence into steps that come in no fixed order.
const (
	maxCuts       = 16      // candidates that are tried
	maxChoices    = 2       // times that both ways are followed
	minSegment    = 8       // symbols of the shortest piece: shorter ones recur by chance
	maxSegments   = 64      // kinds of steps: with more, the token cuts at random
	sampleTokens  = 1 << 17 // tokens in the middle of a long sequence, by which candidates are turned down
	samplePieces  = 64      // pieces that a sample must have, to judge by it
	samplePercent = 30      // of a sample that pieces that recur must hold
	cutPercent    = 60      // of the sequence that pieces that recur must hold
	mainPieces    = 3       // pieces for each kind that recurs: with fewer, most kinds are seen too seldom
	leftPart      = 200     // nothing is cut when runs leave over no more than one symbol in so many, of single symbols
	orderPercent  = 60      // kinds come in a fixed order when runs explain this percentage of the order
	besidePercent = 50      // pieces are steps of a loop when this percentage of the symbols stands beside others of its kind
	kindBits      = 64      // what a name for each kind costs, in bits of the description, and is worth where all pieces stand beside their like
	wordsOfKinds  = 4       // different words of runs for each kind that there may be, which are asked for candidates
	rareShare     = 500     // a kind that is rarer than one piece in so many is an edited other one
	rareTimes     = 16      // a kind is a piece of another, or that one edited, when the other comes so many times as often
)

// How a level is put together of runs, edited repetitions and what stands between.
const (
	maxRounds      = 8       // times that the sequence is collapsed: small repetitions inside a layer take rounds of their own
	structural     = 16      // a stretch that stands in 1/N of the places where it could stand is too frequent to be an edit
	twinPercent    = 50      // nor is one that stands at distances of which this percentage comes more than once
	leastTwins     = 3       // places of a stretch that have distances to compare
	leastHead      = 4       // tokens of the shortest word of single symbols that is looked for outside of runs
	reach          = 2       // periods to either side, within which runs of one class go on from each other
	clearly        = 3       // times the weight of the first rotation that another one needs
	weightBorders  = 1 << 20 // borders that are looked at for weights, of all rotations together
	leastBorders   = 4       // and of each at least
	innerEdits     = 6       // edits of an outer repetition that one inside of it may take, although they are more than the percentage
	innerPart      = 2       // which are at most one symbol in so many of it
	maxTimes       = 16      // repetitions of a class that are aligned at once
	maxEdits       = 400     // edits of one alignment: its steps grow with their square
	alignPerSymbol = 64      // steps of the aligner on one level, for each symbol
	commonTimes    = 2       // times as often as another word of nearly the same symbols, above which that one is this one with edits
)

// few is how many edits a word may have whatever the percentage says.
func few(period int) int { return min(fewEdits, period/fewPart) }

// allowed is how many edits a word may have.
func allowed(period, percent int) int { return max(few(period), period*max(0, percent)/100) }
