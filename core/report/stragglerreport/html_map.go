package stragglerreport

import (
	"fmt"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/sheet"
	"github.com/prlx-go/prlx/core/straggler"
)

// What the map holds at most.
const (
	mapRanks     = 1024
	mapName      = 20
	mapLateCells = 1 << 14 // of larger maps the script does not know by how much ranks were late
)

// mapOf draws what each rank cost in each step: a row a rank, the most expensive first, a column a step.
func mapOf(d *straggler.Document) *sheet.Map {
	m := &d.Map
	rows := min(len(d.Ranks), len(m.CostNS), mapRanks)
	if rows == 0 || len(m.Columns) == 0 {
		return nil
	}
	out := &sheet.Map{
		Title: "Ranks and steps", Note: "A row is a rank, the most expensive first, a column a step. The stronger the colour of a cell, the more the rank cost in the step.",
		Label: "cost by rank and step", Help: "map of ranks and steps; arrow keys move through it", NS: m.CostNS[:rows], Says: "cost {}", Nothing: "cost nothing",
		AlsoSays: "entered up to {} later than the others",
	}
	if steps := len(d.Steps); steps > len(m.Columns) {
		out.Note += fmt.Sprintf(" %s steps in %s columns: a column stands for several.", figure.Count(steps), figure.Count(len(m.Columns)))
	}
	if n := len(d.Ranks) - rows; n > 0 {
		out.Note += fmt.Sprintf(" %s not drawn.", figure.Plural(n, "rank that cost less is", "ranks that cost less are"))
	}
	for i := range d.Ranks[:rows] {
		out.Rows = append(out.Rows, clean(d.Ranks[i].ID, mapName))
	}
	for i := range m.Columns {
		out.Columns = append(out.Columns, columnName(&m.Columns[i], mapName))
	}
	if rows*len(m.Columns) <= mapLateCells && len(m.LateNS) >= rows {
		out.Also = m.LateNS[:rows]
	}
	if !out.Draw() {
		return nil
	}
	return out
}

func columnName(c *straggler.MapColumn, most int) string {
	if c.Steps > 1 {
		return "steps " + clean(c.From, most) + " to " + clean(c.To, most)
	}
	return "step " + clean(c.From, most)
}
