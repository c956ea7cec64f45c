package diff

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// opened writes a copy of an example with bytes of it changed, and opens it.
func opened(t *testing.T, name string, change func([]byte)) *warptrace.Trace {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "examples", "two_runs", name))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(raw)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.OpenPath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	return trace
}

// ofBlock changes a byte of the first block of a kind, behind its head.
func ofBlock(t *testing.T, kind byte) func([]byte) {
	return func(raw []byte) {
		for at := 16; string(raw[at:at+4]) == "P2BK"; {
			stored := int(binary.LittleEndian.Uint32(raw[at+8:]))
			if raw[at+4] == kind {
				raw[at+32+stored-1] ^= 1
				return
			}
			at += 32 + stored
		}
		t.Fatalf("no block of kind %d", kind)
	}
}

const (
	warpsBlock = 3
	indexBlock = 4
)

// A difference in what is whole is one, whatever became of the rest; without a difference the rest could have one.
func TestDamageIsRefusedWhereTheRestIsTheSame(t *testing.T) {
	for _, verify := range []bool{false, true} {
		opt := Options{Verify: verify}
		if _, err := Compare(nil, opened(t, "a.prlx", nil), opened(t, "b.prlx", ofBlock(t, warpsBlock)), opt); !fault.Is(err, fault.Format) {
			t.Errorf("verify %v: all events are damaged: got %v", verify, err)
		}
	}
	_, err := Compare(nil, opened(t, "a.prlx", nil), opened(t, "a.prlx", ofBlock(t, indexBlock)), Options{Verify: true})
	if !fault.Is(err, fault.Format) {
		t.Errorf("equal recordings, one of which is damaged: got %v", err)
	}
	r, err := Compare(nil, opened(t, "a.prlx", nil), opened(t, "b.prlx", ofBlock(t, indexBlock)), Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := r.Document(DocumentOptions{})
	if err != nil || doc.Status != StatusDiverged || len(doc.Conclusion.Missing) == 0 || len(doc.Warnings) == 0 {
		t.Errorf("a difference beside damage: got %s, missing %v, warnings %v (%v)", doc.Status, doc.Conclusion.Missing, doc.Warnings, err)
	}
}

// Whatever byte is damaged, equal recordings never differ, and different ones are never the same.
func TestNoDamagedByteMakesADifference(t *testing.T) {
	chance := rand.New(rand.NewPCG(20261126, 13))
	for range 40 {
		at, bit := chance.IntN(30000), byte(1)<<chance.IntN(8)
		change := func(raw []byte) { raw[at] ^= bit }
		for name, want := range map[string]string{"a.prlx": StatusIdentical, "b.prlx": StatusDiverged} {
			path := filepath.Join(t.TempDir(), name)
			raw, err := os.ReadFile(filepath.Join("..", "..", "examples", "two_runs", name))
			if err != nil {
				t.Fatal(err)
			}
			change(raw)
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			damaged, err := warptrace.OpenPath(t.Context(), path)
			if err != nil {
				continue
			}
			r, err := Compare(nil, opened(t, "a.prlx", nil), damaged, Options{Verify: true})
			if err == nil {
				if got := r.Judge().Status; got != want && got != StatusInconclusive {
					t.Errorf("byte %d, bit %d of %s: got %s, want %s", at, bit, name, got, want)
				}
			}
			damaged.Close()
		}
	}
}
