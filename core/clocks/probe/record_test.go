package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/file"
)

func exchangeOf(seq uint32) *exchange {
	t := int64(1_760_000_000_000_000_000) + int64(seq)*1e6
	return &exchange{Src: 3, Dst: 1, Seq: seq, T1: stamp{t, true}, T2: stamp{t + 1000, true}, T3: stamp{t + 3000, false}, T4: stamp{t + 4000, true}}
}

func recorderIn(t *testing.T, dir string, keep time.Duration, mono int64) *recorder {
	t.Helper()
	r, err := newRecorder(dir, Header{Node: 3, Name: "c:1", Peers: 4}, keep, mono)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stampsOf(t *testing.T, path string) *clockfile.File {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := clockfile.Read(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhatIsRecordedIsReadAsRawStamps(t *testing.T) {
	dir := t.TempDir()
	r := recorderIn(t, dir, 0, 0)
	r.Exchange(exchangeOf(1))
	r.Exchange(exchangeOf(2))
	far := exchangeOf(12)
	far.Src, far.Dst = 1019, 1008
	r.Exchange(far)
	if err := r.close(1); err != nil || r.Written != 3 || r.Lost != 0 {
		t.Fatalf("%v; %d written, %d lost", err, r.Written, r.Lost)
	}
	f := stampsOf(t, filepath.Join(dir, "probes_node3.jsonl"))
	want := clockfile.Stamp{Src: 3, Dst: 1, Seq: 2, T1: 1_760_000_000_002_000_000, T2: 1_760_000_000_002_001_000, T3: 1_760_000_000_002_003_000, T4: 1_760_000_000_002_004_000}
	if f.Kind != clockfile.KindStamps || len(f.Stamps) != 3 || f.Stamps[1] != want || f.Skipped != 0 || len(f.Warnings) != 0 {
		t.Errorf("read back: %+v", f)
	}
	if s := f.Stamps[2]; s.Src != 1019 || s.Dst != 1008 || s.Seq != 12 {
		t.Errorf("read back: %+v", s)
	}
	if len(f.Starts) != 0 {
		t.Errorf("the first line says nothing of the start of a trace, and was taken for %+v", f.Starts)
	}
	b, _ := os.ReadFile(r.Path())
	if line := `{"src":3,"dst":1,"seq":1,"t1":1760000000001000000,"t2":1760000000001001000,"t3":1760000000001003000,"t4":1760000000001004000,"stamps":"kkuk"}`; !containsLine(b, line) {
		t.Errorf("the file is\n%s\nwithout %s", b, line)
	}
}

func containsLine(b []byte, line string) bool {
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] != '\n' {
			i++
		}
		if string(b[:i]) == line {
			return true
		}
		b = b[min(len(b), i+1):]
	}
	return false
}

func TestARecorderGoesOnWhereAnotherDied(t *testing.T) {
	dir := t.TempDir()
	r := recorderIn(t, dir, 0, 0)
	r.Exchange(exchangeOf(1))
	if err := r.close(1); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"src":3,"dst":1,"se`); err != nil { // killed here
		t.Fatal(err)
	}
	f.Close()
	if f := stampsOf(t, r.Path()); len(f.Stamps) != 1 || !f.CutLastLine {
		t.Errorf("the cut file: %+v", f)
	}
	r = recorderIn(t, dir, 0, 2)
	r.Exchange(exchangeOf(2))
	if err := r.close(3); err != nil {
		t.Fatal(err)
	}
	if f := stampsOf(t, r.Path()); len(f.Stamps) != 2 || f.CutLastLine || f.Skipped != 0 {
		t.Errorf("after the restart: %+v", f)
	}
}

func TestARingKeepsTheLatest(t *testing.T) {
	dir := t.TempDir()
	keep := 40 * time.Second
	r := recorderIn(t, dir, keep, 0)
	for s := range uint32(200) {
		r.Exchange(exchangeOf(s + 1))
		if err := r.flush(int64(s) * 1e9); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.close(200e9); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		found, _ := filepath.Glob(filepath.Join(dir, "*"))
		seen := map[int64]bool{}
		for _, path := range found {
			if path == r.Path() && r.waiting+r.rows <= 1 {
				continue
			}
			for _, s := range stampsOf(t, path).Stamps {
				seen[s.Seq] = true
			}
		}
		for s := int64(161); s <= 200; s++ {
			if !seen[s] {
				t.Errorf("stamp %d, of the last 40 s, is gone", s)
			}
		}
		if len(seen) > 60 || len(found) > keptParts+2 {
			t.Errorf("%d stamps of %d files are kept, want those of little more than 40 s", len(seen), len(found))
		}
	}
	check()
	at := r.part
	r = recorderIn(t, dir, keep, 0)
	if r.part != at {
		t.Errorf("a restart goes on with part %d, want %d", r.part, at)
	}
	check()
	r.close(0)
}

func TestAFullDiskLosesWhatDoesNotFitAndCountsIt(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	r := recorderIn(t, t.TempDir(), 0, 0)
	r.Exchange(exchangeOf(1))
	if err := r.flush(1); err != nil {
		t.Fatal(err)
	}
	disk := r.f
	r.f = full
	r.Exchange(exchangeOf(2))
	if err := r.flush(2); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk: %v", err)
	}
	for s := range uint32(20_000) { // more than what may wait
		r.Exchange(exchangeOf(3 + s))
	}
	if r.Lost == 0 || r.pending.Len() > mostUnsaid+200 {
		t.Errorf("%d lost, %d bytes wait", r.Lost, r.pending.Len())
	}
	r.f = disk // somebody made room
	if err := r.close(3); err != nil {
		t.Fatal(err)
	}
	if f := stampsOf(t, r.Path()); int64(len(f.Stamps)) != r.Written || r.Written+r.Lost != 20_002 || f.Skipped != 0 {
		t.Errorf("%d stamps in the file, %d written, %d lost, %d lines skipped", len(f.Stamps), r.Written, r.Lost, f.Skipped)
	}
}
