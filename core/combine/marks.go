package combine

import (
	"context"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
)

// readMark reads what the node's file says about what prlx did to it; where it says nothing, the document beside it.
func (n *Node) readMark(ctx context.Context) error {
	m, err := source.ReadMark(ctx, n.Src, n.Trace)
	if err != nil {
		return err
	}
	if m == nil {
		n.fromDocument()
		return nil
	}
	n.mark, n.places = m.Mark, m.Places
	n.aligned = n.mark.Aligned
	n.onHost = slices.ContainsFunc(n.mark.Nodes, func(m aligned.Node) bool { return m.Method != MethodNone })
	n.absolute = n.mark.ZeroNS != 0 && slices.ContainsFunc(n.mark.Nodes, func(m aligned.Node) bool { return !m.OwnZero })
	if n.facts.MarkDates {
		if n.start = 0; n.absolute {
			n.start = n.mark.ZeroNS
		}
	}
	n.setStated()
	return nil
}

// fromDocument takes from the document of an earlier version, whose files had no mark, what it says of a file of one node.
func (n *Node) fromDocument() {
	d := alignmentOf(n.Path)
	if d == nil {
		return
	}
	for _, r := range d.Nodes {
		n.onHost = n.onHost || r.Method != MethodNone
	}
	n.aligned = d.Status != StatusUnaligned
	r := d.nodeOf(n.Path)
	if r == nil || !n.aligned {
		return
	}
	one := aligned.Node{ID: r.ID, Host: r.Host, Rank: r.Rank, Method: r.Method, OffsetNS: r.OffsetNS, DriftPPM: r.DriftPPM}
	if !r.BoundNS.Unknown {
		one.BoundNS = &r.BoundNS.Max
		one.Wall = clock.Shift(0, r.BoundNS.Max)
	}
	n.mark = &aligned.Mark{Schema: aligned.Schema, Aligned: true, Reference: d.Reference, Timebase: d.Timebase, ZeroNS: d.ZeroNS, Nodes: []aligned.Node{one}}
	if r, ok := n.Trace.(source.Retimer); ok {
		n.places = &source.Places{At: []int{r.MarkPlane()}, NodeOf: make([]int, len(n.layout)), Tracer: make([]aligned.Lines, len(n.layout))}
		for _, p := range n.layout {
			n.places.Names = append(n.places.Names, p.Name)
		}
	}
	n.setStated()
}

// setStated gives the processes of a marked trace the bounds that the mark states.
func (n *Node) setStated() {
	if n.places == nil {
		return
	}
	maps := make([]align.Stated, len(n.mark.Nodes))
	for i := range n.mark.Nodes {
		maps[i].Wall = n.mark.Nodes[i].Stated(false)
		if n.mark.Nodes[i].Tracer != nil {
			maps[i].Tracer = n.mark.Nodes[i].Stated(true)
		}
	}
	n.Clocks.Stated = make([]align.Stated, len(n.layout))
	for i := range n.Clocks.Stated {
		if k := n.places.NodeOf[i]; k >= 0 {
			n.Clocks.Stated[i] = maps[k]
		}
		n.Clocks.Stated[i].Lines = n.places.Tracer[i]
	}
}

// stays reports whether the times of a marked node are left as they are.
func (n *Node) stays() bool { return n.mark != nil && n.absolute && n.Clocks.Wall == nil }

// leave takes over what the mark says of the node: its times stay as they are.
func (n *Node) leave() {
	r := &n.Result
	r.Method = MethodWall
	for _, m := range []string{methodHost, methodSystem, methodCollectives, MethodDeclared, MethodProbes} { // the last one that occurs
		if slices.ContainsFunc(n.mark.Nodes, func(one aligned.Node) bool { return one.Method == m }) {
			r.Method = m
		}
	}
	for i := range n.mark.Nodes { // what made the first result a partial one
		one := &n.mark.Nodes[i]
		if n.mark.Aligned && (len(one.Wall.Steps()) > 0 || one.ID != n.mark.Reference && one.BoundNS == nil) {
			n.degraded = true
		}
	}
	if len(n.mark.Nodes) == 1 {
		one := &n.mark.Nodes[0]
		r.Method, r.OffsetNS, r.DriftPPM = one.Method, one.OffsetNS, one.DriftPPM
	}
}

// largestBound is the largest error of any of the node's times, as its mark says; ok is false where it says nothing.
func (n *Node) largestBound() (boundNS int64, ok bool) {
	for i := range n.mark.Nodes {
		b := n.mark.Nodes[i].BoundNS
		if b == nil {
			return 0, false
		}
		boundNS = max(boundNS, *b)
	}
	return boundNS, true
}

// agreeOnReference finds out whose clock the times of traces that were aligned before are on, and says where they disagree.
func (t *task) agreeOnReference() error {
	var names []string
	marked := 0
	for _, n := range t.nodes {
		if !n.aligned || n.mark == nil {
			continue
		}
		marked++
		if !slices.Contains(names, n.mark.Reference) {
			names = append(names, n.mark.Reference)
		}
	}
	switch {
	case marked == 0:
		return nil
	case len(names) == 1 && marked == len(t.nodes):
		if want := t.req.Reference; want != "" && want != names[0] && t.nodes[t.ref].ID != names[0] {
			return fault.New(fault.Incompatible, "the traces were aligned to %s before, and cannot be put on the clock of %s now", names[0], want).WithHint("combine the traces as recorded")
		}
		t.doc.Reference = names[0]
		return nil
	case len(names) == 1 && names[0] == t.nodes[t.ref].referenceName(""):
		return nil
	}
	if marked < len(t.nodes) {
		names = append(names, "their own, where they were not aligned")
	}
	for _, n := range t.nodes {
		n.degraded = true
	}
	t.warn("the traces are on different clocks: %s; their times cannot be compared", joined(names))
	return nil
}

func joined(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

// party is one node of the job as collectives and marks know it: a whole trace, or a node's part of one that holds several.
type party struct {
	node int // index in task.nodes
	part int // of the trace
	id   string
}

// parties lists the nodes of the job, those inside of merged traces too.
func (t *task) parties() []party {
	if t.all != nil {
		return t.all
	}
	seen := map[string]bool{}
	for k, n := range t.nodes {
		for i := range n.parts() {
			p := party{node: k, part: i, id: n.ID}
			if n.parts() > 1 {
				if p.id = n.member(i).ID; seen[p.id] {
					p.id = n.ID + "/" + p.id
				}
			}
			for seen[p.id] {
				p.id += "'"
			}
			seen[p.id] = true
			t.all = append(t.all, p)
		}
	}
	return t.all
}

// newMark says what is done to the times of every node.
func (t *task) newMark() {
	t.mark = &aligned.Mark{
		Schema: aligned.Schema, Version: t.req.Version, Aligned: t.corrects(), Reference: t.doc.Reference, Timebase: t.doc.Timebase, ZeroNS: t.zeroNS,
	}
	t.mine = make([][]int, len(t.nodes))
	for i, p := range t.parties() {
		n := t.nodes[p.node]
		t.mine[p.node] = append(t.mine[p.node], i)
		one := aligned.Node{ID: p.id}
		if n.stays() {
			one = n.mark.Nodes[p.part]
			one.ID, one.Processes, one.TracerThreads, one.Compiled = p.id, nil, nil, nil
			t.mark.Aligned = t.mark.Aligned || n.mark.Aligned
		} else {
			t.markNode(p.node, &one)
			n.markMember(p.part, &one)
		}
		t.mark.Nodes = append(t.mark.Nodes, one)
	}
}

// markNode says what is done to the times of node k.
func (t *task) markNode(k int, one *aligned.Node) {
	n := t.nodes[k]
	r := &n.Result
	one.Host, one.Rank, one.Method, one.OffsetNS, one.OwnZero = n.Host, n.Rank, r.Method, r.OffsetNS, !n.absolute
	one.DriftPPM = clock.DriftPPM(r.DriftPPM).PPM() // to 1e-6 ppm: what a file of round offsets gives back
	if !n.absolute {
		return
	}
	bound := int64(0)
	first, last, ok := n.spanNS()
	if n.text != nil {
		if m := clock.Compose(nil, n.Clocks.Wall); len(m.Knots()) > 0 {
			one.Wall, bound = m, m.LargestBound(first, last)
		}
		if own, ok := n.deviceBound(first, last); ok {
			bound = max(bound, own)
			one.Tracer = clock.Shift(0, own)
		}
	} else {
		plan := t.plans[k]
		one.Wall = plan.Wall
		if ok {
			bound = plan.Wall.LargestBound(first, last)
		}
		if from, to, ok := plan.TracerSpan(n.Clocks.StartTracerNS); ok && plan.Tracer != nil {
			largest := plan.Tracer.LargestBound(from, to)
			one.Tracer, bound = plan.Tracer, max(bound, largest)
			if t.req.timebase == align.TracerTime { // these lines are on a clock of their own: what is left to say is how good it is
				one.Tracer = clock.Shift(0, largest)
			}
		}
	}
	if !t.boundUnknown(k) {
		one.BoundNS = &bound
	}
}

// boundUnknown reports whether nothing is known of the error of a node's times.
func (t *task) boundUnknown(k int) bool {
	if t.unknown != nil {
		return t.unknown[k]
	}
	n := t.nodes[k]
	if n.isMerged() {
		return true
	}
	if n.stays() {
		_, ok := n.largestBound()
		return !ok
	}
	return k != t.ref && (n.Result.Method == MethodWall || n.Result.Method == MethodNone)
}

// addMark makes the edit of node k write what was done to it. shared: the file holds other nodes too.
func (t *task) addMark(k int, r source.Retimer, e *source.Edit, shared bool) error {
	n := t.nodes[k]
	if len(n.layout) == 0 {
		return nil
	}
	tracer := t.plans[k].TracerLinesOf()
	var planes [][]int // by part; nil: all are the only one's
	if n.places != nil {
		planes = n.places.ByNode(n.parts())
	}
	for part, i := range t.mine[k] {
		text, err := t.mark.Of(i).Text()
		if err != nil {
			return err
		}
		m := source.NodeMark{Text: text, Plane: r.MarkPlane()}
		if shared || len(t.mine[k]) > 1 {
			m.ID = t.mark.Nodes[i].ID
		}
		if n.places != nil {
			m.Plane = n.places.At[part]
		} else if n.absolute {
			m.StartNS = t.zeroNS
			m.StopNS, _, _ = n.Clocks.Wall.At(n.facts.StopNS)
		}
		if planes != nil {
			m.Planes = planes[part]
		} else {
			for j := range n.layout {
				m.Planes = append(m.Planes, j)
			}
		}
		r.AddMark(e, m, tracer)
	}
	return nil
}

// clockOf returns the clock of all executions: through the plan of the line that each was recorded on, with the bound that is known
// of it now or was stated when the trace was aligned.
func (t *task) clockOf() collective.Clock {
	parties := t.parties()
	stated := make([]statedClock, len(parties))
	for i, p := range parties {
		if n := t.nodes[p.node]; n.text != nil && n.stays() {
			stated[i] = n.statedClock(p.part)
		}
	}
	return func(s *event.Span, ns int64) (int64, int64) {
		n := t.nodes[parties[s.Node].node]
		switch {
		case n.text == nil:
			return t.plans[parties[s.Node].node].Lines[s.Plane][s.Line].At(ns)
		case stated[s.Node].wall != nil:
			return stated[s.Node].at(s, ns)
		}
		host, own := n.onHostClock(s.Plane, ns)
		y, bound, _ := n.Clocks.Wall.At(host)
		return y, bound + own
	}
}

// statedAlike is a map for the whole of a marked Chrome trace: of its only node, or, where it holds several, with the largest of
// their bounds.
func (n *Node) statedAlike() *clock.Map {
	if len(n.mark.Nodes) == 1 && n.mark.Nodes[0].Tracer == nil {
		return n.mark.Nodes[0].Stated(false)
	}
	if bound, ok := n.largestBound(); ok {
		return clock.Shift(0, bound)
	}
	return nil
}

// statedClock is what the mark of a Chrome trace says of the times of one node.
type statedClock struct {
	wall, tracer *clock.Map
	threads      map[[2]int32]bool // processes and threads, by their places, that were on the tracer's clock
}

func (n *Node) statedClock(part int) statedClock {
	one := &n.mark.Nodes[part]
	c := statedClock{wall: one.Stated(false)}
	if one.Tracer == nil || len(one.TracerThreads) == 0 {
		return c
	}
	c.tracer, c.threads = one.Stated(true), map[[2]int32]bool{}
	for _, p := range n.layout {
		tids := one.TracerThreads[unquoted(p.TextID)]
		for i, l := range p.Lines {
			if tid, err := strconv.Atoi(l.TextID); err == nil && slices.Contains(tids, tid) {
				c.threads[[2]int32{int32(p.Index), int32(i)}] = true
			}
		}
	}
	return c
}

func (c *statedClock) at(s *event.Span, ns int64) (int64, int64) {
	m := c.wall
	if c.threads[[2]int32{s.Plane, s.Line}] {
		m = c.tracer
	}
	_, bound, _ := m.At(ns)
	return ns, bound
}
