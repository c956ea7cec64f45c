package offsets

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// stepped moves what some clocks of a gathering show from an instant on.
func (g *gathering) stepped(at int64, by []int64) {
	for i := range g.m.members {
		p := &g.m.members[i]
		node := g.m.clocks[p.Clock].Node
		for _, ns := range [2]*int64{&p.EnterNS, &p.LeftNS} {
			if *ns >= g.shows(node, at) {
				*ns += by[node]
			}
		}
	}
}

// TestAStepThatNothingShowsIsInTheLimits: of one clock or of several at once, anywhere, by what the meetings leave open.
func TestAStepThatNothingShowsIsInTheLimits(t *testing.T) {
	frames, straight := 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 17))
		n := 2 + int(seed%4)
		g := newGathering(seed, n, 120)
		at, by := r.Int64N(g.length), make([]int64, n)
		for i := 1; i < n; i++ {
			if seed%3 == 0 || i == 1 {
				by[i] = int64(r.NormFloat64() * 150e3)
			}
		}
		g.stepped(at, by)
		j, all := g.frames(t)
		if len(j.against) > 0 || j.dropped > 0 || len(j.segments()) > 1 {
			continue // it is seen
		}
		for _, f := range all {
			frames++
			for c := range f.track {
				node := j.m.clocks[c].Node
				k := &f.track[c]
				for dt := int64(0); dt < g.length; dt += g.length / 200 {
					shows := g.shows(node, dt)
					if dt >= at {
						shows += by[node]
					}
					x := f.place(int32(c), shows)
					if int32(c) == j.ref || !f.covers(x) || !k.isSure(x) {
						continue
					}
					truth := x + float64(f.mid-gatheringStart-dt)
					if lo, hi := k.wide[1].value(x), k.wide[0].value(x); truth < lo-f.tol-1 || truth > hi+f.tol+1 {
						t.Fatalf("seed %d, steps of %d at %d: %s is off by %.0f ns at %d, what is allowed is %.0f to %.0f", seed, by, at, j.m.clocks[c], truth, dt, lo, hi)
					}
					if truth < k.lo.value(x)-f.tol-1 || truth > k.hi.value(x)+f.tol+1 {
						straight++
					}
				}
			}
		}
	}
	if frames < 20 || straight < 100 {
		t.Errorf("%d frames in which a step went unseen, at %d instants beyond what straight clocks allow: too few to tell anything", frames, straight)
	}
}

// TestLimitsWithAStepAreReached: of few clocks they are those of all lines on both sides of every cut together, as a program of all facts finds them.
func TestLimitsWithAStepAreReached(t *testing.T) {
	programs := 0
	for seed := range uint64(4) {
		g := newGathering(seed, 2+int(seed%3), 40)
		j, frames := g.frames(t)
		opt := j.opt
		f := j.baseline(frames[0].interval)
		meetings := j.within(f.interval)
		f, _ = j.settle(f.interval, meetings, map[int32]bool{})
		j.unseen(f, meetings)
		cuts := j.cuts(f, meetings)
		e := f.edge()
		var free []int32
		for i := range f.track {
			if j.isFree(f, int32(i)) {
				free = append(free, int32(i))
			}
		}
		for n, c := range free {
			k := &f.track[c]
			for at, x := range cuts {
				for _, side := range []float64{1, -1} {
					want := k.hi.value(x)
					if side < 0 {
						want = k.lo.value(x)
					}
					for i := range len(cuts) - 1 {
						p := newLinearProgram(3 * len(free))
						for v := range p.low {
							p.low[v], p.high[v] = -1e8, 1e8
							if v%3 == 2 {
								p.low[v], p.high[v] = -opt.maxSlope(), opt.maxSlope()
							}
						}
						for half, between := range [2][2]float64{{-e - 1, cuts[i]}, {cuts[i+1], e + 1}} {
							part := *f
							part.between = between
							part.track = slices.Clone(f.track)
							for v := range part.track {
								if part.track[v].poly != nil {
									part.track[v].poly = newPolygon(0, -1e8, 1e8, 1, opt.maxSlope())
								}
							}
							for _, q := range j.facts(&part, meetings, nil, free, nil) {
								p.rows = append(p.rows, q.onSide(half))
							}
						}
						for half := range 2 {
							if half == 0 && at > i+1 || half == 1 && at < i {
								continue
							}
							reach := func(side float64) float64 {
								goal := make([]float64, len(p.z))
								goal[3*n+half], goal[3*n+2] = side, side*x/1e9
								if p.maximize(goal) != solved {
									t.Fatalf("seed %d: no solution", seed)
								}
								return p.z[3*n+half] + p.z[3*n+2]*x/1e9
							}
							programs++
							if v := reach(side); math.Abs(v-reach(-side)) < 1e7 && side*v > side*want { // where meetings limit it either way
								want = v
							}
						}
					}
					got := k.wide[0].value(x)
					if side < 0 {
						got = k.wide[1].value(x)
					}
					if wider := side * (got - want); wider > 2000 || wider < -2 {
						t.Errorf("seed %d, clock %d at %.3f s: the limit is %.0f ns, lines reach %.0f", seed, c, x/1e9, got, want)
					}
				}
			}
		}
	}
	if programs < 500 {
		t.Errorf("only %d programs", programs)
	}
}

// TestBeforeTheFourthMeetingNothingIsSure: a step there would be anything that so few leave open. There a map is not between its readings.
func TestBeforeTheFourthMeetingNothingIsSure(t *testing.T) {
	for _, meetings := range []int{6, 14, 30, 58, 120, 900} {
		g := newGathering(5, 2, meetings)
		graph := NewGraph()
		graph.Meet(g.m, Clock{})
		s, err := graph.Solve(context.Background(), Clock{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var both []int // meetings of both clocks
		for i := range g.m.Len() {
			if len(g.m.Of(i)) == 2 {
				both = append(both, i)
			}
		}
		if few := len(both) < fewestMeetings; s.Straight != few || few != (meetings == 6) {
			t.Errorf("%d meetings: nothing is sure: %v", len(both), s.Straight)
		}
		if s.Contradicting != 0 {
			t.Errorf("%d meetings, %d contradict the others", len(both), s.Contradicting)
		}
		if s.Straight {
			continue
		}
		n, _ := s.Node(1)
		first := 4
		if len(both) < 64 {
			first = max(2, len(both)/16)
		}
		for _, at := range []struct {
			meeting int
			beyond  int64
			outside bool
		}{{first, -20e6, true}, {first, 20e6, false}, {len(both) - first, -20e6, false}, {len(both) - first, 20e6, true}} {
			ns := g.m.Of(both[at.meeting])[1].EnterNS + at.beyond
			if _, _, c := n.Map.At(ns); c&clock.Extrapolated != 0 != at.outside {
				t.Errorf("%d meetings: %+d ns from the beginning of the %d-th is outside: %v, want %v", len(both), at.beyond, at.meeting, !at.outside, at.outside)
			}
		}
	}
}

// TestMeetingsThatContradictAreCounted: a clock that is elsewhere for one of them has stepped there and back, or it is none of them.
func TestMeetingsThatContradictAreCounted(t *testing.T) {
	for _, by := range []int64{0, -20e6} {
		g := newGathering(5, 3, 200)
		for i := g.m.Len() / 2; ; i++ {
			if list := g.m.Of(i); len(list) == 3 && list[1].Takes && !list[1].Gives {
				list[1].EnterNS, list[1].LeftNS = list[1].EnterNS+by, list[1].LeftNS+by
				break
			}
		}
		graph := NewGraph()
		graph.Meet(g.m, Clock{})
		s, err := graph.Solve(context.Background(), Clock{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if (s.Contradicting > 0) != (by != 0) {
			t.Errorf("moved by %d ns: %d meetings contradict the others", by, s.Contradicting)
		}
	}
}
