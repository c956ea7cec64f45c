package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A source is one package as it stands, ready to be mutated and checked again.
type source struct {
	room     string
	dir      string
	path     string // import path
	fset     *token.FileSet
	files    []*ast.File
	texts    map[string][]byte // by base name
	imports  types.Importer
	mutants  []mutant
	checking types.Config
}

// load reads and checks a room of the module at root.
func load(root, name string) (*source, error) {
	s := &source{room: name, dir: filepath.Join(root, name), fset: token.NewFileSet(), texts: map[string][]byte{}}
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .GoFiles \" \"}}", "./"+name)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", name, said(err))
	}
	words := strings.Fields(string(out))
	s.path = words[0]
	if s.imports, err = exported(root, name, s.fset); err != nil {
		return nil, err
	}
	for _, file := range words[1:] {
		text, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.fset, filepath.Join(s.dir, file), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.texts[file], s.files = text, append(s.files, f)
	}
	s.checking = types.Config{Importer: s.imports, Error: func(error) {}}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	pkg, err := s.checking.Check(s.path, s.fset, s.files, info)
	if err != nil {
		return nil, err
	}
	for _, f := range s.files {
		s.mutants = append(s.mutants, find(s.fset, info, pkg, name, f, s.texts[filepath.Base(s.fset.Position(f.Package).Filename)])...)
	}
	return s, nil
}

// exported imports packages from what the compiler left of them.
func exported(root, name string, fset *token.FileSet) (types.Importer, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./"+name)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export ./%s: %w", name, said(err))
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(files[path])
	}), nil
}

// compiles reports whether the package still compiles with the mutant in it.
func (s *source) compiles(m *mutant) bool {
	fset := s.fset
	changed, err := parser.ParseFile(fset, m.File, m.apply(s.texts[m.File]), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := slices.Clone(s.files)
	for i, f := range files {
		if filepath.Base(fset.Position(f.Package).Filename) == m.File {
			files[i] = changed
		}
	}
	_, err = s.checking.Check(s.path, fset, files, nil)
	return err == nil
}

// draw takes n mutants. Each operator gives in turn the one whose hash with the seed is the smallest, so that a change elsewhere in
// the package leaves the others drawn. One line gives one mutant.
func (s *source) draw(seed string, n int) []mutant {
	rank := func(m *mutant) string {
		sum := sha256.Sum256([]byte(seed + "|" + m.key()))
		return string(sum[:])
	}
	decks := map[string][]mutant{}
	for _, m := range s.mutants {
		decks[m.Operator] = append(decks[m.Operator], m)
	}
	for _, deck := range decks {
		slices.SortFunc(deck, func(a, b mutant) int { return cmp.Compare(rank(&a), rank(&b)) })
	}
	var drawn []mutant
	taken := map[string]bool{}
	for len(drawn) < n {
		before := len(drawn)
		for _, op := range operators {
			if len(drawn) == n {
				break
			}
			for len(decks[op]) > 0 {
				m := decks[op][0]
				decks[op] = decks[op][1:]
				line := fmt.Sprint(m.File, ":", m.Line)
				if taken[line] || !s.compiles(&m) {
					continue
				}
				taken[line] = true
				drawn = append(drawn, m)
				break
			}
		}
		if len(drawn) == before {
			break
		}
	}
	slices.SortStableFunc(drawn, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.start, b.start))
	})
	return drawn
}

// hash is short enough to be read and long enough to be its own.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// said adds what a command wrote to stderr to its error.
func said(err error) error {
	if e, ok := err.(*exec.ExitError); ok {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(e.Stderr))
	}
	return err
}
