package simt

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// BenchmarkStoresRecorded is what a store of a whole warp costs in a recorded launch, with and without what is written.
func BenchmarkStoresRecorded(b *testing.B) {
	stores := make([]randomStore, 8)
	for i := range stores {
		stores[i] = randomStore{width: 4, count: 1, a: 1, b: 64, mask: 1<<20 - 1, modulus: 4}
	}
	for name, written := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			p := mustLoad(b, storesKernel(stores))
			for b.Loop() {
				l := testLaunch(2048, 64, make([]byte, 2048*64*4), 0)
				l.Params[0].Type = "*fp32"
				l.Options.Workers = 1
				r := &Recording{
					Mode: warptrace.ModeControlFlow, Predicates: true, Written: written, Warp: func(*warptrace.Warp) error { return nil },
					Outputs: func(*warptrace.Outputs) error { return nil }, Contents: func(*warptrace.Contents) error { return nil },
				}
				if _, err := p.Record(nil, l, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2048*2*8), "ns/store")
		})
	}
}
