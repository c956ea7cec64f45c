package stragglerreport

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// The measures of the map.
const (
	mapLeft      = 200 // of names
	mapWidth     = 960
	mapHeight    = 1024 // from which on rows are no lower
	mapRowMost   = 16.0
	mapRowLeast  = 1.25
	mapShades    = 5
	mapRanks     = 1024
	mapName      = 20
	mapTitles    = 100     // cells, the most expensive, that say what they are without the script
	mapLateCells = 1 << 14 // of larger maps the script does not know by how much ranks were late
)

// pageMap is ranks x steps.
type pageMap struct {
	Picture template.HTML
	Note    string
	Legend  []mapShade
	data    template.JS
}

type mapShade struct {
	Class string
	Text  string
}

// mapOf draws what each rank cost in each step: a row a rank, the most expensive first, a column a step.
func mapOf(d *straggler.Document) *pageMap {
	m := &d.Map
	rows := min(len(d.Ranks), len(m.CostNS), mapRanks)
	if rows == 0 || len(m.Columns) == 0 {
		return nil
	}
	most := int64(0)
	for _, row := range m.CostNS[:rows] {
		for _, ns := range row {
			most = max(most, ns)
		}
	}
	if most == 0 {
		return nil
	}
	out := &pageMap{Note: "A row is a rank, the most expensive first, a column a step. The stronger the colour of a cell, the more the rank cost in the step."}
	if steps := len(d.Steps); steps > len(m.Columns) {
		out.Note += fmt.Sprintf(" %s steps in %s columns: a column stands for several.", figure.Count(steps), figure.Count(len(m.Columns)))
	}
	if n := len(d.Ranks) - rows; n > 0 {
		out.Note += fmt.Sprintf(" %s not drawn.", figure.Plural(n, "rank that cost less is", "ranks that cost less are"))
	}
	from := int64(0)
	for s := 1; s <= mapShades; s++ {
		to := shadeEnd(s, most)
		out.Legend = append(out.Legend, mapShade{"s" + strconv.Itoa(s), strings.Replace(figure.Duration(from)+" to ", "0\u00a0ns to", "up to", 1) + figure.Duration(to)})
		from = to
	}
	out.Picture = drawMap(d, rows, most)
	out.data = mapData(d, rows)
	return out
}

// shadeEnd is the most that a cell of a shade costs. Shades grow with the root: a few expensive cells do not make all others pale.
func shadeEnd(shade int, most int64) int64 {
	part := float64(shade) / mapShades
	return int64(math.Round(part * part * float64(most)))
}

func shadeOf(ns, most int64) int {
	if ns <= 0 {
		return 0
	}
	return min(mapShades, int(math.Ceil(mapShades*math.Sqrt(float64(ns)/float64(most))-1e-9)))
}

func drawMap(d *straggler.Document, rows int, most int64) template.HTML {
	var b strings.Builder
	columns := len(d.Map.Columns)
	rowHeight := min(mapRowMost, max(mapRowLeast, float64(mapHeight)/float64(rows)))
	height := rowHeight * float64(rows)
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %s" role="img" aria-label="cost by rank and step">`, mapLeft+mapWidth, px(height))
	each := max(1, int(math.Ceil(14/rowHeight)))
	for r := 0; r < rows; r += each {
		fmt.Fprintf(&b, `<text class="label" x="%d" y="%s" text-anchor="end">%s</text>`, mapLeft-8, px(float64(r)*rowHeight+min(rowHeight, 14)-2), html.EscapeString(clean(d.Ranks[r].ID, 28)))
	}
	fmt.Fprintf(&b, `<svg id="cells" x="%d" y="0" width="%d" height="%s" viewBox="0 0 %d %d" preserveAspectRatio="none"><rect class="lane" width="%d" height="%d"/>`,
		mapLeft, mapWidth, px(height), columns, rows, columns, rows)
	for shade := 1; shade <= mapShades; shade++ {
		if path := shadePath(d.Map.CostNS[:rows], columns, shade, most); path != "" {
			fmt.Fprintf(&b, `<path class="s%d" d="%s"/>`, shade, path)
		}
	}
	titles(&b, d, rows)
	b.WriteString(`<rect id="cursor" width="1" height="1" visibility="hidden"/></svg></svg>`)
	return template.HTML(b.String())
}

// shadePath strokes the cells of one shade, those beside each other at once.
func shadePath(costs [][]int64, columns, shade int, most int64) string {
	var b strings.Builder
	for r, row := range costs {
		at := -1 // where the pen is in this row
		for c := 0; c < min(columns, len(row)); c++ {
			if shadeOf(row[c], most) != shade {
				continue
			}
			end := c + 1
			for end < min(columns, len(row)) && shadeOf(row[end], most) == shade {
				end++
			}
			if at < 0 {
				fmt.Fprintf(&b, "M%d %d.5", c, r)
			} else {
				fmt.Fprintf(&b, "m%d 0", c-at)
			}
			fmt.Fprintf(&b, "h%d", end-c)
			at, c = end, end
		}
	}
	return b.String()
}

// titles lays what they are over the most expensive cells.
func titles(b *strings.Builder, d *straggler.Document, rows int) {
	type cell struct {
		r, c int
		ns   int64
	}
	var cells []cell
	for r, row := range d.Map.CostNS[:rows] {
		for c, ns := range row[:min(len(row), len(d.Map.Columns))] {
			if ns > 0 {
				cells = append(cells, cell{r, c, ns})
			}
		}
	}
	slices.SortStableFunc(cells, func(x, y cell) int { return int(min(max(y.ns-x.ns, -1), 1)) })
	for _, x := range cells[:min(len(cells), mapTitles)] {
		fmt.Fprintf(b, `<rect class="cell" x="%d" y="%d" width="1" height="1"><title>%s</title></rect>`, x.c, x.r,
			html.EscapeString(fmt.Sprintf("%s, %s: cost %s", clean(d.Ranks[x.r].ID, mapName), columnName(&d.Map.Columns[x.c], mapName), figure.Duration(x.ns))))
	}
}

func columnName(c *straggler.MapColumn, most int) string {
	if c.Steps > 1 {
		return "steps " + clean(c.From, most) + " to " + clean(c.To, most)
	}
	return "step " + clean(c.From, most)
}

// mapData is what the script reads out: rows of costs, and of latenesses where the map is small, in us.
func mapData(d *straggler.Document, rows int) template.JS {
	data := struct {
		Ranks []string `json:"ranks"`
		Steps []string `json:"steps"`
		Cost  []string `json:"cost"`
		Late  []string `json:"late"`
	}{Ranks: []string{}, Steps: []string{}, Cost: []string{}, Late: []string{}}
	for i := range d.Ranks[:rows] {
		data.Ranks = append(data.Ranks, clean(d.Ranks[i].ID, mapName))
	}
	for i := range d.Map.Columns {
		data.Steps = append(data.Steps, columnName(&d.Map.Columns[i], mapName))
	}
	for r := range rows {
		data.Cost = append(data.Cost, packed(d.Map.CostNS[r]))
	}
	if rows*len(d.Map.Columns) <= mapLateCells && len(d.Map.LateNS) >= rows {
		for r := range rows {
			data.Late = append(data.Late, packed(d.Map.LateNS[r]))
		}
	}
	b, err := json.Marshal(data) // escapes <, > and &
	if err != nil {
		panic(err) // strings only
	}
	return template.JS(b)
}

// packed writes ns as us to the base of 36, with nothing for 0 and no zeros at the end of a row.
func packed(row []int64) string {
	var b strings.Builder
	at := 0
	for i, ns := range row {
		if us := (ns + 500) / 1000; us > 0 {
			b.WriteString(strings.Repeat(",", i-at) + strconv.FormatInt(us, 36))
			at = i
		}
	}
	return b.String()
}

// px writes a place on a picture with one digit.
func px(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
