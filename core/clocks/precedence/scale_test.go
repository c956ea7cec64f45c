package precedence

import (
	"context"
	"runtime"
	"syscall"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/testing/collectivetest"
)

// BenchmarkManyRanks matches and solves the collectives of 1,024 ranks.
func BenchmarkManyRanks(b *testing.B) {
	for range b.N {
		b.StopTimer()
		j := collectivetest.Standard(1, 1024, 1, 667)
		j.Pipeline, j.StepNS = false, 75e6
		j.Make()
		b.Logf("%d spans", len(j.Part.Spans))
		b.StartTimer()
		m, err := collective.Match(context.Background(), j.Part)
		if err != nil {
			b.Fatal(err)
		}
		x := Collect(m, collective.AsRecorded, own)
		g := offsets.NewGraph()
		g.Meet(&x.Meetings, offsets.Clock{})
		if _, err := g.Solve(context.Background(), offsets.Clock{}, offsets.Options{}); err != nil {
			b.Fatal(err)
		}
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		b.ReportMetric(float64(u.Maxrss)/1024, "MiB-peak")
		b.ReportMetric(float64(ms.Sys)/1e6, "MB-sys")
	}
}
