package xspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/xspace/xspacetest"
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
func (e *Edit) watch(s *Space) *[]string {
	var seen []string
	for len(e.Planes) < len(s.Planes) {
		e.Planes = append(e.Planes, PlaneEdit{})
	}
	for i := range e.Planes {
		for len(e.Planes[i].Lines) < len(s.Planes[i].Lines) {
			e.Planes[i].Lines = append(e.Planes[i].Lines, LineEdit{})
		}
		for k := range e.Planes[i].Lines {
			e.Planes[i].Lines[k].Observe = func(oldPS, newPS, boundNS int64, cov clock.Coverage) {
				seen = append(seen, fmt.Sprint(i, k, oldPS, newPS, boundNS, cov))
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
		src := source(t, q.space(40))
		s := scan(t, src)
		e := q.randomEdit(s)
		e.Workers = 1
		seen := e.watch(s)
		sizes, err := Measure(ctx, src, s, e)
		if err != nil {
			t.Fatal(err)
		}
		observed := *seen
		var out bytes.Buffer
		if err := Rewrite(ctx, src, s, e, sizes, &out); err != nil {
			t.Fatal(err)
		}
		want := out.Bytes()
		for _, buffer := range []int64{1, 60, 700, max(outputBuffer, 4*s.Bytes)} {
			*seen = nil
			g := &growing{}
			got, err := write(ctx, src, s, e, g, buffer)
			if errors.Is(err, ErrLengths) {
				lost++
				if buffer > s.Bytes {
					t.Fatalf("seed %d: a buffer of %d bytes is too small for a file of %d", seed, buffer, s.Bytes)
				}
				var again bytes.Buffer
				if err = Rewrite(ctx, src, s, e, got, &again); err == nil && !bytes.Equal(again.Bytes(), want) {
					t.Fatalf("seed %d, buffer %d: the sizes of an abandoned pass give other bytes", seed, buffer)
				}
			} else if err == nil && !bytes.Equal(g.b, want) {
				t.Fatalf("seed %d, buffer %d: one pass writes %d bytes, rewrite %d, or others", seed, buffer, len(g.b), len(want))
			}
			if err != nil {
				t.Fatalf("seed %d, buffer %d: %v", seed, buffer, err)
			}
			patched += g.patches
			if got.Total != sizes.Total || got.Counts != sizes.Counts {
				t.Fatalf("seed %d, buffer %d: counted %+v, measured %+v", seed, buffer, got.Counts, sizes.Counts)
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
	src := source(t, lineOf(20)) // 120 bytes: one byte of length, two when moved
	s := scan(t, src)
	knots, err := clock.New([]clock.Knot{{X: 0, Y: 0}, {X: 1000, Y: 3_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	e := &Edit{Planes: []PlaneEdit{{Lines: []LineEdit{{Cursor: knots.Cursor(0)}}}}}
	want, sizes := rewritten(t, src, s, e)
	g := &growing{}
	if got, err := Write(context.Background(), src, s, e, g); err != nil || !bytes.Equal(g.b, want) || got.Total != sizes.Total {
		t.Errorf("in the buffer: %v, %d bytes, want %d", err, len(g.b), len(want))
	}
	if got, err := write(context.Background(), src, s, e, &growing{}, 16); !errors.Is(err, ErrLengths) || got.Total != sizes.Total {
		t.Errorf("in the file: %v, want ErrLengths with all sizes", err)
	}
}

// TestOnlyVisitsTheEventsOfASet skips by the first metadata_id; where an event has one, nothing else is skipped or visited.
func TestOnlyVisitsTheEventsOfASet(t *testing.T) {
	var b bytes.Buffer
	if err := xspacetest.New(xspacetest.Config{Nodes: 1, GPUs: 2, EventsPerGPU: 3000, Unsorted: true}).Write(0, &b); err != nil {
		t.Fatal(err)
	}
	compareOnly(t, b.Bytes(), 201, 3, 130)
	for seed := range uint64(200) {
		q := newQuirky(seed)
		compareOnly(t, q.space(40), q.Int64N(8), q.number(), -1)
	}
}

func compareOnly(t *testing.T, file []byte, ids ...int64) {
	t.Helper()
	src := source(t, file)
	s := scan(t, src)
	only := &IDSet{}
	for _, id := range ids {
		only.Add(id)
	}
	events := func(opt EventOptions) map[string]bool {
		seen := map[string]bool{}
		for i := range s.Planes {
			for k := range s.Planes[i].Lines {
				p, l := &s.Planes[i], &s.Planes[i].Lines[k]
				if err := EventsOf(context.Background(), src, p, l, opt, func(e *Event) error {
					if only.Has(e.MetadataID) {
						seen[fmt.Sprint(i, k, e.Index, e.MetadataID, e.Offset, e.OffsetPS)] = idsOf(e) == 1
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		return seen
	}
	all, some := events(EventOptions{}), events(EventOptions{Only: only})
	for e := range some {
		if _, ok := all[e]; !ok {
			t.Fatalf("event %s is visited with Only and not without", e)
		}
	}
	for e, plain := range all {
		if _, ok := some[e]; !ok && plain {
			t.Fatalf("event %s of the set is not visited", e)
		}
	}
}

// idsOf counts the metadata_id fields of an event.
func idsOf(e *Event) (n int) {
	for i := e.from; i < e.to; {
		f, bad := parseTag(e.b, i, e.to)
		if bad != nil {
			return 0
		}
		if f.num == 1 {
			n++
		}
		i = f.end
	}
	return n
}
