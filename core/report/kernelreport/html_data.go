package kernelreport

import (
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
)

// scriptData is what the script reads.
type scriptData struct {
	Map      *mapData      `json:"map"`
	Clusters []clusterData `json:"clusters"`
	Families []familyData  `json:"families"`
	Sites    []siteData    `json:"sites"`
	Kinds    []string      `json:"kinds"`
	Words    []string      `json:"words"`
	Roles    []string      `json:"roles"`
	Rows     [][8]int64    `json:"rows"` // warp, event in A, in B, kind, site, cluster, role, word
	PerBlock int64         `json:"perBlock"`
}

type mapData struct {
	Slots int64 `json:"slots"`
	Scale int64 `json:"scale"` // warps a cell stands for
}

type clusterData struct {
	ID       int64   `json:"id"`
	Family   int     `json:"family"`
	Label    string  `json:"label"`
	Ranges   []int64 `json:"ranges"`   // first and last, in pairs
	Complete bool    `json:"complete"` // the ranges are all of its warps
}

type familyData struct {
	Colour string `json:"colour"`
	Label  string `json:"label"`
}

type siteData struct {
	ID    string `json:"id"`
	Place string `json:"place"`
	Full  string `json:"full"`
}

const (
	maxCells  = 400_000   // of the map
	maxRanges = 200_000   // numbers in all ranges together
	exact     = 1<<53 - 1 // the largest integer that a script holds exactly
)

// pageData is the writeJSON that the page's script reads. Go escapes <, > and & in it, so that nothing in it can end its element.
func pageData(doc *diff.Document) ([]byte, error) {
	d := scriptData{Clusters: []clusterData{}, Families: []familyData{}, Sites: []siteData{}, Kinds: []string{}, Words: []string{}, Rows: [][8]int64{}, PerBlock: int64(doc.A.WarpsPerBlock)}
	if ok, _ := mapNote(doc); ok {
		slots := mapSlots(doc)
		d.Map = &mapData{Slots: int64(min(slots, exact)), Scale: int64(min((slots+maxCells-1)/maxCells, exact))}
	}
	for _, r := range roles {
		d.Roles = append(d.Roles, r.name)
	}
	left := maxRanges
	families, of := familiesOf(doc)
	for i := range families {
		d.Families = append(d.Families, familyData{families[i].colour, families[i].label()})
	}
	for i, at := range of {
		c := &doc.Clusters[i]
		one := clusterData{ID: c.ID, Family: at, Label: clean(c.First.Kind, 40) + " at " + clean(siteName(c.First.SiteID, c.First.SourceLocation), maxName)}
		one.Ranges, one.Complete = parseRanges(c.WarpRanges, left)
		left -= len(one.Ranges)
		d.Clusters = append(d.Clusters, one)
	}
	kindIndex, siteIndex, wordIndex := map[string]int64{}, map[[2]string]int64{}, map[string]int64{}
	index := func(table map[string]int64, list *[]string, s string) int64 {
		i, ok := table[s]
		if !ok {
			i = int64(len(*list))
			table[s] = i
			*list = append(*list, s)
		}
		return i
	}
	for i := range doc.Divergences[:min(len(doc.Divergences), maxPageRows)] {
		v := &doc.Divergences[i]
		key := [2]string{v.SiteID, v.SourceLocation}
		at, ok := siteIndex[key]
		if !ok {
			at = int64(len(d.Sites))
			siteIndex[key] = at
			d.Sites = append(d.Sites, siteData{clean(v.SiteID, 40), clean(siteName(v.SiteID, v.SourceLocation), maxName), clean(v.SourceLocation, 3*maxName)})
		}
		d.Rows = append(d.Rows, [8]int64{v.WarpIdx, v.EventIdx, v.EventIdxB, index(kindIndex, &d.Kinds, clean(v.Kind, 40)), at, v.Cluster, int64(roleOf(v)), index(wordIndex, &d.Words, what(v))})
	}
	return json.Marshal(d)
}

// mapSlots is how many warps the map has room for.
func mapSlots(doc *diff.Document) uint64 {
	slots := max(doc.A.WarpSlots, doc.B.WarpSlots)
	if slots == 0 {
		slots = uint64(max(doc.WarpsCompared, 0))
	}
	if over, _ := bits.Mul64(slots, 4); over > 0 {
		return exact
	}
	return slots
}

// parseRanges reads "0-3,7". What it cannot read, or has no room for, makes the ranges incomplete.
func parseRanges(text string, room int) (pairs []int64, complete bool) {
	pairs, complete = []int64{}, true
	for part := range strings.SplitSeq(text, ",") {
		if len(pairs)+2 > room {
			return pairs, false
		}
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err := strconv.ParseInt(low, 10, 64)
		to, err2 := strconv.ParseInt(high, 10, 64)
		if err != nil || err2 != nil || from < 0 || to < from || to > exact {
			complete = false
			continue
		}
		pairs = append(pairs, from, to)
	}
	return pairs, complete
}
