package llir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain runs the tests; or, where STANDIN_LAUNCH names a folder, one launch for a stand-in of a driver (tests/driver/amd/amdhip64.c).
//
// The folder has the launch, the memory of its device, which is overwritten, and the image of the kernel. Triton's cache, STANDIN_CACHE,
// has the LLVM IR that the image was made of. STANDIN_TRUTH names a file that gets a line for each event: what the recorder was called with.
func TestMain(m *testing.M) {
	if folder := os.Getenv("STANDIN_LAUNCH"); folder != "" {
		if err := standInLaunch(folder, os.Getenv("STANDIN_CACHE"), os.Getenv("STANDIN_TRUTH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func standInLaunch(folder, cache, truth string) error {
	said, err := os.ReadFile(filepath.Join(folder, "launch"))
	if err != nil {
		return err
	}
	memory, err := os.ReadFile(filepath.Join(folder, "memory"))
	if err != nil {
		return err
	}
	from := bytes.NewReader(said)
	var kernel string
	var grid [3]uint32
	var block uint32
	var n int
	if _, err := fmt.Fscan(from, &kernel, &grid[0], &grid[1], &grid[2], &block, &n); err != nil {
		return err
	}
	args := make([]uint64, n)
	for i := range args {
		if _, err := fmt.Fscan(from, &args[i]); err != nil {
			return err
		}
	}
	text, lanes, err := source(folder, cache)
	if err != nil {
		return err
	}
	m, err := read(text)
	if err != nil {
		return err
	}
	x := newMachine(m, lanes, grid, block)
	for rest := memory; ; {
		var at, size uint64
		if _, err := fmt.Fscan(from, &at, &size); err != nil {
			break
		}
		x.memory = append(x.memory, region{"device", at, rest[:size]})
		rest = rest[size:]
	}
	x.run(kernel, args)
	if err := os.WriteFile(filepath.Join(folder, "memory"), memory, 0o600); err != nil || truth == "" {
		return err
	}
	to, err := os.OpenFile(truth, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	return json.NewEncoder(to).Encode(map[string]any{"kernel": kernel, "lanes": lanes, "events": seen(x.calls), "stored": len(x.wrote)})
}

// source is the LLVM IR that the image of a launch was made of, and the lanes of its waves.
func source(folder, cache string) (string, int, error) {
	image, err := os.ReadFile(filepath.Join(folder, "image"))
	if err != nil {
		return "", 0, err
	}
	known, err := filepath.Glob(filepath.Join(cache, "*", "*.hsaco"))
	if err != nil {
		return "", 0, err
	}
	for _, path := range known {
		if made, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(made, image) {
			continue
		}
		text, err := os.ReadFile(strings.TrimSuffix(path, ".hsaco") + ".llir")
		return string(text), wavefront(image), err
	}
	return "", 0, fmt.Errorf("no image of %d in %s is that of the launch", len(known), cache)
}

// wavefront is the number behind the key of the image's metadata.
func wavefront(image []byte) int {
	key := []byte("\xaf.wavefront_size")
	at := bytes.Index(image, key)
	if at < 0 || at+len(key) >= len(image) {
		return 0
	}
	return int(image[at+len(key)])
}

func TestWavefrontOfAnImage(t *testing.T) {
	for _, want := range []int{32, 64} {
		image := append([]byte("..\xaf.wavefront_size"), byte(want), 0xa0)
		if got := wavefront(image); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if wavefront(binary.LittleEndian.AppendUint64(nil, 7)) != 0 {
		t.Error("metadata that is not there says something")
	}
}
