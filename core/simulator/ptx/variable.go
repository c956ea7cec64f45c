package ptx

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// types are the fundamental types by their spelling, with their sizes in bytes.
var types = map[string]struct {
	t    Type
	size uint64
}{
	"pred": {Pred, 1}, "b8": {B8, 1}, "b16": {B16, 2}, "b32": {B32, 4}, "b64": {B64, 8}, "b128": {B128, 16},
	"u8": {U8, 1}, "u16": {U16, 2}, "u32": {U32, 4}, "u64": {U64, 8}, "s8": {S8, 1}, "s16": {S16, 2}, "s32": {S32, 4}, "s64": {S64, 8},
	"f16": {F16, 2}, "f16x2": {F16x2, 4}, "bf16": {BF16, 2}, "bf16x2": {BF16x2, 4}, "f32": {F32, 4}, "f64": {F64, 8},
}

// spaces are the state spaces by their spelling.
var spaces = map[string]Space{
	".global": Global, ".shared": Shared, ".local": Local, ".const": Const, ".param": Param, ".reg": Reg,
	".shared::cta": Shared, ".param::entry": Param, ".param::func": Param,
}

// declaration is what stands between a state space and a name.
type declaration struct {
	v      Variable
	typed  bool
	size   uint64 // of one element
	vector uint64 // elements of a .v2 or .v4
}

// attributes reads .align 8 .b8 and the like, up to the name.
func (p *parser) attributes(space Space, line int) declaration {
	d := declaration{v: Variable{Space: space}, vector: 1}
	for p.peek() == '.' {
		word := p.dotted()
		switch {
		case word == ".align":
			n, _ := p.number()
			if n == 0 || n > 1<<16 || n&(n-1) != 0 {
				p.fail(line, "an alignment of %d", n)
			}
			if !d.v.Pointer { // behind .ptr it is that of what the pointer points to
				d.v.Align = uint32(n)
			}
		case word == ".ptr":
			d.v.Pointer = true
		case d.v.Pointer && (word == ".global" || word == ".const" || word == ".shared" || word == ".local"):
			d.v.Points = spaces[word]
		case word == ".v2" || word == ".v4" || word == ".v8":
			d.vector = uint64(word[2] - '0')
		case word == ".attribute":
			p.balanced('(', ')')
		default:
			t, ok := types[strings.TrimPrefix(word, ".")]
			if !ok {
				p.refuse(line, fault.Incompatible, "type %.40s is not read", word)
				return d
			}
			d.typed, d.v.Type, d.size = true, t.t, t.size
		}
	}
	if !d.typed {
		p.fail(line, "a declaration has no type")
	}
	return d
}

// balanced passes everything from an opening bracket to its closing one.
func (p *parser) balanced(open, shut byte) {
	line := p.line
	if !p.expect(open, "the directive") {
		return
	}
	for depth := 1; depth > 0; {
		switch p.peek() {
		case 0:
			p.fail(line, "%q has no end", open)
			return
		case open:
			depth++
		case shut:
			depth--
		}
		p.pos++
	}
}

// variable reads a name and dimensions behind attributes. dims are those of an array.
func (p *parser) variable(d declaration, line int) (v Variable, dims []uint64) {
	v = d.v
	v.Name = p.needName("a type")
	count := d.vector
	for p.err == nil && p.accept('[') {
		n := uint64(0)
		if p.peek() != ']' {
			n, _ = p.number()
		}
		p.expect(']', "a dimension")
		if len(dims) == 8 || n > math.MaxInt32<<8 {
			p.refuse(line, fault.Limit, "variable %.80s is too large", v.Name)
			return v, nil
		}
		dims = append(dims, n)
		if count = saturated(count, n); count > 1<<48 {
			p.refuse(line, fault.Limit, "variable %.80s is too large", v.Name)
			return v, nil
		}
	}
	v.Bytes = saturated(count, d.size)
	if v.Align == 0 {
		v.Align = uint32(d.size * d.vector)
	}
	return v, dims
}

// saturated multiplies without wrapping around.
func saturated(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// moduleVariable reads a variable of the module, and others that a comma separates from it.
func (p *parser) moduleVariable(word string, extern bool, line int) {
	d := p.attributes(spaces[word], line)
	for {
		v, dims := p.variable(d, line)
		if p.err != nil {
			return
		}
		if p.accept('=') {
			p.initialValue(&v, d, dims, line)
		}
		if extern {
			v.Extern, v.Bytes = true, 0
		}
		p.addVariable(v, line)
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "a variable")
}

func (p *parser) addVariable(v Variable, line int) {
	v.Name = p.intern(v.Name)
	if i, ok := p.symbols[v.Name]; ok {
		if old := &p.m.Variables[i]; old.Extern {
			*old = v
		} else if !v.Extern && (!p.weak || old.Space != v.Space || old.Bytes != v.Bytes) {
			p.fail(line, "variable %.80s is declared twice", v.Name)
		}
		return
	}
	p.symbols[v.Name] = len(p.m.Variables)
	p.m.Variables = append(p.m.Variables, v)
}

// initialValue reads what follows the equals sign. Init ends where the values end: the rest is zero.
func (p *parser) initialValue(v *Variable, d declaration, dims []uint64, line int) {
	if v.Space == Shared || v.Space == Local {
		p.fail(line, "variable %.80s is in a space that has no initial values", v.Name)
		return
	}
	unsized := len(dims) > 0 && dims[0] == 0
	shape := dims
	if d.vector > 1 {
		shape = append(shape[:len(shape):len(shape)], d.vector)
	}
	v.Init = []byte{}
	end := p.values(v, d, shape, 0, line)
	if unsized {
		inner := d.size
		for _, n := range shape[1:] {
			inner = saturated(inner, n)
		}
		v.Bytes = end
		if inner > 0 {
			v.Bytes = saturated((end+inner-1)/inner, inner)
		}
	}
	if uint64(len(v.Init)) > v.Bytes {
		p.fail(line, "variable %.80s has %d bytes and initial values of %d", v.Name, v.Bytes, len(v.Init))
	}
	p.initial += len(v.Init)
}

// values reads one value, or braces around the elements of one dimension, and returns where they end.
func (p *parser) values(v *Variable, d declaration, shape []uint64, at uint64, line int) uint64 {
	if len(shape) == 0 {
		p.element(v, d, at, line)
		return at + d.size
	}
	if !p.accept('{') { // an inner dimension may go without braces
		if len(shape) > 1 {
			return p.values(v, d, shape[1:], at, line)
		}
		return p.values(v, d, nil, at, line)
	}
	stride := d.size
	for _, n := range shape[1:] {
		stride = saturated(stride, n)
	}
	end := at
	for p.err == nil && !p.accept('}') {
		inner := shape[1:]
		if p.peek() != '{' && len(inner) > 0 {
			inner = nil
		}
		next := p.values(v, d, inner, end, line)
		if len(inner) > 0 {
			next = end + stride
		}
		end = next
		if !p.accept(',') {
			p.expect('}', "initial values")
			break
		}
	}
	return end
}

// pointer reads the name of a function as one value, if that comes next.
func (p *parser) pointer(v *Variable, d declaration, at uint64, line int) bool {
	from := p.pos
	name := p.word()
	if _, variable := p.symbols[name]; name == "" || name == "generic" || variable || d.size != 8 || len(v.Pointers) >= maxOperands {
		p.pos = from
		return false
	}
	if _, known := p.functions[name]; !known {
		p.pending = append(p.pending, reference{p.intern(name), line})
	}
	if !p.room(v, at, d.size, line) {
		return true
	}
	v.Pointers = append(v.Pointers, Pointer{At: at, Name: p.intern(name)})
	return true
}

// room makes an initial value long enough for one more, if the text allows so much.
func (p *parser) room(v *Variable, at, size uint64, line int) bool {
	if limit := uint64(initPerByte * len(p.text)); at+size+uint64(p.initial) > limit {
		p.refuse(line, fault.Limit, "the initial values of variables have more than %d bytes", limit)
		return false
	}
	if need := int(at + size); len(v.Init) < need {
		v.Init = append(v.Init, make([]byte, need-len(v.Init))...)
	}
	return true
}

// element reads one value and puts it where it belongs.
func (p *parser) element(v *Variable, d declaration, at uint64, line int) {
	if c := p.peek(); !isDigit(c) && c != '-' && c != '.' {
		if p.pointer(v, d, at, line) {
			return
		}
		p.refuse(p.line, fault.Incompatible, "variable %.80s begins as %s: only numbers and functions are read as initial values", v.Name, p.next())
		return
	}
	bits, float := p.number()
	if p.err != nil {
		return
	}
	if !p.room(v, at, d.size, line) {
		return
	}
	switch {
	case float == 64 && d.v.Type == F32:
		bits = uint64(math.Float32bits(float32(math.Float64frombits(bits))))
	case float == 32 && d.v.Type == F64:
		bits = math.Float64bits(float64(math.Float32frombits(uint32(bits))))
	case float == 0 && d.v.Type == F32:
		bits = uint64(math.Float32bits(float32(int64(bits))))
	case float == 0 && d.v.Type == F64:
		bits = math.Float64bits(float64(int64(bits)))
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	copy(v.Init[at:at+d.size], b[:])
}
