package pairs

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Limit is the smallest change of a row of a pair, as a share of its time in a, that most runs like these would have told from chance; -1 where
// no change could have been told. Row Wall is the wall time of the pair, row Gap the idle time in it.
//
// It is found by drawing runs anew (Efron, Ann. Statist. 7, 1979): the repetitions of each stage of a run are drawn from those of that stage, so that
// what a run moves while it goes on stays in. Of every draw the smallest change is taken that the test of ranks tells; the two other tests only add to
// that. The limit is the one that powerShare of the draws do not exceed, and never less than what the baselines differ by.
func (c *Comparison) Limit(a, b []ClassView, pair, row int) float64 {
	p := &c.Pairs[pair]
	var x, y []int64
	tests := 1
	change := p.change(row)
	switch row {
	case Wall, Gap:
		wallA, gapA, wallB, gapB := compared(&a[p.A], &b[p.B])
		if x, y = wallA, wallB; row == Gap {
			x, y = gapA, gapB
		}
	default:
		x, y = total(a[p.A].Slots, p.Rows[row].A), total(b[p.B].Slots, p.Rows[row].B)
		tests = p.tests()
	}
	limit := limitOf(x, y, c.alpha/float64(tests))
	if limit >= 0 && change.Noise != nil {
		limit = max(limit, change.Noise.Share)
	}
	return limit
}

// The rows of a pair that are none of its kernels.
const (
	Wall = -1 - iota // the time from border to border
	Gap              // the time in it in which no kernel runs
)

// change is the change of a row.
func (p *Pair) change(row int) *Change {
	switch row {
	case Wall:
		return &p.Wall
	case Gap:
		return &p.Gap
	}
	return &p.Rows[row].Change
}

// tests are the rows of a pair that are tested together.
func (p *Pair) tests() int {
	n := 0
	for i := range p.Rows {
		if p.Rows[i].tests != nil {
			n++
		}
	}
	return max(1, n)
}

func limitOf(a, b []int64, alpha float64) float64 {
	n1, n2 := float64(len(a)), float64(len(b))
	if len(a) < MinRepetitions || len(b) < MinRepetitions || ranksWeight*pOfU(0, n1, n2, 0) > alpha {
		return -1
	}
	middleA, middleB := median(a), median(b)
	if !(middleA > 0 && middleB > 0) {
		return -1
	}
	draw := rand.New(rand.NewPCG(0, 0))
	modelA, modelB := modelOf(a, 1/middleA), modelOf(b, 1/middleB)
	limits := make([]float64, powerDraws)
	for i := range limits {
		x, _, highA := modelA.drawn(draw)
		y, lowB, _ := modelB.drawn(draw)
		limits[i] = mostPower
		if lowB > 0 {
			limits[i] = max(0, highA/lowB-1, leastByRanks(x, y, alpha))
		}
	}
	slices.Sort(limits)
	if limit := limits[int(math.Ceil(powerShare*powerDraws))-1]; limit < mostPower {
		return limit
	}
	return -1
}

// model is what runs are drawn from: the middle of each stage, and what repetitions differ by from it.
type model struct {
	middles []float64
	apart   [][]float64 // by stage, in order of time
	smooth  float64     // the deviation of what is added to each draw: else no run would have a value beyond those that were seen
	shrink  float64     // and what the draw is multiplied by, so that its variance is that of the stage
}

// modelOf makes the model of a run. That the middles of stages differ is chance to a part, which is taken out of them: the draws bring their own.
func modelOf(x []int64, scale float64) *model {
	n := stagesOf(x)
	m := &model{middles: make([]float64, n), apart: make([][]float64, n)}
	var all []float64
	each := len(x) / n
	for i := range n {
		stage := x[i*len(x)/n : (i+1)*len(x)/n]
		m.middles[i] = scale * median(stage)
		for _, v := range stage {
			d := scale*float64(v) - m.middles[i]
			m.apart[i] = append(m.apart[i], d)
			all = append(all, math.Abs(d))
		}
	}
	slices.Sort(all)
	deviation := madToSigma * all[len(all)/2]
	wide := smoothing * math.Pow(float64(each), smoothingPower)
	m.smooth = wide * deviation
	m.shrink = math.Sqrt(float64(each) / float64(each-1) / (1 + wide*wide))
	mean, squares := 0.0, 0.0
	for _, v := range m.middles {
		mean += v / float64(n)
	}
	for _, v := range m.middles {
		squares += (v - mean) * (v - mean)
	}
	if chance := float64(n-1) * medianVariance * deviation * deviation / float64(each); squares > 0 {
		left := math.Sqrt(max(0, 1-chance/squares))
		for i, v := range m.middles {
			m.middles[i] = mean + left*(v-mean)
		}
	}
	return m
}

// drawn is one run: its values in order, and the least and the greatest median of a stage.
func (m *model) drawn(draw *rand.Rand) (values []float64, low, high float64) {
	for i, apart := range m.apart {
		from := len(values)
		for range apart {
			values = append(values, m.middles[i]+m.shrink*(apart[draw.IntN(len(apart))]+m.smooth*draw.NormFloat64()))
		}
		stage := values[from:]
		slices.Sort(stage)
		middle := stage[len(stage)/2]
		if i == 0 {
			low, high = middle, middle
		}
		low, high = min(low, middle), max(high, middle)
	}
	slices.Sort(values)
	return values, low, high
}

// leastByRanks is the smallest share by which all of b must grow for the test of ranks to tell it from a. Both are in order.
func leastByRanks(a, b []float64, alpha float64) float64 {
	n1, n2 := float64(len(a)), float64(len(b))
	told := func(grown float64) bool {
		below, i := 0.0, 0 // pairs of a value of a and one of b behind it
		for _, y := range b {
			for i < len(a) && a[i] < y*grown {
				i++
			}
			below += float64(i)
		}
		return below > n1*n2/2 && ranksWeight*pOfU(n1*n2-below, n1, n2, 0) <= alpha
	}
	if !told(1 + mostPower) {
		return mostPower
	}
	low, high := 0.0, mostPower
	for range powerSteps {
		if middle := (low + high) / 2; told(1 + middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
