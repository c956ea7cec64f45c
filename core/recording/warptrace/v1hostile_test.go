package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/safe"
)

// patched returns a copy with 32-bit words of the header changed.
func patched(b []byte, words map[int]uint32) []byte {
	b = bytes.Clone(b)
	for at, v := range words {
		binary.LittleEndian.PutUint32(b[at:], v)
	}
	return b
}

func TestV1HostileFilesAreRefusedWithAKind(t *testing.T) {
	warps := someWarps(rand.New(rand.NewPCG(5, 5)), 3, 4)
	plain := writeV1(t, v1TestHeader(3, 4), false, warps)
	packed := writeV1(t, v1TestHeader(3, 4), true, warps)
	const version, flags, slots, perWarp, historyDepth, historyAt, snapshotDepth, snapshotAt = 8, 12, 116, 120, 140, 144, 152, 156
	cut := func(b []byte, n int) []byte { return b[:len(b)-n] }
	frame := func(payload []byte) []byte {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer enc.Close()
		return append(bytes.Clone(packed[:160]), enc.EncodeAll(payload, nil)...)
	}
	for _, c := range []struct {
		name string
		b    []byte
		kind fault.Kind
		want string
	}{
		{"empty", nil, fault.Format, "empty"},
		{"another file", []byte("MZ\x90\x00 this is a program"), fault.Format, "not a recording"},
		{"the magic alone", plain[:8], fault.Format, "ends inside the header"},
		{"a header cut short", plain[:159], fault.Format, "159 bytes"},
		{"version 0", patched(plain, map[int]uint32{version: 0}), fault.Format, "version is 0"},
		{"version 2 in the layout of 1", patched(plain, map[int]uint32{version: 2}), fault.Format, "version is 2"},
		{"no events at all", plain[:160], fault.Format, "cut short"},
		{"one byte short", cut(plain, 1), fault.Format, "cut short"},
		{"2^32-1 slots", patched(plain, map[int]uint32{slots: 1<<32 - 1}), fault.Format, "cut short"},
		{"2^32-1 events per warp", patched(plain, map[int]uint32{perWarp: 1<<32 - 1}), fault.Limit, "events_per_warp"},
		{"both", patched(plain, map[int]uint32{slots: 1<<32 - 1, perWarp: 1<<32 - 1}), fault.Limit, "fit"},
		{"a history of 2^32-1", patched(plain, map[int]uint32{flags: 4, historyDepth: 1<<32 - 1}), fault.Limit, "deep"},
		{"snapshots of 2^32-1", patched(plain, map[int]uint32{flags: 16, snapshotDepth: 1<<32 - 1}), fault.Limit, "deep"},
		{"a history inside the header", patched(plain, map[int]uint32{flags: 4, historyDepth: 1, historyAt: 159}), fault.Format, "inside the header"},
		{"snapshots inside the header", patched(plain, map[int]uint32{flags: 16, snapshotDepth: 1, snapshotAt: 8}), fault.Format, "inside the header"},
		{"compressed, one byte short", cut(packed, 1), fault.Format, "cut short"},
		{"compressed, no frame", packed[:160], fault.Format, "cut short"},
		{"compressed, said of plain events", patched(plain, map[int]uint32{flags: 2}), fault.Format, "corrupt"},
		{"plain, said of compressed events", patched(packed, map[int]uint32{flags: 0}), fault.Format, "cut short"},
		{"compressed, garbage behind the frame", append(bytes.Clone(packed), "garbage"...), fault.Format, "corrupt"},
		{"compressed, a flipped bit", flipped(packed), fault.Format, "corrupt"},
		{"compressed, more slots than events", patched(packed, map[int]uint32{slots: 4}), fault.Format, "cut short"},
		{"compressed, fewer slots than events", patched(packed, map[int]uint32{slots: 2}), fault.Format, "more than"},
		{"compressed, 2^32-1 slots", patched(packed, map[int]uint32{slots: 1<<32 - 1, perWarp: 4096}), fault.Limit, "inflate"},
		{"compressed, one event short", frame(cut(plain[160:], 16)), fault.Format, "cut short"},
		{"compressed, one event more", frame(append(bytes.Clone(plain[160:]), make([]byte, 16)...)), fault.Format, "more than"},
		{"compressed, sections that overlap", patched(packed, map[int]uint32{flags: 2 | 4, historyDepth: 1, historyAt: 200}), fault.Format, "overlaps"},
	} {
		err := readAll(c.b)
		if err == nil || fault.Of(err).Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a %s error with %q", c.name, err, c.kind, c.want)
		}
	}
}

// flipped changes a bit in the middle of a compressed file until it no longer inflates to anything.
func flipped(packed []byte) []byte {
	b := bytes.Clone(packed)
	b[len(b)-1] ^= 0x80 // of the frame's checksum
	return b
}

// streamed compresses a payload without saying how large it is, as a bomb would.
func streamed(t *testing.T, header []byte, payload io.Reader) []byte {
	t.Helper()
	out := bytes.NewBuffer(bytes.Clone(header))
	enc, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(enc, payload); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// repeated yields one byte for ever.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestV1GigabyteOfZerosIsReadInLittleMemory(t *testing.T) {
	const slots, perWarp = 16384, 4095 // 65,536 bytes per warp
	header := writeV1(t, v1TestHeader(1, 1), true, nil)[:160]
	header = patched(header, map[int]uint32{116: slots, 120: perWarp})
	zeros := streamed(t, header, io.LimitReader(repeated(0), 1<<30))
	more := streamed(t, patched(header, map[int]uint32{116: 16}), io.LimitReader(repeated(0), 1<<28))
	if len(zeros) > 1<<20 {
		t.Fatalf("a gigabyte of zeros takes %d bytes", len(zeros))
	}
	held := measured(func() {
		if err := readAll(zeros); err != nil {
			t.Errorf("zeros: %v", err)
		}
		if err := readAll(more); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("zeros beyond what the header implies: %v", err)
		}
	})
	if held > 64<<20 {
		t.Errorf("%d MB of heap for it", held>>20)
	}
	t.Logf("index, walk and rings: %d KB of heap", held>>10)
}

func TestV1BombOfEventsIsRefused(t *testing.T) {
	header := writeV1(t, v1TestHeader(1, 1), true, nil)[:160]
	header = patched(header, map[int]uint32{116: 64, 120: 4095})
	full := streamed(t, header, io.LimitReader(repeated(0xff), 64<<16)) // 4 MiB, all of it in use
	for _, c := range []struct {
		free    int64
		refused bool
	}{{8 << 20, false}, {1 << 20, true}} {
		trace, err := openBytes(full)
		if err != nil {
			t.Fatal(err)
		}
		trace.rec.(*v1).packFree = c.free
		_, err = trace.Index(context.Background())
		if refused := fault.Is(err, fault.Limit) && fault.Of(err).Hint != ""; refused != c.refused || !refused && err != nil {
			t.Errorf("%d bytes may be kept: got %v, want a limit error that says what to do: %v", c.free, err, c.refused)
		}
		trace.Close()
	}
}

// measured runs f and returns how much larger the heap became while it ran.
func measured(f func()) (held uint64) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	group, _ := safe.NewGroup(context.Background())
	group.Go(func() error {
		for {
			select {
			case <-done:
				return nil
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&now)
				held = max(held, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
			}
		}
	})
	f()
	close(done)
	_ = group.Wait()
	return held
}

// TestV1SparseFileIsNotReadWhole opens 6.5 GB, nearly all of it holes.
func TestV1SparseFileIsNotReadWhole(t *testing.T) {
	const slots, perWarp = 100_000, 4096
	path := filepath.Join(t.TempDir(), "sparse.prlx")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := v1TestHeader(slots, perWarp)
	if _, err := f.Write(encodeV1Header(&h, false)); err != nil {
		t.Fatal(err)
	}
	for w := int64(0); w < slots; w += 1000 {
		b := append(le(1, 0, 1, 1), le(7, 0x100, 1, uint32(w))...)
		if _, err := f.WriteAt(b, 160+w*(16+16*perWarp)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(160 + slots*(16+16*perWarp)); err != nil {
		t.Skipf("no room for a sparse file: %v", err)
	}
	held := measured(func() {
		trace, err := OpenPath(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer trace.Close()
		index, err := trace.Index(context.Background())
		if err != nil || len(index) != slots/1000 || index[7].Warp != 7000 {
			t.Fatalf("%d warps (%v), want %d", len(index), err, slots/1000)
		}
		var w Warp
		if err := trace.ReadWarp(context.Background(), 7000, &w); err != nil || w.Len() != 1 || w.Value[0] != 7000 || w.Kind[0] != site.Branch || w.Dir[0] != 1 {
			t.Errorf("warp 7000 is %+v (%v)", w, err)
		}
		stats, err := Walk(context.Background(), trace, trace, WalkOptions{}, func(*Pair) error { return errors.New("nothing differs") })
		if err != nil || stats.Equal != slots/1000 {
			t.Errorf("the walk: %+v (%v)", stats, err)
		}
	})
	if held > 16<<20 {
		t.Errorf("took %d MB", held>>20)
	}
}

func TestV1FileThatShrinksIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prlx")
	if err := os.WriteFile(path, writeV1(t, v1TestHeader(6, 4), false, someWarps(rand.New(rand.NewPCG(1, 1)), 6, 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	trace, err := OpenPath(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	if err := os.Truncate(path, 300); err != nil {
		t.Fatal(err)
	}
	var w Warp
	if err := trace.ReadWarp(context.Background(), 5, &w); !fault.Is(err, fault.Format) {
		t.Errorf("reading: %v", err)
	}
	if _, err := Walk(context.Background(), trace, trace, WalkOptions{}, func(*Pair) error { return nil }); !fault.Is(err, fault.Format) {
		t.Errorf("walking: %v", err)
	}
}

func TestV1ReadersStopWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, compress := range []bool{false, true} {
		trace, err := openBytes(writeV1(t, v1TestHeader(6, 4), compress, someWarps(rand.New(rand.NewPCG(1, 1)), 6, 4)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Index(ctx); fault.Of(err).Kind != fault.Cancelled {
			t.Errorf("compressed %v: index: %v", compress, err)
		}
		if _, err := Walk(ctx, trace, trace, WalkOptions{}, func(*Pair) error { return nil }); fault.Of(err).Kind != fault.Cancelled {
			t.Errorf("compressed %v: walk: %v", compress, err)
		}
		if _, err := trace.Index(context.Background()); err != nil {
			t.Errorf("compressed %v: what was cancelled works no more: %v", compress, err)
		}
	}
}

func TestV1IsReadByManyAtOnce(t *testing.T) {
	warps := someWarps(rand.New(rand.NewPCG(8, 8)), 30, 20)
	h := v1TestHeader(30, 20)
	h.HistoryDepth, h.SnapshotDepth = 2, 2
	trace, err := openBytes(writeV1(t, h, true, warps))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	group, ctx := safe.NewGroup(context.Background())
	for range 4 {
		group.Go(func() error {
			for i := range warps {
				var got Warp
				if err := trace.ReadWarp(ctx, warps[i].Warp, &got); err != nil {
					return err
				}
				want := warps[i]
				want.History, want.Snapshots = got.History, got.Snapshots
				if err := sameContents(&got, &want); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
