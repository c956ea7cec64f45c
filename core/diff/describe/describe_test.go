package describe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARecordingIsDescribedByWhatItCounts(t *testing.T) {
	run := warptracetest.NewProgram(warptracetest.Config{Seed: 7}).Run(warptracetest.Launch{Warps: 4})
	b, err := run.V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.prlx")
	write(t, path, b)
	r, err := recording.Open(t.Context(), path, recording.Maps{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	doc, err := OfRecording(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	events := int64(0)
	var w warptrace.Warp
	index, err := r.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range index {
		if err := r.ReadWarp(t.Context(), info.Warp, &w); err != nil {
			t.Fatal(err)
		}
		events += int64(w.Len())
	}
	if doc.Format != "prlx v2" || doc.Path != path || doc.Warps != 4 || doc.Events != events || doc.Sites != r.Sites().Len() {
		t.Errorf("got %s, %d warps, %d events, %d sites; want 4 warps and %d events", doc.Format, doc.Warps, doc.Events, doc.Sites, events)
	}
}

func TestASessionListsLaunchesThatCannotBeReadWithTheReason(t *testing.T) {
	dir := t.TempDir()
	b, err := warptracetest.NewProgram(warptracetest.Config{Seed: 7}).Run(warptracetest.Launch{Warps: 2}).V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "0000_f.prlx"), b)
	write(t, filepath.Join(dir, "0001_f.prlx"), b[:20])
	doc, err := OfSession(job.New(t.Context(), job.Options{}), dir)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Manifest || len(doc.Launches) != 2 || doc.Launches[0].Problem != "" || doc.Launches[0].Bytes != int64(len(b)) {
		t.Errorf("got launches %+v", doc.Launches)
	}
	if doc.Launches[1].Problem == "" {
		t.Error("a recording that was cut has no problem")
	}
	if _, err := OfSession(job.New(t.Context(), job.Options{}), ""); err == nil || !strings.Contains(err.Error(), "no session is named") {
		t.Errorf("without a path: got %v", err)
	}
}

func TestNumbersThatThisVersionDoesNotKnowAreShownAsNumbers(t *testing.T) {
	names := []string{nameOf(modeNames[:], int(warptrace.ModeValues)), nameOf(modeNames[:], 9), RoleName(warptrace.RoleAtomic), RoleName(77)}
	if want := []string{"values", "unknown-9", "atomic", "unknown-77"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
