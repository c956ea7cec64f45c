package clock

import (
	"math"
	"math/bits"
)

// Cursor maps the events of one line: offsets in ps from the line's base instant become offsets in ps from the mapped base.
//
// It remembers the segment it is in, so a line in roughly ascending order costs a comparison, a multiplication and an addition
// an event. The result depends on the offset alone, never on the order of calls, and never decreases when the offset grows.
// A Cursor belongs to one goroutine; Clone gives another one its own.
type Cursor struct {
	m            *Map
	baseX, baseY int64
	lo, hi       int64 // the current segment serves offsets lo <= o < hi (hi itself too at the end of int64)
	seg          segment
	quality      quality
	interval     int
}

// quality is the bound over one interval of a map: at the segment's origin, and how it changes with the distance from there in ps.
type quality struct {
	at0, perPS float64 // ns, ns per ps
	wanderPS   float64 // added per ps of distance to the nearer knot
	lengthPS   float64 // of the interval, where wander counts
}

// segment is one interval of a map in ps relative to the cursor's bases: out = y + f(o - x), where f scales by num/den when den
// is set, else by 1 +- frac/2^64.
type segment struct {
	x, y     int64
	frac     uint64
	negative bool // the fraction is subtracted
	num, den int64
	floor    int64 // the value never goes below: keeps neighbouring segments in order
}

const (
	psPerNS = 1000
	// farNS is how far, in ns, a knot may be from the base to serve as the origin of ps arithmetic in int64 (46 days).
	farNS = int64(4_000_000_000_000_000)
)

// Cursor returns a cursor for a line whose offsets count from the source instant baseX (ns).
func (m *Map) Cursor(baseX int64) *Cursor {
	if m == nil {
		m = &Map{}
	}
	c := &Cursor{m: m, baseX: baseX}
	i := m.interval(baseX)
	c.baseY = baseX
	if len(m.knots) > 0 {
		c.baseY, _ = m.exact(i, baseX, 0) // rounded down, so that no event at or after the base gets a negative offset
	}
	c.enter(i)
	return c
}

// Clone returns an independent cursor over the same line.
func (c *Cursor) Clone() *Cursor { d := *c; return &d }

// BaseX returns the source instant (ns) from which offsets count.
func (c *Cursor) BaseX() int64 { return c.baseX }

// BaseY returns the target instant (ns) from which mapped offsets count.
func (c *Cursor) BaseY() int64 { return c.baseY }

// Map returns the mapped offset in ps from BaseY of an offset in ps from BaseX. It saturates at the ends of int64 (106 days).
func (c *Cursor) Map(offsetPS int64) int64 {
	if offsetPS < c.lo || offsetPS >= c.hi {
		c.seek(offsetPS)
	}
	s := &c.seg
	d := offsetPS - s.x
	if s.den != 0 || d < 0 {
		return max(s.slow(offsetPS), s.floor)
	}
	h, l := bits.Mul64(uint64(d), s.frac)
	if s.negative {
		if l != 0 {
			h++
		}
		d -= int64(h)
	} else {
		d += int64(h)
		if d < 0 {
			d = math.MaxInt64
		}
	}
	v := s.y + d
	if v < d && s.y > 0 { // d >= 0: only a positive y can overflow
		return math.MaxInt64
	}
	return max(v, s.floor)
}

// Sample maps an offset and returns the bound of the result in ns and how it was mapped.
func (c *Cursor) Sample(offsetPS int64) (mappedPS, boundNS int64, cov Coverage) {
	mappedPS = c.Map(offsetPS)
	boundNS, cov = c.Quality(offsetPS)
	return mappedPS, boundNS, cov
}

// Quality returns the bound in ns of what Map returns for an offset, and how it was mapped.
func (c *Cursor) Quality(offsetPS int64) (boundNS int64, cov Coverage) {
	b := c.Bounds(offsetPS)
	return WholeNS(b.At(offsetPS)), b.Coverage
}

// BoundOf returns by how many ns the mapped start or end of an event can be off, whichever is more. A negative duration counts as none.
func (c *Cursor) BoundOf(offsetPS, durationPS int64) int64 {
	bound, _ := c.Quality(offsetPS)
	if durationPS > 0 {
		end, _ := c.Quality(addSat(offsetPS, durationPS))
		bound = max(bound, end)
	}
	return bound
}

// slow serves distances before the segment's origin and segments whose rate is far from 1.
func (s *segment) slow(o int64) int64 {
	d := subSat(o, s.x)
	if s.den != 0 {
		return addSat(s.y, mulDiv(d, s.num, s.den))
	}
	a := magnitude(d)
	h, l := bits.Mul64(a, s.frac)
	if d >= 0 { // only saturated distances come here
		return addSat(s.y, d)
	}
	if s.negative {
		return subSat(s.y, int64(min(a-h, math.MaxInt64)))
	}
	if l != 0 {
		h++
	}
	return subSat(s.y, int64(min(a+h, math.MaxInt64)))
}

// seek enters the segment that serves the offset: first the next one, then by search.
func (c *Cursor) seek(o int64) {
	if o >= c.hi && c.interval < len(c.m.knots) {
		c.enter(c.interval + 1)
		if o >= c.lo && o < c.hi {
			return
		}
	}
	x := addSat(c.baseX, floorDiv(o, psPerNS))
	c.enter(c.m.interval(x))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// relPS returns (x - base) in ps, saturating.
func relPS(x, base int64) int64 {
	d := subSat(x, base)
	if d > math.MaxInt64/psPerNS {
		return math.MaxInt64
	}
	if d < math.MinInt64/psPerNS {
		return math.MinInt64
	}
	return d * psPerNS
}

// enter makes interval i the current segment.
func (c *Cursor) enter(i int) {
	m, n := c.m, len(c.m.knots)
	c.interval = i
	c.lo, c.hi = math.MinInt64, math.MaxInt64
	c.seg, c.quality = segment{floor: math.MinInt64}, quality{}
	if n == 0 {
		c.seg.x, c.seg.y = 0, 0
		return
	}
	if i > 0 {
		c.lo = relPS(m.knots[i-1].X, c.baseX)
		c.seg.floor = addSat(relPS(m.knots[i-1].Y, c.baseY), int64(m.knots[i-1].YPS))
	}
	if i < n {
		c.hi = relPS(m.knots[i].X, c.baseX)
	}
	origin := m.knots[max(i-1, 0)]
	x, y, ps := origin.X, origin.Y, origin.YPS
	if far(x, c.baseX) { // then the base itself lies in this interval, or no offset reaches it
		x = c.baseX
		y, ps = m.exact(i, x, 0)
	}
	c.seg.x, c.seg.y = relPS(x, c.baseX), addSat(relPS(y, c.baseY), int64(ps))
	c.quality.at0 = float64(m.bound(i, x))
	switch i {
	case 0:
		c.seg.rate(int64(m.before), 1e12)
		c.quality.perPS = -float64(m.growthPPB) / 1e12
	case n:
		c.seg.rate(int64(m.after), 1e12)
		c.quality.perPS = float64(m.growthPPB) / 1e12
	default:
		c.quality.between(m, i, x == origin.X)
		num, den := slope(m.knots[i-1], m.knots[i])
		if gain := num - den; gain <= -den/2 || gain >= den/2 {
			c.seg.num, c.seg.den = num, den
		} else {
			c.seg.rate(gain, den)
		}
	}
}

// between sets the change of the bound between knots i-1 and i. Wander is left out where the origin is no knot: then at0 has it,
// and no offset reaches far from there.
func (q *quality) between(m *Map, i int, atKnot bool) {
	a, b := m.knots[i-1], m.knots[i]
	dx := float64(b.X-a.X) * psPerNS
	q.perPS = float64(b.BoundNS-a.BoundNS) / dx
	if atKnot {
		q.wanderPS, q.lengthPS = float64(m.wanderPPB)/1e12, dx
	}
}

func far(x, base int64) bool {
	d := subSat(x, base)
	return d > farNS || d < -farNS
}

// rate sets the fraction gain/den, |gain| < den, rounded towards minus infinity so that a segment never passes its end.
func (s *segment) rate(gain, den int64) {
	if gain == 0 {
		return
	}
	s.negative = gain < 0
	q, r := bits.Div64(magnitude(gain), 0, uint64(den))
	if s.negative && r != 0 {
		q++
	}
	s.frac = q
}
