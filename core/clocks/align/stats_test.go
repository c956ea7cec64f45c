package align

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// countOne is the slow twin of eventsOf.observe: one event at a time, by the definition of each count.
func countOne(s *Stats, shiftNS, oldPS, newPS, boundNS int64, c clock.Coverage) {
	correction := shiftNS + (newPS-oldPS)/1000
	if s.Timed == 0 || correction < s.MinCorrectionNS {
		s.MinCorrectionNS = correction
	}
	if s.Timed == 0 || correction > s.MaxCorrectionNS {
		s.MaxCorrectionNS = correction
	}
	s.Timed++
	if correction != 0 || newPS != oldPS {
		s.EventsCorrected++
	}
	s.Bounds.Add(boundNS)
	for flag, n := range map[clock.Coverage]*int64{
		clock.Extrapolated: &s.SnapshotExtrapolations, clock.ExtrapolatedThen: &s.OffsetExtrapolations, clock.InStep: &s.EventsInStep, clock.Clamped: &s.EventsClamped,
	} {
		if c&flag != 0 {
			*n++
		}
	}
	if c != 0 {
		s.Uncovered++
	}
	if c&clock.Clamped != 0 && len(s.Clamps) < maxClamps {
		s.Clamps = append(s.Clamps, Clamp{Plane: "p", Line: "l", OffsetPS: oldPS, BoundNS: boundNS})
	}
}

func TestEventsAreCountedTogetherAsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	clamped := 0
	for range 300 {
		var knots []clock.Knot
		x, y := int64(0), int64(0)
		for range 1 + r.IntN(6) {
			knots = append(knots, clock.Knot{X: x, Y: y, BoundNS: r.Int64N(1 << (1 + r.IntN(60)))})
			d := 1 + r.Int64N(1e6)
			x, y = x+d, y+d+[]int64{0, 0, 0, r.Int64N(900), -r.Int64N(2 * d)}[r.IntN(5)]
		}
		opts := []clock.Option{clock.WithTails(0, clock.DriftPPM(r.Float64()*50), r.Int64N(1e6)), clock.WithWander(r.Int64N(1e7)), clock.WithClamps()}
		if len(knots) > 2 {
			opts = append(opts, clock.WithSteps(1))
		}
		m, err := clock.New(knots, opts...)
		if err != nil {
			t.Fatal(err)
		}
		shift := []int64{0, 0, 5, -7}[r.IntN(4)]
		var got, want Stats
		at := eventsOf{stats: &got, plane: "p", line: "l", shiftNS: shift}
		c := m.Cursor(0)
		for range 40 {
			o := r.Int64N(7e9) - 5e8
			bounds := c.Bounds(o)
			var before, after []int64
			for range 1 + r.IntN(80) {
				if o += r.Int64N(1 << (1 + r.IntN(26))); !c.Serves(o) {
					break
				}
				before, after = append(before, o), append(after, c.Map(o))
			}
			if len(before) == 0 {
				continue
			}
			at.observe(before, after, &bounds)
			for k, o := range before {
				bound, cov := c.Quality(o)
				countOne(&want, shift, o, after[k], bound, cov)
			}
		}
		clamped += len(want.Clamps)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("together %+v, one by one %+v", got, want)
		}
	}
	if clamped == 0 {
		t.Error("no event was clamped: the test does not test that")
	}
}

// TestHugeBoundsKeepTheirBuckets is about bounds of which float64 does not tell neighbours apart: 2^55 ns is the first of its bucket.
func TestHugeBoundsKeepTheirBuckets(t *testing.T) {
	m, err := clock.New([]clock.Knot{{X: 0, Y: 0, BoundNS: 1<<55 - 64}, {X: 128, Y: 128, BoundNS: 1<<55 + 64}})
	if err != nil {
		t.Fatal(err)
	}
	var got, want clock.Histogram
	at, c := []int64{0, 64_000}, m.Cursor(0)
	bounds := c.Bounds(0)
	countBounds(&got, at, &bounds)
	for _, o := range at {
		bound, _ := c.Quality(o)
		want.Add(bound)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("together %+v, one by one %+v", got, want)
	}
}
