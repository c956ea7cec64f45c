package recording

import (
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Filter says which events of a recording are wanted: those at certain sites, and of certain kinds.
type Filter struct {
	trace *warptrace.Trace
	sites []site.Pattern
	kinds []string
	fits  map[uint32]bool // by local number of a site that was met
}

// NewFilter makes a filter; without patterns every site is wanted, without kinds every kind.
func NewFilter(t *warptrace.Trace, sites []site.Pattern, kinds []string) *Filter {
	return &Filter{trace: t, sites: sites, kinds: kinds, fits: map[uint32]bool{}}
}

// All reports whether every event is wanted.
func (f *Filter) All() bool { return len(f.sites) == 0 && len(f.kinds) == 0 }

// Keeps reports whether event i of a warp is wanted.
func (f *Filter) Keeps(w *warptrace.Warp, i int) bool {
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, w.Kind[i].String()) {
		return false
	}
	return len(f.sites) == 0 || f.chosen(w.Site[i])
}

func (f *Filter) chosen(local uint32) bool {
	fits, known := f.fits[local]
	if !known {
		s, _ := f.trace.SiteOf(local)
		fits = slices.ContainsFunc(f.sites, func(p site.Pattern) bool { return p.Match(s, f.trace.SiteID(local)) })
		f.fits[local] = fits
	}
	return fits
}
