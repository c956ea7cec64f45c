package warptrace

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// structuredSites are the sites of structuredWarp.
func structuredSites() *site.Table {
	kinds := []site.Kind{site.Branch, site.Load, site.Branch, site.GlobalStore, site.Predicate, site.Atomic, site.Exit}
	sites := make([]site.Site, len(kinds))
	for i, k := range kinds {
		sites[i] = site.Site{Kind: k, Ordinal: -1, Compare: site.NoCompare, Chain: []site.Frame{{Function: "rows", File: "rows.py", Line: uint32(10 + i), Column: 5}}}
	}
	site.AssignKeys(sites)
	return site.NewTable(sites)
}

// structuredWarp fills a warp with n events of two nested loops: counters, addresses with a stride, full waves except at the edges, and
// trip counts that differ from row to row.
func structuredWarp(w *Warp, number uint64, n int) {
	w.reset(WarpInfo{Warp: number}, 0)
	add := func(s uint32, k site.Kind, active, taken, value uint64, t ValueType) {
		w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, s), append(w.Kind, k), append(w.Dir, predict(active, taken)), append(w.Aux, 0)
		w.Active, w.Taken, w.Value, w.Type = append(w.Active, active), append(w.Taken, taken), append(w.Value, value), append(w.Type, t)
	}
	full := fullWave(32)
	for row := uint64(0); w.Len() < n; row++ {
		trips := 8 + (row*7+number)%5
		add(0, site.Branch, full, full, row, TypeI32)
		for k := range trips {
			add(1, site.Load, full, 0, 0x7f00_0000_0000+number*0x4000+row*512+k*16, TypePtr)
			add(4, site.Predicate, full, full>>(k&3), k*4, TypeI32)
			taken := full
			if k+1 == trips {
				taken = 0
			}
			add(2, site.Branch, full, taken, k, TypeI32)
		}
		add(3, site.GlobalStore, full, 0, 0x7f10_0000_0000+number*0x4000+row*4, TypePtr)
		if row%16 == 15 {
			add(5, site.Atomic, 1, 0, number, TypeU32)
		}
	}
	w.Site, w.Kind, w.Dir, w.Aux = w.Site[:n], w.Kind[:n], w.Dir[:n], w.Aux[:n]
	w.Active, w.Taken, w.Value, w.Type = w.Active[:n], w.Taken[:n], w.Value[:n], w.Type[:n]
	w.Events, w.Total = uint32(n), uint64(n)
}

func v2TestHeader(slots uint64) Header {
	return Header{Kernel: "rows", Grid: [3]uint32{uint32(slots), 1, 1}, Block: [3]uint32{32, 1, 1}, WaveSize: 32, WarpsPerBlock: 1, WarpSlots: slots, SampleRate: 1, Taken: true, Mode: ModeValues}
}

// structuredFile is a v2 recording of structured warps.
func structuredFile(tb testing.TB, warps, events, level int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(uint64(warps)), structuredSites(), V2Options{Level: level})
	if err != nil {
		tb.Fatal(err)
	}
	var warp Warp
	for n := range warps {
		structuredWarp(&warp, uint64(n), events)
		if err := w.Append(&warp); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func openV2Bytes(tb testing.TB, b []byte) *Trace {
	tb.Helper()
	src, err := file.FromBytes("x.prlx", b)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := Open(context.Background(), src)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// The rates of these benchmarks count 16 bytes an event, as format v1 has it.
func BenchmarkV2Write(b *testing.B) {
	warps := benchWarps()
	b.SetBytes(int64(warps) * benchEvents * v1EventBytes)
	for b.Loop() {
		n := len(structuredFile(b, warps, benchEvents, 0))
		b.ReportMetric(float64(warps*benchEvents*v1EventBytes)/float64(n), "x-smaller")
	}
}

// BenchmarkV2WriteAgain writes the warps of a recording, PRLX_BENCH_A, with operands by column and, as before major version 4, without.
func BenchmarkV2WriteAgain(b *testing.B) {
	from := openV2Bytes(b, structuredFile(b, benchWarps(), benchEvents, 0))
	if path := os.Getenv("PRLX_BENCH_A"); path != "" {
		var err error
		if from, err = OpenPath(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
	index, err := from.Index(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	warps := make([]Warp, len(index))
	for i := range index {
		if err := from.ReadWarp(b.Context(), index[i].Warp, &warps[i]); err != nil {
			b.Fatal(err)
		}
	}
	for name, columns := range map[string]bool{"columns": true, "sections": false} {
		b.Run(name, func(b *testing.B) {
			begun := cpuTime()
			for b.Loop() {
				var out bytes.Buffer
				w, err := CreateV2(&out, *from.Header(), from.Sites(), V2Options{})
				if err != nil {
					b.Fatal(err)
				}
				w.columns = w.columns && columns
				for i := range warps {
					if err := w.Append(&warps[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(out.Len()), "bytes")
			}
			b.ReportMetric(float64(cpuTime()-begun)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

func BenchmarkV2Decode(b *testing.B) {
	warps := benchWarps()
	raw := structuredFile(b, warps, benchEvents, 0)
	b.SetBytes(int64(warps) * benchEvents * v1EventBytes)
	for b.Loop() {
		t := openV2Bytes(b, raw)
		var w Warp
		for n := range warps {
			if err := t.ReadWarp(b.Context(), uint64(n), &w); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkV2WalkEqual(b *testing.B) {
	warps := benchWarps()
	raw := structuredFile(b, warps, benchEvents, 0)
	for b.Loop() {
		stats, err := Walk(b.Context(), openV2Bytes(b, raw), openV2Bytes(b, raw), WalkOptions{Values: true}, func(*Pair) error { return nil })
		if err != nil || stats.Equal != int64(warps) {
			b.Fatal(stats, err)
		}
	}
}

func BenchmarkV2OpenSparse(b *testing.B) {
	warps := 100 * benchWarps()
	raw := structuredFile(b, warps, 5, 0)
	b.ReportMetric(float64(len(raw)), "bytes")
	for b.Loop() {
		t := openV2Bytes(b, raw)
		index, err := t.Index(b.Context())
		if err != nil || len(index) != warps {
			b.Fatal(len(index), err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	var w Warp
	structuredWarp(&w, 1, benchEvents)
	keys := make([]uint64, structuredSites().Len())
	b.SetBytes(benchEvents * v1EventBytes)
	for b.Loop() {
		digestOf(&w, keys)
	}
}
