package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A suite is the tests of one package, and what of the mutated packages each of them reaches.
type suite struct {
	room   string
	tests  []test
	texts  map[string]string // of test functions, by name
	files  string            // hash of everything in the folder that is Go
	blocks map[string][]block
}

// A test is one top-level function that the test binary runs, and what it costs where nothing is mutated.
type test struct {
	Name string
	CPU  float64 // seconds
	Wall float64
}

// A block is a stretch of statements that run together, as the coverage of Go tells them, and the tests that run it.
type block struct {
	From, To [2]int
	Tests    []int
}

// measured is what of a suite is kept between runs.
type measured struct {
	Tests  []test
	Blocks map[string][]block // by import path and file
}

// survey learns what each test of a room reaches in the packages over. A result is kept for as long as the test binary is the same.
func (b *bench) survey(room string, over []string) (*suite, error) {
	s := &suite{room: room, texts: map[string]string{}}
	if err := s.read(filepath.Join(b.root, room)); err != nil {
		return nil, err
	}
	binary := filepath.Join(b.scratch, "cover.test")
	pkgs := make([]string, len(over))
	for i, o := range over {
		pkgs[i] = "./" + o
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-cover", "-covermode=set", "-coverpkg="+strings.Join(pkgs, ","), "-o", binary, "./"+room)
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s do not build: %w\n%s", room, err, out)
	}
	defer os.Remove(binary)
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(b.dir, "reach", strings.ReplaceAll(room, "/", "-")+"-"+hash(string(text))+".json")
	var m measured
	if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, &m) == nil {
		s.tests, s.blocks = m.Tests, m.Blocks
		return s, nil
	}
	if m, err = b.cover(room, binary); err != nil {
		return nil, err
	}
	s.tests, s.blocks = m.Tests, m.Blocks
	return s, write(kept, m)
}

// read takes the texts of the tests in a folder.
func (s *suite) read(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	var all []string
	fset := token.NewFileSet()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, filepath.Base(name), string(text))
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil {
				s.texts[d.Name.Name] = string(text[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset])
			}
		}
	}
	s.files = hash(all...)
	return nil
}

// cover runs every test of a binary by itself.
func (b *bench) cover(room, binary string) (measured, error) {
	list := exec.Command(binary, "-test.list", "^(Test|Fuzz|Example)")
	list.Dir = filepath.Join(b.root, room)
	out, err := list.Output()
	if err != nil {
		return measured{}, fmt.Errorf("%s -test.list: %w", binary, said(err))
	}
	m := measured{Blocks: map[string][]block{}}
	at := map[string]int{} // of a block, by its line in the profile
	profile := filepath.Join(b.scratch, "profile")
	for i, name := range strings.Fields(string(out)) {
		r := b.execute(room, []string{binary, "-test.run", "^" + name + "$", "-test.coverprofile", profile}, limits{3600, 3600})
		if r.failed {
			return m, fmt.Errorf("%s of %s fails with nothing mutated:\n%s", name, room, r.output)
		}
		m.Tests = append(m.Tests, test{name, r.cpu, r.wall})
		text, err := os.ReadFile(profile)
		if err != nil {
			return m, err
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line) // "file:line.column,line.column statements count"
			if len(words) != 3 {
				continue // the mode
			}
			file, rest, _ := strings.Cut(words[0], ":")
			var blk block
			if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d", &blk.From[0], &blk.From[1], &blk.To[0], &blk.To[1]); err != nil {
				return m, fmt.Errorf("the coverage profile of %s has the line %q", name, line)
			}
			k, known := at[words[0]]
			if !known {
				k = len(m.Blocks[file])
				at[words[0]] = k
				m.Blocks[file] = append(m.Blocks[file], blk)
			}
			if of := &m.Blocks[file][k]; words[2] != "0" && !slices.Contains(of.Tests, i) {
				of.Tests = append(of.Tests, i)
			}
		}
	}
	return m, os.Remove(profile)
}

// reaching lists the tests that run what is mutated, the cheapest first. Where no block holds the place (the conditions of a switch), all
// tests that run anything of the function may see it; outside of functions, all that run anything of the package.
func (s *suite) reaching(importPath string, m *mutant) []test {
	var best *block
	var who []int
	for file, blocks := range s.blocks {
		if path.Dir(file) != importPath || m.Function != "" && path.Base(file) != m.File {
			continue
		}
		for i := range blocks {
			k := &blocks[i]
			from, to := position{k.From[0], k.From[1]}, position{k.To[0], k.To[1]}
			switch {
			case m.Function == "":
				who = append(who, k.Tests...)
			case !m.at.before(from) && m.at.before(to):
				if best == nil || from.line > best.From[0] || from.line == best.From[0] && from.column > best.From[1] {
					best = k
				}
			case !from.before(m.from) && from.before(m.to):
				who = append(who, k.Tests...)
			}
		}
	}
	if best != nil {
		who = slices.Clone(best.Tests)
	}
	slices.Sort(who)
	var tests []test
	for _, i := range slices.Compact(who) {
		tests = append(tests, s.tests[i])
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.CPU, b.CPU) })
	return tests
}
