package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of one file, given as the bytes that it replaces.
type mutant struct {
	Room     string `json:"room"`
	File     string `json:"file"` // in the room
	Line     int    `json:"line"`
	Function string `json:"function"` // "(*Map).At", or "" outside of functions
	Operator string `json:"operator"`
	Text     string `json:"text"` // of the line, with single spaces
	Change   string `json:"change"`
	Nth      int    `json:"nth,omitempty"` // of those in the function that are alike in all of the above

	start, end int    // bytes of the file
	by         string // what stands there instead
	at         position
	from, to   position // of the function
	code       string   // of the function, or the line
}

// A position compares as positions in one file do.
type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// operators are drawn from in turn.
var operators = []string{"negate", "boundary", "arithmetic", "constant", "remove", "return", "logical", "loop", "minmax"}

// A finder walks one file and notes what can be changed in it.
type finder struct {
	fset  *token.FileSet
	info  *types.Info
	pkg   *types.Package
	room  string
	file  string
	lines []string
	text  []byte
	stack []ast.Node
	found []mutant
}

// find lists every mutant of a file, in the order of the text.
func find(fset *token.FileSet, info *types.Info, pkg *types.Package, room string, f *ast.File, text []byte) []mutant {
	if ast.IsGenerated(f) {
		return nil
	}
	path := fset.Position(f.Package).Filename
	w := &finder{fset: fset, info: info, pkg: pkg, room: room, file: filepath.Base(path), lines: strings.Split(string(text), "\n"), text: text}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			w.stack = w.stack[:len(w.stack)-1]
			return true
		}
		if w.sizeHint(n) {
			return false
		}
		w.visit(n)
		w.stack = append(w.stack, n)
		return true
	})
	count := map[string]int{}
	for i := range w.found {
		m := &w.found[i]
		m.Nth = count[m.key()]
		count[m.key()]++
	}
	return w.found
}

// key tells a mutant from all others, whatever else changes in the file.
func (m *mutant) key() string {
	k := strings.Join([]string{drawnAs(m.Room), m.Function, m.Operator, m.Text, m.Change}, "|")
	if m.Nth > 0 {
		k += "|" + strconv.Itoa(m.Nth)
	}
	return k
}

// sizeHint reports whether n only says how much memory to make ready: no test can tell such numbers apart.
func (w *finder) sizeHint(n ast.Node) bool {
	if len(w.stack) == 0 {
		return false
	}
	call, ok := w.stack[len(w.stack)-1].(*ast.CallExpr)
	if !ok || n == call.Fun {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if f.Name != "make" || len(call.Args) < 2 {
			return false
		}
		_, isSlice := w.info.TypeOf(call.Args[0]).Underlying().(*types.Slice)
		return n != call.Args[0] && (!isSlice || len(call.Args) == 3 && n == call.Args[2])
	case *ast.SelectorExpr:
		return f.Sel.Name == "Grow" && n == call.Args[len(call.Args)-1]
	}
	return false
}

func (w *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		w.negate(n.Cond)
	case *ast.CaseClause:
		if s, ok := w.stack[len(w.stack)-2].(*ast.SwitchStmt); ok && s.Tag == nil {
			for _, e := range n.List {
				w.negate(e)
			}
		}
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.AssignStmt:
		w.assign(n)
	case *ast.BasicLit:
		if !slices.ContainsFunc(w.stack, func(n ast.Node) bool { _, is := n.(*ast.FuncType); return is }) { // a length in a signature: callers would not compile
			w.constant(n)
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt:
		w.remove(n)
	case *ast.ReturnStmt:
		w.zero(n)
	case *ast.FuncDecl:
		if n.Body != nil && n.Type.Results == nil && len(n.Body.List) > 0 {
			first := n.Body.List[0].Pos()
			w.stack = append(w.stack, n)
			w.add("return", first, first, "return\n", "return at the start")
			w.stack = w.stack[:len(w.stack)-1]
		}
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok == token.BREAK {
			w.add("loop", n.Pos(), n.End(), "continue", "break → continue")
		}
		if n.Label == nil && n.Tok == token.CONTINUE {
			w.add("loop", n.Pos(), n.End(), "break", "continue → break")
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "min" || f.Name == "max") {
			other := map[string]string{"min": "max", "max": "min"}[f.Name]
			w.add("minmax", f.Pos(), f.End(), other, f.Name+" → "+other)
		}
	}
}

// negate turns the parts of a condition round, one at a time.
func (w *finder) negate(e ast.Expr) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		w.negate(x.X)
		return
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			w.negate(x.X)
			w.negate(x.Y)
			return
		}
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			w.add("negate", x.Pos(), x.X.Pos(), "", w.source(x)+" → "+w.source(x.X))
			return
		}
	}
	w.add("negate", e.Pos(), e.End(), "!("+w.source(e)+")", "not "+w.source(e))
}

var swaps = map[token.Token]struct {
	operator string
	by       token.Token
}{
	token.LSS: {"boundary", token.LEQ}, token.LEQ: {"boundary", token.LSS}, token.GTR: {"boundary", token.GEQ}, token.GEQ: {"boundary", token.GTR},
	token.ADD: {"arithmetic", token.SUB}, token.SUB: {"arithmetic", token.ADD}, token.MUL: {"arithmetic", token.QUO}, token.QUO: {"arithmetic", token.MUL},
	token.REM: {"arithmetic", token.MUL}, token.AND: {"arithmetic", token.OR}, token.OR: {"arithmetic", token.AND}, token.XOR: {"arithmetic", token.OR},
	token.SHL: {"arithmetic", token.SHR}, token.SHR: {"arithmetic", token.SHL}, token.AND_NOT: {"arithmetic", token.AND},
	token.LAND: {"logical", token.LOR}, token.LOR: {"logical", token.LAND},
	token.ADD_ASSIGN: {"arithmetic", token.SUB_ASSIGN}, token.SUB_ASSIGN: {"arithmetic", token.ADD_ASSIGN},
	token.MUL_ASSIGN: {"arithmetic", token.QUO_ASSIGN}, token.QUO_ASSIGN: {"arithmetic", token.MUL_ASSIGN},
	token.OR_ASSIGN: {"arithmetic", token.AND_ASSIGN}, token.AND_ASSIGN: {"arithmetic", token.OR_ASSIGN},
	token.SHL_ASSIGN: {"arithmetic", token.SHR_ASSIGN}, token.SHR_ASSIGN: {"arithmetic", token.SHL_ASSIGN},
}

func (w *finder) swap(at token.Pos, op token.Token) {
	if s, ok := swaps[op]; ok {
		w.add(s.operator, at, at+token.Pos(len(op.String())), s.by.String(), op.String()+" → "+s.by.String())
	}
}

func (w *finder) binary(n *ast.BinaryExpr) { w.swap(n.OpPos, n.Op) }

func (w *finder) assign(n *ast.AssignStmt) {
	w.swap(n.TokPos, n.Tok)
	if n.Tok != token.DEFINE {
		w.remove(n)
	}
}

// constant adds or takes one. A float is doubled, for one is seldom small beside it.
func (w *finder) constant(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		v, err := strconv.ParseInt(n.Value, 0, 64)
		if err != nil {
			return
		}
		for _, by := range []int64{v + 1, v - 1} {
			if by >= 0 {
				s := strconv.FormatInt(by, 10)
				w.add("constant", n.Pos(), n.End(), s, n.Value+" → "+s)
			}
		}
	case token.FLOAT:
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return
		}
		by := 2 * v
		if v == 0 {
			by = 1
		}
		s := strconv.FormatFloat(by, 'g', -1, 64)
		w.add("constant", n.Pos(), n.End(), s, n.Value+" → "+s)
	}
}

// remove takes a statement away, where statements stand in a list.
func (w *finder) remove(n ast.Node) {
	switch w.stack[len(w.stack)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		w.add("remove", n.Pos(), n.End(), strings.Repeat("\n", strings.Count(w.source(n), "\n")), "removed "+brief(w.source(n)))
	}
}

// zero returns the zero values of what a return statement returns; true where it returns false.
func (w *finder) zero(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	sig := w.signature()
	if sig == nil {
		return
	}
	var zeros []string
	for i := range sig.Results().Len() {
		zeros = append(zeros, zeroOf(sig.Results().At(i).Type(), w.qualify))
	}
	by, was := strings.Join(zeros, ", "), w.source(n)[len("return "):]
	switch {
	case by == was && by == "false":
		by = "true"
	case by == was:
		return
	}
	w.add("return", n.Pos(), n.End(), "return "+by+strings.Repeat("\n", strings.Count(was, "\n")), "return "+by)
}

// signature is that of the function that the walk is in.
func (w *finder) signature() *types.Signature {
	for _, n := range slices.Backward(w.stack) {
		switch f := n.(type) {
		case *ast.FuncLit:
			return w.info.TypeOf(f).(*types.Signature)
		case *ast.FuncDecl:
			return w.info.Defs[f.Name].Type().(*types.Signature)
		}
	}
	return nil
}

func (w *finder) qualify(p *types.Package) string {
	if p == w.pkg {
		return ""
	}
	return p.Name()
}

func zeroOf(t types.Type, q types.Qualifier) string {
	if _, ok := t.(*types.TypeParam); !ok {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case u.Info()&types.IsNumeric != 0:
				return "0"
			case u.Info()&types.IsString != 0:
				return `""`
			case u.Info()&types.IsBoolean != 0:
				return "false"
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return "nil"
		}
	}
	return "*new(" + types.TypeString(t, q) + ")"
}

func (w *finder) source(n ast.Node) string {
	return string(w.text[w.fset.Position(n.Pos()).Offset:w.fset.Position(n.End()).Offset])
}

// brief is the first line of a text, with single spaces.
func brief(s string) string {
	first, rest, _ := strings.Cut(s, "\n")
	first = strings.Join(strings.Fields(first), " ")
	if rest != "" {
		first += " …"
	}
	return first
}

func (w *finder) add(operator string, start, end token.Pos, by, change string) {
	p := w.fset.Position(start)
	m := mutant{
		Room: w.room, File: w.file, Line: p.Line, Operator: operator, Text: brief(w.lines[p.Line-1]), Change: brief(change),
		start: p.Offset, end: w.fset.Position(end).Offset, by: by, at: position{p.Line, p.Column},
	}
	m.code = m.Text
	for _, n := range w.stack {
		if f, ok := n.(*ast.FuncDecl); ok {
			m.Function, m.code = nameOf(f, w.source), w.source(f)
			a, b := w.fset.Position(f.Pos()), w.fset.Position(f.End())
			m.from, m.to = position{a.Line, a.Column}, position{b.Line, b.Column}
		}
	}
	w.found = append(w.found, m)
}

// nameOf is a function's name with its receiver.
func nameOf(f *ast.FuncDecl, source func(ast.Node) string) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	return fmt.Sprintf("(%s).%s", source(f.Recv.List[0].Type), f.Name.Name)
}

// apply is the file's text with the change made.
func (m *mutant) apply(text []byte) []byte {
	return slices.Concat(text[:m.start], []byte(m.by), text[m.end:])
}
