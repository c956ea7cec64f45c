package kernels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/prlx-go/prlx/core/fault"
)

func testData(t testing.TB, kind string) []string {
	t.Helper()
	dir := os.Getenv("PRLX_TEST_DATA")
	if dir == "" {
		t.Skip("PRLX_TEST_DATA is not set")
	}
	paths, err := filepath.Glob(filepath.Join(dir, kind))
	if err != nil || len(paths) == 0 {
		t.Skipf("no %s in %s", kind, dir)
	}
	return paths
}

// plain reads a file decompressed.
func plain(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}

// slowCount counts kernels by device and stream with encoding/json, which shares nothing with Read.
func slowCount(t testing.TB, raw []byte) map[string]int {
	t.Helper()
	clean := bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, raw)
	var events []map[string]any
	if clean[0] == '[' {
		if err := json.Unmarshal(clean, &events); err != nil {
			t.Fatal(err)
		}
	} else {
		var doc struct {
			Events []map[string]any `json:"traceEvents"`
		}
		if err := json.Unmarshal(clean, &doc); err != nil {
			t.Fatal(err)
		}
		events = doc.Events
	}
	counts := map[string]int{}
	for _, e := range events {
		if cat, _ := e["cat"].(string); e["ph"] == "X" && (strings.EqualFold(cat, "kernel") || cat == "mtia_ccp_events") {
			device := e["pid"]
			if pid, ok := device.(float64); ok && pid >= 1e8 { // ranks that somebody merged: 100,000,000 times the rank, and the device
				device = math.Mod(pid, 1e8)
			}
			counts[fmt.Sprint(device, "/", strings.TrimPrefix(fmt.Sprint(e["tid"]), "stream "))]++
		}
	}
	return counts
}

func TestKernelsOfRecordingsAreThoseThatASlowReaderCounts(t *testing.T) {
	for _, path := range testData(t, "kineto/*.json*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr, err := Read(nil, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for i := range tr.Sequences {
				s := &tr.Sequences[i]
				for _, st := range s.Streams {
					got[strings.TrimPrefix(s.Device, "GPU ")+"/"+st.Name] = st.Kernels
				}
			}
			if want := slowCount(t, plain(t, path)); len(want) > 0 && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("streams are %v, want %v", got, want)
			}
			t.Log(describeTrace(tr))
		})
	}
}

// The counts are those that the tools of the recordings' owners show.
func TestXSpaceRecordings(t *testing.T) {
	want := map[string]string{
		"jax08_attention__tw003":    "GPU 0 16:87 17:18",
		"jax_conv_minimal_08":       "GPU 0 15:9 16:34 17:9 18:8; GPU 1 19:25; GPU 2 22:25; GPU 3 25:25; GPU 4 28:25; GPU 5 31:25; GPU 6 34:25; GPU 7 37:25",
		"jax_conv_minimal_legacy":   "GPU 0 7:10 8:15 9:14 10:14; GPU 7 1:25",
		"2cc1243__tpu_inference_2":  "TPU 0 XLA Ops:1504; TPU 1 XLA Ops:1503; TPU 2 XLA Ops:1503; TPU 3 XLA Ops:1503",
		"xprof__GPU-multi-worker__": "GPU 1 123:19; GPU 4 63:2 134:665 135:80 136:12; GPU 6 91:2 142:665 143:99 144:12",
	}
	marks := map[string]string{"2cc1243__tpu_inference_2": "414 xla-module", "xprof__GPU-multi-worker__": "2 xla-step"}
	for _, path := range testData(t, "xplane/*.pb") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr, err := Read(nil, path, Options{Copies: true})
			if strings.Contains(path, "60203f9") { // damaged
				if !fault.Is(err, fault.Format) {
					t.Errorf("got %v, want a format error", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var devices []string
			for i := range tr.Sequences {
				s := &tr.Sequences[i]
				text := s.Device
				for _, st := range s.Streams {
					text += fmt.Sprintf(" %s:%d", st.Name, st.Kernels)
				}
				devices = append(devices, text)
			}
			for part, w := range want {
				if got := strings.Join(devices, "; "); strings.Contains(path, part) && got != w {
					t.Errorf("devices are %s, want %s", got, w)
				}
			}
			for part, w := range marks {
				if !strings.Contains(path, part) {
					continue
				}
				if got := fmt.Sprint(len(tr.Marks), " ", tr.Marks[0].Kind); got != w {
					t.Errorf("marks are %s, want %s", got, w)
				}
			}
			t.Log(describeTrace(tr))
		})
	}
}

// describeTrace says in a few lines what was found.
func describeTrace(tr *Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d kernels, %d names, %v\n", tr.Format, tr.Kernels(), len(tr.Names), tr.Losses)
	for i := range tr.Sequences {
		s := &tr.Sequences[i]
		graphs := uint32(0)
		for _, g := range s.Graph {
			graphs = max(graphs, g)
		}
		fmt.Fprintf(&b, "  rank %d %q %q: %d kernels, %d graph launches, streams %v, span %d ns\n", s.Rank, s.Host, s.Device, s.Len(), graphs, s.Streams, s.EndNS(s.Len()-1)-s.StartNS[0])
	}
	marks := map[string]int{}
	for _, m := range tr.Marks {
		marks[fmt.Sprintf("%s/%s/%s", m.Kind, m.Place, m.Phase)]++
	}
	var keys []string
	for k := range marks {
		keys = append(keys, fmt.Sprintf("%s: %d", k, marks[k]))
	}
	sort.Strings(keys)
	fmt.Fprintf(&b, "  marks %v\n", keys)
	shown := 0
	for _, m := range tr.Marks {
		if m.Kind != NVTX && m.Kind != GraphLaunch && shown < 7 {
			shown++
			fmt.Fprintf(&b, "    %s %.50q step %d tokens %d batch %d phase %q, %d kernels, %s\n", m.Kind, m.Text, m.Step, m.Tokens, m.Batch, m.Phase, m.Kernels, m.Place)
		}
	}
	for _, w := range tr.Warnings {
		fmt.Fprintf(&b, "  ! %s\n", w)
	}
	return b.String()
}
