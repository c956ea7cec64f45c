package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/prlx-go/prlx/"

// kinds are the kinds of names that are counted.
var kinds = []string{"func", "method", "type", "const", "var"}

// A name is exported by a package of the product.
type name struct {
	room, name, kind string
	used             bool // by product code of another package
}

// A room is a package of the product, with types.
type room struct {
	path  string // without the module's
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// load reads the packages of the product, without their tests, in an order in which none comes before what it imports.
func load(root string) ([]*room, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,CgoFiles,Export,Standard", "./core/...", "./pybind/...")
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	listed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.Bytes())
	}
	exports, made, fset := map[string]string{}, map[string]*types.Package{}, token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	find := importerFunc(func(path string) (*types.Package, error) {
		if p := made[path]; p != nil {
			return p, nil
		}
		return compiled.Import(path)
	})
	var rooms []*room
	for d := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles, CgoFiles       []string
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return rooms, nil
		case err != nil:
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		path, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || strings.HasPrefix(path, "core/testing/") || strings.HasSuffix(path, "/gen") || len(p.CgoFiles) > 0 {
			continue
		}
		r := &room{path: path, fset: fset, info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		for _, f := range p.GoFiles {
			parsed, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			r.files = append(r.files, parsed)
		}
		config := types.Config{Importer: find, Sizes: types.SizesFor("gc", "amd64")}
		if r.types, err = config.Check(p.ImportPath, fset, r.files, r.info); err != nil {
			return nil, err
		}
		made[p.ImportPath] = r.types
		rooms = append(rooms, r)
	}
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// exported lists the exported names of the product: functions, types, constants and variables of packages, and methods of exported types. Names of
// pybind are left out, which gopy reads, and generated files; so are types with fields that have JSON names, which documents and requests are made
// of. A name is used where product code of another package refers to it. Beside that,
//   - a type is used where another package selects a field or a method of its values;
//   - a constant is used where another of the same type is: nobody gains from half an enumeration;
//   - a method is used where it makes its type an interface's of another package, or where a template has its name.
func exported(rooms []*room, templates map[string]bool) []name {
	u := usesOf(rooms)
	var out []name
	for _, r := range rooms {
		if strings.HasPrefix(r.path, "pybind") {
			continue
		}
		enumerations := map[types.Type]bool{}
		each(r, func(o types.Object, _, kind string) {
			if kind == "const" && u.names[o] {
				enumerations[o.Type()] = true
			}
		})
		each(r, func(o types.Object, of, kind string) {
			n := name{room: r.path, name: of + o.Name(), kind: kind, used: u.names[o]}
			switch kind {
			case "type":
				if isDocument(o.Type()) {
					return
				}
				n.used = n.used || u.values[o]
			case "const":
				_, named := o.Type().(*types.Named)
				n.used = n.used || named && enumerations[o.Type()]
			case "method":
				n.used = n.used || templates[o.Name()] || u.satisfies(o.(*types.Func))
			}
			out = append(out, n)
		})
	}
	slices.SortFunc(out, func(a, b name) int { return cmp.Or(strings.Compare(a.room, b.room), strings.Compare(a.name, b.name)) })
	return out
}

var (
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	member = regexp.MustCompile(`\.([A-Z]\w*)`)
)

// inTemplates are the names that templates of pages use of values.
func inTemplates(root string) (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "core"), func(p string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".html" {
			return err
		}
		b, err := os.ReadFile(p)
		for _, a := range action.FindAll(b, -1) {
			for _, m := range member.FindAllSubmatch(a, -1) {
				names[string(m[1])] = true
			}
		}
		return err
	})
	return names, err
}

// each visits the exported names of a package that were written by hand; of is the type of a method, with a dot.
func each(r *room, visit func(o types.Object, of, kind string)) {
	byHand := map[string]bool{}
	for _, f := range r.files {
		byHand[r.fset.Position(f.Pos()).Filename] = !ast.IsGenerated(f)
	}
	scope := r.types.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() || !byHand[r.fset.Position(o.Pos()).Filename] {
			continue
		}
		switch o := o.(type) {
		case *types.Func:
			visit(o, "", "func")
		case *types.Const:
			visit(o, "", "const")
		case *types.Var:
			visit(o, "", "var")
		case *types.TypeName:
			visit(o, "", "type")
			if named, ok := o.Type().(*types.Named); ok && !o.IsAlias() {
				for m := range named.Methods() {
					if m.Exported() {
						visit(m, name+".", "method")
					}
				}
			}
		}
	}
}

// isDocument reports whether a type has fields with names in JSON.
func isDocument(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range s.NumFields() {
		if strings.Contains(s.Tag(i), `json:"`) {
			return true
		}
	}
	return false
}

// uses are what packages use of each other.
type uses struct {
	names, values map[types.Object]bool
	interfaces    []wanted
}

// wanted is an interface, and the package that declares it.
type wanted struct {
	of *types.Interface
	by *types.Package
}

func usesOf(rooms []*room) *uses {
	u := &uses{names: map[types.Object]bool{}, values: map[types.Object]bool{}}
	seen := map[*types.Package]bool{}
	for _, r := range rooms {
		for _, o := range r.info.Uses {
			if o.Pkg() != nil && o.Pkg() != r.types {
				u.names[origin(o)] = true
			}
		}
		for _, s := range r.info.Selections {
			t := s.Recv()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if named, ok := t.(*types.Named); ok && named.Obj().Pkg() != r.types {
				u.values[named.Origin().Obj()] = true
			}
		}
		for _, p := range append(r.types.Imports(), r.types) {
			if !seen[p] {
				seen[p] = true
				u.declared(p)
			}
		}
	}
	u.interfaces = append(u.interfaces, wanted{of: types.Universe.Lookup("error").Type().Underlying().(*types.Interface)})
	return u
}

// declared adds the interfaces of a package.
func (u *uses) declared(p *types.Package) {
	for _, name := range p.Scope().Names() {
		if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
			if i, ok := t.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 && i.IsMethodSet() {
				u.interfaces = append(u.interfaces, wanted{i, p})
			}
		}
	}
}

// fromReflection are methods that packages of the standard library look for by name.
var fromReflection = []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "String", "Unwrap", "Is", "As"}

// satisfies reports whether a method makes its receiver an interface's of another package, or is an interface's whose method others call.
func (u *uses) satisfies(m *types.Func) bool {
	if slices.Contains(fromReflection, m.Name()) {
		return true
	}
	t := m.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	for _, w := range u.interfaces {
		o, _, _ := types.LookupFieldOrMethod(w.of, false, m.Pkg(), m.Name())
		if o == nil || !types.Implements(types.NewPointer(t), w.of) {
			continue
		}
		if w.by != m.Pkg() || u.names[o] {
			return true
		}
	}
	return false
}

// origin is what a name of an instance was declared as.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// A receiver is a type with methods.
type receiver struct {
	room, name string
	methods    int
}

// receivers lists types with many methods, those with most first.
func receivers(rooms []*room) []receiver {
	var out []receiver
	for _, r := range rooms {
		for _, name := range r.types.Scope().Names() {
			if t, ok := r.types.Scope().Lookup(name).(*types.TypeName); ok {
				if named, ok := t.Type().(*types.Named); ok && named.NumMethods() > manyMethods {
					out = append(out, receiver{r.path, name, named.NumMethods()})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b receiver) int {
		return cmp.Or(b.methods-a.methods, strings.Compare(a.room+a.name, b.room+b.name))
	})
	return out
}
