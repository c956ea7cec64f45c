package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// A chart has two parts over one time axis: the correction as it is, and what remains of it beside a straight line, where drift
// that changes and the error band are large enough to see.
const (
	chartWidth  = 560.0
	chartLeft   = 74.0
	chartRight  = 12.0
	upperTop    = 22.0
	upperHeight = 84.0
	lowerTop    = upperTop + upperHeight + 34
	lowerHeight = 104.0
	chartHeight = lowerTop + lowerHeight + 26
)

const outside = clock.Extrapolated | clock.ExtrapolatedThen

// straight is what fits a curve best: one slope, and a level of its own on either side of every step.
type straight struct {
	slope  float64
	levels []level
}

// level holds from an instant on.
type level struct {
	from   int64
	x0, y0 float64
}

func (l straight) at(x int64) float64 {
	i := sort.Search(len(l.levels), func(i int) bool { return l.levels[i].from > x }) - 1
	if len(l.levels) == 0 {
		return 0
	}
	v := l.levels[max(i, 0)]
	return v.y0 + l.slope*(float64(x)-v.x0)
}

func inStep(p point) bool { return p.Flags&clock.InStep != 0 }

func fit(p []point) straight {
	var l straight
	var xx, xy float64
	for i := 0; i < len(p); {
		j := i
		for j < len(p) && inStep(p[j]) == inStep(p[i]) {
			j++
		}
		if part := p[i:j]; !inStep(part[0]) {
			v := level{from: part[0].AtNS}
			for _, q := range part {
				v.x0 += float64(q.AtNS) / float64(len(part))
				v.y0 += float64(q.CorrectionNS) / float64(len(part))
			}
			for _, q := range part {
				dx := float64(q.AtNS) - v.x0
				xx += dx * dx
				xy += dx * (float64(q.CorrectionNS) - v.y0)
			}
			l.levels = append(l.levels, v)
		}
		i = j
	}
	if xx > 0 {
		l.slope = xy / xx
	}
	return l
}

// plot is one part of a chart.
type plot struct {
	x      scale
	y      scale // grows downwards: from is the value at the top
	points []point
}

func newPlot(points []point, top, height, low, high float64) plot {
	if high-low < 1 {
		low, high = low-1, high+1
	}
	pad := (high - low) * 0.08
	return plot{
		points: points,
		x:      scale{from: float64(points[0].AtNS), to: float64(points[len(points)-1].AtNS), x: chartLeft, width: chartWidth - chartLeft - chartRight},
		y:      scale{from: high + pad, to: low - pad, x: top, width: height},
	}
}

// py is y for a scale that runs downwards.
func (p plot) py(v float64) float64 {
	return p.y.x + (p.y.from-v)/(p.y.from-p.y.to)*p.y.width
}

func (p plot) grid(d *drawing, n int) {
	values := ticks(p.y.to, p.y.from, n)
	for i, label := range tickLabels(values, true) {
		y := p.py(values[i])
		d.line("grid", chartLeft, y, chartWidth-chartRight, y)
		d.text("tick", "end", chartLeft-8, y+4, label)
	}
}

// marks shades the parts that are extrapolated and those in which the clock stepped.
func (p plot) marks(d *drawing) {
	kind := func(i int) string {
		switch flags := p.points[i-1].Flags & p.points[i].Flags; {
		case flags&clock.InStep != 0:
			return "in-step"
		case flags&outside != 0:
			return "outside"
		}
		return ""
	}
	for i := 1; i < len(p.points); {
		j, what := i, kind(i)
		for j < len(p.points) && kind(j) == what {
			j++
		}
		if what != "" {
			x := p.x.at(float64(p.points[i-1].AtNS))
			d.rect(what, x, p.y.x, max(2, p.x.at(float64(p.points[j-1].AtNS))-x), p.y.width, 0, "")
		}
		i = j
	}
}

// deviations draws what remains of a curve beside its line, with the bound as a band.
func (p plot) deviations(d *drawing, part []point, deviation func(point) float64) {
	var curve, band []float64
	for _, q := range part {
		x := p.x.at(float64(q.AtNS))
		curve = append(curve, x, p.py(deviation(q)))
		band = append(band, x, p.py(deviation(q)+float64(q.BoundNS)))
	}
	for _, q := range slices.Backward(part) {
		band = append(band, p.x.at(float64(q.AtNS)), p.py(deviation(q)-float64(q.BoundNS)))
	}
	d.polygon("band", band...)
	d.polyline("curve", curve...)
}

// chart draws the curve of a node.
func chart(c curve, n *combine.NodeResult, zeroNS int64) template.HTML {
	line := fit(c.Points)
	deviation := func(p point) float64 { return float64(p.CorrectionNS) - line.at(p.AtNS) }
	pts := thinPoints(c.Points, deviation)
	var d drawing
	fmt.Fprintf(&d.b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-label="correction over time">`, num(chartWidth), num(chartHeight))

	low, high := math.Inf(1), math.Inf(-1)
	dlow, dhigh := math.Inf(1), math.Inf(-1)
	for _, p := range pts {
		v, dv, b := float64(p.CorrectionNS), deviation(p), float64(p.BoundNS)
		low, high = min(low, v), max(high, v)
		if !inStep(p) {
			dlow, dhigh = min(dlow, dv-b), max(dhigh, dv+b)
		}
	}
	if dhigh < dlow { // nothing but a step
		dlow, dhigh = -1, 1
	}
	upper := newPlot(pts, upperTop, upperHeight, low, high)
	lower := newPlot(pts, lowerTop, lowerHeight, dlow, dhigh)
	d.text("caption", "", chartLeft, upperTop-8, "correction (aligned minus recorded)")
	d.text("caption", "", chartLeft, lowerTop-8, "the same beside a straight line of "+driftText(line.slope)+", with the stated bound")
	for _, p := range []plot{upper, lower} {
		p.marks(&d)
	}
	upper.grid(&d, 4)
	lower.grid(&d, 5)
	var curve []float64
	for _, p := range pts {
		curve = append(curve, upper.x.at(float64(p.AtNS)), upper.py(float64(p.CorrectionNS)))
	}
	for i := 0; i < len(pts); {
		j := i
		for j < len(pts) && inStep(pts[j]) == inStep(pts[i]) {
			j++
		}
		if !inStep(pts[i]) {
			lower.deviations(&d, pts[i:j], deviation)
		}
		i = j
	}
	d.polyline("curve", curve...)
	for _, s := range n.Steps {
		x := upper.x.at(float64(s.FromNS-zeroNS)/2 + float64(s.ToNS-zeroNS)/2)
		if x < chartLeft || x > chartWidth-chartRight {
			continue
		}
		d.line("step", x, upperTop, x, lowerTop+lowerHeight)
		anchor, dx := "start", 5.0
		if x > chartWidth*0.7 {
			anchor, dx = "end", -5
		}
		d.text("step-label", anchor, x+dx, upperTop+12, "clock stepped "+withSign(s.SizeNS))
	}
	values := ticks(lower.x.from, lower.x.to, 6)
	for i, label := range tickLabels(values, false) {
		d.text("tick", "middle", lower.x.at(values[i]), lowerTop+lowerHeight+18, label)
	}
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String()) // #nosec: every text of it went through drawing, which escapes
}

func driftText(slope float64) string { return ppm(slope * 1e6) }

// flat reports whether a curve has nothing to show.
func flat(c curve) bool {
	for _, p := range c.Points {
		if p.CorrectionNS != 0 || p.BoundNS != 0 || p.Flags != 0 {
			return false
		}
	}
	return true
}
