package api

import (
	"github.com/prlx-go/prlx/core/kernel/diff"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// divergenceTable has a row for every divergence that the comparison kept.
func divergenceTable(r *diff.Result) *Table {
	n := len(r.Rows)
	ids, locations := siteNames(r.Sites)
	var kinds Strings
	wide := func(get func(*diff.Row) int64) []int64 {
		out := make([]int64, n)
		for i := range r.Rows {
			out[i] = get(&r.Rows[i])
		}
		return out
	}
	narrow := func(get func(*diff.Row) int32) []int32 {
		out := make([]int32, n)
		for i := range r.Rows {
			out[i] = get(&r.Rows[i])
		}
		return out
	}
	flag := func(get func(*diff.Row) bool) []bool {
		out := make([]bool, n)
		for i := range r.Rows {
			out[i] = get(&r.Rows[i])
		}
		return out
	}
	for i := range r.Rows {
		kinds.Append(r.Rows[i].Kind.String())
	}
	siteOf := narrow(func(d *diff.Row) int32 {
		if d.SiteA == diff.None {
			return d.SiteB
		}
		return d.SiteA
	})
	siteB := narrow(func(d *diff.Row) int32 {
		if d.Kind == diff.RowPath {
			return d.SiteB
		}
		return diff.None
	})
	inA := flag(func(d *diff.Row) bool { return d.SiteA != diff.None })
	inB := flag(func(d *diff.Row) bool { return d.SiteB != diff.None })
	valued := flag(func(d *diff.Row) bool { return d.Kind == diff.RowValue })
	taken := flag(func(d *diff.Row) bool { return d.Kind == diff.RowBranch && r.A.Taken && r.B.Taken })
	types := narrow(func(d *diff.Row) int32 {
		if d.Type == warptrace.TypeNone {
			return missingCode
		}
		return int32(d.Type)
	})

	out := NewTable(n)
	out.Int64("warp", "", wide(func(d *diff.Row) int64 { return int64(d.Warp) }), nil)
	out.Int32("event", "", narrow(func(d *diff.Row) int32 { return d.EventA }), nil)
	out.Int32("event_b", "", narrow(func(d *diff.Row) int32 { return d.EventB }), nil)
	out.Strings("kind", &kinds)
	out.Codes("site", siteOf, ids)
	out.Codes("location", located(siteOf, locations), locations)
	out.Codes("site_b", siteB, ids)
	out.Codes("location_b", located(siteB, locations), locations)
	out.Int64("count", "", wide(func(d *diff.Row) int64 {
		if d.Kind == diff.RowExtraEvents {
			return int64(max(d.Count, d.CountB)) // on the side that has them
		}
		return int64(d.Count)
	}), nil)
	out.Int64("count_b", "", wide(func(d *diff.Row) int64 { return int64(d.CountB) }), nil)
	out.Int64("occurrence", "", wide(func(d *diff.Row) int64 { return int64(d.OccurrenceA) }), nil)
	out.Int64("occurrence_b", "", wide(func(d *diff.Row) int64 { return int64(d.OccurrenceB) }), nil)
	out.Int32("dir_a", "", narrow(func(d *diff.Row) int32 { return int32(d.DirA) }), inA)
	out.Int32("dir_b", "", narrow(func(d *diff.Row) int32 { return int32(d.DirB) }), inB)
	out.Int64("active_a", "", wide(func(d *diff.Row) int64 { return int64(d.ActiveA) }), inA)
	out.Int64("active_b", "", wide(func(d *diff.Row) int64 { return int64(d.ActiveB) }), inB)
	out.Int64("taken_a", "", wide(func(d *diff.Row) int64 { return int64(d.TakenA) }), taken)
	out.Int64("taken_b", "", wide(func(d *diff.Row) int64 { return int64(d.TakenB) }), taken)
	out.Int64("value_a", "", wide(func(d *diff.Row) int64 { return int64(d.ValueA) }), valued)
	out.Int64("value_b", "", wide(func(d *diff.Row) int64 { return int64(d.ValueB) }), valued)
	out.Codes("type", types, typeDictionary(types))
	out.Int64("lanes", "", wide(func(d *diff.Row) int64 { return int64(d.Lanes) }), flag(func(d *diff.Row) bool { return d.Lanes != 0 }))
	out.Int32("cluster", "", narrow(func(d *diff.Row) int32 { return d.Cluster }), flag(func(d *diff.Row) bool { return d.Cluster >= 0 }))
	out.Bool("follows", flag(func(d *diff.Row) bool { return d.Follows }), nil)
	out.Bool("noise", flag(func(d *diff.Row) bool { return d.Noise }), nil)
	out.Bool("accepted", flag(func(d *diff.Row) bool { return d.Accepted }), nil)
	return out
}

// siteNames are the ids of the sites of a comparison, and their locations, "" unknown.
func siteNames(sites []diff.SiteRef) (ids, locations []string) {
	ids, locations = make([]string, len(sites)), make([]string, len(sites))
	for i := range sites {
		ids[i], locations[i] = sites[i].Name(), sites[i].Location()
	}
	return ids, locations
}

// located are the codes of sites whose location is known.
func located(codes []int32, locations []string) []int32 {
	out := make([]int32, len(codes))
	for i, code := range codes {
		out[i] = code
		if code >= 0 && locations[code] == "" {
			out[i] = missingCode
		}
	}
	return out
}

// clusterTable has a row for every cluster that the document lists.
func clusterTable(doc *diff.Document) *Table {
	n := len(doc.Clusters)
	id, warps, blocks, divergences := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	warp, event := make([]int64, n), make([]int64, n)
	follows, noise := make([]bool, n), make([]bool, n)
	var ranges, kind, where, location Strings
	for i := range doc.Clusters {
		c := &doc.Clusters[i]
		id[i], warps[i], blocks[i], divergences[i] = c.ID, c.Warps, c.Blocks, c.Divergences
		warp[i], event[i] = c.First.WarpIdx, c.First.EventIdx
		follows[i], noise[i] = c.Follows, c.Noise
		ranges.Append(c.WarpRanges)
		kind.Append(c.First.Kind)
		where.Append(c.First.SiteID)
		appendOrMissing(&location, c.First.SourceLocation)
	}
	out := NewTable(n)
	out.Int64("cluster", "", id, nil)
	out.Int64("warps", "", warps, nil)
	out.Strings("warp_ranges", &ranges)
	out.Int64("blocks", "", blocks, nil)
	out.Int64("divergences", "", divergences, nil)
	out.Strings("kind", &kind)
	out.Strings("site", &where)
	out.Strings("location", &location)
	out.Int64("warp", "", warp, nil)
	out.Int64("event", "", event, nil)
	out.Bool("follows", follows, nil)
	out.Bool("noise", noise, nil)
	return out
}

// siteSummaryTable has a row for every site that differs.
func siteSummaryTable(doc *diff.Document) *Table {
	n := len(doc.Sites)
	divergences, warps := make([]int64, n), make([]int64, n)
	rate, baseline := make([]float64, n), make([]float64, n)
	noise := make([]bool, n)
	var where, location, kind, ranges Strings
	for i := range doc.Sites {
		s := &doc.Sites[i]
		divergences[i], warps[i], rate[i], baseline[i], noise[i] = s.Divergences, s.Warps, s.Rate, s.BaselineRate, s.Noise
		where.Append(s.SiteID)
		appendOrMissing(&location, s.SourceLocation)
		appendOrMissing(&kind, s.SiteKind)
		ranges.Append(s.WarpRanges)
	}
	out := NewTable(n)
	out.Strings("site", &where)
	out.Strings("location", &location)
	out.Strings("kind", &kind)
	out.Int64("divergences", "", divergences, nil)
	out.Int64("warps", "", warps, nil)
	out.Strings("warp_ranges", &ranges)
	out.Float64("rate", "", rate, nil)
	out.Float64("baseline_rate", "", baseline, nil)
	out.Bool("noise", noise, nil)
	return out
}
