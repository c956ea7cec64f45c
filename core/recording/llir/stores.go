package llir

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// access is what an instruction writes to global memory.
type access struct {
	kind      site.Kind
	name      string // of the instruction, "st.global.v4.b32"
	condition string // an i1, "" always
	not       bool
	below     [2]string // of a buffer: the access happens where the first i32 is less than the second one, without a sign
	limit     string    // and the type of these
	pointer   operand
	offsets   []operand // that are added to it
	values    []operand
	element   int    // bytes
	operation uint64 // what an atomic does, as the hash takes it
	swapped   string // of a compare-and-swap: the i1 that says so; "" none
	found     operand
	expected  operand // of a compare-and-swap that has no such i1: what is compared with what was found
	slot      int32
	pairs     bool // elements are made of two of 2 bytes
}

// operand is a value with its type.
type operand struct{ ty, name string }

// typed reads "ptr addrspace(1) nonnull %7".
func typed(text string) operand {
	n := typeEnd(text)
	rest := strings.TrimSpace(text[n:])
	if !strings.HasPrefix(rest, "<") {
		rest = lastWord(rest)
	}
	return operand{text[:n], rest}
}

// What the hash of a stored element takes for what an atomic does with it; see warptrace.AtomicOperation.
var operations = map[string]uint64{
	"add": 1, "sub": 1, "min": 2, "max": 3, "and": 4, "or": 5, "xor": 6, "inc": 7, "dec": 8, "exch": 9, "cas": 10,
	"fadd": 17, "fsub": 17, "umin": 2, "umax": 3, "fmin": 18, "fmax": 19, "xchg": 9, "uinc_wrap": 7, "udec_wrap": 8,
	"smin": 34, "smax": 35, "swap": 9, "cmpswap": 10,
}

// accesses finds what an instruction writes; more says that it writes what cannot be found.
func (f *function) accesses(in *inst) (list []access, more bool) {
	switch in.Op {
	case "store":
		return f.plainStore(in)
	case "atomicrmw", "cmpxchg":
		return f.plainAtomic(in)
	case "call":
		if text, ok := assembly(in); ok {
			return f.assembled(in, text)
		}
		return f.intrinsic(in)
	}
	return nil, false
}

// plainStore reads "store <4 x half> %1, ptr addrspace(1) %2, align 8".
func (f *function) plainStore(in *inst) ([]access, bool) {
	list := parts(in.Rest)
	if len(list) < 2 || !strings.Contains(list[1], "ptr addrspace(1)") {
		return nil, false
	}
	to, value := typed(list[1]), typed(strings.TrimPrefix(strings.TrimPrefix(list[0], "atomic "), "volatile "))
	a := access{kind: site.GlobalStore, name: "store " + value.ty, pointer: to, values: []operand{value}}
	return f.sized(a)
}

// sized completes an access whose elements are those of its vector.
func (f *function) sized(a access) ([]access, bool) {
	element, count := elementOf(a.values[0].ty)
	width := bitsOf(element)
	if width%8 != 0 || width > 64 || count == 0 {
		return nil, true
	}
	a.element = width / 8
	if strings.HasPrefix(a.values[0].ty, "<") {
		vector := a.values[0]
		a.values = nil
		for i := range count {
			a.values = append(a.values, operand{element, vector.name + "[" + strconv.Itoa(i) + "]" + vector.ty})
		}
	}
	return []access{a}, false
}

// elementOf takes "<4 x half>" apart; any other type is one element.
func elementOf(ty string) (element string, count int) {
	inside, ok := strings.CutPrefix(ty, "<")
	if !ok {
		return ty, 1
	}
	n, rest, ok := strings.Cut(strings.TrimSuffix(inside, ">"), " x ")
	count, err := strconv.Atoi(n)
	if !ok || err != nil || count > 64 {
		return ty, 0
	}
	return rest, count
}

// bitsOf is the width of a type, 0 where that is not known.
func bitsOf(ty string) int {
	switch ty {
	case "half", "bfloat":
		return 16
	case "float":
		return 32
	case "double":
		return 64
	}
	if strings.HasPrefix(ty, "ptr") {
		return 64
	}
	if n, ok := decimal(strings.TrimPrefix(ty, "i")); ok && ty == "i"+itoa(n) {
		return int(n)
	}
	if element, count := elementOf(ty); count > 0 && element != ty {
		return count * bitsOf(element)
	}
	return 0
}

// plainAtomic reads "atomicrmw add ptr addrspace(1) %1, i32 %2 syncscope(...) relaxed, align 4" and "cmpxchg ptr addrspace(1) %1, i32 %2, i32 %3 ...".
func (f *function) plainAtomic(in *inst) ([]access, bool) {
	i := strings.Index(in.Rest, "ptr addrspace(1) ")
	if i < 0 {
		return nil, false
	}
	list := parts(in.Rest[i:])
	if len(list) < 2 {
		return nil, true
	}
	value := list[1]
	if word := strings.Fields(value[typeEnd(value):]); len(word) > 0 && !strings.HasPrefix(word[0], "<") {
		value = value[:typeEnd(value)] + " " + word[0]
	}
	a := access{kind: site.Atomic, name: in.Op, pointer: typed(list[0]), values: []operand{typed(value)}}
	if in.Op == "cmpxchg" {
		a.operation, a.swapped = operations["cas"], in.Name
		a.values[0].name = "" // what it brings depends on the order
		return f.sized(a)
	}
	words := strings.Fields(in.Rest[:i])
	if len(words) == 0 || operations[words[len(words)-1]] == 0 {
		return nil, true
	}
	word := words[len(words)-1]
	if a.operation = operations[word]; word == "min" || word == "max" {
		a.operation += 32
	}
	a.name += " " + word
	return f.sized(a)
}

// assembled finds stores and atomics in inline assembly: "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };".
func (f *function) assembled(in *inst, text string) (list []access, more bool) {
	outputs := 0
	if i := strings.IndexByte(in.Rest, '"'); i >= 0 {
		after := in.Rest[i+1+len(text)+1:]
		if from := strings.IndexByte(after, '"'); from >= 0 {
			constraints, _, _ := strings.Cut(after[from+1:], `"`)
			outputs = strings.Count(constraints, "=")
		}
	}
	args := arguments(in)
	take := func(word string) (operand, bool) {
		n, ok := decimal(strings.TrimPrefix(word, "$"))
		if !ok || !strings.HasPrefix(word, "$") || int(n) < outputs || int(n)-outputs >= len(args) {
			return operand{}, false
		}
		return typed(args[int(n)-outputs]), true
	}
	for _, piece := range strings.FieldsFunc(strings.NewReplacer(`\0A`, ";", `\09`, " ").Replace(text), func(r rune) bool { return r == ';' || r == '\n' }) {
		a, writes, ok := readAssembly(strings.TrimSpace(piece), take)
		if !writes {
			continue
		}
		if ok && a.operation == operations["cas"] {
			ok = outputs == 1 && in.Name != "" && strings.HasPrefix(a.expected.ty, "i")
			a.found = operand{a.expected.ty, in.Name}
		}
		if !ok {
			more = true
			continue
		}
		list = append(list, a)
	}
	return list, more
}

// readAssembly reads one instruction; writes says whether it writes global memory, ok whether everything of it is known.
func readAssembly(text string, take func(string) (operand, bool)) (a access, writes, ok bool) {
	if guard, rest, guarded := strings.Cut(text, " "); guarded && strings.HasPrefix(guard, "@") {
		guard, a.not = strings.CutPrefix(guard[1:], "!")
		condition, known := take(guard)
		if a.condition = condition.name; !known {
			a.condition = "?"
		}
		text = strings.TrimSpace(rest)
	}
	opcode, rest, _ := strings.Cut(text, " ")
	mods := strings.Split(opcode, ".")
	switch mods[0] {
	case "st", "atom", "red":
	case "cp": // a copy by the machine has no values in registers
		return a, len(mods) > 2 && slices.Contains(mods, "bulk") && (slices.Contains(mods, "reduce") || strings.Contains(opcode, ".global.shared")), false
	case "multimem":
		return a, !slices.Contains(mods, "ld_reduce"), false
	default:
		return a, false, false
	}
	for _, mod := range mods[1:] {
		if strings.HasPrefix(mod, "shared") || mod == "local" || mod == "param" || mod == "async" || mod == "bulk" {
			return a, mod == "async" && slices.Contains(mods, "global"), false
		}
	}
	a.name, a.kind = opcode, site.GlobalStore
	count, ty := shapeOf(mods)
	if a.element = bitsOfPTX(ty) / 8; a.element == 0 || a.condition == "?" {
		return a, true, false
	}
	if mods[0] != "st" {
		a.kind = site.Atomic
		if a.operation = operationOf(mods, ty); a.operation == 0 {
			return a, true, false
		}
	}
	return a, true, a.operands(rest, mods[0], count, take)
}

// operands reads "[ $4 + 0 ], { $0, $1, $2, $3 }"; an atomic has its result in front.
func (a *access) operands(rest, op string, count int, take func(string) (operand, bool)) bool {
	open, shut := strings.IndexByte(rest, '['), strings.IndexByte(rest, ']')
	if open < 0 || shut < open {
		return false
	}
	place, offset, _ := strings.Cut(rest[open+1:shut], "+")
	var ok bool
	if a.pointer, ok = take(strings.TrimSpace(place)); !ok || !strings.HasPrefix(a.pointer.ty, "ptr") && a.pointer.ty != "i64" {
		return false
	}
	if offset = strings.TrimSpace(offset); offset != "" && offset != "0" {
		if _, err := strconv.Atoi(offset); err != nil {
			return false
		}
		a.offsets = append(a.offsets, operand{"i64", offset})
	}
	words := strings.FieldsFunc(rest[shut+1:], func(r rune) bool { return strings.ContainsRune(" ,{}", r) })
	if a.operation == operations["cas"] {
		if len(words) == 0 {
			return false
		}
		a.expected, ok = take(words[0])
		a.values = []operand{{ty: a.expected.ty}}
		return ok
	}
	if strings.Contains(a.name, "cache_hint") && len(words) == count+1 {
		words = words[:count]
	}
	if len(words) != count {
		return false
	}
	for _, word := range words {
		value, known := take(word)
		if !known || bitsOf(value.ty) == 0 || bitsOf(value.ty) > 64 {
			return false
		}
		a.values = append(a.values, value)
	}
	return op != ""
}

// shapeOf finds how many elements of which type an instruction of PTX moves.
func shapeOf(mods []string) (count int, ty string) {
	count = 1
	for _, mod := range mods[1:] {
		if n, ok := map[string]int{"v2": 2, "v4": 4, "v8": 8}[mod]; ok {
			count = n
		} else if bitsOfPTX(mod) > 0 {
			ty = mod
		}
	}
	return count, ty
}

func bitsOfPTX(ty string) int {
	switch ty {
	case "bf16":
		return 16
	case "f16x2", "bf16x2":
		return 32
	}
	if ty == "" || !strings.Contains("busf", ty[:1]) {
		return 0
	}
	n, err := strconv.Atoi(ty[1:])
	if err != nil || n != 8 && n != 16 && n != 32 && n != 64 {
		return 0
	}
	return n
}

// operationOf is what an atomic of PTX does.
func operationOf(mods []string, ty string) uint64 {
	for _, mod := range mods[1:] {
		n := operations[mod]
		if n == 0 || n > 10 {
			continue
		}
		switch {
		case strings.HasPrefix(ty, "f") || strings.HasPrefix(ty, "bf"):
			n += 16
		case strings.HasPrefix(ty, "s") && (n == 2 || n == 3):
			n += 32
		}
		return n
	}
	return 0
}

// paired reports whether an access stores words that the code makes of two elements of 2 bytes.
func (f *function) paired(a *access) bool {
	at, known := f.defined[a.values[0].name]
	return a.element == 4 && known && at >= 0 && f.Insts[at].Op == "bitcast" && strings.HasPrefix(f.Insts[at].Rest, "<2 x ")
}

// intrinsic finds what a call of the compiler's own functions writes.
func (f *function) intrinsic(in *inst) ([]access, bool) {
	name := callee(in)
	rest, ours := strings.CutPrefix(name, "llvm.")
	if !ours {
		return nil, false
	}
	if strings.Contains(rest, "bulk.tensor.s2g") || strings.Contains(rest, "bulk.tensor.reduce") || strings.Contains(rest, "bulk.shared.cta.to.global") ||
		strings.HasPrefix(rest, "masked.store") || strings.Contains(rest, "tensor.store") {
		return nil, true
	}
	buffer, ok := strings.CutPrefix(rest, "amdgcn.raw.ptr.buffer.")
	if !ok {
		return nil, strings.HasPrefix(rest, "amdgcn.") && (strings.Contains(rest, "global.store") || strings.Contains(rest, "global.atomic"))
	}
	words := strings.Split(buffer, ".")
	args := arguments(in)
	a := access{name: name, kind: site.GlobalStore}
	switch {
	case words[0] == "store" && len(args) >= 4:
	case words[0] == "atomic" && len(words) > 1 && operations[words[1]] != 0 && words[1] != "cmpswap" && len(args) >= 4:
		a.kind, a.operation = site.Atomic, operations[words[1]]
	default:
		return nil, words[0] == "store" || words[0] == "atomic"
	}
	at, known := f.defined[typed(args[1]).name]
	if !known || at < 0 || !strings.HasPrefix(callee(&f.Insts[at]), "llvm.amdgcn.make.buffer.rsrc") {
		return nil, true
	}
	made := arguments(&f.Insts[at])
	if len(made) < 3 {
		return nil, true
	}
	a.pointer, a.values, a.offsets = typed(made[0]), []operand{typed(args[0])}, []operand{typed(args[2]), typed(args[3])}
	a.below, a.limit = [2]string{typed(args[2]).name, typed(made[2]).name}, typed(made[2]).ty
	return f.sized(a)
}

// argumentOf is the number of the parameter that a pointer derives from, -1 where it is not one alone.
func (f *function) argumentOf(name string) int {
	found, seen := -1, map[string]bool{}
	var walk func(name string) bool
	walk = func(name string) bool {
		if seen[name] {
			return true
		}
		seen[name] = true
		at, ok := f.defined[name]
		if !ok || len(seen) > 256 {
			return false
		}
		if at < 0 {
			n := int(-1 - at)
			if found >= 0 && found != n || !strings.HasPrefix(f.Params[n].Type, "ptr addrspace(1)") {
				return false
			}
			found = n
			return true
		}
		in := &f.Insts[at]
		inputs := view{nil, f}.inputs(in)
		switch in.Op {
		case "getelementptr":
			if list := parts(in.Rest); len(list) > 1 {
				return walk(lastWord(list[1]))
			}
			return false
		case "bitcast", "addrspacecast", "freeze":
			return len(inputs) > 0 && walk(inputs[0])
		case "select":
			return len(inputs) == 3 && walk(inputs[1]) && walk(inputs[2])
		case "phi":
			for _, input := range inputs {
				if !walk(input) {
					return false
				}
			}
			return len(inputs) > 0
		}
		return false
	}
	if !walk(name) || found >= len(f.Params)-2 {
		return -1
	}
	return found
}

// eventType is the kind of the first element, as far as its instruction says so.
func (a *access) eventType() warptrace.ValueType {
	if t, ok := valueTypes[a.values[0].ty]; ok && bitsOf(a.values[0].ty) == 8*a.element {
		return t
	}
	return map[int]warptrace.ValueType{1: warptrace.TypeI8, 2: warptrace.TypeI16, 4: warptrace.TypeI32, 8: warptrace.TypeI64}[a.element]
}

// stored adds the sites of an instruction that writes.
func (s *found) stored(f *function, at int32) {
	in := &f.Insts[at]
	list, more := f.accesses(in)
	if more {
		s.unseen++
	}
	for i := range list {
		a := &list[i]
		one := s.begin(f, at, a.kind)
		one.Text = a.name
		v := view{s.m, f}
		ty := spelling(a.values[0].ty)
		one.Operands = append(one.Operands, observe.Provenance[string](v, a.pointer.name, "address", "ptr"))
		written := []string{a.pointer.name}
		if name, _, _ := strings.Cut(a.values[0].name, "["); name != "" {
			one.Operands = append(one.Operands, observe.Provenance[string](v, name, "value", ty))
			written = append(written, name)
		}
		one.Code = s.codeHash(&one, written...)
		p := point{f: f, at: at, kind: a.kind, debug: in.Debug, access: a}
		t := warptrace.TypeNone
		if p.event = a.kind == site.GlobalStore && s.options.Stores || a.kind == site.Atomic && s.options.Atomics; p.event {
			p.event = s.options.Filter.Site(&one)
			t = a.eventType()
			p.operands = p.event && s.options.Values
		}
		if a.swapped != "" || a.found.name != "" {
			p.at++ // what is known afterwards
		}
		s.add(one, p, t)
	}
}
