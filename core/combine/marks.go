package combine

import (
	"context"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/align"
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
	n.marking = newMarking(m.Mark, m.Places, len(n.layout))
	n.aligned = n.mark.Aligned
	n.onHost = slices.ContainsFunc(n.mark.Nodes, func(m aligned.Node) bool { return m.Method != MethodNone })
	n.absolute = n.mark.ZeroNS != 0 && slices.ContainsFunc(n.mark.Nodes, func(m aligned.Node) bool { return !m.OwnZero })
	if n.facts.MarkDates {
		if n.start = 0; n.absolute {
			n.start = n.mark.ZeroNS
		}
	}
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
	mark := &aligned.Mark{Schema: aligned.Schema, Aligned: true, Reference: d.Reference, Timebase: d.Timebase, ZeroNS: d.ZeroNS, Nodes: []aligned.Node{one}}
	var places *source.Places
	if r, ok := n.Trace.(source.Retimer); ok {
		places = &source.Places{At: []int{r.MarkPlane()}, NodeOf: make([]int, len(n.layout)), Tracer: make([]aligned.Lines, len(n.layout))}
		for _, p := range n.layout {
			places.Names = append(places.Names, p.Name)
		}
	}
	n.marking = newMarking(mark, places, len(n.layout))
}

// marking is what a file says about what prlx did to it before.
type marking struct {
	mark   *aligned.Mark  // nil: nothing
	places *source.Places // what stands with its processes about that; nil: nothing
	stated []align.Stated // by process: the bounds that the mark states; nil: none
}

// newMarking gives each process of a marked trace the bounds that the mark states.
func newMarking(mark *aligned.Mark, places *source.Places, processes int) marking {
	m := marking{mark: mark, places: places}
	if places == nil {
		return m
	}
	maps := make([]align.Stated, len(mark.Nodes))
	for i := range mark.Nodes {
		maps[i].Wall = mark.Nodes[i].Stated(false)
		if mark.Nodes[i].Tracer != nil {
			maps[i].Tracer = mark.Nodes[i].Stated(true)
		}
	}
	m.stated = make([]align.Stated, processes)
	for i := range m.stated {
		if k := places.NodeOf[i]; k >= 0 {
			m.stated[i] = maps[k]
		}
		m.stated[i].Lines = places.Tracer[i]
	}
	return m
}

// largestBound is the largest error of any of the times of a marked trace; ok is false where the mark says nothing of it.
func (m *marking) largestBound() (boundNS int64, ok bool) {
	for i := range m.mark.Nodes {
		b := m.mark.Nodes[i].BoundNS
		if b == nil {
			return 0, false
		}
		boundNS = max(boundNS, *b)
	}
	return boundNS, true
}

// leave takes over what the mark says of the trace: its times stay as they are.
func (m *marking) leave() (c wallClock) {
	c.method = MethodWall
	for _, method := range []string{methodHost, methodSystem, methodCollectives, MethodDeclared, MethodProbes} { // the last one that occurs
		if slices.ContainsFunc(m.mark.Nodes, func(one aligned.Node) bool { return one.Method == method }) {
			c.method = method
		}
	}
	for i := range m.mark.Nodes { // what made the first result a partial one
		one := &m.mark.Nodes[i]
		if m.mark.Aligned && (len(one.Wall.Steps()) > 0 || one.ID != m.mark.Reference && one.BoundNS == nil) {
			c.degraded = true
		}
	}
	if len(m.mark.Nodes) == 1 {
		one := &m.mark.Nodes[0]
		c.method, c.offsetNS, c.driftPPM = one.Method, one.OffsetNS, one.DriftPPM
	}
	return c
}

// marks is what the outputs say about themselves.
type marks struct {
	mark *aligned.Mark // all that is done
	mine [][]int       // by node: its nodes in mark
}

// markAll says what is done to the times of every node. reference is the one whose clock they are on.
func markAll(in *inputs, r *related, p *placed, devices []deviceClocks, reference string) marks {
	m := marks{mark: &aligned.Mark{
		Schema: aligned.Schema, Version: in.req.Version, Aligned: r.corrects(in, p.tracerLines()), Reference: reference, Timebase: in.req.timebaseName(), ZeroNS: p.zeroNS,
	}, mine: make([][]int, len(in.nodes))}
	for i, of := range in.parties {
		k, n := of.node, in.nodes[of.node]
		m.mine[k] = append(m.mine[k], i)
		one := aligned.Node{ID: of.id}
		if n.stays(p.nodes[k].maps.Wall) {
			one = n.mark.Nodes[of.part]
			one.ID, one.Processes, one.TracerThreads, one.Compiled = of.id, nil, nil, nil
			m.mark.Aligned = m.mark.Aligned || n.mark.Aligned
		} else {
			markNode(n, &r.nodes[k], &p.nodes[k], &devices[k], in.req.timebase, &one)
			n.markMember(of.part, &one)
		}
		m.mark.Nodes = append(m.mark.Nodes, one)
	}
	return m
}

// markNode says what is done to the times of a node.
func markNode(n *Node, c *nodeClock, p *placedNode, devices *deviceClocks, base align.Timebase, one *aligned.Node) {
	one.Host, one.Rank, one.Method, one.OffsetNS, one.OwnZero = n.Host, n.Rank, c.method, c.offsetNS, !n.absolute
	one.DriftPPM = clock.DriftPPM(c.driftPPM).PPM() // to 1e-6 ppm: what a file of round offsets gives back
	if !n.absolute {
		return
	}
	bound := int64(0)
	first, last, ok := n.spanNS()
	if n.text != nil {
		if m := clock.Compose(nil, p.maps.Wall); len(m.Knots()) > 0 {
			one.Wall, bound = m, m.LargestBound(first, last)
		}
		if own, ok := devices.bound(p.maps.Wall, first, last); ok {
			bound = max(bound, own)
			one.Tracer = clock.Shift(0, own)
		}
	} else {
		plan := p.plan
		one.Wall = plan.Wall
		if ok {
			bound = plan.Wall.LargestBound(first, last)
		}
		if from, to, ok := plan.TracerSpan(p.maps.StartTracerNS); ok && plan.Tracer != nil {
			largest := plan.Tracer.LargestBound(from, to)
			one.Tracer, bound = plan.Tracer, max(bound, largest)
			if base == align.TracerTime { // these lines are on a clock of their own: what is left to say is how good it is
				one.Tracer = clock.Shift(0, largest)
			}
		}
	}
	if !c.unknown {
		one.BoundNS = &bound
	}
}

// of is what the output of node k says about itself.
func (m marks) of(k int) *aligned.Mark {
	one := *m.mark
	one.Nodes = nil
	for _, i := range m.mine[k] {
		one.Nodes = append(one.Nodes, m.mark.Nodes[i])
	}
	return &one
}

// copied is a copy whose nodes can be completed.
func (m marks) copied() marks {
	mark := *m.mark
	mark.Nodes = slices.Clone(mark.Nodes)
	return marks{&mark, m.mine}
}

// statedAlike is a map for the whole of a marked Chrome trace: of its only node, or, where it holds several, with the largest of
// their bounds.
func (m *marking) statedAlike() *clock.Map {
	if len(m.mark.Nodes) == 1 && m.mark.Nodes[0].Tracer == nil {
		return m.mark.Nodes[0].Stated(false)
	}
	if bound, ok := m.largestBound(); ok {
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
