package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
)

func compressed(t testing.TB, how string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if how == "zstd" {
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(p, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOpenReadsThroughCompressionByContent(t *testing.T) {
	want := bytes.Repeat([]byte("prlx "), 100_000)
	for how, b := range map[string][]byte{"": want, "gzip": compressed(t, "gzip", want), "zstd": compressed(t, "zstd", want)} {
		s, err := Open(context.Background(), write(t, b))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, s.Size())
		if _, err := s.ReadAt(got, 0); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) || s.Compression() != how || s.DiskSize() != int64(len(b)) {
			t.Errorf("%q: %d bytes, compression %q, %d on disk", how, len(got), s.Compression(), s.DiskSize())
		}
		head, whole, err := Head(context.Background(), s.Path(), 10)
		if err != nil || string(head) != "prlx prlx " || whole {
			t.Errorf("%q: head %q, whole %v, %v", how, head, whole, err)
		}
		s.Close()
	}
}

func TestDamagedCompressionIsAFormatError(t *testing.T) {
	for _, how := range []string{"gzip", "zstd"} {
		b := compressed(t, how, bytes.Repeat([]byte("0123456789abcdef"), 10_000))
		for _, damaged := range [][]byte{b[:len(b)/2], append(append([]byte{}, b[:10]...), bytes.Repeat([]byte{0xff}, 50)...), b[:5]} {
			_, err := Open(context.Background(), write(t, damaged))
			if !fault.Is(err, fault.Format) {
				t.Errorf("%s cut to %d bytes: %v, want a format error", how, len(damaged), err)
			}
		}
	}
}

func TestADecompressionBombIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 1 GiB")
	}
	var bomb bytes.Buffer
	z, err := zstd.NewWriter(&bomb)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 1100 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	if _, err := Open(context.Background(), write(t, bomb.Bytes())); !fault.Is(err, fault.Limit) {
		t.Errorf("got %v, want a limit error", err)
	}
}

func TestWindowSeesEveryByteOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, 10_000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	src, err := FromBytes("data", append([]byte{1}, data[1:]...))
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 1
	for range 200 {
		from, to := r.Int64N(10_000), r.Int64N(10_001)
		size := 1 + r.IntN(600)
		w := NewWindow(context.Background(), src, from, to, size)
		at := from
		for w.Remaining() > 0 {
			n := 1 + r.IntN(size)
			b, err := w.Peek(n)
			if err != nil {
				t.Fatal(err)
			}
			n = min(n, len(b))
			if !bytes.Equal(b[:n], data[at:at+int64(n)]) {
				t.Fatalf("window %d:%d of %d: wrong bytes at %d", from, to, size, at)
			}
			if r.IntN(3) == 0 {
				var out bytes.Buffer
				k := r.Int64N(w.Remaining() + 1)
				if err := w.CopyTo(&out, k); err != nil || !bytes.Equal(out.Bytes(), data[at:at+k]) {
					t.Fatalf("copy of %d at %d: %v", k, at, err)
				}
				at += k
				continue
			}
			if err := w.Discard(int64(n)); err != nil {
				t.Fatal(err)
			}
			if at += int64(n); w.Offset() != at {
				t.Fatalf("offset %d, want %d", w.Offset(), at)
			}
		}
		if err := w.Discard(1); !fault.Is(err, fault.Format) {
			t.Fatalf("discard beyond the end: %v", err)
		}
	}
}

func TestAFileThatShrinksIsAFormatError(t *testing.T) {
	p := write(t, make([]byte, 1000))
	s, err := Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(p, 100); err != nil {
		t.Fatal(err)
	}
	w := NewWindow(context.Background(), s, 0, 1000, 500)
	if _, err := w.Peek(500); !fault.Is(err, fault.Format) {
		t.Errorf("got %v, want a format error", err)
	}
}

func TestOutputAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "out")
	o, err := Create(p, false)
	if err != nil {
		t.Fatal(err)
	}
	o.Write([]byte("hello"))
	if _, err := os.Stat(p); err == nil {
		t.Error("visible before Commit")
	}
	o.Abort()
	o.Abort()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if o, err = Create(p, false); err != nil {
		t.Fatal(err)
	}
	defer o.Abort()
	o.Write([]byte("one"))
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(p, false); !errors.Is(err, os.ErrExist) || !strings.Contains(fault.Of(err).Hint, "--overwrite") {
		t.Errorf("second Create: %v", err)
	}
	late, err := Create(p+"2", false)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(p+"2", []byte("theirs"), 0o600)
	if err := late.Commit(); !errors.Is(err, os.ErrExist) {
		t.Errorf("commit over a file that appeared meanwhile: %v", err)
	}
	if b, _ := os.ReadFile(p + "2"); string(b) != "theirs" {
		t.Errorf("their file was replaced by %q", b)
	}
	over, err := Create(p, true)
	if err != nil {
		t.Fatal(err)
	}
	over.Write([]byte("two"))
	if err := over.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(p); string(b) != "two" {
		t.Errorf("after overwriting: %q", b)
	}
}

func TestOutputDirReplacesOnlyWhenAsked(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "run")
	fill := func(overwrite bool, text string) error {
		d, err := CreateDir(p, overwrite)
		if err != nil {
			return err
		}
		defer d.Abort()
		o, err := d.Create("file")
		if err != nil {
			return err
		}
		defer o.Abort()
		o.Write([]byte(text))
		if err := o.Commit(); err != nil {
			return err
		}
		return d.Commit()
	}
	if err := fill(false, "one"); err != nil {
		t.Fatal(err)
	}
	if err := fill(false, "two"); !errors.Is(err, os.ErrExist) {
		t.Errorf("without overwrite: %v", err)
	}
	if err := fill(true, "three"); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(p, "file")); string(b) != "three" {
		t.Errorf("got %q", b)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestErrorsOfTheFileSystemNameTheCure(t *testing.T) {
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "missing")); !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(context.Background(), t.TempDir()); !fault.Is(err, fault.IO) {
		t.Errorf("directory: %v", err)
	}
	if e := fault.FromIO("x", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}); !strings.Contains(e.Error(), "no space left") || e.Hint == "" {
		t.Errorf("disk full: %v, hint %q", e, e.Hint)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "such", "dir"), false); !fault.Is(err, fault.IO) || !strings.Contains(fault.Of(err).Hint, "mkdir -p") {
		t.Errorf("missing parent: %v", err)
	}
}

func FuzzOpenCompressed(f *testing.F) {
	f.Add(compressed(f, "gzip", []byte("seed")))
	f.Add(compressed(f, "zstd", []byte("seed")))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := FromBytes("fuzz", b)
		if err != nil {
			if !fault.Is(err, fault.Format) {
				t.Fatalf("%v is not a format error", err)
			}
			return
		}
		s.Close()
	})
}

// TestOutputsReplaceNoDevice keeps /dev/null and pipes what they are.
func TestOutputsReplaceNoDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{os.DevNull, link} {
		o, err := Create(path, true)
		if err == nil {
			o.Abort()
		}
		if !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), "device") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if _, err := CreateDir(os.DevNull, true); !fault.Is(err, fault.IO) {
		t.Errorf("as a directory: got %v", err)
	}
}

// TestGrownSeesWhatWasWrittenSince a file was opened, and leaves what was decompressed alone.
func TestGrownSeesWhatWasWrittenSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grows")
	if err := os.WriteFile(path, []byte("begin"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := os.WriteFile(path, []byte("begins and goes on"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := src.Grown(); err != nil || src.Size() != 18 || src.DiskSize() != 18 {
		t.Errorf("%d bytes, %v", src.Size(), err)
	}
	if err := os.WriteFile(path, []byte("less"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := src.Grown(); err != nil || src.Size() != 18 {
		t.Errorf("a file that was cut is said to have %d bytes, %v: reading must fail", src.Size(), err)
	}
	held, err := FromBytes("held", []byte("abc"))
	if err != nil || held.Grown() != nil || held.Size() != 3 {
		t.Errorf("%v, %d bytes", err, held.Size())
	}
}
