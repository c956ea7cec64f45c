package nccl_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// TestOpenSegmentsHaveAChecksum: the recorder makes it each second and when the process ends, and what changes of them afterwards is seen.
func TestOpenSegmentsHaveAChecksum(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	if out, err := b.command(dir, nil, "ends", "exit", filepath.Join(dir, "truth")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := recording(t, dir)
	whole := decode(t, path)
	all, err := whole.file.Segments()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := -1
	for i := range all {
		if !all[i].Sealed && all[i].Slots > 10 {
			open = i
		}
	}
	if open < 0 || whole.file.Opened != uint64(len(all))+whole.file.OverwrittenSegments || whole.seen.Checked != len(all)-1 {
		t.Fatalf("%d segments were opened, %d are there, %d full ones have a checksum", whole.file.Opened, len(all), whole.seen.Checked)
	}
	at := int(whole.file.Size()) - 1
	for i := range data { // where the open segment stands
		if i%131072 == 0 && i+44 < len(data) && string(data[i:i+4]) == "PXL1" && int(data[i+4]) == all[open].Index {
			at = i
		}
	}
	for name, flip := range map[string]int{"a record": at + 128 + 5*32 + 9, "its thread": at + 24, "its checksum": at + 104, "the host": 515, "the order of bytes": 30, "a rank": 4096 + 1024*320 + 28} {
		changed := filepath.Join(t.TempDir(), filepath.Base(path))
		data[flip] ^= 4
		if err := os.WriteFile(changed, data, 0o600); err != nil {
			t.Fatal(err)
		}
		data[flip] ^= 4
		f, err := segment.Open(context.Background(), changed)
		if err != nil {
			if !fault.Is(err, fault.Format) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		seen, err := f.Walk(context.Background(), func(segment.Source, *segment.Record) error { return nil })
		if err == nil && len(seen.Harm()) == 0 {
			t.Errorf("%s was changed, and nothing is said", name)
		}
		f.Close()
	}
}

// TestWhatIsReadOfARunningProcessIsNotCalledDamaged, however often one looks, nor is what is copied of it.
func TestWhatIsReadOfARunningProcessIsNotCalledDamaged(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	cmd := b.command(dir, []string{"PRLX_NCCL_MAX_BYTES=16M"}, "flood", "3", "3000000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	looks := 0
	for end := false; !end; looks++ {
		select {
		case <-done:
			end = true
		case <-time.After(5 * time.Millisecond):
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
		if len(found) == 0 {
			continue
		}
		lookAt(t, found[0], looks)
		if looks%4 == 0 {
			lookAt(t, copied(t, found[0]), looks)
		}
	}
	t.Logf("%d looks", looks)
}

func lookAt(t *testing.T, path string, look int) {
	t.Helper()
	f, err := segment.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen, err := f.Walk(context.Background(), func(segment.Source, *segment.Record) error { return nil })
	if harm := append(seen.Harm(), f.Harm...); err != nil || len(harm) > 0 {
		t.Errorf("look %d: %q, %v", look, harm, err)
	}
}

func copied(t *testing.T, path string) string {
	t.Helper()
	f, err := segment.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := f.Copy(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}
