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
	up, low []float64
	diag    []float64
	vec     [4][]float64 // scratch of the solver

	sum, worst   []float64 // per link: |residual| summed, and the largest by which it left its band
	count        []int
	inconsistent int
}

type equation struct {
	link, a, b      int
	e, lo, hi, w, h float64
}

func newEquations(n *network) *equations {
	k := len(n.nodes)
	q := &equations{n: n, ground: n.index[n.ref], c: make([]float64, k), up: make([]float64, k), low: make([]float64, k), diag: make([]float64, k),
		sum: make([]float64, len(n.links)), worst: make([]float64, len(n.links)), count: make([]int, len(n.links))}
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
		for range 4 {
			q.leastSquares()
			q.reweigh()
		}
	}
	q.bounds(at)
	for i := range at {
		if !at[i].known || i == q.ground {
			continue
		}
		c := math.Max(q.low[i], math.Min(q.up[i], q.c[i]))
		q.c[i] = c
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
		q.worst[r.link] = math.Max(q.worst[r.link], math.Abs(res)-r.h)
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
		q.rows = append(q.rows, equation{li, a, b, v.theta - d, v.lo - d, v.hi - d, 1 / (h * h), h})
	}
}

// reweigh is Huber's rule: a link whose residual exceeds a quarter of its band counts in proportion less.
func (q *equations) reweigh() {
	for i := range q.rows {
		r := &q.rows[i]
		res := math.Abs(r.e - (q.c[r.b] - q.c[r.a]))
		r.w = 1 / (r.h * r.h)
		if limit := r.h / 4; res > limit {
			r.w *= limit / res
		}
	}
}

// leastSquares solves the normal equations (a graph Laplacian grounded at the reference) by conjugate gradients.
func (q *equations) leastSquares() {
	res, dir, z, ad := q.vec[0], q.vec[1], q.vec[2], q.vec[3]
	for i := range q.diag {
		q.diag[i], res[i] = 0, 0
	}
	for _, r := range q.rows {
		q.diag[r.a] += r.w
		q.diag[r.b] += r.w
		g := r.w * (r.e - (q.c[r.b] - q.c[r.a]))
		res[r.b] += g
		res[r.a] -= g
	}
	rho := q.precondition(res, z)
	copy(dir, z)
	limit := rho * 1e-18
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

// precondition divides by the diagonal, keeps the reference at rest, and returns res.z.
func (q *equations) precondition(res, z []float64) (rho float64) {
	res[q.ground] = 0
	for i := range z {
		z[i] = 0
		if q.diag[i] > 0 {
			z[i] = res[i] / q.diag[i]
		}
		rho += res[i] * z[i]
	}
	return rho
}

// bounds chains the links' bands along all paths (shortest paths over difference constraints). When the links contradict each
// other there is no solution to that; then the tree alone counts.
func (q *equations) bounds(at []instantOf) {
	for i := range q.up {
		q.up[i], q.low[i] = math.Inf(1), math.Inf(-1)
	}
	q.up[q.ground], q.low[q.ground] = 0, 0
	for sweep := 0; ; sweep++ {
		if !q.relax(q.rows) {
			break
		}
		if sweep > len(q.c)+1 || q.up[q.ground] < 0 || q.low[q.ground] > 0 {
			q.inconsistent++
			q.treeBounds()
			return
		}
	}
	for i := range at {
		if at[i].known && q.low[i] > q.up[i] {
			q.inconsistent++
			q.treeBounds()
			return
		}
	}
}

func (q *equations) relax(rows []equation) bool {
	changed := false
	for _, r := range rows {
		if v := q.up[r.a] + r.hi; v < q.up[r.b]-1e-6 {
			q.up[r.b], changed = v, true
		}
		if v := q.up[r.b] - r.lo; v < q.up[r.a]-1e-6 {
			q.up[r.a], changed = v, true
		}
		if v := q.low[r.a] + r.lo; v > q.low[r.b]+1e-6 {
			q.low[r.b], changed = v, true
		}
		if v := q.low[r.b] - r.hi; v > q.low[r.a]+1e-6 {
			q.low[r.a], changed = v, true
		}
	}
	return changed
}

// treeBounds chains the bands along the tree only.
func (q *equations) treeBounds() {
	for i := range q.up {
		q.up[i], q.low[i] = math.Inf(1), math.Inf(-1)
	}
	q.up[q.ground], q.low[q.ground] = 0, 0
	inTree := make(map[int]int, len(q.rows))
	for i, r := range q.rows {
		inTree[r.link] = i
	}
	for _, i := range q.n.order[1:] {
		ri, ok := inTree[q.n.parent[i]]
		if !ok {
			continue
		}
		r := q.rows[ri]
		if r.b == i {
			q.up[i], q.low[i] = q.up[r.a]+r.hi, q.low[r.a]+r.lo
		} else {
			q.up[i], q.low[i] = q.up[r.b]-r.lo, q.low[r.b]-r.hi
		}
	}
}

// finish books the links' residuals and names those that contradict the rest.
func (q *equations) finish(s *Solution) {
	for li, l := range q.n.links {
		if q.count[li] == 0 {
			continue
		}
		l.residual = int64(math.Round(q.sum[li] / float64(q.count[li])))
		if q.worst[li] > 0 {
			s.warnf("probes between nodes %d and %d contradict the other nodes' by %.1f us", l.a, l.b, q.worst[li]/1e3)
		}
	}
	if q.inconsistent > 0 {
		s.warnf("at %d instants the measured pairs contradict each other; there the bounds rest on the best path alone", q.inconsistent)
	}
}
