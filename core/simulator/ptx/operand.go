package ptx

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// opcode takes an opcode apart. Equal ones share their modifiers.
func (p *parser) opcode(full string, line int) Opcode {
	if op, ok := p.opcodes[full]; ok {
		return op
	}
	parts := strings.Split(p.intern(full), ".")
	for _, part := range parts {
		if part == "" || strings.Trim(part, ":") != part {
			p.fail(line, "%.80q is not an instruction", full)
			return Opcode{}
		}
	}
	op := Opcode{Name: parts[0], Mods: parts[1:], Full: p.intern(full)}
	p.opcodes[op.Full] = op
	return op
}

// operandList reads the operands of an instruction and its semicolon.
func (p *parser) operandList(op *Opcode, line int) []Operand {
	if p.accept(';') {
		return nil
	}
	var list []Operand
	branch := op.Name == "bra" || op.Name == "brx"
	p.video = IsVideo(op.Name)
	for p.err == nil {
		list = append(list, p.operand(branch, int32(len(list)), 0))
		if p.peek() != ',' && op.Name == "call" && len(list) > 0 && p.peek() == '(' {
			continue // call (r) f (a): the commas may be left out
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "the operands of "+op.Name)
	if p.operands += len(list); p.operands > maxOperands {
		p.refuse(line, fault.Limit, "the PTX has more than %d operands", maxOperands)
	}
	return list[:len(list):len(list)]
}

// maxNesting bounds how deep operands stand in each other.
const maxNesting = 4

// operand reads one operand. Of branches, names are labels; number is its place among the operands of the instruction.
func (p *parser) operand(branch bool, number int32, depth int) Operand {
	line := p.line
	switch c := p.peek(); {
	case depth == maxNesting:
		p.fail(line, "operands are nested more than %d deep", maxNesting)
	case c == '{':
		return p.group(Vector, '}', branch, depth)
	case c == '(':
		return p.group(Arguments, ')', branch, depth)
	case c == '[':
		return p.address(depth)
	case c == '!':
		p.pos++
		o := p.operand(branch, number, depth+1)
		if o.Kind != IsRegister || o.Not {
			p.fail(line, "! stands in front of a predicate only")
		}
		o.Not = true
		return o
	case c == '-' && p.pos+1 < len(p.text) && !isDigit(p.text[p.pos+1]) && p.text[p.pos+1] != ' ' && p.text[p.pos+1] != '.':
		p.pos++
		o := p.operand(branch, number, depth+1)
		if o.Kind != IsRegister || o.Neg {
			p.fail(line, "- stands in front of a number or a register only")
		}
		o.Neg = true
		return o
	case isDigit(c) || c == '-' || c == '.':
		o := Operand{Kind: Immediate, Reg: -1}
		o.Bits, o.Float = p.number()
		return o
	}
	o := p.named(branch, number)
	if p.peek() == '|' && p.err == nil {
		p.pos++
		second := p.operand(false, number, depth+1)
		if kind := second.Kind; kind != IsRegister && kind != Sink {
			p.fail(line, "| stands between two results only")
		}
		p.operands += 2
		return Operand{Kind: Pair, Reg: -1, Elems: []Operand{o, second}}
	}
	return o
}

// group reads operands in brackets.
func (p *parser) group(kind operandKind, shut byte, branch bool, depth int) Operand {
	o := Operand{Kind: kind, Reg: -1}
	p.pos++
	for p.err == nil && !p.accept(shut) {
		o.Elems = append(o.Elems, p.operand(false, 0, depth+1))
		if p.operands++; p.operands > maxOperands {
			p.refuse(p.line, fault.Limit, "the PTX has more than %d operands", maxOperands)
		}
		if !p.accept(',') {
			p.expect(shut, "operands")
			break
		}
	}
	o.Elems = o.Elems[:len(o.Elems):len(o.Elems)]
	return o
}

// address reads [ %rd1 + 16 ], [name], [name+4], [12], and the coordinates that follow a comma in tensor copies.
func (p *parser) address(depth int) Operand {
	line := p.line
	o := Operand{Kind: Address, Reg: -1}
	p.pos++
	if c := p.peek(); isDigit(c) || c == '-' {
		bits, float := p.number()
		if float != 0 {
			p.fail(line, "an address is not a floating-point number")
		}
		o.Offset = int64(bits)
	} else {
		base := p.named(false, 0)
		switch base.Kind {
		case IsRegister:
			o.Reg = base.Reg
		case IsSymbol:
			o.Symbol, o.Offset = base.Symbol, base.Offset
		default:
			p.fail(line, "an address begins with a register, a variable or a number")
		}
		o.Offset += p.offset()
	}
	for p.err == nil && p.accept(',') {
		o.Elems = append(o.Elems, p.operand(false, 0, depth+1))
		p.operands++
	}
	p.expect(']', "an address")
	return o
}

// offset reads + 16, - 4, + -4, or nothing.
func (p *parser) offset() int64 {
	sign := int64(1)
	switch p.peek() {
	case '+':
	case '-':
		sign = -1
	default:
		return 0
	}
	p.pos++
	line := p.line
	bits, float := p.number()
	if float != 0 {
		p.fail(line, "an offset is not a floating-point number")
	}
	return sign * int64(bits)
}

// named reads a register, variable, function, label, special register or _.
func (p *parser) named(branch bool, number int32) Operand {
	line := p.line
	name := p.word()
	if name == "" {
		p.fail(line, "expected an operand, got %s", p.next())
		return Operand{Reg: -1}
	}
	if name == "_" {
		return Operand{Kind: Sink, Reg: -1}
	}
	e, ok := p.lookup(name)
	switch {
	case ok && e.kind == entryRegister:
		if p.pos < len(p.text) && p.text[p.pos] == '.' {
			if p.video {
				if part := p.part(); part != "" {
					return Operand{Kind: IsRegister, Reg: e.index, Part: part}
				}
			}
			p.refuse(line, fault.Incompatible, "elements of vector registers (%.80s%.8s) are not read", name, p.text[p.pos:])
		}
		return Operand{Kind: IsRegister, Reg: e.index}
	case ok && e.kind == entrySymbol:
		return p.symbol(e.name)
	case branch:
		return p.jumpTo(name, e, ok, number, line)
	case ok:
		p.fail(line, "%.80s is a table of branch targets", name)
		return Operand{Reg: -1}
	case name[0] == '%' || name == "WARP_SZ":
		return p.special(name, line)
	}
	if i, ok := p.symbols[name]; ok {
		return p.symbol(p.m.Variables[i].Name)
	}
	if _, ok := p.functions[name]; !ok {
		p.pending = append(p.pending, reference{p.intern(name), line})
	}
	return Operand{Kind: IsSymbol, Reg: -1, Symbol: p.intern(name)}
}

// symbol is a variable, with the offset that may follow its name.
func (p *parser) symbol(name string) Operand {
	o := Operand{Kind: IsSymbol, Reg: -1, Symbol: name}
	if p.peek() == '+' {
		o.Offset = p.offset()
	}
	return o
}

// jumpTo is the operand of a branch: a label, or the labels of a table.
func (p *parser) jumpTo(name string, e entry, isTable bool, number int32, line int) Operand {
	s := &p.scopes[len(p.scopes)-1]
	inst := int32(len(p.f.Insts))
	if !isTable {
		s.jumps = append(s.jumps, jump{inst, number, -1, p.intern(name), line})
		return Operand{Kind: Label, Reg: -1, Target: -1}
	}
	table := p.tables[e.index]
	o := Operand{Kind: Vector, Reg: -1, Elems: make([]Operand, len(table))}
	for i, label := range table {
		o.Elems[i] = Operand{Kind: Label, Reg: -1, Target: -1}
		s.jumps = append(s.jumps, jump{inst, number, int32(i), p.intern(label.name), label.line})
	}
	if p.operands += len(table); p.operands > maxOperands {
		p.refuse(line, fault.Limit, "the PTX has more than %d operands", maxOperands)
	}
	return o
}

// specials are the registers that the simulator fills, without what follows a dot.
var specials = map[string]bool{
	"%tid": true, "%ntid": true, "%laneid": true, "%warpid": true, "%nwarpid": true, "%ctaid": true, "%nctaid": true, "%smid": true,
	"%nsmid": true, "%gridid": true, "%lanemask_eq": true, "%lanemask_le": true, "%lanemask_lt": true, "%lanemask_ge": true,
	"%lanemask_gt": true, "%clock": true, "%clock_hi": true, "%clock64": true, "%globaltimer": true, "%globaltimer_lo": true,
	"%globaltimer_hi": true, "%total_smem_size": true, "%aggr_smem_size": true, "%dynamic_smem_size": true, "%is_explicit_cluster": true,
	"%clusterid": true, "%nclusterid": true, "%cluster_ctaid": true, "%cluster_nctaid": true, "%cluster_ctarank": true,
	"%cluster_nctarank": true, "%current_graph_exec": true, "%reserved_smem_offset_begin": true, "%reserved_smem_offset_end": true,
	"%reserved_smem_offset_cap": true, "WARP_SZ": true,
}

// special is %tid.x and the like.
func (p *parser) special(name string, line int) Operand {
	known := specials[name]
	for _, family := range []string{"%pm", "%envreg", "%reserved_smem_offset_"} {
		if rest, ok := strings.CutPrefix(name, family); ok && len(rest) > 0 && len(rest) <= 8 && strings.Trim(rest, "0123456789_") == "" {
			known = true
		}
	}
	if !known {
		p.fail(line, "register %.80s is not declared", name)
		return Operand{Reg: -1}
	}
	if p.pos+1 < len(p.text) && p.text[p.pos] == '.' && strings.IndexByte("xyzw", p.text[p.pos+1]) >= 0 {
		name = name + p.text[p.pos:p.pos+2]
		p.pos += 2
	}
	return Operand{Kind: Special, Reg: -1, Symbol: p.intern(name)}
}
