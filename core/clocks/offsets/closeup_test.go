package offsets

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
)

// ramp is a difference of clocks whose rate changes all the time, by 100 ppb in 10 s: as much as bounds allow for.
func ramp(x float64) float64 {
	s := x / 1e9
	return 40*s + 10*s*s/2
}

// swing is one whose rate jumps by 100 ppb every ten seconds, up and down.
func swing(x float64) float64 {
	s := x / 1e9
	n := math.Floor(s / 10)
	return 1000*math.Floor(n/2) + math.Mod(n, 2)*100*(s-10*n)
}

// packets makes the observations of both directions, each so much late as delay says.
func packets(theta func(x float64) float64, seconds, interval float64, delay func(x float64) float64) []obs {
	var out []obs
	for x := 0.0; x <= seconds*1e9; x += interval * 1e9 {
		out = append(out, obs{x, theta(x) + delay(x), +1}, obs{x + 1e3, theta(x+1e3) - delay(x+1e3), -1})
	}
	return out
}

func linkOf(o []obs, opt *Options) *link {
	l := &link{Edge: &Edge{A: Clock{Node: 0}, B: Clock{Node: 1}, Source: Stamps, bounds: o}}
	l.learn(opt)
	return l
}

// TestTheTruthIsInsideWhereTheRateWandersAsMuchAsItMay: packets that took no time touch the truth, so that a tolerance that is too small shows. Some
// are slow near the instants that are looked at, so that what lies far away decides.
func TestTheTruthIsInsideWhereTheRateWandersAsMuchAsItMay(t *testing.T) {
	opt, _ := Options{}.withDefaults()
	r := rand.New(rand.NewSource(3))
	for name, theta := range map[string]func(float64) float64{"ramp": ramp, "swing": swing} {
		for _, fast := range []float64{0, 5, 12, 20, 31} { // s between fast packets; 0: all are
			o := packets(theta, 80, 0.05, func(x float64) float64 {
				if s := x / 1e9; fast == 0 || math.Mod(s, fast) < 0.06 {
					return 0
				}
				return 40e3 + r.ExpFloat64()*5e3
			})
			l := linkOf(o, opt)
			if len(l.parts) != 1 || len(l.parts[0].closeups) < 60 {
				t.Fatalf("%s, every %v s: %d parts", name, fast, len(l.parts))
			}
			p := &l.parts[0]
			for k := range 4000 {
				x := p.firstX + (p.lastX-p.firstX)*float64(k)/3999
				v := p.at(x)
				if truth := theta(x); truth < v.lo-1e-6 || truth > v.hi+1e-6 {
					t.Errorf("%s, fast packets every %v s: at %.2f s the truth is %.0f, the band %.0f to %.0f", name, fast, x/1e9, truth, v.lo, v.hi)
					break
				}
				if v.theta < v.lo || v.theta > v.hi {
					t.Fatalf("the estimate is outside of the band")
				}
			}
		}
	}
}

// TestPacketsAroundAnInstantSayMoreOfItThanWindows: the band is never wider than that of windows, and on the whole narrower; on slow links the more.
func TestPacketsAroundAnInstantSayMoreOfItThanWindows(t *testing.T) {
	opt, _ := Options{}.withDefaults()
	r := rand.New(rand.NewSource(8))
	for _, c := range []struct{ delay, queue, share float64 }{{2e3, 2e3, 0.95}, {10e3, 20e3, 0.97}, {200e3, 500e3, 0.97}} {
		theta := func(x float64) float64 { return 5e3 + 12*x/1e9 }
		l := linkOf(packets(theta, 60, 0.3, func(float64) float64 { return c.delay + r.ExpFloat64()*c.queue }), opt)
		p := &l.parts[0]
		var wide, close float64
		for k := range 1000 {
			x := p.firstX + (p.lastX-p.firstX)*float64(k)/999
			v, w := p.at(x), p.blend(x)
			if v.hi-v.lo > w.hi-w.lo+1e-6 {
				t.Fatalf("at %.1f s the band is %.0f wide, that of the windows %.0f", x/1e9, v.hi-v.lo, w.hi-w.lo)
			}
			if v.lo > theta(x) || v.hi < theta(x) {
				t.Fatalf("at %.1f s the truth is outside", x/1e9)
			}
			wide, close = wide+w.hi-w.lo, close+v.hi-v.lo
		}
		t.Logf("delay %.0f us: %.3f of the windows' bands", c.delay/1e3, close/wide)
		if close > c.share*wide {
			t.Errorf("delay %.0f ns, queue %.0f ns: bands are %.3f as wide as those of windows, expected %.2f or less", c.delay, c.queue, close/wide, c.share)
		}
	}
}

func TestHullKeepsEveryObservationThatLimitsALine(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for range 300 {
		var o []obs
		x := 0.0
		for range 1 + r.Intn(40) {
			x += float64(r.Intn(5)) * 1e6
			side := 1.0
			if r.Intn(2) == 0 {
				side = -1
			}
			o = append(o, obs{x, math.Round(r.NormFloat64() * 1e3), side})
		}
		slices.SortFunc(o, func(a, b obs) int {
			return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.side, b.side), cmp.Compare(a.v, b.v))
		})
		for _, side := range []float64{1, -1} {
			h := hull(o, side)
			for range 50 {
				slope := r.NormFloat64() * 1e4
				all, kept := math.Inf(1), math.Inf(1) // the highest offset of a line with that slope
				for _, q := range o {
					if q.side == side {
						all = math.Min(all, side*(q.v-slope*q.x/1e9))
					}
				}
				for _, q := range h {
					kept = math.Min(kept, side*(q.v-slope*q.x/1e9))
				}
				if math.Abs(all-kept) > 1e-6 && !math.IsInf(all, 1) {
					t.Fatalf("slope %.0f: %v limits it, of the hull %v: %s", slope, all, kept, fmt.Sprint(o))
				}
			}
		}
	}
}
