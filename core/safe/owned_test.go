package safe_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A goroutine that panics outside of a fence ends the Python process around us, so every go statement of the core stands in a
// package that fences: here, and in job, whose Table fences its jobs.
func TestNoGoroutineOutsideOfAFence(t *testing.T) {
	fenced := map[string]bool{"safe": true, "job": true}
	seen := 0
	for _, root := range []string{"../../core", "../../pybind"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			seen++
			ast.Inspect(file, func(n ast.Node) bool {
				if starts(n) && !fenced[file.Name.Name] {
					t.Errorf("%s starts a goroutine outside of safe.Group", path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were read", seen)
	}
}

// starts reports whether a node starts a goroutine, or is what does.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.ImportSpec:
		return n.Path.Value == `"golang.org/x/sync/errgroup"`
	case *ast.SelectorExpr:
		return n.Sel.Name == "AfterFunc" || n.Sel.Name == "WaitGroup"
	}
	return false
}
