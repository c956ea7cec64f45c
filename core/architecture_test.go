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

// floors lists the rooms from the ground up. A room imports rooms of lower floors only; rooms on one floor do not import each
// other. docs/architecture.md draws it.
var floors = [][]string{
	{"core/fault"},
	{"core/safe", "core/file", "core/format", "core/lazyregexp", "core/verdict"},
	{"core/job"},
	{"core/timeline/clock"},
	{"core/timeline/event", "core/timeline/aligned"},
	{"core/timeline/source/hlo", "core/timeline/source/work"},
	{"core/timeline/source"},
	{"core/timeline/clockfile"},
	{"core/timeline/offsets"},
	{"core/timeline/nccl/segment", "core/timeline/nccl/operation"},
	{"core/timeline/nccl/clocks", "core/timeline/nccl/unpickle", "core/timeline/nccl/otherplugins"},
	{"core/timeline/nccl/reading", "core/timeline/nccl/joining"},
	{"core/timeline/nccl/tracks"},
	{"core/timeline/source/xspace", "core/timeline/source/chrometrace", "core/timeline/source/ncclrecording"},
	{"core/timeline/source/formats"},
	{"core/timeline/probe", "core/timeline/snapshot"},
	{"core/timeline/collective"},
	{"core/timeline/precedence"},
	{"core/timeline/launches"},
	{"core/timeline/nccl/flightrecorder"},
	{"core/timeline/nccl/gathering"},
	{"core/timeline/straggler"},
	{"core/timeline/nccl/dividing"},
	{"core/timeline/nccl/diagnosing"},
	{"core/timeline/align"},
	{"core/timeline/combine"},
	{"core/timeline/inspect"},
	{"core/kernel/origin"},
	{"core/kernel/site"},
	{"core/kernel/warptrace"},
	{"core/kernel/recording"},
	{"core/kernel/observe"},
	{"core/kernel/observe/arena"},
	{"core/kernel/ptx"},
	{"runtime/device"},
	{"core/kernel/llir"},
	{"core/kernel/slice"},
	{"core/kernel/simt/lane"},
	{"core/kernel/simt/memory"},
	{"core/kernel/simt/target"},
	{"core/kernel/simt/code"},
	{"core/kernel/simt/compile", "core/kernel/simt/execute", "core/kernel/simt/sites"},
	{"core/kernel/simt/record"},
	{"core/kernel/simt"},
	{"core/kernel/watch"},
	{"core/kernel/simulation"},
	{"core/kernel/diff/script"},
	{"core/kernel/diff/edits"},
	{"core/kernel/diff"},
	{"core/kernel/diff/compat", "core/kernel/diff/sources"},
	{"core/kernel/session"},
	{"core/kernel/describe", "core/kernel/simulated"},
	{"core/timeline/cycle/cycledoc"},
	{"core/timeline/cycle/sample"},
	{"core/timeline/cycle/repeat"},
	{"core/timeline/cycle/naming/signature", "core/timeline/cycle/naming/phase", "core/timeline/cycle/pairs"},
	{"core/timeline/cycle/kernels"},
	{"core/timeline/cycle/structure"},
	{"core/timeline/cycle/finding"},
	{"core/timeline/cycle/measuring"},
	{"core/timeline/cycle/naming"},
	{"core/timeline/cycle/comparing"},
	{"core/timeline/cycle/rendering"},
	{"core/timeline/cycle"},
	{"core/report/foreign", "core/report/figure", "core/report/chromejson", "core/report/junit", "core/report/webpage"},
	{"core/report/sheet", "core/report/formats"},
	{"core/report", "core/report/kernelreport", "core/report/cyclereport", "core/report/stragglerreport", "core/report/simulationreport", "core/report/ncclreport"},
	{"core/api", "pybind/arrow"},
	{"pybind"},
}

// walls lists rooms that few may import, and those few: a change of phases stays in naming, a change of how cycles are found in finding, and
// reports see documents alone.
var walls = map[string][]string{
	"core/timeline/cycle": {"core/api"},
	"core/timeline/cycle/naming/phase": { // the others ask what a name tells: a mark, an optimizer, a kernel by rows
		"core/timeline/cycle/kernels", "core/timeline/cycle/structure", "core/timeline/cycle/finding", "core/timeline/cycle/naming", "core/api",
	},
	"core/timeline/cycle/naming/signature": {"core/timeline/cycle/structure", "core/api"},
	"core/timeline/cycle/pairs":            {"core/timeline/cycle/comparing", "core/timeline/cycle/rendering"},
	"core/timeline/cycle/structure": {
		"core/timeline/cycle/finding", "core/timeline/cycle/measuring", "core/timeline/cycle/naming", "core/timeline/cycle/comparing",
		"core/timeline/cycle/rendering", "core/timeline/cycle",
	},
	"core/timeline/cycle/finding":   {"core/timeline/cycle"},
	"core/timeline/cycle/measuring": {"core/timeline/cycle/comparing", "core/timeline/cycle/rendering", "core/timeline/cycle"},
	"core/timeline/cycle/naming":    {"core/timeline/cycle"},
	"core/timeline/cycle/comparing": {"core/timeline/cycle/rendering", "core/timeline/cycle"},
	"core/timeline/cycle/rendering": {"core/timeline/cycle", "core/api"},
}

// outside are the modules that the product may import, beside the standard library.
var outside = []string{
	"google.golang.org/protobuf/", "github.com/klauspost/compress/", "golang.org/x/sync/", "github.com/BurntSushi/toml",
	"github.com/ianlancetaylor/demangle",
}

func floorOf(room string) int {
	for i, rooms := range floors {
		if slices.Contains(rooms, room) {
			return i
		}
	}
	return -1
}

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

// wing is the wing that a room stands in, "" for the ground floor and the roof.
func wing(room string) string {
	for _, w := range []string{"core/timeline/", "core/kernel/"} {
		if strings.HasPrefix(room, w) {
			return w
		}
	}
	return ""
}

// isTestRoom reports whether a package exists for tests only (filetest, xspacetest).
func isTestRoom(room string) bool { return strings.HasSuffix(room, "test") }

func TestRoomsImportOnlyRoomsBelowThem(t *testing.T) {
	seen := map[string]bool{}
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || isTestRoom(room) || room == "core" {
			return
		}
		seen[room] = true
		at := floorOf(room)
		if at < 0 {
			t.Errorf("%s: room %s has no floor: add it to this test and to docs/architecture.md", file, room)
			return
		}
		for _, spec := range f.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if target, ours := strings.CutPrefix(imported, module); ours {
				if isTestRoom(target) {
					t.Errorf("%s imports %s, which is for tests", file, target)
				} else if wing(target) != "" && wing(room) != "" && wing(target) != wing(room) {
					t.Errorf("%s: %s imports %s: the wings do not know each other", file, room, target)
				} else if floorOf(target) >= at {
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
	for _, rooms := range floors {
		for _, r := range rooms {
			if !seen[r] {
				t.Errorf("room %s is on a floor but does not exist", r)
			}
		}
	}
}

// TestFormatsAreKnownToSourceAlone holds that a format of traces is a folder of source and a line in its table: nothing else of the
// product imports a format's package. What is a format is told by the table itself.
func TestFormatsAreKnownToSourceAlone(t *testing.T) {
	const source, table = "core/timeline/source", "core/timeline/source/formats"
	var formats []string
	others := map[string][]string{} // by file of another room
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || isTestRoom(room) {
			return
		}
		for _, spec := range f.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			switch {
			case !ours:
			case room == table && strings.HasPrefix(imported, source+"/"):
				formats = append(formats, imported)
			case room != source && !strings.HasPrefix(room, source+"/"):
				others[file] = append(others[file], imported)
			}
		}
	})
	if len(formats) < 2 {
		t.Fatalf("the table of formats imports %v, expected two formats at least", formats)
	}
	for file, imports := range others {
		for _, imported := range imports {
			if slices.Contains(formats, imported) {
				t.Errorf("%s imports %s: a format is known to %s alone", file, imported, source)
			}
		}
	}
}

// acrossWings are the files of core/api that serve both wings: a path may hold something of either.
var acrossWings = []string{"inspect.go", "report.go"}

// TestTheFrontKeepsTheWingsApart: a file of core/api says by its name which wing its operations are of, and imports no other.
func TestTheFrontKeepsTheWingsApart(t *testing.T) {
	sources(t, func(room, file string, f *ast.File) {
		name := filepath.Base(file)
		if room != "core/api" || strings.HasSuffix(name, "_test.go") || slices.Contains(acrossWings, name) {
			return
		}
		for _, spec := range f.Imports {
			imported := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if w := wing(imported); w != "" && !strings.HasPrefix(name, path.Base(w)) {
				t.Errorf("%s imports %s: a file with operations of that wing is called %s*.go", file, imported, path.Base(w))
			}
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
