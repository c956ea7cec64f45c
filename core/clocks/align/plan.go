package align

import (
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// LinePlan says where a line goes.
type LinePlan struct {
	Domain Domain
	// OldBaseNS is the wall-clock instant that the file shows for the line's offset 0; NewBaseNS the instant of the reference's
	// clock (or of the node's tracer clock, with TracerTime, moved to the same axis) that it becomes.
	OldBaseNS, NewBaseNS int64
	cursor               *clock.Cursor
	rigid                bool // the whole line moves by one constant: offsets stay as they are
}

// Cursor returns a cursor of its own over the line's map.
func (l *LinePlan) Cursor() *clock.Cursor { return l.cursor.Clone() }

// Plan says where every line of a trace goes.
type Plan struct {
	Processes   []*source.Process
	Lines       [][]LinePlan // by process and line
	TracerLines int          // how many lines are on R
	Reasons     []string     // how R lines were told, one sentence each

	Wall, Tracer *clock.Map // what lines of either clock go through; nil: no line does, or nothing is known
}

// PlanLines decides the domain and the map of every line. startNS is the instant since 1970 (wall clock of the node) from which
// line times count that are not absolute: what the trace says, or another where it says nothing. Without snapshots nothing is on the
// tracer's clock as far as can be told: the producer itself has then put device lines on the wall clock.
func PlanLines(processes []*source.Process, startNS int64, c Clocks, t Timebase) *Plan {
	p := &Plan{Processes: processes, Lines: make([][]LinePlan, len(processes))}
	var maps [2]*clock.Map
	for d := range maps {
		if Domain(d) == Wall || c.Tracer != nil {
			maps[d] = c.toReference(Domain(d), t)
		}
	}
	p.Wall = known(maps[Wall])
	hosts := 0
	for i, plane := range processes {
		if c.stays(len(processes)) {
			p.stay(plane, startNS, &c.Stated[i])
			continue
		}
		p.Lines[i] = make([]LinePlan, len(plane.Lines))
		for j := range plane.Lines {
			l, lp := plane.Lines[j], &p.Lines[i][j]
			lp.OldBaseNS = lineInstant(l.TimestampNS, startNS)
			base := lp.OldBaseNS
			if c.Tracer != nil && l.StampedBy(c.TracerName) {
				lp.Domain, base = Tracer, c.StartTracerNS
				p.TracerLines++
				if !isDevice(plane) {
					hosts++
				}
			}
			lp.cursor = maps[lp.Domain].Cursor(base)
			_, lp.rigid = maps[lp.Domain].ConstantShift()
			lp.NewBaseNS = lp.cursor.BaseY()
			if lp.Domain == Tracer && t == TracerTime { // R counts from another zero: keep the line where its wall time was
				lp.NewBaseNS = addSat(lp.OldBaseNS, lp.cursor.BaseY()-c.StartTracerNS)
			}
		}
	}
	if p.TracerLines > 0 && !c.stays(len(processes)) {
		p.Tracer = known(maps[Tracer])
		p.Reasons = append(p.Reasons, tracerReason(p.TracerLines, hosts))
	}
	return p
}

// known returns a map, nil for one that says nothing.
func known(m *clock.Map) *clock.Map {
	if _, _, ok := m.Span(); !ok {
		return nil
	}
	return m
}

// stay leaves the lines of a plane where they are, with the bounds that the file states.
func (p *Plan) stay(plane *source.Process, startNS int64, s *Stated) {
	p.Lines[plane.Index] = make([]LinePlan, len(plane.Lines))
	for j := range plane.Lines {
		lp := &p.Lines[plane.Index][j]
		m := s.Wall
		if s.Lines.Has(j) {
			lp.Domain = Tracer
			p.TracerLines++
			if s.Tracer != nil {
				m = s.Tracer
			}
		}
		lp.OldBaseNS = lineInstant(plane.Lines[j].TimestampNS, startNS)
		lp.NewBaseNS, lp.cursor, lp.rigid = lp.OldBaseNS, m.Cursor(lp.OldBaseNS), true
	}
}

// TracerSpan returns the first and the last instant of the tracer's clock at which an event of its lines begins or ends, given the
// clock at which their offsets begin; ok is false when there is none.
func (p *Plan) TracerSpan(startTracerNS int64) (from, to int64, ok bool) {
	for i := range p.Lines {
		for j := range p.Lines[i] {
			l := p.Processes[i].Lines[j]
			if p.Lines[i][j].Domain != Tracer || l.Timed() == 0 {
				continue
			}
			first, last := addSat(startTracerNS, floorNS(l.MinOffsetPS)), addSat(startTracerNS, floorNS(l.MaxEndPS))
			if !ok {
				from, to, ok = first, last, true
			}
			from, to = min(from, first), max(to, last)
		}
	}
	return from, to, ok
}

// TracerLinesOf returns, by plane, which lines were on the tracer's clock.
func (p *Plan) TracerLinesOf() []aligned.Lines {
	out := make([]aligned.Lines, len(p.Lines))
	for i := range p.Lines {
		for j := range p.Lines[i] {
			if p.Lines[i][j].Domain == Tracer {
				out[i].Lines = append(out[i].Lines, j)
			}
		}
		if n := len(out[i].Lines); n > 0 && n == len(p.Lines[i]) {
			out[i] = aligned.Lines{All: true}
		}
	}
	return out
}

// lineInstant returns the wall-clock instant of a line's offset 0. TSL subtracts the session's start from timestamp_ns only where
// it is not earlier, so absolute values occur beside normalised ones.
func lineInstant(timestampNS, startNS int64) int64 {
	if timestampNS >= source.AbsoluteNS {
		return timestampNS
	}
	return addSat(startNS, timestampNS)
}

func isDevice(p *source.Process) bool { return strings.HasPrefix(p.Name, "/device:") }

func addSat(a, b int64) int64 {
	s := a + b
	if a > 0 && b > 0 && s < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && s >= 0 {
		return math.MinInt64
	}
	return s
}

// EarliestNS returns the earliest instant of any timed event (or of an empty line's start) after mapping, readings of clocks excepted; ok is false when the
// trace has no line.
func (p *Plan) EarliestNS() (ns int64, ok bool) {
	for i := range p.Lines {
		if p.Processes[i].Readings {
			continue
		}
		for j := range p.Lines[i] {
			l, lp := p.Processes[i].Lines[j], &p.Lines[i][j]
			at := lp.NewBaseNS
			if l.Timed() > 0 {
				at = addSat(at, floorNS(lp.cursor.Clone().Map(l.MinOffsetPS)))
			}
			if !ok || at < ns {
				ns, ok = at, true
			}
		}
	}
	return ns, ok
}

// EarliestEventNS returns the start of the earliest timed event after mapping; ok is false when there is none.
func (p *Plan) EarliestEventNS() (ns int64, ok bool) {
	for i := range p.Lines {
		if p.Processes[i].Readings {
			continue
		}
		for j := range p.Lines[i] {
			l, lp := p.Processes[i].Lines[j], &p.Lines[i][j]
			if l.Timed() == 0 {
				continue
			}
			if at := addSat(lp.NewBaseNS, floorNS(lp.cursor.Clone().Map(l.MinOffsetPS))); !ok || at < ns {
				ns, ok = at, true
			}
		}
	}
	return ns, ok
}

// LatestNS returns the latest end of any timed event after mapping; ok is false when there is none.
func (p *Plan) LatestNS() (ns int64, ok bool) {
	for i := range p.Lines {
		if p.Processes[i].Readings {
			continue
		}
		for j := range p.Lines[i] {
			l, lp := p.Processes[i].Lines[j], &p.Lines[i][j]
			if l.Timed() == 0 {
				continue
			}
			if at := addSat(lp.NewBaseNS, floorNS(lp.cursor.Clone().Map(l.MaxEndPS))); !ok || at > ns {
				ns, ok = at, true
			}
		}
	}
	return ns, ok
}

func floorNS(ps int64) int64 {
	if ps < 0 {
		return -((-ps + 999) / 1000)
	}
	return ps / 1000
}

// Range keeps events that overlap [FromNS, ToNS], instants of the output's clock.
type Range struct{ FromNS, ToNS int64 }

// EventStats are the names of stats that events receive; "" leaves one out.
type EventStats struct {
	Correction string // by how much the start moved
	Bound      string // how far off the event can be
}

// Edit turns the plan into the changes that a source.Retimer makes. Line times of the output count from zeroNS. stats, one per plane and
// line as returned, is filled while it measures; read it after.
func (p *Plan) Edit(zeroNS int64, keep *Range, add EventStats) (*source.Edit, []*Stats) {
	e := &source.Edit{Planes: make([]source.PlaneEdit, len(p.Processes)), CorrectionStat: add.Correction, BoundStat: add.Bound}
	var all []*Stats
	for i := range p.Lines {
		plane := p.Processes[i]
		e.Planes[i].Lines = make([]source.LineEdit, len(plane.Lines))
		for j := range p.Lines[i] {
			l, lp := plane.Lines[j], &p.Lines[i][j]
			ts := lp.NewBaseNS - zeroNS
			le := &e.Planes[i].Lines[j]
			if ts != l.TimestampNS || add.Correction != "" {
				le.TimestampNS = &ts
			}
			if !lp.rigid {
				le.Cursor = lp.Cursor()
			}
			if add.Bound != "" {
				le.Bounds = lp.Cursor()
			}
			// a Retimer sees the base change; what the change of zero contributes to that is not a correction.
			le.CorrectionBaseNS = (lp.NewBaseNS - lp.OldBaseNS) - (ts - l.TimestampNS)
			if keep != nil {
				from, to := relativePS(keep.FromNS, lp.NewBaseNS), relativePS(keep.ToNS, lp.NewBaseNS)
				le.KeepFromPS, le.KeepToPS = &from, &to
			}
			s := &Stats{Events: l.Events, Aggregated: l.Aggregated}
			all = append(all, s)
			le.Observe = lp.observer(s, plane.Name, l.Label())
		}
	}
	return e, all
}

// relativePS is how far an instant is from a base, in ps; what does not fit is as far as numbers go, also for an end that is open.
func relativePS(ns, baseNS int64) int64 {
	d := ns - baseNS
	switch overflows := (ns < baseNS) != (d < 0); {
	case ns >= baseNS && (overflows || d > math.MaxInt64/1000):
		return math.MaxInt64
	case ns < baseNS && (overflows || d < math.MinInt64/1000):
		return math.MinInt64
	}
	return d * 1000
}

// observer returns the hook that counts the events of a line.
func (l *LinePlan) observer(s *Stats, plane, line string) func(*source.Observed) {
	at := eventsOf{stats: s, plane: plane, line: line, shiftNS: l.NewBaseNS - l.OldBaseNS}
	if !l.rigid {
		return func(o *source.Observed) { at.observe(o.OldPS, o.NewPS, &o.Bounds) }
	}
	own := l.Cursor() // a Retimer has none when the line is moved as a whole
	return func(o *source.Observed) {
		for from := 0; from < len(o.OldPS); {
			bounds, to := own.Bounds(o.OldPS[from]), from+1
			for to < len(o.OldPS) && own.Serves(o.OldPS[to]) {
				to++
			}
			at.observe(o.OldPS[from:to], o.NewPS[from:to], &bounds)
			from = to
		}
	}
}

// At maps an instant that the file shows (wall clock, ns) of an event on this line to the reference's clock, with its bound.
func (l *LinePlan) At(shownNS int64) (ns, boundNS int64) {
	c := l.Cursor()
	ps, bound, _ := c.Sample(relativePS(shownNS, l.OldBaseNS))
	return addSat(l.NewBaseNS, floorNS(ps)), bound
}
