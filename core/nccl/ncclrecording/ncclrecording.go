// Package ncclrecording makes a trace of a recording of NCCL's events, as libnccl-profiler-prlx.so writes it: a process for each GPU of the
// process that recorded, with the lines that package nccl/tracks draws. It can be read by line and becomes Chrome JSON.
//
// Instants are on the wall clock of the host. Kernels stand on it by what their GPU stamped, where that can be known.
package ncclrecording

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/clocks"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/nccl/tracks"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// Format is the recording in the table of formats.
var Format = source.Format{
	Name: "nccl-recording", Title: "recording of NCCL events", Endings: []string{reading.Ending}, Beside: true,
	Claims: func(head []byte) bool { return bytes.HasPrefix(head, []byte(segment.Magic)) },
	Blank:  func() source.Trace { return &Recording{} },
	Scan: func(ctx context.Context, src *file.Source, _ source.ScanOptions) (source.Trace, error) {
		r := &Recording{}
		return r, r.scan(ctx, src)
	},
	Work: func(_ *job.Job, path string, _ work.Options) (*work.Found, error) {
		return nil, fault.New(fault.Usage, "a recording of NCCL events shows no kernels but NCCL's").WithPath(path).
			WithHint("name a trace of a profiler; prlx nccl report reads recordings")
	},
}

var _ source.ByLine = (*Recording)(nil)

// Recording is one recording, scanned.
type Recording struct {
	Said      source.Facts
	Processes []source.Process
	Of        source.ProcessID
	MovedNS   int64 // by how much all instants were moved

	once  sync.Once
	drawn *tracks.Tracks
	err   error
}

// scan reads the recording and summarises its lines.
func (r *Recording) scan(ctx context.Context, src *file.Source) error {
	t, err := r.draw(ctx, src)
	if err != nil {
		return err
	}
	one := t.Job.Recordings[0]
	r.Of = processOf(t)
	r.Said = source.Facts{
		Hosts: []string{one.Host}, Rank: r.Of.Rank, Events: int64(t.Slices), Timed: int64(t.Slices), Counts: map[string]int64{}, Dated: true, HasStart: true, StartNS: t.ZeroNS, StopNS: t.EndNS,
		First: source.Instant{NS: t.ZeroNS}, Last: source.Instant{NS: t.EndNS},
	}
	if one.Loss.Lost > 0 {
		r.Said.Losses = append(r.Said.Losses, strconv.FormatUint(one.Loss.Lost, 10)+" callbacks of NCCL found no room")
	}
	if one.Loss.Overwritten > 0 {
		r.Said.Losses = append(r.Said.Losses, strconv.FormatUint(one.Loss.Overwritten, 10)+" records made room for newer ones")
	}
	for pi := range t.Processes {
		p := &t.Processes[pi]
		out := source.Process{Index: pi, ID: int64(pi + 1), TextID: strconv.Itoa(pi + 1), Name: p.Name, GPU: -1, Device: -1}
		for li := range p.Lines {
			l := lineOf(t, li, &p.Lines[li])
			out.Events += l.Events
			out.Lines = append(out.Lines, l)
			for i := range p.Lines[li].Slices {
				r.Said.Counts["cat "+tracks.Categories[p.Lines[li].Slices[i].Kind]]++
			}
		}
		r.Processes = append(r.Processes, out)
	}
	return nil
}

func lineOf(t *tracks.Tracks, index int, from *tracks.Line) *source.Line {
	l := &source.Line{
		Index: index, ID: int64(index + 1), TextID: strconv.Itoa(index + 1), DisplayID: int64(index + 1), Name: from.Name, TimestampNS: t.ZeroNS,
		Events: int64(len(from.Slices)), Summarised: true, Sorted: true,
	}
	for i := range from.Slices {
		s := &from.Slices[i]
		if i == 0 {
			l.MinOffsetPS = (s.StartNS - t.ZeroNS) * 1000
		}
		l.MaxEndPS = max(l.MaxEndPS, (s.StopNS-t.ZeroNS)*1000)
	}
	l.DurationPS = l.MaxEndPS
	return l
}

// draw reads the recording, once for all who ask.
func (r *Recording) draw(ctx context.Context, src *file.Source) (*tracks.Tracks, error) {
	r.once.Do(func() {
		f, err := segment.FromSource(src) // which stays open: it is the caller's
		if err != nil {
			r.err = err
			return
		}
		one, err := reading.One(ctx, f, reading.Options{})
		if err != nil {
			r.err = err
			return
		}
		fitted, err := clocks.Fit(ctx, one)
		if err != nil {
			r.err = err
			return
		}
		fitted.Apply(one)
		if r.MovedNS != 0 {
			one.Shift(func(ns int64) int64 { return ns + r.MovedNS })
		}
		r.drawn = tracks.One(one)
	})
	return r.drawn, r.err
}

// Facts is what the scan found of the whole.
func (r *Recording) Facts() *source.Facts {
	f := r.Said
	return &f
}

// Layout lists the GPUs of the process.
func (r *Recording) Layout() []*source.Process {
	out := make([]*source.Process, len(r.Processes))
	for i := range r.Processes {
		p := r.Processes[i]
		out[i] = &p
	}
	return out
}

// Visit visits all slices, or those of kernels.
func (r *Recording) Visit(ctx context.Context, src *file.Source, which source.Which, _ int64, visit func(e *source.Event) error) error {
	t, err := r.draw(ctx, src)
	if err != nil {
		return err
	}
	for pi := range t.Processes {
		for li := range t.Processes[pi].Lines {
			if err := ctx.Err(); err != nil {
				return fault.FromIO(src.Path(), err)
			}
			if err := each(t, pi, li, which, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func each(t *tracks.Tracks, pi, li int, which source.Which, visit func(e *source.Event) error) error {
	p := &t.Processes[pi]
	a := args{t: t, p: p}
	for i := range p.Lines[li].Slices {
		s := &p.Lines[li].Slices[i]
		if which == source.Kernels && s.Kind != tracks.Kernel {
			continue
		}
		a.s = s
		err := visit(&source.Event{
			Process: int32(pi), Line: int32(li), Name: s.Name, BaseNS: t.ZeroNS, OffsetPS: (s.StartNS - t.ZeroNS) * 1000, DurationPS: (s.StopNS - s.StartNS) * 1000,
			Timed: true, Count: 1, Args: &a,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// args writes what is known of one slice.
type args struct {
	t    *tracks.Tracks
	p    *tracks.Process
	s    *tracks.Slice
	list []tracks.Arg
}

// AppendArgs appends the args as members of a JSON object.
func (a *args) AppendArgs(dst []byte, open int, _ *source.Lost) []byte {
	a.list = a.t.Args(a.p, a.s, a.list[:0])
	for i := range a.list {
		dst = a.list[i].Append(source.OpenArg(dst, open, a.list[i].Key))
	}
	return dst
}

// Open reads the recording.
func (r *Recording) Open(ctx context.Context, src *file.Source, p *source.Process, _ *source.Lost) (source.Lines, error) {
	t, err := r.draw(ctx, src)
	if err != nil {
		return nil, err
	}
	if p.Index < 0 || p.Index >= len(t.Processes) {
		return nil, fault.New(fault.Internal, "process %d of %d", p.Index, len(t.Processes)).WithPath(src.Path())
	}
	return lines{t, p.Index}, nil
}

type lines struct {
	t       *tracks.Tracks
	process int
}

// Line visits the slices of a line.
func (l lines) Line(_ context.Context, of *source.Line, visit func(e *source.Event) error) error {
	return each(l.t, l.process, of.Index, source.AllEvents, visit)
}

// Bytes is not known: a line is made of records that lie everywhere.
func (lines) Bytes(*source.Line) int64 { return 0 }
