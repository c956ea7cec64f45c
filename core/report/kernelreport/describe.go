package kernelreport

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// kinds says of every kind of divergence how reports name it, in the order in which they list kinds. Rules are sarif's: their
// numbers never change meaning.
var kinds = []struct {
	name, rule, slug, title, help string
}{
	{diff.KindBranch, "PRLX0001", "branch-divergence", "another decision", "A warp passed the same conditional branch on both sides and decided differently in some lanes."},
	{diff.KindActiveMask, "PRLX0002", "active-mask-divergence", "other lanes", "A warp passed the same site on both sides with different lanes active."},
	{diff.KindValue, "PRLX0003", "value-divergence", "another value", "A warp passed the same site on both sides with a different value."},
	{diff.KindPath, "PRLX0004", "path-divergence", "another path", "Where one side passed a site, the other passed a different one."},
	{diff.KindExtraEvents, "PRLX0005", "extra-events", "extra events", "One side passed sites that the other did not."},
	{diff.KindOutput, "PRLX0008", "output-divergence", "other contents", "The kernel left other bytes in an array."},
	{diff.KindStore, "PRLX0009", "store-divergence", "another store", "A statement stored other elements or values, or an atomic had other operands."},
	{diff.KindFinding, "PRLX0010", "finding-divergence", "another finding", "A check of the simulator found something in one run only, or more often in one."},
}

// kindRank orders kinds as the table does; kinds that this version does not know come last.
func kindRank(kind string) int {
	for i := range kinds {
		if kinds[i].name == kind {
			return i
		}
	}
	return len(kinds)
}

// what says in one sentence how the two sides differ.
func what(d *diff.Divergence) string {
	switch d.Kind {
	case diff.KindBranch:
		return branchText(d)
	case diff.KindActiveMask:
		return fmt.Sprintf("A has %s active, B %s", lanesOf(d.MaskA), lanesOf(d.MaskB))
	case diff.KindValue:
		return fmt.Sprintf("A has %s, B %s", value(d.ValueA, d.BitsA, d.ValueType), value(d.ValueB, d.BitsB, d.ValueType))
	case diff.KindPath:
		return fmt.Sprintf("A goes on here%s, B at %s%s", events(d.Count), clean(siteName(d.SiteB, d.LocationB), maxName), events(d.CountB))
	case diff.KindExtraEvents:
		if d.InTrace == "" {
			return figure.Plural(d.Count, "event", "events") + " that the other side does not have"
		}
		return fmt.Sprintf("%s only in %s", figure.Plural(d.Count, "event", "events"), clean(d.InTrace, 10))
	}
	return clean(d.Kind, 40)
}

func branchText(d *diff.Divergence) string {
	a, okA := maskOf(d.TakenA)
	b, okB := maskOf(d.TakenB)
	if okA && okB && a != b {
		if d.MaskA == d.MaskB {
			return fmt.Sprintf("taken by %s in A, by %d in B", ofActive(a, d.MaskA), bits.OnesCount64(b))
		}
		return fmt.Sprintf("taken by %s in A, by %s in B", ofActive(a, d.MaskA), ofActive(b, d.MaskB))
	}
	if d.DirA != nil && d.DirB != nil && *d.DirA != *d.DirB {
		switch {
		case *d.DirA == 0 && *d.DirB == 1:
			return "A does not take the branch, B does"
		case *d.DirA == 1 && *d.DirB == 0:
			return "A takes the branch, B does not"
		}
		return fmt.Sprintf("A takes case %d, B case %d", *d.DirA, *d.DirB)
	}
	return "A and B decide differently"
}

// ofActive says how many lanes took a branch, of how many.
func ofActive(mask uint64, active string) string {
	n := bits.OnesCount64(mask)
	if all, ok := maskOf(active); ok {
		return fmt.Sprintf("%d of %s", n, figure.Plural(bits.OnesCount64(all), "lane", "lanes"))
	}
	return figure.Plural(n, "lane", "lanes")
}

func events(n int64) string {
	if n <= 1 {
		return ""
	}
	return " for " + figure.Count(n) + " events"
}

func lanesOf(mask string) string {
	m, ok := maskOf(mask)
	if !ok {
		return "unknown lanes"
	}
	return figure.Plural(bits.OnesCount64(m), "lane", "lanes")
}

// value prints a value of a side: its text, its bits where it has none.
func value(text, bits, valueType string) string {
	switch {
	case text != "" && valueType != "" && valueType != "bits":
		return clean(text, 80) + " (" + clean(valueType, 20) + ")"
	case text != "":
		return clean(text, 80)
	case bits != "":
		return clean(bits, 40)
	}
	return "no value"
}

// siteName is what people call a site: its short location, its id where that is not known.
func siteName(id, location string) string {
	if s := placeOf(location).short(); s != "" {
		return s
	}
	if id != "" {
		return "site " + id
	}
	return "unknown site"
}

// lineName is siteName without the column.
func lineName(d *diff.Divergence) string {
	p := placeOf(d.SourceLocation)
	p.Column = 0
	if s := p.short(); s != "" {
		return s
	}
	return siteName(d.SiteID, "")
}

// decides reports whether a site is one where lanes decide; at others directions and taken lanes mean nothing.
func decides(siteKind string) bool {
	switch siteKind {
	case "", "branch", "predicate", "switch":
		return true
	}
	return false
}

// where says which warp, event and pass of the site a divergence is at.
func where(d *diff.Divergence, doc *diff.Document) string {
	s := fmt.Sprintf("warp %s%s, event %s", figure.Count(d.WarpIdx), blockText(d.WarpIdx, doc), figure.Count(d.EventIdx))
	if d.EventIdxB != d.EventIdx {
		s += fmt.Sprintf(" in A, %s in B", figure.Count(d.EventIdxB))
	}
	switch {
	case d.Occurrence != d.OccurrenceB:
		s += fmt.Sprintf(", the warp's %s pass here in A, %s in B", ordinal(d.Occurrence+1), ordinal(d.OccurrenceB+1))
	case d.Occurrence > 0:
		s += fmt.Sprintf(", the warp's %s pass here", ordinal(d.Occurrence+1))
	}
	return s
}

func blockText(warp int64, doc *diff.Document) string {
	perBlock := int64(doc.A.WarpsPerBlock)
	if perBlock == 0 || warp < 0 {
		return ""
	}
	return fmt.Sprintf(" (block %s, warp %s of it)", figure.Count(warp/perBlock), figure.Count(warp%perBlock))
}

// breakdown writes counts by kind in the order of the table: "Branch 2, Value 1".
func breakdown(counts map[string]int64) string {
	var parts []string
	for _, k := range kindsOf(counts) {
		parts = append(parts, clean(k, 40)+" "+figure.Count(counts[k]))
	}
	return strings.Join(parts, ", ")
}

// kindsOf are the kinds that occur, in the order of the table, unknown ones last by name.
func kindsOf(counts map[string]int64) []string {
	var out []string
	for k, n := range counts {
		if n != 0 {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(kindRank(a), kindRank(b)), cmp.Compare(a, b))
	})
	return out[:min(len(out), maxKinds)]
}

// limits are what makes the verdict weaker than it sounds, one sentence each.
func limits(doc *diff.Document) []string {
	var out []string
	for _, side := range []struct {
		name string
		l    *diff.Losses
	}{{"A", &doc.Losses.A}, {"B", &doc.Losses.B}} {
		if side.l.Dropped > 0 {
			out = append(out, fmt.Sprintf("%s lost %s (%s) in %s, because buffers were full.", side.name,
				figure.Plural(side.l.Dropped, "event", "events"), percent(side.l.DroppedShare), figure.Plural(side.l.WarpsWithDrops, "warp", "warps")))
		}
		if side.l.SampleRate > 1 {
			out = append(out, fmt.Sprintf("%s kept one event in %s.", side.name, figure.Count(side.l.SampleRate)))
		}
		if side.l.Truncated {
			out = append(out, side.name+" ends before its end: what was complete was read.")
		}
		for _, note := range cleanAll(side.l.Notes, 20, 600) {
			out = append(out, side.name+": "+note)
		}
	}
	return append(append(out, staleEntries(doc.Accepted)...), cleanAll(doc.Warnings, 100, 600)...)
}

// siteFinding is how one site differs in one kind, over all warps: the unit that services for code review track.
type siteFinding struct {
	site    *diff.SiteSummary
	kind    string
	count   int64
	example *diff.Divergence // the earliest that the document shows, nil when it shows none
	text    string           // in place of what the kind and the example say
	loudest role             // of those that the document shows: a cause is louder than what follows, both than what does not count
}

// findings lists what differs by site and kind, in the document's order of sites.
func findings(doc *diff.Document) []siteFinding {
	type key struct{ site, location, kind string }
	examples := map[key]*siteFinding{}
	see := func(d *diff.Divergence) {
		k := key{d.SiteID, d.SourceLocation, d.Kind}
		f := examples[k]
		if f == nil {
			f = &siteFinding{example: d, loudest: roleOf(d)}
			examples[k] = f
		}
		f.loudest = min(f.loudest, roleOf(d))
	}
	if doc.First != nil {
		see(doc.First)
	}
	for i := range doc.Clusters {
		see(&doc.Clusters[i].First)
	}
	for i := range doc.Divergences {
		see(&doc.Divergences[i])
	}
	var out []siteFinding
	for i := range doc.Sites {
		s := &doc.Sites[i]
		for _, kind := range kindsOf(s.Breakdown) {
			f := siteFinding{site: s, kind: kind, count: s.Breakdown[kind]}
			if e := examples[key{s.SiteID, s.SourceLocation, kind}]; e != nil {
				f.example, f.loudest = e.example, e.loudest
			}
			if s.Noise {
				f.loudest = noise
			}
			out = append(out, f)
		}
	}
	return append(out, outputFindings(doc)...)
}

// sentence says what a finding is in one line of plain text.
func (f *siteFinding) sentence(doc *diff.Document) string {
	if f.text != "" {
		if f.loudest.quiet() {
			return f.text + "; " + f.loudest.why()
		}
		return f.text
	}
	title := clean(f.kind, 40)
	if r := kindRank(f.kind); r < len(kinds) {
		title = kinds[r].title
	}
	s := fmt.Sprintf("%s: %s in %s", title, figure.Plural(f.count, "divergence", "divergences"), figure.Plural(f.site.Warps, "warp", "warps"))
	if f.site.WarpRanges != "" {
		s += " (" + clean(f.site.WarpRanges, 80) + ")"
	}
	if f.example != nil {
		s += "; " + what(f.example) + "; " + where(f.example, doc)
	}
	switch f.loudest {
	case cause:
	case follower:
		s += "; follows from an earlier divergence"
	default:
		s += "; " + f.loudest.why()
	}
	return s
}

// The values of Document.Status.
const (
	statusIdentical    = diff.StatusIdentical
	statusSameResults  = diff.StatusSameResults
	statusDiverged     = diff.StatusDiverged
	statusInconclusive = diff.StatusInconclusive
)

const (
	maxLanes = 64 // of a warp that reports show: the widest warp there is
	maxKinds = 32 // of one site or cluster; there are five
)
