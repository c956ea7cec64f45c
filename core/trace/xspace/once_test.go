package xspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// growing is an io.WriterAt without an end.
type growing struct {
	b       []byte
	patches int // writes that do not append
}

func (g *growing) WriteAt(p []byte, off int64) (int, error) {
	if off != int64(len(g.b)) {
		g.patches++
	}
	g.b = append(g.b, make([]byte, max(0, off+int64(len(p))-int64(len(g.b))))...)
	return copy(g.b[off:], p), nil
}

// watch makes every line of an edit tell what it observes.
func watch(e *spaceEdit, s *Space) *[]string {
	var seen []string
	for len(e.Planes) < len(s.Planes) {
		e.Planes = append(e.Planes, planeEdit{})
	}
	for i := range e.Planes {
		for len(e.Planes[i].Lines) < len(s.Planes[i].Lines) {
			e.Planes[i].Lines = append(e.Planes[i].Lines, lineEdit{})
		}
		for k := range e.Planes[i].Lines {
			e.Planes[i].Lines[k].Observe = func(o *source.Observed) {
				for n, old := range o.OldPS {
					seen = append(seen, fmt.Sprint(i, k, old, o.NewPS[n], clock.WholeNS(o.Bounds.At(old)), o.Bounds.Coverage))
				}
			}
		}
	}
	return &seen
}

// TestOnePassEqualsMeasureAndRewrite compares bytes, counts and what Observe saw, with buffers that hold everything and with
// buffers so small that lengths are corrected in the file, or cannot be.
func TestOnePassEqualsMeasureAndRewrite(t *testing.T) {
	ctx := context.Background()
	patched, lost := 0, 0
	for seed := range uint64(400) {
		q := newQuirky(seed)
		src := opened(t, q.space(40))
		s := scan(t, src)
		e := q.randomEdit(s)
		e.Workers = 1
		seen := watch(e, s)
		sizes, err := Measure(ctx, src, s, e)
		if err != nil {
			t.Fatal(err)
		}
		observed := *seen
		var out bytes.Buffer
		if err := rewrite(ctx, src, s, e, sizes, &out); err != nil {
			t.Fatal(err)
		}
		want := out.Bytes()
		for _, buffer := range []int64{1, 60, 700, max(outputBuffer, 4*s.Bytes)} {
			*seen = nil
			g := &growing{}
			got, err := write(ctx, src, s, e, nil, g, buffer)
			if errors.Is(err, errLengths) {
				lost++
				if buffer > s.Bytes {
					t.Fatalf("seed %d: a buffer of %d bytes is too small for a file of %d", seed, buffer, s.Bytes)
				}
				var again bytes.Buffer
				if err = rewrite(ctx, src, s, e, got, &again); err == nil && !bytes.Equal(again.Bytes(), want) {
					t.Fatalf("seed %d, buffer %d: the sizes of an abandoned pass give other bytes", seed, buffer)
				}
			} else if err == nil && !bytes.Equal(g.b, want) {
				t.Fatalf("seed %d, buffer %d: one pass writes %d bytes, rewrite %d, or others", seed, buffer, len(g.b), len(want))
			}
			if err != nil {
				t.Fatalf("seed %d, buffer %d: %v", seed, buffer, err)
			}
			patched += g.patches
			if got.Total != sizes.Total || got.counts != sizes.counts {
				t.Fatalf("seed %d, buffer %d: counted %+v, measured %+v", seed, buffer, got.counts, sizes.counts)
			}
			if !slices.Equal(*seen, observed) {
				t.Fatalf("seed %d, buffer %d: observed %d events, Measure %d, or others", seed, buffer, len(*seen), len(observed))
			}
		}
	}
	if patched == 0 || lost == 0 {
		t.Errorf("%d lengths were corrected in the file and %d could not be: the test does not test both", patched, lost)
	}
}

// lineOf returns a file with one line of n events whose offsets grow by three bytes when they are moved.
func lineOf(n int) []byte {
	var line []byte
	for i := range n {
		line = append(line, msg(4, num(1, 1), num(2, int64(i%100)))...)
	}
	return msg(1, num(1, 7), msg(3, line))
}

func TestALengthThatNeedsMoreBytesAfterItWasWritten(t *testing.T) {
	src := opened(t, lineOf(20)) // 120 bytes: one byte of length, two when moved
	s := scan(t, src)
	knots, err := clock.New([]clock.Knot{{X: 0, Y: 0}, {X: 1000, Y: 3_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	e := &spaceEdit{Planes: []planeEdit{{Lines: []lineEdit{{Cursor: knots.Cursor(0)}}}}}
	want, sizes := rewritten(t, src, s, e)
	g := &growing{}
	if got, err := Write(context.Background(), src, s, e, g); err != nil || !bytes.Equal(g.b, want) || got.Total != sizes.Total {
		t.Errorf("in the buffer: %v, %d bytes, want %d", err, len(g.b), len(want))
	}
	if got, err := write(context.Background(), src, s, e, nil, &growing{}, 16); !errors.Is(err, errLengths) || got.Total != sizes.Total {
		t.Errorf("in the file: %v, want ErrLengths with all sizes", err)
	}
}
