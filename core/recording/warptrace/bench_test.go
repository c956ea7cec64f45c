package warptrace

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/recording/site"
)

// benchWarps is how many warps of benchEvents events the benchmarks walk: 4 within the tests, 1,024 with PRLX_BENCH_WARPS=1024.
func benchWarps() int {
	if n, err := strconv.Atoi(os.Getenv("PRLX_BENCH_WARPS")); err == nil && n > 0 {
		return n
	}
	return 4
}

const benchEvents = 4096

// benchFiles writes two recordings, of which b has edited events in every warp, and returns their paths.
func benchFiles(b *testing.B, compress bool, edits int) (string, string) {
	b.Helper()
	dir := b.TempDir()
	for _, name := range []string{"a", "b"} {
		var out bytes.Buffer
		w, err := CreateV1(&out, v1TestHeader(benchWarps(), benchEvents), V1Options{Compress: compress})
		if err != nil {
			b.Fatal(err)
		}
		for n := range benchWarps() {
			warp := benchWarp(n)
			if name == "b" {
				rng := rand.New(rand.NewPCG(uint64(n), 1))
				for range edits {
					warp.Dir[rng.IntN(benchEvents)] ^= 1
				}
			}
			if err := w.Append(warp); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return filepath.Join(dir, "a"), filepath.Join(dir, "b")
}

// benchWarp is a full warp of a loop with five sites.
func benchWarp(n int) *Warp {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	w := &Warp{}
	w.reset(WarpInfo{Warp: uint64(n), Events: benchEvents, Total: benchEvents}, benchEvents)
	for i := range benchEvents {
		w.Site[i], w.Kind[i], w.Dir[i], w.Aux[i] = 0x1000+uint32(i%5), site.Branch, uint8(rng.IntN(2)), 0
		w.Active[i], w.Taken[i], w.Value[i], w.Type[i] = 0xffffffff, 0, uint64(i/5+n), TypeBits
	}
	return w
}

func BenchmarkWalk(b *testing.B) {
	for _, c := range []struct {
		name     string
		compress bool
		edits    int
		decode   bool
	}{{"plain/equal", false, 0, false}, {"plain/edited", false, 4, false}, {"plain/edited/decode", false, 4, true}, {"zstd/equal", true, 0, false}} {
		b.Run(c.name, func(b *testing.B) {
			pa, pb := benchFiles(b, c.compress, c.edits)
			var wa, wb Warp
			cpu := cpuTime()
			for b.Loop() {
				walkPaths(b, pa, pb, func(p *Pair) error {
					if c.decode {
						return p.Decode(&wa, &wb)
					}
					return nil
				})
			}
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
			b.SetBytes(int64(2 * benchWarps() * (v1WarpHead + benchEvents*v1EventBytes)))
		})
	}
}

func walkPaths(b *testing.B, pa, pb string, visit func(*Pair) error) {
	ctx := context.Background()
	ta, err := OpenPath(ctx, pa)
	if err != nil {
		b.Fatal(err)
	}
	defer ta.Close()
	tb, err := OpenPath(ctx, pb)
	if err != nil {
		b.Fatal(err)
	}
	defer tb.Close()
	if _, err := Walk(ctx, ta, tb, WalkOptions{}, visit); err != nil {
		b.Fatal(err)
	}
}

// cpuTime is what the process used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
