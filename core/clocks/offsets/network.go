package offsets

import (
	"context"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// network solves the clocks of all nodes from the links between them: a tree of the best links gives every node's clock at a
// grid of instants, all links together correct it by least squares, and the links' bands, chained along every path, give the
// bounds. The grid lies on the reference's clock.
type network struct {
	ref    Clock
	clocks []Clock // ascending
	index  map[Clock]int
	links  []*link
	opt    *Options
	step   int64 // of the grid, ns

	ends   [][2]int // links' ends as indices into nodes
	order  []int    // nodes reached from the reference, parents first; order[0] is the reference
	parent []int    // link towards the reference, -1 for the reference and unreached nodes
	others *detours // the ways beside the tree; nil: none
}

func newNetwork(ref Clock, clocks []Clock, links []*link, step int64, opt *Options) *network {
	n := &network{ref: ref, clocks: clocks, links: links, opt: opt, step: max(1, step), index: make(map[Clock]int, len(clocks))}
	for i, c := range clocks {
		n.index[c] = i
	}
	for _, l := range links {
		n.ends = append(n.ends, [2]int{n.index[l.A], n.index[l.B]})
	}
	n.span()
	n.others = newDetours(n)
	return n
}

// span grows the tree of links with the smallest sum of error bounds from the reference (Dijkstra; ties by node order).
func (n *network) span() {
	const far = math.MaxFloat64
	cost := make([]float64, len(n.clocks))
	done := make([]bool, len(n.clocks))
	n.parent = make([]int, len(n.clocks))
	for i := range cost {
		cost[i], n.parent[i] = far, -1
	}
	adjacent := make([][]int, len(n.clocks))
	for li, e := range n.ends {
		adjacent[e[0]] = append(adjacent[e[0]], li)
		adjacent[e[1]] = append(adjacent[e[1]], li)
	}
	cost[n.index[n.ref]] = 0
	for {
		best := -1
		for i := range cost {
			if !done[i] && cost[i] < far && (best < 0 || cost[i] < cost[best]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		done[best] = true
		n.order = append(n.order, best)
		for _, li := range adjacent[best] {
			other := n.ends[li][0] + n.ends[li][1] - best
			if c := cost[best] + n.links[li].typicalHalf(); c < cost[other] {
				cost[other], n.parent[other] = c, li
			}
		}
	}
}

// typicalHalf is the link's error bound in the middle of its parts, the largest of them.
func (l *link) typicalHalf() float64 {
	if l.half == 0 {
		for _, p := range l.parts {
			l.half = math.Max(l.half, p.at((l.obs[p.from].x+l.obs[p.to-1].x)/2).half())
		}
	}
	return l.half
}

// instantOf is one node's clock at a grid instant.
type instantOf struct {
	x      int64
	frac   float64 // fraction of a ns, and the correction by the whole network
	known  bool
	epoch  int     // steps passed on the way from the reference
	lo, hi float64 // the truth lies in [lo, hi] around x + frac
}

// show computes every node's clock along the tree at the reference instant r.
func (n *network) show(r int64, out []instantOf) {
	for i := range out {
		out[i] = instantOf{}
	}
	out[n.order[0]] = instantOf{x: r, known: true}
	for _, i := range n.order[1:] {
		l := n.links[n.parent[i]]
		up := n.ends[n.parent[i]][0] + n.ends[n.parent[i]][1] - i
		if !out[up].known {
			continue
		}
		var at place
		if n.ends[n.parent[i]][0] == up {
			out[i], at = l.forward(out[up])
		} else {
			out[i], at = l.backward(out[up])
		}
		out[i].known = at == onPart
	}
	if n.others != nil {
		n.others.fill(out)
	}
}

// forward takes an instant of A's clock to B's.
func (l *link) forward(a instantOf) (instantOf, place) {
	v, at, steps := l.locate(float64(a.x-l.baseX) + a.frac)
	return shifted(a, l.baseTheta, v.theta, steps), at
}

// backward takes an instant of B's clock to A's: the x with x + theta(x) = b, by fixed-point steps (|slope| is far below 1).
func (l *link) backward(b instantOf) (instantOf, place) {
	target := float64(b.x-l.baseX-l.baseTheta) + b.frac
	x := target
	for range 12 {
		v, _ := l.at(x)
		next := target - v.theta
		if math.Abs(next-x) < 1e-6 {
			break
		}
		x = next
	}
	v, at, steps := l.locate(x)
	return shifted(b, -l.baseTheta, -v.theta, steps), at
}

func shifted(i instantOf, whole int64, part float64, steps int) instantOf {
	f := i.frac + part
	w := math.Floor(f)
	return instantOf{x: i.x + whole + int64(w), frac: f - w, epoch: i.epoch + steps}
}

// grid returns the reference instants at which the clocks are solved: a lattice over everything that the tree's links cover,
// and the borders of every part. The outer borders of many nodes are near each other; one instant inside all of them serves.
func (n *network) grid() []int64 {
	step := n.step
	var g, starts, ends []int64
	cover := make([]interval, len(n.clocks)) // what the tree reaches
	cover[n.order[0]] = interval{math.MinInt64, math.MaxInt64}
	for _, i := range n.order[1:] {
		l := n.links[n.parent[i]]
		ups := n.ends[n.parent[i]][0] != i // the parent is A
		cover[i] = cover[n.other(n.parent[i], i)]
		for pi, p := range l.parts {
			from := n.toReference(i, l.obs[p.from].x, ups) + borderNS
			to := n.toReference(i, l.obs[p.to-1].x, ups) - borderNS
			if from > to {
				from -= borderNS
				to = from
			}
			if pi == 0 {
				cover[i].from = max(cover[i].from, from)
				starts = append(starts, from)
			} else {
				g = append(g, from)
			}
			if pi == len(l.parts)-1 {
				cover[i].to = min(cover[i].to, to)
				ends = append(ends, to)
			} else {
				g = append(g, to)
			}
			if float64(to)-float64(from) > 2*(l.obs[p.to-1].x-l.obs[p.from].x)+1e9 {
				continue // nonsense on the way: the borders will do
			}
			step := step
			if l.Source.stated() { // two readings may lie years apart
				step = max(step, (to-from)/mostInstants)
			}
			for r := (from/step + 1) * step; r < to; r += step {
				g = append(g, r)
			}
			if pi > 0 && l.breaks[pi-1].kind != breakStep {
				b := l.breaks[pi-1]
				for k := 1; k < 8; k++ {
					g = append(g, n.toReference(i, b.fromX+(b.toX-b.fromX)*float64(k)/8, ups))
				}
			}
		}
	}
	g = append(g, innermost(starts, step/8, +1)...)
	g = append(g, innermost(ends, step/8, -1)...)
	if n.others != nil {
		g = n.others.beyond(g, cover)
	}
	slices.Sort(g)
	return slices.Compact(g)
}

// mostInstants is at how many instants one stretch of stated readings is solved with others.
const mostInstants = 1 << 16

// innermost replaces instants that are within reach of each other by the last (dir +1) or the first (dir -1) of them.
func innermost(v []int64, reach int64, dir int) []int64 {
	slices.Sort(v)
	if dir < 0 {
		slices.Reverse(v)
	}
	var out []int64
	for i := 0; i < len(v); {
		k := i
		for k+1 < len(v) && absInt(v[k+1]-v[i]) <= reach {
			k++
		}
		out = append(out, v[k])
		i = k + 1
	}
	return out
}

// borderNS keeps the grid's instants at the border of a part inside it, whatever the rounding on the way.
const borderNS = 4

// toReference takes an x of the link between node i and its parent to the reference's clock, up the tree. Inside steps of
// other links on the way the result is approximate, which only moves a grid instant.
func (n *network) toReference(i int, x float64, parentIsA bool) int64 {
	l := n.links[n.parent[i]]
	in := instantOf{x: l.baseX + int64(math.Round(x))}
	if !parentIsA { // x is the child's own clock
		in, _ = l.forward(in)
	}
	return n.up(n.other(n.parent[i], i), in).x
}

// up takes an instant of a clock to the reference's, up the tree.
func (n *network) up(i int, in instantOf) instantOf {
	for ; n.parent[i] >= 0; i = n.other(n.parent[i], i) {
		l := n.links[n.parent[i]]
		if n.ends[n.parent[i]][0] == i {
			in, _ = l.forward(in)
		} else {
			in, _ = l.backward(in)
		}
	}
	return in
}

func (n *network) other(link, node int) int { return n.ends[link][0] + n.ends[link][1] - node }

// solve fills the solution's nodes.
func (n *network) solve(ctx context.Context, s *Solution) error {
	runs := make([][]run, len(n.clocks))
	at := make([]instantOf, len(n.clocks))
	eq := newEquations(n)
	for k, r := range n.grid() {
		if k%64 == 0 {
			if err := ctx.Err(); err != nil {
				return fault.FromIO("", err)
			}
		}
		n.show(r, at)
		eq.correct(at)
		for _, i := range n.order[1:] {
			if at[i].known {
				runs[i] = appendKnot(runs[i], r, at[i])
			}
		}
	}
	eq.finish(s)
	for i, c := range n.clocks {
		if c == n.ref {
			s.add(ClockOffsets{Clock: c, NodeOffsets: identity(c.Node)})
			continue
		}
		if len(runs[i]) == 0 {
			s.miss(c)
			continue
		}
		no := NodeOffsets{Node: c.Node}
		if err := no.fromRuns(runs[i], false, n.opt); err != nil {
			if slices.ContainsFunc(n.links, func(l *link) bool { return l.Source.stated() }) {
				return contradictory(c, err)
			}
			return fault.New(fault.Internal, "%v", err).Wrap(err)
		}
		n.count(i, &no)
		if err := no.widenEnds(n.endsOf(i, no.Map)); err != nil {
			return fault.New(fault.Internal, "%v", err).Wrap(err)
		}
		s.add(ClockOffsets{Clock: c, NodeOffsets: no})
	}
	return nil
}

// endsOf returns what the links of a clock saw before the first and after the last instant of its map, and from where on they say nothing.
func (n *network) endsOf(i int, m *clock.Map) unsure {
	from, to, _ := m.Span()
	u := unsure{until: from, from: to}
	for li, e := range n.ends {
		l := n.links[li]
		if l.Source != Stamps || e[0] != i && e[1] != i {
			continue
		}
		b, a := l.ends()
		first, last := l.baseX+int64(l.parts[0].firstX), l.baseX+int64(l.parts[len(l.parts)-1].lastX)
		if e[1] == i {
			first, last = first+l.baseTheta, last+l.baseTheta
		}
		if b > 0 && first <= from+n.step {
			u.before, u.until = math.Max(u.before, b), max(u.until, first)
		}
		if a > 0 && last >= to-n.step {
			u.after, u.from = math.Max(u.after, a), min(u.from, last)
		}
	}
	return u
}

// count books what stands behind a node's map.
func (n *network) count(i int, no *NodeOffsets) {
	for li, e := range n.ends {
		if e[0] != i && e[1] != i {
			continue
		}
		l := n.links[li]
		for _, p := range l.parts {
			no.Windows += len(p.windows)
		}
		no.Missed += l.dropped + (l.outliers+1)/2
	}
}

// run is a stretch of knots without a step.
type run struct {
	epoch int
	knots []clock.Knot
}

func appendKnot(runs []run, r int64, in instantOf) []run {
	k := clock.Knot{X: in.x + int64(math.Round(in.frac)), Y: r, BoundNS: ceilNS(math.Max(in.hi, -in.lo)) + 2}
	if len(runs) == 0 || runs[len(runs)-1].epoch != in.epoch {
		return append(runs, run{in.epoch, []clock.Knot{k}})
	}
	last := &runs[len(runs)-1]
	last.knots = append(last.knots, k)
	return runs
}
