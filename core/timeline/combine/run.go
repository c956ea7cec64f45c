package combine

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/align"
	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/collective"
)

// task is one run of combine: what was asked, what was read, what was decided.
type task struct {
	job    *job.Job
	req    *Request
	format Format
	nodes  []*Node
	ref    int // index of the reference in nodes
	zeroNS int64
	// external is set when one trace is aligned to a node that is not among the inputs; zeroHintNS is then that node's start.
	external   bool
	zeroHintNS int64

	keep    *align.Range
	plans   []*align.XSpacePlan // by node; nil for Chrome JSON
	matched *collective.Matched
	doc     *Document
}

// Evidence is what a result rests on, for reports.
type Evidence struct {
	Base    string // the directory that paths of the document are relative to
	Output  string // what to open: the run directory, or the file
	Nodes   []NodeEvidence
	Matched *collective.Matched // nil for one trace
	After   collective.Clock    // executions on the reference's clock
}

// NodeEvidence is the clock of one node.
type NodeEvidence struct {
	ID           string
	Wall         *clock.Map // its wall clock -> the reference's; nil is the identity
	FromNS, ToNS int64      // first and last instant of the trace on its own wall clock
}

// Run combines. The result is complete: files are in place under their final names, and alignment.json beside them.
func Run(j *job.Job, req Request) (*Document, *Evidence, error) {
	if err := req.normalize(); err != nil {
		return nil, nil, err
	}
	nodes, err := Load(j, req.Inputs)
	if err != nil {
		return nil, nil, err
	}
	defer CloseAll(nodes)
	t, err := begin(j, &req, nodes)
	if err != nil {
		return nil, nil, err
	}
	if err := t.decide(); err != nil {
		return nil, nil, err
	}
	return t.doc, t.evidence(), t.write()
}

func (t *task) evidence() *Evidence {
	e := &Evidence{Base: filepath.Dir(t.req.Output), Output: t.req.Output, Matched: t.matched, After: t.clockOf()}
	if t.format == FormatRun {
		e.Base = t.req.Output
	}
	for _, n := range t.nodes {
		ne := NodeEvidence{ID: n.ID, Wall: n.Clocks.Wall}
		ne.FromNS, ne.ToNS, _ = n.spanNS()
		e.Nodes = append(e.Nodes, ne)
	}
	return e
}

// begin makes a task of a checked request and its nodes.
func begin(j *job.Job, req *Request, nodes []*Node) (*task, error) {
	t := &task{job: j, req: req, nodes: nodes}
	var err error
	if len(nodes) > 1 {
		if t.ref, err = FindReference(nodes, req.Reference); err != nil {
			return nil, err
		}
	}
	if t.format, err = req.chooseFormat(nodes); err != nil {
		return nil, err
	}
	if req.Output == "" {
		if req.Output, err = defaultOutput(nodes, t.format); err != nil {
			return nil, err
		}
	}
	t.shard()
	if err := req.protectInputs(nodes, t.format); err != nil {
		return nil, err
	}
	t.begin()
	return t, nil
}

// decide learns the clocks, places every line and judges the collectives. It reads no event of a trace.
func (t *task) decide() error {
	if err := t.learnClocks(); err != nil {
		return err
	}
	if err := t.place(); err != nil {
		return err
	}
	return t.judgeCollectives()
}

// begin starts the document.
func (t *task) begin() {
	t.doc = &Document{
		Schema: Schema, Reference: t.nodes[t.ref].ID, Timebase: "host", Outputs: []Output{}, Nodes: []NodeResult{},
		Notes: append([]string{}, t.req.Notes...), Warnings: []string{},
	}
	if t.req.timebase == align.TracerTime {
		t.doc.Timebase = "tracer"
	}
	if t.format == FormatXPlane {
		t.doc.Naming = string(t.req.naming)
	}
	ids := make([]Identity, len(t.nodes))
	for k, n := range t.nodes {
		ids[k] = n.Identity
		n.Result.Inputs = []string{filepath.Base(n.Path)}
	}
	if len(ids) > 1 {
		t.doc.Notes = append(t.doc.Notes, describe(ids))
	}
}

func (t *task) warn(format string, args ...any) {
	t.doc.Warnings = append(t.doc.Warnings, fmt.Sprintf(format, args...))
}

// place decides where every line goes and which instant is the output's zero: the earliest session start after alignment, or the
// earliest event where one lies before it. Viewers drop events before zero.
func (t *task) place() error {
	t.plans = make([]*align.XSpacePlan, len(t.nodes))
	zero, base := int64(math.MaxInt64), int64(math.MaxInt64)
	earlier := func(ns int64) { zero = min(zero, ns) }
	for k, n := range t.nodes {
		if !n.absolute {
			continue
		}
		start, _, _ := n.Clocks.Wall.At(n.startNS())
		if n.Space != nil {
			t.plan(k)
			n.Result.TracerLines = t.plans[k].TracerLines
			n.Result.Warnings = append(n.Result.Warnings, t.plans[k].Reasons...)
			earlier(start)
			if first, ok := t.plans[k].EarliestNS(); ok {
				earlier(first)
			}
			continue
		}
		if n.Trace.Timed > 0 {
			first, _, _ := n.Clocks.Wall.At(n.Trace.Min.NS)
			earlier(first)
		}
		if k == t.ref && n.Trace.HasBase && t.allChrome() { // Kineto's base is months before the events: the reference keeps it
			base = n.Trace.BaseNS
		}
	}
	t.warnFarApart()
	if zero == math.MaxInt64 {
		zero = 0
	}
	if t.zeroHintNS > 0 && t.zeroHintNS <= zero {
		zero = t.zeroHintNS
	} else if t.external && t.zeroHintNS > 0 {
		t.warn("events lie up to %.3f ms before the reference's start: times count from the earliest of them", float64(t.zeroHintNS-zero)/1e6)
	}
	first := zero // where a time range from the start begins
	zero = min(zero, base)
	t.zeroNS, t.doc.ZeroNS = zero, zero
	for k, n := range t.nodes {
		if !n.absolute { // its own zero becomes the output's
			n.Clocks = align.Clocks{Wall: clock.Shift(zero, 0)}
			t.plan(k)
		}
	}
	var err error
	t.keep, err = t.req.keep(first)
	return err
}

// farApartNS is how far apart the traces of one job may begin before that is remarked on: a day.
const farApartNS = int64(86_400_000_000_000)

// warnFarApart remarks on traces that can hardly be of one job.
func (t *task) warnFarApart() {
	early, late := int64(math.MaxInt64), int64(math.MinInt64)
	for _, n := range t.nodes {
		if first, _, ok := n.spanNS(); ok && n.absolute {
			early, late = min(early, first), max(late, first)
		}
	}
	if early < late && (early > 0 || late < math.MaxInt64+early) && late-early > farApartNS {
		t.warn("the traces begin up to %.1f days apart by their own clocks: do they belong to one job?", float64(late-early)/float64(farApartNS))
	}
}

// plan decides where the lines of an XSpace go.
func (t *task) plan(k int) {
	if n := t.nodes[k]; n.Space != nil {
		t.plans[k] = align.PlanXSpace(n.Space, n.startNS(), n.Clocks, t.req.timebase)
	}
}

func (t *task) allChrome() bool {
	for _, n := range t.nodes {
		if n.Trace == nil {
			return false
		}
	}
	return true
}

// write writes the outputs and completes the document.
func (t *task) write() error {
	switch t.format {
	case FormatRun:
		return t.writeRun()
	case FormatXPlane:
		return t.writeSingle()
	case FormatChrome:
		return t.writeChrome()
	}
	return fault.New(fault.Internal, "combine: no writer for format %q", t.format)
}

// untouched reports whether no clock was corrected: nothing relates the node to another, and no line is on a tracer's clock.
func (n *Node) untouched() bool {
	return n.Result.Method == MethodNone || n.Result.Method == MethodWall && n.Result.TracerLines == 0
}

// conclude sets the status from the nodes and appends their results in order.
func (t *task) conclude() {
	corrected, degraded := false, false
	var events, dropped int64
	for k, n := range t.nodes {
		if k != t.ref && (n.Result.Method == MethodProbes || n.Result.Method == MethodDeclared) {
			corrected = true
		}
		r := &n.Result
		r.BoundNS.Unknown = k != t.ref && (r.Method == MethodWall || r.Method == MethodNone || r.Events > 0 && r.EventsDropped == r.Events)
		events, dropped = events+r.Events, dropped+r.EventsDropped
		if r.Events > 0 && r.Coverage < 1 && t.farOutside(n) {
			n.degraded = true
		}
		degraded = degraded || n.degraded
		t.doc.Nodes = append(t.doc.Nodes, *r)
	}
	if events > 0 && dropped == events {
		t.warn("the time range keeps none of the %d events", events)
	}
	switch {
	case !t.req.applies(), len(t.nodes) > 1 && !corrected, len(t.nodes) == 1 && t.nodes[0].untouched():
		t.doc.Status = StatusUnaligned
	case degraded:
		t.doc.Status = StatusDegraded
	default:
		t.doc.Status = StatusAligned
	}
}
