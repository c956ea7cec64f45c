package combine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/event"
)

// Rest is a source that a node's clock rests on.
type Rest struct {
	Source      string  `json:"source"`        // probes, declared, collectives, system, host, wall
	Of          string  `json:"of"`            // host: the node whose clock it shares; else ""
	BoundNS     *int64  `json:"bound_ns"`      // in the middle of the trace, of this source alone; null: none is known
	HalfWidthNS *Bounds `json:"half_width_ns"` // collectives: half of what is possible, wherever in it the estimate lies
	AsRecorded  bool    `json:"as_recorded"`   // no collective contradicts the clock as recorded, which is left as it is
	Contradicts string  `json:"contradicts"`   // the source that it contradicts, and is not used for that; else ""
	Narrows     bool    `json:"narrows"`       // it made the bound of the tightest source smaller
}

// rung is what one source says of a node's clock.
type rung struct {
	method  string
	offsets *offsets.NodeOffsets
	wall    *clock.Map // to the reference of the run
	bound   int64      // typical over the trace
}

// rungs returns what the sources say of node k, in the order of the ladder. toRef maps the reference of clock files to that of the run.
func rungs(in *inputs, ev *evidence, k int, toRef *clock.Map) []rung {
	var out []rung
	n, files, number := in.nodes[k], &ev.files, ev.relation.numbers[k]
	add := func(method string, o *offsets.NodeOffsets, then *clock.Map) {
		m := o.Map
		if !then.IsIdentity() {
			m = clock.Compose(m, then)
		}
		out = append(out, rung{method, o, m, typicalBound(n, m)})
	}
	if files.solution != nil {
		if o, ok := files.solution.Node(ev.relation.numbers[files.probers.probedBy(k)]); ok {
			add(files.method, o, toRef)
		}
	}
	if files.declared != nil {
		if o, ok := files.declared.Node(number); ok {
			add(MethodDeclared, o, toRef)
		}
	}
	if o, ok := ev.relation.of(k); ok {
		add(methodCollectives, o, nil)
	}
	if ev.kept != nil && files.declared == nil && files.method != MethodDeclared {
		if o, ok := ev.kept.Node(k); ok {
			add(methodSystem, o, nil)
		}
	}
	return out
}

// boundSamples is at how many instants of a trace sources are weighed.
const boundSamples = 9

// typicalBound is the median bound of a map over a node's trace.
func typicalBound(n *Node, m *clock.Map) int64 {
	first, last, ok := n.spanNS()
	if !ok {
		return math.MaxInt64
	}
	var list []int64
	for i := range int64(boundSamples) {
		_, b, _ := m.At(first + (last-first)/(boundSamples-1)*i)
		list = append(list, b)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// climb gives a node the clock that its sources allow together: that of the tightest, within what the others allow. A source that contradicts
// the one that is used is said, with the collectives that show it, and is an error where policy refuses. A source that is doubted takes no part.
func (l *ladder) climb(d doubts) (c wallClock, said remarks, err error) {
	n := l.in.nodes[l.k]
	best := l.choose(d)
	chosen := l.rungs[best]
	wall := chosen.wall
	var rests []Rest
	degraded := false
	for i, r := range l.rungs {
		if l.reference() {
			break
		}
		rest := Rest{Source: r.method, BoundNS: &r.bound}
		if r.method == methodCollectives {
			rest.HalfWidthNS = &Bounds{P50: r.offsets.Half.P50, P99: r.offsets.Half.P99, Max: r.offsets.Half.Max}
			rest.AsRecorded = r.offsets.AsRecorded
		}
		if i != best {
			m, apart := together(wall, r.wall)
			switch {
			case apart.beyond > 0:
				rest.Contradicts = chosen.method
				text, err := l.contradiction(&chosen, &r, apart)
				if err != nil {
					return c, said, err
				}
				if l.in.req.Policy == refuse {
					return c, said, fault.New(fault.Alignment, "%s", text).WithPath(n.Path).WithHint("leave one of them out, or use --policy degrade, which takes %s", chosen.method)
				}
				degraded = true
				said.warn("%s; the clock by %s is used", text, chosen.method)
			case d[r.method] == nil && d[chosen.method] == nil && m != wall && r.method != methodSystem: // what a system claims of its clock narrows nothing that is known better
				wall, rest.Narrows = m, true
			}
		}
		rests = append(rests, rest)
	}
	limits := l.limits(chosen.method)
	if why := d[chosen.method]; why != nil && !l.reference() {
		degraded = true
		wall = why.loosen(chosen.method, wall)
	}
	o := *chosen.offsets
	o.Map = wall
	c = solvedClock(&o, nil, chosen.method, l.in.req.Policy, l.reference())
	c.rests, c.degraded, c.said = rests, degraded || len(limits) > 0, append(limits, c.said...)
	err = c.checkReach(n, l.in.req.Policy)
	return c, said, err
}

// limits says what a clock by collectives lacks.
func (l *ladder) limits(method string) (said sentences) {
	if method != methodCollectives || l.reference() {
		return nil
	}
	if l.ev.relation.solution.Straight {
		said.say("its clock rests on too few collectives to show whether it stepped")
	}
	if left := l.ev.relation.solution.Contradicting; left > 0 {
		said.say("its clock rests on collectives of which %d contradict the others and are left out: where they are right, a clock stepped in a way that no bound holds", left)
	}
	return said
}

// weighing is what the sources of all clocks are weighed with.
type weighing struct {
	job      *job.Job
	in       *inputs
	ev       *evidence
	own      collective.Clock // clocks as recorded
	external bool             // the reference is none of the inputs
}

// ladder is the choice among the sources of one node's clock.
type ladder struct {
	*weighing
	k     int    // the node
	rungs []rung // in the order of the ladder
	shown map[string]*collective.Verdict
}

// reference reports whether the node's clock is the one that all others are compared with.
func (l *ladder) reference() bool { return l.k == l.in.ref && !l.external }

// choose returns the tightest source that is not doubted; where all are, the upper one of the ladder.
func (l *ladder) choose(d doubts) int {
	best := -1
	for i := range l.rungs {
		if d[l.rungs[i].method] == nil && (best < 0 || l.rungs[i].bound < l.rungs[best].bound) {
			best = i
		}
	}
	return max(best, 0)
}

// doubts are the sources that contradict a better one, by their name. A source is judged as a whole: what is wrong about one clock has
// moved what it says of every other, as far as what was measured between the two leads, without contradicting anybody there.
type doubts map[string]*doubt

// doubt is why a source is doubted.
type doubt struct {
	by    string   // the source that it contradicts
	nodes []string // about these nodes
	apart int64    // by so much at most, with what both allow
}

// loosen adds to the bounds of a clock that rests on a doubted source alone by how much the source was seen to be wrong. Declared offsets, and what
// systems say, are said of each node on its own.
func (d *doubt) loosen(method string, m *clock.Map) *clock.Map {
	if method != methodCollectives {
		return m
	}
	return clock.Compose(m, clock.Shift(0, d.apart))
}

// findDoubts judges the sources in the order of the ladder: each is doubted that contradicts one above it that is not, about any node.
func findDoubts(ladders []*ladder) (d doubts, said remarks, err error) {
	d = doubts{}
	for _, method := range [...]string{MethodProbes, MethodDeclared, methodCollectives, methodSystem} {
		for _, above := range [...]string{MethodProbes, MethodDeclared, methodCollectives} {
			if above == method {
				break
			}
			if err := doubtOne(ladders, d, above, method); err != nil {
				return nil, said, err
			}
		}
	}
	for _, method := range slices.Sorted(maps.Keys(d)) {
		if why := d[method]; slices.ContainsFunc(ladders, func(l *ladder) bool {
			return !slices.Contains(why.nodes, l.in.nodes[l.k].ID) && l.has(method) && !l.reference()
		}) {
			said.warn("%s and %s contradict each other about %s, so nothing is taken from %s for any other node that has another source", why.by, method, shortList(why.nodes), method)
		}
	}
	return d, said, nil
}

func (l *ladder) has(method string) bool {
	return slices.ContainsFunc(l.rungs, func(r rung) bool { return r.method == method })
}

// doubtOne compares two sources about all nodes.
func doubtOne(ladders []*ladder, d doubts, above, below string) error {
	for _, l := range ladders {
		if l.reference() || d[above] != nil {
			continue
		}
		upper := slices.IndexFunc(l.rungs, func(r rung) bool { return r.method == above })
		lower := slices.IndexFunc(l.rungs, func(r rung) bool { return r.method == below })
		if upper < 0 || lower < 0 {
			continue
		}
		_, a := together(l.rungs[upper].wall, l.rungs[lower].wall)
		if a.beyond == 0 {
			continue
		}
		winner, err := l.above(upper, lower)
		if err != nil {
			return err
		}
		loser, by := below, above
		if winner == lower && d[below] == nil {
			loser, by = above, below
		}
		if d[loser] == nil {
			d[loser] = &doubt{by: by}
		}
		d[loser].nodes = append(d[loser].nodes, l.in.nodes[l.k].ID)
		d[loser].apart = max(d[loser].apart, a.by+a.allowed)
	}
	return nil
}

// above decides which of two sources that contradict each other is used: the upper one of the ladder, except that a declaration gives way
// to collectives where it makes executions impossible that nobody had to guess. What was measured for the purpose gives way to neither.
func (l *ladder) above(upper, lower int) (int, error) {
	if l.rungs[upper].method != MethodDeclared || l.rungs[lower].method != methodCollectives {
		return upper, nil
	}
	v, err := l.impossible(&l.rungs[upper])
	if err != nil || v == nil || v.Proven == 0 {
		return upper, err
	}
	return lower, nil
}

// impossible judges the collectives as they are where the node has a source's clock and every other the one that collectives give it; nil
// where no collective was looked at.
func (l *ladder) impossible(r *rung) (*collective.Verdict, error) {
	if v, ok := l.shown[r.method]; ok || l.ev.relation.solution == nil {
		return v, nil
	}
	walls := make([]*clock.Map, len(l.in.nodes)) // nil: not known
	for i := range l.in.nodes {
		if o, ok := l.ev.relation.of(i); ok {
			walls[i] = o.Map
		}
	}
	walls[l.k] = r.wall
	v, err := collective.Check(l.job.Context(), l.ev.relation.matched.Matched, func(s *event.Span, ns int64) (int64, int64) {
		k := l.in.nodeOf(s.Node)
		if walls[k] == nil && k != l.in.ref {
			return ns, math.MaxInt64
		}
		ns, bound := l.own(s, ns)
		y, more, _ := walls[k].At(ns)
		return y, bound + more
	}, mostShown)
	if err != nil {
		return nil, err
	}
	if l.shown == nil {
		l.shown = map[string]*collective.Verdict{}
	}
	l.shown[r.method] = v
	return v, nil
}

// mostShown is how many impossible collectives a contradiction names.
const mostShown = 3

// apart is how far two clocks of a node lie apart where they do so most beyond what both allow.
type apart struct {
	at, by, allowed int64
	beyond          int64 // 0: nowhere
}

// together returns the first map within what the second allows as well, itself where the second narrows nothing, and how they contradict.
func together(a, b *clock.Map) (*clock.Map, apart) {
	var worst apart
	ka, kb := a.Knots(), b.Knots()
	if len(ka) == 0 || len(kb) == 0 {
		return a, worst
	}
	steps := a.Steps()
	inStep := func(x int64) bool {
		return slices.ContainsFunc(steps, func(s int) bool { return x > ka[s].X && x < ka[s+1].X })
	}
	at := make([]int64, 0, len(ka)+len(kb))
	for _, k := range ka {
		at = append(at, k.X)
	}
	for _, k := range kb {
		if !inStep(k.X) {
			at = append(at, k.X)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	narrowed := false
	knots := make([]clock.Knot, 0, len(at))
	for _, x := range at {
		y, bound, _ := a.At(x)
		if i, own := slices.BinarySearchFunc(ka, x, func(k clock.Knot, x int64) int { return cmp.Compare(k.X, x) }); own {
			y, bound = ka[i].Y, ka[i].BoundNS // without the step that may begin here
		}
		z, other, flags := b.At(x)
		knot := clock.Knot{X: x, Y: y, BoundNS: bound}
		if flags&clock.InStep == 0 {
			lo, hi := max(y-bound, z-other), min(y+bound, z+other)
			if lo-hi > worst.beyond+2 {
				worst = apart{at: x, by: max(y-z, z-y), allowed: bound + other, beyond: lo - hi}
			}
			if lo <= hi && (lo > y-bound || hi < y+bound) {
				knot.Y = min(max(y, lo), hi)
				if knot.BoundNS = max(hi-knot.Y, knot.Y-lo); knot.BoundNS < bound {
					narrowed = true
				}
			}
		}
		knots = append(knots, knot)
	}
	if worst.beyond > 0 || !narrowed {
		return a, worst
	}
	before, after, growth, wander := a.Tails()
	opts := []clock.Option{clock.WithTails(before, after, growth), clock.WithWander(wander), clock.WithClamps()}
	for _, s := range steps {
		i, _ := slices.BinarySearchFunc(knots, ka[s].X, func(k clock.Knot, x int64) int { return int(min(1, max(-1, k.X-x))) })
		opts = append(opts, clock.WithSteps(i))
	}
	m, err := clock.New(knots, opts...)
	if err != nil {
		return a, worst
	}
	return m, worst
}

// contradiction says which sources contradict each other, by how much, and which collectives show it.
func (l *ladder) contradiction(used, other *rung, a apart) (string, error) {
	said := fmt.Sprintf("%s and %s contradict each other about %s: %.3f ms apart where both allow %.3f ms", used.method, other.method, l.in.nodes[l.k].ID, float64(a.by)/1e6, float64(a.allowed)/1e6)
	by := other // whose clock collectives may show to be impossible
	if other.method == methodCollectives {
		by = used
	}
	v, err := l.impossible(by)
	if err != nil || v == nil {
		return said, err
	}
	var events []string
	for _, w := range v.Worst {
		if w.Judgement == collective.Violated {
			events = append(events, fmt.Sprintf("%s (occurrence %d): %s left it %.3f ms before %s entered", w.Key, w.Occurrence, l.in.slot(w.Ended), float64(-w.GapNS)/1e6, l.in.slot(w.Began)))
		}
	}
	if len(events) == 0 {
		return said, nil
	}
	said += fmt.Sprintf(". By %s %d of %d collectives were impossible", by.method, v.Violated, v.Groups)
	if guessed := v.Violated - v.Proven; guessed > 0 {
		said += fmt.Sprintf(", %d of them matched by their order or known by their names alone", guessed)
	}
	return said + ": " + strings.Join(events, "; "), nil
}
