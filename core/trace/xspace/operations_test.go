package xspace

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// noting writes down what a visitor of operations is shown.
func noting(seen *[]string) source.OperationVisitor {
	return source.OperationVisitor{
		Want:  func(_ *source.Process, name string) bool { return name != "fusion.7" },
		Enter: func(p *source.Process) { *seen = append(*seen, "enter "+p.Name) },
		Visit: func(p *source.Process, o *source.Operation) { *seen = append(*seen, fmt.Sprintf("%s %+v", p.Name, *o)) },
	}
}

// TestOperationsAreSeenWhileTheyAreWritten compares what WriteFile shows with a reading of its own, where one pass does both and where
// it cannot.
func TestOperationsAreSeenWhileTheyAreWritten(t *testing.T) {
	j := xspacetest.New(xspacetest.Config{Nodes: 1, GPUs: 2, EventsPerGPU: 65_000, Seed: 4})
	var b bytes.Buffer
	if err := j.Write(0, &b); err != nil {
		t.Fatal(err)
	}
	far, err := clock.New([]clock.Knot{{X: 0, Y: 0}, {X: 1_000_000, Y: 900_000_000_000}}) // offsets take more bytes, and so do lengths
	if err != nil {
		t.Fatal(err)
	}
	big := appendBytes(nil, 1, slices.Concat(appendBytes(nil, 2, "/device:GPU:3"), msg(4, num(1, 1), msg(2, num(1, 1), appendBytes(nil, 2, "all-reduce.1"))),
		msg(3, msg(4, num(1, 1), num(2, 5)), msg(4, num(1, 1), num(2, 9), appendBytes(nil, 4, appendBytes(nil, 5, make([]byte, segmentSize)))))))
	for name, c := range map[string]struct {
		more   []byte
		change func(e *spaceEdit)
		merged bool
		again  bool // lengths do not fit: the file is written once more
	}{
		"all lines":      {merged: true},
		"a long event":   {more: big, merged: true},
		"longer lengths": {change: func(e *spaceEdit) { e.Planes[0].Lines[0].Cursor = far.Cursor(0) }, merged: true, again: true},
		"two workers":    {change: func(e *spaceEdit) { e.Workers = 2 }},
		"a cut":          {change: func(e *spaceEdit) { e.Planes[0].Lines[0].KeepToPS = ptr(int64(1)) }, merged: true},
		"a plane less":   {change: func(e *spaceEdit) { e.Planes[1].Drop = true }},
		"a line less":    {change: func(e *spaceEdit) { e.Planes[1].Lines[0].Drop = true }},
		"a line copied":  {change: func(e *spaceEdit) { e.Planes[1].Lines[0] = lineEdit{} }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			src := opened(t, append(b.Bytes()[:b.Len():b.Len()], c.more...))
			s := scan(t, src)
			var want, got []string
			if err := s.Operations(ctx, src, 7, noting(&want)); err != nil || len(want) < 120_000 {
				t.Fatalf("%d operations: %v", len(want), err)
			}
			e := &spaceEdit{}
			watch(e, s)
			if c.change != nil {
				c.change(e)
			}
			if merged := s.writtenWhole(e) && e.Workers <= 1; merged != c.merged {
				t.Errorf("one pass does both: %v, want %v", merged, c.merged)
			}
			e.Operations = &source.OperationReading{StartNS: 7, Visitor: noting(&got)}
			created := 0
			out, _, err := s.WriteFile(ctx, src, e, func() (*file.Output, error) {
				created++
				return file.Create(filepath.Join(t.TempDir(), "out.pb"), false)
			})
			if err != nil {
				t.Fatal(err)
			}
			out.Abort()
			if again := created > 1; again != c.again {
				t.Errorf("written %d times", created)
			}
			seen := got
			got = nil
			if _, err := s.Measure(ctx, src, e); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d operations are seen while they are measured, %d by themselves, or others: %v", len(got), len(want), err)
			}
			if !slices.Equal(seen, want) {
				t.Errorf("%d operations are seen while they are written, %d by themselves, or others", len(seen), len(want))
			}
		})
	}
}
