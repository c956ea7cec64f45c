package offsets

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// sample is one statement about an offset: at the instant at (ns), the offset was that many ns.
type sample struct {
	at     int64
	offset int64
	rest   float64 // what offset leaves of a ns
	slack  float64 // known error of the statement: printed digits, an instant that is not sure, ns
	drift  float64 // ppm, as stated
	bound  int64   // as stated, -1 when not
}

// minScatter is how many samples it takes to judge their scatter.
const minScatter = 5

// series is a list of samples under judgement: which are outliers, where a clock stepped, how much the rest scatters. Values
// are differences from the first sample.
type series struct {
	x, v  []float64 // ns since the first, ns above the first
	slack []float64
	src   []int // index of the sample
	sigma float64
	floor float64 // what a single difference may always do, ns

	drift []float64 // slopes, while they are known
}

// newSeries takes ascending samples. floor is a difference that is never called an outlier.
func newSeries(s []sample, floor float64) *series {
	n := len(s)
	room := make([]float64, 3*n)
	q := &series{x: room[:n:n], v: room[n : 2*n : 2*n], slack: room[2*n:], src: make([]int, n), floor: floor}
	for i, p := range s {
		q.x[i] = float64(p.at - s[0].at)
		q.v[i] = float64(p.offset-s[0].offset) + p.rest
		q.slack[i] = p.slack
		q.src[i] = i
	}
	return q
}

// shortRun is the longest stretch between two jumps that can be outliers rather than a clock that stepped twice.
const shortRun = 3

// clean removes outliers and returns how many: short stretches that jump away and back, or off at an end of the series, where
// nothing tells an outlier from a step and dropping them leaves an extrapolation, which is flagged.
func (q *series) clean() (removed int) {
	for range 8 {
		q.measure()
		if len(q.x) < minScatter {
			return removed
		}
		drop := q.strays()
		if len(drop) == 0 {
			return removed
		}
		removed += len(drop)
		kept := 0
		for i := range q.x {
			if len(drop) > 0 && drop[0] == i {
				drop = drop[1:]
				continue
			}
			q.x[kept], q.v[kept], q.slack[kept], q.src[kept] = q.x[i], q.v[i], q.slack[i], q.src[i]
			kept++
		}
		q.x, q.v, q.slack, q.src = q.x[:kept], q.v[:kept], q.slack[:kept], q.src[:kept]
		q.drift = nil
	}
	q.measure()
	return removed
}

// strays returns the samples of short stretches that are outliers, ascending; none when no stretch is long.
func (q *series) strays() []int {
	steps := q.steps()
	if len(steps) == 0 {
		return nil
	}
	slopes := q.slopes()
	var drop []int
	longest := 0
	for k := 0; k <= len(steps); k++ {
		from, to := 0, len(q.x)
		if k > 0 {
			from = steps[k-1] + 1
		}
		if k < len(steps) {
			to = steps[k] + 1
		}
		longest = max(longest, to-from)
		if to-from > shortRun {
			continue
		}
		if k > 0 && k < len(steps) {
			in, out := q.jump(from-1, from, slopes), q.jump(to-1, to, slopes)
			small, large := math.Min(math.Abs(in), math.Abs(out)), math.Max(math.Abs(in), math.Abs(out))
			if (in > 0) == (out > 0) && small > large/10 {
				continue // on the way of a slew
			}
		}
		for i := from; i < to; i++ {
			drop = append(drop, i)
		}
	}
	if longest <= shortRun {
		return nil
	}
	return drop
}

// jump is by how much the offset changed from sample i to j beyond the local drift.
func (q *series) jump(i, j int, slopes []float64) float64 {
	return q.v[j] - q.v[i] - slopes[min(i, len(slopes)-1)]*(q.x[j]-q.x[i])
}

// limit is how large a jump may be by scatter, printed digits and a change of rate of 1 ppm.
func (q *series) limit(i, j int) float64 {
	return 8*math.Sqrt2*q.sigma + 3*(q.slack[i]+q.slack[j]) + q.floor + 1e-6*(q.x[j]-q.x[i])
}

// measure estimates the scatter of a single sample from how far samples lie from the line through their neighbours.
func (q *series) measure() {
	q.sigma = 0
	if len(q.x) < 3 {
		return
	}
	dev := make([]float64, 0, len(q.x))
	for i := 1; i < len(q.x)-1; i++ {
		f := (q.x[i] - q.x[i-1]) / (q.x[i+1] - q.x[i-1])
		d := q.v[i] - q.v[i-1] - f*(q.v[i+1]-q.v[i-1])
		dev = append(dev, math.Abs(d)/math.Sqrt(1+f*f+(1-f)*(1-f)))
	}
	small := 1 + 4/float64(len(dev)) // few samples: the median deviation may be small by luck
	q.sigma = 1.4826 * medianOf(dev) * small
}

// slopes returns the local drift in each interval: the median over the intervals around it. The result is the caller's to read only.
func (q *series) slopes() []float64 {
	if q.drift != nil {
		return q.drift
	}
	const around = 8
	room := make([]float64, 2*(len(q.x)-1))
	d := room[:len(room)/2]
	for i := range d {
		d[i] = (q.v[i+1] - q.v[i]) / (q.x[i+1] - q.x[i])
	}
	q.drift = room[len(d):]
	near := runningMedian{make([]float64, 0, 2*around+2)}
	for i := range d {
		if i == 0 {
			for _, v := range d[:min(len(d), around)] {
				near.add(v)
			}
		}
		if i+around < len(d) {
			near.add(d[i+around])
		}
		if i > around {
			near.remove(d[i-around-1])
		}
		q.drift[i] = near.median()
	}
	return q.drift
}

// runningMedian holds a few values in order.
type runningMedian struct{ sorted []float64 }

func (m *runningMedian) add(v float64) {
	i, _ := slices.BinarySearch(m.sorted, v)
	m.sorted = slices.Insert(m.sorted, i, v)
}

func (m *runningMedian) remove(v float64) {
	if i, ok := slices.BinarySearch(m.sorted, v); ok {
		m.sorted = slices.Delete(m.sorted, i, i+1)
	}
}

func (m *runningMedian) median() float64 {
	n := len(m.sorted)
	if n%2 == 1 {
		return m.sorted[n/2]
	}
	return (m.sorted[n/2-1] + m.sorted[n/2]) / 2
}

// steps returns the intervals (by the index of their first sample) in which the offset jumped.
func (q *series) steps() []int {
	if len(q.x) < 3 {
		return nil
	}
	var out []int
	slopes := q.slopes()
	for i := range slopes {
		if math.Abs(q.jump(i, i+1, slopes)) > q.limit(i, i+1) {
			out = append(out, i)
		}
	}
	return out
}

// bends returns, per sample, how far a line between two neighbouring samples can be off because the rate changed between them:
// a quarter of the change of slope times the interval. Changes that scatter explains count as none. from:to is a stretch
// without steps.
func (q *series) bends(from, to int) []float64 {
	out := make([]float64, to-from)
	slope := func(j int) float64 { return (q.v[j+1] - q.v[j]) / (q.x[j+1] - q.x[j]) }
	for j := from; j+1 < to; j++ {
		before, after := max(from, j-1), min(to-2, j+1)
		bend := math.Abs(slope(after)-slope(before)) * (q.x[j+1] - q.x[j]) / 4
		if bend <= 3*q.sigma+3*q.slack[j]+20 {
			continue
		}
		out[j-from] = math.Max(out[j-from], bend)
		out[j+1-from] = math.Max(out[j+1-from], bend)
	}
	return out
}

// stretches cuts the samples at the steps into half-open ranges.
func (q *series) stretches(steps []int) [][2]int {
	var out [][2]int
	from := 0
	for _, i := range steps {
		out = append(out, [2]int{from, i + 1})
		from = i + 1
	}
	return append(out, [2]int{from, len(q.x)})
}

// fromSamples makes the node's map from samples of the offset over the reference's time. assumed is the bound where neither
// the samples state one nor their scatter can be judged.
func (n *NodeOffsets) fromSamples(samples []sample, opt *Options, assumed int64) error {
	runs, q := n.runsOf(samples, assumed)
	n.Windows = len(q.src)
	if err := n.fromRuns(runs, false, opt); err != nil {
		return err
	}
	if len(q.src) == 1 {
		n.single(samples[q.src[0]])
	}
	if len(n.Steps) > 0 {
		n.warnf("the offset jumps %d times (a step, or a slew of the clock): instants inside are marked", len(n.Steps))
	}
	return nil
}

// runsOf makes runs of knots of what is left of the samples when outliers are dropped and jumps are marked.
func (n *NodeOffsets) runsOf(samples []sample, assumed int64) ([]run, *series) {
	q := newSeries(samples, 20)
	removed := q.clean()
	if removed > 0 {
		n.Missed += removed
		n.warnf("%d of %d samples are outliers and not used", removed, len(samples))
	}
	var runs []run
	for _, r := range q.stretches(q.steps()) {
		bends := q.bends(r[0], r[1])
		var knots []clock.Knot
		for i := r[0]; i < r[1]; i++ {
			p := samples[q.src[i]]
			knots = append(knots, clock.Knot{X: p.at + p.offset, Y: p.at, BoundNS: n.sampleBound(p, q, assumed) + ceilNS(bends[i-r[0]])})
		}
		runs = append(runs, run{knots: knots})
	}
	return runs, q
}

func (n *NodeOffsets) sampleBound(p sample, q *series, assumed int64) int64 {
	if p.bound >= 0 {
		return p.bound
	}
	if len(q.src) < minScatter {
		return assumed + ceilNS(p.slack)
	}
	return ceilNS(3.5*q.sigma+p.slack) + 1
}

// single: one sample gives a constant shift; the drift that comes with it, if any, is used for the tails.
func (n *NodeOffsets) single(p sample) {
	n.DriftPPM = p.drift
	t := tail{before: driftOf(p.drift * 1e3), after: driftOf(p.drift * 1e3), growth: 100_000}
	if err := n.build(n.Map.Knots(), nil, t); err != nil {
		n.warnf("%v", err)
	}
}
