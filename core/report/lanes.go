package report

import (
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// The picture has one lane a node. A bar is a node's part in a collective; a ribbon joins the bars of one collective from lane to
// lane: slanted where clocks disagree, upright where they agree.
const (
	pictureWidth = 1160.0
	laneLabel    = 112.0
	laneRight    = 18.0
	lanePitch    = 34.0
	barHeight    = 15.0
	panelHead    = 44.0
	panelFoot    = 26.0
	maxLanes     = 16
	firstView    = 12 // collectives shown at first
)

// side chooses the clock that a panel shows.
type side struct {
	title     string
	judgement func(*groupSpans) collective.Judgement
	times     func(*groupSpan) (start, end int64)
}

var (
	beforeSide = side{
		title:     "Before: each node on its own clock",
		judgement: func(g *groupSpans) collective.Judgement { return g.Before },
		times:     func(s *groupSpan) (int64, int64) { return s.BeforeStartNS, s.BeforeEndNS },
	}
	afterSide = side{
		title:     "After: every node on one clock",
		judgement: func(g *groupSpans) collective.Judgement { return g.After },
		times:     func(s *groupSpan) (int64, int64) { return s.AfterStartNS, s.AfterEndNS },
	}
)

func class(j collective.Judgement) string {
	return [...]string{"ok", "undecided", "bad"}[min(j, 2)]
}

// word is how the page names a judgement.
func word(j collective.Judgement) string {
	return [...]string{"possible", "undecidable", "impossible"}[min(j, 2)]
}

// lanes returns the nodes that get a lane, in order: those that take part in what is drawn, at most limit of them.
func (in *CombineReport) lanes(groups []groupSpans, limit int) []int {
	part := make([]bool, len(in.Doc.Nodes))
	for i := range groups {
		for _, s := range groups[i].Spans {
			if s.Node >= 0 && s.Node < len(part) {
				part[s.Node] = true
			}
		}
	}
	var out []int
	for k, p := range part {
		if p {
			out = append(out, k)
		}
	}
	return stride(out, limit)
}

// opening returns the collectives that the picture shows at first: from the longest pause near the middle on.
func opening(groups []groupSpans) (from, to int) {
	if len(groups) <= firstView {
		return 0, len(groups)
	}
	first := func(i int) int64 {
		at := int64(math.MaxInt64)
		for _, s := range groups[i].Spans {
			at = min(at, s.AfterStartNS)
		}
		return at
	}
	middle := (len(groups) - firstView) / 2
	from = middle
	pause := int64(-1)
	for i := max(1, middle-firstView/2); i <= min(len(groups)-firstView, middle+firstView/2); i++ {
		if p := first(i) - first(i-1); p > pause {
			from, pause = i, p
		}
	}
	return from, from + firstView
}

// extent returns the instants between which a side shows the groups.
func extent(groups []groupSpans, s side) (from, to float64) {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range groups {
		for k := range groups[i].Spans {
			start, end := s.times(&groups[i].Spans[k])
			low, high = min(low, start), max(high, end)
		}
	}
	if high < low {
		return 0, 1
	}
	pad := max(1, (float64(high)-float64(low))*0.02)
	return float64(low) - pad, float64(high) + pad
}

// extents returns what both panels show. Where one scale serves both it is used for both, so that widths compare.
func extents(groups []groupSpans) (before, after [2]float64) {
	before[0], before[1] = extent(groups, beforeSide)
	after[0], after[1] = extent(groups, afterSide)
	wide := max(before[1]-before[0], after[1]-after[0])
	if wide <= 3*(after[1]-after[0]) {
		for _, e := range []*[2]float64{&before, &after} {
			grow := (wide - (e[1] - e[0])) / 2
			e[0], e[1] = e[0]-grow, e[1]+grow
		}
	}
	return before, after
}

func panelHeight(lanes int) float64 { return panelHead + float64(lanes)*lanePitch + panelFoot }

// panel draws one side at height y.
func (in *CombineReport) panel(d *drawing, y float64, s side, lanes []int, groups []groupSpans, view [2]float64, verdict string, alarm bool) {
	d.text("title", "", 0, y+18, s.title)
	if verdict != "" {
		kind := "verdict ok-text"
		if alarm {
			kind = "verdict bad-text"
		}
		d.text(kind, "end", pictureWidth-laneRight, y+18, verdict)
	}
	top := y + panelHead
	sc := scale{from: view[0], to: view[1], x: laneLabel, width: pictureWidth - laneLabel - laneRight}
	values := ticks(view[0], view[1], 10)
	bottom := top + float64(len(lanes))*lanePitch
	for i, label := range tickLabels(values, false) {
		x := sc.at(values[i])
		d.line("grid", x, top-6, x, bottom)
		d.text("tick", "middle", x, bottom+16, label)
	}
	row := map[int]int{}
	for i, node := range lanes {
		row[node] = i
		mid := top + (float64(i)+0.5)*lanePitch
		d.line("lane", laneLabel, mid, pictureWidth-laneRight, mid)
		d.text("label", "end", laneLabel-12, mid+4, foreign.Clean(in.Doc.Nodes[node].ID, 14))
	}
	fmt.Fprintf(&d.b, `<svg x="%s" y="%s" width="%s" height="%s" viewBox="%s %s %s %s">`, num(laneLabel), num(top-6), num(sc.width), num(bottom-top+6),
		num(laneLabel), num(top-6), num(sc.width), num(bottom-top+6))
	for i := range groups {
		in.ribbon(d, top, s, row, &groups[i], sc)
	}
	for i := range groups {
		in.bars(d, top, s, row, &groups[i], sc)
	}
	d.b.WriteString("</svg>")
}

// box returns where a span lies.
func box(s side, span *groupSpan, sc scale) (x1, x2 float64) {
	start, end := s.times(span)
	x1, x2 = sc.clip(float64(start)), sc.clip(float64(end))
	return x1, max(x2, x1+2)
}

func (in *CombineReport) ribbon(d *drawing, top float64, s side, row map[int]int, g *groupSpans, sc scale) {
	last := -1
	for k := range g.Spans {
		if _, shown := row[g.Spans[k].Node]; !shown {
			continue
		}
		if last >= 0 {
			a, b := &g.Spans[last], &g.Spans[k]
			a1, a2 := box(s, a, sc)
			b1, b2 := box(s, b, sc)
			ya := top + (float64(row[a.Node])+0.5)*lanePitch + barHeight/2
			yb := top + (float64(row[b.Node])+0.5)*lanePitch - barHeight/2
			d.polygon("ribbon "+class(s.judgement(g)), a1, ya, a2, ya, b2, yb, b1, yb)
		}
		last = k
	}
}

func (in *CombineReport) bars(d *drawing, top float64, s side, row map[int]int, g *groupSpans, sc scale) {
	for k := range g.Spans {
		span := &g.Spans[k]
		r, shown := row[span.Node]
		if !shown {
			continue
		}
		x1, x2 := box(s, span, sc)
		y := top + (float64(r)+0.5)*lanePitch - barHeight/2
		start, end := s.times(span)
		d.rect("bar "+class(s.judgement(g)), x1, y, x2-x1, barHeight, 2,
			fmt.Sprintf("%s: %s, number %d, on %s\n%s to %s, %s", word(s.judgement(g)), foreign.Clean(g.Key, 120), g.Occurrence+1, foreign.Clean(in.Doc.Nodes[span.Node].ID, 60), instant(start), instant(end), duration(end-start)))
	}
}

// instant writes an instant since the output's zero with a tenth of a microsecond.
func instant(ns int64) string {
	return signed(ns, fmt.Sprintf("%.4f\u00a0ms", math.Abs(float64(ns))/1e6))
}

// verdicts says what each panel shows about all matched collectives.
func (in *CombineReport) verdicts() (before, after string, badBefore, badAfter bool) {
	c := in.Doc.Collectives
	if c == nil || c.Groups == 0 {
		return "", "", false, false
	}
	say := func(violated, undecidable int) string {
		text := fmt.Sprintf("%s of %s collectives impossible", figure.Count(violated), figure.Count(c.Groups))
		if undecidable > 0 {
			text += fmt.Sprintf(", %s undecidable", figure.Count(undecidable))
		}
		return text
	}
	return say(c.Before.Violated, c.Before.Undecidable), say(c.After.Violated, c.After.Undecidable), c.Before.Violated > 0, c.After.Violated > 0
}

// picture draws both panels and returns the height.
func (in *CombineReport) picture(d *drawing, groups []groupSpans, lanes []int, y float64) float64 {
	before, after := extents(groups)
	sayBefore, sayAfter, badBefore, badAfter := in.verdicts()
	in.panel(d, y, beforeSide, lanes, groups, before, sayBefore, badBefore)
	y += panelHeight(len(lanes)) + 18
	in.panel(d, y, afterSide, lanes, groups, after, sayAfter, badAfter)
	return y + panelHeight(len(lanes))
}

func (in *CombineReport) total() int { return max(in.GroupsTotal, len(in.Groups)) }

func judgementOf(j int) collective.Judgement { return collective.Judgement(j) }
