package combine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
)

// TestCompressedBlocksAreOneMember feeds the writer blocks of all sizes.
func TestCompressedBlocksAreOneMember(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var plain, packed bytes.Buffer
	list, err := newListWriter(&packed, true, 2)
	if err != nil {
		t.Fatal(err)
	}
	both := io.MultiWriter(list, &plain)
	io.WriteString(both, `{"traceEvents": [`)
	first := true
	err = assemble(job.New(context.Background(), job.Options{Workers: 3}), list, func(yield func(int64, maker) error) error {
		for k := range 200 {
			text := []byte(strings.Repeat(fmt.Sprintf("{\"k\": %d}", k), r.IntN(3000)))
			if len(text) > 0 {
				if !first {
					plain.WriteString(",")
				}
				first = false
				plain.WriteString("\n")
				plain.Write(text)
			}
			if err := yield(1, func(w *pieceWorker) error { return w.emit([]byte(",\n"), text) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(both, "]}")
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	got, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(got, plain.Bytes()) {
		t.Errorf("%d bytes came back of %d: %v", len(got), plain.Len(), err)
	}
	if packed.Len() != 0 {
		t.Errorf("%d bytes behind the only member", packed.Len())
	}
}

func TestAPieceThatFailsEndsTheWriting(t *testing.T) {
	list, err := newListWriter(io.Discard, false, 2)
	if err != nil {
		t.Fatal(err)
	}
	err = assemble(job.New(context.Background(), job.Options{Workers: 2, MemoryLimit: 100}), list, func(yield func(int64, maker) error) error {
		for k := range 1000 {
			if err := yield(60, func(w *pieceWorker) error {
				if k == 500 {
					return io.ErrUnexpectedEOF
				}
				return w.emit(nil, []byte("{}"))
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != io.ErrUnexpectedEOF {
		t.Errorf("got %v, want the piece's error", err)
	}
}

func TestNamesOfProcesses(t *testing.T) {
	rank := int64(3)
	for _, c := range []struct {
		n    Node
		what string
		want string
	}{
		{Node{identity: identity{ID: "node1"}, tag: "node01", Rank: &rank, Host: "tw003"}, "GPU 0", "node01 rank 3 · tw003 · GPU 0"},
		{Node{identity: identity{ID: "rank3"}, tag: "rank3", Rank: &rank}, "python", "rank3 · python"},
		{Node{identity: identity{ID: "tw003"}, tag: "tw003", Host: "tw003"}, "", "tw003"},
	} {
		if got := processName(&c.n, c.what); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestThreadsGetNumbersOnlyWhereViewersMixThemUp(t *testing.T) {
	p := &source.Process{}
	for _, tid := range []string{"1", `"stream 7"`, "4294967295", "3", "4294967296", "-5", `"12"`, "7.0"} {
		p.Lines = append(p.Lines, &source.Line{TextID: tid})
	}
	want := map[string]string{`"stream 7"`: "2", "4294967296": "4", "-5": "5", `"12"`: "6", "7.0": "7"}
	if d := cmp.Diff(want, threadNumbers(p)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p.Lines = p.Lines[:1]
	if got := threadNumbers(p); got != nil {
		t.Errorf("got %v for numbers alone", got)
	}
}

// TestCompressedOutputsAreCompressed: as their names say, with the same text inside, for any number of workers.
func TestCompressedOutputsAreCompressed(t *testing.T) {
	inputs := sampledPair(t)
	write := func(name string, workers int) []byte {
		out := filepath.Join(t.TempDir(), name)
		doc := combined(t, workers, Request{Inputs: inputs, Output: out})
		b, err := os.ReadFile(out)
		if err != nil || doc.Outputs[0].Bytes != int64(len(b)) || doc.Outputs[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256(b)) {
			t.Fatalf("%s: %+v of %d bytes, %v", name, doc.Outputs, len(b), err)
		}
		return b
	}
	plain := write("a.json", 1)
	for name, magic := range map[string]string{"a.json.gz": "\x1f\x8b", "a.json.zst": "\x28\xb5\x2f\xfd", "A.JSON.ZST": "\x28\xb5\x2f\xfd"} {
		packed := write(name, 1)
		if !bytes.HasPrefix(packed, []byte(magic)) || len(packed) > len(plain)/2 {
			t.Errorf("%s: %d bytes of %d, beginning with %q", name, len(packed), len(plain), packed[:4])
		}
		src, err := file.FromBytes(name, packed)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, src.Size())
		if _, err := src.ReadAt(text, 0); err != nil || !bytes.Equal(text, plain) {
			t.Errorf("%s: other text inside, %v", name, err)
		}
		if other := write(name, 4); !bytes.Equal(packed, other) {
			t.Errorf("%s: %d bytes of one worker, %d of four", name, len(packed), len(other))
		}
	}
}

// TestAMixedRunGetsAnEnding: one JSON comes out of XSpaces and JSONs, and is called so; names with an ending stay.
func TestAMixedRunGetsAnEnding(t *testing.T) {
	spaces, _, _ := jax(t, "p2")
	kineto := sampledPair(t)
	for _, c := range []struct{ given, written string }{{"run", "run.json.gz"}, {"run/", "run.json.gz"}, {"all.json", "all.json"}, {"all.v2", "all.v2"}} {
		dir := t.TempDir()
		r := Request{Inputs: []Input{{ID: "0", Path: spaces[0].Path}, {ID: "1", Path: kineto[1].Path}}, Output: dir + "/" + c.given, Method: MethodWall}
		doc := combined(t, 1, r)
		if _, err := os.Stat(filepath.Join(dir, c.written)); err != nil || doc.Outputs[0].Path != c.written {
			t.Errorf("%s became %s: %v", c.given, doc.Outputs[0].Path, err)
		}
		if said := strings.Contains(strings.Join(doc.Notes, "; "), "one JSON is written"); said != (c.written == "run.json.gz") {
			t.Errorf("%s: notes are %q", c.given, doc.Notes)
		}
	}
}
