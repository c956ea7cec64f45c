package offsets

import "math"

// equations corrects the tree's clocks with all links at one instant: weighted least squares over c_b - c_a = e for every link,
// c being a node's correction and e what the link says minus what the tree says, and the bounds that follow from lo <= c_b - c_a
// <= hi along every path. A link far off the others loses weight. Which link is wrong is left to a later judge: here it is
// named, not removed.
type equations struct {
	n       *network
	rows    []equation
	ground  int
	c       []float64
	closure // of the links' bands
	tree    forest
	vec     [4][]float64 // scratch of the solver

	sum   []float64 // per link: |residual| summed
	count []int
	off   []int // per link: instants at which it was more than two bands off
	good  []difference
}

// equation is what a link says at an instant: its band, the middle e of it, the weight w and half the width h.
type equation struct {
	difference
	link    int
	e, w, h float64
}

func newEquations(n *network) *equations {
	k := len(n.clocks)
	q := &equations{
		n: n, ground: n.index[n.ref], c: make([]float64, k), closure: newClosure(k), tree: newForest(k),
		sum: make([]float64, len(n.links)), off: make([]int, len(n.links)), count: make([]int, len(n.links)),
	}
	for i := range q.vec {
		q.vec[i] = make([]float64, k)
	}
	return q
}

// correct applies the corrections to the clocks at one instant and sets their bounds.
func (q *equations) correct(at []instantOf) {
	q.collect(at)
	for i := range q.c {
		q.c[i] = 0
	}
	tree := 0
	for i := range at {
		if at[i].known && i != q.ground {
			tree++
		}
	}
	if len(q.rows) > tree {
		q.tree.grow(q.rows, q.ground)
		for k := range 8 {
			q.leastSquares()
			if !q.reweigh(k >= 4) && k > 0 {
				break
			}
		}
	}
	q.bounds(at)
	for i := range at {
		if !at[i].known || i == q.ground {
			continue
		}
		c := q.c[i]
		f := at[i].frac + c
		w := math.Floor(f)
		at[i].x += int64(w)
		at[i].frac = f - w
		at[i].lo, at[i].hi = q.low[i]-c, q.up[i]-c
	}
	for _, r := range q.rows {
		res := r.e - (q.c[r.b] - q.c[r.a])
		q.sum[r.link] += math.Abs(res)
		q.count[r.link]++
		if math.Abs(res) > 2*r.h {
			q.off[r.link]++
		}
	}
}

// collect writes down what every link says at this instant.
func (q *equations) collect(at []instantOf) {
	q.rows = q.rows[:0]
	for li, l := range q.n.links {
		a, b := q.n.ends[li][0], q.n.ends[li][1]
		if !at[a].known || !at[b].known {
			continue
		}
		v, where := l.at(float64(at[a].x-l.baseX) + at[a].frac)
		if where != onPart {
			continue
		}
		d := float64(at[b].x-at[a].x-l.baseTheta) + at[b].frac - at[a].frac
		h := math.Max(v.half(), 1)
		q.rows = append(q.rows, equation{difference{a, b, v.lo - d, v.hi - d}, li, v.theta - d, 1 / (h * h), h})
	}
}

// reweigh is Huber's rule: a link whose residual exceeds a quarter of its band counts in proportion less; in the last rounds
// (strict) one that is two bands off does not count at all. It reports whether any link is off by its band.
func (q *equations) reweigh(strict bool) (off bool) {
	for i := range q.rows {
		r := &q.rows[i]
		res := math.Abs(r.e - (q.c[r.b] - q.c[r.a]))
		r.w = 1 / (r.h * r.h)
		off = off || res > r.h
		if limit := r.h / 4; res > limit {
			r.w *= limit / res
		}
		if strict && res > 2*r.h {
			r.w = 0
		}
	}
	return off
}

// leastSquares solves the normal equations (a graph Laplacian grounded at the reference) by conjugate gradients, which start from a tree of the
// heaviest rows.
func (q *equations) leastSquares() {
	res, dir, z, ad := q.vec[0], q.vec[1], q.vec[2], q.vec[3]
	clear(res)
	for _, r := range q.rows {
		g := r.w * (r.e - (q.c[r.b] - q.c[r.a]))
		res[r.b] += g
		res[r.a] -= g
	}
	rho := q.precondition(res, z)
	copy(dir, z)
	limit := rho * 1e-16
	for range 4 * len(q.c) {
		if rho <= limit || rho == 0 {
			return
		}
		for i := range ad {
			ad[i] = 0
		}
		for _, r := range q.rows {
			g := r.w * (dir[r.b] - dir[r.a])
			ad[r.b] += g
			ad[r.a] -= g
		}
		ad[q.ground] = 0
		den := 0.0
		for i := range dir {
			den += dir[i] * ad[i]
		}
		if den <= 0 {
			return
		}
		alpha := rho / den
		for i := range dir {
			q.c[i] += alpha * dir[i]
			res[i] -= alpha * ad[i]
		}
		next := q.precondition(res, z)
		for i := range dir {
			dir[i] = z[i] + next/rho*dir[i]
		}
		rho = next
	}
}

// precondition solves the tree of the heaviest rows, which keeps the reference at rest, and returns res.z.
func (q *equations) precondition(res, z []float64) (rho float64) {
	res[q.ground] = 0
	q.tree.solve(res, z)
	for i := range z {
		rho += res[i] * z[i]
	}
	return rho
}

// bounds chains the links' bands along all paths (shortest paths over difference constraints). Links whose band the solution
// leaves are kept out, so that what remains has a solution: this one. A node that only such links reach gets their distance on
// top.
func (q *equations) bounds(at []instantOf) {
	q.reset(q.ground)
	q.good = q.good[:0]
	for _, r := range q.rows {
		if d := q.c[r.b] - q.c[r.a]; d >= r.lo && d <= r.hi {
			q.good = append(q.good, r.difference)
		}
	}
	q.chain(q.good)
	if len(q.good) == len(q.rows) {
		return
	}
	lost := false
	for i := range at {
		lost = lost || at[i].known && math.IsInf(q.up[i], 1)
	}
	if !lost {
		return
	}
	for _, r := range q.rows {
		if d := q.c[r.b] - q.c[r.a]; d < r.lo || d > r.hi {
			v := math.Abs(r.e-d) + r.h
			r.lo, r.hi = d-v, d+v
			q.good = append(q.good, r.difference)
		}
	}
	q.chain(q.good)
}

// finish books the links' residuals and names those that contradict the rest.
func (q *equations) finish(s *Solution) {
	for li, l := range q.n.links {
		if q.count[li] == 0 {
			continue
		}
		l.residual = int64(math.Round(q.sum[li] / float64(q.count[li])))
		if 10*q.off[li] > q.count[li] {
			s.contradicted(l)
		}
	}
}
