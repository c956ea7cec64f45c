package clock

import (
	"math"
	"math/rand/v2"
	"testing"
)

// offsets are near the knots of a map, anywhere between them, and at the ends of int64.
func offsets(r *rand.Rand, m *Map, base int64) []int64 {
	at := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 60, -1 << 60, 1<<60 - 1, 1 << 61}
	for _, k := range m.Knots() {
		o := relPS(k.X, base)
		at = append(at, addSat(o, -1), o, addSat(o, 1))
	}
	for range 60 {
		at = append(at, r.Int64N(40e12)-20e12, int64(r.Uint64())>>r.IntN(64))
	}
	return at
}

func TestAStretchMapsAsItsCursorDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	held, all := 0, 0
	for i := range 3000 {
		m := randomMap(t, r)
		if i%10 == 0 { // knots at any distance
			x := int64(r.Uint64()) >> (2 + r.IntN(40))
			if far, err := New([]Knot{{X: x, Y: int64(r.Uint64()) >> 2}, {X: x + 1 + r.Int64N(1<<40), Y: math.MaxInt64 / 2}}); err == nil {
				m = far
			}
		}
		base := []int64{epoch + r.Int64N(1e12), 0, int64(r.Uint64()) >> 1}[r.IntN(3)]
		c := m.Cursor(base)
		for _, o := range offsets(r, m, base) {
			s := m.Cursor(base).Stretch(o)
			for _, near := range []int64{o, addSat(o, 1), subSat(o, 1), addSat(o, 1+r.Int64N(1<<40)), subSat(o, r.Int64N(1<<40))} {
				if all++; !s.Holds(near) {
					continue
				}
				held++
				if got, want := s.Map(near), c.Map(near); got != want {
					t.Fatalf("map %+v, base %d: offset %d becomes %d, the cursor says %d", m, base, near, got, want)
				}
			}
		}
	}
	if held < all/2 {
		t.Fatalf("stretches hold %d of %d offsets", held, all)
	}
}

func TestAStretchEndsWithItsInterval(t *testing.T) {
	m, err := New([]Knot{{X: 0, Y: 0}, {X: 10, Y: 11}, {X: 20, Y: 20}})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Cursor(0).Stretch(5_000)
	for o, want := range map[int64]bool{-1: false, 0: true, 9_999: true, 10_000: false} {
		if s.Holds(o) != want {
			t.Errorf("offset %d is held: %v, want %v", o, !want, want)
		}
	}
	if s := (Stretch{}); s.Holds(0) {
		t.Error("the zero stretch holds an offset")
	}
}

func TestBoundsAreThoseOfTheCursor(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		m := randomMap(t, r)
		base := epoch + r.Int64N(1e12)
		c, other := m.Cursor(base), m.Cursor(base)
		for _, o := range offsets(r, m, base) {
			b := c.Bounds(o)
			if near := addSat(o, r.Int64N(1<<30)); c.Serves(near) {
				want, cov := other.Quality(near)
				if got := WholeNS(b.At(near)); got != want || b.Coverage != cov {
					t.Fatalf("map %+v, offset %d: %d ns and %b, the cursor says %d and %b", m, near, got, b.Coverage, want, cov)
				}
			}
		}
	}
}
