package offsets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// SnapshotReport says what FromSnapshots made of a node's snapshot pairs.
type SnapshotReport struct {
	Pairs      int     // given
	Duplicates int     // same reading of the tracer's clock twice
	Outliers   int     // contradicted by both neighbours
	Unordered  int     // pairs that came before an earlier one
	LatencyNS  int64   // typical delay between the two readings of a pair, beyond the smallest
	DriftPPM   float64 // how much faster the tracer's clock runs than the wall clock
	Steps      []Step  // FromNS, ToNS on the tracer's clock; JumpNS is the wall clock's
	Bound      Bounds
	Warnings   []string
}

const (
	// readDelayNS is the smallest delay between the two readings of a pair, which no pair can show: part of every bound.
	readDelayNS = 500
	// fewSnapshotsBoundNS is the bound of pairs that are too few to scatter: the document's <5 us.
	fewSnapshotsBoundNS = 5000
	// quietNS is the scatter up to which pairs are taken as they are: rounding of stamps.
	quietNS = 3.0
	// wideBrackets: a bracket that is so many times as wide as the median, and some, is not used.
	wideBrackets = 4
	// envelopePairs is how many neighbouring pairs make one line of the envelope.
	envelopePairs = 12
)

// FromSnapshots makes the map of a tracer's clock (X) to its node's wall clock (Y) from readings of both. Pairs whose wall clock was read
// before and after the tracer's are right to half of that. Else the wall clock was read first and the tracer's directly after, so a slow
// reading makes a pair late, never early: the map follows the envelope of the fastest pairs. Noise-free pairs are met exactly. Pairs may come in any order. Without any pair the map is nil.
func FromSnapshots(pairs []clock.Pair, options Options) (*clock.Map, *SnapshotReport, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	g := NewGraph()
	host := Clock{}
	given := g.AddSnapshots(host.Node, pairs)
	if len(g.edges) == 0 {
		return nil, given, nil
	}
	s, err := g.solve(context.Background(), host, opt)
	if err != nil {
		return nil, given, err
	}
	return s.Others[0].Map, s.Others[0].Snapshots, nil
}

// AddSnapshots adds snapshot pairs of a node, and returns what is wrong with them one by one.
func (g *Graph) AddSnapshots(node int, pairs []clock.Pair) *SnapshotReport {
	rep := &SnapshotReport{Pairs: len(pairs)}
	samples := rep.samples(pairs)
	if len(samples) == 0 {
		return rep
	}
	tracer := Clock{Node: node, Kind: Tracer}
	e := g.Between(Clock{Node: node}, tracer, Snapshots)
	e.on = tracer
	e.read(samples)
	e.given.add(rep)
	return rep
}

// add adds the counts of more pairs of the node.
func (r *SnapshotReport) add(o *SnapshotReport) {
	r.Pairs, r.Duplicates, r.Outliers, r.Unordered = r.Pairs+o.Pairs, r.Duplicates+o.Duplicates, r.Outliers+o.Outliers, r.Unordered+o.Unordered
	r.Warnings = slices.Clip(append(r.Warnings, o.Warnings...)) // what a solution appends is its own
}

// fromSnapshots makes the map of a tracer's clock to its host's.
func (n *NodeOffsets) fromSnapshots(samples []sample, rep *SnapshotReport, opt *Options) error {
	q := newSeries(samples, 20)
	var latencies []float64
	var runs []run
	if slices.ContainsFunc(samples, func(s sample) bool { return s.bound < 0 }) {
		runs, latencies = q.snapshotRuns(samples, rep)
	} else {
		samples = narrow(samples)
		q = newSeries(samples, 20)
		runs = q.bracketRuns(samples, rep, opt)
	}
	if err := n.fromSnapshotRuns(runs, opt); err != nil {
		return fault.New(fault.Incompatible, "snapshots: %v", err).Wrap(err)
	}
	rep.LatencyNS = int64(math.Round(medianOf(latencies)))
	rep.DriftPPM, rep.Steps, rep.Bound = n.DriftPPM, slices.Clone(n.Steps), n.Bound
	for i := range rep.Steps {
		rep.Steps[i].JumpNS = -rep.Steps[i].JumpNS // of the wall clock against the tracer's
	}
	if len(rep.Steps) > 0 {
		rep.warnf("a clock jumps in %d of the intervals between snapshots: instants inside are marked", len(rep.Steps))
	}
	switch {
	case len(q.x) == 1:
		rep.warnf("one snapshot only: the drift between the tracer's and the wall clock is not known")
	case len(q.x) < minScatter && samples[0].bound < 0:
		rep.warnf("%d snapshots only: a bound of %d us is assumed", len(q.x), fewSnapshotsBoundNS/1000)
	}
	return nil
}

// snapshotRuns makes runs of knots of the envelope of the fastest readings.
func (q *series) snapshotRuns(samples []sample, rep *SnapshotReport) (runs []run, latencies []float64) {
	q.floor += 4 * latencyOf(q)
	rep.Outliers += q.clean()
	if rep.Outliers > 0 {
		rep.warnf("%d of %d snapshots are outliers and not used", rep.Outliers, rep.Pairs)
	}
	for _, r := range q.stretches(q.steps()) {
		runs = append(runs, q.envelope(r[0], r[1], samples[0].offset, samples[0].at, &latencies))
	}
	return runs, latencies
}

// narrow leaves out brackets that are much wider than the others: a thread that was interrupted in them says little.
func narrow(samples []sample) []sample {
	widths := make([]float64, len(samples))
	for i, s := range samples {
		widths[i] = float64(s.bound)
	}
	limit := wideBrackets*medianOf(widths) + float64(readDelayNS)
	kept := make([]sample, 0, len(samples))
	for _, s := range samples {
		if float64(s.bound) <= limit {
			kept = append(kept, s)
		}
	}
	return kept
}

// bracketRuns makes runs of knots of bracketed pairs: each is right to half its bracket, late as easily as early, so that nothing has to be
// made of their scatter. Between two of them the rate may wander.
func (q *series) bracketRuns(samples []sample, rep *SnapshotReport, opt *Options) (runs []run) {
	rep.Outliers += q.clean()
	if rep.Outliers > 0 {
		rep.warnf("%d of %d snapshots are outliers and not used", rep.Outliers, rep.Pairs)
	}
	for _, part := range q.stretches(q.steps()) {
		var r run
		bends := q.bends(part[0], part[1])
		for i := part[0]; i < part[1]; i++ {
			s := samples[q.src[i]]
			gap := 0.0
			if i > part[0] {
				gap = q.x[i] - q.x[i-1]
			}
			if i+1 < part[1] {
				gap = math.Max(gap, q.x[i+1]-q.x[i])
			}
			bound := float64(s.bound) + bends[i-part[0]] + opt.tolerance(gap)
			r.knots = append(r.knots, clock.Knot{X: s.at, Y: s.at + s.offset, BoundNS: ceilNS(bound)})
		}
		runs = append(runs, r)
	}
	return runs
}

// samples sorts the pairs by the tracer's clock and turns them into wall minus tracer. Of pairs with the same reading of the
// tracer's clock the one with the latest wall clock had the smallest delay.
func (r *SnapshotReport) samples(pairs []clock.Pair) []sample {
	sorted := append([]clock.Pair(nil), pairs...)
	for i := 1; i < len(pairs); i++ {
		if pairs[i].X < pairs[i-1].X {
			r.Unordered++
		}
	}
	sort.Slice(sorted, func(i, j int) bool {
		return sorted[i].X < sorted[j].X || sorted[i].X == sorted[j].X && sorted[i].Y < sorted[j].Y
	})
	var out []sample
	for i, p := range sorted {
		if i+1 < len(sorted) && sorted[i+1].X == p.X {
			r.Duplicates++
			continue
		}
		if p.X < 0 || p.Y < 0 {
			r.Outliers++
			continue
		}
		s := sample{at: p.X, offset: p.Y - p.X, bound: -1}
		if p.WidthNS > 0 {
			s.bound = p.WidthNS/2 + 1
			s.slack = float64(s.bound)
		}
		out = append(out, s)
	}
	if r.Duplicates > 0 {
		r.warnf("%d snapshots repeat a reading of the tracer's clock", r.Duplicates)
	}
	if r.Unordered > 0 {
		r.warnf("%d snapshots are out of order: sorted by the tracer's clock", r.Unordered)
	}
	return out
}

// latencyOf is the scatter of the pairs, 0 when it is only rounding. Delays are one-sided with a long tail, so limits made of
// the scatter get room for it.
func latencyOf(q *series) float64 {
	q.measure()
	if q.sigma <= quietNS {
		return 0
	}
	return q.sigma
}

// envelope makes the knots of one run of pairs, q[from:to].
func (q *series) envelope(from, to int, base, x0 int64, latencies *[]float64) run {
	n := to - from
	var r run
	theta, bound := make([]float64, n), make([]float64, n)
	bends := q.bends(from, to)
	if n < minScatter || q.sigma <= quietNS {
		for i := range theta {
			theta[i], bound[i] = q.v[from+i], q.sigma+1+bends[i]
			if n < minScatter && q.sigma > quietNS || len(q.x) < minScatter {
				bound[i] += fewSnapshotsBoundNS
			}
		}
	} else {
		q.hullLines(from, to, bends, theta, bound, latencies)
	}
	for i := range theta {
		at := x0 + int64(q.x[from+i])
		r.knots = append(r.knots, clock.Knot{X: at, Y: at + base + int64(math.Round(theta[i])), BoundNS: ceilNS(bound[i]) + readDelayNS})
	}
	return r
}

// hullLines follows the upper envelope of the run q[from:to]: in each window of neighbouring pairs the line above all of them that
// is closest to them on the whole (an edge of their hull); lines of half-overlapping windows are blended. Where a window is no
// line, because the rate changed in it, the pairs are taken as they are.
func (q *series) hullLines(from, to int, bends, theta, bound []float64, latencies *[]float64) {
	x, v := q.x[from:to], q.v[from:to]
	n := len(x)
	w := min(envelopePairs, n)
	var pieces []piece
	for a := 0; ; a += max(1, w/2) {
		if a+w > n {
			a = n - w
		}
		l := hullEdge(x[a:a+w], v[a:a+w])
		sum := 0.0
		for i := a; i < a+w; i++ {
			d := l.at((x[i]-x[a])/1e9) - v[i]
			sum += d
			if sum/float64(i-a+1) < 8*q.sigma {
				*latencies = append(*latencies, d)
			}
		}
		pieces = append(pieces, piece{c: (x[a] + x[a+w-1]) / 2, half: (x[a+w-1] - x[a]) / 2, mean: sum / float64(w), l: line{l.a - l.s*x[a]/1e9, l.s}})
		if a+w >= n {
			break
		}
	}
	k := 0
	for i := range x {
		for k+1 < len(pieces) && pieces[k+1].c <= x[i] {
			k++
		}
		p := pieces[k]
		straight := p.mean <= 6*q.sigma
		if k+1 < len(pieces) && x[i] > p.c && pieces[k+1].mean <= 6*q.sigma {
			o := pieces[k+1] // its window covers x as well
			if straight {
				p, bound[i] = p.blend(o, x[i], w)
			} else {
				p, bound[i], straight = o, o.error(x[i], w), true
			}
		} else {
			bound[i] = p.error(x[i], w)
		}
		theta[i] = p.l.at(x[i] / 1e9)
		if !straight {
			theta[i], bound[i] = v[i], 6*q.sigma
		}
		bound[i] += bends[i]
	}
}

// piece is the line of one window, c its middle and half its half length (x), mean the mean distance of the pairs from it.
type piece struct {
	c, half, mean float64
	l             line
}

// blend mixes p with the next piece o at x, which lies between their middles.
func (p piece) blend(o piece, x float64, n int) (piece, float64) {
	f := (x - p.c) / (o.c - p.c)
	apart := math.Abs(o.l.at(x/1e9) - p.l.at(x/1e9))
	bound := math.Max(p.error(x, n), o.error(x, n)) + apart/2
	p.l = line{p.l.a + f*(o.l.a-p.l.a), p.l.s + f*(o.l.s-p.l.s)}
	return p, bound
}

// error is how far a line over n exponential delays of the given mean is off: their smallest are mean/n above zero, and twice
// that and more at the window's ends, which rest on fewer.
func (p piece) error(x float64, n int) float64 {
	u := 0.0
	if p.half > 0 {
		u = (x - p.c) / p.half
	}
	return p.mean / float64(n) * (6 + 10*u*u)
}

// hullEdge returns the line, with origin x[0], that lies on or above all points and has the smallest sum of distances: the edge
// of their upper hull over their mean x.
func hullEdge(x, v []float64) line {
	mean := 0.0
	for _, c := range x {
		mean += (c - x[0]) / float64(len(x))
	}
	mean += x[0]
	hull := make([]int, 0, len(x))
	for i := range x {
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if (v[b]-v[a])*(x[i]-x[a]) > (v[i]-v[a])*(x[b]-x[a]) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, i)
	}
	k := 1
	for k < len(hull)-1 && x[hull[k]] < mean {
		k++
	}
	if len(hull) < 2 {
		return line{a: v[0]}
	}
	a, b := hull[k-1], hull[k]
	s := (v[b] - v[a]) / (x[b] - x[a])
	return line{a: v[a] - s*(x[a]-x[0]), s: s * 1e9}
}

// fromSnapshotRuns joins the runs. Here offset and drift are the wall clock's against the tracer's, so signs turn.
func (n *NodeOffsets) fromSnapshotRuns(runs []run, opt *Options) error {
	if err := n.fromRuns(runs, true, opt); err != nil {
		return err
	}
	if len(runs) == 1 && len(runs[0].knots) == 1 {
		t := tail{growth: 100_000}
		return n.build(n.Map.Knots(), nil, t)
	}
	return nil
}

func (r *SnapshotReport) warnf(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
