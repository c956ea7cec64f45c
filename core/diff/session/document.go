package session

import (
	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/verdict"
)

// DocumentSchema is the schema of Document.
const DocumentSchema = "prlx.session-diff/1"

// Statuses of a launch in documents.
const (
	statusIdentical    = diff.StatusIdentical
	StatusSameResults  = diff.StatusSameResults
	StatusDiverged     = diff.StatusDiverged
	StatusInconclusive = diff.StatusInconclusive
	StatusError        = "error"
)

// Document is prlx.session-diff/1: where two sessions differ, launch by launch. Every field of original prlx 0.5's session JSON is
// here with the same meaning; see docs/formats/session.md.
type Document struct {
	Schema             string            `json:"schema"`
	Status             string            `json:"status"`  // as of a launch; "error": nothing differs, but launches could not be compared
	Verdict            string            `json:"verdict"` // one sentence
	Conclusion         verdict.Verdict   `json:"conclusion"`
	Headline           *diff.Headline    `json:"headline,omitempty"`
	TotalDivergences   int64             `json:"total_divergences"`
	CountedDivergences int64             `json:"counted_divergences"` // those that count against the threshold
	Threshold          int64             `json:"threshold"`
	Passed             bool              `json:"passed"`
	Require            []string          `json:"require,omitempty"`  // what must agree to pass
	Coverage           *Coverage         `json:"coverage,omitempty"` // what was compared
	First              *FirstLaunch      `json:"first"`              // the first launch that differs, of those that do not only follow; null when none does
	Causes             []Cause           `json:"causes"`             // where the sessions begin to differ, in the order of A
	KernelResults      []LaunchResult    `json:"kernel_results"`     // launches of both sessions, in the order of A
	UnmatchedA         []string          `json:"unmatched_a"`        // "name (launch N)"
	UnmatchedB         []string          `json:"unmatched_b"`
	Missing            []LaunchOf        `json:"missing"`  // the launches of unmatched_a: B lacks them
	Inserted           []LaunchOf        `json:"inserted"` // the launches of unmatched_b: B has them besides
	Sequence           Sequence          `json:"sequence"`
	Totals             Totals            `json:"totals"`
	A                  Side              `json:"a"`
	B                  Side              `json:"b"`
	Losses             diff.LossesOfBoth `json:"losses"` // of all launches together
	Blocks             *diff.Blocks      `json:"blocks,omitempty"`
	Baseline           *Baseline         `json:"baseline,omitempty"`
	Accepted           *diff.AcceptedUse `json:"accepted,omitempty"`
	Options            diff.Settings     `json:"options"`
	Warnings           []string          `json:"warnings"`
}

// Side is one of the two sessions.
type Side struct {
	Path     string `json:"path"`
	Launches int64  `json:"launches"`
	Manifest bool   `json:"manifest"` // false: the launches are the recordings found in the directory
	Partial  bool   `json:"partial"`  // recording did not come to its end
	Producer string `json:"producer,omitempty"`
}

// LaunchOf is a launch that only one side has.
type LaunchOf struct {
	Index          int64          `json:"index"` // position in its session
	Launch         uint64         `json:"launch"`
	Kernel         string         `json:"kernel"`
	File           string         `json:"file"`
	Grid           [3]uint32      `json:"grid"`
	Block          [3]uint32      `json:"block"`
	ArgumentDigest string         `json:"argument_digest,omitempty"`
	Origin         *origin.Origin `json:"origin,omitempty"` // where a compiler of graphs made the kernel
}

// LaunchResult is one launch that both sessions have.
type LaunchResult struct {
	Kernel             string           `json:"kernel"`
	KernelName         string           `json:"kernel_name,omitempty"` // as people wrote it, where a compiler mangled it
	Launch             uint64           `json:"launch"`                // of A
	Status             string           `json:"status"`                // "identical" | "same-results" | "diverged" | "inconclusive" | "error"
	Verdict            string           `json:"verdict,omitempty"`     // of the comparison of the two recordings, where they differ
	Role               string           `json:"role,omitempty"`        // where it is diverged: "causes" | "given" | "follows" | "unclear"
	Given              []diff.Given     `json:"given,omitempty"`       // where it is diverged: what it was given differently
	Divergences        int64            `json:"divergences"`
	Error              string           `json:"error,omitempty"`
	ErrorKind          string           `json:"error_kind,omitempty"` // "format", "io", "limit", "incompatible"
	LaunchB            uint64           `json:"launch_b"`
	IndexA             int64            `json:"index_a"` // positions in the sessions
	IndexB             int64            `json:"index_b"`
	MatchedBy          string           `json:"matched_by"` // "arguments" | "shape" | "place" | "kernel" | "content"
	FileA              string           `json:"file_a"`
	FileB              string           `json:"file_b"`
	Grid               [3]uint32        `json:"grid"`
	Block              [3]uint32        `json:"block"`
	GridB              *[3]uint32       `json:"grid_b,omitempty"` // where it is another one
	BlockB             *[3]uint32       `json:"block_b,omitempty"`
	CountedDivergences int64            `json:"counted_divergences"`
	WarpsCompared      int64            `json:"warps_compared"`
	WarpsDiverged      int64            `json:"warps_diverged"`
	EventsA            int64            `json:"total_events_a"`
	EventsB            int64            `json:"total_events_b"`
	Breakdown          map[string]int64 `json:"divergence_breakdown,omitempty"`
	Coverage           string           `json:"coverage,omitempty"` // what was compared
	First              *diff.Divergence `json:"first,omitempty"`
	Arrays             []diff.ArrayDiff `json:"arrays,omitempty"`         // that it left otherwise, and how far apart: the first maxArrays
	ArraysOmitted      int64            `json:"arrays_omitted,omitempty"` // more such arrays
	Losses             *LossesOfLaunch  `json:"losses,omitempty"`         // where something was lost
	Blocks             *diff.Blocks     `json:"blocks,omitempty"`         // how much was read
	Warnings           []string         `json:"warnings,omitempty"`
	Baseline           *diff.Baseline   `json:"baseline,omitempty"`
	Origin             *origin.Origin   `json:"origin,omitempty"` // of A, where a compiler of graphs made the kernel
}

// LossesOfLaunch says how many events of a launch are missing on each side.
type LossesOfLaunch struct {
	DroppedA int64 `json:"dropped_a"`
	DroppedB int64 `json:"dropped_b"`
	PartialA bool  `json:"partial_a"`
	PartialB bool  `json:"partial_b"`
	SampledA bool  `json:"sampled_a"`
	SampledB bool  `json:"sampled_b"`
}

// FirstLaunch is the earliest launch whose recordings differ, in full.
type FirstLaunch struct {
	Kernel  string         `json:"kernel"`
	Launch  uint64         `json:"launch"`
	LaunchB uint64         `json:"launch_b"`
	IndexA  int64          `json:"index_a"`
	IndexB  int64          `json:"index_b"`
	Diff    *diff.Document `json:"diff"`
	Result  *diff.Result   `json:"-"` // of which it was made
}

// Sequence is how the order of launches differs, apart from what the launches did.
type Sequence struct {
	Same        bool       `json:"same"` // the same launches in the same order
	Missing     int64      `json:"missing"`
	Inserted    int64      `json:"inserted"`
	Moved       int64      `json:"moved"`       // matched out of order
	OtherShape  int64      `json:"other_shape"` // matched with another grid or block
	First       *Departure `json:"first"`       // null when nothing does
	Approximate bool       `json:"approximate"` // the sessions are so different that another alignment may be better
}

// Departure is the first place where the order of launches differs.
type Departure struct {
	What   string `json:"what"`    // "missing" | "inserted" | "moved" | "other-shape"
	IndexA int64  `json:"index_a"` // where in A; for an inserted launch, before which
	IndexB int64  `json:"index_b"` // where in B; for a missing launch, before which
	Kernel string `json:"kernel"`
	Launch uint64 `json:"launch"`
}

// Totals are sums over launches.
type Totals struct {
	Matched      int64 `json:"matched"`
	Identical    int64 `json:"identical"`
	Diverged     int64 `json:"diverged"`
	SameResults  int64 `json:"same_results"` // in a different way
	Inconclusive int64 `json:"inconclusive"` // not enough was recorded to say
	Errors       int64 `json:"errors"`
	Warps        int64 `json:"warps_compared"`
	WarpsOut     int64 `json:"warps_diverged"`
	EventsA      int64 `json:"total_events_a"`
	EventsB      int64 `json:"total_events_b"`
}

// Baseline says which sessions told what is noise, and where they could not.
type Baseline struct {
	SessionsA []string `json:"sessions_a"` // further runs of A
	SessionsB []string `json:"sessions_b"`
	Covered   int64    `json:"covered"`    // launches that every further run has
	Partly    int64    `json:"partly"`     // launches that some of them have
	Without   int64    `json:"without"`    // launches that none has: nothing is taken for noise there
	Noise     int64    `json:"suppressed"` // divergences that are noise
}
