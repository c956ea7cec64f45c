package offsets

import "math"

// difference is what an edge says at one instant: lo <= c_b - c_a <= hi, c being what the clocks show, each against whatever it is
// expected to show.
type difference struct {
	a, b   int
	lo, hi float64
}

// closure holds, for each clock, the interval that all differences together allow it against one of them: the shortest ways over
// the graph of difference constraints.
type closure struct{ up, low []float64 }

func newClosure(clocks int) closure {
	return closure{up: make([]float64, clocks), low: make([]float64, clocks)}
}

// reset forgets everything but that the ground is where it is.
func (c *closure) reset(ground int) {
	for i := range c.up {
		c.up[i], c.low[i] = math.Inf(1), math.Inf(-1)
	}
	c.up[ground], c.low[ground] = 0, 0
}

// settled is by how much a way must be shorter to count, ns.
const settled = 1e-6

// chain narrows the intervals by the differences until nothing moves. The differences must have a solution: otherwise there is no
// shortest way, and it stops after as many rounds as there are clocks.
func (c *closure) chain(rows []difference) {
	for range len(c.up) + 1 {
		if !c.relax(rows) {
			return
		}
	}
}

func (c *closure) relax(rows []difference) bool {
	changed := false
	for _, r := range rows {
		if v := c.up[r.a] + r.hi; v < c.up[r.b]-settled {
			c.up[r.b], changed = v, true
		}
		if v := c.up[r.b] - r.lo; v < c.up[r.a]-settled {
			c.up[r.a], changed = v, true
		}
		if v := c.low[r.a] + r.lo; v > c.low[r.b]+settled {
			c.low[r.b], changed = v, true
		}
		if v := c.low[r.b] - r.hi; v > c.low[r.a]+settled {
			c.low[r.a], changed = v, true
		}
	}
	return changed
}
