package simulation

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
)

// Planned is what a recording of a launch by the kernel itself would take, and what it would lose. The launch ran and counted its events;
// nothing was recorded.
type Planned struct {
	Sites         int    `json:"sites"`          // of the kernel
	Unseen        int    `json:"unseen"`         // instructions that write global memory and are in no sum
	Warps         uint64 `json:"warps"`          // that are wanted
	WarpBytes     uint64 `json:"warp_bytes"`     // that each warp takes, whatever it passes
	Bytes         uint64 `json:"bytes"`          // that keep everything that is asked for
	ArenaBytes    uint64 `json:"arena_bytes"`    // that there are
	Events        uint64 `json:"events"`         // that happen
	MostEvents    uint64 `json:"most_events"`    // of one warp
	NotAskedFor   uint64 `json:"not_asked_for"`  // events that a limit, a ring or sampling leaves out; of sampling about
	LostEvents    uint64 `json:"lost_events"`    // for which there is no room, at most
	LostWarps     uint64 `json:"lost_warps"`     // that have no entry
	LostOperands  uint64 `json:"lost_operands"`  // events whose operands find no room, at least; of values
	Warning       string `json:"warning"`        // what is not recorded of the kernel, "" nothing
	EventsCounted bool   `json:"events_counted"` // false: the arena has no room to count those of all warps
	OperandBytes  uint64 `json:"operand_bytes"`  // of Bytes: what operands take, where each event has those of one element
	SumBytes      uint64 `json:"sum_bytes"`      // of Bytes: what sums take
}

// runPlanned runs a kernel that records by itself, has it count its events, and says what a recording of it would take.
func runPlanned(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *recorder.Record) (*Document, error) {
	left, err := arenaOf(about.launch(l), l, r)
	if err != nil {
		return nil, err
	}
	counting := left.Plan
	counting.Events, counting.Rate, counting.Window, counting.Last = false, 0, nil, false
	var failed error
	result, err := p.Observe(j, l, &simt.Recording{
		Mode: warptrace.ModeDigest, Written: true, Only: true, Leave: ours, Apart: r.Instrumented.Arena + 1, Warp: func(*warptrace.Warp) error { return nil },
		Arrays: func(places []simt.Place) {
			left.Plan.Arrays = arraysOf(places)
			counting.Arrays = left.Plan.Arrays
			failed = arena.Prepare(left.Memory, counting)
		},
		Outputs:  func(*warptrace.Outputs) error { return failed },
		Contents: func(*warptrace.Contents) error { return nil },
	}, nil)
	if err != nil {
		return nil, err
	}
	doc := describe(l, &about, result)
	doc.Planned, err = planned(left)
	return doc, err
}

// planned reads what was counted.
func planned(left *recorder.Arena) (*Planned, error) {
	a, err := arena.Open(left.Memory)
	if err != nil {
		return nil, err
	}
	var totals []uint64
	if err := a.Warps(func(w *arena.Warp) error {
		if left.Wanted(w.Number) {
			totals = append(totals, w.Total)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	size := uint64(len(left.Memory))
	need := left.Plan.Need(totals, size)
	if left.Plan.Wanted == 0 {
		need.Events += a.Outside
	}
	return &Planned{
		Sites: len(left.Table.Sites), Unseen: left.Table.Unseen, Warning: left.Table.Warning, Warps: need.Warps, WarpBytes: need.WarpBytes, Bytes: need.Bytes,
		ArenaBytes: size, Events: need.Events, MostEvents: need.MostEvents, NotAskedFor: need.NotAskedFor, LostEvents: need.LostEvents,
		LostWarps: need.LostWarps, LostOperands: need.LostOperands, EventsCounted: a.Outside == 0, OperandBytes: need.OperandBytes, SumBytes: need.SumBytes,
	}, nil
}
