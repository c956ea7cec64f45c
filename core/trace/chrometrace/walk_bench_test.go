package chrometrace

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// BenchmarkWalk reads the kernels of a recording, without decompression.
func BenchmarkWalk(b *testing.B) {
	dir := os.Getenv("PRLX_TEST_DATA")
	if dir == "" {
		b.Skip("PRLX_TEST_DATA is not set")
	}
	disk, err := os.ReadFile(filepath.Join(dir, "kineto", "facebookresearch+HolisticTraceAnalysis__control.json.gz"))
	if err != nil {
		b.Skip(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(disk))
	if err != nil {
		b.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		kernels := 0
		_, err := walk(context.Background(), bytes.NewReader(raw), walkOptions{
			Want: func(_ byte, cat []byte) interest {
				if string(cat) == "kernel" {
					return take
				}
				return pass
			},
			Visit: func(e *walked) error {
				if _, ok := e.argUint("correlation"); ok {
					kernels++
				}
				return nil
			},
		})
		if err != nil || kernels != 8568 {
			b.Fatalf("%d kernels, %v", kernels, err)
		}
	}
	b.SetBytes(int64(len(raw)))
}
