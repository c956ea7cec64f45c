package diff

import "cmp"

// What can be a cause of what.
//
// A recording says in which order one warp passed its events, and nothing about the order among warps, except where the warps of a
// block meet: at barriers. So a divergence follows another one, and is marked as such, when
//
//   - it comes after another one in the same warp, or
//   - its warp has passed more barriers than another warp of the same block had passed when that one diverged, and that other
//     divergence is the first of its warp. Barriers count when they were recorded, as sites of the kind barrier.
//
// Atomics and memory can carry a difference from warp to warp as well, but a recording does not show in which order warps reached
// them; nothing is marked for that.
//
// Of the divergences that follow nothing, the first is the one with the fewest barriers behind it, then the fewest events, then by
// kind (decisions and lanes before paths, paths before values), then the lowest warp. Events of different warps between the
// same barriers have no order in time: which of them is called first is a convention, and what makes the report repeatable.

// causeRank orders kinds: what decides where a warp goes before what it computes.
var causeRank = [rowKinds]int{RowBranch: 0, RowActiveMask: 1, RowPath: 2, RowExtraEvents: 3, RowValue: 4}

func causeOf(r *Row, epoch uint32) cause { return cause{epoch, r.EventA, r.Kind, r.Warp} }

// compare orders causes, the earlier first.
func (c cause) compare(o cause) int { return c.before(o, false, false) }

// before is compare between two that may follow something.
func (c cause) before(o cause, follows, otherFollows bool) int {
	return cmp.Or(
		cmp.Compare(c.epoch, o.epoch), cmp.Compare(truth(follows), truth(otherFollows)), cmp.Compare(c.event, o.event),
		cmp.Compare(causeRank[c.kind], causeRank[o.kind]), cmp.Compare(c.warp, o.warp),
	)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// follow marks the first rows of warps that follow from another warp of their block.
func (g *gathering) follow() {
	r := g.r
	perBlock := uint64(max(r.A.WarpsPerBlock, 1))
	for from := 0; from < len(g.firsts); {
		block := g.firsts[from].warp / perBlock
		to := from
		earliest := g.firsts[from].epoch
		for ; to < len(g.firsts) && g.firsts[to].warp/perBlock == block; to++ {
			earliest = min(earliest, g.firsts[to].epoch)
		}
		for _, f := range g.firsts[from:to] {
			follows := g.sites.barriers && f.epoch > earliest
			if follows && f.row >= 0 {
				r.Rows[f.row].Follows = true
			}
			if !follows && f.cluster >= 0 {
				g.cleared[f.cluster] = true
			}
		}
		from = to
	}
}

// Settle brings clusters and First in line with the marks on rows, after somebody has set Noise or Accepted on some.
func (r *Result) Settle() {
	type marks struct{ rows, noise, accepted int64 }
	of := make([]marks, len(r.Clusters))
	for k := range r.Rows {
		row := &r.Rows[k]
		if row.Cluster < 0 {
			continue
		}
		m := &of[row.Cluster]
		m.rows++
		if row.Noise {
			m.noise++
		}
		if row.Accepted {
			m.accepted++
		}
	}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		c.Noise = of[i].rows > 0 && of[i].noise == of[i].rows
		c.Accepted = of[i].rows > 0 && of[i].accepted == of[i].rows
	}
	r.First = -1
	var best cause
	follows := false
	for from := 0; from < len(r.Rows); {
		to := from
		for to < len(r.Rows) && r.Rows[to].Warp == r.Rows[from].Warp {
			to++
		}
		if k := r.firstThatCounts(from, to); k >= 0 {
			row := &r.Rows[k]
			c := causeOf(row, r.epochs[row.Warp])
			undecided := r.First >= 0 && r.Rows[r.First].Undecided
			if r.First < 0 || undecided && !row.Undecided || undecided == row.Undecided && c.before(best, row.Follows, follows) < 0 {
				r.First, best, follows = int32(k), c, row.Follows
			}
		}
		from = to
	}
}

// firstThatCounts finds the first row of a warp that counts, -1 when none does. What is undecided is the first only where nothing is
// decided.
func (r *Result) firstThatCounts(from, to int) int {
	first := -1
	for k := from; k < to; k++ {
		switch {
		case !r.Options.counts(&r.Rows[k]):
		case !r.Rows[k].Undecided:
			return k
		case first < 0:
			first = k
		}
	}
	return first
}
