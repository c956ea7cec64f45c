package simulation

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
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
func runPlanned(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *Record) (*Document, error) {
	table, plan, memory, err := r.Instrumented.prepared(l, r)
	if err != nil {
		return nil, err
	}
	counting := plan
	counting.Events, counting.Rate, counting.Window, counting.Last = false, 0, nil, false
	var failed error
	result, err := p.Observe(j, l, &simt.Recording{
		Mode: warptrace.ModeDigest, Written: true, Only: true, Leave: ours, Warp: func(*warptrace.Warp) error { return nil },
		Arrays: func(places []simt.Place) {
			plan.Arrays = arraysOf(places)
			counting.Arrays = plan.Arrays
			failed = arena.Prepare(memory, counting)
		},
		Outputs:  func(*warptrace.Outputs) error { return failed },
		Contents: func(*warptrace.Contents) error { return nil },
	}, nil)
	if err != nil {
		return nil, err
	}
	doc := Describe(l, about.Number, result)
	doc.Planned, err = r.planned(table, &plan, memory)
	return doc, err
}

// planned reads what was counted.
func (r *Record) planned(table *observe.Table, plan *arena.Plan, memory []byte) (*Planned, error) {
	a, err := arena.Open(memory)
	if err != nil {
		return nil, err
	}
	var totals []uint64
	if err := a.Warps(func(w *arena.Warp) error {
		if r.Warps.Has(w.Number) {
			totals = append(totals, w.Total)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	need := plan.Need(totals, uint64(len(memory)))
	if r.Warps == nil {
		need.Events += a.Outside
	}
	return &Planned{
		Sites: len(table.Sites), Unseen: table.Unseen, Warning: table.Warning, Warps: need.Warps, WarpBytes: need.WarpBytes, Bytes: need.Bytes,
		ArenaBytes: uint64(len(memory)), Events: need.Events, MostEvents: need.MostEvents, NotAskedFor: need.NotAskedFor, LostEvents: need.LostEvents,
		LostWarps: need.LostWarps, LostOperands: need.LostOperands, EventsCounted: a.Outside == 0, OperandBytes: need.OperandBytes, SumBytes: need.SumBytes,
	}, nil
}

// prepared is the table of a kernel that records by itself, what its arena is to be, and the memory of that.
func (in *Instrumented) prepared(l *simt.Launch, r *Record) (*observe.Table, arena.Plan, []byte, error) {
	fail := func(err error) (*observe.Table, arena.Plan, []byte, error) { return nil, arena.Plan{}, nil, err }
	if in.Arena < 0 || in.Arena >= len(l.Memory) {
		return fail(fault.Usagef("the launch has no piece of memory %d for its arena", in.Arena))
	}
	mode, ok := modes[r.Mode]
	if !ok {
		return fail(fault.Usagef("there is no mode %q", r.Mode).WithHint("digest, control-flow or values"))
	}
	if err := r.Warps.Check(); err != nil {
		return fail(fault.Usagef("%v", err))
	}
	table, err := observe.DecodeTable(in.Sites)
	if err != nil {
		return fail(err)
	}
	if mode == warptrace.ModeValues && !table.Values {
		return fail(fault.Usagef("the kernel was not compiled to record values"))
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	table.NameArguments(names)
	plan := arena.Plan{
		Warps: slots(l), Events: mode != warptrace.ModeDigest, Budget: uint64(r.EventsPerWarp),
		Sought: uint32(len(table.Sought)), Sites: uint32(len(table.Sites)), Operands: mode == warptrace.ModeValues, Depth: in.Depth,
	}
	for _, sum := range table.Sums {
		plan.Known = append(plan.Known, sum.Array)
	}
	if n := len(r.Warps); n > 0 { // all between the first and the last of them
		plan.First, plan.Wanted = r.Warps[0][0], r.Warps[n-1][1]-r.Warps[0][0]+1
	}
	return table, plan, l.Memory[in.Arena].Bytes, in.modes(&plan, table)
}
