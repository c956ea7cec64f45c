package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/clock"
)

const (
	// holdNS is how far outside the clock data a trace may reach before the result is called degraded: 30 s, after which the
	// drift of a free-running oscillator (100 ppm) has used up 3 ms.
	holdNS = int64(30_000_000_000)
	// heldGrowthPPB is how fast the bound of a held offset grows: 100 ppm.
	heldGrowthPPB = int64(100_000)
)

// related is what was decided about the clocks of the nodes.
type related struct {
	nodes     []nodeClock // by node
	reference string      // on whose clock the times are; "": on that of the reference of the run
	// external is set when one trace is aligned to a node that is not among the inputs; zeroHintNS is then that node's start, 0 unknown.
	external   bool
	zeroHintNS int64
	said       remarks
}

// nodeClock is the clock of one node.
type nodeClock struct {
	wallClock
	maps              align.Clocks
	snapshots, missed int  // readings of its tracer's clock, and those that are not there
	unknown           bool // nothing is known of the error of its times
	warnings          sentences
}

// wallClock is what relates the wall clock of a node to that of the reference.
type wallClock struct {
	method   string
	wall     *clock.Map // nil is the identity
	windows  int
	offsetNS int64
	driftPPM float64
	steps    []Step
	rests    []Rest
	degraded bool // something about it is missing
	said     sentences
}

// relate decides about the clocks by the evidence.
func relate(j *job.Job, in *inputs, ev *evidence) (*related, error) {
	if !in.req.applies() {
		return relateNothing(in, ev)
	}
	r := &related{}
	agreed, err := agreeOnReference(in)
	if err != nil {
		return nil, err
	}
	r.reference, r.said = agreed.reference, agreed.said
	files := &ev.files
	if files.solution != nil {
		if err := in.refuseTwice(); err != nil {
			return nil, err
		}
		r.said.warnings = append(r.said.warnings, files.solution.Warnings...)
	}
	toRef, err := r.referenceOf(in, ev)
	if err != nil {
		return nil, err
	}
	walls, said, err := relateWalls(j, in, ev, r.external, toRef)
	if err != nil {
		return nil, err
	}
	r.said.add(said, sayDeclaredBeside(in, ev, walls))
	r.nodes = nodeClocks(in, ev, walls, agreed.apart)
	return r, nil
}

// relateNothing leaves every clock as it is: only a merge was asked for.
func relateNothing(in *inputs, ev *evidence) (*related, error) {
	agreed, err := agreeOnReference(in)
	if err != nil {
		return nil, err
	}
	walls := make([]wallClock, len(in.nodes))
	for k, n := range in.nodes {
		if walls[k].method = MethodNone; n.stays(nil) {
			walls[k] = n.leave()
		}
	}
	return &related{nodes: nodeClocks(in, ev, walls, agreed.apart), reference: agreed.reference, said: agreed.said}, nil
}

// relateAsRecorded takes the traces as they are, raw or aligned.
func relateAsRecorded(in *inputs) (*related, error) {
	agreed, err := agreeOnReference(in)
	if err != nil {
		return nil, err
	}
	walls := make([]wallClock, len(in.nodes))
	for k := range walls {
		walls[k].method = MethodNone
	}
	return &related{nodes: nodeClocks(in, untold(in), walls, agreed.apart), reference: agreed.reference, said: agreed.said}, nil
}

// nodeClocks puts together what is known of the clocks of each node. apart: the traces are on different clocks.
func nodeClocks(in *inputs, ev *evidence, walls []wallClock, apart bool) []nodeClock {
	out := make([]nodeClock, len(in.nodes))
	for k, n := range in.nodes {
		tracer := &ev.tracers[k]
		c := &out[k]
		c.wallClock = walls[k]
		c.degraded = c.degraded || apart || in.doubted[k]
		c.maps = align.Clocks{Tracer: tracer.clock, TracerName: tracer.name, StartTracerNS: tracer.startNS, Wall: c.wall, Stated: n.stated}
		c.snapshots, c.missed = tracer.snapshots, tracer.missed
		c.steps = append(slices.Clone(tracer.steps), c.steps...)
		c.unknown = n.errorUnknown(k == in.ref, &c.wallClock)
		c.warnings = slices.Concat(in.warningsOf(k), tracer.warnings, ev.devices[k].warnings, c.said)
	}
	return out
}

// stays reports whether the times of a marked node are left as they are. wall is what was decided about its clock.
func (n *Node) stays(wall *clock.Map) bool { return n.mark != nil && n.absolute && wall == nil }

// errorUnknown reports whether nothing is known of the error of a node's times.
func (n *Node) errorUnknown(reference bool, c *wallClock) bool {
	if n.isMerged() {
		return true
	}
	if n.stays(c.wall) {
		_, ok := n.largestBound()
		return !ok
	}
	return !reference && (c.method == MethodWall || c.method == MethodNone)
}

// agreement is whose clock the times of traces that were aligned before are on.
type agreement struct {
	reference string // all are on the clock of this node; "": they say nothing of it
	apart     bool   // they are on different clocks
	said      remarks
}

// agreeOnReference finds out whose clock the times of traces that were aligned before are on, and says where they disagree.
func agreeOnReference(in *inputs) (a agreement, err error) {
	var names []string
	marked := 0
	for _, n := range in.nodes {
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
		return a, nil
	case len(names) == 1 && marked == len(in.nodes):
		if want := in.req.Reference; want != "" && want != names[0] && in.nodes[in.ref].ID != names[0] {
			return a, fault.New(fault.Incompatible, "the traces were aligned to %s before, and cannot be put on the clock of %s now", names[0], want).WithHint("combine the traces as recorded")
		}
		a.reference = names[0]
		return a, nil
	case len(names) == 1 && names[0] == in.nodes[in.ref].referenceName(""):
		return a, nil
	}
	if marked < len(in.nodes) {
		names = append(names, "their own, where they were not aligned")
	}
	a.apart = true
	a.said.warn("the traces are on different clocks: %s; their times cannot be compared", joined(names))
	return a, nil
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

// referenceOf finds the clock that all are put on in what clock files say: the map from the reference of their solution to ours, nil the identity. A run
// about one trace takes their reference over, and the start of its recording as the output's zero, so that nodes aligned one by one share both.
func (r *related) referenceOf(in *inputs, ev *evidence) (toRef *clock.Map, err error) {
	s := ev.files.solution
	switch {
	case s == nil:
		return nil, nil
	case in.alone():
		r.adoptReference(in, &ev.files)
		return nil, nil
	}
	ref := in.nodes[in.ref]
	o, ok := s.Node(ev.relation.numbers[ev.files.probers.probedBy(in.ref)])
	if !ok {
		number := ev.relation.numbers[in.ref]
		return nil, fault.New(fault.Alignment, "the clock data says nothing about the reference %s (node %d); it is about nodes %v", ref.ID, number, solved(s)).
			WithHint("pick a reference among them, or name the traces: prlx combine %d=%s ...", s.Reference, ref.Path)
	}
	return o.Map.Inverse(), nil
}

func (r *related) adoptReference(in *inputs, k *readings) {
	ref := k.solution.Reference
	name := "node" + strconv.Itoa(ref)
	if k.solution.ReferenceName != "" {
		name = k.solution.ReferenceName
	}
	if want := k.options(in); in.req.Reference != "" && in.req.Reference != name && !(want.ReferenceSet && want.Reference == ref) {
		r.said.warn("the clock data knows no node %q: times are on the clock of %s", in.req.Reference, name)
	}
	if ref == k.numbers[0] {
		return
	}
	r.reference, r.external = name, true
	r.zeroHintNS = k.metas[ref].StartWalltimeNS
	if r.zeroHintNS == 0 && in.nodes[0].text == nil {
		r.said.note("no clock file says when the session of %s began: times count from this trace's own start; combine traces that are opened together", name)
	}
}

func solved(s *offsets.Solution) []int {
	var ids []int
	for _, n := range s.Nodes {
		ids = append(ids, n.Node)
	}
	sort.Ints(ids)
	return ids
}

// relateWalls gives every node its map S -> S of the reference, and decides what to do about nodes without one.
func relateWalls(j *job.Job, in *inputs, ev *evidence, external bool, toRef *clock.Map) ([]wallClock, remarks, error) {
	w := &weighing{job: j, in: in, ev: ev, own: ev.ownClocks(in), external: external}
	var ladders []*ladder
	of := make([]*ladder, len(in.nodes))
	for k, n := range in.nodes {
		if list := rungs(in, ev, k, toRef); n.absolute && len(list) > 0 {
			of[k] = &ladder{weighing: w, k: k, rungs: list}
			ladders = append(ladders, of[k])
		}
	}
	doubted, said, err := findDoubts(ladders)
	if err != nil {
		return nil, said, err
	}
	walls := make([]wallClock, len(in.nodes))
	for k := range in.nodes {
		switch l := of[k]; {
		case l != nil:
			var more remarks
			walls[k], more, err = l.climb(doubted)
			said.add(more)
		case k != in.ref && ev.relation.shares.with(k) == in.ref:
			walls[k] = hostClock(in.nodes[in.ref].ID)
		default:
			walls[k], err = withoutOffsets(in, ev, k)
		}
		if err != nil {
			return nil, said, err
		}
	}
	return walls, said, nil
}

// hostClock is that of a node that shares the clock of the reference, and of which no other source says anything.
func hostClock(reference string) wallClock {
	return wallClock{method: methodHost, rests: []Rest{{Source: methodHost, Of: reference, BoundNS: new(int64)}}}
}

// sayDeclaredBeside says how many nodes have the clock that is declared beside a measured one.
func sayDeclaredBeside(in *inputs, ev *evidence, walls []wallClock) (said remarks) {
	if ev.files.declared == nil {
		return said
	}
	measured, declared := 0, 0
	for k := range in.nodes {
		if _, ok := ev.files.declared.Node(ev.relation.numbers[k]); !ok || k == in.ref {
			continue
		}
		switch walls[k].method {
		case MethodDeclared:
			declared++
		case MethodProbes:
			measured++
		}
	}
	said.note("%s is given beside measured offsets: %d of its nodes have the measured clock, %d the declared one", filepath.Base(in.req.Declared), measured, declared)
	return said
}

// solvedClock is the clock of a node as a source gives it. then maps the source's reference to ours; reference: the node is that.
func solvedClock(o *offsets.NodeOffsets, then *clock.Map, method string, p policy, reference bool) wallClock {
	c := wallClock{method: method, windows: o.Windows, offsetNS: o.OffsetNS, driftPPM: o.DriftPPM}
	c.said = append(c.said, o.Warnings...)
	m := o.Map
	if p == hold {
		m = m.HoldTails(heldGrowthPPB)
	}
	c.wall = m
	if !then.IsIdentity() {
		c.wall = clock.Compose(m, then)
		if mid, _, ok := m.Span(); ok {
			at, _, _ := c.wall.At(mid)
			c.offsetNS = mid - at
		}
	}
	if reference {
		c.wall, c.offsetNS, c.driftPPM = nil, 0, 0
	}
	for _, s := range o.Steps {
		c.steps = append(c.steps, Step{FromNS: s.FromNS, ToNS: s.ToNS, SizeNS: s.JumpNS})
		c.said.say("the clock stepped by %+.3f ms between %d and %d ns (its own clock); events in between are flagged and carry a bound that includes the step", float64(s.JumpNS)/1e6, s.FromNS, s.ToNS)
	}
	return c
}

// checkReach looks whether the trace reaches far outside the clock data.
func (c *wallClock) checkReach(n *Node, p policy) error {
	before, after := n.outside(c.wall)
	if before <= holdNS && after <= holdNS {
		return nil
	}
	c.degraded = true
	msg := fmt.Sprintf("%.1f s of the trace lie outside the clock data, more than %d s: bounds there are wide", float64(max(before, after))/1e9, holdNS/1e9)
	if p == refuse {
		return fault.New(fault.Alignment, "node %s: %s", n.ID, msg).WithPath(n.Path).WithHint("give clock data that covers the trace, or use --policy degrade")
	}
	c.said.say("%s", msg)
	return nil
}

// outside returns how far, in ns, the node's events reach before and after the knots of its wall map. Covered tails do not count.
func (n *Node) outside(wall *clock.Map) (before, after int64) {
	from, to, ok := wall.Span()
	if !ok {
		return 0, 0
	}
	first, last, ok := n.spanNS()
	if !ok {
		return 0, 0
	}
	if _, _, c := wall.At(first); c&clock.Extrapolated != 0 {
		before = from - first
	}
	if _, _, c := wall.At(last); c&clock.Extrapolated != 0 {
		after = last - to
	}
	return before, after
}

// spanNS returns the node's first and last instant on its own wall clock, as the file shows them.
func (n *Node) spanNS() (first, last int64, ok bool) {
	if n.text != nil {
		return n.facts.First.NS, n.facts.Last.NS, n.facts.Timed > 0
	}
	plan := align.PlanLines(n.layout, n.start, align.Clocks{}, align.HostTime)
	first, ok = plan.EarliestNS()
	if last, _ = plan.LatestNS(); last < first {
		last = first
	}
	return first, last, ok
}

// lengthNS is how long the trace is, 0 unknown.
func (n *Node) lengthNS() int64 {
	first, last, ok := n.spanNS()
	if !ok {
		return 0
	}
	return last - first
}

// withoutOffsets decides about a node whose clock nothing is known of.
func withoutOffsets(in *inputs, ev *evidence, k int) (c wallClock, err error) {
	n, alone, none := in.nodes[k], in.alone(), ev.files.solution == nil
	if in.req.Policy == refuse && !alone {
		return c, fault.New(fault.Alignment, "no usable clock data for node %s", n.ID).WithPath(n.Path).WithHint("give probes or offsets for it, or use --policy degrade")
	}
	if n.stays(nil) && n.aligned {
		c = n.leave()
		c.said.say("prlx has aligned this trace before: its times are left as they are, and the bounds stated then still hold")
		return c, nil
	}
	c.method = MethodWall
	if n.absolute && none && (k == in.ref && !alone || alone && ev.tracers[k].clock != nil) {
		return c, nil
	}
	if !n.absolute {
		c.method, c.degraded = MethodNone, true
		c.said.say("the trace does not say when it was recorded (no profile_start_time, no baseTimeNanoseconds): its times are left as they are, from the output's zero on")
		return c, nil
	}
	if n.aligned {
		c.said.say("prlx has aligned this trace before: its times are left as they are; the document beside it says what is known of their error")
		return c, nil
	}
	if !none || in.req.Method != MethodWall && !alone {
		c.degraded = true
		c.said.say("no clock data for this node: its wall clock is taken to agree with that of %s", in.nodes[in.ref].ID)
	}
	return c, nil
}

// untouched reports whether no clock was corrected: nothing relates the node to another, and none of its lines is on a tracer's clock.
func (c *nodeClock) untouched(tracerLines int) bool {
	return c.method == MethodNone || c.method == MethodWall && tracerLines == 0
}

// corrects reports whether some clock is corrected. tracerLines is how many lines of each node are on a tracer's clock; nil: not known yet.
func (r *related) corrects(in *inputs, tracerLines []int) bool {
	if !in.req.applies() {
		return false
	}
	if in.alone() {
		lines := 0
		if tracerLines != nil {
			lines = tracerLines[0]
		}
		return !r.nodes[0].untouched(lines)
	}
	for k := range r.nodes {
		switch r.nodes[k].method {
		case MethodProbes, MethodDeclared, methodCollectives, methodSystem, methodHost:
			if k != in.ref {
				return true
			}
		}
	}
	return false
}
