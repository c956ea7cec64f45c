package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/recording/site"
)

// v1Spec is a file of format v1 in the words of its specification. Its methods are a second implementation of the format, slow and
// plain, that shares nothing with the first.
type v1Spec struct {
	flags, slots, perWarp, historyDepth, snapshotDepth, rate uint32
	historyAt, snapshotAt                                    uint32 // as in the header
	arch                                                     uint32
	warps                                                    []v1SpecWarp
}

type v1SpecWarp struct {
	counters  [4]uint32
	events    [][6]uint32 // site, type, dir, reserved, mask, value
	history   v1SpecRing
	snapshots v1SpecRing
}

// v1SpecRing is a ring: its head, and each slot in 32-bit words.
type v1SpecRing struct {
	head  [4]uint32
	slots [][]uint32
}

func le(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// bytes writes the file.
func (s *v1Spec) bytes(t testing.TB) []byte {
	b := le(0, 0x50524C58, 1, s.flags, 0xe8b0d8e2, 0x1234)
	b = append(b, "gemm"...)
	b = append(b, make([]byte, 60)...)
	b = append(b, le(2, 3, 4, 5, 6, 7, 1, s.slots, s.perWarp, 0, 1700000000, 0, s.arch, s.historyDepth, s.historyAt, s.rate, s.snapshotDepth, s.snapshotAt)...)
	body := bytes.Clone(b)
	for _, w := range s.warps {
		body = append(body, le(w.counters[:]...)...)
		for _, e := range w.events {
			body = append(body, le(e[0])...)
			body = append(body, byte(e[1]), byte(e[2]), byte(e[3]), byte(e[3]>>8))
			body = append(body, le(e[4], e[5])...)
		}
	}
	ring := func(at uint32, of func(*v1SpecWarp) *v1SpecRing) {
		if at != 0 {
			body = append(body, make([]byte, int(at)-len(body))...)
		}
		for i := range s.warps {
			r := of(&s.warps[i])
			body = append(body, le(r.head[:]...)...)
			for _, slot := range r.slots {
				body = append(body, le(slot...)...)
			}
		}
	}
	if s.flags&4 != 0 {
		ring(s.historyAt, func(w *v1SpecWarp) *v1SpecRing { return &w.history })
	}
	if s.flags&16 != 0 {
		ring(s.snapshotAt, func(w *v1SpecWarp) *v1SpecRing { return &w.snapshots })
	}
	if s.flags&2 == 0 {
		return body
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return append(b, enc.EncodeAll(body[160:], nil)...)
}

// read is what a reader should see of a warp, Snapshot.Event apart.
func (s *v1Spec) read(n int) Warp {
	w := &s.warps[n]
	var out Warp
	count := min(w.counters[2], s.perWarp)
	for _, e := range w.events[:count] {
		out.Site, out.Kind, out.Dir = append(out.Site, e[0]), append(out.Kind, site.Kind(e[1])), append(out.Dir, uint8(e[2]))
		out.Aux, out.Active, out.Value = append(out.Aux, uint16(e[3])), append(out.Active, uint64(e[4])), append(out.Value, uint64(e[5]))
	}
	valid := func(r v1SpecRing, depth uint32) [][]uint32 {
		entries := slices.Clone(r.slots[:min(r.head[2], r.head[1], depth)])
		slices.SortStableFunc(entries, func(a, b []uint32) int { return int(int64(a[2]) - int64(b[2])) })
		return entries
	}
	if s.flags&4 != 0 {
		for _, e := range valid(w.history, s.historyDepth) {
			out.History = append(out.History, HistoryEntry{Site: e[0], Value: uint64(e[1]), Seq: e[2], Event: -1})
		}
	}
	if s.flags&16 != 0 {
		for _, e := range valid(w.snapshots, s.snapshotDepth) {
			snap := Snapshot{Site: e[0], Active: uint64(e[1]), Seq: e[2], Compare: site.Compare(e[3]), Type: TypeBits}
			if e[3] >= 255 {
				snap.Compare = site.NoCompare
			}
			for lane := range 32 {
				snap.Lhs, snap.Rhs = append(snap.Lhs, uint64(e[4+lane])), append(snap.Rhs, uint64(e[36+lane]))
			}
			out.Snapshots = append(out.Snapshots, snap)
		}
	}
	return out
}

// randomV1 makes a file with any flags, counters that lie, rings that wrapped, sections with gaps before them.
func randomV1(rng *rand.Rand) *v1Spec {
	s := &v1Spec{flags: rng.Uint32N(32), slots: 1 + rng.Uint32N(7), perWarp: rng.Uint32N(9), rate: rng.Uint32N(4), arch: []uint32{0, 90, 906, 0x1030}[rng.IntN(4)]}
	s.historyDepth, s.snapshotDepth = rng.Uint32N(4), rng.Uint32N(4)
	if s.historyDepth == 0 {
		s.flags &^= 4
	}
	if s.snapshotDepth == 0 {
		s.flags &^= 16
	}
	end := 160 + s.slots*(16+16*s.perWarp)
	if s.flags&4 != 0 {
		if rng.IntN(2) == 0 {
			s.historyAt = end + rng.Uint32N(30)
			end = s.historyAt
		}
		end += s.slots * (16 + 16*s.historyDepth)
	}
	if s.flags&16 != 0 && rng.IntN(2) == 0 {
		s.snapshotAt = end + rng.Uint32N(30)
	}
	for range s.slots {
		var w v1SpecWarp
		if n := rng.Uint32N(s.perWarp + 4); rng.IntN(3) > 0 {
			w.counters = [4]uint32{rng.Uint32(), rng.Uint32N(2), n, n}
		}
		for range s.perWarp {
			w.events = append(w.events, [6]uint32{rng.Uint32N(4), rng.Uint32N(8), rng.Uint32N(2), rng.Uint32N(1 << 16), rng.Uint32(), rng.Uint32()})
		}
		w.history, w.snapshots = randomRing(rng, s.historyDepth, 4), randomRing(rng, s.snapshotDepth, 72)
		s.warps = append(s.warps, w)
	}
	return s
}

func randomRing(rng *rand.Rand, depth uint32, words int) v1SpecRing {
	total := rng.Uint32N(2*depth + 1)
	r := v1SpecRing{head: [4]uint32{0, depth, total, 0}}
	if rng.IntN(5) == 0 {
		r.head[1] = rng.Uint32N(depth + 1) // a head that contradicts the header
	}
	for range depth {
		slot := make([]uint32, words)
		for i := range slot {
			slot[i] = rng.Uint32()
		}
		slot[0], slot[3] = rng.Uint32N(4), rng.Uint32N(300)
		r.slots = append(r.slots, slot)
	}
	return r
}

// sameContents compares what a reader got with what it should have got, Snapshot.Event apart.
func sameContents(got, want *Warp) error {
	columns := func(w *Warp) [][]uint64 {
		c := [][]uint64{nil, nil, nil, nil, w.Active, w.Value}
		for i := range w.Site {
			c[0], c[1] = append(c[0], uint64(w.Site[i])), append(c[1], uint64(w.Kind[i]))
			c[2], c[3] = append(c[2], uint64(w.Dir[i])), append(c[3], uint64(w.Aux[i]))
		}
		return c
	}
	for i, c := range columns(got) {
		if !slices.Equal(c, columns(want)[i]) {
			return fmt.Errorf("column %d is %v, want %v", i, c, columns(want)[i])
		}
	}
	if !slices.Equal(got.History, want.History) {
		return fmt.Errorf("history is %v, want %v", got.History, want.History)
	}
	if len(got.Snapshots) != len(want.Snapshots) {
		return fmt.Errorf("%d snapshots, want %d", len(got.Snapshots), len(want.Snapshots))
	}
	for i, s := range got.Snapshots {
		w := want.Snapshots[i]
		s.Event, w.Event = 0, 0
		if lanes := len(s.Lhs); lanes == 64 && len(w.Lhs) == 32 { // upper lanes that v1 does not hold
			w.Lhs, w.Rhs = append(w.Lhs, make([]uint64, 32)...), append(w.Rhs, make([]uint64, 32)...)
		}
		if !reflect.DeepEqual(s, w) {
			return fmt.Errorf("snapshot %d is %+v, want %+v", i, s, w)
		}
	}
	return nil
}

func TestV1ReadsWhatTheSpecificationSays(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(400) {
		spec := randomV1(rand.New(rand.NewPCG(seed, 11)))
		trace, err := openBytes(spec.bytes(t))
		if err != nil {
			t.Fatalf("seed %d, flags %#x: %v", seed, spec.flags, err)
		}
		var stored, events int64
		for n := range spec.warps {
			var got Warp
			if err := trace.ReadWarp(ctx, uint64(n), &got); err != nil {
				t.Fatalf("seed %d, warp %d: %v", seed, n, err)
			}
			want := spec.read(n)
			stored += int64(spec.warps[n].counters[2])
			events += int64(want.Len())
			if c := spec.warps[n].counters; c[1]|c[2]|c[3] == 0 {
				want.History, want.Snapshots = nil, nil // rings of warps that recorded nothing do not count
			}
			if err := sameContents(&got, &want); err != nil {
				t.Fatalf("seed %d, flags %#x, warp %d: %v", seed, spec.flags, n, err)
			}
			if sampled := spec.flags&8 != 0 && spec.rate > 1; trace.Header().SampleRate > 1 != sampled {
				t.Fatalf("seed %d: sample rate is %d", seed, trace.Header().SampleRate)
			}
		}
		index, err := trace.Index(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range index {
			stored -= int64(index[i].Stored)
		}
		if lost, err := trace.Losses(ctx); err != nil || stored != 0 || lost.Events != events || lost.Truncated {
			t.Fatalf("seed %d: losses are %+v (%v), want %d events; the index lacks %d stored events", seed, lost, err, events, stored)
		}
		trace.Close()
	}
}

// TestV1SnapshotsBelongToTheirEvents writes a snapshot with every event of some sites, keeps the newest in a ring, and expects each to
// find its event again, or none where that cannot be known.
func TestV1SnapshotsBelongToTheirEvents(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 12))
		n, depth := 1+rng.IntN(40), 1+rng.IntN(12)
		var w Warp
		w.reset(WarpInfo{Events: uint32(n), Total: uint64(n)}, n)
		var all []Snapshot // with their events
		for e := range n {
			w.Site[e] = uint32(rng.IntN(4))
			if w.Site[e] < 3 {
				all = append(all, Snapshot{Site: w.Site[e], Event: int32(e), Seq: uint32(len(all))})
			}
		}
		kept := all[max(0, len(all)-depth):]
		for _, s := range kept {
			s.Event = -1
			w.Snapshots = append(w.Snapshots, s)
		}
		attachSnapshots(&w, false, len(all) > depth)
		for i, s := range w.Snapshots {
			if s.Event != kept[i].Event {
				t.Fatalf("seed %d: snapshot %d of site %d belongs to event %d, want %d", seed, i, s.Site, s.Event, kept[i].Event)
			}
		}
	}
}

func TestV1SnapshotsWithoutACertainEventHaveNone(t *testing.T) {
	for _, c := range []struct {
		name             string
		change           func(*Warp)
		sampled, wrapped bool
		certain          bool
	}{
		{"one per site and event", func(*Warp) {}, false, false, true},
		{"events were dropped", func(w *Warp) { w.Dropped = 1 }, false, false, false},
		{"the count in the file exceeds the buffer", func(w *Warp) { w.Stored = 9 }, false, false, false},
		{"sampled", func(*Warp) {}, true, false, false},
		{"more snapshots than events", func(w *Warp) { w.Site[0] = 8 }, false, true, false},
		{"fewer snapshots than events, none overwritten", func(w *Warp) { w.Snapshots = w.Snapshots[1:] }, false, false, false},
		{"fewer snapshots than events, the rest overwritten", func(w *Warp) { w.Snapshots = w.Snapshots[1:] }, false, true, true},
	} {
		var w Warp
		w.reset(WarpInfo{Events: 2, Total: 2, Stored: 2}, 2)
		w.Site[0], w.Site[1] = 5, 5
		w.Snapshots = []Snapshot{{Site: 5, Event: -1}, {Site: 5, Event: -1, Seq: 1}}
		c.change(&w)
		attachSnapshots(&w, c.sampled, c.wrapped)
		if last := w.Snapshots[len(w.Snapshots)-1].Event; c.certain && last != 1 || !c.certain && last != -1 {
			t.Errorf("%s: the newest snapshot belongs to event %d, certain %v", c.name, last, c.certain)
		}
	}
}
