package core_test

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// slowAtStart are calls that a package may not make while it is loaded: every command loads every package of the core.
var slowAtStart = map[string]bool{
	"regexp.MustCompile": true, "regexp.Compile": true, "template.Must": true, "template.New": true, "gob.Register": true,
}

// called is the package and the name of a function that is called: "regexp.MustCompile".
func called(call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		if from, ok := sel.X.(*ast.Ident); ok {
			return from.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// atStart visits the calls that run while a package is loaded: those in variables of the package and in its init functions, not those
// in functions that are only written there.
func atStart(f *ast.File, visit func(*ast.CallExpr)) {
	look := func(n ast.Node) bool {
		if _, later := n.(*ast.FuncLit); later {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok {
			visit(call)
		}
		return true
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			if fn.Recv == nil && fn.Name.Name == "init" {
				ast.Inspect(fn.Body, look)
			}
			continue
		}
		ast.Inspect(decl, look)
	}
}

// TestLoadingTheCoreCompilesNothing keeps the start of every command short: expressions are patterns, templates and style sheets are
// prepared when a page is written. bench/startup.py prints what loading costs.
func TestLoadingTheCoreCompilesNothing(t *testing.T) {
	own := map[string]map[string]bool{} // by room: its functions that compile
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && (slowAtStart[called(call)] || called(call) == "assets.ReadFile") {
					if own[room] == nil {
						own[room] = map[string]bool{}
					}
					own[room][fn.Name.Name] = true
				}
				return true
			})
		}
	})
	seen := 0
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		seen++
		atStart(f, func(call *ast.CallExpr) {
			name := called(call)
			if id, ok := call.Fun.(*ast.Ident); ok && own[room][id.Name] {
				name = "regexp.MustCompile or its like in " + id.Name
			} else if !slowAtStart[name] {
				return
			}
			t.Errorf("%s calls %s while the core is loaded, which every command pays for: use core/lazyregexp or sync.OnceValue", file, name)
		})
	})
	if seen < 100 {
		t.Fatalf("looked at %d files of the core, expected hundreds", seen)
	}
}

// TestEveryPatternCompiles holds that no pattern panics at its first use.
func TestEveryPatternCompiles(t *testing.T) {
	seen := 0
	sources(t, func(_, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != "lazyregexp.New" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: an expression of lazyregexp.New is no literal, so this test cannot compile it", file)
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err == nil {
				_, err = regexp.Compile(text)
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			seen++
			return true
		})
	})
	if seen < 40 {
		t.Fatalf("found %d patterns, expected all of the core", seen)
	}
}
