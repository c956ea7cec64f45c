package collective_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/precedence"
	"github.com/prlx-go/prlx/core/testing/collectivetest"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/event"
)

// A job of ranks that reduce together every 20 ms: entries are log-normal, ends lie within 2 us of the last entry and what the network takes.
const (
	longRanks = 6
	longStep  = int64(20e6)
	longLimit = 3000 // executions kept of each rank
)

func longClock(rank int) collectivetest.Clock {
	return collectivetest.Clock{OffsetNS: int64(rank) * 3e7, DriftPPM: 11*float64(rank) - 20*float64(rank%3), WanderPPM: 0.05, PeriodS: 90, Phase: float64(rank)}
}

// longJob streams so many steps into parts, a rank at a time as traces are read: nothing of it is in memory but what is kept.
func longJob(steps int64, numbered bool, wanted map[collective.Launch]bool) []*collective.Part {
	var parts []*collective.Part
	for rank := range longRanks {
		p := collective.NewPart(longLimit, wanted)
		c := longClock(rank)
		for s := range steps {
			r := rand.New(rand.NewPCG(uint64(s), 5))
			var enter [longRanks]int64
			last := int64(0)
			for k := range enter {
				enter[k] = s*longStep + int64(math.Min(15e6, 50e3*math.Exp(1.5*r.NormFloat64())))
				last = max(last, enter[k])
			}
			done := last + 20e3 + r.Int64N(20e3)
			var ends [longRanks]int64
			for k := range ends {
				ends[k] = done + r.Int64N(2000)
			}
			p.Keep(event.Span{Node: int32(rank), HasRun: numbered, Run: s, StartNS: c.Shows(enter[rank]), EndNS: c.Shows(ends[rank]) + 1})
		}
		p.Finish()
		p.Ranks[int32(rank)] = rank
		parts = append(parts, p)
	}
	return parts
}

// heap is what is in use, MB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// solveLong solves what was kept and returns the errors and the bounds of all ranks over the whole time.
func solveLong(t testing.TB, parts []*collective.Part, steps int64) (errs, bounds []int64) {
	t.Helper()
	ctx := context.Background()
	m, err := collective.Match(ctx, collective.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	if m.UnmatchedCount() > 0 {
		t.Fatalf("%d executions are not matched: %+v", m.UnmatchedCount(), m.Unmatched)
	}
	x := precedence.Collect(m, collective.AsRecorded, func(n int32) (offsets.Clock, bool) { return offsets.Clock{Node: int(n)}, true })
	g := offsets.NewGraph()
	g.Meet(&x.Meetings, offsets.Clock{})
	s, err := g.Solve(ctx, offsets.Clock{}, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	zero := longClock(0)
	for rank := 1; rank < longRanks; rank++ {
		n, ok := s.Node(rank)
		if !ok {
			t.Fatalf("rank %d has no clock", rank)
		}
		c := longClock(rank)
		for k := range int64(997) {
			at := steps * longStep / 997 * k
			y, bound, _ := n.Map.At(c.Shows(at))
			e := y - zero.Shows(at)
			errs, bounds = append(errs, max(e, -e)), append(bounds, bound)
			if errs[len(errs)-1] > bound+1 {
				t.Errorf("rank %d after %.1f s: off by %d ns, bound %d", rank, float64(at)/1e9, e, bound)
			}
		}
	}
	slices.Sort(errs)
	slices.Sort(bounds)
	return errs, bounds
}

// TestMemoryDoesNotGrowWithTheTrace: what is kept of sixteen times as much weighs the same, with and without numbers; it spans the whole time; and
// the short ones bound the clocks better than as many that a lot drew.
func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		var weight [2]float64
		long := sweep.Of[int64](60_000, 240_000)
		for i, steps := range []int64{15_000, long} {
			before := heap()
			parts := longJob(steps, numbered, nil)
			weight[i] = heap() - before
			wanted := collective.Wanted(parts, longLimit*3/4)
			if i == 1 || !numbered && !sweep.Full() {
				runtime.KeepAlive(parts)
				continue
			}
			_, lot := solveLong(t, parts, steps)
			errs, tight := solveLong(t, longJob(steps, numbered, wanted), steps)
			t.Logf("numbered %t, %d steps: by lot bound p50 %d, p99 %d ns; by tightness p50 %d, p99 %d ns, error p99 %d ns", numbered, steps,
				lot[len(lot)/2], lot[len(lot)*99/100], tight[len(tight)/2], tight[len(tight)*99/100], errs[len(errs)*99/100])
			if a, b := tight[len(tight)*99/100], lot[len(lot)*99/100]; 10*a > 8*b || tight[len(tight)/2] > lot[len(lot)/2] {
				t.Errorf("the shortest bound the clocks by %d ns at p99, a lot by %d", a, b)
			}
		}
		t.Logf("numbered %t: %.2f MB of 15,000 steps, %.2f MB of %d", numbered, weight[0], weight[1], long)
		if weight[1] > 1.2*weight[0]+0.2 {
			t.Errorf("numbered %t: %.2f MB of 15,000 steps, %.2f MB of %d", numbered, weight[0], weight[1], long)
		}
	}
}

// BenchmarkLongTrace keeps what a trace of growing length leaves room for.
func BenchmarkLongTrace(b *testing.B) {
	for _, steps := range []int64{20_000, 80_000, 320_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			for range b.N {
				before := heap()
				parts := longJob(steps, true, nil)
				b.ReportMetric(heap()-before, "MB-kept")
				runtime.KeepAlive(parts)
			}
		})
	}
}
