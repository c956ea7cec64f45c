package simulation

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
)

// Instrumented says where a kernel that records by itself does so.
type Instrumented struct {
	Sites string `json:"sites"` // the table that the kernel was compiled with
	Arena int    `json:"arena"` // the piece of memory of the launch that its scratch pointer points to

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

// runInstrumented runs a kernel that records by itself, and makes a recording of what it left in its arena.
func runInstrumented(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *Record) (*Document, error) {
	if r.Instrumented.Plan {
		return runPlanned(j, p, l, about, r)
	}
	table, plan, memory, err := r.Instrumented.prepared(l, r)
	if err != nil {
		return nil, err
	}
	rec, err := newRecorder(p, l, about, r, table)
	if err != nil {
		return nil, err
	}
	defer rec.out.Abort()
	if table.Warning != "" {
		rec.writer.Note(table.Warning)
	}
	if err := arena.Prepare(memory, plan); err != nil {
		return nil, err
	}
	kept := &stored{recorder: rec, table: table, plan: &plan, memory: memory}
	result, err := p.Observe(j, l, kept.recording(), kept.observers)
	if err != nil {
		return nil, err
	}
	if err := kept.finish(); err != nil {
		return nil, err
	}
	doc := Describe(l, about.Number, result)
	doc.Recording, err = rec.commit()
	return doc, err
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

// collect takes what a kernel left in its arena.
func (s *stored) collect() error {
	r, table := s.recorder, s.table
	a, err := arena.Open(s.memory)
	if err != nil {
		return err
	}
	var out warptrace.Warp
	err = a.Warps(func(w *arena.Warp) error {
		if !r.request.Warps.Has(w.Number) {
			return nil
		}
		if err := fill(&out, w, table, r.mode == warptrace.ModeDigest); err != nil {
			return err
		}
		s.snapshots(&out, w)
		out.Stores = s.sums(out.Stores[:0], w)
		r.left += uint64(max(len(out.Stores)-r.writer.StoreRoom(), 0))
		r.done.Warps++
		r.done.Events += int64(out.Len())
		return r.writer.Append(&out)
	})
	if err != nil {
		return err
	}
	if a.Outside > 0 {
		r.writer.Note(fmt.Sprintf("%d events of warps for which the arena had no entry were lost", a.Outside))
	}
	if a.Full > 0 {
		r.writer.Note(fmt.Sprintf("%d events were lost because the arena of %d bytes was full", a.Full, len(s.memory)))
	}
	s.lostOperands(a)
	s.inNoSum = a.Uncounted + a.Elsewhere + uint64(max(table.Unseen, 0))
	if a.Uncounted > 0 {
		r.writer.Note(fmt.Sprintf("%d stores and atomics of warps for which the arena had no entry are in no sum", a.Uncounted))
	}
	if a.Elsewhere > 0 {
		r.writer.Note(fmt.Sprintf("%d stores and atomics to no array that is known are in no sum", a.Elsewhere))
	}
	if table.Unseen > 0 {
		r.writer.Note(fmt.Sprintf("what %d instructions of the kernel write is in the digests of the arrays and in no sum of a statement: it does not come from registers", table.Unseen))
	}
	return nil
}

// fill makes the columns of a recording of what a warp left.
func fill(out *warptrace.Warp, w *arena.Warp, table *observe.Table, digest bool) error {
	out.WarpInfo = warptrace.WarpInfo{Warp: w.Number, Total: w.Total}
	out.Site, out.Kind, out.Dir, out.Aux = out.Site[:0], out.Kind[:0], out.Dir[:0], out.Aux[:0]
	out.Snapshots = out.Snapshots[:0]
	out.Active, out.Taken, out.Value, out.Type = out.Active[:0], out.Taken[:0], out.Value[:0], out.Type[:0]
	if digest {
		out.Rolling, out.HasRolling = w.Hash, true
		return nil
	}
	out.Dropped = w.Total - min(uint64(len(w.Events))+w.Left, w.Total)
	out.Before = min(w.Before, out.Dropped)
	for i := range w.Events {
		e := &w.Events[i]
		if int(e.Site) >= len(table.Sites) {
			return fault.New(fault.Format, "warp %d passed site %d, and the kernel has %d", w.Number, e.Site, len(table.Sites))
		}
		dir := uint8(0)
		if e.Active != 0 && e.Taken&(e.Active&-e.Active) != 0 {
			dir = 1
		}
		t := table.Types[e.Site]
		out.Site = append(out.Site, e.Site)
		out.Kind = append(out.Kind, table.Sites[e.Site].Kind)
		out.Dir = append(out.Dir, dir)
		out.Aux = append(out.Aux, 0)
		out.Active = append(out.Active, e.Active)
		out.Taken = append(out.Taken, e.Taken)
		out.Value = append(out.Value, e.Value)
		out.Type = append(out.Type, t)
	}
	return nil
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
