package rows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

var (
	_ source.ByLine = (*Trace)(nil)
	_ source.Linked = (*Trace)(nil)
	_ source.Active = (*Trace)(nil)
)

// Trace is one file, scanned.
type Trace struct {
	Said      source.Facts
	Processes []source.Process
	Places    map[Lane]spot // of the lines
	Clock     Clock

	open    opener
	once    sync.Mutex
	spooled *spool // the events by line, once somebody asked for them
}

// spot is where a line stands in the layout.
type spot struct{ Process, Line int32 }

// maxLanes is how many lines a file may have.
const maxLanes = 1 << 16

// scanner summarises lines.
type scanner struct {
	t     *Trace
	path  string
	lines map[Lane]*source.Line
	last  Lane
	line  *source.Line
	end   map[*source.Line]int64 // start of the event before, ps
	lost  int64                  // rows whose times cannot be
}

// scan reads all rows once and summarises the lines.
func (t *Trace) scan(ctx context.Context, src *file.Source) error {
	b, err := t.open(ctx, src, &t.Clock)
	if err != nil {
		return err
	}
	f, err := b.Facts(ctx)
	if err != nil {
		return err
	}
	t.Said = *f
	if t.Said.Counts == nil {
		t.Said.Counts = map[string]int64{}
	}
	s := &scanner{t: t, path: src.Path(), lines: map[Lane]*source.Line{}, end: map[*source.Line]int64{}}
	if err := b.Read(ctx, Ask{}, s.row); err != nil {
		return err
	}
	s.finish(b.Names())
	return nil
}

// row adds a row to its line. One whose time cannot be is no event, and is counted.
func (s *scanner) row(r *Row) error {
	if !r.Timed {
		s.lost++
		return nil
	}
	if s.line == nil || r.Lane != s.last {
		line := s.lines[r.Lane]
		if line == nil {
			if len(s.lines) >= maxLanes {
				return fault.New(fault.Limit, "more than %d streams and threads", maxLanes).WithPath(s.path)
			}
			line = &source.Line{Summarised: true, Sorted: true}
			s.lines[r.Lane] = line
		}
		s.last, s.line = r.Lane, line
	}
	l, f := s.line, &s.t.Said
	f.Events++
	f.Counts["cat "+cmp.Or(r.Category, r.Role.category())]++
	if l.Events == 0 || r.AtPS < l.MinOffsetPS {
		l.MinOffsetPS = r.AtPS
	}
	l.Sorted = l.Sorted && (l.Events == 0 || r.AtPS >= s.end[l])
	s.end[l] = r.AtPS
	l.Events++
	l.MaxEndPS = max(l.MaxEndPS, r.AtPS+r.DurPS)
	return nil
}

// finish says from when the times count, and orders the lines: devices, then processes of the host.
func (s *scanner) finish(names Names) {
	t := s.t
	f := &t.Said
	f.Warnings = append(f.Warnings, names.Warnings...)
	f.Losses = append(f.Losses, names.Losses...)
	if s.lost > 0 {
		f.Losses = append(f.Losses, "events whose times are missing, run backwards or lie more than 100 days from the start: "+strconv.FormatInt(s.lost, 10))
	}
	keys := make([]Lane, 0, len(s.lines))
	for k := range s.lines {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, byPlace)
	t.Places = make(map[Lane]spot, len(keys))
	base := f.StartNS + t.Clock.OriginNS
	for i, k := range keys {
		if i == 0 || k.PID != keys[i-1].PID || k.Device != keys[i-1].Device {
			t.Processes = append(t.Processes, t.process(k, keys, names))
		}
		p := &t.Processes[len(t.Processes)-1]
		l := s.lines[k]
		l.Index, l.TimestampNS, l.DurationPS = len(p.Lines), base, l.MaxEndPS
		l.ID, l.DisplayID, l.TextID = k.Number, k.Number, strconv.FormatInt(k.Number, 10)
		l.Name = lineName(k, keys, names)
		p.Lines = append(p.Lines, l)
		p.Events += l.Events
		t.Places[k] = spot{int32(p.Index), int32(l.Index)}
		f.Timed += l.Events
		first, last := source.After(base, l.MinOffsetPS), source.After(base, l.MaxEndPS)
		if i == 0 || first.Before(f.First) {
			f.First = first
		}
		if i == 0 || f.Last.Before(last) {
			f.Last, f.StopNS = last, last.NS
		}
	}
	if t.ranks() > 1 {
		f.Rank = nil
	}
}

// byPlace orders lanes.
func byPlace(a, b Lane) int {
	onHost := func(k Lane) int {
		if k.Device < 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(onHost(a)-onHost(b), cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Context, b.Context), cmp.Compare(a.Number, b.Number))
}

// process begins a process of the layout.
func (t *Trace) process(k Lane, keys []Lane, names Names) source.Process {
	index := len(t.Processes)
	p := source.Process{Index: index, ID: int64(index + 1), TextID: strconv.Itoa(index + 1), GPU: -1, Device: -1}
	if k.Device < 0 {
		p.Name = fmt.Sprintf("/host:CPU %s %d", cmp.Or(names.Processes[k.PID], "process"), k.PID)
		return p
	}
	p.Name, p.GPU, p.Labels = fmt.Sprintf("/device:GPU:%d", k.Device), int(k.Device), names.Devices[k.Device]
	if slices.ContainsFunc(keys, func(o Lane) bool { return o.Device == k.Device && o.PID != k.PID }) {
		p.Name += fmt.Sprintf(" process %d", k.PID)
	}
	return p
}

// lineName is what a person calls a line.
func lineName(k Lane, keys []Lane, names Names) string {
	if names.Line != nil {
		if name := names.Line(k); name != "" {
			return name
		}
	}
	if k.Device < 0 {
		return "thread " + strconv.FormatInt(k.Number, 10)
	}
	name := "stream " + strconv.FormatInt(k.Number, 10)
	if slices.ContainsFunc(keys, func(o Lane) bool { return o.Device == k.Device && o.PID == k.PID && o.Context != k.Context }) {
		name = fmt.Sprintf("%s of context %d", name, k.Context)
	}
	return name
}

// Facts is what the scan found of the whole.
func (t *Trace) Facts() *source.Facts {
	f := t.Said
	return &f
}

// Layout lists the devices, a process each for every process that used one, and the processes of the host.
func (t *Trace) Layout() []*source.Process {
	out := make([]*source.Process, len(t.Processes))
	for i := range t.Processes {
		p := t.Processes[i]
		out[i] = &p
	}
	return out
}

// visited is a row with its place in the layout.
type visited struct {
	*Row
	spot spot
	base int64
}

// visit reads all rows of the roles that are wanted.
func (t *Trace) visit(ctx context.Context, src *file.Source, ask Ask, visit func(v visited) error) error {
	b, err := t.open(ctx, src, &Clock{OriginNS: t.Clock.OriginNS, Set: t.Clock.Set})
	if err != nil {
		return err
	}
	base := t.Said.StartNS + t.Clock.OriginNS
	return b.Read(ctx, ask, func(r *Row) error {
		if !r.Timed || !ask.Wants(r.Role) {
			return nil
		}
		spot, ok := t.Places[r.Lane]
		if !ok {
			return fault.Formatf(src.Path(), fault.Unknown, "the file was changed while it was read")
		}
		return visit(visited{r, spot, base})
	})
}

// Visit visits every event in the order of the file.
func (t *Trace) Visit(ctx context.Context, src *file.Source, which source.Which, _ int64, visit func(e *source.Event) error) error {
	ask := Ask{Args: true}
	if which == source.Kernels {
		ask.Roles = func(r Role) bool { return r == Kernel || r == Graph }
	}
	e := &source.Event{}
	return t.visit(ctx, src, ask, func(v visited) error {
		*e = source.Event{Process: v.spot.Process, Line: v.spot.Line, Name: v.Name, BaseNS: v.base, OffsetPS: v.AtPS, DurationPS: v.DurPS, Timed: true, Count: 1, Args: v.Args}
		return visit(e)
	})
}

// span is where an event lies, rounded up to ns at its end.
func (v visited) span() source.Span {
	end := source.After(v.base, v.AtPS+v.DurPS)
	if end.PS > 0 {
		end.NS++
	}
	return source.Span{Process: v.spot.Process, Line: v.spot.Line, Start: source.After(v.base, v.AtPS), EndNS: end.NS}
}

// number makes the correlation of several processes differ: pids have 24 bits.
func (v visited) number() uint64 {
	if v.Correlation == 0 {
		return 0
	}
	return uint64(v.Lane.PID)<<40 ^ v.Correlation
}

// Launches visits calls of runtimes and what devices did because of them. A call and its work share a number within their process.
func (t *Trace) Launches(ctx context.Context, src *file.Source, visit func(l *source.Launch)) error {
	return t.visit(ctx, src, Ask{Roles: func(r Role) bool { return r <= Call }}, func(v visited) error {
		one := source.Launch{Span: v.span(), Number: v.number()}
		switch {
		case v.Role != Call:
			one.Role, one.ToHost, one.Awaited = source.LaunchWork, v.ToHost, v.ToHost && v.Pageable
		case source.WaitsForDevice(v.Name):
			one.Role = source.LaunchWait
		case v.Correlation == 0:
			return nil
		default:
			one.Blocks = returnsDone(v.Name)
		}
		visit(&one)
		return nil
	})
}

// returnsDone reports whether a call that copies to the host returns when the copy is there.
func returnsDone(call string) bool {
	return call == "cudaMemcpy" || call == "cuMemcpyDtoH" || call == "cuMemcpyDtoH_v2" || call == "hipMemcpy" || call == "hipMemcpyDtoH"
}

// activities are the roles as the analyses of activities know them.
var activities = [...]source.ActivityRole{
	Kernel: source.ActiveKernel, Graph: source.ActiveKernel, Copy: source.ActiveCopy, Fill: source.ActiveCopy, Call: source.ActiveHost, Range: source.ActiveHost,
}

// Activities visits what devices executed, calls, and ranges of threads.
func (t *Trace) Activities(ctx context.Context, src *file.Source, visit func(a *source.Activity)) error {
	return t.visit(ctx, src, Ask{Roles: func(r Role) bool { return r < Other }}, func(v visited) error {
		if v.Role >= Call && v.Lane.Device >= 0 { // what a range of a device encloses is there already
			return nil
		}
		visit(&source.Activity{Span: v.span(), Role: activities[v.Role], Name: []byte(v.Name), Number: v.number(), Named: v.Role == Range})
		return nil
	})
}

// ranks is how many processes used a device.
func (t *Trace) ranks() int {
	pids := map[int64]bool{}
	for k := range t.Places {
		if k.Device >= 0 {
			pids[k.PID] = true
		}
	}
	return len(pids)
}
