package clock

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const epoch = int64(1_760_000_000_000_000_000)

// exact is the slow twin of Map.At: rational arithmetic, no rounding.
func exact(m *Map, x *big.Rat) *big.Rat {
	rat := func(v int64) *big.Rat { return new(big.Rat).SetInt64(v) }
	line := func(k Knot, num, den int64) *big.Rat {
		d := new(big.Rat).Sub(x, rat(k.X))
		d.Mul(d, big.NewRat(num, den))
		return d.Add(d, rat(k.Y))
	}
	ks := m.Knots()
	switch n := len(ks); {
	case n == 0:
		return new(big.Rat).Set(x)
	case x.Cmp(rat(ks[0].X)) < 0:
		return line(ks[0], 1e12+int64(m.before), 1e12)
	case x.Cmp(rat(ks[n-1].X)) >= 0:
		return line(ks[n-1], 1e12+int64(m.after), 1e12)
	default:
		i := 1
		for x.Cmp(rat(ks[i].X)) >= 0 {
			i++
		}
		return line(ks[i-1], ks[i].Y-ks[i-1].Y, ks[i].X-ks[i-1].X)
	}
}

func randomMap(t testing.TB, r *rand.Rand) *Map {
	n := r.IntN(8)
	x, y := epoch+r.Int64N(1e12), epoch+r.Int64N(1e12)
	var ks []Knot
	for range n {
		ks = append(ks, Knot{X: x, Y: y, BoundNS: r.Int64N(1000)})
		dx := 1 + r.Int64N(5e9)
		dy := dx
		switch r.IntN(6) {
		case 0:
			dy = 0
		case 1:
			dy = r.Int64N(3 * dx)
		default:
			dy += int64(float64(dx) * (r.Float64() - 0.5) * 4e-4)
		}
		x, y = x+dx, y+dy
	}
	m, err := New(ks, WithTails(Drift(r.Int64N(4e8)-2e8), Drift(r.Int64N(4e8)-2e8), 1000))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCursorIsWithinTwoPicosecondsOfExactArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		m := randomMap(t, r)
		base := epoch + r.Int64N(1e12)
		c := m.Cursor(base)
		off := r.Int64N(40e12) - 20e12
		x := new(big.Rat).Add(new(big.Rat).SetInt64(base), big.NewRat(off, 1000))
		want := exact(m, x)
		got := new(big.Rat).Add(new(big.Rat).SetInt64(c.BaseY()), big.NewRat(c.Map(off), 1000))
		diff, _ := new(big.Rat).Sub(got, want).Float64()
		if math.Abs(diff) > 0.002 {
			t.Fatalf("map %+v base %d offset %d: off by %g ns", m, base, off, diff)
		}
		y, _, _ := m.At(base + off/1000)
		if math.Abs(float64(y-c.BaseY())-float64(c.Map(off))/1000) > 4 {
			t.Fatalf("At and Cursor disagree: %d and %d ps from %d", y, c.Map(off), c.BaseY())
		}
	}
}

func TestMapNeverReordersEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		m := randomMap(t, r)
		c := m.Cursor(epoch + r.Int64N(1e12))
		other := c.Clone()
		for range 300 {
			a := r.Int64N(60e12) - 30e12
			b := a + r.Int64N(4)
			if r.IntN(2) == 0 {
				b = a + r.Int64N(60e12)
			}
			if ya, yb := c.Map(a), c.Map(b); ya > yb {
				t.Fatalf("map %+v: offsets %d <= %d map to %d > %d", m, a, b, ya, yb)
			}
			if got, want := other.Map(a), c.Map(a); got != want { // another order of calls, same result
				t.Fatalf("offset %d maps to %d, and to %d after other calls", a, got, want)
			}
		}
	}
}

func TestMapIsExactOnDriftingClocks(t *testing.T) {
	// 64 nodes with offsets to +-500 ms and drifts to +-100 ppm; knots are exact integers as a noise-free recording gives them.
	r := rand.New(rand.NewPCG(5, 6))
	var worst int64
	for range 64 {
		offset, ppb := r.Int64N(1e9)-5e8, r.Int64N(200_001)-100_000
		shown := func(t int64) int64 { return t + offset + mulDiv(t-epoch, ppb, 1e9) }
		var ks []Knot
		for k := int64(0); k <= 100; k++ {
			ref := epoch + k*4e9
			ks = append(ks, Knot{X: shown(ref), Y: ref})
		}
		m, err := New(ks)
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			truth := epoch + r.Int64N(400e9)
			got, _, cov := m.At(shown(truth))
			if cov != 0 {
				continue
			}
			worst = max(worst, got-truth, truth-got)
		}
	}
	if worst > 1 {
		t.Errorf("worst error %d ns, want at most 1", worst)
	}
}

func TestTailsAndSteps(t *testing.T) {
	ks := []Knot{{X: 1000, Y: 2000, BoundNS: 10}, {X: 2000, Y: 3000, BoundNS: 20}, {X: 4_000_000, Y: 3_001_000, BoundNS: 20}}
	m, err := New(ks, WithTails(0, DriftPPM(100), 1_000_000), WithSteps(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		x, y, bound int64
		c           Coverage
	}{
		{0, 1000, 11, Extrapolated},
		{1500, 2500, 15, 0},
		{2000, 3000, 1_000_420, InStep}, // seen from behind, where the clock runs 100 ppm fast, the step is 400 ns larger
		{14_000_000, 13_002_000, 10_020, Extrapolated},
	} {
		y, b, c := m.At(tc.x)
		if y != tc.y || b != tc.bound || c != tc.c {
			t.Errorf("At(%d) = %d, %d, %d; want %d, %d, %d", tc.x, y, b, c, tc.y, tc.bound, tc.c)
		}
	}
	if got := m.Steps(); len(got) != 1 || got[0] != 1 {
		t.Errorf("Steps() = %v, want [1]", got)
	}
}

func TestHeldTailsStopDriftingAndTheirBoundNeverGrowsSlower(t *testing.T) {
	const second = int64(1e9)
	ks := []Knot{{X: second, Y: 3 * second, BoundNS: 10}, {X: 2 * second, Y: 4 * second, BoundNS: 20}}
	for _, tc := range []struct{ own, asked, want int64 }{ // ns per second
		{1_000, 100_000, 100_000},
		{200_000, 100_000, 200_000},
	} {
		m, err := New(ks, WithTails(DriftPPM(50), DriftPPM(-50), tc.own))
		if err != nil {
			t.Fatal(err)
		}
		held := m.HoldTails(tc.asked)
		for _, at := range []struct{ x, knotBound int64 }{{0, 10}, {3 * second, 20}} { // a second outside the knots
			if y, bound, c := held.At(at.x); y != at.x+2*second || bound != at.knotBound+tc.want || c != Extrapolated {
				t.Errorf("grows by %d, asked for %d: At(%d) = %d, %d, %v; want %d, %d", tc.own, tc.asked, at.x, y, bound, c, at.x+2*second, at.knotBound+tc.want)
			}
		}
	}
}

func TestNewRefusesKnotsThatAreNotAClock(t *testing.T) {
	for name, ks := range map[string][]Knot{
		"same x":         {{X: 1}, {X: 1}},
		"descending":     {{X: 2}, {X: 1}},
		"backwards":      {{X: 1, Y: 5}, {X: 2, Y: 4}},
		"negative bound": {{X: 1, BoundNS: -1}},
		"too far apart":  {{X: math.MinInt64}, {X: math.MaxInt64}},
	} {
		if _, err := New(ks); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(nil, WithTails(maxDrift, 0, 0)); err == nil {
		t.Error("a drift of 500000 ppm was accepted")
	}
}

func TestClampsAreFlaggedAndBounded(t *testing.T) {
	m, err := New([]Knot{{X: 0, Y: 100}, {X: 10, Y: 90, BoundNS: 1}, {X: 20, Y: 110}}, WithClamps())
	if err != nil {
		t.Fatal(err)
	}
	if y, b, c := m.At(5); y != 100 || c != Clamped || b < 5 {
		t.Errorf("At(5) = %d, %d, %d; want 100 clamped with a bound of at least 5", y, b, c)
	}
	if y, _, c := m.At(15); y != 105 || c != 0 {
		t.Errorf("At(15) = %d, %d; want 105, 0", y, c)
	}
}

func TestComposeEqualsApplyingBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		f, g := steady(t, r), steady(t, r)
		h := Compose(f, g)
		for range 50 {
			x := epoch + r.Int64N(60e9) - 15e9
			mid, b1, c1 := f.At(x)
			want, b2, c2 := g.At(mid)
			got, b, c := h.At(x)
			if got-want > 2 || want-got > 2 {
				t.Fatalf("compose at %d = %d, want %d", x, got, want)
			}
			if c != joinFlags(c1, c2) {
				t.Fatalf("compose at %d flags %b, want %b", x, c, joinFlags(c1, c2))
			}
			if c == 0 && b < b1+b2-2 {
				t.Fatalf("compose at %d bound %d, want at least %d+%d", x, b, b1, b2)
			}
		}
	}
}

// steady makes a map like a real clock's: rates near 1 throughout.
func steady(t testing.TB, r *rand.Rand) *Map {
	x, y := epoch, epoch+r.Int64N(1e9)-5e8
	var ks []Knot
	for range 1 + r.IntN(6) {
		ks = append(ks, Knot{X: x, Y: y, BoundNS: r.Int64N(1000)})
		dx := 1e9 + r.Int64N(5e9)
		x, y = x+dx, y+dx+int64(float64(dx)*(r.Float64()-0.5)*2e-4)
	}
	m, err := New(ks, WithTails(DriftPPM(r.Float64()*100), DriftPPM(-r.Float64()*100), 1000))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestInverseComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		m := steady(t, r)
		inv := m.Inverse()
		for range 50 {
			x := epoch + r.Int64N(60e9) - 15e9
			y, _, _ := m.At(x)
			if back, _, _ := inv.At(y); back-x > 2 || x-back > 2 {
				t.Fatalf("inverse of %d comes back as %d", x, back)
			}
		}
	}
}

func TestIdentityAndShiftAreExact(t *testing.T) {
	for _, m := range []*Map{{}, nil, Shift(-37_000_001, 5), Shift(0, 0)} {
		c := m.Cursor(epoch)
		for _, o := range []int64{0, 1, 999, 1_000_000_007, -5, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64 + 1} {
			if got := c.Map(o); got != o {
				t.Errorf("%+v: offset %d becomes %d", m, o, got)
			}
		}
	}
	if y, b, c := Shift(7, 3).At(epoch); y != epoch+7 || b != 3 || c != 0 {
		t.Errorf("Shift(7, 3).At = %d, %d, %d", y, b, c)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(epoch, int64(5), int64(1e9), int64(1e9+100), epoch, int64(1e12))
	f.Add(int64(0), int64(0), int64(1), int64(0), int64(math.MaxInt64), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, x0, y0, dx, dy, base, off int64) {
		m, err := New([]Knot{{X: x0, Y: y0}, {X: x0 + dx, Y: y0 + dy}}, WithTails(1000, -1000, 5))
		if err != nil {
			return
		}
		c := m.Cursor(base)
		a := c.Map(off)
		if off < math.MaxInt64 {
			if b := c.Map(off + 1); b < a {
				t.Fatalf("order lost: %d -> %d, %d -> %d", off, a, off+1, b)
			}
		}
		if _, bound, _ := c.Sample(off); bound < 0 {
			t.Fatalf("negative bound %d", bound)
		}
	})
}

func BenchmarkCursor(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	m := steady(b, r)
	c := m.Cursor(epoch)
	var sum int64
	for i := 0; b.Loop(); i++ {
		sum += c.Map(int64(i%30_000_000) * 1000)
	}
	_ = sum
}

func TestJSONKeepsMapsExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		m := randomMap(t, r)
		b, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back Map
		if err := back.UnmarshalJSON(b); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			x := epoch + r.Int64N(60e9) - 15e9
			y1, b1, c1 := m.At(x)
			y2, b2, c2 := back.At(x)
			if y1 != y2 || b1 != b2 || c1 != c2 {
				t.Fatalf("at %d: %d %d %d became %d %d %d", x, y1, b1, c1, y2, b2, c2)
			}
		}
	}
	var m Map
	for _, bad := range []string{`{"knots":[[2,0,0],[1,0,0]]}`, `{"knots":[[1,0,0]],"flags":[0]}`, `{"knots":[[1,0,-5]],"flags":[0,0]}`} {
		if err := m.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestStraighteningRemovesWhatRoundingPutIn(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 50 {
		offset, ppb := r.Int64N(1e9)-5e8, r.Int64N(200_001)-100_000
		exactly := func(x int64) float64 { return float64(x-epoch) * float64(ppb) / 1e9 } // gain since the epoch, ns
		var ks []Knot
		for k := int64(0); k < 200; k++ {
			x := epoch + k*100_000_000 + r.Int64N(1000)
			ks = append(ks, Knot{X: x, Y: x + offset + int64(math.Floor(exactly(x))), BoundNS: 5})
		}
		m, err := New(ks)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Straightened()
		if n := len(s.Knots()); n > 4 {
			t.Fatalf("%d knots left of one line", n)
		}
		for range 200 {
			x := epoch + r.Int64N(199*100_000_000)
			c := s.Cursor(x)
			got := float64(c.BaseY()-x-offset) + float64(c.Map(0))/1000
			if want := exactly(x) - 0.5; math.Abs(got-want) > 0.6 { // readings are rounded down: 0.5 in the mean
				t.Fatalf("drift %d ppb at %d: %f ns from the line", ppb, x, got-want)
			}
		}
	}
}

func TestStraighteningKeepsKinksStepsAndBounds(t *testing.T) {
	var ks []Knot
	y := epoch
	for k := int64(0); k < 40; k++ {
		ks = append(ks, Knot{X: epoch + k*1e9, Y: y, BoundNS: 7})
		y += 1e9
		if k >= 20 {
			y += 5_000 // 5 ppm more from the middle on
		}
	}
	m, err := New(ks, WithSteps(9))
	if err != nil {
		t.Fatal(err)
	}
	s := m.Straightened()
	if got := len(s.Steps()); got != 1 {
		t.Fatalf("%d steps left of 1", got)
	}
	for x := epoch; x < epoch+39e9; x += 1e8 {
		a, b1, c1 := m.At(x)
		b, b2, c2 := s.At(x)
		if a-b > 2 || b-a > 2 || c1 != c2 || b2 < b1-1 {
			t.Fatalf("at %d: %d %d %d became %d %d %d", x-epoch, a, b1, c1, b, b2, c2)
		}
	}
}

func TestQualityIsTheBoundOfTheMap(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 500 {
		m := randomMap(t, r)
		if n := len(m.Knots()); n > 2 {
			m, _ = New(m.Knots(), WithTails(100, -100, 5000), WithWander(300), WithSteps(n/2-1))
		}
		base := epoch + r.Int64N(1e12)
		c := m.Cursor(base)
		for range 50 {
			off := r.Int64N(40e12) - 20e12
			got, cov := c.Quality(off)
			want := bounded(m, base+floorDiv(off, 1000))
			if got-want > 2 || want-got > 2 {
				t.Fatalf("bound %d at offset %d, want %d; map %+v", got, off, want, m)
			}
			if _, _, c := m.At(base + floorDiv(off, 1000)); c != cov {
				t.Fatalf("flags %b, want %b", cov, c)
			}
		}
	}
}

func bounded(m *Map, x int64) int64 { _, b, _ := m.At(x); return b }
