package collective

import (
	"bytes"
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// BenchmarkFromXSpace finds the collectives of a synthetic node; MB/s are those of the file.
func BenchmarkFromXSpace(b *testing.B) {
	ctx := context.Background()
	var buf bytes.Buffer
	if err := xspacetest.New(xspacetest.Config{Nodes: 1, GPUs: 4, EventsPerGPU: 100_000}).Write(0, &buf); err != nil {
		b.Fatal(err)
	}
	src, err := file.FromBytes("bench.xplane.pb", buf.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	space, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(src.Size())
	found := 0
	for b.Loop() {
		p, err := FromCompiled(ctx, src, space, Options{})
		if err != nil {
			b.Fatal(err)
		}
		found = len(p.Spans)
	}
	b.ReportMetric(float64(found), "executions")
}
