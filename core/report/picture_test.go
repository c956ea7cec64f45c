package report

import (
	"fmt"
	"io"
	"math"

	"github.com/prlx-go/prlx/core/report/figure"
)

// Picture writes the matched collectives before and after alignment as an SVG that stands alone.
func Picture(w io.Writer, in CombineReport) error {
	_, err := io.WriteString(w, standaloneSVG(&in))
	return err
}

// standaloneSVG is the picture as a file of its own: 24 px of margin, its own colours for light and dark.
func standaloneSVG(in *CombineReport) string {
	from, to := opening(in.Groups)
	groups := in.Groups[from:to]
	lanes := in.lanes(groups, maxLanes)
	var d drawing
	const margin = 24.0
	height := in.picture(&d, groups, lanes, margin)
	if note := in.omitted(groups, lanes); note != "" {
		height += 18
		d.text("tick", "", 0, height-2, note)
	}
	height += margin / 2
	title := "The same collectives before and after the clocks were aligned"
	if before, after, _, _ := in.verdicts(); before != "" {
		title += ": " + before + ", then " + after
	}
	var out drawing
	fmt.Fprintf(&out.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="%s 0 %s %s" role="img" aria-label="%s" font-family="system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif">`,
		num(-margin), num(pictureWidth+2*margin-laneRight), num(height), title)
	fmt.Fprintf(&out.b, "<title>%s</title><style>%s</style>", title, pictureStyle())
	out.rect("paper", -margin, 0, pictureWidth+2*margin-laneRight, height, 10, "")
	out.b.WriteString(d.b.String())
	out.b.WriteString("</svg>\n")
	return out.b.String()
}

// omitted says what the picture leaves out.
func (in *CombineReport) omitted(groups []groupSpans, lanes []int) string {
	if len(groups) == 0 {
		return "No matched collective to show."
	}
	text := fmt.Sprintf("Shown: %s of %s", figure.Plural(len(groups), "collective", "collectives"), figure.Count(in.total()))
	if all := len(in.lanes(groups, math.MaxInt)); all > len(lanes) {
		text += fmt.Sprintf(", %d of %d nodes", len(lanes), all)
	}
	return text + ". A ribbon joins the parts of one collective: no part may end before another begins."
}
