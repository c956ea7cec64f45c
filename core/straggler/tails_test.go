package straggler

import (
	"math"
	"slices"
	"testing"
)

// TestTailsAreThoseOfTheBinomial: summed up term by term.
func TestTailsAreThoseOfTheBinomial(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
	}{{3, 10, 0.125}, {9, 10, 0.5}, {10, 10, 0.25}, {40, 200, 0.125}, {1, 1, 0.5}} {
		sum := 0.0
		for k := c.k; k <= c.n; k++ {
			term := 1.0
			for i := range k {
				term *= float64(c.n-i) / float64(k-i) * c.p
			}
			sum += term * math.Pow(1-c.p, float64(c.n-k))
		}
		if got := logTail(c.k, c.n, c.p); math.Abs(got-math.Log(sum)) > 1e-6 {
			t.Errorf("%+v: %g, want %g", c, got, math.Log(sum))
		}
	}
	if got := logTail(3, 3, 1); got != 0 {
		t.Errorf("who is alone is among the longest by chance: %g", got)
	}
	m := &measures{job: &Job{Ranks: make([]Rank, 2)}}
	var all []over
	for i := range int64(20) { // the ten longest of twenty are one rank's: once in 2^10, looked for among 2 ranks and 6 shares
		all = append(all, over{int32(i / 10), -i})
	}
	if got, want := m.byChance(all, []int{10, 10}), math.Log(12.0/1024); math.Abs(got[0]-want) > 1e-6 || got[1] != 0 {
		t.Errorf("%v, want %g", got, want)
	}
}

// TestQuietPartsSayWhatIsNoise: of six stretches of time two are quiet, and a run that was bad for the rest does not pass for noise.
func TestQuietPartsSayWhatIsNoise(t *testing.T) {
	var list []int64
	for _, ns := range []int64{60, 50, 10, 40, 20, 30} {
		list = append(list, slices.Repeat([]int64{ns}, 10)...)
	}
	if got := quietly(list); got != noiseTimes*20 {
		t.Errorf("%d", got)
	}
	if got := quietly([]int64{1, 2, 3, 4, 5, 6}); got != noiseTimes*5 {
		t.Errorf("%d of few", got)
	}
}

// TestWhatIsBeyondNoise: lateness that came from elsewhere, a beginning, and the first operation of a class, in which connections are made, are not.
func TestWhatIsBeyondNoise(t *testing.T) {
	l := &losses{ops: []opLoss{{transfer: 900, middle: 100}, {transfer: 900, first: true}, {beginning: true}}, noise: noise{own: []int64{50, 50, 50}, transfer: []int64{60, 60, 60}}}
	for want, late := range map[int64][]lateness{
		800: {{costNS: 900}, {transfer: true, costNS: 800}},
		900: {{op: 1, costNS: 900}, {transfer: true, costNS: 2000}},
		0:   {{costNS: 150}, {costNS: 900, handed: true}, {op: 1, costNS: 900, transfer: true}, {op: 2, costNS: 900}, {transfer: true, costNS: 60}},
		51:  {{costNS: 151}},
	} {
		for _, x := range late {
			if got := l.beyond(&x, 1); got != want {
				t.Errorf("%+v: %d, want %d", x, got, want)
			}
		}
	}
	if got := l.beyond(&lateness{costNS: 200}, farBeyond); got != 0 {
		t.Errorf("twice the noise is far beyond: %d", got)
	}
}
