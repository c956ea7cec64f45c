// Package rendering makes documents: prlx.cycles/1 of a run, prlx.cycles-compare/1 of a comparison, with verdicts in words.
package rendering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/measuring"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// renderer makes documents of a run.
type renderer struct{ *structure.Run }

// Document makes prlx.cycles/1 of a run.
func Document(r *structure.Run) *cycledoc.Document { return renderer{r}.document() }

func (r renderer) document() *cycledoc.Document {
	d := &cycledoc.Document{
		Schema: cycledoc.Schema, Status: cycledoc.StatusCycles, Input: r.input(), ZeroNS: r.Zero, Evidence: notNil(r.Evidence), StepsTotal: int64(len(r.Steps)),
		RankSteps: notNil(r.Ranks), Warnings: notNil(r.Warnings), Options: r.settings(),
	}
	if len(r.Classes) == 0 {
		d.Status = cycledoc.StatusNone
	}
	if r.Selected >= 0 {
		d.Selected = cycledoc.ID(r.Classes[r.Selected].ID)
	}
	d.Losses = r.losses()
	covered := r.coverage(d)
	d.Streams = r.streams(covered)
	d.Levels = make([]cycledoc.Level, 0, len(r.Levels))
	for i := range r.Levels {
		d.Levels = append(d.Levels, r.level(i))
	}
	d.Steps = r.stepRows()
	d.StepsOmitted = d.StepsTotal - int64(len(d.Steps))
	d.RankTotals = r.rankTotals()
	d.Edits = r.edits()
	if c := r.principal(); c != nil {
		d.TimeCoverage = r.timeCoverage(c.Depth)
		d.Confidence = min(c.Confidence, d.TimeCoverage)
	}
	d.Verdict = r.verdict(d)
	d.Conclusion = r.conclude(d)
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

func (r renderer) input() cycledoc.Input {
	in := cycledoc.Input{Path: r.Trace.Path, Format: r.Trace.Format, Kernels: int64(r.Trace.Kernels()), Names: int64(len(r.Trace.Names)), BaseNS: r.Trace.BaseNS, Ranks: []int{}}
	end := r.Zero
	for i := range r.Trace.Sequences {
		s := &r.Trace.Sequences[i]
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
	in.SpanNS = end - r.Zero
	return in
}

func (r renderer) settings() cycledoc.Settings {
	s := cycledoc.Settings{
		IgnoreAnnotations: r.Opt.IgnoreAnnotations, Keys: r.Keys, Streams: structure.StreamsEach, Rules: r.Opt.Rules.Len(), PhaseMode: string(r.Opt.PhaseMode),
		EditPercent: max(0, r.Opt.EditPercent), MaxLevels: r.Opt.MaxLevels, Compat: r.Opt.Compat,
	}
	if r.Merged || r.Opt.Compat != nil {
		s.Streams = structure.StreamsMerged
	}
	return s
}

func (r renderer) losses() cycledoc.Losses {
	l := &r.Trace.Losses
	out := cycledoc.Losses{EventsSkipped: l.Unusable + l.Unpaired + l.Skipped, Truncated: l.Truncated, WorkLimited: r.Limited, KernelsCut: r.Cut}
	var notes []string
	add := func(n int64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	add(l.Unusable, "%d kernels without a usable time")
	add(l.Unpaired, "%d kernels with a begin or an end only")
	add(l.Skipped, "%d pieces of text that are not events")
	add(l.LostMarks, "%d marks beyond the limit")
	add(l.LostLaunches, "%d launches beyond the limit")
	add(r.Cut, "%d kernels beyond the longest sequence that is searched")
	if l.Truncated {
		notes = append(notes, fmt.Sprintf("the file ends in the middle of an event, at byte %d", l.TruncatedAt))
	}
	if r.Limited {
		notes = append(notes, "the search gave up on a part that is almost periodic")
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// coverage finds how many kernels of each track lie in a repetition, and what lies outside.
func (r renderer) coverage(d *cycledoc.Document) (covered []int64) {
	covered = make([]int64, len(r.Tracks))
	in, all := int64(0), int64(0)
	for _, t := range r.Tracks {
		s := r.Seq(t)
		at := make([]int, 0, 8) // where each part of this track stands
		var parts []*structure.Part
		for _, c := range r.Classes {
			for i := range c.Parts {
				if c.Parts[i].Track == t.Number {
					parts = append(parts, &c.Parts[i])
					at = append(at, 0)
				}
			}
		}
		first, last, end := -1, 0, int32(0)
		outside := func(from, to int32) {
			for i := from; i < to; i++ {
				d.Unexplained.Kernels++
				d.Unexplained.BusyNS += s.DurNS(t.At(int(i)))
			}
		}
		for { // the parts' repetitions in order of start
			best := -1
			for i, p := range parts {
				if at[i] < len(p.Reps) && (best < 0 || p.Reps[at[i]].Start < parts[best].Reps[at[best]].Start) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			rep := parts[best].Reps[at[best]]
			at[best]++
			if first < 0 {
				first = int(rep.Start)
			}
			if rep.Start > end {
				outside(end, rep.Start)
			}
			if rep.End > end {
				covered[t.Number] += int64(rep.End - max(end, rep.Start))
				end = rep.End
				last = int(rep.End)
			}
		}
		outside(end, int32(t.N))
		if first >= 0 {
			d.Unexplained.Warmup += int64(first)
			d.Unexplained.Tail += int64(t.N - last)
		}
		in += covered[t.Number]
		all += int64(t.N)
	}
	if r.Opt.Compat == nil {
		all = max(all, r.Compute)
	}
	d.Coverage = share(in, all)
	return covered
}

func (r renderer) streams(covered []int64) []cycledoc.Stream {
	out := []cycledoc.Stream{}
	for i := range r.Trace.Sequences {
		s := &r.Trace.Sequences[i]
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
			row := cycledoc.Stream{Rank: max(0, s.Rank), Device: s.Device, Stream: st.Name, Communication: st.Communication, Kernels: int64(st.Kernels), BusyNS: busy[k]}
			for _, t := range r.Tracks {
				if t.Seq == i && t.Has(uint16(k)) {
					row.Searched = true
					row.Coverage = share(covered[t.Number], int64(t.N))
				}
			}
			out = append(out, row)
		}
	}
	return out
}

func (r renderer) level(i int) cycledoc.Level {
	l := &r.Levels[i]
	out := cycledoc.Level{Level: i + 1, Name: l.Depth.Name(), Reason: l.Reason, Coverage: min(1, share(l.Covered, r.Compute)), Classes: make([]cycledoc.Class, 0, len(l.Classes))}
	for _, k := range l.Classes {
		c := r.class(k)
		c.Level = i + 1
		out.Classes = append(out.Classes, c)
	}
	if r.Opt.Compat != nil {
		out.Name = cycledoc.LevelCycle
	}
	return out
}

func (r renderer) class(k int) cycledoc.Class {
	c := r.Classes[k]
	span := int64(0)
	for _, p := range c.Parts {
		t := r.Tracks[p.Track]
		s := r.Seq(t)
		span += s.EndNS(t.At(t.N-1)) - s.StartNS[t.At(0)]
	}
	out := cycledoc.Class{
		ID: cycledoc.ID(c.ID), Name: c.Name, Source: c.Source, Period: c.Period(), Rotation: c.Rotation, Count: c.Count, Edited: c.Edited, Edits: c.Edits,
		FirstIndex: c.FirstIndex, StartNS: c.StartNS - r.Zero, EndNS: c.EndNS - r.Zero, Coverage: min(1, share(c.Covered, r.Compute)),
		WallNS: c.Wall, BusyNS: c.Busy, GapNS: c.Gap, KernelNS: c.Kernel, Phase: c.Phase.Name, PhaseScore: c.Phase.Score,
		PhaseReason: c.Phase.Reason, PhaseByPosition: c.Phase.ByPosition, PhaseReadings: notNil(c.Phase.Readings), Confidence: c.Confidence, ConfidenceReason: c.Because,
		Marks: notNil(c.Marks), Kernels: c.Slots, Beside: notNil(c.Beside), Outliers: notNil(c.Outliers), OutliersTotal: c.OutliersTotal, Drift: c.Drift,
		Ranks: c.Ranks, Children: []cycledoc.Child{}, Parents: []string{}, Borders: []cycledoc.Border{},
	}
	if span > 0 {
		out.TimeShare = min(1, c.Wall.Mean*float64(c.Count)/float64(span))
	}
	for _, ch := range c.Children {
		out.Children = append(out.Children, cycledoc.Child{ID: cycledoc.ID(ch.Class.ID), Count: ch.Count})
	}
	for _, p := range c.Parents {
		out.Parents = append(out.Parents, cycledoc.ID(r.Classes[p].ID))
	}
	starts := map[int][]int32(nil)
	for i := range r.Levels {
		if r.Levels[i].Depth == c.Depth {
			starts = r.Levels[i].Starts
		}
	}
	for pi := range c.Parts {
		p := &c.Parts[pi]
		room := r.Opt.MaxListed - len(out.Borders)
		listed := min(len(p.Reps), max(0, room))
		for k := range p.Reps[:listed] {
			out.Borders = append(out.Borders, r.border(p, k, starts[p.Track]))
		}
		if c.Uplifter {
			out.Patterns = append(out.Patterns, r.pattern(c, p, listed))
		}
	}
	out.BordersOmitted = c.Count - int64(len(out.Borders))
	return out
}

// pattern is what uplifter says of the repetitions of a class on one device, and where so many of them start.
func (r renderer) pattern(c *structure.Class, p *structure.Part, listed int) cycledoc.Pattern {
	s := r.Seq(r.Tracks[p.Track])
	start, end := int64(p.Reps[0].Start), int64(p.Reps[len(p.Reps)-1].End)
	out := cycledoc.Pattern{
		Rank: max(0, s.Rank), Device: s.Device, Anchor: p.Anchor, Signature: p.Signature, StartIndex: start, CycleLength: c.Period(),
		NumCycles: int64(len(p.Reps)), CycleIndices: make([]int64, listed), StartPos: start, EndPos: end, CenterPos: float64(start+end) / 2,
	}
	for i := range out.CycleIndices {
		out.CycleIndices[i] = int64(p.Reps[i].Start)
	}
	return out
}

func (r renderer) border(p *structure.Part, k int, starts []int32) cycledoc.Border {
	t := r.Tracks[p.Track]
	s := r.Seq(t)
	rep := p.Reps[k]
	begin, wall := s.StartNS[t.At(int(rep.Start))], measuring.Wall(r.Run, p, k, starts)
	return cycledoc.Border{
		Rank: max(0, s.Rank), Device: s.Device, First: int64(rep.Start), End: int64(rep.End), StartNS: begin - r.Zero, EndNS: measuring.LastEnd(r.Run, t, rep) - r.Zero,
		WallNS: wall, BusyNS: measuring.Busy(r.Run, t, rep, wall), Edits: int(rep.Edits),
	}
}

func (r renderer) stepRows() []cycledoc.Step {
	out := make([]cycledoc.Step, 0, min(len(r.Steps), r.Opt.MaxListed))
	number := int64(0)
	for i := range r.Steps {
		st := &r.Steps[i]
		if i > 0 && st.Track != r.Steps[i-1].Track {
			number = 0
		}
		if len(out) < r.Opt.MaxListed {
			out = append(out, r.stepRow(st, number))
		}
		number++
	}
	return out
}

func (r renderer) stepRow(st *structure.Step, number int64) cycledoc.Step {
	t := r.Tracks[st.Track]
	s := r.Seq(t)
	row := cycledoc.Step{
		Rank: max(0, s.Rank), Device: s.Device, Number: number, Phase: cycledoc.PhaseUnknown, StartNS: st.StartNS - r.Zero,
		EndNS: measuring.LastEnd(r.Run, t, st.Span) - r.Zero, WallNS: st.WallNS, BusyNS: st.BusyNS, GapNS: st.WallNS - st.BusyNS,
		Kernels: int64(st.Span.End - st.Span.Start), Edits: int(st.Span.Edits), Partial: st.Partial,
	}
	if st.Class >= 0 {
		c := r.Classes[st.Class]
		row.Class, row.Phase = cycledoc.ID(c.ID), c.Phase.Name
	}
	if st.Mark >= 0 {
		m := &r.Trace.Marks[st.Mark]
		row.Mark = m.Text
		if m.Phase != "" {
			row.Phase = m.Phase
		}
	}
	return row
}

func (r renderer) rankTotals() []cycledoc.RankTotal {
	out := []cycledoc.RankTotal{}
	if len(r.Ranks) == 0 {
		return out
	}
	for _, steps := range r.StepsByDevice() {
		s := r.Seq(r.Tracks[r.Steps[steps[0]].Track])
		row := cycledoc.RankTotal{Rank: max(0, s.Rank), Device: s.Device, Steps: int64(len(steps))}
		sum := 0.0
		for _, i := range steps {
			sum += float64(r.Steps[i].OwnNS)
		}
		row.OwnNS = sum / float64(len(steps))
		for _, rs := range r.Ranks {
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
func (r renderer) edits() cycledoc.EditBudget {
	b := cycledoc.EditBudget{Percent: max(0, r.Opt.EditPercent)}
	best := -1
	for i := range r.Levels {
		if best < 0 || r.Levels[i].Covered >= r.Levels[best].Covered {
			best = i
		}
	}
	if best < 0 {
		return b
	}
	covered := int64(0)
	for _, k := range r.Levels[best].Classes {
		c := r.Classes[k]
		b.Used += c.Edits
		b.Repetitions += c.Edited
		covered += c.Covered
		for _, p := range c.Parts {
			for _, rep := range p.Reps {
				b.LargestPercent = max(b.LargestPercent, 100*float64(rep.Edits)/float64(c.Period()))
			}
		}
	}
	b.UsedPercent = 100 * share(b.Used, covered)
	return b
}

// principal is the class that the verdict speaks of: of the step level, else of the one that covers most, that which takes most time.
func (r renderer) principal() *structure.Class {
	var best *structure.Class
	widest := int64(-1)
	for _, l := range r.Levels {
		if l.Depth == structure.DepthStep {
			widest = -2
			break
		}
		widest = max(widest, l.Covered)
	}
	for _, l := range r.Levels {
		if widest == -2 && l.Depth != structure.DepthStep || widest >= 0 && l.Covered != widest {
			continue
		}
		for _, k := range l.Classes {
			c := r.Classes[k]
			if best == nil || !r.Aside(c) && c.Wall.Mean*float64(c.Count) > best.Wall.Mean*float64(best.Count) {
				best = c
			}
		}
	}
	return best
}

const maxVerdictClasses = 3

// once leaves a word out where it is about one thing only.
func once(n int64, word string) string {
	if n == 1 {
		return ""
	}
	return word
}

// verdict says in a sentence or two what was found.
func (r renderer) verdict(d *cycledoc.Document) string {
	switch {
	case r.Trace.Kernels() == 0:
		return "This trace holds no kernels of a GPU or TPU."
	case len(r.Classes) == 0:
		return fmt.Sprintf("No cycle: nothing in the %s repeats often enough to be more than chance.", kernelsText(r.Trace.Kernels()))
	}
	var parts []string
	main := r.principal()
	for i := range r.Levels {
		l := &r.Levels[i]
		if l.Depth != main.Depth {
			continue
		}
		for _, k := range l.Classes[:min(len(l.Classes), maxVerdictClasses)] {
			c := r.Classes[k]
			text := fmt.Sprintf("%d × %s of %s", c.Count, c.Name, kernelsText(c.Period()))
			if len(c.Parts) > 1 {
				text += fmt.Sprintf(" on %d devices", len(c.Parts))
			}
			if c.Count > 0 && c.Wall.Mean > 0 {
				text += ", " + once(c.Count, "median ") + durationText(float64(c.Wall.P50))
			}
			for k, ch := range c.Children {
				if k == maxVerdictClasses {
					text += ", and more"
					break
				}
				text += fmt.Sprintf(", %d × %s", ch.Count, ch.Class.Name)
			}
			parts = append(parts, text)
		}
		if n := len(l.Classes) - maxVerdictClasses; n > 0 {
			parts = append(parts, "and "+counted(n, "more class", "more classes"))
		}
	}
	text := strings.Join(parts, "; ") + "."
	text += fmt.Sprintf(" They explain %s of the time.", percentText(d.TimeCoverage))
	if main.Depth != structure.DepthStep && r.Opt.Compat == nil {
		text += " No step repeats."
	}
	return text
}

// RepetitionRow is one repetition of one class, for tables: all of them, however many the document lists.
type RepetitionRow struct {
	Level  int
	Class  int // place in Document.Levels[Level-1].Classes
	ID     string
	Name   string
	Rank   int
	Device string
	cycledoc.Border
}

// EachRepetition calls visit for all repetitions: in order of level, class, rank, device, time.
func EachRepetition(run *structure.Run, visit func(RepetitionRow)) {
	r := renderer{run}
	for li := range r.Levels {
		l := &r.Levels[li]
		for place, k := range l.Classes {
			c := r.Classes[k]
			for pi := range c.Parts {
				p := &c.Parts[pi]
				for rep := range p.Reps {
					b := r.border(p, rep, l.Starts[p.Track])
					visit(RepetitionRow{Level: li + 1, Class: place, ID: cycledoc.ID(c.ID), Name: c.Name, Rank: b.Rank, Device: b.Device, Border: b})
				}
			}
		}
	}
}

// EachStep calls visit for all steps, however many the document lists, in the order of Document.Steps.
func EachStep(run *structure.Run, visit func(cycledoc.Step)) {
	r := renderer{run}
	number := int64(0)
	for i := range r.Steps {
		if i > 0 && r.Steps[i].Track != r.Steps[i-1].Track {
			number = 0
		}
		visit(r.stepRow(&r.Steps[i], number))
		number++
	}
}
