package kernelreport

import (
	"fmt"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// A family is the clusters that begin in the same way: with the same role, at the same site, with the same kind of divergence.
// What warps do after they parted makes many clusters of one bug; the family is the bug.
type family struct {
	role            role
	site, where     string
	kind            string
	colour          string
	clusters, warps int64
	first           *diff.Cluster
}

// familiesOf gathers the clusters that a page shows, in order of their first ones; of says which family each is of. The first few
// that count have a colour of their own.
func familiesOf(doc *diff.Document) (families []family, of []int) {
	type key struct {
		role              role
		site, where, kind string
	}
	known := map[key]int{}
	coloured := 0
	for i := range doc.Clusters[:min(len(doc.Clusters), maxClusters)] {
		c := &doc.Clusters[i]
		k := key{roleOfCluster(c), c.First.SiteID, c.First.SourceLocation, c.First.Kind}
		at, ok := known[k]
		if !ok {
			at = len(families)
			known[k] = at
			f := family{role: k.role, site: k.site, where: k.where, kind: k.kind, first: c, colour: "rest"}
			switch {
			case k.role.quiet():
				f.colour = "muted"
			case coloured < maxColours:
				f.colour = fmt.Sprintf("c%d", coloured)
				coloured++
			}
			families = append(families, f)
		}
		families[at].clusters++
		families[at].warps += c.Warps
		of = append(of, at)
	}
	return families, of
}

// label names the family where its colour is explained.
func (f *family) label() string {
	s := clean(f.kind, 40) + " at " + clean(siteName(f.site, f.where), maxName)
	if f.clusters > 1 {
		s += " (" + figure.Count(f.clusters) + " clusters)"
	}
	return s
}
