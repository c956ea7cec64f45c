package offsets

import "math"

// linearProgram is a linear program: maximize c.z where every row allows z, and z lies in a box that is known to hold it. Rows are sparse, and few
// of them decide: the simplex method runs on the dual, whose columns they are, from the corner of the box.
type linearProgram struct {
	low, high []float64 // the box
	rows      []constraint

	basis []int // rows; i below zero is a side of the box: -1-j above variable j, -1-n-j below it
	inv   [][]float64
	y, z  []float64
	col   []float64
}

// constraint says that the sum of at[i]*z[i] is at most most.
type constraint struct {
	n    int
	at   [5]int32
	by   [5]float64
	most float64
}

func (c *constraint) add(variable int32, by float64) {
	c.at[c.n], c.by[c.n] = variable, by
	c.n++
}

func newLinearProgram(n int) *linearProgram {
	p := &linearProgram{low: make([]float64, n), high: make([]float64, n), basis: make([]int, n), y: make([]float64, n), z: make([]float64, n), col: make([]float64, n)}
	for range n {
		p.inv = append(p.inv, make([]float64, n))
	}
	return p
}

// mostPivots ends a search that does not settle: then nothing is said.
const mostPivots = 4000

// outcome is how a search ended.
type outcome uint8

const (
	solved     outcome = iota
	impossible         // no z satisfies all rows
	unsettled
)

// maximize finds the z that is best for c; it is left in p.z.
func (p *linearProgram) maximize(c []float64) outcome {
	n := len(c)
	for i := range n {
		clear(p.inv[i])
		p.inv[i][i], p.basis[i] = 1, -1-i
		if c[i] < 0 {
			p.inv[i][i], p.basis[i] = -1, -1-n-i
		}
		p.y[i] = math.Abs(c[i])
	}
	for range mostPivots {
		p.corner()
		row, over := -1, 1e-4
		for k := range p.rows {
			if v := p.rows[k].excess(p.z); v > over {
				row, over = k, v
			}
		}
		side := p.outside(over)
		if row < 0 && side == 0 {
			if p.unsound(c) {
				return unsettled
			}
			return solved
		}
		if side != 0 {
			row = side
		}
		if !p.pivot(row) {
			return impossible
		}
	}
	return unsettled
}

// smallestPivot keeps the inverse accurate.
const smallestPivot = 1e-7

// unsound reports whether rounding has led astray: the rows of the basis, as they are weighted, must add up to c.
func (p *linearProgram) unsound(c []float64) bool {
	n := len(c)
	sum := make([]float64, n)
	for i, b := range p.basis {
		switch {
		case b >= 0:
			r := &p.rows[b]
			for k := range r.n {
				sum[r.at[k]] += p.y[i] * r.by[k]
			}
		case b >= -n:
			sum[-1-b] += p.y[i]
		default:
			sum[-1-n-b] -= p.y[i]
		}
	}
	for i := range sum {
		if math.Abs(sum[i]-c[i]) > 1e-7*(1+math.Abs(c[i])) {
			return true
		}
	}
	return false
}

// corner is where the rows of the basis meet.
func (p *linearProgram) corner() {
	clear(p.z)
	for i, b := range p.basis {
		cost := p.cost(b)
		for j := range p.z {
			p.z[j] += cost * p.inv[i][j]
		}
	}
}

func (p *linearProgram) cost(row int) float64 {
	n := len(p.z)
	switch {
	case row >= 0:
		return p.rows[row].most
	case row >= -n:
		return p.high[-1-row]
	}
	return -p.low[-1-n-row]
}

func (c *constraint) excess(z []float64) float64 {
	v := -c.most
	for i := range c.n {
		v += c.by[i] * z[c.at[i]]
	}
	return v
}

// outside returns the side of the box that the corner lies beyond by the most, 0 for none by more than over.
func (p *linearProgram) outside(over float64) (side int) {
	n := len(p.z)
	for j, z := range p.z {
		if v := z - p.high[j]; v > over {
			side, over = -1-j, v
		}
		if v := p.low[j] - z; v > over {
			side, over = -1-n-j, v
		}
	}
	return side
}

// pivot brings a row into the basis; false when no z satisfies it.
func (p *linearProgram) pivot(row int) bool {
	n := len(p.z)
	for i := range n {
		v := 0.0
		switch {
		case row >= 0:
			r := &p.rows[row]
			for k := range r.n {
				v += p.inv[i][r.at[k]] * r.by[k]
			}
		case row >= -n:
			v = p.inv[i][-1-row]
		default:
			v = -p.inv[i][-1-n-row]
		}
		p.col[i] = v
	}
	return p.leave(row)
}

// leave lets the row of the basis go that is used up first as the new one comes in.
func (p *linearProgram) leave(row int) bool {
	out, ratio := -1, math.Inf(1)
	for i, d := range p.col {
		if d <= smallestPivot {
			continue
		}
		r := p.y[i] / d
		if r < ratio-1e-10 || r < ratio+1e-10 && d > p.col[out] {
			out, ratio = i, min(r, ratio)
		}
	}
	if out < 0 {
		return false
	}
	for j := range p.inv[out] {
		p.inv[out][j] /= p.col[out]
	}
	p.y[out] = ratio
	for i, d := range p.col {
		if i == out || d == 0 {
			continue
		}
		for j := range p.inv[i] {
			p.inv[i][j] -= d * p.inv[out][j]
		}
		p.y[i] = math.Max(0, p.y[i]-d*ratio)
	}
	p.basis[out] = row
	return true
}
