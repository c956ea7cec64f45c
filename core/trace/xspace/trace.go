package xspace

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Format is XSpace in the table of formats.
var Format = source.Format{
	Name: "xspace", Title: "XSpace", Kind: format.XSpace, Damaged: []format.Kind{format.Binary}, Endings: []string{".xplane.pb"},
	Work: readWork, Salvage: salvageSpace, Devices: "with jax.profiler, in a program whose arrays are on a GPU or TPU",
	Blank: func() source.Trace { return &Space{} },
	Scan: func(ctx context.Context, src *file.Source, opt source.ScanOptions) (source.Trace, error) {
		s, err := scanTrace(ctx, src, ScanOptions{Workers: opt.Workers, Progress: opt.Progress})
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

// A Space is read line by line and re-timed in its own format.
var (
	_ source.Retimer  = (*Space)(nil)
	_ source.Marker   = (*Space)(nil)
	_ source.Compiled = (*Space)(nil)
)

// Facts is what the scan found of the whole.
func (s *Space) Facts() *source.Facts {
	f := &source.Facts{
		Hosts: s.Hostnames, Events: s.Events, StartNS: s.ProfileStartNS, StopNS: s.ProfileStopNS, HasStart: s.ProfileStartNS != 0, Dated: s.ProfileStartNS != 0, MarkDates: true,
		Snapshots: s.Snapshots, SnapshotsBaseNS: s.SnapshotsLineTimestampNS, HasSnapshots: s.SnapshotsPlane >= 0 && !s.SnapshotsNamed,
		SnapshotsClock: s.SnapshotsClock, SnapshotsIn: planeSnapshots,
		Losses: s.Errors, Warnings: slices.Concat(s.Warnings, s.Findings),
	}
	if s.SnapshotsPlane < 0 {
		f.SnapshotsIn = planeMetadata
	}
	if !f.Dated {
		f.Undated = "profile_start_time"
	}
	return f
}

// Layout lists the planes.
func (s *Space) Layout() []*source.Process {
	out := make([]*source.Process, len(s.Planes))
	for i := range s.Planes {
		p := &s.Planes[i]
		one := &source.Process{Index: p.Index, ID: p.ID, Name: p.Name, GPU: -1, Device: -1, Events: p.Events, Readings: p.Name == planeSnapshots, Lines: make([]*source.Line, len(p.Lines))}
		for k := range p.Lines {
			one.Lines[k] = &p.Lines[k].Line
		}
		p.executions(one)
		out[i] = one
	}
	return out
}

// onTracer notes which lines the tracer's clock stamped, if there is one. Device lines are on it, and so are the host threads that
// ROCm's API callbacks reported: the exporter gives exactly those the base of the device lines, which is also the base of the
// snapshots (the start of the collector), while threads of TraceMe have a base of their own.
func (s *Space) onTracer() {
	base, known := s.SnapshotsLineTimestampNS, s.SnapshotsPlane >= 0 && !s.SnapshotsNamed
	device := s.deviceTracer()
	if !known { // snapshots may come from a file: the device lines tell the collector's start
		for i := range s.Planes {
			if p := &s.Planes[i]; strings.HasPrefix(p.Name, prefixDevice) && len(p.Lines) > 0 {
				base, known = p.Lines[0].TimestampNS, true
				break
			}
		}
	}
	for i := range s.Planes {
		p := &s.Planes[i]
		whole := strings.HasPrefix(p.Name, prefixDevice) || p.Name == "/host:ROCTRACER"
		calls := known && base != 0 && strings.HasPrefix(p.Name, planeHostCPU)
		for k := range p.Lines {
			l := &p.Lines[k]
			if l.OnTracer = whole || calls && l.TimestampNS == base; l.OnTracer {
				l.Tracer = p.tracer(device)
			}
		}
	}
}

// deviceTracer is whose clock stamped the device lines, by the first device that says its vendor.
func (s *Space) deviceTracer() string {
	for i := range s.Planes {
		if t := s.Planes[i].tracer(source.AnyTracer); strings.HasPrefix(s.Planes[i].Name, prefixDevice) && t != source.AnyTracer {
			return t
		}
	}
	return source.AnyTracer
}

// tracer is whose clock stamped the lines of a plane that a tracer stamped; device is that of the devices beside it.
func (p *Plane) tracer(device string) string {
	switch vendor := p.statText(statDeviceVendor); {
	case p.Name == "/host:ROCTRACER", strings.EqualFold(vendor, "AMD"):
		return source.TracerROCm
	case strings.EqualFold(vendor, "Nvidia"):
		return source.TracerCUPTI
	case strings.HasPrefix(p.Name, "/device:TPU:"):
		return source.TracerTPU
	}
	return device
}

// Visit visits the events of all lines, or of the planes of devices.
func (s *Space) Visit(ctx context.Context, src *file.Source, which source.Which, startNS int64, visit func(e *source.Event) error) error {
	want := func(p *Plane, _ *Line) bool {
		_, _, ok := source.Device(p.Name)
		return ok
	}
	if which == source.AllEvents {
		want = nil
	}
	var one source.Event
	return Events(ctx, src, s, want, func(p *Plane, l *Line, e *Event) error {
		base := l.TimestampNS
		if base < AbsoluteNS {
			base += startNS
		}
		one = source.Event{
			Process: int32(p.Index), Line: int32(l.Index), Name: e.Name(), BaseNS: base, OffsetPS: e.OffsetPS, DurationPS: e.DurationPS,
			Timed: !e.Aggregated, Aggregated: e.Aggregated, Count: e.count(),
		}
		return visit(&one)
	})
}

// count is how many events an event stands for.
func (e *Event) count() int64 {
	if e.Aggregated {
		return e.Num
	}
	return 1
}

// maxShownBytes bounds the display names that are kept of one plane.
const maxShownBytes = 32 << 20

// planeLines reads the lines of one plane.
type planeLines struct {
	src   *file.Source
	plane *Plane
	names EventOptions
	shown map[int64]string // display names by metadata id, where they differ from the name

	process *source.Process
	program map[int64]int64 // program id by metadata id, of lines whose events do not carry it
}

// Open reads the names of a plane.
func (s *Space) Open(ctx context.Context, src *file.Source, p *source.Process, lost *source.Lost) (source.Lines, error) {
	r := &planeLines{src: src, plane: &s.Planes[p.Index], shown: map[int64]string{}, process: p, program: map[int64]int64{}}
	unnamed := false
	for _, l := range p.Lines {
		unnamed = unnamed || l.Timed() > 0 && r.unnamed(l)
	}
	var err error
	if r.names.EventNames, err = LoadEventNames(ctx, src, r.plane, NameOptions{}); err != nil {
		return nil, err
	}
	if r.names.StatNames, err = LoadStatNames(ctx, src, r.plane, NameOptions{}); err != nil {
		return nil, err
	}
	held := 0
	return r, EventMetadata(ctx, src, r.plane, func(m *EventMeta) error {
		lost.Metadata.Add(int64(len(m.Stats)))
		if id, ok := ProgramOf(m); ok && unnamed {
			r.program[m.ID] = id
		}
		if m.DisplayName == "" || m.DisplayName == m.Name {
			return nil
		}
		if held += len(m.DisplayName) + 64; held <= maxShownBytes {
			r.shown[m.ID] = m.DisplayName
		}
		return nil
	})
}

// unnamed reports whether the events of a line do not say of which program they are: the metadata that they share does.
func (r *planeLines) unnamed(l *source.Line) bool {
	return r.process.Kind == aligned.PlaneOperations && r.process.Executes[l.Index]
}

// Bytes is how much of the file a line takes.
func (r *planeLines) Bytes(l *source.Line) int64 { return r.plane.Lines[l.Index].Length }

// Line visits the events of one line in stored order.
func (r *planeLines) Line(ctx context.Context, line *source.Line, visit func(e *source.Event) error) error {
	l := &r.plane.Lines[line.Index]
	one := source.Event{Process: int32(r.plane.Index), Line: int32(l.Index)}
	args := &stats{}
	if r.unnamed(line) {
		args.program = r.program
	}
	one.Args = args
	return EventsOf(ctx, r.src, r.plane, l, r.names, func(e *Event) error {
		args.e = e
		one.Name, one.LongName = e.Name(), ""
		if shown, ok := r.shown[e.MetadataID]; ok {
			one.Name, one.LongName = shown, one.Name
		}
		one.OffsetPS, one.DurationPS, one.Timed, one.Aggregated, one.Count = e.OffsetPS, e.DurationPS, !e.Aggregated, e.Aggregated, e.count()
		return visit(&one)
	})
}

// stats are the arguments of an event.
type stats struct {
	e       *Event
	program map[int64]int64 // by metadata id, of events that do not carry it
}

// AppendArgs appends the event's stats, and its program where the metadata says it.
func (a *stats) AppendArgs(dst []byte, open int, lost *source.Lost) []byte {
	program, of := a.program[a.e.MetadataID]
	for it := a.e.Stats(); it.Next(); {
		st := it.Stat()
		of = of && st.Name != statProgram
		dst = appendArg(dst, open, st, lost)
	}
	if of {
		dst = appendStat(source.OpenArg(dst, open, statProgram), &xStat{Kind: statInt, Int: program})
	}
	if a.e.Truncated {
		lost.Unread.Add(1)
	}
	return dst
}

// appendArg appends a stat as an arg; what has no place there is counted.
func appendArg(dst []byte, open int, st *xStat, lost *source.Lost) []byte {
	switch {
	case st.Kind == statBytes:
		lost.Bytes.Add(1)
		return dst
	case st.Kind == statNone:
		return dst
	case st.Kind == statStr && st.Length > source.MaxArgBytes, st.Kind == statRef && len(st.Ref) > source.MaxArgBytes:
		lost.Oversized.Add(1)
		return dst
	}
	name := st.Name
	if name == "" {
		name = "stat " + strconv.FormatInt(st.MetadataID, 10)
	}
	return appendStat(source.OpenArg(dst, open, name), st)
}

// appendStat appends a stat's value as JSON: integers beyond 2^53 and what is not a number as strings.
func appendStat(dst []byte, st *xStat) []byte {
	switch st.Kind {
	case statInt:
		if st.Int <= source.MaxExactInt && st.Int >= -source.MaxExactInt {
			return strconv.AppendInt(dst, st.Int, 10)
		}
	case statUint:
		if st.Uint <= source.MaxExactInt {
			return strconv.AppendUint(dst, st.Uint, 10)
		}
	case statDouble:
		if !math.IsNaN(st.Double) && !math.IsInf(st.Double, 0) {
			return strconv.AppendFloat(dst, st.Double, 'g', -1, 64)
		}
	}
	return source.AppendString(dst, st.Text())
}

// ReadMark returns what the file says about what prlx did to it, nil when it says nothing.
func (s *Space) ReadMark(ctx context.Context, src *file.Source) (*marked, error) {
	return ReadMark(ctx, src, s)
}

// WriteFile writes the output in one pass over the events where nothing is left out and there is one worker; else, or where lengths
// change more than one pass can correct, events are measured first.
func (s *Space) WriteFile(ctx context.Context, src *file.Source, e *spaceEdit, create func() (*file.Output, error)) (*file.Output, int64, error) {
	o, err := create()
	if err != nil {
		return nil, 0, err
	}
	var sizes *sizes
	operations, err := s.servedAlong(ctx, src, e)
	switch {
	case err != nil:
	case !e.Cuts() && e.Workers <= 1:
		sizes, err = write(ctx, src, s, e, operations, o, min(outputBuffer, 2*s.Bytes))
	default:
		if sizes, err = measure(ctx, src, s, e, operations); err == nil {
			err = rewriteAt(ctx, src, s, e, sizes, o, 0, e.Workers)
		}
	}
	if errors.Is(err, errLengths) {
		o.Abort()
		if o, err = create(); err != nil {
			return nil, 0, err
		}
		err = rewrite(ctx, src, s, e, sizes, o)
	}
	if err != nil {
		o.Abort()
		return nil, 0, err
	}
	return o, sizes.Total, nil
}

// servedAlong returns who is to see the operations in the pass that reads the events for an edit. Where that does not read all of them,
// or several workers do, they are shown here, and nobody is left.
func (s *Space) servedAlong(ctx context.Context, src *file.Source, e *spaceEdit) (*source.OperationReading, error) {
	o := e.Operations
	if o == nil || e.Workers <= 1 && s.writtenWhole(e) {
		return o, nil
	}
	return nil, s.Operations(ctx, src, o.StartNS, o.Visitor)
}

// measured is an output of a Space that was sized.
type measured struct {
	space *Space
	edit  *spaceEdit
	sizes *sizes
}

// Measure sizes the output.
func (s *Space) Measure(ctx context.Context, src *file.Source, e *spaceEdit) (source.Measured, error) {
	operations, err := s.servedAlong(ctx, src, e)
	if err != nil {
		return nil, err
	}
	sizes, err := measure(ctx, src, s, e, operations)
	return &measured{s, e, sizes}, err
}

// Bytes is the size of the output.
func (m *measured) Bytes() int64 { return m.sizes.Total }

// WriteAt writes it.
func (m *measured) WriteAt(ctx context.Context, src *file.Source, w io.WriterAt, at int64, workers int) error {
	return rewriteAt(ctx, src, m.space, m.edit, m.sizes, w, at, workers)
}
