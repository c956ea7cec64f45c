package warptracetest

import (
	"fmt"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Difference is where two recordings of one warp first differ: A and B are equal up to there, event by event.
type Difference struct {
	Warp   uint64 `json:"warp"`
	Event  int    `json:"event"`   // in A and in B: how many events are equal before
	Site   int    `json:"site"`    // of the event in A, -1: A has ended
	SiteB  int    `json:"site_b"`  // likewise
	SiteID string `json:"site_id"` // key of Site (or of SiteB when A has ended), as documents print it
	// Kinds are what differs there, in the order in which documents list them. Where the sites are the same: Branch, ActiveMask and
	// Value as they apply. Where one side has ended: ExtraEvents. Otherwise what the edit did, or both Path and ExtraEvents when
	// the shortest script decides.
	Kinds []string `json:"kinds"`
}

// Compare finds the first difference of every warp, ascending: the slow obvious comparison. values says whether values count.
func Compare(a, b *Recording, values Values) []Difference {
	var out []Difference
	for i, j := 0, 0; i < len(a.Warps) || j < len(b.Warps); {
		var x, y warptrace.Warp
		switch {
		case j == len(b.Warps) || i < len(a.Warps) && a.Warps[i].Warp < b.Warps[j].Warp:
			x, y.Warp = a.Warps[i], a.Warps[i].Warp
			i++
		case i == len(a.Warps) || b.Warps[j].Warp < a.Warps[i].Warp:
			y, x.Warp = b.Warps[j], b.Warps[j].Warp
			j++
		default:
			x, y = a.Warps[i], b.Warps[j]
			i, j = i+1, j+1
		}
		if d, differ := compareWarp(&x, &y, values); differ {
			d.name(a.Sites)
			out = append(out, d)
		}
	}
	return out
}

// Add judges one warp of a pair that does not fit in memory; either may be empty. Warps come in ascending order, with the edits of
// the warp in ed, nil when it was not edited. The sites are those of both.
func (t *Truth) Add(a, b *warptrace.Warp, sites *site.Table, ed *Editor) {
	if ed != nil {
		t.Edits = append(t.Edits, ed.Applied...)
		t.Cost += ed.Cost
	}
	if d, differ := compareWarp(a, b, WithValues); differ {
		d.name(sites)
		t.Warps = append(t.Warps, d)
	}
	if t.FirstControl == nil {
		if d, differ := compareWarp(a, b, WithoutValues); differ {
			d.name(sites)
			t.FirstControl = &d
		}
	}
}

// Done is called after the last Add.
func (t *Truth) Done() {
	t.decide()
	if len(t.Warps) > 0 {
		t.First = &t.Warps[0]
	}
}

// name fills in the key of the site; recordings that were narrowed to v1 have ids instead.
func (d *Difference) name(sites *site.Table) {
	at := d.Site
	if at < 0 {
		at = d.SiteB
	}
	if at < sites.Len() {
		d.SiteID = "0x" + hex16(uint64(sites.At(at).Key))
	} else {
		d.SiteID = fmt.Sprintf("0x%08x", at)
	}
}

// Values says whether values of events count.
type Values bool

// The two ways to compare.
const (
	WithValues    Values = true
	WithoutValues Values = false
)

// compareWarp finds the first difference of one warp.
func compareWarp(x, y *warptrace.Warp, values Values) (Difference, bool) {
	n := min(x.Len(), y.Len())
	for i := range n {
		if x.Site[i] != y.Site[i] {
			return Difference{Warp: x.Warp, Event: i, Site: int(x.Site[i]), SiteB: int(y.Site[i]), Kinds: []string{"Path", "ExtraEvents"}}, true
		}
		if kinds := differentAt(x, y, i, values); kinds != nil {
			return Difference{Warp: x.Warp, Event: i, Site: int(x.Site[i]), SiteB: int(y.Site[i]), Kinds: kinds}, true
		}
	}
	if x.Len() == y.Len() {
		return Difference{}, false
	}
	d := Difference{Warp: x.Warp, Event: n, Site: -1, SiteB: -1, Kinds: []string{"ExtraEvents"}}
	if x.Len() > n {
		d.Site = int(x.Site[n])
	} else {
		d.SiteB = int(y.Site[n])
	}
	return d, true
}

// differentAt lists what differs between two events of one site.
func differentAt(x, y *warptrace.Warp, i int, values Values) []string {
	var kinds []string
	both := x.Active[i] & y.Active[i]
	if x.Dir[i] != y.Dir[i] || (x.Taken[i]^y.Taken[i])&both != 0 {
		kinds = append(kinds, "Branch")
	}
	if x.Active[i] != y.Active[i] {
		kinds = append(kinds, "ActiveMask")
	}
	if values && (x.Value[i] != y.Value[i] || x.Type[i] != y.Type[i]) {
		kinds = append(kinds, "Value")
	}
	return kinds
}

func hex16(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b[:])
}

// SiteAt finds the sites of a line, in the order of the table.
func (p *Program) SiteAt(file string, line uint32) []int {
	var out []int
	for i := range p.sites {
		if f := p.sites[i].Where(); f.File == file && f.Line == line {
			out = append(out, i)
		}
	}
	return out
}

// decides reports whether the taken lanes of a site are a decision.
func decides(k site.Kind) bool { return k == site.Branch || k == site.Switch || k == site.Predicate }
