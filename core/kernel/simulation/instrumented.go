package simulation

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/observe"
	"github.com/prlx-go/prlx/core/kernel/observe/arena"
	"github.com/prlx-go/prlx/core/kernel/simt"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// Instrumented says where a kernel that records by itself does so.
type Instrumented struct {
	Sites string `json:"sites"` // the table that the kernel was compiled with
	Arena int    `json:"arena"` // the piece of memory of the launch that its scratch pointer points to
	First uint64 `json:"first"` // the first warp that is recorded
	Warps uint64 `json:"warps"` // how many from there on; 0: all
}

// runInstrumented runs a kernel that records by itself, and makes a recording of what it left in its arena.
func runInstrumented(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *Record) (*Document, error) {
	in := r.Instrumented
	if in.Arena < 0 || in.Arena >= len(l.Memory) {
		return nil, fault.Usagef("the launch has no piece of memory %d for its arena", in.Arena)
	}
	table, err := observe.DecodeTable(in.Sites)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	table.NameArguments(names)
	rec, err := newRecorder(p, l, about, r, table)
	if err != nil {
		return nil, err
	}
	defer rec.out.Abort()
	memory := l.Memory[in.Arena].Bytes
	plan := arena.Plan{Warps: slots(l), First: in.First, Wanted: in.Warps, Events: rec.mode != warptrace.ModeDigest, Budget: uint64(r.EventsPerWarp), Known: uint32(len(table.Sums)), Sought: uint32(len(table.Sought))}
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

// collect takes what a kernel left in its arena.
func (s *stored) collect() error {
	r, table := s.recorder, s.table
	a, err := arena.Open(s.memory)
	if err != nil {
		return err
	}
	var out warptrace.Warp
	err = a.Warps(func(w *arena.Warp) error {
		if err := fill(&out, w, table, r.mode == warptrace.ModeDigest); err != nil {
			return err
		}
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
	if a.Uncounted > 0 {
		r.writer.Note(fmt.Sprintf("%d stores and atomics of warps for which the arena had no entry are in no sum", a.Uncounted))
	}
	if a.Elsewhere > 0 {
		r.writer.Note(fmt.Sprintf("%d stores and atomics to no array that is known are in no sum", a.Elsewhere))
	}
	if table.Unseen > 0 {
		r.writer.Note(fmt.Sprintf("what %d instructions of the kernel write is in the digests of the arrays and in no sum of a statement: it does not come from registers", table.Unseen))
	}
	if table.Warning != "" {
		r.writer.Note(table.Warning)
	}
	return nil
}

// fill makes the columns of a recording of what a warp left.
func fill(out *warptrace.Warp, w *arena.Warp, table *observe.Table, digest bool) error {
	out.WarpInfo = warptrace.WarpInfo{Warp: w.Number, Total: w.Total}
	out.Site, out.Kind, out.Dir, out.Aux = out.Site[:0], out.Kind[:0], out.Dir[:0], out.Aux[:0]
	out.Active, out.Taken, out.Value, out.Type = out.Active[:0], out.Taken[:0], out.Value[:0], out.Type[:0]
	if digest {
		out.Rolling, out.HasRolling = w.Hash, true
		return nil
	}
	out.Dropped = w.Total - min(uint64(len(w.Events)), w.Total)
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
