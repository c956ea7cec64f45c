package offsets

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
)

// gathering is meetings of clocks that are straight lines: a few nodes, one of which is waited for at random.
type gathering struct {
	offset []int64
	ppm    []float64
	m      *Meetings
	length int64
}

const gatheringStart = int64(1_760_000_000_000_000_000)

func (g *gathering) shows(i int, t int64) int64 {
	return gatheringStart + t + g.offset[i] + int64(math.Round(float64(t)*g.ppm[i]/1e6))
}

func newGathering(seed uint64, n, meetings int) *gathering {
	r := rand.New(rand.NewPCG(seed, 3))
	g := &gathering{m: &Meetings{}, length: int64(meetings) * 30e6}
	for i := range n {
		g.offset, g.ppm = append(g.offset, r.Int64N(1e8)*int64(min(i, 1))), append(g.ppm, float64(min(i, 1))*(200*r.Float64()-100))
	}
	for k := range meetings {
		at := int64(k) * 30e6
		var enter []int64
		last := int64(0)
		for range n {
			enter = append(enter, at+int64(r.ExpFloat64()*1e6))
			last = max(last, enter[len(enter)-1])
		}
		root := r.IntN(3 * n) // beyond n: everybody waits for all
		var list []Presence
		for i := range n {
			if r.IntN(10) == 0 {
				continue
			}
			needs := last
			if root < n {
				needs = max(enter[root], enter[i])
			}
			list = append(list, Presence{
				Clock: g.m.Clock(Clock{Node: i}), Gives: root >= n || i == root, Takes: root >= n || i != root,
				EnterNS: g.shows(i, enter[i]), LeftNS: g.shows(i, needs+30e3+int64(r.ExpFloat64()*200e3)) + 1,
			})
		}
		g.m.Add(list)
	}
	return g
}

// frames solves the edges and returns what the frames of the meetings say.
func (g *gathering) frames(t *testing.T) (*joint, []*frame) {
	t.Helper()
	opt, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	graph := NewGraph()
	graph.Meet(g.m, Clock{})
	s, err := graph.solve(context.Background(), Clock{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	j := newJoint(g.m, Clock{}, s, nil, opt)
	var out []*frame
	for _, seg := range j.segments() {
		for _, w := range j.windows(seg) {
			out = append(out, j.solve(w))
		}
	}
	return j, out
}

// TestTheTruthIsWithinWhatMeetingsAllow: the limits themselves, not the bounds that are made of them and an estimate.
func TestTheTruthIsWithinWhatMeetingsAllow(t *testing.T) {
	for seed := uint64(0); seed < 24; seed += sweep.Of[uint64](3, 1) { // of any size
		g := newGathering(seed, 2+int(seed%11), 150+int(seed)*3)
		j, frames := g.frames(t)
		checked := 0
		for _, f := range frames {
			for c := range f.track {
				k := &f.track[c]
				if !k.known || len(k.hi.at) == 0 {
					continue
				}
				for dt := int64(0); dt < g.length; dt += g.length / 60 {
					x := f.place(int32(c), g.shows(j.m.clocks[c].Node, dt))
					if !f.covers(x) {
						continue
					}
					truth := x + float64(f.mid-gatheringStart-dt)
					lo, hi := k.lo.value(x), k.hi.value(x)
					if checked++; truth < lo-f.tol-1 || truth > hi+f.tol+1 {
						t.Fatalf("seed %d: %s is off by %.0f ns at %d, what is allowed is %.0f to %.0f", seed, j.m.clocks[c], truth, dt, lo, hi)
					}
				}
			}
		}
		if checked < 50 {
			t.Errorf("seed %d: only %d instants were looked at", seed, checked)
		}
	}
}

// TestWhatTheSieveLeavesOutFollows: programs without it reach the same limits, with few rows of many.
func TestWhatTheSieveLeavesOutFollows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	all, left := 0, 0
	for seed := range uint64(12) {
		g := newGathering(seed, 3, 120)
		j, frames := g.frames(t)
		f := frames[len(frames)/2]
		var free []int32
		for i := range f.track {
			if f.track[i].known && len(f.track[i].hi.at) > 0 {
				free = append(free, int32(i))
			}
		}
		program := func(s *sieve) *linearProgram {
			p := newLinearProgram(2 * len(free))
			for i := range p.low {
				p.low[i], p.high[i] = -1e9, 1e9
				if i%2 == 1 {
					p.low[i], p.high[i] = -300, 200 // ns a second
				}
			}
			for _, q := range j.facts(f, j.within(f.interval), nil, free, s) {
				p.rows = append(p.rows, q.constraint)
			}
			return p
		}
		p := program(nil)
		q := program(newSieve(f, p, free, 4))
		all, left = all+len(p.rows), left+len(q.rows)
		goal := make([]float64, len(p.z))
		for range 20 {
			for i := range goal {
				goal[i] = r.NormFloat64()
			}
			a, b := p.maximize(goal), q.maximize(goal)
			value := func(z []float64) (v float64) {
				for i := range goal {
					v += goal[i] * z[i]
				}
				return v
			}
			if a != solved || a != b || max(value(p.z)-value(q.z), value(q.z)-value(p.z)) > 1 {
				t.Fatalf("seed %d: %g with all facts, %g with those of the sieve", seed, value(p.z), value(q.z))
			}
		}
	}
	if t.Logf("%d facts, %d left", all, left); left*5 > all*4 {
		t.Errorf("%d of %d facts are left", left, all)
	}
}

// TestLimitsOfFewClocksAreReached: of few clocks the limits are those of all lines together. At each end of a frame there are lines, one for each
// clock, that no fact contradicts and that reach the limit; the slow twin finds them by walking along the facts of all pairs.
func TestLimitsOfFewClocksAreReached(t *testing.T) {
	for seed := range uint64(25) {
		g := newGathering(seed, 2+int(seed%4), 120)
		j, frames := g.frames(t)
		f := frames[len(frames)/2]
		var free []int32
		for i := range f.track {
			if f.track[i].known && len(f.track[i].hi.at) > 0 {
				free = append(free, int32(i))
			}
		}
		facts := j.facts(f, j.within(f.interval), nil, free, nil)
		p := newLinearProgram(2 * len(free))
		for i := range p.low {
			p.low[i], p.high[i] = -1e9, 1e9
		}
		for _, q := range facts { // of all pairs, without a polygon
			p.rows = append(p.rows, q.constraint)
		}
		for n, c := range free {
			k := &f.track[c]
			for _, x := range []float64{-f.edge(), 0, f.edge() / 2, f.edge()} {
				for _, side := range []float64{1, -1} {
					goal := make([]float64, len(p.z))
					goal[2*n], goal[2*n+1] = side, side*x/1e9
					if p.maximize(goal) != solved {
						t.Fatalf("seed %d: the facts of all pairs have no solution", seed)
					}
					for i := range facts {
						if v := facts[i].excess(p.z); v > 1e-3 {
							t.Fatalf("seed %d: a fact is contradicted by %g ns", seed, v)
						}
					}
					want := p.z[2*n] + p.z[2*n+1]*x/1e9
					got := k.hi.value(x)
					if side < 0 {
						got = k.lo.value(x)
					}
					if wider := side * (got - want); wider > 500 || wider < -1 {
						t.Errorf("seed %d, %s at %g: the limit is %.0f ns, lines reach %.0f", seed, j.m.clocks[c], x, got, want)
					}
				}
			}
		}
	}
}

func TestMiddleIsTheMedianOfASortedList(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 3000 {
		v := make([]float64, 1+r.IntN(30))
		for i := range v {
			v[i] = float64(r.IntN(12))
		}
		if got, want := middleOf(slices.Clone(v)), medianOf(slices.Clone(v)); got != want {
			t.Fatalf("%v: got %g, want %g", v, got, want)
		}
	}
}

// TestMeetingsYearsApartCostNoMoreThanTheirNumber: what is between them is no window to look into, also when no line explains them.
func TestMeetingsYearsApartCostNoMoreThanTheirNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, noise := range []int64{1, 1e9} {
		m := &Meetings{}
		at := gatheringStart
		for range 300 {
			at += r.Int64N(30 * 86400 * 1e9)
			var list []Presence
			for i := range 3 {
				enter := at + int64(i)*5e6 + r.Int64N(noise)
				list = append(list, Presence{Clock: m.Clock(Clock{Node: i}), Gives: true, Takes: true, EnterNS: enter, LeftNS: enter + 20e6 + r.Int64N(60*86400*1e9)})
			}
			m.Add(list)
		}
		g := NewGraph()
		g.Meet(m, Clock{})
		opt, _ := Options{}.withDefaults()
		s, err := g.solve(context.Background(), Clock{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		j := newJoint(m, Clock{}, s, nil, opt)
		windows := 0
		for _, seg := range j.segments() {
			windows += len(j.windows(seg))
		}
		if windows > 4*m.Len() {
			t.Errorf("noise %d: %d windows for %d meetings", noise, windows, m.Len())
		}
	}
}
