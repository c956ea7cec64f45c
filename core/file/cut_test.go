package file

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// TestARepairedFileReadsAsItsRepairSays: at every offset, in pieces of any length, against the bytes put together by hand.
func TestARepairedFileReadsAsItsRepairSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := make([]byte, 1+rng.IntN(60))
		for i := range text {
			text[i] = byte('a' + rng.IntN(26))
		}
		r := Repair{Keep: rng.Int64N(int64(len(text)) + 1), Tail: []byte("]}")[:rng.IntN(3)]}
		want := bytes.Clone(text[:r.Keep])
		for at := int64(0); at+3 <= r.Keep && len(r.Patches) < 2; at += 3 + rng.Int64N(20) {
			r.Patches = append(r.Patches, Patch{at, []byte("XYZ")[:1+rng.IntN(3)]})
			copy(want[at:], r.Patches[len(r.Patches)-1].Bytes)
		}
		want = append(want, r.Tail...)
		whole, err := FromBytes("x", text)
		if err != nil {
			t.Fatal(err)
		}
		src := whole.Repaired(r)
		if src.Size() != int64(len(want)) {
			t.Fatalf("size %d, want %d", src.Size(), len(want))
		}
		for range 20 {
			off := rng.IntN(len(want) + 1)
			p := make([]byte, rng.IntN(len(want)+3))
			n, err := src.ReadAt(p, int64(off))
			if rest := want[off:]; n != min(len(p), len(rest)) || !bytes.Equal(p[:n], rest[:n]) || (err == io.EOF) != (n < len(p)) {
				t.Fatalf("%q %+v at %d: %d bytes %q of %q, %v", text, r, off, n, p[:n], rest, err)
			}
		}
	}
}

// TestACutStreamIsReadUpToItsCut: what a compressed file held before it was cut; a whole one, and one that is damaged, stay what they are.
func TestACutStreamIsReadUpToItsCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = byte('a' + rng.IntN(4))
	}
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write(text)
	g.Close()
	z, _ := zstd.NewWriter(&zst)
	z.Write(text)
	z.Close()
	path := filepath.Join(t.TempDir(), "x")
	read := func(b []byte) ([]byte, bool, error) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		src, cut, err := OpenCut(context.Background(), path)
		if err != nil {
			return nil, cut, err
		}
		defer src.Close()
		got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
		if err != nil {
			t.Fatal(err)
		}
		return got, cut, nil
	}
	for name, packed := range map[string][]byte{"gzip": gz.Bytes(), "zstd": zst.Bytes()} {
		got, cut, err := read(packed)
		if err != nil || cut || !bytes.Equal(got, text) {
			t.Errorf("%s: whole: %d bytes, cut %t, %v", name, len(got), cut, err)
		}
		most := 0
		for k := 1; k < 40; k++ {
			at := len(packed) * k / 40
			got, cut, err := read(packed[:at])
			if err != nil {
				if at > 64 {
					t.Errorf("%s cut at %d: %v", name, at, err)
				}
				continue
			}
			if !cut || !bytes.HasPrefix(text, got) {
				t.Errorf("%s cut at %d: %d bytes that are not a prefix, cut %t", name, at, len(got), cut)
			}
			most = max(most, len(got))
		}
		if most < len(text)/3 {
			t.Errorf("%s: at most %d of %d bytes came out", name, most, len(text))
		}
		damaged := bytes.Clone(packed)
		damaged[len(damaged)/2] ^= 0x55
		if got, cut, err := read(damaged); err == nil && (cut || !bytes.Equal(got, text)) {
			t.Errorf("%s, damaged: %d bytes, cut %t", name, len(got), cut)
		}
	}
}
