package ptx

import (
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
)

// scope is what stands between braces: names that hide those of the scopes around it.
type scope struct {
	line   int
	names  map[string]entry
	ranges map[string]registerRange
	labels map[string]int32
	jumps  []jump // to labels that were not seen yet
}

// entry is what a name means.
type entry struct {
	kind  entryKind
	index int32
	name  string // under which a variable is known outside of its scope
}

type entryKind uint8

const (
	entryRegister entryKind = iota
	entrySymbol
	entryTable // of branch targets
)

// registerRange is %r<102>: registers come to be when they are used, so that a large number costs nothing.
type registerRange struct {
	count uint64
	t     Type
}

// jump is an operand that names a label.
type jump struct {
	inst, operand, elem int32 // elem -1: the operand itself
	name                string
	line                int
}

func (p *parser) openScope(line int) {
	if len(p.scopes) == maxDepth {
		p.fail(line, "scopes are nested more than %d deep", maxDepth)
		return
	}
	p.scopes = append(p.scopes, scope{line: line})
}

// closeScope resolves the jumps to labels of the scope; the others look for theirs in the scope around it.
func (p *parser) closeScope() {
	s := &p.scopes[len(p.scopes)-1]
	p.scopes = p.scopes[:len(p.scopes)-1]
	for _, j := range s.jumps {
		target, ok := s.labels[j.name]
		switch {
		case ok:
			o := &p.f.Insts[j.inst].Operands[j.operand]
			if j.elem >= 0 {
				o = &o.Elems[j.elem]
			}
			o.Target = target
		case len(p.scopes) == 0:
			p.fail(j.line, "there is no label %.80s", j.name)
			return
		default:
			outer := &p.scopes[len(p.scopes)-1]
			outer.jumps = append(outer.jumps, j)
		}
	}
}

func (s *scope) setLabel(name string, at int32) {
	if s.labels == nil {
		s.labels = map[string]int32{}
	}
	s.labels[name] = at
}

func (s *scope) addRange(prefix string, count uint64, t Type) {
	if s.ranges == nil {
		s.ranges = map[string]registerRange{}
	}
	s.ranges[prefix] = registerRange{count, t}
}

// declare gives a name a meaning in the innermost scope.
func (p *parser) declare(name string, e entry, line int) {
	s := &p.scopes[len(p.scopes)-1]
	if s.names == nil {
		s.names = map[string]entry{}
	}
	if _, taken := s.names[name]; taken {
		p.fail(line, "%.80s is declared twice", name)
		return
	}
	s.names[name] = e
}

// declareVariable declares a variable of a function. One of an inner scope whose name means something else outside gets a name
// that no text can spell, except in parameter space: there calls use the same few names one after the other.
func (p *parser) declareVariable(v *Variable, line int) {
	own := p.intern(v.Name)
	_, hidden := p.lookup(own)
	_, global := p.symbols[own]
	if v.Space != Param && (hidden || global || p.used[own]) {
		own = p.intern(own + "." + strconv.Itoa(len(p.f.Variables)))
	}
	p.declare(v.Name, entry{kind: entrySymbol, name: own}, line)
	v.Name = own
	p.used[own] = true
}

// seen reports whether an equal variable is in the list already, and notes this one.
func (p *parser) seen(v *Variable) bool {
	if v.Space != Param {
		return false
	}
	key := paramKey{v.Name, v.Type, v.Bytes, v.Align}
	if p.params[key] {
		return true
	}
	p.params[key] = true
	return false
}

// paramKey tells the parameters of calls apart.
type paramKey struct {
	name  string
	t     Type
	bytes uint64
	align uint32
}

// lookup finds what a name means here.
func (p *parser) lookup(name string) (entry, bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		s := &p.scopes[i]
		if e, ok := s.names[name]; ok {
			return e, true
		}
		if len(s.ranges) > 0 {
			if t, ok := s.inRange(name); ok {
				e := entry{kind: entryRegister, index: p.newRegister(name, t, p.line)}
				if s.names == nil {
					s.names = map[string]entry{}
				}
				s.names[p.intern(name)] = e
				return e, true
			}
		}
	}
	return entry{}, false
}

// inRange finds the range that a name is in. A prefix may end in a digit itself.
func (s *scope) inRange(name string) (Type, bool) {
	for cut := len(name) - 1; cut > 0 && len(name)-cut <= 10 && isDigit(name[cut]); cut-- {
		r, ok := s.ranges[name[:cut]]
		if !ok || name[cut] == '0' && cut < len(name)-1 {
			continue
		}
		if n, err := strconv.ParseUint(name[cut:], 10, 64); err == nil && n < r.count {
			return r.t, true
		}
	}
	return NoType, false
}

// register finds a register by name, -1 with an error when there is none.
func (p *parser) register(name string) int32 {
	line := p.line
	if e, ok := p.lookup(name); ok && e.kind == entryRegister {
		return e.index
	}
	p.fail(line, "register %.80s is not declared", name)
	return -1
}

func (p *parser) newRegister(name string, t Type, line int) int32 {
	if p.registerCount++; p.registerCount > maxInsts {
		p.refuse(line, fault.Limit, "the PTX has more than %d registers", maxInsts)
		return -1
	}
	p.f.Registers = append(p.f.Registers, Register{Name: p.intern(name), Type: t})
	return int32(len(p.f.Registers) - 1)
}
