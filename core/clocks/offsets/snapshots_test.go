package offsets_test

import (
	"math"
	"math/rand"
	"sort"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/clock"
)

const epoch = int64(1_760_000_000_000_000_000)

// wall is a wall clock over true time: an offset, a drift, steps and slews.
type wall struct {
	offset   int64
	driftPPB int64
	steps    []jump
	slews    []slew
	swings   []swing
}

// swing is a rate that goes up and down like a sine.
type swing struct {
	ppb, periodNS, phase float64
}

// gain is what the clock has gained dt ns after the start.
func (s swing) gain(dt int64) float64 {
	scale := s.ppb / 1e9 * s.periodNS / (2 * math.Pi)
	return scale * (math.Sin(2*math.Pi*float64(dt)/s.periodNS+s.phase) - math.Sin(s.phase))
}

type jump struct{ at, by int64 }

type slew struct{ from, to, ppb int64 }

// at is what the clock shows dt ns after the start of the recording.
func (w wall) at(dt int64) int64 {
	v := epoch + w.offset + dt + mulPPB(dt, w.driftPPB)
	for _, s := range w.steps {
		if dt >= s.at {
			v += s.by
		}
	}
	for _, s := range w.slews {
		if dt > s.from {
			v += mulPPB(min(dt, s.to)-s.from, s.ppb)
		}
	}
	for _, s := range w.swings {
		v += int64(math.Round(s.gain(dt)))
	}
	return v
}

func mulPPB(dt, ppb int64) int64 {
	hi, lo := dt/1e9, dt%1e9
	return hi*ppb + lo*ppb/1e9
}

// tracer is an uptime-like clock with its own drift.
func tracer(dt, ppb int64) int64 { return 3_000_000_000 + dt + mulPPB(dt, ppb) }

// latency is the document's: exponential with mean 1 us, and 1 % of 50 us.
func latency(r *rand.Rand) int64 {
	if r.Intn(100) == 0 {
		return 50_000
	}
	return int64(r.ExpFloat64() * 1000)
}

func snapshotsOf(w wall, gpuPPB, length, every int64, delay func() int64) []clock.Pair {
	var p []clock.Pair
	for dt := int64(0); dt <= length; dt += every {
		p = append(p, clock.Pair{X: tracer(dt+delay(), gpuPPB), Y: w.at(dt)})
	}
	return p
}

func TestNoiseFreeSnapshotsAreMetToTheNanosecond(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var worst int64
	for range 64 {
		w := wall{offset: r.Int63n(1e9) - 5e8, driftPPB: r.Int63n(200_000) - 100_000}
		gpu := r.Int63n(200_000) - 100_000
		m, rep, err := offsets.FromSnapshots(snapshotsOf(w, gpu, 120e9, 4e9, func() int64 { return 0 }), offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Outliers != 0 || len(rep.Steps) != 0 {
			t.Fatalf("clean clocks: %+v", rep)
		}
		for range 1000 {
			dt := r.Int63n(120e9)
			y, bound, cov := m.At(tracer(dt, gpu))
			e := y - w.at(dt)
			worst = max(worst, max(e, -e))
			if max(e, -e) > bound || cov != 0 {
				t.Fatalf("error %d ns, bound %d, coverage %d", e, bound, cov)
			}
		}
	}
	if worst > 2 { // two readings of the clocks are rounded besides our result
		t.Errorf("largest error %d ns, want at most 2", worst)
	}
}

// errorsAgainst evaluates a snapshot map on a grid: errors and bounds outside steps, and errors outside their bound anywhere.
func errorsAgainst(m *clock.Map, w wall, gpu, length int64) (errs, bounds []int64, violations int) {
	for dt := int64(0); dt < length; dt += 10e6 {
		y, bound, cov := m.At(tracer(dt, gpu))
		e := y - w.at(dt)
		e = max(e, -e)
		if e > bound {
			violations++
		}
		if cov&clock.InStep == 0 {
			errs, bounds = append(errs, e), append(bounds, bound)
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i] < errs[j] })
	sort.Slice(bounds, func(i, j int) bool { return bounds[i] < bounds[j] })
	return errs, bounds, violations
}

func TestNoisySnapshotsFollowTheFastestReadings(t *testing.T) {
	var all, bounds []int64
	violations, n := 0, 0
	for seed := range sweep.Of[int64](30, 100) {
		r := rand.New(rand.NewSource(seed))
		w := wall{offset: r.Int63n(1e9), driftPPB: r.Int63n(60_000) - 30_000}
		m, rep, err := offsets.FromSnapshots(snapshotsOf(w, 20_000, 600e9, 4e9, func() int64 { return latency(r) }), offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Steps) != 0 {
			t.Fatalf("seed %d: false alarm: %+v", seed, rep.Steps)
		}
		e, b, v := errorsAgainst(m, w, 20_000, 600e9)
		all, bounds = append(all, e...), append(bounds, b...)
		violations += v
		n += len(e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	sort.Slice(bounds, func(i, j int) bool { return bounds[i] < bounds[j] })
	p50, p99, b50 := all[n/2], all[n*99/100], bounds[n/2]
	t.Logf("errors p50 %d p99 %d max %d ns; median bound %d ns; outside their bound %d of %d", p50, p99, all[n-1], b50, violations, n)
	if p50 > 500 || p99 > 2000 {
		t.Errorf("errors p50 %d and p99 %d ns, want at most 500 and 2000", p50, p99)
	}
	if violations*100 > n {
		t.Errorf("%d of %d errors exceed their bound, want at most 1 %%", violations, n)
	}
	if b50 > 4*p99 {
		t.Errorf("median bound %d ns exceeds four times the p99 error %d ns", b50, p99)
	}
}

func TestStepsOfTheWallClockAreLocatedToOneSnapshotInterval(t *testing.T) {
	for _, by := range []int64{1e6, -1e6, 100e6, -100e6, 1e9, -1e9, 30e9} {
		for seed := range int64(5) {
			r := rand.New(rand.NewSource(seed))
			at := int64(100e9) + r.Int63n(400e9)
			w := wall{driftPPB: 15_000, steps: []jump{{at, by}}}
			m, rep, err := offsets.FromSnapshots(snapshotsOf(w, -20_000, 600e9, 4e9, func() int64 { return latency(r) }), offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Steps) != 1 {
				t.Fatalf("step of %d ns: %d steps found", by, len(rep.Steps))
			}
			s := rep.Steps[0]
			x := tracer(at, -20_000)
			if x < s.FromNS || x > s.ToNS || s.ToNS-s.FromNS > 9e9 {
				t.Errorf("step of %d ns located in [%d, %d], it was at %d", by, s.FromNS, s.ToNS, x)
			}
			if math.Abs(float64(s.JumpNS-by)) > 20_000+40e-6*math.Abs(math.Min(0, float64(by))) {
				t.Errorf("step of %d ns measured as %d", by, s.JumpNS)
			}
			errs, _, violations := errorsAgainst(m, w, -20_000, 600e9)
			if worst := errs[len(errs)-1]; worst > 10_000 {
				t.Errorf("step of %d ns: error outside it up to %d ns", by, worst)
			}
			if violations*100 > len(errs) {
				t.Errorf("step of %d ns: %d errors exceed their bound", by, violations)
			}
		}
	}
}

func TestSlewsOfTheWallClockStayInsideTheBound(t *testing.T) {
	for _, sl := range []slew{{200e9, 210e9, 500_000}, {200e9, 210e9, -500_000}, {203e9, 303e9, 500_000}, {0, 600e9, 11_574}} {
		for seed := range int64(5) {
			r := rand.New(rand.NewSource(seed))
			w := wall{driftPPB: 15_000, slews: []slew{sl}}
			m, rep, err := offsets.FromSnapshots(snapshotsOf(w, -20_000, 600e9, 4e9, func() int64 { return latency(r) }), offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			errs, _, violations := errorsAgainst(m, w, -20_000, 600e9)
			// the rate changes inside two of 150 intervals, where pairs 4 s apart cannot say when
			if violations*100 > len(errs) || errs[len(errs)*98/100] > 3000 {
				t.Errorf("slew %+v: p98 %d, max %d ns, %d of %d beyond their bound, steps %+v", sl, errs[len(errs)*98/100], errs[len(errs)-1], violations, len(errs), rep.Steps)
			}
		}
	}
}

func TestFewOrUnusualSnapshots(t *testing.T) {
	w := wall{driftPPB: 10_000}
	zero := func() int64 { return 0 }
	full := snapshotsOf(w, 0, 60e9, 4e9, zero)
	t.Run("none", func(t *testing.T) {
		m, rep, err := offsets.FromSnapshots(nil, offsets.Options{})
		if m != nil || err != nil || rep.Pairs != 0 {
			t.Errorf("got %v, %+v, %v; want no map and no error", m, rep, err)
		}
	})
	t.Run("one", func(t *testing.T) {
		m, rep, err := offsets.FromSnapshots(full[:1], offsets.Options{})
		if err != nil || len(rep.Warnings) == 0 {
			t.Fatalf("got %+v, %v", rep, err)
		}
		y, b0, _ := m.At(full[0].X)
		_, b1, cov := m.At(full[0].X + 10e9)
		if y != full[0].Y || b1 < b0+900_000 || cov&clock.Extrapolated == 0 {
			t.Errorf("a single pair: %d (want %d), bounds %d then %d, coverage %d", y, full[0].Y, b0, b1, cov)
		}
	})
	t.Run("two", func(t *testing.T) {
		m, _, err := offsets.FromSnapshots(full[:2], offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if y, _, _ := m.At(tracer(2e9, 0)); y-w.at(2e9) > 1 || y-w.at(2e9) < -1 {
			t.Errorf("between two pairs off by %d ns", y-w.at(2e9))
		}
	})
	t.Run("shuffled and repeated", func(t *testing.T) {
		p := append(append([]clock.Pair(nil), full...), full[3:7]...)
		rand.New(rand.NewSource(2)).Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		m, rep, err := offsets.FromSnapshots(p, offsets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Duplicates != 4 || rep.Unordered == 0 {
			t.Errorf("got %+v, want 4 duplicates and some out of order", rep)
		}
		if y, _, _ := m.At(tracer(21e9, 0)); y-w.at(21e9) > 1 || y-w.at(21e9) < -1 {
			t.Errorf("off by %d ns", y-w.at(21e9))
		}
	})
	t.Run("all at one instant", func(t *testing.T) {
		if _, _, err := offsets.FromSnapshots([]clock.Pair{full[0], full[0], full[0]}, offsets.Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		p := []clock.Pair{{X: math.MinInt64, Y: 3}, {X: 5, Y: math.MaxInt64}, {X: math.MaxInt64, Y: 7}, {X: 6, Y: 0}, {X: 7, Y: math.MinInt64}}
		offsets.FromSnapshots(p, offsets.Options{}) // any answer but a panic
	})
}

// TestSnapshotsWithANegativeReadingAreCounted: they are not used, and the report says how many there were.
func TestSnapshotsWithANegativeReadingAreCounted(t *testing.T) {
	pairs := []clock.Pair{{X: -2, Y: 5}, {X: -1, Y: 6}}
	for i := range int64(16) {
		pairs = append(pairs, clock.Pair{X: (i + 1) * 1e9, Y: (i+1)*1e9 + 500})
	}
	_, rep, err := offsets.FromSnapshots(pairs, offsets.Options{})
	if err != nil || rep.Outliers != 2 || rep.Pairs != len(pairs) {
		t.Fatalf("got %d outliers of %d pairs, %v; want 2 of %d", rep.Outliers, rep.Pairs, err, len(pairs))
	}
}

// bracketed reads the wall clock, the tracer's and the wall clock again: the middle is off by how unequal the two halves are.
func bracketed(r *rand.Rand, w wall, gpuPPB, length, every int64) []clock.Pair {
	var p []clock.Pair
	for dt := int64(0); dt <= length; dt += every {
		before, after := 10+r.Int63n(25), 10+r.Int63n(25)
		if r.Intn(50) == 0 { // interrupted on one side
			after += r.Int63n(40_000)
		}
		from, to := w.at(dt-before), w.at(dt+after)
		p = append(p, clock.Pair{X: tracer(dt, gpuPPB), Y: from + (to-from)/2, WidthNS: to - from})
	}
	return p
}

// TestBracketedSnapshotsAreRightToHalfTheirBracket: no envelope is made of readings that say themselves how good they are.
func TestBracketedSnapshotsAreRightToHalfTheirBracket(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		w := wall{offset: r.Int63n(1e9), driftPPB: r.Int63n(40_000) - 20_000, swings: []swing{{60, 600e9, float64(seed)}}}
		if seed%4 == 3 {
			w.steps = []jump{{61e9, 300_000}}
		}
		const length = int64(120e9)
		for _, every := range []int64{4e9, 10e6} {
			m, rep, err := offsets.FromSnapshots(bracketed(r, w, 18_000, length, every), offsets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			limit := 2 + 35 + every/4e9*100 + 5 // half a bracket, the wander, the rounding
			if rep.Bound.P50 > limit {
				t.Errorf("seed %d, every %d: bound %+v, want at most %d in the median", seed, every, rep.Bound, limit)
			}
			if len(rep.Steps) != len(w.steps) {
				t.Errorf("seed %d, every %d: steps %+v", seed, every, rep.Steps)
			}
			for dt := every; dt < length-every; dt += length / 3001 {
				y, bound, c := m.At(tracer(dt, 18_000))
				e := y - w.at(dt)
				if e = max(e, -e); e > bound {
					t.Fatalf("seed %d, every %d, at %d: %d ns off, bound %d, flags %d", seed, every, dt, e, bound, c)
				}
			}
		}
	}
}
