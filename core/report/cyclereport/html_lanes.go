package cyclereport

import (
	"fmt"
	"strconv"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/figure"
)

// lanes is the timeline of steps: a lane a device, a block a step, and below it how long steps took.
type lanes struct {
	Lanes       []lane
	LanesNote   string
	LanesLabel  string
	LanesHeight int
	Key         []keyRow
	Ticks       []tick
	TicksY      int
	Walls       *walls
}

type lane struct {
	Label     string
	LabelY, Y int
	Blocks    []block
}

type block struct {
	Color, X, W, Title string
	Y                  int
}

type keyRow struct{ Color, Text string }

type tick struct{ X, Text, Anchor string }

// walls is the picture of how long steps took.
type walls struct {
	Note, Label string
	Lines       []wallLine
	Bars        []wallBar
	Odd, Drifts []wallMark
}

type wallLine struct{ Y, TextY, Text string }

type wallBar struct{ Color, X, Y, H string }

type wallMark struct{ X, Y, Text string }

// The measures of the picture.
const (
	pictureWidth = 1200
	laneHeight   = 44
	wallTop      = 10.0
	wallBottom   = 160.0
	least        = 0.5 // the narrowest block
	buckets      = pictureWidth / 4
)

// axis maps instants to the width of the picture.
type axis struct{ from, to int64 }

func (a axis) x(ns int64) float64 {
	return pictureWidth * float64(ns-a.from) / float64(max(1, a.to-a.from))
}

func px(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

type deviceKey struct {
	rank   int
	device string
}

func newLanes(d *cycledoc.Document, colors map[string]string) lanes {
	var out lanes
	if len(d.Steps) == 0 {
		return out
	}
	names := map[string]string{}
	for i := range d.Levels {
		for k := range d.Levels[i].Classes {
			names[d.Levels[i].Classes[k].ID] = d.Levels[i].Classes[k].Name
		}
	}
	ax := axis{d.Steps[0].StartNS, d.Steps[0].EndNS}
	for i := range d.Steps {
		ax.from, ax.to = min(ax.from, d.Steps[i].StartNS), max(ax.to, d.Steps[i].EndNS)
	}
	at := map[deviceKey]int{}
	devices, drawn := 0, 0
	keyed := map[string]bool{}
	for i := range d.Steps {
		s := &d.Steps[i]
		k := deviceKey{s.Rank, s.Device}
		n, ok := at[k]
		if !ok {
			n = devices
			at[k] = n
			devices++
			if n < maxPageLanes {
				out.Lanes = append(out.Lanes, lane{Label: where(d, s.Rank, s.Device), LabelY: 14 + n*laneHeight, Y: 18 + n*laneHeight})
			}
		}
		if n >= maxPageLanes {
			continue
		}
		color, name := colors[s.Class], names[s.Class]
		if color == "" {
			color, name = "none", "like no other step"
		}
		if !keyed[color+name] && len(out.Key) < 12 {
			keyed[color+name] = true
			out.Key = append(out.Key, keyRow{color, clean(name, maxName)})
		}
		if out.Lanes[n].add(ax, s, color, name) {
			drawn++
		}
	}
	if n := devices - maxPageLanes; n > 0 {
		out.LanesNote = fmt.Sprintf("The first %d of %d devices. ", maxPageLanes, devices)
	}
	out.LanesNote += "A block is a step, from border to border; its colour is its class."
	if drawn < len(d.Steps) {
		out.LanesNote += fmt.Sprintf(" %s are too short to be drawn on their own: the table of borders in JSON has all.", figure.Count(len(d.Steps)-drawn))
	}
	out.LanesLabel = fmt.Sprintf("%s of %s over %s", figure.Plural(len(d.Steps), "step", "steps"), figure.Plural(devices, "device", "devices"), figure.Duration(ax.to-ax.from))
	out.TicksY = 18 + len(out.Lanes)*laneHeight
	out.LanesHeight = out.TicksY + 8
	out.Ticks = ticks(ax)
	out.Walls = newWalls(d, ax, colors)
	return out
}

// add draws a step; a step that is narrower than can be seen joins the block before it when that is of its class, and reports false.
func (l *lane) add(ax axis, s *cycledoc.Step, color, name string) bool {
	x := ax.x(s.StartNS)
	w := ax.x(s.StartNS+s.WallNS) - x
	if n := len(l.Blocks); n > 0 && w < 2*least {
		last := &l.Blocks[n-1]
		lx, _ := strconv.ParseFloat(last.X, 64)
		lw, _ := strconv.ParseFloat(last.W, 64)
		switch {
		case x+w <= lx+lw+least/2: // under it
			return false
		case last.Color == color && x <= lx+lw+2*least:
			last.W = px(x + w - lx)
			last.Title = name + ", several"
			return false
		}
	}
	title := fmt.Sprintf("step %s: %s, %s, idle %s", figure.Count(s.Number), clean(name, maxName), figure.Duration(s.WallNS), figure.Duration(s.GapNS))
	if s.Mark != "" {
		title += ", " + clean(s.Mark, maxName)
	}
	if s.Edits > 0 {
		title += ", " + figure.Plural(s.Edits, "edit", "edits")
	}
	if s.Partial {
		title += ", cut off"
	}
	gap := 0.0
	if w > 4 {
		gap = 1 // a line between neighbours
	}
	l.Blocks = append(l.Blocks, block{Color: color, X: px(x), W: px(max(least, w-gap)), Y: l.Y, Title: title})
	return true
}

func ticks(ax axis) []tick {
	const n = 6
	var out []tick
	for i := range n + 1 {
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case n:
			anchor = "end"
		}
		out = append(out, tick{px(float64(i) * pictureWidth / n), figure.Duration(ax.from + (ax.to-ax.from)*int64(i)/n), anchor})
	}
	return out
}

// newWalls draws the wall times of steps: in each of a few hundred intervals the range from the shortest to the longest step of a class.
func newWalls(d *cycledoc.Document, ax axis, colors map[string]string) *walls {
	most := int64(1)
	for i := range d.Steps {
		most = max(most, d.Steps[i].WallNS)
	}
	y := func(ns int64) float64 { return wallBottom - (wallBottom-wallTop)*float64(ns)/float64(most) }
	type cell struct {
		bucket int
		color  string
	}
	low, high := map[cell]int64{}, map[cell]int64{}
	var order []cell
	for i := range d.Steps {
		s := &d.Steps[i]
		color := colors[s.Class]
		if color == "" {
			color = "none"
		}
		c := cell{min(buckets-1, int(ax.x(s.StartNS)/4)), color}
		if _, ok := low[c]; !ok {
			order = append(order, c)
			low[c], high[c] = s.WallNS, s.WallNS
		}
		low[c], high[c] = min(low[c], s.WallNS), max(high[c], s.WallNS)
	}
	w := &walls{
		Note:  "Each mark is the range of the steps of one class that start there. Circles are outliers.",
		Label: fmt.Sprintf("wall times of %s, at most %s", figure.Plural(len(d.Steps), "step", "steps"), figure.Duration(most)),
	}
	for _, part := range []int64{1, 2} {
		v := most * part / 2
		w.Lines = append(w.Lines, wallLine{px(y(v)), px(y(v) + 12), figure.Duration(v)})
	}
	for _, c := range order {
		top := y(high[c])
		w.Bars = append(w.Bars, wallBar{c.color, px(float64(c.bucket * 4)), px(top - 1.5), px(max(3, y(low[c])-top+3))})
	}
	for i := range d.Levels {
		if d.Levels[i].Name != cycledoc.LevelStep {
			continue
		}
		for k := range d.Levels[i].Classes {
			c := &d.Levels[i].Classes[k]
			for n := range c.Outliers {
				o := &c.Outliers[n]
				w.Odd = append(w.Odd, wallMark{px(ax.x(o.StartNS)), px(y(o.WallNS)), fmt.Sprintf("%s: %s, median %s, most of it %s", clean(c.Name, maxName), figure.Duration(o.WallNS), figure.Duration(o.MedianNS), clean(o.SlotName, maxName))})
			}
			if c.Drift != nil {
				w.Drifts = append(w.Drifts, wallMark{px(ax.x(c.Drift.AtNS)), "", clean(c.Name+": "+c.Drift.Description, maxText)})
			}
		}
	}
	return w
}
