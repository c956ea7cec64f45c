package reading_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// TestWhatIsBeingMadeIsNoReasonToStop: a process that begins, or was killed when it began, leaves a file of which nothing is there yet, and
// those of the others are read.
func TestWhatIsBeingMadeIsNoReasonToStop(t *testing.T) {
	whole := nccltest.NewFile("alpha", 100)
	ring(whole)
	data := whole.Bytes()
	begun := append([]byte(nil), data[:4096]...)
	clear(begun[44:])
	for name, bytes := range map[string][]byte{"empty": nil, "short": make([]byte, 20), "zeros": make([]byte, 1<<20), "head begun": begun[:12:12], "no tables": begun} {
		dir := t.TempDir()
		other, path := filepath.Join(dir, "a"+reading.Ending), filepath.Join(dir, "b"+reading.Ending)
		whole.Write(t, other)
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		all, warnings, err := reading.Read(job.New(context.Background(), job.Options{}), []string{other, path}, reading.Options{})
		if err != nil || len(all) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0].Why, path) {
			t.Errorf("%s: %d recordings, warnings %q, %v", name, len(all), warnings, err)
			continue
		}
		if name == "head begun" { // as a copy that was cut: the recorder never leaves that
			if _, _, err := reading.Read(job.New(context.Background(), job.Options{}), []string{path}, reading.Options{}); !fault.Is(err, fault.Format) {
				t.Errorf("%s: nothing can be read, and it says %v", name, err)
			}
			continue
		}
		f, err := segment.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := reading.One(context.Background(), f, reading.Options{}); err != nil || len(r.Ops) != 0 {
			t.Errorf("%s: alone it is %v, %+v", name, err, r)
		}
		f.Close()
	}
}
