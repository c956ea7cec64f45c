package file_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

func compressed(t *testing.T, how string, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return plain
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAStreamYieldsTheDecompressedBytes(t *testing.T) {
	plain := []byte(strings.Repeat("some text that is long enough; ", 1<<14))
	for _, how := range []string{"", "gzip", "zstd"} {
		path := filepath.Join(t.TempDir(), "x")
		disk := compressed(t, how, plain)
		if err := os.WriteFile(path, disk, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := file.OpenStream(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%q: got %d bytes and %v, want %d", how, len(got), err, len(plain))
		}
		if s.Compression() != how || s.DiskSize() != int64(len(disk)) || s.Consumed() != int64(len(disk)) {
			t.Errorf("%q: says %q, %d of %d bytes, want %d", how, s.Compression(), s.Consumed(), s.DiskSize(), len(disk))
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAStreamSaysWhatIsWrong(t *testing.T) {
	gz := compressed(t, "gzip", []byte(strings.Repeat("0123456789abcdef", 1000)))
	for name, c := range map[string]struct {
		disk []byte
		kind fault.Kind
		cut  bool
	}{
		"cut":     {gz[:len(gz)/2], fault.Format, true},
		"corrupt": {append(append([]byte{}, gz[:len(gz)-8]...), 1, 2, 3, 4, 5, 6, 7, 8), fault.Format, false},
		"bomb":    {compressed(t, "gzip", make([]byte, 1<<30+1<<20)), fault.Limit, false},
	} {
		s, err := file.OpenStream(context.Background(), written(t, name, c.disk))
		if err == nil {
			_, err = io.Copy(io.Discard, s)
		}
		if !fault.Is(err, c.kind) || errors.Is(err, io.ErrUnexpectedEOF) != c.cut {
			t.Errorf("%s: got %v, want a %s error", name, err, c.kind)
		}
	}
	if _, err := file.OpenStream(context.Background(), t.TempDir()); !fault.Is(err, fault.IO) {
		t.Errorf("a directory: got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, gz, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := file.OpenStream(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if _, err := s.Read(make([]byte, 10)); !fault.Is(err, fault.Cancelled) {
		t.Errorf("cancelled: got %v", err)
	}
}
