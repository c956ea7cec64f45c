package warptrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/testing/sweep"
)

const movedGroup = 4 // warps of a block of the launch

func movedHeader(slots uint64, wave int) Header {
	h := v2TestHeader(slots)
	h.WaveSize, h.WarpsPerBlock = wave, movedGroup
	return h
}

// movedWarps are warps that load numbers, pass them on through shared memory, and store them: twice what they loaded, too. One in others
// compares something too, 0: none.
func movedWarps(rng *rand.Rand, n, wave, others int) []*Warp {
	var warps []*Warp
	step := 1 + rng.IntN(wave-1)
	for first := 0; first < n; first += movedGroup {
		shared := make([]uint64, movedGroup*wave)
		for i := range shared {
			shared[i] = uint64(0x3f000000 | rng.Uint32N(1<<24))
		}
		for k := range movedGroup {
			w := &Warp{WarpInfo: WarpInfo{Warp: uint64(first + k)}}
			full := fullWave(wave)
			if k == 3 {
				full = full >> 5 // the last warp of a block is not full
			}
			own, passed, twice, at := make([]uint64, wave), make([]uint64, wave), make([]uint64, wave), make([]uint64, wave)
			for l := range wave {
				own[l], passed[l] = shared[k*wave+l], shared[((k+1)%movedGroup)*wave+(l^step)%wave]
				twice[l] = own[l] + 1<<23
				at[l] = 1<<40 + uint64(8*(int(w.Warp)*wave+l))
			}
			w.take(0, RoleLoad, full, at, own)
			w.take(1, RoleStore, full, at, own)
			w.take(2, RoleLoad, full, at, passed)
			w.take(3, RoleStore, full, at, twice)
			if others > 0 && rng.IntN(others) == 0 { // another track
				w.take(0, RoleCompare, full, own, nil)
			}
			warps = append(warps, w)
		}
	}
	return warps
}

// take adds an event with its snapshot. The value is the hash that recorders make.
func (w *Warp) take(local uint32, role SnapshotRole, active uint64, lhs, rhs []uint64) {
	h, typ := uint64(HashStart), TypeHash
	switch role {
	case RoleStore:
		h = HashLanes(HashLanes(h, lhs, active), rhs, active)
	case RoleLoad:
		h = HashLanes(h, rhs, active)
	default:
		typ = TypeU32
	}
	w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, local), append(w.Kind, site.Load), append(w.Dir, 0), append(w.Aux, 0)
	w.Active, w.Taken, w.Value, w.Type = append(w.Active, active), append(w.Taken, active), append(w.Value, h), append(w.Type, typ)
	w.Events, w.Total, w.Stored = w.Events+1, w.Total+1, w.Stored+1
	n := len(w.Snapshots)
	w.Snapshots = append(w.Snapshots, Snapshot{
		Site: local, Event: int32(w.Len() - 1), Seq: uint32(n), Active: active, Compare: site.NoCompare, Role: role, Type: TypeF32, Lhs: slices.Clone(lhs), Rhs: slices.Clone(rhs),
	})
}

// movedFile is a small recording with columns of every mode.
func movedFile(tb testing.TB, seed uint64, warps int) []byte {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	return writeV2(tb, movedHeader(100, 32), someSites(4), movedWarps(rng, warps, 32, 8), never)
}

// TestOperandsComeBack writes operands that kernels move, and random ones, and reads them back.
func TestOperandsComeBack(t *testing.T) {
	modes := map[uint8]int{}
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 12))
		wave := 32 << (seed % 2)
		warps := movedWarps(rng, 4+4*rng.IntN(20), wave, 8)
		for i := range warps {
			switch n := len(warps[i].Snapshots); {
			case seed%5 == 1: // nothing that can be found
				for k := range warps[i].Snapshots {
					for l := range warps[i].Snapshots[k].Lhs {
						warps[i].Snapshots[k].Lhs[l] = rng.Uint64() >> rng.IntN(64)
					}
				}
			case seed%5 == 2: // values that are not hashes
				warps[i].Value[rng.IntN(warps[i].Len())] = rng.Uint64()
			case seed%5 == 3: // snapshots of one event that do not follow each other, and fewer lanes than a warp has
				warps[i].Snapshots[n-1].Event = warps[i].Snapshots[0].Event
				warps[i].Snapshots[1].Lhs = warps[i].Snapshots[1].Lhs[:wave-3]
			}
		}
		at := rng.IntN(len(warps))
		trace := openV2Bytes(t, writeV2(t, movedHeader(100, wave), someSites(4), warps, func(i int) bool { return i == at }))
		var got Warp
		for _, w := range warps {
			if err := trace.ReadWarp(t.Context(), w.Warp, &got); err != nil {
				t.Fatal(seed, err)
			}
			for k := range w.Snapshots {
				if s := &w.Snapshots[k]; len(s.Lhs) < wave {
					s.Lhs = append(s.Lhs, 0, 0, 0)
				}
			}
			if d := warpDiff(w, &got); d != "" {
				t.Fatalf("seed %d, warp %d (-want +got):\n%s", seed, w.Warp, d)
			}
		}
		countModes(t, trace.rec.(*v2), modes)
	}
	for mode := range uint8(operandsModes) {
		if written := mode != valuesTwofold; (modes[mode] > 0) != written {
			t.Errorf("%d columns were stored in mode %d, which is written: %v", modes[mode], mode, written)
		}
	}
}

func countModes(t *testing.T, v *v2, modes map[uint8]int) {
	t.Helper()
	for _, b := range v.blocks {
		if b.head.kind != v2OperandsKind {
			continue
		}
		l, err := v.load(b, &v2Memory{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range l.paths.snapshots.tracks {
			for _, c := range l.paths.snapshots.tracks[i].columns {
				if c.numbers > 0 {
					modes[c.mode()]++
				}
			}
		}
	}
}

// TestWhatIsMovedTakesNoRoom compares the sizes of numbers that were loaded once and seen four times, of others, and of values that are not hashes.
func TestWhatIsMovedTakesNoRoom(t *testing.T) {
	const n, wave = 96, 32
	size := func(change func(rng *rand.Rand, w *Warp)) int {
		rng := rand.New(rand.NewPCG(1, 13))
		warps := movedWarps(rng, n, wave, 0)
		for _, w := range warps {
			change(rng, w)
		}
		return len(writeV2(t, movedHeader(100, wave), someSites(4), warps, never))
	}
	moved := size(func(*rand.Rand, *Warp) {})
	random := size(func(rng *rand.Rand, w *Warp) {
		for _, k := range []int{1, 2, 3} {
			for l := range w.Snapshots[k].Rhs {
				w.Snapshots[k].Rhs[l] = uint64(0x3f000000 | rng.Uint32N(1<<24))
			}
		}
	})
	other := size(func(rng *rand.Rand, w *Warp) {
		for k := range 4 {
			w.Value[k] = rng.Uint64()
		}
	})
	if loaded := 3 * n * wave; moved > loaded+loaded/3 { // three random bytes of each number that is loaded, and a third for all else
		t.Errorf("%d bytes, of which the numbers take %d", moved, loaded)
	}
	if random < moved+5*n*wave/2*3 || other < moved+8*4*n {
		t.Errorf("%d bytes; with numbers that were not seen before %d, with values that cannot be computed %d", moved, random, other)
	}
}

// TestTracksThatLie changes every byte of blocks whose columns refer to each other, with their checksums.
func TestTracksThatLie(t *testing.T) {
	for seed := range sweep.Of[uint64](1, 2) {
		raw := movedFile(t, seed, 8)
		refused := 0
		for _, off := range blocksOf(raw) {
			head, _ := parseV2Head(raw[off:])
			if head.kind != v2OperandsKind {
				continue
			}
			// As it stands, so that a byte of the body is a byte of the body.
			block := plainBlock(t, raw[off:off+v2HeadBytes+int(head.stored)])
			front := slices.Clone(raw[:off])
			for at := v2HeadBytes; at < len(block); at++ {
				for _, flip := range []byte{1, 0x80, 0xff} {
					bad := slices.Concat(front, block)
					bad[off+at] ^= flip
					resealBlock(bad[off:])
					if err := readV2Whole(bad); err != nil && !errors.Is(err, errTruncated) {
						if !expected(err) {
							t.Fatalf("byte %d of a block: %v", at, err)
						}
						refused++
					}
				}
			}
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
	}
}

// plainBlock is a block whose body is not compressed.
func plainBlock(t *testing.T, block []byte) []byte {
	t.Helper()
	head, _ := parseV2Head(block)
	if head.flags&v2Zstd == 0 {
		return slices.Clone(block)
	}
	d, err := zstdDecoder()
	if err != nil {
		t.Fatal(err)
	}
	front := v2HeadBytes + int(head.directory)
	body, err := d.DecodeAll(block[front:], make([]byte, 0, head.inflated))
	if err != nil {
		t.Fatal(err)
	}
	payload := slices.Concat(block[v2HeadBytes:front], body)
	head.flags, head.stored, head.payCRC = 0, uint32(len(payload)), checksum(payload)
	return append(head.append(nil), payload...)
}

// TestTooManyOperandsAreRefused gives a block that would take more memory than any may.
func TestTooManyOperandsAreRefused(t *testing.T) {
	entries := make([]v2Entry, 3)
	for i := range entries {
		entries[i].snapshots = v2MaxSnapshots
	}
	c := &v2Codec{facts: &v2SiteFacts{}, wave: 64}
	body := append(binary.LittleEndian.AppendUint32(nil, 1), 0) // one track, which all warps have
	if err := new(v2Paths).readTracks(c, &planes{body: body}, entries); !errors.Is(err, errTracks) {
		t.Errorf("got %v", err)
	}
	if err := new(v2Paths).readTracks(c, &planes{body: body}, entries[:1]); !errors.Is(err, errSection) {
		t.Errorf("of a warp that may have so many: got %v, want that it is cut short", err)
	}
}

// TestCheckpointsKeepOperands reads a file that a killed writer left.
func TestCheckpointsKeepOperands(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	warps := movedWarps(rng, 12, 32, 8)
	var out bytes.Buffer
	w, err := CreateV2(&out, movedHeader(100, 32), site.NewTable(someSites(4)), V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, warp := range warps {
		if err := w.Append(warp); err != nil {
			t.Fatal(err)
		}
		file := &writerAt{slices.Clone(out.Bytes())}
		if err := w.Checkpoint(file); err != nil {
			t.Fatal(err)
		}
		trace := openV2Bytes(t, file.b)
		var got Warp
		for _, want := range warps[:i+1] {
			if err := trace.ReadWarp(t.Context(), want.Warp, &got); err != nil {
				t.Fatal(err)
			}
			if d := warpDiff(want, &got); d != "" {
				t.Fatalf("after %d warps, warp %d (-want +got):\n%s", i+1, want.Warp, d)
			}
		}
	}
}

// writerAt is a file in memory.
type writerAt struct{ b []byte }

func (f *writerAt) WriteAt(b []byte, off int64) (int, error) {
	if end := int(off) + len(b); end > len(f.b) {
		f.b = append(f.b, make([]byte, end-len(f.b))...)
	}
	return copy(f.b[off:], b), nil
}
