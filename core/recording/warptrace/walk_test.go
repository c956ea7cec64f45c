package warptrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// walkSide is one recording of a walk under test, in a format.
type walkSide struct {
	format string // "plain", "file", "zstd" or "v2"
	header Header
	warps  []*Warp
	trace  *Trace
}

// makeSide writes and opens a recording.
func makeSide(t *testing.T, format string, h Header, warps []*Warp) *walkSide {
	t.Helper()
	var b []byte
	if format == "v2" {
		h.WaveSize = 32
		b = writeV2As(t, h, someSites(8), warps, never, V2Options{Sections: true}) // each warp has digests of its own there
	} else {
		plain := make([]Warp, len(warps))
		for i := range warps {
			plain[i] = *warps[i]
		}
		b = writeV1(t, h, format == "zstd", plain)
	}
	open := openBytes
	if format == "file" { // which can be mapped
		open = func(b []byte) (*Trace, error) {
			path := filepath.Join(t.TempDir(), "a.prlx")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				return nil, err
			}
			return OpenPath(context.Background(), path)
		}
	}
	trace, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	return &walkSide{format, h, warps, trace}
}

// walkWarp makes a warp that fits v1, with rings.
func walkWarp(rng *rand.Rand, number uint64, capacity int) *Warp {
	n := rng.IntN(capacity + 1)
	w := &Warp{}
	w.reset(WarpInfo{Warp: number, Events: uint32(n), Total: uint64(n), Stored: uint32(n)}, n)
	if n == capacity && rng.IntN(2) == 0 {
		w.Dropped = 3
	}
	w.Total = max(1, w.Total) + w.Dropped
	for i := range n {
		w.Site[i], w.Kind[i], w.Dir[i] = rng.Uint32N(8), site.Kind(rng.IntN(7)), uint8(rng.IntN(2))
		w.Active[i], w.Value[i], w.Type[i], w.Taken[i] = uint64(rng.Uint32()), uint64(rng.Uint32()), TypeBits, 0
		w.Aux[i] = uint16(rng.IntN(3))
	}
	for k := range rng.IntN(5) {
		w.History = append(w.History, HistoryEntry{Site: 7, Value: uint64(k), Seq: uint32(k), Event: -1})
	}
	for e := max(0, n-4); e < n; e++ {
		s := Snapshot{Site: w.Site[e], Event: -1, Seq: uint32(e), Active: 5, Compare: 40, Type: TypeBits, Lhs: make([]uint64, 32), Rhs: make([]uint64, 32)}
		w.Snapshots = append(w.Snapshots, s)
	}
	return w
}

// changed copies a warp and changes one thing of it, or nothing.
func changed(rng *rand.Rand, w *Warp) *Warp {
	c := *w
	c.Site, c.Kind, c.Dir, c.Aux = slices.Clone(w.Site), slices.Clone(w.Kind), slices.Clone(w.Dir), slices.Clone(w.Aux)
	c.Active, c.Value = slices.Clone(w.Active), slices.Clone(w.Value)
	if w.Len() == 0 {
		return &c
	}
	i := rng.IntN(w.Len())
	switch rng.IntN(9) {
	case 0:
		c.Site[i] = (c.Site[i] + 1) % 8
	case 1:
		c.Kind[i] = (c.Kind[i] + 1) % 7
	case 2:
		c.Dir[i] ^= 1
	case 3:
		c.Active[i] ^= 1 << 31
	case 4:
		c.Value[i] ^= 1
	case 5:
		c.Dropped++
		c.Total++
	}
	return &c
}

// walkTwin is Walk by reading everything: what should be visited, and the totals.
func walkTwin(t *testing.T, a, b *walkSide, opt WalkOptions) ([]Pair, WalkStats) {
	t.Helper()
	ctx := context.Background()
	var stats WalkStats
	numbers := map[uint64]bool{}
	in := func(s *walkSide, lost *Losses) map[uint64]WarpInfo {
		index, err := s.trace.Index(ctx)
		if err != nil {
			t.Fatal(err)
		}
		m := map[uint64]WarpInfo{}
		for _, w := range index {
			m[w.Warp], numbers[w.Warp] = w, true
			lost.Events += int64(w.Events)
			lost.Dropped += int64(w.Dropped)
			if w.Dropped > 0 {
				lost.WarpsWithDrops++
			}
		}
		return m
	}
	of := [2]map[uint64]WarpInfo{in(a, &stats.LossesA), in(b, &stats.LossesB)}
	stats.WarpsA, stats.WarpsB = int64(len(of[0])), int64(len(of[1]))
	stats.EventsA, stats.EventsB = stats.LossesA.Events, stats.LossesB.Events
	var pairs []Pair
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		if opt.Warps != nil && !opt.Warps(n) {
			continue
		}
		p := Pair{Warp: n, A: WarpInfo{Warp: n}, B: WarpInfo{Warp: n}}
		if w, ok := of[0][n]; ok {
			p.A, p.HasA = w, true
		}
		if w, ok := of[1][n]; ok {
			p.B, p.HasB = w, true
		}
		stats.Warps++
		if p.HasA && p.HasB && (a.format == "v2") == (b.format == "v2") {
			p.Equal = p.A.Dropped == p.B.Dropped && p.A.Before == p.B.Before && sameColumns(t, a.trace, b.trace, n, opt.Values)
		}
		if p.Equal {
			stats.Equal++
		}
		if !p.Equal || opt.All {
			pairs = append(pairs, p)
		}
	}
	return pairs, stats
}

func sameColumns(t *testing.T, a, b *Trace, warp uint64, values bool) bool {
	t.Helper()
	var wa, wb Warp
	for _, err := range []error{a.ReadWarp(context.Background(), warp, &wa), b.ReadWarp(context.Background(), warp, &wb)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Equal(wa.Site, wb.Site) && slices.Equal(wa.Kind, wb.Kind) && slices.Equal(wa.Dir, wb.Dir) && slices.Equal(wa.Active, wb.Active) &&
		(!values || slices.Equal(wa.Value, wb.Value))
}

// checkDecoded holds what a visited pair decodes to against reading the warp at random.
func checkDecoded(p *Pair, a, b *Trace, opt WalkOptions) error {
	var wa, wb, fromRaw Warp
	if err := p.Decode(&wa, &wb); err != nil {
		return err
	}
	rawA, rawB, raw := p.V1()
	if raw != (a.header.Version == 1 && b.header.Version == 1) {
		return fmt.Errorf("warp %d: raw events: %v", p.Warp, raw)
	}
	for i, got := range []*Warp{&wa, &wb} {
		var want Warp
		if err := []*Trace{a, b}[i].ReadWarp(context.Background(), p.Warp, &want); err != nil {
			return err
		}
		if !opt.Rings {
			want.History, want.Snapshots = nil, nil
		}
		if err := sameContents(got, &want); err != nil {
			return fmt.Errorf("warp %d, side %d: %w", p.Warp, i, err)
		}
		if got.WarpInfo != want.WarpInfo {
			return fmt.Errorf("warp %d, side %d: %+v, want %+v", p.Warp, i, got.WarpInfo, want.WarpInfo)
		}
		if raw {
			events := []V1Events{rawA, rawB}[i]
			events.decode(0, events.Len(), &fromRaw)
			want.History, want.Snapshots = nil, nil
			if err := sameContents(&fromRaw, &want); err != nil {
				return fmt.Errorf("warp %d, side %d, raw: %w", p.Warp, i, err)
			}
		}
	}
	return nil
}

func TestWalkAgreesWithReadingEverything(t *testing.T) {
	formats := []string{"plain", "zstd", "v2", "file"}
	equal := 0
	for seed := range uint64(128) {
		rng := rand.New(rand.NewPCG(seed, 9))
		capacity := []int{1, 5, 300, 5000}[rng.IntN(4)]
		ha, hb := v1TestHeader(1+rng.IntN(20), capacity), v1TestHeader(1+rng.IntN(20), capacity)
		ha.HistoryDepth, ha.SnapshotDepth, hb.SnapshotDepth = 2, 3, 2
		var a, b []*Warp
		for n := range max(ha.WarpSlots, hb.WarpSlots) {
			w := walkWarp(rng, n, capacity)
			if n < ha.WarpSlots && rng.IntN(6) > 0 {
				a = append(a, w)
			}
			if n < hb.WarpSlots && rng.IntN(6) > 0 {
				b = append(b, changed(rng, w))
			}
		}
		sa, sb := makeSide(t, formats[seed%4], ha, a), makeSide(t, formats[seed/4%4], hb, b)
		opt := WalkOptions{Values: rng.IntN(2) == 0, All: rng.IntN(3) == 0, Rings: rng.IntN(2) == 0}
		if rng.IntN(4) == 0 {
			opt.Warps = func(n uint64) bool { return n%3 != 1 }
		}
		want, wantStats := walkTwin(t, sa, sb, opt)
		got := 0
		stats, err := Walk(context.Background(), sa.trace, sb.trace, opt, func(p *Pair) error {
			if got == len(want) {
				return fmt.Errorf("warp %d is visited, which was not expected", p.Warp)
			}
			w := want[got]
			got++
			if p.Warp != w.Warp || p.A != w.A || p.B != w.B || p.HasA != w.HasA || p.HasB != w.HasB || p.Equal != w.Equal {
				return fmt.Errorf("visited %+v, want %+v", p, w)
			}
			return checkDecoded(p, sa.trace, sb.trace, opt)
		})
		if err != nil || got != len(want) {
			t.Fatalf("seed %d, %s against %s, %+v: visited %d warps of %d: %v", seed, sa.format, sb.format, opt, got, len(want), err)
		}
		equal += int(stats.Equal)
		if fmt.Sprint(counts(&stats)) != fmt.Sprint(counts(&wantStats)) {
			t.Fatalf("seed %d, %s against %s: stats are %v, want %v", seed, sa.format, sb.format, counts(&stats), counts(&wantStats))
		}
	}
	if equal < 50 {
		t.Errorf("only %d warps were equal: the test does not test that", equal)
	}
}

// counts are the numbers of WalkStats.
func counts(s *WalkStats) []int64 {
	return []int64{
		s.Warps, s.Equal, s.WarpsA, s.WarpsB, s.EventsA, s.EventsB, s.LossesA.Events, s.LossesA.Dropped, s.LossesA.WarpsWithDrops,
		s.LossesB.Events, s.LossesB.Dropped, s.LossesB.WarpsWithDrops,
	}
}

// fullWarps are warps whose buffers are in use, more than a window of them.
func fullWarps(rng *rand.Rand, n, capacity int) []*Warp {
	warps := make([]*Warp, n)
	for i := range warps {
		for warps[i] == nil || warps[i].Len() < capacity-capacity/8 {
			warps[i] = walkWarp(rng, uint64(i), capacity)
		}
	}
	return warps
}

func TestEventsOfMappedFilesCanBeHeld(t *testing.T) {
	const n, capacity = 40, 5000
	rng := rand.New(rand.NewPCG(5, 4))
	warps := fullWarps(rng, n, capacity)
	a, b := makeSide(t, "file", v1TestHeader(n, capacity), warps), makeSide(t, "file", v1TestHeader(n, capacity), warps)
	type held struct {
		pair *Pair
		want [2][]byte
	}
	var all []held
	if _, err := Walk(context.Background(), a.trace, b.trace, WalkOptions{All: true}, func(p *Pair) error {
		x, y, _ := p.V1()
		if p.Hold() {
			all = append(all, held{p, [2][]byte{bytes.Clone(x), bytes.Clone(y)}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) < n-1 { // the first slot shows that slots are in use
		t.Fatalf("%d of %d warps could be held", len(all), n)
	}
	for _, h := range all {
		if err := file.Guarded(func() error {
			if x, y, _ := h.pair.V1(); !bytes.Equal(x, h.want[0]) || !bytes.Equal(y, h.want[1]) {
				t.Errorf("warp %d: what was held is not what it was", h.pair.Warp)
			}
			return h.pair.Release()
		}); err != nil {
			t.Error(err)
		}
	}
	other := makeSide(t, "plain", v1TestHeader(n, capacity), warps)
	if _, err := Walk(context.Background(), a.trace, other.trace, WalkOptions{All: true}, func(p *Pair) error {
		if p.Hold() {
			t.Error("what lies in a buffer was held")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestAFileThatShrinksUnderAWalk truncates a mapped file while it is compared: pages are gone that the walk reads.
func TestAFileThatShrinksUnderAWalk(t *testing.T) {
	const n, capacity = 40, 5000
	warps := fullWarps(rand.New(rand.NewPCG(6, 4)), n, capacity)
	for _, left := range []int64{0, 100_000, 1_500_000} {
		a, b := makeSide(t, "file", v1TestHeader(n, capacity), warps), makeSide(t, "file", v1TestHeader(n, capacity), warps)
		visits := 0
		_, err := Walk(context.Background(), a.trace, b.trace, WalkOptions{All: true}, func(*Pair) error {
			if visits++; visits == 2 {
				return os.Truncate(b.trace.Path(), left)
			}
			return nil
		})
		if !fault.Is(err, fault.Format) {
			t.Errorf("%d bytes are left: got %v after %d visits", left, err, visits)
		}
	}
}

func TestWalkOfCompressedFilesNeedsNoTemporaryFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	warps := []*Warp{walkWarp(rng, 0, 50), walkWarp(rng, 3, 50)}
	a := makeSide(t, "zstd", v1TestHeader(5, 50), warps)
	b := makeSide(t, "zstd", v1TestHeader(5, 50), []*Warp{warps[0]})
	visited := 0
	if _, err := Walk(context.Background(), a.trace, b.trace, WalkOptions{}, func(p *Pair) error {
		visited++
		return p.Decode(&Warp{}, &Warp{})
	}); err != nil || visited != 1 {
		t.Errorf("visited %d warps (%v), want warp 3 alone", visited, err)
	}
	if a.trace.rec.(*v1).packed != nil {
		t.Error("the walk inflated the file for reading at random")
	}
}

func TestWalkStopsAtTheErrorOfAVisit(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	a := makeSide(t, "plain", v1TestHeader(5, 50), []*Warp{walkWarp(rng, 0, 50), walkWarp(rng, 3, 50)})
	b := makeSide(t, "v2", v1TestHeader(5, 50), nil)
	stop := errors.New("enough")
	visits := 0
	_, err := Walk(context.Background(), a.trace, b.trace, WalkOptions{}, func(*Pair) error { visits++; return stop })
	if !errors.Is(err, stop) || visits != 1 {
		t.Errorf("got %v after %d visits", err, visits)
	}
}

func TestWalkSaysWhatIsCutOff(t *testing.T) {
	h := v1TestHeader(2, 3)
	h.SnapshotDepth = 2
	whole := writeV1(t, h, false, nil)
	cut, err := openBytes(whole[:len(whole)-1])
	if err != nil {
		t.Fatal(err)
	}
	stats, err := Walk(context.Background(), cut, cut, WalkOptions{}, func(*Pair) error { return nil })
	if err != nil || !stats.LossesA.Truncated || len(stats.LossesA.Notes) != 1 {
		t.Errorf("losses are %+v (%v), want a note on the snapshots", stats.LossesA, err)
	}
}

// TestEventsAreTheSameWhateverTheirValues: where values do not count, only control does, at every place of the blocks that are
// compared at once.
func TestEventsAreTheSameWhateverTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	slow := func(a, b V1Events) bool {
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !a.SameControl(i, b, i) {
				return false
			}
		}
		return true
	}
	found := map[bool]int{}
	for range 600 {
		a := make(V1Events, v1EventBytes*(1+r.IntN(3*sameAtOnce/v1EventBytes)))
		for i := range a {
			a[i] = byte(r.Uint32())
		}
		b := slices.Clone(a)
		for range r.IntN(4) {
			at := r.IntN(a.Len()) * v1EventBytes
			b[at+12+r.IntN(4)] ^= byte(1 + r.IntN(255)) // of the value
		}
		if r.IntN(3) == 0 {
			b[r.IntN(len(b))] ^= 1
		}
		if got, want := sameEvents(a, b, false), slow(a, b); got != want {
			t.Fatalf("%d events: the same %v, want %v", a.Len(), got, want)
		} else {
			found[got]++
		}
		if got, want := sameEvents(a, b, true), bytes.Equal(a, b); got != want {
			t.Fatalf("%d events with values: the same %v, want %v", a.Len(), got, want)
		}
		if len(a) > v1EventBytes && sameEvents(a, a[:len(a)-v1EventBytes], false) {
			t.Fatal("streams of two lengths are the same")
		}
	}
	if found[true] < 100 || found[false] < 50 {
		t.Errorf("%v: too few of either to tell", found)
	}
}
