// Package combine turns the traces of N nodes into one that a viewer opens: a run directory with one aligned XSpace a host, a
// single XSpace, or one Chrome JSON.
//
// It loads every input (Load), learns how the nodes' clocks relate (a Clocks from offsets, declarations or nothing), asks align
// where each line goes, and writes. Nothing is held in memory as a whole; nodes are read and rewritten in parallel and the bytes
// written do not depend on how many workers there are. What viewers accept decides names and ids; see docs/consumers.md.
package combine

import (
	"encoding/json"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/verdict"
)

// Schema is the schema of Document.
const Schema = "prlx.combine/1"

// The values of Document.Status.
const (
	StatusAligned   = "aligned"   // every node's clock is known over its whole trace
	StatusDegraded  = "degraded"  // some node's clock is not, or not over its whole trace, or a trace is missing
	StatusUnaligned = "unaligned" // no clock was corrected
)

// The values of NodeResult.Method.
const (
	MethodProbes      = "probes"
	MethodDeclared    = "declared"
	methodCollectives = "collectives"
	methodSystem      = "system" // what the systems say of their own clocks
	methodHost        = "host"   // it shares the clock of another node
	MethodWall        = "wall"
	MethodNone        = "none"
)

// Document is prlx.combine/1: what was done, node by node.
type Document struct {
	Schema      string          `json:"schema"`
	Status      string          `json:"status"`
	Conclusion  verdict.Verdict `json:"conclusion"`
	Verdict     string          `json:"verdict"`     // status or not_aligned, in a sentence
	NotAligned  string          `json:"not_aligned"` // why no clock was corrected
	Reference   string          `json:"reference"`
	Timebase    string          `json:"timebase"`
	Naming      string          `json:"naming,omitempty"`
	ZeroNS      int64           `json:"zero_ns"` // instant (reference's wall clock, ns since 1970) from which times of the output count
	Outputs     []Output        `json:"outputs"`
	Nodes       []NodeResult    `json:"nodes"`
	Files       *Ledger         `json:"files"`             // what became of every file that the inputs stand for
	Ranks       *Ranks          `json:"ranks"`             // how many there are, and how many have a trace
	Skipped     []Unreadable    `json:"skipped,omitempty"` // inputs that cannot be read and were left out
	Collectives *Collectives    `json:"collectives"`
	SameKernels []SameKernels   `json:"same_kernels,omitempty"` // of recordings of NCCL beside traces of their processes
	Outside     *Outside        `json:"outside"`                // events beyond the clock readings; null: there are none
	Repaired    *Repair         `json:"repaired"`               // null unless clocks were to be repaired
	Explained   *Explanation    `json:"explained"`              // null unless a node was to be explained
	Notes       []string        `json:"notes"`                  // what was decided on the way
	Warnings    []string        `json:"warnings"`               // what limits the result

	beside []string // for the verdict: what limits the result, in a few words
}

// Outside is what was assumed of clocks where events lie outside of the clock readings.
type Outside struct {
	Events    int64   `json:"events"`
	Share     float64 `json:"share"`      // of all events that have a time
	GrowthPPB int64   `json:"growth_ppb"` // by how much bounds grow there, as is assumed of clocks: ns in a second
	Policy    policy  `json:"policy"`     // degrade: clocks run on as they did within the readings; hold: the last offset is kept
	Said      string  `json:"said"`       // all that in a sentence
}

// Output is one file written. Path is relative to the document where that lies beside it.
type Output struct {
	Path   string `json:"path"`
	Format string `json:"format"` // "xplane", "chrome"
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Bounds summarises the stated error bounds of a node's events, ns. Where nothing is known about a clock there is no bound: null.
type Bounds struct {
	P50     int64 `json:"p50"`
	P99     int64 `json:"p99"`
	Max     int64 `json:"max"`
	Unknown bool  `json:"-"`
}

type plainBounds Bounds

// MarshalJSON writes null for unknown bounds.
func (b Bounds) MarshalJSON() ([]byte, error) {
	if b.Unknown {
		return []byte("null"), nil
	}
	return json.Marshal(plainBounds(b))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bounds) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*b = Bounds{Unknown: true}
		return nil
	}
	return json.Unmarshal(text, (*plainBounds)(b))
}

// Step is an interval of a node's own clock in which it stepped.
type Step struct {
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
	SizeNS int64 `json:"size_ns"` // positive: the node's clock jumped ahead
}

// NodeResult is what was found out about a node and done to its events.
type NodeResult struct {
	ID                     string        `json:"id"`
	Identity               string        `json:"identity"` // how ID was found: given, name, rank, host, order, mark
	Host                   string        `json:"host"`
	Rank                   *int64        `json:"rank"`
	Holds                  []string      `json:"holds,omitempty"` // the nodes inside of a trace that was merged before
	Inputs                 []string      `json:"inputs"`
	Method                 string        `json:"method"`
	Snapshots              int           `json:"snapshots"`
	OffsetWindows          int           `json:"offset_windows"`
	MissingSnapshots       int           `json:"missing_snapshots"` // readings that the cadence promised and that are not there
	Coverage               float64       `json:"coverage"`
	Events                 int64         `json:"events"`
	EventsCorrected        int64         `json:"events_corrected"`
	EventsClamped          int64         `json:"events_clamped_monotonic"`
	EventsInStep           int64         `json:"events_in_step"`
	EventsDropped          int64         `json:"events_dropped"` // outside --time-range
	SnapshotExtrapolations int64         `json:"snapshot_extrapolations"`
	OffsetExtrapolations   int64         `json:"offset_extrapolations"`
	MinCorrectionNS        int64         `json:"min_correction_ns"`
	MaxCorrectionNS        int64         `json:"max_correction_ns"`
	OffsetNS               int64         `json:"offset_ns"`
	DriftPPM               float64       `json:"drift_ppm"`
	BoundNS                Bounds        `json:"bound_ns"`
	TracerLines            int           `json:"tracer_lines"`
	RestsOn                []Rest        `json:"rests_on"` // what its clock rests on, the ladder from above
	Clock                  []ClockAt     `json:"clock"`    // what its clock showed over its trace; empty: nothing relates it, or it is the reference
	Steps                  []Step        `json:"steps"`
	Clamps                 []align.Clamp `json:"clamps,omitempty"`
	DeviceClocks           []DeviceClock `json:"device_clocks,omitempty"` // what launches and waits say of them, where that is asked for
	Warnings               []string      `json:"warnings"`

	Salvaged *source.Salvaged `json:"salvaged,omitempty"` // of a file that was cut: what was lost

	OutsideGrowthPPB int64 `json:"outside_growth_ppb"` // by how much bounds grow outside of the clock readings: ns in a second
}

// Collectives counts the verdicts on matched collectives before and after alignment.
type Collectives struct {
	Groups    int      `json:"groups"`
	Unmatched int      `json:"unmatched"`
	Before    Verdicts `json:"before"`
	After     Verdicts `json:"after"`
	Passed    *bool    `json:"passed"`             // no collective is impossible afterwards; null: none could be judged
	Unjudged  int64    `json:"unjudged,omitempty"` // executions beyond the limit, which nobody looked at
}

// Verdicts counts groups by verdict.
type Verdicts struct {
	Violated    int `json:"violated"`
	Consistent  int `json:"consistent"`
	Undecidable int `json:"undecidable"`
}

// passed says whether a set of verdicts passes: nil when none of them says anything.
func (v Verdicts) passed() *bool {
	if v.Violated == 0 && v.Consistent == 0 {
		return nil
	}
	ok := v.Violated == 0
	return &ok
}

// fill copies the counts of alignment into the result.
func (r *NodeResult) fill(s *align.Stats) {
	r.Events = s.Events
	r.EventsCorrected = s.EventsCorrected
	r.EventsClamped = s.EventsClamped
	r.EventsInStep = s.EventsInStep
	r.SnapshotExtrapolations = s.SnapshotExtrapolations
	r.OffsetExtrapolations = s.OffsetExtrapolations
	r.MinCorrectionNS, r.MaxCorrectionNS = s.MinCorrectionNS, s.MaxCorrectionNS
	r.Coverage = s.Coverage()
	r.BoundNS = Bounds{P50: s.Bounds.Quantile(0.5), P99: s.Bounds.Quantile(0.99), Max: s.Bounds.Max()}
	r.Clamps = s.Clamps
}

// takeCounts takes over the counts of o, which writing made, and keeps the rest.
func (r *NodeResult) takeCounts(o *NodeResult) {
	r.Coverage, r.BoundNS, r.Clamps = o.Coverage, o.BoundNS, o.Clamps
	r.Events, r.EventsCorrected, r.EventsDropped = o.Events, o.EventsCorrected, o.EventsDropped
	r.EventsClamped, r.EventsInStep = o.EventsClamped, o.EventsInStep
	r.SnapshotExtrapolations, r.OffsetExtrapolations = o.SnapshotExtrapolations, o.OffsetExtrapolations
	r.MinCorrectionNS, r.MaxCorrectionNS = o.MinCorrectionNS, o.MaxCorrectionNS
}
