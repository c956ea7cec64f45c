package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

const (
	maxKernels = 200     // kernel names of a file that are listed, by total time
	maxNames   = 1 << 16 // kernel names that are summed at all: what comes after them is not counted
)

// trace says what is in a trace.
func (f *File) trace(j *job.Job, src *file.Source, of *source.Format) error {
	ctx := j.Context()
	share := j.Progress().Share(src.DiskSize(), src.Size())
	t, err := of.Scan(ctx, src, source.ScanOptions{Workers: j.Workers(), Progress: share.Add})
	if err != nil {
		return err
	}
	share.Done()
	facts := t.Facts()
	marked, err := source.ReadMark(ctx, src, t)
	if err != nil {
		f.Warnings = append(f.Warnings, fault.Of(err).Msg)
	}
	if marked != nil {
		f.Alignment = alignment(marked.Mark)
	}
	if merged := source.MergedRanks(t.Layout()); merged != nil && marked == nil {
		f.MergedRanks = merged.IDs()
	}
	f.facts(facts)
	if facts.Undated != "" && (marked == nil || !facts.MarkDates) {
		f.Warnings = append(f.Warnings, "there is no "+facts.Undated+": times count from the trace's own zero")
	}
	if n := len(facts.Snapshots); n > 0 {
		first, last := facts.Snapshots[0].Y, facts.Snapshots[n-1].Y
		f.Clocks = append(f.Clocks, Clock{Name: cmp.Or(namedClock(facts.SnapshotsClock), "tracer") + " to wall (" + facts.SnapshotsIn + ")", Readings: int64(n), FirstNS: &first, LastNS: &last})
	}
	f.lines(t, facts, marked)
	return f.kernels(ctx, src, t)
}

// namedClock is the name of a clock that is not a tracer's.
func namedClock(name string) string {
	if source.IsTracer(name) {
		return ""
	}
	return name
}

// facts takes over what a scan found.
func (f *File) facts(facts *source.Facts) {
	f.Hosts, f.Events, f.Counts = facts.Hosts, &facts.Events, facts.Counts
	if facts.Rank != nil && f.MergedRanks == nil {
		rank := int(*facts.Rank)
		f.Rank = &rank
	}
	if d := facts.Distributed; d != nil {
		if f.Backend = d.Backend; f.Rank != nil {
			f.WorldSize = d.WorldSize
		}
	}
	f.Losses = append(f.Losses, facts.Losses...)
	f.Warnings = append(f.Warnings, facts.Warnings...)
}

// alignment shows what a mark says.
func alignment(m *aligned.Mark) *Alignment {
	if m == nil {
		return nil
	}
	out := &Alignment{Version: m.Version, Aligned: m.Aligned, Reference: m.Reference, Timebase: m.Timebase, ZeroNS: m.ZeroNS}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		out.Nodes = append(out.Nodes, Node{
			ID: n.ID, Host: n.Host, Rank: n.Rank, Method: n.Method, OffsetNS: n.OffsetNS, DriftPPM: n.DriftPPM, BoundNS: n.BoundNS,
			Knots: len(n.Wall.Knots()) + len(n.Tracer.Knots()),
		})
	}
	return out
}

// lines lists the processes and lines of a trace, with the clock that each line is on and from when to when it reaches.
func (f *File) lines(t source.Trace, facts *source.Facts, marked *source.Marked) {
	start, guess := source.StartOf(facts, marked), align.Clocks{}
	if len(facts.Snapshots) > 0 && marked == nil { // a stand-in that tells the lines of the tracer's clock apart; its map is not used
		guess = combine.RoughTracer(facts)
	}
	layout := t.Layout()
	plan := align.PlanLines(layout, start, guess, align.HostTime)
	for i, p := range layout {
		f.Planes = append(f.Planes, plane(p, plan.Lines[i]))
	}
	if facts.Timed > 0 {
		f.StartNS, f.EndNS = &facts.First.NS, &facts.Last.NS
		return
	}
	for _, p := range f.Planes {
		for _, l := range p.Lines {
			if l.FirstNS != nil {
				reach(&f.StartNS, &f.EndNS, *l.FirstNS)
				reach(&f.StartNS, &f.EndNS, *l.LastNS)
			}
		}
	}
}

func plane(p *source.Process, lines []align.LinePlan) Plane {
	out := Plane{Index: p.Index, ID: idOf(p.ID, p.TextID), Name: p.Name, Events: p.Events, Lines: []Line{}}
	for k, l := range p.Lines {
		line := Line{
			Index: k, ID: idOf(l.ID, l.TextID), Name: l.Name, DisplayName: l.DisplayName, Events: l.Events, Aggregated: l.Aggregated,
			Clock: lines[k].Domain.String(),
		}
		if l.Summarised && l.Timed() > 0 {
			base, sorted := lines[k].OldBaseNS, l.Sorted
			first, last := source.After(base, l.MinOffsetPS).NS, source.After(base, l.MaxEndPS).NS
			line.FirstNS, line.LastNS, line.Sorted = &first, &last, &sorted
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// idOf is an id as JSON readers keep it: text where the trace has text, or where a float64 would round it.
func idOf(id int64, text string) any {
	if text != "" {
		return text
	}
	if id > 1<<53 || id < -1<<53 {
		return strconv.FormatInt(id, 10)
	}
	return id
}

// tally sums kernels by name.
type tally struct {
	byName map[string]*Kernel
	left   int64 // events of names that had no room
}

func (t *tally) add(name string, ns int64) {
	k := t.byName[name]
	if k == nil {
		if len(t.byName) >= maxNames {
			t.left++
			return
		}
		k = &Kernel{Name: name}
		t.byName[name] = k
	}
	k.Count++
	k.TotalNS += ns
}

func (t *tally) top() []Kernel {
	out := make([]Kernel, 0, len(t.byName))
	for _, k := range t.byName {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Kernel) int { return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Name, b.Name)) })
	return out[:min(len(out), maxKernels)]
}

// kernels sums up what devices executed, by name.
func (f *File) kernels(ctx context.Context, src *file.Source, t source.Trace) error {
	kernels := tally{byName: map[string]*Kernel{}}
	err := t.Visit(ctx, src, source.Kernels, 0, func(e *source.Event) error {
		if !e.Aggregated {
			kernels.add(e.Name, e.DurationPS/1000)
		}
		return nil
	})
	f.Kernels = kernels.top()
	if kernels.left > 0 {
		f.Losses = append(f.Losses, fmt.Sprintf("%d kernel events are not in the sums by name: only the first %d names are summed", kernels.left, maxNames))
	}
	return err
}
