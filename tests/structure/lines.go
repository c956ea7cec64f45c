package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A folder holds code: a box of core, or a folder at the top.
type folder struct {
	name           string
	product, tests int
	languages      map[string][2]int // product, tests
}

// A language has the endings of its files, and says which of their lines are code.
type language struct {
	name    string
	endings []string
	count   func([]byte) int
}

// languages are those whose lines are counted.
var languages = []language{
	{"Go", []string{".go"}, goLines},
	{"Python", []string{".py"}, pythonLines},
	{"C", []string{".c", ".h"}, func(b []byte) int { return otherLines(cComment.ReplaceAll(b, nil), "//") }},
	{"assembly and LLVM IR", []string{".s", ".ll"}, func(b []byte) int { return otherLines(withoutComments(b, ";"), "//") }},
}

var (
	cComment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	generated = regexp.MustCompile(`(?m)^(//|#|;|/\*).*[Gg]enerated .*DO NOT EDIT`)
)

// countLines counts the lines of code of what git holds.
func countLines(root string) ([]folder, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	listed, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	folders := map[string]*folder{}
	for _, p := range strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00") {
		i := slices.IndexFunc(languages, func(l language) bool { return slices.Contains(l.endings, path.Ext(p)) })
		if i < 0 || generates(p) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, p))
		if os.IsNotExist(err) { // removed, not yet in the index
			continue
		}
		if err != nil {
			return nil, err
		}
		if generated.Match(b) {
			continue
		}
		name := folderOf(p)
		f := folders[name]
		if f == nil {
			f = &folder{name: name, languages: map[string][2]int{}}
			folders[name] = f
		}
		n, l := languages[i].count(b), f.languages[languages[i].name]
		if isTest(p) {
			f.tests += n
			l[1] += n
		} else {
			f.product += n
			l[0] += n
		}
		f.languages[languages[i].name] = l
	}
	var out []folder
	for _, f := range folders {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b folder) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// generates reports whether a file makes code or files for tests: it is counted nowhere.
func generates(p string) bool {
	return strings.HasPrefix(p, "core/testing/") || strings.Contains(p, "/gen/") || strings.HasPrefix(p, "bench/gen")
}

func isTest(p string) bool {
	return strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "tests/") || strings.HasPrefix(p, "bench/") || strings.Contains(p, "/testdata/")
}

func folderOf(p string) string {
	parts := strings.Split(path.Dir(p), "/")
	if parts[0] == "core" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// goLines counts the lines on which a token stands.
func goLines(b []byte) int {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(b))
	var s scanner.Scanner
	s.Init(f, b, nil, 0)
	lines := map[int]bool{}
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		for i := range 1 + strings.Count(text, "\n") {
			lines[f.Line(at)+i] = true
		}
	}
}

// docstring is a string that stands alone in Python.
var docstring = regexp.MustCompile(`(?ms)^[ \t]*[rR]?("""|''').*?("""|''')[ \t]*$`)

func pythonLines(b []byte) int { return otherLines(docstring.ReplaceAll(b, nil), "#") }

// otherLines counts the lines that are neither blank nor begin with what begins a comment.
func otherLines(b []byte, comment string) int {
	n := 0
	for line := range bytes.Lines(withoutComments(b, comment)) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// withoutComments leaves out lines that are comments.
func withoutComments(b []byte, comment string) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte(comment)) {
			out = append(out, line...)
		}
	}
	return out
}
