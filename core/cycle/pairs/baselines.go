package pairs

import "math"

// interval is by how much runs that should be equal differ in one time.
type interval struct {
	Share  float64 // half of the interval in which one more run of them would lie, as a share of a
	Middle float64 // the mean of these runs, as a share of a, less 1
}

// holds reports whether a change from a lies within what the runs differ by. Where there are none, nothing does.
func (n *interval) holds(relative float64) bool {
	return n != nil && math.Abs(relative-n.Middle) <= n.Share
}

// Baselines are runs that should be equal to run a, as they compare with it.
type Baselines struct {
	alpha float64
	runs  map[uint64]map[string][]float64 // by class of a and time: of each baseline, as a share of a
}

// NewBaselines gathers baselines; alpha is the chance that one more of them is taken for a change.
func NewBaselines(alpha float64) *Baselines {
	return &Baselines{alpha: alpha, runs: map[uint64]map[string][]float64{}}
}

// What is not the name of a kernel.
const (
	wallTime = "\x00wall"
	gapTime  = "\x00gap"
)

// Add takes a comparison of a with one baseline.
func (n *Baselines) Add(c *Comparison, a []ClassView) {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		of := n.runs[a[p.A].ID]
		if of == nil {
			of = map[string][]float64{}
			n.runs[a[p.A].ID] = of
		}
		add := func(name string, meanA, meanB float64) {
			if meanA > 0 {
				of[name] = append(of[name], meanB/meanA)
			}
		}
		add(wallTime, p.Wall.MeanA, p.Wall.MeanB)
		add(gapTime, p.Gap.MeanA, p.Gap.MeanB)
		sums := map[string][2]float64{}
		for k := range p.Rows {
			if row := &p.Rows[k]; row.Kind == Exact || row.Kind == Similar {
				name := a[p.A].Slots[row.A[0]].Strict
				s := sums[name]
				sums[name] = [2]float64{s[0] + row.MeanA, s[1] + row.MeanB}
			}
		}
		for name, s := range sums {
			add(name, s[0], s[1])
		}
	}
}

// Has is how many baselines have a class of a.
func (n *Baselines) Has(class uint64) int { return len(n.runs[class][wallTime]) }

// noise is what the runs differ by in one time of a class of a; nil where no baseline has it. The next of n runs that are distributed normally lies
// within t(n-1) s sqrt(1 + 1/n) of their mean (Hahn, J. Qual. Technol. 1, 1969). Run a is one of them.
func (n *Baselines) noise(class uint64, name string) *interval {
	shares := n.runs[class][name]
	if len(shares) == 0 {
		return nil
	}
	freedom := len(shares)
	count := float64(freedom + 1)
	middle := 1.0
	for _, x := range shares {
		middle += x
	}
	middle /= count
	squares := (1 - middle) * (1 - middle)
	for _, x := range shares {
		squares += (x - middle) * (x - middle)
	}
	s := math.Sqrt(squares / (count - 1))
	return &interval{Share: student(n.alpha, freedom) * s * math.Sqrt(1+1/count), Middle: middle - 1}
}

// noise gives the times of a pair what the baselines differ by.
func (o Options) noise(p *Pair, a *ClassView) {
	if o.Baselines != nil {
		p.Wall.Noise, p.Gap.Noise = o.Baselines.noise(a.ID, wallTime), o.Baselines.noise(a.ID, gapTime)
	}
}

// noiseOf is the greatest noise of the kernels of a row.
func (o Options) noiseOf(a *ClassView, slots []int) *interval {
	var most *interval
	for _, i := range slots {
		if o.Baselines == nil {
			break
		}
		if x := o.Baselines.noise(a.ID, a.Slots[i].Strict); x != nil && (most == nil || x.Share > most.Share) {
			most = x
		}
	}
	return most
}

// student is the value that the size of a t of so many degrees of freedom exceeds with probability p.
func student(p float64, freedom int) float64 {
	low, high := 0.0, 1.0
	for within(high, freedom) < 1-p {
		high *= 2
	}
	for low < high {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			break
		}
		if within(middle, freedom) < 1-p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// within is the probability that the size of a t is at most x (Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4).
func within(x float64, freedom int) float64 {
	angle := math.Atan(x / math.Sqrt(float64(freedom)))
	sin, cos := math.Sin(angle), math.Cos(angle)
	odd := freedom % 2
	term, sum := 1.0, 0.0
	if odd == 1 {
		term = cos
	}
	for k := odd; k+2 <= freedom; k += 2 {
		sum += term
		term *= cos * cos * float64(k+1) / float64(k+2)
	}
	if odd == 1 {
		return 2 / math.Pi * (angle + sin*sum)
	}
	return sin * sum
}
