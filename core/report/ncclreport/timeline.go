package ncclreport

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/sheet"
)

// What pictures of a page hold at most.
const (
	maxPictures = 20
	firstLanes  = 96 // ranks of the first picture
	otherLanes  = 64 // and of the others
	laneHeight  = 18
	axisHeight  = 22
	pictureName = 26
)

// picture is one operation: a lane a rank, from its call to its true end, divided.
type picture struct {
	ID, Title, Says, Note string
	Open                  bool
	Picture               template.HTML
}

func picturesOf(d *dividing.Document) []picture {
	var out []picture
	for i := range d.Worst[:min(len(d.Worst), maxPictures)] {
		w := &d.Worst[i]
		lanes := otherLanes
		if len(out) == 0 {
			lanes = firstLanes
		}
		t := newTimeline(w, lanes)
		if t == nil {
			continue
		}
		title := fmt.Sprintf("%s #%d of %s, %s", clean(w.Operation), w.Sequence, clean(w.Comm), figure.Duration(w.TookNS))
		if w.Occurrence > 0 {
			title = fmt.Sprintf("%s #%d of %s, replay %d, %s", clean(w.Operation), w.Sequence, clean(w.Comm), w.Occurrence, figure.Duration(w.TookNS))
		}
		one := picture{ID: fmt.Sprintf("operation-%d", len(out)), Title: title, Says: t.says(), Open: len(out) == 0, Picture: t.draw()}
		var left []string
		if t.cut > 0 {
			left = append(left, figure.Duration(t.cut)+" at the beginning, in which no kernel had begun")
		}
		if n := len(w.Ranks) - len(t.lanes); n > 0 {
			left = append(left, figure.Plural(n, "rank", "ranks"))
		}
		if len(left) > 0 {
			one.Note = "Not drawn: " + strings.Join(left, "; ") + "."
		}
		out = append(out, one)
	}
	return out
}

// timeline is a picture being drawn.
type timeline struct {
	*dividing.Worst
	lanes         []*dividing.Part
	first, length int64 // ns
	began         int64 // when the kernel of the last one began; 0 not known
	cut           int64 // ns between the first call and what is drawn
}

// newTimeline chooses what is drawn: the rank that began last, and as many others as there is room for, in order. nil: it has no time.
func newTimeline(w *dividing.Worst, lanes int) *timeline {
	t := &timeline{Worst: w, first: w.AtNS}
	end := w.AtNS
	for i := range w.Ranks {
		r := &w.Ranks[i]
		if r.EndedNS < r.AtNS {
			continue
		}
		t.first, end = min(t.first, r.AtNS), max(end, r.EndedNS)
		if r.Rank == w.Last {
			t.began = r.AtNS + r.Time.LaunchNS + r.Time.SchedulingNS
		}
		t.lanes = append(t.lanes, r)
	}
	if t.length = end - t.first; t.length <= 0 || len(t.lanes) == 0 {
		return nil
	}
	t.cutBefore(end)
	if len(t.lanes) > lanes {
		at := slices.IndexFunc(t.lanes, func(r *dividing.Part) bool { return r.Rank == w.Last })
		if at >= lanes {
			t.lanes[lanes-1] = t.lanes[at]
		}
		t.lanes = t.lanes[:lanes]
	}
	return t
}

// cutBefore begins the picture shortly before the first kernel, where hosts ran far ahead of their GPUs: what is to be seen comes after.
func (t *timeline) cutBefore(end int64) {
	from := end
	for _, r := range t.lanes {
		from = min(from, r.AtNS+r.Time.LaunchNS+r.Time.SchedulingNS)
	}
	rest := end - from
	if from -= rest / 8; rest > 0 && from-t.first > rest {
		t.cut = from - t.first
		t.first, t.length = from, end-from
	}
}

// says names the one that began last.
func (t *timeline) says() string {
	if t.Last == "" {
		return ""
	}
	s := fmt.Sprintf("%s began last, %s after the one before", rankName(t.Last), figure.Duration(t.LeadNS))
	switch {
	case t.BoundNS == nil:
		return s + "; how far off that can be is not known, for nothing bounds the clocks."
	case t.LeadNS > 2**t.BoundNS:
		return s + ", known to " + figure.Duration(*t.BoundNS) + "."
	}
	return s + ", which is less than the clocks are known to (" + figure.Duration(*t.BoundNS) + "): another may have."
}

func (t *timeline) x(ns int64) float64 {
	at := min(max(ns-t.first, 0), t.length)
	return sheet.Left + sheet.Width*float64(at)/float64(t.length)
}

func (t *timeline) draw() template.HTML {
	var b strings.Builder
	tall := laneHeight*len(t.lanes) + axisHeight
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s #%d: %s, from call to end">`, sheet.Left+sheet.Width, tall, html.EscapeString(clean(t.Operation)), t.Sequence,
		figure.Plural(len(t.lanes), "rank", "ranks"))
	for i, r := range t.lanes {
		t.lane(&b, r, i*laneHeight)
	}
	if t.began > t.first {
		x := sheet.Px(t.x(t.began))
		fmt.Fprintf(&b, `<path class="began" d="M%s 0V%d"><title>%s</title></path>`, x, tall-axisHeight, html.EscapeString("all kernels had begun after "+figure.Duration(t.began-t.first+t.cut)))
	}
	const parts = 4
	for i := range parts + 1 {
		at := t.length / parts * int64(i)
		anchor := []string{"start", "middle", "middle", "middle", "end"}[i]
		fmt.Fprintf(&b, `<text class="label" x="%s" y="%d" text-anchor="%s">%s</text>`, sheet.Px(t.x(t.first+at)), tall-6, anchor, figure.Duration(t.cut+at))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// lane draws one rank. What was before all had begun stands where it happened; what came after is divided in proportion, in the order of the parts.
func (t *timeline) lane(b *strings.Builder, r *dividing.Part, y int) {
	class, last := "label", ""
	if r.Rank == t.Last {
		class, last = "label last", ", began last"
	}
	title := rankName(r.Rank) + last + ": called after " + figure.Duration(r.AtNS-t.first+t.cut)
	var bars strings.Builder
	at := r.AtNS
	for _, p := range partsOf(&r.Time) {
		if p.NS <= 0 {
			continue
		}
		title += ", " + p.Name + " " + figure.Duration(p.NS)
		from := t.x(at)
		at += p.NS
		if wide := t.x(at) - from; wide >= 0.3 {
			fmt.Fprintf(&bars, `<rect class="%s" x="%s" y="%d" width="%s" height="%d"/>`, p.Class, sheet.Px(from), y+2, sheet.Px(max(wide, 0.5)), laneHeight-4)
		}
	}
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" text-anchor="end">%s</text><g><title>%s</title><rect class="lane" x="%d" y="%d" width="%d" height="%d"/>%s</g>`,
		class, sheet.Left-8, y+laneHeight-5, html.EscapeString(foreign.Clean(rankName(r.Rank), pictureName)), html.EscapeString(title), sheet.Left, y+2, sheet.Width, laneHeight-4, bars.String())
}
