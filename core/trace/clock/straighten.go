package clock

import "math"

// Readings of clocks are whole numbers of ns, so knots that lie on one straight line miss it by up to a ns each, and a map through
// them wriggles by as much. Straightening puts the line back.
const (
	straightNS    = 1.05 // how far a knot may lie from the line: one reading is rounded on each side
	straightKnots = 4    // fewer knots say nothing about a line
	straightSkew  = 16   // ns by which bounds may differ along one line
)

// Straightened returns a map in which every run of at least four successive knots that agree with one line to a ns is replaced by
// that line; a map that moves all instants alike is that line already. Runs do not cross knots whose bounds differ, nor intervals with flags. Bounds become the largest of their run.
func (m *Map) Straightened() *Map {
	if _, straight := m.ConstantShift(); straight || len(m.knots) < straightKnots {
		return m
	}
	out := *m
	out.knots, out.flags = nil, []Coverage{m.flags[0]}
	for i := 0; i < len(m.knots); {
		j := m.lineEnd(i)
		if i > 0 {
			out.flags = append(out.flags, m.flags[i])
		}
		if j-i < straightKnots-1 {
			out.knots = append(out.knots, m.knots[i])
			i++
			continue
		}
		a, b := m.line(i, j).ends(m.knots[i], m.knots[j])
		for k := i; k <= j; k++ {
			a.BoundNS = max(a.BoundNS, m.knots[k].BoundNS)
		}
		b.BoundNS = a.BoundNS
		out.knots = append(out.knots, a, b)
		out.flags = append(out.flags, 0)
		i = j + 1
	}
	out.flags = append(out.flags, m.flags[len(m.knots)])
	for i := 1; i < len(out.knots); i++ {
		if p, k := out.knots[i-1], out.knots[i]; k.Y < p.Y || k.Y == p.Y && k.YPS < p.YPS {
			return m
		}
	}
	return &out
}

// lineEnd returns the last knot of the longest run from knot i on that agrees with one line, found by doubling and halving.
func (m *Map) lineEnd(i int) int {
	limit := i // the run may not cross flags or changing bounds
	for limit+1 < len(m.knots) && m.flags[limit+1] == 0 && near16(m.knots[i].BoundNS, m.knots[limit+1].BoundNS) {
		limit++
	}
	good, step := i, 1
	for good < limit {
		next := min(good+step, limit)
		if m.agrees(i, next) {
			good, step = next, 2*step
			continue
		}
		if step == 1 {
			break
		}
		step = 1 + (step-1)/2
	}
	return good
}

func near16(a, b int64) bool { return a-b <= straightSkew && b-a <= straightSkew }

// fitted is a line through knots: the offset Y-X minus that of the first knot, in ns, as a function of X minus the first X.
type fitted struct{ at0, slope float64 }

// line fits knots i to j by least squares.
func (m *Map) line(i, j int) fitted {
	x0, o0 := m.knots[i].X, m.knots[i].Y-m.knots[i].X
	var n, sx, sy float64
	for _, k := range m.knots[i : j+1] {
		n++
		sx += float64(k.X - x0)
		sy += m.offset(k, o0)
	}
	mx, my := sx/n, sy/n
	var xx, xy float64
	for _, k := range m.knots[i : j+1] {
		dx := float64(k.X-x0) - mx
		xx += dx * dx
		xy += dx * (m.offset(k, o0) - my)
	}
	f := fitted{}
	if xx > 0 {
		f.slope = xy / xx
	}
	f.at0 = my - f.slope*mx
	return f
}

func (m *Map) offset(k Knot, o0 int64) float64 { return float64(k.Y-k.X-o0) + float64(k.YPS)/psPerNS }

func (m *Map) agrees(i, j int) bool {
	f := m.line(i, j)
	x0, o0 := m.knots[i].X, m.knots[i].Y-m.knots[i].X
	for _, k := range m.knots[i : j+1] {
		if math.Abs(m.offset(k, o0)-f.at0-f.slope*float64(k.X-x0)) > straightNS {
			return false
		}
	}
	return true
}

// ends returns the line at its first and last knot.
func (f fitted) ends(a, b Knot) (Knot, Knot) {
	o0 := a.Y - a.X
	return onLine(a.X, o0, f.at0), onLine(b.X, o0, f.at0+f.slope*float64(b.X-a.X))
}

func onLine(x, o0 int64, offsetNS float64) Knot {
	ps := int64(math.Round(offsetNS * psPerNS))
	ns := floorDiv(ps, psPerNS)
	return Knot{X: x, Y: x + o0 + ns, YPS: int32(ps - ns*psPerNS)}
}
