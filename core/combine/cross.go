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

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

const (
	maxNameBytes = 16 << 10 // longer names of events are cut
)

// crossing turns a trace that is read by line into events of a Chrome JSON: planes become processes, lines threads, picoseconds decimals
// of microseconds and stats args.
type crossing struct {
	doc    *chromeDocument
	node   *Node
	trace  source.ByLine
	plan   *align.Plan
	planes []*crossPlane
	stats  []*align.Stats
	add    align.EventStats // args that events receive
	lost   losses
}

// losses counts what has no place in a Chrome JSON.
type losses struct {
	source.Lost
	aggregated, negative, distant atomic.Int64
}

// crossPlane is a plane with timed events.
type crossPlane struct {
	*crossing
	plane    *source.Process
	recorded *source.Process // the same under the name that it had in the recording
	of, part int             // whose it is: the trace, and the node of it, -1 nobody's
	pid      int64
	lines    []*crossLine

	once    sync.Once
	pending atomic.Int32 // lines not done yet
	err     error
	events  source.Lines
}

// crossLine is a line with timed events.
type crossLine struct {
	*crossPlane
	line    *source.Line
	at      *align.LinePlan
	tid     int
	observe func(*source.Observed)
}

// crossing decides processes and threads of node k.
func (d *chromeDocument) crossing(k int) (*crossing, error) {
	n := d.in.nodes[k]
	trace, ok := n.Trace.(source.ByLine)
	if !ok {
		return nil, fault.New(fault.Internal, "%s has no reader by line", n.format.Title).WithPath(n.Path)
	}
	x := &crossing{doc: d, node: n, trace: trace, plan: d.c.at.nodes[k].plan, add: d.c.eventStats(d.in, k)}
	edit, stats := x.plan.Edit(d.zeroNS, d.c.at.keep, align.EventStats{})
	x.stats = stats
	recorded := n.recorded()
	for i, plane := range n.layout {
		p := &crossPlane{crossing: x, plane: plane, recorded: recorded[i], of: k, part: d.partOf(k, plane)}
		for j, line := range plane.Lines {
			x.lost.aggregated.Add(line.Aggregated)
			if line.Timed() > 0 {
				p.lines = append(p.lines, &crossLine{crossPlane: p, line: line, at: &x.plan.Lines[i][j], tid: j + 1, observe: edit.Planes[i].Lines[j].Observe})
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
	return x, nil
}

// markPlane notes in the mark whose the process of a plane is, and which of its threads were on the tracer's clock.
func (d *chromeDocument) markPlane(k int, p *crossPlane) {
	part := d.partOf(k, p.plane)
	if part < 0 {
		return
	}
	one := &d.marks.mark.Nodes[d.marks.mine[k][part]]
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
	text := func(s string) string { return string(source.AppendString(nil, s)) }
	name := p.plane.Name
	if !p.doc.in.alone() {
		if p.part >= 0 && p.node.parts() > 1 {
			name = p.recorded.Name
		}
		name = p.doc.processNamed(p.of, p.part, name, name)
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

// load prepares the plane, once for all its lines.
func (p *crossPlane) load(ctx context.Context) error {
	p.once.Do(func() { p.events, p.err = p.trace.Open(ctx, p.node.Src, p.recorded, &p.lost.Lost) })
	return p.err
}

// release lets go of what was prepared when the last line is done.
func (p *crossPlane) release() {
	if p.pending.Add(-1) == 0 {
		p.events = nil
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
	bytes := l.events.Bytes(l.line)
	var one [2]int64 // what is observed of an event: its offset before and after
	seen := source.Observed{OldPS: one[:1], NewPS: one[1:]}
	err := l.events.Line(w.ctx, l.line, func(e *source.Event) error {
		if !e.Timed {
			return nil
		}
		from := cursor.Map(e.OffsetPS)
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
		start, end := source.After(l.at.NewBaseNS, from), source.After(l.at.NewBaseNS, to)
		if !overlaps(l.doc.c.at.keep, start, end) {
			return nil
		}
		one = [2]int64{e.OffsetPS, from}
		seen.Bounds = cursor.Bounds(e.OffsetPS)
		l.observe(&seen)
		if len(text) > 0 {
			text = append(text, ",\n"...)
		}
		text = l.event(text, e, start, to-from, from, cursor)
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
	l.doc.job.Progress().Add(bytes)
	return w.emit([]byte(",\n"), text)
}

// event appends one event.
func (l *crossLine) event(dst []byte, e *source.Event, start source.Instant, durPS, fromPS int64, cursor *clock.Cursor) []byte {
	dst = source.AppendString(append(dst, `{"ph":"X","name":`...), clipped(e.Name, maxNameBytes))
	dst = strconv.AppendInt(append(dst, `,"pid":`...), l.pid, 10)
	dst = strconv.AppendInt(append(dst, `,"tid":`...), int64(l.tid), 10)
	dst = l.micros(append(dst, `,"ts":`...), start, l.doc.zeroNS)
	dst = l.micros(append(dst, `,"dur":`...), source.After(0, durPS), 0)
	at := len(dst)
	dst = append(dst, `,"args":{`...)
	open := len(dst)
	if e.LongName != "" {
		dst = source.AppendString(source.OpenArg(dst, open, "long_name"), clipped(e.LongName, maxNameBytes))
	}
	if e.Args != nil {
		dst = e.Args.AppendArgs(dst, open, &l.lost.Lost)
	}
	if l.add.Correction != "" {
		moved := l.at.NewBaseNS - l.at.OldBaseNS + (fromPS-e.OffsetPS)/1000
		dst = strconv.AppendInt(source.OpenArg(dst, open, l.add.Correction), moved, 10)
	}
	if l.add.Bound != "" {
		dst = strconv.AppendInt(source.OpenArg(dst, open, l.add.Bound), cursor.BoundOf(e.OffsetPS, e.DurationPS), 10)
	}
	if len(dst) == open {
		return append(dst[:at], '}')
	}
	return append(dst, "}}"...)
}

// micros appends a time; one that is out of reach becomes 0 and is counted.
func (l *crossLine) micros(dst []byte, i source.Instant, baseNS int64) []byte {
	out, ok := source.AppendMicros(dst, i, baseNS)
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

// conclude fills in the result of the node and says what was left out.
func (x *crossing) conclude(w *writtenNode) {
	w.count(x.stats)
	n := x.node
	var empty []string
	for _, p := range n.layout {
		if !slices.ContainsFunc(x.planes, func(c *crossPlane) bool { return c.plane == p }) {
			empty = append(empty, p.Name)
		}
	}
	if len(empty) > 0 {
		shown := strings.ToValidUTF8(strings.Join(empty[:min(len(empty), 5)], ", "), "\ufffd")
		if more := len(empty) - 5; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		w.warnings.say("no place in Chrome JSON for planes without timed events: %s", shown)
	}
	for _, left := range []struct {
		n    int64
		text string
	}{
		{x.lost.aggregated.Load(), "left out, because they have no time: aggregated events (num_occurrences)"},
		{x.lost.Bytes.Load(), "left out: stats that hold bytes"},
		{x.lost.Oversized.Load(), "left out: stats longer than 4 KiB"},
		{x.lost.Metadata.Load(), "left out: stats of event metadata"},
		{x.lost.Unread.Load(), "left out: stats of events longer than 16 MiB"},
		{x.lost.negative.Load(), "given no duration: events with a negative one"},
		{x.lost.distant.Load(), "set to 0: times more than 292 years from the output's zero"},
	} {
		if left.n > 0 {
			w.warnings.say("%s: %d", left.text, left.n)
		}
	}
}
