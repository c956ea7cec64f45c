package compile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
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
	for _, o := range opcodes() {
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

// opcode is a row in the table of what the simulator executes.
type opcode struct {
	Name   string // "add"
	Forms  string // which of its forms
	Approx string // how results may differ from a GPU's, "" not at all
}

// opcodes are all instructions of the simulator, by name.
func opcodes() []opcode {
	var list []opcode
	for name, e := range emitters {
		row := opcode{Name: name, Forms: e.doc}
		for _, f := range lane.Families() {
			if f.Name == name {
				row.Approx = f.Approx
			}
		}
		list = append(list, row)
	}
	for _, f := range lane.Families() {
		if _, mine := emitters[f.Name]; !mine {
			list = append(list, opcode(f))
		}
	}
	slices.SortFunc(list, func(a, b opcode) int { return strings.Compare(a.Name, b.Name) })
	return list
}
