package llir

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// point is a place where the recorder is called: before an instruction.
type point struct {
	f         *function
	at        int32 // instruction
	kind      site.Kind
	condition string // of a branch or predicate: the i1 that decides
	value     string // what is recorded beside it, "" nothing
	ty        string // its type
	vector    string // where it is an element of a vector, the type of that
	lane      string // and which element
	debug     int32
	other     string  // of a compare: its right operand, of the same type
	operands  bool    // every lane's are recorded, too
	event     bool    // of an access: there is an event beside the sum
	access    *access // what a store or an atomic writes; nil: the point decides
}

// compares number the predicates as LLVM does.
var compares = map[string]site.Compare{
	"false": 0, "oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ord": 7, "uno": 8, "ueq": 9, "true": 15,
	"eq": 32, "ne": 33, "sgt": 38, "sge": 39, "slt": 40, "sle": 41,
}

// either are the predicates that icmp and fcmp both have.
var either = map[string][2]site.Compare{"ugt": {34, 10}, "uge": {35, 11}, "ult": {36, 12}, "ule": {37, 13}, "une": {33, 14}}

// compared is a compare of two scalars.
type compared struct {
	predicate site.Compare
	ty        string
	lhs, rhs  string
	vector    string // of an element of a compare of vectors: the type of the vectors
	lane      string // and which element, "i64 1"
	made      int32  // instruction
}

// compare reads "slt i32 %11, %3", flags in front of the predicate left out.
func compare(in *inst) (compared, bool) {
	c := compared{predicate: site.NoCompare}
	if in.Op != "icmp" && in.Op != "fcmp" {
		return c, false
	}
	rest := in.Rest
	for rest != "" && c.predicate == site.NoCompare {
		word, after, _ := strings.Cut(rest, " ")
		if p, ok := compares[word]; ok {
			c.predicate = p
		} else if both, ok := either[word]; ok {
			c.predicate = both[0]
			if in.Op == "fcmp" {
				c.predicate = both[1]
			}
		}
		rest = after
	}
	list := parts(rest)
	if c.predicate == site.NoCompare || len(list) != 2 {
		return c, false
	}
	n := typeEnd(list[0])
	c.ty, c.lhs, c.rhs = list[0][:n], strings.TrimSpace(list[0][n:]), list[1]
	return c, c.lhs != "" && !strings.Contains(c.lhs, " ") && (c.rhs[0] == '<' || !strings.Contains(c.rhs, " "))
}

// inverse is the compare that holds where another does not.
func inverse(c site.Compare) site.Compare {
	switch {
	case c < 16:
		return 15 - c
	case c <= 33:
		return 65 - c
	}
	return [...]site.Compare{37, 36, 35, 34, 41, 40, 39, 38}[c-34]
}

// compareOf is the compare behind an i1, seen through negations.
func (f *function) compareOf(name string) (compared, bool) {
	not := false
	for range 4 {
		at, ok := f.defined[name]
		if !ok || at < 0 {
			return compared{}, false
		}
		in := &f.Insts[at]
		switch in.Op {
		case "xor":
			rest, ok := strings.CutPrefix(in.Rest, "i1 ")
			a, b, two := strings.Cut(rest, ", ")
			if !ok || !two || b != "true" {
				return compared{}, false
			}
			name, not = a, !not
		case "freeze":
			name = lastWord(in.Rest)
		case "extractelement":
			return f.element(in, not)
		default:
			c, ok := compare(in)
			c.made = at
			if ok && not {
				c.predicate = inverse(c.predicate)
			}
			return c, ok
		}
	}
	return compared{}, false
}

// element is one element of a compare of vectors: "<2 x i1> %8, i64 0".
func (f *function) element(in *inst, not bool) (compared, bool) {
	list := parts(in.Rest)
	if len(list) != 2 {
		return compared{}, false
	}
	at, ok := f.defined[lastWord(list[0])]
	if !ok || at < 0 {
		return compared{}, false
	}
	c, ok := compare(&f.Insts[at])
	_, ty, several := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(c.ty, "<"), ">"), " x ")
	if !ok || !several || !strings.HasPrefix(c.ty, "<") || strings.HasPrefix(c.ty, "<vscale") {
		return compared{}, false
	}
	c.vector, c.ty, c.lane, c.made = c.ty, ty, list[1], at
	if not {
		c.predicate = inverse(c.predicate)
	}
	return c, strings.HasPrefix(c.lhs, "%")
}

// valueTypes are the kinds of values by the spelling of LLVM.
var valueTypes = map[string]warptrace.ValueType{
	"i1": warptrace.TypeBool, "i8": warptrace.TypeI8, "i16": warptrace.TypeI16, "i32": warptrace.TypeI32, "i64": warptrace.TypeI64,
	"half": warptrace.TypeF16, "bfloat": warptrace.TypeBF16, "float": warptrace.TypeF32, "double": warptrace.TypeF64,
}

// spellings are the types of operands as sites have them.
var spellings = map[string]string{"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}

func spelling(ty string) string {
	if s, ok := spellings[ty]; ok {
		return s
	}
	if strings.HasPrefix(ty, "ptr") {
		return "ptr"
	}
	return ty
}

// valueType is the kind of value that a compare of a type looks at.
func valueType(ty string, c site.Compare) warptrace.ValueType {
	if strings.HasPrefix(ty, "ptr") {
		return warptrace.TypePtr
	}
	t := valueTypes[ty]
	if c >= 34 && c <= 37 && t >= warptrace.TypeI8 && t <= warptrace.TypeI64 {
		t += warptrace.TypeU8 - warptrace.TypeI8
	}
	return t
}

// found is what Sites finds of a module.
type found struct {
	m       *module
	options Options
	sites   []site.Site
	types   []warptrace.ValueType // of the values of events, by site
	points  []point
	loads   map[*function]map[int32]int // sites by their instruction
	unseen  int                         // instructions that write what is not looked at
	hashes  *observe.Hashes[string]     // of the function that is looked at
}

// function finds the sites of one function, in the order of the text.
func (s *found) function(f *function) {
	s.hashes = observe.NewHashes[string](view{s.m, f})
	for b := range f.Blocks {
		used := map[string]bool{}
		for at := f.Blocks[b].First; at < f.Blocks[b].End; at++ {
			in := &f.Insts[at]
			switch in.Op {
			case "br":
				if rest, ok := strings.CutPrefix(in.Rest, "i1 %"); ok {
					s.decision(f, at, site.Branch, "%"+rest[:localEnd(rest)])
				}
			case "switch":
				s.choice(f, at)
			case "phi", "icmp", "and", "or", "xor", "freeze":
			default:
				eachCondition(in, func(name string) {
					if in.Op != "select" || !f.larger(in, name) {
						s.predicate(f, at, name, used, maxChain)
					}
				})
				s.stored(f, at)
				s.barrier(f, at)
			}
		}
	}
}

// maxChain bounds how deep the compares behind a mask are looked for.
const maxChain = 8

// predicate adds the first use of an i1 in a block. Of one that joins others, such as a mask of two dimensions, the compares come first.
func (s *found) predicate(f *function, at int32, name string, used map[string]bool, depth int) {
	made, ok := f.defined[name]
	if used[name] || ok && made >= 0 && f.compiledAway(&f.Insts[made]) {
		return
	}
	used[name] = true
	if ok && made >= 0 && depth > 0 {
		in := &f.Insts[made]
		switch in.Op {
		case "and", "or", "xor":
			if strings.HasSuffix(in.Rest, ", true") {
				break
			}
			for _, joined := range (view{s.m, f}).inputs(in) {
				if _, known := f.defined[joined]; known && (f.joins(joined) || f.compares(joined)) {
					s.predicate(f, at, joined, used, depth-1)
				}
			}
		}
	}
	s.decision(f, at, site.Predicate, name)
}

// joins reports whether an i1 is made of others, compares whether it is a compare of scalars.
func (f *function) joins(name string) bool {
	at := f.defined[name]
	if at < 0 {
		return false
	}
	in := &f.Insts[at]
	return (in.Op == "and" || in.Op == "or" || in.Op == "xor") && strings.Contains(in.Rest, "i1 ")
}

func (f *function) compares(name string) bool {
	_, ok := f.compareOf(name)
	return ok
}

// compiledAway reports whether a compare asks the compiler, which knows the answer: __nvvm_reflect.
func (f *function) compiledAway(in *inst) bool {
	c, ok := compare(in)
	if !ok {
		return false
	}
	at, ok := f.defined[c.lhs]
	return ok && at >= 0 && f.Insts[at].Op == "call" && callee(&f.Insts[at]) == "__nvvm_reflect"
}

// larger reports whether a select picks one of the two values that its condition compares: a minimum or maximum decides nothing.
func (f *function) larger(in *inst, condition string) bool {
	c, ok := f.compareOf(condition)
	list := parts(in.Rest)
	if !ok || len(list) != 3 || !c.orders() {
		return false
	}
	a, b := lastWord(list[1]), lastWord(list[2])
	return a == c.lhs && b == c.rhs || a == c.rhs && b == c.lhs
}

// orders reports whether a compare asks which of two is larger.
func (c *compared) orders() bool {
	float := c.predicate &^ 8 // ordered or not
	return float >= 2 && float <= 5 || c.predicate >= 34 && c.predicate <= 41
}

// eachCondition calls do with the i1 values that guard what an instruction does, or that it chooses by.
func eachCondition(in *inst, do func(string)) {
	switch in.Op {
	case "select":
		list := parts(in.Rest)
		if len(list) == 3 {
			if i := strings.LastIndex(list[0], "i1 %"); i == 0 || i > 0 && list[0][i-1] == ' ' {
				do(list[0][i+3:])
			}
		}
	case "zext", "sext", "uitofp", "sitofp":
		if i := strings.Index(in.Rest, "i1 %"); i == 0 || i > 0 && in.Rest[i-1] == ' ' {
			do(in.Rest[i+3 : i+4+localEnd(in.Rest[i+4:])])
		}
	case "call":
		if !strings.Contains(in.Rest, "i1 ") {
			return
		}
		if _, ok := assembly(in); !ok {
			return
		}
		for _, a := range arguments(in) {
			if strings.HasPrefix(a, "i1 ") {
				if w := lastWord(a); w[0] == '%' {
					do(w)
				}
			}
		}
	}
}

// begin is a site at an instruction.
func (s *found) begin(f *function, at int32, kind site.Kind) site.Site {
	chain := s.m.chain(f.Insts[at].Debug)
	if len(chain) == 0 {
		chain = []site.Frame{{Function: f.Name}}
	}
	return site.Site{Kind: kind, Chain: chain, Ordinal: -1, Compare: site.NoCompare}
}

// decision adds a branch or a predicate with what it compares.
func (s *found) decision(f *function, at int32, kind site.Kind, name string) {
	one := s.begin(f, at, kind)
	p := point{f: f, at: at, kind: kind, condition: name, debug: f.Insts[at].Debug}
	v, t := view{s.m, f}, warptrace.TypeNone
	c, known := f.compareOf(name)
	if made, ok := f.defined[name]; ok && made >= 0 {
		if c.vector != "" {
			made = c.made
		}
		in := &f.Insts[made]
		one.Text = in.Op
		if frames := s.m.chain(in.Debug); kind == site.Predicate && len(frames) > 0 && frames[0].Line > 0 {
			one.Chain = frames // a mask belongs to the line that makes it
		}
	}
	if known {
		one.Compare = c.predicate
		one.Text = describe(c)
		one.Operands = append(one.Operands, observe.Provenance[string](v, c.lhs, "lhs", spelling(c.ty)), observe.Provenance[string](v, c.rhs, "rhs", spelling(c.ty)))
		if _, known := conversion(c.ty); known {
			p.value, p.ty, t = c.lhs, c.ty, valueType(c.ty, c.predicate)
			p.vector, p.lane = c.vector, c.lane
			p.other, p.operands = c.rhs, s.options.Values
		}
	} else {
		one.Operands = append(one.Operands, observe.Provenance[string](v, name, "condition", "i1"))
	}
	one.Code = s.codeHash(&one, name)
	if known {
		one.Code = s.codeHash(&one, c.lhs, c.rhs)
	}
	s.add(one, p, t)
}

// codeHash is that of a site with some values as operands.
func (s *found) codeHash(one *site.Site, values ...string) uint32 {
	ty := ""
	if len(one.Operands) > 0 {
		ty = one.Operands[0].Type
	}
	return s.hashes.Of(one.Kind, one.Compare, ty, values...)
}

// barriers begin the names of what holds the warps of a block until others come.
var barriers = []string{"llvm.nvvm.barrier.cta.", "llvm.nvvm.barrier0", "llvm.amdgcn.s.barrier"}

// barrier adds one, where they are asked for.
func (s *found) barrier(f *function, at int32) {
	in := &f.Insts[at]
	if !s.options.Barriers || in.Op != "call" {
		return
	}
	name := callee(in)
	if !slices.ContainsFunc(barriers, func(p string) bool { return strings.HasPrefix(name, p) }) || strings.HasSuffix(name, ".signal") {
		return
	}
	one := s.begin(f, at, site.Barrier)
	one.Text = name
	s.add(one, point{f: f, at: at, kind: site.Barrier, condition: "true", debug: in.Debug}, warptrace.TypeNone)
}

// choice adds a switch.
func (s *found) choice(f *function, at int32) {
	in := &f.Insts[at]
	n := typeEnd(in.Rest)
	ty, rest := in.Rest[:n], strings.TrimSpace(in.Rest[n:])
	name, _, ok := strings.Cut(rest, ",")
	if _, known := conversion(ty); !ok || !known {
		return
	}
	one := s.begin(f, at, site.Switch)
	one.Text = "switch " + ty
	one.Operands = append(one.Operands, observe.Provenance[string](view{s.m, f}, name, "index", spelling(ty)))
	one.Code = s.codeHash(&one, name)
	s.add(one, point{f: f, at: at, kind: site.Switch, value: name, ty: ty, debug: in.Debug, operands: s.options.Values}, valueTypes[ty])
}

func (s *found) add(one site.Site, p point, t warptrace.ValueType) {
	s.sites, s.points, s.types = append(s.sites, one), append(s.points, p), append(s.types, t)
}

// describe is a compare in short: "icmp slt i32".
func describe(c compared) string {
	op := "icmp "
	if c.predicate < 16 {
		op = "fcmp "
	}
	return op + c.predicate.Name() + " " + c.ty
}
