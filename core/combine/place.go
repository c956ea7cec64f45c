package combine

import (
	"math"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/event"
)

// placed is where the times of every node go.
type placed struct {
	zeroNS  int64 // the instant from which times of the output count
	firstNS int64 // that from which a time range "from the start" counts
	keep    *align.Range
	nodes   []placedNode
	said    remarks
}

// placedNode is where the times of one node go.
type placedNode struct {
	maps align.Clocks
	plan *align.Plan // nil where a trace is re-timed as text
}

// placeNodes decides where every line goes and which instant is the output's zero: the earliest session start after alignment, or the
// earliest event where one lies before it. Viewers drop events before zero.
func placeNodes(in *inputs, r *related, devices []deviceClocks) (*placed, error) {
	p := &placed{nodes: make([]placedNode, len(in.nodes))}
	zero, base := int64(math.MaxInt64), int64(math.MaxInt64)
	earlier := func(ns int64) { zero = min(zero, ns) }
	for k, n := range in.nodes {
		if !n.absolute {
			continue
		}
		at := &p.nodes[k]
		at.maps = r.nodes[k].maps
		start, _, _ := at.maps.Wall.At(n.start)
		if n.text == nil {
			at.plan = n.plan(at.maps, in.req.timebase)
			earlier(start)
			if first, ok := at.plan.EarliestNS(); ok {
				earlier(first)
			}
			continue
		}
		if n.facts.Timed > 0 {
			first, _, _ := at.maps.Wall.At(n.facts.First.NS)
			earlier(first - devices[k].lead())
		}
		if k == in.ref && n.facts.HasStart && in.allText() { // Kineto's base is months before the events: the reference keeps it
			base = n.facts.StartNS
		}
	}
	p.said = sayFarApart(in.nodes)
	if zero == math.MaxInt64 {
		zero = 0
	}
	if hint := r.zeroHintNS; hint > 0 && hint <= zero {
		zero = hint
	} else if r.external && hint > 0 {
		p.said.warn("events lie up to %.3f ms before the reference's start: times count from the earliest of them", float64(hint-zero)/1e6)
	}
	p.firstNS, p.zeroNS = zero, min(zero, base)
	for k, n := range in.nodes {
		if !n.absolute { // its own zero becomes the output's
			p.nodes[k].maps = align.Clocks{Wall: clock.Shift(p.zeroNS, 0)}
			p.nodes[k].plan = n.plan(p.nodes[k].maps, in.req.timebase)
		}
	}
	var err error
	p.keep, err = in.req.keep(p.firstNS)
	return p, err
}

// plan decides where the lines of a trace go; nil for one that is re-timed as text.
func (n *Node) plan(maps align.Clocks, base align.Timebase) *align.Plan {
	if n.text != nil {
		return nil
	}
	return align.PlanLines(n.layout, n.start, maps, base)
}

// farApartNS is how far apart the traces of one job may begin before that is remarked on: a day.
const farApartNS = int64(86_400_000_000_000)

// sayFarApart remarks on traces that can hardly be of one job.
func sayFarApart(nodes []*Node) (said remarks) {
	early, late := int64(math.MaxInt64), int64(math.MinInt64)
	for _, n := range nodes {
		if first, _, ok := n.spanNS(); ok && n.absolute {
			early, late = min(early, first), max(late, first)
		}
	}
	if early < late && (early > 0 || late < math.MaxInt64+early) && late-early > farApartNS {
		said.warn("the traces begin up to %.1f days apart by their own clocks: do they belong to one job?", float64(late-early)/float64(farApartNS))
	}
	return said
}

// tracerLines is how many lines of each node are on its tracer's clock.
func (p *placed) tracerLines() []int {
	out := make([]int, len(p.nodes))
	for k := range p.nodes {
		out[k] = p.nodes[k].tracerLines()
	}
	return out
}

func (p *placedNode) tracerLines() int {
	if p.plan == nil {
		return 0
	}
	return p.plan.TracerLines
}

// reasons say how lines on the tracer's clock were told.
func (p *placedNode) reasons() []string {
	if p.plan == nil {
		return nil
	}
	return p.plan.Reasons
}

// outsideGrowthPPB is by how much the bounds of the node's maps grow outside of the clock readings.
func (p *placedNode) outsideGrowthPPB() (growth int64) {
	if p.maps.Wall != nil {
		_, _, growth, _ = p.maps.Wall.Tails()
	}
	if p.maps.Tracer != nil && p.tracerLines() > 0 {
		_, _, g, _ := p.maps.Tracer.Tails()
		growth += g
	}
	return growth
}

// clock returns the clock of all executions: through the plan of the line that each was recorded on, with the bound that is known
// of it now or was stated when the trace was aligned.
func (p *placed) clock(in *inputs, devices []deviceClocks) collective.Clock {
	stated := make([]statedClock, len(in.parties))
	for i, one := range in.parties {
		if n := in.nodes[one.node]; n.text != nil && n.stays(p.nodes[one.node].maps.Wall) {
			stated[i] = n.statedClock(one.part)
		}
	}
	return func(s *event.Span, ns int64) (int64, int64) {
		k := in.nodeOf(s.Node)
		switch {
		case in.nodes[k].text == nil:
			return p.nodes[k].plan.Lines[s.Plane][s.Line].At(ns)
		case stated[s.Node].wall != nil:
			return stated[s.Node].at(s, ns)
		}
		host, own := devices[k].onHost(s.Plane, ns)
		y, bound, _ := p.nodes[k].maps.Wall.At(host)
		return y, bound + own
	}
}

// span returns the first and the last instant of the output without a time range.
func (p *placed) span(nodes []*Node) (firstNS, lastNS int64) {
	firstNS, lastNS = math.MaxInt64, math.MinInt64
	for k, n := range nodes {
		at := &p.nodes[k]
		if at.plan != nil {
			if first, ok := at.plan.EarliestEventNS(); ok {
				last, _ := at.plan.LatestNS()
				firstNS, lastNS = min(firstNS, first), max(lastNS, last)
			}
		} else if n.text != nil && n.facts.Timed > 0 {
			first, _, _ := at.maps.Wall.At(n.facts.First.NS)
			last, _, _ := at.maps.Wall.At(n.facts.Last.NS)
			firstNS, lastNS = min(firstNS, first), max(lastNS, last)
		}
	}
	return firstNS, lastNS
}
