package align

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// moment is one event: its interval in ps from the line's base.
type moment struct{ start, end int64 }

// nested returns n intervals of which any two are disjoint, touch or contain one another, with ties of all kinds: the same start,
// the same end, the same interval, no length.
func nested(r *rand.Rand, n int, start, end int64) []moment {
	out := make([]moment, 0, n)
	var fill func(n int, start, end int64)
	fill = func(n int, start, end int64) {
		for n > 0 {
			own := min(n, 1+r.IntN(1+n/2)) // this one and what is inside it
			width := (end - start) / int64(n) * int64(own)
			m := moment{start, start + width}
			switch r.IntN(6) {
			case 0: // no length
				m.end = m.start
			case 1: // touches its neighbour
			case 2, 3:
				m.start += width / 16
			default:
				m.start, m.end = m.start+width/16, m.end-width/8
			}
			out = append(out, m)
			fill(own-1, m.start, m.end)
			start, n = start+width, n-own
		}
	}
	fill(n, start, end)
	return out
}

// encode writes a file with the events on a device line and again, in another order, on a host line.
func encode(device, host []moment, timestampNS int64) []byte {
	varint := func(b []byte, field protowire.Number, v int64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
	}
	message := func(b []byte, field protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
	}
	var file, event []byte
	for i, events := range [][]moment{device, host} {
		line := varint(nil, 3, timestampNS)
		for _, m := range events {
			event = varint(varint(varint(event[:0], 1, 1), 2, m.start), 3, m.end-m.start)
			line = message(line, 4, event)
		}
		plane := message(nil, 2, []byte([]string{"/device:GPU:0", "/host:CPU"}[i]))
		file = message(file, 1, message(plane, 3, line))
	}
	return file
}

// moments reads the lines back.
func moments(t *testing.T, b []byte) [][]moment {
	t.Helper()
	src, space := scanned(t, b)
	var out [][]moment
	for i := range space.Planes {
		p := &space.Planes[i]
		var ms []moment
		err := xspace.EventsOf(context.Background(), src, p, &p.Lines[0], xspace.EventOptions{}, func(e *xspace.Event) error {
			ms = append(ms, moment{e.OffsetPS, e.OffsetPS + e.DurationPS})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ms)
	}
	return out
}

func scanned(t *testing.T, b []byte) (*file.Source, *xspace.Space) {
	t.Helper()
	src, err := file.FromBytes("order.xplane.pb", b)
	if err != nil {
		t.Fatal(err)
	}
	space, err := xspace.Scan(context.Background(), src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return src, space
}

// wild returns a map over span ns with rates from 0 to 3, pieces shorter than an event and pieces far longer, and tails.
func wild(t *testing.T, r *rand.Rand, base, span int64, opts ...clock.Option) *clock.Map {
	t.Helper()
	var knots []clock.Knot
	for x, y := base+span/20, base+r.Int64N(1e9)-5e8; x < base+span*19/20; {
		knots = append(knots, clock.Knot{X: x, Y: y, BoundNS: r.Int64N(1000)})
		dx := 1 + r.Int64N(span/[]int64{5, 100, 10_000}[r.IntN(3)])
		x += dx
		y += []int64{0, dx, dx + dx/10_000, dx - dx/20_000, 3 * dx, dx / 7}[r.IntN(6)]
	}
	m, err := clock.New(knots, append(opts, clock.WithTails(clock.Drift(r.Int64N(2e8)-1e8), clock.Drift(r.Int64N(2e8)-1e8), 1000))...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// instant pairs an instant (a start or an end) before and after.
type instant struct{ before, after int64 }

// TestOrderAndContainmentSurviveEveryMap: all instants of a line, starts and ends alike, stay in order through the whole rewriting,
// and equal ones stay equal. That keeps the start order and the containment of every pair of events. Where an event is stored does
// not matter: the two lines hold the same events in different orders and give the same result.
func TestOrderAndContainmentSurviveEveryMap(t *testing.T) {
	const base, span = int64(1_760_000_000_000_000_000), int64(2_000_000_000)
	batch, batches := sweep.Of(100_000, 500_000), sweep.Of(5, 10)
	total := 0
	for k := range batches {
		r := rand.New(rand.NewPCG(uint64(k), 5))
		ordered := nested(r, batch, r.Int64N(1000), span*1000)
		stored := slices.Clone(ordered)
		r.Shuffle(len(stored), func(i, j int) { stored[i], stored[j] = stored[j], stored[i] })
		m := wild(t, r, base, span)
		out, stats := realigned(t, encode(ordered, stored, base), Clocks{Wall: m})
		if stats.EventsClamped != 0 || stats.Timed != int64(2*batch) {
			t.Fatalf("batch %d: %d of %d events are clamped by a monotone map", k, stats.EventsClamped, stats.Timed)
		}
		got := moments(t, out)
		var all []instant
		for line, before := range [][]moment{ordered, stored} {
			if len(got[line]) != len(before) {
				t.Fatalf("batch %d: %d events of %d on line %d", k, len(got[line]), len(before), line)
			}
			for i, m := range before {
				all = append(all, instant{m.start, got[line][i].start}, instant{m.end, got[line][i].end})
			}
		}
		if a, b, ok := firstDisorder(all); !ok {
			t.Fatalf("batch %d: the instants %d and %d became %d and %d", k, a.before, b.before, a.after, b.after)
		}
		total += 2 * batch
	}
	t.Logf("%d events", total)
}

// firstDisorder finds two instants of which the first is not later, but becomes later, or equal ones that become different.
func firstDisorder(all []instant) (a, b instant, ok bool) {
	slices.SortFunc(all, func(a, b instant) int { return compare(a.before, b.before) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if b.after < a.after || b.before == a.before && b.after != a.after {
			return a, b, false
		}
	}
	return a, b, true
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// realigned rewrites a file and merges the statistics of its lines. Offsets of the output count from the same instant on all lines.
func realigned(t *testing.T, b []byte, c Clocks) ([]byte, *Stats) {
	t.Helper()
	src, space := scanned(t, b)
	edit, lines := PlanLines(space.Layout(), 0, c, HostTime).Edit(0, nil, EventStats{})
	path := filepath.Join(t.TempDir(), "out.xplane.pb")
	created, _, err := space.WriteFile(context.Background(), src, edit, func() (*file.Output, error) { return file.Create(path, false) })
	if err != nil {
		t.Fatal(err)
	}
	if err := created.Commit(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var total Stats
	for _, s := range lines {
		total.Merge(s)
	}
	return out, &total
}

// TestClocksThatGoBackwardsClampAndSaySo: order is kept by force, and every event in the forced interval is counted and listed.
func TestClocksThatGoBackwardsClampAndSaySo(t *testing.T) {
	const base = int64(1_760_000_000_000_000_000)
	m, err := clock.New([]clock.Knot{{X: base, Y: base}, {X: base + 1000, Y: base + 2000}, {X: base + 2000, Y: base + 1500}, {X: base + 3000, Y: base + 3000}}, clock.WithClamps())
	if err != nil {
		t.Fatal(err)
	}
	var events []moment
	for i := range int64(300) {
		events = append(events, moment{i * 10_000, i*10_000 + 5000})
	}
	out, stats := realigned(t, encode(events, nil, base), Clocks{Wall: m})
	if stats.EventsClamped != 100 || len(stats.Clamps) != 100 {
		t.Errorf("%d events are clamped, %d listed, want the 100 between the knots that go backwards", stats.EventsClamped, len(stats.Clamps))
	}
	for _, c := range stats.Clamps {
		if c.OffsetPS < 1_000_000 || c.OffsetPS >= 2_000_000 || c.Plane != "/device:GPU:0" || c.BoundNS < (c.OffsetPS-1_000_000)/2000 {
			t.Errorf("clamped %+v, want an offset from 1 to 2 us and a bound that reaches the 500 ns that were subtracted", c)
		}
	}
	var all []instant
	for i, m := range moments(t, out)[0] {
		all = append(all, instant{events[i].start, m.start}, instant{events[i].end, m.end})
	}
	if a, b, ok := firstDisorder(all); !ok {
		t.Errorf("the instants %d and %d became %d and %d", a.before, b.before, a.after, b.after)
	}
}
