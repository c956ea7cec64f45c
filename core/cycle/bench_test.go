package cycle

import (
	"runtime"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// long repeats a case until it has n kernels.
func long(c *cycletest.Case, n int) *kernels.Trace {
	tr := traceOf(c)
	s := &tr.Sequences[0]
	size := s.Len()
	span := s.EndNS(size-1) - s.StartNS[0] + 100_000
	out := kernels.Sequence{Rank: 0, Device: s.Device, Streams: s.Streams}
	times := max(1, n/size)
	out.Name, out.StartNS, out.Stream = make([]uint32, 0, times*size), make([]int64, 0, times*size), make([]uint16, 0, times*size)
	durs := make([]int64, 0, times*size)
	for k := range times {
		for i := range size {
			out.Name, out.StartNS, out.Stream = append(out.Name, s.Name[i]), append(out.StartNS, s.StartNS[i]+int64(k)*span), append(out.Stream, s.Stream[i])
			durs = append(durs, s.DurNS(i))
		}
	}
	for i := range out.Streams {
		out.Streams[i].Kernels *= times
	}
	out.SetDurations(durs)
	tr.Sequences[0] = out
	return tr
}

func BenchmarkFind(b *testing.B) {
	tr := long(cycletest.Make("multi-prefill", 1, cycletest.Options{Kernels: 100_000, Noise: 0.02}), 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		r := mustFind(b, tr, Options{})
		runtime.KeepAlive(r)
	}
	b.ReportMetric(float64(tr.Kernels())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mkernels/s")
}

func BenchmarkDocument(b *testing.B) {
	r := mustFind(b, long(cycletest.Make("multi-prefill", 1, cycletest.Options{Kernels: 100_000}), 1_000_000), Options{})
	for b.Loop() {
		runtime.KeepAlive(r.Document())
	}
}

func BenchmarkCompareTwoThousand(b *testing.B) {
	x, y := twoThousand(b, 0), twoThousand(b, 3000)
	for b.Loop() {
		runtime.KeepAlive(mustCompare(b, x, y))
	}
}
