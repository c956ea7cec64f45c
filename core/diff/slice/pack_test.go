package slice

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

func TestPackedTextIsTheSameCode(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.ptx")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no PTX to pack: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packed := ptx.Pack(string(raw))
		if len(packed) >= len(raw) || strings.Contains(packed, ".section") {
			t.Errorf("%s: packed from %d to %d bytes", path, len(raw), len(packed))
		}
		kernel := strings.SplitN(filepath.Base(path), ".", 2)[0]
		whole, err := Read(context.Background(), path, raw, kernel)
		if err != nil {
			t.Fatal(err)
		}
		short, err := Read(context.Background(), path, []byte(packed), kernel)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole.insts) != len(short.insts) {
			t.Fatalf("%s: %d instructions, packed %d", path, len(whole.insts), len(short.insts))
		}
		for i := range whole.insts {
			a, b := &whole.insts[i], &short.insts[i]
			if a.hash != b.hash || a.frame.File != b.frame.File || a.frame.Line != b.frame.Line || len(a.chain) != len(b.chain) {
				t.Errorf("%s, instruction %d (%s): at %+v, packed %+v", path, i, a.in.Op.Full, a.frame, b.frame)
			}
		}
	}
}
