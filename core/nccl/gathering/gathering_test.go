package gathering_test

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/gathering"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// recordings writes one of each host into a folder of its own.
func recordings(t *testing.T, hosts ...string) []string {
	t.Helper()
	var paths []string
	for i, host := range hosts {
		f := nccltest.NewFile(host, uint32(100+i))
		f.Level, f.Heartbeat, f.Ended = 1, 9_000_000_000, true
		user := f.Thread()
		c := f.Comm(77, "world", 2, 4, i, 5_000_000_000)
		group := user.GroupAPI(5_001_000_000, c)
		user.API(5_001_000_010, c, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: 1024, Stream: 9})
		paths = append(paths, filepath.Join(t.TempDir(), host+"-100-abcd.prlx-nccl"))
		f.Write(t, paths[i])
	}
	return paths
}

func gather(t *testing.T, paths []string, output string) *gathering.Document {
	t.Helper()
	d, err := gathering.Gather(job.New(context.Background(), job.Options{}), paths, output)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func outcomes(d *gathering.Document) (all []string) {
	for i := range d.Files {
		all = append(all, d.Files[i].Outcome)
	}
	return all
}

func sameBytes(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, y) {
		t.Errorf("%s is not as %s", b, a)
	}
}

func TestFilesOfManyFoldersComeIntoOne(t *testing.T) {
	paths, out := recordings(t, "a", "b", "c"), filepath.Join(t.TempDir(), "all")
	d := gather(t, paths, out)
	if !d.Complete || d.Hosts != 3 || d.Format != "directory" || !slices.Equal(outcomes(d), []string{"copied", "copied", "copied"}) {
		t.Errorf("got %+v", d)
	}
	for _, p := range paths {
		sameBytes(t, p, filepath.Join(out, filepath.Base(p)))
	}
	if r := d.Files[1]; r.Host != "b" || r.PID != 101 || r.State != "ended" || r.Comms != 1 || r.Calls["start"] != 2 || r.Segments != 1 {
		t.Errorf("a file is %+v", r)
	}
}

// TestNothingIsReplaced: the same is left and said to be there, another is left and makes the collection incomplete.
func TestNothingIsReplaced(t *testing.T) {
	paths, out := recordings(t, "a", "b"), t.TempDir()
	before := filepath.Join(out, filepath.Base(paths[1]))
	if err := os.WriteFile(before, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	gather(t, paths[:1], out)
	d := gather(t, paths, out)
	if d.Complete || !slices.Equal(outcomes(d), []string{"already-there", "differs"}) {
		t.Errorf("got %v, complete %v", outcomes(d), d.Complete)
	}
	if b, _ := os.ReadFile(before); string(b) != "mine" {
		t.Error("a file was replaced")
	}
	archive := filepath.Join(t.TempDir(), "all.tar.zst")
	gather(t, paths, archive)
	if _, err := gathering.Gather(job.New(context.Background(), job.Options{}), paths, archive); !fault.Is(err, fault.IO) {
		t.Errorf("an archive that is there: %v", err)
	}
}

func TestAnArchiveHoldsTheFilesAsTheyAre(t *testing.T) {
	paths, out := recordings(t, "a", "b"), filepath.Join(t.TempDir(), "all.tar.zst")
	d := gather(t, append(paths, paths[0]), out)
	if d.Complete || !slices.Equal(outcomes(d), []string{"copied", "copied", "differs"}) {
		t.Errorf("got %v", outcomes(d))
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in, dir := tar.NewReader(packed), t.TempDir()
	for _, p := range paths {
		h, err := in.Next()
		if err != nil || h.Name != filepath.Base(p) {
			t.Fatalf("%+v, %v", h, err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, h.Name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		sameBytes(t, p, filepath.Join(dir, h.Name))
	}
	if _, err := in.Next(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
}

// TestWhatIsNoRecordingIsNamedAndTheRestIsBrought: one bad file does not keep the others.
func TestWhatIsNoRecordingIsNamedAndTheRestIsBrought(t *testing.T) {
	paths, out := recordings(t, "a", "b"), t.TempDir()
	bad := filepath.Join(t.TempDir(), "c-1-0001.prlx-nccl")
	if err := os.WriteFile(bad, []byte("not a recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := gather(t, []string{paths[0], bad, paths[1]}, out)
	if d.Complete || !slices.Equal(outcomes(d), []string{"copied", "unreadable", "copied"}) || d.Files[1].Problem == "" {
		t.Errorf("got %+v", d.Files)
	}
	if d := gather(t, paths, ""); d.Output != "" || !slices.Equal(outcomes(d), []string{"checked", "checked"}) {
		t.Errorf("looking alone: %+v", d)
	}
}
