// Package nsys reads what Nsight Systems recorded, from the SQLite database that `nsys export --type sqlite` writes: kernels, copies, fills and
// graph launches of GPUs, calls of the CUDA runtime and NVTX ranges of threads. docs/formats/nsys.md says which tables and columns.
//
// All times are on one clock, that of the session, which nsys has put GPUs and hosts on.
package nsys

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// Format is the database in the table of formats.
var Format = source.Format{
	Name: "nsys", Title: "Nsight Systems database", Kind: format.Nsight, Endings: []string{".sqlite"},
	Blank: func() source.Trace { return &trace{} },
	Scan: func(ctx context.Context, src *file.Source, _ source.ScanOptions) (source.Trace, error) {
		t := &trace{}
		return t, t.scan(ctx, src)
	},
	Work: readWork,
}

var (
	_ source.ByLine = (*trace)(nil)
	_ source.Linked = (*trace)(nil)
	_ source.Active = (*trace)(nil)
)

// trace is one database, scanned.
type trace struct {
	Said      source.Facts
	Processes []source.Process
	Places    map[lane]spot // of the lines
}

// lane is what tells lines apart: streams of a GPU, threads of a host.
type lane struct {
	PID, Device, Context, Number int64 // Device is -1 for a thread, Number the stream or the thread
}

// spot is where a line stands in the layout.
type spot struct{ Process, Line int32 }

// maxLanes is how many lines a database may have.
const maxLanes = 1 << 16

// scanner summarises lines.
type scanner struct {
	t     *trace
	book  *book
	lines map[lane]*source.Line
	last  lane
	line  *source.Line
	end   map[*source.Line]int64 // start of the event before, ps
	lost  int64                  // rows whose times cannot be
}

// scan reads all rows once and summarises the lines.
func (t *trace) scan(ctx context.Context, src *file.Source) error {
	b, err := open(ctx, src)
	if err != nil {
		return err
	}
	if err := t.facts(ctx, b); err != nil {
		return err
	}
	s := &scanner{t: t, book: b, lines: map[lane]*source.Line{}, end: map[*source.Line]int64{}}
	for _, v := range b.views {
		if err := b.db.Read(ctx, v.table, func(r *sqlite.Row) error { return s.row(v, r) }); err != nil {
			return err
		}
	}
	return s.layout(ctx)
}

// facts reads what the database says of the whole.
func (t *trace) facts(ctx context.Context, b *book) error {
	f := &t.Said
	*f = source.Facts{Counts: map[string]int64{}}
	err := b.each(ctx, "TARGET_INFO_SESSION_START_TIME", func(r *sqlite.Row, col func(string) int) {
		f.StartNS = r.Int(col("utcEpochNs"))
	})
	if err != nil {
		return err
	}
	if f.HasStart = f.StartNS >= source.AbsoluteNS; f.HasStart {
		f.Dated = true
	} else {
		f.StartNS, f.Undated = 0, "TARGET_INFO_SESSION_START_TIME"
	}
	err = b.each(ctx, "TARGET_INFO_SYSTEM_ENV", func(r *sqlite.Row, col func(string) int) {
		if string(r.Text(col("name"))) == "Hostname" && len(f.Hosts) == 0 {
			f.Hosts = []string{string(r.Text(col("value")))}
		}
	})
	if err != nil {
		return err
	}
	if f.Rank, err = b.rank(ctx); err != nil {
		return err
	}
	if unused := b.unused(ctx); len(unused) > 0 {
		f.Warnings = append(f.Warnings, "prlx does not use these tables of the database: "+strings.Join(unused, ", "))
	}
	if b.holds(ctx, b.db.Table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")) {
		f.Warnings = append(f.Warnings, "CUDA graphs were recorded as wholes, without the kernels in them: nsys profile --cuda-graph-trace=node shows them")
	}
	return nil
}

// row adds a row to its line. One whose time cannot be is no event, and is counted.
func (s *scanner) row(v *view, r *sqlite.Row) error {
	at, dur, timed := v.time(r)
	if !timed {
		s.lost++
		s.t.Said.Losses = []string{"events whose times are missing, run backwards or lie more than 100 days from the start: " + strconv.FormatInt(s.lost, 10)}
		return nil
	}
	lane := v.lane(r)
	if s.line == nil || lane != s.last {
		line := s.lines[lane]
		if line == nil {
			if len(s.lines) >= maxLanes {
				return fault.New(fault.Limit, "more than %d streams and threads", maxLanes).WithPath(s.book.path)
			}
			line = &source.Line{TimestampNS: s.t.Said.StartNS, Summarised: true, Sorted: true}
			s.lines[lane] = line
		}
		s.last, s.line = lane, line
	}
	l, f := s.line, &s.t.Said
	f.Events++
	f.Counts["cat "+v.role.category()]++
	if l.Timed() == 0 || at < l.MinOffsetPS {
		l.MinOffsetPS = at
	}
	l.Sorted = l.Sorted && (l.Timed() == 0 || at >= s.end[l])
	s.end[l] = at
	l.Events++
	l.MaxEndPS = max(l.MaxEndPS, at+dur)
	start, end := source.After(f.StartNS, at), source.After(f.StartNS, at+dur)
	if f.Timed == 0 || start.Before(f.First) {
		f.First = start
	}
	if f.Timed++; f.Last.Before(end) {
		f.Last, f.StopNS = end, end.NS
	}
	return nil
}

// layout orders the lines: GPUs, then processes of the host.
func (s *scanner) layout(ctx context.Context) error {
	names, err := s.book.names(ctx)
	if err != nil {
		return err
	}
	keys := make([]lane, 0, len(s.lines))
	for k := range s.lines {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b lane) int {
		onHost := func(k lane) int {
			if k.Device < 0 {
				return 1
			}
			return 0
		}
		return cmp.Or(onHost(a)-onHost(b), cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Context, b.Context), cmp.Compare(a.Number, b.Number))
	})
	s.t.Places = make(map[lane]spot, len(keys))
	var before lane
	for i, k := range keys {
		if i == 0 || k.PID != before.PID || k.Device != before.Device {
			s.t.Processes = append(s.t.Processes, s.process(k, keys, names))
		}
		before = k
		p := &s.t.Processes[len(s.t.Processes)-1]
		l := s.lines[k]
		l.Index = len(p.Lines)
		l.ID, l.DisplayID, l.TextID = k.Number, k.Number, strconv.FormatInt(k.Number, 10)
		l.Name = names.line(k)
		if k.Device >= 0 && s.contexts(k, keys) {
			l.Name = fmt.Sprintf("%s of context %d", l.Name, k.Context)
		}
		l.DurationPS = l.MaxEndPS
		p.Lines = append(p.Lines, l)
		p.Events += l.Events
		s.t.Places[k] = spot{int32(p.Index), int32(l.Index)}
	}
	if s.t.ranks() > 1 {
		s.t.Said.Rank = nil
	}
	return nil
}

// process begins a process of the layout.
func (s *scanner) process(k lane, keys []lane, names *names) source.Process {
	index := len(s.t.Processes)
	p := source.Process{Index: index, ID: int64(index + 1), TextID: strconv.Itoa(index + 1), GPU: -1, Device: -1}
	if k.Device < 0 {
		p.Name = fmt.Sprintf("/host:CPU %s %d", cmp.Or(names.processes[k.PID], "process"), k.PID)
		return p
	}
	p.Name, p.GPU, p.Labels = fmt.Sprintf("/device:GPU:%d", k.Device), int(k.Device), names.gpus[k.Device]
	if slices.ContainsFunc(keys, func(o lane) bool { return o.Device == k.Device && o.PID != k.PID }) {
		p.Name += fmt.Sprintf(" process %d", k.PID)
	}
	return p
}

// contexts reports whether a process has streams of several contexts on a GPU.
func (s *scanner) contexts(k lane, keys []lane) bool {
	return slices.ContainsFunc(keys, func(o lane) bool { return o.Device == k.Device && o.PID == k.PID && o.Context != k.Context })
}

// Facts is what the scan found of the whole.
func (t *trace) Facts() *source.Facts {
	f := t.Said
	return &f
}

// Layout lists the GPUs, a process each for every process that used one, and the processes of the host.
func (t *trace) Layout() []*source.Process {
	out := make([]*source.Process, len(t.Processes))
	for i := range t.Processes {
		p := t.Processes[i]
		out[i] = &p
	}
	return out
}

// visited is a row that was read as an event.
type visited struct {
	event       source.Event
	role        role
	correlation uint64
	toHost      bool // a copy to memory of the host
	pageable    bool // and to memory that the device does not reach by itself
	rows        arguments
}

// visit reads all rows of the roles that are wanted.
func (t *trace) visit(ctx context.Context, src *file.Source, want func(role) bool, visit func(e *visited) error) error {
	b, err := open(ctx, src)
	if err != nil {
		return err
	}
	names, err := b.names(ctx)
	if err != nil {
		return err
	}
	one := &visited{}
	for _, v := range b.views {
		if !want(v.role) {
			continue
		}
		err := b.db.Read(ctx, v.table, func(r *sqlite.Row) error {
			if _, _, timed := v.time(r); !timed {
				return nil
			}
			spot, ok := t.Places[v.lane(r)]
			if !ok {
				return fault.Formatf(src.Path(), fault.Unknown, "the file was changed while it was read")
			}
			v.event(r, names, one)
			one.event.Process, one.event.Line, one.event.BaseNS = spot.Process, spot.Line, t.Said.StartNS
			return visit(one)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Visit visits every event, table by table.
func (t *trace) Visit(ctx context.Context, src *file.Source, which source.Which, _ int64, visit func(e *source.Event) error) error {
	want := func(r role) bool { return which == source.AllEvents || r == kernelRow || r == graphRow }
	return t.visit(ctx, src, want, func(e *visited) error { return visit(&e.event) })
}

// span is where an event lies, rounded up to ns at its end.
func (e *visited) span() source.Span {
	end := source.After(e.event.BaseNS, e.event.OffsetPS+e.event.DurationPS)
	if end.PS > 0 {
		end.NS++
	}
	return source.Span{Process: e.event.Process, Line: e.event.Line, Start: source.After(e.event.BaseNS, e.event.OffsetPS), EndNS: end.NS}
}

// Launches visits calls of the runtime and what GPUs did because of them. A call and its work share a number within their process.
func (t *trace) Launches(ctx context.Context, src *file.Source, visit func(l *source.Launch)) error {
	return t.visit(ctx, src, func(r role) bool { return r != rangeRow }, func(e *visited) error {
		one := source.Launch{Span: e.span(), Number: e.correlation}
		switch {
		case e.role != callRow:
			one.Role, one.ToHost, one.Awaited = source.LaunchWork, e.toHost, e.toHost && e.pageable
		case source.WaitsForDevice(e.event.Name):
			one.Role = source.LaunchWait
		case e.correlation == 0:
			return nil
		default:
			one.Blocks = returnsDone(e.event.Name)
		}
		visit(&one)
		return nil
	})
}

// returnsDone reports whether a call that copies to the host returns when the copy is there.
func returnsDone(call string) bool {
	return call == "cudaMemcpy" || call == "cuMemcpyDtoH" || call == "cuMemcpyDtoH_v2"
}

// Activities visits what GPUs executed, calls, and NVTX ranges.
func (t *trace) Activities(ctx context.Context, src *file.Source, visit func(a *source.Activity)) error {
	roles := map[role]source.ActivityRole{
		kernelRow: source.ActiveKernel, graphRow: source.ActiveKernel, copyRow: source.ActiveCopy, fillRow: source.ActiveCopy,
		callRow: source.ActiveHost, rangeRow: source.ActiveHost,
	}
	return t.visit(ctx, src, func(role) bool { return true }, func(e *visited) error {
		visit(&source.Activity{Span: e.span(), Role: roles[e.role], Name: []byte(e.event.Name), Number: e.correlation})
		return nil
	})
}

// correlationOf makes numbers of several processes differ: pids have 24 bits.
func correlationOf(pid, correlation int64) uint64 {
	if correlation <= 0 {
		return 0
	}
	return uint64(pid)<<40 ^ uint64(correlation)
}

// ranks is how many processes used a GPU.
func (t *trace) ranks() int {
	pids := map[int64]bool{}
	for k := range t.Places {
		if k.Device >= 0 {
			pids[k.PID] = true
		}
	}
	return len(pids)
}
