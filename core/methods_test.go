package core_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have. One with more is a bag that everything is filled into, and the order of filling is its
// contract: stages that return values say the same in types.
const mostMethods = 40

// manyMethods are the types that may have more, how many each, and why.
var manyMethods = map[string]struct {
	most int
	why  string
}{
	"core/simulator/ptx.parser":          {57, "a method for each rule of the grammar, over one position in the text"},
	"core/simulator/simt/compile.binder": {115, "a method for each kind of instruction, over one program that is being made"},
	"core/simulator/simt/execute.Block":  {85, "the hot loop: what an instruction reads and writes is one indirection away"},
	"core/simulator/simt/memory.Block":   {51, "the hot loop: every access of a lane goes through it"},
}

// TestNoTypeHasTooManyMethods counts the methods of each type of the product.
func TestNoTypeHasTooManyMethods(t *testing.T) {
	counts := map[string]int{}
	sources(t, func(room, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || isTestRoom(room) || ast.IsGenerated(f) {
			return
		}
		for _, d := range f.Decls {
			if of := receiver(d); of != "" {
				counts[room+"."+of]++
			}
		}
	})
	for _, of := range slices.Sorted(maps.Keys(counts)) {
		may, allowed := manyMethods[of]
		switch n := counts[of]; {
		case n > max(mostMethods, may.most):
			t.Errorf("%s has %d methods, more than %d: let its stages return values, or say in manyMethods why it may", of, n, max(mostMethods, may.most))
		case n <= mostMethods && allowed:
			t.Errorf("%s has %d methods: take it out of manyMethods (%s)", of, n, may.why)
		}
	}
	for of := range manyMethods {
		if counts[of] == 0 {
			t.Errorf("there is no %s: take it out of manyMethods", of)
		}
	}
}

// receiver is the name of the type that a declaration is a method of, "" for others.
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	switch g := of.(type) {
	case *ast.IndexExpr:
		of = g.X
	case *ast.IndexListExpr:
		of = g.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
