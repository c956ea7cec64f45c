package warptrace

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
)

// TestV1FileIsSpelledOut writes one warp of one event with both rings and holds every byte against the specification.
func TestV1FileIsSpelledOut(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("00", n) }
	want := "00000000584c5250" + "01000000" + "1c000000" + // magic, version, HISTORY | SAMPLED | SNAPSHOT
		"8afd01864ce663af" + "6b" + zeros(63) + // FNV-1a of "k", the name
		"010000000200000003000000" + "040000000500000006000000" + // grid, block
		"07000000" + "01000000" + "01000000" + "00000000" + // warps per block, slots, capacity, padding
		"00f1536500000000" + "5a000000" + // time, architecture
		"02000000" + "00000000" + "04000000" + "01000000" + "00000000" + // history, its place, rate, snapshots, their place
		"03000000" + "02000000" + "01000000" + "09000000" + // the warp: claimed, lost, kept, happened
		"44332211" + "02" + "01" + "6655" + "feffffff" + "efbeadde" + // the event
		"01000000" + "02000000" + "03000000" + "00000000" + // history: next slot, depth, written
		"08000000" + "22000000" + "02000000" + "00000000" + // entry 2 in slot 0
		"08000000" + "11000000" + "01000000" + "00000000" + // entry 1 in slot 1
		"00000000" + "01000000" + "01000000" + "00000000" + // snapshots
		"44332211" + "03000000" + "00000000" + "28000000" + // site, mask, number, icmp slt
		"aa000000" + zeros(4*31) + zeros(4*30) + "bb000000" + "cc000000" + zeros(16)
	var w Warp
	w.reset(WarpInfo{Events: 1, Total: 9, Dropped: 2, Stored: 1}, 1)
	w.Site[0], w.Kind[0], w.Dir[0], w.Aux[0], w.Active[0], w.Value[0] = 0x11223344, site.Atomic, 1, 0x5566, 0xfffffffe, 0xdeadbeef
	w.History = []HistoryEntry{{Site: 8, Value: 0x11, Seq: 1}, {Site: 8, Value: 0x22, Seq: 2}}
	w.Snapshots = []Snapshot{{Site: 0x11223344, Active: 3, Compare: 40, Lhs: make([]uint64, 32), Rhs: make([]uint64, 32)}}
	w.Snapshots[0].Lhs[0], w.Snapshots[0].Rhs[30], w.Snapshots[0].Rhs[31] = 0xaa, 0xbb, 0xcc
	h := Header{
		Kernel: "k", Grid: [3]uint32{1, 2, 3}, Block: [3]uint32{4, 5, 6}, WarpsPerBlock: 7, WarpSlots: 1, EventsPerWarp: 1, ArchNumber: 90,
		TimestampNS: 0x6553f100 * 1_000_000_000, SampleRate: 4, HistoryDepth: 2, SnapshotDepth: 1,
	}
	got := hex.EncodeToString(writeV1(t, h, false, []Warp{w}))
	for i := 0; i < max(len(got), len(want)); i += 8 {
		if g, w := got[min(i, len(got)):min(i+8, len(got))], want[min(i, len(want)):min(i+8, len(want))]; g != w {
			t.Errorf("byte %d: %s, want %s", i/2, g, w)
		}
	}
}

// TestV1CopiesAreBitExact reads files as recorders write them and writes what was read.
func TestV1CopiesAreBitExact(t *testing.T) {
	for seed := range uint64(200) {
		spec := recordedV1(rand.New(rand.NewPCG(seed, 13)))
		want := spec.bytes(t)
		trace, err := openBytes(want)
		if err != nil {
			t.Fatal(err)
		}
		index, err := trace.Index(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		warps := make([]Warp, len(index))
		for i := range index {
			if err := trace.ReadWarp(context.Background(), index[i].Warp, &warps[i]); err != nil {
				t.Fatal(err)
			}
		}
		if got := writeV1(t, *trace.Header(), false, warps); !bytes.Equal(got, want) {
			at := 0
			for got[at] == want[at] {
				at++
			}
			t.Fatalf("seed %d, flags %#x: the copy differs from byte %d on", seed, spec.flags, at)
		}
	}
}

// recordedV1 makes a file as recorders do: counters that agree, rings filled in order, nothing behind what is used.
func recordedV1(rng *rand.Rand) *v1Spec {
	s := &v1Spec{slots: 1 + rng.Uint32N(7), perWarp: 1 + rng.Uint32N(9), rate: 1, arch: 80}
	if rng.IntN(2) == 0 {
		s.flags, s.rate = s.flags|8, 2+rng.Uint32N(9)
	}
	if rng.IntN(2) == 0 {
		s.flags, s.historyDepth = s.flags|4, 1+rng.Uint32N(4)
	}
	if rng.IntN(2) == 0 {
		s.flags, s.snapshotDepth = s.flags|16, 1+rng.Uint32N(4)
	}
	for range s.slots {
		var w v1SpecWarp
		claimed := rng.Uint32N(2 * s.perWarp)
		kept := min(claimed, s.perWarp)
		w.counters = [4]uint32{claimed, claimed - kept, kept, claimed * s.rate}
		w.events = make([][6]uint32, s.perWarp)
		for i := range kept {
			w.events[i] = [6]uint32{rng.Uint32(), rng.Uint32N(7), rng.Uint32N(2), rng.Uint32N(1 << 16), rng.Uint32(), rng.Uint32()}
		}
		w.history, w.snapshots = recordedRing(rng, s.historyDepth, 4, claimed), recordedRing(rng, s.snapshotDepth, 72, claimed)
		s.warps = append(s.warps, w)
	}
	return s
}

func recordedRing(rng *rand.Rand, depth uint32, words int, claimed uint32) v1SpecRing {
	r := v1SpecRing{head: [4]uint32{0, depth, 0, 0}, slots: make([][]uint32, depth)}
	for i := range r.slots {
		r.slots[i] = make([]uint32, words)
	}
	if depth == 0 || claimed == 0 {
		return r
	}
	total := rng.Uint32N(3 * depth)
	for n := range total {
		slot := r.slots[n%depth]
		slot[0], slot[1], slot[2] = rng.Uint32(), rng.Uint32(), n
		if words == 72 {
			slot[3] = 32 + rng.Uint32N(10)
			for i := 4; i < 68; i++ {
				slot[i] = rng.Uint32()
			}
		}
	}
	r.head[0], r.head[2] = total%depth, total
	return r
}

func TestV1WriterRefuses(t *testing.T) {
	create := func(h Header) (*V1Writer, error) { return CreateV1(&bytes.Buffer{}, h, V1Options{}) }
	number := func(n uint64) *Warp { return &Warp{WarpInfo: WarpInfo{Warp: n}} }
	w, err := create(v1TestHeader(4, 4))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(number(4)); !fault.Is(err, fault.Usage) {
		t.Errorf("a warp that does not exist: %v", err)
	}
	if err := w.Append(number(2)); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(number(2)); !fault.Is(err, fault.Usage) {
		t.Errorf("a warp twice: %v", err)
	}
	big := v1TestHeader(1, 1)
	big.WarpSlots = 1 << 32
	if _, err := create(big); !fault.Is(err, fault.Limit) {
		t.Errorf("2^32 warps: %v", err)
	}
	deep := v1TestHeader(1, 1)
	deep.SnapshotDepth = 1 << 20
	if _, err := create(deep); !fault.Is(err, fault.Limit) {
		t.Errorf("a ring of 2^20: %v", err)
	}
}

// failing fails once so many bytes were written.
type failing int

var errFull = errors.New("disk full")

func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestV1WriterReturnsTheErrorsOfItsOutput(t *testing.T) {
	for room := failing(0); room < 1000; room += 90 {
		for _, compress := range []bool{false, true} {
			h := v1TestHeader(9, 20)
			h.HistoryDepth = 3
			out := room
			w, err := CreateV1(&out, h, V1Options{Compress: compress})
			if err == nil {
				for _, warp := range someWarps(rand.New(rand.NewPCG(1, 1)), 9, 20) {
					if err = w.Append(&warp); err != nil {
						break
					}
				}
			}
			if err == nil {
				err = w.Close()
			}
			if !errors.Is(err, errFull) {
				t.Errorf("room for %d bytes, compressed %v: %v", room, compress, err)
			}
		}
	}
}

// TestV1RingsWaitInAFile writes more snapshots than are held in memory.
func TestV1RingsWaitInAFile(t *testing.T) {
	const warps, depth = 150, 600 // 26 MB
	h := v1TestHeader(warps, 1)
	h.SnapshotDepth = depth
	list := make([]Warp, warps)
	for i := range list {
		list[i].reset(WarpInfo{Warp: uint64(i), Total: 1}, 0)
		for k := range depth - i%3 {
			list[i].Snapshots = append(list[i].Snapshots, Snapshot{Site: uint32(i), Seq: uint32(k), Active: uint64(i ^ k), Event: -1, Compare: site.NoCompare})
		}
	}
	trace, err := openBytes(writeV1(t, h, false, list))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		var got Warp
		if err := trace.ReadWarp(context.Background(), uint64(i), &got); err != nil || len(got.Snapshots) != len(list[i].Snapshots) {
			t.Fatalf("warp %d has %d snapshots (%v), want %d", i, len(got.Snapshots), err, len(list[i].Snapshots))
		}
		for k, s := range got.Snapshots {
			if s.Site != uint32(i) || s.Seq != uint32(k) || s.Active != uint64(i^k) {
				t.Fatalf("warp %d, snapshot %d: %+v", i, k, s)
			}
		}
	}
}
