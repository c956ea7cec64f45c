// Package offsets turns what was measured or stated about the clocks of several nodes into one map per clock, to the
// wall clock of a reference node.
//
// Sources fill a Graph: a vertex is a clock, an edge what one source says about the difference of two of them. Raw probe stamps bound it
// at instants, probe windows, round offsets that somebody else solved and snapshots of a tracer's clock are readings of it. Graph.Solve
// finds the clocks; SolveStamps, SolveWindows, FromRounds and FromSnapshots fill a graph of one source. Maps that are given as such
// (FromDeclared, our own round offsets) need no graph. Every map carries bounds and marks the intervals in which a
// clock stepped. Sign, everywhere: an offset O > 0 means that the node's clock is ahead of the reference's; the map subtracts it.
// Instants are int64 ns, float64 holds differences only. docs/concepts/solving.md explains the methods.
package offsets

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Solution holds the clocks of all nodes relative to one of them.
type Solution struct {
	Reference     int                  // the node whose clock is the target
	ReferenceName string               // what it is called where its number is only ours: declared under a name that no trace has
	Method        string               // "stamps", "windows", "rounds" or "declared"
	Nodes         []NodeOffsets        // ascending by node, the reference included (identity)
	Links         []Link               // measured pairs of nodes, ascending; stamps and windows only
	Others        []ClockOffsets       // ascending, of clocks that are not a host's wall clock
	Missing       []int                // nodes that were mentioned but could not be tied to the reference, ascending
	Starts        []clockfile.NodeMeta // what the sources say about the starts of the recordings, ascending by node
	Warnings      []string

	Contradicting int // collectives that contradict the others and are not used: a wrong match, or a clock that stepped

	Straight bool // the clocks rest on too few collectives to show whether any of them stepped: the bounds hold clocks that run straight

	said map[Clock]bool // clocks of which a warning says already why they are missing

	early map[int32]bool // meetings that are impossible where the ends of all others show the clocks
}

// NodeOffsets is one node's clock relative to the reference.
type NodeOffsets struct {
	Node       int
	Map        *clock.Map // S of the node -> S of the reference
	AtNS       int64      // an instant of the reference's clock in the middle of what was measured
	OffsetNS   int64      // how far the node's clock is ahead at AtNS
	DriftPPM   float64    // how much faster it runs, over everything measured
	Bound      Bounds     // of Map, over its knots
	AsRecorded bool       // the clock agrees with the reference's as far as meetings can tell, and is left as it is
	Half       Bounds     // half the width of what was possible, wherever in it the map lies; meetings only
	Steps      []Step     // ascending
	Windows    int        // windows, rounds or samples that were used
	Missed     int        // that could not be used: unreachable, not converged, duplicate, outlier
	Warnings   []string

	tail tail
}

// ClockOffsets is a clock of a node, other than the host's wall clock, relative to the reference.
type ClockOffsets struct {
	Clock Clock
	NodeOffsets
	Snapshots *SnapshotReport // where snapshots alone tie it to another clock
}

// Bounds summarises the error bounds of a map, ns.
type Bounds struct{ P50, P99, Max int64 }

// Step is a jump of the node's clock against the reference's.
type Step struct {
	FromNS  int64 // the node's clock: events in [FromNS, ToNS] may lie on either side of the step
	ToNS    int64
	JumpNS  int64 // by how much the offset grew
	BoundNS int64 // error of JumpNS
}

// Link describes the probes between two nodes.
type Link struct {
	A, B        int   // A < B
	Stamps      int   // probes and answers used, of both directions
	Dropped     int   // impossible or contradicting stamps left out
	MinRTTNS    int64 // smallest round trip
	ResidualNS  int64 // how far the solution is from what this link alone says, on average
	MisfitNS    int64 // how far the clocks left a straight line within a window: small steps, a rate that changes; in the bounds
	Steps       int
	RateChanges int
}

// add keeps the offsets of a clock.
func (s *Solution) add(c ClockOffsets) {
	if c.Clock.Kind == Host {
		s.Nodes = append(s.Nodes, c.NodeOffsets)
	} else {
		s.Others = append(s.Others, c)
	}
}

// miss notes a clock that nothing ties to the reference.
func (s *Solution) miss(c Clock) {
	if c.Kind == Host {
		s.Missing = append(s.Missing, c.Node)
	}
	if s.said[c] {
		return
	}
	if s.Method == Stamps.String() || s.Method == Windows.String() {
		s.warnf("%s exchanged no usable probes with the reference, directly or through others", c)
		return
	}
	s.warnf("nothing ties %s to the reference, directly or through others", c)
}

// contradicted names a link that the others contradict.
func (s *Solution) contradicted(l *link) {
	between := fmt.Sprintf("%s and %s", l.A, l.B)
	if l.A.Kind == Host && l.B.Kind == Host {
		between = fmt.Sprintf("nodes %d and %d", l.A.Node, l.B.Node)
	}
	s.warnf("%s between %s contradict the other nodes', by %.1f us on average", sources[l.Source].noun, between, float64(l.residual)/1e3)
}

// tail is what lies outside the knots of a map, kept for Rounds.
type tail struct {
	before, after     clock.Drift
	growth, wanderPPB int64
	covered           bool // the tails are as good as the knots
}

// Node returns the offsets of one node.
func (s *Solution) Node(id int) (*NodeOffsets, bool) {
	i := sort.Search(len(s.Nodes), func(i int) bool { return s.Nodes[i].Node >= id })
	if i < len(s.Nodes) && s.Nodes[i].Node == id {
		return &s.Nodes[i], true
	}
	return nil, false
}

func (n *NodeOffsets) warnf(format string, args ...any) {
	n.Warnings = append(n.Warnings, fmt.Sprintf(format, args...))
}

func (s *Solution) warnf(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// identity is the reference's own entry.
func identity(node int) NodeOffsets {
	return NodeOffsets{Node: node, Map: &clock.Map{}}
}

// build makes the node's map from knots (strictly increasing X) with the segments in steps marked, and fills the summary.
func (n *NodeOffsets) build(knots []clock.Knot, steps []int, t tail) error {
	opts := []clock.Option{clock.WithTails(t.before, t.after, t.growth), clock.WithWander(t.wanderPPB), clock.WithSteps(steps...), clock.WithClamps()}
	if t.covered {
		opts = append(opts, clock.WithCoveredTails())
	}
	m, err := clock.New(knots, opts...)
	if err != nil {
		return fmt.Errorf("offsets: node %d: %w", n.Node, err)
	}
	n.Map, n.tail = m, t
	n.summarize(m.Knots())
	n.Steps = nil
	for _, s := range steps {
		a, b := knots[s], knots[s+1]
		gain := n.DriftPPM * 1e-6 * float64(min(b.X-a.X, max(0, b.Y-a.Y)))
		jump := (b.X - b.Y) - (a.X - a.Y) - int64(math.Round(gain))
		n.Steps = append(n.Steps, Step{FromNS: a.X, ToNS: b.X, JumpNS: jump, BoundNS: a.BoundNS + b.BoundNS})
	}
	return nil
}

func (n *NodeOffsets) summarize(knots []clock.Knot) {
	if len(knots) == 0 {
		return
	}
	bounds := make([]int64, len(knots))
	for i, k := range knots {
		bounds[i] = k.BoundNS
	}
	n.Bound = boundsOf(bounds)
	mid := knots[len(knots)/2]
	n.AtNS, n.OffsetNS = mid.Y, mid.X-mid.Y
}

// boundsOf sorts v and summarises it.
func boundsOf(v []int64) Bounds {
	if len(v) == 0 {
		return Bounds{}
	}
	slices.Sort(v)
	return Bounds{P50: v[len(v)/2], P99: v[(len(v)*99)/100], Max: v[len(v)-1]}
}

// medianOf sorts v and returns its median, 0 for none.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Float64s(v)
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}

func ceilNS(v float64) int64 {
	if v >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return int64(math.Ceil(v))
}

// find is Node for nodes that are not sorted yet.
func (s *Solution) find(id int) (*NodeOffsets, bool) {
	for i := range s.Nodes {
		if s.Nodes[i].Node == id {
			return &s.Nodes[i], true
		}
	}
	return nil, false
}

func (s *Solution) sortNodes() {
	sort.Slice(s.Nodes, func(i, j int) bool { return s.Nodes[i].Node < s.Nodes[j].Node })
	sort.Slice(s.Others, func(i, j int) bool { return s.Others[i].Clock.compare(s.Others[j].Clock) < 0 })
	sort.Ints(s.Missing)
}
