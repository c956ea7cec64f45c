package chrometrace

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

func benchmarkInputs(b *testing.B, run func(b *testing.B, src *file.Source)) {
	b.Run("generated", func(b *testing.B) {
		doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 16 << 20, World: 2})
		run(b, bytesSource(b, doc))
	})
	b.Run("indented", func(b *testing.B) {
		doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 16 << 20, World: 2, Indent: true})
		run(b, bytesSource(b, doc))
	})
	b.Run("control", func(b *testing.B) {
		src, err := file.Open(context.Background(), filetest.Data(b, "kineto/facebookresearch+HolisticTraceAnalysis__control.json.gz"))
		if err != nil {
			b.Fatal(err)
		}
		defer src.Close()
		run(b, src)
	})
}

func BenchmarkScan(b *testing.B) {
	benchmarkInputs(b, func(b *testing.B, src *file.Source) {
		b.SetBytes(src.Size())
		b.ReportAllocs()
		for b.Loop() {
			mustScan(b, src, ScanOptions{})
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	benchmarkInputs(b, func(b *testing.B, src *file.Source) {
		tr := mustScan(b, src, ScanOptions{})
		r, err := newRewriter(tr, benchmarkEdit(b, tr))
		if err != nil {
			b.Fatal(err)
		}
		w := r.worker()
		var raw, out []byte
		b.SetBytes(src.Size())
		b.ReportAllocs()
		for b.Loop() {
			var counts counts
			for i := range tr.Chunks {
				if raw, err = readChunk(src, &tr.Chunks[i], raw); err != nil {
					b.Fatal(err)
				}
				if out, err = w.chunk(out[:0], raw, &tr.Chunks[i], &counts); err != nil {
					b.Fatal(err)
				}
			}
			if counts.Corrected != tr.Timed {
				b.Fatalf("corrected %d of %d", counts.Corrected, tr.Timed)
			}
		}
	})
}

// benchmarkEdit is what combining does: a drifting clock of many knots, new pids, new flow ids, bounds.
func benchmarkEdit(b *testing.B, tr *trace) edit {
	var knots []clock.Knot
	for i := range int64(64) {
		x := tr.Min.NS - 1e9 + i*50_000_000
		knots = append(knots, clock.Knot{X: x, Y: x - 37_000_000 + i*1500 + i%3*70, BoundNS: 900})
	}
	m, err := clock.New(knots)
	if err != nil {
		b.Fatal(err)
	}
	base := int64(1_600_000_000_000_000_000)
	e := edit{Clock: m, OutputBaseNS: &base, IDs: idEdit{Offset: 10_000_000, HexOffset: 1 << 48, Prefix: "n1/"}, Sample: true, DropEmpty: true}
	for _, p := range tr.Processes {
		pid := "1" + p.PID
		if p.PID[0] == '"' {
			pid = `"n1 ` + p.PID[1:]
		}
		e.Processes = append(e.Processes, processEdit{PID: pid})
	}
	return e
}
