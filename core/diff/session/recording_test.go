package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// recorded is one launch to be written: a kernel and the sites that its one warp passes.
type recorded struct {
	kernel string
	grid   uint32
	sites  []uint32
	taken  []bool // by event, false where it is shorter
	lost   uint64 // events
	entry  string // fields of the manifest's entry that are not as they should be: `"file":"../x"`
}

func launch(kernel string, sites ...uint32) recorded {
	return recorded{kernel: kernel, grid: 1, sites: sites}
}

// encode is the recording as a file of format v1.
func (r recorded) encode(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	h := warptrace.Header{
		Version: 1, Kernel: r.kernel, KernelHash: warptrace.Hash64(r.kernel), Grid: [3]uint32{r.grid, 1, 1}, Block: [3]uint32{32, 1, 1},
		WarpsPerBlock: 1, WarpSlots: 1, EventsPerWarp: 8, ArchNumber: 80, SampleRate: 1, WaveSize: 32,
	}
	w, err := warptrace.CreateV1(&b, h, warptrace.V1Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := len(r.sites)
	warp := &warptrace.Warp{
		Site: r.sites, Kind: make([]site.Kind, n), Dir: make([]uint8, n), Aux: make([]uint16, n), Active: make([]uint64, n),
		Taken: make([]uint64, n), Value: make([]uint64, n), Type: make([]warptrace.ValueType, n),
	}
	warp.Events, warp.Total, warp.Dropped = uint32(n), uint64(n)+r.lost, r.lost
	for i, taken := range r.taken {
		if taken {
			warp.Dir[i] = 1
		}
	}
	for i := range n {
		warp.Active[i] = 0xffffffff
		warp.Type[i] = warptrace.TypeBits
	}
	if err := w.Append(warp); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write makes a session's directory with the manifest of original prlx 0.5.
func write(t testing.TB, launches ...recorded) string {
	t.Helper()
	dir := t.TempDir()
	var entries []string
	for i, l := range launches {
		name := fmt.Sprintf("%s_%d.prlx", l.kernel, i)
		if err := os.WriteFile(filepath.Join(dir, name), l.encode(t), 0o644); err != nil {
			t.Fatal(err)
		}
		entry := fmt.Sprintf(`"launch":%d,"kernel":%q,"file":%q,"grid":[%d,1,1],"block":[32,1,1]`, i, l.kernel, name, l.grid)
		if l.entry != "" {
			entry += "," + l.entry // of a name given twice the later holds
		}
		entries = append(entries, "{"+entry+"}")
	}
	manifest(t, dir, "["+strings.Join(entries, ",")+"]")
	return dir
}

func manifest(t testing.TB, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *Session {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
