package offsets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
)

// kind says what a clock belongs to.
type kind uint8

// The kinds of clocks.
const (
	Host   kind = iota // the wall clock of a host
	Tracer             // the clock that a profiler stamps its events with
	Device             // of an accelerator
	Timer              // read inside of kernels, by a profiler of collectives
)

var kindNames = [...]string{Host: "", Tracer: "tracer", Device: "device", Timer: "timer"}

// Clock is a vertex of the graph: one clock of one node.
type Clock struct {
	Node   int
	Kind   kind
	Number int32 // among the node's clocks of that kind
}

// compare orders clocks by node, kind and number.
func (c Clock) compare(o Clock) int {
	return cmp.Or(cmp.Compare(c.Node, o.Node), cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Number, o.Number))
}

// String names the clock in messages: "node 3", "node 3's device 1".
func (c Clock) String() string {
	switch {
	case c.Kind == Host:
		return fmt.Sprintf("node %d", c.Node)
	case c.Number == 0:
		return fmt.Sprintf("node %d's %s", c.Node, kindNames[c.Kind])
	}
	return fmt.Sprintf("node %d's %s %d", c.Node, kindNames[c.Kind], c.Number)
}

// source says what an edge was measured by.
type source uint8

// The sources. Facts are instants of which one came before the other; readings are offsets that somebody worked out.
const (
	Stamps      source = iota // packets: a fact each, and the fastest of both directions take equally long
	Windows                   // readings: lines that a prober fitted
	Rounds                    // readings: offsets that somebody solved against a reference
	Snapshots                 // readings: a tracer's clock and its host's, one after the other
	Collectives               // executions of collectives: a fact each, and nothing says which of two members was faster
	Launches                  // of work on a device, and waits for it: a fact each
)

// sources says of each source what a solution of it alone is called, what its measurements are called, and whether they are stated:
// offsets as somebody knows them, rather than single measurements of which only many say something.
var sources = [...]struct {
	name, noun string
	stated     bool
}{
	Stamps:    {"stamps", "probes", false},
	Windows:   {"windows", "probes", false},
	Rounds:    {"rounds", "round offsets", true},
	Snapshots: {"snapshots", "snapshots", true},

	Collectives: {"collectives", "collectives", false},
	Launches:    {"launches", "launches and waits", false},
}

// String is the method that a solution of this source alone is called by.
func (s source) String() string { return sources[s].name }

func (s source) stated() bool { return sources[s].stated }

// Graph is what was measured about several clocks. A vertex is a clock, an edge what one source says about the difference of two of
// them: bounds at instants, or readings of it. Sources fill it, Solve finds the clocks.
type Graph struct {
	clocks   map[Clock]bool
	edges    map[edgeKey]*Edge
	meetings *Meetings
	starts   []clockfile.NodeMeta
	warnings []string

	unbounded bool // round offsets that state no bounds are among the readings, and it was not said yet

	said map[Clock]bool // clocks of which a warning says already why nothing ties them to others
}

type edgeKey struct {
	a, b   Clock
	source source
}

// NewGraph returns a graph without clocks.
func NewGraph() *Graph {
	return &Graph{clocks: map[Clock]bool{}, edges: map[edgeKey]*Edge{}, said: map[Clock]bool{}}
}

// Mention adds a clock, which the solution names as missing when nothing ties it to the reference.
func (g *Graph) Mention(c Clock) { g.clocks[c] = true }

// Clocks returns the clocks in order.
func (g *Graph) Clocks() []Clock {
	out := make([]Clock, 0, len(g.clocks))
	for c := range g.clocks {
		out = append(out, c)
	}
	slices.SortFunc(out, Clock.compare)
	return out
}

// Edges returns the edges in order of their clocks, then of their sources.
func (g *Graph) Edges() []*Edge {
	out := make([]*Edge, 0, len(g.edges))
	for _, e := range g.edges {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y *Edge) int {
		return cmp.Or(x.A.compare(y.A), x.B.compare(y.B), cmp.Compare(x.Source, y.Source))
	})
	return out
}

// Between returns the edge between two clocks, which differ, for a source; a new one when there is none.
func (g *Graph) Between(a, b Clock, source source) *Edge {
	if a.compare(b) > 0 {
		a, b = b, a
	}
	k := edgeKey{a, b, source}
	e := g.edges[k]
	if e == nil {
		e = &Edge{A: a, B: b, Source: source}
		g.edges[k] = e
		g.clocks[a], g.clocks[b] = true, true
	}
	return e
}

// Edge is what one source says about theta(x) = B's clock minus A's, x on A's clock. A comes before B in the order of clocks.
type Edge struct {
	A, B   Clock
	Source source

	// All instants and differences are kept as float64 relative to these.
	baseX     int64 // ns on A's clock
	baseTheta int64 // ns
	based     bool

	bounds   []obs    // facts
	readings []sample // of how far the other clock is ahead of the clock on at an instant of it, ascending
	on       Clock    // windows: A

	spacing int64 // typical distance of windows, ns
	dropped int
	probes  int
	trip    trip

	missed int            // rounds that are not readings
	notes  []string       // about the rounds
	given  SnapshotReport // about the snapshots, before they are looked at together
}

// obs is one bound: at the instant x, theta is at most v (side +1) or at least v (side -1).
type obs struct {
	x    float64 // ns since the edge's base on A's clock
	v    float64 // ns above the edge's base theta
	side float64
}

// around chooses the instant and the difference that the edge's numbers are relative to: best in the middle of what is allowed, so that
// they stay small.
func (e *Edge) around(atNS, diffNS int64) {
	if !e.based {
		e.baseX, e.baseTheta, e.based = atNS, diffNS, true
	}
}

// AtMost says that at the instant atNS of A's clock, B's was ahead by diffNS or less.
func (e *Edge) AtMost(atNS, diffNS int64) { e.limit(atNS, diffNS, +1) }

// AtLeast says that at the instant atNS of A's clock, B's was ahead by diffNS or more.
func (e *Edge) AtLeast(atNS, diffNS int64) { e.limit(atNS, diffNS, -1) }

// limit adds a bound. One that is not an instant or not an offset that can be aligned is dropped and counted.
func (e *Edge) limit(atNS, diffNS int64, side float64) {
	most := maxOffset
	if e.A.Kind != e.B.Kind {
		most = maxInstant // one of them may count from when its machine was started
	}
	if atNS < 0 || atNS >= maxInstant || diffNS > most || diffNS < -most {
		e.dropped++
		return
	}
	e.around(atNS, diffNS)
	e.bounds = append(e.bounds, obs{float64(atNS - e.baseX), float64(diffNS - e.baseTheta), side})
}

// Dropped returns how many bounds or measurements are not used because they are impossible.
func (e *Edge) Dropped() int { return e.dropped }

// read adds readings, ascending by instant. Of several at one instant the first counts.
func (e *Edge) read(readings []sample) {
	if e.readings == nil {
		e.readings = readings
		return
	}
	e.readings = append(e.readings, readings...)
	slices.SortStableFunc(e.readings, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	e.readings = slices.CompactFunc(e.readings, func(a, b sample) bool { return a.at == b.at })
}

// Before says that what happened when the clock first showed firstNS came before what happened when the edge's other clock showed thenNS:
// a packet was sent before it arrived, a kernel launched before it began, a collective entered before anybody left it.
func (e *Edge) Before(first Clock, firstNS, thenNS int64) {
	if firstNS < 0 || thenNS < 0 { // their difference may not fit
		e.dropped++
		return
	}
	if first == e.A {
		e.AtMost(firstNS, thenNS-firstNS)
	} else {
		e.AtLeast(thenNS, firstNS-thenNS)
	}
}

// Solve finds the clocks relative to the reference's. Edges of facts give all straight lines that no fact contradicts, edges of readings
// lines through them; then all edges are solved together. A graph may be solved again, as it is or with more in it, but not by
// two goroutines at a time.
func (g *Graph) Solve(ctx context.Context, reference Clock, options Options) (*Solution, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := g.solve(ctx, reference, opt)
	early := 0
	for range mostDoubts {
		if err != nil || len(s.early) == 0 {
			break
		}
		early += len(s.early)
		g = g.without(s.early, reference)
		s, err = g.solve(ctx, reference, opt)
	}
	if err == nil && early > 0 {
		s.warnf("%d collectives are not used: by the ends of all others somebody left them before everybody had entered", early)
	}
	return s, err
}

// mostDoubts is how often meetings are doubted by the ends of the others, and all is solved again without them: what one of them made of a clock
// is in the edges, too.
const mostDoubts = 3

// without returns the graph as it is without some of its meetings.
func (g *Graph) without(meetings map[int32]bool, reference Clock) *Graph {
	out := *g
	out.edges = maps.Clone(g.edges)
	maps.DeleteFunc(out.edges, func(k edgeKey, _ *Edge) bool { return k.source == Collectives })
	out.Meet(g.meetings.without(meetings), reference)
	return &out
}

// hosts returns the nodes whose wall clocks are in the graph, ascending.
func (g *Graph) hosts() []int {
	var out []int
	for _, c := range g.Clocks() {
		if c.Kind == Host {
			out = append(out, c.Node)
		}
	}
	return out
}

func (g *Graph) solve(ctx context.Context, reference Clock, opt *Options) (*Solution, error) {
	if !g.clocks[reference] {
		return nil, fault.New(fault.Alignment, "the reference is %s, which was not measured", reference)
	}
	g.sayBounds(opt)
	s := &Solution{Reference: reference.Node, Method: g.method(), Starts: g.starts, Warnings: slices.Clone(g.warnings), said: maps.Clone(g.said)}
	hung, edges := g.leaves(reference)
	links := make([]*link, 0, len(edges))
	usable := make([]*link, 0, len(edges))
	var unsteady []*link
	defer func() {
		for _, l := range links {
			l.revive()
		}
	}()
	step := int64(math.MaxInt64)
	for _, e := range edges {
		if err := ctx.Err(); err != nil {
			return nil, fault.FromIO("", err)
		}
		l := &link{Edge: e}
		links = append(links, l)
		if len(e.bounds)+len(e.readings) > 0 {
			l.learn(opt)
		}
	}
	shareSteps(links, opt)
	for _, l := range links {
		e := l.Edge
		if len(e.bounds)+len(e.readings) == 0 {
			continue
		}
		switch {
		case len(l.parts) == 0:
		case l.steady():
			usable = append(usable, l)
		default:
			unsteady = append(unsteady, l)
		}
		step = min(step, e.pace(opt))
	}
	s.doubt(unsteady, usable)
	isLeaf := make(map[Clock]bool, len(hung))
	for _, l := range hung {
		isLeaf[l.clock] = true
	}
	clocks := slices.DeleteFunc(g.Clocks(), func(c Clock) bool { return isLeaf[c] })
	net := newNetwork(reference, clocks, usable, step, opt)
	if err := net.solve(ctx, s); err != nil {
		return nil, err
	}
	s.describeLinks(links)
	if err := s.hang(hung, reference, opt); err != nil || g.meetings.Len() == 0 {
		return s, err
	}
	return s, g.refine(ctx, reference, s, usable, opt)
}

// doubt names the clocks none of whose edges held.
func (s *Solution) doubt(unsteady, usable []*link) {
	held := map[Clock]bool{}
	for _, l := range usable {
		held[l.A], held[l.B] = true, true
	}
	for _, l := range unsteady {
		for _, c := range [2]Clock{l.A, l.B} {
			if !held[c] && !s.said[c] {
				s.said[c] = true
				s.warnf("no clock that runs straight explains half of the %s of %s: its readings, or what they are taken for, are wrong, and they are not used", sources[l.Source].noun, c)
			}
		}
	}
}

// lacks says why nothing ties a clock to others.
func (g *Graph) lacks(c Clock, format string, args ...any) {
	g.Mention(c)
	g.said[c] = true
	g.warnf(format, args...)
}

// pace is how far apart the instants may be at which the edge is solved with others.
func (e *Edge) pace(opt *Options) int64 {
	switch {
	case e.Source == Windows:
		return e.spacing
	case e.Source.stated() && len(e.readings) > 1: // knots of many milliseconds would cost more than they say
		typical := (e.readings[len(e.readings)-1].at - e.readings[0].at) / int64(len(e.readings)-1)
		return max(opt.WindowNS/64, min(typical, opt.WindowNS/8))
	}
	return opt.WindowNS / 8
}

// method names the one source of all edges.
func (g *Graph) method() string {
	name := ""
	for k := range g.edges {
		if name != "" && name != k.source.String() {
			return "graph"
		}
		name = k.source.String()
	}
	return name
}

func (g *Graph) warnf(format string, args ...any) {
	g.warnings = append(g.warnings, fmt.Sprintf(format, args...))
}
