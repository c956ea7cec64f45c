package simulationreport

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

// arrayPart is one array: who read it and who wrote it.
type arrayPart struct {
	Name, Shape, Note string
	Maps              []mapPart
}

type mapPart struct {
	Title   string
	Picture template.HTML
	Legend  []legend
	Summary string
}

type legend struct {
	Class, Text string
	Cells       int
}

// colours is how many colours tell blocks apart; each stands for a range of blocks.
const colours = 8

// maxPictures bounds the arrays that a page draws, so that it opens: each can have a path of thousands of steps.
const maxPictures = 32

// arrays draws the arrays that a launch touched, as long as there is room for pictures, and returns the room that is left.
func (part *kernelPart) arrays(t *simulated.Touched, room int) int {
	if t == nil {
		return room
	}
	more := t.MoreArrays
	blocks := max(uint64(t.Grid[0])*uint64(t.Grid[1])*uint64(t.Grid[2]), 1)
	var idle []string
	for i := range t.Arrays {
		a := &t.Arrays[i]
		if a.Read == nil && a.Written == nil {
			idle = append(idle, clean(a.Name, maxName))
			continue
		}
		if room <= 0 {
			more++
		} else if picture, ok := arrayOf(a, blocks); ok {
			part.Arrays = append(part.Arrays, picture)
			room--
		}
	}
	note := fmt.Sprintf("Launch %d, grid %d × %d × %d. A cell has the colour of the lowest block that touched it; hatched cells were touched by more than one.", t.Launch, t.Grid[0], t.Grid[1], t.Grid[2])
	if len(idle) > 0 {
		note += " Touched by no block: " + strings.Join(idle, ", ") + "."
	}
	if more > 0 {
		note += " " + figure.Plural(more, "more array has", "more arrays have") + " no picture."
	}
	part.ArraysNote = note
	return room
}

// arrayOf draws an array; ok is false where the document contradicts itself.
func arrayOf(a *watch.TouchedArray, blocks uint64) (arrayPart, bool) {
	part := arrayPart{Name: clean(a.Name, maxName)}
	kind := clean(strings.TrimPrefix(a.Type, "*"), maxName)
	part.Shape = strings.TrimSpace(fmt.Sprintf("%s %s", shapeText(a), kind))
	part.Note = cellText(a)
	for _, m := range []struct {
		title, verb string
		cells       *watch.CellMap
	}{{"read", "read", a.Read}, {"written", "wrote", a.Written}} {
		if m.cells == nil {
			part.Note += " No block " + m.verb + " it."
			continue
		}
		if !consistent(m.cells) {
			return part, false
		}
		part.Maps = append(part.Maps, drawn(part.Name, m.title, m.cells, blocks))
	}
	return part, true
}

// maxCells bounds a map that is drawn, whatever a document says.
const maxCells = 1 << 13

func consistent(m *watch.CellMap) bool {
	n := len(m.First)
	return m.Width > 0 && m.Width <= maxCells && n > 0 && n <= maxCells && len(m.Last) == n && len(m.Blocks) == n
}

func shapeText(a *watch.TouchedArray) string {
	if len(a.Shape) == 0 || len(a.Shape) > 8 {
		return figure.Plural(a.Bytes, "byte", "bytes")
	}
	var parts []string
	for _, d := range a.Shape {
		parts = append(parts, strconv.FormatInt(d, 10))
	}
	return strings.Join(parts, " × ")
}

func cellText(a *watch.TouchedArray) string {
	cell := "one element"
	if n := a.CellRows * a.CellColumns; n > 1 {
		cell = fmt.Sprintf("%d × %d elements", a.CellRows, a.CellColumns)
	}
	if len(a.Shape) == 0 {
		return fmt.Sprintf("A cell is %s; the array is wrapped after %s.", cell, figure.Plural(a.Columns, "element", "elements"))
	}
	if len(a.Shape) > 2 {
		return fmt.Sprintf("A cell is %s; a row of the picture is the last dimension, all others lie below each other.", cell)
	}
	return fmt.Sprintf("A cell is %s.", cell)
}

// drawn is the picture of a map: one path a colour, runs of cells of a row.
func drawn(name, title string, m *watch.CellMap, blocks uint64) mapPart {
	part := mapPart{Title: title}
	rows := (len(m.First) + m.Width - 1) / m.Width
	var paths [colours]strings.Builder
	var cells [colours]int
	var several strings.Builder
	shared, touched := 0, 0
	for y := range rows {
		row := m.First[y*m.Width : min((y+1)*m.Width, len(m.First))]
		for x := 0; x < len(row); {
			c := colourOf(row[x], blocks)
			end := x + 1
			for end < len(row) && colourOf(row[end], blocks) == c {
				end++
			}
			if c >= 0 {
				fmt.Fprintf(&paths[c], "M%d %dh%dv1h-%dz", x, y, end-x, end-x)
				cells[c] += end - x
				touched += end - x
			}
			x = end
		}
		for x := range row {
			if m.Blocks[y*m.Width+x] > 1 {
				fmt.Fprintf(&several, "M%d %dl1 1", x, y)
				shared++
			}
		}
	}
	var b strings.Builder
	width, height := pictureSize(m.Width, rows)
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" preserveAspectRatio="none"><rect class="none" width="%d" height="%d"/>`,
		m.Width, rows, width, height, template.HTMLEscapeString(name+", "+title), m.Width, rows)
	for c := range paths {
		if cells[c] == 0 {
			continue
		}
		text := blocksText(c, blocks)
		fmt.Fprintf(&b, `<path class="c%d" d="%s"><title>%s</title></path>`, c, paths[c].String(), text)
		part.Legend = append(part.Legend, legend{"c" + strconv.Itoa(c), text, cells[c]})
	}
	if shared > 0 {
		fmt.Fprintf(&b, `<path class="several" d="%s"/>`, several.String())
	}
	b.WriteString("</svg>")
	part.Picture = template.HTML(b.String()) // numbers, and a name that is escaped
	part.Summary = fmt.Sprintf("%s of %s, %s", figure.Count(touched), figure.Plural(len(m.First), "cell", "cells"), sharedText(shared))
	return part
}

// The pixels of a picture: cells are squares unless it would be a stripe.
const (
	pictureSide  = 420
	pictureLeast = 24
)

func pictureSize(columns, rows int) (width, height int) {
	cell := pictureSide / float64(max(columns, rows))
	return max(int(cell*float64(columns)), 4*pictureLeast), max(int(cell*float64(rows)), pictureLeast)
}

func sharedText(n int) string {
	if n == 0 {
		return "none of them by more than one block"
	}
	return figure.Count(n) + " of them by more than one block"
}

// colourOf is the colour of a block, -1 of none.
func colourOf(block int64, blocks uint64) int {
	if block < 0 {
		return -1
	}
	b := min(uint64(block), blocks-1)
	if blocks <= colours {
		return int(b)
	}
	return int(b / (blocks/colours + min(1, blocks%colours)))
}

// blocksText says which blocks have a colour.
func blocksText(c int, blocks uint64) string {
	if blocks <= colours {
		return "block " + strconv.Itoa(c)
	}
	each := blocks/colours + min(1, blocks%colours)
	first, last := uint64(c)*each, min((uint64(c)+1)*each, blocks)-1
	if first == last {
		return "block " + strconv.FormatUint(first, 10)
	}
	return fmt.Sprintf("blocks %d to %d", first, last)
}
