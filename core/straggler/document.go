package straggler

import "github.com/prlx-go/prlx/core/verdict"

// Schema is the schema of Document.
const Schema = "prlx.stragglers/1"

// The values of Document.Status.
const (
	StatusBlamed       = "blamed"       // a rank or a link cost more than chance explains
	StatusNobody       = "nobody"       // operations were looked at, and none did
	StatusInconclusive = "inconclusive" // nothing could be looked at, or the clocks are not known well enough
)

// Document is prlx.stragglers/1: who was late, and what it cost.
type Document struct {
	Schema     string          `json:"schema"`
	Status     string          `json:"status"`
	Verdict    string          `json:"verdict"`    // in a sentence
	Conclusion verdict.Verdict `json:"conclusion"` // passed: nobody was late; failed: somebody was
	FromNS     int64           `json:"from_ns"`    // of the first operation, on the clock of the reference
	ToNS       int64           `json:"to_ns"`      // the end of the last
	LengthNS   int64           `json:"length_ns"`  // of which shares are parts: from the one to the other, or the steps that were asked for
	Clocks     string          `json:"clocks"`     // what relates the clocks of ranks
	Operations Operations      `json:"operations"`
	Time       Parts           `json:"time"`     // of all ranks in all operations
	Ranks      []RankCost      `json:"ranks"`    // most expensive first
	Links      []LinkCost      `json:"links"`    // that were slow, most expensive first
	Steps      []StepCost      `json:"steps"`    // by time
	StepsBy    string          `json:"steps_by"` // what steps are: one of the constants that begin with StepsBy
	Groups     []GroupCost     `json:"groups"`
	Bandwidths []Bandwidth     `json:"bandwidths"` // of operations whose size is known, those that took most time first
	Unblamed   Unblamed        `json:"unblamed"`   // what was lost beyond noise, and is nobody's fault as far as is known
	Unsure     string          `json:"unsure"`     // a rank that took longer than the others again and again, while clocks do not say whether that cost anything; "" none
	GainNS     int64           `json:"gain_ns"`    // by how much shorter the job would have been, replayed with all ranks that are blamed as fast as the median
	Map        Map             `json:"map"`        // ranks x steps
	Pictures   []Picture       `json:"pictures"`   // the most expensive steps, operation by operation
	Worst      []Late          `json:"worst"`      // the most expensive single latenesses
	Notes      []string        `json:"notes"`
	Warnings   []string        `json:"warnings"`
}

// The values of Document.StepsBy.
const (
	StepsByCycles  = "cycles"  // the kernels of the ranks repeat, as prlx cycles finds it
	StepsByTrace   = "trace"   // the trace numbers its steps
	StepsByRepeats = "repeats" // the operations of the rank that has most of them repeat
	stepsByNothing = "nothing" // nothing repeats: all is one step
)

// Operations counts those that were looked at. Late, Together, ProfilerStart and Undecided add up to Count.
type Operations struct {
	Count         int `json:"count"`
	Told          int `json:"told"`           // of which it is known who entered last
	Late          int `json:"late"`           // a rank entered later than the middle one of the others, for certain
	Together      int `json:"together"`       // nobody can have entered later than that by more than together_share of the time since the operation before
	ProfilerStart int `json:"profiler_start"` // the one that entered last had not been recorded doing anything before
	Undecided     int `json:"undecided"`      // none of these: the clocks are not known well enough, or who waits for whom is not

	TogetherShare float64 `json:"together_share"` // what counts as together, a part of the time since the operation before
	TogetherNS    int64   `json:"together_ns"`    // the most that anybody can have been late by in an operation that is called together
}

// RankCost is what a rank cost the others, and what it waited for them.
type RankCost struct {
	ID         string  `json:"id"`
	Host       string  `json:"host"`
	Device     string  `json:"device"` // as "GPU 3"; "" where the trace does not say it
	Blamed     bool    `json:"blamed"`
	CostNS     int64   `json:"cost_ns"`        // the part of its late arrival that its own slower work explains, where nobody else was waited for
	GainNS     int64   `json:"gain_ns"`        // by how much earlier operations would have begun that waited for it, were it as fast as usual
	ReplayNS   *int64  `json:"replay_gain_ns"` // by how much shorter the whole job would have been, replayed with this rank as fast as the median; null: it cost too little
	Share      float64 `json:"share"`          // of the job that the cost is
	OwnNS      int64   `json:"own_ns"`         // by how much longer than usual it took by its own clock, beyond the middle rank, where no other took longer: what the cost may be where clocks leave more open
	Steps      int     `json:"steps"`          // in which it was the most expensive
	Operations int     `json:"operations"`
	Last       int     `json:"last"` // of these it entered last, and that is certain
	Late       int     `json:"late"` // in these it entered later than the middle one of the others, and that is certain
	Time       Parts   `json:"time"`
	Causes     []Cause `json:"causes"` // what took longer than usual, most expensive first

	Stability Stability `json:"stability"`
	Window    *Window   `json:"window"` // when it cost most; null: it cost nothing
}

// Stability says whether a rank is late always, or when.
type Stability struct {
	Steps        int     `json:"steps"`          // in which it cost something
	Share        float64 `json:"share"`          // of all steps that these are
	First        string  `json:"first"`          // the first of them, "" none
	Last         string  `json:"last"`           // and the last
	FirstHalfNS  int64   `json:"first_half_ns"`  // its cost per step in the first half of the steps
	SecondHalfNS int64   `json:"second_half_ns"` // and in the second
}

// Cause is something that a rank did and that took longer than usual.
type Cause struct {
	Name   string `json:"name"` // "" where what it did is not known
	Kind   string `json:"kind"` // one of the constants that begin with Did; "" where what it did is not known
	CostNS int64  `json:"cost_ns"`
}

// The values of Cause.Kind.
const (
	DidKernel     = "kernel"
	DidCollective = "collective" // another operation of several ranks
	DidCopy       = "copy"       // a copy or a fill of memory
	DidData       = "data loading"
	DidGarbage    = "garbage collection"
	DidHost       = "host" // a call of the host, while the device had nothing to do
	didNothing    = "gap"  // neither device nor host is known to have done anything
	DidPart       = "part" // a part of a step, of a trace without kernels
)

// LinkCost is what operations between two ranks, or of a communicator, took longer than usual when all were there.
type LinkCost struct {
	Ranks    []string `json:"ranks"`    // of a pair; empty for a communicator
	Directed bool     `json:"directed"` // what the first sent to the second; else whatever they exchanged
	Group    string   `json:"group"`
	Blamed   bool     `json:"blamed"`
	CostNS   int64    `json:"cost_ns"`
	Share    float64  `json:"share"`
	Times    int      `json:"times"`
	Window   *Window  `json:"window"` // when it cost most
}

// StepCost is a step, and who was the most expensive in it.
type StepCost struct {
	Name     string `json:"name"`
	FromNS   int64  `json:"from_ns"`
	ToNS     int64  `json:"to_ns"`
	Critical string `json:"critical"` // "" nobody
	CostNS   int64  `json:"cost_ns"`
	Cause    string `json:"cause"`
	Kind     string `json:"kind"` // of the cause
	Time     Parts  `json:"time"`
}

// GroupCost is the time of a communicator's operations.
type GroupCost struct {
	Group      string `json:"group"`
	Operations int    `json:"operations"`
	Told       int    `json:"told"`
	Time       Parts  `json:"time"`
}

// Late is one lateness.
type Late struct {
	Rank       string `json:"rank"` // "" where a link was slow
	Operation  string `json:"operation"`
	Occurrence int    `json:"occurrence"`
	Step       string `json:"step"`
	AtNS       int64  `json:"at_ns"` // when it entered, or left
	CostNS     int64  `json:"cost_ns"`
	BoundNS    int64  `json:"bound_ns"`  // how far off its lead over the next to last can be
	LaunchNS   *int64 `json:"launch_ns"` // how long before it entered its host had launched it; null unknown
	Cause      string `json:"cause"`
	Kind       string `json:"kind"` // of the cause
}

// Bandwidth is how fast operations of one kind, size and communicator moved data. Rates are bytes per second, as nccl-tests defines them: the
// algorithm's is size over time, the bus's what each link carried, were the operation the best there is. Both are told of the transfer alone, when all were
// there, and of the whole time, in which ranks waited for each other as well.
type Bandwidth struct {
	Group      string   `json:"group"`
	Operation  string   `json:"operation"`
	Kind       string   `json:"kind"`  // all-reduce, ...
	Ranks      int      `json:"ranks"` // members of the communicator
	Pair       []string `json:"pair"`  // of a send and its receive: the two ranks; else empty
	Bytes      int64    `json:"bytes"` // size, as nccl-tests counts it
	Operations int      `json:"operations"`

	TransferNS        int64 `json:"transfer_ns"`           // the median, from when all were there until the last one left
	DurationNS        int64 `json:"duration_ns"`           // the median, of the one that was longest in the operation
	AlgorithmRate     int64 `json:"algorithm_bytes_per_s"` // of the transfer
	BusRate           int64 `json:"bus_bytes_per_s"`
	WholeAlgorithm    int64 `json:"whole_algorithm_bytes_per_s"` // of the whole duration
	WholeBus          int64 `json:"whole_bus_bytes_per_s"`
	SlowestTransferNS int64 `json:"slowest_transfer_ns"`
	BoundNS           int64 `json:"bound_ns"` // how far off the transfer can be, in the median
}

// MapCells is the most cells that Map has: 1,024 ranks have 64 columns, 64 ranks 1,024.
const MapCells = 1 << 16

// Map is what each rank cost in each step. Its rows are those of Document.Ranks. Where steps are too many for MapCells a column stands for several.
type Map struct {
	Columns []MapColumn `json:"columns"`
	CostNS  [][]int64   `json:"cost_ns"` // by rank and column, as RankCost.CostNS
	GainNS  [][]int64   `json:"gain_ns"` // likewise, as RankCost.GainNS
	LateNS  [][]int64   `json:"late_ns"` // by how much later than the middle one of the others it entered for certain, at most
}

// MapColumn is one step, or several in a row.
type MapColumn struct {
	From   string `json:"from"` // name of the step
	To     string `json:"to"`   // name of the last one that it stands for
	Steps  int    `json:"steps"`
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
}

// What Document.Pictures hold at most.
const (
	PictureSteps  = 4
	PictureRanks  = 64   // in each
	PictureEvents = 2048 // likewise
)

// Picture is a step in which lateness cost much, of the ranks that cost most in it.
type Picture struct {
	Step         string       `json:"step"`
	FromNS       int64        `json:"from_ns"`
	ToNS         int64        `json:"to_ns"`
	Operations   []string     `json:"operations"`
	Rows         []PictureRow `json:"rows"`
	Chain        []PictureHop `json:"chain"`          // the critical path of the step, in time
	RanksLeftOut int          `json:"ranks_left_out"` // that are more than fit
	SpansLeftOut int          `json:"spans_left_out"` // likewise, of the ranks that are there: the last ones
}

// PictureRow is what one rank did in that step.
type PictureRow struct {
	Rank   string        `json:"rank"`
	CostNS int64         `json:"cost_ns"` // what it cost in the step
	Spans  []PictureSpan `json:"spans"`
}

// PictureHop is a piece of the chain: a rank did something by itself, entered an operation last, and then nobody had to wait until one left it.
type PictureHop struct {
	Operation string `json:"operation"`
	Rank      string `json:"rank"`       // that entered it last
	BeganNS   int64  `json:"began_ns"`   // when that had left what it did before
	EnteredNS int64  `json:"entered_ns"` // when it entered
	LeftBy    string `json:"left_by"`    // the rank of which the chain goes on
	LeftNS    int64  `json:"left_ns"`    // when that left
	CostNS    int64  `json:"cost_ns"`    // what the lateness of the one that entered cost
	Cause     string `json:"cause"`      // what took it longer than usual, "" nothing
}

// PictureSpan is a rank's part in one operation: it waits until all are there.
type PictureSpan struct {
	Operation int    `json:"operation"` // place in Picture.Operations
	EnterNS   int64  `json:"enter_ns"`
	ReadyNS   int64  `json:"ready_ns"` // when the last one entered that it waited for
	LeaveNS   int64  `json:"leave_ns"`
	For       string `json:"for"`     // the rank that it waited for, "" nobody
	CostNS    int64  `json:"cost_ns"` // what its own lateness cost
	Cause     string `json:"cause"`   // what took this rank longer than usual before, "" nothing
}
