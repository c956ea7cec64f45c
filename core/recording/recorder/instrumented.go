package recorder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Instrumented says how a kernel records by itself.
type Instrumented struct {
	Sites string `json:"sites"` // the table that the kernel was compiled with
	Arena int    `json:"arena"` // the piece of memory of a simulated launch that its scratch pointer points to

	Last       bool    `json:"last"`        // of each warp the last EventsPerWarp events are kept, not the first ones
	SampleRate uint32  `json:"sample_rate"` // of the events of a warp at a site the first of so many is kept; 0, 1: every one
	Plan       bool    `json:"plan"`        // nothing is recorded: the launch counts its events, and says what recording them would take
	Depth      uint32  `json:"depth"`       // operands are kept at the first so many visits of each site by a warp; 0: at all
	Window     *Window `json:"window"`      // EventsPerWarp events around one are kept; nil: around none
}

// Window is around the event of each warp that is the n-th at a site.
type Window struct {
	Site       string `json:"site"`       // its key, as recordings print it
	Occurrence uint32 `json:"occurrence"` // from 0
	After      uint64 `json:"after"`      // events that are kept behind it
}

// modes says which events of a warp are kept where not all are.
func (in *Instrumented) modes(plan *arena.Plan, table *observe.Table) error {
	if plan.Last, plan.Rate = in.Last, in.SampleRate; in.Window == nil {
		return nil
	}
	if in.Last || in.SampleRate > 1 {
		return fault.Usagef("a window around an event is kept whole: neither the last events nor one of several")
	}
	for i := range table.Sites {
		if hex(uint64(table.Sites[i].Key)) == in.Window.Site {
			plan.Window = &arena.Window{Site: uint32(i), Occurrence: in.Window.Occurrence, After: in.Window.After}
			return nil
		}
	}
	return fault.Usagef("the kernel has no site %s", in.Window.Site).WithHint("a recording of the kernel lists its sites")
}

// keep is which events survive; of a kernel that is observed (nil), the first ones.
func (in *Instrumented) keep() warptrace.Keep {
	switch {
	case in == nil:
		return warptrace.KeepFirst
	case in.Window != nil:
		return warptrace.KeepWindow
	case in.Last:
		return warptrace.KeepLast
	}
	return warptrace.KeepFirst
}

// rate is of how many events one is kept.
func (in *Instrumented) rate() uint32 {
	if in == nil {
		return 1
	}
	return max(in.SampleRate, 1)
}

// Arena is the arena of one launch of a kernel that records by itself.
type Arena struct {
	Table  *observe.Table // what the kernel was compiled with
	Plan   arena.Plan     // what the arena is to be
	Memory []byte

	request *Record
	mode    warptrace.Mode
	totals  map[[2]uint32]*warptrace.StoreTotal
	crowded uint64 // operands that a recording has no room for
	inNoSum uint64 // stores that are in no sum, at least
}

// NewArena says what an arena of some memory is to be: of a launch that is recorded as r says, with names for all parameters of the kernel, those
// that the compiler added included. It writes nothing: see Prepare.
func NewArena(l *Launch, r *Record, names []string, memory []byte) (*Arena, error) {
	mode, err := r.Check()
	if err != nil {
		return nil, err
	}
	in := r.Instrumented
	if in == nil {
		return nil, fault.Usagef("nothing says with which table of sites the kernel was compiled")
	}
	table, err := observe.DecodeTable(in.Sites)
	if err != nil {
		return nil, err
	}
	if mode == warptrace.ModeValues && !table.Values {
		return nil, fault.Usagef("the kernel was not compiled to record values")
	}
	if (mode == warptrace.ModeDigest) != table.Digest && !in.Plan {
		return nil, fault.Usagef("the kernel was compiled to record %s, and mode is %s", map[bool]string{true: "digests alone", false: "events"}[table.Digest], cmp.Or(r.Mode, "control-flow"))
	}
	table.NameArguments(names)
	plan := arena.Plan{
		Warps: l.warps(), Events: mode != warptrace.ModeDigest, Budget: uint64(r.EventsPerWarp), Lanes: l.Lanes,
		Sought: uint32(len(table.Sought)), Sites: uint32(len(table.Sites)), Operands: mode == warptrace.ModeValues, Depth: in.Depth,
	}
	for _, sum := range table.Sums {
		plan.Known = append(plan.Known, sum.Array)
	}
	if n := len(r.Warps); n > 0 { // all between the first and the last of them
		plan.First, plan.Wanted = r.Warps[0][0], r.Warps[n-1][1]-r.Warps[0][0]+1
	}
	if err := in.modes(&plan, table); err != nil {
		return nil, err
	}
	return &Arena{Table: table, Plan: plan, Memory: memory, request: r, mode: mode}, nil
}

// Prepare writes what the kernel finds in its arena, for a launch that may write some arrays. The memory must be zeros.
func (a *Arena) Prepare(arrays []arena.Array) error {
	a.Plan.Arrays = arrays
	return arena.Prepare(a.Memory, a.Plan)
}

// Collect gives a recorder what a kernel left.
func (a *Arena) Collect(r *Recorder) error {
	left, err := arena.Open(a.Memory)
	if err != nil {
		return err
	}
	var out warptrace.Warp
	err = left.Warps(func(w *arena.Warp) error {
		if !a.request.Warps.Has(w.Number) {
			return nil
		}
		if err := a.fill(&out, w); err != nil {
			return err
		}
		a.snapshots(&out, w)
		out.Stores = a.sums(out.Stores[:0], w)
		return r.Warp(&out)
	})
	if err != nil {
		return err
	}
	a.note(r.writer.Note, left)
	return nil
}

// Write makes a recording of what a kernel left in its arena, wherever it ran. Nobody saw which bytes it wrote: the recording has the sums
// of its statements and no array, but what the memory behind arguments held, or why that is not known.
func Write(l *Launch, r *Record, a *Arena, held []warptrace.Held, notHeld string) (*Recorded, error) {
	rec, err := New(l, r, site.NewTable(a.Table.Sites), warptrace.MeansInstrumented)
	if err != nil {
		return nil, err
	}
	defer rec.Abort()
	rec.Note(a.Table.Warning)
	rec.Note(notHeld)
	if err := a.Collect(rec); err != nil {
		return nil, err
	}
	if !r.NoWritten {
		o := &warptrace.Outputs{Coverage: warptrace.Coverage{Values: rec.mode == warptrace.ModeValues, ContentsAfter: len(held) > 0}, Held: held}
		a.Stored(o)
		a.name(o, l.Arguments)
		if err := rec.Outputs(o); err != nil {
			return nil, err
		}
	}
	return rec.Commit()
}

// name lists the arrays that something was stored to, so that sums of different recordings are of the same ones. What is in them nobody looked at.
func (a *Arena) name(o *warptrace.Outputs, arguments []warptrace.Argument) {
	for i := range o.Stores {
		id := o.Stores[i].Array
		if int(id) >= len(arguments) || o.ArrayByID(id) != nil {
			continue
		}
		of := &arguments[id]
		o.Arrays = append(o.Arrays, warptrace.Array{ID: id, Name: of.Name, Type: of.Type, ElementBytes: warptrace.ElementBytes(of.Type)})
	}
	slices.SortFunc(o.Arrays, func(x, y warptrace.Array) int { return cmp.Compare(x.ID, y.ID) })
}

// note says what is not in the recording.
func (a *Arena) note(note func(string), left *arena.Arena) {
	if left.Outside > 0 {
		note(fmt.Sprintf("%d events of warps for which the arena had no entry were lost", left.Outside))
	}
	if left.Full > 0 {
		note(fmt.Sprintf("%d events were lost because the arena of %d bytes was full", left.Full, len(a.Memory)))
	}
	a.lostOperands(note, left)
	a.inNoSum = left.Uncounted + left.Elsewhere + uint64(max(a.Table.Unseen, 0))
	if left.Uncounted > 0 {
		note(fmt.Sprintf("%d stores and atomics of warps for which the arena had no entry are in no sum", left.Uncounted))
	}
	if left.Elsewhere > 0 {
		note(fmt.Sprintf("%d stores and atomics to no array that is known are in no sum", left.Elsewhere))
	}
	if a.Table.Unseen > 0 {
		note(fmt.Sprintf("what %d instructions of the kernel write is in the digests of the arrays and in no sum of a statement: it does not come from registers", a.Table.Unseen))
	}
}

// fill makes the columns of a recording of what a warp left.
func (a *Arena) fill(out *warptrace.Warp, w *arena.Warp) error {
	out.WarpInfo = warptrace.WarpInfo{Warp: w.Number, Total: w.Total}
	out.Site, out.Kind, out.Dir, out.Aux = out.Site[:0], out.Kind[:0], out.Dir[:0], out.Aux[:0]
	out.Snapshots = out.Snapshots[:0]
	out.Active, out.Taken, out.Value, out.Type = out.Active[:0], out.Taken[:0], out.Value[:0], out.Type[:0]
	if a.mode == warptrace.ModeDigest {
		out.Rolling, out.HasRolling = w.Hash, true
		return nil
	}
	out.Dropped = w.Total - min(uint64(len(w.Events))+w.Left, w.Total)
	out.Before = min(w.Before, out.Dropped)
	for i := range w.Events {
		e := &w.Events[i]
		if int(e.Site) >= len(a.Table.Sites) {
			return fault.New(fault.Format, "warp %d passed site %d, and the kernel has %d", w.Number, e.Site, len(a.Table.Sites))
		}
		dir := uint8(0)
		if e.Active != 0 && e.Taken&(e.Active&-e.Active) != 0 {
			dir = 1
		}
		out.Site = append(out.Site, e.Site)
		out.Kind = append(out.Kind, a.Table.Sites[e.Site].Kind)
		out.Dir = append(out.Dir, dir)
		out.Aux = append(out.Aux, 0)
		out.Active = append(out.Active, e.Active)
		out.Taken = append(out.Taken, e.Taken)
		out.Value = append(out.Value, e.Value)
		out.Type = append(out.Type, a.Table.Types[e.Site])
	}
	return nil
}

// Wanted reports whether a warp is recorded.
func (a *Arena) Wanted(number uint64) bool { return a.request.Warps.Has(number) }
