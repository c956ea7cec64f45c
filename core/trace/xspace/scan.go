package xspace

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/source"
)

// ScanOptions bounds a Scan. Zero values take the defaults.
type ScanOptions struct {
	Workers      int   // goroutines that read event lists; default 1
	MaxPlanes    int   // default 65_536
	MaxLines     int   // over all planes; default 131_072
	MaxTextBytes int64 // names, hostnames, errors, stats kept in memory; default 64 MiB
	MaxSnapshots int   // default 1_048_576
	Progress     func(bytes int64)
}

// Limits of what is kept of one message.
const (
	maxTextLength  = 64 << 10 // bytes of one name
	maxPlaneStats  = 4096     // stats of one plane
	maxSpaceTexts  = 4096     // hostnames, errors, warnings each
	textOverhead   = 64       // what a kept text costs beside its bytes
	defaultTextMax = 64 << 20
)

func (o ScanOptions) withDefaults() ScanOptions {
	o.Workers = max(o.Workers, 1)
	if o.MaxPlanes <= 0 {
		o.MaxPlanes = 1 << 16
	}
	if o.MaxLines <= 0 {
		o.MaxLines = 1 << 17
	}
	if o.MaxTextBytes <= 0 {
		o.MaxTextBytes = defaultTextMax
	}
	if o.MaxSnapshots <= 0 {
		o.MaxSnapshots = 1 << 20
	}
	return o
}

// Scan reads the structure of a file: planes, lines, stats of planes, hostnames, clock snapshots, and a summary of each line's
// events. It checks the wire format down to the fields of every event. Memory does not depend on the number of events.
// Errors are *fault.Error: Format with the offset and the plane, line and event, or Limit.
func Scan(ctx context.Context, src *file.Source, opt ScanOptions) (*Space, error) {
	s := &scanner{src: src, opt: opt.withDefaults(), space: &Space{Bytes: src.Size(), SnapshotsPlane: -1}}
	s.r = newReader(ctx, src, nowhere)
	if src.Size() == 0 {
		return nil, fault.Formatf(src.Path(), 0, "xspace: the file is empty")
	}
	if err := s.walkSpace(); err != nil {
		return nil, err
	}
	if err := s.scanLines(ctx); err != nil {
		return nil, err
	}
	if err := s.finish(ctx); err != nil {
		return nil, err
	}
	return s.space, nil
}

// scanTrace is Scan for whoever needs a trace: bytes that are an XSpace by their shape alone, without a plane that has a name, are
// a Format error.
func scanTrace(ctx context.Context, src *file.Source, opt ScanOptions) (*Space, error) {
	s, err := Scan(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	for i := range s.Planes {
		if s.Planes[i].Name != "" {
			return s, nil
		}
	}
	return nil, fault.Formatf(src.Path(), 0, "none of its %d planes has a name: this is no XSpace trace", len(s.Planes)).WithHint("expected an .xplane.pb file of JAX, XLA or TensorFlow")
}

type scanner struct {
	src   *file.Source
	opt   ScanOptions
	space *Space
	r     *reader
	text  int64 // bytes of text kept
}

// walkSpace finds planes and lines without reading event lists.
func (s *scanner) walkSpace() error {
	r := s.r
	for {
		f, ok, err := r.next(s.src.Size())
		if err != nil || !ok {
			return err
		}
		switch {
		case f.is(1, wireLen):
			if len(s.space.Planes) >= s.opt.MaxPlanes {
				return s.limit(f, "more than %d planes", s.opt.MaxPlanes)
			}
			s.space.Planes = append(s.space.Planes, Plane{Index: len(s.space.Planes), tag: f.start, Offset: f.val, Length: f.length()})
			err = s.walkPlane(&s.space.Planes[len(s.space.Planes)-1])
			r.at = nowhere
		case f.is(2, wireLen):
			err = s.keep(&s.space.Errors, f)
		case f.is(3, wireLen):
			err = s.keep(&s.space.Warnings, f)
		case f.is(4, wireLen):
			err = s.keep(&s.space.Hostnames, f)
		}
		if err != nil {
			return err
		}
		r.skip(f)
	}
}

func (s *scanner) limit(f field, format string, args ...any) error {
	e := fault.New(fault.Limit, "xspace: "+format, args...)
	e.Path, e.Offset = s.src.Path(), f.start
	return e
}

// keep appends the text of f to a list.
func (s *scanner) keep(list *[]string, f field) error {
	if len(*list) >= maxSpaceTexts {
		return nil
	}
	t, err := s.keepText(f)
	*list = append(*list, t)
	return err
}

func (s *scanner) keepText(f field) (string, error) {
	if s.text += min(f.length(), maxTextLength) + textOverhead; s.text > s.opt.MaxTextBytes {
		return "", s.limit(f, "names take more than %d bytes", s.opt.MaxTextBytes)
	}
	return s.r.text(f, maxTextLength)
}

func (s *scanner) keepMarked(m mark) (string, error) {
	if m.end == 0 {
		return "", nil
	}
	return s.keepText(field{start: m.start, val: m.val, end: m.end, wire: wireLen})
}

// Positions of singular fields in marks.
const (
	markPlaneID = iota
	markPlaneName
)

const (
	markLineID = iota
	markLineName
	markLineTimestamp
	markLineDuration
	markLineDisplayID
	markLineDisplayName
)

func (s *scanner) walkPlane(p *Plane) error {
	r := s.r
	r.at = place{plane: p.Index, line: -1, event: -1}
	end := p.Offset + p.Length
	for {
		f, ok, err := r.next(end)
		if err != nil || !ok {
			return err
		}
		switch {
		case f.is(1, wireVarint):
			p.ID, p.marks[markPlaneID] = int64(f.v), mark{f.start, f.val, f.end}
		case f.is(2, wireLen):
			p.marks[markPlaneName] = mark{f.start, f.val, f.end}
			p.Name, err = s.keepText(f)
		case f.is(3, wireLen):
			if s.space.LineCount >= s.opt.MaxLines {
				return s.limit(f, "more than %d lines", s.opt.MaxLines)
			}
			s.space.LineCount++
			p.Lines = append(p.Lines, Line{
				Line: source.Line{Index: len(p.Lines), Sorted: true, Summarised: true}, tag: f.start, Offset: f.val, Length: f.length(),
			})
		case f.is(4, wireLen):
			p.EventMetadataCount++
			p.eventNames.add(f)
		case f.is(5, wireLen):
			p.StatMetadataCount++
			p.statNames.add(f)
			err = s.walkStatKey(p, f)
		case f.is(6, wireLen):
			p.statsExtent.add(f)
			err = s.walkPlaneStat(p, f)
		}
		if err != nil {
			return err
		}
		r.skip(f)
	}
}

// walkStatKey keeps the largest id of stat metadata, so that an edit can add one.
func (s *scanner) walkStatKey(p *Plane, entry field) error {
	var key int64
	for {
		f, ok, err := s.r.next(entry.end)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if f.is(1, wireVarint) {
			key = int64(f.v)
		}
		s.r.skip(f)
	}
	p.maxStatKey = max(p.maxStatKey, key)
	return nil
}

func (s *scanner) walkPlaneStat(p *Plane, f field) error {
	if len(p.Stats) >= maxPlaneStats {
		p.StatsOmitted++
		return nil
	}
	st, err := s.r.stat(f, maxTextLength)
	if err != nil {
		return err
	}
	if s.text += int64(len(st.Bytes)) + 2*textOverhead; s.text > s.opt.MaxTextBytes {
		return s.limit(f, "names and stats take more than %d bytes", s.opt.MaxTextBytes)
	}
	st.field = extent{f.start, f.end}
	p.Stats = append(p.Stats, st)
	return nil
}

// scanLines reads the event lists, several lines at a time.
func (s *scanner) scanLines(ctx context.Context) error {
	todo := make([]*Line, 0, s.space.LineCount)
	planes := make([]int, 0, s.space.LineCount)
	for i := range s.space.Planes {
		p := &s.space.Planes[i]
		for k := range p.Lines {
			todo, planes = append(todo, &p.Lines[k]), append(planes, i)
		}
	}
	err := inParallel(ctx, s.opt.Workers, len(todo), func(ctx context.Context, next func() (int, bool)) error {
		ls := newLineScanner(ctx, s.src, s.opt.Progress)
		for i, ok := next(); ok; i, ok = next() {
			if err := ls.scan(planes[i], todo[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range s.space.Planes {
		if err := s.nameLines(&s.space.Planes[i]); err != nil {
			return err
		}
	}
	return nil
}

// inParallel runs body in at most workers goroutines; each draws indexes below n from next until there are no more.
func inParallel(ctx context.Context, workers, n int, body func(ctx context.Context, next func() (int, bool)) error) error {
	var t ticket
	t.n = int64(n)
	if workers = min(workers, n); workers <= 1 {
		return body(ctx, t.next)
	}
	g, ctx := safe.NewGroup(ctx)
	for range workers {
		g.Go(func() error { return body(ctx, t.next) })
	}
	return g.Wait()
}

// nameLines reads the names of a plane's lines and adds up their events. Lines were scanned in any order, so texts are counted
// here, where the order is fixed.
func (s *scanner) nameLines(p *Plane) error {
	for k := range p.Lines {
		l := &p.Lines[k]
		s.r.at = place{plane: p.Index, line: k, event: -1}
		var err error
		if l.Name, err = s.keepMarked(l.marks[markLineName]); err != nil {
			return err
		}
		if l.DisplayName, err = s.keepMarked(l.marks[markLineDisplayName]); err != nil {
			return err
		}
		p.Events += l.Events
		if l.Negative > 0 {
			s.space.find("plane %d (%s), line %d (%s): %d events have a negative duration_ps", p.Index, p.Name, k, l.Label(), l.Negative)
		}
		if l.Saturated > 0 {
			s.space.find("plane %d (%s), line %d (%s): %d events end beyond 2^63 ps", p.Index, p.Name, k, l.Label(), l.Saturated)
		}
	}
	s.space.Events += p.Events
	return nil
}
