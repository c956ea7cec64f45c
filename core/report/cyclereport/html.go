package cyclereport

import (
	"embed"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// No page runs a script.
var (
	kit             = webpage.NewKit(assets)
	pageTemplate    = kit.Template("page.html")
	compareTemplate = kit.Template("compare.html")
)

// What a page holds at most.
const (
	maxPageClasses = 40  // rows of the table of classes
	maxPageDetails = 12  // classes with a table of kernels
	maxPageSlots   = 300 // kernels of such a table
	maxPageRows    = 300 // rows of a pair
	maxPageCosts   = 40
	maxPageLanes   = 32 // devices in the timeline
	maxPageStreams = 64
	maxPageRanks   = 64
)

// html writes the cycles of a trace as one page that needs nothing else: no network, no library, no script.
func html(w io.Writer, d *cycledoc.Document, _ Options) error {
	return pageTemplate().Execute(w, newPage(d))
}

// page is what the template shows.
type page struct {
	webpage.Head
	Name       string
	Conclusion verdict.Verdict
	Verdict    string
	Tiles      []webpage.Tile
	Limits     []string
	lanes
	Classes     []classRow
	ClassesNote string
	Ranks       []rankRow
	RanksNote   string
	Details     []detail
	Evidence    []evidenceRow
	Streams     []streamRow
	StreamsNote string
	Options     string
	Footer      string
}

type classRow struct {
	Name, ID, Anchor, Color, Level, Count, Edited, Period, P50, P99, CV, Busy, Gap, Holds, Phase, PhaseReason, Coverage, Confidence, Why string
}

type rankRow struct{ Where, Steps, Own, Slowest, Excess string }

type evidenceRow struct{ Kind, Marks, Use, Note string }

type streamRow struct{ Where, Stream, Kernels, Busy, Searched, Coverage string }

func newPage(d *cycledoc.Document) *page {
	name := clean(base(d.Input.Path), maxName)
	p := &page{
		Head: kit.Head("cycles: "+name, ""), Name: name, Verdict: clean(d.Verdict, maxText), Limits: limits(d),
		Conclusion: foreign.Verdict(d.Conclusion), Footer: footer(d.Schema),
	}
	all := classes(d)
	colors := colorsOf(all)
	p.Tiles = tiles(d, all)
	p.lanes = newLanes(d, colors)
	for i, c := range all[:min(len(all), maxPageClasses)] {
		p.Classes = append(p.Classes, newClassRow(d, c, colors[c.ID], i < maxPageDetails))
	}
	if n := len(all) - maxPageClasses; n > 0 {
		p.ClassesNote = figure.Plural(n, "class", "classes") + " more are in the JSON document."
	}
	for i, c := range all[:min(len(all), maxPageDetails)] {
		p.Details = append(p.Details, newDetail(d, c, i == 0))
	}
	for i := range d.RankTotals[:min(len(d.RankTotals), maxPageRanks)] {
		r := &d.RankTotals[i]
		p.Ranks = append(p.Ranks, rankRow{where(d, r.Rank, r.Device), figure.Count(r.Steps), figure.Duration(r.OwnNS), figure.Count(r.Slowest), figure.Duration(r.ExcessNS)})
	}
	p.RanksNote = ranksNote(d)
	for i := range d.Evidence {
		e := &d.Evidence[i]
		p.Evidence = append(p.Evidence, evidenceRow{clean(e.Kind, 40), figure.Count(e.Marks), clean(e.Use, 40), clean(figure.Sentence(e.Note), maxText)})
	}
	for i := range d.Streams[:min(len(d.Streams), maxPageStreams)] {
		s := &d.Streams[i]
		row := streamRow{Where: where(d, s.Rank, s.Device), Stream: clean(s.Stream, 60), Kernels: figure.Count(s.Kernels), Busy: figure.Duration(s.BusyNS), Searched: "no", Coverage: "–"}
		if s.Searched {
			row.Searched, row.Coverage = "yes", percent(s.Coverage)
		}
		if s.Communication {
			row.Stream += " (communication)"
		}
		p.Streams = append(p.Streams, row)
	}
	if n := len(d.Streams) - maxPageStreams; n > 0 {
		p.StreamsNote = figure.Plural(n, "stream", "streams") + " more."
	}
	p.Options = optionsText(&d.Options)
	return p
}

func footer(schema string) string {
	return "Written by prlx from a document " + clean(schema, 40) + "."
}

// colorsOf gives classes of one level different colours, as long as there are some.
func colorsOf(all []*cycledoc.Class) map[string]string {
	out := map[string]string{}
	next := map[int]int{}
	for _, c := range all {
		n := next[c.Level]
		next[c.Level]++
		out[c.ID] = "c7"
		if n < 7 {
			out[c.ID] = "c" + strconv.Itoa(n)
		}
	}
	return out
}

func tiles(d *cycledoc.Document, all []*cycledoc.Class) []webpage.Tile {
	out := []webpage.Tile{{Label: "kernels", Value: figure.Count(d.Input.Kernels), Detail: fmt.Sprintf("%s, %s, %s", figure.Plural(d.Input.Names, "name", "names"), figure.Plural(d.Input.Devices, "device", "devices"), figure.Duration(d.Input.SpanNS))}}
	if len(all) == 0 {
		return out
	}
	c := all[0]
	out = append(out,
		webpage.Tile{Label: clean(c.Name, 60), Value: figure.Duration(c.WallNS.P50), Detail: fmt.Sprintf("p99 %s, %s of %s", figure.Duration(c.WallNS.P99), figure.Plural(c.Count, "repetition", "repetitions"), figure.Plural(c.Period, "kernel", "kernels"))},
		webpage.Tile{Label: "idle in it", Value: percent(c.GapNS.Mean / max(1, c.WallNS.Mean)), Detail: figure.Duration(c.GapNS.Mean) + " between kernels"},
		webpage.Tile{Label: "explained", Value: percent(d.TimeCoverage), Detail: fmt.Sprintf("of the time; %s of the kernels repeat; confidence %s", percent(d.Coverage), percent(d.Confidence))},
	)
	if len(d.Levels) > 1 {
		var names []string
		for i := len(d.Levels) - 1; i >= 0; i-- {
			names = append(names, figure.Plural(len(d.Levels[i].Classes), d.Levels[i].Name+" class", d.Levels[i].Name+" classes"))
		}
		out = append(out, webpage.Tile{Label: "levels", Value: figure.Count(len(d.Levels)), Detail: strings.Join(names, ", ")})
	}
	odd := int64(0)
	for _, c := range all {
		odd += c.OutliersTotal
	}
	if odd > 0 {
		out = append(out, webpage.Tile{Label: "outliers", Value: figure.Count(odd), Detail: "far from the median of their class", Class: "hot"})
	}
	if c.Drift != nil {
		out = append(out, webpage.Tile{Label: "drift", Value: change(c.Drift.Change), Detail: clean(c.Drift.Description, maxText), Class: "hot"})
	}
	return out
}

func newClassRow(d *cycledoc.Document, c *cycledoc.Class, color string, detailed bool) classRow {
	row := classRow{
		Name: clean(c.Name, maxName), ID: clean(c.ID, 40), Color: color, Level: levelName(d, c), Count: figure.Count(c.Count), Period: figure.Count(c.Period), P50: figure.Duration(c.WallNS.P50),
		P99: figure.Duration(c.WallNS.P99), CV: percent(c.WallNS.CV), Busy: figure.Duration(c.BusyNS.Mean), Gap: figure.Duration(c.GapNS.Mean), Phase: phaseWord(c),
		PhaseReason: clean(c.PhaseReason, maxText), Coverage: percent(c.Coverage), Confidence: percent(c.Confidence), Why: clean(c.ConfidenceReason, maxText),
	}
	if detailed {
		row.Anchor = anchor(c)
	}
	if c.Edited > 0 {
		row.Edited = fmt.Sprintf("%s edited, %s", figure.Count(c.Edited), figure.Plural(c.Edits, "edit", "edits"))
	}
	row.Holds = holds(d, c)
	return row
}

func anchor(c *cycledoc.Class) string { return "class-" + clean(c.ID, 40) }

// holds names the classes inside of one.
func holds(d *cycledoc.Document, c *cycledoc.Class) string {
	names := map[string]string{}
	for i := range d.Levels {
		for k := range d.Levels[i].Classes {
			names[d.Levels[i].Classes[k].ID] = d.Levels[i].Classes[k].Name
		}
	}
	var out []string
	for i := range c.Children {
		out = append(out, fmt.Sprintf("%s × %s", figure.Count(c.Children[i].Count), clean(names[c.Children[i].ID], maxName)))
	}
	return strings.Join(out, ", ")
}

func ranksNote(d *cycledoc.Document) string {
	worst := -1
	for i := range d.RankSteps {
		if worst < 0 || d.RankSteps[i].ExcessNS > d.RankSteps[worst].ExcessNS {
			worst = i
		}
	}
	if worst < 0 {
		return ""
	}
	r := &d.RankSteps[worst]
	return fmt.Sprintf("Worst step: number %s, in which %s took %s, %s more than the median of %s.", figure.Count(r.Number), where(d, r.Slowest, r.Device), figure.Duration(r.OwnNS), figure.Duration(r.ExcessNS), figure.Plural(r.Ranks, "rank", "ranks"))
}

func optionsText(s *cycledoc.Settings) string {
	text := fmt.Sprintf("Kernels count as equal by %s signatures; streams: %s; at most %d %% of edits in a repetition; phase mode %s.", clean(s.Keys, 40), clean(s.Streams, 40), s.EditPercent, clean(s.PhaseMode, 40))
	if s.Rules > 0 {
		text += " " + figure.Sentence(figure.Plural(s.Rules, "signature rule", "signature rules")+" of the user")
	}
	if s.IgnoreAnnotations {
		text += " Annotations were ignored."
	}
	if s.Compat != nil {
		text += " Searched as uplifter does."
	}
	return text
}
