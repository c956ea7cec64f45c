package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// gathering takes what differs warp by warp, in the order of warps, and makes the Result of it.
type gathering struct {
	r        *Result
	opt      *Options
	sites    *siteMap
	index    *siteIndex
	clusters map[[2]uint64]int32
	causes   []cause // of clusters, likewise
	firsts   []firstRow
	cleared  []bool // clusters of which at least one warp follows nothing
	lastWarp []uint64
	parts    [][]Row // of Result.Rows
	kept     int64   // rows in them

	written  [2]*warptrace.Outputs // nil: that recording does not say
	oneSided [2]kindsAsked         // events that A alone and that B alone was asked for
}

// maxTracked is how many clusters are told apart before the later ones are only counted.
const maxTracked = 1 << 16

// cause orders divergences by how early they can be a cause, see causes.go.
type cause struct {
	epoch uint32
	event int32
	kind  RowKind
	warp  uint64
}

// firstRow is the first row of one warp.
type firstRow struct {
	warp    uint64
	row     int32 // -1: beyond Options.MaxRows
	cluster int32 // -1: beyond maxTracked
	epoch   uint32
}

func newGathering(r *Result, opt *Options, sites *siteMap) *gathering {
	r.epochs = make(map[uint64]uint32)
	return &gathering{r: r, opt: opt, sites: sites, index: newSiteIndex(sites), clusters: make(map[[2]uint64]int32)}
}

func (g *gathering) newWorker(ctx context.Context) *worker {
	w := &worker{opt: g.opt, sites: g.sites, budget: budgetOfWarp(max(g.r.A.WarpSlots, g.r.B.WarpSlots))}
	w.pair.values, w.pair.limit = g.opt.Values, g.opt
	w.oneSided = g.oneSided
	w.budget.Stop = func() bool { return ctx.Err() != nil }
	w.filter.set(g.opt, g.sites)
	return w
}

// walked takes the totals of the walk.
func (g *gathering) walked(stats warptrace.WalkStats) {
	g.r.Stats.WarpsCompared = stats.Warps
	g.r.Stats.WarpsA, g.r.Stats.WarpsB = stats.WarpsA, stats.WarpsB
	g.r.Stats.EventsA, g.r.Stats.EventsB = stats.EventsA, stats.EventsB
	g.r.LossesA, g.r.LossesB = stats.LossesA, stats.LossesB
}

// withoutEvents deals with pairs that cannot be aligned: a warp that a truncated recording lacks, and warps that left a hash only.
func (g *gathering) withoutEvents(p *warptrace.Pair) (d *warpDiff, done bool) {
	if !p.HasA && g.r.A.Truncated || !p.HasB && g.r.B.Truncated {
		return &warpDiff{warp: p.Warp, lost: true}, true
	}
	if p.A.Events == 0 && p.B.Events == 0 {
		if p.A.HasRolling && p.B.HasRolling && p.A.Rolling != p.B.Rolling || p.A.Total != p.B.Total {
			return &warpDiff{warp: p.Warp, unlocated: true}, true
		}
		return nil, true
	}
	if p.HasA && p.HasB && p.A.HasRolling != p.B.HasRolling && p.A.Events*p.B.Events == 0 {
		return nil, true // a hash beside events: whether they are of one way, nobody can tell (FlowCoverage says so)
	}
	return nil, false
}

// add takes one warp.
func (g *gathering) add(d *warpDiff) {
	s := &g.r.Stats
	s.Filtered += d.filtered
	if d.approx {
		s.Approximate++
	}
	if d.lost {
		s.LostTails++
	}
	if d.unlocated {
		s.Unlocated++
		s.WarpsDiverged++
	}
	if len(d.rows) == 0 {
		return
	}
	counts := !d.reordered || g.opt.StrictOrder
	if d.reordered {
		s.Reordered++
		s.ReorderedRows += int64(len(d.rows))
		if d.moved {
			s.MovedWarps++
		}
	}
	if counts {
		s.WarpsDiverged++
	}
	for k := range d.rows {
		g.name(&d.rows[k], d.kinds[k])
		if counts {
			g.tally(&d.rows[k])
		}
	}
	cluster := g.cluster(d)
	at := int32(-1)
	room := min(g.opt.MaxRows, math.MaxInt32) - g.kept
	if room > 0 {
		at = int32(g.kept)
	}
	for k := range d.rows {
		d.rows[k].Cluster = cluster
	}
	kept := d.rows[:min(int64(len(d.rows)), max(room, 0))]
	g.parts = append(g.parts, kept)
	g.kept += int64(len(kept))
	s.RowsOmitted += int64(len(d.rows) - len(kept))
	g.firsts = append(g.firsts, firstRow{d.warp, at, cluster, d.epoch})
	if d.epoch > 0 {
		g.r.epochs[d.warp] = d.epoch
	}
	if cluster >= 0 && len(g.r.Clusters[cluster].Warps) == 1 {
		g.r.Clusters[cluster].At = at
		g.r.Clusters[cluster].First = d.rows[0]
	}
}

// name replaces local site numbers by positions in Result.Sites.
func (g *gathering) name(r *Row, kinds [2]site.Kind) {
	a, b := uint32(r.SiteA), uint32(r.SiteB)
	r.SiteA, r.SiteB = None, None
	if r.Count > 0 {
		r.SiteA = g.index.ofA(a, kinds[0])
	}
	switch {
	case r.CountB > 0 && r.Count > 0 && r.Kind != RowPath:
		r.SiteB = r.SiteA
	case r.CountB > 0:
		r.SiteB = g.index.ofB(b, kinds[1])
	}
}

// tally counts a row.
func (g *gathering) tally(r *Row) {
	g.r.Stats.ByKind[r.Kind]++
	at := siteOfRow(r)
	for len(g.r.Tallies) <= int(at) {
		g.r.Tallies = append(g.r.Tallies, siteTally{})
		g.lastWarp = append(g.lastWarp, math.MaxUint64)
	}
	t := &g.r.Tallies[at]
	t.Rows++
	t.ByKind[r.Kind]++
	if g.lastWarp[at] != r.Warp {
		g.lastWarp[at] = r.Warp
		t.Warps++
	}
}

// cluster adds the warp to its cluster and returns that, -1 when there are too many.
func (g *gathering) cluster(d *warpDiff) int32 {
	key := d.digest
	if d.reordered {
		key[0] = ^key[0]
	}
	at, known := g.clusters[key]
	if !known {
		if len(g.r.Clusters) >= maxTracked {
			return -1
		}
		at = int32(len(g.r.Clusters))
		g.clusters[key] = at
		c := clusterRef{At: -1, Rows: int32(len(d.rows)), Reordered: d.reordered}
		for k := range d.rows {
			c.ByKind[d.rows[k].Kind]++
		}
		c.around = d.around
		for k := range c.around {
			g.nameSeen(&c.around[k])
		}
		g.r.Clusters = append(g.r.Clusters, c)
		g.causes = append(g.causes, causeOf(&d.rows[0], d.epoch))
		g.cleared = append(g.cleared, false)
	}
	c := &g.r.Clusters[at]
	c.Warps = append(c.Warps, d.warp)
	if early := causeOf(&d.rows[0], d.epoch); early.compare(g.causes[at]) < 0 {
		g.causes[at] = early
	}
	return at
}

func (g *gathering) nameSeen(p *pairSeen) {
	if p.eventA >= 0 {
		p.a.site = g.index.ofA(uint32(p.a.site), p.a.kind)
	}
	if p.eventB >= 0 {
		p.b.site = g.index.ofB(uint32(p.b.site), p.b.kind)
	}
}

// done finishes the result: who follows whom, and the order of clusters.
func (g *gathering) done() {
	r := g.r
	r.Sites = g.index.refs
	r.Rows = make([]Row, 0, g.kept)
	for i, part := range g.parts {
		r.Rows = append(r.Rows, part...)
		g.parts[i] = nil
	}
	for len(r.Tallies) < len(r.Sites) {
		r.Tallies = append(r.Tallies, siteTally{})
	}
	g.follow()
	order := make([]int32, len(r.Clusters))
	for i := range order {
		order[i] = int32(i)
		r.Clusters[i].Follows = !g.cleared[i]
		r.Clusters[i].First.Follows = r.Clusters[i].Follows
	}
	slices.SortFunc(order, func(x, y int32) int {
		return cmp.Or(g.causes[x].before(g.causes[y], r.Clusters[x].Follows, r.Clusters[y].Follows), cmp.Compare(x, y))
	})
	to := make([]int32, len(order))
	clusters := make([]clusterRef, 0, min(len(order), g.opt.MaxClusters))
	for id, old := range order {
		to[old] = -1
		if id < g.opt.MaxClusters {
			to[old] = int32(id)
			clusters = append(clusters, r.Clusters[old])
			clusters[id].First.Cluster = int32(id)
		}
	}
	r.ClustersOmitted = int64(len(order) - len(clusters))
	r.Clusters = clusters
	for k := range r.Rows {
		if c := &r.Rows[k].Cluster; *c >= 0 {
			*c = to[*c]
		}
	}
	r.Settle()
}
