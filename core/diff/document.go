package diff

import (
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/verdict"
)

// The kinds of divergences, as documents and --filter-kind spell them.
const (
	KindBranch      = "Branch"      // same site, another decision
	KindActiveMask  = "ActiveMask"  // same site, other lanes
	KindValue       = "Value"       // same site, another value
	KindPath        = "Path"        // another site, on both sides
	KindExtraEvents = "ExtraEvents" // events that only one side has
)

// Document is prlx.diff/1: where two recordings of a kernel differ. Every field of original prlx 0.5's JSON is here with the same
// meaning; see docs/commands/diff.md. Reports are made of it alone.
type Document struct {
	Schema              string           `json:"schema"`
	Status              string           `json:"status"`             // "identical" | "same-results" | "diverged" | "inconclusive"
	Verdict             string           `json:"verdict"`            // one sentence, with what limits it
	Conclusion          verdict.Verdict  `json:"conclusion"`         // same, differs or inconclusive; passed where what differs was allowed
	Headline            *Headline        `json:"headline,omitempty"` // missing from documents of earlier versions
	TotalDivergences    int64            `json:"total_divergences"`
	CountedDivergences  int64            `json:"counted_divergences"` // those that count against the threshold
	WarpsCompared       int64            `json:"warps_compared"`
	WarpsDiverged       int64            `json:"warps_diverged"`
	TotalEventsA        int64            `json:"total_events_a"`
	TotalEventsB        int64            `json:"total_events_b"`
	DivergenceBreakdown map[string]int64 `json:"divergence_breakdown"` // by kind; encoding/json sorts the keys
	Threshold           int64            `json:"threshold"`            // max_divergences, under the name that the original gave it
	Passed              bool             `json:"passed"`
	Require             []string         `json:"require,omitempty"`  // what must agree to pass: "control-flow", "outputs", "values"
	Coverage            *Coverage        `json:"coverage,omitempty"` // what was compared
	CrossGPU            *CrossGPU        `json:"cross_gpu,omitempty"`
	OtherShape          string           `json:"other_shape,omitempty"` // how the launches differ where warps do not correspond
	A                   Recording        `json:"a"`
	B                   Recording        `json:"b"`
	Given               []Given          `json:"given,omitempty"` // what the two launches were given differently
	First               *Divergence      `json:"first"`           // null when nothing differs
	Clusters            []Cluster        `json:"clusters"`
	ClustersOmitted     int64            `json:"clusters_omitted"`
	Sites               []SiteSummary    `json:"sites"` // those that differ, in order of how early they can be a cause
	Divergences         []Divergence     `json:"divergences"`
	DivergencesOmitted  int64            `json:"divergences_omitted"` // counted above, not listed
	Losses              LossesOfBoth     `json:"losses"`
	Blocks              *Blocks          `json:"blocks,omitempty"`
	Builds              *Builds          `json:"builds,omitempty"`
	Baseline            *Baseline        `json:"baseline,omitempty"`
	Outputs             *OutputDiff      `json:"outputs,omitempty"`  // how what the kernel wrote differs
	Findings            []FindingDiff    `json:"findings,omitempty"` // what the checks of the simulator found: in one run only, more often, or in both
	Explanation         *Explanation     `json:"explanation,omitempty"`
	Reruns              *Reruns          `json:"reruns,omitempty"` // of runs that were made again to tell whether an order decides
	Accepted            *AcceptedUse     `json:"accepted,omitempty"`
	Edits               *Edits           `json:"edits,omitempty"` // how the text of the kernel differs; not there: not recorded
	Sources             []Source         `json:"sources"`
	Options             Settings         `json:"options"` // what was asked for, so that the document can be read alone
	Warnings            []string         `json:"warnings"`
	Thresholds          map[string]int64 `json:"thresholds,omitempty"` // of single kinds; the others together have Threshold
}

// Recording is one side of a comparison.
type Recording struct {
	Path          string    `json:"path"`
	Format        string    `json:"format"` // "prlx v1" | "prlx v2"
	Kernel        string    `json:"kernel"`
	KernelName    string    `json:"kernel_name,omitempty"` // as people wrote it, where a compiler mangled it
	ModuleHash    string    `json:"module_hash,omitempty"`
	Arch          string    `json:"arch,omitempty"`
	WaveSize      int       `json:"wave_size"`
	Grid          [3]uint32 `json:"grid"`
	Block         [3]uint32 `json:"block"`
	Launch        uint64    `json:"launch"`
	Warps         int64     `json:"warps"` // that recorded anything
	WarpSlots     uint64    `json:"warp_slots"`
	WarpsPerBlock uint32    `json:"warps_per_block"`
	Mode          string    `json:"mode"`  // "digest" | "control-flow" | "values" | "unknown"
	Means         string    `json:"means"` // "instrumented" | "observed" | "converted" | "generated" | "unknown"

	Origin *origin.Origin `json:"origin,omitempty"` // what the kernel computes, where a compiler of graphs made it and that was recorded
}

// CrossGPU is original prlx 0.5's block for recordings of different architectures.
type CrossGPU struct {
	ArchA     string    `json:"arch_a"`
	ArchB     string    `json:"arch_b"`
	WarpSizeA uint32    `json:"warp_size_a"`
	WarpSizeB uint32    `json:"warp_size_b"`
	GridA     [3]uint32 `json:"grid_a"`
	GridB     [3]uint32 `json:"grid_b"`
	BlockA    [3]uint32 `json:"block_a"`
	BlockB    [3]uint32 `json:"block_b"`
}

// Divergence is one difference between two warps. Masks and keys are hexadecimal text, because JSON readers round beyond 2^53.
type Divergence struct {
	WarpIdx        int64        `json:"warp_idx"`
	EventIdx       int64        `json:"event_idx"`   // in A; for events that only B has, where they would stand in A
	EventIdxB      int64        `json:"event_idx_b"` // in B, likewise
	SiteID         string       `json:"site_id"`     // "0x%08x" (v1) or "0x%016x" (v2)
	Kind           string       `json:"kind"`
	SourceLocation string       `json:"source_location,omitempty"`   // "file:function:line:column", the innermost that is not of a library
	Inside         []string     `json:"inside,omitempty"`            // lines of libraries within it, innermost first
	Function       string       `json:"function,omitempty"`          // of source_location as people wrote it, where a compiler mangled it
	SiteKind       string       `json:"site_kind,omitempty"`         // "branch", "predicate", "atomic", ...
	SiteB          string       `json:"site_b,omitempty"`            // Path: the site on the other side
	LocationB      string       `json:"source_location_b,omitempty"` // Path: of site_b; else of the same site in B, where its line or file is another one
	Count          int64        `json:"count,omitempty"`             // ExtraEvents: how many; Path: how many on side A
	CountB         int64        `json:"count_b,omitempty"`           // Path: how many on side B
	InTrace        string       `json:"in_trace,omitempty"`          // ExtraEvents: "A" | "B"
	Occurrence     int64        `json:"occurrence"`                  // how often the warp had passed this site before, from 0
	OccurrenceB    int64        `json:"occurrence_b"`
	DirA           *uint8       `json:"dir_a,omitempty"`
	DirB           *uint8       `json:"dir_b,omitempty"`
	MaskA          string       `json:"mask_a,omitempty"` // active lanes
	MaskB          string       `json:"mask_b,omitempty"`
	TakenA         string       `json:"taken_a,omitempty"`
	TakenB         string       `json:"taken_b,omitempty"`
	ValueA         string       `json:"value_a,omitempty"` // as its type prints
	ValueB         string       `json:"value_b,omitempty"`
	BitsA          string       `json:"bits_a,omitempty"` // hexadecimal
	BitsB          string       `json:"bits_b,omitempty"`
	ValueType      string       `json:"value_type,omitempty"`
	Lanes          []int        `json:"lanes"` // that differ; empty when that is not known
	Cluster        int64        `json:"cluster"`
	Follows        bool         `json:"follows"`             // an earlier divergence can be its cause
	Noise          bool         `json:"noise"`               // explained by how runs differ that should be equal
	Undecided      bool         `json:"undecided,omitempty"` // such runs can neither explain it nor rule it out
	Accepted       bool         `json:"accepted,omitempty"`  // by a file of accepted differences
	Reordered      bool         `json:"reordered,omitempty"` // every lane of the warp did the same, in another order among paths
	LaneValues     []LaneValues `json:"lane_values,omitempty"`
	Compare        string       `json:"compare,omitempty"`   // "slt": how lane_values were compared
	CompareB       string       `json:"compare_b,omitempty"` // where B compares differently
	History        []Context    `json:"history,omitempty"`   // events around it
}

// LaneValues is one lane of a divergence: whether it was active and taken, and its operands, on both sides.
type LaneValues struct {
	Lane    int    `json:"lane"`
	ActiveA bool   `json:"active_a"`
	ActiveB bool   `json:"active_b"`
	TakenA  *bool  `json:"taken_a"` // null unknown
	TakenB  *bool  `json:"taken_b"`
	LhsA    string `json:"lhs_a,omitempty"`
	RhsA    string `json:"rhs_a,omitempty"`
	LhsB    string `json:"lhs_b,omitempty"`
	RhsB    string `json:"rhs_b,omitempty"`
	Differs bool   `json:"differs"`
}

// Context is one aligned row around a divergence: an event of A, of B, or of both.
type Context struct {
	EventA   int64  `json:"event_a"` // -1: none on this side
	EventB   int64  `json:"event_b"`
	SiteID   string `json:"site_id"`
	Location string `json:"source_location,omitempty"`
	SiteKind string `json:"site_kind"`
	TextA    string `json:"a"` // "taken 0x0000ffff of 0xffffffff, value 17"
	TextB    string `json:"b"`
	Mark     string `json:"mark"` // "=" same, "!" differs, "-" only A, "+" only B
}

// Cluster is a set of warps that differ in the same way.
type Cluster struct {
	ID          int64            `json:"id"`    // from 0, in order of first
	Warps       int64            `json:"warps"` // how many
	WarpRanges  string           `json:"warp_ranges"`
	Blocks      int64            `json:"blocks"`
	Divergences int64            `json:"divergences"` // of each warp
	Breakdown   map[string]int64 `json:"breakdown"`   // of each warp
	First       Divergence       `json:"first"`       // of the lowest warp
	Follows     bool             `json:"follows"`
	Noise       bool             `json:"noise"`
	Accepted    bool             `json:"accepted,omitempty"`
	Reordered   bool             `json:"reordered,omitempty"` // every lane did the same, in another order among paths
}

// SiteSummary is how a site differs over all warps.
type SiteSummary struct {
	SiteID         string           `json:"site_id"`
	SourceLocation string           `json:"source_location,omitempty"`
	LocationB      string           `json:"source_location_b,omitempty"` // of the same site in B, where its line is another one
	InTrace        string           `json:"in_trace,omitempty"`          // "A" | "B": only that build has the site
	SiteKind       string           `json:"site_kind,omitempty"`
	Divergences    int64            `json:"divergences"`
	Warps          int64            `json:"warps"`
	WarpRanges     string           `json:"warp_ranges"`
	Breakdown      map[string]int64 `json:"breakdown"`
	Rate           float64          `json:"rate"`                     // share of compared warps that differ here
	BaselineRate   float64          `json:"baseline_rate"`            // the same among runs that should be equal
	Chance         *float64         `json:"chance,omitempty"`         // with baselines: of so many deviations or more, were B one more equal run
	BaselineWarps  int64            `json:"baseline_warps,omitempty"` // warps of equal runs that differ here from the first of their side
	BaselineOf     int64            `json:"baseline_of,omitempty"`    // of so many
	Explained      int64            `json:"explained,omitempty"`      // divergences that are noise
	Undecided      int64            `json:"undecided,omitempty"`      // divergences that equal runs can neither explain nor rule out
	Noise          bool             `json:"noise"`
}

// LossesOfBoth says what is missing from each side.
type LossesOfBoth struct {
	A Losses `json:"a"`
	B Losses `json:"b"`
}

// Losses is what is missing from a recording.
type Losses struct {
	Events         int64    `json:"events"`        // kept
	Dropped        int64    `json:"dropped"`       // lost because a buffer was full
	DroppedShare   float64  `json:"dropped_share"` // 0..1
	WarpsWithDrops int64    `json:"warps_with_drops"`
	SampleRate     uint32   `json:"sample_rate"` // 1: every event was kept
	Truncated      bool     `json:"truncated"`   // the file ends before its end
	Notes          []string `json:"notes"`
}

// Baseline is what runs that should be equal say about noise.
type Baseline struct {
	RunsA      int         `json:"runs_a"`
	RunsB      int         `json:"runs_b"`
	Pairs      int         `json:"pairs"` // comparisons of equal runs: each with A, or with B
	NoiseSites int         `json:"noise_sites"`
	Suppressed int64       `json:"suppressed"` // divergences of A and B that are noise: that many equal runs explain
	Undecided  []Undecided `json:"undecided"`  // what equal runs can neither explain nor rule out
	Paths      []string    `json:"paths"`
	// Chunks of outputs of A and B that differ as equal runs do, and the arrays of which nothing else differs.
	OutputChunks int64    `json:"output_chunks,omitempty"`
	Outputs      []string `json:"outputs,omitempty"`

	sites []noiseOfSite // by position in Result.Sites
}

// Explanation says why the first divergence happened, as far as the recording tells.
type Explanation struct {
	Class      string      `json:"class"`                // race | precision | loop-bound | index-or-mask | stale-data | formula | operation | unknown
	Confidence string      `json:"confidence"`           // "strong" | "likely" | "weak"
	Summary    string      `json:"summary"`              // one sentence
	Statement  *Statement  `json:"statement,omitempty"`  // the one to look at, where the recordings hold the code of the kernel
	Candidates []Candidate `json:"candidates,omitempty"` // every changed statement, and what came of undoing it where that was tried
	Chain      []Link      `json:"chain"`                // from the divergence back to where it can come from
	Considered []Ruling    `json:"considered"`           // every class, with what spoke for and against it
	Missing    []string    `json:"missing"`              // what was not recorded and would settle it, with the option that records it
}

// Statement is the statement at which two builds begin to compute something else, or that first uses what differs.
type Statement struct {
	SourceLocation string   `json:"source_location"` // "file:function:line:column"; column 0: the line
	Side           string   `json:"side"`            // "A" | "B": whose line that is
	Text           []string `json:"text,omitempty"`  // its lines, where the recording holds them
	Why            string   `json:"why"`             // why it is this one
	Way            []string `json:"way"`             // the lines through which what differs depends on it, in the order of the code
}

// Link is one step of the chain of evidence.
type Link struct {
	What           string `json:"what"` // "compare", "operand", "load", "atomic", "argument", "control"
	SiteID         string `json:"site_id,omitempty"`
	SourceLocation string `json:"source_location,omitempty"`
	Text           string `json:"text"`
	Lanes          []int  `json:"lanes,omitempty"`
	Recorded       bool   `json:"recorded"` // seen in the recording; false: only in the site table
}

// Ruling is what was found about one class of causes.
type Ruling struct {
	Class   string   `json:"class"`
	Score   int      `json:"score"`
	For     []string `json:"for"`
	Against []string `json:"against"`
}

// Source is a piece of a source file around reported sites.
type Source struct {
	File      string   `json:"file"`
	FirstLine int      `json:"first_line"`
	Lines     []string `json:"lines"`
	Stale     bool     `json:"stale"`              // the file is newer than the recording
	Side      string   `json:"side,omitempty"`     // "A" | "B": of this side alone; "": of both
	Recorded  bool     `json:"recorded,omitempty"` // the lines are those that were compiled, out of the recording
	Changed   bool     `json:"changed,omitempty"`  // with recorded: by now the file has other lines here than either side
}

// Edits is how the text of the kernel differs between A and B, as it was when they were compiled.
type Edits struct {
	Text      string           `json:"text"`      // what was edited, and whether that is the line that differs first; one sentence
	First     string           `json:"first"`     // of the place that the document names first: "edited" | "same" | "unknown"
	Functions []EditedText     `json:"functions"` // that differ: the kernel first
	Omitted   int64            `json:"omitted"`   // lines that are counted here and not listed
	Constants []EditedConstant `json:"constants"` // what the kernel was compiled for, where that differs
}

// EditedText is one function whose text differs.
type EditedText struct {
	Function string `json:"function"`
	FileA    string `json:"file_a,omitempty"` // not there: A lacks the function
	FileB    string `json:"file_b,omitempty"`
	Hunks    []Hunk `json:"hunks"`
}

// Hunk is a run of lines that differ. Of an empty side the number is that of the line in front of which the others stand.
type Hunk struct {
	FirstA int      `json:"first_a"`
	FirstB int      `json:"first_b"`
	A      []string `json:"a"`
	B      []string `json:"b"`
}

// EditedConstant is a constexpr or an option of the compiler; "" where a side lacks it.
type EditedConstant struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Settings repeats the options that shaped the document.
type Settings struct {
	Values           bool     `json:"values"`
	Tolerance        string   `json:"tolerance,omitempty"`
	NaN              string   `json:"nan,omitempty"`
	Ignore           []string `json:"ignore,omitempty"`
	IgnoreActiveMask bool     `json:"ignore_active_mask,omitempty"`
	Warps            string   `json:"warps,omitempty"`
	Kinds            []string `json:"kinds,omitempty"`
	SiteFilter       []string `json:"sites,omitempty"`
	Limit            int64    `json:"limit,omitempty"`
	Force            bool     `json:"force,omitempty"`
	CrossGPU         bool     `json:"cross_gpu,omitempty"`
	Libraries        []string `json:"libraries,omitempty"`
	Require          []string `json:"require,omitempty"`
}
