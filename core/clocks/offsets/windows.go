package offsets

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
)

// minWindowPairs is how many probes a window's fit needs to count, as in the prober that writes them.
const minWindowPairs = 10

// SolveWindows finds the clocks of all nodes from the probe windows of each: lines fitted by the prober, of which only
// theta = beta + alpha*(t - an instant of the window) is known. Every measured pair is used, in both directions where there are
// two, weighted by its scatter; no tree and no loop is singled out. Which instant of the window beta belongs to is a matter of
// the prober (docs/concepts/solving.md); where the windows themselves cannot tell, alpha times half a window is in the bound.
func SolveWindows(ctx context.Context, files []*clockfile.Windows, options Options) (*Solution, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	g := NewGraph()
	if dropped := g.addWindows(files); len(g.edges) == 0 {
		return nil, fault.New(fault.Alignment, "no usable probe windows: %d edges have fewer than %d probes or none", dropped, minWindowPairs)
	}
	ref, err := opt.reference(g.hosts())
	if err != nil {
		return nil, err
	}
	return g.solve(ctx, Clock{Node: ref}, opt)
}

// addWindows adds the probe windows of every node, and returns how many edges of windows have too few probes and are left out.
func (g *Graph) addWindows(files []*clockfile.Windows) (dropped int) {
	w := gatherWindows(files)
	phase := w.judgePhase()
	for _, id := range w.ids {
		g.Mention(Clock{Node: id})
	}
	for _, k := range w.keys {
		w.fill(g.Between(Clock{Node: int(k.a)}, Clock{Node: int(k.b)}, Windows), phase)
	}
	g.starts = append(g.starts, w.starts...)
	if w.dropped > 0 {
		g.warnf("%d edges of windows have fewer than %d probes and are not used", w.dropped, minWindowPairs)
	}
	if !phase.fixed {
		g.warnf("the instant of a window that its beta belongs to cannot be determined: the middle is taken, and up to %.1f us are in the bounds for it", w.widest/1e3)
	}
	return w.dropped
}

// windowSample is one edge of one window.
type windowSample struct {
	from, to int64 // the window, on the source's clock
	beta     float64
	alpha    float64
	pairs    int64
}

type directed struct{ src, dst int }

type windowSet struct {
	edges   map[directed][]windowSample
	keys    []pairKey
	ids     []int
	starts  []clockfile.NodeMeta
	dropped int
	spacing int64   // typical distance of the windows of an edge
	widest  float64 // largest |alpha| * half window
}

func gatherWindows(files []*clockfile.Windows) *windowSet {
	g := &windowSet{edges: map[directed][]windowSample{}}
	pairs := map[pairKey]bool{}
	ids := map[int]bool{}
	for _, f := range files {
		ids[f.Node] = true
		if f.Meta != (clockfile.NodeMeta{}) {
			g.starts = append(g.starts, f.Meta)
		}
		for _, w := range f.Rows {
			if w.FromNS <= 0 || w.ToNS < w.FromNS || w.ToNS > maxInstant {
				g.dropped += len(w.Edges)
				continue
			}
			for _, e := range w.Edges {
				if e.Dst == f.Node || e.Pairs < minWindowPairs || e.Alpha == 0 && e.BetaNS == 0 || math.Abs(e.BetaNS) > float64(maxOffset) {
					g.dropped++
					continue
				}
				d := directed{f.Node, e.Dst}
				g.edges[d] = append(g.edges[d], windowSample{w.FromNS, w.ToNS, untruncated(e.BetaNS), e.Alpha, e.Pairs})
				ids[e.Dst] = true
				pairs[pairKey{int32(min(f.Node, e.Dst)), int32(max(f.Node, e.Dst))}] = true
			}
		}
	}
	for k := range pairs {
		g.keys = append(g.keys, k)
	}
	sort.Slice(g.keys, func(i, j int) bool {
		return g.keys[i].a < g.keys[j].a || g.keys[i].a == g.keys[j].a && g.keys[i].b < g.keys[j].b
	})
	for id := range ids {
		g.ids = append(g.ids, id)
	}
	sort.Ints(g.ids)
	sort.Slice(g.starts, func(i, j int) bool { return g.starts[i].Node < g.starts[j].Node })
	g.sortEdges()
	return g
}

// untruncated gives back, on average, what the prober cut off when it converted beta to whole ns.
func untruncated(beta float64) float64 {
	if beta == math.Trunc(beta) && beta != 0 {
		return beta + math.Copysign(0.5, beta)
	}
	return beta
}

// sortEdges orders the windows of each edge and measures their distance.
func (g *windowSet) sortEdges() {
	var spacings []float64
	for _, d := range g.directions() {
		w := g.edges[d]
		slices.SortStableFunc(w, func(p, q windowSample) int { return cmp.Compare(p.from, q.from) })
		kept := w[:0]
		for _, s := range w {
			if len(kept) > 0 && kept[len(kept)-1].from == s.from {
				if s.pairs > kept[len(kept)-1].pairs {
					kept[len(kept)-1] = s
				}
				g.dropped++
				continue
			}
			if len(kept) > 0 && len(spacings) < 1<<16 {
				spacings = append(spacings, float64(s.from-kept[len(kept)-1].from))
			}
			kept = append(kept, s)
			g.widest = math.Max(g.widest, math.Abs(s.alpha)*float64(s.to-s.from)/2)
		}
		g.edges[d] = kept
	}
	g.spacing = int64(math.Max(1e8, math.Min(60e9, medianOf(spacings))))
	if len(spacings) == 0 {
		g.spacing = 4e9
	}
}

func (g *windowSet) directions() []directed {
	var out []directed
	for _, k := range g.keys {
		for _, d := range [2]directed{{int(k.a), int(k.b)}, {int(k.b), int(k.a)}} {
			if len(g.edges[d]) > 0 {
				out = append(out, d)
			}
		}
	}
	return out
}

// phase says which instant of a window beta belongs to: its start when fixed, else any.
type phase struct{ fixed bool }

// judgePhase looks whether betas follow each other smoothly (then they belong to one fixed instant, and by the format's
// definition that is the start) or scatter like a random instant of the window does.
func (g *windowSet) judgePhase() phase {
	var fixed, random float64
	for _, d := range g.directions() {
		w := g.edges[d]
		if len(w) < minScatter {
			continue
		}
		samples := make([]sample, len(w))
		alphas := make([]float64, len(w))
		for i, s := range w {
			samples[i] = sample{at: s.from, offset: int64(math.Round(s.beta))}
			alphas[i] = math.Abs(s.alpha) * float64(s.to-s.from)
		}
		q := newSeries(samples, 20)
		q.measure()
		spread := medianOf(alphas) / math.Sqrt(12)
		if spread < 20 {
			continue
		}
		if q.sigma < 0.3*spread {
			fixed += spread
		} else {
			random += spread
		}
	}
	return phase{fixed: fixed > random}
}

// sampleAt turns a window into the instant (on the source's clock), theta there, and how far off that can be for the phase.
func (p phase) sampleAt(w windowSample) (t int64, theta, slack float64) {
	if p.fixed {
		return w.from, w.beta, 0
	}
	length := float64(w.to - w.from)
	return w.from + (w.to-w.from)/2, w.beta, math.Abs(w.alpha) * length / 2
}

// measured is one merged sample of a link.
type measured struct {
	x     int64 // A's clock
	theta float64
	slack float64
	w     float64 // probes behind it
}

// fill merges both directions of a pair into readings of theta on A's clock.
func (g *windowSet) fill(e *Edge, p phase) {
	a, b := e.A.Node, e.B.Node
	there, back := g.edges[directed{a, b}], g.edges[directed{b, a}]
	all := make([]measured, 0, len(there)+len(back))
	probes := int64(0)
	for _, w := range there {
		t, theta, slack := p.sampleAt(w)
		all = append(all, measured{t, theta, slack, float64(w.pairs)})
		probes += w.pairs
	}
	for _, w := range back { // theta is A minus B, at B's t
		t, theta, slack := p.sampleAt(w)
		all = append(all, measured{t + int64(math.Round(theta)), -theta, slack, float64(w.pairs)})
		probes += w.pairs
	}
	slices.SortStableFunc(all, func(p, q measured) int { return cmp.Compare(p.x, q.x) })
	all = mergeClose(all, g.spacing/4)
	e.around(all[0].x, int64(math.Round(all[0].theta)))
	e.spacing, e.probes = g.spacing, int(min(probes, math.MaxInt32))
	readings := make([]sample, len(all))
	for i, m := range all {
		v := m.theta - float64(e.baseTheta)
		whole := math.Round(v)
		readings[i] = sample{at: m.x, offset: e.baseTheta + int64(whole), rest: v - whole, slack: m.slack, bound: -1}
	}
	e.read(readings)
}

// mergeClose averages samples of the two directions that belong to the same window, by their probes.
func mergeClose(all []measured, reach int64) []measured {
	out := all[:0]
	for i := 0; i < len(all); {
		m := all[i]
		if i+1 < len(all) && all[i+1].x-m.x <= reach {
			n := all[i+1]
			f := n.w / (m.w + n.w)
			m.x += int64(math.Round(f * float64(n.x-m.x)))
			m.theta += f * (n.theta - m.theta)
			m.slack += f * (n.slack - m.slack)
			m.w += n.w
			i++
		}
		out = append(out, m)
		i++
	}
	return out
}

// fromReadings cleans the readings and makes parts of those between steps and gaps, one window a reading.
func (l *link) fromReadings(opt *Options) {
	q := newSeries(l.readings, 20)
	for i := range q.v {
		q.x[i] += float64(l.readings[0].at - l.baseX)
		q.v[i] += float64(l.readings[0].offset - l.baseTheta)
	}
	l.outliers = 2 * q.clean()
	l.fromSeries(q, l.spacing, opt)
}

// fromSeries makes parts of the samples between steps and gaps, one window a sample.
func (l *link) fromSeries(q *series, spacing int64, opt *Options) {
	slopes := []float64{0}
	if len(q.x) > 1 {
		slopes = q.slopes()
	}
	steps := q.steps()
	isStep := func(i int) bool { // asked in order
		for len(steps) > 0 && steps[0] < i {
			steps = steps[1:]
		}
		return len(steps) > 0 && steps[0] == i
	}
	l.obs = slices.Grow(l.obs, len(q.x))
	from := 0
	for i := range q.x {
		l.obs = append(l.obs, obs{x: q.x[i], v: q.v[i]})
		gap := i+1 < len(q.x) && q.x[i+1]-q.x[i] > 8*float64(spacing)
		if i+1 < len(q.x) && !gap && !isStep(i) {
			continue
		}
		part := part{from: from, to: i + 1, windows: make([]window, 0, i+1-from)}
		for k := from; k <= i; k++ {
			part.windows = append(part.windows, q.window(k, slopes[min(k, len(slopes)-1)]*1e9, spacing, opt))
		}
		l.parts = append(l.parts, part)
		if i+1 < len(q.x) {
			b := breakIn{kind: breakGap, fromX: q.x[i], toX: q.x[i+1], slope: float64(opt.WanderPPB)}
			if isStep(i) {
				b.kind = breakStep
			}
			l.breaks = append(l.breaks, b)
		}
		from = i + 1
	}
}

// window is the fit at one sample: its value and bound, and the local slope.
func (q *series) window(k int, slope float64, spacing int64, opt *Options) window {
	b := math.Max(3.5*q.sigma, q.slack[k]) + 1
	if len(q.x) < minScatter {
		b = float64(opt.roundBound()) + q.slack[k]
	}
	ds := b/float64(spacing)*1e9 + float64(opt.WanderPPB)
	return boxWindow(q.x[k], q.v[k], b, slope, ds)
}
