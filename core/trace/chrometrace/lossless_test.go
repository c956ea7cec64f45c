package chrometrace

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// recordings calls visit with every recorded Chrome trace, the members of archives too.
func recordings(t *testing.T, visit func(t *testing.T, src *file.Source)) {
	t.Helper()
	paths := append(filetest.Glob(t, "kineto/*.json*"), filetest.Glob(t, "jax_skew/*/*.trace.json.gz")...)
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			src, err := file.Open(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			visit(t, src)
		})
	}
	for name, body := range archive(t, filetest.Data(t, "kineto/facebookresearch+param__dlrm_kineto.tar.gz")) {
		t.Run(name, func(t *testing.T) { visit(t, bytesSource(t, body)) })
	}
}

func bytesSource(t testing.TB, b []byte) *file.Source {
	t.Helper()
	src, err := file.FromBytes("trace.json", b)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func archive(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(h.Name, ".json") {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			members[filepath.Base(h.Name)] = b
		}
	}
	if len(members) != 8 {
		t.Fatalf("archive holds %d traces, want 8", len(members))
	}
	return members
}

func allOf(t testing.TB, src *file.Source) []byte {
	t.Helper()
	b, err := readRange(src, 0, src.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustScan(t testing.TB, src *file.Source, opt ScanOptions) *trace {
	t.Helper()
	tr, err := Scan(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func mustRewrite(t testing.TB, src *file.Source, tr *trace, e edit) ([]byte, counts) {
	t.Helper()
	var out bytes.Buffer
	counts, err := Rewrite(context.Background(), src, tr, e, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), counts
}

func TestRewriteWithoutEditsIsTheInputByteForByte(t *testing.T) {
	recordings(t, func(t *testing.T, src *file.Source) {
		in := allOf(t, src)
		for _, chunk := range []int{0, 700} {
			tr := mustScan(t, src, ScanOptions{ChunkBytes: chunk})
			same := tr.BaseNS
			for name, e := range map[string]edit{
				"zero edit":      {},
				"identity clock": {Clock: &clock.Map{}, OutputBaseNS: &same, Sample: true},
				"shift by 0":     {Clock: clock.Shift(0, 5), OutputBaseNS: &same, Sample: true},
			} {
				out, counts := mustRewrite(t, src, tr, e)
				if !bytes.Equal(in, out) {
					t.Fatalf("%s, chunk %d: output of %d bytes differs from the input of %d, first at byte %d", name, chunk, len(out), len(in), firstDifference(in, out))
				}
				if counts.Events != tr.Events || counts.Corrected != 0 || counts.Dropped != 0 {
					t.Fatalf("%s: counts %d events, %d corrected, %d dropped; want %d, 0, 0", name, counts.Events, counts.Corrected, counts.Dropped, tr.Events)
				}
			}
		}
	})
}

// Moving a trace and moving it back restores every byte, because nothing is computed in floats and decimals are kept.
func TestRewriteThereAndBackIsTheInputByteForByte(t *testing.T) {
	const shift = 37_591_600_123_000
	recordings(t, func(t *testing.T, src *file.Source) {
		in := allOf(t, src)
		tr := mustScan(t, src, ScanOptions{})
		if tr.ResolutionPS == 1 {
			t.Skip("numbers printed from a float with 17 digits are not spelled again as they were")
		}
		out, counts := mustRewrite(t, src, tr, edit{Clock: clock.Shift(shift, 0)})
		if counts.Corrected != tr.Timed || counts.MinNS != shift || counts.MaxNS != shift {
			t.Fatalf("corrected %d of %d events by %d to %d ns, want all by %d", counts.Corrected, tr.Timed, counts.MinNS, counts.MaxNS, int64(shift))
		}
		moved := bytesSource(t, out)
		back, _ := mustRewrite(t, moved, mustScan(t, moved, ScanOptions{}), edit{Clock: clock.Shift(-shift, 0)})
		if !bytes.Equal(in, back) {
			i := firstDifference(in, back)
			t.Fatalf("differs at byte %d: %q, want %q", i, around(back, i), around(in, i))
		}
	})
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func around(b []byte, i int) []byte { return b[max(0, i-60):min(len(b), i+60)] }
