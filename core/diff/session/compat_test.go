package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff/compat"
	"github.com/prlx-go/prlx/core/job"
)

func compatOptions() compat.Options { return compat.Options{Lookahead: compat.DefaultLookahead} }

func compatJSON(t *testing.T, a, b string, workers int, opt compat.Options) string {
	t.Helper()
	opt.Lookahead = compat.DefaultLookahead
	r, err := CompareCompat(job.New(t.Context(), job.Options{Workers: workers, MemoryLimit: 1 << 24}), open(t, a), open(t, b), opt)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.JSON())
}

func TestCompatMatchesByKernelAndLaunchIndex(t *testing.T) {
	a := write(t, launch("f", 1, 2), launch("g", 3), launch("h", 4))
	b := write(t, launch("f", 1, 2), launch("g", 9), launch("x", 4))
	want := `{
  "status": "diverged",
  "kernel_results": [
    {
      "kernel": "f",
      "launch": 0,
      "status": "identical",
      "divergences": 0
    },
    {
      "kernel": "g",
      "launch": 1,
      "status": "diverged",
      "divergences": 2
    }
  ],
  "unmatched_a": [
    "h (launch 2)"
  ],
  "unmatched_b": [
    "x (launch 2)"
  ],
  "threshold": 5,
  "passed": false
}`
	if got := compatJSON(t, a, b, 1, compat.Options{Threshold: 5}); got != want {
		t.Errorf("got %s", got)
	}
	if got := compatJSON(t, a, b, 8, compat.Options{Threshold: 5}); got != want {
		t.Errorf("with 8 workers: %s", got)
	}
}

func TestCompatGoesOnBehindBrokenLaunches(t *testing.T) {
	a := write(t, launch("f", 1), launch("g", 1), launch("h", 1), recorded{kernel: "i", grid: 1, sites: []uint32{1}}, launch("j", 1, 2))
	b := write(t, launch("f", 1), launch("g", 1), launch("h", 1), recorded{kernel: "i", grid: 2, sites: []uint32{1}}, launch("j", 1, 3))
	if err := os.Truncate(filepath.Join(b, "f_0.prlx"), 200); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(a, "g_1.prlx"), 20); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b, "h_2.prlx")); err != nil {
		t.Fatal(err)
	}
	got := compatJSON(t, a, b, 2, compat.Options{Threshold: 100})
	for _, want := range []string{
		"Data too small: 200 bytes (expected 304 bytes for 1 warps)", "File too small: 20 bytes (expected at least 160)",
		"Failed to open trace file: " + filepath.Join(b, "h_2.prlx"), "Grid dimension mismatch: [1, 1, 1] vs [2, 1, 1]",
		"\"kernel\": \"j\",\n      \"launch\": 4,\n      \"status\": \"diverged\"", `"passed": false`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

func TestCompatSumsOverLaunches(t *testing.T) {
	a := write(t, launch("f", 1, 2), launch("g", 3))
	b := write(t, launch("f", 1, 9), launch("g", 8))
	for threshold, want := range map[int64]string{3: `"passed": false`, 4: `"passed": true`} {
		if got := compatJSON(t, a, b, 1, compat.Options{Threshold: threshold}); !strings.Contains(got, want) {
			t.Errorf("threshold %d: want %s in %s", threshold, want, got)
		}
	}
}

func TestCompatNamesTwice(t *testing.T) {
	again := recorded{kernel: "f", grid: 1, sites: []uint32{5}, entry: `"launch":0`}
	once, twice := write(t, launch("f", 1)), write(t, launch("f", 1), again)
	if got := compatJSON(t, once, twice, 1, compat.Options{}); !strings.Contains(got, `"unmatched_b": [
    "f (launch 0)"
  ]`) || strings.Contains(got, `"divergences": 2`) {
		t.Errorf("the first of two in B is not taken: %s", got)
	}
	if got := compatJSON(t, twice, once, 1, compat.Options{}); strings.Count(got, `"launch": 0`) != 2 || !strings.Contains(got, `"unmatched_b": [],`) {
		t.Errorf("both of two in A are not compared: %s", got)
	}
}
