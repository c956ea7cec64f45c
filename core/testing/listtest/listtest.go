// Package listtest is a format of traces made for tests: a text that lists, queue by queue, the kernels of one device. It can neither be
// re-timed nor written, as a database cannot. It shows what a format needs to be read everywhere, this folder and a line in the table:
//
//	kernel list 1
//	host node7
//	rank 1
//	queue 7
//	1700000000000000000 250000 gemm
//	1700000000000000500 100000 relu
//
// An event is its start in ns since 1970, its duration in ps, and its name.
package listtest

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// Magic is the first line of a list.
const Magic = "kernel list 1\n"

// Format is the list in the table of formats.
var Format = source.Format{
	Name: "kernel-list", Title: "kernel list", Endings: []string{".klist"},
	Claims: func(head []byte) bool { return bytes.HasPrefix(head, []byte(Magic)) },
	Blank:  func() source.Trace { return &List{} },
	Scan: func(ctx context.Context, src *file.Source, _ source.ScanOptions) (source.Trace, error) {
		l := &List{}
		return l, l.read(ctx, src)
	},
	Work: readWork,
}

var _ source.ByLine = (*List)(nil)

// List is one list, scanned.
type List struct {
	Host   string
	Rank   *int64
	Queues []source.Line
}

// read summarises the text.
func (l *List) read(ctx context.Context, src *file.Source) error {
	return eachRow(ctx, src, func(words []string) error {
		switch words[0] {
		case "host":
			l.Host = words[1]
		case "rank":
			rank, err := strconv.ParseInt(words[1], 10, 64)
			l.Rank = &rank
			return err
		case "queue":
			l.Queues = append(l.Queues, source.Line{Index: len(l.Queues), TextID: words[1], Name: "queue " + words[1], Summarised: true, Sorted: true})
		default:
			e, err := eventOf(words)
			if err != nil || len(l.Queues) == 0 {
				return fault.New(fault.Format, "an event before its queue, or none: %q", words)
			}
			q := &l.Queues[len(l.Queues)-1]
			if q.Events++; q.Events == 1 {
				q.TimestampNS = e.BaseNS
			}
			at := (e.BaseNS - q.TimestampNS) * 1000
			q.MinOffsetPS, q.MaxEndPS = min(q.MinOffsetPS, at), max(q.MaxEndPS, at+e.DurationPS)
		}
		return nil
	})
}

// eachRow visits the lines of the text behind the first.
func eachRow(ctx context.Context, src *file.Source, visit func(words []string) error) error {
	text := make([]byte, src.Size())
	if n, err := src.ReadAt(text, 0); n < len(text) {
		return err
	}
	for _, row := range strings.Split(strings.TrimPrefix(string(text), Magic), "\n") {
		words := strings.SplitN(row, " ", 3)
		if len(words) < 2 {
			continue
		}
		if err := visit(words); err != nil {
			return fault.Of(err).WithPath(src.Path())
		}
	}
	return ctx.Err()
}

func eventOf(words []string) (source.Event, error) {
	if len(words) < 3 {
		return source.Event{}, strconv.ErrSyntax
	}
	start, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return source.Event{}, err
	}
	dur, err := strconv.ParseInt(words[1], 10, 64)
	return source.Event{Name: words[2], BaseNS: start, DurationPS: dur, Timed: true, Count: 1}, err
}

// Facts is what the list says of itself.
func (l *List) Facts() *source.Facts {
	f := &source.Facts{Hosts: []string{l.Host}, Rank: l.Rank, Dated: true}
	for i := range l.Queues {
		f.Events += l.Queues[i].Events
	}
	return f
}

// Layout is one device with its queues.
func (l *List) Layout() []*source.Process {
	p := &source.Process{TextID: "0", Name: "/device:GPU:0", GPU: -1, Device: -1, Events: l.Facts().Events}
	for i := range l.Queues {
		p.Lines = append(p.Lines, &l.Queues[i])
	}
	return []*source.Process{p}
}

// Visit visits every event: all are kernels.
func (l *List) Visit(ctx context.Context, src *file.Source, _ source.Which, _ int64, visit func(e *source.Event) error) error {
	line := int32(-1)
	return eachRow(ctx, src, func(words []string) error {
		if words[0] == "queue" {
			line++
		}
		e, err := eventOf(words)
		if err != nil {
			return nil // a row that is not an event, as the scan has found
		}
		e.Line = line
		return visit(&e)
	})
}

// Open has nothing to prepare.
func (l *List) Open(_ context.Context, src *file.Source, _ *source.Process, _ *source.Lost) (source.Lines, error) {
	return lines{l, src}, nil
}

type lines struct {
	list *List
	src  *file.Source
}

// Bytes is unknown.
func (r lines) Bytes(*source.Line) int64 { return 0 }

// Line visits the events of one queue.
func (r lines) Line(ctx context.Context, line *source.Line, visit func(e *source.Event) error) error {
	return r.list.Visit(ctx, r.src, source.AllEvents, 0, func(e *source.Event) error {
		if int(e.Line) != line.Index {
			return nil
		}
		e.OffsetPS = (e.BaseNS - line.TimestampNS) * 1000
		return visit(e)
	})
}

// readWork reads the kernels.
func readWork(j *job.Job, path string, opt work.Options) (*work.Found, error) {
	src, err := opt.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	l := &List{}
	if err := l.read(j.Context(), src); err != nil {
		return nil, err
	}
	found := work.New(path, opt)
	if len(l.Queues) == 0 {
		return found, nil
	}
	base := l.Queues[0].TimestampNS
	found.Origins = []work.Origin{{Set: true, AbsoluteNS: base}}
	p, err := found.Process(0, []byte("0"))
	if err != nil {
		return nil, err
	}
	found.Processes[p].Rank, found.Processes[p].Host, found.Processes[p].Device = -1, l.Host, "GPU 0"
	if l.Rank != nil {
		found.Processes[p].Rank = int(*l.Rank)
	}
	return found, l.Visit(j.Context(), src, source.AllEvents, 0, func(e *source.Event) error {
		lane, err := found.Lane(p, []byte(l.Queues[e.Line].TextID))
		if err != nil {
			return err
		}
		found.Lanes[lane].Stream = l.Queues[e.Line].Name
		found.Losses.Events++
		return found.Kernel([]byte(e.Name), (e.BaseNS-base)*1000, e.DurationPS, lane, 0, 0)
	})
}
