package diff

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/job"
)

// BenchmarkContents compares two launches that wrote 64 MiB of floats each: of which one in 100 differs, all do, or all do within a tolerance.
func BenchmarkContents(b *testing.B) {
	tolerance, err := ParseTolerance("ulp=4")
	must(b, err)
	for _, c := range []struct {
		name  string
		every int
		opt   Options
	}{{"some", 100, Options{}}, {"all", 1, Options{}}, {"tolerated", 1, Options{Values: true, Tolerance: tolerance}}} {
		elements := 1 << 24
		if testing.Short() {
			elements = 1 << 14
		}
		random := rand.New(rand.NewPCG(64, 1))
		x := leftArray{name: "out", typ: "*fp32", size: 4, values: make([]uint64, elements)}
		y := x
		y.values = make([]uint64, elements)
		for i := range x.values {
			x.values[i] = uint64(math.Float32bits(random.Float32()))
			y.values[i] = x.values[i]
			if i%c.every == 0 {
				y.values[i]++
			}
		}
		ta, tb := leave(b, "a.prlx", x), leave(b, "b.prlx", y)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(elements) << 3)
			start := cpuTime()
			for b.Loop() {
				_, err := Compare(job.New(b.Context(), job.Options{}), ta, tb, c.opt)
				must(b, err)
			}
			b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}
