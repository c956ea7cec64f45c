package diff

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// rowFilter leaves out rows that nobody wants to see. It decides once for each site.
type rowFilter struct {
	opt    *Options
	sites  *siteMap
	a, b   map[uint32]siteVerdict
	active bool
}

// siteVerdict is what the options say about a site.
type siteVerdict struct{ ignored, wanted bool }

func (f *rowFilter) set(opt *Options, sites *siteMap) {
	f.opt, f.sites = opt, sites
	f.active = len(opt.Ignore) > 0 || len(opt.SiteFilter) > 0 || opt.Kinds != 0
	f.a, f.b = make(map[uint32]siteVerdict), make(map[uint32]siteVerdict)
}

// keep drops rows and returns how many it dropped.
func (f *rowFilter) keep(rows []Row, p *streams) ([]Row, int64) {
	if !f.active {
		return rows, 0
	}
	kept := rows[:0]
	for k := range rows {
		if f.wants(&rows[k], p) {
			kept = append(kept, rows[k])
		}
	}
	return kept, int64(len(rows) - len(kept))
}

// wants reports whether a row is reported. A run of events is ignored when every one of them is, and wanted when any is.
func (f *rowFilter) wants(r *Row, p *streams) bool {
	if !f.opt.Kinds.has(r.Kind) {
		return false
	}
	ignored, wanted := true, len(f.opt.SiteFilter) == 0
	see := func(v siteVerdict) {
		ignored = ignored && v.ignored
		wanted = wanted || v.wanted
	}
	for i := range int(r.Count) {
		see(f.verdict(f.a, f.sites.a, p.a.site(int(r.EventA)+i)))
	}
	for j := range int(r.CountB) {
		see(f.verdict(f.b, f.sites.b, p.b.site(int(r.EventB)+j)))
	}
	return wanted && !ignored
}

func (f *rowFilter) verdict(known map[uint32]siteVerdict, t *warptrace.Trace, local uint32) siteVerdict {
	v, ok := known[local]
	if ok {
		return v
	}
	s, _ := t.SiteOf(local)
	id := t.SiteID(local)
	v = siteVerdict{matchesAny(f.opt.Ignore, s, id), matchesAny(f.opt.SiteFilter, s, id)}
	known[local] = v
	return v
}

func matchesAny(patterns []site.Pattern, s *site.Site, id uint64) bool {
	for _, p := range patterns {
		if p.Match(s, id) {
			return true
		}
	}
	return false
}

// CheckSites refuses patterns of which no site of either recording is meant: what is told from such a filter is never a difference.
func CheckSites(a, b *warptrace.Trace, patterns []site.Pattern) error {
	for _, p := range patterns {
		if p.IsID() || meant(p, a.Sites()) || meant(p, b.Sites()) {
			continue
		}
		if a.Sites().Len() == 0 && b.Sites().Len() == 0 {
			return fault.Usagef("no place is known of the sites of these recordings, so %q names none", p).WithHint("name their site map: --site-map FILE")
		}
		return fault.Usagef("no site of these recordings is %q", p).WithHint("write \"kernel.py:42\", \"kernel.py\", \"func:softmax*\" or \"kind:atomic\"; without --sites the places that differ are listed")
	}
	return nil
}

// Unmatched are the patterns of which no site of either recording is meant.
func Unmatched(a, b *warptrace.Trace, patterns []site.Pattern) []site.Pattern {
	var out []site.Pattern
	for _, p := range patterns {
		if !p.IsID() && !meant(p, a.Sites()) && !meant(p, b.Sites()) {
			out = append(out, p)
		}
	}
	return out
}

func meant(p site.Pattern, t *site.Table) bool {
	for i := range t.Len() {
		if s := t.At(i); p.Match(s, uint64(s.ID)) {
			return true
		}
	}
	return false
}
