package offsets

import "math"

// line is theta(x) = a + s*dx with dx in seconds since the polygon's origin: a in ns, s in ns per second (ppb).
type line struct{ a, s float64 }

func (l line) at(dx float64) float64 { return l.a + l.s*dx }

// polygon is the set of lines that no observation contradicts: a convex polygon in the plane of (a, s). Each observation is a
// half plane, so adding one costs a pass over a handful of vertices.
type polygon struct {
	x0    float64 // origin on the x axis, ns
	v     []line  // vertices in order; empty: no line is possible
	spare []line
}

// newPolygon allows every line through the given range of theta at x0 +- reach seconds, with |s| <= maxSlope.
func newPolygon(x0, minV, maxV, reach, maxSlope float64) *polygon {
	p := &polygon{}
	p.reset(x0, minV, maxV, reach, maxSlope)
	return p
}

func (p *polygon) reset(x0, minV, maxV, reach, maxSlope float64) {
	lo, hi := minV-reach*maxSlope-1, maxV+reach*maxSlope+1
	p.x0 = x0
	p.v = append(p.v[:0], line{lo, -maxSlope}, line{hi, -maxSlope}, line{hi, maxSlope}, line{lo, maxSlope})
}

// dx converts an x of the link to seconds since the origin.
func (p *polygon) dx(x float64) float64 { return (x - p.x0) / 1e9 }

// allows reports whether some line of the polygon satisfies the observation.
func (p *polygon) allows(o obs, tol float64) bool {
	dx := p.dx(o.x)
	for _, l := range p.v {
		if o.side*(l.at(dx)-o.v) <= tol {
			return true
		}
	}
	return false
}

// clip removes the lines that contradict the observation and reports whether any is left. When none would be, the polygon is
// not changed.
func (p *polygon) clip(o obs, tol float64) bool {
	dx := p.dx(o.x)
	limit := tol
	inside := 0
	for _, l := range p.v {
		if o.side*(l.at(dx)-o.v) <= limit {
			inside++
		}
	}
	if inside == len(p.v) {
		return inside > 0
	}
	if inside == 0 {
		return false
	}
	out := p.spare[:0]
	for i, l := range p.v {
		n := p.v[(i+1)%len(p.v)]
		fl, fn := o.side*(l.at(dx)-o.v)-limit, o.side*(n.at(dx)-o.v)-limit
		if fl <= 0 {
			out = append(out, l)
		}
		if (fl < 0 && fn > 0) || (fl > 0 && fn < 0) {
			t := fl / (fl - fn)
			out = append(out, line{l.a + t*(n.a-l.a), l.s + t*(n.s-l.s)})
		}
	}
	p.v, p.spare = out, p.v
	return true
}

// band returns the smallest and largest theta of the polygon's lines at x.
func (p *polygon) band(x float64) (lo, hi float64) {
	dx := p.dx(x)
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range p.v {
		t := l.at(dx)
		if t < lo {
			lo = t
		}
		if t > hi {
			hi = t
		}
	}
	return lo, hi
}

// slopes returns the smallest and largest slope of the polygon's lines.
func (p *polygon) slopes() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range p.v {
		lo, hi = math.Min(lo, l.s), math.Max(hi, l.s)
	}
	return lo, hi
}

// center returns the line through the middles of the band at two instants; it lies in the polygon's middle, if not always inside.
func (p *polygon) center(xa, xb float64) line {
	la, ha := p.band(xa)
	lb, hb := p.band(xb)
	ya, yb := (la+ha)/2, (lb+hb)/2
	da, db := p.dx(xa), p.dx(xb)
	if db-da < 1e-9 {
		lo, hi := p.slopes()
		return line{ya - (lo+hi)/2*da, (lo + hi) / 2}
	}
	s := (yb - ya) / (db - da)
	return line{ya - s*da, s}
}

// contains reports whether the line is one of the polygon's.
func (p *polygon) contains(l line) bool {
	if len(p.v) < 3 {
		return false
	}
	sign := 0.0
	for i, a := range p.v {
		b := p.v[(i+1)%len(p.v)]
		cross := (b.a-a.a)*(l.s-a.s) - (b.s-a.s)*(l.a-a.a)
		if cross == 0 {
			continue
		}
		if sign != 0 && (cross > 0) != (sign > 0) {
			return false
		}
		sign = cross
	}
	return true
}

// pull moves a line that lies outside to the border of the polygon, towards its centroid.
func (p *polygon) pull(l line) line {
	if len(p.v) == 0 || p.contains(l) {
		return l
	}
	var c line
	for _, v := range p.v {
		c.a += v.a / float64(len(p.v))
		c.s += v.s / float64(len(p.v))
	}
	in, out := 0.0, 1.0
	for range 40 {
		t := (in + out) / 2
		if p.contains(line{c.a + t*(l.a-c.a), c.s + t*(l.s-c.s)}) {
			in = t
		} else {
			out = t
		}
	}
	return line{c.a + in*(l.a-c.a), c.s + in*(l.s-c.s)}
}
