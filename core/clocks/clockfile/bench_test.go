package clockfile_test

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/file"
)

func BenchmarkReadStamps(b *testing.B) {
	line := `{"src":0,"dst":1,"seq":5,"t1":1795226072810465409,"t2":1795226072851512607,"t3":1795226072851515978,"t4":1795226072814839533}` + "\n"
	text := make([]byte, 0, len(line)*100_000)
	for range 100_000 {
		text = append(text, line...)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		src, err := file.FromBytes("stamps.jsonl", text)
		if err != nil {
			b.Fatal(err)
		}
		if f, err := clockfile.Read(context.Background(), src); err != nil || len(f.Stamps) != 100_000 {
			b.Fatal(err)
		}
	}
}
