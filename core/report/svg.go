package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// drawing collects the elements of an SVG. Text and attributes are escaped here and nowhere else.
type drawing struct{ b strings.Builder }

// num writes a coordinate with a tenth of a pixel, so that pictures are small and the same on every machine.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	text := strconv.FormatFloat(v, 'f', 1, 64)
	text = strings.TrimSuffix(text, ".0")
	if text == "-0" {
		return "0"
	}
	return text
}

func (d *drawing) rect(class string, x, y, w, h float64, radius float64, title string) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, num(x), num(y), num(w), num(h))
	if radius > 0 {
		fmt.Fprintf(&d.b, ` rx="%s"`, num(radius))
	}
	if title == "" {
		d.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&d.b, "><title>%s</title></rect>", html.EscapeString(title))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" x="%s" y="%s"`, class, num(x), num(y))
	if anchor != "" {
		fmt.Fprintf(&d.b, ` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(&d.b, ">%s</text>", html.EscapeString(s))
}

func (d *drawing) polygon(class string, xy ...float64) {
	fmt.Fprintf(&d.b, `<polygon class="%s" points="%s"/>`, class, points(xy))
}

func (d *drawing) polyline(class string, xy ...float64) {
	fmt.Fprintf(&d.b, `<polyline class="%s" points="%s"/>`, class, points(xy))
}

func points(xy []float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(xy); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(num(xy[i]))
		b.WriteByte(',')
		b.WriteString(num(xy[i+1]))
	}
	return b.String()
}

// scale maps instants to pixels.
type scale struct {
	from, to float64 // ns
	x, width float64 // px
}

func (s scale) at(v float64) float64 {
	if s.to <= s.from {
		return s.x
	}
	return s.x + (v-s.from)/(s.to-s.from)*s.width
}

// clip is at, kept to a little beyond the plot: far-away coordinates make renderers slow.
func (s scale) clip(v float64) float64 {
	return min(max(s.at(v), s.x-s.width), s.x+2*s.width)
}

// ticks returns round values between from and to, about n of them.
func ticks(from, to float64, n int) []float64 {
	span := to - from
	if !(span > 0) || n < 1 {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if span/(step*k) <= float64(n) {
			step *= k
			break
		}
	}
	var out []float64
	for v := math.Ceil(from/step) * step; v <= to+step*1e-9 && len(out) <= 4*n; v += step {
		out = append(out, v)
	}
	return out
}

// tickLabels writes ticks in one unit with as many decimals as tell them apart.
func tickLabels(values []float64, signs bool) []string {
	if len(values) == 0 {
		return nil
	}
	largest, step := 0.0, math.Inf(1)
	for i, v := range values {
		largest = max(largest, math.Abs(v))
		if i > 0 {
			step = min(step, v-values[i-1])
		}
	}
	unit := units[len(units)-1]
	for _, u := range units {
		if largest >= u.ns {
			unit = u
			break
		}
	}
	decimals := 0
	if !math.IsInf(step, 1) {
		decimals = min(9, max(0, int(math.Ceil(-math.Log10(step/unit.ns)-1e-9))))
	}
	out := make([]string, len(values))
	for i, v := range values {
		text := strconv.FormatFloat(math.Abs(v)/unit.ns, 'f', decimals, 64)
		switch zero := strings.Trim(text, "0.") == ""; {
		case zero:
			text = "0"
		case v < 0:
			text = minus + text
		case signs:
			text = "+" + text
		}
		out[i] = text + "\u00a0" + unit.name
	}
	return out
}
