package file

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func mappable(t *testing.T, size int) (path string, content []byte, src *Source) {
	t.Helper()
	content = make([]byte, size)
	for i := range content {
		content[i] = byte(i*7 ^ i>>9)
	}
	path = filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return path, content, src
}

func TestMappedBytesAreThoseOfTheFile(t *testing.T) {
	_, content, src := mappable(t, 100_000)
	for _, r := range [][2]int{{0, 1}, {0, 100_000}, {4095, 3}, {4096, 5000}, {12_345, 50_000}, {99_999, 1}} {
		m := src.Map(int64(r[0]), r[1])
		if m == nil {
			t.Skip("this system maps no files")
		}
		if !bytes.Equal(m.Bytes(), content[r[0]:r[0]+r[1]]) {
			t.Errorf("%d bytes at %d are others", r[1], r[0])
		}
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	}
	if len(live.all) > 0 {
		t.Errorf("%d mappings are left", len(live.all))
	}
}

func TestOnlyWhatTheFileHasIsMapped(t *testing.T) {
	_, _, src := mappable(t, 5000)
	for _, r := range [][2]int64{{0, 5001}, {4999, 2}, {-1, 2}, {0, 0}, {5000, 1}} {
		if m := src.Map(r[0], int(r[1])); m != nil {
			t.Errorf("%d bytes at %d were mapped", r[1], r[0])
		}
	}
	memory, err := FromBytes("a", make([]byte, 100))
	if err != nil || memory.Map(0, 10) != nil {
		t.Errorf("bytes in memory were mapped, %v", err)
	}
}

// TestAFileThatBecomesShorterIsAnError truncates a file while it is mapped: pages that are gone, and the rest of the last page.
func TestAFileThatBecomesShorterIsAnError(t *testing.T) {
	for _, left := range []int64{0, 8192, 40_000} {
		path, _, src := mappable(t, 100_000)
		m := src.Map(100, 90_000)
		if m == nil {
			t.Skip("this system maps no files")
		}
		var before error
		err := Guarded(func() error {
			if before = os.Truncate(path, left); before != nil {
				return before
			}
			sum := 0
			for _, b := range m.Bytes() {
				sum += int(b)
			}
			runtime.KeepAlive(sum)
			return nil
		})
		var f *fault.Error
		if before != nil || !errors.As(err, &f) || f.Kind != fault.Format || f.Path != path || f.Offset < left || f.Offset > left+8192 {
			t.Errorf("%d bytes are left: got %v, %v", left, err, before)
		}
		if err := m.Release(); !fault.Is(err, fault.Format) {
			t.Errorf("%d bytes are left: released with %v", left, err)
		}
	}
}

// TestTheEndOfALastPageIsNoticed truncates a file to within the page that is read: the system gives zeros for the rest of it.
func TestTheEndOfALastPageIsNoticed(t *testing.T) {
	path, _, src := mappable(t, 4000)
	m := src.Map(0, 4000)
	if m == nil {
		t.Skip("this system maps no files")
	}
	if err := os.Truncate(path, 3000); err != nil {
		t.Fatal(err)
	}
	if err := Guarded(func() error { _ = bytes.Count(m.Bytes(), []byte{1}); return nil }); err != nil {
		t.Error(err)
	}
	if err := m.Release(); !fault.Is(err, fault.Format) {
		t.Errorf("got %v", err)
	}
}

func TestOtherPanicsPass(t *testing.T) {
	for name, f := range map[string]func() error{
		"a panic":       func() error { panic("mine") },
		"a nil pointer": func() error { var p *Source; return errors.New(p.path) },
		"an index":      func() error { var s []int; return errors.New(string(rune(s[len(os.Args)]))) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was swallowed", name)
				}
			}()
			t.Errorf("%s: got %v", name, Guarded(f))
		}()
	}
}
