package ptx

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// function reads .entry or .func: its head, and its body where it has one.
func (p *parser) function(entry, extern bool, line int) {
	f := &Function{Entry: entry, Line: line}
	p.f = f
	p.scopes, p.tables = p.scopes[:0], nil
	p.params, p.used = map[paramKey]bool{}, map[string]bool{}
	p.openScope(line)
	if p.peek() == '(' {
		f.Results = p.parameters(line)
	}
	f.Name = p.intern(p.needName("a function"))
	if p.peek() == '(' {
		f.Params = p.parameters(line)
	}
	p.headDirectives(f)
	if p.err != nil {
		return
	}
	f.Extern = true
	if p.peek() == '{' && !extern {
		f.Extern = false
	}
	p.addFunction(f)
	if f.Extern {
		p.expect(';', "a function without a body")
		return
	}
	p.pos++
	p.location, p.asm, p.asms = -1, false, 0
	p.callers = map[place]int32{}
	p.body()
	p.asm = false
	if p.err == nil {
		f.finish()
	}
}

// addFunction enters a function under its name; a definition takes the place of declarations.
func (p *parser) addFunction(f *Function) {
	i, ok := p.functions[f.Name]
	switch {
	case !ok:
		p.functions[f.Name] = len(p.m.Functions)
		p.m.Functions = append(p.m.Functions, f)
	case f.Extern:
	case p.m.Functions[i].Extern:
		p.m.Functions[i] = f
	default:
		p.fail(f.Line, "function %.80s is defined twice", f.Name)
	}
}

// parameters reads a list in parentheses.
func (p *parser) parameters(line int) []Variable {
	var list []Variable
	p.pos++
	for p.err == nil && !p.accept(')') {
		at := p.line
		p.skip()
		word := p.dotted()
		space, ok := spaces[word]
		if !ok || space != Param && space != Reg {
			p.fail(at, "expected .param, got %.40q", word)
			return nil
		}
		v, _ := p.variable(p.attributes(space, at), at)
		v.Name = p.intern(v.Name)
		p.declareVariable(&v, at)
		list = append(list, v)
		if !p.accept(',') {
			p.expect(')', "parameters")
			break
		}
	}
	return list
}

// headDirectives reads .reqntid 128 and the like.
func (p *parser) headDirectives(f *Function) {
	for p.peek() == '.' {
		line := p.line
		switch word := p.dotted(); word {
		case ".reqntid":
			f.ReqNTID = p.extent()
		case ".maxntid":
			f.MaxNTID = p.extent()
		case ".minnctapersm", ".maxnctapersm", ".maxnreg", ".maxclusterrank", ".reqnctapercluster", ".abi_preserve", ".abi_preserve_control":
			p.extent()
		case ".noreturn", ".explicitcluster", ".blocksareclusters":
		case ".pragma":
			p.quoted(word)
			p.expect(';', word)
		case ".loc":
			p.restOfLine()
		default:
			p.refuse(line, fault.Incompatible, "directive %.40s is not read", word)
		}
	}
}

// extent reads up to three numbers; those that are missing are 1.
func (p *parser) extent() [3]uint32 {
	out := [3]uint32{1, 1, 1}
	for i := range out {
		line := p.line
		n, float := p.number()
		if n > 1<<31 || float != 0 {
			p.fail(line, "an extent of %d", n)
		}
		out[i] = uint32(n)
		if i < 2 && !p.accept(',') {
			break
		}
	}
	return out
}

// body reads from behind the opening brace to the closing one.
func (p *parser) body() {
	for n := 0; ; n++ {
		if n%4096 == 0 && p.ctx.Err() != nil {
			p.err = fault.Of(p.ctx.Err())
			return
		}
		switch c := p.peek(); c {
		case 0:
			p.fail(p.f.Line, "function %.80s has no end", p.f.Name)
			return
		case '{':
			p.pos++
			p.openScope(p.line)
		case '}':
			p.pos++
			p.closeScope()
			if len(p.scopes) == 0 {
				return
			}
		case ';':
			p.pos++
		case '.':
			line := p.line
			p.bodyDirective(p.dotted(), line)
		default:
			p.statement()
		}
		if p.err != nil {
			return
		}
	}
}

func (p *parser) bodyDirective(word string, line int) {
	if strings.HasPrefix(word, ".reg.") { // a type may follow without a space
		p.pos -= len(word) - len(".reg")
		word = ".reg"
	}
	switch word {
	case ".loc":
		p.loc()
	case ".file":
		p.file()
	case ".pragma":
		p.quoted(word)
		p.expect(';', word)
	case ".reg":
		p.registers(line)
	case ".local", ".shared", ".param", ".global", ".const", ".shared::cta":
		p.localVariables(word, line)
	default:
		p.refuse(line, fault.Incompatible, "directive %.40s is not read", word)
	}
}

// registers reads .reg .b32 %r<102>, t, maxval;
func (p *parser) registers(line int) {
	d := p.attributes(Reg, line)
	if d.vector > 1 {
		p.refuse(line, fault.Incompatible, "registers of vectors are not read")
	}
	for p.err == nil {
		name := p.needName(".reg")
		if !p.accept('<') {
			p.declare(name, entry{kind: entryRegister, index: p.newRegister(name, d.v.Type, line)}, line)
		} else {
			n, _ := p.number()
			p.expect('>', "the number of registers")
			p.scopes[len(p.scopes)-1].addRange(name, n, d.v.Type)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "registers")
}

// localVariables reads variables that a function declares.
func (p *parser) localVariables(word string, line int) {
	d := p.attributes(spaces[word], line)
	for p.err == nil {
		v, dims := p.variable(d, line)
		if p.err == nil && p.accept('=') {
			p.initialValue(&v, d, dims, line)
		}
		if p.err != nil {
			return
		}
		p.declareVariable(&v, line)
		if !p.seen(&v) {
			p.f.Variables = append(p.f.Variables, v)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "a variable")
}

// statement reads a label, or an instruction with its guard.
func (p *parser) statement() {
	line := p.line
	in := Inst{Guard: -1, Location: p.location, Line: int32(line), Asm: -1}
	if p.asm {
		in.Asm = p.asms - 1
	}
	if p.accept('@') {
		in.GuardNot = p.accept('!')
		name := p.needName("@")
		in.Guard = p.register(name)
		if p.err == nil && (in.Guard < 0 || p.f.Registers[in.Guard].Type != Pred) {
			p.fail(line, "%.80q guards an instruction and is not a predicate", name)
		}
		p.skip()
	} else if p.label(line) {
		return
	}
	full := p.dotted()
	if full == "" || p.err != nil {
		p.fail(line, "expected an instruction, got %s", p.next())
		return
	}
	in.Op = p.opcode(full, line)
	if p.err != nil {
		return
	}
	if p.insts++; p.insts > maxInsts {
		p.refuse(line, fault.Limit, "the PTX has more than %d instructions", maxInsts)
		return
	}
	in.Operands = p.operandList(&in.Op, line)
	in.Outputs = outputs(&in.Op, in.Operands)
	p.f.Insts = append(p.f.Insts, in)
}

// label reads a label if one comes next. Names of instructions have no colon behind them, unless it is one of two.
func (p *parser) label(line int) bool {
	from := p.pos
	name := p.word()
	if name == "" || p.peek() != ':' || p.pos+1 < len(p.text) && p.text[p.pos+1] == ':' {
		p.pos, p.line = from, line
		return false
	}
	p.pos++
	if p.peek() == '.' {
		at, before := p.pos, p.line
		switch p.dotted() {
		case ".branchtargets":
			p.branchTargets(name, line)
			return true
		case ".callprototype", ".calltargets":
			for p.peek() != ';' && p.peek() != 0 {
				p.pos++
			}
			p.expect(';', "a prototype")
			p.declare(name, entry{kind: entrySymbol, name: p.intern(name)}, line)
			return true
		}
		p.pos, p.line = at, before
	}
	p.scopes[len(p.scopes)-1].setLabel(name, int32(len(p.f.Insts)))
	return true
}

// branchTargets reads the labels of a table for brx.idx.
func (p *parser) branchTargets(name string, line int) {
	var table []reference
	for p.err == nil {
		table = append(table, reference{p.needName(".branchtargets"), p.line})
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', ".branchtargets")
	p.tables = append(p.tables, table)
	p.declare(name, entry{kind: entryTable, index: int32(len(p.tables) - 1)}, line)
}
