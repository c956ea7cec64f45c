package combine

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// task is one run of combine: what was asked, what was read, what was decided.
type task struct {
	job    *job.Job
	req    *Request
	format Format
	nodes  []*Node
	ref    int // index of the reference in nodes
	zeroNS int64
	// firstNS is the instant from which a time range "from the start" counts.
	firstNS int64
	// external is set when one trace is aligned to a node that is not among the inputs; zeroHintNS is then that node's start.
	external   bool
	zeroHintNS int64

	all  []party       // see parties
	mark *aligned.Mark // what the outputs say about themselves
	mine [][]int       // by node: its nodes in mark

	unknown []bool   // by node, when the plan was made elsewhere: nothing is known of the error of its times
	drawn   []string // likewise: its name on the curves of its clock

	keep      *align.Range
	plans     []*align.Plan   // by node; nil where a trace is re-timed as text
	judging   bool            // the clocks that are given are judged by collectives, so they are not made of them
	shares    map[*Node]*Node // nodes that share the clock of another
	probers   probers         // whose clocks the probers measured
	clocksToo bool            // the collectives are looked for to relate the clocks
	shortest  int             // launches that were kept regardless of sampling

	found   *collective.Matched // what match found in the whole recordings; nil before
	matched *collective.Matched
	doc     *Document

	cut      []string // clock files that end inside a line
	unjudged int64    // executions of collectives that are beyond the limit
}

// Evidence is what a result rests on, for reports.
type Evidence struct {
	Base    string // the directory that paths of the document are relative to
	Output  string // what to open: the run directory, or the file
	Nodes   []NodeEvidence
	Matched *collective.Matched // nil for one trace
	After   collective.Clock    // executions on the reference's clock
	Late    *straggler.Document // who was late, by the collectives alone; nil where no report was asked for or nothing could be judged
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
	nodes, out, err := load(j, req.Inputs, req.loading())
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(nodes)
	t, err := begin(j, &req, nodes, out)
	if err != nil {
		return nil, nil, err
	}
	if err := t.decide(); err != nil {
		return nil, nil, err
	}
	err = t.write()
	e := t.evidence()
	if err == nil && req.Report != "" {
		e.Late, err = t.whoWasLate()
	}
	return t.doc, e, err
}

func (t *task) evidence() *Evidence {
	e := &Evidence{Base: filepath.Dir(t.req.Output), Output: t.req.Output, Matched: t.matched, After: t.clockOf()}
	if len(t.parties()) != len(t.nodes) { // collectives are of nodes inside merged traces, which the report does not know
		e.Matched = nil
	}
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
func begin(j *job.Job, req *Request, nodes []*Node, out []Unreadable) (*task, error) {
	t := &task{job: j, req: req, nodes: nodes}
	var err error
	if len(nodes) > 1 {
		if t.ref, err = findReference(nodes, req.Reference); err != nil {
			return nil, err
		}
	}
	if t.format, err = req.chooseFormat(nodes); err != nil {
		return nil, err
	}
	if req.Output != "" { // else it is named by what comes out
		if err := t.settleOutput(); err != nil {
			return nil, err
		}
	}
	if req.Explain != "" {
		if _, err := findNode(nodes, req.Explain); err != nil {
			return nil, err
		}
	}
	t.begin()
	t.sayLeftOut(out)
	return t, nil
}

// settleOutput decides whether the output becomes a directory, and refuses one that must not be written.
func (t *task) settleOutput() error {
	t.shard()
	return t.req.protectInputs(t.nodes, t.format)
}

// nameOutput names an output that the caller did not name, by what was done: nothing is called aligned that is not.
func (t *task) nameOutput() (err error) {
	if t.req.Output != "" {
		return nil
	}
	suffix := "aligned"
	switch {
	case !t.req.applies():
		suffix = "merged"
	case !t.corrects():
		suffix = "unaligned"
	}
	if t.req.Output, err = defaultOutput(t.nodes, t.format, suffix); err != nil {
		return err
	}
	before := len(t.req.Notes)
	if err := t.settleOutput(); err != nil {
		return err
	}
	t.doc.Notes = append(t.doc.Notes, t.req.Notes[before:]...)
	return nil
}

// The values of Document.NotAligned.
const (
	becauseNoClockData = "no clock data"
	becauseUndated     = "the traces do not say when they were recorded"
	becauseMergeOnly   = "a merge was asked for"
	becauseWall        = "the wall clocks were to be taken as they are"
	becauseAlone       = "one trace, whose devices were looked at"
)

// sayNotAligned says why no clock was corrected, and what to do about it.
func (t *task) sayNotAligned() {
	if t.mark.Aligned {
		if t.req.Nearby != "" && slices.ContainsFunc(t.nodes, func(n *Node) bool { return n.Result.Method == methodCollectives }) {
			t.warn("the clocks rest on collectives alone; %s", t.req.Nearby)
		}
		return
	}
	switch {
	case !t.req.applies():
		t.doc.NotAligned = becauseMergeOnly
		return
	case t.req.Method == MethodWall:
		t.doc.NotAligned = becauseWall
		return
	case t.alone() && t.req.DeviceClocks != deviceClocksTrust:
		t.doc.NotAligned = becauseAlone
		return
	}
	if undated := t.undated(); undated > 0 && len(t.nodes)-undated < 2 {
		t.doc.NotAligned = becauseUndated
		t.warn("not aligned: %d of %d traces do not say when they were recorded, so nothing can place their times beside each other; combine recordings of the same run that say it, such as the .xplane.pb that JAX writes beside its JSON", undated, len(t.nodes))
		return
	}
	t.doc.NotAligned = becauseNoClockData
	if i := slices.IndexFunc(t.nodes, func(n *Node) bool { return n.parts() > 1 }); i >= 0 && !t.nodes[i].aligned {
		t.warn("not aligned: %s holds %d ranks that were merged on clocks of their own, and only traces as recorded can be put on one clock; prlx validate judges their collectives", t.nodes[i].ID, t.nodes[i].parts())
		return
	}
	advice := "the traces share no collective that relates them either" + t.whyNoneShared() + "; pass probes, round offsets or declared offsets (--probes, --offsets, --declared)"
	if t.req.Nearby != "" {
		advice = t.req.Nearby
	}
	t.warn("not aligned: no clock data, so the times of each node are on a clock of its own; %s", advice)
}

// sayNoBounds says whose events carry no bound where they should: nothing is known of those clocks.
func (t *task) sayNoBounds() {
	var silent []string
	for k, n := range t.nodes {
		if t.req.BoundStat && t.eventStats(k).Bound == "" {
			silent = append(silent, n.ID)
		}
	}
	if len(silent) > 0 {
		t.warn("events of %s carry no bound (--bound-stat): nothing is known of the error of their clock", shortList(silent))
	}
}

// undated counts the traces whose times count from no known instant.
func (t *task) undated() int {
	n := 0
	for _, node := range t.nodes {
		if !node.absolute {
			n++
		}
	}
	return n
}

// decide learns the clocks and places every line. It reads no event of a trace.
func (t *task) decide() error {
	if err := t.learnClocks(); err != nil {
		return err
	}
	if err := t.nameOutput(); err != nil {
		return err
	}
	if err := t.place(); err != nil {
		return err
	}
	if err := t.repair(); err != nil {
		return err
	}
	t.growOutside()
	t.stateClocks()
	t.newMark()
	t.sayNotAligned()
	t.sayNoBounds()
	return nil
}

// begin starts the document.
func (t *task) begin() {
	t.doc = &Document{
		Schema: Schema, Reference: t.nodes[t.ref].referenceName(t.req.Reference), Timebase: "host", Outputs: []Output{}, Nodes: []NodeResult{},
		Notes: append([]string{}, t.req.Notes...), Warnings: []string{},
	}
	if t.req.timebase == align.TracerTime {
		t.doc.Timebase = "tracer"
	}
	if t.format == FormatXPlane {
		t.doc.Naming = string(t.req.naming)
	}
	ids := make([]identity, len(t.nodes))
	for k, n := range t.nodes {
		ids[k] = n.identity
		n.Result.Inputs = []string{filepath.Base(n.Path)}
	}
	if len(ids) > 1 {
		t.doc.Notes = append(t.doc.Notes, describe(ids))
	}
	t.noteMerged()
}

func (t *task) warn(format string, args ...any) {
	t.doc.Warnings = append(t.doc.Warnings, fmt.Sprintf(format, args...))
}

// stage starts a part of the work that goes over the bytes of all traces.
func (t *task) stage(name string) {
	total := int64(0)
	for _, n := range t.nodes {
		total += n.bytes()
	}
	t.job.Progress().SetStage(name)
	t.job.Progress().SetTotal(total)
}

// share is the part of node k in such a stage.
func (t *task) share(k int) *job.Share {
	n := t.nodes[k]
	return t.job.Progress().Share(n.bytes(), n.bytes())
}

// bytes is the size of the trace, 0 where it lies elsewhere.
func (n *Node) bytes() int64 {
	if n.Src == nil {
		return 0
	}
	return n.Src.Size()
}

// place decides where every line goes and which instant is the output's zero: the earliest session start after alignment, or the
// earliest event where one lies before it. Viewers drop events before zero.
func (t *task) place() error {
	t.plans = make([]*align.Plan, len(t.nodes))
	zero, base := int64(math.MaxInt64), int64(math.MaxInt64)
	earlier := func(ns int64) { zero = min(zero, ns) }
	for k, n := range t.nodes {
		if !n.absolute {
			continue
		}
		start, _, _ := n.Clocks.Wall.At(n.start)
		if n.text == nil {
			t.plan(k)
			n.Result.TracerLines = t.plans[k].TracerLines
			n.Result.Warnings = append(n.Result.Warnings, t.plans[k].Reasons...)
			earlier(start)
			if first, ok := t.plans[k].EarliestNS(); ok {
				earlier(first)
			}
			continue
		}
		if n.facts.Timed > 0 {
			first, _, _ := n.Clocks.Wall.At(n.facts.First.NS)
			earlier(first - n.deviceLead())
		}
		if k == t.ref && n.facts.HasStart && t.allText() { // Kineto's base is months before the events: the reference keeps it
			base = n.facts.StartNS
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
	t.firstNS = zero
	zero = min(zero, base)
	t.zeroNS, t.doc.ZeroNS = zero, zero
	for k, n := range t.nodes {
		if !n.absolute { // its own zero becomes the output's
			n.Clocks = align.Clocks{Wall: clock.Shift(zero, 0)}
			t.plan(k)
		}
	}
	var err error
	t.keep, err = t.req.keep(t.firstNS)
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

// plan decides where the lines of a trace go.
func (t *task) plan(k int) {
	if n := t.nodes[k]; n.text == nil {
		t.plans[k] = align.PlanLines(n.layout, n.start, n.Clocks, t.req.timebase)
	}
}

func (t *task) allText() bool {
	for _, n := range t.nodes {
		if n.text == nil {
			return false
		}
	}
	return true
}

// write writes the outputs, judges the collectives and completes the document. Of traces that are written in their own format the
// collectives are found in what is read to be written; else they come first.
func (t *task) write() error {
	switch t.format {
	case FormatRun:
		return t.writeRun()
	case FormatXPlane:
		return t.writeSingle()
	case FormatChrome:
		if err := t.judgeCollectives(); err != nil {
			return err
		}
		return t.writeChrome()
	}
	return fault.New(fault.Internal, "combine: no writer for format %q", t.format)
}

// untouched reports whether no clock was corrected: nothing relates the node to another, and no line is on a tracer's clock.
func (n *Node) untouched() bool {
	return n.Result.Method == MethodNone || n.Result.Method == MethodWall && n.Result.TracerLines == 0
}

// conclude sets the status from the nodes and appends their results in order. A result without an event is an error: nothing is
// written then.
func (t *task) conclude() error {
	degraded := false
	var events, kept int64
	for k, n := range t.nodes {
		r := &n.Result
		r.BoundNS.Unknown = t.boundUnknown(k) || k != t.ref && r.Events > 0 && r.EventsDropped == r.Events
		events, kept = events+r.Events, kept+n.kept
		if r.Events == 0 {
			r.Warnings = append(r.Warnings, "the trace holds no event that has a time: nothing of this node is in the result")
		}
		if r.Events > 0 && r.Coverage < 1 && t.farOutside(n) {
			n.degraded = true
		}
		t.judgeOutside(n)
		degraded = degraded || n.degraded
		t.doc.Nodes = append(t.doc.Nodes, *r)
	}
	if kept == 0 {
		return t.nothingLeft(events)
	}
	t.sumOutside()
	if c := t.doc.Collectives; c != nil && c.After.Violated > 0 && t.mark.Aligned {
		degraded = true
		t.warn("impossible order by the clocks of the result, with all bounds counted: %s; a clock is wrong by more than its bound, or executions were matched that do not belong together", plural(c.After.Violated, "collective"))
	}
	t.sayClaimed()
	t.sayCoarse()
	switch {
	case !t.mark.Aligned:
		t.doc.Status = StatusUnaligned
	case degraded, len(t.doc.Files.lost()) > 0, t.doc.Ranks.said() != "", t.doc.salvaged() != nil:
		t.doc.Status = StatusDegraded
	default:
		t.doc.Status = StatusAligned
	}
	t.doc.Verdict = t.doc.verdict()
	t.doc.Conclusion = t.concluded()
	return nil
}

// corrects reports whether some clock is corrected.
func (t *task) corrects() bool {
	if !t.req.applies() {
		return false
	}
	if len(t.nodes) == 1 {
		return !t.nodes[0].untouched()
	}
	for k, n := range t.nodes {
		switch n.Result.Method {
		case MethodProbes, MethodDeclared, methodCollectives, methodSystem, methodHost:
			if k != t.ref {
				return true
			}
		}
	}
	return false
}

// nothingLeft is the error of a result that would hold no event.
func (t *task) nothingLeft(events int64) error {
	if t.keep == nil {
		return fault.New(fault.Format, "holds no event that has a time, nor does any other input: nothing was written").WithPath(t.nodes[0].Path).
			WithHint("record again while something runs; prlx inspect shows what is in each file")
	}
	e := fault.Usagef("the time range keeps none of the %d events: nothing was written", events)
	if first, last := t.span(); first <= last {
		e = e.WithHint("the events lie between %.6fs and %.6fs from the start, which is %d ns since 1970", float64(first-t.firstNS)/1e9, float64(last-t.firstNS)/1e9, t.firstNS)
	}
	return e
}

// span returns the first and the last instant of the output without a time range.
func (t *task) span() (firstNS, lastNS int64) {
	firstNS, lastNS = math.MaxInt64, math.MinInt64
	for k, n := range t.nodes {
		if n.text == nil && t.plans != nil {
			if first, ok := t.plans[k].EarliestEventNS(); ok {
				last, _ := t.plans[k].LatestNS()
				firstNS, lastNS = min(firstNS, first), max(lastNS, last)
			}
		} else if n.text != nil && n.facts.Timed > 0 {
			first, _, _ := n.Clocks.Wall.At(n.facts.First.NS)
			last, _, _ := n.Clocks.Wall.At(n.facts.Last.NS)
			firstNS, lastNS = min(firstNS, first), max(lastNS, last)
		}
	}
	return firstNS, lastNS
}
