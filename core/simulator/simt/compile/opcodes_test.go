package compile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/opcodes.md")

// TestTableOfOpcodesIsFresh holds docs/opcodes.md to the code.
func TestTableOfOpcodesIsFresh(t *testing.T) {
	var s strings.Builder
	s.WriteString("# What the simulator executes\n\n")
	s.WriteString("Made from the code by `go test ./core/simulator/simt/compile -run TableOfOpcodes -update`. ")
	s.WriteString("Anything else is refused by name, with its line in the PTX and in the source.\n\n")
	s.WriteString("Integer and IEEE operations give the same bits as a GPU. Where the last column says something, a result may differ.\n\n")
	s.WriteString("| instruction | forms | against a GPU |\n|---|---|---|\n")
	cell := func(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
	for _, o := range Opcodes() {
		fmt.Fprintf(&s, "| `%s` | %s | %s |\n", o.Name, cell(o.Forms), cell(o.Approx))
	}
	path := filepath.Join("..", "..", "..", "..", "docs", "opcodes.md")
	if *update {
		if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != s.String() {
		t.Errorf("%s is not what the code says: go test ./core/simulator/simt/compile -run TableOfOpcodes -update", path)
	}
}
