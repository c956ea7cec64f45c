package combine

import (
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/fault"
)

// ending is a node whose events were written.
type ending struct {
	row      NodeResult // with the counts
	kept     int64      // events with a time that are in the output
	degraded bool       // its clock is not known over its whole trace
	unknown  bool       // nothing is known of the error of its times
	lengthNS int64      // of its trace; 0 unknown
}

// closing is what else the document is judged by.
type closing struct {
	ref     int
	aligned bool // some clock is corrected
	policy  policy
	usualNS int64                    // the median length of a collective; 0: there is none
	nothing func(events int64) error // the error of a result without an event
}

// draft is the document before anything is written.
func draft(in *inputs, c *clocks) *Document {
	d := &Document{
		Schema: Schema, Reference: c.reference, Timebase: in.req.timebaseName(), Outputs: []Output{}, Nodes: []NodeResult{},
		NotAligned: c.because, ZeroNS: c.at.zeroNS, Skipped: in.skipped, Files: in.files, Ranks: in.ranks, SameKernels: in.same, Repaired: c.repair,
		Notes: append(append([]string{}, in.req.Notes...), c.to.notes...), Warnings: []string{},
	}
	if c.to.format == FormatXPlane {
		d.Naming = string(in.req.naming)
	}
	if ids := identities(in.nodes); len(ids) > 1 {
		d.Notes = append(d.Notes, describe(ids))
	}
	d.say(in.said, c.said)
	return d
}

// say puts what stages said into the document.
func (d *Document) say(of ...remarks) {
	for _, r := range of {
		d.Notes, d.Warnings = append(d.Notes, r.notes...), append(d.Warnings, r.warnings...)
	}
}

// judge puts the verdicts into the document.
func (d *Document) judge(j *judged) {
	d.Collectives, d.Explained = j.collectives, j.explained
	d.say(j.said)
}

// endingsOf are the nodes as they were decided about and written.
func endingsOf(in *inputs, c *clocks, nodes []writtenNode) []ending {
	out := make([]ending, len(in.nodes))
	for k, n := range in.nodes {
		e := ending{row: c.rowOf(in, k), kept: nodes[k].kept, degraded: c.nodes[k].degraded, unknown: c.nodes[k].unknown, lengthNS: n.lengthNS()}
		e.row.takeCounts(&nodes[k].counts)
		e.row.Warnings = append(e.row.Warnings, nodes[k].warnings...)
		out[k] = e
	}
	return out
}

// conclude completes the document: its nodes, its status and its verdict. A result without an event is an error: nothing is written then.
func (d *Document) conclude(nodes []ending, by closing) error {
	degraded, partial := make([]bool, len(nodes)), false
	events, kept := int64(0), int64(0)
	for k := range nodes {
		e := &nodes[k]
		e.judge(k == by.ref)
		events, kept = events+e.row.Events, kept+e.kept
		degraded[k], partial = e.degraded, partial || e.degraded
		d.Nodes = append(d.Nodes, e.row)
	}
	if kept == 0 {
		return by.nothing(events)
	}
	d.Outside = sumOutside(nodes, by.policy)
	if c := d.Collectives; c != nil && c.After.Violated > 0 && by.aligned {
		partial = true
		d.warn("impossible order by the clocks of the result, with all bounds counted: %s; a clock is wrong by more than its bound, or executions were matched that do not belong together", plural(c.After.Violated, "collective"))
	}
	d.sayClaimed()
	d.sayCoarse(nodes, by)
	switch {
	case !by.aligned:
		d.Status = StatusUnaligned
	case partial, len(d.Files.lost()) > 0, d.Ranks.said() != "", d.salvaged() != nil:
		d.Status = StatusDegraded
	default:
		d.Status = StatusAligned
	}
	d.Verdict = d.verdict()
	d.Conclusion = d.concluded(degraded)
	return nil
}

func (d *Document) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// judge says what of a node's clock its events show: that nothing is known of them, that they lie where the clock is not known.
func (e *ending) judge(reference bool) {
	r := &e.row
	r.BoundNS.Unknown = e.unknown || !reference && r.Events > 0 && r.EventsDropped == r.Events
	if r.Events == 0 {
		r.warn("the trace holds no event that has a time: nothing of this node is in the result")
	}
	if r.Events > 0 && r.Coverage < 1 && r.EventsInStep > 0 { // more than the tails that every recording has
		e.degraded = true
	}
	e.judgeOutside()
}

// warn adds a sentence to the node's report.
func (r *NodeResult) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// nothingLeft is the error of a result that would hold no event.
func nothingLeft(path string, keep *align.Range, events int64, firstNS int64, span func() (firstNS, lastNS int64)) error {
	if keep == nil {
		return fault.New(fault.Format, "holds no event that has a time, nor does any other input: nothing was written").WithPath(path).
			WithHint("record again while something runs; prlx inspect shows what is in each file")
	}
	e := fault.Usagef("the time range keeps none of the %d events: nothing was written", events)
	if first, last := span(); first <= last {
		e = e.WithHint("the events lie between %.6fs and %.6fs from the start, which is %d ns since 1970", float64(first-firstNS)/1e9, float64(last-firstNS)/1e9, firstNS)
	}
	return e
}

// nowhere is a span of nothing.
func nowhere() (firstNS, lastNS int64) { return math.MaxInt64, math.MinInt64 }
