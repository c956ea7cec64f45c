package offsets

import (
	"math"
	"slices"
)

// detours are the other ways to a clock: the tree leads to it over one link at each hop, which may end early, because the node between has died,
// or be in the middle of a step of that node.
type detours struct {
	n     *network
	order []int    // links, those with the smallest bounds first
	lag   [][2]int // by link: how many steps more its B (its A) has passed than the link says, when its A's (its B's) are counted
	known []bool   // of the lags
}

// newDetours returns the detours of a network of packets alone: what one link knows of a step, all of its clocks' links know (shareSteps). nil for
// others, and for a tree without other links.
func newDetours(n *network) *detours {
	if len(n.links) <= len(n.order)-1 || slices.ContainsFunc(n.links, func(l *link) bool { return l.Source != Stamps }) {
		return nil
	}
	d := &detours{n: n, lag: make([][2]int, len(n.links)), known: make([]bool, len(n.links))}
	for i := range n.links {
		d.order = append(d.order, i)
	}
	slices.SortStableFunc(d.order, func(a, b int) int {
		switch x, y := n.links[a].typicalHalf(), n.links[b].typicalHalf(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return d
}

// unseenSteps is added to the count of steps where a clock is found over a link that never told how many it has passed: a step may have been missed.
const unseenSteps = 1 << 20

// fill finds the clocks that the tree does not lead to at an instant. They have passed as many steps more than when they were last found as there
// are more on the way.
func (d *detours) fill(at []instantOf) {
	n := d.n
	for again := true; again; {
		again = false
		for _, li := range d.order {
			a, b := n.ends[li][0], n.ends[li][1]
			if at[a].known == at[b].known {
				continue
			}
			to, side := b, 0
			var next instantOf
			var where place
			if at[a].known {
				next, where = n.links[li].forward(at[a])
			} else {
				to, side = a, 1
				next, where = n.links[li].backward(at[b])
			}
			if where != onPart {
				continue
			}
			next.known = true
			switch {
			case d.known[li]:
				next.epoch += d.lag[li][side]
			case next.epoch > 0: // before anything stepped all counts are 0
				next.epoch += unseenSteps
			}
			at[to], again = next, true
		}
	}
	for li, l := range n.links {
		a, b := n.ends[li][0], n.ends[li][1]
		if !at[a].known || !at[b].known {
			continue
		}
		if _, where, steps := l.locate(float64(at[a].x-l.baseX) + at[a].frac); where == onPart {
			d.lag[li] = [2]int{at[b].epoch - at[a].epoch - steps, at[a].epoch - at[b].epoch - steps}
			d.known[li] = true
		}
	}
}

// beyond returns the instants at which links beside the tree say something that the tree does not reach.
func (d *detours) beyond(g []int64, cover []interval) []int64 {
	n := d.n
	inTree := make([]bool, len(n.links))
	for _, p := range n.parent {
		if p >= 0 {
			inTree[p] = true
		}
	}
	for li, l := range n.links {
		if len(l.parts) == 0 || inTree[li] {
			continue
		}
		a, b := n.ends[li][0], n.ends[li][1]
		from := n.up(a, instantOf{x: l.baseX + int64(math.Round(l.parts[0].firstX))}).x + borderNS
		to := n.up(a, instantOf{x: l.baseX + int64(math.Round(l.parts[len(l.parts)-1].lastX))}).x - borderNS
		if to-from > int64(2*(l.parts[len(l.parts)-1].lastX-l.parts[0].firstX))+1e9 {
			continue // nonsense on the way
		}
		inner := interval{max(cover[a].from, cover[b].from), min(cover[a].to, cover[b].to)}
		for _, e := range [2]interval{{from, min(to, inner.from)}, {max(from, inner.to), to}} {
			if e.to-e.from < n.step {
				continue
			}
			g = append(g, e.from, e.to)
			for r := (e.from/n.step + 1) * n.step; r < e.to; r += n.step {
				g = append(g, r)
			}
		}
	}
	return g
}
