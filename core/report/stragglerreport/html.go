package stragglerreport

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/sheet"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// What a page holds at most.
const (
	maxPageRanks = 360 // rows of the table of ranks
	maxPageRows  = 120 // of any other table
	maxPageFirst = 24  // rows that are shown at first
	maxPageName  = 80  // characters of a name in a cell of a short table
	longPageName = 32  // and of a long one
)

// Pages run one script, which reads the map to who points at it. All else stands there without it.
var (
	kit          = sheet.NewKit(assets)
	pageTemplate = kit.Template("page.html")
)

// writeHTML writes one page that needs nothing else: no network, no library. It is made of the document alone, and reads without its script.
func writeHTML(w io.Writer, d *straggler.Document, _ Options) error {
	return pageTemplate().Execute(w, newPage(d))
}

// page is what the template shows.
type page struct {
	webpage.Head
	Tone, Word, Verdict string
	Conclusion          verdict.Verdict
	Looked              string // at what
	Tiles               []webpage.Tile
	Map                 *sheet.Map
	Pictures            []pagePicture
	Tables              []sheet.Table
	Warnings            []string
	Notes               sheet.Sentences
}

func newPage(d *straggler.Document) *page {
	p := &page{
		Looked: looked(d), Verdict: clean(d.Verdict, maxText), Conclusion: foreign.Verdict(d.Conclusion), Word: clean(d.Status, 40), Tone: "amber", Notes: sheet.Sentences{ID: "chosen", Title: "What was chosen"},
		Tables: []sheet.Table{rankTable(d.Ranks), linkTable(d.Links), stepTable(d.Steps), groupTable(d.Groups), bandwidthTable(d.Bandwidths)},
	}
	switch d.Status {
	case straggler.StatusBlamed:
		p.Tone = "bad"
	case straggler.StatusNobody:
		p.Tone = "good"
	}
	whole := d.Time.Total()
	for _, t := range parts(d.Time) {
		p.Tiles = append(p.Tiles, webpage.Tile{Label: t.name, Value: percent(float64(t.ns) / float64(max(whole, 1))), Detail: figure.Duration(t.ns) + ": " + t.meaning})
	}
	p.Map = mapOf(d)
	p.Head = kit.Head("Stragglers: "+p.Word, sheet.Script(kit, p.Map))
	p.Pictures = picturesOf(d)
	for _, s := range d.Warnings[:min(len(d.Warnings), maxPageRows)] {
		p.Warnings = append(p.Warnings, figure.Sentence(clean(s, maxText)))
	}
	for _, s := range d.Notes[:min(len(d.Notes), maxPageRows)] {
		p.Notes.List = append(p.Notes.List, figure.Sentence(clean(s, maxText)))
	}
	for i := range p.Tables {
		p.Tables[i].Fold(maxPageFirst)
	}
	p.Tables = slices.DeleteFunc(p.Tables, func(t sheet.Table) bool { return len(t.Rows) == 0 })
	return p
}

// moreRows says how many rows a table lacks.
func moreRows(all, most int) string {
	if all <= most {
		return ""
	}
	return figure.Plural(all-most, "more is", "more are") + " in the JSON document."
}

// nameWidth is how many characters of a name a cell of a table with so many rows has.
func nameWidth(rows int) int {
	if rows > 4*maxPageFirst {
		return longPageName
	}
	return maxPageName
}

func rankTable(ranks []straggler.RankCost) sheet.Table {
	width := nameWidth(len(ranks))
	t := sheet.Table{
		ID: "ranks", Title: "Ranks", More: moreRows(len(ranks), maxPageRanks),
		Hint:    "Cost: the part of a rank's late arrival that its own slower work explains. Gain: by how much shorter the job would be, were it as fast as usual.",
		Columns: sheet.Columns("rank", "#cost", "#of the time", "#gain", "#last", "#steps", "#waited", "late in", "what took longer"),
	}
	for i := range ranks[:min(len(ranks), maxPageRanks)] {
		r := &ranks[i]
		t.Add(sheet.Row{Name: clean(r.ID, width), Small: clean(hostOf(r), width), Mark: blamed(r.Blamed)}, figure.Duration(r.CostNS), percent(r.Share), figure.Duration(r.GainNS),
			fmt.Sprintf("%d of %d", r.Last, r.Operations), strconv.Itoa(r.Steps), figure.Duration(r.Time.WaitingNS), lateIn(&r.Stability, width/2), clean(causeOf(r), width))
	}
	return t
}

func blamed(is bool) string {
	if is {
		return "blamed"
	}
	return ""
}

func linkTable(links []straggler.LinkCost) sheet.Table {
	width := nameWidth(len(links))
	t := sheet.Table{
		ID: "links", Title: "Links", More: moreRows(len(links), maxPageRows), Hint: "Operations that took longer than usual when all were there.",
		Columns: sheet.Columns("link", "#cost", "#of the time", "#operations"),
	}
	for i := range links[:min(len(links), maxPageRows)] {
		l := &links[i]
		t.Add(sheet.Row{Name: clean(linkName(l), 2*width), Mark: blamed(l.Blamed)}, figure.Duration(l.CostNS), percent(l.Share), strconv.Itoa(l.Times))
	}
	return t
}

func stepTable(steps []straggler.StepCost) sheet.Table {
	late := lateSteps(steps)
	width := nameWidth(len(late))
	t := sheet.Table{
		ID: "steps", Title: "Steps", More: moreRows(len(late), maxPageRows), Hint: "Steps in which somebody was late, the most expensive first.",
		Columns: sheet.Columns("step", "#took", "most expensive rank", "#cost", "what took longer"),
	}
	for _, s := range late[:min(len(late), maxPageRows)] {
		t.Add(sheet.Row{Name: clean(s.Name, width)}, figure.Duration(s.ToNS-s.FromNS), clean(s.Critical, width), figure.Duration(s.CostNS), clean(s.Cause, width))
	}
	return t
}

func groupTable(groups []straggler.GroupCost) sheet.Table {
	width := nameWidth(len(groups))
	t := sheet.Table{
		ID: "communicators", Title: "Communicators", More: moreRows(len(groups), maxPageRows), Hint: "The time of all ranks in the operations of each, divided.",
		Columns: sheet.Columns("communicator", "#operations", "#last rank certain", "#transfer", "#waiting", "#late launch", "#profiler start", "#undecided"),
	}
	for i := range groups[:min(len(groups), maxPageRows)] {
		g := &groups[i]
		texts := []string{strconv.Itoa(g.Operations), strconv.Itoa(g.Told)}
		for _, p := range parts(g.Time) {
			texts = append(texts, figure.Duration(p.ns))
		}
		t.Add(sheet.Row{Name: clean(g.Group, width)}, texts...)
	}
	return t
}

// lateIn says in which steps a rank was late.
func lateIn(s *straggler.Stability, width int) string {
	switch s.Steps {
	case 0:
		return ""
	case 1:
		return "step " + clean(s.First, width)
	}
	return fmt.Sprintf("%s, %s to %s", figure.Plural(s.Steps, "step", "steps"), clean(s.First, width), clean(s.Last, width))
}

// looked says what was looked at, and of how much of it something is known.
func looked(d *straggler.Document) string {
	o := &d.Operations
	if o.Count == 0 {
		return ""
	}
	text := fmt.Sprintf("Of %s in %s, somebody was late in %s, all were there together in %s", figure.Plural(o.Count, "operation", "operations"), figure.Duration(d.LengthNS), figure.Count(o.Late), figure.Count(o.Together))
	if o.ProfilerStart > 0 {
		text += fmt.Sprintf(", a recording had not begun in %s", figure.Count(o.ProfilerStart))
	}
	return text + fmt.Sprintf(", and %s are undecided.", figure.Count(o.Undecided))
}

func bandwidthTable(list []straggler.Bandwidth) sheet.Table {
	width := nameWidth(len(list))
	t := sheet.Table{
		ID: "bandwidths", Title: "Bandwidths", More: moreRows(len(list), maxPageRows),
		Hint:    "Medians. Size over time (algorithm), and what each link carried (bus), of the transfer alone, when all were there; behind them the bus's of the whole time, waiting included.",
		Columns: sheet.Columns("operation", "communicator", "#size", "#operations", "#transfer", "#slowest", "#algorithm", "#bus", "#bus, whole time"),
	}
	for i := range list[:min(len(list), maxPageRows)] {
		b := &list[i]
		small := clean(b.Kind, width)
		if len(b.Pair) == 2 {
			small += ", " + clean(b.Pair[0], width) + " and " + clean(b.Pair[1], width)
		}
		t.Add(sheet.Row{Name: clean(b.Operation, width), Small: small}, clean(b.Group, width), size(b.Bytes), strconv.Itoa(b.Operations), figure.Duration(b.TransferNS),
			figure.Duration(b.SlowestTransferNS), rate(b.AlgorithmRate), rate(b.BusRate), rate(b.WholeBus))
	}
	return t
}

// rate writes bytes per second; a dash where there are none.
func rate(bytes int64) string {
	if bytes <= 0 {
		return "–"
	}
	return size(bytes) + "/s"
}
