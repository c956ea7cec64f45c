package offsets

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bestCorner is the slow twin: of all corners where as many rows and sides of the box meet as there are variables, the best one that
// satisfies all others. It is for two variables.
func bestCorner(p *linearProgram, c []float64) (best float64, ok bool) {
	type half struct{ a, b, most float64 }
	var h []half
	for _, r := range p.rows {
		one := half{most: r.most}
		for i := range r.n {
			if r.at[i] == 0 {
				one.a += r.by[i]
			} else {
				one.b += r.by[i]
			}
		}
		h = append(h, one)
	}
	h = append(h, half{1, 0, p.high[0]}, half{-1, 0, -p.low[0]}, half{0, 1, p.high[1]}, half{0, -1, -p.low[1]})
	best = math.Inf(-1)
	for i, f := range h {
		for _, g := range h[i+1:] {
			det := f.a*g.b - f.b*g.a
			if math.Abs(det) < 1e-9 {
				continue
			}
			x, y := (f.most*g.b-f.b*g.most)/det, (f.a*g.most-f.most*g.a)/det
			inside := true
			for _, o := range h {
				inside = inside && o.a*x+o.b*y <= o.most+1e-6
			}
			if v := c[0]*x + c[1]*y; inside && v > best {
				best, ok = v, true
			}
		}
	}
	return best, ok
}

func TestProgramFindsTheBestCorner(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	possible := 0
	for n := range 2000 {
		p := newLinearProgram(2)
		p.low, p.high = []float64{-50, -40}, []float64{60, 70}
		for range r.IntN(12) {
			var c constraint
			c.add(0, r.Float64()*4-2)
			if r.IntN(3) > 0 {
				c.add(1, r.Float64()*4-2)
			}
			c.most = r.Float64()*120 - 30
			p.rows = append(p.rows, c)
		}
		c := []float64{r.Float64()*2 - 1, r.Float64()*2 - 1}
		want, ok := bestCorner(p, c)
		switch got := p.maximize(c); {
		case got == unsettled:
			t.Fatalf("program %d does not settle", n)
		case (got == solved) != ok:
			t.Fatalf("program %d: outcome %d, a corner is possible: %v", n, got, ok)
		case ok:
			possible++
			if v := c[0]*p.z[0] + c[1]*p.z[1]; math.Abs(v-want) > 1e-2 {
				t.Fatalf("program %d: got %g, want %g", n, v, want)
			}
		}
	}
	if possible < 500 {
		t.Errorf("only %d programs had a solution", possible)
	}
}
