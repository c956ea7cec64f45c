package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// smallV2 is a recording of four blocks of warps, with sites before and between them.
func smallV2(tb testing.TB) (raw []byte, warps []*Warp) {
	tb.Helper()
	return smallV2As(tb, ModeValues, V2Options{})
}

// smallForms are small recordings with their events in blocks of each kind.
func smallForms(tb testing.TB) (raw [][]byte, warps []*Warp) {
	tb.Helper()
	for _, form := range []struct {
		mode Mode
		opt  V2Options
	}{{ModeValues, V2Options{}}, {ModeControlFlow, V2Options{}}, {ModeValues, V2Options{Sections: true}}} {
		file, same := smallV2As(tb, form.mode, form.opt)
		raw, warps = append(raw, file), same
	}
	return raw, warps
}

func smallV2As(tb testing.TB, mode Mode, opt V2Options) (raw []byte, warps []*Warp) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	var out bytes.Buffer
	h := v2TestHeader(100)
	h.Mode = mode
	w, err := CreateV2(&out, h, nil, opt)
	if err != nil {
		tb.Fatal(err)
	}
	sites := someSites(4)
	for i := range uint64(4) {
		if err := w.addSites(sites[i : i+1]); err != nil {
			tb.Fatal(err)
		}
		warp := randomWarp(rng, 40-i, 4, int(i)+1, 32)
		for k := range warp.Snapshots {
			clear(warp.Snapshots[k].Lhs)
			clear(warp.Snapshots[k].Rhs)
		}
		warps = append(warps, warp)
		if err := w.Append(warp); err != nil {
			tb.Fatal(err)
		}
		if err := w.flush(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), warps
}

// blocksOf lists the blocks of a file by walking them.
func blocksOf(raw []byte) (at []int) {
	for off := v2Preamble; ; {
		head, ok := parseV2Head(raw[min(off, len(raw)):])
		if !ok {
			return at
		}
		at = append(at, off)
		off += v2HeadBytes + int(head.stored)
	}
}

func openAny(b []byte) (*Trace, error) {
	src, err := file.FromBytes("x.prlx", b)
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), src)
}

// expected reports whether an error is one that a reader of files may give.
func expected(err error) bool { return fault.Is(err, fault.Format) || fault.Is(err, fault.Limit) }

func TestV2CutAnywhereGivesTheWholeBlocks(t *testing.T) {
	forms, warps := smallForms(t)
	for _, raw := range forms {
		cutAnywhere(t, raw, warps)
	}
}

func cutAnywhere(t *testing.T, raw []byte, warps []*Warp) {
	t.Helper()
	blocks := blocksOf(raw)
	for size := range len(raw) {
		trace, err := openAny(raw[:size])
		head, _ := parseV2Head(raw[blocks[0]:])
		if size < blocks[0]+v2HeadBytes+int(head.stored) {
			if !expected(err) {
				t.Fatalf("cut at %d, inside the header: got %v", size, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		whole := 0
		for _, at := range blocks {
			head, _ := parseV2Head(raw[at:])
			if holdsWarps(head.kind) && at+v2HeadBytes+int(head.stored) <= size {
				whole++
			}
		}
		index, err := trace.Index(context.Background())
		if err != nil || len(index) != whole {
			t.Fatalf("cut at %d: got %d warps of %d, %v", size, len(index), whole, err)
		}
		losses, _ := trace.Losses(context.Background())
		if !trace.Header().Truncated || !losses.Truncated || len(trace.Header().Warnings) != 1 || len(losses.Notes) != 1 {
			t.Fatalf("cut at %d: it is not said: %+v", size, losses)
		}
		var got Warp
		for _, w := range warps[:whole] {
			if err := trace.ReadWarp(context.Background(), w.Warp, &got); err != nil {
				t.Fatal(err)
			}
			if d := warpDiff(w, &got); d != "" {
				t.Fatalf("cut at %d (-want +got):\n%s", size, d)
			}
		}
	}
}

func TestV2AnyFlippedBitIsNoticed(t *testing.T) {
	raw, warps := smallV2(t)
	bad := slices.Clone(raw)
	for i := range bad {
		for _, flip := range []byte{1 << (i % 8)} {
			bad[i] = raw[i] ^ flip
			trace, err := openAny(bad)
			if err != nil {
				if !expected(err) {
					t.Fatalf("byte %d: %v", i, err)
				}
				continue
			}
			refused := trace.Header().Truncated
			var got Warp
			for _, w := range warps {
				err := trace.ReadWarp(context.Background(), w.Warp, &got)
				if err != nil && !expected(err) {
					t.Fatalf("byte %d: %v", i, err)
				}
				refused = refused || err != nil
				if d := warpDiff(w, &got); err == nil && got.Len() > 0 && d != "" {
					t.Fatalf("byte %d: a wrong warp (-want +got):\n%s", i, d)
				}
			}
			if !refused {
				t.Fatalf("byte %d ^ %#x: nothing is said", i, flip)
			}
		}
		bad[i] = raw[i]
	}
}

// TestV2FilesThatLie are files whose checksums fit but whose numbers do not.
func TestV2FilesThatLie(t *testing.T) {
	raw, _ := smallV2As(t, ModeValues, V2Options{Sections: true})
	last := func(kind byte) func([]byte) int {
		return func(b []byte) int {
			at := 0
			for _, off := range blocksOf(raw) {
				if b[off+4] == kind {
					at = off
				}
			}
			return at
		}
	}
	put := binary.LittleEndian.PutUint32
	for name, c := range map[string]struct {
		block func([]byte) int
		lie   func(b []byte) // the block with its head
	}{
		"more warps than the directory has":    {last(v2Warps), func(b []byte) { put(b[16:], 2) }},
		"65,537 warps":                         {last(v2Warps), func(b []byte) { put(b[16:], 65537) }},
		"a body of 4 GiB":                      {last(v2Warps), func(b []byte) { put(b[12:], 1<<32-1) }},
		"a body of 256 MiB in a few bytes":     {last(v2Warps), func(b []byte) { put(b[12:], v2MaxWarpsBody); b[5] = v2Zstd }},
		"a directory longer than its block":    {last(v2Warps), func(b []byte) { put(b[20:], 1<<20) }},
		"no directory":                         {last(v2Warps), func(b []byte) { put(b[20:], 0) }},
		"flags that are not known":             {last(v2Warps), func(b []byte) { b[5] |= 4 }},
		"a mask of more bytes than a column":   {last(v2Warps), func(b []byte) { b[v2HeadBytes+6] = 0x80 }},
		"a mask of planes that are not there":  {last(v2Warps), func(b []byte) { b[v2HeadBytes] = 0xff }},
		"another number of warp":               {last(v2Warps), func(b []byte) { b[v2HeadBytes+v2DirMasks] = 200 }},
		"another number of events":             {last(v2Warps), func(b []byte) { b[v2HeadBytes+v2DirMasks+1]-- }},
		"another digest":                       {last(v2Warps), func(b []byte) { b[v2HeadBytes+binary.LittleEndian.Uint32(b[20:])-1] ^= 1 }},
		"a site that is not there":             {last(v2Warps), func(b []byte) { b[v2HeadBytes+binary.LittleEndian.Uint32(b[20:])+8] = 200 }},
		"two sites with one key":               {last(v2Sites), func(b []byte) { copy(b[v2HeadBytes:], raw[blocksOf(raw)[1]+v2HeadBytes:][:v2HeadBytes]) }},
		"more sites than it says":              {last(v2Sites), func(b []byte) { put(b[16:], 0) }},
		"fewer sites than it says":             {last(v2Sites), func(b []byte) { put(b[16:], 2) }},
		"a site table that is not a message":   {last(v2Sites), func(b []byte) { b[v2HeadBytes] = 0xff }},
		"a header that is not a message":       {last(v2Header), func(b []byte) { b[v2HeadBytes] = 0xff }},
		"a header without lanes":               {last(v2Header), func(b []byte) { b[v2HeadBytes+bytes.IndexByte(b[v2HeadBytes:], 0x38)+1] = 0 }},
		"an index that lists a block nowhere":  {last(v2Index), func(b []byte) { put(b[v2HeadBytes:], 1<<30) }},
		"an index that lists a block twice":    {last(v2Index), func(b []byte) { copy(b[v2HeadBytes+v2EntryBytes:], b[v2HeadBytes:v2HeadBytes+v2EntryBytes]) }},
		"an index with another directory":      {last(v2Index), func(b []byte) { b[len(b)-1] ^= 1 }},
		"an index that counts a block too few": {last(v2Index), func(b []byte) { put(b[16:], binary.LittleEndian.Uint32(b[16:])-1) }},
		"an index that counts 2^31 blocks":     {last(v2Index), func(b []byte) { put(b[16:], 1<<31) }},
		"an index of two lengths":              {last(v2Index), func(b []byte) { put(b[12:], 5) }},
		"an end that is not a message":         {last(v2End), func(b []byte) { b[v2HeadBytes] = 0xff }},
	} {
		bad := slices.Clone(raw)
		at := c.block(bad)
		size := v2HeadBytes + int(binary.LittleEndian.Uint32(bad[at+8:]))
		c.lie(bad[at : at+size])
		resealBlock(bad[at : at+size])
		for _, cut := range []int{0, v2Trailer} { // by the index, and by scanning
			if c.block(raw) == last(v2Index)(raw) && cut > 0 {
				continue
			}
			if err := readV2Whole(bad[:len(bad)-cut]); !expected(err) {
				if errors.Is(err, errTruncated) && (cut > 0 || at >= last(v2Index)(raw)) {
					continue // an index or end that cannot be is as none
				}
				t.Errorf("%s: got %v, want a format or limit error", name, err)
			}
		}
	}
}

var errTruncated = errors.New("read, and said to be truncated")

// readV2Whole reads everything of a file.
func readV2Whole(b []byte) error {
	trace, err := openAny(b)
	if err != nil {
		return err
	}
	index, err := trace.Index(context.Background())
	if err != nil {
		return err
	}
	var w Warp
	var c Coded
	for i := range index {
		if err := trace.ReadWarp(context.Background(), index[i].Warp, &w); err != nil {
			return err
		}
		ok, err := trace.ReadCoded(context.Background(), index[i].Warp, &c)
		if err != nil {
			return err
		}
		if ok && !sameAsCoded(&c, &w) {
			return fmt.Errorf("warp %d is not the same decoded and as symbols", w.Warp)
		}
	}
	if trace.Header().Truncated {
		return errTruncated
	}
	return nil
}

// resealBlock makes the checksums of a block fit.
func resealBlock(b []byte) {
	if len(b) < v2HeadBytes {
		return
	}
	binary.LittleEndian.PutUint32(b[24:], checksum(b[v2HeadBytes:]))
	binary.LittleEndian.PutUint32(b[28:], checksum(b[:28]))
}

func TestV2BombsAreRefusedBeforeTheyAreInflated(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := enc.EncodeAll(make([]byte, 1<<30), nil)
	for _, kind := range []byte{v2Header, v2Sites, v2Warps} {
		for _, says := range []uint32{1 << 30, v2MaxWarpsBody, v2MaxSitesBody, v2MaxSmall, 100} {
			raw := appendV2Preamble(nil, v2Major)
			var out bytes.Buffer
			w := &V2Writer{out: &out}
			w.enc = enc
			w.block(v2Head{kind: v2Header, count: 1}, nil, encodeV2Header(&Header{WaveSize: 32, WarpSlots: 1 << 30}))
			if kind != v2Header {
				raw = append(raw, out.Bytes()...)
			}
			directory := []byte(nil)
			if kind == v2Warps {
				directory = appendDirectory(nil, []WarpInfo{{Events: v2MaxEvents, Total: v2MaxEvents}}, []v2Entry{{section: says}})
			}
			payload := append(slices.Clone(directory), bomb...)
			head := v2Head{kind: kind, flags: v2Zstd, stored: uint32(len(payload)), inflated: says, count: 1, directory: uint32(len(directory)), payCRC: checksum(payload)}
			raw = append(head.append(raw), payload...)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := readV2Whole(raw); !expected(err) {
				t.Errorf("kind %d that says %d bytes: got %v, want a format or limit error", kind, says, err)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 2*v2MaxWarpsBody {
				t.Errorf("kind %d that says %d bytes: %d MiB were allocated", kind, says, used>>20)
			}
		}
	}
}

// resealAll makes every checksum of a file fit, so that fuzzing reaches what is behind them.
func resealAll(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) < v2Preamble+v2Trailer {
		return b
	}
	copy(b, appendV2Preamble(nil, v2MajorOperands))
	for off := v2Preamble; off+v2HeadBytes <= len(b)-v2Trailer; { // the trailer is no block
		copy(b[off:], v2BlockMagic)
		b[off+6], b[off+7] = 0, 0
		stored := int(binary.LittleEndian.Uint32(b[off+8:]))
		if stored > len(b)-off-v2HeadBytes {
			break
		}
		resealBlock(b[off : off+v2HeadBytes+stored])
		off += v2HeadBytes + stored
	}
	trailer := b[len(b)-v2Trailer:]
	index := int(min(binary.LittleEndian.Uint64(trailer), uint64(len(b))))
	for at := index + v2HeadBytes; at+v2EntryBytes <= len(b)-v2Trailer; at += v2EntryBytes { // the heads that the index lists
		if off := binary.LittleEndian.Uint64(b[at:]); off < uint64(index) && string(b[at+8:at+12]) == v2BlockMagic && int(off)+v2HeadBytes <= len(b) {
			copy(b[at+8:at+v2EntryBytes], b[off:])
		}
	}
	if head, ok := parseV2Head(b[index:]); ok && int(head.stored) <= len(b)-index-v2HeadBytes {
		resealBlock(b[index : index+v2HeadBytes+int(head.stored)])
	}
	copy(trailer[16:], v2MagicEnd)
	binary.LittleEndian.PutUint32(trailer[28:], checksum(trailer[:28]))
	return b
}

func FuzzOpenV2(f *testing.F) {
	forms, _ := smallForms(f)
	for _, small := range forms {
		f.Add(small, false)
		f.Add(small, true)
	}
	f.Add(forms[0][:len(forms[0])/2], true)
	f.Add(withTexts(f, &sampleTexts, V2Options{}), true)
	f.Add(movedFile(f, 1, 6), false)
	f.Add(movedFile(f, 2, 12), true)
	f.Add(structuredFile(f, 3, 40, 0), true)
	f.Add(writeV2(f, v2TestHeader(3), nil, nil, never), true)
	for _, seed := range []uint64{0, 5, 19, 29} { // small files
		raw, _, _ := outputsV2(f, seed, 5, func(i int) bool { return i == 2 })
		f.Add(raw, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, reseal bool) {
		if reseal {
			b = resealAll(b)
		}
		if len(b) > 0 && b[0] != v2Magic[0] {
			return
		}
		for _, read := range []func([]byte) error{readV2Whole, readOutputsWhole, readTexts} {
			if err := read(b); err != nil && !errors.Is(err, errTruncated) && !expected(err) {
				t.Fatal(err)
			}
		}
		if err := verified(b); err != nil && !expected(err) {
			t.Fatal(err)
		}
	})
}
