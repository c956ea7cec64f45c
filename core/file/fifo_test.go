package file_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Opening a FIFO waits for a writer, who may never come.
func TestNamedPipesAreRefusedAndNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no FIFO here: ", err)
	}
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, link} {
		for name, open := range map[string]func() error{
			"Open":       func() error { _, err := file.Open(context.Background(), path); return err },
			"OpenStream": func() error { _, err := file.OpenStream(context.Background(), path); return err },
			"Head":       func() error { _, _, err := file.Head(context.Background(), path, 10); return err },
		} {
			if err := open(); !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), "named pipe") || fault.Of(err).Path != path || fault.Of(err).Hint == "" {
				t.Errorf("%s of %s: got %v", name, filepath.Base(path), err)
			}
		}
	}
}

// A shell's <(command) is a pipe that is open already.
func TestPipesThatAreOpenAreRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("through a pipe"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := "/proc/self/fd/" + strconv.Itoa(int(r.Fd()))
	s, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, _ := io.ReadAll(io.NewSectionReader(s, 0, s.Size())); string(got) != "through a pipe" {
		t.Errorf("read %q", got)
	}
}
