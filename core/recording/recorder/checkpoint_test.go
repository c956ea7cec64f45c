package recorder

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
)

// TestARecordingThatIsKilledLeavesWhatWasRecordedAtTheLastTick hands over warps and ticks in turn, and reads the temporary file as a
// killed process leaves it.
func TestARecordingThatIsKilledLeavesWhatWasRecordedAtTheLastTick(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prlx")
	r := &Recorder{request: &Record{Path: path, NoWritten: true}}
	var err error
	if r.out, err = file.Create(path, false); err != nil {
		t.Fatal(err)
	}
	header := warptrace.Header{Version: 2, Kernel: "f", Grid: [3]uint32{4, 1, 1}, Block: [3]uint32{32, 1, 1}, WaveSize: 32, WarpsPerBlock: 1, WarpSlots: 4, SampleRate: 1}
	sites := []site.Site{{ID: 1, Kind: site.Branch}}
	site.AssignKeys(sites)
	if r.writer, err = warptrace.CreateV2(r.out, header, site.NewTable(sites), warptrace.V2Options{}); err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	ctx, end := context.WithCancel(context.Background())
	group, ctx := safe.NewGroup(ctx)
	group.Go(func() error { return r.checkpoints(ctx, ticks) })
	for warp := range uint64(3) {
		if err := r.Warp(oneBranch(warp)); err != nil {
			t.Fatal(err)
		}
		ticks <- time.Time{}
		ticks <- time.Time{} // is taken when the checkpoint before it stands
		if got := warpsOfFile(t, filepath.Join(filepath.Dir(path), ".a.prlx.prlx-part"), true); got != int(warp)+1 {
			t.Fatalf("after %d warps %d can be read", warp+1, got)
		}
	}
	end()
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := warpsOfFile(t, path, false); got != 3 {
		t.Errorf("the recording holds %d warps", got)
	}
}

func TestTheEndOfALaunchEndsItsCheckpoints(t *testing.T) {
	r := &Recorder{}
	panics := func() error { panic("of the launch") }
	if err := r.Checkpointed(context.Background(), panics); err == nil {
		t.Error("the panic of a launch is gone")
	}
	if err := r.Checkpointed(context.Background(), func() error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestACheckpointThatWasLongerIsCutOff leaves bytes behind the end, as a checkpoint that was longer than what followed.
func TestACheckpointThatWasLongerIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prlx")
	r := &Recorder{request: &Record{Path: path}}
	var err error
	if r.out, err = file.Create(path, false); err != nil {
		t.Fatal(err)
	}
	header := warptrace.Header{Version: 2, Kernel: "f", WaveSize: 32, WarpsPerBlock: 1, WarpSlots: 4, SampleRate: 1}
	if r.writer, err = warptrace.CreateV2(r.out, header, nil, warptrace.V2Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.out.WriteAt(make([]byte, 4096), 4096); err != nil {
		t.Fatal(err)
	}
	done, err := r.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != done.Bytes {
		t.Errorf("the file has %d bytes, the recording %d, %v", st.Size(), done.Bytes, err)
	}
	warpsOfFile(t, path, false)
}

func oneBranch(warp uint64) *warptrace.Warp {
	return &warptrace.Warp{
		WarpInfo: warptrace.WarpInfo{Warp: warp, Events: 1, Total: 1}, Site: []uint32{0}, Kind: []site.Kind{site.Branch}, Dir: []uint8{1}, Aux: []uint16{0},
		Active: []uint64{7}, Taken: []uint64{3}, Value: []uint64{warp}, Type: []warptrace.ValueType{warptrace.TypeI32},
	}
}

func warpsOfFile(t *testing.T, path string, truncated bool) int {
	t.Helper()
	trace, err := warptrace.OpenPath(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	if trace.Header().Truncated != truncated {
		t.Errorf("%s: truncated %v", path, trace.Header().Truncated)
	}
	index, err := trace.Index(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(index)
}
