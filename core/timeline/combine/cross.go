package combine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

const (
	maxArgBytes    = 4 << 10  // longer values of stats are left out
	maxNameBytes   = 16 << 10 // longer names of events are cut
	maxExactInt    = 1 << 53  // larger integers become strings: viewers read numbers as float64
	maxLabelsBytes = 32 << 20 // display names kept of one plane
)

// crossing turns an XSpace into events of a Chrome JSON: planes become processes, lines threads, picoseconds decimals of
// microseconds and stats args.
type crossing struct {
	doc    *chromeDocument
	node   *Node
	plan   *align.XSpacePlan
	planes []*crossPlane
	stats  []*align.Stats
	lost   losses
}

// losses counts what has no place in a Chrome JSON.
type losses struct {
	aggregated, bytes, oversized, unread, negative, metadata, distant atomic.Int64
}

// crossPlane is a plane with timed events.
type crossPlane struct {
	*crossing
	plane    *xspace.Plane
	recorded *xspace.Plane // the same under the name that it had in the recording
	pid      int64
	lines    []*crossLine

	once    sync.Once
	pending atomic.Int32 // lines not done yet
	err     error
	names   xspace.EventOptions
	shown   map[int64]string // display names by metadata id, where they differ from the name
	program map[int64]int64  // program id by metadata id, of lines whose events do not carry it
}

// crossLine is a line with timed events.
type crossLine struct {
	*crossPlane
	line    *xspace.Line
	at      *align.LinePlan
	tid     int
	observe func(oldPS, newPS, boundNS int64, cov clock.Coverage)
	unnamed bool // its events do not say of which program they are: the metadata that they share does
}

// recorded returns a plane under the name that it had in the recording.
func (n *Node) recorded(p *xspace.Plane) *xspace.Plane {
	if n.planes == nil {
		return p
	}
	view := *p
	view.Name = n.planes.Names[p.Index]
	return &view
}

// crossing decides processes and threads of node k.
func (d *chromeDocument) crossing(k int) *crossing {
	n := d.nodes[k]
	x := &crossing{doc: d, node: n, plan: d.plans[k]}
	edit, stats := x.plan.Edit(d.zeroNS, d.keep, "")
	x.stats = stats
	for i := range n.Space.Planes {
		plane := &n.Space.Planes[i]
		p := &crossPlane{crossing: x, plane: plane, recorded: n.recorded(plane)}
		for j := range plane.Lines {
			x.lost.aggregated.Add(plane.Lines[j].Aggregated)
			if plane.Lines[j].Timed() > 0 {
				p.lines = append(p.lines, &crossLine{
					crossPlane: p, line: &plane.Lines[j], at: &x.plan.Lines[i][j], tid: j + 1, observe: edit.Planes[i].Lines[j].Observe,
					unnamed: collective.ProgramsInMetadata(p.recorded, &plane.Lines[j]),
				})
			}
		}
		if len(p.lines) == 0 {
			continue
		}
		p.pid = d.nextPID
		d.nextPID++
		d.markPlane(k, p)
		p.pending.Store(int32(len(p.lines)))
		x.planes = append(x.planes, p)
	}
	return x
}

// markPlane notes in the mark whose the process of a plane is, and which of its threads were on the tracer's clock.
func (d *chromeDocument) markPlane(k int, p *crossPlane) {
	part := d.partOf(k, p.plane)
	if part < 0 {
		return
	}
	one := &d.mark.Nodes[d.mine[k][part]]
	one.Processes = append(one.Processes, p.pid)
	var tids []int
	for _, l := range p.lines {
		if l.at.Domain == align.Tracer {
			tids = append(tids, l.tid)
		}
	}
	if len(tids) > 0 {
		setThreads(one, strconv.FormatInt(p.pid, 10), tids)
	}
}

// pieces yields the names of all processes and threads, then the lines.
func (x *crossing) pieces(yield func(int64, maker) error) error {
	for _, p := range x.planes {
		place := x.doc.nextSort
		x.doc.nextSort++
		err := yield(0, func(w *pieceWorker) error { return w.emit([]byte(",\n"), p.describe(w.buffer(), place)) })
		if err != nil {
			return err
		}
		for _, l := range p.lines {
			if err := yield(6*blockBytes, func(w *pieceWorker) error { return withPath(l.write(w), x.node.Path) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe appends the metadata events of a process.
func (p *crossPlane) describe(dst []byte, place int64) []byte {
	add := func(name string, tid int, key, value string) {
		if len(dst) > 0 {
			dst = append(dst, ",\n"...)
		}
		dst = append(append(dst, `{"ph":"M","name":"`...), name...)
		dst = strconv.AppendInt(append(dst, `","pid":`...), p.pid, 10)
		dst = strconv.AppendInt(append(dst, `,"tid":`...), int64(tid), 10)
		dst = append(append(append(dst, `,"args":{"`...), key...), `":`...)
		dst = append(append(dst, value...), "}}"...)
	}
	text := func(s string) string { return string(chrometrace.AppendString(nil, s)) }
	name := p.plane.Name
	if !p.doc.alone() {
		name = processName(p.node, name)
	}
	add("process_name", 0, "name", text(name))
	add("process_labels", 0, "labels", text(p.plane.Name+", plane "+strconv.Itoa(p.plane.Index)))
	add("process_sort_index", 0, "sort_index", strconv.FormatInt(place, 10))
	for _, l := range p.lines {
		add("thread_name", l.tid, "name", text(l.line.Label()))
		add("thread_sort_index", l.tid, "sort_index", strconv.Itoa(l.tid))
	}
	return dst
}

// load reads the plane's names, once for all its lines.
func (p *crossPlane) load(ctx context.Context) error {
	p.once.Do(func() {
		src := p.node.Src
		if p.names.EventNames, p.err = xspace.LoadEventNames(ctx, src, p.plane, xspace.NameOptions{}); p.err != nil {
			return
		}
		if p.names.StatNames, p.err = xspace.LoadStatNames(ctx, src, p.plane, xspace.NameOptions{}); p.err != nil {
			return
		}
		p.shown, p.program = map[int64]string{}, map[int64]int64{}
		held := 0
		p.err = xspace.EventMetadata(ctx, src, p.plane, func(m *xspace.EventMeta) error {
			p.lost.metadata.Add(int64(len(m.Stats)))
			if id, ok := collective.ProgramOf(m); ok && slices.ContainsFunc(p.lines, func(l *crossLine) bool { return l.unnamed }) {
				p.program[m.ID] = id
			}
			if m.DisplayName == "" || m.DisplayName == m.Name {
				return nil
			}
			if held += len(m.DisplayName) + 64; held <= maxLabelsBytes {
				p.shown[m.ID] = m.DisplayName
			}
			return nil
		})
	})
	return p.err
}

// release lets go of the names when the last line is done.
func (p *crossPlane) release() {
	if p.pending.Add(-1) == 0 {
		p.names, p.shown, p.program = xspace.EventOptions{}, nil, nil
	}
}

// write emits the events of a line in stored order.
func (l *crossLine) write(w *pieceWorker) error {
	if err := l.load(w.ctx); err != nil {
		return err
	}
	defer l.release()
	cursor := l.at.Cursor()
	text := w.buffer()
	err := xspace.EventsOf(w.ctx, l.node.Src, l.plane, l.line, l.names, func(e *xspace.Event) error {
		if e.Aggregated {
			return nil
		}
		from, bound, cov := cursor.Sample(e.OffsetPS)
		to := from
		if e.DurationPS > 0 {
			end := e.OffsetPS + e.DurationPS
			if end < e.OffsetPS {
				end = math.MaxInt64
			}
			to = cursor.Map(end)
		} else if e.DurationPS < 0 {
			l.lost.negative.Add(1)
		}
		start, end := instantOf(l.at.NewBaseNS, from), instantOf(l.at.NewBaseNS, to)
		if !overlaps(l.doc.keep, start, end) {
			return nil
		}
		l.observe(e.OffsetPS, from, bound, cov)
		if len(text) > 0 {
			text = append(text, ",\n"...)
		}
		text = l.event(text, e, start, to-from, from)
		if len(text) < blockBytes {
			return nil
		}
		full := text
		text = w.buffer()
		return w.emit([]byte(",\n"), full)
	})
	if err != nil {
		return err
	}
	l.doc.job.Progress().Add(l.line.Length)
	return w.emit([]byte(",\n"), text)
}

// instantOf returns the instant that lies ps after base (ns).
func instantOf(base, ps int64) chrometrace.Instant {
	ns := ps / 1000
	rest := ps % 1000
	if rest < 0 {
		ns, rest = ns-1, rest+1000
	}
	return chrometrace.Instant{NS: base + ns, PS: int32(rest)}
}

// event appends one event.
func (l *crossLine) event(dst []byte, e *xspace.Event, start chrometrace.Instant, durPS, fromPS int64) []byte {
	name := e.Name()
	long := ""
	if shown, ok := l.shown[e.MetadataID]; ok {
		name, long = shown, name
	}
	dst = chrometrace.AppendString(append(dst, `{"ph":"X","name":`...), clipped(name, maxNameBytes))
	dst = strconv.AppendInt(append(dst, `,"pid":`...), l.pid, 10)
	dst = strconv.AppendInt(append(dst, `,"tid":`...), int64(l.tid), 10)
	dst = l.micros(append(dst, `,"ts":`...), start, l.doc.zeroNS)
	dst = l.micros(append(dst, `,"dur":`...), instantOf(0, durPS), 0)
	at := len(dst)
	dst = append(dst, `,"args":{`...)
	open := len(dst)
	if long != "" {
		dst = l.arg(dst, open, "long_name", func(dst []byte) []byte { return chrometrace.AppendString(dst, clipped(long, maxNameBytes)) })
	}
	program, of := l.program[e.MetadataID]
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		of = of && st.Name != collective.StatProgram
		dst = l.stat(dst, open, st)
	}
	if of && l.unnamed {
		dst = l.arg(dst, open, collective.StatProgram, func(dst []byte) []byte {
			return appendStat(dst, &xspace.Stat{Kind: xspace.StatInt, Int: program})
		})
	}
	if e.Truncated {
		l.lost.unread.Add(1)
	}
	if l.doc.req.CorrectionStat {
		moved := l.at.NewBaseNS - l.at.OldBaseNS + (fromPS-e.OffsetPS)/1000
		dst = l.arg(dst, open, CorrectionStatName, func(dst []byte) []byte { return strconv.AppendInt(dst, moved, 10) })
	}
	if len(dst) == open {
		return append(dst[:at], '}')
	}
	return append(dst, "}}"...)
}

// micros appends a time; one that is out of reach becomes 0 and is counted.
func (l *crossLine) micros(dst []byte, i chrometrace.Instant, baseNS int64) []byte {
	out, ok := chrometrace.AppendMicros(dst, i, baseNS)
	if !ok {
		l.lost.distant.Add(1)
		return append(dst, '0')
	}
	return out
}

// clipped cuts a text that is too long for a name.
func clipped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}

func (l *crossLine) arg(dst []byte, open int, name string, value func([]byte) []byte) []byte {
	if len(dst) > open {
		dst = append(dst, ',')
	}
	return value(append(chrometrace.AppendString(dst, name), ':'))
}

// stat appends a stat as an arg; what has no place there is counted.
func (l *crossLine) stat(dst []byte, open int, st *xspace.Stat) []byte {
	switch {
	case st.Kind == xspace.StatBytes:
		l.lost.bytes.Add(1)
		return dst
	case st.Kind == xspace.StatNone:
		return dst
	case st.Kind == xspace.StatStr && st.Length > maxArgBytes, st.Kind == xspace.StatRef && len(st.Ref) > maxArgBytes:
		l.lost.oversized.Add(1)
		return dst
	}
	name := st.Name
	if name == "" {
		name = "stat " + strconv.FormatInt(st.MetadataID, 10)
	}
	return l.arg(dst, open, name, func(dst []byte) []byte { return appendStat(dst, st) })
}

// appendStat appends a stat's value as JSON: integers beyond 2^53 and what is no number as strings.
func appendStat(dst []byte, st *xspace.Stat) []byte {
	switch st.Kind {
	case xspace.StatInt:
		if st.Int <= maxExactInt && st.Int >= -maxExactInt {
			return strconv.AppendInt(dst, st.Int, 10)
		}
	case xspace.StatUint:
		if st.Uint <= maxExactInt {
			return strconv.AppendUint(dst, st.Uint, 10)
		}
	case xspace.StatDouble:
		if !math.IsNaN(st.Double) && !math.IsInf(st.Double, 0) {
			return strconv.AppendFloat(dst, st.Double, 'g', -1, 64)
		}
	}
	return chrometrace.AppendString(dst, st.Text())
}

// conclude fills in the result of the node and says what was left out.
func (x *crossing) conclude() {
	var total align.Stats
	for _, s := range x.stats {
		total.Merge(s)
	}
	n := x.node
	n.Result.EventsDropped = total.Events - total.Aggregated - total.Timed
	n.kept = total.Timed
	n.Result.fill(&total)
	var empty []string
	for i := range n.Space.Planes {
		p := &n.Space.Planes[i]
		if !slices.ContainsFunc(x.planes, func(c *crossPlane) bool { return c.plane == p }) {
			empty = append(empty, p.Name)
		}
	}
	if len(empty) > 0 {
		shown := strings.ToValidUTF8(strings.Join(empty[:min(len(empty), 5)], ", "), "\ufffd")
		if more := len(empty) - 5; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		n.warn("no place in Chrome JSON for planes without timed events: %s", shown)
	}
	for _, w := range []struct {
		n    int64
		text string
	}{
		{x.lost.aggregated.Load(), "left out, because they have no time: aggregated events (num_occurrences)"},
		{x.lost.bytes.Load(), "left out: stats that hold bytes"},
		{x.lost.oversized.Load(), "left out: stats longer than 4 KiB"},
		{x.lost.metadata.Load(), "left out: stats of event metadata"},
		{x.lost.unread.Load(), "left out: stats of events longer than 16 MiB"},
		{x.lost.negative.Load(), "given no duration: events with a negative one"},
		{x.lost.distant.Load(), "set to 0: times more than 292 years from the output's zero"},
	} {
		if w.n > 0 {
			n.warn("%s: %d", w.text, w.n)
		}
	}
}
