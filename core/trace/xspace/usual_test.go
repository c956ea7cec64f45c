package xspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// stretched writes a varint in one byte more than it needs.
func stretched(b []byte, v uint64) []byte {
	b = binary.AppendUvarint(b, v)
	b[len(b)-1] |= 0x80
	return append(b, 0)
}

// nearlyUsual is an event that begins as usual ones do; some are none, or are stored in more bytes than they take, and with changes some
// say another thing behind their stats.
func nearlyUsual(r *rand.Rand, start int64, changes bool) []byte {
	id := []int64{1, 90, 200, 70_000, 1 << 40}[r.IntN(5)]
	dur := r.Int64N(1 << (1 + r.IntN(40)))
	var m []byte
	m = appendVarint(m, 1, uint64(id))
	switch r.IntN(12) {
	case 0:
		m = stretched(appendTag(m, 2, wireVarint), uint64(start))
		m = appendVarint(m, 3, uint64(dur))
	case 1:
		m = appendVarint(m, 2, uint64(start))
		m = stretched(appendTag(m, 3, wireVarint), uint64(dur))
	case 2:
		m = appendVarint(appendVarint(m, 2, 0), 3, 0)
	case 3:
		m = appendVarint(m, 2, uint64(start))
	case 4:
		m = appendVarint(appendVarint(m, 2, uint64(start)), 3, uint64(-dur))
	default:
		m = appendVarint(appendVarint(m, 2, uint64(start)), 3, uint64(dur))
	}
	for range r.IntN(4) {
		m = appendBytes(m, 4, make([]byte, 0)) // an empty stat
		m = appendBytes(m, 4, appendBytes(appendVarint(nil, 1, 3), 5, make([]byte, []int{1, 20, 60, 125, 300}[r.IntN(5)])))
	}
	switch n := r.IntN(60); {
	case !changes:
	case n == 0:
		m = appendVarint(m, 2, uint64(start+7)) // counts instead of the first
	case n == 1:
		m = appendVarint(m, 3, uint64(dur+7))
	case n == 2:
		m = appendVarint(m, 5, 3) // aggregated after all
	case n == 3:
		m = appendVarint(m, 77, 3)
	}
	if r.IntN(20) == 0 {
		return append(stretched(appendTag(nil, 4, wireLen), uint64(len(m))), m...)
	}
	return appendBytes(nil, 4, m)
}

// steps is a map with knots that many events lie across, of rates near and far from 1.
func steps(t *testing.T, r *rand.Rand) *clock.Map {
	if r.IntN(8) == 0 {
		return &clock.Map{}
	}
	x, y := int64(0), int64(0)
	if r.IntN(5) == 0 {
		y = 8_000_000_000_000_000 // offsets take more bytes than a word holds, and some do not fit
	}
	var knots []clock.Knot
	for range 1 + r.IntN(30) {
		knots = append(knots, clock.Knot{X: x, Y: y, BoundNS: r.Int64N(4000)})
		d := 1 + r.Int64N(1<<(1+r.IntN(20)))
		x, y = x+d, y+[]int64{d, d + d>>10, d - d>>9, 0, 5 * d}[r.IntN(5)]
	}
	m, err := clock.New(knots, clock.WithTails(clock.Drift(r.Int64N(1e6)), clock.Drift(-r.Int64N(1e6)), 500), clock.WithWander(r.Int64N(300)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// oneByOne returns the space without the mark that lets events be taken some at a time.
func oneByOne(s *Space) *Space {
	twin := *s
	twin.Planes = append([]Plane(nil), s.Planes...)
	for i := range twin.Planes {
		lines := append([]Line(nil), twin.Planes[i].Lines...)
		for k := range lines {
			lines[k].segments = append([]segment(nil), lines[k].segments...)
			for j := range lines[k].segments {
				lines[k].segments[j].usual = false
			}
		}
		twin.Planes[i].Lines = lines
	}
	return &twin
}

// TestUsualEventsSomeAtATimeAreLikeOneByOne compares bytes, counts and what is observed.
func TestUsualEventsSomeAtATimeAreLikeOneByOne(t *testing.T) {
	marked, lines := 0, sweep.Of(120, 400)
	for seed := range uint64(lines) {
		r := rand.New(rand.NewPCG(seed, 5))
		var line []byte
		start, changes := int64(0), r.IntN(3) == 0
		for range r.IntN(700) {
			start += r.Int64N(1 << 26)
			line = append(line, nearlyUsual(r, start, changes)...)
		}
		line = append(line, num(3, 5)...)
		src := opened(t, msg(1, num(1, 7), appendBytes(nil, 3, line)))
		s := scan(t, src)
		if len(s.Planes[0].Lines[0].segments) > 0 && s.Planes[0].Lines[0].segments[0].usual {
			marked++
		}
		e := &spaceEdit{Planes: []planeEdit{{Lines: []lineEdit{{TimestampNS: ptr(int64(9))}}}}}
		if r.IntN(8) > 0 {
			e.Planes[0].Lines[0].Cursor = steps(t, r).Cursor(r.Int64N(3) * 100_000)
		}
		seen := watch(e, s)
		got, gotSizes := rewritten(t, src, s, e)
		gotSeen := fmt.Sprint(*seen)
		*seen = nil
		want, wantSizes := rewritten(t, src, oneByOne(s), e)
		if !bytes.Equal(got, want) || gotSizes.counts != wantSizes.counts || gotSeen != fmt.Sprint(*seen) {
			t.Fatalf("seed %d: %d bytes, %+v; one by one %d, %+v; or other bytes, or others observed", seed, len(got), gotSizes.counts, len(want), wantSizes.counts)
		}
	}
	if marked < lines/4 || marked == lines {
		t.Fatalf("%d of the lines are marked: the test does not test both", marked)
	}
}

// TestAnEventThatChangesItsMind is stored as a usual one, but what comes behind its stats counts.
func TestAnEventThatChangesItsMind(t *testing.T) {
	for name, c := range map[string]struct {
		tail  []byte
		first int64
		timed int64
		usual bool
	}{
		"stat":        {tail: msg(4, num(1, 1)), first: 10, timed: 1, usual: true},
		"long stat":   {tail: msg(4, num(1, 1), appendBytes(nil, 5, make([]byte, 200))), first: 10, timed: 1, usual: true},
		"unknown":     {tail: num(70, 1), first: 10, timed: 1, usual: true},
		"offset":      {tail: num(2, 99), first: 99, timed: 1},
		"duration":    {tail: num(3, 99), first: 10, timed: 1},
		"occurrences": {tail: num(5, 2)},
	} {
		src := opened(t, msg(1, msg(3, msg(4, num(1, 1), num(2, 10), num(3, 5), c.tail))))
		l := &scan(t, src).Planes[0].Lines[0]
		if l.segments[0].usual != c.usual || l.MinOffsetPS != c.first || l.Timed() != c.timed {
			t.Errorf("%s: usual %v, first %d, %d timed; want %v, %d, %d", name, l.segments[0].usual, l.MinOffsetPS, l.Timed(), c.usual, c.first, c.timed)
		}
	}
}

// TestABatchReadsNothingThatItShouldNot cuts usual events at every place, with bytes behind them that look like more of them.
func TestABatchReadsNothingThatItShouldNot(t *testing.T) {
	whole := msg(4, num(1, 300), num(2, 1<<40), num(3, 1<<30), msg(4, num(1, 1)))
	for n := range len(whole) {
		for _, filler := range []byte{0, 0x22, 0x08, 0x18, 0x80, 0xff} {
			b := append(append([]byte(nil), whole[:n]...), bytes.Repeat([]byte{filler}, pad)...)
			u := &usualBatch{}
			if next := u.read(b, 0, n); next != 0 || u.n != 0 {
				t.Fatalf("of %d bytes, then %#x, it takes %d", n, filler, next)
			}
		}
	}
	u := &usualBatch{}
	for n := range len(whole) - 8 { // the fields behind its end are the line's
		b := append(append([]byte(nil), whole...), make([]byte, pad)...)
		if b[1] = byte(n); u.read(b, 0, len(whole)) != 0 {
			t.Fatalf("an event of %d bytes takes what comes behind it", n)
		}
	}
	b := append(append([]byte(nil), whole...), make([]byte, pad)...)
	if next := u.read(b, 0, len(whole)); next != len(whole) || u.n != 1 || u.off[0] != 1<<40 || u.dur[0] != 1<<30 {
		t.Fatalf("it takes %d bytes, %d + %d ps", next, u.off[0], u.dur[0])
	}
}

// TestNoOffsetIsTooLong maps offsets to values of every length.
func TestNoOffsetIsTooLong(t *testing.T) {
	src := opened(t, msg(1, msg(3, msg(4, num(1, 1), num(2, 1000), num(3, 1000)), msg(4, num(1, 1), num(2, 2000), num(3, 3000)))))
	s := scan(t, src)
	for shift := range 63 {
		for _, y := range []int64{1 << shift, -1 << shift} {
			m, err := clock.New([]clock.Knot{{X: 0, Y: 0}, {X: 1, Y: max(y, 0) / 1000}, {X: math.MaxInt64 / 2, Y: math.MaxInt64 - 1}})
			if err != nil {
				continue
			}
			e := &spaceEdit{Planes: []planeEdit{{Lines: []lineEdit{{Cursor: m.Cursor(min(y, 0) / 1000)}}}}}
			got, _ := rewritten(t, src, s, e)
			want, _ := rewritten(t, src, oneByOne(s), e)
			if !bytes.Equal(got, want) {
				t.Fatalf("target %d: % x, one by one % x", y, got, want)
			}
		}
	}
}
