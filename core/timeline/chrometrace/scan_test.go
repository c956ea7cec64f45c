package chrometrace

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/file/filetest"
)

func TestScanX(t *testing.T) {
	for _, p := range append(filetest.Glob(t, "kineto/*.json*"), filetest.Glob(t, "jax_skew/*/*.json.gz")...) {
		src, err := file.Open(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Scan(context.Background(), src, ScanOptions{})
		if err != nil {
			t.Error(p, err)
			continue
		}
		t.Log(p[len(p)-30:], tr.Events, tr.Timed, tr.Min, tr.Max, tr.ResolutionPS, tr.RoundedPS, tr.Lenient, len(tr.Chunks), len(tr.Processes), tr.Distributed != nil, tr.Host, tr.MaxID)
	}
}

func BenchmarkScanX(b *testing.B) {
	src, err := file.Open(context.Background(), filetest.Data(b, "kineto/facebookresearch+HolisticTraceAnalysis__control.json.gz"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(src.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(context.Background(), src, ScanOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
