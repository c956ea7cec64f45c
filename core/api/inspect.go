package api

import (
	"context"
	"math"
	"sort"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/recording"
	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/aligned"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/source"
	"github.com/prlx-go/prlx/core/timeline/source/formats"
)

type inspectRequest struct {
	requestLimits
	Paths []traceArg `json:"paths"`
}

// InspectDocument is prlx.inspect/1: what is in each file.
type InspectDocument struct {
	Schema string        `json:"schema"`
	Files  []InspectFile `json:"files"`
	Notes  []string      `json:"notes"`
}

// InspectFile is one file. Instants are ns since 1970; those of a trace that does not say when it was recorded count from its own
// zero.
type InspectFile struct {
	Path              string             `json:"path"`
	Format            string             `json:"format"` // xspace, chrome, snapshot-pairs, probe-windows, probe-stamps, round-offsets, declared-offsets, prlx-v1, prlx-v2, session
	Bytes             int64              `json:"bytes"`
	Compression       string             `json:"compression,omitempty"`
	DecompressedBytes int64              `json:"decompressed_bytes"`
	Hosts             []string           `json:"hosts,omitempty"`
	Rank              *int               `json:"rank,omitempty"`
	WorldSize         int                `json:"world_size,omitempty"`
	Backend           string             `json:"backend,omitempty"`
	Nodes             []int              `json:"nodes,omitempty"`
	StartNS           *int64             `json:"start_ns,omitempty"`
	EndNS             *int64             `json:"end_ns,omitempty"`
	Events            *int64             `json:"events,omitempty"`
	Counts            map[string]int64   `json:"counts,omitempty"`
	Planes            []InspectPlane     `json:"planes,omitempty"`
	Clocks            []InspectClock     `json:"clocks,omitempty"`
	Alignment         *InspectAlignment  `json:"alignment,omitempty"` // of a trace that prlx wrote
	Kernels           []InspectKernel    `json:"kernels,omitempty"`
	Collectives       []InspectNameCount `json:"collectives,omitempty"`
	Losses            []string           `json:"losses,omitempty"`
	Warnings          []string           `json:"warnings,omitempty"`

	Recording *KernelTraceDocument `json:"recording,omitempty"` // of a kernel recording
}

// InspectAlignment is what a trace says about what prlx did to it.
type InspectAlignment struct {
	Version   string        `json:"prlx"`
	Aligned   bool          `json:"aligned"`
	Reference string        `json:"reference"`
	Timebase  string        `json:"timebase"`
	ZeroNS    int64         `json:"zero_ns"`
	Nodes     []InspectNode `json:"nodes"`
}

// InspectNode is a node of a trace that prlx wrote.
type InspectNode struct {
	ID       string  `json:"id"`
	Host     string  `json:"host"`
	Rank     *int64  `json:"rank"`
	Method   string  `json:"method"`
	OffsetNS int64   `json:"offset_ns"`
	DriftPPM float64 `json:"drift_ppm"`
	BoundNS  *int64  `json:"bound_ns"` // the largest error of its times; null: nothing is known
	Knots    int     `json:"knots"`    // of the map that its times went through
}

// alignment shows what a mark says, nil for none.
func alignment(m *aligned.Mark) *InspectAlignment {
	if m == nil {
		return nil
	}
	out := &InspectAlignment{Version: m.Version, Aligned: m.Aligned, Reference: m.Reference, Timebase: m.Timebase, ZeroNS: m.ZeroNS}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		out.Nodes = append(out.Nodes, InspectNode{
			ID: n.ID, Host: n.Host, Rank: n.Rank, Method: n.Method, OffsetNS: n.OffsetNS, DriftPPM: n.DriftPPM, BoundNS: n.BoundNS,
			Knots: len(n.Wall.Knots()) + len(n.Tracer.Knots()),
		})
	}
	return out
}

// InspectPlane is a plane of an XSpace or a process of a Chrome trace.
type InspectPlane struct {
	Index  int           `json:"index"`
	ID     any           `json:"id"` // number; text where the trace has text, or beyond 2^53
	Name   string        `json:"name"`
	Events int64         `json:"events"`
	Lines  []InspectLine `json:"lines"`
}

// InspectLine is a line of a plane or a thread of a process.
type InspectLine struct {
	Index       int    `json:"index"`
	ID          any    `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Events      int64  `json:"events"`
	Aggregated  int64  `json:"aggregated,omitempty"`
	FirstNS     *int64 `json:"first_ns,omitempty"`
	LastNS      *int64 `json:"last_ns,omitempty"`
	Clock       string `json:"clock,omitempty"` // wall, tracer
	Sorted      *bool  `json:"sorted,omitempty"`
}

// InspectClock is something that says how clocks relate.
type InspectClock struct {
	Name     string `json:"name"`
	Readings int64  `json:"readings"`
	FirstNS  *int64 `json:"first_ns,omitempty"`
	LastNS   *int64 `json:"last_ns,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// InspectKernel sums up the device events of one name.
type InspectKernel struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	TotalNS int64  `json:"total_ns"`
}

// InspectNameCount counts a name.
type InspectNameCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// maxKernels is how many kernel names of a file are listed, by total time.
const maxKernels = 200

func inspect(j *job.Job, r *inspectRequest) (*InspectDocument, error) {
	kernels, others, err := kernelInputs(j, r.Paths)
	if err != nil {
		return nil, err
	}
	var inputs []combine.Input
	var notes []string
	if len(others) > 0 || len(kernels) == 0 {
		if inputs, notes, err = combine.Expand(j.Context(), inputsOf(others)); err != nil {
			return nil, err
		}
	}
	if len(inputs)+len(kernels) == 0 {
		return nil, fault.Usagef("no files are named").WithHint("name traces, clock files or directories")
	}
	doc := &InspectDocument{Schema: "prlx.inspect/1", Files: []InspectFile{}, Notes: append([]string{}, notes...)}
	doc.Files = append(doc.Files, kernels...)
	for _, in := range inputs {
		f, err := inspectFile(j, in.Path)
		if err != nil {
			return nil, err
		}
		doc.Files = append(doc.Files, *f)
	}
	return doc, nil
}

func inspectedFile(path string, src *file.Source) *InspectFile {
	return &InspectFile{Path: path, Bytes: src.DiskSize(), Compression: src.Compression(), DecompressedBytes: src.Size()}
}

func inspectFile(j *job.Job, path string) (*InspectFile, error) {
	ctx := j.Context()
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f := inspectedFile(path, src)
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		return nil, err
	}
	switch kind, trace := format.Of(head), formats.Of(head); {
	case kind == format.Recording: // through a pipe: files are told apart before they are opened
		err = f.recording(j, src, recording.Maps{})
	case trace != nil:
		f.Format = trace.Name
		err = f.trace(ctx, j, src, trace)
	case kind.Known() && kind != format.PairsMessage && kind != format.ClockText:
		err = kind.Refuse(path, "a trace, a recording of a kernel or clock readings")
	default:
		err = f.clocks(ctx, src)
	}
	if err != nil {
		return nil, fault.Of(err).WithPath(path)
	}
	return f, nil
}

// trace says what is in a trace.
func (f *InspectFile) trace(ctx context.Context, j *job.Job, src *file.Source, of *source.Format) error {
	t, err := of.Scan(ctx, src, source.ScanOptions{Workers: j.Workers(), Progress: j.Progress().Add})
	if err != nil {
		return err
	}
	facts := t.Facts()
	marked, err := source.ReadMark(ctx, src, t)
	if err != nil {
		f.Warnings = append(f.Warnings, fault.Of(err).Msg)
	}
	if marked != nil {
		f.Alignment = alignment(marked.Mark)
	}
	f.Hosts, f.Events, f.Counts = facts.Hosts, &facts.Events, facts.Counts
	if facts.Rank != nil {
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
	if facts.Undated != "" && (marked == nil || !facts.MarkDates) {
		f.Warnings = append(f.Warnings, "there is no "+facts.Undated+": times count from the trace's own zero")
	}
	if n := len(facts.Snapshots); n > 0 {
		first, last := facts.Snapshots[0].Y, facts.Snapshots[n-1].Y
		f.Clocks = append(f.Clocks, InspectClock{Name: "tracer to wall (/host:snapshots)", Readings: int64(n), FirstNS: &first, LastNS: &last})
	}
	f.lines(t, facts, marked)
	return f.kernels(ctx, src, t)
}

// lines lists the processes and lines of a trace, with the clock that each line is on and from when to when it reaches.
func (f *InspectFile) lines(t source.Trace, facts *source.Facts, marked *source.Marked) {
	start, guess := source.StartOf(facts, marked), align.Clocks{}
	if len(facts.Snapshots) > 0 && marked == nil { // a stand-in that tells the lines of the tracer's clock apart; its map is not used
		guess = combine.RoughTracer(facts)
	}
	layout := t.Layout()
	plan := align.PlanLines(layout, start, guess, align.HostTime)
	for i, p := range layout {
		f.Planes = append(f.Planes, inspectPlane(p, plan.Lines[i]))
	}
	if facts.Timed > 0 {
		f.StartNS, f.EndNS = &facts.First.NS, &facts.Last.NS
		return
	}
	f.span()
}

func inspectPlane(p *source.Process, lines []align.LinePlan) InspectPlane {
	out := InspectPlane{Index: p.Index, ID: idOf(p.ID, p.TextID), Name: p.Name, Events: p.Events, Lines: []InspectLine{}}
	for k, l := range p.Lines {
		il := InspectLine{
			Index: k, ID: idOf(l.ID, l.TextID), Name: l.Name, DisplayName: l.DisplayName, Events: l.Events, Aggregated: l.Aggregated, Clock: lines[k].Domain.String(),
		}
		if l.Summarised && l.Timed() > 0 {
			first, last := lines[k].OldBaseNS+floorDiv(l.MinOffsetPS, 1000), lines[k].OldBaseNS+floorDiv(l.MaxEndPS, 1000)
			sorted := l.Sorted
			il.FirstNS, il.LastNS, il.Sorted = &first, &last, &sorted
		}
		out.Lines = append(out.Lines, il)
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

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// span sets the file's first and last instant from those of its lines.
func (f *InspectFile) span() {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range f.Planes {
		for _, l := range p.Lines {
			if l.FirstNS != nil {
				first, last = min(first, *l.FirstNS), max(last, *l.LastNS)
			}
		}
	}
	if first <= last {
		f.StartNS, f.EndNS = &first, &last
	}
}

// tally sums kernels by name.
type tally map[string]*InspectKernel

func (t tally) add(name string, ns int64) {
	k := t[name]
	if k == nil {
		if len(t) >= 1<<16 {
			return
		}
		k = &InspectKernel{Name: name}
		t[name] = k
	}
	k.Count++
	k.TotalNS += ns
}

func (t tally) top() []InspectKernel {
	out := make([]InspectKernel, 0, len(t))
	for _, k := range t {
		out = append(out, *k)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].TotalNS != out[j].TotalNS {
			return out[i].TotalNS > out[j].TotalNS
		}
		return out[i].Name < out[j].Name
	})
	return out[:min(len(out), maxKernels)]
}

// kernels sums up what devices executed, by name.
func (f *InspectFile) kernels(ctx context.Context, src *file.Source, t source.Trace) error {
	kernels := tally{}
	err := t.Visit(ctx, src, source.Kernels, 0, func(e *source.Event) error {
		if !e.Aggregated {
			kernels.add(e.Name, e.DurationPS/1000)
		}
		return nil
	})
	f.Kernels = kernels.top()
	return err
}

// clockKinds are the names of clock files in documents.
var clockKinds = map[clockfile.Kind]string{
	clockfile.KindSnapshots: "snapshot-pairs", clockfile.KindWindows: "probe-windows", clockfile.KindRounds: "round-offsets",
	clockfile.KindDeclared: "declared-offsets", clockfile.KindStamps: "probe-stamps",
}

func (f *InspectFile) clocks(ctx context.Context, src *file.Source) error {
	c, err := clockfile.Read(ctx, src)
	if err != nil {
		return err
	}
	f.Format = clockKinds[c.Kind]
	f.Warnings = append(f.Warnings, c.Warnings...)
	if c.Skipped > 0 {
		f.Losses = append(f.Losses, plural(int64(c.Skipped), "line")+" are no records")
	}
	nodes := map[int]bool{}
	clock := InspectClock{Name: f.Format}
	spanOf := func(ns int64) {
		if clock.FirstNS == nil || ns < *clock.FirstNS {
			first := ns
			clock.FirstNS = &first
		}
		if clock.LastNS == nil || ns > *clock.LastNS {
			last := ns
			clock.LastNS = &last
		}
	}
	switch c.Kind {
	case clockfile.KindSnapshots:
		clock.Readings = int64(len(c.Snapshots.Pairs))
		for _, p := range c.Snapshots.Pairs {
			spanOf(p.SysNS)
		}
	case clockfile.KindWindows:
		clock.Readings = int64(len(c.Windows.Rows))
		nodes[c.Windows.Node] = true
		for i := range c.Windows.Rows {
			spanOf(c.Windows.Rows[i].FromNS)
			spanOf(c.Windows.Rows[i].ToNS)
		}
	case clockfile.KindRounds:
		clock.Readings = int64(len(c.Rounds.Rows))
		unusable := int64(0)
		for i := range c.Rounds.Rows {
			r := &c.Rounds.Rows[i]
			nodes[r.Node] = true
			if !r.Usable() {
				unusable++
			}
			for _, ns := range []int64{r.MidpointNS, r.FromNS, r.ToNS} {
				if ns != 0 {
					spanOf(ns)
				}
			}
		}
		if unusable > 0 {
			f.Losses = append(f.Losses, plural(unusable, "row")+" are unreachable or did not converge: never used")
		}
	case clockfile.KindDeclared:
		clock.Readings = int64(len(c.Declared.Nodes))
		for _, n := range c.Declared.Nodes {
			nodes[n.Node] = true
		}
	case clockfile.KindStamps:
		clock.Readings = int64(len(c.Stamps))
		for i := range c.Stamps {
			nodes[int(c.Stamps[i].Src)], nodes[int(c.Stamps[i].Dst)] = true, true
			spanOf(c.Stamps[i].T1)
		}
	}
	for n := range nodes {
		f.Nodes = append(f.Nodes, n)
	}
	sort.Ints(f.Nodes)
	f.Clocks = []InspectClock{clock}
	return nil
}
