package stragglerreport

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/sheet"
	"github.com/prlx-go/prlx/core/straggler"
)

// What pictures of a page hold at most.
const (
	maxPictureRows   = 32
	maxPictureSpans  = 300 // of the first; the others have a third
	maxPictureHops   = 6   // latenesses that are told below
	maxPictureLate   = 24  // latenesses that are drawn on the chain
	pictureName      = 24
	pictureRowHeight = 20
	pictureAxis      = 22
)

// pagePicture is one step: a lane a rank, with what it did in each operation, and the critical path.
type pagePicture struct {
	ID, Column, Title, Note string
	Open                    bool
	Picture                 template.HTML
	Chain                   []string
}

func picturesOf(d *straggler.Document) []pagePicture {
	var out []pagePicture
	for i := range d.Pictures[:min(len(d.Pictures), straggler.PictureSteps)] {
		p := &d.Pictures[i]
		if len(p.Rows) == 0 || p.ToNS <= p.FromNS {
			continue
		}
		spans := maxPictureSpans
		if i > 0 {
			spans /= 3
		}
		s := newStep(p, spans)
		title := fmt.Sprintf("Step %s, %s", clean(p.Step, maxPageName), figure.Duration(p.ToNS-p.FromNS))
		if r := &p.Rows[0]; r.CostNS > 0 {
			title += fmt.Sprintf(": %s cost %s", clean(r.Rank, maxPageName), figure.Duration(r.CostNS))
		}
		one := pagePicture{ID: fmt.Sprintf("picture-%d", i), Column: "step " + clean(p.Step, mapName), Title: title, Open: i == 0, Picture: s.draw(), Chain: s.told()}
		var left []string
		if n := s.ranksLeftOut; n > 0 {
			left = append(left, figure.Plural(n, "rank that cost less", "ranks that cost less"))
		}
		if n := s.spansLeftOut; n > 0 {
			left = append(left, figure.Plural(n, "execution at the end", "executions at the end"))
		}
		if len(left) > 0 {
			one.Note = "Not drawn: " + strings.Join(left, ", ") + "."
		}
		out = append(out, one)
	}
	return out
}

// step is a picture being drawn: what of it is shown, in order.
type step struct {
	*straggler.Picture
	rows                       []straggler.PictureRow
	ranksLeftOut, spansLeftOut int
	row                        map[string]int // by rank
}

func newStep(p *straggler.Picture, spans int) *step {
	s := &step{Picture: p, ranksLeftOut: p.RanksLeftOut + max(len(p.Rows)-maxPictureRows, 0), spansLeftOut: p.SpansLeftOut}
	s.rows = slices.Clone(p.Rows[:min(len(p.Rows), maxPictureRows)])
	count := 0
	for i := range s.rows {
		count += len(s.rows[i].Spans)
	}
	if each := max(spans/len(s.rows), 1); count > spans {
		for i := range s.rows {
			r := &s.rows[i]
			s.spansLeftOut += max(len(r.Spans)-each, 0)
			r.Spans = r.Spans[:min(len(r.Spans), each)]
		}
	}
	s.row = map[string]int{}
	for i := range s.rows {
		s.row[s.rows[i].Rank] = i
	}
	return s
}

func (s *step) x(ns int64) float64 {
	return sheet.Left + sheet.Width*float64(min(max(ns, s.FromNS), s.ToNS)-s.FromNS)/float64(s.ToNS-s.FromNS)
}

func (s *step) operation(x *straggler.PictureSpan) string {
	if x.Operation < 0 || x.Operation >= len(s.Operations) {
		return "?"
	}
	return clean(s.Operations[x.Operation], 2*pictureName)
}

func (s *step) draw() template.HTML {
	var b strings.Builder
	height := pictureRowHeight*len(s.rows) + pictureAxis
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="step %s: %s, and the critical path">`,
		sheet.Left+sheet.Width, height, html.EscapeString(clean(s.Step, 40)), figure.Plural(len(s.rows), "rank", "ranks"))
	for i := range s.rows {
		s.lane(&b, i)
	}
	s.axis(&b, height)
	s.path(&b)
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// lane draws what one rank did.
func (s *step) lane(b *strings.Builder, i int) {
	r, y := &s.rows[i], i*pictureRowHeight
	fmt.Fprintf(b, `<text class="label" x="%d" y="%d" text-anchor="end">%s</text><rect class="own" x="%d" y="%d" width="%d" height="%d"/>`,
		sheet.Left-8, y+pictureRowHeight-6, html.EscapeString(clean(r.Rank, 28)), sheet.Left, y+3, sheet.Width, pictureRowHeight-6)
	for k := range r.Spans {
		x := &r.Spans[k]
		title := fmt.Sprintf("%s, %s: ", clean(r.Rank, pictureName), s.operation(x))
		if x.For != "" {
			title += fmt.Sprintf("waits %s for %s, then ", figure.Duration(x.ReadyNS-x.EnterNS), clean(x.For, pictureName))
		}
		title += "transfer of " + figure.Duration(x.LeaveNS-x.ReadyNS)
		if x.CostNS > 0 {
			title += "; was late, cost " + figure.Duration(x.CostNS)
			if x.Cause != "" {
				title += ", " + clean(x.Cause, 2*pictureName)
			}
		}
		b.WriteString("<g><title>" + html.EscapeString(title) + "</title>")
		s.bar(b, "wait", y, x.EnterNS, x.ReadyNS)
		s.bar(b, "move", y, x.ReadyNS, x.LeaveNS)
		b.WriteString("</g>")
	}
}

func (s *step) bar(b *strings.Builder, class string, y int, from, to int64) {
	if to <= from {
		return
	}
	x := s.x(from)
	fmt.Fprintf(b, `<rect class="%s" x="%s" y="%d" width="%s" height="%d"/>`, class, sheet.Px(x), y+3, sheet.Px(max(s.x(to)-x, 0.6)), pictureRowHeight-6)
}

// axis writes the time since the beginning of the step.
func (s *step) axis(b *strings.Builder, height int) {
	const parts = 4
	for i := range parts + 1 {
		at := (s.ToNS - s.FromNS) * int64(i) / parts
		anchor := "middle"
		if i == parts {
			anchor = "end"
		}
		fmt.Fprintf(b, `<text class="label" x="%s" y="%d" text-anchor="%s">%s</text>`, sheet.Px(s.x(s.FromNS+at)), height-6, anchor, figure.Duration(at))
	}
}

// path draws the chain, and what on it took its rank longer than usual. Where it runs over ranks that are not drawn it is broken.
func (s *step) path(b *strings.Builder) {
	middle := func(row int) string { return fmt.Sprint(row*pictureRowHeight + pictureRowHeight/2) }
	var d strings.Builder
	on, drawn := -1, 0 // the row on which the pen is, and latenesses so far
	least := s.leastDrawn()
	for i := range s.Chain {
		h := &s.Chain[i]
		by, ok := s.row[h.Rank]
		to, known := s.row[h.LeftBy]
		if !ok {
			on = -1
			continue
		}
		if on != by {
			d.WriteString("M" + sheet.Px(s.x(h.BeganNS)) + " " + middle(by))
		}
		d.WriteString("H" + sheet.Px(s.x(h.EnteredNS)))
		if on = -1; known {
			if on = to; to != by {
				d.WriteString("V" + middle(to))
			}
			d.WriteString("H" + sheet.Px(s.x(h.LeftNS)))
		}
		if h.CostNS > 0 && h.CostNS >= least && drawn < maxPictureLate {
			drawn++
			fmt.Fprintf(b, `<rect class="late" x="%s" y="%d" width="%s" height="%d"><title>%s</title></rect>`, sheet.Px(s.x(h.BeganNS)), by*pictureRowHeight+3,
				sheet.Px(max(s.x(h.EnteredNS)-s.x(h.BeganNS), 1)), pictureRowHeight-6, html.EscapeString(blameOf(h)))
		}
	}
	if d.Len() > 0 {
		fmt.Fprintf(b, `<path class="under" d="%s"/><path class="chain" d="%s"/>`, d.String(), d.String())
	}
}

// leastDrawn is what the least expensive lateness costs that is drawn on the chain.
func (s *step) leastDrawn() int64 {
	costs := make([]int64, len(s.Chain))
	for i := range s.Chain {
		costs[i] = -s.Chain[i].CostNS
	}
	slices.Sort(costs)
	if len(costs) < maxPictureLate {
		return 0
	}
	return -costs[maxPictureLate-1]
}

// blameOf says of a piece of the chain what took longer.
func blameOf(h *straggler.PictureHop) string {
	text := fmt.Sprintf("%s was late at %s: it cost %s", clean(h.Rank, pictureName), clean(h.Operation, 2*pictureName), figure.Duration(h.CostNS))
	if h.Cause != "" {
		text += ", " + clean(h.Cause, 2*pictureName)
	}
	return text
}

// told are the most expensive latenesses of the chain as sentences, in time.
func (s *step) told() []string {
	all := slices.DeleteFunc(slices.Clone(s.Chain), func(h straggler.PictureHop) bool { return h.CostNS <= 0 })
	slices.SortStableFunc(all, func(x, y straggler.PictureHop) int { return cmp.Compare(y.CostNS, x.CostNS) })
	all = all[:min(len(all), maxPictureHops)]
	slices.SortStableFunc(all, func(x, y straggler.PictureHop) int { return cmp.Compare(x.EnteredNS, y.EnteredNS) })
	var out []string
	for i := range all {
		out = append(out, figure.Duration(max(all[i].EnteredNS-s.FromNS, 0))+" after its beginning "+blameOf(&all[i])+".")
	}
	return out
}
