package sheet

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
)

// The measures of a map.
const (
	Left      = 200 // of names, in this and in other pictures
	Width     = 960
	height    = 1024 // from which on rows are no lower
	rowMost   = 16.0
	rowLeast  = 1.25
	shades    = 5
	maxTitles = 100 // cells, the largest, that say what they are without the script
	labelName = 28  // characters of a name beside the map

	squareRows  = 24 // maps of so few rows have higher ones
	squareRow   = 26.0
	columnLabel = 18 // the height of names above columns
	columnName  = 6  // characters of a name above a column; those of longer ones are only read out
)

// Map is a map of rows x columns, of times in ns. Names are fit for people.
type Map struct {
	Title, Note string // Note says what a row, a column and a cell are
	Label       string // for who cannot see it
	Help        string // what to do with it
	Rows        []string
	Columns     []string
	NS          [][]int64
	Says        string    // of a cell, with {} for its time
	Nothing     string    // of a cell of nothing
	Also        [][]int64 // a second time of each cell, nil none
	AlsoSays    string    // of it, with {} for the time
	Square      bool      // cells are as wide as they are high
	Tops        []string  // of columns of square maps: what stands above them
	Picture     template.HTML
	Legend      []shade
	Data        template.JS // what the script reads out
}

// shade is one shade of the legend.
type shade struct{ Class, Text string }

// Draw draws the map; false: there is nothing in it.
func (m *Map) Draw() bool {
	most := int64(0)
	for _, row := range m.NS {
		for _, ns := range row {
			most = max(most, ns)
		}
	}
	if most == 0 || len(m.Columns) == 0 {
		return false
	}
	from := int64(0)
	for s := 1; s <= shades; s++ {
		to := shadeEnd(s, most)
		m.Legend = append(m.Legend, shade{"s" + strconv.Itoa(s), strings.Replace(figure.Duration(from)+" to ", "0\u00a0ns to", "up to", 1) + figure.Duration(to)})
		from = to
	}
	m.Picture, m.Data = m.draw(most), m.data()
	return true
}

// shadeEnd is the most that a cell of a shade has. Shades grow with the root: a few large cells do not make all others pale.
func shadeEnd(shade int, most int64) int64 {
	part := float64(shade) / shades
	return int64(math.Round(part * part * float64(most)))
}

func shadeOf(ns, most int64) int {
	if ns <= 0 {
		return 0
	}
	return min(shades, int(math.Ceil(shades*math.Sqrt(float64(ns)/float64(most))-1e-9)))
}

func (m *Map) draw(most int64) template.HTML {
	var b strings.Builder
	rows, columns := len(m.Rows), len(m.Columns)
	rowHeight := min(rowMost, max(rowLeast, float64(height)/float64(rows)))
	tall, wide, top := rowHeight*float64(rows), float64(Width), 0
	if m.Square {
		if rows <= squareRows {
			rowHeight = squareRow
			tall = rowHeight * float64(rows)
		}
		wide, top = min(wide, rowHeight*float64(columns)), columnLabel
	}
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %s" role="img" aria-label="%s">`, Left+Width, Px(tall+float64(top)), html.EscapeString(m.Label))
	each := max(1, int(math.Ceil(14/rowHeight)))
	for r := 0; r < rows; r += each {
		fmt.Fprintf(&b, `<text class="label" x="%d" y="%s" text-anchor="end">%s</text>`, Left-8, Px(float64(top)+float64(r)*rowHeight+min(rowHeight-(rowHeight-14)/2, 14)-2), html.EscapeString(short(m.Rows[r], labelName)))
	}
	if m.Square {
		m.columnLabels(&b, wide/float64(columns))
	}
	fmt.Fprintf(&b, `<svg id="cells" x="%d" y="%d" width="%s" height="%s" viewBox="0 0 %d %d" preserveAspectRatio="none"><rect class="lane" width="%d" height="%d"/>`,
		Left, top, Px(wide), Px(tall), columns, rows, columns, rows)
	for shade := 1; shade <= shades; shade++ {
		if path := shadePath(m.NS, columns, shade, most); path != "" {
			fmt.Fprintf(&b, `<path class="s%d" d="%s"/>`, shade, path)
		}
	}
	m.titles(&b)
	b.WriteString(`<rect id="cursor" width="1" height="1" visibility="hidden"/></svg></svg>`)
	return template.HTML(b.String())
}

// columnLabels names columns above them, as many as have room.
func (m *Map) columnLabels(b *strings.Builder, wide float64) {
	most := 0
	for _, name := range m.Tops {
		most = max(most, len([]rune(name)))
	}
	if most == 0 || most > columnName {
		return
	}
	each := max(1, int(math.Ceil(float64(8*most+6)/wide)))
	for c := 0; c < len(m.Tops); c += each {
		fmt.Fprintf(b, `<text class="label" x="%s" y="%d" text-anchor="middle">%s</text>`, Px(Left+(float64(c)+0.5)*wide), columnLabel-6, html.EscapeString(m.Tops[c]))
	}
}

// short cuts a name.
func short(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
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

// titles lays what they are over the largest cells.
func (m *Map) titles(b *strings.Builder) {
	type cell struct {
		r, c int
		ns   int64
	}
	var cells []cell
	for r, row := range m.NS {
		for c, ns := range row[:min(len(row), len(m.Columns))] {
			if ns > 0 {
				cells = append(cells, cell{r, c, ns})
			}
		}
	}
	slices.SortStableFunc(cells, func(x, y cell) int { return int(min(max(y.ns-x.ns, -1), 1)) })
	for _, x := range cells[:min(len(cells), maxTitles)] {
		fmt.Fprintf(b, `<rect class="cell" x="%d" y="%d" width="1" height="1"><title>%s</title></rect>`, x.c, x.r,
			html.EscapeString(fmt.Sprintf("%s, %s: %s", m.Rows[x.r], m.Columns[x.c], strings.Replace(m.Says, "{}", figure.Duration(x.ns), 1))))
	}
}

// data is what the script reads out: rows of times, in us.
func (m *Map) data() template.JS {
	data := struct {
		Rows     []string `json:"rows"`
		Columns  []string `json:"columns"`
		Says     string   `json:"says"`
		Nothing  string   `json:"nothing"`
		AlsoSays string   `json:"also_says,omitempty"`
		NS       []string `json:"us"`
		Also     []string `json:"also_us"`
	}{Rows: m.Rows, Columns: m.Columns, Says: m.Says, Nothing: m.Nothing, AlsoSays: m.AlsoSays, NS: []string{}, Also: []string{}}
	for _, row := range m.NS {
		data.NS = append(data.NS, packed(row))
	}
	for _, row := range m.Also {
		data.Also = append(data.Also, packed(row))
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

// Px writes a place on a picture with one digit.
func Px(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
