// Package cycledoc is the documents of cycles: prlx.cycles/1 of one run, prlx.cycles-compare/1 of two. It holds types and the words in
// them, and computes nothing; reports are made of it alone.
package cycledoc

import "github.com/prlx-go/prlx/core/verdict"

// The schemas of the documents.
const (
	Schema        = "prlx.cycles/1"
	CompareSchema = "prlx.cycles-compare/1"
)

// The values of Document.Status.
const (
	StatusCycles = "cycles" // something repeats
	StatusNone   = "none"   // nothing repeats: an answer, not a failure
)

// The names of levels, from the inside out.
const (
	LevelBlock      = "block"      // repeats inside a layer
	LevelLayer      = "layer"      // repeats inside a step
	LevelMicrobatch = "microbatch" // repeats inside a step and has layers itself
	LevelStep       = "step"       // one pass of the model: a decode step, a training iteration
	LevelLoop       = "loop"       // several steps: a request, an epoch
	LevelCycle      = "cycle"      // a pattern of uplifter (Options.Compat), which has no levels
)

// Document is prlx.cycles/1. All instants (start_ns, end_ns, ...) are nanoseconds since zero_ns; all times are nanoseconds; all shares lie in
// 0..1; all ids of classes are 16 hexadecimal digits, because JSON readers round beyond 2^53. Lists are never null. Reports are made of it alone.
type Document struct {
	Schema  string `json:"schema"`
	Status  string `json:"status"`  // "cycles" | "none"
	Verdict string `json:"verdict"` // one or two sentences: what repeats, how often, how long; or that nothing does
	// Conclusion is passed where something repeats and explains most of the time, else inconclusive.
	Conclusion   verdict.Verdict `json:"conclusion"`
	Input        Input           `json:"input"`
	ZeroNS       int64           `json:"zero_ns"`       // start of the first kernel, ns since whatever the trace counts from (the Unix epoch, as a rule)
	Confidence   float64         `json:"confidence"`    // of the step level, else of the level that covers most, and no more than time_coverage; 0 without cycles
	Coverage     float64         `json:"coverage"`      // share of kernels, of streams that compute, that lie in a repetition of any level
	TimeCoverage float64         `json:"time_coverage"` // share of the time of the devices that the repetitions of that level take: the steps, where there are some
	Selected     string          `json:"selected"`      // id of the class that PhaseMode picks; "" without cycles
	Evidence     []Evidence      `json:"evidence"`      // what the trace says about its own steps, used or not
	Streams      []Stream        `json:"streams"`       // in order of rank, device, stream
	Levels       []Level         `json:"levels"`        // innermost first, at most 4
	Steps        []Step          `json:"steps"`         // in order of rank, device, time; their order is the sequence over classes
	StepsTotal   int64           `json:"steps_total"`   // steps, listed or not
	StepsOmitted int64           `json:"steps_omitted"` // not listed
	RankSteps    []RankStep      `json:"rank_steps"`    // steps that several ranks made together, in order; empty with one rank
	RankTotals   []RankTotal     `json:"rank_totals"`   // per rank: how often it was the slowest; empty with one rank
	Edits        EditBudget      `json:"edits"`
	Losses       Losses          `json:"losses"`
	Options      Settings        `json:"options"` // what was asked for, so that the document can be read alone
	Warnings     []string        `json:"warnings"`
	Unexplained  Unexplained     `json:"unexplained"` // kernels outside of all repetitions

	Skipped []Unreadable `json:"skipped,omitempty"` // traces that cannot be read and were left out
}

// Unreadable is a trace that was left out because it cannot be read.
type Unreadable struct {
	Path  string `json:"path"`
	Error string `json:"error"`
	Hint  string `json:"hint"`
}

// LeftOut says in a verdict and in warnings which traces were left out.
func LeftOut(out []Unreadable) (verdict string, warnings []string) {
	for i, u := range out {
		if i > 0 {
			verdict += ", "
		}
		verdict += u.Path
		warnings = append(warnings, u.Path+" was left out: "+u.Error)
	}
	if verdict != "" {
		verdict = " Left out, as unreadable: " + verdict + "."
	}
	return verdict, warnings
}

// Input is what was read.
type Input struct {
	Path    string `json:"path"`
	Format  string `json:"format"` // "chrome" | "xspace" | ...
	Kernels int64  `json:"kernels"`
	Names   int64  `json:"names"` // different names of kernels
	Ranks   []int  `json:"ranks"` // in order; [0] for a trace that names none
	Devices int    `json:"devices"`
	SpanNS  int64  `json:"span_ns"` // first start to last end
	BaseNS  int64  `json:"base_ns"` // baseTimeNanoseconds of a Chrome trace: instants include it, ts in the file do not; else 0
}

// Evidence is one kind of marks in the trace.
type Evidence struct {
	Kind  string `json:"kind"`  // "ProfilerStep" | "vllm" | "sglang" | "atom" | "nvtx" | "xla-module" | "xla-step" | "graph-launch" | ...
	Marks int64  `json:"marks"` // how many there are
	Use   string `json:"use"`   // "steps and phases" | "steps" | "phases" | "ignored" | "not used"
	Note  string `json:"note"`  // why, in words
}

// Stream is one queue of kernels of one device.
type Stream struct {
	Rank          int     `json:"rank"`
	Device        string  `json:"device"`
	Stream        string  `json:"stream"`
	Communication bool    `json:"communication"` // carries collectives: kept apart, its kernels belong to the step in whose time they start
	Searched      bool    `json:"searched"`      // steps were looked for in it, alone or merged with others of its device
	Kernels       int64   `json:"kernels"`
	BusyNS        int64   `json:"busy_ns"`  // union of its kernels' intervals
	Coverage      float64 `json:"coverage"` // share of its kernels in a repetition of any level
}

// Level is one depth of nesting.
type Level struct {
	Level    int     `json:"level"`    // 1 is innermost
	Name     string  `json:"name"`     // "block" | "layer" | "microbatch" | "step" | "loop" | "cycle"
	Reason   string  `json:"reason"`   // why it bears that name
	Coverage float64 `json:"coverage"` // share of kernels, of streams that compute, in its repetitions
	Classes  []Class `json:"classes"`  // most kernels first
}

// Class is one thing that repeats: kernels in an order, the same from whatever start, on whatever rank, in whatever run.
type Class struct {
	ID               string       `json:"id"`                // hash of the canonical rotation of the kernels' signatures
	Name             string       `json:"name"`              // for people, unique in the document: "decode step", "layer b of decode"
	Level            int          `json:"level"`             // as Level.Level
	Source           string       `json:"source"`            // "inferred", or the kind of marks that define it
	Period           int          `json:"period"`            // kernels of one repetition without edits
	Rotation         int          `json:"rotation"`          // kernels[0] stands at this place in the canonical rotation
	Count            int64        `json:"count"`             // repetitions, of all ranks and devices
	Edited           int64        `json:"edited"`            // repetitions with edits
	Edits            int64        `json:"edits"`             // kernels inserted, missing or replaced in all of them
	FirstIndex       int64        `json:"first_index"`       // of its first kernel, counted in its stream (or merged sequence) from 0
	StartNS          int64        `json:"start_ns"`          // start of the first repetition
	EndNS            int64        `json:"end_ns"`            // end of the last one
	Coverage         float64      `json:"coverage"`          // share of kernels, of streams that compute, in its repetitions
	TimeShare        float64      `json:"time_share"`        // sum of wall times, as a share of the span of all its sequences
	WallNS           Times        `json:"wall_ns"`           // border to border: to the start of the next repetition where that follows at once, else to the last end
	BusyNS           Times        `json:"busy_ns"`           // union of the intervals of its kernels
	GapNS            Times        `json:"gap_ns"`            // wall less busy
	KernelNS         Times        `json:"kernel_ns"`         // sum of kernel times: what uplifter calls cycle time
	Phase            string       `json:"phase"`             // prefill, decode, mixed, draft, verify, training, train-fwd, train-bwd, optimizer, unknown
	PhaseScore       float64      `json:"phase_score"`       // 0 for unknown
	PhaseReason      string       `json:"phase_reason"`      // the evidence, in words
	PhaseByPosition  bool         `json:"phase_by_position"` // nothing but the order of the classes decided
	PhaseReadings    []Reading    `json:"phase_readings"`    // what it may be, likeliest first: several where they are close; empty where nothing is known
	Confidence       float64      `json:"confidence"`        // that this repeats and has these borders
	ConfidenceReason string       `json:"confidence_reason"`
	Marks            []string     `json:"marks"`           // texts of the marks around repetitions, the most frequent first, at most 8
	Kernels          []Slot       `json:"kernels"`         // in order, from the border
	Beside           []BesideSlot `json:"beside"`          // kernels of other streams in the time of its repetitions, most expensive first
	Borders          []Border     `json:"borders"`         // repetitions in order of rank, device, time
	BordersOmitted   int64        `json:"borders_omitted"` // counted, not listed
	Outliers         []Outlier    `json:"outliers"`        // oddest first
	OutliersTotal    int64        `json:"outliers_total"`
	Drift            *Drift       `json:"drift"`              // null: wall times do not drift, or there are too few repetitions to tell
	Ranks            []RankTimes  `json:"ranks"`              // one per rank and device
	Children         []Child      `json:"children"`           // classes that a repetition consists of, in part
	Parents          []string     `json:"parents"`            // ids
	Patterns         []Pattern    `json:"patterns,omitempty"` // what uplifter says of it, one per device; absent unless asked for (Options.Compat)
}

// Pattern is a class in the words of uplifter: its CyclePattern and the CycleInfo in that. Positions are of kernels in the order of all
// streams of the device, from 0.
type Pattern struct {
	Rank         int     `json:"rank"`
	Device       string  `json:"device"`
	Anchor       string  `json:"anchor"`        // the kernel whose even distances led to the pattern; of a cycle within a cycle, of the outer one
	Signature    string  `json:"signature"`     // loose keys of its first kernels, at most 10
	StartIndex   int64   `json:"start_index"`   // of the first repetition
	CycleLength  int     `json:"cycle_length"`  // kernels of one repetition
	NumCycles    int64   `json:"num_cycles"`    // repetitions
	CycleIndices []int64 `json:"cycle_indices"` // where they start; as many as the class lists borders
	StartPos     int64   `json:"start_pos"`     // as start_index
	EndPos       int64   `json:"end_pos"`       // behind the last kernel of the last repetition
	CenterPos    float64 `json:"center_pos"`    // in the middle of the two: the earliest is uplifter's prefill, the latest its decode
}

// PhaseUnknown is Class.Phase where nothing tells one.
const PhaseUnknown = "unknown"

// Reading is one phase that a class may be of.
type Reading struct {
	Phase string  `json:"phase"`
	Score float64 `json:"score"`
}

// Times describes a sample of times in ns. Percentiles are by nearest rank; stddev is of the population; cv is stddev / mean, 0 where the mean is 0.
type Times struct {
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean"`
	P50    int64   `json:"p50"`
	P99    int64   `json:"p99"`
	Min    int64   `json:"min"`
	Max    int64   `json:"max"`
	StdDev float64 `json:"stddev"`
	CV     float64 `json:"cv"`
}

// Slot is one place in a repetition: the kernel there and its times over all repetitions that have it.
type Slot struct {
	Slot      int     `json:"slot"`
	Name      string  `json:"name"`      // as in the first repetition
	Signature string  `json:"signature"` // strict key
	Loose     string  `json:"loose"`     // loose key
	Stream    string  `json:"stream"`    // "" where the class was found in one stream
	Names     int     `json:"names"`     // different names seen in this place
	MeanNS    float64 `json:"mean_ns"`
	P50NS     int64   `json:"p50_ns"`
	P99NS     int64   `json:"p99_ns"`
	MinNS     int64   `json:"min_ns"`
	MaxNS     int64   `json:"max_ns"`
	StdDevNS  float64 `json:"stddev_ns"`
	CV        float64 `json:"cv"`
	Count     int64   `json:"count"`       // repetitions that have it
	Share     float64 `json:"share"`       // of kernel_ns of the class
	GapNS     float64 `json:"gap_ns"`      // idle time in front of it within a repetition, mean; 0 for the first
	GraphRuns int64   `json:"graph_count"` // of Count, those that a graph launch started

	// What most of its kernels belong to; absent unless asked for, and where the trace does not say it.
	Module     string `json:"module,omitempty"`     // modules and named ranges from the outside in, as the host called them: "Layer / Attention / Linear[0]"
	Operator   string `json:"operator,omitempty"`   // the innermost operator that launched it
	Collective string `json:"collective,omitempty"` // what it does, among how many ranks, of what size
}

// BesideSlot is a kernel of another stream.
type BesideSlot struct {
	Name          string  `json:"name"`
	Stream        string  `json:"stream"`
	Communication bool    `json:"communication"`
	Count         int64   `json:"count"`          // in all repetitions
	PerRepetition float64 `json:"per_repetition"` // Count / repetitions
	MeanNS        float64 `json:"mean_ns"`
	HiddenShare   float64 `json:"hidden_share"` // of its time, that during which a kernel of the class ran too
}

// Border is one repetition. First and End are indices of kernels in the sequence (End is behind the last).
type Border struct {
	Rank    int    `json:"rank"`
	Device  string `json:"device"`
	First   int64  `json:"first"`
	End     int64  `json:"end"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
	WallNS  int64  `json:"wall_ns"`
	BusyNS  int64  `json:"busy_ns"`
	Edits   int    `json:"edits"`
}

// Outlier is a repetition that took clearly longer or shorter than the others of its class on its rank.
type Outlier struct {
	Repetition int64   `json:"repetition"` // counted over the class, in order of rank, device, time
	Rank       int     `json:"rank"`
	Device     string  `json:"device"`
	StartNS    int64   `json:"start_ns"`
	WallNS     int64   `json:"wall_ns"`
	MedianNS   int64   `json:"median_ns"` // of the class on that rank and device, on the outlier's side of a drift
	Score      float64 `json:"score"`     // robust z: (wall - median) / (1.4826 x median absolute deviation)
	Slot       int     `json:"slot"`      // the kernel that explains most of it, -1: the time between kernels
	SlotName   string  `json:"slot_name"`
	SlotNS     int64   `json:"slot_ns"` // what that kernel (or the gaps) took beyond its median
}

// Drift is the point from which repetitions took longer or shorter, where the run has one.
type Drift struct {
	Rank        int     `json:"rank"`
	Device      string  `json:"device"`
	Repetition  int64   `json:"repetition"` // first one of the new kind, counted within rank and device
	AtNS        int64   `json:"at_ns"`
	BeforeNS    int64   `json:"before_ns"` // median wall time
	AfterNS     int64   `json:"after_ns"`
	Change      float64 `json:"change"` // after / before - 1
	P           float64 `json:"p"`      // chance of such a point in a run without one
	Description string  `json:"description"`
}

// RankTimes are the repetitions of a class on one device of one rank.
type RankTimes struct {
	Rank   int    `json:"rank"`
	Device string `json:"device"`
	Count  int64  `json:"count"`
	WallNS Times  `json:"wall_ns"`
}

// Child is a class inside another one.
type Child struct {
	ID    string `json:"id"`
	Count int    `json:"count"` // in one repetition
}

// Step is one repetition of a class of the step level.
type Step struct {
	Rank    int    `json:"rank"`
	Device  string `json:"device"`
	Number  int64  `json:"number"` // counted within rank and device
	Class   string `json:"class"`  // id; "" for a step that marks define and whose kernels are like no other's
	Phase   string `json:"phase"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
	WallNS  int64  `json:"wall_ns"`
	BusyNS  int64  `json:"busy_ns"`
	GapNS   int64  `json:"gap_ns"`
	Kernels int64  `json:"kernels"`
	Edits   int    `json:"edits"`
	Mark    string `json:"mark"`    // text of the mark that defines or covers it, ""
	Partial bool   `json:"partial"` // cut off by the beginning or the end of the recording
}

// RankStep is one step on all ranks that made it.
type RankStep struct {
	Number   int64   `json:"number"`
	Class    string  `json:"class"`     // id, "" where ranks have classes of their own
	Ranks    int     `json:"ranks"`     // that made it
	Slowest  int     `json:"slowest"`   // rank with the longest own time
	Device   string  `json:"device"`    // of that rank
	OwnNS    int64   `json:"own_ns"`    // its busy time without collectives, which wait for others
	MedianNS int64   `json:"median_ns"` // of all ranks
	ExcessNS int64   `json:"excess_ns"` // own less median
	Excess   float64 `json:"excess"`    // as a share of the median
}

// RankTotal is one rank over all steps.
type RankTotal struct {
	Rank     int     `json:"rank"`
	Device   string  `json:"device"`
	Steps    int64   `json:"steps"`
	Slowest  int64   `json:"slowest"`   // steps in which it was the slowest
	ExcessNS int64   `json:"excess_ns"` // sum over those
	OwnNS    float64 `json:"own_ns"`    // mean
}

// EditBudget says how far repetitions of one class may differ, and how much of that was used.
type EditBudget struct {
	Percent        int     `json:"percent"`         // allowed, of the kernels of one repetition
	Used           int64   `json:"used"`            // edits of the repetitions of the level that covers most
	Repetitions    int64   `json:"repetitions"`     // with edits
	UsedPercent    float64 `json:"used_percent"`    // of the kernels in repetitions
	LargestPercent float64 `json:"largest_percent"` // of one repetition
}

// Losses is what is missing from the answer.
type Losses struct {
	EventsSkipped int64  `json:"events_skipped"` // kernels that could not be read
	Truncated     bool   `json:"truncated"`      // the file ends in the middle
	WorkLimited   bool   `json:"work_limited"`   // the search gave up on a part
	KernelsCut    int64  `json:"kernels_cut"`    // beyond the longest sequence that is searched
	Note          string `json:"note"`
}

// Unexplained are the kernels outside of all repetitions, of streams that compute.
type Unexplained struct {
	Kernels int64 `json:"kernels"`
	BusyNS  int64 `json:"busy_ns"` // sum of their times
	Warmup  int64 `json:"warmup"`  // of Kernels, those before the first repetition
	Tail    int64 `json:"tail"`    // and those behind the last
}

// Settings are the options as they were used.
type Settings struct {
	IgnoreAnnotations bool            `json:"ignore_annotations"`
	Keys              string          `json:"keys"`    // "strict" | "loose": what was used
	Streams           string          `json:"streams"` // "each" | "merged": what was used
	Rules             int             `json:"rules"`   // signature rules of the user
	PhaseMode         string          `json:"phase_mode"`
	EditPercent       int             `json:"edit_percent"`
	MaxLevels         int             `json:"max_levels"`
	Compat            *CompatSettings `json:"compat"` // null unless asked for
}

// CompatSettings are the parameters of uplifter, in the order of its own table.
type CompatSettings struct {
	MinAnchorCount  int     `json:"min_anchor_count"` // a kernel must occur so often to be an anchor; 5
	MaxAnchorShare  float64 `json:"max_anchor_share"` // and no more often than this share of all kernels; 0.2
	LengthTolerance float64 `json:"length_tolerance"` // by how much distances of an anchor may differ; 0.05
	OuterMatch      float64 `json:"outer_match"`      // share of names that must agree; 0.95
	SubMatch        float64 `json:"sub_match"`        // share of signatures that must agree in a cycle within a cycle; 0.8
	MinSubLength    int     `json:"min_sub_length"`   // kernels of the shortest cycle within a cycle; 5
}
