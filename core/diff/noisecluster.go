package diff

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// regroup gathers warps again once noise is known: by what is left of them, not by where noise has put it; what is undecided counts as
// left where nothing is decided. Warps of which nothing is left are gathered by the noise that comes first in them. It needs all rows; without them the clusters stay.
func (r *Result) regroup() {
	if r.Stats.RowsOmitted > 0 || r.Baseline == nil || r.Baseline.Suppressed+int64(len(r.Baseline.Undecided)) == 0 {
		return
	}
	before := r.Clusters
	g := &regrouping{r: r, seed: maphash.MakeSeed(), known: make(map[uint64][]int32)}
	for from := 0; from < len(r.Rows); {
		to := from
		for to < len(r.Rows) && r.Rows[to].Warp == r.Rows[from].Warp {
			to++
		}
		g.warp(from, to, before)
		from = to
	}
	slices.SortFunc(g.clusters, func(x, y regrouped) int {
		return cmp.Or(cmp.Compare(truth(x.Noise), truth(y.Noise)), cmp.Compare(truth(x.First.Undecided), truth(y.First.Undecided)), x.cause.before(y.cause, x.Follows, y.Follows))
	})
	most := r.Options.withDefaults().MaxClusters
	r.Clusters, r.ClustersOmitted = nil, int64(max(len(g.clusters)-most, 0))
	for i := range g.clusters {
		c := &g.clusters[i]
		id := int32(-1)
		if i < most {
			id = int32(i)
			c.First.Cluster = id
			r.Clusters = append(r.Clusters, c.clusterRef)
		}
		for _, at := range c.rows {
			for k := at; k < len(r.Rows) && r.Rows[k].Warp == r.Rows[at].Warp; k++ {
				r.Rows[k].Cluster = id
			}
		}
	}
}

type regrouping struct {
	r        *Result
	seed     maphash.Seed
	known    map[uint64][]int32 // clusters by hash
	clusters []regrouped
}

type regrouped struct {
	clusterRef
	cause cause
	rows  []int // the first row of each warp
	like  []Row // of the first warp, as they are compared
}

// warp puts the rows from..to, of one warp, into a cluster.
func (g *regrouping) warp(from, to int, before []clusterRef) {
	rows := g.r.Rows[from:to]
	at := left(rows, from) // the rows that make the cluster
	noise := len(at) == 0
	if noise {
		at = []int{from}
	}
	like := make([]Row, 0, len(at))
	var h maphash.Hash
	h.SetSeed(g.seed)
	for _, k := range at {
		row := likeness(&g.r.Rows[k], noise)
		like = append(like, row)
		maphash.WriteComparable(&h, row)
	}
	first := &g.r.Rows[at[0]]
	c := causeOf(first, g.r.epochs[first.Warp])
	sum := h.Sum64()
	for _, id := range g.known[sum] {
		if known := &g.clusters[id]; slices.Equal(known.like, like) {
			known.Warps, known.rows = append(known.Warps, first.Warp), append(known.rows, from)
			known.Follows = known.Follows && first.Follows
			if c.compare(known.cause) < 0 {
				known.cause = c
			}
			return
		}
	}
	g.known[sum] = append(g.known[sum], int32(len(g.clusters)))
	made := regrouped{cause: c, rows: []int{from}, like: like}
	made.clusterRef = clusterRef{
		First: *first, At: int32(at[0]), Rows: int32(len(at)), Warps: []uint64{first.Warp}, Follows: first.Follows, Noise: noise,
		Reordered: first.Reordered,
	}
	for _, k := range at {
		made.ByKind[g.r.Rows[k].Kind]++
	}
	if old := first.Cluster; old >= 0 && int(old) < len(before) && before[old].At == made.At {
		made.around = before[old].around
	}
	g.clusters = append(g.clusters, made)
}

// left lists the rows of a warp that are decided and no noise, else those that are undecided, by their positions from the first on.
func left(rows []Row, from int) []int {
	var decided, undecided []int
	for k := range rows {
		switch {
		case rows[k].Noise:
		case rows[k].Undecided:
			undecided = append(undecided, from+k)
		default:
			decided = append(decided, from+k)
		}
	}
	if len(decided) > 0 {
		return decided
	}
	return undecided
}

// likeness is what two rows of different warps must share to be alike: not where they stand, which noise moves, and not their values.
// Of noise only the site and the kind.
func likeness(row *Row, noise bool) Row {
	l := Row{Kind: row.Kind, SiteA: row.SiteA, SiteB: row.SiteB, Reordered: row.Reordered}
	if noise {
		return l
	}
	l.Count, l.CountB, l.OccurrenceA, l.OccurrenceB = row.Count, row.CountB, row.OccurrenceA, row.OccurrenceB
	l.DirA, l.DirB, l.ActiveA, l.ActiveB, l.TakenA, l.TakenB = row.DirA, row.DirB, row.ActiveA, row.ActiveB, row.TakenA, row.TakenB
	return l
}
