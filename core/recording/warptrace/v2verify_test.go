package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// verified opens a recording and reads all of it.
func verified(b []byte) error {
	t, err := openAny(b)
	if err != nil {
		return err
	}
	return t.Verify(context.Background(), 2)
}

func TestVerifyReadsWholeRecordings(t *testing.T) {
	raw, warps := smallV2(t)
	trace, err := openAny(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.BlocksRead(); got != (BlocksRead{Blocks: 4, Unread: 4}) {
		t.Errorf("before: %+v", got)
	}
	var w Warp
	if err := trace.ReadWarp(context.Background(), warps[2].Warp, &w); err != nil {
		t.Fatal(err)
	}
	if got := trace.BlocksRead(); got != (BlocksRead{Blocks: 4, Unread: 3}) {
		t.Errorf("after one warp: %+v", got)
	}
	if err := trace.Verify(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if got := trace.BlocksRead(); got != (BlocksRead{Blocks: 4}) {
		t.Errorf("after all: %+v", got)
	}
}

// Zeros over a part of a recording are found by whoever reads it all, with the place of the block.
func TestVerifyFindsZeroedParts(t *testing.T) {
	raw, _ := smallV2(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 2000 {
		from := rng.IntN(len(raw))
		to := min(len(raw), from+1+rng.IntN(1<<rng.IntN(12)))
		if n == 0 {
			from, to = 300, len(raw)-200
		}
		bad := slices.Clone(raw)
		clear(bad[from:to])
		if bytes.Equal(bad, raw) {
			continue
		}
		err := verified(bad)
		if !expected(err) {
			t.Fatalf("zeros from %d to %d of %d: got %v", from, to, len(raw), err)
		}
		if f := fault.Of(err); f.Path == "" || f.Kind == fault.Format && (f.Offset < 0 || f.Offset > int64(len(raw))) {
			t.Errorf("zeros from %d to %d: %v says path %q, offset %d", from, to, err, f.Path, f.Offset)
		}
	}
}

// What the launch wrote is read, too.
func TestVerifyFindsZeroedOutputs(t *testing.T) {
	raw, _, _ := outputsV2(t, 5, 3, func(int) bool { return true })
	if err := verified(raw); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, at := range blocksOf(raw) {
		head, _ := parseV2Head(raw[at:])
		if !isExtra(head.kind) {
			continue
		}
		found++
		bad := slices.Clone(raw)
		clear(bad[at+v2HeadBytes : at+v2HeadBytes+int(head.stored)])
		if err := verified(bad); !expected(err) {
			t.Errorf("zeros in a block of kind %d: got %v", head.kind, err)
		}
	}
	if found < 3 {
		t.Errorf("%d blocks of what was written", found)
	}
}

// A file that was cut short is no damaged one: what is there is whole.
func TestVerifyTakesCutFilesForWhatTheyAre(t *testing.T) {
	raw, _ := smallV2(t)
	blocks := blocksOf(raw)
	head, _ := parseV2Head(raw[blocks[0]:])
	for size := blocks[0] + v2HeadBytes + int(head.stored); size <= len(raw); size++ {
		if err := verified(raw[:size]); err != nil {
			t.Fatalf("cut at %d of %d: %v", size, len(raw), err)
		}
	}
	for _, tail := range []int{1, 40, 4096} {
		if err := verified(append(slices.Clone(raw), make([]byte, tail)...)); !expected(err) {
			t.Errorf("%d zeros behind the end: got %v", tail, err)
		}
	}
}

// An index that has checksums of its own and says what the blocks do not.
func TestVerifyFindsALyingIndex(t *testing.T) {
	raw, _ := smallV2(t)
	blocks := blocksOf(raw)
	at := slices.IndexFunc(blocks, func(off int) bool { return raw[off+4] == v2Index })
	index := blocks[at]
	head, _ := parseV2Head(raw[index:])
	payload := func(b []byte) []byte { return b[index+v2HeadBytes : index+v2HeadBytes+int(head.stored)] }
	sealed := func(edit func(payload []byte)) []byte {
		b := slices.Clone(raw)
		edit(payload(b))
		h := head
		h.payCRC = checksum(payload(b))
		copy(b[index:], h.append(nil))
		return b
	}
	if err := verified(sealed(func([]byte) {})); err != nil {
		t.Fatalf("nothing was changed: %v", err)
	}
	for name, c := range map[string]struct {
		edit func(payload []byte)
		want string
	}{
		"another digest": {func(p []byte) { p[len(p)-20] ^= 1 }, "the index says of warp"},
		"another block":  {func(p []byte) { copy(p[8:], p[8+v2EntryBytes:v2EntryBytes*2]) }, ""},
		"another place":  {func(p []byte) { binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)+1) }, ""},
	} {
		err := verified(sealed(c.edit))
		if !expected(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Events that have the checksum of their block, and not the digest that the block and the index say.
func TestVerifyRecomputesDigests(t *testing.T) {
	raw, warps := smallV2(t)
	trace, err := openAny(raw)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := CreateV2(&out, *trace.Header(), trace.Sites(), V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(warps[0]); err != nil {
		t.Fatal(err)
	}
	w.paths.digests[0].all++
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := verified(out.Bytes()); !expected(err) || !strings.Contains(err.Error(), "do not have the digest") {
		t.Errorf("got %v", err)
	}
}

func TestVerifyComparesTheEndWithTheBlocks(t *testing.T) {
	_, warps := smallV2(t)
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(100), nil, V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.addSites(someSites(4)); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(warps[0]); err != nil {
		t.Fatal(err)
	}
	w.totals.events++
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := verified(out.Bytes()); !expected(err) || !strings.Contains(err.Error(), "its end counts 1 warps") {
		t.Errorf("got %v", err)
	}
}

// A block that nobody lists, or of a kind that only newer versions know, is checked all the same.
func TestVerifyLooksAtBlocksThatNobodyReads(t *testing.T) {
	_, warps := smallV2(t)
	write := func(edit func(w *V2Writer)) []byte {
		var out bytes.Buffer
		w, err := CreateV2(&out, v2TestHeader(100), nil, V2Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.addSites(someSites(4)); err != nil {
			t.Fatal(err)
		}
		for _, warp := range warps[:2] {
			if err := w.Append(warp); err != nil {
				t.Fatal(err)
			}
			if err := w.flush(); err != nil {
				t.Fatal(err)
			}
		}
		edit(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	unknown := write(func(w *V2Writer) { w.block(v2Head{kind: 200, count: 1}, nil, []byte("of a newer version")) })
	if err := verified(unknown); err != nil {
		t.Errorf("a block of an unknown kind: %v", err)
	}
	unknown[bytes.Index(unknown, []byte("newer"))] ^= 1
	if err := verified(unknown); !expected(err) || !strings.Contains(err.Error(), "the checksum of a block does not fit") {
		t.Errorf("a damaged block of an unknown kind: got %v", err)
	}
	left := write(func(w *V2Writer) {
		last := len(w.list.blocks) - 1
		w.list.blocks, w.list.directories = w.list.blocks[:last], w.list.directories[:last]
		w.totals.warps, w.totals.events = 1, uint64(warps[0].Len())
		w.totals.dropped, w.totals.dropping = warps[0].Dropped, 0
		if warps[0].Dropped > 0 {
			w.totals.dropping = 1
		}
	})
	if err := verified(left); !expected(err) || !strings.Contains(err.Error(), "neither index nor end list this block") {
		t.Errorf("a block that the index leaves out: got %v", err)
	}
}

// What each warp stored and contents are read by whoever asks for them only: they count as what was not read.
func TestBlocksOfWhatWasWrittenCount(t *testing.T) {
	raw, _, _ := outputsV2(t, 5, 9, func(int) bool { return false })
	trace, err := openAny(raw)
	if err != nil {
		t.Fatal(err)
	}
	left := trace.BlocksRead()
	if left.Unread != left.Blocks {
		t.Errorf("before: %+v", left)
	}
	for what, read := range map[string]func() error{
		"stores":   func() error { _, err := trace.Stores(context.Background()); return err },
		"outputs":  func() error { _, err := trace.Outputs(context.Background()); return err },
		"contents": func() error { return trace.Contents(context.Background(), func(*Contents) error { return nil }) },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
		now := trace.BlocksRead()
		if now.Blocks != left.Blocks || now.Unread >= left.Unread {
			t.Errorf("after %s: got %+v, want fewer unread than of %+v", what, now, left)
		}
		left = now
	}
	if err := trace.Verify(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if got := trace.BlocksRead(); got.Unread != 0 {
		t.Errorf("after all: %+v", got)
	}
}
