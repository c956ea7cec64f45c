package stragglerreport

import (
	"embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/timeline/straggler"
)

//go:embed assets
var assets embed.FS

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(b)
}

// What a page holds at most.
const (
	maxPageRanks   = 1024                                                                                 // rows of the table of ranks
	maxPageRows    = 300                                                                                  // of any other table
	maxPageName    = 80                                                                                   // characters of a name in a cell
	maxMapRanks    = 64                                                                                   // rows of the map
	maxMapColumns  = 240                                                                                  // columns of the map; from there on one stands for several steps
	pagePolicy     = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" // no script
	mapLeft        = 200
	mapWidth       = 960
	mapRowHeight   = 16
	mapIntensities = 4
)

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(asset("page.html"))) })

// HTML writes one page that needs nothing else: no network, no library, no script. It is made of the document alone.
func HTML(w io.Writer, d *straggler.Document, _ Options) error {
	return pageTemplate().Execute(w, newPage(d))
}

// page is what the template shows.
type page struct {
	Policy, Tone, Word, Verdict string
	Style                       template.CSS
	Tiles                       []pageTile
	Map                         template.HTML
	MapNote                     string
	Tables                      []pageTable
	Warnings, Notes             []string
}

type pageTile struct{ Label, Value, Detail string }

// pageTable is a table whose first column names the row.
type pageTable struct {
	ID, Title, Hint, More string
	Columns               []pageColumn
	Rows                  []pageRow
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
		Policy: pagePolicy, Style: template.CSS(asset("page.css")), Verdict: clean(d.Verdict, maxText), Word: clean(d.Status, 40), Tone: "amber",
		Tables: []pageTable{rankTable(d.Ranks), linkTable(d.Links), stepTable(d.Steps), groupTable(d.Groups)},
	}
	switch d.Status {
	case straggler.StatusBlamed:
		p.Tone = "bad"
	case straggler.StatusNobody:
		p.Tone = "good"
	}
	whole := d.Time.Total()
	for _, t := range parts(d.Time) {
		p.Tiles = append(p.Tiles, pageTile{t.name, percent(float64(t.ns) / float64(max(whole, 1))), duration(t.ns) + ": " + t.meaning})
	}
	p.Map, p.MapNote = mapOf(d)
	for _, s := range d.Warnings[:min(len(d.Warnings), maxPageRows)] {
		p.Warnings = append(p.Warnings, sentence(clean(s, maxText)))
	}
	for _, s := range d.Notes[:min(len(d.Notes), maxPageRows)] {
		p.Notes = append(p.Notes, sentence(clean(s, maxText)))
	}
	p.Tables = slices.DeleteFunc(p.Tables, func(t pageTable) bool { return len(t.Rows) == 0 })
	return p
}

// moreRows says how many rows a table lacks.
func moreRows(all, most int) string {
	if all <= most {
		return ""
	}
	return plural(all-most, "more is", "more are") + " in the JSON document."
}

// columnsOf names columns; those that begin with a # are numbers.
func columnsOf(names ...string) []pageColumn {
	out := make([]pageColumn, len(names))
	for i, n := range names {
		out[i].Name, out[i].Num = strings.CutPrefix(n, "#")
	}
	return out
}

func (t *pageTable) add(row pageRow, texts ...string) {
	for i, text := range texts {
		row.Cells = append(row.Cells, pageCell{text, t.Columns[i+1].Num})
	}
	t.Rows = append(t.Rows, row)
}

func rankTable(ranks []straggler.RankCost) pageTable {
	t := pageTable{
		ID: "ranks", Title: "Ranks", More: moreRows(len(ranks), maxPageRanks),
		Hint:    "Cost: by how much later than the others a rank entered, as far as it took longer than usual itself. Gain: by how much shorter the job would be, were it as fast as usual.",
		Columns: columnsOf("rank", "#cost", "#of the time", "#gain", "#last", "#steps", "#waited", "what took longer"),
	}
	for i := range ranks[:min(len(ranks), maxPageRanks)] {
		r := &ranks[i]
		t.add(pageRow{Name: clean(r.ID, maxPageName), Small: clean(hostOf(r), maxPageName), Blamed: r.Blamed}, duration(r.CostNS), percent(r.Share), duration(r.GainNS),
			fmt.Sprintf("%d of %d", r.Last, r.Operations), strconv.Itoa(r.Steps), duration(r.Time.WaitingNS), clean(causeOf(r), maxPageName))
	}
	return t
}

func linkTable(links []straggler.LinkCost) pageTable {
	t := pageTable{
		ID: "links", Title: "Links", More: moreRows(len(links), maxPageRows), Hint: "Operations that took longer than usual when all were there.",
		Columns: columnsOf("link", "#cost", "#of the time", "#operations"),
	}
	for i := range links[:min(len(links), maxPageRows)] {
		l := &links[i]
		t.add(pageRow{Name: clean(linkName(l), 2*maxPageName), Blamed: l.Blamed}, duration(l.CostNS), percent(l.Share), strconv.Itoa(l.Times))
	}
	return t
}

func stepTable(steps []straggler.StepCost) pageTable {
	late := lateSteps(steps)
	t := pageTable{
		ID: "steps", Title: "Steps", More: moreRows(len(late), maxPageRows), Hint: "Steps in which somebody was late, the most expensive first.",
		Columns: columnsOf("step", "#took", "most expensive rank", "#cost", "what took longer"),
	}
	for _, s := range late[:min(len(late), maxPageRows)] {
		t.add(pageRow{Name: clean(s.Name, maxPageName)}, duration(s.ToNS-s.FromNS), clean(s.Critical, maxPageName), duration(s.CostNS), clean(s.Cause, maxPageName))
	}
	return t
}

func groupTable(groups []straggler.GroupCost) pageTable {
	t := pageTable{
		ID: "communicators", Title: "Communicators", More: moreRows(len(groups), maxPageRows), Hint: "The time of all ranks in the operations of each, divided.",
		Columns: columnsOf("communicator", "#operations", "#last rank certain", "#transfer", "#waiting", "#profiler start", "#undecided"),
	}
	for i := range groups[:min(len(groups), maxPageRows)] {
		g := &groups[i]
		texts := []string{strconv.Itoa(g.Operations), strconv.Itoa(g.Told)}
		for _, p := range parts(g.Time) {
			texts = append(texts, duration(p.ns))
		}
		t.add(pageRow{Name: clean(g.Group, maxPageName)}, texts...)
	}
	return t
}

// mapCell is what a rank cost in the steps of one column in which it was the most expensive.
type mapCell struct {
	costNS int64
	steps  int
}

// mapOf draws ranks x steps: a cell where a rank was the most expensive of a step, darker the more it cost. Ranks are sorted by cost.
func mapOf(d *straggler.Document) (template.HTML, string) {
	row := map[string]int{}
	var ranks []string
	critical := map[string]bool{}
	for i := range d.Steps {
		critical[d.Steps[i].Critical] = true
	}
	left := 0
	for i := range d.Ranks {
		id := d.Ranks[i].ID
		if _, twice := row[id]; twice || !critical[id] || id == "" {
			continue
		}
		if len(ranks) == maxMapRanks {
			left++
			continue
		}
		row[id] = len(ranks)
		ranks = append(ranks, id)
	}
	if len(ranks) == 0 {
		return "", ""
	}
	columns := min(len(d.Steps), maxMapColumns)
	cells := make([]mapCell, columns*len(ranks))
	most := int64(1)
	for i := range d.Steps {
		s := &d.Steps[i]
		r, ok := row[s.Critical]
		if !ok {
			continue
		}
		c := &cells[r*columns+i*columns/len(d.Steps)]
		c.costNS, c.steps = c.costNS+s.CostNS, c.steps+1
		most = max(most, c.costNS)
	}
	note := "A cell: the rank was the most expensive of the step; the darker, the more it cost."
	if columns < len(d.Steps) {
		note += fmt.Sprintf(" %d steps in %d columns: a column stands for several.", len(d.Steps), columns)
	}
	if left > 0 {
		note += fmt.Sprintf(" %s not drawn.", plural(left, "rank that cost less is", "ranks that cost less are"))
	}
	return drawMap(d, ranks, cells, columns, most), note
}

func drawMap(d *straggler.Document, ranks []string, cells []mapCell, columns int, most int64) template.HTML {
	var b strings.Builder
	width := float64(mapWidth) / float64(columns)
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="ranks by cost and steps by time">`, mapLeft+mapWidth, mapRowHeight*len(ranks))
	for r, id := range ranks {
		y := r * mapRowHeight
		fmt.Fprintf(&b, `<text class="label" x="%d" y="%d" text-anchor="end">%s</text><rect class="lane" x="%d" y="%d" width="%d" height="%d"/>`,
			mapLeft-8, y+mapRowHeight-4, html.EscapeString(clean(id, 28)), mapLeft, y+1, mapWidth, mapRowHeight-2)
		for c := range columns {
			cell := cells[r*columns+c]
			if cell.steps == 0 {
				continue
			}
			first := (c*len(d.Steps) + columns - 1) / columns
			title := fmt.Sprintf("%s, step %s: %s", clean(id, 60), clean(d.Steps[first].Name, 60), duration(cell.costNS))
			if (c+1)*len(d.Steps) > columns*(first+1) {
				title = fmt.Sprintf("%s, from step %s on: most expensive in %s, %s", clean(id, 60), clean(d.Steps[first].Name, 60), plural(cell.steps, "step", "steps"), duration(cell.costNS))
			}
			shade := min(mapIntensities, 1+int(float64(mapIntensities)*float64(max(cell.costNS, 0))/float64(most)))
			fmt.Fprintf(&b, `<rect class="s%d" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`, shade, mapLeft+float64(c)*width, y+1, width, mapRowHeight-2, html.EscapeString(title))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
