package stragglerreport

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/timeline/straggler"
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
	kit          = webpage.NewKit(assets)
	pageTemplate = kit.Template("page.html")
	pageScript   = kit.Script("page.js")
)

// HTML writes one page that needs nothing else: no network, no library. It is made of the document alone, and reads without its script.
func HTML(w io.Writer, d *straggler.Document, _ Options) error {
	return pageTemplate().Execute(w, newPage(d))
}

// page is what the template shows.
type page struct {
	webpage.Head
	Tone, Word, Verdict string
	Data                template.JS
	Looked              string // at what
	Tiles               []webpage.Tile
	Map                 *pageMap
	Pictures            []pagePicture
	Tables              []pageTable
	Warnings, Notes     []string
}

// pageTable is a table whose first column names the row.
type pageTable struct {
	ID, Title, Hint, More string
	Columns               []pageColumn
	Rows                  []pageRow
	Folded                []pageRow // those behind the first
}

type pageColumn struct {
	Name string
	Num  bool
}

type pageRow struct {
	Name, Small string
	Blamed      bool
	Cells       []pageCell
}

type pageCell struct {
	Text string
	Num  bool
}

func newPage(d *straggler.Document) *page {
	p := &page{
		Looked: looked(d), Verdict: clean(d.Verdict, maxText), Word: clean(d.Status, 40), Tone: "amber",
		Tables: []pageTable{rankTable(d.Ranks), linkTable(d.Links), stepTable(d.Steps), groupTable(d.Groups), bandwidthTable(d.Bandwidths)},
	}
	p.Head = kit.Head("Stragglers: "+p.Word, pageScript())
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
	if p.Map = mapOf(d); p.Map != nil {
		p.Data = p.Map.data
	}
	p.Pictures = picturesOf(d)
	for _, s := range d.Warnings[:min(len(d.Warnings), maxPageRows)] {
		p.Warnings = append(p.Warnings, figure.Sentence(clean(s, maxText)))
	}
	for _, s := range d.Notes[:min(len(d.Notes), maxPageRows)] {
		p.Notes = append(p.Notes, figure.Sentence(clean(s, maxText)))
	}
	for i := range p.Tables {
		t := &p.Tables[i]
		if len(t.Rows) > maxPageFirst+1 {
			t.Rows, t.Folded = t.Rows[:maxPageFirst], t.Rows[maxPageFirst:]
		}
	}
	p.Tables = slices.DeleteFunc(p.Tables, func(t pageTable) bool { return len(t.Rows) == 0 })
	return p
}

// moreRows says how many rows a table lacks.
func moreRows(all, most int) string {
	if all <= most {
		return ""
	}
	return figure.Plural(all-most, "more is", "more are") + " in the JSON document."
}

// columnsOf names columns; those that begin with a # are numbers.
func columnsOf(names ...string) []pageColumn {
	out := make([]pageColumn, len(names))
	for i, n := range names {
		out[i].Name, out[i].Num = strings.CutPrefix(n, "#")
	}
	return out
}

// nameWidth is how many characters of a name a cell of a table with so many rows has.
func nameWidth(rows int) int {
	if rows > 4*maxPageFirst {
		return longPageName
	}
	return maxPageName
}

func (t *pageTable) add(row pageRow, texts ...string) {
	for i, text := range texts {
		row.Cells = append(row.Cells, pageCell{text, t.Columns[i+1].Num})
	}
	t.Rows = append(t.Rows, row)
}

func rankTable(ranks []straggler.RankCost) pageTable {
	width := nameWidth(len(ranks))
	t := pageTable{
		ID: "ranks", Title: "Ranks", More: moreRows(len(ranks), maxPageRanks),
		Hint:    "Cost: by how much later than the others a rank entered, as far as it took longer than usual itself. Gain: by how much shorter the job would be, were it as fast as usual.",
		Columns: columnsOf("rank", "#cost", "#of the time", "#gain", "#last", "#steps", "#waited", "late in", "what took longer"),
	}
	for i := range ranks[:min(len(ranks), maxPageRanks)] {
		r := &ranks[i]
		t.add(pageRow{Name: clean(r.ID, width), Small: clean(hostOf(r), width), Blamed: r.Blamed}, figure.Duration(r.CostNS), percent(r.Share), figure.Duration(r.GainNS),
			fmt.Sprintf("%d of %d", r.Last, r.Operations), strconv.Itoa(r.Steps), figure.Duration(r.Time.WaitingNS), lateIn(&r.Stability, width/2), clean(causeOf(r), width))
	}
	return t
}

func linkTable(links []straggler.LinkCost) pageTable {
	width := nameWidth(len(links))
	t := pageTable{
		ID: "links", Title: "Links", More: moreRows(len(links), maxPageRows), Hint: "Operations that took longer than usual when all were there.",
		Columns: columnsOf("link", "#cost", "#of the time", "#operations"),
	}
	for i := range links[:min(len(links), maxPageRows)] {
		l := &links[i]
		t.add(pageRow{Name: clean(linkName(l), 2*width), Blamed: l.Blamed}, figure.Duration(l.CostNS), percent(l.Share), strconv.Itoa(l.Times))
	}
	return t
}

func stepTable(steps []straggler.StepCost) pageTable {
	late := lateSteps(steps)
	width := nameWidth(len(late))
	t := pageTable{
		ID: "steps", Title: "Steps", More: moreRows(len(late), maxPageRows), Hint: "Steps in which somebody was late, the most expensive first.",
		Columns: columnsOf("step", "#took", "most expensive rank", "#cost", "what took longer"),
	}
	for _, s := range late[:min(len(late), maxPageRows)] {
		t.add(pageRow{Name: clean(s.Name, width)}, figure.Duration(s.ToNS-s.FromNS), clean(s.Critical, width), figure.Duration(s.CostNS), clean(s.Cause, width))
	}
	return t
}

func groupTable(groups []straggler.GroupCost) pageTable {
	width := nameWidth(len(groups))
	t := pageTable{
		ID: "communicators", Title: "Communicators", More: moreRows(len(groups), maxPageRows), Hint: "The time of all ranks in the operations of each, divided.",
		Columns: columnsOf("communicator", "#operations", "#last rank certain", "#transfer", "#waiting", "#late launch", "#profiler start", "#undecided"),
	}
	for i := range groups[:min(len(groups), maxPageRows)] {
		g := &groups[i]
		texts := []string{strconv.Itoa(g.Operations), strconv.Itoa(g.Told)}
		for _, p := range parts(g.Time) {
			texts = append(texts, figure.Duration(p.ns))
		}
		t.add(pageRow{Name: clean(g.Group, width)}, texts...)
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

func bandwidthTable(list []straggler.Bandwidth) pageTable {
	width := nameWidth(len(list))
	t := pageTable{
		ID: "bandwidths", Title: "Bandwidths", More: moreRows(len(list), maxPageRows),
		Hint:    "Medians. Size over time (algorithm), and what each link carried (bus), of the transfer alone, when all were there; behind them the bus's of the whole time, waiting included.",
		Columns: columnsOf("operation", "communicator", "#size", "#operations", "#transfer", "#slowest", "#algorithm", "#bus", "#bus, whole time"),
	}
	for i := range list[:min(len(list), maxPageRows)] {
		b := &list[i]
		small := clean(b.Kind, width)
		if len(b.Pair) == 2 {
			small += ", " + clean(b.Pair[0], width) + " and " + clean(b.Pair[1], width)
		}
		t.add(pageRow{Name: clean(b.Operation, width), Small: small}, clean(b.Group, width), size(b.Bytes), strconv.Itoa(b.Operations), figure.Duration(b.TransferNS),
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
