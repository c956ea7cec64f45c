// Package core_test polices the structure of the core: who may import whom, and that every package says what it is.
package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/prlx-go/prlx/"

// boxes lists the folders of the core, one for each thing that a user knows, from the ground up. A package imports packages of boxes above it in
// this list, of its own box, and of no other; what happened when and what warps of a kernel did do not know each other. Inside of a box Go
// itself sees to it that nobody imports in a circle, and docs/architecture.md says which room stands on which.
var boxes = []box{
	{"core/fault", ground},
	{"core/safe", ground},
	{"core/file", ground},
	{"core/format", ground},
	{"core/lazyregexp", ground},
	{"core/processor", ground},
	{"core/verdict", ground},
	{"core/job", ground},
	{"runtime/device", ground},
	{"core/trace", traces},
	{"core/clocks", traces},
	{"core/straggler", traces},
	{"core/nccl", traces},
	{"core/cycle", traces},
	{"core/combine", traces},
	{"core/recording", kernels},
	{"core/simulator", kernels},
	{"core/diff", kernels},
	{"core/tape", training},
	{"core/report", roof},
	{"core/api", roof},
	{"pybind/arrow", roof},
	{"pybind", roof},
}

// A box is a folder and what it is about.
type box struct{ folder, about string }

const (
	ground   = "ground floor"
	traces   = "what happened when"
	kernels  = "what warps did"
	training = "what the operators of a training step computed"
	roof     = "roof"
)

// walls lists rooms that few may import, and those few: a change of phases stays in naming, a change of how cycles are found in finding, and
// reports see documents alone.
var walls = map[string][]string{
	"core/cycle": {"core/api"},
	"core/cycle/naming/phase": { // the others ask what a name tells: a mark, an optimizer, a kernel by rows
		"core/cycle/kernels", "core/cycle/structure", "core/cycle/finding", "core/cycle/naming", "core/api",
	},
	"core/cycle/naming/signature": {"core/cycle/structure", "core/api"},
	"core/cycle/pairs":            {"core/cycle/comparing", "core/cycle/rendering"},
	"core/cycle/structure": {
		"core/cycle/finding", "core/cycle/measuring", "core/cycle/naming", "core/cycle/comparing",
		"core/cycle/rendering", "core/cycle",
	},
	"core/cycle/finding":   {"core/cycle"},
	"core/cycle/measuring": {"core/cycle/comparing", "core/cycle/rendering", "core/cycle"},
	"core/cycle/naming":    {"core/cycle"},
	"core/cycle/comparing": {"core/cycle/rendering", "core/cycle"},
	"core/cycle/rendering": {"core/cycle", "core/api"},
}

// outside are the modules that the product may import, beside the standard library.
var outside = []string{
	"google.golang.org/protobuf/", "github.com/klauspost/compress/", "golang.org/x/sync/", "github.com/BurntSushi/toml",
	"github.com/ianlancetaylor/demangle",
}

// boxOf is the place of a room's box in the list, -1 for a room that stands in none.
func boxOf(room string) int {
	return slices.IndexFunc(boxes, func(b box) bool {
		return room == b.folder || strings.HasPrefix(room, b.folder+"/") && b.folder != "pybind"
	})
}

// strangers reports whether a room may know nothing of another: one is about traces, the other about kernels or training.
func strangers(a, b box) bool {
	return (a.about == traces) != (b.about == traces) && slices.Contains(computed, a.about) != slices.Contains(computed, b.about)
}

// computed are what is about results, not times.
var computed = []string{kernels, training}

// sources yields every Go file of the product with its room.
func sources(t *testing.T, visit func(room, file string, f *ast.File)) {
	t.Helper()
	for _, top := range []string{".", "../pybind", "../runtime/device"} {
		err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "gen") { // gen: commands that go generate runs, no part of the product
				return filepath.SkipDir
			}
			if !strings.HasSuffix(p, ".go") || filepath.Base(p) == "deps.go" { // keeps gopy's own package in go.mod, never built
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			visit(path.Clean(path.Join("core", filepath.ToSlash(filepath.Dir(p)))), p, f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// isTestRoom reports whether a package exists for tests only.
func isTestRoom(room string) bool { return strings.HasPrefix(room, "core/testing/") }

func TestRoomsImportOnlyRoomsBelowThem(t *testing.T) {
	seen := map[int]bool{}
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || isTestRoom(room) || room == "core" {
			return
		}
		at := boxOf(room)
		if at < 0 {
			t.Errorf("%s: room %s stands in no box: add it to this test and to docs/architecture.md", file, room)
			return
		}
		seen[at] = true
		for _, spec := range f.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if target, ours := strings.CutPrefix(imported, module); ours {
				if isTestRoom(target) {
					t.Errorf("%s imports %s, which is for tests", file, target)
				} else if below := boxOf(target); below < 0 || below > at || strangers(boxes[below], boxes[at]) {
					t.Errorf("%s: %s imports %s, which does not stand below it", file, room, target)
				} else if few, walled := walls[target]; walled && !slices.Contains(few, room) {
					t.Errorf("%s: %s imports %s, which is for %s", file, room, target, strings.Join(few, ", "))
				}
				continue
			}
			if strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") && !slices.ContainsFunc(outside, func(p string) bool { return strings.HasPrefix(imported, p) }) {
				t.Errorf("%s imports %s, which is not among the dependencies of docs/dependencies.md", file, imported)
			}
			if imported == "C" && !strings.HasPrefix(room, "pybind") {
				t.Errorf("%s uses cgo", file)
			}
		}
	})
	for i, b := range boxes {
		if !seen[i] {
			t.Errorf("%s is in the list but has no room", b.folder)
		}
	}
}

// TestFormatsAreKnownToTheirTableAlone holds that a format of traces is a folder and a line in a table: nothing else of the product imports a
// format's package. What is a format is told by the package itself: it has a source.Format.
func TestFormatsAreKnownToTheirTableAlone(t *testing.T) {
	tables := []string{"core/trace/formats", "core/api"} // core/api adds those of boxes above core/trace
	formats, importers := map[string]bool{}, map[string][]string{}
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || isTestRoom(room) {
			return
		}
		if slices.ContainsFunc(f.Decls, declaresFormat) {
			formats[room] = true
		}
		for _, spec := range f.Imports {
			if imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ours {
				importers[imported] = append(importers[imported], room)
			}
		}
	})
	if len(formats) < 3 {
		t.Fatalf("found the formats %v, expected three at least", formats)
	}
	for format := range formats {
		for _, importer := range importers[format] {
			if !slices.Contains(tables, importer) {
				t.Errorf("%s imports %s: a format is known to its table alone", importer, format)
			}
		}
	}
}

// declaresFormat reports whether a declaration is that of a variable that is a source.Format.
func declaresFormat(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.VAR && slices.ContainsFunc(g.Specs, func(spec ast.Spec) bool {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || v.Names[0].Name != "Format" {
			return false
		}
		literal, ok := v.Values[0].(*ast.CompositeLit)
		if !ok {
			return false
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "Format"
	})
}

// inBoth are the files of core/api that serve both kinds of questions: a path may hold something of either.
var inBoth = []string{"inspect.go", "report.go"}

// TestAFileOfTheFrontIsOfOneKind: a file of core/api imports what is about traces, or what is about kernels.
func TestAFileOfTheFrontIsOfOneKind(t *testing.T) {
	sources(t, func(room, file string, f *ast.File) {
		if room != "core/api" || strings.HasSuffix(file, "_test.go") || slices.Contains(inBoth, filepath.Base(file)) {
			return
		}
		first := map[string]string{}
		for _, spec := range f.Imports {
			imported := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if at := boxOf(imported); at >= 0 && first[boxes[at].about] == "" {
				first[boxes[at].about] = imported
			}
		}
		if first[traces] != "" && first[kernels] != "" {
			t.Errorf("%s imports %s and %s: one is %s, the other %s", file, first[traces], first[kernels], traces, kernels)
		}
	})
}

func TestEveryPackageHasOneDocComment(t *testing.T) {
	docs := map[string]int{}
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		if f.Doc != nil && strings.HasPrefix(f.Doc.Text(), "Package ") {
			docs[room]++
		} else {
			docs[room] += 0
		}
	})
	for room, n := range docs {
		if n != 1 {
			t.Errorf("%s has %d package comments, want 1", room, n)
		}
	}
}

func TestNoFileIsTooLong(t *testing.T) {
	sources(t, func(_, file string, f *ast.File) {
		fset := token.NewFileSet()
		g, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if lines := fset.File(g.Pos()).LineCount(); lines > 650 && !ast.IsGenerated(f) {
			t.Errorf("%s has %d lines: is it one thing?", file, lines)
		}
	})
}
