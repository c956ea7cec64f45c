package report

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// What a report holds at most. More is thinned in a way that the page states.
const (
	maxGroups  = 2000   // matched collectives in the picture
	maxSpans   = 24_000 // executions in the picture: fewer collectives where many nodes take part
	maxStretch = 50     // collectives that follow each other without omission, when some are left out
	maxPoints  = 240    // points of one curve
	maxCharts  = 64     // nodes with a chart
	maxRows    = 4096   // rows of the table of nodes
	maxNotes   = 200    // warnings and notes
)

// CurveOf samples the map of a node's wall clock onto the reference's between two instants of the node's clock (ns since
// 1970): at its knots and evenly in between.
func CurveOf(node string, m *clock.Map, fromNS, toNS, zeroNS int64) curve {
	c := curve{Node: node}
	if toNS < fromNS || toNS-fromNS < 0 {
		return c
	}
	var at []int64
	for _, k := range m.Knots() {
		for _, x := range []int64{k.X - 1, k.X} { // both sides: coverage changes here
			if x >= fromNS && x <= toNS {
				at = append(at, x)
			}
		}
	}
	if len(at) > 4*maxPoints {
		at = stride(at, 4*maxPoints)
	}
	const even = 120
	for i := range int64(even + 1) {
		at = append(at, fromNS+(toNS-fromNS)/even*i)
	}
	at = append(at, toNS)
	slices.Sort(at)
	for _, x := range slices.Compact(at) {
		y, bound, flags := m.At(x)
		c.Points = append(c.Points, point{AtNS: x - zeroNS, CorrectionNS: y - x, BoundNS: bound, Flags: flags})
	}
	return c
}

// stride keeps n of the elements, evenly, the first and the last included.
func stride[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*(len(list)-1)/(n-1)]
	}
	return out
}

// thinPoints keeps at most about maxPoints points: in each of equal runs of points the one of least and the one of greatest
// deviation, and both sides of every change of flags.
func thinPoints(points []point, deviation func(point) float64) []point {
	if len(points) <= maxPoints {
		return points
	}
	keep := make([]bool, len(points))
	keep[0], keep[len(points)-1] = true, true
	changes := 0
	for i := 1; i < len(points) && changes < maxPoints/4; i++ {
		if points[i].Flags != points[i-1].Flags {
			keep[i-1], keep[i] = true, true
			changes++
		}
	}
	runs := maxPoints / 4
	for r := range runs {
		from, to := r*len(points)/runs, (r+1)*len(points)/runs
		low, high := from, from
		for i := from; i < to; i++ {
			if deviation(points[i]) < deviation(points[low]) {
				low = i
			}
			if deviation(points[i]) > deviation(points[high]) {
				high = i
			}
		}
		keep[low], keep[high] = true, true
	}
	var out []point
	for i, p := range points {
		if keep[i] {
			out = append(out, p)
		}
	}
	return out
}

// Groups judges every matched collective on both clocks and returns the ones that a report draws, in order of their aligned
// start: all where they fit, else evenly spread stretches of successive ones and every one that is impossible after alignment,
// as far as they fit. A node stands in a group with one execution: of its devices the one that decided the verdict, else the
// first. Nodes of spans must be indices into Doc.Nodes.
func Groups(ctx context.Context, m *collective.Matched, before, after collective.Clock, zeroNS int64) (groups []groupSpans, total int, err error) {
	if before == nil {
		before = collective.AsRecorded
	}
	type found struct {
		group  int
		start  int64
		before *collective.Verdict
		after  *collective.Verdict
	}
	all := make([]found, 0, len(m.Groups))
	for i := range m.Groups {
		one := &collective.Matched{Part: m.Part, Groups: m.Groups[i : i+1]}
		f := found{group: i, start: math.MaxInt64}
		if f.before, err = collective.Check(ctx, one, before, 1); err != nil {
			return nil, 0, err
		}
		if f.after, err = collective.Check(ctx, one, after, 1); err != nil {
			return nil, 0, err
		}
		for _, member := range m.Groups[i].Members {
			s := &m.Part.Spans[member.Span]
			at, _ := after(s, s.StartNS)
			f.start = min(f.start, at)
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.start, b.start) })
	nodes := 1
	for i := range m.Groups {
		nodes = max(nodes, min(len(m.Groups[i].Members), maxSpans))
	}
	chosen := stretches(len(all), min(maxGroups, max(1, maxSpans/nodes)), func(i int) bool { return all[i].after.Violated > 0 })
	for _, c := range chosen {
		f := &all[c.index]
		g := &m.Groups[f.group]
		op := &m.Part.Ops[g.Op]
		groups = append(groups, groupSpans{
			Key: op.Key, Kind: op.Kind.String(), Occurrence: g.Occurrence, Stretch: c.stretch, Before: judgement(f.before), After: judgement(f.after),
			Spans: spansOf(m.Part, g, before, after, zeroNS, append(f.before.Worst, f.after.Worst...)),
		})
	}
	return groups, len(all), nil
}

func judgement(v *collective.Verdict) collective.Judgement {
	switch {
	case v.Violated > 0:
		return collective.Violated
	case v.Undecidable > 0:
		return collective.Undecidable
	}
	return collective.Consistent
}

// spansOf returns one execution a node: of a device that decided a verdict where there is one, else of the first device.
func spansOf(part *collective.Part, g *collective.Group, before, after collective.Clock, zeroNS int64, worst []collective.Worst) []groupSpan {
	decided := map[collective.Slot]bool{}
	for _, w := range worst {
		decided[w.Ended], decided[w.Began] = true, true
	}
	var out []groupSpan
	settled := map[int]bool{}
	for _, member := range g.Members {
		s := &part.Spans[member.Span]
		span := groupSpan{Node: int(s.Node)}
		at := func(c collective.Clock, ns int64) int64 { v, _ := c(s, ns); return v - zeroNS }
		span.BeforeStartNS, span.BeforeEndNS = at(before, s.StartNS), at(before, s.EndNS)
		span.AfterStartNS, span.AfterEndNS = at(after, s.StartNS), at(after, s.EndNS)
		decides := decided[collective.Slot{Node: s.Node, Device: s.Device}]
		switch k := slices.IndexFunc(out, func(o groupSpan) bool { return o.Node == span.Node }); {
		case k < 0:
			out = append(out, span)
			settled[span.Node] = decides
		case decides && !settled[span.Node]:
			out[k] = span
			settled[span.Node] = true
		}
	}
	slices.SortFunc(out, func(a, b groupSpan) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

type choice struct{ index, stretch int }

// stretches chooses at most limit of n things: all, else evenly spread runs of maxStretch, in which things that matter get
// half of the room as runs of their own.
func stretches(n, limit int, matters func(int) bool) []choice {
	taken := make([]bool, n)
	left := limit
	if n <= limit {
		for i := range taken {
			taken[i] = true
		}
	} else {
		var important []int
		for i := range n {
			if matters(i) {
				important = append(important, i)
			}
		}
		for _, i := range stride(important, max(2, limit/2)) {
			if !taken[i] {
				taken[i] = true
				left--
			}
		}
		length := max(1, min(maxStretch, left/2))
		runs := max(1, left/length)
		for r := range runs {
			from := r * (n - length) / max(1, runs-1)
			for i := from; i < min(n, from+length) && left > 0; i++ {
				if !taken[i] {
					taken[i] = true
					left--
				}
			}
		}
	}
	var out []choice
	stretch := -1
	for i, t := range taken {
		if t {
			if i == 0 || !taken[i-1] {
				stretch++
			}
			out = append(out, choice{i, stretch})
		}
	}
	return out
}
