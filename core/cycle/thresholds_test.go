package cycle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// undecided are rooms without thresholds: the numbers in them are units, limits of reading, words, and defaults that their fields name.
var undecided = []string{"cycletest", "cycledoc", "structure", "rendering", "gate"}

// TestThresholdsStandInTheTableOfTheirRoom refuses numbers that decide something and have no name: fractions, and what is compared or multiplied.
func TestThresholdsStandInTheTableOfTheirRoom(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("naming/phase/*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, name := range append(files, more...) {
		room := filepath.Base(filepath.Dir(name))
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "thresholds.go" || slices.Contains(undecided, room) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		bare := func(e ast.Expr) {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind == token.STRING || lit.Kind == token.CHAR {
				return
			}
			if strings.HasPrefix(lit.Value, "0x") { // of hashes
				return
			}
			if !slices.Contains([]string{"0", "0.0", "1", "2", "100"}, lit.Value) { // 100: percent; 2: halves, and what is counted twice
				t.Errorf("%s: %s has no name: give it one in thresholds.go, with what it decides", fset.Position(lit.Pos()), lit.Value)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				switch n.Op {
				case token.MUL, token.QUO, token.LSS, token.LEQ, token.GTR, token.GEQ:
					bare(n.X)
					bare(n.Y)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") {
					for _, a := range n.Args {
						bare(a)
					}
				}
			case *ast.KeyValueExpr:
				bare(n.Value)
			}
			return true
		})
	}
	if looked < 25 {
		t.Errorf("%d files were looked at", looked)
	}
}
