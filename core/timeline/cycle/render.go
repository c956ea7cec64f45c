package cycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/phase"
)

// Document makes prlx.cycles/1 of a result.
func (r *Result) Document() *Document {
	d := &Document{
		Schema: Schema, Status: StatusCycles, Input: r.input(), ZeroNS: r.zero, Evidence: notNil(r.evidence), StepsTotal: int64(len(r.steps)),
		RankSteps: notNil(r.ranks), Warnings: notNil(r.warnings), Options: r.settings(),
	}
	if len(r.classes) == 0 {
		d.Status = StatusNone
	}
	if r.selected >= 0 {
		d.Selected = idText(r.classes[r.selected].id)
	}
	d.Losses = r.losses()
	covered := r.coverage(d)
	d.Streams = r.streams(covered)
	d.Levels = make([]Level, 0, len(r.levels))
	for i := range r.levels {
		d.Levels = append(d.Levels, r.level(i))
	}
	d.Steps = r.stepRows()
	d.StepsOmitted = d.StepsTotal - int64(len(d.Steps))
	d.RankTotals = r.rankTotals()
	d.Edits = r.edits()
	if c := r.principal(); c != nil {
		d.Confidence = c.confidence
	}
	d.Verdict = r.verdict(d)
	return d
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// share is a/b, 0 where b is 0.
func share(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func (r *Result) input() Input {
	in := Input{Path: r.trace.Path, Format: r.trace.Format, Kernels: int64(r.trace.Kernels()), Names: int64(len(r.trace.Names)), BaseNS: r.trace.BaseNS, Ranks: []int{}}
	end := r.zero
	for i := range r.trace.Sequences {
		s := &r.trace.Sequences[i]
		if s.Len() == 0 {
			continue
		}
		in.Devices++
		if n := max(0, s.Rank); !slices.Contains(in.Ranks, n) {
			in.Ranks = append(in.Ranks, n)
		}
		for k := range s.Len() {
			end = max(end, s.EndNS(k))
		}
	}
	slices.Sort(in.Ranks)
	in.SpanNS = end - r.zero
	return in
}

func (r *Result) settings() Settings {
	s := Settings{
		IgnoreAnnotations: r.opt.IgnoreAnnotations, Keys: r.keys, Streams: StreamsEach, Rules: r.opt.Rules.Len(), PhaseMode: string(r.opt.PhaseMode),
		EditPercent: max(0, r.opt.EditPercent), MaxLevels: r.opt.MaxLevels, Compat: r.opt.Compat,
	}
	if r.merged || r.opt.Compat != nil {
		s.Streams = StreamsMerged
	}
	return s
}

func (r *Result) losses() Losses {
	l := &r.trace.Losses
	out := Losses{EventsSkipped: l.Unusable + l.Unpaired + l.Skipped, Truncated: l.Truncated, WorkLimited: r.limited, KernelsCut: r.cut}
	var notes []string
	add := func(n int64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	add(l.Unusable, "%d kernels without a usable time")
	add(l.Unpaired, "%d kernels with a begin or an end only")
	add(l.Skipped, "%d pieces of text that are no event")
	add(l.LostMarks, "%d marks beyond the limit")
	add(l.LostLaunches, "%d launches beyond the limit")
	add(r.cut, "%d kernels beyond the longest sequence that is searched")
	if l.Truncated {
		notes = append(notes, fmt.Sprintf("the file ends in the middle of an event, at byte %d", l.TruncatedAt))
	}
	if r.limited {
		notes = append(notes, "the search gave up on a part that is almost periodic")
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// coverage finds how many kernels of each track lie in a repetition, and what lies outside.
func (r *Result) coverage(d *Document) (covered []int64) {
	covered = make([]int64, len(r.tracks))
	in, all := int64(0), int64(0)
	for _, t := range r.tracks {
		s := r.seq(t)
		at := make([]int, 0, 8) // where each part of this track stands
		var parts []*part
		for _, c := range r.classes {
			for i := range c.parts {
				if c.parts[i].track == t.number {
					parts = append(parts, &c.parts[i])
					at = append(at, 0)
				}
			}
		}
		first, last, end := -1, 0, int32(0)
		outside := func(from, to int32) {
			for i := from; i < to; i++ {
				d.Unexplained.Kernels++
				d.Unexplained.BusyNS += s.DurNS(t.at(int(i)))
			}
		}
		for { // the parts' repetitions in order of start
			best := -1
			for i, p := range parts {
				if at[i] < len(p.reps) && (best < 0 || p.reps[at[i]].Start < parts[best].reps[at[best]].Start) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			rep := parts[best].reps[at[best]]
			at[best]++
			if first < 0 {
				first = int(rep.Start)
			}
			if rep.Start > end {
				outside(end, rep.Start)
			}
			if rep.End > end {
				covered[t.number] += int64(rep.End - max(end, rep.Start))
				end = rep.End
				last = int(rep.End)
			}
		}
		outside(end, int32(t.n))
		if first >= 0 {
			d.Unexplained.Warmup += int64(first)
			d.Unexplained.Tail += int64(t.n - last)
		}
		in += covered[t.number]
		all += int64(t.n)
	}
	if r.opt.Compat == nil {
		all = max(all, r.compute)
	}
	d.Coverage = share(in, all)
	return covered
}

func (r *Result) streams(covered []int64) []Stream {
	out := []Stream{}
	for i := range r.trace.Sequences {
		s := &r.trace.Sequences[i]
		busy := make([]int64, len(s.Streams))
		reach := make([]int64, len(s.Streams))
		for k := range s.Len() {
			st, end := s.Stream[k], s.EndNS(k)
			from := max(s.StartNS[k], reach[st])
			if reach[st] == 0 {
				from = s.StartNS[k]
			}
			if end > from {
				busy[st] += end - from
			}
			reach[st] = max(reach[st], end)
		}
		for k, st := range s.Streams {
			row := Stream{Rank: max(0, s.Rank), Device: s.Device, Stream: st.Name, Communication: st.Communication, Kernels: int64(st.Kernels), BusyNS: busy[k]}
			for _, t := range r.tracks {
				if t.seq == i && t.has(uint16(k)) {
					row.Searched = true
					row.Coverage = share(covered[t.number], int64(t.n))
				}
			}
			out = append(out, row)
		}
	}
	return out
}

func (r *Result) level(i int) Level {
	l := &r.levels[i]
	out := Level{Level: i + 1, Name: l.depth.name(), Reason: l.reason, Coverage: min(1, share(l.covered, r.compute)), Classes: make([]Class, 0, len(l.classes))}
	for _, k := range l.classes {
		c := r.class(k)
		c.Level = i + 1
		out.Classes = append(out.Classes, c)
	}
	if r.opt.Compat != nil {
		out.Name = LevelCycle
	}
	return out
}

func (r *Result) class(k int) Class {
	c := r.classes[k]
	span := int64(0)
	for _, p := range c.parts {
		t := r.tracks[p.track]
		s := r.seq(t)
		span += s.EndNS(t.at(t.n-1)) - s.StartNS[t.at(0)]
	}
	out := Class{
		ID: idText(c.id), Name: c.name, Source: c.source, Period: c.period(), Rotation: c.rotation, Count: c.count, Edited: c.edited, Edits: c.edits,
		FirstIndex: c.firstIndex, StartNS: c.startNS - r.zero, EndNS: c.endNS - r.zero, Coverage: min(1, share(c.covered, r.compute)),
		WallNS: c.wall, BusyNS: c.busy, GapNS: c.gap, KernelNS: c.kernel, Phase: string(c.phase.Phase), PhaseScore: c.phase.Score,
		PhaseReason: c.phase.Reason, PhaseByPosition: c.phase.Position, PhaseReadings: readings(c.phase.Readings), Confidence: c.confidence, ConfidenceReason: c.because,
		Marks: notNil(c.marks), Kernels: c.slots, Beside: notNil(c.beside), Outliers: notNil(c.outliers), OutliersTotal: c.outliersTotal, Drift: c.drift,
		Ranks: c.ranks, Children: []Child{}, Parents: []string{}, Borders: []Border{},
	}
	if span > 0 {
		out.TimeShare = min(1, c.wall.Mean*float64(c.count)/float64(span))
	}
	for _, ch := range c.children {
		out.Children = append(out.Children, Child{ID: idText(ch.class.id), Count: ch.count})
	}
	for _, p := range c.parents {
		out.Parents = append(out.Parents, idText(r.classes[p].id))
	}
	starts := map[int][]int32(nil)
	for i := range r.levels {
		if r.levels[i].depth == c.depth {
			starts = r.levels[i].starts
		}
	}
	for pi := range c.parts {
		p := &c.parts[pi]
		room := r.opt.MaxListed - len(out.Borders)
		for k := range p.reps[:min(len(p.reps), max(0, room))] {
			out.Borders = append(out.Borders, r.border(p, k, starts[p.track]))
		}
	}
	out.BordersOmitted = c.count - int64(len(out.Borders))
	return out
}

func (r *Result) border(p *part, k int, starts []int32) Border {
	t := r.tracks[p.track]
	s := r.seq(t)
	rep := p.reps[k]
	begin, wall := s.StartNS[t.at(int(rep.Start))], r.wall(p, k, starts)
	return Border{
		Rank: max(0, s.Rank), Device: s.Device, First: int64(rep.Start), End: int64(rep.End), StartNS: begin - r.zero, EndNS: r.lastEnd(t, rep) - r.zero,
		WallNS: wall, BusyNS: r.busy(t, rep, wall), Edits: int(rep.Edits),
	}
}

func (r *Result) stepRows() []Step {
	out := make([]Step, 0, min(len(r.steps), r.opt.MaxListed))
	number := int64(0)
	for i := range r.steps {
		st := &r.steps[i]
		if i > 0 && st.track != r.steps[i-1].track {
			number = 0
		}
		if len(out) < r.opt.MaxListed {
			out = append(out, r.stepRow(st, number))
		}
		number++
	}
	return out
}

func readings(list []phase.Reading) []Reading {
	out := []Reading{}
	for _, x := range list {
		out = append(out, Reading{Phase: string(x.Phase), Score: x.Score})
	}
	return out
}

func (r *Result) stepRow(st *step, number int64) Step {
	t := r.tracks[st.track]
	s := r.seq(t)
	row := Step{
		Rank: max(0, s.Rank), Device: s.Device, Number: number, Phase: string(phase.Unknown), StartNS: st.startNS - r.zero,
		EndNS: r.lastEnd(t, st.span) - r.zero, WallNS: st.wallNS, BusyNS: st.busyNS, GapNS: st.wallNS - st.busyNS,
		Kernels: int64(st.span.End - st.span.Start), Edits: int(st.span.Edits), Partial: st.partial,
	}
	if st.class >= 0 {
		c := r.classes[st.class]
		row.Class, row.Phase = idText(c.id), string(c.phase.Phase)
	}
	if st.mark >= 0 {
		m := &r.trace.Marks[st.mark]
		row.Mark = m.Text
		if m.Phase != "" {
			row.Phase = m.Phase
		}
	}
	return row
}

func (r *Result) rankTotals() []RankTotal {
	out := []RankTotal{}
	if len(r.ranks) == 0 {
		return out
	}
	for _, steps := range r.stepsByDevice() {
		s := r.seq(r.tracks[r.steps[steps[0]].track])
		row := RankTotal{Rank: max(0, s.Rank), Device: s.Device, Steps: int64(len(steps))}
		sum := 0.0
		for _, i := range steps {
			sum += float64(r.steps[i].ownNS)
		}
		row.OwnNS = sum / float64(len(steps))
		for _, rs := range r.ranks {
			if rs.Slowest == row.Rank && rs.Device == row.Device {
				row.Slowest++
				row.ExcessNS += rs.ExcessNS
			}
		}
		out = append(out, row)
	}
	return out
}

// edits adds up the edits of the level that covers most.
func (r *Result) edits() EditBudget {
	b := EditBudget{Percent: max(0, r.opt.EditPercent)}
	best := -1
	for i := range r.levels {
		if best < 0 || r.levels[i].covered >= r.levels[best].covered {
			best = i
		}
	}
	if best < 0 {
		return b
	}
	covered := int64(0)
	for _, k := range r.levels[best].classes {
		c := r.classes[k]
		b.Used += c.edits
		b.Repetitions += c.edited
		covered += c.covered
		for _, p := range c.parts {
			for _, rep := range p.reps {
				b.LargestPercent = max(b.LargestPercent, 100*float64(rep.Edits)/float64(c.period()))
			}
		}
	}
	b.UsedPercent = 100 * share(b.Used, covered)
	return b
}

// principal is the class that the verdict speaks of: of the step level, else of the one that covers most, that which takes most time.
func (r *Result) principal() *class {
	var best *class
	widest := int64(-1)
	for _, l := range r.levels {
		if l.depth == depthStep {
			widest = -2
			break
		}
		widest = max(widest, l.covered)
	}
	for _, l := range r.levels {
		if widest == -2 && l.depth != depthStep || widest >= 0 && l.covered != widest {
			continue
		}
		for _, k := range l.classes {
			c := r.classes[k]
			if best == nil || !r.aside(c) && c.wall.Mean*float64(c.count) > best.wall.Mean*float64(best.count) {
				best = c
			}
		}
	}
	return best
}

const maxVerdictClasses = 3

// verdict says in a sentence or two what was found.
func (r *Result) verdict(d *Document) string {
	switch {
	case r.trace.Kernels() == 0:
		return "There is no kernel in this trace."
	case len(r.classes) == 0:
		return fmt.Sprintf("No cycle: nothing in the %d kernels repeats often enough to be more than chance.", r.trace.Kernels())
	}
	var parts []string
	main := r.principal()
	for i := range r.levels {
		l := &r.levels[i]
		if l.depth != main.depth {
			continue
		}
		for _, k := range l.classes[:min(len(l.classes), maxVerdictClasses)] {
			c := r.classes[k]
			text := fmt.Sprintf("%d × %s of %d kernels", c.count, c.name, c.period())
			if len(c.parts) > 1 {
				text += fmt.Sprintf(" on %d devices", len(c.parts))
			}
			if c.count > 0 && c.wall.Mean > 0 {
				text += fmt.Sprintf(", %s each", durationText(float64(c.wall.P50)))
			}
			for k, ch := range c.children {
				if k == maxVerdictClasses {
					text += ", and more"
					break
				}
				text += fmt.Sprintf(", %d × %s", ch.count, ch.class.name)
			}
			parts = append(parts, text)
		}
		if n := len(l.classes) - maxVerdictClasses; n > 0 {
			parts = append(parts, fmt.Sprintf("and %d more classes", n))
		}
	}
	text := strings.Join(parts, "; ") + "."
	text += fmt.Sprintf(" They explain %.1f %% of the kernels.", 100*d.Coverage)
	if main.depth != depthStep && r.opt.Compat == nil {
		text += " No step repeats."
	}
	return text
}

// durationText writes a time with three digits.
func durationText(ns float64) string {
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.ns {
			v := ns / u.ns
			switch {
			case v >= 100:
				return fmt.Sprintf("%.0f %s", v, u.unit)
			case v >= 10:
				return fmt.Sprintf("%.1f %s", v, u.unit)
			}
			return fmt.Sprintf("%.2f %s", v, u.unit)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// RepetitionRow is one repetition of one class, for tables: all of them, however many the document lists.
type RepetitionRow struct {
	Level  int
	Class  int // place in Document.Levels[Level-1].Classes
	ID     string
	Name   string
	Rank   int
	Device string
	Border
}

// EachRepetition calls visit for all repetitions: in order of level, class, rank, device, time.
func (r *Result) EachRepetition(visit func(RepetitionRow)) {
	for li := range r.levels {
		l := &r.levels[li]
		for place, k := range l.classes {
			c := r.classes[k]
			for pi := range c.parts {
				p := &c.parts[pi]
				for rep := range p.reps {
					b := r.border(p, rep, l.starts[p.track])
					visit(RepetitionRow{Level: li + 1, Class: place, ID: idText(c.id), Name: c.name, Rank: b.Rank, Device: b.Device, Border: b})
				}
			}
		}
	}
}

// EachStep calls visit for all steps, however many the document lists, in the order of Document.Steps.
func (r *Result) EachStep(visit func(Step)) {
	number := int64(0)
	for i := range r.steps {
		if i > 0 && r.steps[i].track != r.steps[i-1].track {
			number = 0
		}
		visit(r.stepRow(&r.steps[i], number))
		number++
	}
}
