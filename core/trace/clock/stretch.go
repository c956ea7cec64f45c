package clock

import (
	"math"
	"math/bits"
)

// Stretch is a range of offsets that one interval of a map serves, far enough from the ends of int64 that nothing saturates: Cursor.Map
// without its branches, for loops over many events. The zero Stretch holds no offset.
type Stretch struct {
	lo    int64
	width uint64 // it holds lo <= o < lo+width
	x, y  int64
	frac  uint64 // a map that loses adds this fraction of d alone, any other adds it to d
	whole int64  // -1: d counts, 0: it does not
	floor int64
}

// stretchPS is how far the offsets of a Stretch may be from the origin of its interval: 13 days.
const stretchPS = int64(1) << 60

// Stretch returns the stretch that holds an offset; it holds none where offsets saturate or the rate is far from 1.
func (c *Cursor) Stretch(offsetPS int64) (s Stretch) {
	if offsetPS < c.lo || offsetPS >= c.hi {
		c.seek(offsetPS)
	}
	g := &c.seg
	if g.den != 0 || magnitude(g.x) > uint64(stretchPS) || magnitude(g.y) > uint64(stretchPS) {
		return s
	}
	lo, hi := max(c.lo, g.x-stretchPS), min(c.hi, g.x+stretchPS)
	if lo >= hi {
		return s
	}
	s = Stretch{lo: lo, width: uint64(hi - lo), x: g.x, y: g.y, frac: g.frac, whole: -1, floor: g.floor}
	if g.negative && g.frac != 0 { // d - d*frac is d*(1-frac)
		s.frac, s.whole = -g.frac, 0
	}
	return s
}

// Holds reports whether Map serves an offset.
func (s *Stretch) Holds(offsetPS int64) bool { return uint64(offsetPS-s.lo) < s.width }

// Map returns what the cursor's Map does, for an offset that the stretch holds.
func (s *Stretch) Map(offsetPS int64) int64 {
	d := offsetPS - s.x
	h, _ := bits.Mul64(uint64(d), s.frac)
	return max(s.y+d&s.whole+int64(h)-int64(s.frac)&(d>>63), s.floor) // a negative d is 2^64 too large as a factor
}

// Bounds says how far off the mapped offsets of one interval of a map can be, and how they are mapped. The zero Bounds is that of the
// identity.
type Bounds struct {
	quality
	x        int64
	Coverage Coverage
}

// Bounds returns the bounds of the interval that serves an offset.
func (c *Cursor) Bounds(offsetPS int64) Bounds {
	if offsetPS < c.lo || offsetPS >= c.hi {
		c.seek(offsetPS)
	}
	if len(c.m.knots) == 0 {
		return Bounds{}
	}
	return Bounds{quality: c.quality, x: c.seg.x, Coverage: c.m.flags[c.interval]}
}

// Serves reports whether the interval that the cursor is in serves an offset: Bounds of it are those of the call before.
func (c *Cursor) Serves(offsetPS int64) bool { return offsetPS >= c.lo && offsetPS < c.hi }

// At returns the bound in ns of what an offset is mapped to, not rounded up yet.
func (b *Bounds) At(offsetPS int64) float64 {
	d := float64(offsetPS) - float64(b.x)
	v := b.at0 + b.perPS*d
	if b.wanderPS != 0 {
		v += b.wanderPS * min(d, b.lengthPS-d)
	}
	return v
}

// WholeNS rounds a bound up to ns.
func WholeNS(bound float64) int64 { return clampFloat(math.Ceil(bound)) }
