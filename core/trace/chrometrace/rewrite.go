package chrometrace

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// rewriter applies one Edit to the chunks of one trace. It does not change once made; every goroutine takes a Worker.
type rewriter struct {
	trace   *trace
	edit    edit
	origin  int64 // instant from which the cursor counts, ns
	cursor  *clock.Cursor
	outBase int64
	quantum int64
	timing  bool // some time may change, or has to be looked at
	procs   map[string]int
}

// newRewriter prepares an edit. It fails when the edit names processes that the trace does not have.
func newRewriter(t *trace, e edit) (*rewriter, error) {
	r := &rewriter{trace: t, edit: e, origin: t.originNS(), outBase: t.BaseNS, quantum: e.QuantumPS}
	if len(e.Processes) > len(t.Processes) {
		return nil, fault.New(fault.Internal, "edit names %d processes, the trace has %d", len(e.Processes), len(t.Processes)).WithPath(t.Path)
	}
	if e.OutputBaseNS != nil {
		r.outBase = *e.OutputBaseNS
	}
	if r.quantum == 0 {
		if r.quantum = 1000; t.ResolutionPS < 1000 {
			r.quantum = 1
		}
	}
	if r.quantum != 1 && r.quantum != 1000 {
		return nil, fault.New(fault.Internal, "times can be rounded to 1 or 1000 ps, not to %d", r.quantum)
	}
	moved := (e.Clock != nil && !e.Clock.IsIdentity()) || r.outBase != t.BaseNS
	r.timing = moved || e.KeepFromNS != nil || e.KeepToNS != nil || e.CorrectionArg != "" || e.BoundArg != "" || e.Sample
	r.cursor = e.Clock.Cursor(r.origin)
	for i := range e.Processes {
		r.timing = r.timing || e.Processes[i].Clock != nil
	}
	for i := range e.Processes {
		if !e.Processes[i].Zero() {
			r.procs = make(map[string]int, len(t.Processes))
			break
		}
	}
	if r.procs != nil {
		for i, p := range t.Processes {
			r.procs[p.PID] = i
		}
	}
	return r, nil
}

// identity reports whether the edit leaves every chunk as it is.
func (r *rewriter) identity() bool {
	return !r.timing && r.procs == nil && r.edit.IDs.Zero() && !r.edit.DropEmpty
}

// worker rewrites chunks on behalf of one goroutine.
type worker struct {
	*rewriter
	common  *clock.Cursor // of processes without a clock of their own
	cursor  *clock.Cursor // of the event's process
	lex     lexer
	fields  fields
	patches []patch
	text    []byte // the new texts that patches point into
	lastPID []byte
	lastIdx int
	counts  *counts
	strict  bool // what strict JSON forbids is repaired; without it bytes that are not edited are copied as they are

	clock *clock.Map      // of the event's process
	own   []*clock.Cursor // by process, of those that have a clock of their own
}

// patch replaces raw[s:e) by text[ts:te).
type patch struct{ s, e, ts, te int }

// worker returns a new worker.
func (r *rewriter) worker() *worker {
	return &worker{rewriter: r, common: r.cursor.Clone(), lastIdx: -1, lex: lexer{shapes: newShapes()}}
}

// chunk appends the edited text of one chunk to dst and adds to counts what happened. raw holds the bytes [c.Offset, c.End) of
// the source. The text appended starts with the brace of the first event kept and ends with the brace of the last; nothing
// is appended, and counts.Kept does not grow, when no event is kept. The result depends on raw and the edit alone.
func (w *worker) chunk(dst, raw []byte, c *chunk, counts *counts) ([]byte, error) {
	w.counts, w.lex.b = counts, raw
	w.lex.lenient = leniency{}
	f := &w.fields
	copied, kept, i := 0, false, 0
	ended := 0 // where the last element, kept or not, ended
	for i < len(raw) {
		r := w.parse(i)
		if r < 0 {
			return dst, w.changed(c, r)
		}
		keep, err := w.element(f, c)
		if err != nil {
			return dst, err
		}
		if keep {
			if !kept { // what stands before the first event kept goes with the events that were dropped
				copied, kept = f.start, true
			}
			counts.Kept++
			dst = w.apply(dst, raw, &copied)
		} else {
			if kept {
				dst = append(dst, raw[copied:max(copied, ended)]...)
			}
			copied = f.end
		}
		ended = f.end
		if i, err = w.separator(r, c); err != nil {
			return dst, err
		}
	}
	if kept {
		dst = append(dst, raw[copied:]...)
	}
	return dst, nil
}

// parse reads the element of the list at i, an event or a null, into w.fields.
func (w *worker) parse(i int) int {
	b := w.lex.b
	if b[i] == '{' {
		return w.lex.event(i, &w.fields)
	}
	end := i + len("null")
	if end > len(b) || string(b[i:end]) != "null" {
		return badAt(i)
	}
	w.fields = fields{start: i, last: i, end: end}
	return end
}

// separator skips the comma between two events.
func (w *worker) separator(i int, c *chunk) (int, error) {
	b := w.lex.b
	if i = w.lex.space(i); i >= len(b) {
		return i, nil
	}
	if b[i] != ',' {
		return i, w.changed(c, badAt(i))
	}
	if i = w.lex.space(i + 1); i >= len(b) {
		return i, w.changed(c, incomplete)
	}
	return i, nil
}

// changed is the error for text that Scan has read without complaint.
func (w *worker) changed(c *chunk, r int) error {
	at := c.End
	if r < incomplete {
		at = c.Offset + int64(badPos(r))
	}
	return fault.Formatf(w.trace.Path, at, "the file has changed since it was scanned").WithHint("wait until its writer is done, then try again")
}

// element decides whether an event stays and collects the patches for it.
func (w *worker) element(f *fields, c *chunk) (keep bool, err error) {
	w.patches, w.text = w.patches[:0], w.text[:0]
	if f.empty() {
		if w.edit.DropEmpty {
			w.counts.Empty++
		}
		return !w.edit.DropEmpty, nil
	}
	b := w.lex.b
	w.counts.Events++
	if w.strict && f.placeless(b) {
		w.counts.Placeless++
		return false, nil
	}
	var p *processEdit
	if w.procs != nil && f.at[fieldPID].set() {
		if p, err = w.process(f.at[fieldPID].of(b), c, f); err != nil {
			return false, err
		}
	}
	metadata := f.phase(b) == 'M'
	w.choose(p)
	if (p != nil && p.Drop) || (w.timing && f.at[fieldTS].set() && !w.time(f, metadata)) {
		w.counts.Dropped++
		return false, nil
	}
	if p != nil {
		if p.PID != "" {
			w.patch(f.at[fieldPID], p.PID)
		}
		if len(p.TIDs) > 0 && f.at[fieldTID].set() {
			if to, ok := p.TIDs[string(f.at[fieldTID].of(b))]; ok {
				w.patch(f.at[fieldTID], to)
			}
		}
		if metadata {
			w.describe(f, p)
		}
	}
	if !w.edit.IDs.Zero() {
		w.ids(f)
	}
	return true, nil
}

// choose takes the clock of an event's process.
func (w *worker) choose(p *processEdit) {
	if p == nil || p.Clock == nil {
		w.clock, w.cursor = w.edit.Clock, w.common
		return
	}
	if w.own == nil {
		w.own = make([]*clock.Cursor, len(w.edit.Processes))
	}
	if w.own[w.lastIdx] == nil {
		w.own[w.lastIdx] = p.Clock.Cursor(w.origin)
	}
	w.clock, w.cursor = p.Clock, w.own[w.lastIdx]
}

// process finds the edit of an event's process, nil when there is none.
func (w *worker) process(pid []byte, c *chunk, f *fields) (*processEdit, error) {
	if w.lastIdx < 0 || string(pid) != string(w.lastPID) {
		i, ok := w.procs[string(pid)]
		if !ok {
			return nil, w.changed(c, badAt(int(f.at[fieldPID].s)))
		}
		w.lastPID, w.lastIdx = append(w.lastPID[:0], pid...), i
	}
	if w.lastIdx >= len(w.edit.Processes) {
		return nil, nil
	}
	return &w.edit.Processes[w.lastIdx], nil
}

// patch records that a value is replaced by new text, unless it says that already.
func (w *worker) patch(at span, text string) {
	if string(at.of(w.lex.b)) == text {
		return
	}
	ts := len(w.text)
	w.text = append(w.text, text...)
	w.patches = append(w.patches, patch{int(at.s), int(at.e), ts, len(w.text)})
}

// patched records that a value is replaced by the text appended to w.text since from.
func (w *worker) patched(at span, from int) {
	w.patches = append(w.patches, patch{int(at.s), int(at.e), from, len(w.text)})
}

// apply copies raw up to the end of the last patch, patches applied in the order of their places.
func (w *worker) apply(dst, raw []byte, copied *int) []byte {
	ps := w.patches
	for i := 1; i < len(ps); i++ { // insertion: there are a handful, mostly in order
		for j := i; j > 0 && ps[j].s < ps[j-1].s; j-- {
			ps[j], ps[j-1] = ps[j-1], ps[j]
		}
	}
	for _, p := range ps {
		dst = append(dst, raw[*copied:p.s]...)
		dst = append(dst, w.text[p.ts:p.te]...)
		*copied = p.e
	}
	return dst
}

// describe patches the names and the order that a metadata event gives to its process.
func (w *worker) describe(f *fields, p *processEdit) {
	b := w.lex.b
	switch string(textOf(f.at[fieldName].of(b))) {
	case "process_name":
		if p.Name != nil {
			w.arg(f, "name", quote(*p.Name))
		}
	case "process_labels":
		if p.Labels != nil {
			w.arg(f, "labels", quote(*p.Labels))
		}
	case "process_sort_index":
		if p.SortIndex != nil {
			w.arg(f, "sort_index", fmt.Sprint(*p.SortIndex))
		}
	}
}

func (w *worker) arg(f *fields, key, text string) {
	if at, ok := lookup(&w.lex, f.at[fieldArgs], key); ok {
		w.patch(at, text)
	}
}

func quote(s string) string { return string(appendString(nil, s)) }

// added appends the metadata events for names and orders that the edit sets and the trace does not have, separated by
// commas, and returns how many.
func (r *rewriter) added(dst []byte) ([]byte, int) {
	n := 0
	add := func(pid, tid, name, key, text string) {
		if n > 0 {
			dst = append(dst, ",\n"...)
		}
		n++
		dst = append(dst, `{"ph":"M","name":"`...)
		dst = append(dst, name...)
		dst = append(dst, `","pid":`...)
		dst = append(dst, pid...)
		dst = append(append(dst, `,"tid":`...), tid...)
		dst = append(dst, `,"args":{"`...)
		dst = append(dst, key...)
		dst = append(dst, `":`...)
		dst = append(dst, text...)
		dst = append(dst, "}}"...)
	}
	for i := range r.edit.Processes {
		e, p := &r.edit.Processes[i], r.trace.Processes[i]
		if e.Drop {
			continue
		}
		pid := p.PID
		if e.PID != "" {
			pid = e.PID
		}
		if e.Name != nil && !p.HasName {
			add(pid, "0", "process_name", "name", quote(*e.Name))
		}
		if e.Labels != nil && !p.HasLabels {
			add(pid, "0", "process_labels", "labels", quote(*e.Labels))
		}
		if e.SortIndex != nil && !p.HasSortIndex {
			add(pid, "0", "process_sort_index", "sort_index", fmt.Sprint(*e.SortIndex))
		}
		for _, th := range p.Threads {
			name := string(textOf([]byte(th.TID)))
			if to, ok := e.TIDs[th.TID]; ok && th.Name == "" && name != "" {
				add(pid, to, "thread_name", "name", quote(name))
			}
		}
	}
	return dst, n
}
