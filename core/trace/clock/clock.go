// Package clock maps instants between clocks that drift.
//
// A Map is a list of knots: an instant on the source clock, the same instant on the target clock, and how far off that pairing
// can be. Between knots it interpolates on differences, in 128-bit integers, so it is exact to the nanosecond at any epoch;
// outside its knots it extrapolates with a stated drift and a bound that grows, and says so. A Map never reorders: its targets
// never decrease. Instants are int64 nanoseconds; float64 appears only in bounds and differences.
package clock

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// Pair is one reading of two clocks at (nearly) the same moment, in ns.
type Pair struct {
	X, Y    int64
	WidthNS int64 // Y is the middle of two readings so far apart, one before and one after X; 0: it was read once, before X
}

// Knot is an instant X of the source clock, the same instant Y of the target clock, both ns, and the largest error of Y in ns.
type Knot struct {
	X, Y, BoundNS int64
	YPS           int32 // what Y leaves of the target instant, 0 to 999 ps
}

// Drift is a difference of rates in parts per 10^12 (1 ppm = 1_000_000): a target that gains d on its source runs at 1 + d/10^12.
type Drift int64

// PPM returns the drift in parts per million.
func (d Drift) PPM() float64 { return float64(d) / 1e6 }

// DriftPPM makes a Drift of parts per million, rounded to 10^-12.
func DriftPPM(ppm float64) Drift { return Drift(math.Round(ppm * 1e6)) }

// Coverage says, as a set of flags, how an instant was mapped. Zero means between two knots.
type Coverage uint8

// The flags of Coverage.
const (
	Extrapolated     Coverage = 1 << iota // outside the knots of the map (of the first map, when composed)
	ExtrapolatedThen                      // outside the knots of the second of two composed maps
	InStep                                // inside the interval in which a clock stepped: either side of the step is possible
	Clamped                               // moved to keep the order (the knots went backwards here)
)

// maxDrift is the largest drift accepted: a target at twice or half the rate of its source is not a clock.
const maxDrift = Drift(500_000_000_000)

// Map converts instants of one clock into another's. The zero Map and a nil *Map are the
// identity. A Map does not change once made and may be
// used by several goroutines.
type Map struct {
	knots     []Knot
	flags     []Coverage // len(knots)+1 intervals: before the first knot, between knots, after the last
	before    Drift
	after     Drift
	growthPPB int64 // growth of the bound outside the knots
	wanderPPB int64 // growth of the bound between knots, away from the nearest one
}

type config struct {
	before, after Drift
	growthPPB     int64
	wanderPPB     int64
	steps         []int
	covered       bool
	clamp         bool
}

// Option configures New.
type Option func(*config)

// WithTails sets the drift used before the first and after the last knot, and how fast the bound grows there, in ns per second
// (parts per billion). Default: zero drift, 100_000 ppb (100 ppm, what a free-running oscillator can do).
func WithTails(before, after Drift, growthPPB int64) Option {
	return func(c *config) { c.before, c.after, c.growthPPB = before, after, growthPPB }
}

// WithWander adds wanderPPB * (distance to the nearest knot) to the bound between knots: what the drift may do there unseen.
func WithWander(wanderPPB int64) Option { return func(c *config) { c.wanderPPB = wanderPPB } }

// WithSteps marks the segments that start at the given knots as containing a step of a clock. Instants there get a bound that
// includes the step.
func WithSteps(segments ...int) Option {
	return func(c *config) { c.steps = append(c.steps, segments...) }
}

// WithCoveredTails states that the tails are as good as the knots (a declared offset holds everywhere): no Extrapolated flag.
func WithCoveredTails() Option { return func(c *config) { c.covered = true } }

// WithClamps accepts knots whose targets go backwards: each is raised to the largest before it, its segment is flagged Clamped
// and its bound widened by the raise. Without it such knots are an error.
func WithClamps() Option { return func(c *config) { c.clamp = true } }

// New makes a Map. Knots must have strictly increasing X, bounds >= 0 and, without WithClamps, non-decreasing Y. It copies them.
func New(knots []Knot, opts ...Option) (*Map, error) {
	c := config{growthPPB: 100_000}
	for _, o := range opts {
		o(&c)
	}
	if c.before <= -maxDrift || c.before >= maxDrift || c.after <= -maxDrift || c.after >= maxDrift {
		return nil, fmt.Errorf("clock: tail drifts %.3f and %.3f ppm exceed +-500000 ppm", c.before.PPM(), c.after.PPM())
	}
	if c.growthPPB < 0 || c.wanderPPB < 0 {
		return nil, fmt.Errorf("clock: negative growth of a bound")
	}
	m := &Map{knots: append([]Knot(nil), knots...), before: c.before, after: c.after, growthPPB: c.growthPPB, wanderPPB: c.wanderPPB}
	m.flags = make([]Coverage, len(knots)+1)
	if len(knots) > 0 && !c.covered {
		m.flags[0], m.flags[len(knots)] = Extrapolated, Extrapolated
	}
	if err := m.checkKnots(c.clamp); err != nil {
		return nil, err
	}
	for _, s := range c.steps {
		if s < 0 || s >= len(knots)-1 {
			return nil, fmt.Errorf("clock: step in segment %d, there are %d", s, max(0, len(knots)-1))
		}
		m.flags[s+1] |= InStep
	}
	return m, nil
}

func (m *Map) checkKnots(clamp bool) error {
	for i := range m.knots {
		k := &m.knots[i]
		if k.YPS < 0 || k.YPS >= psPerNS {
			return fmt.Errorf("clock: knot %d has %d ps beyond its ns", i, k.YPS)
		}
		if k.BoundNS < 0 {
			return fmt.Errorf("clock: knot %d has a negative bound (%d ns)", i, k.BoundNS)
		}
		if i == 0 {
			continue
		}
		p := m.knots[i-1]
		if k.X <= p.X {
			return fmt.Errorf("clock: knot %d at %d ns is not after knot %d at %d ns", i, k.X, i-1, p.X)
		}
		if k.X-p.X < 0 || k.Y > p.Y && k.Y-p.Y < 0 {
			return fmt.Errorf("clock: knots %d and %d are too far apart", i-1, i)
		}
		if k.Y < p.Y || k.Y == p.Y && k.YPS < p.YPS {
			if !clamp {
				return fmt.Errorf("clock: knot %d goes back by %d ns", i, p.Y-k.Y)
			}
			k.BoundNS = addSat(k.BoundNS, subSat(p.Y, k.Y))
			k.Y, k.YPS = p.Y, p.YPS
			m.flags[i] |= Clamped
		}
	}
	return nil
}

// Shift returns the map that adds deltaNS everywhere, with a constant bound.
func Shift(deltaNS, boundNS int64) *Map {
	return &Map{knots: []Knot{{X: 0, Y: deltaNS, BoundNS: max(0, boundNS)}}, flags: make([]Coverage, 2)}
}

// IsIdentity reports whether the map changes nothing.
func (m *Map) IsIdentity() bool {
	delta, ok := m.ConstantShift()
	return ok && delta == 0
}

// ConstantShift returns by how much the map moves every instant, when it moves all alike.
func (m *Map) ConstantShift() (deltaNS int64, ok bool) {
	if m == nil || len(m.knots) == 0 {
		return 0, true
	}
	delta := subSat(m.knots[0].Y, m.knots[0].X)
	for _, k := range m.knots {
		if subSat(k.Y, k.X) != delta || k.YPS != 0 {
			return 0, false
		}
	}
	return delta, m.before == 0 && m.after == 0
}

// Knots returns a copy of the knots.
func (m *Map) Knots() []Knot {
	if m == nil {
		return nil
	}
	return append([]Knot(nil), m.knots...)
}

// Tails returns the drifts before the first and after the last knot, and the growth of the bound outside the knots and between
// them, in ns per second.
func (m *Map) Tails() (before, after Drift, growthPPB, wanderPPB int64) {
	if m == nil {
		return 0, 0, 0, 0
	}
	return m.before, m.after, m.growthPPB, m.wanderPPB
}

// Steps returns the segments (by the index of their first knot) that are marked as containing a step.
func (m *Map) Steps() []int {
	if m == nil {
		return nil
	}
	var s []int
	for i := 1; i < len(m.knots); i++ {
		if m.flags[i]&InStep != 0 {
			s = append(s, i-1)
		}
	}
	return s
}

// Span returns the first and last instant of the source clock between which the map interpolates; ok is false for a map
// without knots.
func (m *Map) Span() (from, to int64, ok bool) {
	if m == nil || len(m.knots) == 0 {
		return 0, 0, false
	}
	return m.knots[0].X, m.knots[len(m.knots)-1].X, true
}

// interval returns i such that x lies between knots i-1 and i (0: before the first, len: at or after the last).
func (m *Map) interval(x int64) int {
	return sort.Search(len(m.knots), func(i int) bool { return m.knots[i].X > x })
}

// At returns the target instant for x, the bound on its error, both ns, and how it was mapped. Results saturate at the ends of
// int64 (292 years).
func (m *Map) At(x int64) (y, boundNS int64, c Coverage) {
	if m == nil || len(m.knots) == 0 {
		return x, 0, 0
	}
	i := m.interval(x)
	return m.value(i, x), m.bound(i, x), m.flags[i]
}

// Instant is At without the bound.
func (m *Map) Instant(x int64) int64 {
	if m == nil || len(m.knots) == 0 {
		return x
	}
	return m.value(m.interval(x), x)
}

// value returns the target instant of x in interval i, rounded to the nearest ns.
func (m *Map) value(i int, x int64) int64 {
	y, ps := m.exact(i, x, 0)
	if ps >= psPerNS/2 {
		return addSat(y, 1)
	}
	return y
}

// exact returns the target instant of x ns and ps picoseconds in interval i, rounded down to the ps.
func (m *Map) exact(i int, x int64, ps int32) (y int64, yps int32) {
	n := len(m.knots)
	k, num, den := m.knots[max(i-1, 0)], int64(0), int64(0)
	switch i {
	case 0:
		num, den = 1e12+int64(m.before), 1e12
	case n:
		num, den = 1e12+int64(m.after), 1e12
	default:
		num, den = slope(k, m.knots[i])
	}
	d := subSat(x, k.X)
	if d > farNS || d < -farNS { // beyond 46 days ps do not fit: whole ns then
		return addSat(k.Y, mulDiv(d, num, den)), 0
	}
	out := mulDiv(d*psPerNS+int64(ps), num, den) + int64(k.YPS)
	ns := floorDiv(out, psPerNS)
	return addSat(k.Y, ns), int32(out - ns*psPerNS)
}

// slope returns the rate between two neighbouring knots as a fraction, with picoseconds where they fit.
func slope(a, b Knot) (num, den int64) {
	dx, dy := b.X-a.X, b.Y-a.Y
	if dx < farNS && dy < farNS {
		return dy*psPerNS + int64(b.YPS-a.YPS), dx * psPerNS
	}
	return dy, dx
}

// bound returns the bound at x in interval i: interpolated between knots, plus wander, plus the step where there is one.
func (m *Map) bound(i int, x int64) int64 {
	n := len(m.knots)
	if i == 0 {
		return grow(m.knots[0].BoundNS, subSat(m.knots[0].X, x), m.growthPPB)
	}
	if i == n {
		return grow(m.knots[n-1].BoundNS, subSat(x, m.knots[n-1].X), m.growthPPB)
	}
	a, b := m.knots[i-1], m.knots[i]
	dx := float64(b.X - a.X)
	f := float64(x-a.X) / dx
	v := float64(a.BoundNS) + f*float64(b.BoundNS-a.BoundNS)
	if m.wanderPPB != 0 {
		v += float64(min(x-a.X, b.X-x)) * float64(m.wanderPPB) / 1e9
	}
	if m.flags[i]&InStep != 0 {
		v += m.stepSize(i)
	}
	return clampFloat(math.Ceil(v))
}

// stepSize returns how far the values in the interval i of a step can be from the clock before the step and from the clock after it, which
// go on with the rates that they have outside: over a long interval a rate can gain what the step takes.
func (m *Map) stepSize(i int) float64 {
	n := len(m.knots)
	from, to := i-1, i // the knots around all of the step
	for from > 0 && m.flags[from]&InStep != 0 {
		from--
	}
	for to < n-1 && m.flags[to+1]&InStep != 0 {
		to++
	}
	size := math.Abs(float64(m.knots[to].Y-m.knots[from].Y) - float64(m.knots[to].X-m.knots[from].X))
	size = max(size, math.Abs(float64(m.knots[i].Y-m.knots[i-1].Y)-float64(m.knots[i].X-m.knots[i-1].X)))
	for _, side := range [2]struct {
		at, outside int
		tail        Drift
	}{{from, from - 1, m.before}, {to, to + 1, m.after}} {
		a := m.knots[side.at]
		gain := float64(side.tail) / 1e12
		if side.outside >= 0 && side.outside < n {
			o := m.knots[side.outside]
			gain = float64((o.Y-a.Y)-(o.X-a.X)) / float64(o.X-a.X)
		}
		for k := from; k <= to; k++ {
			dx := float64(m.knots[k].X - a.X)
			size = max(size, math.Abs(float64(m.knots[k].Y-a.Y)-dx-gain*dx))
		}
	}
	return size
}

func grow(b, distance, ppb int64) int64 {
	return addSat(b, clampFloat(math.Ceil(float64(distance)*float64(ppb)/1e9)))
}

// clampFloat converts to int64, saturating.
func clampFloat(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	if v <= math.MinInt64 {
		return math.MinInt64
	}
	return int64(v)
}

func addSat(a, b int64) int64 {
	s := a + b
	if (a^s)&(b^s) < 0 { // the sign of the sum is that of neither
		if a > 0 {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return s
}

func subSat(a, b int64) int64 {
	if b == math.MinInt64 {
		if a >= 0 {
			return math.MaxInt64
		}
		return a - b
	}
	return addSat(a, -b)
}

// mulDiv returns floor(a*b/c) with a 128-bit product, saturating. c must be positive.
func mulDiv(a, b, c int64) int64 {
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi >= uint64(c) {
		if neg {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, uint64(c))
	if neg && r != 0 {
		q++
	}
	if q > math.MaxInt64 {
		if neg {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	if neg {
		return -int64(q)
	}
	return int64(q)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return uint64(-(a + 1)) + 1
	}
	return uint64(a)
}
