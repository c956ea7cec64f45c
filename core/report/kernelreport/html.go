package kernelreport

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

var (
	kit             = webpage.NewKit(assets)
	pageTemplate    = kit.Template("page.html")
	pageScript      = kit.Script("page.js")
	sessionTemplate = kit.Template("session.html")
	sessionScript   = kit.Script("session.js")
)

// html writes the comparison as one page that needs nothing else: no network, no library. It reads without scripts; the one in
// it draws the map of warps, searches and follows links such as #cluster-3, #warp-17 and #site-0x1f.
func html(w io.Writer, doc *diff.Document, _ Options) error {
	p := newPage(doc)
	data, err := pageData(doc)
	if err != nil {
		return err
	}
	p.Data = template.JS(data)
	return pageTemplate().Execute(w, p)
}

// page is what the template shows.
type page struct {
	webpage.Head
	Data          template.JS
	Kernel        string
	Word, Tone    string
	Verdict       string
	Conclusion    verdict.Verdict
	Tiles         []webpage.Tile
	Limits        []string
	First         *detail
	FirstOutput   *firstOutput
	Given         []givenRow
	Edits         *edited
	Why           *why
	Groups        []clusterGroup
	ClustersNote  string
	Outputs       []outputRow
	OutputsNote   string
	Sites         []siteRow
	SitesNote     string
	Rows          string // what the table of divergences shows; "" when there are none
	Map           bool
	MapNote       string
	Recordings    []comparison
	Settings      []setting
	Baseline      string
	BaselinePaths []string
	HasBaseline   bool
	Accepted      []acceptedRow
	AcceptedNote  string
}

type setting struct{ Label, Value string }

// comparison is one row of a table with a column for either side.
type comparison struct {
	Label, A, B string
	Differs     bool
}

func newPage(doc *diff.Document) *page {
	word := verdictWord(doc)
	p := &page{
		Head:   kit.Head(suiteName(site.Readable(doc.A.Kernel))+": "+word, pageScript()),
		Kernel: suiteName(site.Readable(doc.A.Kernel)), Word: word, Tone: tone(doc), Verdict: clean(doc.Verdict, maxText), Conclusion: foreign.Verdict(doc.Conclusion), Limits: limits(doc),
		Recordings: recordings(doc), Settings: append(agreement(doc), settings(&doc.Options)...),
	}
	if doc.First != nil {
		p.First = newDetail(doc.First, doc)
	} else {
		p.FirstOutput = newFirstOutput(doc)
	}
	p.Given = givenRows(doc)
	p.Edits = newEdited(doc)
	p.Why = newWhy(doc)
	p.Outputs, p.OutputsNote = outputRows(doc)
	p.Groups, p.ClustersNote = clusterGroups(doc)
	p.Sites, p.SitesNote = siteRows(doc)
	p.Rows = rowsNote(doc)
	p.Map, p.MapNote = mapNote(doc)
	p.Accepted, p.AcceptedNote = acceptedRows(doc.Accepted)
	p.Tiles = tiles(doc)
	for i := range p.Tiles { // no link to a part that is not there
		if t := &p.Tiles[i]; t.Link == "#warps" && !p.Map || t.Link == "#clusters" && len(p.Groups) == 0 || t.Link == "#divergences" && p.Rows == "" {
			t.Link = ""
		}
	}
	if b := doc.Baseline; b != nil {
		p.HasBaseline = true
		p.Baseline = fmt.Sprintf("%s equal to A and %s equal to B were compared, too. They explain %d of %s, at %s: noise, which does not count.",
			figure.Plural(b.RunsA, "run", "runs"), figure.Plural(b.RunsB, "run", "runs"), b.Suppressed, figure.Plural(doc.TotalDivergences, "divergence", "divergences"),
			figure.Plural(b.NoiseSites, "site", "sites"))
		if n := len(b.Undecided); n > 0 {
			p.Baseline += fmt.Sprintf(" %s they can neither explain nor rule out.", figure.Plural(n, "kind of divergence", "kinds of divergences"))
		}
		p.BaselinePaths = cleanAll(b.Paths, 20, maxName)
	}
	return p
}

// tone is the colour of the verdict.
func tone(doc *diff.Document) string {
	switch {
	case doc.Status == statusIdentical && lossy(doc):
		return "amber"
	case doc.Status == statusIdentical, doc.Status == statusSameResults && doc.Passed:
		return "good"
	case doc.Status == statusSameResults:
		return "amber"
	case doc.Passed || doc.Status == statusInconclusive:
		return "amber"
	}
	return "bad"
}

func lossy(doc *diff.Document) bool {
	for _, l := range []*diff.Losses{&doc.Losses.A, &doc.Losses.B} {
		if l.Dropped > 0 || l.Truncated || l.SampleRate > 1 {
			return true
		}
	}
	return false
}

func tiles(doc *diff.Document) []webpage.Tile {
	var out []webpage.Tile
	if d := doc.First; d != nil {
		out = append(out, webpage.Tile{
			Label: "first at", Value: clean(lineName(d), 60), Detail: fmt.Sprintf("%s, warp %s, event %s", clean(d.Kind, 40), figure.Count(d.WarpIdx), figure.Count(d.EventIdx)),
			Class: "name hot", Link: "#first",
		})
	}
	out = append(out, webpage.Tile{
		Label: "warps that differ", Value: figure.Count(doc.WarpsDiverged), Detail: "of " + figure.Count(doc.WarpsCompared) + " compared", Class: hot(doc.WarpsDiverged > 0), Link: "#warps",
	})
	t := webpage.Tile{Label: "divergences", Value: figure.Count(doc.TotalDivergences), Detail: breakdown(doc.DivergenceBreakdown), Link: "#divergences"}
	if o := doc.Outputs; o != nil && len(o.Arrays) > 0 {
		out = append(out, webpage.Tile{
			Label: "outputs that differ", Value: figure.Count(int64(len(o.Arrays)) + o.ArraysOmitted), Detail: clean(o.Arrays[0].Name, 40) + " first", Class: hot(!o.Arrays[0].Noise), Link: "#outputs",
		})
	}
	if doc.CountedDivergences != doc.TotalDivergences || doc.Threshold > 0 {
		t.Detail = fmt.Sprintf("%s count; %s allowed", figure.Count(doc.CountedDivergences), figure.Count(doc.Threshold))
	}
	out = append(out, t)
	var of [len(roles)]int64
	for i := range doc.Clusters {
		of[roleOfCluster(&doc.Clusters[i])]++
	}
	detail := figure.Plural(of[cause], "cause", "causes") + ", " + figure.Plural(of[follower], "follower", "followers")
	for r := noise; int(r) < len(roles); r++ {
		if of[r] > 0 {
			detail += ", " + figure.Count(of[r]) + " " + r.String()
		}
	}
	if families, of := familiesOf(doc); len(families) < len(of) {
		detail += "; they begin at " + figure.Plural(len(families), "place", "places")
	}
	out = append(out, webpage.Tile{Label: "ways to differ", Value: figure.Count(int64(len(doc.Clusters)) + max(doc.ClustersOmitted, 0)), Detail: detail, Link: "#clusters"})
	a, b := doc.Losses.A.DroppedShare, doc.Losses.B.DroppedShare
	return append(out, webpage.Tile{Label: "events compared", Value: figure.Count(doc.TotalEventsA), Detail: fmt.Sprintf("in A, %s in B; lost %s and %s", figure.Count(doc.TotalEventsB), percent(a), percent(b)), Class: tired(lossy(doc)), Link: "#recordings"})
}

func hot(yes bool) string {
	if yes {
		return "hot"
	}
	return ""
}

func tired(yes bool) string {
	if yes {
		return "tired"
	}
	return ""
}

func recordings(doc *diff.Document) []comparison {
	a, b := &doc.A, &doc.B
	var out []comparison
	add := func(label, x, y string) {
		if x != "" || y != "" {
			out = append(out, comparison{label, clean(x, maxName), clean(y, maxName), x != y && label != "file"})
		}
	}
	add("file", a.Path, b.Path)
	add("kernel", a.Kernel, b.Kernel)
	add("module", a.ModuleHash, b.ModuleHash)
	add("launch", figure.Count(a.Launch), figure.Count(b.Launch))
	add("grid", extents(a.Grid), extents(b.Grid))
	add("block", extents(a.Block), extents(b.Block))
	add("lanes of a warp", figure.Count(int64(a.WaveSize)), figure.Count(int64(b.WaveSize)))
	add("warps that recorded", figure.Count(a.Warps)+" of "+figure.Count(a.WarpSlots), figure.Count(b.Warps)+" of "+figure.Count(b.WarpSlots))
	add("events", figure.Count(doc.Losses.A.Events), figure.Count(doc.Losses.B.Events))
	add("events lost", figure.Count(doc.Losses.A.Dropped), figure.Count(doc.Losses.B.Dropped))
	add("architecture", a.Arch, b.Arch)
	add("recorded", a.Mode+", "+a.Means, b.Mode+", "+b.Means)
	add("format", a.Format, b.Format)
	add("computes", computes(a), computes(b))
	return out
}

// computes is what the kernel of a side computes, where a compiler of graphs made it and said so.
func computes(r *diff.Recording) string {
	if r.Origin == nil {
		return ""
	}
	return r.Origin.Text
}

func extents(n [3]uint32) string { return fmt.Sprintf("%d × %d × %d", n[0], n[1], n[2]) }

// agreement is what was compared, and what of it must agree.
func agreement(doc *diff.Document) []setting {
	var out []setting
	if len(doc.Require) > 0 {
		out = append(out, setting{"must agree", strings.Join(cleanAll(doc.Require, 10, 40), ", ")})
	}
	if doc.Coverage != nil {
		out = append(out, setting{"compared", clean(doc.Coverage.Text, maxText)})
	}
	return out
}

func settings(s *diff.Settings) []setting {
	var out []setting
	add := func(label, value string) {
		if value != "" {
			out = append(out, setting{label, clean(value, maxName)})
		}
	}
	list := func(l []string) string { return strings.Join(cleanAll(l, 20, 80), ", ") }
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return ""
	}
	add("values compared", map[bool]string{true: "yes", false: "no"}[s.Values])
	add("tolerance", s.Tolerance)
	add("NaN", s.NaN)
	add("ignored", list(s.Ignore))
	add("active lanes ignored", yes(s.IgnoreActiveMask))
	add("warps", s.Warps)
	add("kinds", list(s.Kinds))
	add("sites", list(s.SiteFilter))
	if s.Limit > 0 {
		add("limit", figure.Count(s.Limit))
	}
	add("forced", yes(s.Force))
	add("across architectures", yes(s.CrossGPU))
	return out
}
