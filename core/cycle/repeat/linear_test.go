package repeat_test

import (
	"context"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// benchmarked are the sizes that BenchmarkFind goes through: with PRLX_BENCH_FULL as bench/cycles.py has it up to 10^7, a minute or two.
func benchmarked() []int {
	if os.Getenv("PRLX_BENCH_FULL") != "" {
		return []int{100_000, 1_000_000, 10_000_000}
	}
	return []int{10_000, 100_000}
}

// BenchmarkFind prints for every family and every worst input: the exponent that fits the times over the sizes, and seconds for 10^7 and
// peak bytes a symbol (the input itself not among them) at the largest. Seconds are of the process, so that others on the machine do not count.
func BenchmarkFind(b *testing.B) {
	for _, family := range cycletest.Families() {
		b.Run(family, func(b *testing.B) {
			measure(b, func(n int) []uint32 {
				symbols, _, _ := cycletest.Make(family, 1, cycletest.Options{Kernels: n, Noise: 0.05}).Main()
				return symbols
			})
		})
	}
	for _, in := range inputs {
		b.Run("worst-"+in.name, func(b *testing.B) { measure(b, in.make) })
	}
}

func measure(b *testing.B, input func(n int) []uint32) {
	for b.Loop() {
		var sizes, times []float64
		all := benchmarked()
		for _, n := range all {
			in := input(n)
			best := math.Inf(1)
			for range 3 {
				runtime.GC()
				start := used(b)
				st := repeat.Find(in, repeat.Options{})
				best = min(best, used(b)-start)
				runtime.KeepAlive(st)
			}
			sizes, times = append(sizes, math.Log(float64(len(in)))), append(times, math.Log(best))
			if n == all[len(all)-1] {
				b.ReportMetric(best/float64(len(in))*1e7, "cpu-s/10M")
				b.ReportMetric(peak(in)/float64(len(in)), "B/symbol")
			}
		}
		b.ReportMetric(slope(sizes, times), "exponent")
	}
}

// used is the processor time of this process in seconds.
func used(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// slope fits a line by least squares.
func slope(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

// peak is how many bytes more than before were on the heap at most while Find ran, garbage among them.
func peak(in []uint32) float64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := heap()
	most := before
	g, _ := safe.NewGroup(context.Background())
	done := make(chan struct{})
	g.Go(func() error {
		for {
			most = max(most, heap())
			select {
			case <-done:
				return nil
			case <-time.After(time.Millisecond):
			}
		}
	})
	st := repeat.Find(in, repeat.Options{})
	close(done)
	if err := g.Wait(); err != nil {
		panic(err)
	}
	runtime.KeepAlive(st)
	return float64(most - before)
}

// Memory stays bounded whatever the input: at most 40 bytes a symbol beside the input and what is returned, and tables of a fixed size.
func TestMemoryIsBounded(t *testing.T) {
	const n, tables = 1_000_000, 16 << 20
	for _, in := range inputs {
		symbols := in.make(n)
		if got := peak(symbols) - tables; got > 40*n {
			t.Errorf("%s: %.0f B a symbol", in.name, got/n)
		}
	}
}

// Find shares nothing: side by side, as often as one likes, it returns the same.
func TestTheSameResultSideBySide(t *testing.T) {
	for _, family := range []string{"nested", "batch-buckets", "none"} {
		c := cycletest.Make(family, 7, cycletest.Options{Kernels: 20_000, Noise: 0.05, Jitter: 0.3})
		want := find(c)
		got := make([]repeat.Structure, 8)
		g, _ := safe.NewGroup(context.Background())
		for i := range got {
			g.Go(func() error {
				got[i] = find(c)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(got, func(st repeat.Structure) bool { return !reflect.DeepEqual(st, want) }); i >= 0 {
			t.Errorf("%s: result %d differs", family, i)
		}
	}
}
