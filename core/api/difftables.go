package api

import (
	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// divergenceRows are the columns of the table of divergences. They are filled in one pass: there may be a million rows.
type divergenceRows struct {
	warp, count, countB, occurrence, occurrenceB               []int64
	activeA, activeB, takenA, takenB, valueA, valueB, lanes    []int64
	event, eventB, kind, site, location, siteB, locationB, typ []int32
	dirA, dirB, cluster                                        []int32
	inA, inB, decided, valued, laned, clustered                []bool
	follows, noise, accepted                                   []bool
}

func newDivergenceRows(n int) *divergenceRows {
	d := new(divergenceRows)
	wide := []*[]int64{
		&d.warp, &d.count, &d.countB, &d.occurrence, &d.occurrenceB,
		&d.activeA, &d.activeB, &d.takenA, &d.takenB, &d.valueA, &d.valueB, &d.lanes,
	}
	narrow := []*[]int32{
		&d.event, &d.eventB, &d.kind, &d.site, &d.location, &d.siteB, &d.locationB, &d.typ, &d.dirA, &d.dirB, &d.cluster,
	}
	flags := []*[]bool{&d.inA, &d.inB, &d.decided, &d.valued, &d.laned, &d.clustered, &d.follows, &d.noise, &d.accepted}
	for _, c := range wide {
		*c = make([]int64, n)
	}
	for _, c := range narrow {
		*c = make([]int32, n)
	}
	for _, c := range flags {
		*c = make([]bool, n)
	}
	return d
}

// set fills row i. located says which sites have a location; taken, that both recordings know which lanes took a branch.
func (d *divergenceRows) set(i int, r *diff.Row, located []bool, taken bool) {
	d.warp[i], d.event[i], d.eventB[i], d.kind[i] = int64(r.Warp), r.EventA, r.EventB, int32(r.Kind)
	d.count[i], d.countB[i] = int64(r.Count), int64(r.CountB)
	if r.Kind == diff.RowExtraEvents {
		d.count[i] = int64(max(r.Count, r.CountB)) // on the side that has them
	}
	d.inA[i], d.inB[i] = r.SiteA != diff.None, r.SiteB != diff.None
	d.site[i], d.siteB[i] = r.SiteA, missingCode
	if !d.inA[i] {
		d.site[i] = r.SiteB
	}
	if r.Kind == diff.RowPath {
		d.siteB[i] = r.SiteB
	}
	d.location[i], d.locationB[i] = locatedCode(d.site[i], located), locatedCode(d.siteB[i], located)
	d.occurrence[i], d.occurrenceB[i] = int64(r.OccurrenceA), int64(r.OccurrenceB)
	d.dirA[i], d.dirB[i] = int32(r.DirA), int32(r.DirB)
	d.activeA[i], d.activeB[i], d.takenA[i], d.takenB[i] = int64(r.ActiveA), int64(r.ActiveB), int64(r.TakenA), int64(r.TakenB)
	d.valueA[i], d.valueB[i], d.lanes[i] = int64(r.ValueA), int64(r.ValueB), int64(r.Lanes)
	d.decided[i], d.valued[i] = taken && r.Kind == diff.RowBranch, r.Kind == diff.RowValue
	d.typ[i] = missingCode
	if r.Type != warptrace.TypeNone {
		d.typ[i] = int32(r.Type)
	}
	d.laned[i], d.cluster[i], d.clustered[i] = r.Lanes != 0, r.Cluster, r.Cluster >= 0
	d.follows[i], d.noise[i], d.accepted[i] = r.Follows, r.Noise, r.Accepted
}

func locatedCode(code int32, located []bool) int32 {
	if code < 0 || !located[code] {
		return missingCode
	}
	return code
}

// divergenceTable has a row for every divergence that the comparison kept.
func divergenceTable(r *diff.Result) *table {
	ids, locations, located := siteNames(r.Sites)
	d := newDivergenceRows(len(r.Rows))
	taken := r.A.Taken && r.B.Taken
	for i := range r.Rows {
		d.set(i, &r.Rows[i], located, taken)
	}
	kinds := make([]string, diff.RowExtraEvents+1)
	for k := range kinds {
		kinds[k] = diff.RowKind(k).String()
	}
	out := newTable(len(r.Rows))
	out.Int64("warp", "", d.warp, nil)
	out.int32("event", "", d.event, nil)
	out.int32("event_b", "", d.eventB, nil)
	out.codes("kind", d.kind, kinds)
	out.codes("site", d.site, ids)
	out.codes("location", d.location, locations)
	out.codes("site_b", d.siteB, ids)
	out.codes("location_b", d.locationB, locations)
	out.Int64("count", "", d.count, nil)
	out.Int64("count_b", "", d.countB, nil)
	out.Int64("occurrence", "", d.occurrence, nil)
	out.Int64("occurrence_b", "", d.occurrenceB, nil)
	out.int32("dir_a", "", d.dirA, d.inA)
	out.int32("dir_b", "", d.dirB, d.inB)
	out.Int64("active_a", "", d.activeA, d.inA)
	out.Int64("active_b", "", d.activeB, d.inB)
	out.Int64("taken_a", "", d.takenA, d.decided)
	out.Int64("taken_b", "", d.takenB, d.decided)
	out.Int64("value_a", "", d.valueA, d.valued)
	out.Int64("value_b", "", d.valueB, d.valued)
	out.codes("type", d.typ, typeDictionary(d.typ))
	out.Int64("lanes", "", d.lanes, d.laned)
	out.int32("cluster", "", d.cluster, d.clustered)
	out.bool("follows", d.follows, nil)
	out.bool("noise", d.noise, nil)
	out.bool("accepted", d.accepted, nil)
	return out
}

// siteNames are the ids of the sites of a comparison, their locations, and which of them have one.
func siteNames(sites []diff.SiteRef) (ids, locations []string, located []bool) {
	ids, locations, located = make([]string, len(sites)), make([]string, len(sites)), make([]bool, len(sites))
	for i := range sites {
		ids[i], locations[i] = sites[i].Name(), sites[i].Location()
		located[i] = locations[i] != ""
	}
	return ids, locations, located
}

// clusterTable has a row for every cluster that the document lists.
func clusterTable(doc *diff.Document) *table {
	n := len(doc.Clusters)
	id, warps, blocks, divergences := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	warp, event := make([]int64, n), make([]int64, n)
	follows, noise := make([]bool, n), make([]bool, n)
	var ranges, kind, where, location stringColumn
	for i := range doc.Clusters {
		c := &doc.Clusters[i]
		id[i], warps[i], blocks[i], divergences[i] = c.ID, c.Warps, c.Blocks, c.Divergences
		warp[i], event[i] = c.First.WarpIdx, c.First.EventIdx
		follows[i], noise[i] = c.Follows, c.Noise
		ranges.append(c.WarpRanges)
		kind.append(c.First.Kind)
		where.append(c.First.SiteID)
		appendOrMissing(&location, c.First.SourceLocation)
	}
	out := newTable(n)
	out.Int64("cluster", "", id, nil)
	out.Int64("warps", "", warps, nil)
	out.strings("warp_ranges", &ranges)
	out.Int64("blocks", "", blocks, nil)
	out.Int64("divergences", "", divergences, nil)
	out.strings("kind", &kind)
	out.strings("site", &where)
	out.strings("location", &location)
	out.Int64("warp", "", warp, nil)
	out.Int64("event", "", event, nil)
	out.bool("follows", follows, nil)
	out.bool("noise", noise, nil)
	return out
}

// siteSummaryTable has a row for every site that differs.
func siteSummaryTable(doc *diff.Document) *table {
	n := len(doc.Sites)
	divergences, warps := make([]int64, n), make([]int64, n)
	rate, baseline := make([]float64, n), make([]float64, n)
	noise := make([]bool, n)
	var where, location, kind, ranges stringColumn
	for i := range doc.Sites {
		s := &doc.Sites[i]
		divergences[i], warps[i], rate[i], baseline[i], noise[i] = s.Divergences, s.Warps, s.Rate, s.BaselineRate, s.Noise
		where.append(s.SiteID)
		appendOrMissing(&location, s.SourceLocation)
		appendOrMissing(&kind, s.SiteKind)
		ranges.append(s.WarpRanges)
	}
	out := newTable(n)
	out.strings("site", &where)
	out.strings("location", &location)
	out.strings("kind", &kind)
	out.Int64("divergences", "", divergences, nil)
	out.Int64("warps", "", warps, nil)
	out.strings("warp_ranges", &ranges)
	out.float64("rate", "", rate, nil)
	out.float64("baseline_rate", "", baseline, nil)
	out.bool("noise", noise, nil)
	return out
}
