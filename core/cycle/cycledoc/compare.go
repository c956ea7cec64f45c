package cycledoc

import "github.com/prlx-go/prlx/core/verdict"

// CompareDocument is prlx.cycles-compare/1: what changed from run a to run b. Positive changes are longer times in b. Times are ns.
type CompareDocument struct {
	Schema       string          `json:"schema"`
	Status       string          `json:"status"`  // "same" | "changed" | "unmatched": no class of a is one of b | "inconclusive": nothing changed as far as can be told, and that is not far enough
	Verdict      string          `json:"verdict"` // one or two sentences: the change of the step and what costs most
	Conclusion   verdict.Verdict `json:"conclusion"`
	Gate         *Gate           `json:"gate,omitempty"` // how the runs stand against what the comparison should fail on; absent where nothing was named
	A            Side            `json:"a"`
	B            Side            `json:"b"`
	Pairs        []ClassPair     `json:"pairs"`  // steps first, then by the time in a
	OnlyA        []ClassBrief    `json:"only_a"` // without counterpart
	OnlyB        []ClassBrief    `json:"only_b"`
	Regressions  []Cost          `json:"regressions"`  // what costs time, the most expensive per step first
	Improvements []Cost          `json:"improvements"` // what saves time, greatest first
	Account      Account         `json:"account"`      // where the time of a mean step went
	Options      CompareSettings `json:"options"`
	Warnings     []string        `json:"warnings"`

	Skipped []Unreadable `json:"skipped,omitempty"` // traces that cannot be read and were left out
}

// The values of CompareDocument.Status.
const (
	CompareSame      = "same"
	CompareChanged   = "changed"
	CompareUnmatched = "unmatched"
	CompareOpen      = "inconclusive"
)

// Side is one run of a comparison.
type Side struct {
	Input        Input   `json:"input"`
	Status       string  `json:"status"` // as Document.Status
	Verdict      string  `json:"verdict"`
	Confidence   float64 `json:"confidence"`
	TimeCoverage float64 `json:"time_coverage"` // as Document.TimeCoverage
	Steps        int64   `json:"steps"`
	StepNS       float64 `json:"step_ns"` // mean wall time of all steps
}

// ClassBrief names a class of one side.
type ClassBrief struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Level  string  `json:"level"` // name of the level
	Phase  string  `json:"phase"`
	Period int     `json:"period"`
	Count  int64   `json:"count"`
	WallNS float64 `json:"wall_ns"` // mean
}

// ClassPair is a class of a and the class of b that it became.
type ClassPair struct {
	A          ClassBrief `json:"a"`
	B          ClassBrief `json:"b"`
	Level      string     `json:"level"`
	Similarity float64    `json:"similarity"` // share of common kernels, by loose signature
	Rotation   int        `json:"rotation"`   // b's kernels start here where a's start at 0
	PerStepA   float64    `json:"per_step_a"` // repetitions a step
	PerStepB   float64    `json:"per_step_b"`
	Wall       Delta      `json:"wall"`
	Gap        Delta      `json:"gap"`
	Busy       Delta      `json:"busy"`
	Identical  bool       `json:"identical"` // the same kernels in the same order
	Kinds      RowKinds   `json:"kinds"`
	Rows       []PairRow  `json:"rows"`    // in order of a
	Note       string     `json:"note"`    // why there are no rows, ""
	Limit      *float64   `json:"limit"`   // the smallest change of wall that most runs like these would have told from chance, as a share; null: none
	Account    Account    `json:"account"` // where the time of a repetition went
}

// Gate says how a comparison stands against its gates: what it is to fail on.
type Gate struct {
	verdict.Verdict              // failed: one is crossed | inconclusive: none is, and the evidence is not enough | passed
	Gates           []GateResult `json:"gates"` // as they were given
}

// GateResult is one gate.
type GateResult struct {
	Gate    string          `json:"gate"` // as it was given
	Outcome verdict.Outcome `json:"outcome"`
	Why     string          `json:"why"`
	Looked  int             `json:"looked"` // what it looked at: pairs of classes, or rows of kernels
	Limit   *float64        `json:"limit"`  // the smallest change that would have been seen in each of them, as a share; null: unknown, or none is asked for
	Crossed []Crossing      `json:"crossed"`
}

// Crossing is what crosses a gate.
type Crossing struct {
	What     string  `json:"what"`  // a class, or kernels and how they changed
	Class    string  `json:"class"` // the class in a that it belongs to
	ANS      float64 `json:"a_ns"`  // mean
	BNS      float64 `json:"b_ns"`
	Relative float64 `json:"relative"` // 0 where a has nothing like it
	StepNS   float64 `json:"step_ns"`  // what it costs a step
	P        float64 `json:"p"`        // 1 where nothing is tested
}

// Account says where the difference of two mean times went. All are whole nanoseconds, and the parts add up to delta_ns exactly. The times are those
// of repetitions that something follows at once, up to the start of that: behind the last one of a run nobody knows the pause.
type Account struct {
	Of      string        `json:"of"` // what the times are of: the name of a level, "" where nothing is paired
	ANS     int64         `json:"a_ns"`
	BNS     int64         `json:"b_ns"`
	DeltaNS int64         `json:"delta_ns"`
	Parts   []AccountPart `json:"parts"` // in the order of the constants; those without rows and time are left out
}

// AccountPart is one part of a difference.
type AccountPart struct {
	Part    string `json:"part"`
	Text    string `json:"text"` // the same in words
	DeltaNS int64  `json:"delta_ns"`
	Rows    int    `json:"rows"` // of the pairs, 0 for what is not a kernel
}

// The parts of an account.
const (
	PartChanged       = "changed"       // kernels that became slower or faster by more than chance, or were fused, split or replaced
	PartAdded         = "added"         // kernels of b alone
	PartRemoved       = "removed"       // kernels of a alone
	PartIdle          = "idle"          // time in which no kernel runs
	PartOverlap       = "overlap"       // kernels that run at the same time count once
	PartInsignificant = "insignificant" // kernels without significant change
	PartUntested      = "untested"      // kernels with too few repetitions to tell a change from chance
	PartUnaligned     = "unaligned"     // kernels of classes too long to be aligned
	PartMix           = "mix"           // other shares of the kinds of steps, and kinds that one run has alone
)

// Parts are the parts of an account in their order, with what people call them.
var Parts = []struct{ Part, Text string }{
	{PartChanged, "changed kernels"},
	{PartAdded, "added kernels"},
	{PartRemoved, "removed kernels"},
	{PartIdle, "idle"},
	{PartOverlap, "overlap of kernels"},
	{PartInsignificant, "not significant"},
	{PartUntested, "too few repetitions to tell"},
	{PartUnaligned, "kernels that are not aligned"},
	{PartMix, "other kinds of steps"},
}

// RowKinds counts rows by kind.
type RowKinds struct {
	Exact    int `json:"exact"`
	Similar  int `json:"similar"`
	Fused    int `json:"fused"`
	Split    int `json:"split"`
	Replaced int `json:"replaced"`
	Removed  int `json:"removed"`
	Added    int `json:"added"`
}

// Delta is one time of both runs.
type Delta struct {
	ANS      float64 `json:"a_ns"` // mean
	BNS      float64 `json:"b_ns"`
	DeltaNS  float64 `json:"delta_ns"`
	Relative float64 `json:"relative"` // delta / a; 0 where a is 0
	P        float64 `json:"p"`        // two-sided, before correction, of the test that by names, else of the ranks; 1 when not tested
	Verdict  string  `json:"verdict"`  // "slower" | "faster" | "no significant change" | "within the baselines" | "not enough repetitions" | ""
	By       string  `json:"by"`       // what tells it from chance: "ranks" | "tails": more of the repetitions take far longer than usual | "means" | "": nothing
	ALate    int     `json:"a_late"`   // tested repetitions that take far longer than is usual in both runs
	BLate    int     `json:"b_late"`
}

// PairRow is kernels of a and the kernels of b in their place.
type PairRow struct {
	Kind   string    `json:"kind"` // exact | similar | fused | split | replaced | removed | added
	A      []RowSlot `json:"a"`
	B      []RowSlot `json:"b"`
	Change Delta     `json:"change"`  // of the sum of the kernels
	StepNS float64   `json:"step_ns"` // what it costs a step
	// The same times in whole nanoseconds, of the repetitions that the account of the pair is of, and the part of it that the row is in.
	ANS     int64  `json:"a_ns"`
	BNS     int64  `json:"b_ns"`
	DeltaNS int64  `json:"delta_ns"`
	Part    string `json:"part"`
}

// RowSlot is one kernel of a row.
type RowSlot struct {
	Slot     int     `json:"slot"`
	Name     string  `json:"name"`
	MeanNS   float64 `json:"mean_ns"`
	MinNS    int64   `json:"min_ns"`
	MaxNS    int64   `json:"max_ns"`
	StdDevNS float64 `json:"stddev_ns"`
	Module   string  `json:"module,omitempty"`
	Operator string  `json:"operator,omitempty"`
}

// Cost is one row, or the gap of a class, that costs or saves time.
type Cost struct {
	Pair     int     `json:"pair"` // index into pairs
	Row      int     `json:"row"`  // index into its rows, -1 for the gap between kernels
	Of       int     `json:"of"`   // index into pairs: step_ns is a part of that one's account
	Level    string  `json:"level"`
	Class    string  `json:"class"`            // name in a
	What     string  `json:"what"`             // in words: kernel, kind of change
	Module   string  `json:"module,omitempty"` // what the kernel belongs to, where that was asked for and the traces say it
	StepNS   float64 `json:"step_ns"`          // a repetition of what it is of: a step, as a rule
	Relative float64 `json:"relative"`
	P        float64 `json:"p"`
}

// CompareSettings are the options of a comparison as they were used.
type CompareSettings struct {
	Alpha       float64 `json:"alpha"`       // chance of a false change in one class
	MinChange   float64 `json:"min_change"`  // smallest change worth a word, as a share
	Similarity  float64 `json:"similarity"`  // least share of common kernels of two classes that are paired
	Baselines   int     `json:"baselines"`   // runs that should be equal to a
	Repetitions int     `json:"repetitions"` // most repetitions of a class that are tested, spread over the run
}
