package segment

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
)

// TestTextsAreReadByTheirNumbers: once each; what is lost, beyond the table or another's is told apart.
func TestTextsAreReadByTheirNumbers(t *testing.T) {
	const at = 24 // where the table begins
	table := make([]byte, at)
	entry := func(text string, hash, whole uint32) uint32 {
		number := uint32(len(table)-at) / 8
		head := binary.LittleEndian.AppendUint32(nil, hash)
		head = binary.LittleEndian.AppendUint32(head, uint32(len(text)))
		head = binary.LittleEndian.AppendUint32(head, whole)
		table = append(append(append(table, head...), 0, 0, 0, 0), text...)
		for len(table)%8 != 0 {
			table = append(table, 0)
		}
		return number
	}
	hashOf := func(text string) uint32 {
		h := fnv.New32a()
		h.Write([]byte(text))
		return h.Sum32()
	}
	entry("", 0, 0) // number 0 is no text
	sum := entry("Sum", hashOf("Sum"), 1)
	long := strings.Repeat("x", mostText)
	cut := entry(long, hashOf(long), 0)
	other := entry("Max", hashOf("Min"), 1)
	path := filepath.Join(t.TempDir(), "texts")
	if err := os.WriteFile(path, table, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := file.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all := &texts{contents: contents{src}, at: section{at, 1, len(table) - at}, checked: true, known: map[uint32]Text{}}
	for number, want := range map[uint32]Text{0: {}, sum: {Text: "Sum", Known: true}, cut: {Text: long, Known: true, Cut: true}, 0xffffffff: {Lost: true}} {
		for range 2 {
			if got, err := all.text(number); err != nil || got != want {
				t.Errorf("number %d: %+v, %v; want %+v", number, got, err, want)
			}
		}
	}
	for _, number := range []uint32{other, 1 << 20} {
		if got, err := all.text(number); err == nil {
			t.Errorf("number %d: %+v", number, got)
		}
	}
}
