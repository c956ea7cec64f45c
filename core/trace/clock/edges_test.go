package clock

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func made(t *testing.T, knots []Knot, opts ...Option) *Map {
	t.Helper()
	m, err := New(knots, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheInverseOfAPauseIsAStep(t *testing.T) {
	inner := made(t, []Knot{{X: 0, Y: 0}, {X: 10, Y: 10}, {X: 20, Y: 10}, {X: 30, Y: 20}}).Inverse()
	if got, want := inner.Knots(), []Knot{{X: 0, Y: 0}, {X: 10, Y: 10}, {X: 20, Y: 30}}; !slices.Equal(got, want) {
		t.Errorf("knots %v, want %v", got, want)
	}
	last := made(t, []Knot{{X: 0, Y: 0}, {X: 10, Y: 10}, {X: 20, Y: 10}}).Inverse()
	for _, tc := range []struct {
		m    *Map
		x    int64
		want Coverage
	}{
		{inner, 5, 0},
		{inner, 15, InStep},
		{inner, 25, Extrapolated},
		{inner, -5, Extrapolated},
		{last, 5, 0},
		{last, 15, Extrapolated | InStep},
	} {
		if _, _, c := tc.m.At(tc.x); c != tc.want {
			t.Errorf("inverse with knots %v at %d: flags %d, want %d", tc.m.Knots(), tc.x, c, tc.want)
		}
	}
}

func TestComposingKeepsEachKnotOnce(t *testing.T) {
	f := made(t, []Knot{{X: 0, Y: 100}, {X: 10, Y: 110}, {X: 20, Y: 121}})
	g := made(t, []Knot{{X: 100, Y: 0}, {X: 110, Y: 12}, {X: 121, Y: 21}})
	if got, want := Compose(f, g).Knots(), []Knot{{X: 0, Y: 0}, {X: 10, Y: 12}, {X: 20, Y: 21}}; !slices.Equal(got, want) {
		t.Errorf("knots %v, want %v", got, want)
	}
	var none *Map
	for _, first := range []*Map{none, {}} {
		h := Compose(first, g)
		if y, _, c := h.At(110); y != 12 || c != 0 {
			t.Errorf("nothing and then a map: at 110 %d with flags %d, want 12 with none", y, c)
		}
		if y, _, c := h.At(125); y != 25 || c != ExtrapolatedThen {
			t.Errorf("nothing and then a map: at 125 %d with flags %d, want 25 with %d", y, c, ExtrapolatedThen)
		}
	}
	if c := g.flags[0]; c != Extrapolated {
		t.Errorf("composing changed the flags of the second map to %d", c)
	}
	if h := Compose(f, none); h != f {
		t.Errorf("a map and then nothing is %v", h)
	}
}

func TestNoMapHasTailsToHold(t *testing.T) {
	var none *Map
	for _, m := range []*Map{none, {}} {
		if held := m.HoldTails(5); !held.IsIdentity() {
			t.Errorf("%v held is %v", m, held)
		}
	}
}

func TestTheLargestBoundLooksAtBothEnds(t *testing.T) {
	falling := made(t, []Knot{{X: 0, Y: 0, BoundNS: 100}, {X: 1000, Y: 1000}})
	rising := made(t, []Knot{{X: 0, Y: 0}, {X: 1000, Y: 1000, BoundNS: 100}})
	for _, tc := range []struct {
		m              *Map
		from, to, want int64
	}{{falling, 300, 900, 70}, {rising, 100, 700, 70}, {rising, 0, 1000, 100}, {falling, 0, 1000, 100}} {
		if got := tc.m.LargestBound(tc.from, tc.to); got != tc.want {
			t.Errorf("knots %v from %d to %d: %d, want %d", tc.m.Knots(), tc.from, tc.to, got, tc.want)
		}
	}
}

func TestUnstatedTailsGrowAsAFreeOscillatorMay(t *testing.T) {
	m := made(t, []Knot{{X: 0, Y: 0, BoundNS: 7}})
	for _, x := range []int64{-1_000_000_000, 1_000_000_000} {
		if y, bound, c := m.At(x); y != x || bound != 100_007 || c != Extrapolated {
			t.Errorf("At(%d) = %d, %d, %d; want 100 ppm of a second more than 7 ns", x, y, bound, c)
		}
	}
}

func TestAMapWithoutKnotsHoldsEverywhere(t *testing.T) {
	m := made(t, nil)
	if _, c := m.Cursor(epoch).Quality(5); c != 0 {
		t.Errorf("flags %d, want none", c)
	}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"flags":[0]`) {
		t.Errorf("written as %s (%v), want no flag", text, err)
	}
}

func TestAStepBesideTheMapIsRefusedWithTheCount(t *testing.T) {
	for _, tc := range []struct {
		knots []Knot
		step  int
		want  string
	}{
		{[]Knot{{X: 0}, {X: 1}, {X: 2}}, 2, "step in segment 2, there are 2"},
		{[]Knot{{X: 0}, {X: 1}}, -1, "step in segment -1, there are 1"},
		{nil, 0, "step in segment 0, there are 0"},
	} {
		if _, err := New(tc.knots, WithSteps(tc.step)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.knots, err, tc.want)
		}
	}
}

// saturated is what a number becomes in int64.
func saturated(n *big.Int) int64 {
	switch {
	case n.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return math.MaxInt64
	case n.Cmp(big.NewInt(math.MinInt64)) < 0:
		return math.MinInt64
	}
	return n.Int64()
}

func TestArithmeticIsThatOfWholeNumbersAndSaturates(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -psPerNS * 7, -8, -1, 0, 1, 3, 999, psPerNS * 7, math.MaxInt64 - 1, math.MaxInt64}
	r := rand.New(rand.NewPCG(41, 42))
	for range 200 {
		edges = append(edges, int64(r.Uint64())>>r.IntN(63))
	}
	for _, a := range edges {
		for _, b := range edges {
			x, y := big.NewInt(a), big.NewInt(b)
			if got, want := addSat(a, b), saturated(new(big.Int).Add(x, y)); got != want {
				t.Fatalf("%d + %d = %d, want %d", a, b, got, want)
			}
			if got, want := subSat(a, b), saturated(new(big.Int).Sub(x, y)); got != want {
				t.Fatalf("%d - %d = %d, want %d", a, b, got, want)
			}
			for _, c := range []int64{1, 7, 1e12, math.MaxInt64} {
				product := new(big.Int).Mul(x, y) // Div of big numbers rounds down for positive divisors
				if got, want := mulDiv(a, b, c), saturated(product.Div(product, big.NewInt(c))); got != want {
					t.Fatalf("%d * %d / %d = %d, want %d", a, b, c, got, want)
				}
			}
		}
	}
	for _, d := range []int64{math.MinInt64 / psPerNS, math.MinInt64/psPerNS - 1, math.MaxInt64 / psPerNS, math.MaxInt64/psPerNS + 1, -5, 5} {
		want := saturated(new(big.Int).Mul(big.NewInt(d), big.NewInt(psPerNS)))
		if got := relPS(epoch+d, epoch); got != want {
			t.Errorf("%d ns are %d ps, want %d", d, got, want)
		}
	}
}

func TestStraighteningFitsTheLineOfLeastSquares(t *testing.T) {
	// Offsets of 0, 0, 1 and 1 ns a second apart: the line of least squares rises by 0.4 ns a second and begins at -0.1 ns.
	m := made(t, []Knot{{X: 0, Y: 0, BoundNS: 2}, {X: 1e9, Y: 1e9, BoundNS: 3}, {X: 2e9, Y: 2e9 + 1, BoundNS: 3}, {X: 3e9, Y: 3e9 + 1, BoundNS: 12}})
	want := []Knot{{X: 0, Y: -1, YPS: 900, BoundNS: 12}, {X: 3e9, Y: 3e9 + 1, YPS: 100, BoundNS: 12}}
	if got := m.Straightened().Knots(); !slices.Equal(got, want) {
		t.Errorf("knots %v, want %v", got, want)
	}
}

func TestStraighteningKeepsWhatIsNotALine(t *testing.T) {
	shift := made(t, []Knot{{X: 0, Y: 5, BoundNS: 1}, {X: 10, Y: 15, BoundNS: 1}, {X: 20, Y: 25, BoundNS: 1}, {X: 30, Y: 35, BoundNS: 1}, {X: 40, Y: 45, BoundNS: 1}})
	bent := []Knot{{X: 0, Y: 0}}
	for i, gain := range []int64{3000, -2000, 5000, 100, -900, 4000} { // ns a second: never four knots on a line
		last := bent[i]
		bent = append(bent, Knot{X: last.X + 1e9, Y: last.Y + 1e9 + gain, BoundNS: int64(i)})
	}
	for _, m := range []*Map{shift, made(t, bent)} {
		if got, want := m.Straightened().Knots(), m.Knots(); !slices.Equal(got, want) {
			t.Errorf("knots %v became %v", want, got)
		}
	}
}

func TestStraighteningMovesNoKnotByMoreThanRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	for range 200 {
		var knots []Knot
		gain := int64(0)
		for k := range int64(5 + r.IntN(20)) {
			if r.IntN(6) == 0 {
				gain += r.Int64N(7) - 3
			}
			knots = append(knots, Knot{X: k * 1e9, Y: k*1e9 + gain})
		}
		m := made(t, knots).Straightened()
		for _, k := range knots {
			y, ps := m.exact(m.interval(k.X), k.X, 0)
			if off := float64(y-k.Y) + float64(ps)/psPerNS; math.Abs(off) > straightNS+0.001 {
				t.Fatalf("knot %v of %v moved by %.3f ns", k, knots, off)
			}
		}
	}
}
