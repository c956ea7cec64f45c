package kernelreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// What a page holds at most. What is left out is said on it.
const (
	maxClusters = 2000
	maxDetails  = 100 // clusters whose lanes and history are on the page
	maxSites    = 2000
	maxPageRows = 20_000
	maxLinks    = 60 // of an explanation
	maxColours  = 8  // families with a colour of their own
	maxUnfolded = 3  // clusters of a family that are shown at once
)

// why is the explanation of the first divergence.
type why struct {
	Class, Confidence, Summary string
	Chain                      []link
	Considered                 []ruling
	Missing                    []string
}

type link struct {
	What, Text, Place, Site, Lanes string
	Recorded                       bool
	Listed                         bool // the site is in the table of sites
}

type ruling struct {
	Class        string
	Score        int
	For, Against []string
}

func newWhy(doc *diff.Document) *why {
	e := doc.Explanation
	if e == nil {
		return nil
	}
	w := &why{Class: clean(e.Class, 60), Confidence: clean(e.Confidence, 40), Summary: clean(e.Summary, maxText), Missing: cleanAll(e.Missing, 20, 600)}
	for i := range e.Chain[:min(len(e.Chain), maxLinks)] {
		l := &e.Chain[i]
		item := link{What: clean(l.What, 40), Text: clean(l.Text, 600), Recorded: l.Recorded, Listed: listed(doc, l.SiteID), Site: clean(l.SiteID, 40), Lanes: ranges(l.Lanes[:min(len(l.Lanes), maxLanes)])}
		if l.SiteID != "" || l.SourceLocation != "" {
			item.Place = clean(siteName(l.SiteID, l.SourceLocation), maxName)
		}
		w.Chain = append(w.Chain, item)
	}
	for i := range e.Considered[:min(len(e.Considered), 20)] {
		r := &e.Considered[i]
		w.Considered = append(w.Considered, ruling{clean(r.Class, 60), r.Score, cleanAll(r.For, 20, 400), cleanAll(r.Against, 20, 400)})
	}
	return w
}

// clusterGroup is the clusters of one role, by family.
type clusterGroup struct {
	Role, Title, Hint string
	Count             int
	Families          []familyRow
	Open              bool
}

// familyRow is a family; Folded: it has so many clusters that they are shown on demand only.
type familyRow struct {
	Colour, Place, Function, Kind, What, Clusters, Warps string
	Folded                                               bool
	Rows                                                 []clusterRow
	at                                                   int
}

type clusterRow struct {
	ID                     int64
	Colour                 string
	Kinds, Place, Function string
	Warps, Ranges, Blocks  string
	Divergences            string
	What, Find             string
	IsFirst                bool
	Detail                 *detail
}

// clusterGroups sorts the clusters by role; all but the first group comes folded.
func clusterGroups(doc *diff.Document) (groups []clusterGroup, note string) {
	for _, r := range roles {
		groups = append(groups, clusterGroup{Role: r.name, Title: r.title, Hint: r.hint})
	}
	shown := min(len(doc.Clusters), maxClusters)
	families, of := familiesOf(doc)
	for i := range doc.Clusters[:shown] {
		c := &doc.Clusters[i]
		f := &families[of[i]]
		row := newClusterRow(c, doc)
		row.Colour = f.colour
		if i < maxDetails && !row.IsFirst {
			row.Detail = newDetail(&c.First, doc)
		}
		g := &groups[f.role]
		g.Count++
		k := slices.IndexFunc(g.Families, func(r familyRow) bool { return r.at == of[i] })
		if k < 0 {
			k = len(g.Families)
			g.Families = append(g.Families, newFamilyRow(f, of[i]))
		}
		g.Families[k].Rows = append(g.Families[k].Rows, row)
	}
	if doc.Builds != nil {
		note = "Lines are those of A; of what only B has, those of B. "
	}
	groups = slices.DeleteFunc(groups, func(g clusterGroup) bool { return g.Count == 0 })
	if len(groups) > 0 {
		groups[0].Open = true
	}
	if n := int64(len(doc.Clusters)-shown) + max(doc.ClustersOmitted, 0); n > 0 {
		note += figure.Plural(n, "more way to differ is", "more ways to differ are") + " not on this page. "
	}
	if n := shown - maxDetails; n > 0 {
		note += "Lanes and history are shown for the first " + figure.Count(maxDetails) + "."
	}
	return groups, strings.TrimSpace(note)
}

func newFamilyRow(f *family, at int) familyRow {
	d := &f.first.First
	p := placeOf(d.SourceLocation)
	r := familyRow{
		Colour: f.colour, Place: clean(siteName(d.SiteID, d.SourceLocation), maxName), Kind: clean(d.Kind, 40), What: "the first of them: " + what(d),
		Clusters: figure.Plural(f.clusters, "cluster", "clusters"), Warps: figure.Plural(f.warps, "warp", "warps"), Folded: f.clusters > maxUnfolded, at: at,
	}
	if p.Line > 0 {
		r.Function = clean(p.Function, maxName)
	}
	return r
}

func newClusterRow(c *diff.Cluster, doc *diff.Document) clusterRow {
	p := placeOf(c.First.SourceLocation)
	row := clusterRow{
		ID: c.ID, Kinds: breakdown(c.Breakdown), Place: clean(siteName(c.First.SiteID, c.First.SourceLocation), maxName),
		Warps: figure.Plural(c.Warps, "warp", "warps"), Ranges: clean(c.WarpRanges, 120), Blocks: figure.Plural(c.Blocks, "block", "blocks"),
		Divergences: figure.Plural(c.Divergences, "divergence", "divergences") + " each", What: what(&c.First),
		IsFirst: doc.First != nil && doc.First.Cluster == c.ID && doc.First.WarpIdx == c.First.WarpIdx && doc.First.EventIdx == c.First.EventIdx && doc.First.Kind == c.First.Kind,
	}
	if p.Line > 0 {
		row.Function = clean(p.Function, maxName)
	}
	row.Find = strings.ToLower(strings.Join([]string{row.Kinds, clean(c.First.SourceLocation, maxText), clean(c.First.SiteID, 40), row.Place}, " "))
	return row
}

// listed reports whether a site is in the table of sites, so that a link to it leads somewhere.
func listed(doc *diff.Document, siteID string) bool {
	return slices.ContainsFunc(doc.Sites[:min(len(doc.Sites), maxSites)], func(s diff.SiteSummary) bool { return s.SiteID == siteID })
}

type siteRow struct {
	Anchor, SiteID, Place, Function, SiteKind, Kinds, Warps, Ranges, Divergences, Rate, BaselineRate, Find string
	Noise                                                                                                  bool
}

func siteRows(doc *diff.Document) (rows []siteRow, note string) {
	shown := min(len(doc.Sites), maxSites)
	seen := map[string]bool{}
	for i := range doc.Sites[:shown] {
		s := &doc.Sites[i]
		p := placeOf(s.SourceLocation)
		id := clean(s.SiteID, 40)
		r := siteRow{
			SiteID: id, Place: clean(siteName(s.SiteID, s.SourceLocation), maxName), SiteKind: clean(s.SiteKind, 40), Kinds: breakdown(s.Breakdown), Warps: figure.Count(s.Warps),
			Ranges: clean(s.WarpRanges, 80), Divergences: figure.Count(s.Divergences), Rate: percent(s.Rate), Noise: s.Noise,
		}
		if !seen[id] {
			r.Anchor, seen[id] = "site-"+id, true
		}
		if p.Line > 0 {
			r.Function = clean(p.Function, maxName)
		}
		if doc.Baseline != nil {
			r.BaselineRate = percent(s.BaselineRate)
		}
		r.Find = strings.ToLower(strings.Join([]string{r.Kinds, clean(s.SourceLocation, maxText), id, r.Place, r.SiteKind}, " "))
		rows = append(rows, r)
	}
	if n := len(doc.Sites) - shown; n > 0 {
		note = figure.Plural(n, "more site is", "more sites are") + " in the JSON document."
	}
	return rows, note
}

// rowsNote says how many divergences the table shows, and of how many.
func rowsNote(doc *diff.Document) string {
	listed := int64(len(doc.Divergences))
	shown := min(listed, maxPageRows)
	total := max(doc.TotalDivergences, listed+max(doc.DivergencesOmitted, 0))
	switch {
	case total == 0:
		return ""
	case shown == total:
		return fmt.Sprintf("All %s, in order of warps and events.", figure.Plural(total, "divergence", "divergences"))
	}
	return fmt.Sprintf("%s of %s are on this page; %s left out.", figure.Count(shown), figure.Plural(total, "divergence", "divergences"), figure.Plural(total-shown, "is", "are"))
}

// mapNote reports whether there is a map of warps, and what it shows.
func mapNote(doc *diff.Document) (bool, string) {
	slots := mapSlots(doc)
	if slots == 0 || len(doc.Clusters) == 0 {
		return false, ""
	}
	per := doc.A.WarpsPerBlock
	if per == 0 {
		return true, figure.Plural(int64(min(slots, 1<<62)), "warp", "warps") + ", left to right."
	}
	return true, fmt.Sprintf("%s in blocks of %s: a column is a block, its warps from top to bottom.", figure.Plural(int64(min(slots, 1<<62)), "warp", "warps"), figure.Count(per))
}
