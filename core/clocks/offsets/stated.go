package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// leaf is a clock that one stated edge alone ties to the others: its map is made of the readings as they are, and hung on what the
// others give.
type leaf struct {
	clock Clock
	edge  *Edge
}

// leaves takes the leaves off the graph, the last ones first: each leads to a clock that is left, or to a leaf before it.
func (g *Graph) leaves(reference Clock) (hung []leaf, rest []*Edge) {
	rest = g.Edges()
	of := map[Clock][]*Edge{}
	for _, e := range rest {
		of[e.A], of[e.B] = append(of[e.A], e), append(of[e.B], e)
	}
	gone := map[*Edge]bool{}
	alone := func(c Clock) *Edge { // its only edge that is left, where that is a stated one
		var found *Edge
		for _, e := range of[c] {
			if gone[e] {
				continue
			}
			if found != nil {
				return nil
			}
			found = e
		}
		if found == nil || !found.Source.stated() {
			return nil
		}
		return found
	}
	next := g.Clocks()
	for len(next) > 0 {
		c := next[0]
		next = next[1:]
		e := alone(c)
		if e == nil || c == reference {
			continue
		}
		gone[e] = true
		hung = append(hung, leaf{c, e})
		next = append(next, e.other(c))
	}
	kept := rest[:0]
	for _, e := range rest {
		if !gone[e] {
			kept = append(kept, e)
		}
	}
	return hung, kept
}

func (e *Edge) other(c Clock) Clock {
	if c == e.A {
		return e.B
	}
	return e.A
}

// hang makes the maps of the leaves.
func (s *Solution) hang(hung []leaf, reference Clock, opt *Options) error {
	known := map[Clock]*NodeOffsets{}
	for i := range s.Nodes {
		known[Clock{Node: s.Nodes[i].Node}] = &s.Nodes[i]
	}
	for i := range s.Others {
		known[s.Others[i].Clock] = &s.Others[i].NodeOffsets
	}
	made := map[Clock]ClockOffsets{}
	for i := len(hung) - 1; i >= 0; i-- {
		c, e := hung[i].clock, hung[i].edge
		to := e.other(c)
		n, report, err := e.mapOf(c, opt)
		if err != nil {
			return err
		}
		if to != reference {
			base, ok := known[to]
			if !ok {
				continue // nothing ties that one to the reference: it is named already, and so will this one be
			}
			if err := n.through(base); err != nil {
				return contradictory(c, err)
			}
		}
		known[c] = n
		made[c] = ClockOffsets{c, *n, report}
	}
	for _, l := range hung {
		if m, ok := made[l.clock]; ok {
			s.add(m)
		} else {
			s.miss(l.clock)
		}
	}
	s.sortNodes()
	return nil
}

// mapOf makes the map of one of the edge's clocks to the other of the readings as they are.
func (e *Edge) mapOf(c Clock, opt *Options) (*NodeOffsets, *SnapshotReport, error) {
	n, report := &NodeOffsets{Node: c.Node, Missed: e.missed, Warnings: slices.Clone(e.notes)}, (*SnapshotReport)(nil)
	natural := e.other(e.on) // rounds: of the clock that is not the reference's
	if e.Source == Snapshots {
		natural = e.on
		rep := e.given
		if err := n.fromSnapshots(e.readings, &rep, opt); err != nil {
			return nil, nil, err
		}
		report = &rep
	} else if err := n.fromSamples(e.readings, opt, opt.roundBound()); err != nil {
		return nil, nil, fault.New(fault.Format, "round offsets: %v", err).Wrap(err)
	}
	if c != natural {
		back := n.inverted()
		if err := n.take(back); err != nil {
			return nil, nil, contradictory(c, err)
		}
	}
	return n, report, nil
}

// contradictory is the error of readings that make no map: what is stated may be anything.
func contradictory(c Clock, err error) error {
	return fault.New(fault.Incompatible, "what is stated of %s makes no map: %v", c, err).Wrap(err)
}

// fromStated makes a link of an edge that is one of several ways between clocks: its knots are windows of their own bound, its runs parts
// with a step between each two.
func (l *link) fromStated(opt *Options) {
	var runs []run
	forward := l.on == l.A // knots lead from A's clock to B's
	if l.Source == Snapshots {
		rep := l.given
		runs, _ = newSeries(l.readings, 20).snapshotRuns(l.readings, &rep)
	} else {
		forward = !forward
		runs, _ = new(NodeOffsets).runsOf(l.readings, opt.roundBound())
	}
	for _, r := range runs {
		from := len(l.obs)
		var bounds []float64
		for _, k := range thin(r.knots) {
			a, b := k.X, k.Y
			if !forward {
				a, b = b, a
			}
			l.around(a, b-a)
			x := float64(a - l.baseX)
			if n := len(l.obs); n > 0 && x <= l.obs[n-1].x {
				continue // A's clock stepped back
			}
			l.obs = append(l.obs, obs{x: x, v: float64(b - a - l.baseTheta)})
			bounds = append(bounds, float64(k.BoundNS))
		}
		if len(bounds) == 0 {
			continue
		}
		if len(l.parts) > 0 {
			l.breaks = append(l.breaks, breakIn{kind: breakStep, fromX: l.obs[from-1].x, toX: l.obs[from].x})
		}
		l.parts = append(l.parts, part{from: from, to: len(l.obs), windows: knotWindows(l.obs[from:], bounds, opt)})
	}
}

// knotWindows makes a window of each knot; the slope is that between its neighbours, as good as they are.
func knotWindows(knots []obs, bounds []float64, opt *Options) []window {
	out := make([]window, len(knots))
	for i, k := range knots {
		slope, slopeBound := 0.0, opt.maxSlope()
		a, b := max(0, i-1), min(len(knots)-1, i+1)
		if seconds := (knots[b].x - knots[a].x) / 1e9; seconds > 0 {
			slope, slopeBound = (knots[b].v-knots[a].v)/seconds, (bounds[a]+bounds[b])/seconds+float64(opt.WanderPPB)
		}
		out[i] = boxWindow(k.x, k.v, bounds[i], slope, slopeBound)
	}
	return out
}

// boxWindow is the window of one value with a bound, and of one slope with another.
func boxWindow(x, v, bound, slope, slopeBound float64) window {
	return window{center: x, fit: line{v, slope}, bound: line{math.Abs(bound), math.Abs(slopeBound)}}
}
