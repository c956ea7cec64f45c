package diff

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// benchPair writes a pair of v1 recordings of full warps, 8 of them within the tests, PRLX_BENCH_WARPS in earnest.
func benchPair(b *testing.B, share float64) (string, string) {
	b.Helper()
	warps := 8
	if n, err := strconv.Atoi(os.Getenv("PRLX_BENCH_WARPS")); err == nil && n > 0 {
		warps = n
	}
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 1, Endless: true, Structured: true})
	l := warptracetest.Launch{Warps: warps, Events: 4096}
	h := p.Header(l)
	dir := b.TempDir()
	var files [2]bytes.Buffer
	var out [2]*warptrace.V1Writer
	for i := range out {
		var err error
		if out[i], err = warptrace.CreateV1(&files[i], h, warptrace.V1Options{}); err != nil {
			b.Fatal(err)
		}
	}
	edits := warptracetest.Edits{Seed: 2, Rate: share}
	a := p.Run(l)
	other, _ := warptracetest.Edit(a, edits)
	for i, r := range []*warptracetest.Recording{a, other} {
		held := r.V1()
		for k := range held.Warps {
			w := &held.Warps[k]
			if w.Len() > 4096 {
				w.Site = w.Site[:4096]
			}
			w.Dropped, w.Total = 0, uint64(w.Len())
			if err := out[i].Append(w); err != nil {
				b.Fatal(err)
			}
		}
		if err := out[i].Close(); err != nil {
			b.Fatal(err)
		}
	}
	pa, pb := filepath.Join(dir, "a.prlx"), filepath.Join(dir, "b.prlx")
	for i, path := range []string{pa, pb} {
		if err := os.WriteFile(path, files[i].Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return pa, pb
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name  string
		share float64
	}{{"edits=0", 0}, {"edits=0.1%", 0.001}, {"edits=5%", 0.05}} {
		b.Run(c.name, func(b *testing.B) {
			pa, pb := os.Getenv("PRLX_BENCH_A"), os.Getenv("PRLX_BENCH_B")
			if pa == "" {
				pa, pb = benchPair(b, c.share)
			}
			runtime.GC()
			var rows, approximate int64
			start := cpuTime()
			for b.Loop() {
				x, err := warptrace.OpenPath(context.Background(), pa)
				if err != nil {
					b.Fatal(err)
				}
				y, err := warptrace.OpenPath(context.Background(), pb)
				if err != nil {
					b.Fatal(err)
				}
				r, err := Compare(job.New(context.Background(), job.Options{}), x, y, Options{})
				if err != nil {
					b.Fatal(err)
				}
				rows, approximate = int64(len(r.Rows)), r.Stats.Approximate
				x.Close()
				y.Close()
			}
			b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(float64(approximate), "approximate")
		})
	}
}
