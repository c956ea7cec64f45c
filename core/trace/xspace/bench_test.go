package xspace

import (
	"bytes"
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// benchSource is one node's file of about 30 MB in memory: eight devices, 120_000 events each.
func benchSource(b *testing.B) *file.Source {
	b.Helper()
	n := int64(120_000)
	if testing.Short() {
		n = 1000
	}
	j := xspacetest.New(xspacetest.Config{Nodes: 1, EventsPerGPU: n, Seed: 1})
	var w bytes.Buffer
	if err := j.Write(0, &w); err != nil {
		b.Fatal(err)
	}
	src := opened(b, w.Bytes())
	b.SetBytes(src.Size())
	return src
}

// cpuSpeed reports input bytes per second of CPU time, which other loads on the machine disturb less than wall time. Call it
// before the loop and the result after it.
func cpuSpeed(b *testing.B, src *file.Source) func() {
	before := cpuTime(b)
	return func() {
		b.ReportMetric(float64(src.Size())*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// driftEdit maps every device line with a map of one knot per 100 ms, as snapshots give.
func driftEdit(b *testing.B, s *Space) *spaceEdit {
	b.Helper()
	var knots []clock.Knot
	for i := range int64(200) {
		x := i * 100_000_000
		knots = append(knots, clock.Knot{X: x, Y: x + i*1234 + i%7})
	}
	m, err := clock.New(knots)
	if err != nil {
		b.Fatal(err)
	}
	e := &spaceEdit{Planes: make([]planeEdit, len(s.Planes))}
	for i := range s.Planes {
		e.Planes[i].Lines = make([]lineEdit, len(s.Planes[i].Lines))
		for k := range s.Planes[i].Lines {
			e.Planes[i].Lines[k] = lineEdit{Cursor: m.Cursor(0), TimestampNS: ptr(int64(5_000_000))}
		}
	}
	return e
}

func BenchmarkScan(b *testing.B) {
	src := benchSource(b)
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		scan(b, src)
	}
}

func BenchmarkMeasure(b *testing.B) {
	src := benchSource(b)
	s := scan(b, src)
	e := driftEdit(b, s)
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		if _, err := Measure(context.Background(), src, s, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	src := benchSource(b)
	s := scan(b, src)
	e := driftEdit(b, s)
	sizes, err := Measure(context.Background(), src, s, e)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		if err := rewrite(context.Background(), src, s, e, sizes, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllPasses is what aligning a file costs: MB/s of input through scan, measure and rewrite on one core.
func BenchmarkAllPasses(b *testing.B) {
	src := benchSource(b)
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		s := scan(b, src)
		e := driftEdit(b, s)
		sizes, err := Measure(context.Background(), src, s, e)
		if err != nil {
			b.Fatal(err)
		}
		if err := rewrite(context.Background(), src, s, e, sizes, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanAndWrite is the same with lengths corrected behind the writer instead of measured before.
func BenchmarkScanAndWrite(b *testing.B) {
	src := benchSource(b)
	out := &memory{b: make([]byte, src.Size()*2)}
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		s := scan(b, src)
		if _, err := Write(context.Background(), src, s, driftEdit(b, s), out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	src := benchSource(b)
	s := scan(b, src)
	b.ReportAllocs()
	defer cpuSpeed(b, src)()
	for b.Loop() {
		var n, sum int64
		err := Events(context.Background(), src, s, nil, func(_ *Plane, _ *Line, e *Event) error {
			n++
			for it := e.Stats(); it.Next(); {
				sum += it.Stat().Int
			}
			sum += int64(len(e.Name()))
			return nil
		})
		if err != nil || n != s.Events {
			b.Fatal(n, sum, err)
		}
	}
	b.ReportMetric(float64(s.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
