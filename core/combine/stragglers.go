package combine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/verdict"
)

// StragglersRequest is what Stragglers is asked for. Traces that are not aligned are aligned on the way.
type StragglersRequest struct {
	// Seconds at the beginning that do not count. Operations that all had left so long after the first one began are left out.
	Since *float64 `json:"since" takes:"seconds"`
	// A step that counts, by its name; may be repeated. What led to it is followed back all the same. Left out, all count.
	Steps []string `json:"step" takes:"texts" metavar:"NAME"`
	// Only communicators with this in their name. Operations of others do not count.
	Group *string `json:"group" takes:"text"`
	// Single latenesses that the document lists. They are the most expensive ones.
	Limit *int `json:"limit" takes:"whole" also:"-n" unset:"20" rare:"yes"`
	Request

	Tracks *straggler.Tracks `json:"-"` // filled where it is not nil
}

// unknownBoundNS is the bound of clocks of which nothing is known: nothing can be told of them.
const unknownBoundNS = int64(1) << 61

// RankStep is a step of one rank, by the clock of its trace.
type RankStep struct {
	Rank   int // -1 unknown
	Name   string
	FromNS int64
}

// Stragglers says who was late at the collectives of several traces, and what it cost. stepsOf finds the steps in the kernels of a trace; where it
// finds none, or is nil, the operations tell.
func Stragglers(j *job.Job, req StragglersRequest, stepsOf func(path string) ([]RankStep, error)) (*straggler.Document, error) {
	if err := req.normalize(); err != nil {
		return nil, err
	}
	limit := 20
	if req.Limit != nil {
		limit = *req.Limit
	}
	if limit < 0 || limit > 1<<20 {
		return nil, fault.Usagef("limit is %d, expected 0 to %d", limit, 1<<20)
	}
	nodes, out, err := load(j, req.Inputs, req.loading())
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	ref, err := findReference(nodes, req.Reference)
	if err != nil {
		return nil, err
	}
	in, err := settle(j, &req.Request, nodes, out, ref, preparing{tied: req.applies(), asXSpaces: true})
	if err != nil {
		return nil, err
	}
	l := &lateness{said: in.said, zeroNS: nodes[0].facts.StartNS}
	if l.job, l.clocks, err = scheduleOf(j.Context(), nodes); err != nil {
		return nil, err
	}
	if l.job == nil {
		if l, err = latenessOf(j, in, stepsOf); err != nil {
			return nil, err
		}
	}
	opt := straggler.Options{Worst: limit, Steps: req.Steps, Tracks: req.Tracks}
	if req.Group != nil {
		if opt.Group = *req.Group; opt.Group == "" {
			return nil, fault.Usagef("group is empty, expected a part of the name of a communicator")
		}
	}
	if s := req.Since; s != nil {
		if *s < 0 || math.IsNaN(*s) || *s > 1e9 {
			return nil, fault.Usagef("since is %g, expected seconds from the first operation", *s)
		}
		opt.SinceNS = int64(*s * 1e9)
	}
	l.missed(in, &opt.Evidence)
	doc, err := straggler.Find(l.job, opt)
	if err != nil {
		return nil, err
	}
	if req.Tracks != nil {
		req.Tracks.BaseNS = l.zeroNS
	}
	doc.Clocks = l.clocks
	doc.Notes, doc.Warnings = append(doc.Notes, l.said.notes...), append(doc.Warnings, l.said.warnings...)
	for k, n := range in.nodes {
		for _, w := range l.warningsOf(in, k) {
			doc.Warnings = append(doc.Warnings, n.ID+": "+w)
		}
	}
	return doc, nil
}

// lateness is the job that the question is asked of.
type lateness struct {
	job     *straggler.Job
	clocks  string    // what relates the clocks
	zeroNS  int64     // the instant from which the times of the trace count that all ranks are in: the only one, or what prlx combine would write
	related *related  // nil: the clocks were not looked at
	at      *placed   // likewise
	matched *matching // nil: the job is made of no collectives
	said    remarks
}

// missed is what of the traces was not looked at and could say that somebody else was late.
func (l *lateness) missed(in *inputs, e *verdict.Evidence) {
	for _, u := range in.skipped {
		e.Missed("trace "+u.name(), 1, u.Error)
	}
	for _, n := range in.nodes {
		if n.salvaged != nil {
			e.Lacks("the rest of the trace of "+n.ID, n.salvaged.Sentence())
		}
	}
	if l.matched == nil {
		return
	}
	n, all := l.matched.UnmatchedCount(), len(l.matched.Part.Spans)
	if n > 0 && float64(n) >= straggler.LostShare*float64(all) { // a few at the ends of recordings are in every job
		e.Missed("executions of collectives", int64(n), fmt.Sprintf("of %d, their partners are not in the traces", all))
	}
}

// warningsOf is what was said of node k.
func (l *lateness) warningsOf(in *inputs, k int) sentences {
	switch {
	case l.related == nil:
		return in.warningsOf(k)
	case !in.nodes[k].absolute:
		return l.related.nodes[k].warnings
	}
	return append(slices.Clip(l.related.nodes[k].warnings), l.at.nodes[k].reasons()...)
}

// latenessOf makes a job of the collectives of all traces, on the clock of the reference.
func latenessOf(j *job.Job, in *inputs, stepsOf func(path string) ([]RankStep, error)) (*lateness, error) {
	ev, err := gather(j, in, gathering{})
	if err != nil {
		return nil, err
	}
	l := &lateness{matched: ev.relation.matched}
	if l.related, err = relate(j, in, ev); err != nil {
		return nil, err
	}
	if l.at, err = placeNodes(in, l.related, ev.devices); err != nil {
		return nil, err
	}
	l.said.add(in.said, ev.said, l.related.said, l.at.said)
	if l.matched == nil {
		var said remarks
		if l.matched, said, err = match(j, in, in.found, wanting{}); err != nil {
			return nil, err
		}
		l.said.add(said)
	}
	m := l.matched
	l.said.add(noteMatching(m.Part, m, &collective.Judged{Assumptions: m.Assumptions}).said)
	switch n := m.UnmatchedCount(); {
	case n > 0 && len(m.Groups) == 0 && len(in.parties) == 1:
		l.said.warn("only the trace of one rank is given; name those of the others too")
	case n > 0:
		l.said.warn("%d executions of collectives have no partners and are not looked at; prlx validate says why", n)
	}
	b := jobOf(in, l.related, l.at, ev.devices, ev.relation.shares, m.Matched)
	if err := b.activities(j); err != nil {
		return nil, err
	}
	if err := b.steps(stepsOf); err != nil {
		return nil, err
	}
	l.said.add(b.said)
	l.job, l.clocks = b.job, relatedBy(in, l.related)
	if l.zeroNS = l.at.zeroNS; in.alone() {
		l.zeroNS = in.nodes[0].facts.StartNS
	}
	return l, nil
}

// jobOf makes a job of matched collectives.
func jobOf(in *inputs, r *related, at *placed, devices []deviceClocks, shares sharing, m *collective.Matched) *jobBuilder {
	b := &jobBuilder{in: in, related: r, placed: at, shares: shares, m: m, clock: at.clock(in, devices), job: &straggler.Job{}, ranks: map[collective.Slot]int32{}}
	for i := range m.Groups {
		b.group(&m.Groups[i])
	}
	return b
}

// whoWasLate says who was late at the collectives that were matched to judge the alignment; nil where there are none. The traces are not read
// again, so what ranks did is not known, and steps are what repeats.
func whoWasLate(j *job.Job, in *inputs, c *clocks, m *collective.Matched) (*straggler.Document, error) {
	if m == nil || len(m.Groups) == 0 {
		return nil, nil
	}
	j.Progress().SetStage("stragglers")
	b := jobOf(in, c.related, c.at, c.devices, c.shares, m)
	b.job.FindSteps()
	doc, err := straggler.Find(b.job, straggler.Options{})
	if err != nil {
		return nil, err
	}
	doc.Clocks = relatedBy(in, c.related)
	return doc, nil
}

// relatedBy says what relates the clocks of the nodes.
func relatedBy(in *inputs, r *related) string {
	var by []string
	for k, n := range in.nodes {
		if k == in.ref && !in.alone() {
			continue
		}
		name := r.nodes[k].method
		if n.aligned {
			name = "aligned before"
		}
		if name != "" && !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	return strings.Join(by, ", ")
}

// jobBuilder makes a job of matched collectives.
type jobBuilder struct {
	in      *inputs
	related *related
	placed  *placed
	shares  sharing
	m       *collective.Matched
	clock   collective.Clock // executions on the reference's clock
	job     *straggler.Job
	ranks   map[collective.Slot]int32
	said    remarks

	spanOf []int32    // by event: its execution
	seats  []rankSeat // by rank
}

// rankSeat is where a rank's collectives were recorded.
type rankSeat struct {
	slot      collective.Slot
	processes []int32
}

// rank is the rank of a device, one of whose collectives lies in a process of its trace.
func (b *jobBuilder) rank(s collective.Slot, plane int32) int32 {
	r, ok := b.ranks[s]
	if !ok {
		p := b.in.parties[s.Node]
		n := b.in.nodes[p.node]
		one := straggler.Rank{ID: b.in.slot(s), Host: n.Host, FirstNS: math.MaxInt64, Clock: int32(p.node)}
		if n.parts() == 1 {
			one.Clock = int32(b.shares.with(p.node))
		} else {
			one.Clock = b.clockOfPart(s.Node)
			if n.aligned && p.part < len(n.mark.Nodes) {
				one.Host = n.mark.Nodes[p.part].Host
			}
		}
		if at := n.layout[plane]; at.GPU >= 0 {
			one.Device = fmt.Sprintf("GPU %d", at.GPU)
		}
		if first, _, ok := n.spanNS(); ok && n.parts() == 1 {
			one.FirstNS, _, _ = b.placed.nodes[p.node].maps.Wall.At(first)
		}
		r = int32(len(b.job.Ranks))
		b.ranks[s], b.job.Ranks = r, append(b.job.Ranks, one)
	}
	return r
}

// clockOfPart is the clock of one of the nodes that a trace holds. Where prlx has put them on one clock they have the bounds that were stated
// then, but for nodes of one host that were moved alike: these shared a clock.
func (b *jobBuilder) clockOfPart(party int32) int32 {
	parties := b.in.parties
	own := parties[party]
	n := b.in.nodes[own.node]
	if n.aligned && own.part < len(n.mark.Nodes) {
		for i, p := range parties {
			if p.node == own.node && p.part < len(n.mark.Nodes) && sharedClock(&n.mark.Nodes[p.part], &n.mark.Nodes[own.part]) {
				party = int32(i)
				break
			}
		}
	}
	return int32(len(b.in.nodes)) + party
}

// sharedClock reports whether a mark shows that two nodes had one clock.
func sharedClock(x, y *aligned.Node) bool {
	if x == y {
		return true
	}
	return x.Host != "" && x.Host == y.Host && x.BoundNS != nil && y.BoundNS != nil && *x.BoundNS == *y.BoundNS &&
		x.OffsetNS == y.OffsetNS && x.DriftPPM == y.DriftPPM && x.Method == y.Method
}

func (b *jobBuilder) group(g *collective.Group) {
	j, op := b.job, &b.m.Part.Ops[g.Op]
	at, first := int32(len(j.Ops)), int32(len(j.Events))
	size, bytes := int64(0), int64(0)
	for _, member := range g.Members {
		s := &b.m.Part.Spans[member.Span]
		e := straggler.Event{Rank: b.rank(collective.Slot{Node: s.Node, Device: s.Device}, s.Plane), Op: at}
		e.EnterNS, e.EnterBoundNS = b.at(s, s.StartNS)
		e.LeaveNS, e.LeaveBoundNS = b.at(s, s.EndNS)
		e.LeaveNS = max(e.LeaveNS, e.EnterNS)
		if r := &j.Ranks[e.Rank]; e.EnterNS < r.FirstNS {
			r.FirstNS = e.EnterNS
		}
		size, bytes = max(size, s.Size), max(bytes, s.Size*int64(s.ElementBytes))
		j.Events, b.spanOf = append(j.Events, e), append(b.spanOf, member.Span)
		b.seat(e.Rank, s)
	}
	o := straggler.Op{Key: op.Key, Class: fmt.Sprintf("%s of %d", op.Key, size), Group: communicator(op), Step: -1, Occurrence: g.Occurrence}
	if op.Kind == event.SendRecv {
		o.Class = fmt.Sprintf("%s of %d", op.Kind, size)
	}
	b.m.Orders(g, func(givers, receivers []int32) {
		gate := straggler.Gate{Givers: places(givers, first), Receivers: places(receivers, first)}
		o.Gates = append(o.Gates, gate)
		if op.Kind == event.SendRecv { // a send waits for its receive as well
			o.Gates = append(o.Gates, straggler.Gate{Givers: gate.Receivers, Receivers: gate.Givers})
		}
	})
	sayWhat(&o, op.Key, op.Kind, b.membersOf(g, op), bytes)
	j.Ops = append(j.Ops, o)
}

// membersOf is how many members the communicator of an operation has, in traces or not.
func (b *jobBuilder) membersOf(g *collective.Group, op *collective.Op) int {
	n := len(g.Members)
	if op.Kind != event.SendRecv {
		n += g.Missing
	}
	return n
}

// communicator is what the operations of one communicator share.
func communicator(op *collective.Op) string {
	if i := strings.LastIndexByte(op.Key, '/'); i >= 0 {
		return op.Key[:i]
	}
	return op.Key
}

func places(list []int32, first int32) []int32 {
	out := make([]int32, len(list))
	for i, k := range list {
		out[i] = first + k
	}
	return out
}

// at maps an instant of an execution to the reference's clock; of clocks that nothing relates the bound is endless.
func (b *jobBuilder) at(s *event.Span, ns int64) (int64, int64) {
	y, bound := b.clock(s, ns)
	if b.related.nodes[b.in.nodeOf(s.Node)].unknown {
		bound = unknownBoundNS
	}
	return y, min(bound, unknownBoundNS)
}

// scheduleOf makes a job of a trace whose lines are ranks; nil: the traces are none.
func scheduleOf(ctx context.Context, nodes []*Node) (*straggler.Job, string, error) {
	if len(nodes) != 1 {
		return nil, "", nil
	}
	return readSchedule(ctx, nodes[0])
}
