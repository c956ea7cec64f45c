package compat

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// fullTrace is a recording of full buffers: loops of 97 sites, and where they differ from those of seed 0.
func fullTrace(b *testing.B, warps int, edits float64) *warptrace.Trace {
	b.Helper()
	const events = 4096
	var out bytes.Buffer
	w, err := warptrace.CreateV1(&out, warptrace.Header{
		Version: 1, Kernel: "kernel", KernelHash: warptrace.Hash64("kernel"), Grid: [3]uint32{uint32(warps), 1, 1}, Block: [3]uint32{32, 1, 1},
		WarpsPerBlock: 1, WarpSlots: uint64(warps), EventsPerWarp: events, SampleRate: 1, WaveSize: 32,
	}, warptrace.V1Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for n := range warps {
		warp := &warptrace.Warp{WarpInfo: warptrace.WarpInfo{Warp: uint64(n)}}
		for i := range events {
			dir := uint8(0)
			if r.Float64() < edits {
				dir = 1
			}
			add(warp, uint32(i%97), site.Branch, dir, 0xffffffff, uint64(i))
		}
		warp.Events, warp.Total = events, events
		warp.Aux, warp.Taken, warp.Type = make([]uint16, events), make([]uint64, events), make([]warptrace.ValueType, events)
		for i := range warp.Type {
			warp.Type[i] = warptrace.TypeBits
		}
		if err := w.Append(warp); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	src, err := file.FromBytes("trace.prlx", out.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	t, err := warptrace.Open(b.Context(), src)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { t.Close() })
	return t
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name  string
		edits float64
	}{{"equal", 0}, {"5 percent differ", 0.05}} {
		b.Run(c.name, func(b *testing.B) {
			x, y := fullTrace(b, 64, 0), fullTrace(b, 64, c.edits)
			b.SetBytes(2 * 64 * 4096 * 16)
			for b.Loop() {
				r, err := Compare(job.New(b.Context(), job.Options{}), x, y, Options{Lookahead: DefaultLookahead})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Discard.Write(r.JSON()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
